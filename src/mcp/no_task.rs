//! Stands where tasks would be, in a build without calls in the background: no other file names them.

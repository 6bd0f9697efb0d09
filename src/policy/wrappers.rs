//! Programs that start other programs and are known by name. The list lies below, since it also judges the first lines of scripts.

pub use crate::integrity::{Reach, reach_of};

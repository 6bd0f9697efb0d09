//! The requests about calls that were made before.
//!
//! - `reading` serves the tools that read, feed, end and list calls, and hands calls over.
//! - `table` has the requests that wait for other calls, and lets calls go on in the background.
//! - `task_requests` serves the methods of tasks, and tells of their changes.

mod reading;
mod table;
mod task_requests;

pub(super) use task_requests::check_declared;

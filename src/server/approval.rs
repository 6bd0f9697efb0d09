//! Approvals: calls that wait for a person's answer, and what follows from it.
//!
//! - `deciding`: the approvals that a decision takes into account
//! - `asking`: the calls that wait for an answer
//! - `way`: how a person can be asked
//! - `waiting`: these calls in the table of requests
//! - `in_results`: questions in the results of the modern era

mod asking;
mod deciding;
mod in_results;
mod waiting;
mod way;

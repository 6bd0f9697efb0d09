//! A report about what was run: one page of HTML that needs nothing else, from audit logs and transcripts.
//!
//! It is pure: records and transcripts come in, and text goes out. What clients and commands chose is data in the page, escaped
//! here so that it can't end the element that holds it, and set as text by the page's script.
//!
//! - [`Report`] is what the page tells: sessions, and an entry for each call and for what else happened.
//! - `audit` and `transcript` make its entries; `page` is the template, with its style, its script and their hashes.

mod audit;
mod data;
mod page;
mod transcript;

pub(crate) use data::{Chain, Report};
pub(crate) use page::write;

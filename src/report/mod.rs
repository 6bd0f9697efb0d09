//! A report about what was run: one self-contained page of HTML, made from audit logs and transcripts.
//!
//! It is pure: records and transcripts come in, and text goes out. Text that clients and commands chose is data in the page. It
//! is escaped here so that it can't end the element that contains it, and the page's script inserts it as text.
//!
//! - `data`: [`Report`], the content of the page: sessions, and an entry for each call and each other event
//! - `audit`, `transcript`: make the entries; `page`: the template, with its style, its script and their hashes

mod audit;
mod data;
mod page;
mod transcript;

pub(crate) use data::{Chain, Report};
pub(crate) use page::write;

//! One budget for the memory that a client can make the server hold. Everything that waits for its answer is charged to
//! it.
//!
//! A [`Charge`] gives its bytes back when it is dropped. It is stored next to what it pays for, so no path can forget it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use thiserror::Error;

use crate::files::{Held, Reached};
use crate::policy::rules::HeldClaim;

/// The size of the budget, in bytes: 64 MiB.
pub(super) const MOST_HELD: usize = 64 * 1024 * 1024;
/// The cost of a request in addition to its own bytes: its entries in the loop's tables, its log line, a directory.
pub(super) const REQUEST: usize = 4 * 1024;
/// The cost of a word of a command in addition to its bytes: its place in the list, and its allocation.
const WORD: usize = 64;

/// The budget, which counts how much is held now.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget(Rc<Cell<usize>>);

/// A part of the budget, which is given back when this is dropped.
#[derive(Debug)]
pub(super) struct Charge {
    budget: Budget,
    bytes: usize,
}

/// The budget does not suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "pending requests take {} MiB already, and that is the limit; wait for some of the answers, then send this again",
    MOST_HELD >> 20
)]
pub(super) struct OverBudget;

impl Budget {
    /// Makes an empty charge.
    pub(super) fn charge(&self) -> Charge {
        Charge { budget: self.clone(), bytes: 0 }
    }
}

impl Charge {
    /// Takes more of the budget.
    ///
    /// # Errors
    /// [`OverBudget`]; in this case nothing was taken.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), OverBudget> {
        let held = &self.budget.0;
        held.set(held.get().checked_add(bytes).filter(|after| *after <= MOST_HELD).ok_or(OverBudget)?);
        self.bytes += bytes;
        Ok(())
    }

    /// Makes another empty charge on the same budget.
    pub(super) fn other(&self) -> Self {
        self.budget.charge()
    }

    /// Moves the bytes of this charge to a new one, which can outlive it.
    pub(super) fn take(&mut self) -> Self {
        Self { budget: self.budget.clone(), bytes: std::mem::take(&mut self.bytes) }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.0.set(self.budget.0.get() - self.bytes);
    }
}

/// The cost of a path that a call holds until its turn: its handles, of which a process may have only some thousands.
const CLAIM: usize = 8 * 1024;

/// Returns the cost of the paths that a call holds until its turn.
pub(super) fn cost_of_claims(claims: &[HeldClaim]) -> usize {
    let names = claims.iter().map(|claim| match &claim.reached {
        Some(Reached::Missing { names, .. }) => names.len(),
        Some(Reached::There { .. }) | None => 0,
    });
    claims.len() * CLAIM + names.sum::<usize>() * WORD
}

/// Returns the cost of a command's words until it has ended. Starting it copies them once.
pub(super) fn cost_of_words(words: &[String]) -> usize {
    words.iter().map(|word| 2 * (word.len() + WORD)).sum()
}

/// Returns the cost of a call's own directories.
pub(super) fn cost_of_directories(directories: &[Arc<Held>]) -> usize {
    // Twice: the call holds them, and so does the thread that runs it.
    directories.iter().map(|directory| 2 * (directory.path().as_os_str().len() + WORD)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_charged_is_given_back_and_no_more_than_there_is_can_be_taken() {
        let budget = Budget::default();
        let mut one = budget.charge();
        let mut other = budget.charge();
        assert_eq!(one.grow(MOST_HELD - 1), Ok(()));
        assert_eq!((other.grow(2), other.grow(1), other.grow(1)), (Err(OverBudget), Ok(()), Err(OverBudget)));
        assert_eq!(other.grow(usize::MAX), Err(OverBudget));
        let kept = one.take();
        drop(one);
        assert_eq!(other.grow(1), Err(OverBudget));
        drop(kept);
        assert_eq!(other.grow(MOST_HELD - 1), Ok(()));
        drop(other);
        assert_eq!(budget.0.get(), 0);
    }
}

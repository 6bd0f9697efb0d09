//! How a person can be asked about a call, or why nobody can be.

use std::sync::Arc;

use crate::exec::OperatorProgram;
use crate::mcp::has_form_elicitation;
use crate::server::not_run::NotRun;
use crate::server::outgoing::Outgoing;
use crate::server::question::{AnswerOf, CallToApprove, LONGEST_TEXT, MOST_EQUAL};
use crate::server::questions::{AskSettings, By, Questions};
use crate::server::requests::Requests;
use crate::server::session::RequestContext;

/// The most questions that are open at the same time.
const MOST_OPEN: usize = 16;

/// How a person is asked about a call that waits for the answer.
#[derive(Debug)]
pub(super) enum Way {
    /// By the operator's program.
    Program(Arc<OperatorProgram>),
    /// By a request to the client.
    Request,
    /// In the task that the call has become.
    Task,
}

impl Questions {
    /// How a person can be asked about this call; `None` in its result, and then nothing waits.
    ///
    /// # Errors
    /// [`NotRun`], if nobody can be asked.
    pub(super) fn way(
        &self,
        settings: &AskSettings,
        context: &RequestContext,
        asked: &CallToApprove,
        (requests, outgoing): (&Requests, &Outgoing),
    ) -> Result<Option<Way>, NotRun> {
        let sentence = || asked.proposal.to_string();
        if self.is_closed {
            return Err(NotRun::NobodyToAsk { sentence: sentence() });
        }
        if asked.text(AnswerOf::EqualCalls).is_none() {
            return Err(NotRun::TooLongToShow { sentence: sentence(), most: LONGEST_TEXT });
        }
        let in_results = outgoing.asked_in_results();
        let is_open = self.open.iter().map(|open| &open.asked).chain(in_results.iter().copied());
        let open = self.open.len() + self.ending.len() + in_results.len();
        if open >= MOST_OPEN && !is_open.into_iter().any(|open| open.is_same(asked)) {
            return Err(NotRun::TooManyQuestions { sentence: sentence(), most: MOST_OPEN });
        }
        let shows_forms = context.revision.has_elicitation() && has_form_elicitation(&context.client_capabilities);
        let way = match &settings.program {
            Some(Ok(program)) => Way::Program(Arc::clone(program)),
            Some(Err(why)) => return Err(NotRun::NotAsked { sentence: sentence(), why: why.clone() }),
            None if !shows_forms || self.is_input_over => return Err(NotRun::NobodyToAsk { sentence: sentence() }),
            None if context.revision.is_modern() => return Ok(None),
            None => Way::Request,
        };
        // The text told the person the most calls that the answer can be for.
        let equal = self.open.iter().find(|open| !matches!(open.by, By::Task(_)) && open.asked.is_same(asked));
        if equal.is_some_and(|open| requests.count_asked(open.number) >= MOST_EQUAL) {
            return Err(NotRun::TooManyEqual { sentence: sentence(), most: MOST_EQUAL });
        }
        Ok(Some(way))
    }
}

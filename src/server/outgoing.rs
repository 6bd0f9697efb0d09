//! The questions that the server asked its client and that have no answer yet, of every kind, in both eras.
//!
//! In the legacy era a question is a request from the server, and its id leads from the answer back to the question.
//! In the modern era it is part of a result (`InputRequiredResult`), and the client sends its request again with the
//! answer. If the answer affects a decision, the result carries a `requestState`: a random name for what is kept here.
//! So a client can't make up a state, use it twice, use it for another call, or use it too late.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::budget::{Charge, OverBudget};
use super::deadlines::Since;
use super::question::CallToApprove;
use crate::jsonrpc::{ErrorObject, RequestId, encode};
use crate::mcp::{ELICITATION_CREATE, ROOTS_LIST, Revision, input_required_result};
use crate::random;

/// The most states that are kept; a new one replaces the oldest.
const MOST_STATES: usize = 64;
/// The cost of a state in addition to the call that it is bound to. The text that a person was shown is bounded.
const STATE: usize = 16 * 1024;

/// A question for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Question {
    /// Which directories it works in.
    Roots,
    /// Whether its user approves a call.
    Approval,
}

impl Question {
    /// Its key in a result that asks it, and in the answers; ids of requests begin with it.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Roots => "roots",
            Self::Approval => "approval",
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::Roots => ROOTS_LIST,
            Self::Approval => ELICITATION_CREATE,
        }
    }

    /// The answer to it in the parameters of a request; `None` if there is none.
    pub(super) fn answer_in(self, params: &Map<String, Value>) -> Option<&Value> {
        params.get("inputResponses")?.get(self.key())
    }
}

/// The call that a question is bound to: its parameters; the question, which the decision on the request that brings
/// the answer has to match; and its number.
type Bound<'a> = (&'a Map<String, Value>, Arc<CallToApprove>, u64);

/// The tool and the arguments of a call, as JSON with sorted members.
fn call_of(params: &Map<String, Value>) -> String {
    json!([params.get("name"), params.get("arguments")]).to_string()
}

#[derive(Debug)]
struct BoundQuestion {
    number: u64,
    name: String,
    call: String,
    closed: Closed,
    _charge: Charge,
}

/// A question of a result that is no longer open.
#[derive(Debug)]
pub(super) struct Closed {
    pub asked: Arc<CallToApprove>,
    /// The number of the call that was answered with the question.
    pub call: u64,
    pub since: Since,
}

/// The open questions.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// The requests of the legacy era.
    sent: HashMap<RequestId, (u64, Question)>,
    /// The states of the modern era, the oldest first.
    states: VecDeque<BoundQuestion>,
    last: u64,
}

impl Outgoing {
    /// Makes a request that asks this question; returns its number and its line.
    pub(super) fn send(&mut self, question: Question, params: &Value) -> (u64, Vec<u8>) {
        self.last += 1;
        let number = self.last;
        let id = RequestId::from_value(&json!(format!("{}-{number}", question.key()))).unwrap_or_else(|| number.into());
        let line = encode::request(&id, question.method(), params);
        self.sent.insert(id, (number, question));
        (number, line)
    }

    /// Removes the request that a response is for; `None` if there is none.
    pub(super) fn answered(&mut self, id: &RequestId) -> Option<(u64, Question)> {
        self.sent.remove(id)
    }

    /// Stops waiting for the answer to this request; returns the line that tells the client.
    pub(super) fn withdraw(&mut self, number: u64, why: &str) -> Option<Vec<u8>> {
        let id = self.sent.iter().find(|(_, (sent, _))| *sent == number).map(|(id, _)| id.clone())?;
        self.sent.remove(&id);
        Some(encode::notification("notifications/cancelled", &json!({"requestId": id, "reason": why})))
    }

    /// Forgets all requests; late answers are ignored.
    pub(super) fn forget_sent(&mut self) {
        self.sent.clear();
    }

    /// Makes a result that asks these questions, for a call that the client has to send again with the answers. If the
    /// answers affect a decision, the result is `bound` to it and can be answered once, until [`expire`](Self::expire)
    /// is called with the returned number. The `charge` pays for what is kept.
    ///
    /// # Errors
    /// [`OverBudget`], if there is no memory for what it is bound to.
    pub(super) fn ask_in_result(
        &mut self,
        questions: Vec<(Question, Value)>,
        bound: Option<Bound<'_>>,
        charge: Charge,
        revision: Revision,
    ) -> Result<(Value, u64), OverBudget> {
        let requests = questions.into_iter().map(|(question, params)| (question.key(), question.method(), params));
        self.last += 1;
        let state = bound.map(|bound| self.keep(bound, charge)).transpose()?;
        Ok((input_required_result(requests, state, revision), self.last))
    }

    fn keep(&mut self, (params, asked, call_number): Bound<'_>, mut charge: Charge) -> Result<String, OverBudget> {
        let call = call_of(params);
        if self.states.len() >= MOST_STATES {
            self.states.pop_front();
        }
        while let Err(over_budget) = charge.grow(STATE + call.len()) {
            self.states.pop_front().ok_or(over_budget)?;
        }
        let name = random::uuid();
        let closed = Closed { asked, call: call_number, since: Since::now() };
        let (number, state) = (self.last, name.clone());
        self.states.push_back(BoundQuestion { number, name: state, call, closed, _charge: charge });
        Ok(name)
    }

    /// Takes the state that a call brings, and returns what was asked; `None` if it brings none.
    ///
    /// # Errors
    /// The error object for a call with a state that the server did not issue, that was used, is too old, or belongs to
    /// another call.
    pub(super) fn resume(&mut self, params: &Map<String, Value>) -> Result<Option<Closed>, ErrorObject> {
        let Some(name) = params.get("requestState") else { return Ok(None) };
        let place = self.states.iter().position(|state| name.as_str() == Some(&*state.name));
        let state = place.and_then(|place| self.states.remove(place));
        match state.filter(|state| state.call == call_of(params)) {
            Some(state) => Ok(Some(state.closed)),
            None => Err(ErrorObject::invalid_params(
                "`requestState` was not given by this server for this call, was used, or has expired; send the call without it",
            )),
        }
    }

    /// Drops the state with this number, if the client has not come back with it.
    pub(super) fn expire(&mut self, number: u64) -> Option<Closed> {
        let place = self.states.iter().position(|state| state.number == number)?;
        self.states.remove(place).map(|state| state.closed)
    }

    /// Drops all states; returns what they asked.
    pub(super) fn expire_all(&mut self) -> Vec<Closed> {
        self.states.drain(..).map(|state| state.closed).collect()
    }

    /// The open questions of results, each once.
    pub(super) fn asked_in_results(&self) -> Vec<&Arc<CallToApprove>> {
        let mut distinct: Vec<&Arc<CallToApprove>> = Vec::new();
        for state in &self.states {
            if !distinct.iter().any(|other| other.is_same(&state.closed.asked)) {
                distinct.push(&state.closed.asked);
            }
        }
        distinct
    }
}

#[cfg(test)]
#[cfg(all(unix, feature = "rules"))]
mod tests {
    use super::*;
    use crate::server::budget::{Budget, MOST_HELD};
    use crate::server::question::asked_about;

    fn params(value: &Value) -> &Map<String, Value> {
        value.as_object().unwrap()
    }

    fn ask(outgoing: &mut Outgoing, call: &Value, about: &str, budget: &Budget) -> Result<(String, u64), OverBudget> {
        let bound = (params(call), Arc::new(asked_about(&["echo", about])), 1);
        let questions = vec![(Question::Approval, json!({"message": "?"})), (Question::Roots, Value::Null)];
        let (result, number) =
            outgoing.ask_in_result(questions, Some(bound), budget.charge(), Revision::V2026_07_28)?;
        let asked = json!({"method": "elicitation/create", "params": {"message": "?"}});
        assert_eq!(result["inputRequests"], json!({"approval": asked, "roots": {"method": "roots/list"}}));
        assert_eq!(result["resultType"], "input_required");
        Ok((result["requestState"].as_str().unwrap().to_owned(), number))
    }

    fn asked(outgoing: &mut Outgoing, call: &Value, budget: &Budget) -> String {
        ask(outgoing, call, "hi", budget).unwrap().0
    }

    fn retried(call: &Value, state: &str) -> Value {
        let mut call = call.clone();
        call["requestState"] = json!(state);
        call
    }

    #[test]
    fn a_state_is_taken_once_for_the_call_that_it_is_bound_to() {
        let (mut outgoing, budget) = (Outgoing::default(), Budget::default());
        let call = json!({"name": "execute_command", "arguments": {"command": "ls", "cwd": "/"}});
        let state = asked(&mut outgoing, &call, &budget);
        assert!(outgoing.resume(params(&call)).unwrap().is_none());
        let same = json!({"arguments": {"cwd": "/", "command": "ls"}, "name": "execute_command", "inputResponses": {}});
        let closed = outgoing.resume(params(&retried(&same, &state))).unwrap().unwrap();
        assert_eq!((closed.asked.proposal.shown(), closed.call), (vec!["echo".to_owned(), "hi".to_owned()], 1));
        assert!(outgoing.resume(params(&retried(&same, &state))).is_err(), "it was used");
        // A state that is shown for another call is gone as well.
        let state = asked(&mut outgoing, &call, &budget);
        let other = json!({"name": "execute_command", "arguments": {"command": "rm", "cwd": "/"}});
        for call in [&other, &call] {
            assert!(outgoing.resume(params(&retried(call, &state))).is_err(), "{call}");
        }
        for made_up in [json!(""), json!(5), json!(null), json!(random::uuid())] {
            let mut call = call.clone();
            call["requestState"] = made_up;
            assert_eq!(outgoing.resume(params(&call)).map(drop).map_err(|error| error.code), Err(-32602));
        }
    }

    #[test]
    fn states_expire_and_are_bounded_in_number_and_in_memory() {
        let (mut outgoing, budget) = (Outgoing::default(), Budget::default());
        let call = json!({"name": "execute_command", "arguments": {"command": "x".repeat(1 << 20)}});
        let (state, number) = ask(&mut outgoing, &call, "hi", &budget).unwrap();
        let younger = asked(&mut outgoing, &call, &budget);
        assert_eq!(outgoing.asked_in_results().len(), 1, "equal questions are one");
        assert!(outgoing.expire(number).is_some() && outgoing.expire(number).is_none());
        assert!(outgoing.resume(params(&retried(&call, &state))).is_err());
        assert!(outgoing.resume(params(&retried(&call, &younger))).is_ok());
        let states: Vec<String> = (0..70).map(|_| asked(&mut outgoing, &call, &budget)).collect();
        assert!(outgoing.states.len() < MOST_STATES, "of 64 MiB that many can't be held");
        assert!(outgoing.resume(params(&retried(&call, &states[69]))).is_ok());
        assert!(outgoing.resume(params(&retried(&call, &states[0]))).is_err());
        let small = json!({"name": "execute_command", "arguments": {"command": "ls"}});
        (0..100).for_each(|count| drop(ask(&mut outgoing, &small, &format!("{}", count % 3), &budget)));
        assert_eq!((outgoing.states.len(), outgoing.asked_in_results().len()), (MOST_STATES, 3));
        assert_eq!(outgoing.expire_all().len(), MOST_STATES);
        // What others hold leaves no place for it, and nothing is dropped that would make one.
        let mut all = budget.charge();
        all.grow(MOST_HELD).unwrap();
        assert!(ask(&mut outgoing, &small, "hi", &budget).is_err());
    }

    #[test]
    fn requests_of_any_number_are_told_apart_by_their_ids() {
        let mut outgoing = Outgoing::default();
        let send =
            |outgoing: &mut Outgoing, question| String::from_utf8(outgoing.send(question, &json!({"a": 1})).1).unwrap();
        let lines =
            [Question::Roots, Question::Approval, Question::Roots].map(|question| send(&mut outgoing, question));
        assert!(lines[2].contains(r#""id":"roots-3","method":"roots/list""#), "{lines:?}");
        assert!(lines[1].contains(r#""id":"approval-2","method":"elicitation/create","params":{"a":1}"#), "{lines:?}");
        let id = |text: &str| RequestId::from_value(&json!(text)).unwrap();
        assert_eq!(outgoing.answered(&id("approval-2")), Some((2, Question::Approval)));
        assert_eq!(outgoing.answered(&id("approval-2")), None);
        assert_eq!(outgoing.answered(&id("roots-3")), Some((3, Question::Roots)));
        let withdrawn = outgoing.withdraw(1, "late").map(|line| String::from_utf8(line).unwrap());
        assert!(withdrawn.is_some_and(|line| line.contains(r#""reason":"late","requestId":"roots-1""#)));
        assert!(outgoing.answered(&id("roots-1")).is_none() && outgoing.withdraw(1, "late").is_none());
        send(&mut outgoing, Question::Approval);
        outgoing.forget_sent();
        assert_eq!(outgoing.answered(&id("approval-4")), None);
    }
}

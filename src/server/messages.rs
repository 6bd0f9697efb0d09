//! From a line of the client to its messages, each of which is served in turn.

use super::auditor::ReceivedLine;
use super::replies::Destination;
use super::run::{Lifecycle, Server};
use crate::config::LogLevel;
use crate::jsonrpc::{
    ErrorObject, INTERNAL_ERROR, INVALID_REQUEST, Incoming, Line, LongLine, MAX_LINE, Malformed, Message, Request,
    encode,
};
use crate::mcp::Revision;

impl Server<'_> {
    /// Serves a line: a message, a batch of them, or something to be refused.
    pub(super) fn line(&mut self, line: Line) {
        if self.lifecycle == Lifecycle::Ending {
            return;
        }
        let text = match line {
            Line::Text(text) => text,
            Line::TooLong(line) => return self.long_line(&line),
        };
        let line = &ReceivedLine::new(&text);
        match Incoming::parse(&text) {
            Ok(Incoming::Single(message)) => self.message(Ok(message), Destination::Client, line),
            Ok(Incoming::Batch(elements)) => self.batch(elements, line),
            Err(malformed) => self.message(Err(malformed), Destination::Client, line),
        }
    }

    fn long_line(&mut self, line: &LongLine) {
        let (id, is_answered) = match line {
            LongLine::Unanswered => (None, false),
            LongLine::Request(id) => (Some(id), true),
            LongLine::Other => (None, true),
        };
        let why = format!("invalid request: the line is longer than {MAX_LINE} bytes");
        self.audit.malformed(id, INVALID_REQUEST, &why, None);
        if is_answered {
            self.send(Some(encode::error(id, &ErrorObject::new(INVALID_REQUEST, why))));
        }
    }

    fn batch(&mut self, elements: Vec<Result<Message, Malformed>>, line: &ReceivedLine<'_>) {
        if !self.session.revision().is_some_and(Revision::has_batches) {
            let why = "invalid request: batches exist only after a handshake with protocol version 2025-03-26";
            return self.refuse_batch(INVALID_REQUEST, why, line);
        }
        let is_answered = |element: &&Result<Message, Malformed>| matches!(element, Ok(Message::Request(_)) | Err(_));
        let to = match elements.iter().filter(is_answered).count() {
            0 => Ok(Destination::Client),
            answers => self.replies.open_batch(answers),
        };
        match to {
            Ok(to) => elements.into_iter().for_each(|element| self.message(element, to, line)),
            Err(error) => self.refuse_batch(INTERNAL_ERROR, &error.to_string(), line),
        }
    }

    fn refuse_batch(&mut self, code: i32, why: &str, line: &ReceivedLine<'_>) {
        self.audit.malformed(None, code, why, Some(line));
        self.send(Some(encode::error(None, &ErrorObject::new(code, why))));
    }

    fn message(&mut self, message: Result<Message, Malformed>, to: Destination, line: &ReceivedLine<'_>) {
        match message {
            Ok(Message::Request(request)) => self.received_request(request, to, line),
            Ok(Message::Notification(notification)) => self.notification(&notification, line),
            Ok(Message::Response(response)) => self.response(&response, line),
            Err(Malformed { id, error }) => {
                self.audit.malformed(id.as_ref(), error.code, &error.message, Some(line));
                self.log.write(LogLevel::Debug, &format!("a line that isn't a message: {}", error.message));
                let answer = self.replies.error_to(id.as_ref(), to, &error);
                self.send(answer);
            }
        }
        // Before the next message of a batch.
        self.start_calls();
    }

    fn received_request(&mut self, request: Request, to: Destination, line: &ReceivedLine<'_>) {
        let called = self.audit.called(&request);
        let reply = self.replies.open(request.id.clone(), called, to);
        if request.method == "initialize" && reply.is_in_batch() {
            let why = "invalid request: `initialize` can't be part of a batch";
            return self.refuse(reply, ErrorObject::new(INVALID_REQUEST, why));
        }
        self.request(request, reply, line);
    }
}

//! Each mistake is found where it is, and nothing else.

use std::collections::BTreeMap;

use super::session::VERSION;
use super::{Schema, lint};
use crate::transcript::Transcript;

fn check(body: &str, expected: &[&str]) {
    let transcript = Transcript::parse("t", format!("transcript: 1\n\n{body}")).unwrap();
    let found: Vec<String> = lint(&transcript, 3, &BTreeMap::new())
        .iter()
        .map(|finding| format!("{} {} {}: {}", finding.line, finding.side, finding.rule, finding.what))
        .collect();
    assert_eq!(found, expected, "{body}");
}

const HANDSHAKE: &str = "--> {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}\n\
                         <-- {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\"}}\n\
                         --> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

#[test]
fn each_rule_finds_its_mistake_and_a_clean_session_has_none() {
    let after = |body: &str, expected: &[&str]| check(&format!("{HANDSHAKE}{body}"), expected);
    after(
        "--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n<-- {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n==> eof\n",
        &[],
    );
    after(
        "<--! a log\n<--!\n",
        &[
            "6 server framing: the line is not JSON (expected value at line 1 column 1): \"a log\"",
            "7 server framing: the line is blank",
        ],
    );
    after("<--x ff\n", &["6 server framing: the line is not UTF-8"]);
    after(
        "<-- {\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n",
        &["6 server id: it answers the id 9, which no request has"],
    );
    after(
        "--> {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}\n",
        &["6 client id: the id 0 was used before in this session"],
    );
    after(
        "--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n==> eof\n",
        &["6 server id: the request 1 (`m`) was never answered"],
    );
    after(
        "--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n--> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n\
         <-- {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n==> eof\n",
        &["8 server cancellation: the request 1 was cancelled, but was answered"],
    );
    after(
        "--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"_meta\":{\"progressToken\":5}}}\n\
         <-- {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":5,\"progress\":2}}\n\
         <-- {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":5,\"progress\":2}}\n\
         <-- {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\
         <-- {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":5,\"progress\":3}}\n\
         <-- {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":6,\"progress\":3}}\n",
        &[
            "8 server progress: progress must increase with each notification",
            "10 server progress: its request was answered already",
            "11 server progress: no request has the token 6",
        ],
    );
    // That of a task goes on.
    after(
        "--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"_meta\":{\"progressToken\":5}}}\n\
         <-- {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\
         <-- {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":5,\"progress\":3,\
         \"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"x\"}}}}\n",
        &[],
    );
    check(
        "--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n",
        &["3 client lifecycle: `tools/list` before `initialize` was answered"],
    );
    after(
        "<-- {\"jsonrpc\":\"2.0\",\"id\":7}\n--> {\"id\":3,\"method\":\"ping\"}\n",
        &["6 server id: it answers the id 7, which no request has", "7 client jsonrpc: `jsonrpc` is not \"2.0\""],
    );
    after(
        "<-- {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"m\"}}\n\
         <-- {\"jsonrpc\":\"2.0\",\"error\":\"nope\"}\n<-- {\"error\":{}}\n",
        &[
            "6 server id: an id is never null; leave it out if it is not known",
            "7 server jsonrpc: an error has a whole number as its `code` and a string as its `message`",
        ],
    );
    after(
        "--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n<-- {\"id\":1,\"result\":{}}\n-->+ garbage\n",
        &[
            "7 server jsonrpc: `jsonrpc` is not \"2.0\"",
            "8 client framing: the line is not JSON (expected value at line 1 column 1): \"garbage\"",
        ],
    );
    after(
        "--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":{}}\n<== exit 139\n",
        &[
            "6 client jsonrpc: it has a `method` and also a `result` or an `error`",
            "6 server id: the request 1 (`ping`) was never answered",
            "7 server lifecycle: a signal ended the server (exit status 139)",
        ],
    );
}

#[test]
fn a_last_line_without_its_end_is_found_on_both_sides() {
    let last = "--> {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n";
    check(&format!("{last}==> eof\n"), &[]);
    let last = last.replace("-->", "-->+");
    check(&format!("{last}==> eof\n"), &["3 client framing: its last line does not end with LF"]);
    // A recording may break off within a line.
    check(&last, &[]);
}

#[test]
fn an_id_is_the_same_number_however_it_is_written() {
    let session = |asked: &str, answered: &str| {
        format!(
            "{HANDSHAKE}--> {{\"jsonrpc\":\"2.0\",\"id\":{asked},\"method\":\"ping\"}}\n\
             <-- {{\"jsonrpc\":\"2.0\",\"id\":{answered},\"result\":{{}}}}\n==> eof\n"
        )
    };
    for (asked, answered) in [("1.0", "1"), ("7", "7.0"), ("1e2", "100"), ("9007199254740993", "9007199254740993")] {
        check(&session(asked, answered), &[]);
    }
    for (asked, answered) in [("1", "\"1\""), ("9007199254740993", "9007199254740992"), ("1", "2")] {
        let finding = format!("7 server id: it answers the id {answered}, which no request has");
        let open = format!("6 server id: the request {asked} (`ping`) was never answered");
        check(&session(asked, answered), &[&open, &finding]);
    }
}

#[test]
fn a_wait_for_a_method_is_judged_by_nothing_that_it_does_not_say() {
    let answer = "--> {\"jsonrpc\":\"2.0\",\"id\":\"r\",\"result\":{\"roots\":[]}}\n";
    let body = format!(
        "{HANDSHAKE}<-- {{\"method\":\"notifications/progress\"}}\n<-- {{\"method\":\"notifications/cancelled\"}}\n\
         <-- {{\"method\":\"roots/list\"}}\n{answer}{answer}"
    );
    check(&body, &["10 client id: it answers the id \"r\", which no request has"]);
}

/// A schema in which the result of `tools/list` has just this member.
fn schema(member: &str) -> Schema {
    let text = serde_json::json!({"$defs": {
        "ListToolsRequest": {"properties": {"method": {"const": "tools/list"}}},
        "ListToolsResult": {"required": [member]},
        "InputRequiredResult": {"required": ["inputRequests"]},
    }});
    Schema::parse(text.to_string().as_bytes()).unwrap()
}

#[test]
fn a_message_is_judged_by_the_revision_of_its_own_request() {
    let request = |id: u32, version: Option<&str>| {
        let meta = version
            .map_or_else(String::new, |version| format!(",\"params\":{{\"_meta\":{{\"{VERSION}\":\"{version}\"}}}}"));
        format!("--> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"{meta}}}\n")
    };
    let answer = |id: u32, result: &str| format!("<-- {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n");
    let modern = || Some("2026-07-28");
    let body = [
        HANDSHAKE.to_owned(),
        request(1, None) + &request(2, modern()) + &answer(2, "{\"new\":1}") + &answer(1, "{\"old\":1}"),
        request(3, None) + &request(4, modern()) + &answer(4, "{\"old\":1}") + &answer(3, "{\"new\":1}"),
        request(5, modern()) + &answer(5, "{\"resultType\":\"input_required\",\"inputRequests\":{}}"),
        request(6, modern()) + &answer(6, "{\"resultType\":\"input_required\"}"),
        request(7, Some("1999-01-01")) + &request(8, Some("1999-01-01")),
    ];
    let transcript = Transcript::parse("t", format!("transcript: 1\n\n{}", body.concat())).unwrap();
    let schemas = [("2025-06-18", "old"), ("2026-07-28", "new")];
    let schemas = schemas.map(|(revision, member)| (revision.to_owned(), schema(member))).into();
    let found: Vec<String> = lint(&transcript, 3, &schemas)
        .into_iter()
        .map(|finding| format!("{} {}", finding.line, finding.what))
        .collect();
    let expected = [
        "12 the answer to `tools/list`: `new` is missing",
        "13 the answer to `tools/list`: `old` is missing",
        "17 the answer to `tools/list`: `inputRequests` is missing",
        "18 there is no schema for the revision \"1999-01-01\", so its messages were not checked",
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_nobody_has_offered_is_found_and_what_is_unknown_has_its_own_error() {
    let session = |client: &str, server: &str, body: &str| {
        let answer = format!("\"protocolVersion\":\"2025-06-18\",\"capabilities\":{server}");
        format!(
            "--> {{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{{\"capabilities\":{client}}}}}\n\
             <-- {{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{{{answer}}}}}\n\
             --> {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}}\n{body}"
        )
    };
    let body = "<-- {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\
                <-- {\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"roots/list\"}\n\
                --> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";
    check(
        &session("{}", "{\"logging\":null}", body),
        &[
            "6 server capability: `notifications/message`, but the server has not declared `logging`",
            "7 server capability: `roots/list`, but the client has not declared `roots`",
            "8 client capability: `tools/list`, but the server has not declared `tools`",
        ],
    );
    check(&session("{\"roots\":{}}", "{\"logging\":{},\"tools\":{}}", body), &[]);
    // A line that is not JSON is answered, too.
    let answer = "<-- {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"m\"}}\n";
    let garbage = "6 client framing: the line is not JSON (expected value at line 1 column 1): \"x\"";
    check(&session("{}", "{}", &format!("--> x\n{answer}==> eof\n")), &[garbage]);
    let unanswered = "6 server jsonrpc: the line is not JSON, and no error says so";
    check(&session("{}", "{}", "--> x\n==> eof\n"), &[garbage, unanswered]);
    let body = session("{}", "{}", "--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n")
        + "<-- {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"m\"}}\n";
    let transcript = Transcript::parse("t", format!("transcript: 1\n\n{body}")).unwrap();
    let found = lint(&transcript, 3, &[("2025-06-18".to_owned(), schema("tools"))].into());
    let expected = "`x` is not a method of this revision; expected the error -32601, found -32602";
    assert_eq!(found.iter().map(|finding| finding.what.as_str()).collect::<Vec<_>>(), [expected]);
}

#[test]
fn json_that_fits_in_no_value_is_not_called_no_json() {
    check(
        "<--! {\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":1e999}\n",
        &["3 server framing: the line is JSON that few programs read (number out of range at line 1 column 44): \
           \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"method\\\":\\\"m\\\",\\\"params\\\":1e999}\""],
    );
}

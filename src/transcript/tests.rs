//! The format as a table of texts and errors, the round trip of any transcript, and plays against peers in memory.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;

use super::{Entry, Header, LineEnd, Message, Peer, Placeholders, Platform, Player, Sent, Setup, Transcript};

const CANONICAL: &str = r##"transcript: 1
scenario: execute_command/kills_the_tree_at_the_deadline
version: 0.1.0
args: --allow sh,echo --allow 'a b' --timeout=400ms ''
env: ALLOWED_CWD_ROOTS=[tmp] 'PATH=[tmp]/my bin'
platform: linux macos
setup: dir sub/deeper
setup: file sub/a.txt "two\nlines"
setup: script "my bin/tool" "#!/bin/sh\necho hi\n"
setup: link here sub

# The shell's own child must not survive.

--> {"jsonrpc":"2.0","id":1,"method":"tools/call"}
-->
-->   blanks count
-->x fffe
-->x 7b20
-->+ {"half":
-->x+ ff
<-- {"id":1}
<-- {"method":"notifications/progress"}
<-- {"error":{}}
<-- [{"id":1},{"id":"1"}]
==> eof
<== exit 0
"##;

#[test]
fn canonical_text_is_printed_as_it_was_parsed() {
    let transcript = Transcript::parse("t", CANONICAL).unwrap();
    assert_eq!(transcript.to_string(), CANONICAL);
    assert_eq!(transcript.header.args(), ["--allow", "sh,echo", "--allow", "a b", "--timeout=400ms", ""]);
    assert_eq!(transcript.header.env()[1], ("PATH".to_owned(), "[tmp]/my bin".to_owned()));
    assert_eq!(transcript.header.platforms(), [Platform::Linux, Platform::Macos]);
    assert_eq!(transcript.header.setup()[1], Setup::file("sub/a.txt", "two\nlines").unwrap());
}

#[test]
fn other_spellings_are_read_and_printed_canonically() {
    let loose = "transcript:1 \r\nargs: --allow\r\nplatform:  unix\r\nargs: \"ls\"\r\n \t\r\n-->x 6869\r\n==> eof ";
    let transcript = Transcript::parse("t", loose).unwrap();
    assert_eq!(transcript.to_string(), "transcript: 1\nargs: --allow ls\nplatform: unix\n\n--> hi\n==> eof\n");
}

#[test]
fn errors_name_the_line_and_what_was_expected() {
    let rows: &[(&[u8], &str)] = &[
        (b"", "f:1: expected `transcript: 1` on the first line, found ``"),
        (b"scenario: a/b\n", "f:1: expected `transcript: 1` on the first line, found `scenario: a/b`"),
        (
            b"{\"seq\":0,\"time\"",
            "f:1: expected a transcript, found an audit log; `allowexec audit show` and `allowexec report` read it",
        ),
        (b"transcript: 2\n", "f:1: expected `transcript: 1`, found version `2`"),
        (
            b"transcript: 1\nargz: x\n",
            "f:2: unknown header key `argz`; expected one of `transcript`, `scenario`, `version`, `server`, `directory`, `args`, `env`, `platform`, `era`, `setup`, `match`",
        ),
        (b"transcript: 1\n--> x\n", "f:2: expected `key: value`, or a blank line to end the header, found `--> x`"),
        (
            b"transcript: 1\n--> {\"id\":1}\n",
            "f:2: expected `key: value`, or a blank line to end the header, found `--> {\"id\":1}`",
        ),
        (b"transcript: 1\ntranscript: 1\n", "f:2: header key `transcript` occurs twice; expected it once"),
        (b"transcript: 1\nscenario: a\nscenario: a\n", "f:3: header key `scenario` occurs twice; expected it once"),
        (
            b"transcript: 1\nscenario:\n",
            "f:2: `scenario` can't be \"\": expected text on one line, not empty and without blanks around it",
        ),
        (b"transcript: 1\nargs: 'a\n", "f:2: `args` ends inside a quotation or after a backslash: `'a`"),
        (b"transcript: 1\nenv: A\n", "f:2: expected `NAME=value` in `env`, found `A`"),
        (b"transcript: 1\nenv: =x\n", "f:2: expected `NAME=value` in `env`, found `=x`"),
        (b"transcript: 1\nplatform: beos\n", "f:2: unknown platform `beos`; expected unix, windows, linux or macos"),
        (b"transcript: 1\nplatform:\n", "f:2: unknown platform ``; expected unix, windows, linux or macos"),
        (b"transcript: 1\nsetup: file ../x y\n", "f:2: expected a relative path without `..` in `setup`, found `../x`"),
        (
            b"transcript: 1\nsetup: file x\n",
            "f:2: expected `dir PATH`, `file PATH TEXT`, `script PATH TEXT` or `link PATH TARGET` in `setup`, each a word without \
             blanks or a JSON string, found `file x`",
        ),
        (
            b"transcript: 1\n\n->x\n",
            "f:3: expected `-->`, `-->x`, `-->+`, `-->x+`, `<--`, `<--!`, `<--x`, `==>`, `<==`, `#` or a blank line, found `->x`",
        ),
        (
            b"transcript: 1\nera: modern\n",
            "f:2: expected `era: both`, found `era: modern`; leave the line out if the transcript is one session",
        ),
        (
            b"transcript: 1\nargs:\nera: both\n",
            "f:3: expected a transcript of one session, found `era: both`; only `allowexec replay`, `review` and `lint` read two",
        ),
        (
            b"transcript: 1\n\nlegacy --> {}\n",
            "f:3: expected `era: both` in the header of a transcript with lines of one era, found `legacy --> {}`",
        ),
        (b"transcript: 1\n\n-->x 123\n", "f:3: expected pairs of hex digits without blanks, found `123`"),
        (b"transcript: 1\n\n-->x 0g\n", "f:3: expected pairs of hex digits without blanks, found `0g`"),
        (
            b"transcript: 1\n\n<-- {\n",
            "f:3: expected a JSON message on one line, found `{`: EOF while parsing an object at line 1 column 1",
        ),
        (
            b"transcript: 1\n\n<-- {\"id\":null}\n",
            "f:3: expected a message with a `method`, an `id` or an `error`, found `{\"id\":null}`",
        ),
        (
            b"transcript: 1\n\n<-- (end of output)\n",
            "f:3: a wait that was not met can't be played: `<-- (end of output)`; expected a JSON message or `exit N`",
        ),
        (b"transcript: 1\n\n==> quit\n", "f:3: expected `==> eof`, found `==> quit`"),
        (b"transcript: 1\n\n<== exit\n", "f:3: expected `<== exit N` or `<== no line feed`, found `<== exit`"),
        (b"transcript: 1\n\n--> \xff\n", "f:3: expected UTF-8; write other bytes as `-->x` and their hex digits"),
    ];
    for (text, expected) in rows {
        let error = Transcript::parse("f", text).expect_err(expected);
        assert_eq!(error.to_string(), *expected);
    }
}

#[test]
fn what_each_modern_message_repeats_is_bounded() {
    let name = "x".repeat(1 << 20);
    let handshake = format!(
        "--> {{\"id\":1,\"method\":\"initialize\",\"params\":{{\"clientInfo\":{{\"name\":\"{name}\"}}}}}}\n<-- {{\"id\":1}}\n\
         --> {{\"method\":\"notifications/initialized\"}}\n"
    );
    let text = |lines| {
        let pings = "--> {\"id\":2,\"method\":\"ping\"}\n".repeat(lines);
        format!("transcript: 1\nera: both\n\n{handshake}{pings}")
    };
    assert!(Transcript::parse_sessions("f", text(10)).is_ok());
    let error = Transcript::parse_sessions("f", text(64)).unwrap_err().to_string();
    assert!(error.starts_with("f:70: expected at most 64 MiB of `clientInfo` and `capabilities`"), "{error}");
}

#[test]
fn a_text_of_both_eras_begins_with_the_handshake() {
    let text = "transcript: 1\nera: both\n\n--> {\"id\":1,\"method\":\"ping\"}\n";
    let error = Transcript::parse_sessions("f", text).unwrap_err();
    assert_eq!(
        error.to_string(),
        "f:4: expected a body that begins with `initialize`, its answer and `notifications/initialized`, as `era: both` needs \
         it, found `--> {\"id\":1,\"method\":\"ping\"}`"
    );
}

#[test]
fn a_header_refuses_what_no_line_can_hold() {
    assert!(Header::default().with_arg("a\nb").is_err());
    assert!(Header::default().with_env("A=", "b").is_err());
    assert!(Header::default().with_version(" 1").is_err());
}

fn word() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|word| word.replace(['\n', '\r', '\0'], "'"))
}

fn entry() -> impl Strategy<Value = Entry> {
    let end = prop_oneof![Just(LineEnd::Newline), Just(LineEnd::Missing)];
    let bytes = prop_oneof![any::<Vec<u8>>(), any::<String>().prop_map(String::into_bytes)];
    prop_oneof![
        (bytes, end).prop_map(|(bytes, end)| Entry::Send(Sent { bytes, end })),
        any::<(i64, String)>().prop_map(|(id, text)| {
            let message = serde_json::json!({"id": id, "result": text});
            Entry::Receive(Message::parse(&message.to_string()).unwrap())
        }),
        "[ -~]*".prop_map(Entry::Comment),
        any::<i32>().prop_map(Entry::Exit),
        Just(Entry::CloseInput),
        Just(Entry::Blank),
    ]
}

fn header() -> impl Strategy<Value = Header> {
    let vars = prop::collection::vec(("[A-Za-z_]+", word()), 0..3);
    let files = prop::collection::vec(("[a-z \"é]+", any::<String>()), 0..3);
    (prop::collection::vec(word(), 0..4), vars, files).prop_map(|(args, vars, files)| {
        let header = args.iter().try_fold(Header::default(), |header, arg| header.with_arg(arg)).unwrap();
        let header = vars.iter().try_fold(header, |header, (name, value)| header.with_env(name, value)).unwrap();
        let mut files = files.iter().map(|(path, text)| Setup::script(path, text).unwrap());
        files.by_ref().fold(header, Header::with_setup)
    })
}

proptest! {
    #[test]
    fn every_transcript_is_the_same_after_printing_and_parsing(
        header in header(),
        entries in prop::collection::vec(entry(), 0..8),
    ) {
        let transcript = Transcript { header, entries };
        let text = transcript.to_string();
        prop_assert_eq!(&Transcript::parse("t", &text).unwrap(), &transcript, "{}", text);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<Vec<u8>>(), line in any::<String>()) {
        Transcript::parse("t", text).ok();
        Transcript::parse("t", format!("transcript: 1\n{line}\n\n{line}")).ok();
    }
}

/// Plays a body against a peer that answers each piece it gets with the lines that `answer` gives, and its end with the
/// lines that it gives for nothing.
fn play(body: &str, answer: impl Fn(&str) -> Vec<Vec<u8>> + Send + 'static) -> String {
    let (to_peer, pieces) = mpsc::channel::<Vec<u8>>();
    let (lines, from_peer) = mpsc::channel();
    let server = thread::spawn(move || {
        for piece in pieces.iter().chain([Vec::new()]) {
            for line in answer(std::str::from_utf8(&piece).unwrap()) {
                lines.send([&line[..], b"\n"].concat()).ok();
            }
        }
    });
    let mut server = Some(server);
    let peer = Peer::over_channels(to_peer, from_peer, move |_| server.take().map(|s| i32::from(s.join().is_err())));
    let transcript = Transcript::parse("t", format!("transcript: 1\n\n{body}")).unwrap();
    let played = Player::default().deadline(Duration::from_millis(200)).play(&transcript, peer).to_string();
    played.strip_prefix("transcript: 1\n\n").unwrap().to_owned()
}

/// A peer that has all its lines ready for the word `go` and none for anything else.
fn go(lines: &'static [&'static str]) -> impl Fn(&str) -> Vec<Vec<u8>> + Send + 'static {
    move |piece| match piece {
        "go\n" => lines.iter().map(|line| line.as_bytes().to_vec()).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn waits_are_filled_in_the_order_of_the_transcript() {
    let answer = go(&[r#"{"id":2,"result":{}}"#, r#"{"id":"1","result":{}}"#, r#"{"id":1,"result":{}}"#]);
    let played =
        play("--> go\n<-- {\"id\":1}\n# then\n<-- {\"id\":2}\n<-- {\"id\":\"1\"}\n==> eof\n<== exit 7\n", answer);
    assert_eq!(
        played,
        "--> go\n<-- {\"id\":1,\"result\":{}}\n# then\n<-- {\"id\":2,\"result\":{}}\n<-- {\"id\":\"1\",\"result\":{}}\n==> eof\n<== exit 0\n"
    );
}

#[test]
fn what_nobody_waits_for_stands_where_it_was_noticed() {
    let answer = go(&[r#"{"method":"a"}"#, "garbage", r#"{"id":1}"#, r#"{"id":1,"again":true}"#]);
    let played = play("--> go\n<-- {\"id\":1}\n==> eof\n<== exit 0\n", answer);
    assert_eq!(
        played,
        "--> go\n<-- {\"method\":\"a\"}\n<--! garbage\n<-- {\"id\":1}\n==> eof\n<-- {\"id\":1,\"again\":true}\n<== exit 0\n"
    );
}

#[test]
fn a_task_is_asked_about_no_longer_than_the_deadline() {
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = asked.clone();
    let body =
        "--> {\"id\":1,\"method\":\"tasks/get\"}\n<-- {\"id\":1,\"result\":{\"status\":\"completed\"}}\n==> eof\n";
    let played = play(body, move |piece| {
        let Ok(request) = serde_json::from_str::<serde_json::Value>(piece) else { return Vec::new() };
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        thread::sleep(Duration::from_millis(60));
        vec![serde_json::json!({"id": request["id"], "result": {"status": "working"}}).to_string().into_bytes()]
    });
    assert!(played.contains("\"working\""), "{played}");
    // In 200 ms, of which the answers take most.
    let asked = asked.load(std::sync::atomic::Ordering::Relaxed);
    assert!(asked <= 4, "{asked}");
}

#[test]
fn a_missed_wait_is_a_visible_line() {
    let played = play("--> no\n<-- {\"id\":1}\n==> eof\n<-- {\"id\":1}\n", go(&[]));
    assert_eq!(played, "--> no\n<-- (nothing within 200ms)\n==> eof\n<-- (end of output)\n");
}

#[test]
fn endless_output_does_not_hold_the_player() {
    let played = play("--> go\n<-- {\"id\":1}\n", |_| vec![br#"{"method":"m"}"#.to_vec(); 1100]);
    assert!(played.contains("\n<-- (gave up after 1000 other messages)\n"), "{played}");
}

#[test]
fn pieces_go_out_as_they_are_written() {
    let echo = |piece: &str| match piece {
        "" => Vec::new(),
        piece => vec![serde_json::json!({"method": piece}).to_string().into_bytes()],
    };
    let played = play("-->+ a b\n-->x 0d\n-->\n==> eof\n", echo);
    assert_eq!(
        played,
        "-->+ a b\n-->x 0d\n-->\n==> eof\n<-- {\"method\":\"a b\"}\n<-- {\"method\":\"\\r\\n\"}\n<-- {\"method\":\"\\n\"}\n"
    );
}

#[test]
fn streams_and_directories_are_played_with_placeholders() {
    let directory = tempfile::tempdir().unwrap();
    let placeholders = Placeholders::with_tmp(directory.path()).unwrap();
    let canonical = dunce::canonicalize(directory.path()).unwrap();
    let value = serde_json::json!({"id": 1, "path": canonical.join("x"), "yaml": format!("{:?}", canonical)});
    let output = std::io::Cursor::new(format!("{value}\n").into_bytes());
    let peer = Peer::over_streams(std::io::sink(), output, |_| None).unwrap();
    let transcript = Transcript::parse("t", "transcript: 1\n\n<-- {\"id\":1}\n<== exit 0\n").unwrap();
    let player = Player::default().deadline(Duration::from_millis(50)).placeholders(placeholders.clone());
    let slash = if cfg!(windows) { "\\\\" } else { "/" };
    assert_eq!(
        player.play(&transcript, peer).to_string(),
        format!(
            "transcript: 1\n\n<-- {{\"id\":1,\"path\":\"[tmp]{slash}x\",\"yaml\":\"\\\"[tmp]\\\"\"}}\n<== (still running after 50ms)\n"
        )
    );
    let sent: serde_json::Value = serde_json::from_str(&placeholders.fill_json("\"[tmp]\"")).unwrap();
    assert_eq!(sent, canonical.to_str().unwrap());
}

#[test]
fn versions_are_hidden_in_server_info_alone() {
    let hide = |line: &str| Placeholders::version_only().hide(line);
    assert_eq!(
        hide(r#"{"v":{"version":"1"},"serverInfo":{"name":"a","version": "0.1.0","x":1},"version":"0.1.0"}"#),
        r#"{"v":{"version":"1"},"serverInfo":{"name":"a","version": "[version]","x":1},"version":"0.1.0"}"#
    );
    assert_eq!(
        hide(r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{"version":"2","name":"a"}}}"#),
        r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{"version":"[version]","name":"a"}}}"#
    );
    for untouched in
        [r#"{"text":"\"serverInfo\":{\"version\":\"1\"}"}"#, r#"{"serverInfo":{}}"#, r#"{"serverInfo":"#, "é"]
    {
        assert_eq!(hide(untouched), untouched);
    }
}

#[test]
fn setup_makes_files_and_scripts() {
    let (directory, placeholders) =
        made("setup: dir a/b\nsetup: file a/f.txt \"in [tmp]\\n\"\nsetup: script bin/s \"#!/bin/sh\\n\"\n");
    assert!(directory.path().join("a/b").is_dir());
    let text = std::fs::read_to_string(directory.path().join("a/f.txt")).unwrap();
    assert_eq!(text, placeholders.fill("in [tmp]\n"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(directory.path().join("bin/s")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }
}

// Wine 8 makes no links, and Windows only for who may; `spec/platforms.md` lists it.
#[test]
#[cfg(unix)]
fn setup_makes_links_and_writes_no_file_through_one() {
    let (directory, placeholders) = made("setup: file a/f.txt \"in [tmp]\\n\"\nsetup: link a/l f.txt\n");
    let through_link = std::fs::read_to_string(directory.path().join("a/l")).unwrap();
    assert_eq!(through_link, placeholders.fill("in [tmp]\n"));
    let again = Setup::file("a/l", "x").unwrap().make(directory.path(), &placeholders);
    assert_eq!(again.unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
}

/// A fresh directory with what these lines of a header make in it.
fn made(setup: &str) -> (tempfile::TempDir, Placeholders) {
    let directory = tempfile::tempdir().unwrap();
    let placeholders = Placeholders::with_tmp(directory.path()).unwrap();
    let transcript = Transcript::parse("t", format!("transcript: 1\n{setup}")).unwrap();
    for setup in transcript.header.setup() {
        setup.make(directory.path(), &placeholders).unwrap();
    }
    (directory, placeholders)
}

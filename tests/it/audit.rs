//! `allowexec audit`: what it says of logs that were written by the format, changed by others, and of files that are none.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

/// A log by the format: each record is linked to the line before it.
#[derive(Default, Clone)]
pub struct Log {
    pub lines: Vec<Vec<u8>>,
}

impl Log {
    pub fn head(&self) -> String {
        self.lines.last().map_or("0".repeat(64), |line| digest::of(line))
    }

    pub fn add(&mut self, session: &str, seq: u64, fields: &Value) {
        let number = self.lines.len();
        let (second, minute) = (number % 60, number / 60 % 60);
        let hour = number / 3600 % 24;
        let mut line = format!(
            "{{\"seq\":{seq},\"time\":\"2026-11-23T{hour:02}:{minute:02}:{second:02}.123Z\",\"session\":\"{session}\",\"prev\":\"{}\"",
            self.head()
        );
        for (key, value) in fields.as_array().unwrap().chunks(2).map(|pair| (&pair[0], &pair[1])) {
            write!(line, ",{key}:{value}").unwrap();
        }
        line.push('}');
        self.lines.push(line.into_bytes());
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect()
    }
}

/// SHA-256 once more (FIPS 180-4), so that the tests do not ask the code that they test.
mod digest {
    use std::sync::LazyLock;

    /// The first 32 bits of the fractional parts of the cube roots and of the square roots of the first primes.
    static ROOTS: LazyLock<(Vec<u32>, Vec<u32>)> = LazyLock::new(|| {
        let primes = (2_u64..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0));
        let root = |n: u64, power: u32| {
            let (mut low, mut high) = (0_u128, 1_u128 << 40);
            while low + 1 < high {
                let middle = u128::midpoint(low, high);
                if middle.pow(power) <= u128::from(n) << (32 * power) { low = middle } else { high = middle }
            }
            (low & 0xffff_ffff) as u32
        };
        (primes.clone().take(64).map(|n| root(n, 3)).collect(), primes.take(8).map(|n| root(n, 2)).collect())
    });

    pub(super) fn of(bytes: &[u8]) -> String {
        let (k, start) = &*ROOTS;
        let mut h = start.clone();
        let mut message = bytes.to_vec();
        message.push(0x80);
        while message.len() % 64 != 56 {
            message.push(0);
        }
        message.extend((bytes.len() as u64 * 8).to_be_bytes());
        for chunk in message.chunks(64) {
            let mut w: Vec<u32> = chunk.chunks(4).map(|b| u32::from_be_bytes(b.try_into().unwrap())).collect();
            for i in 16..64 {
                let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
                let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
                w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
            }
            let mut v = h.clone();
            for i in 0..64 {
                let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
                let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
                let t1 = v[7].wrapping_add(s1).wrapping_add(choice).wrapping_add(k[i]).wrapping_add(w[i]);
                let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
                let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
                v.rotate_right(1);
                v[4] = v[4].wrapping_add(t1);
                v[0] = t1.wrapping_add(s0.wrapping_add(majority));
            }
            h.iter_mut().zip(v).for_each(|(h, v)| *h = h.wrapping_add(v));
        }
        h.iter().map(|word| format!("{word:08x}")).collect()
    }

    #[test]
    fn it_is_the_standards() {
        assert_eq!(of(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}

/// Random numbers that are the same in every run (xorshift64*).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end as u64).unwrap()
    }
}

/// A log of several sessions that take turns, with some calls each.
pub fn some_log(random: &mut Random, records: usize) -> Log {
    let mut log = Log::default();
    let mut sessions: Vec<(String, u64, u64)> = Vec::new();
    while log.lines.len() < records {
        if sessions.is_empty() || sessions.len() < 3 && random.below(12) == 0 {
            let name = format!("{:08x}-0000-4000-8000-{:012x}", random.below(1 << 30), log.lines.len());
            log.add(&name, 0, &json!(["event", "session_started", "version", "0.1.0", "client", {"name": "test", "version": "1"}, "user", "me", "host", "here"]));
            sessions.push((name, 1, 0));
            continue;
        }
        let at = random.below(sessions.len());
        let (name, seq, calls) = &mut sessions[at];
        let fields = match random.below(8) {
            0 | 1 => {
                *calls += 1;
                json!([
                    "event",
                    "decided",
                    "call",
                    *calls,
                    "id",
                    *calls,
                    "tool",
                    "execute_command",
                    "argv",
                    ["git", "log", "größe \u{1f600}"],
                    "cwd",
                    "/home/me",
                    "decision",
                    "allowed",
                    "rule",
                    "git:3",
                    "reason",
                    null
                ])
            }
            2 => {
                *calls += 1;
                json!([
                    "event",
                    "decided",
                    "call",
                    *calls,
                    "id",
                    "x",
                    "tool",
                    "execute_command",
                    "argv",
                    ["rm", "-rf", "/"],
                    "cwd",
                    null,
                    "decision",
                    "refused",
                    "rule",
                    null,
                    "reason",
                    "command `rm` is not allowed"
                ])
            }
            3 => json!(["event", "started", "call", *calls, "program", "/usr/bin/git", "pid", 4711]),
            4 | 5 => {
                json!(["event", "ended", "call", *calls, "exit_code", 0, "duration_ms", 12, "stdout", {"bytes": 340, "sha256": "ab"}, "stderr", {"bytes": 0, "sha256": "cd"}])
            }
            6 => json!([
                "event",
                "refused_request",
                "id",
                null,
                "method",
                "tools/call",
                "tool",
                "nothing",
                "code",
                -32602,
                "reason",
                "unknown tool `nothing`"
            ]),
            _ if random.below(4) == 0 => {
                let (name, seq, calls) = sessions.remove(at);
                log.add(&name, seq, &json!(["event", "session_ended", "calls", calls]));
                continue;
            }
            _ => json!(["event", "roots", "roots", ["/home/me"], "refused", []]),
        };
        log.add(&name.clone(), *seq, &fields);
        sessions[at].1 += 1;
    }
    log
}

pub fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_allowexec")).args(arguments).env_remove("COLUMNS").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn written(directory: &Path, name: &str, bytes: &[u8]) -> String {
    let path = directory.join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The status, and the kind and line of the break.
fn verdict(arguments: &[&str]) -> (i32, Option<(String, u64)>) {
    let output = run(&[&["audit", "verify", "--json"], arguments].concat());
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let broken = found["break"].as_object();
    assert_eq!(found["intact"], broken.is_none());
    let broken = broken.map(|found| (found["kind"].as_str().unwrap().to_owned(), found["line"].as_u64().unwrap()));
    (output.status.code().unwrap(), broken)
}

#[test]
fn head_prints_what_a_script_takes_and_verify_finds() {
    let directory = tempfile::tempdir().unwrap();
    let log = some_log(&mut Random(1), 30);
    let file = written(directory.path(), "log", &log.bytes());
    let output = run(&["audit", "head", &file]);
    assert_eq!((text(&output.stdout), output.status.code()), (format!("30 {}\n", log.head()), Some(0)));
    let output = run(&["audit", "head", "--json", &file]);
    let head: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(head, json!({"records": 30, "head": log.head()}));
    let empty = written(directory.path(), "empty", b"");
    assert_eq!(text(&run(&["audit", "head", &empty]).stdout), format!("0 {}\n", "0".repeat(64)));

    assert_eq!(verdict(&[&file]), (0, None));
    assert_eq!(verdict(&[&file, "--head", &log.head()]), (0, None));
    let without = text(&run(&["audit", "verify", &file]).stdout);
    assert!(without.starts_with("intact: 30 records in 1 file, "), "{without}");
    assert!(without.contains("records cut off at the end, can't be detected"), "{without}");

    // The end is cut off: that shows with an anchor alone.
    let cut = Log { lines: log.lines[..20].to_vec() };
    let file = written(directory.path(), "cut", &cut.bytes());
    assert_eq!(verdict(&[&file]), (0, None));
    assert_eq!(verdict(&[&file, "--head", &log.head()]), (1, Some(("cut".into(), 20))));
    let anchors = written(directory.path(), "anchors", format!("20 {}\n30 {}\n", cut.head(), log.head()).as_bytes());
    assert_eq!(verdict(&[&file, "--since-anchor", &anchors]), (1, Some(("cut".into(), 20))));
    let anchors = written(directory.path(), "anchors", format!("20 {}\n", cut.head()).as_bytes());
    let output = text(&run(&["audit", "verify", &file, "--since-anchor", &anchors]).stdout);
    assert!(output.contains("line 20; 0 records since"), "{output}");
}

#[test]
fn verify_and_head_count_alike_and_a_head_may_have_its_number() {
    let directory = tempfile::tempdir().unwrap();
    let log = some_log(&mut Random(2), 20);
    let whole = log.bytes();
    // The last line may be there but for its end, or in part, or be one that a crash has torn.
    for bytes in [whole.clone(), whole[..whole.len() - 1].to_vec(), whole[..whole.len() - 30].to_vec()] {
        let file = written(directory.path(), "log", &bytes);
        let head = text(&run(&["audit", "head", &file]).stdout);
        let head = head.trim_end();
        let verified = text(&run(&["audit", "verify", &file]).stdout);
        assert!(verified.contains(&format!("  head       {head}\n")), "{head}: {verified}");
        assert!(verified.starts_with(&format!("intact: {} records", head.split(' ').next().unwrap())), "{verified}");
        let anchored = text(&run(&["audit", "verify", &file, "--head", head]).stdout);
        assert!(anchored.contains("; 0 records since"), "{anchored}");
        let found: Value = serde_json::from_slice(&run(&["audit", "verify", "--json", &file]).stdout).unwrap();
        assert_eq!(format!("{} {}", found["head"]["records"], found["head"]["sha256"].as_str().unwrap()), head);
        assert_eq!(found["records"], found["head"]["records"]);
    }
    let file = written(directory.path(), "log", &whole);
    let head = format!("20 {}", log.head());
    assert_eq!(verdict(&[&file, "--head", &head]), (0, None));
    assert_eq!(verdict(&[&file, "--head", &head.replace("20 ", "")]), (0, None));
    let other = format!("19 {}", "0123456789abcdef".repeat(4));
    assert_eq!(verdict(&[&file, "--head", &other]), (1, Some(("changed".into(), 19))));
    for wrong in ["", "20", &format!("x {}", log.head()), &format!("{head} now"), "20 abc"] {
        let output = run(&["audit", "verify", &file, "--head", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(text(&output.stderr).contains("what `allowexec audit head` prints"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_file_that_is_no_audit_log_is_refused_with_what_it_seems_to_be() {
    let directory = tempfile::tempdir().unwrap();
    let log = some_log(&mut Random(2), 3);
    let files = [
        ("config.yaml", b"allow: [ls]\n".to_vec(), "it seems to be text"),
        ("package.json", b"{\n  \"name\": \"x\"\n}\n".to_vec(), "it seems to be JSON"),
        ("binary", fs::read(env!("CARGO_BIN_EXE_allowexec")).unwrap(), "it seems to be binary data"),
        ("audit.jsonl.1.gz", b"\x1f\x8b\x08\0".to_vec(), "it is compressed by gzip"),
        ("anchors", format!("3 {}\n", log.head()).into_bytes(), "which `audit verify --since-anchor` takes"),
    ];
    let good = written(directory.path(), "log", &log.bytes());
    for (name, bytes, seems) in files {
        let file = written(directory.path(), name, &bytes);
        for words in [&["audit", "head"][..], &["audit", "verify"], &["audit", "verify", &good], &["report"]] {
            let output = run(&[words, &[&file]].concat());
            let said = text(&output.stderr);
            assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words:?} {name}: {said}");
            assert!(said.contains("it is not an audit log: ") && said.contains(seems), "{words:?} {name}: {said}");
        }
    }
    let transcript = written(directory.path(), "transcript", b"transcript: 1\n");
    let said = text(&run(&["audit", "verify", &transcript]).stderr);
    assert!(said.contains("it is a transcript"), "{said}");
}

#[test]
fn the_second_implementation_agrees_on_two_hundred_changed_logs() {
    let Ok(python) = Command::new("python3").arg("--version").output() else {
        return eprintln!("python3 is missing, so the second implementation was not asked");
    };
    assert!(python.status.success());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/audit/verify.py");
    let directory = tempfile::tempdir().unwrap();
    let random = &mut Random(17);
    let (mut asked, mut verdicts) = (Vec::new(), Vec::new());
    let mut kinds = std::collections::BTreeMap::<String, usize>::new();
    for number in 0..200 {
        let records = 5 + random.below(40);
        let mut log = some_log(random, records);
        let (head, end, whole) = (log.head(), log.lines.len(), log.bytes());
        let mut bytes = None;
        let at = random.below(end);
        match number % 5 {
            0 => {
                let mut changed = log.bytes();
                let place = random.below(changed.len());
                changed[place] ^= 1 << random.below(7);
                bytes = Some(changed);
            }
            1 => drop(log.lines.remove(at)),
            2 => {
                // A copy, something else, or a record that fits the line before it.
                match random.below(3) {
                    0 => log.lines.insert(at, log.lines[random.below(end)].clone()),
                    1 => log.lines.insert(at, b"{}".to_vec()),
                    _ => {
                        let mut start = Log { lines: log.lines[..at].to_vec() };
                        start.add("new", 0, &json!(["event", "session_started"]));
                        log.lines.insert(at, start.lines.pop().unwrap());
                    }
                }
            }
            3 => log.lines.swap(at, random.below(end)),
            _ => {
                let mut cut = log.bytes();
                cut.truncate(random.below(cut.len()));
                bytes = Some(cut);
            }
        }
        let bytes = bytes.unwrap_or_else(|| log.bytes());
        let file = written(directory.path(), &format!("log{number}"), &bytes);
        for anchor in [None, Some(head.as_str())] {
            let flags: Vec<&str> = anchor.into_iter().flat_map(|head| ["--head", head]).collect();
            let (status, found) = verdict(&[&[file.as_str()], flags.as_slice()].concat());
            asked.push(anchor.map_or_else(|| file.clone(), |head| format!("{file}@{head}")));
            assert_eq!(status, i32::from(found.is_some()));
            let is_overlooked = found.is_none() && anchor.is_some() && bytes != whole;
            assert!(!is_overlooked, "{number}: with the head no change is overlooked");
            *kinds.entry(found.as_ref().map_or("intact".to_owned(), |(kind, _)| kind.clone())).or_default() += 1;
            verdicts.push(found.map_or("intact".to_owned(), |(kind, line)| format!("broken {kind} {line}")));
        }
    }
    let output = Command::new("python3").arg(&script).args(&asked).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert_eq!(said.lines().count(), verdicts.len());
    for ((said, verdict), asked) in said.lines().zip(&verdicts).zip(&asked) {
        assert_eq!(
            said,
            verdict,
            "{asked}: {}",
            String::from_utf8_lossy(&fs::read(asked.split('@').next().unwrap()).unwrap())
        );
    }
    assert_eq!(kinds.len(), 6, "each kind is seen: {kinds:?}");
}

#[test]
fn show_filters_and_fits_a_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let log = some_log(&mut Random(5), 60);
    let file = written(directory.path(), "log", &log.bytes());
    let rows = |flags: &[&str]| {
        let output = run(&[&["audit", "show", &file], flags].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rows(&[]).len(), 60);
    let refused = rows(&["--refused"]);
    assert!(!refused.is_empty() && refused.iter().all(|row| row.contains("  refused")), "{refused:#?}");
    assert!(rows(&["--call", "1"]).iter().all(|row| row.contains("      1  ")));
    assert_eq!(rows(&["--since", "2026-11-23T00:00:30"]).len(), 30);
    assert_eq!(rows(&["--since", "2026-11-23T00:00:30Z"]).len(), 30);
    assert_eq!(rows(&["--since", "2026-11-24"]).len(), 0);
    let of_git = rows(&["--program", "git"]);
    assert!(of_git.iter().any(|row| row.contains("exit 0")) && !of_git.iter().any(|row| row.contains("rm -rf")));
    assert!(rows(&["--program", "/usr/bin/git"]).iter().any(|row| row.contains("/usr/bin/git")));
    let json = rows(&["--json", "--refused"]);
    assert!(json.iter().all(|line| serde_json::from_str::<Value>(line).unwrap()["event"].is_string()));
    let narrow = Command::new(env!("CARGO_BIN_EXE_allowexec"))
        .args(["audit", "show", &file])
        .env("COLUMNS", "70")
        .output()
        .unwrap();
    assert!(text(&narrow.stdout).lines().all(|line| line.chars().count() <= 70));
}

#[test]
fn show_and_report_leave_out_no_record_however_long_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let record = |seq: u64, prev: &str, rest: &str| {
        format!(
            "{{\"seq\":{seq},\"time\":\"2026-11-23T00:00:0{seq}.000Z\",\"session\":\"s\",\"prev\":\"{prev}\",\"event\":\"decided\",{rest}}}"
        )
    };
    let decided = |call: u64, argv: &str| {
        format!(
            "\"call\":{call},\"id\":1,\"tool\":\"execute_command\",\"decision\":\"refused\",\"argv\":[{argv}],\"cwd\":null,\"rule\":null,\"reason\":\"no\""
        )
    };
    let padding = "x".repeat(1024 * 1024 + 1);
    let old = format!(
        "\"call\":3,\"id\":1,\"tool\":\"execute_command\",\"argv\":[\"rm\",\"{padding}\"],\"cwd\":null,\"decision\":\"refused\",\"rule\":null,\"reason\":\"no\""
    );
    let hidden = format!("\"padding\":\"{padding}\",{}", decided(4, "\"rm\""));
    let (mut log, prev) = (String::new(), "0".repeat(64));
    for (seq, rest) in
        (0..).zip([decided(1, "\"rm\",\"x\""), decided(2, &format!("\"rm\",\"{padding}\"")), old, hidden])
    {
        let line = record(seq, &prev, &rest);
        log += &(line + "\n");
    }
    // A long line that is no record could hide one.
    log += &(padding.clone() + "\n");
    let file = written(directory.path(), "log", log.as_bytes());
    let rows = |flags: &[&str]| {
        let output = run(&[&["audit", "show", &file], flags].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    for flags in [&[][..], &["--refused"], &["--program", "rm"]] {
        let rows = rows(flags);
        assert_eq!(rows.len(), 6, "{flags:?}");
        assert!(rows[2].contains("      2  refused          [the beginning of a record of 1048"), "{:.200}", rows[2]);
        assert!(
            rows[2].contains("] rm ") && rows[3].contains("      3  decided          [the beginning"),
            "{:.200}",
            rows[3]
        );
        assert!(rows[2].contains("] rm [left out]") && !rows[2].contains("null"), "{:.200}", rows[2]);
        assert!(rows[5].contains("unreadable       1048577 bytes"), "{:.200}", rows[5]);
    }
    let of_one = rows(&["--call", "2"]);
    assert!(of_one.len() == 4 && of_one[1].contains("      2  refused"), "{} rows", of_one.len());
    let json: Vec<Value> =
        rows(&["--json", "--refused"]).iter().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert_eq!(
        (json.len(), &json[1]["beginning"]["call"], &json[1]["beginning"]["argv"][0]),
        (5, &json!(2), &json!("rm"))
    );
    assert!(json[1]["unreadable"].as_u64().unwrap() > 1024 * 1024 && json[4]["beginning"].is_null());
    let page = run(&["report", &file]);
    assert_eq!(text(&page.stdout).matches("\"command\":\"rm").count(), 3, "{}", text(&page.stderr));
}

/// Files that are no logs, or that somebody wrote to do harm.
fn hostile(directory: &Path) -> Vec<(&'static str, PathBuf)> {
    let file = |name: &'static str, bytes: &[u8]| {
        let path = directory.join(name);
        fs::write(&path, bytes).unwrap();
        (name, path)
    };
    let zeros = "0".repeat(64);
    let record = format!(
        "{{\"seq\":0,\"time\":\"\u{1b}[31m\",\"session\":\"\u{202e}\\u001b\",\"prev\":\"{zeros}\",\"event\":\"decided\",\"call\":1,\"argv\":[\"\\u001b]0;x\\u0007\",[[]],\"\u{9b}\"],\"decision\":\"\\u0000\"}}\n"
    );
    let deep =
        format!("{{\"seq\":0,\"session\":\"s\",\"prev\":\"{zeros}\",\"event\":\"x\",\"y\":{}}}\n", "[".repeat(500_000));
    vec![
        file("zeros", &[0; 100_000]),
        file("no UTF-8", b"\xff\xfe\n\xc3\n"),
        file("no JSON", b"hello\n"),
        file("controls", record.as_bytes()),
        file("deep", deep.as_bytes()),
        file("line feeds", &[b'\n'; 200_000]),
        file("words", format!("{{\"event\":\"decided\",\"argv\":[{}1]}}\n", "[],".repeat(300_000)).as_bytes()),
        file("one line", &b"x".repeat(8 << 20)),
    ]
}

#[test]
fn files_that_are_no_logs_are_told_from_those_and_do_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    for (name, path) in hostile(directory.path()) {
        let path = path.to_str().unwrap();
        for (action, expected) in [("head", 0), ("verify", 1), ("show", 0)] {
            for json in [&[][..], &["--json"]] {
                let output = run(&[&["audit", action, path], json].concat());
                let said = [text(&output.stdout), text(&output.stderr)].concat();
                let harmless = said.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}');
                assert!(harmless && said.len() < 60_000_000, "{name} {action}: {said:?}");
                // These begin like a log.
                let is_taken = action == "show" || matches!(name, "controls" | "deep");
                let expected = if is_taken { expected } else { 2 };
                assert!(is_taken || said.contains("it is not an audit log: it "), "{name} {action}: {said:.300}");
                assert_eq!(output.status.code(), Some(expected), "{name} {action}: {said:.300}");
            }
        }
    }
    let missing = run(&["audit", "verify", "/nonexistent/log"]);
    assert_eq!(missing.status.code(), Some(2));
    let output = run(&["audit", "verify", directory.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("it is a directory; expected a regular file"), "{}", text(&output.stderr));
    let anchors = written(directory.path(), "anchors", b"12 abc\n");
    let output = run(&["audit", "verify", "/dev/null", "--since-anchor", &anchors]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
#[cfg(target_os = "linux")]
fn a_fifo_is_not_waited_for_and_a_line_larger_than_the_memory_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for action in ["head", "verify", "show"] {
        let output = run(&["audit", action, fifo.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("it is a FIFO or a pipe"), "{}", text(&output.stderr));
    }
    // A hole: it takes no space on the disk. It is as long as a line may be.
    let long = directory.path().join("long");
    let log = some_log(&mut Random(6), 5).bytes();
    fs::write(&long, &log).unwrap();
    fs::File::options().write(true).open(&long).unwrap().set_len(log.len() as u64 + (1 << 27)).unwrap();
    for action in ["head", "verify", "show"] {
        let command = format!("ulimit -v 100000; exec \"$0\" audit {action} \"$1\"");
        let output =
            Command::new("sh").args(["-c", &command, env!("CARGO_BIN_EXE_allowexec"), long.to_str().unwrap()]).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(0), "{action}: {}", text(&output.stderr));
    }
}

#[test]
fn a_log_or_a_line_that_is_too_long_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    fs::write(&log, some_log(&mut Random(7), 20).bytes()).unwrap();
    let records = fs::read_to_string(&log).unwrap().lines().count();
    let file = fs::File::options().write(true).open(&log).unwrap();
    // Holes again, behind records: to read them all would take hours.
    let cases = [
        (1 << 40, "it is larger than 16 GiB, the most that is read of one log; split it at a line end".to_owned()),
        (1 << 30, format!("line {} is longer than 128 MiB, the most that is read of one line", records + 1)),
    ];
    for (length, expected) in cases {
        file.set_len(length).unwrap();
        for words in [&["audit", "head"][..], &["audit", "verify"], &["audit", "show"], &["report"]] {
            let output = run(&[words, &[log.to_str().unwrap()]].concat());
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
            assert!(said.contains(&expected), "{words:?}: {said}");
        }
    }
}

const GUIDE: &str = include_str!("../../spec/guide/audit.md");

fn blocks<'a>(language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    GUIDE.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
#[cfg(unix)]
fn the_guides_anchors_keep_a_head_that_verify_takes() {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path();
    let log = some_log(&mut Random(3), 25);
    let file = written(base, "log", &log.bytes());
    // The programs that no test machine has keep what they get.
    let aws = "case $5 in s3://example-anchors/*Z-*[!0-9a-f]*) exit 1;; esac; cat >> \"$HOME/anchors\"";
    for (name, kept) in [("systemd-cat", "cat >> \"$HOME/anchors\""), ("aws", aws)] {
        let program = base.join(name);
        fs::write(&program, format!("#!/bin/sh\n{kept}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", base.display(), std::env::var("PATH").unwrap());
    let has_git = Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success());
    let scripts = blocks("sh");
    assert_eq!(scripts.len(), 3);
    for (index, script) in scripts.into_iter().enumerate() {
        let is_git = script.contains("git ");
        if is_git && !has_git {
            eprintln!("git is missing, so its anchor was not tried");
            continue;
        }
        let home = base.join(format!("home{index}"));
        fs::create_dir(&home).unwrap();
        let program = written(&home, "anchor", script.as_bytes());
        let sh = |arguments: &[&str]| {
            let mut command = Command::new("sh");
            command.args(arguments).env("HOME", &home).env("PATH", &path).env_remove("ALLOWEXEC_ANCHORS");
            command
        };
        for end in [10, 20] {
            let head =
                run(&["audit", "head", &written(base, "part", &Log { lines: log.lines[..end].to_vec() }.bytes())]);
            let mut child = sh(&[&program]).stdin(std::process::Stdio::piped()).spawn().unwrap();
            // As the server does.
            writeln!(child.stdin.take().unwrap(), "{} /var/log/my audit.jsonl", text(&head.stdout).trim_end()).unwrap();
            assert!(child.wait().unwrap().success(), "{script}");
        }
        let mut anchors = home.join("anchors");
        if is_git {
            let command = "git -C \"$HOME/anchors\" notes --ref=audit show $(git hash-object -t tree /dev/null)";
            let output = sh(&["-c", command]).output().unwrap();
            anchors = home.join("of-git");
            fs::write(&anchors, &output.stdout).unwrap();
        }
        let anchors = anchors.to_str().unwrap();
        assert_eq!(text(&fs::read(anchors).unwrap()).lines().filter(|line| !line.is_empty()).count(), 2, "{script}");
        assert_eq!(verdict(&[&file, "--since-anchor", anchors]), (0, None), "{script}");
        let cut = written(base, "cut", &Log { lines: log.lines[..15].to_vec() }.bytes());
        assert_eq!(verdict(&[&cut, "--since-anchor", anchors]), (1, Some(("cut".into(), 15))), "{script}");
    }
}

#[test]
fn the_guides_ten_lines_verify_a_log() {
    if Command::new("python3").arg("--version").output().is_err() {
        return eprintln!("python3 is missing, so the guide's lines were not run");
    }
    let directory = tempfile::tempdir().unwrap();
    let script = written(directory.path(), "verify.py", blocks("python")[0].as_bytes());
    let mut log = some_log(&mut Random(4), 25);
    let python = |log: &Log| {
        let file = written(directory.path(), "log", &log.bytes());
        Command::new("python3").args([&script, &file]).output().unwrap()
    };
    assert_eq!(text(&python(&log).stdout), format!("25 {}\n", log.head()));
    log.lines.remove(7);
    assert_eq!(text(&python(&log).stderr), "line 8 does not follow the line before it\n");
}

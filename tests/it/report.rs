//! `allowexec report`: the page, its file, and what a browser makes of it.

use std::fs;

use serde_json::{Value, json};

use crate::audit::{Random, run, some_log};

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn report(arguments: &[&str]) -> (i32, String, String) {
    let output = run(&[&["report"], arguments].concat());
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// The data of a page.
fn data(page: &str) -> Value {
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_file_is_kept_unless_it_is_to_be_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("log"), some_log(&mut Random(1), 30).bytes()).unwrap();
    let page = report(&[&path("log")]).1;
    assert!(page.starts_with("<!doctype html>"));
    assert_eq!(report(&[&path("log"), "-o", "-"]).1, page);
    assert_eq!(report(&[&path("log"), "-o", &path("page.html")]), (0, String::new(), String::new()));
    assert_eq!(fs::read_to_string(path("page.html")).unwrap(), page);
    fs::write(path("page.html"), "mine").unwrap();
    let (status, _, said) = report(&[&path("log"), "--output", &path("page.html")]);
    assert_eq!(status, 2);
    assert!(said.contains("give `--force` to replace it") && said.contains("it exists already"), "{said}");
    assert_eq!(fs::read_to_string(path("page.html")).unwrap(), "mine");
    assert_eq!(report(&[&path("log"), "-o", &path("page.html"), "--force"]).0, 0);
    assert_eq!(fs::read_to_string(path("page.html")).unwrap(), page);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(path("page.html"), path("link.html")).unwrap();
        let (status, _, said) = report(&[&path("log"), "-o", &path("link.html"), "--force"]);
        assert!(status == 2 && said.contains("it is a link"), "{said}");
    }
    for wrong in ["missing", "."] {
        assert_eq!(report(&[&path(wrong)]).0, 2, "{wrong}");
    }
    assert!(
        fs::read_dir(directory.path()).unwrap().all(|entry| !entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with('.'))
    );
}

#[test]
fn logs_and_transcripts_are_told_apart_and_their_calls_are_entries() {
    let directory = tempfile::tempdir().unwrap();
    let log = some_log(&mut Random(2), 60);
    let file = directory.path().join("log");
    fs::write(&file, log.bytes()).unwrap();
    let transcript = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/recordings/python_legacy.transcript");
    let found = data(&report(&[transcript, file.to_str().unwrap()]).1);
    assert_eq!(found["chain"], json!({"intact": true, "text": "chain intact"}));
    let decided =
        log.lines.iter().filter(|line| String::from_utf8_lossy(line).contains("\"event\":\"decided\"")).count();
    let of_transcript = fs::read_to_string(transcript).unwrap().matches("\"method\":\"tools/call\"").count();
    let rows = found["rows"].as_array().unwrap();
    let calls = rows.iter().filter(|row| row["call"].is_u64()).count();
    assert_eq!(calls, decided + of_transcript);
    let of = |command: &str| rows.iter().find(|row| row["command"] == command).unwrap_or_else(|| panic!("{command}"));
    assert_eq!((&of("echo hello")["kind"], &of("echo hello")["exit"]), (&json!("allowed"), &json!(0)));
    assert_eq!(of("rm -rf x")["kind"], "refused");
    assert_eq!(of("rm -rf x")["why"], "command `rm` is not allowed; allowed commands: echo, printf, pwd, cat");
    assert_eq!(of("rm -rf /")["kind"], "refused");
    // A changed log says so on its page.
    let mut changed = log.clone();
    changed.lines.remove(3);
    fs::write(&file, changed.bytes()).unwrap();
    let found = data(&report(&[file.to_str().unwrap()]).1);
    assert_eq!(found["chain"]["intact"], false);
    assert!(found["chain"]["text"].as_str().unwrap().contains("line 4: removed"), "{}", found["chain"]);
}

#[test]
fn hostile_files_make_a_page_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    // A log, by its first line.
    let zeros = "0".repeat(64);
    let first = format!("{{\"seq\":0,\"session\":\"s\",\"prev\":\"{zeros}\",\"event\":\"session_ended\"}}\n");
    for bytes in [&b""[..], b"\0\0\n", b"\xff\n", b"{}\n[]\n", &b"[".repeat(3_000_000), &b"\n".repeat(100_000)] {
        fs::write(&path, [first.as_bytes(), bytes].concat()).unwrap();
        let (status, page, said) = report(&[path.to_str().unwrap()]);
        assert_eq!((status, said.as_str()), (0, ""));
        assert_eq!(data(&page)["rows"], json!([]));
    }
}

/// The relative luminance of a colour, as WCAG 2.2 defines it.
fn luminance(colour: &str) -> f64 {
    let digits = colour.trim_start_matches('#');
    let channel = |at: usize| {
        let pair = if digits.len() == 3 { digits[at..=at].repeat(2) } else { digits[2 * at..2 * at + 2].to_owned() };
        let value = f64::from(u8::from_str_radix(&pair, 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(0) + 0.7152 * channel(1) + 0.0722 * channel(2)
}

/// WCAG AA: 4.5 to 1 for each colour of text on each ground that it may stand on, on light and dark screens and on paper.
#[test]
fn each_text_of_the_page_has_enough_contrast() {
    let style = include_str!("../../src/report/page.css");
    let schemes: Vec<Vec<(&str, &str)>> = style
        .split(":root {")
        .skip(1)
        .map(|block| {
            let block = block.split_once('}').unwrap().0;
            block.split(';').filter_map(|line| line.trim().strip_prefix("--")?.split_once(": ")).collect()
        })
        .collect();
    assert_eq!(schemes.len(), 3, "light, dark and paper");
    for scheme in schemes {
        let of = |name: &str| luminance(scheme.iter().find(|(key, _)| *key == name).unwrap().1);
        for ground in ["ground", "raised", "faint"] {
            for text in ["text", "dim", "allowed", "failed", "refused", "asked", "other"] {
                let (one, other) = (of(text), of(ground));
                let contrast = (one.max(other) + 0.05) / (one.min(other) + 0.05);
                assert!(contrast >= 4.5, "{text} on {ground}: {contrast:.2} in {scheme:?}");
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod in_a_browser {
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::sync::LazyLock;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::audit::Log;

    /// What a browser makes of a page at this fragment of its address; `None` where there is no browser.
    fn browsed(page: &Path, fragment: &str) -> Option<String> {
        let dom = run(page, fragment, |_| vec!["--dump-dom".to_owned()])?;
        Some(fs::read_to_string(dom.path().join("dom")).unwrap())
    }

    /// The page on paper, as a PDF; `None` where there is no browser.
    fn printed(page: &Path) -> Option<Vec<u8>> {
        let made = run(page, "", |directory| vec![format!("--print-to-pdf={}", directory.join("pdf").display())])?;
        Some(fs::read(made.path().join("pdf")).unwrap())
    }

    /// Runs a browser with these arguments in a directory of its own.
    fn run(page: &Path, fragment: &str, arguments: impl Fn(&Path) -> Vec<String>) -> Option<tempfile::TempDir> {
        static BROWSER: LazyLock<Option<&str>> = LazyLock::new(|| {
            ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
                let mut version = Command::new(name);
                version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
                version.status().is_ok_and(|status| status.success())
            })
        });
        let browser = (*BROWSER)?;
        let profile = tempfile::tempdir().unwrap();
        let (dom, log) = (profile.path().join("dom"), profile.path().join("log"));
        let mut child = Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"])
            .args([
                "--disable-component-update",
                "--no-first-run",
                "--disable-dev-shm-usage",
                "--virtual-time-budget=10000",
            ])
            .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
            .args(arguments(profile.path()))
            .arg(format!("file://{}#{fragment}", page.display()))
            .stdin(Stdio::null())
            .stdout(fs::File::create(&dom).unwrap())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(120);
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > deadline => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    panic!("the browser did not end in time: {}", fs::read_to_string(&log).unwrap());
                }
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        };
        assert!(status.success(), "{}", fs::read_to_string(&log).unwrap());
        Some(profile)
    }

    /// The value of an attribute of the root.
    fn of_root<'a>(dom: &'a str, name: &str) -> &'a str {
        let root = dom.split_once("<html").unwrap().1.split_once('>').unwrap().0;
        root.split_once(&format!("{name}=\"")).unwrap_or_else(|| panic!("{name}: {root}")).1.split_once('"').unwrap().0
    }

    fn write(log: &Log, page: &Path) {
        let file = page.with_extension("log");
        fs::write(&file, log.bytes()).unwrap();
        assert_eq!(report(&[file.to_str().unwrap(), "-o", page.to_str().unwrap(), "--force"]).0, 0);
    }

    #[test]
    fn paper_has_all_entries_or_says_how_many() {
        let directory = tempfile::tempdir().unwrap();
        let page = directory.path().join("page.html");
        let of = |calls: u64| {
            let mut log = Log::default();
            log.add("s", 0, &json!(["event", "session_started", "version", "0.1.0"]));
            for call in 1..=calls {
                let argv = json!(["ls", format!("number-{call}")]);
                log.add("s", call, &json!(["event", "decided", "call", call, "argv", argv, "decision", "refused"]));
            }
            write(&log, &page);
        };
        of(600);
        let Some(paper) = printed(&page) else {
            return eprintln!("chromium is missing, so the page was not printed");
        };
        // The 200 entries of the first screen would take seven pages.
        let pages = |paper: &[u8]| String::from_utf8_lossy(paper).matches("/Type /Page\n").count();
        assert!((15..60).contains(&pages(&paper)), "{}", pages(&paper));
        // What is on it, as its elements tell: the page is told that it is printed, by a script that its policy would refuse.
        let to_be_printed = |fragment: &str| {
            let html = fs::read_to_string(&page).unwrap();
            let (before, policy) = html.split_once("<meta http-equiv=\"Content-Security-Policy\"").unwrap();
            let (_, after) = policy.split_once('>').unwrap();
            let tells =
                "<script>addEventListener('load', () => dispatchEvent(new Event('beforeprint')))</script></body>";
            let told = page.with_extension("told.html");
            fs::write(&told, format!("{before}{}", after.replacen("</body>", tells, 1))).unwrap();
            let dom = browsed(&told, fragment).unwrap();
            let note = dom.split_once("id=\"printed\">").unwrap().1.split_once('<').unwrap().0.to_owned();
            (dom.matches("<li").count(), note)
        };
        assert_eq!(to_be_printed(""), (600, "600 of 600 entries.".to_owned()));
        assert_eq!(
            to_be_printed("q=number-59&show=refused&sort=output"),
            (11, "11 of 600 entries. · search: number-59 · shown: Refused · most output first".to_owned())
        );
        of(5100);
        assert_eq!(to_be_printed(""), (5000, "The first 5,000 of 5,100 entries are printed.".to_owned()));
    }

    #[test]
    fn a_browser_shows_it_without_errors_and_its_filters_work() {
        let directory = tempfile::tempdir().unwrap();
        let page = directory.path().join("page.html");
        let write = |log: &Log| write(log, &page);
        // Ten thousand calls.
        let mut log = Log::default();
        log.add("s", 0, &json!(["event", "session_started", "version", "0.1.0"]));
        let mut seq = 1;
        for call in 1..=10_000_u64 {
            let is_refused = call % 4 == 0;
            let argv =
                if call % 100 == 7 { json!(["git", "log", call.to_string()]) } else { json!(["ls", call.to_string()]) };
            let decision = if is_refused { "refused" } else { "allowed" };
            log.add(
                "s",
                seq,
                &json!([
                    "event", "decided", "call", call, "argv", argv, "decision", decision, "rule", "r", "reason", null
                ]),
            );
            if !is_refused {
                let exit = i32::from(call % 10 == 1);
                log.add("s", seq + 1, &json!(["event", "ended", "call", call, "exit_code", exit, "duration_ms", call % 900, "stdout", {"bytes": call}]));
                seq += 1;
            }
            seq += 1;
        }
        write(&log);
        let Some(dom) = browsed(&page, "") else {
            return eprintln!("chromium is missing, so the page was not shown");
        };
        let check = |dom: &str, found: &str| {
            assert_eq!(
                (of_root(dom, "data-errors"), of_root(dom, "data-ready"), of_root(dom, "data-found")),
                ("0", "true", found)
            );
        };
        check(&dom, "10000");
        let shown = dom.matches("<li").count();
        assert!((200..2000).contains(&shown), "only some of the entries are made at once: {shown}");
        for (fragment, found) in [
            ("q=git", "100"),
            ("q=git+7007", "1"),
            ("show=refused", "2500"),
            ("show=failed&sort=duration", "1000"),
            ("q=nothing", "0"),
        ] {
            check(&browsed(&page, fragment).unwrap(), found);
        }

        // Text of clients and commands stays text.
        let hostile = "</script><img src=x onerror=document.documentElement.dataset.errors=9><script>throw 1</script>\u{2028}{{data}}\"'`";
        let mut log = Log::default();
        log.add("s", 0, &json!(["event", "session_started", "version", hostile, "client", {"name": hostile, "version": hostile}, "user", hostile, "host", hostile]));
        log.add(
            "s",
            1,
            &json!([
                "event",
                "decided",
                "call",
                1,
                "id",
                hostile,
                "tool",
                hostile,
                "argv",
                [hostile],
                "cwd",
                hostile,
                "decision",
                "refused",
                "rule",
                hostile,
                "reason",
                hostile
            ]),
        );
        log.add(
            "s",
            2,
            &json!([
                "event",
                "refused_request",
                "id",
                null,
                "method",
                hostile,
                "tool",
                hostile,
                "code",
                -1,
                "reason",
                hostile
            ]),
        );
        log.add("s", 3, &json!(["event", "roots", "roots", [hostile], "refused", [{"reason": hostile}]]));
        write(&log);
        for fragment in [
            "",
            "q=%3Cimg",
            "q=</script><img src=x onerror=alert(1)>",
            "session=__proto__&show=constructor&part=NaN&sort=%00",
        ] {
            let dom = browsed(&page, fragment).unwrap();
            assert_eq!((of_root(&dom, "data-errors"), of_root(&dom, "data-ready")), ("0", "true"), "{fragment}");
            assert_eq!((dom.matches("<script").count(), dom.matches("<img").count()), (2, 0), "{fragment}");
        }
    }
}

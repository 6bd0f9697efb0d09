//! The audit log on a disk that fills up, that can't be written any more, or that never could: in a namespace of mounts,
//! as root and in a user namespace, as far as the machine permits.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Server;

/// The ways to mount something, by the flags of unshare(1) and those of nsenter(1).
const WAYS: [(&[&str], &[&str]); 2] =
    [(&["--mount"], &[]), (&["--mount", "--user", "--map-root-user"], &["--user", "--preserve-credentials"])];

/// Mounts a small disk at `$1` and runs the rest of its words there. It stays beside them, since nobody enters the namespaces
/// of the server, which keeps others from looking at it.
const ON_A_SMALL_DISK: &str = r#"
mount -t tmpfs -o size=64k,mode=700 log "$1" || exit 99
shift
exec 3<&0 < /dev/null
"$@" <&3 3<&- &
exec 3<&-
wait $!
"#;

/// A server whose log is on a disk of 64 KiB, which nothing else sees.
struct SmallDisk {
    dir: tempfile::TempDir,
    unshare: &'static [&'static str],
    nsenter: &'static [&'static str],
}

impl SmallDisk {
    /// One for each way that works here.
    fn each() -> Vec<Self> {
        let mut disks = Vec::new();
        for (unshare, nsenter) in WAYS {
            let disk = Self { dir: tempfile::tempdir().unwrap(), unshare, nsenter };
            fs::create_dir(disk.mounted()).unwrap();
            let tried = Command::new("unshare")
                .args(unshare)
                .args(["sh", "-c", ON_A_SMALL_DISK, "sh"])
                .arg(disk.mounted())
                .arg("true")
                .stderr(Stdio::null())
                .status();
            if tried.is_ok_and(|status| status.success()) {
                disks.push(disk);
            } else {
                eprintln!("not tested: `unshare {}` can't mount a tmpfs here", unshare.join(" "));
            }
        }
        disks
    }

    fn mounted(&self) -> PathBuf {
        self.dir.path().join("disk")
    }

    fn marked(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn start(&self) -> Server {
        let (disk, log) = (self.mounted(), self.mounted().join("audit.jsonl"));
        let mut words = vec!["unshare"];
        words.extend(self.unshare);
        words.extend(["sh", "-c", ON_A_SMALL_DISK, "sh", disk.to_str().unwrap()]);
        let args = ["--allow", "touch", "--audit", log.to_str().unwrap()];
        let mut server = Server::command(&args).dir(self.dir.path()).through(&words).start();
        server.initialize("2025-11-25");
        server
    }

    /// What this prints where the server sees the disk; `Err` with what it says on its standard error.
    fn there(&self, server: &Server, script: &str) -> Result<String, String> {
        let output = Command::new("nsenter")
            .args(["--target", &server.pid().to_string(), "--mount"])
            .args(self.nsenter)
            .args(["sh", "-c", script, "sh"])
            .arg(self.mounted())
            .output()
            .unwrap();
        let [said, wrong] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        if output.status.success() { Ok(said) } else { Err(wrong) }
    }

    /// Whether a call that makes this file is served; what is refused makes none.
    fn touches(&self, server: &mut Server, name: &str) -> bool {
        let result = server.call("execute_command", json!({"command": format!("touch {name}")}));
        let said = result["content"][0]["text"].as_str().unwrap();
        let is_served = result["isError"] == false;
        assert!(is_served || said.starts_with("calls are refused while the audit log can't be written ("), "{said}");
        assert_eq!(self.marked(name).exists(), is_served, "{name}: {said}");
        is_served
    }

    /// The log, which `audit verify` finds intact.
    fn verified(&self, server: &Server) -> Vec<Value> {
        let log = self.there(server, "cat \"$1/audit.jsonl\"").unwrap();
        let copy = self.marked("copy.jsonl");
        fs::write(&copy, &log).unwrap();
        let verified =
            Command::new(env!("CARGO_BIN_EXE_allowexec")).args(["audit", "verify"]).arg(copy).output().unwrap();
        assert_eq!(verified.status.code(), Some(0), "{}\n{log}", String::from_utf8_lossy(&verified.stdout));
        // The record of an end follows its answer, so it may be missing; what was torn is none.
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

/// The server says it once, and once more that it goes on.
fn check_said(mut server: Server) {
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
    let said = server.stderr();
    assert_eq!(said.matches("error: the audit log can't be written, so calls are refused").count(), 1, "{said}");
    assert_eq!(said.matches("warn: the audit log is written again").count(), 1, "{said}");
}

fn of<'a>(records: &'a [Value], event: &str) -> impl Iterator<Item = &'a Value> {
    records.iter().filter(move |record| record["event"] == event)
}

#[test]
fn a_disk_that_is_full_closes_the_server_until_there_is_room() {
    for disk in SmallDisk::each() {
        let mut server = disk.start();
        assert!(disk.touches(&mut server, "before"));
        // As the disk gives whole pages, the last one of the log may have room for some records.
        disk.there(&server, "cat /dev/zero > \"$1/filler\" 2> \"$1/said\" || true").unwrap();
        let refused = (0..64).map(|number| format!("full-{number}")).find(|name| !disk.touches(&mut server, name));
        assert!(refused.is_some(), "the disk is full, and calls run");
        assert!(!disk.touches(&mut server, "still-full"));
        disk.there(&server, "rm \"$1/filler\"").unwrap();
        assert!(disk.touches(&mut server, "room"));
        let records = disk.verified(&server);
        assert!(of(&records, "decided").all(|record| record["argv"] != json!(["touch", "still-full"])));
        assert!(of(&records, "decided").any(|record| record["argv"] == json!(["touch", "room"])));
        check_said(server);
    }
}

/// A disk with an open log can't be made read-only, so only what breaks the disk, or forbids to write to the file, does
/// that to a server that runs.
#[test]
fn a_read_only_disk_stops_the_start_and_the_kernel_keeps_it_writable_while_a_server_runs() {
    for disk in SmallDisk::each() {
        let mut server = disk.start();
        for options in ["remount,ro", "remount,bind,ro"] {
            let busy = disk.there(&server, &format!("mount -o {options} \"$1\"")).unwrap_err();
            assert!(busy.contains("busy"), "{busy}");
        }
        assert!(disk.touches(&mut server, "after"));
        disk.verified(&server);
        let started = "mount -o bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && shift && exec \"$@\"";
        let output = Command::new("nsenter")
            .args(["--target", &server.pid().to_string(), "--mount"])
            .args(disk.nsenter)
            .args(["unshare", "--mount", "sh", "-c", started, "sh"])
            .arg(disk.mounted())
            .args([env!("CARGO_BIN_EXE_allowexec"), "serve", "--allow", "touch", "--audit"])
            .arg(disk.mounted().join("audit.jsonl"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("can't be opened: ") && said.contains("Read-only file system"), "{said}");
        server.close_stdin();
        assert_eq!(server.wait_exit(), 0);
    }
}

#[test]
fn a_file_that_may_not_be_written_any_more_closes_the_server_until_it_may() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("audit.jsonl");
    let chattr = |flag: &str, path: &Path| {
        let done = Command::new("chattr").arg(flag).arg(path).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    };
    fs::write(&log, "").unwrap();
    if !chattr("+i", &log) {
        return eprintln!("not tested: nobody can make a file immutable here (chattr +i)");
    }
    if !chattr("-i", &log) {
        panic!("a file can't be made mutable again");
    }
    let mut server = Server::command(&["--allow", "touch", "--audit", log.to_str().unwrap()]).dir(dir.path()).start();
    server.initialize("2025-11-25");
    let touches = |server: &mut Server, name: &str| {
        let result = server.call("execute_command", json!({"command": format!("touch {name}")}));
        assert_eq!(result["isError"] == false, dir.path().join(name).exists(), "{result}");
        result["isError"] == false
    };
    assert!(touches(&mut server, "before"));
    assert!(chattr("+i", &log));
    let is_refused = !touches(&mut server, "immutable");
    assert!(chattr("-i", &log));
    if !is_refused {
        return eprintln!("not tested: this file system lets an open file be written that is immutable");
    }
    assert!(touches(&mut server, "after"));
    let ended = Instant::now() + Duration::from_secs(20);
    while fs::read_to_string(&log).unwrap().matches("\"ended\"").count() < 2 && Instant::now() < ended {
        thread::park_timeout(Duration::from_millis(5));
    }
    check_said(server);
    let output = Command::new(env!("CARGO_BIN_EXE_allowexec")).args(["audit", "verify"]).arg(&log).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

//! The picture in README is of a real run: drawn anew it is the same.

#![cfg(target_os = "linux")]

use std::process::Command;

#[test]
fn the_session_in_readme_is_what_happens() {
    let root = env!("CARGO_MANIFEST_DIR");
    let git = Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success());
    let drawn = Command::new("python3")
        .arg(format!("{root}/tests/session/draw.py"))
        .arg(env!("CARGO_BIN_EXE_allowexec"))
        .output();
    let drawn = match drawn {
        Ok(drawn) if git => drawn,
        _ => {
            println!("not shown: there is no python3 or no git");
            return;
        }
    };
    assert!(drawn.status.success(), "{}", String::from_utf8_lossy(&drawn.stderr));
    let kept = include_str!("../../spec/session.svg");
    assert_eq!(
        String::from_utf8_lossy(&drawn.stdout),
        kept,
        "run tests/session/draw.py anew, and look at spec/session.svg"
    );
    assert!(include_str!("../../README.md").contains("](spec/session.svg)"));
}

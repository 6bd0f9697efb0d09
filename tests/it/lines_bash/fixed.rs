//! Lines that random ones rarely are, and the failures that are told of some.

use super::World;

/// What these lines call besides the programs of random lines. One of them is not there, and two can't be executed.
const MORE: &[&str] =
    &["ls", "mkdir", "seq", "sleep", "tac", "tail", "yes", "chmod", "sh", "pwd", "nosuchprogram", "/dev/null", "./f"];

#[test]
fn fixed_lines_do_what_bash_does() {
    let world = World::with(MORE);
    let lines = [
        "echo a",
        "echo a | cat",
        "echo a | cat | cat -n | tail -1",
        "echo a; echo b",
        "echo a && echo b || echo c",
        "false && echo b || echo c",
        "false || false",
        "! false",
        "! echo a",
        "! (exit 3)",
        "(exit 3)",
        "(echo a; echo b) | tac",
        "echo a | (cat; echo b)",
        "(echo a; (echo b; echo c) | tac) | cat -n",
        "echo a > f; cat f",
        "echo a > f; echo b >> f; cat < f",
        "cat < missing",
        "sh -c 'cat < missing'",
        "sh -c 'cat a | cat < missing; echo a'",
        "sh -c 'cd missing'; echo a",
        "bash -c 'cat < missing'",
        "echo a > new < new; cat new",
        "cat > new < new; ls",
        "(cat) > new < new; ls",
        "cat < new > new; ls",
        "cat 2> new < new",
        "cat < missing; echo a",
        "cat < missing 2>/dev/null | cat",
        "echo a > d/f || echo no",
        "nosuchprogram",
        "nosuchprogram 2>&1 | cat",
        "nosuchprogram 2>&1",
        "cd missing; echo a",
        "mkdir d && cd d && pwd | tail -c 3; echo b > f",
        "(mkdir d && cd d); ls",
        "exit 3; echo a",
        "(exit 4; echo a); echo b",
        "true; exit",
        "false; exit",
        "false; (exit)",
        "cat <<E\na\nb\nE",
        "cat <<< x",
        "cat <<< x | tr x y",
        "sh -c 'echo a; echo b >&2' 2>&1 | cat -n",
        "sh -c 'echo a; echo b >&2' |& cat -n",
        "sh -c 'echo b >&2' 2>f |& cat; cat f",
        "ls nosuch 2>f; wc -l < f",
        "> f",
        "> f > g; ls",
        "yes | head -2",
        "seq 100000 | tail -1",
        "seq 100000 | head -1",
        "echo a >&2",
        "echo a 1>&2 2>&1",
        "echo a 2>&1 1>&2",
        "sh -c 'exit 7' | true",
        "sh -e -c 'kill -9 $$'; echo a",
        "sh -e -c 'kill -9 $$'",
        "echo a &> f; cat f",
        "! true | false",
        "(cat; echo b) <<< x",
        "(echo a; echo b) > f; cat f",
        "(exit 3) > missing/f; echo a",
        "! (exit 3) > missing/f",
        "(! (exit 3) > missing/f)",
        "(! (exit 3) > missing/f;)",
        "! (! (echo a) > missing/f; )",
        "(! (exit 3) > missing/f; echo a)",
        "(echo a; ! (exit 3) > missing/f)",
        "(echo a && ! (exit 3) > missing/f)",
        "(! echo a | (cat) > missing/f)",
        "bash -c '! (echo a) > missing/f'",
        "( (! (echo a) > missing/f) > missing/g)",
        "(! (! (echo a) > missing/f) > missing/g)",
        "(head -1; cat) <<E\na\nb\nE",
        "echo a > f | cat; cat f",
        "printf x | (cat > f); cat f",
        "sleep 0.1 | echo a",
        "/dev/null",
        "./f",
        "echo '#!/nosuch' > f; chmod +x f; ./f",
        "bash -c 'echo a; exit 3'; echo b",
        "echo a | bash -c 'cat | cat'",
        "true | false | true",
        "cat /dev/zero | head -c 3 | wc -c",
        "echo a; false; echo b && false || echo c; (false)",
        "sh -e -c 'sleep 0.2 & echo a' | cat",
    ];
    for line in lines {
        assert!(world.compare(line).is_some(), "{line}");
    }
}

#[test]
fn a_failure_that_the_status_hides_is_told() {
    let world = World::with(MORE);
    for (line, told) in [
        ("ls nosuch | cat", &["ls 2"][..]),
        ("ls nosuch; echo a", &["ls 2"]),
        ("(ls nosuch; false) | cat", &["ls 2"]),
        ("cat < nosuch; echo a", &["cat 1"]),
        ("cd nosuch; echo a", &["cd 1"]),
        ("ls nosuch", &[]),
        ("ls nosuch || true", &[]),
        ("! ls nosuch", &[]),
        ("yes | head -1", &[]),
        ("(yes) | head -1", &[]),
        ("(echo a; yes) | head -1", &[]),
        ("(ls nosuch)", &[]),
        ("(ls nosuch | cat) || true", &[]),
        ("ls nosuch && echo a", &[]),
    ] {
        let failed = world.compare(line).unwrap();
        let failed: Vec<String> = failed.into_iter().map(|(name, code)| format!("{name} {code}")).collect();
        assert_eq!(failed, told, "{line}");
    }
}

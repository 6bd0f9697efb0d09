use super::{UNKNOWN, base, program_of, reach_of};

/// The program that a script hands its arguments on to.
fn program(script: &str) -> Option<String> {
    let known = |word: &str| {
        let name = base(word);
        // A link to Python.
        let name = if name == "calm" { "python3" } else { name };
        reach_of(name).filter(|_| !name.contains(UNKNOWN)).map(|_| name.to_owned())
    };
    program_of(script, &known)
}

fn check(first_line: &str, scripts: &[(&str, &str)]) {
    let wrong: Vec<String> = scripts
        .iter()
        .map(|(script, expected)| {
            (script, expected, program(&format!("#!{first_line}\n{script}\n")).unwrap_or_default())
        })
        .filter(|(_, expected, found)| found != *expected)
        .map(|(script, expected, found)| format!("{script:?}: {found:?} instead of {expected:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_script_is_what_reads_its_arguments() {
    for (script, expected) in [
        ("#!/usr/bin/awk -f\nBEGIN {}\n", Some("awk")),
        ("#!/usr/bin/env -S sed -nf\n", Some("sed")),
        ("#!/usr/bin/make -f\n", Some("make")),
        ("#!/bin/sh -s\n", Some("sh")),
        ("#!/opt/calm -c\n", Some("python3")),
        ("#!/usr/bin/python3\nimport sys\n", None),
        ("#!/usr/bin/env node\nrequire('./npm')\n", None),
        ("exec python3 \"$@\"\n", Some("python3")),
        ("{\"a\": 1}\n", None),
        ("#!", None),
        ("", None),
    ] {
        assert_eq!(program(script).as_deref(), expected, "{script}");
    }
}

#[test]
fn a_shell_script_hands_its_arguments_on_in_many_shapes() {
    check(
        "/bin/sh",
        &[
            ("exec /usr/bin/python3 \"$@\"", "python3"),
            ("# comment\nX=1 exec node $*", "node"),
            ("env \"$@\"", "env"),
            ("cd /tmp; python3 \"$@\"", "python3"),
            ("cd /tmp && exec python3 \"$@\"", "python3"),
            ("false || python3 \"$@\"", "python3"),
            ("true & python3 $@", "python3"),
            ("cat x | python3 \"$@\"", "python3"),
            ("if true; then exec python3 \"$@\"; fi", "python3"),
            ("if [ \"$1\" = x ]; then :; else python3 \"$@\"; fi", "python3"),
            ("while true; do python3 \"$@\"; done", "python3"),
            ("{ python3 \"$@\"; }", "python3"),
            ("(python3 \"$@\")", "python3"),
            ("! python3 \"$@\"", "python3"),
            ("case $1 in\n a|b) shift; exec python3 \"$@\" ;;\n *) exit 1;;\nesac", "python3"),
            ("case $1 in (x) exit;; *) sh -c \"$2\";; esac", "sh"),
            ("set -- python3 \"$@\"; exec \"$@\"", "python3"),
            ("set -- python3 -u \"$@\"\n\"$@\"", "python3"),
            ("\"$@\"", "env"),
            ("exec \"$@\"", "env"),
            ("exec \"${@}\"", "env"),
            ("exec \"${@:2}\"", "env"),
            ("exec ${1+\"$@\"}", "env"),
            ("\"$1\"", "env"),
            ("exec $1", "env"),
            ("shift; \"$@\"", "env"),
            ("command \"$@\"", "env"),
            ("time \"$@\"", "env"),
            ("cmd=$1; shift; exec \"$cmd\" \"$@\"", "env"),
            ("for x in \"$@\"; do $x; done", "env"),
            ("for x; do \"$x\"; done", "env"),
            ("exec \"/opt/tools/$1\"", "env"),
            ("eval \"$@\"", "sh"),
            ("eval \"$1\"", "sh"),
            ("eval 'exec python3 \"$@\"'", "python3"),
            ("trap \"$1\" EXIT", "sh"),
            (". \"$1\"", "sh"),
            ("source $1", "sh"),
            ("sh -c \"$1\"", "sh"),
            ("bash -lc \"$*\"", "bash"),
            ("sh -c 'exec python3 \"$@\"' x \"$@\"", "python3"),
            ("exec python3 \"${@}\"", "python3"),
            ("exec python3 \"$1\"", "python3"),
            ("exec python3 -u -W ignore \"$@\"", "python3"),
            ("exec python3 -c \"$1\"", "python3"),
            ("exec python3 \"--x\" \"$@\"", "python3"),
            ("exec python3 \\\n  \"$@\"", "python3"),
            ("exec -a other python3 \"$@\"", "python3"),
            ("PY=python3; exec \"$PY\" \"$@\"", "python3"),
            ("PY=/usr/bin/python3\nexec $PY \"$@\"", "python3"),
            ("PY=${PYTHON:-python3}; exec \"$PY\" \"$@\"", "python3"),
            ("exec \"${PYTHON:-python3}\" \"$@\"", "python3"),
            ("exec $PYTHON \"$@\"", "python"),
            ("exec \"$SHELL\" -c \"$*\"", "sh"),
            ("CMD=\"python3 -u\"; exec $CMD \"$@\"", "python3"),
            ("export PY=python3; \"$PY\" \"$@\"", "python3"),
            ("PY=none; [ -x /x ] && PY=python3; \"$PY\" \"$@\"", "python3"),
            ("if x; then PY=python3; else PY=cat; fi; \"$PY\" \"$@\"", "python3"),
            ("PY=$(command -v python3); exec \"$PY\" \"$@\"", "python3"),
            ("PY=`which python3`; exec $PY \"$@\"", "python3"),
            ("exec \"$(dirname \"$0\")/python3\" \"$@\"", "python3"),
            ("dir=$(cd \"$(dirname \"$0\")\" && pwd)\nexec \"$dir/python3\" \"$@\"", "python3"),
            ("here=${0%/*}; exec \"$here\"/perl \"$@\"", "perl"),
            ("args=(\"$@\"); exec python3 \"${args[@]}\"", "python3"),
            ("args=(python3); args+=(\"$@\"); \"${args[@]}\"", "env"),
            ("run() { python3 \"$@\"; }\nrun \"$@\"", "python3"),
            ("function run {\n \"$@\"\n}\nrun \"$@\"", "env"),
            ("main() { run \"$@\"; }\nrun() { exec sh \"$@\"; }\nmain \"$@\"", "sh"),
            ("exec nice -n 5 \"$@\"", "nice"),
            ("exec nice -n 5 python3 \"$@\"", "python3"),
            ("exec env A=b \"$@\"", "env"),
            ("exec sudo -u nobody \"$@\"", "sudo"),
            ("exec timeout 5 \"$@\"", "timeout"),
            ("exec flock /tmp/lock \"$@\"", "flock"),
            ("exec busybox sh \"$@\"", "sh"),
            ("exec calm \"$@\"", "python3"),
            ("echo \"$@\" | sh", "sh"),
            ("printf '%s' \"$1\" | tr a b | python3 -", "python3"),
            ("printf '%s\\n' \"$@\" | xargs python3", "python3"),
            ("printf '%s\\n' \"$@\" | xargs", "xargs"),
            ("sh <<< \"$1\"", "sh"),
            ("python3 <<EOF\nprint($1)\nEOF", "python3"),
            ("perl -e 'print 1' \"$@\"", "perl"),
            ("sed p \"$@\"", "sed"),
            ("awk -f x.awk \"$@\"", "awk"),
            ("python3 -m pdb \"$@\"", "python3"),
            ("python3 -c 'import sys,os; os.execvp(sys.argv[1], sys.argv[1:])' \"$@\"", "env"),
            ("eval set -- \"$(getopt -o a -- \"$@\")\"; shift; exec \"$@\"", "env"),
            ("[ -n x ] && exec mytool; python3 \"$@\"", "python3"),
            ("eval \"mytool $1\"", "sh"),
            ("exec 3>&1; python3 \"$@\"", "python3"),
            ("git \"$@\"", "git"),
            ("exec git log \"$@\"", "git"),
            ("while getopts c: o; do case $o in c) python3 -c \"$OPTARG\";; esac; done", "python3"),
        ],
    );
}

#[test]
fn a_shell_script_that_keeps_its_arguments_to_itself_is_none_of_them() {
    check(
        "/bin/sh -eu",
        &[
            ("echo \"$@\"", ""),
            ("echo ran \"$@\"; cat", ""),
            ("# exec python3 \"$@\"\ntrue", ""),
            ("true # python3 \"$@\"", ""),
            ("echo 'exec python3 \"$@\"'", ""),
            ("echo 'x; python3 \"$@\"; y'", ""),
            ("cat <<'EOF'\npython3 \"$@\"\nEOF", ""),
            ("cat <<EOF\nusage: python3 $@\nEOF\ntrue", ""),
            ("python3 /opt/app.py \"$@\"", ""),
            ("exec python3 -u \"$(dirname \"$0\")/app.py\" \"$@\"", ""),
            ("exec python3 -m app \"$@\"", ""),
            ("exec python3 -c 'print(1)' \"$@\"", ""),
            ("exec perl -e 'print 1' -- \"$@\"", ""),
            ("exec sh -c 'echo \"$1\"' sh \"$@\"", ""),
            ("exec java -cp x.jar Main \"$@\"", ""),
            ("exec java -jar app.jar \"$@\"", ""),
            ("exec awk '{print}' \"$@\"", ""),
            ("exec env A=b mytool \"$@\"", ""),
            ("exec nice -n 5 mytool \"$@\"", ""),
            ("exec sudo -u nobody mytool \"$@\"", ""),
            ("exec timeout 5 mytool \"$@\"", ""),
            ("case \"$1\" in start) echo go;; *) echo \"$1\";; esac", ""),
            ("[ \"$1\" = x ] && echo \"$@\"", ""),
            ("[[ -n x || \"$1\" == y ]] && echo x", ""),
            ("for x in \"$@\"; do echo \"$x\"; done", ""),
            ("run() { \"$@\"; }\nrun make all", ""),
            ("log() { printf '%s\\n' \"$@\"; }\nlog \"$@\"", ""),
            ("set -e; make all; echo \"$@\"", ""),
            ("set -- mytool \"$@\"; exec \"$@\"", ""),
            ("set -- java -classpath x.jar Main \"$@\"; exec \"$@\"", ""),
            ("PY=python3; \"$PY\" -m app \"$@\"", ""),
            ("PY=mytool; exec \"$PY\" \"$@\"", ""),
            ("exec \"$TOOL\" \"$@\"", ""),
            ("exec \"$DIR/tool\" \"$@\"", ""),
            ("python3 --version; echo \"$1\"", ""),
            ("command -v python3 \"$@\"", ""),
            ("echo \"$1\" | python3 filter.py", ""),
            ("echo \"$1\" | sed s/a/b/", ""),
            ("x=$(python3 -c 'print(1)'); echo \"$x\" \"$@\"", ""),
            ("eval set -- \"$(getopt -o a -- \"$@\")\"; shift; mytool \"$@\"", ""),
            ("TEMP=$(getopt -o a -- \"$@\") || exit 1\neval set -- \"$TEMP\"\nmytool \"$@\"", ""),
            ("x=$(printf '%s' \"$1\" | sed 's/x/y/'); eval \"mytool $x\"", ""),
            ("for x; do all=\"$all '$x'\"; done; eval \"mytool $all\"", ""),
            ("eval \"set -- $operands \"'${1+\"$@\"}'", ""),
            ("sed \"s/x/$1/\" file", ""),
            ("exec mytool \"$@\"\nPK python3 \"$@\"", ""),
            // What package managers write.
            ("'''exec' /opt/venv/bin/python3 \"$0\" \"$@\"\n' '''\nimport sys", ""),
            (
                "basedir=$(dirname \"$(echo \"$0\" | sed -e 's,\\\\,/,g')\")\nif [ -x \"$basedir/node\" ]; then\n  exec \
              \"$basedir/node\"  \"$basedir/../eslint/bin/eslint.js\" \"$@\"\nelse\n  exec node  \
              \"$basedir/../eslint/bin/eslint.js\" \"$@\"\nfi",
                "",
            ),
        ],
    );
}

#[test]
fn scripts_of_other_languages_hand_their_arguments_on_by_calls() {
    check(
        "/usr/bin/env python3",
        &[
            ("import os, sys\nos.execvp('python3', ['python3'] + sys.argv[1:])", "python3"),
            ("import os, sys\nos.execvp(sys.argv[1], sys.argv[1:])", "env"),
            ("from os import execvp\nimport sys\nexecvp(\"bash\", [\"bash\", *sys.argv[1:]])", "bash"),
            ("import subprocess, sys\nsys.exit(subprocess.call(sys.argv[1:]))", "env"),
            ("import subprocess, sys\nsubprocess.run(['sh', '-c', sys.argv[1]], check=True)", "sh"),
            ("import subprocess, sys\nsubprocess.run(' '.join(sys.argv[1:]), shell=True)", "sh"),
            ("import sys\nfrom subprocess import run\nrun(sys.argv[1:])", "env"),
            ("import os, sys\nos.system(' '.join(sys.argv[1:]))", "sh"),
            ("import os, sys\nos.system(f'ls {sys.argv[1]}')", "sh"),
            ("import sys\nexec(sys.argv[1])", "python3"),
            ("import sys\neval(sys.argv[1])", "python3"),
            ("import sys, subprocess\ncmd = ['perl']\ncmd = ['perl', *sys.argv[1:]]\nsubprocess.Popen(cmd)", "perl"),
            ("import sys, subprocess\nargs = sys.argv[1:]\nsubprocess.check_call(['nice'] + args)", "nice"),
            ("import sys, subprocess\ndef main(argv=None):\n    return subprocess.call(argv)", "env"),
            ("import sys, os\nos.execv(sys.executable, [sys.executable] + sys.argv[1:])", "python3"),
            (
                "import argparse, subprocess\nargs = argparse.ArgumentParser().parse_args()\nsubprocess.run(args.command)",
                "env",
            ),
            ("import runpy, sys\nrunpy.run_path(sys.argv[1])", "python3"),
            ("import sys, subprocess\nfor c in sys.argv[1:]:\n    subprocess.run([c])", "env"),
            ("import sys\nprint(sys.argv)", ""),
            ("'''os.execvp(sys.argv[1], sys.argv[1:])'''", ""),
            ("# os.execvp(sys.argv[1], sys.argv[1:])", ""),
            ("import subprocess, sys\nsubprocess.run(['mytool', *sys.argv[1:]])", ""),
            ("import subprocess, sys\ncmd = ['mytool'] + sys.argv[1:]\nsubprocess.run(cmd)", ""),
            ("import os, sys\nos.execv(sys.executable, [sys.executable, 'app.py'] + sys.argv[1:])", ""),
            ("import subprocess, sys\nsubprocess.run(['ls'])\nprint(sys.argv)", ""),
            ("import asyncio, sys\nasyncio.run(main(sys.argv))", ""),
            ("import re, sys\nfrom pip import main\nif __name__ == '__main__':\n    sys.exit(main(sys.argv))", ""),
        ],
    );
    check(
        "/usr/bin/env node",
        &[
            ("require('child_process').spawn('python3', process.argv.slice(2), {stdio: 'inherit'})", "python3"),
            (
                "const {spawnSync} = require('child_process');\nspawnSync(process.argv[2], process.argv.slice(3));",
                "env",
            ),
            ("const cp = require('node:child_process')\ncp.execSync(process.argv.slice(2).join(' '))", "sh"),
            ("const {exec} = require('child_process'); exec(`ls ${process.argv[2]}`)", "sh"),
            ("const [cmd, ...rest] = process.argv.slice(2)\neval(process.argv[2])", "node"),
            (
                "const args = process.argv.slice(2);\nconst {execFile} = require('child_process');\nexecFile(process.execPath, args)",
                "node",
            ),
            ("const args = [script, ...process.argv.slice(2)];\nspawn(process.execPath, args)", ""),
            ("// eval(process.argv[2])\nconsole.log(process.argv)", ""),
            ("/a/.exec(process.argv[2])", ""),
            ("const m = pattern.exec(process.argv[2])", ""),
            ("require('../lib/cli.js')(process)", ""),
        ],
    );
    check(
        "/usr/bin/perl -w",
        &[
            ("exec @ARGV;", "env"),
            ("exec 'python3', @ARGV or die;", "python3"),
            ("system(\"bash\", \"-c\", $ARGV[0]);", "bash"),
            ("system(\"ls $ARGV[0]\");", "sh"),
            ("eval $ARGV[0];", "perl"),
            ("my @cmd = ('node', @ARGV);\nexec(@cmd);", "node"),
            ("print `ls $ARGV[0]`;", "sh"),
            ("exec $^X, @ARGV;", "perl"),
            ("print \"@ARGV\";", ""),
            ("exec 'mytool', @ARGV;", ""),
            ("=head1 NAME\n\nexec @ARGV\n\n=cut\nprint 1;", ""),
            ("my $file = shift @ARGV;\nmy $page = \"the system\";\nprint $page;", ""),
            ("eval { GetOptions(\\@ARGV) };", ""),
            ("# exec @ARGV;", ""),
        ],
    );
    check("/usr/bin/ruby", &[("exec(*ARGV)", "env"), ("system 'python3', *ARGV", "python3"), ("eval ARGV[0]", "ruby")]);
    check("/usr/bin/ruby", &[("puts ARGV", ""), ("exec 'mytool', *ARGV", ""), ("puts `ls #{ARGV[0]}`", "sh")]);
    check(
        "/usr/bin/php",
        &[("<?php system($argv[1]);", "sh"), ("<?php eval($argv[1]);", "php"), ("<?php echo $argv[1];", "")],
    );
    check("/usr/bin/lua5.4", &[("os.execute(arg[1])", "sh"), ("dofile(arg[1])", "lua5.4"), ("print(arg[1])", "")]);
    check("/usr/bin/tclsh", &[("exec {*}$argv", "env"), ("exec python3 {*}$argv", "python3"), ("puts $argv", "")]);
}

#[test]
fn no_script_is_too_odd() {
    let odd = [
        "f() { f \"$@\"; f \"$@\"; }; f \"$@\"",
        "eval \"$(eval \"$(eval 'x'\")\"",
        "${${${",
        "$((((",
        "case x in",
        "case",
        "for",
        "function",
        "if then fi",
        "[[",
        "<<",
        "<<<",
        "<<EOF",
        "))))",
        "}}}}",
        "a() (",
        "'",
        "\"",
        "`",
        "\\",
        "$",
        "${@",
        "x=(",
        "set --",
        "shift 9",
        "a\u{b}b\u{85}c \u{2028}d",
        "exec -a",
        "\u{301}$@",
    ];
    for text in odd {
        for first in ["#!/bin/sh", "#!/usr/bin/python3", "#!/usr/bin/perl", "#!/usr/bin/node", "#!/usr/bin/tclsh"] {
            // It must end, whatever it says.
            let _ = program(&format!("{first}\n{text}\n{text}"));
        }
    }
    for (many, first) in [
        ("exec ", "#!/bin/sh"),
        ("env ", "#!/bin/sh"),
        ("a=$a$a$a; b=$a$b$a; ", "#!/bin/sh"),
        ("run(", "#!/usr/bin/python3"),
        ("x.run(sys.argv, x) ", "#!/usr/bin/python3"),
        ("argv = argv; exec(argv)\n", "#!/usr/bin/node"),
        ("`$ARGV` ", "#!/usr/bin/perl"),
    ] {
        let _ = program(&format!("{first}\n{}", many.repeat(200_000 / many.len())));
    }
    let long = "x".repeat(100_000);
    let _ = program(&format!("#!/bin/sh\na={long}; b={}; c={}", "$a".repeat(30_000), "$b".repeat(30_000)));
    let deep = "$(".repeat(10_000) + "x" + &")".repeat(10_000);
    let _ = program(&format!("#!/bin/sh\necho {deep}"));
    let _ = program(&format!("#!/usr/bin/python3\n{}", "(".repeat(100_000)));
}

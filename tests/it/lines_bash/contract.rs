//! Every form of the grammar: what is read does what bash does, and what is refused says what to do instead.

use super::World;

/// What these lines call besides the programs of random lines; `if` and `!true` are none.
const MORE: &[&str] = &["ls", "pwd", "sh", "dash", "tac", "if", "!true", "./cat"];

/// Lines, pipelines, groups, redirections; then what their tokens are.
const GRAMMAR: &[&str] = &[
    "\n\necho a\n\necho b; \n echo c;\n",
    "echo a;",
    "echo a\n",
    "true &&\n\n echo a",
    "false ||\n echo b && echo c",
    "true || echo a && echo b",
    "! true",
    "! false",
    "! echo a | cat",
    "echo a |\n\n cat",
    "echo a |& cat",
    "sh -e -c 'echo a; echo b >&2' |&\n sort",
    "sh -e -c 'echo b >&2' 2>/dev/null |& cat",
    "(echo a)",
    "(\necho a\n)\n",
    "( (echo a); echo b; )",
    "(echo a; echo b >&2) > f 2>&1; cat f",
    "! (false)",
    "> f",
    "< a.txt",
    "< missing",
    "true | < missing",
    "! true | < missing",
    "(true | < missing) && echo a",
    "true | < a.txt > missing/f",
    "true | < missing | cat",
    "true | > missing/f",
    "true | (< missing)",
    "> f < a.txt cat -n; cat f",
    "2> f echo a >> g b; cat g",
    "cat 0< a.txt",
    "cat < a.txt",
    "echo a > f; echo b > f; cat f",
    "echo a >> f; echo b >> f; cat f",
    "echo a >| f; cat f",
    "echo a 1> f; cat f",
    "echo a 1>> f; cat f",
    "echo a 1>| f; cat f",
    "ls missing 2> f; cat f",
    "ls missing 2>> f; cat f",
    "ls missing 2>| f; cat f",
    "ls a.txt missing &> f; cat f",
    "ls missing 2>&1",
    "echo a 1>&2",
    "echo a >&2",
    "echo a >& 2",
    "echo a >&2>f; cat f",
    "cat <<E\na\nE",
    "cat <<-E\n\ta\n\t\tE",
    "cat <<< a",
    "A=1 X= sh -e -c 'echo \"$A$X\"'",
    "A=1 echo a b=c",
    // Digits in front of a redirection.
    "echo a2>f; cat f",
    "echo a 2>f; cat f",
    "echo a 2 >f; cat f",
    "echo '2'>f; cat f",
    "echo \\2>f; cat f",
    "echo a 2&>f; cat f",
    "echo {fd} >f; cat f",
    // Words that are reserved elsewhere.
    "echo if then ! { } [[ ]] time",
    "'if'",
    "i\\f a",
    "!true",
    // Comments, joined lines, blanks.
    "echo a # b; echo c",
    "echo a#b '#c'",
    "# a\necho b",
    "echo a #b\\\necho c",
    "ec\\\nho a\\\nb",
    "echo a \\\n | \\\ncat",
    "echo 'a\\\nb' \"a\\\nb\"",
    "cat <<E\na#b\nE",
    "cat <<'E'\na\\\nb\nE",
    "\techo\ta \t b\t",
    "echo \"a\tb\nc\" '\t'",
];

const WORDS: &[&str] = &[
    "echo {a,b} {a,{b,c}d}e {a,b}{c,d} x{,y}",
    "echo {1..9} {9..1} {1..9..3} {a..e} {e..a} {a..e..2}",
    "echo {} {a} a{b}c",
    "echo {a,'b c',\"$NAME\",*.txt}",
    "A={a,b} sh -e -c 'echo \"$A\"'",
    "cat <<E\n{a,b}\nE",
    "cat <<< {a,b}",
    "echo ~ ~/a a~ a/~ '~' \\~ a:~",
    "A=~/x sh -e -c 'echo \"$A\"'",
    "echo $NAME ${NAME}x \"$NAME ${NAME}\" '$NAME' \\$NAME \"$WORDS\" \"$EMPTY\"",
    "cd src && echo $PWD; echo \"$PWD\"",
    "A=\"$WORDS\" sh -e -c 'echo \"$A\"'",
    "echo $NAME > $NAME; cat value",
    "echo $ a$ 5$; echo \"$\" \"a $ b\" $|cat",
    "(echo $)",
    "echo a$>f; cat f",
    "echo $'\\a\\b\\e\\f\\n\\r\\t\\v\\\\\\'\\\"\\x41\\x7f\\101'",
    "echo '\"' \"'\" \"\\$\\`\\\"\\\\\\a\" \\a ''",
    "echo * .*",
    "echo *.txt ?.txt [ab].txt [!a].txt [^a].txt [a-c]* src/* src/*/*.rs ./*.txt */",
    "echo nothing* '*' \\* \"*\" nothing?[a]",
    "echo [ [] [a a] []a]*",
    "cat src/?.rs",
    "echo \"$(cat <<'EOF'\nit's \"a\" $(b) `c` \\\n\n\nEOF\n)\"",
    "echo \"x $(cat <<'EOF'\na\nEOF\n) y\"",
    "echo \"$(cat <<EOF\na\nEOF\n)\"",
    "cat <<E_1-a.b\nx 'y' \"z\n\nE_1-a.b",
    "cat <<\"E\"\n$x `y` \\\nE",
    "cat <<'E' <<F | tac; echo $NAME\n$a\nE\nb\nc\nF",
];

const BUILTINS: &[&str] = &[
    "true",
    ":",
    "false",
    ": a b > f",
    "exit",
    "exit 3",
    "exit 255; echo a",
    "false || exit",
    "(exit 3); echo b",
    "(exit 3) && echo b",
    "c'd' src && pwd",
    "cd ./src/deep/. && cd .. && pwd",
    "cd missing; echo a",
    "cd a.txt || echo a",
    "(cd src; pwd); pwd",
    "cd src && ls && cd .. && ls",
    "bash -c 'echo a | cat'; echo b",
    "bash -lc 'echo a && exit 3' || echo b",
    "sh -c 'cd src; pwd'; pwd",
    "dash -c 'echo a > f'; cat f",
    "/bin/bash -c 'echo a' > f; cat f",
    "/usr/bin/sh -c 'exit 3'",
    "echo a | bash -c 'cat; cat' | cat",
    "bash -c 'false' && echo a",
    "bash -c 'echo \"$NAME\"'",
    // A path is no builtin, and a name without a program is 127.
    "./cat a.txt",
];

/// What is refused, and what its refusal says.
const REFUSED: &[(&str, &str)] = &[
    // Operators.
    ("echo a &", "call the command with `background: true`"),
    ("echo a & echo b", "call the command with `background: true`"),
    ("echo a &>> f", "write `>>file 2>&1`"),
    ("cat <> f", "write `<file`"),
    ("cat <&0", "write `<file`"),
    ("echo a >&-", "only `2>&1`, `1>&2` and `>&2` are read"),
    ("echo a 2>&-", "only `2>&1`, `1>&2` and `>&2` are read"),
    ("echo a 2>&1-", "only `2>&1`, `1>&2` and `>&2` are read"),
    ("echo a >&1file", "only `2>&1`, `1>&2` and `>&2` are read"),
    ("echo a >&file", "only `2>&1`, `1>&2` and `>&2` are read"),
    ("echo a 3>&1", "only `2>&1`, `1>&2` and `>&2` are read"),
    ("echo a 3> f", "only `0<`, `1>` and `2>` are read"),
    ("echo a {fd}>f", "only `0<`, `1>` and `2>` are read"),
    ("cat {fd}<a.txt", "only `0<`, `1>` and `2>` are read"),
    ("echo a;; echo b", "write one `;`"),
    ("echo a;& echo b", "write one `;`"),
    ("((1))", "arithmetic is not read"),
    ("( (echo a))", "put a blank between parentheses of groups"),
    ("!(true)", "put a blank between `!` and `(`"),
    ("echo a (b)", "quote it to pass it on literally"),
    ("echo a > {b,c}", "write its whole name"),
    ("echo a > *.txt", "write its whole name"),
    ("cat <(echo a)", "write to a file first, or use a pipe"),
    ("echo a > >(cat)", "write to a file first, or use a pipe"),
    // Words that are reserved.
    ("! ! true", "write commands one by one"),
    ("echo a | ! cat", "write commands one by one"),
    ("{ echo a; }", "write `( … )` around the commands"),
    ("[[ -f a.txt ]]", "write commands one by one"),
    ("if true; then echo a; fi", "write commands one by one"),
    ("for a in b; do echo a; done", "write commands one by one"),
    ("while false; do echo a; done", "write commands one by one"),
    ("until true; do echo a; done", "write commands one by one"),
    ("case a in a) echo a;; esac", "write commands one by one"),
    ("select a in b; do echo a; done", "write commands one by one"),
    ("function f { echo a; }", "write commands one by one"),
    ("time echo a", "leave `time` out"),
    ("coproc cat", "write commands one by one"),
    ("f() { echo a; }", "quote it to pass it on literally"),
    // Characters.
    ("echo a\0", "leave it out"),
    ("echo a\r\necho b", "end lines with LF alone"),
    ("echo \u{1}", "leave it out, or quote it"),
    ("", "expected a command"),
    (" # a\n", "expected a command"),
    ("echo 'a", "close it"),
    ("echo a &&", "a command is missing"),
    // Substitutions.
    ("echo $(echo a)", "call the inner command first"),
    ("echo \"$(echo a)\"", "call the inner command first"),
    ("echo `echo a`", "call the inner command first"),
    ("echo \"`echo a`\"", "call the inner command first"),
    ("echo $((1 + 1))", "write out what it prints"),
    ("echo $(cat <<'EOF'\na\nEOF\n)", "call the inner command first"),
    ("echo \"$(cat <<EOF\n$a\nEOF\n)\"", "quote its end, `<<'EOF'`"),
    ("echo \"$(tac <<'EOF'\na\nEOF\n)\"", "call the inner command first"),
    // Braces.
    ("echo {a..Z}", "write the words out"),
    ("echo {01..3}", "write the words out"),
    ("echo {1..3..0}", "write the words out"),
    ("echo {'1'..3}", "write the words out"),
    // The home.
    ("echo ~root", "write the path out"),
    ("echo ~+", "write the path out"),
    ("echo ~'/a'", "write the path out"),
    ("echo NAME=~/a", "write the path out"),
    // Variables.
    ("echo $UID", "write the value out"),
    ("echo $RANDOM", "write the value out"),
    ("echo \"$IFS\"", "write the value out"),
    ("echo $_", "write the value out"),
    ("echo $BASH_VERSION", "write the value out"),
    ("echo $OLDPWD", "write the value out"),
    ("echo $SECRET", "write the value out"),
    ("echo $NAME[0]", "write `${NAME}`"),
    ("echo \"$NAME:a\"", "write `${NAME}`"),
    ("echo ${NAME:-a}", "write the value out"),
    ("echo ${#NAME}", "write the value out"),
    ("echo $[1]", "use single quotes"),
    ("echo $\"a\"", "use single quotes"),
    ("echo $1", "use single quotes"),
    ("echo $?", "leave `$?` out"),
    ("echo $$", "use single quotes"),
    ("echo $WORDS", "write `\"${WORDS}\"` in double quotes"),
    ("echo $EMPTY", "write `\"${EMPTY}\"` in double quotes"),
    ("echo $'\\0'", "write the character itself"),
    ("echo $'\\x80'", "write the character itself"),
    ("echo $'\\u41'", "write the character itself"),
    ("echo $'\\q'", "write the character itself"),
    // Patterns.
    ("echo **", "use `*`, `?` and `[a-z]`"),
    ("echo [[:alpha:]]", "use `*`, `?` and `[a-z]`"),
    ("echo [[.a.]]", "use `*`, `?` and `[a-z]`"),
    ("echo [[=a=]]", "use `*`, `?` and `[a-z]`"),
    ("echo [a/b]", "use `*`, `?` and `[a-z]`"),
    ("echo ['a']", "use `*`, `?` and `[a-z]`"),
    ("echo [\\a]", "use `*`, `?` and `[a-z]`"),
    ("echo [$NAME]", "use `*`, `?` and `[a-z]`"),
    ("echo [é]", "use `*`, `?` and `[a-z]`"),
    ("echo /et*", "begin it within them"),
    ("echo ../*", "begin it within them"),
    ("echo {a,/et}*", "begin it within them"),
    ("cd src && echo *", "write `./*`"),
    ("cd src && cat ?x", "write `./?x`"),
    // Here-documents.
    ("cat <<E\n$NAME\nE", "quote its end, `<<'E'`"),
    ("cat <<E\n`a`\nE", "quote its end, `<<'E'`"),
    ("cat <<E\na\\\nE", "quote its end, `<<'E'`"),
    ("cat <<E'F'\nEF", "write `<<'EOF'`"),
    ("cat <<$NAME\nvalue", "write `<<'EOF'`"),
    ("cat <<E\na", "end its text with such a line"),
    // Builtins.
    ("cd", "takes exactly one directory"),
    ("cd ''", "takes exactly one directory"),
    ("cd -", "takes exactly one directory"),
    ("cd +1", "takes exactly one directory"),
    ("cd src deep", "takes exactly one directory"),
    ("cd /etc", "is not allowed"),
    ("cd ~", "is not allowed"),
    ("cd src | cat", "put it in front, with `&&`"),
    ("echo a | exit", "put it in front, with `&&`"),
    ("exit 256", "takes one number from 0 to 255"),
    ("exit a", "takes one number from 0 to 255"),
    ("bash -c 'bash -c a'", "write the commands of the inner one into the line"),
    ("sh -c 'echo a |& cat'", "write `bash -c`"),
    ("dash -c 'echo {a,b}'", "write `bash -c`"),
    ("A=1 bash -c 'echo a'", "in front of the command in it that needs it"),
    ("bash -x -c 'echo a'", "is not allowed"),
    ("bash a.sh", "is not allowed"),
    ("timeout 5 cat a.txt", "`timeout_ms`"),
    // Assignments.
    ("A=1", "in front of the command that needs it"),
    ("A=1 > f", "in front of the command that needs it"),
    ("A=1 true", "leave `NAME=value` out"),
    ("A=1 cd src", "leave `NAME=value` out"),
    ("B=1 echo a", "the variable `B` can't be set"),
    ("A+=1 echo a", "write `A=` with the whole value"),
    ("A[0]=1 echo a", "quote it if it is its name"),
    ("PATH=a echo a", "leave it out"),
    ("IFS=a echo a", "leave it out"),
    ("ENV=a echo a", "leave it out"),
    ("PWD=a echo a", "leave it out"),
    ("OLDPWD=a echo a", "leave it out"),
    ("SHELLOPTS=a echo a", "leave it out"),
    ("BASH_ENV=a echo a", "leave it out"),
    ("LD_PRELOAD=a echo a", "leave it out"),
    ("DYLD_LIBRARY_PATH=a echo a", "leave it out"),
];

/// Builtins of shells that no line runs. Those that are also reserved words are refused as such.
const NO_BUILTINS: &str = ". alias bg break builtin command continue declare dirs disown enable eval exec export fc fg getopts hash \
                           history jobs let local logout mapfile popd pushd read readarray readonly return set shift shopt source \
                           suspend times trap typeset ulimit umask unset wait";

#[test]
fn every_form_that_is_read_does_what_bash_does() {
    let world = World::with(MORE);
    for line in [GRAMMAR, WORDS, BUILTINS].concat() {
        let compared = world.compare(line);
        assert!(compared.is_some(), "{line:?}: {:?}", world.refusal(line));
    }
}

/// Messages of a text of several lines: each has the number that bash gives it. `NONE` is no program.
const MESSAGES: &[&str] = &[
    "NONE",
    "\n\nNONE",
    "echo a\nNONE b",
    "echo a\nNONE \\\n b",
    "NONE b \\\n c",
    "NONE 'b\nc'",
    "> f NONE \\\n b",
    "A=1 \\\n NONE \\\n b",
    "echo 'a\nb'; NONE\nNONE",
    "NONE |\nNONE\nNONE",
    "NONE; NONE\nNONE &&\necho a ||\nNONE",
    "(echo a\nNONE\n)",
    "(\nNONE)\nNONE",
    "cat <<E\na\nE\nNONE",
    "NONE <<E\na\nE\nNONE",
    "cat <<E; NONE a\na\nE\nNONE",
    "NONE \"$(cat <<'E'\na\nE\n)\"; NONE\nNONE",
    "true\ncat \\\n < missing",
    "true\n(cat\n) < missing",
    "true\ncd missing\ncd \\\n missing",
    "true\nbash -c '\n\nNONE'",
    "true\n/bin/bash -c NONE",
    "true\n/bin/bash -c '(NONE)' < missing",
];

#[test]
fn messages_have_the_number_of_their_line() {
    let world = World::with(&["NONE"]);
    for line in MESSAGES {
        let line = format!("( {line}\n) 2>&1");
        assert!(world.compare(&line).is_some(), "{line:?}: {:?}", world.refusal(&line));
    }
}

#[test]
fn every_form_that_is_refused_says_what_to_do_instead() {
    let world = World::with(MORE);
    for (line, expected) in REFUSED {
        let refusal = world.refusal(line).unwrap_or_else(|| panic!("{line:?} may run"));
        assert!(refusal.contains(expected), "{line:?}: {refusal}");
    }
    for name in NO_BUILTINS.split_whitespace() {
        for line in [format!("{name} a"), format!("echo a; '{name}' a"), format!("echo a | {name}")] {
            let refusal = world.refusal(&line).unwrap_or_else(|| panic!("{line:?} may run"));
            let advice = refusal.split_once(&format!("`{name}` is a builtin of shells that no line runs; "));
            assert!(
                advice.is_some_and(|(_, advice)| advice.starts_with(|c: char| c.is_ascii_lowercase())),
                "{line:?}: {refusal}"
            );
        }
    }
}

//! Lines and their meaning, or why they are refused, one in each row. `tests/it/lines_bash.rs` compares the meaning
//! with bash.

use std::ffi::OsString;
use std::fmt::Write;

use super::*;

/// A line as text: words in single quotes, what is looked up in angle brackets, groups in braces.
fn shown(line: &Line) -> String {
    line.lists
        .iter()
        .map(|list| {
            let mut text = pipeline(&list.first);
            for (connector, next) in &list.rest {
                let connector = if *connector == Connector::And { "&&" } else { "||" };
                write!(text, " {connector} {}", pipeline(next)).unwrap();
            }
            text
        })
        .collect::<Vec<_>>()
        .join("; ")
}

fn pipeline(pipeline: &Pipeline) -> String {
    let mut text = if pipeline.negated { "! ".to_owned() } else { String::new() };
    for (at, stage) in pipeline.stages.iter().enumerate() {
        let last = at + 1 == pipeline.stages.len();
        text.push_str(&match &stage.command {
            Command::Simple(simple) => command(simple),
            Command::Group(group) => {
                let redirections = group.redirections.iter().map(redirection);
                [format!("{{ {} }}", shown(&group.line))].into_iter().chain(redirections).collect::<Vec<_>>().join(" ")
            }
        });
        text.push_str(if stage.pipes_stderr {
            " |& "
        } else if last {
            ""
        } else {
            " | "
        });
    }
    text
}

fn command(simple: &Simple) -> String {
    let assignments = simple.assignments.iter().map(|set| format!("{}={}", set.name, value(&set.value)));
    let words = simple.words.iter().map(|word| parts(&word.parts));
    assignments.chain(words).chain(simple.redirections.iter().map(redirection)).collect::<Vec<_>>().join(" ")
}

fn redirection(redirection: &Redirection) -> String {
    match redirection {
        Redirection::Read(file) => format!("<{}", value(file)),
        Redirection::Write { stream, mode, target } => {
            let stream = match stream {
                Stream::Stdout => "",
                Stream::Stderr => "2",
                Stream::Both => "&",
            };
            let arrow = if *mode == Mode::Append { ">>" } else { ">" };
            format!("{stream}{arrow}{}", value(target))
        }
        Redirection::StderrToStdout => "2>&1".to_owned(),
        Redirection::StdoutToStderr => "1>&2".to_owned(),
        Redirection::Document(text) => format!("<<{text:?}"),
        Redirection::HereString(text) => format!("<<<{}", value(text)),
    }
}

fn value(value: &Value) -> String {
    parts(&value.pieces.iter().cloned().map(Part::Piece).collect::<Vec<_>>())
}

fn parts(parts: &[Part]) -> String {
    let show = |part: &Part| match part {
        Part::Piece(Piece::Literal(text)) => text.clone(),
        Part::Piece(Piece::Variable { name, quoted: true }) => format!("<\"${name}\">"),
        Part::Piece(Piece::Variable { name, quoted: false }) => format!("<${name}>"),
        Part::Piece(Piece::Home) => "<~>".to_owned(),
        Part::Pattern(Pattern::Any) => "<*>".to_owned(),
        Part::Pattern(Pattern::One) => "<?>".to_owned(),
        Part::Pattern(Pattern::Set(set)) => format!("<{}>", set.text),
    };
    format!("'{}'", parts.iter().map(show).collect::<String>())
}

#[test]
fn lines_are_read_as_a_shell_reads_them() {
    let cases: &[(&str, &str)] = &[
        ("a", "'a'"),
        ("a b;c\nd;", "'a' 'b'; 'c'; 'd'"),
        ("\n\na\n\nb;\nc\n", "'a'; 'b'; 'c'"),
        ("a && b || c;d", "'a' && 'b' || 'c'; 'd'"),
        ("a &&\n\nb |\nc", "'a' && 'b' | 'c'"),
        ("! a | b |& c", "! 'a' | 'b' |& 'c'"),
        ("a !", "'a' '!'"),
        ("!a", "'!a'"),
        ("!>f", "! >'f'"),
        ("(a;b)>f", "{ 'a'; 'b' } >'f'"),
        ("( (a) )", "{ { 'a' } }"),
        ("! (a)2>&1|b", "! { 'a' } 2>&1 | 'b'"),
        ("a # b; 'c\nd#e '#'f", "'a'; 'd#e' '#f'"),
        ("a\\\nb \\\n c\\\n&\\\n&\\\nd", "'ab' 'c' && 'd'"),
        ("'a\\\nb' \"a\\\nb\"", "'a\\\nb' 'ab'"),
        ("\\i\\f if 'in' }", "'if' 'if' 'in' '}'"),
        ("A=1 B= c D=2", "A='1' B='' 'c' 'D=2'"),
        ("A={a,b}* B=~ C=a\" $NAME\" c", "A='{a,b}*' B='<~>' C='a <\"$NAME\">' 'c'"),
        ("'A'=1 1A=1", "'A=1' '1A=1'"),
        (">f", ">'f'"),
        ("<f 2>>g a 1>|h b &>i >>j 0<k", "'a' 'b' <'f' 2>>'g' >'h' &>'i' >>'j' <'k'"),
        ("a2>f a 2 >f", "'a2' 'a' '2' >'f' >'f'"),
        ("a 2>&1 >&2 1>&2 2>& 1>f", "'a' 2>&1 1>&2 1>&2 2>&1 >'f'"),
        ("a >&2>f", "'a' 1>&2 >'f'"),
        ("a 2&>f", "'a' '2' &>'f'"),
        ("a \"2\">f '2'>f \\2>f", "'a' '2' '2' '2' >'f' >'f' >'f'"),
        ("a >[b >{c >{} >{x}", "'a' >'[b' >'{c' >'{}' >'{x}'"),
        ("a {b}", "'a' '{b}'"),
        ("a <<<b <<< \"$NAME {c,d}\"", "'a' <<<'b' <<<'<\"$NAME\"> {c,d}'"),
        ("a <<E\nb 'c\nE\nd", "'a' <<\"b 'c\\n\"; 'd'"),
        ("a <<E <<'F' b; c\n1\nE\n$2\nF\nd", "'a' 'b' <<\"1\\n\" <<\"$2\\n\"; 'c'; 'd'"),
        ("(a <<-E\n\tb\n\t\tE\n) | c", "{ 'a' <<\"b\\n\" } | 'c'"),
        ("a <<E 'b\nc' # E\nd\nE", "'a' 'b\nc' <<\"d\\n\""),
        ("a <<'E'&&b\nE\nc", "'a' <<\"\" && 'b'; 'c'"),
        ("a <<E |\nx\nE\nb", "'a' <<\"x\\n\" | 'b'"),
        ("a \"b$(cat <<'EOF'\nit's $(x)\n\n\nEOF\n)c\"", "'a' 'bit's $(x)\n\nc'".replace("\n\nc", "c").leak()),
        ("a \"$(cat <<-E\n\tb\n\tE\n  )\"", "'a' 'b'"),
        ("a '' \"\" $'' b''", "'a' '' '' '' 'b'"),
        ("a \"\\$\\`\\\"\\\\\\a$\"", "'a' '$`\"\\\\a$'"),
        ("a \"$NAME\"b$NAME ${NAME}b", "'a' '<\"$NAME\">b<$NAME>' '<$NAME>b'"),
        ("a $ b$;c $|d 5$", "'a' '$' 'b$'; 'c' '$' | 'd' '5$'"),
        ("a $'\\a\\x41\\101\\'\\n\\\\'", "'a' '\x07AA'\n\\'"),
        ("a ~ ~/b b~ \\~ '~' x:~ --y=~ HEAD~1", "'a' '<~>' '<~>/b' 'b~' '~' '~' 'x:~' '--y=~' 'HEAD~1'"),
        (
            "a *.c ?b [ab] [!a-c]* [^x] []a] [a- [] [ x",
            "'a' '<*>.c' '<?>b' '<[ab]>' '<[!a-c]><*>' '<[^x]>' '<[]a]>' '[a-' '[]' '[' 'x'",
        ),
        ("a \\* '*' \"[a]\" \\[a]", "'a' '*' '*' '[a]' '[a]'"),
        ("a {b,c}d{,e}", "'a' 'bd' 'bde' 'cd' 'cde'"),
        ("a {b,{c,d}}", "'a' 'b' 'c' 'd'"),
        ("a {} {b} {{b}} {b{c,d} {b{c,d}} { } x}", "'a' '{}' '{b}' '{{b}}' '{bc' '{bd' '{bc}' '{bd}' '{' '}' 'x}'"),
        ("a {1..3} {c..a} {0..9..4} {3..1}x", "'a' '1' '2' '3' 'c' 'b' 'a' '0' '4' '8' '3x' '2x' '1x'"),
        ("a {,} x{,} {a,''}", "'a' 'x' 'x' 'a' ''"),
        ("a {'b,c',\"}\",\\,,${NAME},*}", "'a' 'b,c' '}' ',' '<$NAME>' '<*>'"),
        ("a ../{b,c}..d", "'a' '../b..d' '../c..d'"),
        ("{,} a", "'a'"),
        ("cd a; exit 3; exit; true x | false", "'cd' 'a'; 'exit' '3'; 'exit'; 'true' 'x' | 'false'"),
        ("'cd' $NAME; cd *", "'cd' '<$NAME>'; 'cd' '<*>'"),
        ("é\u{a0}a", "'é\u{a0}a'"),
        ("a \"\u{1}\t\r\"", "'a' '\u{1}\t\r'"),
    ];
    for (text, expected) in cases {
        let read = Line::read(text).unwrap_or_else(|unreadable| panic!("{text:?}: {unreadable}"));
        assert_eq!(shown(&read), *expected, "{text:?}");
    }
}

#[test]
fn what_a_line_can_not_have_is_refused_where_it_stands() {
    let cases: &[(&str, usize, &str)] = &[
        ("", 0, "the line is empty"),
        (" # a\n", 0, "the line is empty"),
        ("a\0", 1, "NUL"),
        ("a\r\nb", 1, "CR LF"),
        ("a # b\r\n", 5, "CR LF"),
        ("a \u{1b}", 2, "control character"),
        ("a\\\u{7f}", 1, "control character"),
        ("a &", 2, "`background: true`"),
        ("a & b", 2, "`background: true`"),
        ("a &>>f", 2, "`>>file 2>&1`"),
        ("a <>f", 2, "`<>`"),
        ("a <&0", 2, "`<&`"),
        ("a >&-", 2, "`2>&1`, `1>&2` and `>&2`"),
        ("a 2>&1-", 2, "`2>&1`, `1>&2` and `>&2`"),
        ("a >&1file", 2, "`2>&1`, `1>&2` and `>&2`"),
        ("a 2>&1file", 2, "`2>&1`, `1>&2` and `>&2`"),
        ("a >&file", 2, "`2>&1`, `1>&2` and `>&2`"),
        ("a >&\"2\"", 2, "`2>&1`, `1>&2` and `>&2`"),
        ("a >&1", 2, "`2>&1`, `1>&2` and `>&2`"),
        ("a 3>&1", 2, "`2>&1`, `1>&2` and `>&2`"),
        ("a 3>f", 2, "`3` in front of a redirection"),
        ("a 02>f", 2, "`02` in front of a redirection"),
        ("a 0>f", 2, "`0` in front of a redirection"),
        ("a 1<f", 2, "`1` in front of a redirection"),
        ("a 1\\\n2>f", 2, "`12` in front of a redirection"),
        ("a 0<<E\nE", 2, "`0` in front of a redirection"),
        ("a {fd}>f", 2, "`{fd}` in front of a redirection"),
        ("a {fd[0]}<f", 2, "`{fd[0]}` in front of a redirection"),
        ("a >f>", 4, "has no file"),
        ("a >2>f", 2, "has no file"),
        ("a >", 2, "has no file"),
        ("a > #f", 2, "has no file"),
        ("a > ;", 2, "has no file"),
        ("a >*", 3, "a pattern"),
        ("a >{b,c}", 3, "braces"),
        ("a <(b)", 2, "`<(`"),
        ("a >(b)", 2, "`>(`"),
        ("a;;b", 1, "`;;`"),
        ("a;&b", 1, "`;&`"),
        ("a; ;b", 3, "a command is missing in front of `;`"),
        (";a", 0, "a command is missing in front of `;`"),
        ("a\n;b", 2, "a command is missing in front of `;`"),
        ("a && && b", 5, "a command is missing in front of `&&`"),
        ("a &&", 4, "a command is missing in front of the end"),
        ("| a", 0, "a command is missing in front of `|`"),
        ("a | ", 4, "a command is missing in front of the end"),
        ("!", 1, "a command is missing in front of the end"),
        ("! ! a", 2, "`!` is a keyword"),
        ("a | ! b", 4, "`!` is a keyword"),
        ("!(a)", 0, "a blank between `!` and `(`"),
        ("((a))", 0, "`((`"),
        ("( (a))", 4, "`))`"),
        ("()", 1, "`)` is only read as part of a group"),
        ("a)", 1, "`)` is only read as part of a group"),
        ("a (b)", 2, "`(` is only read as part of a group"),
        ("a () b", 2, "`(` is only read"),
        ("A=(b) c", 0, "can't be set alone"),
        ("(a", 0, "`(` is not closed"),
        ("(a) b", 4, "only redirections and operators"),
        ("(a)b", 3, "only redirections and operators"),
        ("if a; then b; fi", 0, "`if` is a keyword"),
        ("a; { b; }", 3, "`{` is a keyword"),
        (
            "a && time b",
            5,
            "`time` is a keyword of shells, and a line has only commands; leave `time` out: `list_calls` says how long",
        ),
        ("a; echo $?", 8, "leave `$?` out: the answer holds the exit code"),
        ("echo $$", 5, "use single quotes to pass it on literally"),
        (
            "source .venv/bin/activate && a",
            0,
            "leave it out: the programs of the environment are called by their names",
        ),
        (". ./venv/bin/activate.fish", 0, "leave it out: the programs of the environment are called by their names"),
        ("source env.sh", 0, "call what the file runs"),
        (">f while", 3, "`while` is a keyword"),
        ("A=1 do", 4, "`do` is a keyword"),
        ("[[ a ]]", 0, "`[[` is a keyword"),
        ("a 'b", 2, "`'` is not closed"),
        ("a \"b", 2, "`\"` is not closed"),
        ("a \"b\\", 2, "`\"` is not closed"),
        ("a $'b", 2, "`$'` is not closed"),
        ("a \\", 2, "`\\` is not closed"),
        ("a `b`", 2, "a backtick"),
        ("a \"`b`\"", 3, "a backtick"),
        ("a $(b)", 2, "`$(`"),
        ("a \"x$(b)\"", 4, "`$(`"),
        ("a \"$(cat <<E; b\nE\n)\"", 3, "`$(`"),
        ("a \"$(cat <<'E'\nE)\"", 3, "not closed"),
        ("a \"$(cat <<'E'\nE)\nE\n)\"", 3, "begins with `E`"),
        ("a \"$(cat <<-\"E\"\n\tx\n\tE\t)b\"\nE\n)\"", 3, "begins with `E`"),
        ("a \"$(cat <<'E'\nx\nEfoo) b\nE\n)\"", 3, "begins with `E`"),
        ("a \"$(cat <<'E'\nE\nb)\"", 3, "`$(`"),
        ("a $(cat <<'E'\nE\n)", 2, "`$(`"),
        ("a <<F \"$(cat <<'E'\nE\n)\"\nF", 7, "`$(`"),
        ("a $((1))", 2, "`$((`"),
        ("a $[1]", 2, "`$` in front of '['"),
        ("a $\"b\"", 2, "`$` in front of '\"'"),
        ("a \"$'b'\"", 3, "`$` in front of '\\''"),
        ("a $1 $?", 2, "`$` in front of '1'"),
        ("a $$", 2, "`$` in front of '$'"),
        ("a ${NAME:-b}", 2, "only a name"),
        ("a ${#NAME}", 2, "only a name"),
        ("a ${}", 2, "only a name"),
        ("a $NAME[0]", 2, "`$NAME` directly in front of `[`"),
        ("a \"$NAME:b\"", 3, "write `${NAME}`"),
        ("a {$NAME,b}c", 2, "`$NAME` directly in front of `c`"),
        ("a $RANDOM", 2, "belongs to shells"),
        ("a ${BASH_VERSION}", 2, "belongs to shells"),
        ("a \"$_\"", 3, "belongs to shells"),
        ("a $'\\u41'", 4, "within `$'…'`"),
        ("a $'\\0'", 4, "within `$'…'`"),
        ("a $'\\x80'", 4, "within `$'…'`"),
        ("a $'\\xg'", 4, "within `$'…'`"),
        ("a ~b", 2, "`~`"),
        ("a ~\"/b\"", 2, "`~`"),
        ("a b=~/c", 2, "`~`"),
        ("a b=c:~", 2, "`~`"),
        ("A=b:~ c", 0, "`~`"),
        ("a {b,~c}", 2, "`~`"),
        ("a **", 2, "`**`"),
        ("a {*,b}*", 2, "`**`"),
        ("a [[:alpha:]]", 2, "classes"),
        ("a [é]", 2, "beyond ASCII"),
        ("a [a/b]", 2, "`/` within"),
        ("a [\"a\"]", 2, "quotes, backslashes and `$`"),
        ("a [$NAME]", 2, "quotes, backslashes and `$`"),
        ("a [$NAME", 2, "`$` after a `[`"),
        ("a [z-a]", 2, "a range"),
        ("a [a-Z]", 2, "a range"),
        ("a [a-c-e]", 2, "a range"),
        ("a {b},c}", 2, "a `}` without its `{`"),
        ("a {01..3}", 2, "a range"),
        ("a {-1..3}", 2, "a range"),
        ("a {a..Z}", 2, "a range"),
        ("a {1..3..0}", 2, "a range"),
        ("a {\"1\"..3}", 2, "a range"),
        ("a {1..9999999999}", 2, "a range"),
        ("a {1..999999999}", 2, "more than 131072 words"),
        ("A=1", 0, "can't be set alone"),
        ("A=1 >f b", 0, "can't be set alone"),
        ("A+=1 b", 0, "`A+=`"),
        ("A[0]=1 b", 0, "`A[`"),
        ("PATH=a b", 0, "`PATH` decides"),
        ("LD_PRELOAD=a b", 0, "`LD_PRELOAD` decides"),
        ("'' a", 0, "the name of a command is empty"),
        ("{,}", 0, "the name of a command is empty"),
        ("source a", 0, "`source` is a builtin"),
        (". a", 0, "`.` is a builtin"),
        ("a; 'ex'port b", 3, "`export` is a builtin"),
        ("{eval,x}", 0, "`eval` is a builtin"),
        ("cd", 0, "exactly one directory"),
        ("cd -", 0, "exactly one directory"),
        ("cd ''", 0, "exactly one directory"),
        ("cd a b", 0, "exactly one directory"),
        ("exit 256", 0, "from 0 to 255"),
        ("exit 1 2", 0, "from 0 to 255"),
        ("exit -1", 0, "from 0 to 255"),
        ("A=1 cd b", 0, "no variable can be set for `cd`"),
        ("cd a | b", 0, "`cd` has no effect"),
        ("a | exit", 4, "`exit` has no effect"),
        ("a <<E", 4, "no line is exactly `E`"),
        ("a <<E\nb\n E", 4, "no line is exactly `E`"),
        ("(a <<E\nE)", 5, "no line is exactly `E`"),
        ("a <<E\n$b\nE", 6, "quote its end, `<<'E'`"),
        ("a <<E\nb\\\nE", 7, "quote its end"),
        ("a <<E\"F\"\nEF", 4, "quoted as a whole"),
        ("a <<''\n\n", 4, "quoted as a whole"),
        ("a <<$NAME\nE", 4, "quoted as a whole"),
        ("a <<\nE", 2, "has no file"),
    ];
    for (text, at, expected) in cases {
        let unreadable = Line::read(text).expect_err(text);
        assert!(unreadable.to_string().contains(expected), "{text:?}: {unreadable}");
        assert_eq!(unreadable.at, *at, "{text:?}: {unreadable}");
    }
}

#[test]
fn a_line_of_a_shell_becomes_a_group_once() {
    let open = |text: &str| Line::read(text).and_then(|line| line.open_shells(&|word| word == "zsh"));
    for (text, expected) in [
        ("bash -c 'a; cd b' >f", "{ 'a'; 'cd' 'b' } >'f'"),
        ("/bin/bash -lc \"a |& b\" | c", "{ 'a' |& 'b' } | 'c'"),
        ("(sh -c 'a | b' && c)", "{ { 'a' | 'b' } && 'c' }"),
        ("zsh -c 'a'", "'zsh' '-c' 'a'"),
        ("bash -c a b", "'bash' '-c' 'a' 'b'"),
        ("bash -c", "'bash' '-c'"),
        ("bash -c \"$NAME\"", "'bash' '-c' '<\"$NAME\">'"),
        ("sh -c 'echo ---; echo -x a'; echo --help x", "{ 'echo' '---'; 'echo' '-x' 'a' }; 'echo' '--help' 'x'"),
        ("printf %q x", "'printf' '%q' 'x'"),
        ("kill -- -1 | a", "'kill' '--' '-1' | 'a'"),
        ("[ -l = -l ] | a", "'[' '-l' '=' '-l' ']' | 'a'"),
        ("test -n -v | a", "'test' '-n' '-v' | 'a'"),
        ("[ a = b -o c = d ] | a", "'[' 'a' '=' 'b' '-o' 'c' '=' 'd' ']' | 'a'"),
        ("sh -c ': > /dev/null; a'", "{ ':' >'/dev/null'; 'a' }"),
        ("bash -c 'echo -ne \"a\\tb\"; printf -- %s%%q a'", "{ 'echo' '-ne' 'a\\tb'; 'printf' '--' '%s%%q' 'a' }"),
        ("bash -x -c a; /tmp/bash -c a", "'bash' '-x' '-c' 'a'; '/tmp/bash' '-c' 'a'"),
    ] {
        assert_eq!(shown(&open(text).unwrap()), expected, "{text:?}");
    }
    for (text, at, expected) in [
        ("a; bash -c 'b &'", 3, "`background: true`"),
        ("bash -c \"bash -c 'a'\"", 0, "a shell in a shell"),
        (r#"sh -c 'echo "a\tb"'"#, 0, "does something else in sh, dash or zsh than the program `echo`"),
        ("sh -c 'echo -e x'", 0, "write `printf '%s\\n' TEXT`"),
        ("a; dash -lc 'b | (echo -n x)'", 3, "`echo` with an option"),
        ("bash -c 'echo --help'", 0, "this option"),
        ("bash -c 'printf %q x'", 0, "`%q` or `%(`"),
        ("printf -v x y; a", 0, "an option"),
        ("a | printf '%-5Q' b", 4, "`%q` or `%(`"),
        ("printf '%(%s)T' > a", 0, "`%q` or `%(`"),
        (r"echo -e '\u2713' | a", 0, "this escape"),
        (r"echo -ne 'a\101' | a", 0, "this escape"),
        (r"printf '\?' > a", 0, "this escape"),
        (r"printf %b '\E' > a", 0, "this escape"),
        ("test -v HOME && a", 0, "this operator"),
        (r"[ a \< b ] && a", 0, "this operator"),
        ("pwd --help | a", 0, "this option"),
        ("kill -l | a", 0, "this option"),
        ("[ ! -v x ] && a", 0, "this operator"),
        (r"[ a \< b -a c ] && a", 0, "this operator"),
        ("[ -o pipefail ] && a", 0, "this operator"),
        ("sh -c '[ a == a ]'", 0, "this operator"),
        ("sh -c ': > f'", 0, "a redirection"),
        (r"sh -c 'printf \\x41'", 0, "this escape"),
        ("bash -c ''", 0, "the line is empty"),
        ("A=1 bash -c a", 0, "a whole shell"),
        ("sh -c 'a |& b'", 0, "write `bash -c`"),
        ("dash -c 'a &>b'", 0, "write `bash -c`"),
        ("sh -c 'a <<<b'", 0, "write `bash -c`"),
        ("sh -c a\\ \\$\\'b\\'", 0, "write `bash -c`"),
        ("sh -c 'a {b,c}'", 0, "write `bash -c`"),
        ("sh -c 'a [^b]'", 0, "write `bash -c`"),
    ] {
        let unreadable = open(text).expect_err(text);
        assert!(unreadable.to_string().contains(expected), "{text:?}: {unreadable}");
        assert_eq!(unreadable.at, at, "{text:?}");
    }
}

#[test]
fn a_line_is_no_larger_than_its_bounds() {
    let check = |text: &str, expected: Option<&str>| {
        let read = Line::read(text).and_then(|line| line.open_shells(&|_| false));
        let why = read.err().map(|unreadable| unreadable.to_string());
        assert_eq!(why.is_some(), expected.is_some(), "{why:?}");
        assert!(why.is_none_or(|why| why.contains(expected.unwrap())), "{expected:?}");
    };
    check(&vec!["a"; MOST_COMMANDS].join(";"), None);
    check(&vec!["a"; MOST_COMMANDS + 1].join(";"), Some("more than 256 commands"));
    check(&format!("a {}", "> f ".repeat(MOST_REDIRECTIONS)), None);
    check(&format!("a {}", "> f ".repeat(MOST_REDIRECTIONS + 1)), Some("more than 256 redirections"));
    check(&format!("( a {0} ) {0}", "<<< f ".repeat(MOST_REDIRECTIONS / 2 + 1)), Some("more than 256 redirections"));
    check(&format!("a;bash -c '{}'", vec!["a"; MOST_COMMANDS - 1].join(";")), None);
    check(&format!("a;bash -c '{}'", vec!["a"; MOST_COMMANDS].join(";")), Some("more than 256 commands"));
    check(&vec!["a"; MOST_STAGES].join("|"), None);
    check(&vec!["a"; MOST_STAGES + 1].join("|"), Some("more than 32 commands"));
    check(&format!("({0})|({0})", vec!["a"; MOST_STAGES / 2].join("|")), None);
    check(&format!("({0})|(a;{0}|a)", vec!["a"; MOST_STAGES / 2].join("|")), Some("more than 32 commands"));
    let levels = |count: usize| format!("{}a{}", "( ".repeat(count), " )".repeat(count));
    check(&levels(MOST_LEVELS), None);
    check(&levels(MOST_LEVELS + 1), Some("more than 64 levels"));
    check(&format!("(bash -c '{}')", levels(MOST_LEVELS)), Some("more than 64 levels"));
    check(&format!("a {}", "b ".repeat(MOST_WORDS - 1)), None);
    check(&format!("a {}", "b ".repeat(MOST_WORDS)), Some("more than 131072 words"));
    check(&format!("a {}", "<b ".repeat(MOST_WORDS)), Some("more than 131072 words"));
    check("a {1..131071}", None);
    check("a {1..131072}", Some("more than 131072 words"));
    check(&format!("a {}", "{b,c}".repeat(17)), Some("more than"));
    check(&format!("a {}", "{b,c}".repeat(100_000)), Some("is longer than"));
    check(&format!("a {}", "{b,c}".repeat(20_000)), Some("more than"));
    check(&format!("a {{1..1000}}{}", "b".repeat(100_000)), Some("bytes"));
    check(&format!("a {}b{}", "{x,".repeat(64), "}".repeat(64)), None);
    check(&format!("a {}b{}", "{x,".repeat(66), "}".repeat(66)), Some("levels"));
    check(&format!("a '{}'", "b".repeat(MOST_WORD_BYTES)), Some("is longer than"));
}

/// Each is 12 KB or more, read in a time that grows with its length: this test would take many minutes if it grew with its square.
#[test]
fn texts_of_any_shape_are_read_or_refused_in_linear_time() {
    let long = |text: &str| text.repeat(12_000 / text.len());
    let words = |text: &str| format!("a {}", long(&format!("{} ", text.repeat(12_000 / text.len()))));
    for text in [
        "'",
        "\"",
        "\\",
        "\\\n",
        "$'",
        "$'a'",
        "{",
        "}",
        "{}",
        "{a",
        "{a,",
        "{,}",
        "{1..1}",
        "{{}}",
        "(",
        ")",
        "( ",
        "(a)|",
        "<",
        ">",
        "<<E ",
        "<<<a ",
        "a <<E\n",
        "a <<E\nE\n",
        "\"$(cat <<'E'\nE\n)\"",
        "\"$(cat <<'E'\n",
        "#",
        "\n",
        ";",
        "|a",
        "a|",
        "a;",
        "a=~",
        "~",
        "*",
        "*\"\"",
        "?",
        "[",
        "[]",
        "[a",
        "[a]",
        "[!",
        "$",
        "$A",
        "${A}",
        "\"$A\"",
        "A=",
        "a\t",
        "é",
        "\u{a0}",
        "1>",
        "2>&1 ",
        "!",
        "! ",
        "`",
        "&",
        "\0",
        "\r",
        "''",
        "\\a",
        "a.",
        "a",
        "..",
    ] {
        for text in [
            long(text),
            format!("a {}", long(text)),
            words(text),
            format!("a \"{}\"", long(text)),
            format!("a <<X\n{}\nX", long(text)),
        ] {
            let _ = Line::read(&text).map(|line| line.open_shells(&|_| false));
        }
    }
    let nested = |inner: &str| format!("{}{}{}", "{".repeat(30_000), inner, "}".repeat(30_000));
    for text in [nested(""), nested("a,b"), nested("1..3"), "{a,".repeat(40_000), "{1..1}".repeat(20_000)] {
        let _ = Line::read(&format!("a {text}"));
    }
}

/// Directories by their paths; a name that ends with `/` is one.
struct Tree(&'static [&'static str]);

impl Directories for Tree {
    fn names(&mut self, path: &str) -> Result<Option<Vec<OsString>>, Outside> {
        if path.starts_with("out/") || path.starts_with('/') {
            return Err(Outside);
        }
        let inside = self.0.iter().filter_map(|known| known.strip_prefix(path)).filter(|name| !name.is_empty());
        let mut names: Vec<OsString> = inside.filter_map(|name| name.split('/').next()).map(OsString::from).collect();
        names.dedup();
        Ok((path.is_empty() || self.0.contains(&path)).then_some(names))
    }

    fn exists(&mut self, path: &str) -> Result<bool, Outside> {
        Ok(self.0.iter().any(|known| known.trim_end_matches('/') == path || *known == path))
    }
}

fn expanded(text: &str, tree: &mut dyn Directories) -> Result<Vec<String>, ExpandError> {
    let line = Line::read(text).unwrap();
    let values = |name: &str| match name {
        "HOME" => Some("/home/me".to_owned()),
        "NAME" => Some("value".to_owned()),
        "WORDS" => Some("a *b".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    };
    let room = Room::default();
    let words =
        line.commands()[0].words.iter().map(|word| word.expand(&values, tree, &room)).collect::<Result<Vec<_>, _>>()?;
    Ok(words.concat())
}

#[test]
fn what_words_become_is_bounded_before_it_is_kept() {
    /// As many names as this, each as long as this.
    struct Many(usize, usize);
    impl Directories for Many {
        fn names(&mut self, _: &str) -> Result<Option<Vec<OsString>>, Outside> {
            Ok(Some((0..self.0).map(|number| format!("{number:a<width$}", width = self.1).into()).collect()))
        }

        fn exists(&mut self, _: &str) -> Result<bool, Outside> {
            Ok(true)
        }
    }
    for (text, mut tree) in [
        (format!("echo {}", "* ".repeat(1_000)), Many(9_000, 4)),
        (format!("echo {}", "x* ".repeat(6_000)), Many(9_000, 4)),
        (format!("echo {}", "* ".repeat(17)), Many(1_000, 255)),
        (format!("echo \"{}\"", "$HOME".repeat(26_000)), Many(1, 1)),
    ] {
        assert_eq!(expanded(&text, &mut tree), Err(ExpandError::TooLarge), "{}", &text[..20]);
    }
    assert_eq!(expanded("echo * 1* *", &mut Many(100, 4)).unwrap().len(), 1 + 100 + 11 + 100);
    // Words that braces make are counted, also those with nothing in them.
    let empty = "{,}".repeat(16);
    assert_eq!(Line::read(&format!("echo {empty} {empty}")).unwrap_err().reason, Reason::TooManyWords);
}

#[test]
fn words_become_arguments() {
    let mut tree = Tree(&["b.rs", "a.rs", ".c.rs", "d/", "d/x.rs", "d/.y", "é", "f/", "f/-g", "-o"]);
    for (text, expected) in [
        ("*.rs", vec!["a.rs", "b.rs"]),
        ("? [!a-d]", vec!["d", "f", "é", "f", "é"]),
        (".*", vec![".c.rs"]),
        ("*/*", vec!["d/x.rs", "f/-g"]),
        ("*/x.rs ./*.rs", vec!["d/x.rs", "./*.rs"]),
        ("[f]*/", vec!["f/"]),
        ("nothing* '*' \"$WORDS\"x $NAME ~/* f/*", vec!["nothing*", "*", "a *bx", "value", "~", "f/-g"]),
        ("\"$EMPTY\"", vec![""]),
    ] {
        match expanded(text, &mut tree) {
            Ok(words) => assert_eq!(words, expected, "{text}"),
            Err(error) => assert_eq!(error, ExpandError::Outside { pattern: "/home/me/*".into() }, "{text}"),
        }
    }
    for (text, expected) in [
        ("*", "write `./*`"),
        ("?o", "write `./?o`"),
        ("[!a]o", "write `./[!a]o`"),
        ("out/*", "leads outside"),
        ("*/../x", "has `//`, `.` or `..`"),
        ("*//x", "has `//`, `.` or `..`"),
        ("$WORDS", "in double quotes"),
        ("$EMPTY", "in double quotes"),
        ("\"$OTHER\"", "`OTHER` has no value"),
    ] {
        let error = expanded(text, &mut tree).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// More names than are taken, in a directory that has itself in it.
struct Deep;

impl Directories for Deep {
    fn names(&mut self, path: &str) -> Result<Option<Vec<OsString>>, Outside> {
        let most = if path.is_empty() { 200 } else { 100 };
        Ok(Some((0..most).map(|number| OsString::from(format!("{number}"))).collect()))
    }

    fn exists(&mut self, _: &str) -> Result<bool, Outside> {
        Ok(true)
    }
}

#[test]
fn a_pattern_finds_only_so_many_names() {
    assert_eq!(expanded("*", &mut Deep).unwrap().len(), 200);
    assert!(expanded("*/*", &mut Deep).unwrap_err().to_string().contains("too many names"));
    assert!(expanded("*/*/nothing", &mut Deep).is_err());
}

#[test]
fn builtins_are_told_from_programs_by_their_words() {
    let of = |words: &[&str]| Builtin::of(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    assert_eq!(of(&["cd", "a b"]), Some(Ok(Builtin::Cd("a b".into()))));
    assert_eq!(of(&["exit", "007"]), Some(Ok(Builtin::Exit(Some(7)))));
    assert_eq!(of(&[":", "x"]), Some(Ok(Builtin::True)));
    assert_eq!(of(&["true"]), Some(Ok(Builtin::True)));
    assert_eq!(of(&["false", "--help"]), Some(Ok(Builtin::False)));
    assert_eq!(of(&["cd", "+1"]), Some(Err(BuiltinError::Cd)));
    assert!(of(&["./cd", "a"]).is_none() && of(&["ls"]).is_none() && of(&[]).is_none());
    let refused = ". alias bg break builtin command continue coproc declare dirs disown enable eval exec export fc fg getopts hash \
                   history jobs let local logout mapfile popd pushd read readarray readonly return set shift shopt source suspend \
                   time times trap typeset ulimit umask unset wait";
    for name in refused.split_whitespace() {
        assert!(matches!(of(&[name]), Some(Err(BuiltinError::Refused { .. }))), "{name}");
    }
}

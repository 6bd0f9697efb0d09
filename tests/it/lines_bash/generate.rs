//! Lines made from the grammar with a seeded generator, the same lines with a few characters changed, and random text.

pub struct Generator {
    state: u64,
    text: String,
    /// Here-documents whose texts follow the next line break.
    waiting: Vec<String>,
    is_in_group: bool,
    /// How many files were named: two stages of a pipeline never write the same one.
    files: usize,
}

const PLAIN: &[&str] =
    &["a", "b.txt", "a.txt", "src", "-n", "x=y", "A=b", "10", "2", "é", "%s", "in", "a#b", "!", "^", "@", "1a", "--"];
const CHARACTERS: &[&str] = &[
    "'", "\"", "\\", "$", "{", "}", "(", ")", "[", "]", "<", ">", "|", "&", ";", "\n", " ", "\t", "#", "~", "*", "?",
    "!", "=", "`", ",", "..", "-", "1", "2", "0", "a", "A", ":", "/", "^", "%", "@", "+", "\\\n", "$NAME", "${NAME}",
    "<<E\n", "\nE\n", "&&", "||", "2>&1", ">f", "\r", "\u{7f}", "\u{1}", "é", "\u{a0}", "if", "then", "fi", "{ ",
    "time", "$'", "$(", "cat", "EOF", "case", "do",
];

impl Generator {
    pub fn new(seed: u64) -> Self {
        let state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Self { state, text: String::new(), waiting: Vec::new(), is_in_group: false, files: 0 }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 33).unwrap() % bound
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// One line of the grammar.
    pub fn line(&mut self) -> String {
        self.text.clear();
        self.list(2);
        if !self.waiting.is_empty() {
            self.newline();
        }
        std::mem::take(&mut self.text)
    }

    /// A line with a few characters changed.
    pub fn changed(&mut self) -> String {
        let mut characters: Vec<char> = self.line().chars().collect();
        for _ in 0..=self.below(3) {
            let at = self.below(characters.len() + 1);
            let to = (at + self.below(4)).min(characters.len());
            match self.below(4) {
                0 => drop(characters.drain(at..to)),
                1 => {
                    let piece: Vec<char> = characters[at..to].to_vec();
                    characters.splice(at..at, piece);
                }
                _ => {
                    let piece: Vec<char> = self.pick(CHARACTERS).chars().collect();
                    characters.splice(at..at, piece);
                }
            }
        }
        characters.into_iter().collect()
    }

    /// `echo` or `printf`, and anything.
    pub fn random(&mut self) -> String {
        let mut text = self.pick(&["echo ", "printf '<%s>' ", "cat <<E\n", "(echo ", "A=", ">f echo "]).to_owned();
        for _ in 0..self.below(9) {
            text.push_str(self.pick(CHARACTERS));
        }
        text
    }

    fn blank(&mut self) {
        let blank = self.pick(&[" ", " ", " ", "\t", "  ", " \\\n"]);
        self.push(blank);
    }

    fn newline(&mut self) {
        self.push("\n");
        for document in std::mem::take(&mut self.waiting) {
            self.push(&document);
        }
    }

    fn newlines(&mut self) {
        if self.one_in(6) {
            self.newline();
        } else if self.one_in(2) {
            self.blank();
        }
    }

    fn list(&mut self, depth: usize) {
        self.and_or(depth);
        for _ in 0..self.below(3) {
            match self.below(3) {
                0 => {
                    self.push(";");
                    self.newlines();
                }
                1 => self.newline(),
                _ => {
                    self.push(" # it's \"$(x\n".trim_end());
                    self.newline();
                }
            }
            self.and_or(depth);
        }
        if self.one_in(5) {
            self.push(";");
        }
    }

    fn and_or(&mut self, depth: usize) {
        self.pipeline(depth);
        while self.one_in(3) {
            let connector = self.pick(&["&&", "||", " && ", " || "]);
            self.push(connector);
            self.newlines();
            self.pipeline(depth);
        }
    }

    fn pipeline(&mut self, depth: usize) {
        if self.one_in(8) {
            self.push("! ");
        }
        let stages = [1, 1, 1, 2, 2, 3][self.below(6)];
        let begin = self.text.len();
        for stage in 0..stages {
            if stage > 0 {
                let pipe = self.pick(&["|", " | ", " | ", "|&"]);
                self.push(pipe);
                self.newlines();
            }
            if stage > 0 && self.text[begin..].contains("( ") {
                // A group in front would meet a broken pipe if not everything were read.
                let reader = self.pick(&["cat", "sort", "wc -c", "tr a-z A-Z"]);
                self.push(reader);
            } else {
                self.command(depth, stage, stages);
            }
        }
    }

    fn command(&mut self, depth: usize, stage: usize, stages: usize) {
        if depth > 0 && self.one_in(6) {
            let outer = std::mem::replace(&mut self.is_in_group, true);
            self.push("( ");
            self.list(depth - 1);
            // Texts that wait belong in front of the `)`, so that their last line is not its.
            if !self.waiting.is_empty() {
                self.newline();
            }
            self.push(" )");
            self.is_in_group = outer;
            while self.one_in(4) {
                self.redirection();
            }
            return;
        }
        while self.one_in(12) {
            self.redirection();
            self.push(" ");
        }
        if self.one_in(10) {
            let name = self.pick(&["NAME=", "X=", "A1_="]);
            self.push(name);
            self.value();
            self.push(" printf '%s\\n'");
        } else {
            let reading = ["cat", "wc -c", "tr a-z A-Z", "sort", "head -n 1", "cat -"];
            let name = match (stage > 0, self.below(12)) {
                (true, 0..9) if self.is_in_group => self.pick(&reading[..4]),
                (true, 0..9) => self.pick(&reading),
                (_, 9) if stages == 1 => {
                    self.pick(&["cd src", "cd empty/", "cd nowhere", "cd ./src/deep", "exit 3", "exit"])
                }
                (_, 10) => {
                    self.pick(&["true", ":", "false", "cat a.txt", "cat nothing", "ec\\\nho", "'echo'", "e\"ch\"o"])
                }
                (_, 11) if stages == 1 => self.pick(&[
                    "bash -c 'echo in; exit 4'",
                    "sh -c \"cat a.txt | wc -l\"",
                    "/bin/bash -lc 'cd src && echo *'",
                ]),
                _ => self.pick(&["echo", "printf '<%s>'", "printf '%s\\n'", "cat"]),
            };
            self.push(name);
            if name.starts_with("cd") || name.starts_with("exit") || name.contains("sh -") {
                if self.one_in(3) {
                    self.redirection();
                }
                return;
            }
        }
        for _ in 0..self.below(4) {
            if self.one_in(6) {
                self.redirection();
            } else {
                self.blank();
                self.word();
            }
        }
    }

    fn redirection(&mut self) {
        let written = self.pick(&[">", ">>", ">|", "1>", "2>", "2>>", "&>", "> ", "1>>", "2>|"]);
        match self.below(8) {
            0..3 => {
                self.files = (self.files + 1) % 100;
                let file = match self.below(9) {
                    0 => "/dev/null".to_owned(),
                    1 => "no/where".to_owned(),
                    2 => format!("src/out{}", self.files),
                    3 => format!("'o u t'{}", self.files),
                    4 => format!("${{NAME}}{}", self.files),
                    5 => format!("o{{x{}", self.files),
                    6 => format!("[\"o\"{}", self.files),
                    _ => format!("out{}", self.files),
                };
                self.push(" ");
                self.push(written);
                self.push(&file);
            }
            3 => {
                let read = self.pick(&[" <a.txt", " < b.txt", " 0<'c d.txt'", " </dev/null", " <nothing", "<a.txt"]);
                self.push(read);
            }
            4 => {
                let copy = self.pick(&[" 2>&1", " >&2", " 1>&2", " 2>& 1", ">&2"]);
                self.push(copy);
            }
            5 => {
                self.push(" <<<");
                self.value();
            }
            _ => self.document(),
        }
    }

    fn document(&mut self) {
        let (strips, quote) = (self.one_in(3), self.pick(&["", "'", "\""]));
        let end = self.pick(&["E", "EOF", "end-1", "_"]);
        let arrow = if strips { "<<-" } else { "<<" };
        let blank = self.pick(&["", " "]);
        self.text.push_str(&format!(" {arrow}{blank}{quote}{end}{quote}"));
        let mut document = String::new();
        for _ in 0..self.below(4) {
            let line = match quote {
                "" => self.pick(&["text", "\ttab 'quote\" ( ; #", "", "E ", " EOF", "é {a,b} * ~"]),
                _ => self.pick(&["$NAME `x` \\", "\t$(x", "it's", "", "\\", "E "]),
            };
            document.push_str(line);
            document.push('\n');
        }
        if strips {
            document.push('\t');
        }
        document.push_str(end);
        document.push('\n');
        self.waiting.push(document);
    }

    /// What an assignment or a here-string may hold.
    fn value(&mut self) {
        let value = self.pick(&[
            "a",
            "'a b'",
            "\"$NAME b\"",
            "${NAME}",
            "{a,b}",
            "*",
            "~",
            "~/x",
            "a=b",
            "\\$x",
            "\"$WORDS\"",
            "[a",
        ]);
        self.push(value);
    }

    fn word(&mut self) {
        for _ in 0..=self.below(3) {
            if self.one_in(15) {
                self.push("\\\n");
            }
            self.part();
        }
    }

    fn part(&mut self) {
        match self.below(14) {
            0..4 => {
                let plain = self.pick(PLAIN);
                self.push(plain);
            }
            4 => {
                let quoted = self.pick(&["'a b'", "''", "'$NAME'", "'\\'", "'a\nb'", "'{a,b}'", "'*'", "'é'"]);
                self.push(quoted);
            }
            5 => {
                let quoted = self.pick(&[
                    "\"a b\"",
                    "\"\"",
                    "\"$NAME\"",
                    "\"${WORDS}\"",
                    "\"\\$\\`\\\"\\\\\\a\"",
                    "\"a\\\nb\"",
                    "\"$\"",
                    "\"5$ \"",
                    "\"$EMPTY\"",
                    "\"!*?[a]{b,c}~\"",
                    "\"a\nb\"",
                    "\"$PWD\"",
                    "\"$;\"",
                    "\"-$NAME-\"",
                ]);
                self.push(quoted);
            }
            6 => {
                let escaped = self.pick(&[
                    "\\ ", "\\*", "\\$", "\\{", "\\,", "\\~", "\\#", "\\a", "\\\\", "\\'", "\\\"", "\\>", "\\é",
                ]);
                self.push(escaped);
            }
            7 => {
                let quoted =
                    self.pick(&["$'a\\tb'", "$'\\x41\\101'", "$'\\''", "$'\\\\n'", "$''", "$'\"\\e['", "$'\\x1\\x7f'"]);
                self.push(quoted);
            }
            8 => {
                let variable = self.pick(&["$NAME", "${NAME}", "${HOME}", "$HOME"]);
                self.push(variable);
            }
            9 => {
                let pattern = self.pick(&[
                    "*", "?", "*.txt", "[ab].txt", "src/*", "*/", "*/*.rs", ".*", "[!a]*", "[a-", "[]x]", "nothing*",
                    "?.txt", "[[]*", "./*", "*/deep/*",
                ]);
                self.push(pattern);
            }
            10 | 11 => self.braces(2),
            12 => {
                let text = self.pick(&["~/x", "{}", "{a}", "{", "x~", "/", ",", "{a,", "=", "{a{b,c}", "{x}{1,2}"]);
                self.push(text);
            }
            _ if self.waiting.is_empty() => {
                let text = self.pick(&[
                    "\"$(cat <<'EOF'\nit's $x (a\n\nEOF\n)\"",
                    "\"a$(cat <<-\"E\"\n\tx\n\tE\n\t)b\"",
                    "\"$(cat <<E\nE\n)\"",
                ]);
                self.push(text);
            }
            _ => self.push("x"),
        }
    }

    fn braces(&mut self, depth: usize) {
        let sequence = self.pick(&["{1..3}", "{c..a}", "{5..1..2}", "{A..C}", "{0..0}"]);
        if self.one_in(3) {
            self.push(sequence);
            return;
        }
        self.push("{");
        for at in 0..2 + self.below(2) {
            if at > 0 {
                self.push(",");
            }
            match self.below(5) {
                0 if depth > 0 => self.braces(depth - 1),
                1 => {}
                2 => {
                    let inner = self.pick(&[
                        "'a,b'",
                        "\"}\"",
                        "\\,",
                        "${NAME}",
                        "\"$NAME\"",
                        "{}",
                        "{x}",
                        "$'\\x2c'",
                        "*",
                        "~",
                    ]);
                    self.push(inner);
                }
                _ => {
                    let plain = self.pick(PLAIN);
                    self.push(plain);
                }
            }
        }
        self.push("}");
    }
}

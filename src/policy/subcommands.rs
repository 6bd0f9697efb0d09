//! The subcommand among the words of a program that no rule describes, for the name of its failure in a line.
//!
//! The shape of a word does not tell a subcommand from the name of a file, a pattern or a secret (`cargo test`, `cat notes`,
//! `login hunter2`). So only of programs that are known to begin with one is a word told. It decides nothing.

/// Programs whose first word is a subcommand, sorted, each with the subcommands that another one follows.
const WITH_SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("apt", &[]),
    ("apt-get", &[]),
    ("brew", &[]),
    ("bun", &["run"]),
    ("bundle", &[]),
    ("cargo", &[]),
    ("composer", &[]),
    ("deno", &[]),
    ("docker", &["compose"]),
    ("dotnet", &[]),
    ("gh", &[]),
    ("git", &[]),
    ("go", &[]),
    ("helm", &[]),
    ("kubectl", &[]),
    ("npm", &["run"]),
    ("pip", &[]),
    ("pip3", &[]),
    ("pnpm", &["run"]),
    ("podman", &["compose"]),
    ("poetry", &[]),
    ("ruff", &[]),
    ("rustup", &[]),
    ("swift", &[]),
    ("systemctl", &[]),
    ("terraform", &[]),
    ("uv", &[]),
    ("yarn", &["run"]),
    ("zig", &[]),
];

/// The program, with its subcommand if it is known to begin with one and the first word can be one. An option in front of it may
/// take a value, so nothing is told after one.
pub(super) fn named(program: &str, arguments: &[String]) -> String {
    let nested = WITH_SUBCOMMANDS.iter().find(|(name, _)| *name == program).map(|(_, nested)| *nested);
    let Some((nested, first)) = nested.zip(arguments.first().filter(|word| is_name(word))) else {
        return program.to_owned();
    };
    match arguments.get(1).filter(|word| nested.contains(&first.as_str()) && is_name(word)) {
        Some(second) => format!("{program} {first} {second}"),
        None => format!("{program} {first}"),
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-:_".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subcommand_is_told_only_of_programs_that_begin_with_one() {
        assert!(WITH_SUBCOMMANDS.is_sorted());
        for (line, expected) in [
            ("cargo test parser", "cargo test"),
            ("cargo +nightly test", "cargo"),
            ("cargo", "cargo"),
            ("npm run build", "npm run build"),
            ("npm run --silent build", "npm run"),
            ("npm run ./build", "npm run"),
            ("npm test build", "npm test"),
            ("yarn run lint:fix", "yarn run lint:fix"),
            ("docker compose up", "docker compose up"),
            ("git push origin main", "git push"),
            ("git -C dir push", "git"),
            ("git ./notes.txt", "git"),
            ("git Notes", "git"),
            ("cat notes", "cat"),
            ("login hunter2", "login"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(named(&words[0], &words[1..]), expected, "{line}");
        }
    }
}

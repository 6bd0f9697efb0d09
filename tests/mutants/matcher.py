#!/usr/bin/env python3
"""Removes each condition of the matcher once, and asks whether a test notices.

`python3 tests/mutants/matcher.py` copies the sources into a temporary directory, puts a switch into each condition of
`policy/rules/matcher.rs` and `matcher/value.rs`, builds the tests once, and runs those of `policy::rules` with one switch after the
other. Exit status 0 where every mutant fails a test, 1 with the names of those that survive. A condition that is not found any more
is an error: then this table is to be mended.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MATCHER = ["src/policy/rules/matcher.rs", "src/policy/rules/matcher/value.rs"]

# Says which mutant is on.
SWITCH = """
/// Whether this mutant is on.
pub(crate) fn m(number: usize) -> bool {
    static MUTANT: std::sync::LazyLock<usize> =
        std::sync::LazyLock::new(|| std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0));
    *MUTANT == number
}
"""

# What the mutant does, what stands in the file, and what stands there instead, with `MUT` for its switch.
MUTANTS = [
    ("`--` before a subcommand passes", "if scanned.double_dash.is_some() {", "if !MUT && scanned.double_dash.is_some() {"),
    ("a required option of a level may be missing",
     "required(options, &scanned.readings).map_err(|option| fail(at, Mismatch::MissingOption(option)))?;",
     "if !MUT { required(options, &scanned.readings).map_err(|option| fail(at, Mismatch::MissingOption(option)))?; }"),
    ("a subcommand may be shortened", "level.path.last() == Some(word)",
     "(level.path.last() == Some(word) || MUT && level.path.last().is_some_and(|name| name.starts_with(word.as_str())))"),
    ("an operand may be the name of a subcommand", ".filter(|at| is_subcommand(at))", ".filter(|at| !MUT && is_subcommand(at))"),
    ("a required option of a form may be missing",
     "required(&form.options, &scanned.readings).map_err(|option| fail(words.len(), Mismatch::MissingOption(option)))?;",
     "if !MUT { required(&form.options, &scanned.readings).map_err(|option| fail(words.len(), Mismatch::MissingOption(option)))?; }"),
    ("`double_dash: refuse` does nothing", "if level.refuses_double_dash ||", "if (!MUT && level.refuses_double_dash) ||"),
    ("go takes `--` behind an operand", "(level.syntax == Syntax::Go && behind)", "(!MUT && level.syntax == Syntax::Go && behind)"),
    ("posix reads options behind operands", "Syntax::Posix => !scanned", "Syntax::Posix => !MUT && !scanned"),
    ("the syntax `operands` has options", "Syntax::Operands => true,", "Syntax::Operands => !MUT,"),
    ("`options_first` does nothing", "let behind = level.order", "let behind = !MUT && level.order"),
    ("`--` counts where options have stopped", 'if word == "--" && !stopped {', 'if word == "--" && (MUT || !stopped) {'),
    ("an operand behind `--` may stand behind an option",
     "if has_option && level.order == Order::OperandsFirst && scanned.next",
     "if !MUT && has_option && level.order == Order::OperandsFirst && scanned.next"),
    ("`operands_first` does nothing", "if has_option && level.order == Order::OperandsFirst {",
     "if !MUT && has_option && level.order == Order::OperandsFirst {"),
    ("a word with a dash is an operand", "let has_dash = word", "let has_dash = !MUT && word"),
    ("a dash alone is an option", 'word != "-";', '(MUT || word != "-");'),
    ("a word with a dash is an option where options have stopped", "(!stopped || behind)", "(MUT || !stopped || behind)"),
    ("`options_first` lets posix take options for operands", "!stopped || behind)", "!stopped || !MUT && behind)"),
    ("a flag without a dash is an operand", "|| (!stopped && options", "|| (!MUT && !stopped && options"),
    ("a flag without a dash is one where options have stopped", "!stopped && options.get(word)", "(MUT || !stopped) && options.get(word)"),
    ("the first operand is no subcommand", "if until == Until::FirstOperand {", "if !MUT && until == Until::FirstOperand {"),
    ("letters are no bundle", "if word.starts_with('-') && !is_long =>", "if !MUT && word.starts_with('-') && !is_long =>"),
    ("`-NUM` is any word", "word.bytes().skip(1).all(|byte| byte.is_ascii_digit())",
     "(MUT || word.bytes().skip(1).all(|byte| byte.is_ascii_digit()))"),
    ("an unknown letter is skipped", "let option = options.get(&spelling).ok_or(unknown)?;",
     "if MUT && options.get(&spelling).is_none() { continue; } let option = options.get(&spelling).ok_or(unknown)?;"),
    ("`=` behind a letter belongs to the value", "if behind.starts_with('=') =>", "if !MUT && behind.starts_with('=') =>"),
    ("a flag takes a value", "(Takes::Flag, Some(_)) => Err(", "(Takes::Flag, Some(_)) if MUT => Ok(()), (Takes::Flag, Some(_)) => Err("),
    ("an optional value is the next word", "(Takes::Value { place: ValuePlace::Optional, .. }, None) =>",
     "(Takes::Value { place: ValuePlace::Optional, .. }, None) if !MUT =>"),
    ("an attached value is the next word", "(Takes::Value { place: ValuePlace::Attached, .. }, None) =>",
     "(Takes::Value { place: ValuePlace::Attached, .. }, None) if !MUT =>"),
    ("the word of a value is read again", "scanned.next = at + 2;", "scanned.next = at + if MUT { 1 } else { 2 };"),
    ("a value of any type passes", "if !is_of(value, text, position) {", "if !MUT && !is_of(value, text, position) {"),
    ("an operand of any type passes", "is_of(&operand.value, word, position))", "(MUT || is_of(&operand.value, word, position)))"),
    ("an operand too many passes", "if let Some(at) = left.next() {", "if let Some(at) = left.next().filter(|_| !MUT) {"),
    ("an operand may be missing", "if count < operand.least {", "if MUT { return Ok(()); } if count < operand.least {"),
    ("there may be any number of an operand", "unwrap_or_default()).min(most)", "unwrap_or_default()).min(if MUT { usize::MAX } else { most })"),
    ("an operand behind `--` is as any other", "if *at > double_dash {", "if !MUT && *at > double_dash {"),
    ("any operand is as one behind `--`", "*at > double_dash {", "(MUT || *at > double_dash) {"),
    ("`after_double_dash` does nothing", "scanned.operands.partition_point(|at| *at < behind)",
     "(if MUT { scanned.operands.len() } else { scanned.operands.partition_point(|at| *at < behind) })"),
    ("`one_of` takes beginnings", "words.iter().any(|word| word == text)", "words.iter().any(|word| word == text || MUT && word.starts_with(text))"),
    ("a text begins with anything", "may_begin(text, &of.first, position) &&", "(MUT || may_begin(text, &of.first, position)) &&"),
    ("a path is empty", "!text.is_empty()\n", "(MUT || !text.is_empty())\n"),
    ("a path is `-`", '&& text != "-"\n', '&& (MUT || text != "-")\n'),
    ("a path is of any length", "text.len() <= DEFAULT_LENGTH", "(MUT || text.len() <= DEFAULT_LENGTH)"),
    ("a path begins with anything", 'may_begin(text, "", position)', '(MUT || may_begin(text, "", position))'),
    ("a path has any characters", "&& holds_all(of.chars.as_ref(), text)\n        }",
     "&& (MUT || holds_all(of.chars.as_ref(), text))\n        }"),
    ("no `-` behind `--`", "Some('-') if position", "Some('-') if !MUT && position"),
    ("no `-` in an attached value", "Some('-' | '+') if position", "Some('-' | '+') if !MUT && position"),
    ("`-` and `+` begin every value", "position == Position::Attached =>", "(MUT || position == Position::Attached) =>"),
    ("`+` begins anything", "match text.chars().next() {", "match text.chars().next() { Some('+') if MUT => true,"),
    ("`@` begins anything", "match text.chars().next() {", "match text.chars().next() { Some('@') if MUT => true,"),
    ("`-` begins anything", "match text.chars().next() {", "match text.chars().next() { Some('-') if MUT => true,"),
    ("what is relative begins with `/`", "!text.starts_with(is_slash) &&", "(MUT || !text.starts_with(is_slash)) &&"),
    ("what is relative has `..`", '!text.split(is_slash).any(|part| part == "..")', '(MUT || !text.split(is_slash).any(|part| part == ".."))'),
    ("a text is of any length", "text.chars().count() <= of.max_length", "(MUT || text.chars().count() <= of.max_length)"),
    ("a text has any characters", "&& holds_all(of.chars.as_ref(), text)\n        && (!of.relative",
     "&& (MUT || holds_all(of.chars.as_ref(), text))\n        && (!of.relative"),
    ("`must_begin` does nothing", "(of.must_begin.is_empty()", "(MUT || of.must_begin.is_empty()"),
    ("a number has leading zeros", "is_plain && is_number &&", "(MUT || is_plain) && is_number &&"),
    ("a number has other characters than digits", "&& is_number &&", "&& (MUT || is_number) &&"),
    ("a number is out of bounds", "(low..=high).contains(&number)", "(MUT || (low..=high).contains(&number))"),
]


def main():
    with tempfile.TemporaryDirectory() as directory:
        crate = Path(directory)
        shutil.copytree(ROOT / "src", crate / "src")
        for name in ["Cargo.toml", "Cargo.lock"]:
            shutil.copy(ROOT / name, crate)
        # Read by tests, and named by the manifest.
        for name in ["README.md", "fixtures", "spec", "tests"]:
            (crate / name).symlink_to(ROOT / name)
        with (crate / "src/lib.rs").open("a") as library:
            library.write(SWITCH)
        codes = {file: (ROOT / file).read_text() for file in MATCHER}
        # What a mutant lets through falls to the last arm.
        anywhere = "(Takes::Value { value, place: ValuePlace::Anywhere }, None) =>"
        codes = {file: code.replace(anywhere, "(Takes::Value { value, .. }, None) =>") for file, code in codes.items()}
        for number, (name, before, after) in enumerate(MUTANTS, 1):
            file = next((file for file, code in codes.items() if before in code), None)
            if file is None:
                sys.exit(f"not found for `{name}`: {before}")
            codes[file] = codes[file].replace(before, after.replace("MUT", f"crate::m({number})"), 1)
        for file, code in codes.items():
            (crate / file).write_text(code)
        test = ["cargo", "test", "--quiet", "--lib", "policy::rules"]
        environment = dict(os.environ, CARGO_TARGET_DIR=str(crate / "target"), PROPTEST_CASES="60")
        environment.pop("MUTANT", None)
        subprocess.run(test, cwd=crate, env=environment, check=True, stdout=subprocess.DEVNULL)
        survivors = []
        for number, (name, _, _) in enumerate(MUTANTS, 1):
            run = subprocess.run(test, cwd=crate, env=dict(environment, MUTANT=str(number)), capture_output=True, timeout=300)
            if run.returncode == 0:
                survivors.append(name)
        for name in survivors:
            print(f"no test notices that {name}")
        print(f"{len(MUTANTS) - len(survivors)} of {len(MUTANTS)} mutants fail a test")
        return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())

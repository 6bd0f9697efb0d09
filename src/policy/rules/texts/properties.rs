//! Properties of every line: nothing panics, a wider policy allows what a narrower one allows, and each word that matches is
//! described.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::policy::rules::*;

/// Options, with what they take. Each policy has some of them.
const OPTIONS: [&str; 8] = [
    r#""-a": flag"#,
    r#""-b, --bee": flag"#,
    r#""-n": {integer: [1, 50]}"#,
    r#""--num": {integer: [-5, 5]}"#,
    r#""-c, --color": {one_of: [red, -blue], optional: true}"#,
    r#""-t": {text: {chars: "a-z-", first: "-"}}"#,
    r#""--text": {text: {relative: true}, attached: true}"#,
    r#""-NUM": flag"#,
];

const WORDS: [&str; 34] = [
    "-a",
    "-b",
    "-ab",
    "--bee",
    "--be",
    "--bee=1",
    "-n",
    "-n5",
    "-n=5",
    "5",
    "50",
    "51",
    "-5",
    "-55",
    "--num",
    "--num=-5",
    "-6",
    "-c",
    "-cred",
    "--color=red",
    "--color",
    "red",
    "-t",
    "-tx",
    "-x",
    "--text=a/b",
    "--text=../x",
    "--",
    "-",
    "",
    "a/b",
    "../b",
    "@x",
    "-abn",
];

const SYNTAXES: [&str; 5] =
    ["gnu", "posix", "gnu, order: options_first", "gnu, order: operands_first", "gnu, double_dash: refuse"];

fn rules(options: &[&str], operands: &str, syntax: &str) -> Rules {
    let text =
        format!("commands: {{x: {{syntax: {syntax}, options: {{{}}}, operands: [{operands}]}}}}", options.join(", "));
    let text = PolicyText { file: "p.yaml".into(), text };
    Rules::load(&[text], &[], &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn allows(rules: &Rules, words: &[String]) -> bool {
    rules.get("x").is_some_and(|rule| decide_example(rule, words).decision == Expected::Allow)
}

fn line(words: Vec<&str>) -> Vec<String> {
    std::iter::once("x").chain(words).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn what_a_policy_allows_a_wider_one_allows_too(
        narrow in subsequence(&OPTIONS[..], 0..=8),
        more in subsequence(&OPTIONS[..], 0..=8),
        words in prop::collection::vec(select(&WORDS[..]), 0..6),
        syntax in select(&SYNTAXES[..]),
    ) {
        let wide: Vec<&str> = OPTIONS.into_iter().filter(|option| narrow.contains(option) || more.contains(option)).collect();
        let words = line(words);
        let one = "{text: {chars: \"a-z/.0-9\", relative: true}, count: \"0..1\"}";
        let any = "{text: {first: \"-+@\"}, count: \"0..\"}";
        let allowed = allows(&rules(&narrow, one, syntax), &words);
        prop_assert!(!allowed || allows(&rules(&wide, one, syntax), &words), "more options: {:?}", words);
        prop_assert!(!allowed || allows(&rules(&narrow, any, syntax), &words), "wider operands: {:?}", words);
        prop_assert!(!allowed || allows(&rules(&wide, any, syntax), &words), "both: {:?}", words);
    }

    #[test]
    fn every_word_of_a_line_that_matches_is_described(
        options in subsequence(&OPTIONS[..], 0..=8),
        words in prop::collection::vec(select(&WORDS[..]), 0..6),
        syntax in select(&SYNTAXES[..]),
    ) {
        let rules = rules(&options, "{text: {}, count: \"0..\"}", syntax);
        let words = line(words);
        let judgement = decide_example(rules.get("x").unwrap(), &words);
        prop_assert_eq!(judgement.matched.is_some(), judgement.refusal.is_none());
        if let Some(matched) = judgement.matched {
            for place in 0..words.len() {
                prop_assert!(matched.readings.iter().any(|reading| reading.word == place), "{} of {:?}", place, words);
            }
            for reading in &matched.readings {
                prop_assert!(words[reading.word].is_char_boundary(reading.from));
            }
            prop_assert_eq!(matched.with_inserted(&words), words);
        }
    }

    #[test]
    fn no_words_panic_and_every_refusal_is_one_plain_line(words in prop::collection::vec(".{0,12}", 0..6), syntax in select(vec!["gnu", "go", "single_dash"])) {
        let options: &[&str] = if syntax == "gnu" { &OPTIONS } else { &OPTIONS[..3] };
        let rules = rules(options, "{path: read, count: \"0..\"}", syntax);
        let words: Vec<String> = std::iter::once("x".to_owned()).chain(words).collect();
        let judgement = decide_example(rules.get("x").unwrap(), &words);
        if let Some(refusal) = judgement.refusal {
            prop_assert!(!refusal.is_empty() && !refusal.contains(char::is_control), "{:?}", refusal);
        }
        prop_assert_eq!(rules.get("x").unwrap().without_secrets(&words).len(), words.len());
    }

    #[test]
    fn no_text_panics_the_loader_and_every_mistake_has_its_place(text in "[a-z:{}\\[\\], \n\"'&*!?|>#-]{0,60}") {
        let text = PolicyText { file: "p.yaml".into(), text };
        if let Err(error) = Rules::load(&[text], &[], &[]) {
            prop_assert!(error.to_string().starts_with("p.yaml:"), "{}", error);
        }
    }
}

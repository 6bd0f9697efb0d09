//! Every scenario of `spec/`, played against the real binary: one name in four places.
//!
//! A new scenario is a heading `### Scenario: name` in `spec/<area>.md`, a fixture
//! `fixtures/transcripts/<area>/<name>.transcript`, a name in the list below, and a snapshot, which
//! `INSTA_UPDATE=always cargo test --test scenarios <area>::<name>` writes and you read.

mod support;

/// Makes the test `area::name` for each name, and the list of all of them: `execute_command { runs_a_command, … }`.
macro_rules! scenarios {
    ($($area:ident { $($name:ident),* $(,)? })*) => {
        const TESTS: &[(&str, &str)] = &[$($((stringify!($area), stringify!($name)),)*)*];

        $(mod $area {
            $(#[test]
            fn $name() {
                crate::support::scenario::check(stringify!($area), stringify!($name));
            })*
        })*
    };
}

scenarios! {}

#[test]
fn every_scenario_stands_in_all_four_places() {
    let problems = support::four_places::problems(support::scenario::root(), TESTS);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

//! Processes die after each append, and their stories reach the same outcome. `cargo xtask crash`
//! does this at length.

use std::{cell::Cell, fs};

use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use wakeful::generator::{Pace, stories};
use wakeful::story::read_toml;
use wakeful_core::story::Story;
use wakeful_tests::{
    crash::{self, Tried},
    paths,
};

/// Cuts `cases` random stories after each append.
fn tried(pace: Pace, cases: u32) -> Tried {
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(20_260_527),
        failure_persistence: None,
        ..Config::default()
    };
    let tried = Cell::new(Tried::default());
    let outcome = TestRunner::new(config).run(&stories(pace, 4), |drawn| {
        let mut all = tried.get();
        all.add(crash::everywhere(&drawn.story(), pace).map_err(TestCaseError::fail)?);
        tried.set(all);
        Ok(())
    });
    assert!(outcome.is_ok(), "{}", outcome.map_or_else(|why| why.to_string(), |()| String::new()));
    tried.get()
}

#[test]
fn stories_in_which_nothing_races_come_to_the_same_end() {
    let tried = tried(Pace::Apart, 12);
    assert!(tried.interrupted > 20 && tried.calls > 20, "there is something to lose: {tried:?}");
}

#[test]
fn stories_in_which_things_race_lose_nothing_and_do_nothing_twice() {
    let tried = tried(Pace::Racing, 12);
    assert!(tried.interrupted > 20 && tried.calls > 20, "there is something to lose: {tried:?}");
}

#[test]
fn every_scenario_comes_to_the_same_end() {
    let mut all = Tried::default();
    for path in paths::scenarios() {
        let text = fs::read_to_string(&path).expect("a scenario");
        all.add(
            crash::scenario::everywhere(&text)
                .unwrap_or_else(|why| panic!("{}: {why}", path.display())),
        );
    }
    assert!(all.interrupted > 20, "there is something to lose: {all:?}");
}

#[test]
fn the_story_of_the_docs_comes_to_the_same_end() {
    let text = fs::read_to_string(paths::root().join("docs/stories.md")).expect("docs/stories.md");
    let story = text
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("\n```").next())
        .expect("a story in TOML");
    let (story, _) = read_toml(story).expect("a story");
    let tried = crash::everywhere(&story, Pace::Apart).unwrap_or_else(|why| panic!("{why}"));
    assert!(tried.interrupted > 0 && tried.deaths > 30, "there is something to lose: {tried:?}");
}

/// Turns that once had another outcome if the process died in them: what each shows, the item of
/// its message, and its moves.
const FOUND: [(&str, Option<&str>, &str); 5] = [
    (
        "the retry of a replay is about the item that the first run was about",
        Some("given"),
        r#"{"complete":"given"},{"host_error":"out of memory"}"#,
    ),
    (
        "a replay has no item if the first run had none, although the focus has moved",
        None,
        r#"{"pick":"given"},{"complete":"given"},{"end":"deferred_to_fallback"}"#,
    ),
    ("a replay without an item settles none", None, r#"{"pick":"given"},{"end":"aborted"}"#),
    (
        "an item that is created in the turn is not what the turn is about",
        None,
        r#"{"create":"item-1"},{"pick":"item-1"},{"end":"provider_failed_needs_recovery"}"#,
    ),
    (
        "a blocked item is what the turn is about",
        Some("given"),
        r#"{"block":"given","by":"it"},{"end":"deferred_to_fallback"}"#,
    ),
];

#[test]
fn turns_that_were_found_come_to_the_same_end() {
    for (what, item, moves) in FOUND {
        let about = item.map_or_else(String::new, |item| format!(r#","item":"{item}""#));
        let text = format!(
            r#"{{"story":"found","shows":"{what}","agent_id":"default","starts_at":"2026-05-27T09:00:00Z",
            "script":[{{"fact":{{"fact":"work_item_created","work_item_id":"given","objective":"it"}}}},{{"prompt":"go"{about}}}],
            "turns":[{{"when":{{"text":"go"}},"moves":[{moves}]}}]}}"#
        );
        let story = Story::read(&text).unwrap_or_else(|why| panic!("{why}"));
        crash::everywhere(&story, Pace::Apart).unwrap_or_else(|why| panic!("{what}: {why}"));
    }
}

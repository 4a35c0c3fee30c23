//! A process dies after each append, and what it was at comes to the same end. `cargo xtask crash` does this at length.

use std::{cell::Cell, fs};

use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use wakeful::story::read_toml;
use wakeful_tests::{
    crash::{self, Tried},
    generator::{Pace, stories},
    paths,
};

/// Cuts so many random stories after each append.
fn tried(pace: Pace, cases: u32) -> Tried {
    let config = Config { cases, rng_seed: RngSeed::Fixed(20_260_527), failure_persistence: None, ..Config::default() };
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
        all.add(crash::scenario::everywhere(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display())));
    }
    assert!(all.interrupted > 20, "there is something to lose: {all:?}");
}

#[test]
fn the_story_of_the_docs_comes_to_the_same_end() {
    let text = fs::read_to_string(paths::root().join("docs/stories.md")).expect("docs/stories.md");
    let story = text.split("```toml\n").nth(1).and_then(|rest| rest.split("\n```").next()).expect("a story in TOML");
    let (story, _) = read_toml(story).expect("a story");
    let tried = crash::everywhere(&story, Pace::Apart).unwrap_or_else(|why| panic!("{why}"));
    assert!(tried.interrupted > 0 && tried.deaths > 30, "there is something to lose: {tried:?}");
}

//! `cargo xtask mutants`: changes the core in small ways, one at a time, and asks whether some test notices.
//!
//! cargo-mutants makes the mutants and tries them; here stands which ones, where, and by which tests they are judged: the unit tests of
//! the core and the tests of wakeful-tests that need no guest. A guest that was built before the mutant would notice any
//! difference, and would so hide what no test states. In the copy no recordings lie beside the tree, so what needs them does what it can.
//! cargo-nextest runs the judges as nextest.toml says: until the first fails, the slow ones last.

mod results;
mod settled;
mod survivors;

use std::{fmt::Write, fs, num::NonZeroUsize, path::Path, process::ExitCode};

use crate::self_contained::{self, GUEST};
use results::{Outcome, Place, Results};
use settled::Settled;
use survivors::{Accepted, Compared, Key};
use xtask::{
    call::{Call, Failure},
    copy, native,
    needed::missing,
    paths::Paths,
    stage::{bold, green, red, stage},
};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Folders of core/src.
    pub(crate) rooms: Vec<&'static str>,
    /// Every how manieth mutant, and beginning where.
    pub(crate) shard: Shard,
    pub(crate) which: Which,
    /// So many are tried and no more: the first, since a file counts as tried only when all of its mutants were.
    pub(crate) most: Option<usize>,
    /// Only print the names of the mutants that would be tried.
    pub(crate) only_list: bool,
}

/// One of several equal parts: the k-th of n, k from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) k: NonZeroUsize,
    pub(crate) n: NonZeroUsize,
}

/// Which mutants are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// All; earlier results are thrown away.
    All,
    /// Those that were not tried yet.
    Untried,
    /// Those that survived, or did not end.
    Survivors,
}

/// The folders and files of core/src that can be asked for; the first two are what is asked for by default.
pub(crate) const ROOMS: [&str; 4] = ["ladder", "derive", "plane", "machine"];

/// Of the mutants that compile, so many of a hundred must be noticed.
const FLOOR_PER_CENT: u64 = 95;

/// The packages whose tests are the judges.
const JUDGES: [&str; 2] = ["--package=wakeful-core", "--package=wakeful-tests"];

/// How they are run, from the root.
const JUDGING: &str = "proof/src/mutants/nextest.toml";

/// What cargo-mutants says when a mutant survived, and when the tests of one did not end.
const TELLS_OF_MUTANTS: [i32; 3] = [0, 2, 3];

impl Shard {
    /// Everything.
    pub(crate) const WHOLE: Self = Self { k: NonZeroUsize::MIN, n: NonZeroUsize::MIN };

    /// `2/5`.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let (k, n) = text.split_once('/')?;
        let shard = Self { k: k.parse().ok()?, n: n.parse().ok()? };
        (shard.k <= shard.n).then_some(shard)
    }

    fn take(self, mutants: &[String]) -> Vec<String> {
        mutants.iter().skip(self.k.get() - 1).step_by(self.n.get()).cloned().collect()
    }
}

/// Tries mutants, and says what became of them.
pub(crate) fn mutants(paths: &Paths, request: &Request) -> Result<ExitCode, Failure> {
    if Call::cargo(paths, "mutants-version", "mutants").arg("--version").answer().is_err() {
        return Ok(missing("cargo-mutants", "`cargo install --locked cargo-mutants`"));
    }
    if Call::cargo(paths, "nextest-version", "nextest").arg("--version").answer().is_err() {
        return Ok(missing("cargo-nextest", "`cargo install --locked cargo-nextest`"));
    }
    let accepted =
        survivors::accepted().map_err(|line| Failure::new(format!("line {line} of {} has no reason; give it one", survivors::LIST)))?;
    let place = Place::of(paths);
    let _alone = place.lock()?;
    let copy = copy::update(paths, "mutants/tree")?;
    let all = list(paths, &copy, &request.rooms)?;
    let asked = request.shard.take(&all);
    let mut settled = Settled::of(paths)?;
    let mut results = match request.which {
        Which::All if request.only_list => Results::default(),
        Which::All => place.begin(paths)?,
        Which::Untried | Which::Survivors => place.resume(paths)?.map_or_else(|| place.begin(paths), Ok)?,
    };
    if request.which != Which::All {
        results.outcomes.extend(all.iter().filter(|name| settled.survived(name)).map(|name| (name.clone(), Outcome::Missed)));
    }
    let mut to_try = to_try(&asked, &results, &settled, request.which);
    to_try.truncate(request.most.unwrap_or(usize::MAX));
    if request.only_list {
        to_try.iter().for_each(|name| anstream::println!("{name}"));
        return Ok(ExitCode::SUCCESS);
    }
    if !to_try.is_empty() {
        let left_out = self_contained::others(paths, &[GUEST])?;
        let others: Vec<&String> = all.iter().filter(|name| !to_try.contains(name)).collect();
        place.leave_out(&others)?;
        let call = in_rooms(cargo_mutants(paths, &copy), &request.rooms).arg("--output").arg(&place.folder);
        let tried = stage("mutants", &format!("trying them in {}", copy.display()), || try_them(call, &to_try, &left_out));
        place.take_over(&mut results)?;
        tried?;
    }
    // Of the copy, in which they were tried: somebody may have edited the tree since.
    let tried_in = Paths::of(copy);
    settled.take_in(&all, &results, |file| results::stamp_of(&tried_in, file));
    settled.write(paths)?;
    let text_of = |file: &str| fs::read_to_string(paths.at(file)).unwrap_or_default();
    let found = Found { results: &results, settled: &settled };
    let compared = compare(&all, &asked, &found, &accepted, &request.rooms, text_of);
    anstream::print!("{}", report(&asked, &found, &compared));
    let enough = are_enough(noticed(&asked, &found));
    if !enough {
        anstream::println!("{}: fewer than {FLOOR_PER_CENT} % of the mutants were noticed; test what survived", red("mutants"));
    }
    Ok(if enough { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The names of all mutants of these rooms, in the order of the source.
fn list(paths: &Paths, copy: &Path, rooms: &[&str]) -> Result<Vec<String>, Failure> {
    let listed = in_rooms(cargo_mutants(paths, copy), rooms).args(["--no-config", "--list"]).answer()?;
    let names: Vec<String> = listed.lines().map(str::to_owned).collect();
    if names.is_empty() {
        return Err(Failure::new(format!("cargo-mutants finds nothing to change in {}; are these folders of core/src?", rooms.join(", "))));
    }
    Ok(names)
}

/// cargo-mutants in the copy. It builds in a folder of its own: in the common one its builds and those of somebody who goes on working would
/// wait for each other, and a test that waits counts as one that does not end.
fn cargo_mutants(paths: &Paths, copy: &Path) -> Call {
    let target = paths.target().join("mutants/target");
    Call::cargo(paths, "mutants", "mutants").env("CARGO_TARGET_DIR", target).folder(copy).args(["--package", "wakeful-core"])
}

fn in_rooms(call: Call, rooms: &[&str]) -> Call {
    rooms.iter().fold(call, |call, room| {
        let [folder, file] = [format!("core/src/{room}/**"), format!("core/src/{room}.rs")];
        call.arg("--file").arg(folder).arg("--file").arg(file)
    })
}

fn to_try(asked: &[String], results: &Results, settled: &Settled, which: Which) -> Vec<String> {
    let wanted = |name: &&String| match which {
        Which::All => true,
        Which::Untried => !results.outcomes.contains_key(*name) && !settled.has(name),
        Which::Survivors => matches!(results.outcomes.get(*name), Some(Outcome::Missed | Outcome::Timeout)),
    };
    asked.iter().filter(wanted).cloned().collect()
}

/// Tries these mutants, in the copy, and leaves what became of them where [`Place::take_over`] reads it.
fn try_them(call: Call, to_try: &[String], left_out: &[String]) -> Result<(), Failure> {
    let mut call = call.args([
        "--no-config",
        "--iterate",
        "--in-place",
        "--no-shuffle",
        "--cap-lints=false",
        "--test-tool=nextest",
        // The judges' own configuration ends a test that does not end; this is for what they could not.
        "--minimum-test-timeout=1800",
    ]);
    // For each call of cargo, and not for its tests only: the build that goes before would make every target, and the tests without a
    // mutant would be those of the core's package alone.
    let config = format!("--config-file={JUDGING}");
    for word in JUDGES.iter().copied().chain(["--no-default-features", "--lib", "--test=all", &config]) {
        call = call.arg(format!("--cargo-arg={word}"));
    }
    for package in native::SELECTION.iter().filter(|word| **word != "-p") {
        // Each build is used once. Without optimisation it is quicker by seconds, and the tests slower by minutes.
        call = call.arg(format!("--cargo-arg=--config=profile.dev.package.{package}.debug=false"));
    }
    anstream::println!(
        "{}: the unit tests of wakeful-core, and wakeful-tests without the {} tests that need a guest; {} mutants",
        bold("judged by"),
        left_out.len(),
        to_try.len(),
    );
    let status = call.arg(format!("--cargo-test-arg=--filterset={}", others_than(left_out))).pass_through()?;
    if status.code().is_some_and(|code| TELLS_OF_MUTANTS.contains(&code)) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "cargo-mutants gave up ({status}); where the tests fail without a mutant, repair them first. --resume goes on"
    )))
}

/// All tests but these, as cargo-nextest is asked.
fn others_than(left_out: &[String]) -> String {
    left_out.iter().fold("all()".to_owned(), |text, test| text + " - test(=" + test + ")")
}

/// What became of mutants: of one by one in this tree, of whole files in settled.txt.
struct Found<'a> {
    results: &'a Results,
    settled: &'a Settled,
}

impl Found<'_> {
    fn count(&self, mutants: &[String], outcome: Outcome) -> u64 {
        let open: Vec<String> = mutants.iter().filter(|name| !self.settled.has(name)).cloned().collect();
        self.results.count(&open, outcome) + self.settled.count(mutants, outcome)
    }

    fn is_tried(&self, mutant: &str) -> bool {
        self.settled.has(mutant) || self.results.outcomes.contains_key(mutant)
    }
}

/// Compares the survivors that are asked for with the list. A line of the list is stale where `all` has no mutant of it, or only such as
/// were tried and noticed.
fn compare(
    all: &[String],
    asked: &[String],
    found: &Found,
    accepted: &[Accepted],
    rooms: &[&str],
    text_of: impl Fn(&str) -> String,
) -> Compared {
    let key = |name: &String| Key::of(name, &text_of);
    let survived: Vec<(String, Key)> = found.results.having(asked, Outcome::Missed).map(|name| (name.clone(), key(name))).collect();
    let may_survive = |name: &&String| match found.results.outcomes.get(*name) {
        None => !found.settled.has(name),
        Some(outcome) => *outcome == Outcome::Missed && !asked.contains(name),
    };
    let others = all.iter().filter(may_survive).map(key).collect();
    let is_asked = |listed: &str| {
        let below = |room: &&str| listed.starts_with(&format!("core/src/{room}/")) || listed.starts_with(&format!("core/src/{room}.rs:"));
        rooms.iter().any(below)
    };
    survivors::compare(survived, others, accepted, is_asked)
}

/// How many mutants were noticed, and how many compiled; nothing where none did. A mutant whose tests do not end was noticed.
fn noticed(asked: &[String], found: &Found) -> Option<(u64, u64)> {
    let noticed = found.count(asked, Outcome::Caught) + found.count(asked, Outcome::Timeout);
    let viable = noticed + found.count(asked, Outcome::Missed);
    (viable > 0).then_some((noticed, viable))
}

/// Whether enough of those that compile were noticed; where none was tried, nothing is missing.
fn are_enough(noticed: Option<(u64, u64)>) -> bool {
    noticed.is_none_or(|(noticed, viable)| noticed * 100 >= viable * FLOOR_PER_CENT)
}

fn report(asked: &[String], found: &Found, compared: &Compared) -> String {
    let mut text = String::new();
    for (name, reason) in &compared.accepted {
        // Writing to a string does not fail.
        let _ = writeln!(text, "accepted: {name}: {reason}");
    }
    for line in &compared.stale {
        let _ = writeln!(text, "{}: {line}: it does not survive any more; take it off {}", bold("listed"), survivors::LIST);
    }
    for name in found.results.having(asked, Outcome::Timeout) {
        let _ = writeln!(text, "{}: {name}", bold("did not end"));
    }
    for (name, _) in &compared.unlisted {
        let _ = writeln!(text, "{}: {name}", red("survived"));
    }
    if !compared.unlisted.is_empty() {
        let _ = writeln!(text, "test them, or list them in {} with a reason:", survivors::LIST);
    }
    for (_, line) in &compared.unlisted {
        let _ = writeln!(text, "  {line} -- ");
    }
    let counts: Vec<String> = Outcome::ALL.iter().map(|outcome| format!("{} {}", found.count(asked, *outcome), outcome.as_str())).collect();
    let tried = asked.iter().filter(|name| found.is_tried(name)).count();
    let _ = writeln!(text, "{}: {tried} of {} tried: {}", bold("mutants"), asked.len(), counts.join(", "));
    match noticed(asked, found) {
        None => text.push_str("no mutant that compiles was tried\n"),
        Some((noticed, viable)) => {
            let per_mille = noticed * 1000 / viable;
            let share = format!("{}.{} % of those that compile were noticed", per_mille / 10, per_mille % 10);
            let whole = if tried == asked.len() { "" } else { "; --resume tries the rest" };
            let _ = writeln!(text, "{}: {}{whole}", bold("mutants"), if noticed == viable { green(share).to_string() } else { share });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn results() -> Results {
        let mut results = Results::default();
        let outcomes = [("a", Outcome::Caught), ("b", Outcome::Missed), ("c", Outcome::Timeout), ("d", Outcome::Unviable)];
        results.outcomes.extend(outcomes.map(|(name, outcome)| (name.to_owned(), outcome)));
        results
    }

    #[test]
    fn too_few_that_were_noticed_are_a_failure() {
        let all = names(&["a", "b", "c", "d"]);
        let (results, settled) = (results(), Settled::default());
        let found = Found { results: &results, settled: &settled };
        assert_eq!(noticed(&all, &found), Some((2, 3)));
        assert!(!are_enough(noticed(&all, &found)) && are_enough(noticed(&all[..1], &found)) && are_enough(None));
        assert!(are_enough(Some((95, 100))) && !are_enough(Some((94, 100))));
    }

    #[test]
    fn judges_that_need_a_guest_are_left_out_by_their_whole_names() {
        assert_eq!(others_than(&names(&["a::b", "c"])), "all() - test(=a::b) - test(=c)");
    }

    #[test]
    fn the_parts_of_a_whole_are_disjoint_and_complete() {
        let all: Vec<String> = (0..10).map(|number| number.to_string()).collect();
        let mut parts: Vec<String> = (1..=3).flat_map(|k| Shard::of(&format!("{k}/3")).expect("a part").take(&all)).collect();
        parts.sort();
        assert_eq!(parts, all);
        assert_eq!(Shard::WHOLE.take(&all), all);
        for wrong in ["0/3", "4/3", "3", "a/b", "1/0", ""] {
            assert_eq!(Shard::of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_tried_depends_on_what_was() {
        let asked = names(&["a", "b", "c", "d", "e"]);
        assert_eq!(to_try(&asked, &results(), &Settled::default(), Which::All), asked);
        assert_eq!(to_try(&asked, &results(), &Settled::default(), Which::Untried), ["e"]);
        assert_eq!(to_try(&asked, &results(), &Settled::default(), Which::Survivors), ["b", "c"]);
    }

    #[test]
    fn the_share_is_of_those_that_compile() {
        let (results, settled) = (results(), Settled::default());
        let found = Found { results: &results, settled: &settled };
        assert_eq!(noticed(&names(&["a", "b", "c", "d"]), &found), Some((2, 3)));
        assert_eq!(noticed(&names(&["d", "e"]), &found), None);
    }

    #[test]
    fn the_report_names_survivors_and_counts() {
        let asked = names(&["a", "b", "c", "d", "e"]);
        let (results, settled) = (results(), Settled::default());
        let found = Found { results: &results, settled: &settled };
        let compared = compare(&asked, &asked, &found, &[], &["ladder"], |_| String::new());
        let text = anstream::adapter::strip_str(&report(&asked, &found, &compared)).to_string();
        assert!(text.contains("did not end: c\nsurvived: b\n"), "{text}");
        assert!(text.contains("mutants: 4 of 5 tried: 1 caught, 1 timeout, 1 missed, 1 unviable\n"), "{text}");
        assert!(text.ends_with("mutants: 66.6 % of those that compile were noticed; --resume tries the rest\n"), "{text}");
    }

    #[test]
    fn files_that_are_settled_are_counted_and_not_tried_again() {
        let asked = names(&["core/src/ladder/a.rs:1:1: f", "core/src/ladder/a.rs:2:2: g", "core/src/ladder/b.rs:1:1: h"]);
        let mut results = Results::default();
        results.outcomes.extend(asked[..2].iter().cloned().zip([Outcome::Caught, Outcome::Missed]));
        let mut settled = Settled::default();
        settled.take_in(&asked, &results, |_| Some("00".to_owned()));
        // As in a tree that has the list and no results of its own.
        let mut fresh = Results::default();
        fresh.outcomes.insert(asked[1].clone(), Outcome::Missed);
        assert_eq!(to_try(&asked, &fresh, &settled, Which::Untried), asked[2..]);
        assert_eq!(to_try(&asked, &fresh, &settled, Which::Survivors), asked[1..2]);
        let found = Found { results: &fresh, settled: &settled };
        assert_eq!(noticed(&asked, &found), Some((1, 2)));
        let compared = compare(&asked, &asked, &found, &[], &["ladder"], |_| String::new());
        assert_eq!(compared.unlisted.len(), 1);
        assert!(report(&asked, &found, &compared).contains("2 of 3 tried: 1 caught, 0 timeout, 1 missed, 0 unviable"));
    }
}

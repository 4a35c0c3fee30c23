//! `cargo xtask mutants`: mutation testing of the core.
//!
//! cargo-mutants makes the mutants and tries them, file by file; .cargo/mutants.toml configures it,
//! and nextest.toml orders the tests. The judges are the unit tests of the core and the tests of
//! wakeful-tests that need no guest. A guest that was built before the mutant would notice any
//! difference, and so hide what no test states. The copy has no recordings beside the tree, so
//! tests that use them do less.
//!
//! When all mutants of a file were tried, settled.txt keeps the result. So a run that was stopped
//! continues with the next file.

mod code;
mod outcome;
mod settled;
mod survivors;

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs::{self, TryLockError},
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use crate::self_contained::{self, GUEST, PROGRAM};
use outcome::{Outcome, file_of};
use settled::{File, Settled};
use survivors::{Accepted, Compared, Key};
use xtask::{
    call::{Call, Failure, exit_code},
    copy,
    needed::missing,
    paths::{Paths, files_below},
    stage::{bold, green, red, stage},
};

/// The options of the command.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct Request {
    /// Folders and files of core/src, without .rs; by default record, state, derive, fact, ladder
    /// and machine
    #[arg(long = "in", value_name = "FLOOR", value_delimiter = ',')]
    pub(crate) rooms: Vec<String>,
    /// Try all mutants, including those of settled files
    #[arg(long, group = "which")]
    again: bool,
    /// Try only the survivors; for new tests
    #[arg(long, group = "which")]
    retry: bool,
    /// Print the files that would be tried, and try none
    #[arg(long, group = "which")]
    list: bool,
    /// Begin no further file after N minutes
    #[arg(long, value_name = "N")]
    pub(crate) minutes: Option<u64>,
    /// Options of cargo-mutants; nothing is kept. One shard of all mutants: `-- --shard 0/8`; the
    /// code that a diff touches: `-- --in-diff FILE`; by name: `-- --re REGEX`
    #[arg(last = true, value_name = "OPTIONS")]
    pub(crate) options: Vec<String>,
}

impl Request {
    fn which(&self) -> Which {
        match (self.again, self.retry, self.list) {
            (true, ..) => Which::All,
            (_, true, _) => Which::Survivors,
            (.., true) => Which::List,
            _ => Which::Untried,
        }
    }
}

/// Which mutants are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The mutants of files that are not settled.
    Untried,
    /// The mutants of all files.
    All,
    /// The survivors.
    Survivors,
    /// None; print the files that would be tried.
    List,
}

/// The default folders; missing ones are left out.
const ROOMS: [&str; 6] = ["record", "state", "derive", "fact", "ladder", "machine"];

/// The least share of compiling mutants that must be noticed, in per cent.
const FLOOR_PER_CENT: u64 = 95;

/// The exit codes of cargo-mutants for: all caught, a survivor, tests that did not end.
const TELLS_OF_MUTANTS: [i32; 3] = [0, 2, 3];

/// The time limit for the tests of a mutant, in seconds. cargo-mutants cannot compute one without a
/// run of the unmutated tests.
const LONGEST: &str = "1800";

/// Tries mutants and prints the outcomes.
pub(crate) fn mutants(paths: &Paths, request: &Request) -> Result<ExitCode, Failure> {
    if Call::cargo(paths, "mutants-version", "mutants").arg("--version").answer().is_err() {
        return Ok(missing("cargo-mutants", "`cargo install --locked cargo-mutants`"));
    }
    if Call::cargo(paths, "nextest-version", "nextest").arg("--version").answer().is_err() {
        return Ok(missing("cargo-nextest", "`cargo install --locked cargo-nextest`"));
    }
    let accepted = survivors::accepted().map_err(|line| {
        Failure::new(format!("line {line} of {} has no reason; give it one", survivors::LIST))
    })?;
    // Two runs would change one copy at the same time.
    let _alone = lock(paths)?;
    let copy = Paths::from_root(copy::update(paths, "mutants/tree")?);
    let trial = Trial { paths, copy: &copy };
    if !request.options.is_empty() {
        return trial
            .cargo_mutants()
            .args(&request.options)
            .arg(trial.judges()?)
            .pass_through()
            .map(exit_code);
    }
    // From the copy, because the developer may edit the tree while mutants are tried.
    let stamps = stamps(&copy)?;
    let mut settled = Settled::load(paths, &stamps)?;
    let asked = trial.list(&rooms(&copy, &request.rooms)?)?;
    let to_try = to_try(&asked, &settled, request.which());
    if request.which() == Which::List {
        to_try.iter().for_each(|file| anstream::println!("{file}: {} mutants", asked[*file].len()));
        return Ok(ExitCode::SUCCESS);
    }
    trial.try_files(&to_try, &asked, request, &stamps, &mut settled)?;
    // A file that moved is listed under its new path.
    settled.write(paths)?;
    let compared = compare(&asked, &settled, &accepted, |file| text_of(&copy, file));
    anstream::print!("{}", report(&asked, &settled, &compared));
    let enough = are_enough(noticed(&asked, &settled));
    if !enough {
        anstream::println!(
            "{}: fewer than {FLOOR_PER_CENT} % of the mutants were noticed; test what survived",
            red("mutants")
        );
    }
    Ok(if enough { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The names of the mutants of each file.
type Mutants = BTreeMap<String, Vec<String>>;

/// The copy of the tree in which mutants are tried. It stays between runs, so that only the core is
/// compiled again.
struct Trial<'a> {
    paths: &'a Paths,
    copy: &'a Paths,
}

impl Trial<'_> {
    /// cargo-mutants in the copy, with a separate target folder. In a shared folder its builds and
    /// the developer's would wait for each other, and a test that waits counts as one that does not
    /// end.
    fn cargo_mutants(&self) -> Call {
        let folder = self.paths.target().join("mutants");
        let call = Call::cargo(self.paths, "mutants", "mutants")
            .env("CARGO_TARGET_DIR", folder.join("target"))
            .folder(self.copy.root());
        call.args(["--package=wakeful-core", "--in-place", "--output"]).arg(folder)
    }

    /// The mutants of these folders, by file.
    fn list(&self, rooms: &[String]) -> Result<Mutants, Failure> {
        let call = rooms.iter().fold(self.cargo_mutants().arg("--list"), |call, room| {
            let [folder, file] = [format!("core/src/{room}/**"), format!("core/src/{room}.rs")];
            call.arg("--file").arg(folder).arg("--file").arg(file)
        });
        let mut all = Mutants::new();
        for name in call.answer()?.lines() {
            all.entry(file_of(name).to_owned()).or_default().push(name.to_owned());
        }
        Ok(all)
    }

    /// The tests that judge: all that need neither a guest nor a program of the package.
    fn judges(&self) -> Result<String, Failure> {
        let left_out = self_contained::others(self.copy, &[GUEST, PROGRAM])?;
        anstream::println!(
            "{}: the unit tests of wakeful-core, and wakeful-tests without the {} tests that need \
             a guest or a program",
            bold("judged by"),
            left_out.len(),
        );
        Ok(format!("--cargo-test-arg=--filterset={}", others_than(&left_out)))
    }

    /// Tries the mutants of these files, and keeps the outcomes.
    fn try_files(
        &self,
        files: &[&String],
        asked: &Mutants,
        request: &Request,
        stamps: &BTreeMap<String, String>,
        settled: &mut Settled,
    ) -> Result<(), Failure> {
        if files.is_empty() {
            return Ok(());
        }
        let (judges, begun) = (self.judges()?, Instant::now());
        for (index, file) in files.iter().enumerate() {
            if request
                .minutes
                .is_some_and(|minutes| begun.elapsed() >= Duration::from_secs(60 * minutes))
            {
                anstream::println!(
                    "{}: the time is over; {} files are left",
                    bold("mutants"),
                    files.len() - index
                );
                break;
            }
            // One baseline run is enough, because the unmutated tests are the same for every file.
            let baseline = if index == 0 { "--baseline=run" } else { "--baseline=skip" };
            let survivor = |name: &str| {
                Key::from_mutant(name, |file| text_of(self.copy, file)).survivor().to_owned()
            };
            let call = self
                .cargo_mutants()
                .args([baseline, "--timeout", LONGEST, "--file"])
                .arg(file)
                .arg(&judges);
            // Only a retry adds to a known result. Every other run replaces it.
            let known =
                settled.files.get_mut(*file).filter(|_| request.which() == Which::Survivors);
            let mutants: Vec<&String> = match &known {
                None => asked[*file].iter().collect(),
                Some(known) => asked[*file]
                    .iter()
                    .filter(|name| known.survivors.contains(&survivor(name)))
                    .collect(),
            };
            let call =
                if known.is_some() { call.arg("--re").arg(alternatives(&mutants)) } else { call };
            let outcomes = stage(
                file,
                &format!("{} mutants, {} of {} files", mutants.len(), index + 1, files.len()),
                || self.run(call),
            )?;
            // Otherwise the file would be settled although some mutants were not tried.
            if outcomes.len() != mutants.len() {
                return Err(Failure::new(format!(
                    "cargo-mutants tried {} of the {} mutants of {file}",
                    outcomes.len(),
                    mutants.len()
                )));
            }
            match known {
                Some(known) => known.take_in(&outcomes, survivor),
                None => {
                    let stamp = stamps.get(*file).cloned().unwrap_or_default();
                    settled.files.insert((*file).clone(), File::new(stamp, &outcomes, survivor));
                }
            }
            // After each file, so that a run that is stopped loses only the current one.
            settled.write(self.paths)?;
        }
        Ok(())
    }

    fn run(&self, call: Call) -> Result<Vec<(String, Outcome)>, Failure> {
        let status = call.pass_through()?;
        if !status.code().is_some_and(|code| TELLS_OF_MUTANTS.contains(&code)) {
            return Err(Failure::new(format!(
                "cargo-mutants gave up ({status}); if the tests fail without a mutant, repair \
                 them first. The same command continues"
            )));
        }
        let written = self.paths.target().join("mutants/mutants.out");
        outcome::read(&written)
            .map_err(|why| Failure::new(format!("cannot read {}: {why}", written.display())))
    }
}

/// Locks the copy against other runs, as long as the returned file is open.
fn lock(paths: &Paths) -> Result<fs::File, Failure> {
    let file = paths.target().join("mutants/lock");
    let unusable = |why| Failure::new(format!("cannot use {}: {why}", file.display()));
    fs::create_dir_all(paths.target().join("mutants")).map_err(unusable)?;
    let lock = fs::File::create(&file).map_err(unusable)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Failure::new(
            "another `cargo xtask mutants` is running in this tree; wait for its end, or end it: \
             the next one continues",
        )),
        Err(TryLockError::Error(why)) => Err(unusable(why)),
    }
}

/// The folders to try; a named one must exist.
fn rooms(copy: &Paths, named: &[String]) -> Result<Vec<String>, Failure> {
    let is_there = |room: &str| {
        copy.at(&format!("core/src/{room}")).is_dir()
            || copy.at(&format!("core/src/{room}.rs")).is_file()
    };
    if let Some(room) = named.iter().find(|room| !is_there(room)) {
        return Err(Failure::new(format!(
            "`{room}` is not a folder or a file of core/src; name it without `.rs`"
        )));
    }
    let all = ROOMS.into_iter().filter(|room| is_there(room)).map(str::to_owned);
    Ok(if named.is_empty() { all.collect() } else { named.to_vec() })
}

/// The stamp of each file of the core, by its path.
fn stamps(copy: &Paths) -> Result<BTreeMap<String, String>, Failure> {
    let source = copy.at("core/src");
    let unread = |why| Failure::new(format!("cannot read {}: {why}", source.display()));
    let mut stamps = BTreeMap::new();
    for file in files_below(&source)
        .map_err(unread)?
        .iter()
        .filter(|file| file.extension().is_some_and(|end| end == "rs"))
    {
        let path =
            file.strip_prefix(copy.root()).unwrap_or(file).to_string_lossy().replace('\\', "/");
        stamps.insert(path, code::stamp_of(&fs::read_to_string(file).map_err(unread)?));
    }
    Ok(stamps)
}

/// The text of a file as the copy has it, because the developer may edit the tree meanwhile.
fn text_of(copy: &Paths, file: &str) -> String {
    let path: &Path = &copy.at(file);
    fs::read_to_string(path).unwrap_or_default()
}

fn to_try<'a>(asked: &'a Mutants, settled: &Settled, which: Which) -> Vec<&'a String> {
    let wanted = |file: &&String| match (which, settled.files.get(*file)) {
        (Which::All, _) => true,
        (Which::Untried | Which::List, known) => known.is_none(),
        (Which::Survivors, known) => known.is_some_and(|known| !known.survivors.is_empty()),
    };
    asked.keys().filter(wanted).collect()
}

/// All tests but these, as an expression of cargo-nextest.
fn others_than(left_out: &[String]) -> String {
    left_out.iter().fold("all()".to_owned(), |text, test| text + " - test(=" + test + ")")
}

/// An expression that matches these names and no others.
fn alternatives(names: &[&String]) -> String {
    let literal = |name: &String| -> String {
        name.chars()
            .flat_map(|letter| {
                [
                    (!letter.is_alphanumeric() && !letter.is_whitespace()).then_some('\\'),
                    Some(letter),
                ]
            })
            .flatten()
            .collect()
    };
    format!("^({})$", names.iter().map(|name| literal(name)).collect::<Vec<_>>().join("|"))
}

/// Compares the survivors of the selected settled files with the list. A line of the list is stale
/// if its mutant was noticed or no longer exists.
fn compare(
    asked: &Mutants,
    settled: &Settled,
    accepted: &[Accepted],
    text_of: impl Fn(&str) -> String,
) -> Compared {
    let known = |file: &String| settled.files.get(file);
    let survived =
        asked.keys().filter_map(|file| Some((file, known(file)?))).flat_map(|(file, known)| {
            known.survivors.iter().map(move |survivor| {
                let key = Key::settled(file, survivor);
                (key.as_str().to_owned(), key)
            })
        });
    let untried =
        asked.iter().filter(|(file, _)| known(file).is_none()).flat_map(|(_, names)| names);
    let others = untried.map(|name| Key::from_mutant(name, &text_of)).collect();
    // A deleted file is in no folder.
    let is_asked =
        |listed: &str| asked.contains_key(file_of(listed)) || text_of(file_of(listed)).is_empty();
    survivors::compare(survived.collect(), others, accepted, is_asked)
}

/// The number of noticed mutants and the number of compiling ones. `None` if none compiled. A
/// mutant whose tests do not end counts as noticed.
fn noticed(asked: &Mutants, settled: &Settled) -> Option<(u64, u64)> {
    let count = |outcome| settled.count(asked.keys().map(String::as_str), outcome);
    let noticed = count(Outcome::Caught) + count(Outcome::Timeout);
    let viable = noticed + count(Outcome::Missed);
    (viable > 0).then_some((noticed, viable))
}

/// Whether enough compiling mutants were noticed. If none was tried, nothing is missing.
fn are_enough(noticed: Option<(u64, u64)>) -> bool {
    noticed.is_none_or(|(noticed, viable)| noticed * 100 >= viable * FLOOR_PER_CENT)
}

fn report(asked: &Mutants, settled: &Settled, compared: &Compared) -> String {
    let mut text = String::new();
    for (name, reason) in &compared.accepted {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "accepted: {name}: {reason}");
    }
    for line in &compared.stale {
        let _ = writeln!(
            text,
            "{}: {line}: it no longer survives, or its file moved; correct {}",
            bold("listed"),
            survivors::LIST
        );
    }
    for (name, _) in &compared.unlisted {
        let _ = writeln!(text, "{}: {name}", red("survived"));
    }
    if !compared.unlisted.is_empty() {
        let _ = writeln!(
            text,
            "test them, or list them in {} with a reason after ` -- `",
            survivors::LIST
        );
    }
    let count = |outcome| settled.count(asked.keys().map(String::as_str), outcome);
    let counts: Vec<String> = Outcome::ALL
        .iter()
        .map(|outcome| format!("{} {}", count(*outcome), outcome.as_str()))
        .collect();
    let all: usize = asked.values().map(Vec::len).sum();
    let tried: usize = asked
        .iter()
        .filter(|(file, _)| settled.files.contains_key(*file))
        .map(|(_, names)| names.len())
        .sum();
    let _ = writeln!(text, "{}: {tried} of {all} tried: {}", bold("mutants"), counts.join(", "));
    match noticed(asked, settled) {
        None => text.push_str("no mutant that compiles was tried\n"),
        Some((noticed, viable)) => {
            let per_mille = noticed * 1000 / viable;
            let share = format!(
                "{}.{} % of the compiling mutants were noticed",
                per_mille / 10,
                per_mille % 10
            );
            let whole = if tried == all { "" } else { "; the same command tries the rest" };
            let _ = writeln!(
                text,
                "{}: {}{whole}",
                bold("mutants"),
                if noticed == viable { green(share).to_string() } else { share }
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Mutants {
        let of = |file: &str, names: &[&str]| {
            (file.to_owned(), names.iter().map(|name| format!("{file}:{name}")).collect())
        };
        [
            of("core/src/a.rs", &["1:1: f", "2:2: g", "3:3: h", "4:4: i"]),
            of("core/src/b.rs", &["1:1: f"]),
        ]
        .into()
    }

    /// A file with one mutant of each outcome; the other file was not tried.
    fn settled() -> Settled {
        let outcomes = [Outcome::Caught, Outcome::Timeout, Outcome::Missed, Outcome::Unviable];
        let outcomes: Vec<_> = asked()["core/src/a.rs"].iter().cloned().zip(outcomes).collect();
        let file = File::new("00".to_owned(), &outcomes, |_| "h -- if !x".to_owned());
        Settled { files: [("core/src/a.rs".to_owned(), file)].into() }
    }

    #[test]
    fn too_few_that_were_noticed_are_a_failure() {
        assert_eq!(noticed(&asked(), &settled()), Some((2, 3)));
        assert_eq!(noticed(&asked(), &Settled::default()), None);
        assert!(!are_enough(noticed(&asked(), &settled())) && are_enough(None));
        assert!(are_enough(Some((95, 100))) && !are_enough(Some((94, 100))));
    }

    #[test]
    fn judges_that_need_a_guest_are_left_out_by_their_whole_names() {
        assert_eq!(
            others_than(&["a::b", "c"].map(str::to_owned)),
            "all() - test(=a::b) - test(=c)"
        );
    }

    #[test]
    fn survivors_are_asked_for_by_their_whole_names() {
        let name = "a.rs:1:5: replace f -> Option<&A> with None".to_owned();
        assert_eq!(
            alternatives(&[&name, &"b".to_owned()]),
            r"^(a\.rs\:1\:5\: replace f \-\> Option\<\&A\> with None|b)$"
        );
    }

    #[test]
    fn what_is_tried_depends_on_what_was() {
        let (asked, settled) = (asked(), settled());
        assert_eq!(to_try(&asked, &settled, Which::All), ["core/src/a.rs", "core/src/b.rs"]);
        assert_eq!(to_try(&asked, &settled, Which::Untried), ["core/src/b.rs"]);
        assert_eq!(to_try(&asked, &settled, Which::Survivors), ["core/src/a.rs"]);
    }

    #[test]
    fn the_report_names_survivors_and_counts() {
        let (asked, settled) = (asked(), settled());
        let compared = compare(&asked, &settled, &[], |_| "if !x\n".to_owned());
        let text = anstream::adapter::strip_str(&report(&asked, &settled, &compared)).to_string();
        assert!(text.starts_with("survived: core/src/a.rs: h -- if !x\n"), "{text}");
        assert!(
            text.contains("mutants: 4 of 5 tried: 1 caught, 1 timeout, 1 missed, 1 unviable\n"),
            "{text}"
        );
        assert!(
            text.ends_with(
                "mutants: 66.6 % of the compiling mutants were noticed; the same command tries the \
                 rest\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn the_rooms_are_those_of_the_tree() {
        let paths = Paths::find().expect("the root");
        let all = rooms(&paths, &[]).expect("rooms");
        assert!(
            all.contains(&"ladder".to_owned()) && all.contains(&"machine".to_owned()),
            "{all:?}"
        );
        assert!(
            rooms(&paths, &["effects".to_owned()]).is_err_and(|why| why.what.contains("`effects`"))
        );
    }
}

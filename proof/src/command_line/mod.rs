//! The command line of `wakeful-proof`.

mod help;

use xtask::command_line::options::{numbers, unnamed};

use crate::{
    fuzz,
    mutants::{Request, Which},
    night,
    page::methods::METHODS,
};

/// One parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Simulate families of agents with this core and with that of a commit, and print where they
    /// differ.
    SimAgainst { revision: String, options: Vec<String> },
    /// Run the fuzz targets.
    Fuzz(fuzz::Request),
    /// Measure the coverage of the core.
    Coverage,
    /// Run mutation testing on the core.
    Mutants(Request),
    /// Run the tests of the core under Miri.
    Miri,
    /// Check licences, bans and sources of dependencies.
    Deny,
    /// Compare the public interfaces with the last release, or with a commit.
    Semver { against: Option<String> },
    /// Make deliberate mistakes, and check that these methods, or all, find them.
    Seeded { methods: Vec<&'static str> },
    /// Run each method for a share of the time.
    Night(night::Request),
    /// Write docs/proof.md.
    Proof,
    /// Print what docs/proof.md lacks.
    ProofCheck,
    /// Print the help.
    Help(&'static str),
}

/// Reads the words after `cargo xtask`.
///
/// # Errors One sentence that names the word that is wrong.
pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Command, String> {
    let words: Vec<String> = words.collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((name, options)) = words.split_first() else {
        return Err("a command is missing".to_owned());
    };
    // `xtask` forwards only `sim --against`, whose help is not that of `sim`.
    if *name == "sim" {
        return sim(options);
    }
    let help = help::text(name).ok_or_else(|| format!("there is no command `{name}`"))?;
    if options.iter().any(|option| matches!(*option, "--help" | "-h")) {
        return Ok(Command::Help(help));
    }
    match (*name, options) {
        ("mutants", options) => mutants(options),
        ("fuzz", options) => fuzz(options),
        ("coverage", []) => Ok(Command::Coverage),
        ("miri", []) => Ok(Command::Miri),
        ("deny", []) => Ok(Command::Deny),
        ("proof", []) => Ok(Command::Proof),
        ("proof", ["--check"]) => Ok(Command::ProofCheck),
        ("semver", []) => Ok(Command::Semver { against: None }),
        ("semver", ["--against", revision]) => {
            Ok(Command::Semver { against: Some((*revision).to_owned()) })
        }
        ("semver", ["--against"]) => Err("`--against` needs a commit".to_owned()),
        ("seeded", names) => seeded(names),
        ("night", options) => night(options),
        (_, [first, ..]) => Err(format!("`{name}` does not take `{first}` here")),
        (_, []) => Err(format!("there is no command `{name}`")),
    }
}

/// Reads `sim --against REV`. The other options are numbers that select the families.
fn sim(options: &[&str]) -> Result<Command, String> {
    if options.iter().any(|option| matches!(*option, "--help" | "-h")) {
        return Ok(Command::Help(help::SIM_AGAINST));
    }
    // First, because it fails if the value is missing, and `options[at + 1]` relies on that.
    let without_revision = unnamed(&["--against"], options)?;
    let at = options.iter().position(|option| option.split('=').next() == Some("--against"));
    let at = at.ok_or("`sim` needs `--against` here; without it `cargo xtask sim` does it")?;
    let revision = options[at]
        .split_once('=')
        .map_or_else(|| options[at + 1], |(_, revision)| revision)
        .to_owned();
    numbers("sim --against", &["--seed", "--families", "--days"], &without_revision)?;
    Ok(Command::SimAgainst {
        revision,
        options: without_revision.into_iter().map(str::to_owned).collect(),
    })
}

fn fuzz(options: &[&str]) -> Result<Command, String> {
    let mut request = fuzz::Request { targets: Vec::new(), seconds: fuzz::SECONDS, keeps: false };
    let mut words = options.iter().flat_map(|option| option.split('='));
    while let Some(word) = words.next() {
        if word == "--seconds" {
            let number = words.next().unwrap_or_default();
            request.seconds = number
                .parse()
                .map_err(|_| format!("`--seconds` needs a number, not `{number}`"))?;
        } else if word == "--keep" {
            request.keeps = true;
        } else {
            let known = fuzz::TARGETS.into_iter().find(|target| *target == word);
            request.targets.push(known.ok_or_else(|| {
                format!("`fuzz` knows {}, not `{word}`", fuzz::TARGETS.join(", "))
            })?);
        }
    }
    if request.targets.is_empty() {
        request.targets = fuzz::TARGETS.to_vec();
    }
    Ok(Command::Fuzz(request))
}

fn seeded(names: &[&str]) -> Result<Command, String> {
    let known = || METHODS.iter().map(|method| method.name);
    // The table of methods has names with blanks; on a command line they have hyphens.
    let of = |name: &&str| known().find(|known| *known == name.replace('-', " "));
    let all = || known().map(|name| name.replace(' ', "-")).collect::<Vec<_>>().join(", ");
    let methods = names
        .iter()
        .map(|name| of(name).ok_or_else(|| format!("`seeded` knows {}, not `{name}`", all())));
    Ok(Command::Seeded { methods: methods.collect::<Result<_, _>>()? })
}

fn night(options: &[&str]) -> Result<Command, String> {
    let mut request = night::Request { minutes: night::MINUTES, methods: Vec::new() };
    let mut words = options.iter().flat_map(|option| option.split('='));
    while let Some(word) = words.next() {
        if word == "--minutes" {
            let number = words.next().unwrap_or_default();
            request.minutes = number
                .parse()
                .map_err(|_| format!("`--minutes` needs a number, not `{number}`"))?;
        } else {
            let known = night::names().find(|name| *name == word);
            let all = || night::names().collect::<Vec<_>>().join(", ");
            request
                .methods
                .push(known.ok_or_else(|| format!("`night` knows {}, not `{word}`", all()))?);
        }
    }
    Ok(Command::Night(request))
}

fn mutants(options: &[&str]) -> Result<Command, String> {
    let mut request =
        Request { rooms: Vec::new(), which: Which::Untried, minutes: None, options: Vec::new() };
    // What stands after `--` may look like an option of this command.
    let (own, passed) = match options.iter().position(|option| *option == "--") {
        Some(at) => (&options[..at], &options[at + 1..]),
        None => (options, &[][..]),
    };
    request.options = passed.iter().map(|option| (*option).to_owned()).collect();
    let mut words = own.iter().flat_map(|option| match option.split_once('=') {
        Some((name, value)) if option.starts_with("--") => vec![name, value],
        _ => vec![*option],
    });
    while let Some(word) = words.next() {
        match word {
            "--in" => {
                let named = words.next().unwrap_or_default();
                request.rooms = named.split(',').map(str::to_owned).collect();
                if request.rooms.iter().any(String::is_empty) {
                    return Err("`--in` needs names of folders or files of core/src, with commas \
                                between them"
                        .to_owned());
                }
            }
            "--again" | "--retry" | "--list" if request.which != Which::Untried => {
                return Err("`--again`, `--retry` and `--list` are three ways to choose; take \
                            one, once"
                    .to_owned());
            }
            "--again" => request.which = Which::All,
            "--retry" => request.which = Which::Survivors,
            "--list" => request.which = Which::List,
            "--minutes" => {
                let text = words.next().unwrap_or_default();
                request.minutes = Some(
                    text.parse()
                        .map_err(|_| format!("`--minutes` needs a number, not `{text}`"))?,
                );
            }
            other => {
                return Err(format!(
                    "`mutants` does not take `{other}` here; what stands behind `--` is for \
                     cargo-mutants"
                ));
            }
        }
    }
    Ok(Command::Mutants(request))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, String> {
        read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn every_command_is_understood_and_has_a_help() {
        assert_eq!(parse("coverage"), Ok(Command::Coverage));
        assert_eq!(parse("proof --check"), Ok(Command::ProofCheck));
        assert_eq!(
            parse("semver --against HEAD"),
            Ok(Command::Semver { against: Some("HEAD".to_owned()) })
        );
        assert_eq!(
            parse("seeded unit-tests sim"),
            Ok(Command::Seeded { methods: vec!["unit tests", "sim"] })
        );
        assert!(
            parse("seeded luck")
                .is_err_and(|why| why.contains("unit-tests, tables") && why.contains("not `luck`"))
        );
        assert_eq!(
            parse("night"),
            Ok(Command::Night(night::Request { minutes: 480, methods: Vec::new() }))
        );
        assert_eq!(
            parse("night --minutes=9 sim miri"),
            Ok(Command::Night(night::Request { minutes: 9, methods: vec!["sim", "miri"] }))
        );
        assert!(
            parse("night tables")
                .is_err_and(|why| why.contains("test, model") && why.contains("not `tables`"))
        );
        for name in xtask::proof::COMMANDS {
            let Ok(Command::Help(text)) = parse(&format!("{name} --help")) else {
                panic!("{name} has no help")
            };
            assert!(text.starts_with(&format!("usage: cargo xtask {name}")), "{text}");
        }
        assert!(
            matches!(parse("sim --against x --help"), Ok(Command::Help(text)) if text.starts_with("usage: cargo xtask sim --against"))
        );
    }

    #[test]
    fn the_targets_of_the_fuzzer_are_known_by_name() {
        let request = |targets: &[&'static str], seconds, keeps| {
            Ok(Command::Fuzz(fuzz::Request { targets: targets.to_vec(), seconds, keeps }))
        };
        assert_eq!(parse("fuzz"), request(&fuzz::TARGETS, 600, false));
        assert_eq!(
            parse("fuzz --seconds=5 --keep facts ledger"),
            request(&["facts", "ledger"], 5, true)
        );
        assert!(
            parse("fuzz nothing")
                .is_err_and(|why| why.contains("facts, foreign, ledger, exports, not `nothing`"))
        );
        assert!(parse("fuzz --seconds").is_err_and(|why| why.contains("needs a number")));
    }

    #[test]
    fn the_core_of_a_commit_is_compared_over_families_that_are_counted() {
        let against = |options: &[&str]| {
            let options = options.iter().map(|option| (*option).to_owned()).collect();
            Ok(Command::SimAgainst { revision: "HEAD~5".to_owned(), options })
        };
        assert_eq!(parse("sim --against HEAD~5"), against(&[]));
        assert_eq!(
            parse("sim --days 2 --against=HEAD~5 --families=4"),
            against(&["--days", "2", "--families=4"])
        );
        assert!(
            parse("sim --against HEAD~5 --hours 8")
                .is_err_and(|why| why.contains("does not take `--hours`"))
        );
        assert!(
            parse("sim --days 2 --against")
                .is_err_and(|why| why.contains("`--against` needs a name"))
        );
    }

    #[test]
    fn mutants_are_asked_for_by_room_history_and_time() {
        let request = |line: &str| match parse(line) {
            Ok(Command::Mutants(request)) => request,
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(
            request("mutants"),
            Request {
                rooms: Vec::new(),
                which: Which::Untried,
                minutes: None,
                options: Vec::new()
            }
        );
        assert_eq!(request("mutants --in machine --minutes=12").minutes, Some(12));
        assert_eq!(request("mutants --in plane,ladder --list").rooms, ["plane", "ladder"]);
        assert_eq!(request("mutants --in plane,ladder --list").which, Which::List);
        assert_eq!(request("mutants --in=derive --again").which, Which::All);
        assert_eq!(request("mutants --retry").which, Which::Survivors);
        assert_eq!(
            request("mutants -- --shard 1/8 --in-diff a.diff").options,
            ["--shard", "1/8", "--in-diff", "a.diff"]
        );
        for (line, named) in [
            ("mutants --in", "`--in` needs names"),
            ("mutants --minutes all", "`--minutes` needs a number, not `all`"),
            ("mutants --again --retry", "take one"),
            ("mutants --shard 1/8", "`--shard` here; what stands behind `--`"),
        ] {
            assert!(parse(line).is_err_and(|why| why.contains(named)), "{line}");
        }
    }

    #[test]
    fn a_wrong_word_is_named() {
        for (line, named) in [
            ("", "missing"),
            ("fly", "`fly`"),
            ("miri --fast", "`--fast`"),
            ("sim --days 2", "`--against`"),
        ] {
            assert!(parse(line).is_err_and(|why| why.contains(named)), "{line}");
        }
    }

    /// The commands of this program on the pages; xtask's tests read the others.
    #[test]
    fn what_the_pages_name_is_understood() {
        for page in ["README.md", "CONTRIBUTING.md", "docs/performance.md", "docs/embedding.md"] {
            let text = std::fs::read_to_string(
                std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page),
            )
            .expect("a page");
            for line in
                text.split(['\n', '`']).filter_map(|line| line.trim().strip_prefix("cargo xtask "))
            {
                // A `#` begins a remark.
                let words: Vec<String> = line
                    .split('#')
                    .next()
                    .unwrap_or_default()
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect();
                if words.first().is_some_and(|name| xtask::proof::COMMANDS.contains(&name.as_str()))
                {
                    read(words.into_iter())
                        .unwrap_or_else(|why| panic!("{page}: cargo xtask {line}: {why}"));
                }
            }
        }
    }
}

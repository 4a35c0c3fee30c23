//! What a developer can type, and the help for it.

mod help;

use std::num::NonZeroU16;

pub(crate) use help::USAGE;

use crate::{
    crosscheck::Random,
    fuzz,
    mutants::{ROOMS, Request, Shard, Which},
    night,
    proof::methods::METHODS,
    tidy::Listing,
};

/// One understood command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Build everything, then compare the engines.
    Run,
    /// Build everything, then serve the workbench; on this port, or on a free one.
    Serve { port: Option<NonZeroU16> },
    /// Build and test everything.
    Test {
        /// Whether the fuel of the hot paths is kept as it is now.
        bless: bool,
    },
    /// Build and pack the npm package.
    Npm,
    /// Pack the crates, and install the program from them.
    Package { installs: bool },
    /// Check what no compiler checks; list statements of the contract beside the findings.
    Tidy { list: Listing },
    /// Let processes die, with the options of the program that does it.
    Crash(Vec<String>),
    /// Let families of agents live, with the options of the program that does it.
    Sim(Vec<String>),
    /// Let them live with the core of a commit too, and say where they part.
    SimAgainst { revision: String, options: Vec<String> },
    /// Search the states that the machine can come to, with the options of the program that does it.
    Model(Vec<String>),
    /// Compare all engines over all cases, and over random stories.
    Crosscheck(Random),
    /// Measure what things cost; the options of the other program.
    Bench(Vec<String>),
    /// Let a fuzzer look for bytes that break something.
    Fuzz(fuzz::Request),
    /// Write the page about the component's interface.
    World,
    /// Measure what the tests of the core execute.
    Coverage,
    /// Change the core in small ways, and ask whether the tests notice.
    Mutants(Request),
    /// Interpret the tests of the core.
    Miri,
    /// Check licences, bans and sources of dependencies.
    Deny,
    /// Compare the public interfaces with the last release, or with a commit.
    Semver { against: Option<String> },
    /// Make mistakes on purpose, and ask these methods, or all, whether they find them.
    Seeded { methods: Vec<&'static str> },
    /// Run each method for a share of the time.
    Night(night::Request),
    /// Write the page about how it is known.
    Proof,
    /// Print this text.
    Help(&'static str),
}

/// Reads the words after `cargo xtask`.
///
/// # Errors
/// One sentence that says which word was not understood.
pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Command, String> {
    let words: Vec<String> = words.collect();
    let (name, options) = match words.split_first() {
        None => return Err("a command is missing".to_owned()),
        Some((name, options)) => (name.as_str(), options),
    };
    if matches!(name, "help" | "--help" | "-h") {
        return match options {
            [] => Ok(Command::Help(USAGE)),
            [of, ..] => help::of(of).map(Command::Help).ok_or_else(|| format!("there is no command `{of}`")),
        };
    }
    let help = help::of(name).ok_or_else(|| format!("there is no command `{name}`"))?;
    if options.iter().any(|option| option == "--help" || option == "-h") {
        return Ok(Command::Help(help));
    }
    let words: Vec<&str> = options.iter().map(String::as_str).collect();
    match (name, words.as_slice()) {
        ("run", []) => Ok(Command::Run),
        ("test", []) => Ok(Command::Test { bless: false }),
        ("test", ["--bless"]) => Ok(Command::Test { bless: true }),
        ("npm", []) => Ok(Command::Npm),
        ("package", []) => Ok(Command::Package { installs: true }),
        ("package", ["--no-install"]) => Ok(Command::Package { installs: false }),
        ("mutants", options) => mutants(options),
        ("crosscheck", options) => crosscheck(options),
        ("crash", options) => crash(options),
        ("sim", options) => sim(options),
        ("model", options) => model(options),
        ("bench", options) => bench(options),
        ("fuzz", options) => fuzz(options),
        ("world", []) => Ok(Command::World),
        ("coverage", []) => Ok(Command::Coverage),
        ("miri", []) => Ok(Command::Miri),
        ("deny", []) => Ok(Command::Deny),
        ("proof", []) => Ok(Command::Proof),
        ("semver", []) => Ok(Command::Semver { against: None }),
        ("semver", ["--against", revision]) => Ok(Command::Semver { against: Some((*revision).to_owned()) }),
        ("semver", ["--against"]) => Err("`--against` needs a commit".to_owned()),
        ("seeded", names) => seeded(names),
        ("night", options) => night(options),
        ("tidy", []) => Ok(Command::Tidy { list: Listing::None }),
        ("tidy", ["--uncited"]) => Ok(Command::Tidy { list: Listing::Uncited }),
        ("tidy", ["--statements"]) => Ok(Command::Tidy { list: Listing::Statements }),
        ("serve", []) => Ok(Command::Serve { port: None }),
        ("serve", ["--port", port]) => port_of(port),
        ("serve", [option]) if option.starts_with("--port=") => port_of(&option["--port=".len()..]),
        ("serve", ["--port"]) => Err("`--port` needs a number from 1 to 65535".to_owned()),
        (_, [first, ..]) => Err(format!("`{name}` does not take `{first}` here")),
        (_, []) => Err(format!("there is no command `{name}`")),
    }
}

fn port_of(text: &str) -> Result<Command, String> {
    let port = text.parse().map_err(|_| format!("`--port` needs a number from 1 to 65535, not `{text}`"))?;
    Ok(Command::Serve { port: Some(port) })
}

/// The options of the other program, which are numbers. They are looked at here, before anything is built.
fn crash(options: &[&str]) -> Result<Command, String> {
    numbers("crash", &["--stories", "--kills", "--seed"], options)?;
    Ok(Command::Crash(options.iter().map(|option| (*option).to_owned()).collect()))
}

/// The options of the other program: numbers, one that is a word and one that names a folder. Where the core of a commit is asked for, only numbers
/// that say which families live.
fn sim(options: &[&str]) -> Result<Command, String> {
    let all = |options: &[&str]| options.iter().map(|option| (*option).to_owned()).collect();
    let of_families = ["--seed", "--families", "--days"];
    let without_revision = unnamed(&["--against"], options)?;
    if let Some(at) = options.iter().position(|option| option.split('=').next() == Some("--against")) {
        let revision = options[at].split_once('=').map_or_else(|| options[at + 1], |(_, revision)| revision).to_owned();
        numbers("sim --against", &of_families, &without_revision)?;
        return Ok(Command::SimAgainst { revision, options: all(&without_revision) });
    }
    let without_names = unnamed(&["--histories"], options)?;
    let counted: Vec<_> = without_names.into_iter().filter(|option| *option != "--editions").collect();
    numbers("sim", &[of_families.as_slice(), &["--minutes", "--hours"]].concat(), &counted)?;
    Ok(Command::Sim(all(options)))
}

/// The options of the other program: one that is a word, one that names a file, and names of groups, which it knows itself.
fn bench(options: &[&str]) -> Result<Command, String> {
    let without_names = unnamed(&["--json"], options)?;
    match without_names.into_iter().find(|option| option.starts_with('-') && *option != "--quick") {
        Some(option) => Err(format!("`bench` does not take `{option}` here")),
        None => Ok(Command::Bench(options.iter().map(|option| (*option).to_owned()).collect())),
    }
}

/// The options of the other program: numbers, words, and those that name something.
fn model(options: &[&str]) -> Result<Command, String> {
    let without_names = unnamed(&["--write", "--adversary", "--small"], options)?;
    let numbered: Vec<_> = without_names.into_iter().filter(|option| *option != "--json").collect();
    numbers("model", &["--shapes", "--depth"], &numbered)?;
    Ok(Command::Model(options.iter().map(|option| (*option).to_owned()).collect()))
}

fn crosscheck(options: &[&str]) -> Result<Command, String> {
    let mut random = Random::WHOLE;
    for (name, number) in numbers("crosscheck", &["--random", "--seed"], options)? {
        *(if name == "--random" { &mut random.steps } else { &mut random.seed }) = number;
    }
    Ok(Command::Crosscheck(random))
}

fn fuzz(options: &[&str]) -> Result<Command, String> {
    let mut request = fuzz::Request { targets: Vec::new(), seconds: fuzz::SECONDS, keeps: false };
    let mut words = options.iter().flat_map(|option| option.split('='));
    while let Some(word) = words.next() {
        if word == "--seconds" {
            let number = words.next().unwrap_or_default();
            request.seconds = number.parse().map_err(|_| format!("`--seconds` needs a number, not `{number}`"))?;
        } else if word == "--keep" {
            request.keeps = true;
        } else {
            let known = fuzz::TARGETS.into_iter().find(|target| *target == word);
            request.targets.push(known.ok_or_else(|| format!("`fuzz` knows {}, not `{word}`", fuzz::TARGETS.join(", ")))?);
        }
    }
    if request.targets.is_empty() {
        request.targets = fuzz::TARGETS.to_vec();
    }
    Ok(Command::Fuzz(request))
}

fn seeded(names: &[&str]) -> Result<Command, String> {
    let known = || METHODS.iter().map(|method| method.name);
    // A name has blanks where the table of methods has them; on a command line it has hyphens.
    let of = |name: &&str| known().find(|known| *known == name.replace('-', " "));
    let all = || known().map(|name| name.replace(' ', "-")).collect::<Vec<_>>().join(", ");
    let methods = names.iter().map(|name| of(name).ok_or_else(|| format!("`seeded` knows {}, not `{name}`", all())));
    Ok(Command::Seeded { methods: methods.collect::<Result<_, _>>()? })
}

fn night(options: &[&str]) -> Result<Command, String> {
    let mut request = night::Request { minutes: night::MINUTES, methods: Vec::new() };
    let mut words = options.iter().flat_map(|option| option.split('='));
    while let Some(word) = words.next() {
        if word == "--minutes" {
            let number = words.next().unwrap_or_default();
            request.minutes = number.parse().map_err(|_| format!("`--minutes` needs a number, not `{number}`"))?;
        } else {
            let known = night::names().find(|name| *name == word);
            let all = || night::names().collect::<Vec<_>>().join(", ");
            request.methods.push(known.ok_or_else(|| format!("`night` knows {}, not `{word}`", all()))?);
        }
    }
    Ok(Command::Night(request))
}

/// The options that are left without these, which name something.
fn unnamed<'a>(named: &[&str], options: &[&'a str]) -> Result<Vec<&'a str>, String> {
    let mut left = Vec::new();
    let mut words = options.iter();
    while let Some(word) = words.next() {
        let (option, name) = word.split_once('=').map_or((*word, None), |(option, name)| (option, Some(name)));
        if !named.contains(&option) {
            left.push(*word);
        } else if name.or_else(|| words.next().copied()).is_none_or(|name| name.is_empty() || name.starts_with('-')) {
            return Err(format!("`{option}` needs a name"));
        }
    }
    Ok(left)
}

/// Options that are numbers, of a command that takes these.
fn numbers<'a>(command: &str, known: &[&str], options: &[&'a str]) -> Result<Vec<(&'a str, u64)>, String> {
    let mut words = options.iter().flat_map(|option| option.split('='));
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if !known.contains(&word) {
            return Err(format!("`{command}` does not take `{word}` here"));
        }
        let number = words.next().unwrap_or_default();
        found.push((word, number.parse().map_err(|_| format!("`{word}` needs a number, not `{number}`"))?));
    }
    Ok(found)
}

fn mutants(options: &[&str]) -> Result<Command, String> {
    let mut request = Request { rooms: ROOMS[..2].to_vec(), shard: Shard::WHOLE, which: Which::All, most: None, only_list: false };
    let mut words = options.iter().flat_map(|option| match option.split_once('=') {
        Some((name, value)) if option.starts_with("--") => vec![name, value],
        _ => vec![*option],
    });
    while let Some(word) = words.next() {
        match word {
            "--in" => request.rooms = rooms(words.next().unwrap_or_default())?,
            "--shard" => {
                let text = words.next().unwrap_or_default();
                request.shard = Shard::of(text).ok_or_else(|| format!("`--shard` needs K/N with K from 1 to N, not `{text}`"))?;
            }
            "--resume" | "--retry" if request.which != Which::All => {
                return Err("`--resume` and `--retry` are two ways to go on; take one, once".to_owned());
            }
            "--resume" => request.which = Which::Untried,
            "--retry" => request.which = Which::Survivors,
            "--most" => {
                let text = words.next().unwrap_or_default();
                request.most = Some(text.parse().map_err(|_| format!("`--most` needs a number, not `{text}`"))?);
            }
            "--list" => request.only_list = true,
            other => return Err(format!("`mutants` does not take `{other}` here")),
        }
    }
    Ok(Command::Mutants(request))
}

fn rooms(text: &str) -> Result<Vec<&'static str>, String> {
    let known = |name: &str| ROOMS.into_iter().find(|room| *room == name);
    text.split(',').map(|name| known(name).ok_or_else(|| format!("`--in` needs some of {}, not `{name}`", ROOMS.join(",")))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Command, String> {
        read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn every_command_is_understood_and_has_a_help() {
        assert_eq!(of("run"), Ok(Command::Run));
        assert_eq!(of("test"), Ok(Command::Test { bless: false }));
        assert_eq!(of("test --bless"), Ok(Command::Test { bless: true }));
        assert_eq!(of("npm"), Ok(Command::Npm));
        assert_eq!(of("package"), Ok(Command::Package { installs: true }));
        assert_eq!(of("package --no-install"), Ok(Command::Package { installs: false }));
        assert_eq!(of("world"), Ok(Command::World));
        assert_eq!(of("coverage"), Ok(Command::Coverage));
        assert_eq!(of("tidy --uncited"), Ok(Command::Tidy { list: Listing::Uncited }));
        assert_eq!(of("tidy --statements"), Ok(Command::Tidy { list: Listing::Statements }));
        assert_eq!(of("serve --port 4173"), Ok(Command::Serve { port: NonZeroU16::new(4173) }));
        assert_eq!(of("serve --port=4173"), Ok(Command::Serve { port: NonZeroU16::new(4173) }));
        assert_eq!(of("semver --against HEAD"), Ok(Command::Semver { against: Some("HEAD".to_owned()) }));
        assert_eq!(of("seeded unit-tests sim"), Ok(Command::Seeded { methods: vec!["unit tests", "sim"] }));
        let quick = ["--quick", "--json", "figures.json", "round"].map(str::to_owned).to_vec();
        assert_eq!(of("bench --quick --json figures.json round"), Ok(Command::Bench(quick)));
        assert!(of("bench --fast").is_err_and(|why| why.contains("does not take `--fast`")));
        assert!(of("bench --json").is_err_and(|why| why.contains("`--json` needs a name")));
        assert!(of("seeded luck").is_err_and(|why| why.contains("unit-tests, tables") && why.contains("not `luck`")));
        assert_eq!(of("night"), Ok(Command::Night(night::Request { minutes: 480, methods: Vec::new() })));
        assert_eq!(of("night --minutes=9 sim miri"), Ok(Command::Night(night::Request { minutes: 9, methods: vec!["sim", "miri"] })));
        assert!(of("night tables").is_err_and(|why| why.contains("test, model") && why.contains("not `tables`")));
        let names = [
            "run",
            "serve",
            "test",
            "npm",
            "package",
            "tidy",
            "crosscheck",
            "crash",
            "sim",
            "model",
            "bench",
            "fuzz",
            "world",
            "coverage",
            "mutants",
            "miri",
            "deny",
            "semver",
            "seeded",
            "night",
            "proof",
        ];
        for name in names {
            let Ok(Command::Help(text)) = of(&format!("{name} --help")) else { panic!("{name} has no help") };
            assert!(text.starts_with(&format!("usage: cargo xtask {name}")), "{text}");
            assert!(USAGE.contains(&format!("\n  {name} ")), "{name} is not in the overview");
        }
    }

    #[test]
    fn the_options_of_crosscheck_are_numbers() {
        assert_eq!(of("crosscheck"), Ok(Command::Crosscheck(Random::WHOLE)));
        assert_eq!(of("crosscheck --random=5 --seed 7"), Ok(Command::Crosscheck(Random { steps: 5, seed: 7 })));
        assert!(of("crosscheck --random").is_err_and(|why| why.contains("needs a number")));
        assert!(of("crosscheck --engines all").is_err_and(|why| why.contains("does not take `--engines`")));
    }

    #[test]
    fn the_targets_of_the_fuzzer_are_known_by_name() {
        let request =
            |targets: &[&'static str], seconds, keeps| Ok(Command::Fuzz(fuzz::Request { targets: targets.to_vec(), seconds, keeps }));
        assert_eq!(of("fuzz"), request(&fuzz::TARGETS, 600, false));
        assert_eq!(of("fuzz --seconds=5 --keep facts ledger"), request(&["facts", "ledger"], 5, true));
        assert!(of("fuzz nothing").is_err_and(|why| why.contains("facts, foreign, ledger, exports, not `nothing`")));
        assert!(of("fuzz --seconds").is_err_and(|why| why.contains("needs a number")));
    }

    #[test]
    fn the_options_of_sim_are_numbers_and_a_word() {
        let options = ["--families=4", "--editions", "--days", "2"].map(str::to_owned).to_vec();
        assert_eq!(of("sim --families=4 --editions --days 2"), Ok(Command::Sim(options)));
        assert!(of("sim --days x").is_err_and(|why| why.contains("not `x`")));
        assert!(of("sim --hours 8 --histories=told").is_ok());
    }

    #[test]
    fn the_core_of_a_commit_is_compared_over_families_that_are_counted() {
        let against = |options: &[&str]| {
            let options = options.iter().map(|option| (*option).to_owned()).collect();
            Ok(Command::SimAgainst { revision: "HEAD~5".to_owned(), options })
        };
        assert_eq!(of("sim --against HEAD~5"), against(&[]));
        assert_eq!(of("sim --days 2 --against=HEAD~5 --families=4"), against(&["--days", "2", "--families=4"]));
        assert!(of("sim --against HEAD~5 --hours 8").is_err_and(|why| why.contains("does not take `--hours`")));
        assert!(of("sim --days 2 --against").is_err_and(|why| why.contains("`--against` needs a name")));
    }

    #[test]
    fn the_options_of_crash_are_numbers() {
        assert_eq!(of("crash"), Ok(Command::Crash(Vec::new())));
        let options = ["--stories=40", "--kills", "2"].map(str::to_owned).to_vec();
        assert_eq!(of("crash --stories=40 --kills 2"), Ok(Command::Crash(options)));
        for (line, named) in
            [("crash --kills", "`--kills` needs a number, not ``"), ("crash --seed x", "not `x`"), ("crash 40", "does not take `40`")]
        {
            let Err(why) = of(line) else { panic!("{line} is understood") };
            assert!(why.contains(named), "{line}: {why}");
        }
    }

    #[test]
    fn the_options_of_model_are_numbers_and_words() {
        let options = ["--json", "--shapes", "5", "--depth=3"].map(str::to_owned).to_vec();
        assert_eq!(of("model --json --shapes 5 --depth=3"), Ok(Command::Model(options)));
        assert!(of("model --write found --small hint --adversary=window").is_ok());
        assert!(of("model --adversary --json").is_err_and(|why| why.contains("`--adversary` needs a name")));
        assert!(of("model --shapes --json").is_err_and(|why| why.contains("`--shapes` needs a number")));
        assert!(of("model --large").is_err_and(|why| why.contains("does not take `--large`")));
    }

    #[test]
    fn mutants_are_asked_for_by_room_part_and_history() {
        let request = |line: &str| match of(line) {
            Ok(Command::Mutants(request)) => request,
            other => panic!("{line}: {other:?}"),
        };
        let plain = request("mutants");
        assert_eq!(
            plain,
            Request { rooms: vec!["ladder", "derive"], shard: Shard::WHOLE, which: Which::All, most: None, only_list: false }
        );
        assert_eq!(request("mutants --in machine --most=12").most, Some(12));
        assert_eq!(request("mutants --in plane,ladder --list").rooms, ["plane", "ladder"]);
        assert_eq!(request("mutants --in=derive --resume").which, Which::Untried);
        assert_eq!(request("mutants --retry --shard=2/5").which, Which::Survivors);
        assert_eq!(Some(request("mutants --shard 2/5").shard), Shard::of("2/5"));
        for (line, named) in [
            ("mutants --in", "`--in` needs some of ladder,derive,plane,machine"),
            ("mutants --in ladder,effects", "not `effects`"),
            ("mutants --most all", "`--most` needs a number, not `all`"),
            ("mutants --shard 6/5", "not `6/5`"),
            ("mutants --resume --retry", "take one"),
            ("mutants --all", "`--all`"),
        ] {
            assert!(of(line).is_err_and(|why| why.contains(named)), "{line}");
        }
    }

    #[test]
    fn a_wrong_word_is_named() {
        for (line, named) in [("", "missing"), ("fly", "`fly`"), ("run --fast", "`--fast`"), ("help fly", "`fly`")] {
            assert!(of(line).is_err_and(|why| why.contains(named)), "{line}");
        }
        for line in ["serve --port", "serve --port 0", "serve --port 65536", "serve --port x", "serve --port="] {
            assert!(of(line).is_err_and(|why| why.contains("1 to 65535")), "{line}");
        }
    }

    /// What the pages tell people to type; the host's tests read what they say of `wakeful`.
    #[test]
    fn what_the_pages_name_is_understood() {
        let mut understood = 0;
        for page in [
            "README.md",
            "CONTRIBUTING.md",
            "docs/performance.md",
            "docs/workbench.md",
            "docs/fixtures.md",
            "docs/embedding.md",
            "examples/README.md",
        ] {
            let text = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page)).expect("a page");
            for line in text.split(['\n', '`']).filter_map(|line| line.trim().strip_prefix("cargo xtask ")) {
                // Behind a `#` stands a remark, and `<command>` is any.
                let words: Vec<String> = line.split('#').next().unwrap_or_default().split_whitespace().map(str::to_owned).collect();
                if words.iter().all(|word| !word.starts_with('<')) {
                    let named = format!("{page}: cargo xtask {line}");
                    read(words.into_iter()).unwrap_or_else(|why| panic!("{named}: {why}"));
                    understood += 1;
                }
            }
        }
        assert!(understood > 30, "{understood}");
    }
}

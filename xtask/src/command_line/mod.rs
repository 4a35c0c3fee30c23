//! The commands and their help.

mod help;
pub mod options;

use std::num::NonZeroU16;

pub(crate) use help::USAGE;

use crate::{attack, crosscheck::Random, proof, soak, tidy::Listing};
use options::{numbers, unnamed};

/// One parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Build everything, then compare the engines.
    Run,
    /// Build everything, then serve the workbench; on this port, or on a free one.
    Serve { port: Option<NonZeroU16> },
    /// Build and test everything.
    Test {
        /// Whether to store the fuel that the hot paths use now.
        bless: bool,
    },
    /// Build and pack the npm package.
    Npm,
    /// Pack the crates, and install the program from them.
    Package { installs: bool },
    /// Check what no compiler checks; also list statements of the contract.
    Tidy { list: Listing },
    /// Crash processes, with the options of the program `crash`.
    Crash(Vec<String>),
    /// Simulate families of agents, with the options of the program `sim`.
    Sim(Vec<String>),
    /// Let a live agent run for a virtual month.
    Soak(soak::Request),
    /// Attack everything that is not a command's own.
    Attack(attack::Request),
    /// Run the model checker, with the options of the program `model`.
    Model(Vec<String>),
    /// Compare all engines over all cases, and over random stories.
    Crosscheck(Random),
    /// Put load on a server, with the options of the program `load`.
    Load(Vec<String>),
    /// Run agents on servers of one store, under faults, with these options.
    Fleet(Vec<String>),
    /// Simulate millions of agents, with these options.
    Scale(Vec<String>),
    /// Measure what things cost, with the options of the program `bench`.
    Bench(Vec<String>),
    /// Write the page about the component's interface.
    World,
    /// A command of the program `wakeful-proof`, with its options.
    Proof(Vec<String>),
    /// Print the help.
    Help(&'static str),
}

/// Reads the words after `cargo xtask`.
///
/// # Errors One sentence that names the word that is wrong.
pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Command, String> {
    let words: Vec<String> = words.collect();
    let (name, options) = match words.split_first() {
        None => return Err("a command is missing".to_owned()),
        Some((name, options)) => (name.as_str(), options),
    };
    if matches!(name, "help" | "--help" | "-h") {
        return match options {
            [] => Ok(Command::Help(USAGE)),
            // The other program has the help texts of its own commands.
            [of, ..] if is_of_proof(of, &[]) => {
                Ok(Command::Proof(vec![of.clone(), "--help".to_owned()]))
            }
            [of, ..] => help::text(of)
                .map(Command::Help)
                .ok_or_else(|| format!("there is no command `{of}`")),
        };
    }
    // All words go on unread, because only the other program knows these options.
    if is_of_proof(name, options) {
        return Ok(Command::Proof(words));
    }
    let help = help::text(name).ok_or_else(|| format!("there is no command `{name}`"))?;
    // Before the options are read, so that help is shown even beside a wrong option.
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
        ("crosscheck", options) => crosscheck(options),
        ("crash", options) => crash(options),
        ("sim", options) => sim(options),
        ("soak", options) => soak(options),
        ("attack", options) => attack(options),
        ("model", options) => model(options),
        ("load", options) => load(options),
        ("fleet", options) => fleet(options),
        ("scale", options) => Ok(Command::Scale(owned(options))),
        ("bench", options) => bench(options),
        ("world", []) => Ok(Command::World),
        ("tidy", []) => Ok(Command::Tidy { list: Listing::None }),
        ("tidy", ["--uncited"]) => Ok(Command::Tidy { list: Listing::Uncited }),
        ("tidy", ["--statements"]) => Ok(Command::Tidy { list: Listing::Statements }),
        ("serve", []) => Ok(Command::Serve { port: None }),
        ("serve", ["--port", port]) => port_of(port),
        ("serve", [option]) if option.starts_with("--port=") => port_of(&option["--port=".len()..]),
        // Without this arm, the message would say that `serve` does not take `--port`.
        ("serve", ["--port"]) => Err("`--port` needs a number from 1 to 65535".to_owned()),
        (_, [first, ..]) => Err(format!("`{name}` does not take `{first}` here")),
        (_, []) => Err(format!("there is no command `{name}`")),
    }
}

/// Whether this is a command of `wakeful-proof`.
fn is_of_proof(name: &str, options: &[String]) -> bool {
    let compares_versions = |option: &String| option.split('=').next() == Some("--against");
    // Only a comparison needs another core in a copy of the tree; a plain `sim` stays here.
    proof::COMMANDS.contains(&name) || (name == "sim" && options.iter().any(compares_versions))
}

fn port_of(text: &str) -> Result<Command, String> {
    let port = text
        .parse()
        .map_err(|_| format!("`--port` needs a number from 1 to 65535, not `{text}`"))?;
    Ok(Command::Serve { port: Some(port) })
}

/// The options of the other program, whose values are numbers. They are checked here, before
/// anything is built.
fn crash(options: &[&str]) -> Result<Command, String> {
    numbers("crash", &["--stories", "--kills", "--seed"], options)?;
    Ok(Command::Crash(options.iter().map(|option| (*option).to_owned()).collect()))
}

/// The options of the other program: numbers, and one flag.
fn load(options: &[&str]) -> Result<Command, String> {
    let numbered: Vec<_> = options.iter().copied().filter(|it| *it != "--counts").collect();
    let names = ["--agents", "--active", "--rate", "--seconds", "--streams", "--kills"];
    numbers("load", &names, &numbered)?;
    Ok(Command::Load(options.iter().map(|option| (*option).to_owned()).collect()))
}

/// The options of the other program: numbers, two flags, and one that names a file.
fn fleet(options: &[&str]) -> Result<Command, String> {
    let without_names = unnamed(&["--older"], options)?;
    let is_flag = |option: &&str| matches!(*option, "--patroni" | "--namespaces");
    let numbered: Vec<_> = without_names.into_iter().filter(|it| !is_flag(it)).collect();
    let names = ["--agents", "--rate", "--quiet", "--seconds", "--faults-each", "--primary-each"];
    numbers("fleet", &names, &numbered)?;
    Ok(Command::Fleet(owned(options)))
}

fn owned(options: &[&str]) -> Vec<String> {
    options.iter().map(|option| (*option).to_owned()).collect()
}

/// The options of the other program: numbers, one flag, and one that names a folder.
fn sim(options: &[&str]) -> Result<Command, String> {
    let without_names = unnamed(&["--histories"], options)?;
    let counted: Vec<_> =
        without_names.into_iter().filter(|option| *option != "--editions").collect();
    numbers("sim", &["--seed", "--families", "--days", "--minutes", "--hours"], &counted)?;
    Ok(Command::Sim(options.iter().map(|option| (*option).to_owned()).collect()))
}

/// Two numbers, and the engine.
fn soak(options: &[&str]) -> Result<Command, String> {
    let numbered = unnamed(&["--engine"], options)?;
    let mut request = soak::Request::default();
    for (name, number) in numbers("soak", &["--turns", "--seed"], &numbered)? {
        *(if name == "--turns" { &mut request.turns } else { &mut request.seed }) = number;
    }
    let mut words = options.iter().flat_map(|option| option.split('='));
    if words.any(|word| word == "--engine") {
        let engine = words.next().unwrap_or_default();
        if !matches!(engine, "native" | "wasmtime") {
            return Err(format!("`--engine` is `native` or `wasmtime`, not `{engine}`"));
        }
        request.engine = engine.to_owned();
    }
    Ok(Command::Soak(request))
}

/// One flag, and the name of a row.
fn attack(options: &[&str]) -> Result<Command, String> {
    let without_row = unnamed(&["--row"], options)?;
    if let Some(option) = without_row.iter().find(|option| **option != "--json") {
        return Err(format!("`attack` does not take `{option}` here"));
    }
    let row = options.iter().enumerate().find_map(|(at, option)| match *option {
        "--row" => options.get(at + 1).copied(),
        other => other.strip_prefix("--row="),
    });
    let json = !without_row.is_empty();
    Ok(Command::Attack(attack::Request { row: row.map(str::to_owned), json }))
}

/// The options of the other program: one flag, one that names a file, and names of groups, which
/// the other program checks.
fn bench(options: &[&str]) -> Result<Command, String> {
    let without_names = unnamed(&["--json"], options)?;
    match without_names.into_iter().find(|option| option.starts_with('-') && *option != "--quick") {
        Some(option) => Err(format!("`bench` does not take `{option}` here")),
        None => Ok(Command::Bench(options.iter().map(|option| (*option).to_owned()).collect())),
    }
}

/// The options of the other program: numbers, flags, and those that name something.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, String> {
        read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn every_command_is_understood_and_has_a_help() {
        assert_eq!(parse("run"), Ok(Command::Run));
        assert_eq!(parse("test"), Ok(Command::Test { bless: false }));
        assert_eq!(parse("test --bless"), Ok(Command::Test { bless: true }));
        assert_eq!(parse("npm"), Ok(Command::Npm));
        assert_eq!(parse("package"), Ok(Command::Package { installs: true }));
        assert_eq!(parse("package --no-install"), Ok(Command::Package { installs: false }));
        assert_eq!(parse("world"), Ok(Command::World));
        assert_eq!(parse("tidy --uncited"), Ok(Command::Tidy { list: Listing::Uncited }));
        assert_eq!(parse("tidy --statements"), Ok(Command::Tidy { list: Listing::Statements }));
        assert_eq!(parse("serve --port 4173"), Ok(Command::Serve { port: NonZeroU16::new(4173) }));
        assert_eq!(parse("serve --port=4173"), Ok(Command::Serve { port: NonZeroU16::new(4173) }));
        let quick = ["--quick", "--json", "figures.json", "round"].map(str::to_owned).to_vec();
        assert_eq!(parse("bench --quick --json figures.json round"), Ok(Command::Bench(quick)));
        assert!(parse("bench --fast").is_err_and(|why| why.contains("does not take `--fast`")));
        assert!(parse("bench --json").is_err_and(|why| why.contains("`--json` needs a name")));
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
            "soak",
            "attack",
            "model",
            "bench",
            "world",
        ];
        for name in names {
            let Ok(Command::Help(text)) = parse(&format!("{name} --help")) else {
                panic!("{name} has no help")
            };
            assert!(text.starts_with(&format!("usage: cargo xtask {name}")), "{text}");
            assert!(USAGE.contains(&format!("\n  {name} ")), "{name} is not in the overview");
        }
    }

    #[test]
    fn what_proves_things_goes_to_its_own_program_as_it_is() {
        let words =
            |line: &str| Ok(Command::Proof(line.split_whitespace().map(str::to_owned).collect()));
        for line in [
            "mutants --in plane --list",
            "night --help",
            "sim --days 2 --against HEAD~5",
            "sim --against=HEAD~5 --help",
        ] {
            assert_eq!(parse(line), words(line));
        }
        assert_eq!(parse("help fuzz"), words("fuzz --help"));
        for name in proof::COMMANDS {
            assert_eq!(parse(name), words(name));
            assert!(USAGE.contains(&format!("\n  {name} ")), "{name} is not in the overview");
        }
    }

    #[test]
    fn the_options_of_crosscheck_are_numbers() {
        assert_eq!(parse("crosscheck"), Ok(Command::Crosscheck(Random::WHOLE)));
        assert_eq!(
            parse("crosscheck --random=5 --seed 7"),
            Ok(Command::Crosscheck(Random { steps: 5, seed: 7 }))
        );
        assert!(parse("crosscheck --random").is_err_and(|why| why.contains("needs a number")));
        assert!(
            parse("crosscheck --engines all")
                .is_err_and(|why| why.contains("does not take `--engines`"))
        );
    }

    #[test]
    fn the_options_of_sim_are_numbers_and_a_word() {
        let options = ["--families=4", "--editions", "--days", "2"].map(str::to_owned).to_vec();
        assert_eq!(parse("sim --families=4 --editions --days 2"), Ok(Command::Sim(options)));
        assert!(parse("sim --days x").is_err_and(|why| why.contains("not `x`")));
        assert!(parse("sim --hours 8 --histories=told").is_ok());
    }

    #[test]
    fn the_options_of_soak_are_numbers_and_an_engine() {
        let soak = |turns, seed, engine: &str| {
            Ok(Command::Soak(soak::Request { turns, seed, engine: engine.to_owned() }))
        };
        assert_eq!(parse("soak"), soak(10_000, 1, "native"));
        assert_eq!(parse("soak --turns 5 --engine wasmtime --seed=7"), soak(5, 7, "wasmtime"));
        assert_eq!(parse("soak --engine=native"), soak(10_000, 1, "native"));
        for (line, named) in [
            ("soak --turns x", "not `x`"),
            ("soak --engine", "`--engine` needs a name"),
            ("soak --engine node", "not `node`"),
            ("soak --days 3", "does not take `--days`"),
        ] {
            assert!(parse(line).is_err_and(|why| why.contains(named)), "{line}");
        }
    }

    #[test]
    fn the_options_of_attack_are_a_row_and_a_word() {
        let attack = |row: Option<&str>, json| {
            let row = row.map(str::to_owned);
            Ok(Command::Attack(attack::Request { row, json }))
        };
        assert_eq!(parse("attack"), attack(None, false));
        assert_eq!(parse("attack --json"), attack(None, true));
        assert_eq!(parse("attack --json --row=x"), attack(Some("x"), true));
        let words = ["attack", "--row", "reads the ledger"].map(str::to_owned);
        assert_eq!(read(words.into_iter()), attack(Some("reads the ledger"), false));
        for (line, named) in [
            ("attack --row", "`--row` needs a name"),
            ("attack --row --json", "`--row` needs a name"),
            ("attack --fast", "does not take `--fast`"),
        ] {
            assert!(parse(line).is_err_and(|why| why.contains(named)), "{line}");
        }
    }

    #[test]
    fn the_options_of_load_are_numbers_and_a_flag() {
        let options = ["--counts", "--kills", "2"].map(str::to_owned).to_vec();
        assert_eq!(parse("load --counts --kills 2"), Ok(Command::Load(options)));
        assert!(parse("load --kills x").is_err_and(|why| why.contains("not `x`")));
        assert!(parse("load --fast").is_err());
        assert_eq!(parse("fleet"), Ok(Command::Fleet(Vec::new())));
        let options = vec!["--patroni".to_owned(), "--agents".to_owned(), "9".to_owned()];
        assert_eq!(parse("fleet --patroni --agents 9"), Ok(Command::Fleet(options)));
        assert!(parse("fleet --agents x").is_err_and(|why| why.contains("not `x`")));
    }

    #[test]
    fn the_options_of_crash_are_numbers() {
        assert_eq!(parse("crash"), Ok(Command::Crash(Vec::new())));
        let options = ["--stories=40", "--kills", "2"].map(str::to_owned).to_vec();
        assert_eq!(parse("crash --stories=40 --kills 2"), Ok(Command::Crash(options)));
        for (line, named) in [
            ("crash --kills", "`--kills` needs a number, not ``"),
            ("crash --seed x", "not `x`"),
            ("crash 40", "does not take `40`"),
        ] {
            let Err(why) = parse(line) else { panic!("{line} is understood") };
            assert!(why.contains(named), "{line}: {why}");
        }
    }

    #[test]
    fn the_options_of_model_are_numbers_and_words() {
        let options = ["--json", "--shapes", "5", "--depth=3"].map(str::to_owned).to_vec();
        assert_eq!(parse("model --json --shapes 5 --depth=3"), Ok(Command::Model(options)));
        assert!(parse("model --write found --small hint --adversary=window").is_ok());
        assert!(
            parse("model --adversary --json")
                .is_err_and(|why| why.contains("`--adversary` needs a name"))
        );
        assert!(
            parse("model --shapes --json")
                .is_err_and(|why| why.contains("`--shapes` needs a number"))
        );
        assert!(parse("model --large").is_err_and(|why| why.contains("does not take `--large`")));
    }

    #[test]
    fn a_wrong_word_is_named() {
        for (line, named) in
            [("", "missing"), ("fly", "`fly`"), ("run --fast", "`--fast`"), ("help fly", "`fly`")]
        {
            assert!(parse(line).is_err_and(|why| why.contains(named)), "{line}");
        }
        for line in [
            "serve --port",
            "serve --port 0",
            "serve --port 65536",
            "serve --port x",
            "serve --port=",
        ] {
            assert!(parse(line).is_err_and(|why| why.contains("1 to 65535")), "{line}");
        }
    }

    /// The `cargo xtask` commands on the pages. Tests of the command line read the `wakeful`
    /// commands.
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
            let text = std::fs::read_to_string(
                std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page),
            )
            .expect("a page");
            for line in
                text.split(['\n', '`']).filter_map(|line| line.trim().strip_prefix("cargo xtask "))
            {
                // A `#` begins a remark, and `<command>` is a placeholder.
                let words: Vec<String> = line
                    .split('#')
                    .next()
                    .unwrap_or_default()
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect();
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

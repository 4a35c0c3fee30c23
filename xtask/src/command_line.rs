//! The commands and their help. Commands whose options another program reads are in [`forward`].

use std::num::NonZeroU16;

use clap::{CommandFactory, Parser, Subcommand, error::ErrorKind};

use crate::{attack, crosscheck, forward, soak, test, tidy};

/// The exit codes, which all commands share.
const EXIT: &str = "\
exit code: 0 success, 1 a failure or a difference, 2 a wrong command line, 3 a tool is missing";

/// The commands by what they are for. A test checks that each command is in one group.
const GROUPS: [(&str, &[&str]); 4] = [
    ("every day", &["run", "serve", "test", "tidy"]),
    ("packages", &["npm", "package"]),
    (
        "longer checks",
        &[
            "crosscheck",
            "crash",
            "sim",
            "soak",
            "attack",
            "model",
            "load",
            "fleet",
            "scale",
            "bench",
            "fuzz",
            "coverage",
            "mutants",
            "miri",
            "deny",
            "semver",
            "seeded",
            "busy",
            "night",
        ],
    ),
    ("generated pages", &["proof"]),
];

/// Build, run and test Wakeful.
#[derive(Debug, Parser)]
#[command(
    name = "xtask",
    bin_name = "cargo xtask",
    help_template = "{about-with-newline}\n{usage-heading} {usage}\n{after-help}",
    disable_help_subcommand = true,
    subcommand_value_name = "COMMAND"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// One parsed command line.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Command {
    /// Play a first story and the fixtures, build everything, and compare the engines
    ///
    /// It works in a clean clone with rustup, a C compiler and Node 20 or newer.
    ///
    /// First it builds the core alone, plays one story and replays the fixtures with it, and prints
    /// each decision with the rule that fired. Then it adds the wasm targets if they are missing,
    /// and builds the tools, the guests and the native host. Finally it plays every story, fixture
    /// folder and scenario natively, in wasmtime, and in Node with the browser's module, and
    /// compares their traces. The last line is `N cases, N steps, 3 engines, N differences`.
    Run,
    /// Build everything, and serve the workbench on a local port
    ///
    /// Builds the guests, the native host and the workbench, records the traces that the workbench
    /// shows, and serves it on 127.0.0.1 until Ctrl-C.
    Serve {
        /// Serve on this port; by default the system selects a free one
        #[arg(long, value_name = "N")]
        port: Option<NonZeroU16>,
    },
    /// Run the checks and tests, with a table of times and counts
    Test(test::Options),
    /// Check what no compiler checks: layers, words, widths, names, citations
    Tidy(tidy::Options),
    /// Build and pack the npm package, and print its size
    ///
    /// Builds the web module and the npm package over it (npm/), and packs it as
    /// target/npm/wakeful-scheduler-VERSION.tgz; its content is in target/npm/package. Prints the
    /// sizes of the module, of its glue code and of the tarball.
    Npm,
    /// Pack the crates, install the program from them, and use it
    ///
    /// Packs the published crates into target/package/package as a registry would hand them out;
    /// the host carries the built guest and its world. Checks each, then installs the program from
    /// the unpacked crates into a folder outside of the tree, and lets it explain a story natively
    /// and in its sandbox. The crates are packed in target/package/tree, a copy in which the host's
    /// folder holds its guest. A release is published from there (CONTRIBUTING.md).
    Package {
        /// Only pack and check; compiling the installed program takes minutes
        #[arg(long)]
        no_install: bool,
    },
    /// Compare all engines, also Chromium and Python, over cases and random stories
    Crosscheck(crosscheck::Random),
    /// Run a live agent for a virtual month against a server with random quirks
    Soak(soak::Request),
    /// Let commands attack what is not theirs, without a wall and behind it
    Attack(attack::Request),
    /// Run the native tests three times beside four busy processes
    ///
    /// A test that depends on the speed of the machine fails there.
    Busy,
    /// A command whose options another program reads.
    #[command(external_subcommand)]
    Forwarded(Vec<String>),
}

/// Reads the words after `cargo xtask`.
///
/// # Errors
/// What to print: the help, or what is wrong.
pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Command, clap::Error> {
    let mut words: Vec<String> = words.collect();
    // `help NAME` is `NAME --help`, also for what another program reads.
    if words.first().is_some_and(|word| word == "help") {
        words.remove(0);
        words.push("--help".to_owned());
    }
    let mut cli = Cli::command().after_help(overview());
    for part in cli.get_subcommands_mut() {
        *part = part.clone().after_help(EXIT);
    }
    let matches = cli.clone().try_get_matches_from([vec!["xtask".to_owned()], words].concat())?;
    let command = <Cli as clap::FromArgMatches>::from_arg_matches(&matches)?.command;
    match &command {
        Command::Forwarded(words) if words.first().is_none_or(|name| !forward::knows(name)) => {
            let name = words.first().map_or("", String::as_str);
            let why = format!("there is no command `{name}`; `cargo xtask --help` lists them");
            Err(cli.error(ErrorKind::InvalidSubcommand, why))
        }
        _ => Ok(command),
    }
}

/// A line per command, in groups.
fn overview() -> String {
    let own = Cli::command();
    let does = |name: &str| {
        let about = own.find_subcommand(name).and_then(|own| own.get_about());
        let about = about.map(ToString::to_string);
        about.or_else(|| forward::does(name).map(str::to_owned)).unwrap_or_default()
    };
    let group = |(title, names): &(&str, &[&str])| {
        let lines = names.iter().map(|name| format!("  {name:<11} {}\n", does(name)));
        format!("\n{title}:\n{}", lines.collect::<String>())
    };
    let groups: String = GROUPS.iter().map(group).collect();
    format!("{groups}\n`cargo xtask COMMAND --help` says more.\n\n{EXIT}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn parse(line: &str) -> Result<Command, clap::Error> {
        read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn each_command_is_in_one_group_and_says_what_it_does() {
        let own = Cli::command();
        let own = own.get_subcommands().map(|own| own.get_name().to_owned());
        for name in own.chain(forward::names().map(str::to_owned)) {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name.as_str())).count();
            assert_eq!(groups, 1, "{name}");
        }
        let text = overview();
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            let line = text.lines().find(|line| line.split_whitespace().next() == Some(name));
            assert!(line.is_some_and(|line| line.split_whitespace().count() > 3), "{name}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn help_and_a_wrong_word_are_told_apart() {
        for line in ["--help", "run --help", "help run", "test --help"] {
            let told = parse(line).expect_err("a text");
            assert_eq!((told.exit_code(), told.use_stderr()), (0, false), "{line}");
        }
        assert!(parse("--help").expect_err("a text").to_string().contains("  mutants "));
        for (line, named) in [
            ("", "Usage"),
            ("fly", "no command `fly`"),
            ("run --fast", "--fast"),
            ("serve --port 0", "--port"),
            ("soak --engine pulley", "pulley"),
        ] {
            let told = parse(line).expect_err("it is wrong");
            assert_eq!(told.exit_code(), 2, "{line}");
            assert!(told.to_string().contains(named), "{line}: {told}");
        }
    }

    #[test]
    fn what_another_program_reads_goes_on_as_it_is() {
        for line in ["mutants --in plane -- --list", "sim --days 2 --against HEAD~5", "load"] {
            let words = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(parse(line).expect("it is forwarded"), Command::Forwarded(words));
        }
        let words = ["fuzz", "--help"].map(str::to_owned).to_vec();
        assert_eq!(parse("help fuzz").expect("it is forwarded"), Command::Forwarded(words));
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
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page);
            let text = std::fs::read_to_string(file).expect("a page");
            for line in
                text.split(['\n', '`']).filter_map(|line| line.trim().strip_prefix("cargo xtask "))
            {
                // A `#` begins a remark, and `<command>` is a placeholder.
                let words: Vec<&str> =
                    line.split('#').next().unwrap_or_default().split_whitespace().collect();
                if words.iter().all(|word| !word.starts_with('<')) {
                    parse(&words.join(" "))
                        .unwrap_or_else(|why| panic!("{page}: cargo xtask {line}: {why}"));
                    understood += 1;
                }
            }
        }
        assert!(understood > 30, "{understood}");
    }
}

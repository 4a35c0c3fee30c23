//! Shares of longer checks, with the programs that are built for tests.

use crate::{
    call::{Call, Failure},
    paths::{Paths, program},
};

/// A twentieth of `cargo xtask crash`.
pub(crate) fn crash(paths: &Paths) -> Result<(), Failure> {
    let options = ["--stories", "500", "--kills", "10"];
    run(paths, "crash", &options, "a death changed what came of a story")
}

/// A twentieth of `cargo xtask model`.
pub(crate) fn model(paths: &Paths) -> Result<(), Failure> {
    run(paths, "model", &["--shapes", "50000"], "a batch is broken, or a state reaches no rest")
}

/// A small part of `cargo xtask load`. It judges counts only, because other things run beside it.
pub(crate) fn load(paths: &Paths) -> Result<(), Failure> {
    let size = ["--agents", "300", "--active", "30", "--rate", "100", "--seconds", "5"];
    let options = [&size[..], &["--counts", "--streams", "60", "--kills", "8"]].concat();
    over_server(paths, "load", &options, "the server lost, doubled or refused something")
}

/// A small part of `cargo xtask fleet`.
pub(crate) fn fleet(paths: &Paths) -> Result<(), Failure> {
    let size = ["--agents", "40", "--rate", "20", "--quiet", "5", "--seconds", "50"];
    let options = [&size[..], &["--faults-each", "14", "--primary-each", "20"]].concat();
    over_server(paths, "fleet", &options, "the fleet lost, doubled or ran something in vain")
}

fn over_server(
    paths: &Paths,
    name: &'static str,
    options: &[&str],
    wrong: &str,
) -> Result<(), Failure> {
    let wakeful = paths.wakeful().display().to_string();
    run(paths, name, &[&["--program", wakeful.as_str()], options].concat(), wrong)
}

/// `wrong` says what it means if the program fails.
fn run(paths: &Paths, name: &'static str, options: &[&str], wrong: &str) -> Result<(), Failure> {
    let file = paths.target().join("debug").join(program(name));
    let (status, printed) = Call::new(paths, name, file).args(options).told()?;
    if status.success() { Ok(()) } else { Err(Failure { what: wrong.to_owned(), printed }) }
}

//! Python with wasmtime's package, in target/python: the cross-check's Python engine, the example
//! and the lying hosts use it. Other programs of Python have environments of their own beside it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    call::{Call, Failure},
    paths::Paths,
};

/// Makes the environment, unless it was made for the same requirements.
pub(crate) fn set_up(paths: &Paths) -> Result<(), Failure> {
    environment(paths, "python", PYTHON, "wasm/python/requirements.txt")
}

/// Python, as the path has it.
const PYTHON: &str = "python3";

/// Python of the system, which each user can run.
const OF_ALL_USERS: &str = "/usr/bin/python3";

/// Makes an environment of this Python in target/`name` with these requirements, unless it was made
/// for the same.
fn environment(
    paths: &Paths,
    name: &str,
    python: &'static str,
    requirements: &str,
) -> Result<(), Failure> {
    let requirements = paths.at(requirements);
    let wanted = fs::read_to_string(&requirements)
        .map_err(|why| Failure::new(format!("cannot read {}: {why}", requirements.display())))?;
    let folder = paths.target().join(name);
    let made_for = folder.join("requirements.txt");
    if fs::read_to_string(&made_for).is_ok_and(|then| then == wanted) {
        return Ok(());
    }
    let how = |failure: Failure| Failure {
        what: format!(
            "{}; install Python 3.10 or newer with venv (Debian: apt-get install python3-venv)",
            failure.what
        ),
        ..failure
    };
    Call::new(paths, &format!("{name}-venv"), python)
        // An interrupted run or older requirements may have left packages there.
        .args(["-m", "venv", "--clear"])
        .arg(&folder)
        .build()
        .map_err(how)?;
    Call::new(paths, &format!("{name}-pip"), program(&folder))
        .args(["-m", "pip", "install", "--quiet", "--requirement"])
        .arg(&requirements)
        .build()?;
    // Last, so that an interrupted installation is repeated.
    fs::write(&made_for, wanted)
        .map_err(|why| Failure::new(format!("cannot write {}: {why}", made_for.display())))
}

/// The examples of each operation that Schemathesis tries in every test run.
const EXAMPLES: &str = "10";

/// Tries the server with clients that nobody here wrote. Prints what they did.
pub(crate) fn server_clients(paths: &Paths) -> Result<(), Failure> {
    environment(paths, "python-server", PYTHON, "serve/clients/requirements.txt")?;
    let printed =
        Call::new(paths, "server-clients", program(&paths.target().join("python-server")))
            .arg(paths.at("serve/clients/check.py"))
            .arg(paths.wakeful())
            .arg(EXAMPLES)
            .answer()?;
    anstream::eprint!("{printed}");
    Ok(())
}

/// Installs Patroni, and returns its program, which the user of PostgreSQL must be able to run.
pub(crate) fn patroni(paths: &Paths) -> Result<PathBuf, Failure> {
    let python = if Path::new(OF_ALL_USERS).is_file() { OF_ALL_USERS } else { PYTHON };
    environment(paths, "patroni", python, "tests/src/fleet/requirements.txt")?;
    Ok(program(&paths.target().join("patroni")).with_file_name("patroni"))
}

/// Runs the example twice over one ledger. The second process continues where the first one ended.
pub(crate) fn example(paths: &Paths) -> Result<(), Failure> {
    set_up(paths)?;
    let ledger = paths.target().join("python-example.ledger");
    // With the ledger of an earlier run, the first process would continue that story.
    if ledger.exists() {
        fs::remove_file(&ledger)
            .map_err(|why| Failure::new(format!("cannot remove {}: {why}", ledger.display())))?;
    }
    for turn in ["turn 1", "turn 2"] {
        let call = Call::new(paths, "python-example", program(&paths.target().join("python")))
            .arg(paths.at("examples/python/agent.py"));
        let printed = call
            .arg(paths.guest().join("wakeful.component.wasm"))
            .arg(&ledger)
            .arg("check the build")
            .answer()?;
        // The second process replays the interrupted run of the first, so it begins with the same
        // message.
        let expected = [
            "turn started for: check the build".to_owned(),
            "StartModelTurn (OperatorPrompt)".to_owned(),
            format!("Working: {turn} on message"),
        ];
        if let Some(missing) = expected.iter().find(|line| !printed.contains(line.as_str())) {
            return Err(Failure {
                what: format!("examples/python does not print `{missing}`"),
                printed,
            });
        }
    }
    Ok(())
}

/// The call that runs the tests of lying hosts. Call `set_up` first.
pub(crate) fn hostile(paths: &Paths) -> Call {
    let call = Call::new(paths, "python-hostile", program(&paths.target().join("python")))
        .arg(paths.at("wasm/python/hostile.py"));
    call.arg(paths.guest().join("wakeful.component.wasm"))
}

/// The metadata of the packages that are installed, without what Python itself brings to install
/// them.
pub fn packages(paths: &Paths) -> Result<Vec<PathBuf>, Failure> {
    set_up(paths)?;
    let lists = "import importlib.metadata as m\nfor d in m.distributions():\n  if d.metadata['Name'] not in ('pip', 'setuptools'): print(d.locate_file(d._path / 'METADATA'))";
    let listed = Call::new(paths, "python-packages", program(&paths.target().join("python")))
        .args(["-c", lists])
        .answer()?;
    Ok(listed.lines().map(PathBuf::from).collect())
}

fn program(folder: &Path) -> PathBuf {
    folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

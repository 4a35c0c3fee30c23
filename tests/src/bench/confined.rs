//! What the wall around commands costs, beside the same command without it.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use wakeful_agent::{
    command::{Limits, Running, Spec},
    confine::{Confinement, Policy, Redactor, Surroundings, Wall, Workspace},
};

use super::{Depth, Figure, commands::wakeful, measure::elapsed};

/// What the wall may add to a command, in nanoseconds.
const MOST: f64 = 20e6;

/// Commands in a turn.
const COMMANDS: u64 = 20;

/// Figures.
pub(super) fn figures(depth: Depth) -> Vec<Figure> {
    let folder = tempfile::tempdir().expect("a folder");
    let (work, scratch) = (folder.path().join("work"), folder.path().join("scratch"));
    [&work, &scratch].into_iter().try_for_each(fs::create_dir).expect("folders");
    let around = Surroundings {
        wall: Wall::Bubblewrap,
        launcher: wakeful(),
        home: None,
        scratch,
        output: folder.path().to_owned(),
        also_read: Vec::new(),
        also_write: Vec::new(),
    };
    let workspace = Workspace::new(&work).expect("it is there");
    let bubblewrap = Confinement::new(Policy::default(), workspace, &around)
        .unwrap_or_else(|why| panic!("the bench needs bubblewrap: {why}"));
    let output = folder.path().join("output");
    let [walled, bare] = elapsed(
        depth.turns(),
        [
            Box::new(|| (0..COMMANDS).map(|_| run(&work, &output, Some(&bubblewrap))).sum()),
            // Not our own command without the wall: it looks through all processes for those that
            // were left behind, which takes longer than the wall.
            Box::new(|| (0..COMMANDS).map(|_| bare(&work)).sum()),
        ],
    );
    vec![
        Figure::new("a command behind bubblewrap", walled, "the same bare", bare),
        // A difference of the two could be negative on a noisy machine, and would say nothing then.
        Figure::new("a command behind bubblewrap", walled, "the same bare and 20 ms", bare + MOST)
            .within(1.0),
    ]
}

/// Runs the same command with nothing around it.
fn bare(work: &Path) -> u64 {
    let mut command = Command::new("sh");
    command.args(["-c", "true"]).current_dir(work).stdout(Stdio::null());
    assert!(command.status().expect("it starts").success());
    1
}

/// Runs a command to its end.
fn run(work: &Path, output: &Path, confinement: Option<&Confinement>) -> u64 {
    let spec = Spec {
        cmd: "true".to_owned(),
        workdir: work.to_owned(),
        shell: Some("sh".to_owned()),
        login: false,
        tty: false,
        accepts_input: false,
        environment: confinement
            .map(|confinement| confinement.environment(std::env::vars_os()))
            .unwrap_or_default(),
        mark: "bench".to_owned(),
        redactor: Arc::new(Redactor::default()),
    };
    // Each command creates its own file.
    drop(fs::remove_file(output));
    let running =
        Running::start(&spec, &Limits::default(), confinement, output).expect("it starts");
    let exit = running.wait(Duration::from_mins(1)).expect("it ends");
    assert!(exit.is_success(), "{exit:?}: {}", running.stderr().text);
    1
}

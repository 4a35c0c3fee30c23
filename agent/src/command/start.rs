//! Starting the process of a command.

use std::{
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Condvar, Mutex, mpsc},
    thread,
    time::Instant,
};

use rustix::{
    event::{EventfdFlags, eventfd},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    process::{Pid, PidfdFlags, pidfd_open},
};

use super::{
    Input, Kept, Limits, MARK, Running, STREAM_BYTES, Shared, Spec, State,
    disk::Disk,
    family::Family,
    keeper,
    output::OutputFile,
    tend::{Output, Streams, Tended, Tender},
};
use crate::confine::{self, Confinement};

/// The size of a terminal.
const LINES: u16 = 24;
const COLUMNS: u16 = 80;

/// Why a command cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The folder does not exist.
    #[error("cannot run in `{}`: it is not a folder; name one that exists", .0.display())]
    NoFolder(PathBuf),
    /// The output file cannot be created.
    #[error("cannot create the output file `{}`: {why}", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// There is no free terminal.
    #[error("cannot open a terminal: {0}; run the command without `tty`")]
    Terminal(io::Error),
    /// The program cannot be started.
    #[error("cannot start `{program}`: {why}")]
    Spawn {
        /// The name of the program.
        program: String,
        /// The system's error.
        why: io::Error,
    },
    /// The host has no more threads or open files for it.
    #[error("cannot supervise another command: {0}; stop some, or raise the limits of the host")]
    Exhausted(io::Error),
}

impl Running {
    /// Starts a command, confined or with the rights of the host. Its output goes to a new file at
    /// `output`.
    ///
    /// # Errors
    /// If it cannot be started. Nothing of it runs then.
    pub fn start(
        spec: &Spec,
        limits: &Limits,
        confinement: Option<&Confinement>,
        output: &Path,
    ) -> Result<Self, StartError> {
        if !spec.workdir.is_dir() {
            return Err(StartError::NoFolder(spec.workdir.clone()));
        }
        let file = OutputFile::create(output, limits.output_bytes)
            .map_err(|why| StartError::Output { path: output.to_owned(), why })?;
        let waker = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|why| StartError::Exhausted(why.into()))?;
        // The thread comes first: if it cannot be created, no process is running without one.
        let (hand_over, handed_over) = mpsc::channel::<Tender>();
        let tending = thread::Builder::new().name("command".to_owned());
        tending
            .spawn(move || handed_over.recv().map(Tender::run))
            .map_err(StartError::Exhausted)?;

        let (mut child, streams) =
            if spec.tty { on_a_terminal(spec, confinement)? } else { on_pipes(spec, confinement)? };
        let started = Instant::now();
        let leader = Pid::from_child(&child);
        let handle = pidfd_open(leader, PidfdFlags::empty())
            .map_err(|why| given_up(&mut child, why.into()))?;
        let shared = Arc::new(Shared {
            waker,
            output: output.to_owned(),
            state: Mutex::new(State {
                input: if spec.accepts_input { Input::open() } else { Input::NotAccepted },
                stops: 0,
                stdout: Kept::new(STREAM_BYTES),
                stderr: Kept::new(STREAM_BYTES),
                exit: None,
                listeners: Vec::new(),
            }),
            ended: Condvar::new(),
        });
        let family = match confinement {
            Some(confinement) if confinement.has_namespaces() => Family::in_namespaces(leader),
            _ => Family::marked(leader, spec.mark.clone()),
        };
        let folders = match confinement {
            Some(confinement) => [confinement.workspace().root(), confinement.scratch()].to_vec(),
            None => vec![spec.workdir.as_path()],
        };
        let disk = Disk::of(folders.into_iter().map(Path::to_owned).collect(), started);
        let output = Output::new(file, &spec.redactor);
        let tender = Tender::new(
            Tended { child, handle, family, disk, started },
            streams,
            output,
            *limits,
            Arc::clone(&shared),
        );
        hand_over.send(tender).expect("the thread waits for it");
        Ok(Self { shared })
    }
}

/// Starts it on a terminal of its own, in a session of its own.
fn on_a_terminal(
    spec: &Spec,
    confinement: Option<&Confinement>,
) -> Result<(Child, Streams), StartError> {
    let failed = |why| StartError::Terminal(io_error(why));
    let (ours, theirs) = pty_process::blocking::open().map_err(failed)?;
    ours.resize(pty_process::Size::new(LINES, COLUMNS)).map_err(failed)?;
    let output = never_blocking(OwnedFd::from(ours)).map_err(StartError::Terminal)?;
    let input =
        spec.accepts_input.then(|| output.try_clone()).transpose().map_err(StartError::Terminal)?;
    let (program, command, inherited) = command(spec, confinement);
    let child = keeper::spawn(move || {
        let child = pty_process::blocking::Command::from(command).spawn(theirs).map_err(io_error);
        drop(inherited);
        child
    });
    let child = child.map_err(|why| StartError::Spawn { program, why })?;
    Ok((child, Streams { stdout: Some(output), stderr: None, input, is_terminal: true }))
}

fn io_error(why: pty_process::Error) -> io::Error {
    match why {
        pty_process::Error::Io(why) => why,
        pty_process::Error::Rustix(why) => why.into(),
    }
}

/// Starts it on pipes, in a process group of its own.
fn on_pipes(
    spec: &Spec,
    confinement: Option<&Confinement>,
) -> Result<(Child, Streams), StartError> {
    let (program, mut command, inherited) = command(spec, confinement);
    command.stdin(if spec.accepts_input { Stdio::piped() } else { Stdio::null() });
    // A group of its own, so that one signal reaches all of it and never the host.
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = keeper::spawn(move || {
        let child = command.spawn();
        drop(inherited);
        child
    });
    let mut child = child.map_err(|why| StartError::Spawn { program, why })?;
    let (stdout, stderr, input) = (child.stdout.take(), child.stderr.take(), child.stdin.take());
    let [stdout, stderr, input] =
        [stdout.map(OwnedFd::from), stderr.map(OwnedFd::from), input.map(OwnedFd::from)]
            .map(|stream| stream.map(never_blocking).transpose());
    let streams =
        || Ok(Streams { stdout: stdout?, stderr: stderr?, input: input?, is_terminal: false });
    let streams = streams().map_err(|why| given_up(&mut child, why))?;
    Ok((child, streams))
}

/// Ends a process that cannot be supervised.
fn given_up(child: &mut Child, why: io::Error) -> StartError {
    // If the process has ended already, there is nothing to kill. The caller needs the first error.
    let _ended = child.kill().and_then(|()| child.wait());
    StartError::Exhausted(why)
}

/// The shell with the command line, folder and environment. Also returns the name of the program
/// that is started, for errors, and what must stay open until then.
fn command(
    spec: &Spec,
    confinement: Option<&Confinement>,
) -> (String, Command, confine::Inherited) {
    let (mut command, inherited) = confine::command(
        confinement,
        spec.shell.as_deref().unwrap_or_else(|| default_shell()),
        spec.tty,
    );
    // A shell that may not read the profile would print an error each time.
    if spec.login && confinement.is_none_or(Confinement::shows_home) {
        command.arg("-l");
    }
    command
        .args(["-c", &spec.cmd])
        .current_dir(&spec.workdir)
        // `environment` is all that the command may see: the host's own variables can hold keys.
        .env_clear()
        .envs(&spec.environment)
        .env(MARK, &spec.mark);
    (command.get_program().to_string_lossy().into_owned(), command, inherited)
}

fn default_shell() -> &'static str {
    // Named by paths that commands cannot replace.
    ["/bin/bash", "/usr/bin/bash"]
        .into_iter()
        .find(|path| Path::new(path).is_file())
        .unwrap_or("/bin/sh")
}

/// Makes the reads and writes of a stream non-blocking.
fn never_blocking(stream: OwnedFd) -> io::Result<OwnedFd> {
    let flags = fcntl_getfl(&stream)?;
    fcntl_setfl(&stream, flags | OFlags::NONBLOCK)?;
    Ok(stream)
}

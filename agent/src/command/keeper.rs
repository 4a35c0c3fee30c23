//! The thread that starts commands.
//!
//! bubblewrap ends a command when the thread that started it ends. The threads of turns come and
//! go, so one that lives as long as the host starts all commands.

use std::{
    io,
    process::Child,
    sync::{
        OnceLock,
        mpsc::{self, Sender},
    },
    thread,
};

type Job = Box<dyn FnOnce() + Send>;

static KEEPER: OnceLock<Sender<Job>> = OnceLock::new();

/// Starts a process on the keeping thread.
pub(super) fn spawn(
    start: impl FnOnce() -> io::Result<Child> + Send + 'static,
) -> io::Result<Child> {
    let (answer, answered) = mpsc::channel();
    let job: Job = Box::new(move || drop(answer.send(start())));
    let gone = || io::Error::other("the thread that starts commands has ended");
    KEEPER.get_or_init(begun).send(job).map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}

fn begun() -> Sender<Job> {
    let (sender, jobs) = mpsc::channel::<Job>();
    // Without the thread, its receiver is dropped, and each start reports that.
    let _started = thread::Builder::new()
        .name("commands".to_owned())
        .spawn(move || jobs.into_iter().for_each(|job| job()));
    sender
}

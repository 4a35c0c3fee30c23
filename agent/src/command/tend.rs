//! The thread that tends a command, from its start until nothing of it is left.
//!
//! It waits in one `poll` for everything: output, room for input, the end of the command's own
//! process, a request of a caller, and the next deadline. Only leftover processes are polled for in
//! intervals: they are not children of the host, so it cannot wait for them.

use std::{
    borrow::Cow,
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::ExitStatusExt,
    },
    process::Child,
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, read, write},
    process::Signal,
    termios::{SpecialCodeIndex, tcgetattr},
};

use super::{Cause, Exit, Input, Limits, Shared, disk::Disk, family::Family, output::OutputFile};
use crate::confine::{RedactedStream, Redactor};

/// Bytes per read.
const CHUNK: usize = 64 * 1024;

/// The grace period of processes that outlived their command, and the pause between two checks for
/// them.
const LEFTOVER_GRACE: Duration = Duration::from_millis(500);
const LEFTOVER_PAUSE: Duration = Duration::from_millis(10);

/// How long to wait for output after the last visible process has ended, if something still holds
/// the streams open.
const DRAIN: Duration = Duration::from_millis(250);

/// The command's own process.
pub(super) struct Tended {
    pub(super) child: Child,
    /// A pidfd: readable when the process has ended.
    pub(super) handle: OwnedFd,
    pub(super) family: Family,
    pub(super) disk: Disk,
    pub(super) started: Instant,
}

/// The host's ends of the streams, all non-blocking. On a terminal all three are the same, and its
/// output arrives as stdout.
pub(super) struct Streams {
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
    pub(super) input: Option<OwnedFd>,
    pub(super) is_terminal: bool,
}

/// The destination of the output, without secrets.
pub(super) struct Output {
    file: OutputFile,
    stdout: RedactedStream,
    stderr: RedactedStream,
}

impl Output {
    pub(super) fn new(file: OutputFile, redactor: &Arc<Redactor>) -> Self {
        let stream = || RedactedStream::new(Arc::clone(redactor));
        Self { file, stdout: stream(), stderr: stream() }
    }

    /// Stores a piece of one of the streams; `None` if that stream has ended.
    fn keep(&mut self, is_stderr: bool, piece: Option<&[u8]>, shared: &Shared) {
        let stream = if is_stderr { &mut self.stderr } else { &mut self.stdout };
        let clean = match piece {
            Some(piece) => stream.next(piece),
            None => Cow::Owned(stream.rest()),
        };
        self.file.append(&clean);
        let mut state = shared.state();
        let kept = if is_stderr { &mut state.stderr } else { &mut state.stdout };
        kept.add(&clean);
    }
}

/// The phase of a command.
enum Phase {
    /// Its own process is alive.
    Runs,
    /// Its own process has ended, but others may be alive.
    Leaves { told: bool },
    /// No visible process is alive; remaining output is read until then.
    Drains { until: Instant },
}

pub(super) struct Tender {
    tended: Tended,
    streams: Streams,
    output: Output,
    limits: Limits,
    shared: Arc<Shared>,
    phase: Phase,
    cause: Cause,
    /// When its own process ended.
    ended: Option<Instant>,
    /// When processes that are still alive are killed.
    kill_at: Option<Instant>,
}

impl Tender {
    pub(super) fn new(
        tended: Tended,
        streams: Streams,
        output: Output,
        limits: Limits,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            tended,
            streams,
            output,
            limits,
            shared,
            phase: Phase::Runs,
            cause: Cause::Exited,
            ended: None,
            kill_at: None,
        }
    }

    /// Tends the command until it has ended and its output is stored.
    pub(super) fn run(mut self) {
        let mut chunk = vec![0; CHUNK];
        while !self.is_over() {
            self.wait();
            self.take_output(&mut chunk);
            self.give_input();
            self.go_on(Instant::now());
        }
        self.finish();
    }

    fn is_over(&self) -> bool {
        let is_silent = self.streams.stdout.is_none() && self.streams.stderr.is_none();
        matches!(self.phase, Phase::Drains { until } if is_silent || Instant::now() >= until)
    }

    /// Waits until something can be done. It does not matter which: the reads and writes do not
    /// block.
    fn wait(&mut self) {
        let now = Instant::now();
        let timeout = self
            .deadline(now)
            .map(|at| at.saturating_duration_since(now))
            .and_then(|left| Timespec::try_from(left).ok());
        let input_is_due = self.shared.state().input.is_due();
        let mut sources = vec![PollFd::new(&self.shared.waker, PollFlags::IN)];
        let own = matches!(self.phase, Phase::Runs).then_some(&self.tended.handle);
        let outputs = [&self.streams.stdout, &self.streams.stderr].into_iter().flatten();
        sources.extend(
            own.into_iter().chain(outputs).map(|source| PollFd::new(source, PollFlags::IN)),
        );
        sources.extend(
            self.streams
                .input
                .iter()
                .filter(|_| input_is_due)
                .map(|input| PollFd::new(input, PollFlags::OUT)),
        );
        // An interrupted wait only ends early.
        let _ready = poll(&mut sources, timeout.as_ref());
        // Resets the waker, which would end the next wait at once. It is empty if something else
        // ended this one.
        let _empty = read(&self.shared.waker, &mut [0; 8]);
    }

    /// When something must be done even if nothing happens.
    fn deadline(&self, now: Instant) -> Option<Instant> {
        let own = match self.phase {
            // Once the command was told to end, only the time of the kill counts.
            Phase::Runs if self.cause == Cause::Exited => {
                let late = self.limits.wall.and_then(|wall| self.tended.started.checked_add(wall));
                late.into_iter().chain([self.tended.disk.next_look()]).min()
            }
            Phase::Runs => None,
            Phase::Leaves { .. } => Some(now + LEFTOVER_PAUSE),
            Phase::Drains { until } => Some(until),
        };
        own.into_iter().chain(self.kill_at).min()
    }

    fn take_output(&mut self, chunk: &mut [u8]) {
        for is_stderr in [false, true] {
            let stream =
                if is_stderr { &mut self.streams.stderr } else { &mut self.streams.stdout };
            let Some(source) = stream else { continue };
            match read(&*source, &mut *chunk) {
                Ok(count) if count > 0 => {
                    self.output.keep(is_stderr, Some(&chunk[..count]), &self.shared)
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                // The end of the stream. A terminal that no process holds reports it as an error.
                Ok(_) | Err(_) => *stream = None,
            }
        }
    }

    fn give_input(&mut self) {
        let mut state = self.shared.state();
        let Some(to) = &self.streams.input else { return };
        let given = hand_over(&mut state.input, to, self.streams.is_terminal);
        // The input is complete, or the command closed it. Dropping our end is the end that the
        // command reads.
        if !matches!(given, Ok(false)) {
            state.input.shut();
            self.streams.input = None;
        }
    }

    /// Does what is due in the current phase.
    fn go_on(&mut self, now: Instant) {
        match self.phase {
            Phase::Runs if has_ended(&self.tended.handle) => {
                self.ended = Some(now);
                // If the command was told to end, its other processes got the same signal and are
                // in their grace period.
                self.phase = Phase::Leaves { told: self.cause != Cause::Exited };
                self.look_for_leftovers(now);
            }
            Phase::Runs => self.hold_to_its_limits(now),
            Phase::Leaves { .. } => self.look_for_leftovers(now),
            Phase::Drains { .. } => {}
        }
    }

    fn hold_to_its_limits(&mut self, now: Instant) {
        let stops = self.shared.state().stops;
        let is_late = self
            .limits
            .wall
            .is_some_and(|wall| now.saturating_duration_since(self.tended.started) >= wall);
        match self.cause {
            Cause::Exited if stops > 0 => self.tell_to_end(Cause::Stopped, now),
            Cause::Exited if is_late => self.tell_to_end(Cause::TimedOut, now),
            Cause::Exited if self.tended.disk.is_overused(&self.limits, now) => {
                self.cause = Cause::DiskUsed;
                // Not later: in a grace period it would go on writing.
                self.kill_at = Some(now);
            }
            _ => {}
        }
        // After a timeout the first stop is the second request; otherwise the first stop started
        // the grace period.
        let is_told_again = stops > u32::from(self.cause != Cause::TimedOut);
        if self.kill_at.is_some_and(|at| now >= at || is_told_again) {
            self.kill_at = None;
            self.tended.family.kill();
        }
    }

    fn tell_to_end(&mut self, cause: Cause, now: Instant) {
        self.cause = cause;
        self.kill_at = now.checked_add(self.limits.stop_grace);
        self.tended.family.signal(Signal::TERM);
    }

    fn look_for_leftovers(&mut self, now: Instant) {
        let Phase::Leaves { told } = self.phase else { return };
        let family = &mut self.tended.family;
        let is_killed = self.kill_at.is_some_and(|at| now >= at || self.shared.state().stops > 1);
        if is_killed {
            family.kill();
        }
        if is_killed || family.is_gone() {
            self.kill_at = None;
            self.phase = Phase::Drains { until: now + DRAIN };
        } else if !told {
            family.signal(Signal::TERM);
            self.kill_at = Some(now + self.limits.stop_grace.min(LEFTOVER_GRACE));
            self.phase = Phase::Leaves { told: true };
        }
    }

    fn finish(mut self) {
        // The process is reaped only now: until then no other process can get its id, which names
        // the group.
        let status = self.tended.child.wait().ok();
        // The last bytes may have been held back as the possible beginning of a secret.
        [false, true]
            .into_iter()
            .for_each(|is_stderr| self.output.keep(is_stderr, None, &self.shared));
        let exit = Exit {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            cause: self.cause,
            output_bytes: self.output.file.total(),
            left_out_bytes: self.output.file.left_out(),
            output_fault: self.output.file.fault(),
            duration: self
                .ended
                .map_or_else(|| self.tended.started.elapsed(), |ended| ended - self.tended.started),
        };
        let listeners = {
            let mut state = self.shared.state();
            state.input.shut();
            state.exit = Some(exit.clone());
            std::mem::take(&mut state.listeners)
        };
        self.shared.ended.notify_all();
        // Without the lock, as in `Running::on_exit`.
        listeners.into_iter().for_each(|listener| listener(&exit));
    }
}

/// Whether the process of a pidfd has ended. This does not reap it.
fn has_ended(handle: &OwnedFd) -> bool {
    let mut own = [PollFd::new(handle, PollFlags::IN)];
    poll(&mut own, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// Writes as much of the queued input as the stream takes. Returns whether the input is complete.
fn hand_over(input: &mut Input, to: impl AsFd, is_terminal: bool) -> Result<bool, Errno> {
    let Input::Open { waiting, ends, last } = input else { return Ok(true) };
    let is_busy =
        |why: Errno| if matches!(why, Errno::AGAIN | Errno::INTR) { Ok(false) } else { Err(why) };
    while !waiting.is_empty() {
        match write(&to, waiting.as_slices().0) {
            Ok(count) => drop(waiting.drain(..count)),
            Err(why) => return is_busy(why),
        }
    }
    if *ends && is_terminal {
        // In the middle of a line, the first end-of-file character only submits that line, and a
        // second one ends the input.
        let end = [tcgetattr(&to)?.special_codes[SpecialCodeIndex::VEOF]; 2];
        let times = if last.is_none_or(|last| last == b'\n') { 1 } else { 2 };
        return write(&to, &end[..times]).map_or_else(is_busy, |_| Ok(true));
    }
    Ok(*ends)
}

//! Prints the output of commands. Everything that a command prints goes through here, and what it
//! must not do to a terminal is made visible first.
//!
//! Standard output may be on a full disk, or its reader may have closed it.

use std::{
    borrow::Cow,
    fmt,
    io::{self, IsTerminal, Write},
    process,
};

use super::{
    style::{self, painted},
    visible::visible,
};

/// Prints a line of the output. If it cannot be written, the command ends: with success if the
/// reader has closed the pipe, otherwise with an error.
macro_rules! say {
    ($($line:tt)*) => {
        $crate::commands::say::text(format_args!("{}\n", format_args!($($line)*)))
    };
}

/// Prints a line to standard error, beside the output.
macro_rules! mention {
    ($($line:tt)*) => {
        $crate::commands::say::beside(&format!($($line)*))
    };
}

/// Adds a line to a text that is printed as a whole.
macro_rules! add {
    ($out:expr, $($line:tt)*) => {{
        $out.push_str(&format!($($line)*));
        $out.push('\n');
    }};
}

/// Prints a part of the output, as `say!` does.
pub(super) fn text(text: fmt::Arguments<'_>) {
    let Err(why) = write(&visible(&text.to_string())) else { return };
    // The reader has closed the pipe, as `head` does after some lines. That is not an error.
    if why.kind() == io::ErrorKind::BrokenPipe {
        process::exit(0);
    }
    mention!(
        "{} cannot write the output: {why}; free some space, or send it elsewhere",
        painted(style::BAD, "error:")
    );
    process::exit(2);
}

/// Prints a line of the output, and returns whether it could be written.
pub(super) fn line(line: &str) -> io::Result<()> {
    write(&format!("{}\n", visible(line)))
}

/// Prints a stored entry as a line of the output, and returns whether it could be written. A
/// program gets its exact bytes, because the hash of the ledger is made of them.
pub(super) fn stored(entry: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let entry = if out.is_terminal() { visible(entry) } else { Cow::Borrowed(entry) };
    // Not through `anstream`: without a terminal it takes more than styles out.
    writeln!(out, "{entry}")?;
    out.flush()
}

/// Prints a line to standard error. If it cannot be written, nobody can be told.
pub(super) fn beside(line: &str) {
    let _ = writeln!(anstream::stderr(), "{}", visible(line));
}

/// A text for a printer that is not standard output, such as that of a line editor: as [`line()`]
/// would print it there.
#[cfg(target_os = "linux")]
pub(super) fn as_printed(text: &str) -> String {
    match anstream::AutoStream::choice(&io::stdout()) {
        anstream::ColorChoice::Never => without_styles(text),
        _ => visible(text).into_owned(),
    }
}

/// A text as it is printed where there are no styles.
pub(super) fn without_styles(text: &str) -> String {
    anstream::adapter::strip_str(&visible(text)).to_string()
}

fn write(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

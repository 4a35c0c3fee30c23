//! Prints the output of commands. Standard output may be on a full disk, or its reader may have
//! closed it.

use std::{
    fmt,
    io::{self, Write},
    process,
};

use super::style::{self, painted};

/// Prints a line of the output. If it cannot be written, the command ends: with success if the
/// reader has closed the pipe, otherwise with an error.
macro_rules! say {
    ($($line:tt)*) => {
        $crate::commands::say::text(format_args!("{}\n", format_args!($($line)*)))
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
    let mut out = anstream::stdout().lock();
    let Err(why) = out.write_fmt(text).and_then(|()| out.flush()) else { return };
    // The reader has closed the pipe, as `head` does after some lines. That is not an error.
    if why.kind() == io::ErrorKind::BrokenPipe {
        process::exit(0);
    }
    anstream::eprintln!(
        "{} cannot write the output: {why}; free some space, or send it elsewhere",
        painted(style::BAD, "error:")
    );
    process::exit(2);
}

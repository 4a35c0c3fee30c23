//! What a command answers goes to standard output, which may be full, or closed by who has read
//! enough.

use std::{
    fmt,
    io::{self, Write},
    process,
};

use super::style::{self, painted};

/// Prints a line of the answer. Where that cannot be written the command ends: well where the
/// reader has seen enough, else with an error.
macro_rules! say {
    ($($line:tt)*) => { $crate::commands::say::text(format_args!("{}\n", format_args!($($line)*))) };
}

/// Adds a line to an answer that is printed as a whole.
macro_rules! add {
    ($out:expr, $($line:tt)*) => {{
        $out.push_str(&format!($($line)*));
        $out.push('\n');
    }};
}

/// Prints a part of the answer; see `say!`.
pub(super) fn text(text: fmt::Arguments<'_>) {
    let mut out = anstream::stdout().lock();
    let Err(why) = out.write_fmt(text).and_then(|()| out.flush()) else { return };
    // Who reads has seen enough, as `head` has after some lines.
    if why.kind() == io::ErrorKind::BrokenPipe {
        process::exit(0);
    }
    anstream::eprintln!(
        "{} cannot write the answer: {why}; make room for it, or send it elsewhere",
        painted(style::BAD, "error:")
    );
    process::exit(2);
}

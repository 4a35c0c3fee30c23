//! What Linux says of processes.

use std::fs;

use rustix::{param::clock_ticks_per_second, process::Pid};

/// What it says of one.
pub(crate) struct Stat {
    parent: u32,
    /// The CPU seconds that it used.
    pub(crate) spent: f64,
    /// Those of its children that have ended.
    pub(crate) of_ended: f64,
}

/// What it says of a process; `None` if there is none of this number.
pub(crate) fn stat(process: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in parentheses, may have spaces. `man 5 proc` counts the fields from
    // 1, and two of them are before its end.
    let fields: Vec<f64> =
        text.rsplit(')').next()?.split_whitespace().map(|it| it.parse().unwrap_or(0.0)).collect();
    let second = clock_ticks_per_second() as f64;
    let time = |user: usize| Some((fields.get(user)? + fields.get(user + 1)?) / second);
    Some(Stat { parent: *fields.get(1)? as u32, spent: time(11)?, of_ended: time(13)? })
}

/// The processes that this one started, and what Linux says of each.
pub(crate) fn children(of: u32) -> Vec<(Pid, Stat)> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        // One that ends just now is none any more.
        let stat = stat(number).filter(|stat| stat.parent == of)?;
        Some((Pid::from_raw(i32::try_from(number).ok()?)?, stat))
    })
    .collect()
}

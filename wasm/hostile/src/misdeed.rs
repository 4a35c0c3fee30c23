//! The misdeeds by name: `NAME`, or `NAME COUNT`.

use std::hint::black_box;

use crate::{
    bindings::{
        exports::wakeful::scheduler::agent::Error,
        wakeful::scheduler::{
            clock,
            ledger::{self, Head},
            provider,
        },
    },
    unable,
};

/// Commits the named misdeed. Most of them never return.
pub(crate) fn commit(asked: &str) -> Result<String, Error> {
    let (name, count) = asked.split_once(' ').unwrap_or((asked, "1"));
    let count: u64 = count.parse().unwrap_or(1);
    match name {
        // Run forever, in the guest or in calls of the host.
        "loop" => forever(|| {}),
        "read_all" => drop(ledger::read(0, u32::MAX)),
        "append_on" => forever(|| drop(append("x".repeat(10_000)))),
        "read_on" => forever(|| drop(ledger::read(0, 1))),
        "read_beyond" => (0..count).for_each(|after| drop(ledger::read(1 << 40 | after, 1))),
        "now" => (0..count).for_each(|_| {
            black_box(clock::now());
        }),
        "start" => (0..count).for_each(|_| drop(provider::start_turn("{}"))),
        // Use more than there is.
        "grow" => grow(),
        "overflow" => {
            black_box(deeper(0));
        }
        "answer" => return Ok("x".repeat(usize::try_from(count).unwrap_or_default())),
        "append" => return append("x".repeat(usize::try_from(count).unwrap_or_default())),
        // Trap.
        "trap" => core::arch::wasm32::unreachable(),
        "panic" => panic!("on purpose"),
        // Do nothing wrong.
        "nothing" => {}
        _ => return unable(),
    }
    Ok(String::new())
}

fn forever(mut what: impl FnMut()) {
    loop {
        black_box(&mut what)();
    }
}

fn grow() {
    let mut held: Vec<Vec<u8>> = Vec::new();
    loop {
        held.push(black_box(vec![1; 1 << 20]));
    }
}

/// It keeps nothing in linear memory, so the engine's stack overflows and not the guest's.
#[inline(never)]
fn deeper(depth: u64) -> u64 {
    if depth == u64::MAX { 0 } else { deeper(depth + 1).rotate_left(1) ^ depth }
}

/// Appends an invalid batch after an invalid head.
fn append(line: String) -> Result<String, Error> {
    let head = Head { seq: 0, chain: "0".repeat(64) };
    match ledger::append(&head, &[line]) {
        Ok(()) => Ok("appended".to_owned()),
        Err(why) => Ok(format!("{why:?}")),
    }
}

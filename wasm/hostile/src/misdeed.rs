//! What it does wrong, by name. `NAME COUNT` where a misdeed is counted.

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

/// Does what is asked for; most of it never comes back.
pub(crate) fn commit(asked: &str) -> Result<String, Error> {
    let (name, count) = asked.split_once(' ').unwrap_or((asked, "1"));
    let count: u64 = count.parse().unwrap_or(1);
    match name {
        // For ever, in the guest or in calls of the host.
        "loop" => forever(|| {}),
        "read_on" => forever(|| drop(ledger::read(0, 1))),
        "read_beyond" => (0..count).for_each(|after| drop(ledger::read(1 << 40 | after, 1))),
        "now" => (0..count).for_each(|_| {
            black_box(clock::now());
        }),
        "start" => (0..count).for_each(|_| drop(provider::start_turn("{}"))),
        // More than there is.
        "grow" => grow(),
        "overflow" => {
            black_box(deeper(0));
        }
        "answer" => return Ok("x".repeat(usize::try_from(count).unwrap_or_default())),
        "append" => return append("x".repeat(usize::try_from(count).unwrap_or_default())),
        // Out of bounds.
        "trap" => core::arch::wasm32::unreachable(),
        "panic" => panic!("on purpose"),
        // Nothing wrong, for once.
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

/// Keeps nothing in memory: what overflows is the stack of the engine, and not the guest's own.
#[inline(never)]
fn deeper(depth: u64) -> u64 {
    if depth == u64::MAX { 0 } else { deeper(depth + 1).rotate_left(1) ^ depth }
}

/// A batch that is none, after a head that is none.
fn append(line: String) -> Result<String, Error> {
    let head = Head { seq: 0, chain: "0".repeat(64) };
    match ledger::append(&head, &[line]) {
        Ok(()) => Ok("appended".to_owned()),
        Err(why) => Ok(format!("{why:?}")),
    }
}

//! Timers of the model: set, listed and cancelled (contract 5.20).

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::{
    fact::{
        Fact,
        waiting::timer::{TimerCreated, TimerNamed},
    },
    id::TimerId,
    time::Timestamp,
};

use super::{Caller, Success, Tool, ToolError, accepted, said};

/// Arguments of `SetTimer`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetTimer {
    /// What to do when it fires, in a sentence. You are told it then.
    summary: String,
    /// The time until it fires first, in milliseconds. By default `every_ms`.
    #[serde(default)]
    after_ms: Option<u64>,
    /// The time between fires, in milliseconds. By default it fires once.
    #[serde(default)]
    every_ms: Option<u64>,
}

/// The shortest interval. A timer that fires more often would fill the ledger.
const SHORTEST_MS: u64 = 1_000;

#[derive(Serialize)]
struct Timer {
    timer_id: TimerId,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    fires_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    every_ms: Option<u64>,
    fire_count: u64,
}

impl Tool for SetTimer {
    const NAME: &'static str = "SetTimer";
    const ABOUT: &'static str = "Sets a timer that wakes you later, once or at an interval, without \
                                 ending your turn.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let invalid = |why: &str| ToolError::new("invalid_tool_input", why);
        let summary = said(&self.summary, "summary")?;
        let duration_ms = self
            .after_ms
            .or(self.every_ms)
            .filter(|ms| *ms > 0)
            .ok_or_else(|| invalid("SetTimer needs `after_ms` or `every_ms`, above 0"))?;
        if self.every_ms.is_some_and(|ms| ms < SHORTEST_MS) {
            return Err(invalid("`every_ms` must be at least 1000"));
        }
        caller.ask(move |actor| {
            let timer_id = TimerId::from(format!("timer-{}", actor.state().next_seq()));
            accepted(
                actor,
                &Fact::TimerCreated(TimerCreated {
                    timer_id: timer_id.clone(),
                    duration_ms,
                    interval_ms: self.every_ms.and_then(NonZeroU64::new),
                    summary: Some(summary.clone()),
                }),
            )?;
            let set = Timer {
                timer_id,
                summary: None,
                fires_at: actor.state().at().plus_ms(duration_ms),
                every_ms: self.every_ms,
                fire_count: 0,
            };
            Ok(Success::new(format!("set a timer: {summary}"), &set))
        })?
    }
}

/// Arguments of `ListTimers`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListTimers {}

#[derive(Serialize)]
struct Timers {
    timers: Vec<Timer>,
}

impl Tool for ListTimers {
    const NAME: &'static str = "ListTimers";
    const ABOUT: &'static str = "Lists your timers.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        caller.ask(|actor| {
            let timers: Vec<_> = actor
                .state()
                .timers()
                .map(|timer| Timer {
                    timer_id: timer.id.clone(),
                    summary: timer.summary.clone(),
                    fires_at: timer.due_at(),
                    every_ms: timer.interval_ms.filter(|_| timer.repeat),
                    fire_count: timer.fire_count,
                })
                .collect();
            Ok(Success::new(format!("{} timers", timers.len()), &Timers { timers }))
        })?
    }
}

/// Arguments of `CancelTimer`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelTimer {
    /// The id of the timer.
    timer_id: String,
}

#[derive(Serialize)]
struct Cancelled {
    timer_id: String,
}

impl Tool for CancelTimer {
    const NAME: &'static str = "CancelTimer";
    const ABOUT: &'static str = "Cancels a timer.";

    fn run(self, caller: &Caller, _: Option<&str>) -> Result<Success, ToolError> {
        let id = said(&self.timer_id, "timer_id")?;
        caller.ask(move |actor| {
            let named = TimerNamed { timer_id: TimerId::from(id.as_str()) };
            accepted(actor, &Fact::TimerCancelled(named))?;
            let cancelled = Cancelled { timer_id: id.clone() };
            Ok(Success::new(format!("cancelled the timer {id}"), &cancelled))
        })?
    }
}

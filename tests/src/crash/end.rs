//! The outcome of a story, without the ids and instants that differ if a process died on the way.

use std::{collections::BTreeMap, fmt};

use wakeful_core::{
    derive::{
        closure::{self, Closure, Facts},
        status,
    },
    ladder::owed,
    record::{Record, queue::envelope::MessageKind, turn::RunStatus},
};

use crate::watched::WatchedLedger;

/// The outcome of a story: lines under names, whatever order they happened in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End(BTreeMap<&'static str, Vec<String>>);

impl End {
    /// The outcome that this ledger shows.
    #[must_use]
    pub fn from_ledger(ledger: &WatchedLedger) -> Self {
        let mut end = Self::default();
        let state = ledger.state();
        let Closure { outcome, waiting_reason, work_signal, runtime_posture, .. } =
            closure::decide(&Facts::from_state(&state));
        end.line(
            "closure",
            format_args!("{outcome:?} {waiting_reason:?} {work_signal:?} {runtime_posture:?}"),
        );
        end.line("status", status::status(&state));
        end.line(
            "focus",
            format_args!("{:?}", state.work().focus.as_ref().map(|focus| &focus.work_item_id)),
        );
        for owed in owed::all(&state) {
            end.line("owed", owed.kind);
        }
        for wait in state.waiting().conditions.values() {
            let wait = &wait.record;
            end.line(
                "waits",
                format_args!("{:?} {} {}", wait.work_item_id, wait.kind, wait.waiting_for),
            );
        }
        state.waiting().timers.keys().for_each(|timer| end.line("timers", timer));
        state.tasks().active.keys().for_each(|task| end.line("tasks", task));
        end.records(ledger);
        end.0.values_mut().for_each(|lines| lines.sort());
        end
    }

    fn records(&mut self, ledger: &WatchedLedger) {
        let (mut messages, mut items) = (BTreeMap::new(), BTreeMap::new());
        for entry in ledger.opened() {
            match &entry.record {
                // Ticks are left out: how often an item is offered depends on how far the turn of
                // an offer came.
                Record::Message(message) if message.kind != MessageKind::SystemTick => {
                    messages.insert(
                        message.id.clone(),
                        format!("{} {}", message.kind, message.body.as_text()),
                    );
                }
                Record::WorkItem(item) => {
                    let said = format!(
                        "{} {} {:?} {:?} {:?}",
                        item.revision,
                        item.state,
                        item.plan_status,
                        item.blocked_by,
                        item.result_summary
                    );
                    items.insert(item.id.clone(), said);
                }
                Record::Turn(turn) if turn.status == RunStatus::Terminal => {
                    if let Some(of) = messages.get(&turn.message_id) {
                        self.line("turns", format_args!("{of}: {:?}", turn.kind));
                    }
                }
                Record::Tool(call) => self.line("calls", &call.tool_name),
                Record::Brief(brief) => {
                    self.line("briefs", format_args!("{} {}", brief.kind, brief.text))
                }
                _ => {}
            }
        }
        for (item, said) in items {
            self.line("items", format_args!("{item} {said}"));
        }
    }

    fn line(&mut self, name: &'static str, line: impl fmt::Display) {
        self.0.entry(name).or_default().push(line.to_string());
    }

    /// The first name under which another outcome differs, with both sides; `None` if they are
    /// equal.
    #[must_use]
    pub fn differs_from(&self, other: &Self) -> Option<String> {
        let names = self.0.keys().chain(other.0.keys());
        let differing = names.into_iter().find(|name| self.0.get(*name) != other.0.get(*name))?;
        let lines = |end: &Self| end.0.get(differing).cloned().unwrap_or_default().join("\n    ");
        Some(format!(
            "{differing} differ\n  without a death:\n    {}\n  with it:\n    {}",
            lines(self),
            lines(other)
        ))
    }
}

//! What a ledger shows about time: what fired and for which instant, and what the turns learned of
//! it.

use std::{collections::BTreeMap, rc::Rc};

use wakeful_core::{
    id::{MessageId, TimerId},
    record::{
        Record, diagnostic,
        entry::Entry,
        queue::{
            envelope::MessageOrigin,
            message::MessageRecord,
            note::{DeadlineNote, RecheckNote},
        },
        turn::{RunStatus, TurnTerminalKind},
        waiting::{EndedBy, WaitConditionStatus},
    },
    time::Timestamp,
};

use super::model::Fire;

/// The findings in a ledger.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// What fired, in order.
    pub fires: Vec<Fire>,
    /// The subjects of the turns that completed, in order.
    pub told: Vec<String>,
    /// The number of reports to the operator that the clock is behind.
    pub behind: usize,
    /// The conditions that an instant or a deadline ended, with their status.
    pub ended: BTreeMap<String, WaitConditionStatus>,
    due: BTreeMap<TimerId, Timestamp>,
    about: BTreeMap<MessageId, String>,
}

impl Found {
    /// Reads a whole ledger.
    #[must_use]
    pub fn in_entries(entries: &[Rc<Entry>]) -> Self {
        let mut found = Self::default();
        entries.iter().for_each(|entry| found.read(entry));
        found
    }

    fn read(&mut self, entry: &Entry) {
        match &entry.record {
            Record::Timer(timer) => {
                if let Some(due) = timer.next_fire_at {
                    self.due.insert(timer.id.clone(), due);
                }
            }
            Record::Message(message) => {
                if let Some((what, due)) = self.fire_of(message) {
                    self.about.insert(message.id.clone(), what.clone());
                    self.fires.push(Fire { at: entry.at, what, due });
                }
            }
            Record::Turn(turn)
                if turn.status == RunStatus::Terminal
                    && turn.kind == Some(TurnTerminalKind::Completed) =>
            {
                self.told.extend(self.about.get(&turn.message_id).cloned());
            }
            Record::WaitCondition(wait) if wait.ended_by == Some(EndedBy::Deadline) => {
                self.ended.insert(wait.id.to_string(), wait.status);
            }
            Record::Event(event) if diagnostic::clock_behind_at(event).is_some() => {
                self.behind += 1
            }
            _ => {}
        }
    }

    fn fire_of(&self, message: &MessageRecord) -> Option<(String, Timestamp)> {
        if let MessageOrigin::Timer { timer_id } = &message.origin {
            return Some((timer_id.to_string(), *self.due.get(timer_id)?));
        }
        if let Some(raw) = message.noted("work_item_recheck") {
            let note: RecheckNote = raw.read().ok()?;
            return Some((note.work_item_id.to_string(), note.recheck_at));
        }
        let note: DeadlineNote = message.noted("wait_deadline")?.read().ok()?;
        Some((note.wait_condition_id.to_string(), note.deadline))
    }
}

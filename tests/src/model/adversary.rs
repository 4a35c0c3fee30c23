//! Adversaries: each is between the machine and its ledger, and makes one mistake that other
//! schedulers of this kind made. The checker must find all of them.

use clap::ValueEnum;
use wakeful_core::{
    json,
    record::{
        Record,
        control::{ControlRecord, WakeHint},
        decision::{Decision, DecisionKind, IgnoredReason},
        effect::Effect,
        entry::Entry,
        event::{EventKind, EventRecord},
        queue::note::RecheckNote,
        task::TaskRecord,
        turn::RunStatus,
        waiting::WakeSource,
    },
    state::{Planes, State, task::Task},
};

/// A seeded mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Adversary {
    /// External waits forget what they wait for, so any external event ends them.
    ReasonClass,
    /// A spent key is looked for only in the newest entries.
    Window,
    /// A rule whose key is spent hides the rules below it.
    HiddenRule,
    /// The settlement of a turn clears the blocker of its item.
    ClearedBlocker,
    /// An interjection is recorded, but the host is not asked to insert it.
    LostInterjection,
    /// A recheck is consumed when it is queued, before any turn has it.
    UnseenRecheck,
    /// A wait is registered without knowledge that its task has already ended.
    LateWait,
    /// An agent that rests sends itself a hint to look again.
    Spin,
    /// A correction of the clock moves nothing that the bad clock has made late.
    StuckTimers,
}

/// The number of entries in the window.
const WINDOW: u64 = 12;

impl Adversary {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The false state that the machine sees when it gets a fact or takes a step; `None` if it sees
    /// what is stored.
    #[must_use]
    pub fn state(self, stored: &State, fact: Option<&str>) -> Option<State> {
        let mut state = stored.clone();
        let Planes { tasks, work, waiting, .. } = state.distort();
        match self {
            Self::ReasonClass => {
                let sources =
                    waiting.conditions.values_mut().flat_map(|wait| &mut wait.record.wake_sources);
                for source in sources {
                    if let WakeSource::ExternalIngress { external_trigger_id, .. } = source {
                        *external_trigger_id = None;
                    }
                }
            }
            Self::Window => {
                let is_old = |seq: u64| seq + WINDOW < stored.head().seq.0;
                for spent in work.spent.values_mut() {
                    spent.continue_active.take_if(|key| is_old(key.seq.0));
                    spent.queued_available.take_if(|key| is_old(key.seq.0));
                }
            }
            Self::LateWait
                if fact.is_some_and(|fact| fact.contains("wait_condition_registered")) =>
            {
                for (id, (_, seq)) in std::mem::take(&mut tasks.ended) {
                    let record = format!(
                        r#"{{"id":"{id}","agent_id":"default","kind":"command_task","status":"running","created_at":"{0}","updated_at":"{0}"}}"#,
                        stored.at()
                    );
                    let record: TaskRecord = json::read(&record).expect("a task");
                    let wait_policy = record.wait_policy();
                    tasks.active.insert(id, Task { seq, record, wait_policy, work_item_id: None });
                }
            }
            _ => return None,
        }
        state.relist_all();
        Some(state)
    }

    /// What is appended instead of the machine's batch; `None` if the batch is left as it is.
    #[must_use]
    pub fn records(self, stored: &State, batch: &[Entry]) -> Option<Vec<Record>> {
        let at = batch.last()?.at;
        let mut records: Vec<_> = batch.iter().map(|entry| entry.record.clone()).collect();
        match self {
            Self::HiddenRule => {
                let decision = decided(&records)?;
                let hides = stored.work().focus.as_ref().is_some_and(|focus| {
                    decision.rule.starts_with("6.")
                        && decision.ignored.iter().any(|passed| {
                            passed.reason == IgnoredReason::KeySpent
                                && passed.what.contains(focus.work_item_id.as_str())
                        })
                });
                if !hides {
                    return None;
                }
                let rest = Decision {
                    kind: DecisionKind::Sleep,
                    reason: "no_pending_scheduler_facts".to_owned(),
                    rule: "9.sleep".into(),
                    ..decision
                };
                records =
                    vec![Record::Event(EventRecord::new(EventKind::SchedulerDecision, at, &rest))];
            }
            Self::ClearedBlocker => {
                let settled = records.iter().find_map(|record| match record {
                    Record::Turn(turn) if turn.status == RunStatus::Terminal => {
                        turn.work_item.clone()
                    }
                    _ => None,
                })?;
                let item = stored
                    .work()
                    .items
                    .get(&settled.work_item_id)
                    .filter(|item| item.record.blocked_by.is_some())?;
                let mut cleared = item.record.clone();
                (cleared.blocked_by, cleared.revision) = (None, cleared.revision + 1);
                records.push(Record::WorkItem(cleared));
            }
            Self::UnseenRecheck => {
                let note: RecheckNote = records.iter().find_map(|record| match record {
                    Record::Message(message) => message.noted("work_item_recheck")?.read().ok(),
                    _ => None,
                })?;
                records.push(Record::Event(EventRecord::new(
                    EventKind::WorkItemRecheckConsumed,
                    at,
                    &note,
                )));
            }
            Self::Spin => {
                decided(&records).filter(|decision| decision.kind.rests_as().is_some())?;
                records.push(Record::Control(ControlRecord::WakeHintPending(WakeHint::new(
                    "look again",
                ))));
            }
            Self::StuckTimers => {
                let corrected = records.iter_mut().find_map(|record| match record {
                    Record::Control(ControlRecord::ClockCorrected(corrected)) => Some(corrected),
                    _ => None,
                })?;
                corrected.last_at = at;
            }
            _ => return None,
        }
        Some(records)
    }

    /// The effects that reach the host.
    #[must_use]
    pub fn effects(self, released: &[Effect]) -> Vec<Effect> {
        let is_lost = |effect: &Effect| {
            self == Self::LostInterjection && matches!(effect, Effect::Interject { .. })
        };
        released.iter().filter(|effect| !is_lost(effect)).cloned().collect()
    }
}

/// The recorded decision, if there is one.
fn decided(records: &[Record]) -> Option<Decision> {
    records.iter().find_map(|record| match record {
        Record::Event(event) if event.kind == EventKind::SchedulerDecision.as_str() => {
            event.data()?.read().ok()
        }
        _ => None,
    })
}

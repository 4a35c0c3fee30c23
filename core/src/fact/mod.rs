//! Facts: everything that a host can report (contract 2). This is the vocabulary; each plane has
//! its transitions.

pub mod budget;
pub mod context;
pub mod control;
pub mod ingress;
pub mod outcome;
pub mod queue;
pub mod task;
pub mod turn;
pub mod waiting;
pub mod work;

use alloc::string::String;

use serde::Serialize;

use crate::{
    fact::{
        context::{
            AssistantRoundRecorded, BriefRecorded, ToolExecutionRecorded, TranscriptAppended,
        },
        control::{ClockRight, OwnerBreach, Restarted},
        ingress::{
            ExternalTriggerCreated, ExternalTriggerDelivered, ExternalTriggerNamed,
            ExternalTriggerRotated,
        },
        outcome::{Answer, Outcome, Refusal},
        queue::{
            MessageQueued,
            observed::{self, MessageNamed},
        },
        task::{TaskChanged, TaskResultMoved},
        turn::{RoundCompleted, TurnAborted, TurnOverBudget, TurnStarted, TurnTerminal},
        waiting::{
            condition::{self, WaitConditionNamed, WaitConditionRegistered},
            intent::{self, WaitingIntentCreated, WaitingIntentNamed},
            timer::{self, TimerCreated, TimerNamed},
        },
        work::{
            WorkItemBlocked, WorkItemCompleted, WorkItemCreated, WorkItemNamed, WorkItemUpdated,
            delegation,
        },
    },
    id::{RunId, Seq},
    record::{
        Record,
        budget::{BudgetGranted, BudgetSet},
        context::{CheckpointRecorded, ContextCompacted, RuntimeFailed},
        control::{AgentDescribed, Marker, PolicySet, WakeHint},
        event::{EventKind, EventRecord},
        queue::envelope::{MessageBody, QueueStatus},
        refusal::RefusedContent,
        task::TaskStatus,
        turn::AbortReason,
        waiting::WaitConditionStatus,
        work::{DelegationCompleted, WorkItemDelegated},
    },
    state::State,
    tagged::vocabulary,
    time::Timestamp,
};

vocabulary! {
    tag "fact";
    /// A typed input: `{"fact": "<name>", ...}` (contract 2.1).
    pub enum Fact {
        /// A message arrived.
        "message_queued" => MessageQueued(MessageQueued),
        /// A run of another runtime took a message.
        "message_dequeued" => MessageDequeued(MessageNamed),
        /// Another runtime settled a message.
        "message_processed" => MessageProcessed(MessageNamed),
        /// Another runtime aborted the run of a message.
        "message_aborted" => MessageAborted(MessageNamed),
        /// The host withdraws a message.
        "message_dropped" => MessageDropped(MessageNamed),
        /// Another runtime inserted a message into a run.
        "message_interjected" => MessageInterjected(MessageNamed),
        /// The host executes a turn.
        "turn_started" => TurnStarted(TurnStarted),
        /// A round with the provider ended.
        "provider_round_completed" => ProviderRoundCompleted(RoundCompleted),
        /// The model answered.
        "assistant_round_recorded" => AssistantRoundRecorded(AssistantRoundRecorded),
        /// A round of tool calls ended.
        "tool_round_completed" => ToolRoundCompleted(RoundCompleted),
        /// A turn ended.
        "turn_terminal" => TurnTerminal(TurnTerminal),
        /// A run was aborted.
        "turn_aborted" => TurnAborted(TurnAborted),
        /// The prompt of a turn no longer fits.
        "turn_baseline_over_budget" => TurnBaselineOverBudget(TurnOverBudget),
        /// The provider refused content of a turn.
        "content_refused" => ContentRefused(RefusedContent),
        /// A task was created.
        "task_created" => TaskCreated(TaskChanged),
        /// A task is running.
        "task_running" => TaskRunning(TaskChanged),
        /// A task was asked to stop.
        "task_cancelling" => TaskCancelling(TaskChanged),
        /// A task ended successfully.
        "task_completed" => TaskCompleted(TaskChanged),
        /// A task ended with an error.
        "task_failed" => TaskFailed(TaskChanged),
        /// A task was stopped on request.
        "task_cancelled" => TaskCancelled(TaskChanged),
        /// A task was lost in a stop or a restart.
        "task_interrupted" => TaskInterrupted(TaskChanged),
        /// The result of a task was queued as a message.
        "task_result_queued" => TaskResultQueued(TaskResultMoved),
        /// The result of a task reached the model.
        "task_result_delivered" => TaskResultDelivered(TaskResultMoved),
        /// A work item was created.
        "work_item_created" => WorkItemCreated(WorkItemCreated),
        /// The focus moves to an item.
        "work_item_picked" => WorkItemPicked(WorkItemNamed),
        /// A work item changed.
        "work_item_updated" => WorkItemUpdated(WorkItemUpdated),
        /// A work item is blocked.
        "work_item_blocked" => WorkItemBlocked(WorkItemBlocked),
        /// A work item is no longer blocked.
        "work_item_unblocked" => WorkItemUnblocked(WorkItemNamed),
        /// A work item is done.
        "work_item_completed" => WorkItemCompleted(WorkItemCompleted),
        /// A work item was handed to another agent.
        "work_item_delegated" => WorkItemDelegated(WorkItemDelegated),
        /// A delegation ended.
        "work_item_delegation_completed" => WorkItemDelegationCompleted(DelegationCompleted),
        /// An item or the agent waits for something external.
        "waiting_intent_created" => WaitingIntentCreated(WaitingIntentCreated),
        /// The trigger of an intent arrived.
        "waiting_intent_triggered" => WaitingIntentTriggered(WaitingIntentNamed),
        /// An intent was cancelled.
        "waiting_intent_cancelled" => WaitingIntentCancelled(WaitingIntentNamed),
        /// An item or the agent waits.
        "wait_condition_registered" => WaitConditionRegistered(WaitConditionRegistered),
        /// What a condition waited for arrived.
        "wait_condition_resolved" => WaitConditionResolved(WaitConditionNamed),
        /// A condition was cancelled.
        "wait_condition_cancelled" => WaitConditionCancelled(WaitConditionNamed),
        /// The deadline of a condition passed.
        "wait_condition_expired" => WaitConditionExpired(WaitConditionNamed),
        /// A timer was created.
        "timer_created" => TimerCreated(TimerCreated),
        /// Another runtime fired a timer.
        "timer_fired" => TimerFired(TimerNamed),
        /// Another runtime fired a timer for the last time.
        "timer_completed" => TimerCompleted(TimerNamed),
        /// A timer was cancelled.
        "timer_cancelled" => TimerCancelled(TimerNamed),
        /// The outside may deliver with a token.
        "external_trigger_created" => ExternalTriggerCreated(ExternalTriggerCreated),
        /// A trigger has a new token.
        "external_trigger_rotated" => ExternalTriggerRotated(ExternalTriggerRotated),
        /// Nothing is delivered to a trigger any more.
        "external_trigger_revoked" => ExternalTriggerRevoked(ExternalTriggerNamed),
        /// Someone outside delivered.
        "external_trigger_delivered" => ExternalTriggerDelivered(ExternalTriggerDelivered),
        /// An owner has a budget.
        "budget_set" => BudgetSet(BudgetSet),
        /// An owner may use more, once.
        "budget_granted" => BudgetGranted(BudgetGranted),
        /// The agent should look again.
        "wake_hint_submitted" => WakeHintSubmitted(WakeHint),
        /// Another runtime coalesced a hint into the pending one.
        "wake_hint_coalesced" => WakeHintCoalesced(WakeHint),
        /// Another runtime ignored a hint.
        "wake_hint_ignored" => WakeHintIgnored(WakeHint),
        /// The agent may run again.
        "start_requested" => StartRequested(Marker),
        /// The agent must not run.
        "stop_requested" => StopRequested(Marker),
        /// The runtime is shutting down.
        "shutdown_requested" => ShutdownRequested(Marker),
        /// The host's clock was ahead and is right again.
        "clock_corrected" => ClockCorrected(ClockRight),
        /// A driver takes over the ledger.
        "runtime_restarted" => RuntimeRestarted(Restarted),
        /// Policy or edition changes.
        "policy_set" => PolicySet(PolicySet),
        /// What the agent is, and what it works with.
        "agent_described" => AgentDescribed(AgentDescribed),
        /// A piece of the transcript was written.
        "transcript_appended" => TranscriptAppended(TranscriptAppended),
        /// A tool call was executed.
        "tool_execution_recorded" => ToolExecutionRecorded(ToolExecutionRecorded),
        /// A brief was written.
        "brief_recorded" => BriefRecorded(BriefRecorded),
        /// The host or the provider failed.
        "runtime_error" => RuntimeError(RuntimeFailed),
        /// The host found that something of an item, or of the agent, is broken.
        "owner_breach_reported" => OwnerBreachReported(OwnerBreach),
        /// The model's context was shortened.
        "context_compacted" => ContextCompacted(ContextCompacted),
        /// A checkpoint was recorded.
        "checkpoint_recorded" => CheckpointRecorded(CheckpointRecorded),
    }
}

#[derive(Serialize)]
struct FactIgnored<'a> {
    fact: &'a str,
    reason: Refusal,
    because: Seq,
}

impl Fact {
    /// The fact that reports an effect that a provider could not carry out. It aborts the run, or
    /// is a runtime error if there is no run.
    #[must_use]
    pub fn failure(run_id: Option<RunId>, error: String) -> Self {
        match run_id {
            Some(run_id) => Self::TurnAborted(TurnAborted {
                run_id,
                reason: AbortReason::RuntimeError,
                error: Some(error),
            }),
            None => Self::RuntimeError(RuntimeFailed { error, message_id: None, run_id: None }),
        }
    }

    /// Out-of-line clone: one copy of this code keeps the guest small.
    #[inline(never)]
    pub(crate) fn copied(&self) -> Self {
        self.clone()
    }

    /// What follows from this fact in a state. It is total and has no side effects (contract 2.2).
    pub(crate) fn transition(self, state: &State, at: Timestamp) -> Outcome {
        let name = self.name();
        let mut outcome = self.route(state, at);
        // contract 2.2: an ignored fact is recorded too, with the entry that decides so.
        if let Answer::Ignored { reason, because } = outcome.answer {
            let fact = FactIgnored { fact: name, reason, because };
            let ignored = Record::Event(EventRecord::new(EventKind::FactIgnored, at, &fact));
            outcome.records.insert(0, ignored);
        }
        outcome
    }

    /// The id that this fact adds to the ledger, if it adds one.
    pub(crate) fn new_id(&self) -> Option<&str> {
        Some(match self {
            Self::MessageQueued(fact) => fact.message.id.as_str(),
            // A host may report any status of a task first, so each of these can bring a new id.
            Self::TaskCreated(fact)
            | Self::TaskRunning(fact)
            | Self::TaskCancelling(fact)
            | Self::TaskCompleted(fact)
            | Self::TaskFailed(fact)
            | Self::TaskCancelled(fact)
            | Self::TaskInterrupted(fact) => fact.task_id.as_str(),
            Self::WorkItemCreated(fact) => fact.work_item_id.as_str(),
            Self::WorkItemDelegated(fact) => fact.delegation_id.as_str(),
            Self::WaitingIntentCreated(fact) => fact.waiting_intent_id.as_str(),
            Self::WaitConditionRegistered(fact) => fact.wait_condition_id.as_str(),
            Self::TimerCreated(fact) => fact.timer_id.as_str(),
            Self::ExternalTriggerCreated(fact) => fact.external_trigger_id.as_str(),
            Self::ExternalTriggerDelivered(fact) => fact.delivery_id.as_str(),
            Self::BudgetGranted(fact) => fact.grant_id.as_str(),
            _ => return None,
        })
    }

    /// The content for the model, if there is any.
    pub(crate) fn body(&self) -> Option<&MessageBody> {
        match self {
            Self::MessageQueued(fact) => Some(&fact.message.body),
            Self::WakeHintSubmitted(hint) | Self::WakeHintCoalesced(hint) => hint.body.as_ref(),
            Self::ExternalTriggerDelivered(fact) => fact.content.as_ref(),
            _ => None,
        }
    }

    fn route(self, state: &State, at: Timestamp) -> Outcome {
        match self {
            Self::MessageQueued(fact) => queue::queued(state, fact, at),
            Self::MessageDequeued(fact) => {
                observed::settled(state, fact, QueueStatus::Dequeued, at)
            }
            Self::MessageProcessed(fact) => {
                observed::settled(state, fact, QueueStatus::Processed, at)
            }
            Self::MessageAborted(fact) => observed::settled(state, fact, QueueStatus::Aborted, at),
            Self::MessageDropped(fact) => observed::dropped(state, fact, at),
            Self::MessageInterjected(fact) => {
                observed::settled(state, fact, QueueStatus::Interjected, at)
            }
            Self::TurnStarted(fact) => turn::started(state, &fact, at),
            Self::ProviderRoundCompleted(fact) => budget::provider_round(state, &fact, at),
            Self::AssistantRoundRecorded(fact) => context::assistant_round(state, fact, at),
            Self::ToolRoundCompleted(fact) => {
                turn::round(state, EventKind::ToolRoundCompleted, &fact, at)
            }
            Self::TurnTerminal(fact) => turn::terminal(state, fact, at),
            Self::TurnAborted(fact) => turn::aborted(state, fact, at),
            Self::TurnBaselineOverBudget(fact) => turn::over_budget(state, fact, at),
            Self::ContentRefused(fact) => turn::content_refused(state, &fact, at),
            Self::TaskCreated(fact) => task::changed(state, fact, TaskStatus::Queued, at),
            Self::TaskRunning(fact) => task::changed(state, fact, TaskStatus::Running, at),
            Self::TaskCancelling(fact) => task::changed(state, fact, TaskStatus::Cancelling, at),
            Self::TaskCompleted(fact) => task::changed(state, fact, TaskStatus::Completed, at),
            Self::TaskFailed(fact) => task::changed(state, fact, TaskStatus::Failed, at),
            Self::TaskCancelled(fact) => task::changed(state, fact, TaskStatus::Cancelled, at),
            Self::TaskInterrupted(fact) => task::changed(state, fact, TaskStatus::Interrupted, at),
            Self::TaskResultQueued(fact) => {
                task::result_moved(state, &fact, EventKind::TaskResultQueued, at)
            }
            Self::TaskResultDelivered(fact) => {
                task::result_moved(state, &fact, EventKind::TaskResultDelivered, at)
            }
            Self::WorkItemCreated(fact) => work::created(state, fact, at),
            Self::WorkItemPicked(fact) => work::picked(state, fact),
            Self::WorkItemUpdated(fact) => work::updated(state, fact, at),
            Self::WorkItemBlocked(fact) => work::blocked(state, fact, at),
            Self::WorkItemUnblocked(fact) => work::unblocked(state, fact, at),
            Self::WorkItemCompleted(fact) => work::completed(state, fact, at),
            Self::WorkItemDelegated(fact) => delegation::delegated(state, &fact, at),
            Self::WorkItemDelegationCompleted(fact) => delegation::completed(state, &fact, at),
            Self::WaitingIntentCreated(fact) => intent::created(state, fact, at),
            Self::WaitingIntentTriggered(fact) => intent::triggered(state, &fact, at),
            Self::WaitingIntentCancelled(fact) => intent::cancelled(state, &fact, at),
            Self::WaitConditionRegistered(fact) => condition::registered(state, fact, at),
            Self::WaitConditionResolved(fact) => {
                condition::ended(state, &fact, WaitConditionStatus::Resolved, at)
            }
            Self::WaitConditionCancelled(fact) => {
                condition::ended(state, &fact, WaitConditionStatus::Cancelled, at)
            }
            Self::WaitConditionExpired(fact) => {
                condition::ended(state, &fact, WaitConditionStatus::Expired, at)
            }
            Self::TimerCreated(fact) => timer::created(state, fact, at),
            Self::TimerFired(fact) => timer::fired(state, &fact, at),
            Self::TimerCompleted(fact) => timer::completed(state, &fact),
            Self::TimerCancelled(fact) => timer::cancelled(state, &fact, at),
            Self::ExternalTriggerCreated(fact) => ingress::created(state, fact, at),
            Self::ExternalTriggerRotated(fact) => ingress::rotated(state, &fact, at),
            Self::ExternalTriggerRevoked(fact) => ingress::revoked(state, &fact, at),
            Self::ExternalTriggerDelivered(fact) => ingress::delivered(state, fact, at),
            Self::AgentDescribed(fact) => control::described(state, fact),
            Self::BudgetSet(fact) => budget::set(state, fact, at),
            Self::BudgetGranted(fact) => budget::granted(state, fact),
            Self::WakeHintSubmitted(fact) => control::wake_hint(state, fact),
            Self::WakeHintCoalesced(fact) => control::hint_coalesced(state, fact, at),
            Self::WakeHintIgnored(fact) => control::hint_ignored(&fact, at),
            Self::StartRequested(_) => control::start(state),
            Self::StopRequested(_) => control::stop(state, at),
            Self::ShutdownRequested(_) => control::shutdown(state),
            Self::RuntimeRestarted(fact) => control::restarted(state, &fact, at),
            Self::ClockCorrected(fact) => control::clock_corrected(state, &fact, at),
            Self::PolicySet(fact) => control::policy_set(fact),
            Self::TranscriptAppended(fact) => context::transcript(state, fact, at),
            Self::ToolExecutionRecorded(fact) => context::tool_execution(state, fact, at),
            Self::BriefRecorded(fact) => context::brief(state, fact, at),
            Self::RuntimeError(fact) => context::evidence(EventKind::RuntimeError, &fact, at),
            Self::OwnerBreachReported(fact) => control::owner_breach(state, &fact, at),
            Self::ContextCompacted(fact) => {
                context::evidence(EventKind::ContextCompacted, &fact, at)
            }
            Self::CheckpointRecorded(fact) => context::checkpoint(state, &fact, at),
        }
    }
}

//! The turn loop: a conversation with the model, round by round, on a thread of its own. What
//! happens becomes facts; the scheduler decides what follows from them. The loop belongs to the
//! host and can be replaced.

mod account;
mod brief;
mod summary;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use serde::Serialize;
use wakeful_core::{
    fact::{
        Fact,
        context::{AssistantRoundRecorded, ToolExecutionRecorded},
        turn::{RoundCompleted, TurnOverBudget, TurnStarted, TurnTerminal},
    },
    id::{MessageId, RunId},
    json::RawJson,
    record::{
        context::{RoundCall, ToolExecutionStatus},
        decision::Boundary,
        effect::TurnRequest,
        queue::{envelope::MessageKind, message::MessageRecord},
        refusal::RefusedContent,
        turn::TurnTerminalKind,
    },
};

use self::account::Accounts;
use crate::{
    context::Context,
    cut,
    handle::{Ended, Handle},
    listener::Listener,
    openai::{
        self, Cancel, Chat, ChatError, ChatMessage, Extra, Listening, Timing, ToolCall, Usage,
    },
    prompt::{Baseline, Told},
    round::{CallResult, Round},
    rounds::{Culprits, OverBudget, Rounds},
    tools::{self, Answered, Caller},
};

/// The most bytes that the ledger keeps of one text or JSON value of a turn. A fact has room for
/// several.
const MOST_RECORDED: usize = 256 << 10;

/// What a request is for, if not for the work itself.
mod purpose {
    pub(super) const SUMMARY: &str = "context_summary";
    pub(super) const CHECKPOINT: &str = "runtime_checkpoint";
}

/// The most rounds in a row in which the limit of an answer cuts a call.
const MOST_CUT_ROUNDS: u32 = 3;

/// A turn that is being executed.
pub(crate) struct Execution {
    run: RunId,
    cancel: Cancel,
    yields: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    /// Cancels it when the process may no longer own the agent.
    _lost: Listening,
}

impl Execution {
    /// Starts a turn whose prompt begins with these messages.
    pub(crate) fn start(
        context: &Arc<Context>,
        handle: &Handle,
        request: &TurnRequest,
        baseline: Baseline,
    ) -> std::io::Result<Self> {
        let (run, cancel, yields) =
            (request.run_id.clone(), Cancel::new(), Arc::<AtomicBool>::default());
        let turn = Turn {
            caller: Caller {
                context: Arc::clone(context),
                handle: handle.clone(),
                run: run.clone(),
                trust: request.message.trust,
                cancel: cancel.clone(),
            },
            message_id: request.message.id.clone(),
            is_tick: matches!(
                request.message.kind,
                MessageKind::SystemTick | MessageKind::TimerTick
            ),
            yields: Arc::clone(&yields),
            has_accepted: false,
            has_summarised: false,
        };
        let message_id = turn.message_id.clone();
        let thread = std::thread::Builder::new()
            .name(format!("turn {}", request.turn_index))
            .spawn(move || {
                let (run, handle) = (turn.caller.run.clone(), turn.caller.handle.clone());
                let begun = Fact::TurnStarted(TurnStarted {
                    run_id: run.clone(),
                    message_id,
                    turn_index: None,
                });
                // If the agent has ended or the run was cancelled, nothing needs the facts of this
                // turn.
                let _ = handle.tell(move |actor| drop(actor.propose(&begun)));
                // A panic must end the turn too: otherwise its run would stay open.
                let ended = catch_unwind(AssertUnwindSafe(|| turn.converse(baseline)));
                let end = ended.unwrap_or_else(|_| {
                    Ok(Some(Fact::failure(Some(run.clone()), "the turn panicked".to_owned())))
                });
                if let Ok(Some(end)) = end {
                    let _ = handle.tell(move |actor| actor.end_turn(&run, end));
                }
            })?;
        let lost = cancel.clone();
        let lost = context.lost.listen(move || lost.cancel());
        Ok(Self { run, cancel, yields, thread, _lost: lost })
    }

    /// The run that is being executed.
    pub(crate) fn run(&self) -> &RunId {
        &self.run
    }

    /// Asks the turn to end after its current round.
    pub(crate) fn yield_now(&self) {
        self.yields.store(true, Ordering::SeqCst);
    }

    /// Cancels the turn.
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Whether the thread of the turn has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}

/// The part of a round that is recorded in the ledger.
#[derive(Serialize)]
struct SaidInRound<'a> {
    round: u64,
    text: Option<&'a str>,
    tool_calls: Vec<ToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls_left_out: Option<usize>,
}

#[derive(Serialize)]
struct Diagnostics<'a> {
    model: Option<&'a str>,
    response_id: Option<&'a str>,
    finish_reason: Option<&'a str>,
    usage: Option<Usage>,
    timing: Timing,
    prompt_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    round_purpose: Option<&'static str>,
}

struct Turn {
    caller: Caller,
    /// The message that started the turn.
    message_id: MessageId,
    /// Whether the runtime itself sent that message.
    is_tick: bool,
    yields: Arc<AtomicBool>,
    /// Whether output of the model has been recorded.
    has_accepted: bool,
    /// Whether a summary has been asked for.
    has_summarised: bool,
}

impl Turn {
    /// Talks with the model until the turn ends. Returns the fact that ends it; `None` if it was
    /// cancelled.
    fn converse(mut self, baseline: Baseline) -> Result<Option<Fact>, Ended> {
        let context = Arc::clone(&self.caller.context);
        let mut rounds = Rounds::new(baseline, context.tools_bytes(), context.budget());
        let mut number = 0;
        let mut cut_rounds = 0;
        let mut too_long = None;
        let mut accounts = Accounts::default();
        while !self.caller.cancel.is_cancelled() {
            // This safe point is between rounds, so there is none before the first.
            if !rounds.is_empty() {
                self.insert(&mut rounds, Boundary::BeforeProviderContinuation)?;
            }
            let prompt = match rounds.prompt() {
                Ok(prompt) => prompt,
                Err(why) => return Ok(Some(self.over_budget(&why, too_long.as_ref()))),
            };
            if self.summarise(&mut rounds)? {
                continue;
            }
            if prompt.compacted.is_some() {
                self.compacted()?;
                accounts.owe();
            }
            let is_last = !rounds.is_empty() && number + 1 >= context.rounds_per_turn;
            let question = accounts.question(is_last);
            let anchor = question.map(|_| self.anchor()).transpose()?;
            let mut messages = prompt.messages;
            messages.extend(question.map(|text| ChatMessage::User { content: text.to_owned() }));
            let prompt_bytes = prompt.bytes + question.map_or(0, |text| text.len() as u64);
            let chat = Chat { messages: &messages, tools: context.tools() };
            let mut listener = Listener::new(&context);
            let answer = context.endpoint.complete(&chat, &mut listener, &self.caller.cancel);
            // Also after a failure: what was held back is a part of what the model said.
            listener.close();
            let answer = match answer {
                Ok(answer) => answer,
                Err(ChatError::Cancelled) => break,
                // The provider's count is the true one: the same round is tried again with less.
                Err(why @ ChatError::ContextLength { .. }) => {
                    rounds.shorten();
                    too_long = Some(why);
                    continue;
                }
                Err(why @ ChatError::ContentRefused { .. }) => {
                    if rounds.leave_out() {
                        continue;
                    }
                    return self.refused(&why);
                }
                Err(why) => return Ok(Some(self.failed(&why))),
            };
            too_long = None;
            if let Some(culprits) = rounds.accepted() {
                self.report(&culprits, &rounds)?;
            }
            let (answer, left_out) = self.shortened(answer);
            number += 1;
            // From here on the budget uses the tokens per byte that this provider counts.
            if let Some(counted) = answer.usage.and_then(|usage| usage.prompt_tokens) {
                rounds.budget.measured(prompt_bytes, counted);
            }
            context.learn(rounds.budget);
            // Recorded before its calls run, so that a crash in one of them does not lose the
            // answer.
            let purpose = question.map(|_| purpose::CHECKPOINT);
            self.accepted(number, &answer, left_out, prompt_bytes, purpose)?;
            accounts.answered(question.is_some());
            let ends = answer.tool_calls.is_empty();
            // Without calls, the last answer of a turn is its result and not an account.
            if let Some(anchor) = anchor.filter(|_| !(ends && is_last))
                && let Some(account) = self.account(number, anchor, &answer)?
            {
                rounds.keep_account(account, ends);
                if ends {
                    continue;
                }
            }
            if ends {
                cut_rounds = 0;
                rounds.push(Round::said(answer.message(), Vec::new()));
                // An interjection keeps the turn going: the answer did not take it into account.
                if !self.insert(&mut rounds, Boundary::AfterProviderRound)? {
                    self.brief_result(&answer)?;
                    return Ok(Some(self.terminal(
                        TurnTerminalKind::Completed,
                        answer.cut_off(),
                        said(&answer),
                    )));
                }
                continue;
            }
            if number == 1 {
                self.brief_ack(&answer)?;
            }
            let done = self.execute(number, &answer, left_out)?;
            cut_rounds = if done.has_cut_call { cut_rounds + 1 } else { 0 };
            rounds.push(done.round);
            self.propose(Fact::ToolRoundCompleted(RoundCompleted::new(
                self.caller.run.clone(),
                number,
            )))?;
            if cut_rounds >= MOST_CUT_ROUNDS {
                let reason = format!(
                    "the end of the answer cut a call in {cut_rounds} rounds in a row; allow longer \
                     answers with --max-output-tokens or in the server's settings"
                );
                return Ok(Some(self.terminal(
                    TurnTerminalKind::ProviderFailedNeedsRecovery,
                    Some(reason),
                    said(&answer),
                )));
            }
            // A registered wait and a completed item yield the turn by an effect (contract 5.14,
            // 5.17).
            if done.ends_turn || self.yields.load(Ordering::SeqCst) {
                return Ok(Some(self.terminal(TurnTerminalKind::Completed, None, said(&answer))));
            }
            // Such a turn completes: a failed one would owe a retry (contract 5.6).
            if number >= context.rounds_per_turn {
                let reason = format!("the turn reached its limit of {number} rounds");
                return Ok(Some(self.terminal(
                    TurnTerminalKind::Completed,
                    Some(reason),
                    said(&answer),
                )));
            }
            self.insert(&mut rounds, Boundary::AfterToolResults)?;
        }
        Ok(None)
    }

    /// The answer with at most twice the calls that are executed, and the number of calls that were
    /// left out. The facts of a round and the chat stay small even if an answer has thousands.
    fn shortened(&self, mut answer: openai::Round) -> (openai::Round, usize) {
        let most = self.caller.context.calls_per_round.saturating_mul(2).max(1);
        let left_out = answer.tool_calls.len().saturating_sub(most);
        answer.tool_calls.truncate(most);
        (answer, left_out)
    }

    /// Executes the calls of a round, in order. Each call gets a result in any case, because the
    /// model must find an answer to each of its calls.
    fn execute(
        &self,
        number: u64,
        answer: &openai::Round,
        left_out: usize,
    ) -> Result<Executed, Ended> {
        let mut results = Vec::new();
        let mut all_sleep = true;
        let mut ends_turn = false;
        let mut has_cut_call = false;
        for (index, call) in answer.tool_calls.iter().enumerate() {
            let is_last = index + 1 == answer.tool_calls.len();
            // If calls are left out, then the last one here is not the last one of the answer.
            let is_cut = is_cut(answer, call, is_last && left_out == 0);
            has_cut_call |= is_cut;
            let answered = if self.caller.cancel.is_cancelled() {
                Answered::broken_off(&self.caller, &call.name)
            } else if is_cut {
                Answered::cut(&self.caller, &call.name, answer.finish)
            } else if index >= self.caller.context.calls_per_round.max(1) {
                let untold = if is_last { left_out } else { 0 };
                Answered::one_too_many(&self.caller, &call.name, untold)
            } else {
                tools::call(&self.caller, &call.name, &call.arguments, answer.text.as_deref())?
            };
            all_sleep &= answered.sleeps;
            ends_turn |= answered.sleeps;
            let status = if answered.is_error {
                ToolExecutionStatus::Error
            } else {
                ToolExecutionStatus::Success
            };
            // The same call has the same id, so a fact that is repeated is a duplicate (contract
            // 2.2).
            let execution = format!("{}/{number}.{}", self.caller.run, index + 1);
            self.propose(Fact::ToolExecutionRecorded(ToolExecutionRecorded {
                run_id: self.caller.run.clone(),
                tool_execution_id: execution.clone(),
                tool_name: answered.tool_name.clone(),
                status,
                input: self.recorded(json_or_text(&call.arguments)),
                output: self.recorded(json_or_text(&answered.text)),
                summary: answered.summary.clone(),
                call_id: Some(call.id.clone()),
            }))?;
            results.push(CallResult {
                call_id: call.id.clone(),
                execution,
                tool: answered.tool_name,
                summary: answered.summary,
                text: answered.text,
            });
        }
        let round = Round::said(answer.message(), results);
        // A Sleep beside other calls does not end the turn: the model must see their results.
        Ok(Executed { round, ends_turn: ends_turn && all_sleep, has_cut_call })
    }

    /// Adds waiting operator messages to the conversation. Returns whether there were any.
    fn insert(&self, rounds: &mut Rounds, safe_point: Boundary) -> Result<bool, Ended> {
        let run = self.caller.run.clone();
        let inserted: Vec<MessageRecord> =
            self.caller.handle.ask(move |actor| actor.interject(&run, safe_point))?;
        if inserted.is_empty() {
            return Ok(false);
        }
        rounds.push(Round::inserted(inserted.iter().map(Told::new).collect()));
        Ok(true)
    }

    /// Records the model's answer. From here on the turn has accepted output.
    fn accepted(
        &mut self,
        number: u64,
        answer: &openai::Round,
        left_out: usize,
        prompt_bytes: u64,
        round_purpose: Option<&'static str>,
    ) -> Result<(), Ended> {
        self.has_accepted = true;
        // Signatures mean nothing to anybody but the server.
        let without_extra = |call: &ToolCall| ToolCall { extra: Extra::default(), ..call.clone() };
        let said = SaidInRound {
            round: number,
            text: answer.text.as_deref(),
            tool_calls: answer.tool_calls.iter().map(without_extra).collect(),
            calls_left_out: Some(left_out).filter(|left_out| *left_out > 0),
        };
        let data = self.recorded(RawJson::from_value(&said));
        self.propose(Fact::AssistantRoundRecorded(AssistantRoundRecorded {
            run_id: self.caller.run.clone(),
            data,
            calls: Some(answer.tool_calls.iter().map(round_call).collect()),
        }))?;
        self.round_completed(number, answer, prompt_bytes, round_purpose)
    }

    /// Records the costs of a request that was answered.
    fn round_completed(
        &self,
        round: u64,
        answer: &openai::Round,
        prompt_bytes: u64,
        round_purpose: Option<&'static str>,
    ) -> Result<(), Ended> {
        let diagnostics = Diagnostics {
            model: answer.model.as_deref(),
            response_id: answer.response_id.as_deref(),
            finish_reason: answer.finish_reason.as_deref(),
            usage: answer.usage,
            timing: answer.timing,
            prompt_bytes,
            round_purpose,
        };
        self.propose(Fact::ProviderRoundCompleted(RoundCompleted {
            input_tokens: answer.usage.and_then(|usage| usage.prompt_tokens),
            output_tokens: answer.usage.and_then(|usage| usage.completion_tokens),
            diagnostics: Some(RawJson::from_value(&diagnostics)),
            // No server says a price.
            ..RoundCompleted::new(self.caller.run.clone(), round)
        }))
    }

    fn over_budget(&self, why: &OverBudget, too_long: Option<&ChatError>) -> Fact {
        let said = too_long.map_or_else(String::new, |said| format!("{said}: "));
        Fact::TurnBaselineOverBudget(TurnOverBudget {
            run_id: self.caller.run.clone(),
            reason: Some(format!("{said}{why}")),
        })
    }

    /// Records what the provider refuses, so that it is not told again (contract 5.3).
    fn report(&self, culprits: &Culprits, rounds: &Rounds) -> Result<(), Ended> {
        let (past, deferred) = rounds.baseline().ids();
        let mut named: Vec<MessageId> =
            culprits.inserted.iter().map(|id| MessageId::from(id.as_str())).collect();
        if culprits.parts.summary {
            self.forget_summary()?;
        }
        if culprits.parts.past {
            named.extend(past.into_iter().map(MessageId::from));
        }
        if culprits.parts.deferred {
            match deferred.as_slice() {
                [only] => named.push(MessageId::from(*only)),
                // Nobody can say which. Later turns are told one at a time.
                _ => self.propose(self.content_refused(Vec::new()))?,
            }
        }
        if !named.is_empty() {
            self.propose(self.content_refused(named))?;
        }
        let context = &self.caller.context;
        context.audience.notice(
            &context.agent_id,
            "the provider refuses a part of the prompt; the turn goes on without it",
        );
        Ok(())
    }

    /// The end of a turn that the provider refuses whatever is left out. The message is to blame if
    /// nothing of the turn was ever read; it is not told again.
    fn refused(&self, why: &ChatError) -> Result<Option<Fact>, Ended> {
        if self.has_accepted {
            return Ok(Some(self.failed(why)));
        }
        let mut fact = self.content_refused(vec![self.message_id.clone()]);
        if let Fact::ContentRefused(refused) = &mut fact {
            refused.reason = Some(why.to_string());
        }
        Ok(Some(fact))
    }

    fn content_refused(&self, message_ids: Vec<MessageId>) -> Fact {
        Fact::ContentRefused(RefusedContent {
            run_id: self.caller.run.clone(),
            message_ids,
            reason: None,
        })
    }

    /// The fact for a provider that failed for good. Its kind depends on whether any output was
    /// accepted (contract 5.5).
    fn failed(&self, why: &ChatError) -> Fact {
        let partial = match why {
            ChatError::CutOff { partial, .. } => said(partial),
            _ => None,
        };
        let kind = if self.has_accepted || matches!(why, ChatError::CutOff { .. }) {
            TurnTerminalKind::ProviderFailedNeedsRecovery
        } else {
            TurnTerminalKind::DeferredToFallback
        };
        self.terminal(kind, Some(why.to_string()), partial)
    }

    fn terminal(
        &self,
        kind: TurnTerminalKind,
        reason: Option<String>,
        last_assistant_message: Option<String>,
    ) -> Fact {
        let run_id = self.caller.run.clone();
        // Secrets first: a cut could leave a part of one.
        let redactor = &self.caller.context.redactor;
        let last_assistant_message = last_assistant_message
            .map(|said| cut::beginning(&redactor.redact(&said), MOST_RECORDED).into_owned());
        Fact::TurnTerminal(TurnTerminal {
            run_id,
            kind,
            reason,
            last_assistant_message,
            // The actor adds it, because only it knows whether it is valid then.
            checkpoint: None,
        })
    }

    /// The form of free JSON that is recorded. A value that is too long becomes the beginning of
    /// its text, without secrets: a cut could leave a part of one.
    fn recorded(&self, data: RawJson) -> RawJson {
        if data.as_str().len() <= MOST_RECORDED {
            return data;
        }
        let clean = self.caller.context.redactor.redact(data.as_str());
        RawJson::from_value(&cut::beginning(&clean, MOST_RECORDED))
    }

    fn propose(&self, fact: Fact) -> Result<(), Ended> {
        self.caller.handle.ask(move |actor| drop(actor.propose(&fact)))
    }
}

fn round_call(call: &ToolCall) -> RoundCall {
    RoundCall { call_id: call.id.clone(), tool_name: call.name.clone() }
}

/// A round whose calls were executed.
struct Executed {
    round: Round,
    ends_turn: bool,
    /// Whether the limit of the answer cut a call.
    has_cut_call: bool,
}

fn said(answer: &openai::Round) -> Option<String> {
    answer.text.clone().or_else(|| answer.refusal.clone()).filter(|text| !text.trim().is_empty())
}

/// Whether the end of the answer cut a call. A complete object shows that the call is complete;
/// the last call may have no arguments because it had only begun.
fn is_cut(answer: &openai::Round, call: &ToolCall, is_last: bool) -> bool {
    let is_incomplete = openai::arguments::object(&call.arguments).is_none()
        || is_last && call.arguments.trim().is_empty();
    answer.finish.is_cut() && is_incomplete
}

/// Text that should be JSON, such as the arguments of a call. Invalid JSON is recorded as a string.
fn json_or_text(text: &str) -> RawJson {
    wakeful_core::json::read(text).unwrap_or_else(|_| RawJson::from_value(&text))
}

//! A turn that has ended, read back from its ledger. Nothing of a turn is kept while it is open, so
//! it does not matter whether this process saw its beginning.

use wakeful_core::{
    host::Ledger,
    id::{MessageId, RunId, Seq},
    json::RawJson,
    record::{
        Record,
        chain::Chain,
        context::ToolExecutionStatus,
        decision::{Decision, DecisionKind},
        entry::{Entry, EntryError},
        event::{EventKind, EventRecord},
        turn::{RunStatus, TurnRecord},
    },
    time::Timestamp,
};
use wakeful_host::ledger::StoreLedger;

use crate::agents::tail::{Stop, head_at};

/// The entries that are read at once.
const PAGE: u64 = 128;

/// The most entries before a turn in which the run before it is looked for.
const MOST_BACK: usize = 2_048;

/// An entry, without the texts of people, models and tools.
pub(super) struct Mark {
    pub(super) seq: Seq,
    pub(super) at: Timestamp,
    pub(super) chain: Chain,
    pub(super) what: What,
}

/// What an entry is for a trace.
pub(super) enum What {
    /// A run began or ended.
    Turn(Box<TurnRecord>),
    /// A round with the provider ended.
    Round(Round),
    /// A tool call ended.
    Tool(Tool),
    /// The scheduler decided.
    Decision(Decided),
    /// Something else ended, after which the next thing begins.
    Step,
    /// A message came.
    Message(MessageId),
    /// No trace tells it.
    Other,
}

pub(super) struct Round {
    pub(super) number: Option<u64>,
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) model: Option<String>,
    pub(super) response_id: Option<String>,
    pub(super) finish_reason: Option<String>,
}

pub(super) struct Tool {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) call_id: Option<String>,
    pub(super) has_failed: bool,
    pub(super) input_bytes: usize,
    pub(super) output_bytes: usize,
}

pub(super) struct Decided {
    pub(super) kind: DecisionKind,
    pub(super) rule: String,
    pub(super) reason: String,
    message_id: Option<MessageId>,
}

/// A turn that has ended.
pub(super) struct Turn {
    /// The entry that began it.
    pub(super) first: Mark,
    /// The entry that ended it.
    pub(super) last: Mark,
    /// Its end.
    pub(super) record: Box<TurnRecord>,
    /// What happened between, in order.
    pub(super) between: Vec<Mark>,
    /// The decision that began it.
    pub(super) decision: Option<Mark>,
    /// The run before it of the same message, or of the message that it tries again.
    pub(super) before: Option<Before>,
}

pub(super) struct Before {
    pub(super) run_id: RunId,
    pub(super) first: Chain,
}

/// Whether an entry ends a turn.
pub(super) fn ends(entry: &Entry) -> bool {
    matches!(&entry.record, Record::Turn(turn) if turn.status != RunStatus::Started)
}

impl Turn {
    /// The turn that an entry ended. `None` if the ledger does not have its beginning, as after an
    /// import.
    pub(super) fn read(ledger: StoreLedger, last: Seq) -> Result<Option<Self>, Stop> {
        let mut back = Back { ledger, before: last.next(), page: Vec::new() };
        let Some(mut last) = back.next()? else { return Ok(None) };
        let What::Turn(record) = std::mem::replace(&mut last.what, What::Other) else {
            return Ok(None);
        };
        let mut between = Vec::new();
        let keep = |mark: Mark| {
            if !matches!(mark.what, What::Message(_) | What::Other) {
                between.push(mark);
            }
        };
        let Some(first) = back.beginning(&record.run_id, keep)? else { return Ok(None) };
        between.reverse();
        let (decision, before) = back.what_led_to(&record)?;
        Ok(Some(Self { first, last, record, between, decision, before }))
    }
}

/// Reads a ledger from an entry back to its beginning.
struct Back {
    ledger: StoreLedger,
    /// All entries from here on were read.
    before: Seq,
    /// What was read and not given yet.
    page: Vec<Mark>,
}

impl Back {
    fn next(&mut self) -> Result<Option<Mark>, Stop> {
        if self.page.is_empty() && self.before.0 > 1 {
            let after = Seq((self.before.0 - 1).saturating_sub(PAGE));
            let mut head = head_at(&mut self.ledger, after)?;
            while head.seq.next() < self.before {
                let left = self.before.0 - 1 - head.seq.0;
                let entries =
                    self.ledger.read(head.seq, u32::try_from(left).unwrap_or(u32::MAX))?;
                if entries.is_empty() {
                    return Err(EntryError::BrokenChain { seq: head.seq.next() }.into());
                }
                for bytes in entries {
                    let entry = bytes.open(&head)?;
                    head = entry.head();
                    self.page.push(Mark::of(entry));
                }
            }
            self.before = after.next();
        }
        Ok(self.page.pop())
    }

    /// Goes back to the beginning of a run. At most one run is open at a time, so another one
    /// before means that there is no beginning.
    fn beginning(&mut self, run: &RunId, mut each: impl FnMut(Mark)) -> Result<Option<Mark>, Stop> {
        while let Some(mark) = self.next()? {
            match &mark.what {
                What::Turn(turn) if turn.run_id != *run => return Ok(None),
                What::Turn(turn) if turn.status == RunStatus::Started => return Ok(Some(mark)),
                _ => each(mark),
            }
        }
        Ok(None)
    }

    /// The decision that began a run, and the run before it of the same lineage.
    fn what_led_to(&mut self, run: &TurnRecord) -> Result<(Option<Mark>, Option<Before>), Stop> {
        let lineage = lineage(run);
        let (mut decision, mut is_decided) = (None, false);
        for _ in 0..MOST_BACK {
            let Some(mark) = self.next()? else { break };
            match &mark.what {
                What::Decision(decided) if !is_decided => {
                    is_decided = true;
                    let began = decided.kind == DecisionKind::StartModelTurn
                        && decided.message_id.as_ref() == Some(&run.message_id);
                    decision = began.then_some(mark);
                }
                // Nothing can have tried a message before it came.
                What::Message(message) if message == lineage => break,
                What::Turn(turn) if turn.status != RunStatus::Started => {
                    is_decided = true;
                    if self::lineage(turn) == lineage {
                        let first = self.beginning(&turn.run_id, drop)?;
                        let before = first.map(|first| Before {
                            run_id: turn.run_id.clone(),
                            first: first.chain,
                        });
                        return Ok((decision, before));
                    }
                }
                _ => {}
            }
        }
        Ok((decision, None))
    }
}

/// The first message of those that try the same.
fn lineage(run: &TurnRecord) -> &MessageId {
    run.retry_of.as_ref().unwrap_or(&run.message_id)
}

impl Mark {
    fn of(entry: Entry) -> Self {
        let what = match entry.record {
            Record::Turn(turn) => What::Turn(Box::new(TurnRecord {
                last_assistant_message: None,
                checkpoint: None,
                ..turn
            })),
            Record::Tool(tool) => What::Tool(Tool {
                id: tool.id,
                name: tool.tool_name,
                call_id: tool.call_id,
                has_failed: tool.status == ToolExecutionStatus::Error,
                input_bytes: tool.input.as_str().len(),
                output_bytes: tool.output.as_str().len(),
            }),
            Record::Message(message) => What::Message(message.id),
            Record::Transcript(_) => What::Step,
            Record::Event(event) => What::of_event(&event),
            _ => What::Other,
        };
        Self { seq: entry.seq, at: entry.at, chain: entry.chain, what }
    }
}

impl What {
    fn of_event(event: &EventRecord) -> Self {
        match event.known() {
            Some(EventKind::ProviderRoundCompleted) => {
                // A host may say what it likes in it.
                let said = event.particular("diagnostics");
                let said = |name| {
                    let field = said.as_ref().and_then(|said: &RawJson| said.field(name));
                    field.and_then(|field| field.read::<String>().ok())
                };
                Self::Round(Round {
                    number: event.particular("round"),
                    input_tokens: event.particular("input_tokens"),
                    output_tokens: event.particular("output_tokens"),
                    model: said("model"),
                    response_id: said("response_id"),
                    finish_reason: said("finish_reason"),
                })
            }
            Some(EventKind::ToolRoundCompleted) => Self::Step,
            Some(EventKind::SchedulerDecision) => match event.particulars::<Decision>() {
                None => Self::Other,
                Some(Decision { kind, rule, reason, message_id, .. }) => {
                    Self::Decision(Decided { kind, rule, reason, message_id })
                }
            },
            _ => Self::Other,
        }
    }
}

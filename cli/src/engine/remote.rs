//! An engine in another program, which may be written in any language and hosts the guest
//! component. Both sides exchange lines of JSON.
//!
//! This side sends a call, and the program answers with what the call returned. In between, the
//! program sends the calls of the guest's imports. They are answered from the same ledger, clock
//! and provider that every other engine gets. Function names are those of `wasm/wit`; arguments and
//! values are the JSON of their WIT types. Payloads are strings, so no program has to parse them.
//!
//! | line | meaning |
//! |---|---|
//! | `{"call":"new","args":[]}` | start a fresh instance, and drop the previous one |
//! | `{"call":"propose","args":["<fact>"]}` | call this export of `agent` |
//! | `{"import":{"function":"ledger.read","args":[0,1024]}}` | the guest calls this import |
//! | `{"value":1}`, or `{"ok":[]}`, or `{"err":{"conflict":7}}` | the answer to an import |
//! | `{"returned":{"value":"<text>","fuel":123}}` | the call returned; `fuel` if it is counted |
//! | `{"refused":{"error":{"code":"malformed", ..},"fuel":123}}` | the scheduler refused the call |
//! | `{"broke":"<why>"}` | the instance trapped, or cannot be used |

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use wakeful_core::{
    host::{Clock, ErrorReport, Ledger, LedgerError, Provider, ProviderError},
    id::{Seq, TaskId},
    json,
    machine::Options,
    record::{
        chain::{Chain, Head},
        decision::{Boundary, DecisionKind},
        effect::{Effect, TurnRequest},
        entry::EntryBytes,
    },
    time::Timestamp,
};
use wakeful_host::{
    engine::{Engine, EngineError, Mode},
    sandbox::GuestError,
};

use super::{Process, ProcessError};

/// The scheduler of one agent in another program.
pub(crate) struct Remote<L, C, P> {
    program: Arc<Mutex<Process>>,
    ledger: L,
    clock: C,
    provider: P,
    /// The fuel of all calls; `None` if the program does not count it.
    spent: Option<u64>,
}

/// A line that this side sends.
#[derive(Serialize)]
struct Call<'a> {
    call: &'a str,
    args: Value,
}

/// A line that the program sends.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    Import { function: String, args: Value },
    Returned { value: Value, fuel: Option<u64> },
    Refused { error: ErrorReport, fuel: Option<u64> },
    Broke(String),
}

impl<L: Ledger, C: Clock, P: Provider> Remote<L, C, P> {
    /// Starts a fresh instance in a program, over what the host provides.
    ///
    /// # Errors
    /// If the program does not start an instance.
    pub(crate) fn new(
        program: Arc<Mutex<Process>>,
        ledger: L,
        clock: C,
        provider: P,
    ) -> Result<Self, EngineError> {
        let mut remote = Self { program, ledger, clock, provider, spent: Some(0) };
        remote.call::<()>("new", json!([]))?;
        Ok(remote)
    }

    /// Calls a function, and answers the guest's imports until it returns.
    fn call<T: DeserializeOwned>(&mut self, call: &str, args: Value) -> Result<T, EngineError> {
        let program = Arc::clone(&self.program);
        // Held until the call returns, because the guest's imports come over the same lines.
        let mut program = program.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line = text(&Call { call, args })?;
        loop {
            let heard = program.ask(&line)?;
            match serde_json::from_str(&heard).map_err(|why| nonsense(&heard, &why))? {
                Said::Import { function, args } => line = text(&self.import(&function, args)?)?,
                Said::Returned { value, fuel } => {
                    self.spend(fuel);
                    return serde_json::from_value(value).map_err(|why| nonsense(&heard, &why));
                }
                Said::Refused { error, fuel } => {
                    self.spend(fuel);
                    return Err(EngineError::Refused(error));
                }
                // As the trap of an instance in this process, so that callers treat both alike.
                Said::Broke(why) => return Err(GuestError::Trapped { why }.into()),
            }
        }
    }

    fn spend(&mut self, fuel: Option<u64>) {
        // After one call without a count the sum is unknown.
        self.spent = self.spent.zip(fuel).map(|(spent, fuel)| spent.saturating_add(fuel));
    }

    /// Answers an import of the guest.
    fn import(&mut self, function: &str, args: Value) -> Result<Value, EngineError> {
        Ok(match function {
            "clock.now" => json!({"value": self.clock.now().as_nanos()}),
            "ledger.append" => {
                let (expected, batch): (ForeignHead, Vec<String>) = arguments(args)?;
                let batch: Vec<EntryBytes> =
                    batch.into_iter().map(EntryBytes::from_stored).collect();
                ledger(self.ledger.append(&expected.head()?, &batch))
            }
            "ledger.read" => {
                let (after, limit) = arguments(args)?;
                ledger(self.ledger.read(Seq(after), limit).map(|page| {
                    page.iter().map(|entry| entry.as_str().to_owned()).collect::<Vec<_>>()
                }))
            }
            "ledger.load-snapshot" => ledger(self.ledger.load_snapshot()),
            "ledger.store-snapshot" => {
                let (head, snapshot): (ForeignHead, String) = arguments(args)?;
                ledger(self.ledger.store_snapshot(&head.head()?, &|| snapshot.clone()))
            }
            "provider.start-turn" => {
                let [request]: [String; 1] = arguments(args)?;
                let request: TurnRequest =
                    json::read(&request).map_err(|why| wrong(&why.to_string()))?;
                provider(self.provider.carry_out(&Effect::StartTurn(request)))
            }
            "provider.interject" => {
                let (run_id, message_id) = arguments(args)?;
                provider(self.provider.carry_out(&Effect::Interject { run_id, message_id }))
            }
            "provider.yield-turn" => {
                let [run_id] = arguments(args)?;
                provider(self.provider.carry_out(&Effect::YieldTurn { run_id }))
            }
            "provider.abort-turn" => {
                let (run_id, reason) = arguments(args)?;
                provider(self.provider.carry_out(&Effect::AbortTurn { run_id, reason }))
            }
            "provider.alive" => {
                let [active]: [Vec<TaskId>; 1] = arguments(args)?;
                provider(self.provider.alive(active))
            }
            "provider.release" => provider(self.provider.carry_out(&Effect::Release)),
            other => {
                return Err(wrong(&format!(
                    "the guest called `{other}`, which is not an import of a scheduler"
                )));
            }
        })
    }
}

/// A head in its WIT form.
#[derive(Deserialize)]
struct ForeignHead {
    seq: u64,
    chain: String,
}

impl ForeignHead {
    fn head(&self) -> Result<Head, EngineError> {
        let chain = Chain::parse(&self.chain)
            .ok_or_else(|| wrong(&format!("`{}` is not a chain hash", self.chain)))?;
        Ok(Head { seq: Seq(self.seq), chain })
    }
}

fn ledger<T: Serialize>(answer: Result<T, LedgerError>) -> Value {
    match answer {
        Ok(value) => json!({"ok": value}),
        Err(LedgerError::Conflict { found }) => json!({"err": {"conflict": found.0}}),
        Err(LedgerError::Failed { message }) => json!({"err": {"failed": message}}),
    }
}

fn provider<T: Serialize>(answer: Result<T, ProviderError>) -> Value {
    answer.map_or_else(|why| json!({"err": why.message}), |value| json!({"ok": value}))
}

fn arguments<T: DeserializeOwned>(args: Value) -> Result<T, EngineError> {
    serde_json::from_value(args).map_err(|why| wrong(&why.to_string()))
}

fn text(line: &impl Serialize) -> Result<String, EngineError> {
    serde_json::to_string(line).map_err(|why| wrong(&why.to_string()))
}

fn nonsense(heard: &str, why: &serde_json::Error) -> EngineError {
    wrong(&format!("it sent `{}`: {why}", heard.trim_end().chars().take(200).collect::<String>()))
}

fn wrong(why: &str) -> EngineError {
    ProcessError::new(format!("the program of the engine does not follow the protocol: {why}"))
        .into()
}

impl<L: Ledger, C: Clock, P: Provider> Engine for Remote<L, C, P> {
    fn open(&mut self, options: &Options, mode: Mode) -> Result<String, EngineError> {
        self.call("open", json!([json::write(options), mode]))
    }

    fn catch_up(&mut self) -> Result<u64, EngineError> {
        self.call("catch-up", json!([]))
    }

    fn propose(&mut self, fact: &str) -> Result<String, EngineError> {
        self.call("propose", json!([fact]))
    }

    fn step(&mut self, boundary: Boundary) -> Result<String, EngineError> {
        self.call("step", json!([boundary]))
    }

    fn run_until_rest(&mut self) -> Result<String, EngineError> {
        self.call("run-until-rest", json!([]))
    }

    fn replay(&mut self, folder: &str) -> Result<String, EngineError> {
        self.call("replay", json!([folder]))
    }

    fn explain(&mut self, boundary: Boundary) -> Result<String, EngineError> {
        self.call("explain", json!([boundary]))
    }

    fn explain_at(&mut self, boundary: Boundary, seq: Seq) -> Result<String, EngineError> {
        self.call("explain-at", json!([boundary, seq]))
    }

    fn why_not(&mut self, boundary: Boundary, asked: DecisionKind) -> Result<String, EngineError> {
        self.call("why-not", json!([boundary, asked]))
    }

    fn why_not_at(
        &mut self,
        boundary: Boundary,
        asked: DecisionKind,
        seq: Seq,
    ) -> Result<String, EngineError> {
        self.call("why-not-at", json!([boundary, asked, seq]))
    }

    fn summary(&mut self) -> Result<String, EngineError> {
        self.call("summary", json!([]))
    }

    fn state(&mut self) -> Result<String, EngineError> {
        self.call("state", json!([]))
    }

    fn state_at(&mut self, seq: Seq) -> Result<String, EngineError> {
        self.call("state-at", json!([seq]))
    }

    fn snapshot(&mut self) -> Result<String, EngineError> {
        self.call("snapshot", json!([]))
    }

    fn next_wake(&mut self) -> Result<Option<Timestamp>, EngineError> {
        let at: Option<i64> = self.call("next-wake", json!([]))?;
        Ok(at.map(Timestamp::from_nanos))
    }

    fn schema_version(&mut self) -> Result<String, EngineError> {
        self.call("schema-version", json!([]))
    }

    fn fuel_spent(&self) -> Option<u64> {
        self.spent
    }
}

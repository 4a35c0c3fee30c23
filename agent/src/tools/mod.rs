//! The tools that the model sees (contract 12; `observed-tasks-waits-storage.md` 2). A tool reads
//! its arguments, asks the owner of the agent for what it needs, and answers in one envelope. It
//! changes state only by facts.

mod agents;
pub(super) mod exec;
mod queue;
mod rest;
mod schema;
mod task;
mod timer;
mod trigger;
mod wait;
mod work;

use std::sync::Arc;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use wakeful_core::{
    fact::{
        Fact,
        outcome::{Answer, Refusal},
    },
    id::RunId,
    record::queue::envelope::TrustLevel,
};

pub(super) use self::task::noted;
use super::{
    actor::Actor,
    context::Context,
    handle::{Ended, Handle},
};
use crate::openai::{Cancel, Finish, ToolDefinition, arguments};

/// The longest text argument, in bytes.
const LONGEST_TEXT: usize = 64 << 10;

/// The longest error message and the longest tool name in an answer, in characters. Both may repeat
/// text of the model.
const LONGEST_MESSAGE: usize = 2_000;
const LONGEST_NAME: usize = 64;

/// The name of a call without a name.
const UNNAMED: &str = "(unnamed)";

/// The context of a tool call, on the thread of the turn.
pub(super) struct Caller {
    pub(super) context: Arc<Context>,
    pub(super) handle: Handle,
    /// The run that makes the call.
    pub(super) run: RunId,
    /// The trust level of the turn.
    pub(super) trust: TrustLevel,
    /// Cancels the turn.
    pub(super) cancel: Cancel,
}

impl Caller {
    /// Runs a request on the owner of the agent. A turn whose run is no longer open changes
    /// nothing.
    fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(&mut Actor) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let run = self.run.clone();
        self.handle.ask(move |actor| {
            if actor.is_open(&run) { Ok(request(actor)) } else { Err(ToolError::broken_off()) }
        })?
    }

    /// Proposes a fact that must be accepted.
    fn say(&self, fact: Fact) -> Result<(), ToolError> {
        self.ask(move |actor| accepted(actor, &fact))?
    }
}

/// Proposes a fact that must be accepted. Otherwise the error has the scheduler's reason.
pub(super) fn accepted(actor: &mut Actor, fact: &Fact) -> Result<(), ToolError> {
    match actor.propose(fact) {
        Ok(Answer::Accepted) => Ok(()),
        Ok(Answer::Ignored { reason, because }) => Err(ToolError::refused(reason, because.0)),
        Err(why) => Err(ToolError::new("tool_execution_failed", why)),
    }
}

/// The result of a tool that succeeded.
struct Success {
    result: Value,
    summary: String,
    /// Whether the agent rests after it. The turn ends with this round if every call in it rests.
    sleeps: bool,
}

impl Success {
    fn new(summary: impl Into<String>, result: &impl Serialize) -> Self {
        Self { result: json!(result), summary: summary.into(), sleeps: false }
    }
}

/// Why a tool failed. The model reads it.
#[derive(Debug, Serialize, thiserror::Error)]
#[error("{message}")]
pub(super) struct ToolError {
    kind: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Box<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery_hint: Option<&'static str>,
    retryable: bool,
}

impl ToolError {
    pub(super) fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
            details: None,
            recovery_hint: None,
            retryable: false,
        }
    }

    fn broken_off() -> Self {
        Self::new("turn_broken_off", "the turn was cancelled before this was done")
    }

    fn hinting(mut self, hint: &'static str) -> Self {
        self.recovery_hint = Some(hint);
        self
    }

    /// The error for a fact that the scheduler ignored.
    fn refused(reason: Refusal, because: u64) -> Self {
        let message = match reason {
            Refusal::Duplicate => "this id is already in use",
            Refusal::AlreadyTerminal => "it has already ended",
            Refusal::Stale => "something newer has replaced it",
            Refusal::StaleRun => "this turn has ended",
            Refusal::Unknown => "there is nothing with this id",
            Refusal::Stopped => "the agent is stopped",
            Refusal::NoWaker => "nothing could end this wait: name a wake source or a deadline",
            Refusal::AlreadySatisfied => "what you would wait for has already happened",
            _ => "the scheduler did not accept it",
        };
        let details = json!({ "reason": reason.to_string(), "because_of_entry": because });
        Self { details: Some(Box::new(details)), ..Self::new(reason.to_string(), message) }
    }
}

impl From<Ended> for ToolError {
    fn from(why: Ended) -> Self {
        Self::new("agent_ended", why.to_string())
    }
}

/// The answer to a call, as the model reads it and the ledger records it.
#[derive(Serialize)]
struct Envelope {
    tool_name: String,
    status: &'static str,
    summary_text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ToolError>,
}

/// A call that was answered.
pub(super) struct Answered {
    /// The JSON that the model reads and the ledger records, without secrets.
    pub(super) text: String,
    /// The tool as the model named it, shortened if the name is too long.
    pub(super) tool_name: String,
    /// The result in one line.
    pub(super) summary: String,
    pub(super) is_error: bool,
    pub(super) sleeps: bool,
}

impl Answered {
    fn new(caller: &Caller, tool: &str, done: Result<Success, ToolError>) -> Self {
        let (status, summary_text, result, error, sleeps) = match done {
            Ok(done) => ("success", done.summary, Some(done.result), None, done.sleeps),
            Err(mut why) => {
                why.message = caller.context.line(&why.message, LONGEST_MESSAGE);
                ("error", why.message.clone(), None, Some(why), false)
            }
        };
        let is_error = error.is_some();
        let tool = if tool.trim().is_empty() { UNNAMED } else { tool };
        let envelope = Envelope {
            tool_name: caller.context.line(tool, LONGEST_NAME),
            status,
            summary_text,
            result,
            error,
        };
        let text = serde_json::to_string(&envelope).unwrap_or_else(|why| why.to_string());
        // Here and not only in `propose`: this text also goes to the model's server.
        let clean = |text: &str| caller.context.redactor.redact(text).into_owned();
        Self {
            text: clean(&text),
            tool_name: envelope.tool_name,
            summary: clean(&envelope.summary_text),
            is_error,
            sleeps,
        }
    }

    /// The answer to a call that was not executed because its turn was cancelled.
    pub(super) fn broken_off(caller: &Caller, tool: &str) -> Self {
        Self::new(caller, tool, Err(ToolError::broken_off()))
    }

    /// The answer to a call that was not executed because the end of the answer cut it.
    pub(super) fn cut(caller: &Caller, tool: &str, finish: Finish) -> Self {
        let because = match finish {
            Finish::Length => "it reached its token limit",
            _ => "the server ended it early",
        };
        let message = format!(
            "your answer ended inside this call, because {because}; the call is incomplete and was \
             not executed"
        );
        let why = ToolError { retryable: true, ..ToolError::new("call_cut_off", message) }
            .hinting("Call it again with shorter arguments, or split the work into several calls.");
        Self::new(caller, tool, Err(why))
    }

    /// The answer to a call that was not executed because its answer has too many calls. `left_out`
    /// is the number of calls after it that are not in the chat any more.
    pub(super) fn one_too_many(caller: &Caller, tool: &str, left_out: usize) -> Self {
        let most = caller.context.calls_per_round.max(1);
        let mut message = format!(
            "this call was not executed, because at most {most} calls of one answer are executed"
        );
        if left_out > 0 {
            message += &format!("; {left_out} more calls after it were left out too");
        }
        let why = ToolError { retryable: true, ..ToolError::new("too_many_calls", message) }
            .hinting("Look at the results first, then call again what is still needed.");
        Self::new(caller, tool, Err(why))
    }
}

/// A tool: its arguments, and what it does with them.
trait Tool: DeserializeOwned + JsonSchema {
    /// The name that the model calls it by.
    const NAME: &'static str;
    /// What it does and when to call it, for the model.
    const ABOUT: &'static str;

    /// Executes the call. `said` is the model's text beside it.
    fn run(self, caller: &Caller, said: Option<&str>) -> Result<Success, ToolError>;
}

/// The list of tools: it generates their definitions and the dispatch of calls.
macro_rules! tools {
    ($($tool:ty $(=> $only:ident)?,)+) => {
        /// The tools of an agent, in the form that the model gets.
        pub(super) fn definitions(is_child: bool) -> Vec<ToolDefinition> {
            let mut tools = Vec::new();
            $(if may_call!(is_child $(, $only)?) { tools.push(definition::<$tool>()); })+
            tools
        }

        /// Executes a call; `said` is the model's text beside it.
        ///
        /// # Errors
        /// If the agent has ended.
        pub(super) fn call(
            caller: &Caller,
            name: &str,
            arguments: &str,
            said: Option<&str>,
        ) -> Result<Answered, Ended> {
            let is_child = caller.context.is_child;
            let name = name.trim();
            let done = match name {
                $(<$tool>::NAME if may_call!(is_child $(, $only)?) =>
                    run::<$tool>(caller, arguments, said),)+
                $(<$tool>::NAME => Err(ToolError::new(
                    "unsupported_agent_profile_capability",
                    "a child agent may not call this tool",
                )),)+
                "" => Err(ToolError::new("unknown_tool", "the call names no tool")),
                _ => Err(ToolError::new("unknown_tool", format!("there is no tool `{name}`"))),
            };
            match done {
                // Nothing would record the answer, so the turn ends too.
                Err(why) if why.kind == "agent_ended" => Err(Ended),
                done => Ok(Answered::new(caller, name, done)),
            }
        }
    };
}

macro_rules! may_call {
    ($is_child:ident) => {
        true
    };
    ($is_child:ident, parents) => {
        !$is_child
    };
}

tools! {
    exec::ExecCommand,
    task::TaskList,
    task::TaskStatus,
    task::TaskOutput,
    task::TaskInput,
    task::TaskStop,
    agents::SpawnAgent => parents,
    agents::AgentGet,
    work::CreateWorkItem,
    work::PickWorkItem,
    work::UpdateWorkItem,
    work::CompleteWorkItem,
    work::GetWorkItem,
    work::ListWorkItems,
    wait::WaitFor,
    wait::EndWait,
    trigger::CreateExternalTrigger,
    trigger::RotateExternalTrigger,
    trigger::RevokeExternalTrigger,
    trigger::ListExternalTriggers,
    timer::SetTimer,
    timer::ListTimers,
    timer::CancelTimer,
    queue::Enqueue,
    rest::ReadRest,
    wait::Sleep,
}

fn run<T: Tool>(
    caller: &Caller,
    arguments: &str,
    said: Option<&str>,
) -> Result<Success, ToolError> {
    let read = match arguments::object(arguments) {
        Some(object) => serde_json::from_str::<T>(&object),
        // Only an object has named arguments: a list would be taken in the order of the fields.
        None => serde_json::from_str::<Map<String, Value>>(arguments).and_then(T::deserialize),
    };
    let tool = read.map_err(|why| {
        let details = json!({
            "tool_name": T::NAME,
            "parse_error": caller.context.line(&why.to_string(), LONGEST_MESSAGE),
        });
        let error = ToolError::new(
            "invalid_tool_input",
            format!("the arguments of {} cannot be read: {why}", T::NAME),
        );
        ToolError {
            details: Some(Box::new(details)),
            retryable: true,
            ..error.hinting("Call it again with arguments that follow its schema.")
        }
    })?;
    tool.run(caller, said)
}

fn definition<T: Tool>() -> ToolDefinition {
    let generator = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = generator.into_generator().into_root_schema_for::<T>();
    // They repeat the Rust type. The definition has a name and a description for the model.
    schema.remove("title");
    schema.remove("description");
    ToolDefinition {
        name: T::NAME.to_owned(),
        description: T::ABOUT.to_owned(),
        parameters: schema::plain(schema.to_value()),
    }
}

/// Trims a text argument, and checks that it is neither empty nor too long.
fn said(text: &str, field: &str) -> Result<String, ToolError> {
    let text = text.trim();
    match text.len() {
        0 => Err(ToolError::new("invalid_tool_input", format!("`{field}` is empty"))),
        1..=LONGEST_TEXT => Ok(text.to_owned()),
        bytes => Err(ToolError::new(
            "invalid_tool_input",
            format!("`{field}` has {bytes} bytes; at most {LONGEST_TEXT} are allowed"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_schema_that_takes_nothing_else() {
        let tools = definitions(false);
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names.len(), 26, "{names:?}");
        for tool in &tools {
            assert_eq!(tool.parameters["type"], "object", "{}", tool.name);
            assert_eq!(tool.parameters["additionalProperties"], false, "{}", tool.name);
            let text = tool.parameters.to_string();
            for unknown in ["\"null\"", "\"const\"", "\"anyOf\"", "\"oneOf\"", "\"format\"", "$"] {
                assert!(!text.contains(unknown), "{}: {unknown}: {text}", tool.name);
            }
            let properties =
                tool.parameters["properties"].as_object().map_or(0, serde_json::Map::len);
            let described = tool.parameters["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(_, it)| it["description"].is_string());
            assert_eq!(
                described.count(),
                properties,
                "{}: each argument has a description: {}",
                tool.name,
                tool.parameters
            );
        }
    }

    #[test]
    fn a_child_cannot_make_children() {
        let names: Vec<_> = definitions(true).into_iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), 25);
        assert!(!names.contains(&"SpawnAgent".to_owned()));
    }
}

//! The tools that the model sees (contract 12; `observed-tasks-waits-storage.md` 2). A tool reads its arguments, asks the owner of the agent
//! for what it needs, and answers in one envelope. What it changes, it changes by facts.

mod agents;
mod exec;
mod queue;
mod task;
mod wait;
mod work;

use std::sync::Arc;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use wakeful_core::{
    fact::{Answer, Fact, Refusal},
    id::RunId,
    plane::queue::TrustLevel,
};

use super::{
    desk::{Desk, Ended},
    kit::Kit,
    office::Office,
};
use crate::provider::openai::{Cancel, ToolDefinition};

/// Where a tool is called: in a turn, beside the agent's owner.
pub(super) struct Room {
    pub(super) kit: Arc<Kit>,
    pub(super) desk: Desk,
    /// The run that calls.
    pub(super) run: RunId,
    /// Under whose trust the turn acts.
    pub(super) trust: TrustLevel,
    /// The turn is broken off.
    pub(super) cancel: Cancel,
}

impl Room {
    /// Has the owner of the agent do something.
    fn ask<T: Send + 'static>(&self, errand: impl FnOnce(&mut Office) -> T + Send + 'static) -> Result<T, ToolError> {
        self.desk.ask(errand).map_err(ToolError::from)
    }

    /// Says a fact that must be taken.
    fn say(&self, fact: Fact) -> Result<(), ToolError> {
        self.ask(move |office| accepted(office, &fact))?
    }
}

/// Says a fact that must be taken; an error with the scheduler's reason where it is not.
fn accepted(office: &mut Office, fact: &Fact) -> Result<(), ToolError> {
    match office.propose(fact) {
        Ok(Answer::Accepted) => Ok(()),
        Ok(Answer::Ignored { reason, because }) => Err(ToolError::refused(reason, because.0)),
        Err(why) => Err(ToolError::new("tool_execution_failed", why)),
    }
}

/// What a tool gives where all went well.
struct Success {
    result: Value,
    summary: String,
    /// Whether the agent rests after it: the turn ends with this round, if nothing else was called in it.
    sleeps: bool,
}

impl Success {
    fn new(summary: impl Into<String>, result: &impl Serialize) -> Self {
        Self { result: json!(result), summary: summary.into(), sleeps: false }
    }
}

/// Why a tool did not do what it was asked. The model reads it.
#[derive(Debug, Serialize)]
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
    fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into(), details: None, recovery_hint: None, retryable: false }
    }

    fn hinting(mut self, hint: &'static str) -> Self {
        self.recovery_hint = Some(hint);
        self
    }

    /// What the scheduler says to a fact that changes nothing.
    fn refused(reason: Refusal, because: u64) -> Self {
        let message = match reason {
            Refusal::Duplicate => "there is one with this id already",
            Refusal::AlreadyTerminal => "what it is about is over",
            Refusal::Stale => "something newer has overtaken it",
            Refusal::StaleRun => "this turn is over",
            Refusal::Unknown => "there is nothing with this id",
            Refusal::Stopped => "the agent is stopped",
            Refusal::NoWaker => "nothing could end this wait: name a wake source or a deadline",
            Refusal::AlreadySatisfied => "what is to be waited for is there already",
            _ => "the scheduler does not take it",
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

/// The answer to a call, as the ledger keeps it and the model reads it.
#[derive(Serialize)]
pub(super) struct Envelope {
    tool_name: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ToolError>,
}

/// A call that was answered.
pub(super) struct Answered {
    pub(super) envelope: Envelope,
    pub(super) is_error: bool,
    pub(super) sleeps: bool,
}

impl Answered {
    fn of(tool: &str, done: Result<Success, ToolError>) -> Self {
        let (envelope, is_error, sleeps) = match done {
            Ok(done) => (Envelope::new(tool, "success", done.summary, Some(done.result), None), false, done.sleeps),
            Err(why) => (Envelope::new(tool, "error", why.message.clone(), None, Some(why)), true, false),
        };
        Self { envelope, is_error, sleeps }
    }

    /// The answer to a call of a turn that was broken off before it came to it.
    pub(super) fn broken_off(tool: &str) -> Self {
        Self::of(tool, Err(ToolError::new("turn_broken_off", "the turn was broken off before this call")))
    }

    /// What came of it, in a line.
    pub(super) fn summary(&self) -> String {
        self.envelope.summary_text.clone().unwrap_or_default()
    }

    /// What the model reads.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(&self.envelope).unwrap_or_else(|why| why.to_string())
    }
}

impl Envelope {
    fn new(tool: &str, status: &'static str, summary: String, result: Option<Value>, error: Option<ToolError>) -> Self {
        Self { tool_name: tool.to_owned(), status, summary_text: Some(summary), result, error }
    }
}

/// A tool: its arguments, and what it does with them.
trait Tool: DeserializeOwned + JsonSchema {
    /// Its name, as the model writes it.
    const NAME: &'static str;
    /// What it does and when to call it.
    const ABOUT: &'static str;

    /// Does it.
    fn run(self, room: &Room, said: Option<&str>) -> Result<Success, ToolError>;
}

/// The list of tools: which there are, who may call them, and how a call reaches one.
macro_rules! tools {
    ($($tool:ty $(=> $only:ident)?,)+) => {
        /// The tools of an agent, as the model is told them.
        pub(super) fn definitions(is_child: bool) -> Vec<ToolDefinition> {
            let mut tools = Vec::new();
            $(if may_call!(is_child $(, $only)?) { tools.push(definition::<$tool>()); })+
            tools
        }

        /// Executes a call; `said` is what the model said with it.
        ///
        /// # Errors
        /// Where the agent has ended.
        pub(super) fn call(room: &Room, name: &str, arguments: &str, said: Option<&str>) -> Result<Answered, Ended> {
            let is_child = room.kit.is_child;
            let done = match name {
                $(<$tool>::NAME if may_call!(is_child $(, $only)?) => run::<$tool>(room, arguments, said),)+
                $(<$tool>::NAME => Err(ToolError::new("unsupported_agent_profile_capability", "a child agent may not call this tool")),)+
                _ => Err(ToolError::new("unknown_tool", format!("there is no tool `{name}`"))),
            };
            match done {
                Err(why) if why.kind == "agent_ended" => Err(Ended),
                done => Ok(Answered::of(name, done)),
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
    queue::Enqueue,
    wait::Sleep,
}

fn run<T: Tool>(room: &Room, arguments: &str, said: Option<&str>) -> Result<Success, ToolError> {
    // A model that has nothing to say writes nothing where an empty object is due.
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    let tool: T = serde_json::from_str(arguments).map_err(|why| {
        let details = json!({ "tool_name": T::NAME, "parse_error": why.to_string() });
        let error = ToolError::new("invalid_tool_input", format!("the arguments of {} cannot be read: {why}", T::NAME));
        ToolError {
            details: Some(Box::new(details)),
            retryable: true,
            ..error.hinting("Call it again with arguments that follow its schema.")
        }
    })?;
    tool.run(room, said)
}

fn definition<T: Tool>() -> ToolDefinition {
    let generator = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = generator.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.remove("description");
    ToolDefinition { name: T::NAME.to_owned(), description: T::ABOUT.to_owned(), parameters: schema.to_value() }
}

/// Arguments that must say something.
fn said(text: &str, field: &str) -> Result<String, ToolError> {
    let text = text.trim();
    if text.is_empty() { Err(ToolError::new("invalid_tool_input", format!("`{field}` is empty"))) } else { Ok(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_schema_that_takes_nothing_else() {
        let tools = definitions(false);
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names.len(), 17, "{names:?}");
        for tool in &tools {
            assert_eq!(tool.parameters["type"], "object", "{}", tool.name);
            assert_eq!(tool.parameters["additionalProperties"], false, "{}", tool.name);
            let properties = tool.parameters["properties"].as_object().map_or(0, serde_json::Map::len);
            let described = tool.parameters["properties"].as_object().into_iter().flatten().filter(|(_, it)| it["description"].is_string());
            assert_eq!(described.count(), properties, "{}: each argument says what it is: {}", tool.name, tool.parameters);
        }
    }

    #[test]
    fn a_child_cannot_make_children() {
        let names: Vec<_> = definitions(true).into_iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), 16);
        assert!(!names.contains(&"SpawnAgent".to_owned()));
    }
}

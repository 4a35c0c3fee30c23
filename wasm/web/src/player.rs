//! The class `Player`: the core's story player, so that a page and the command line play the same.

use serde::Serialize;
use wakeful_core::{
    ErrorCode, ErrorReport, MessageId, MessageKind, RunId, WorkItemId,
    json::{self, ErrorPlace, Readable},
    story::{self, Cue, Story},
};
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

use crate::{
    crossing::{instant, object, read},
    error::thrown,
};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &'static str = r#"
/**
 * What the host of a story does next. `text` is the command as the core's exact JSON text, and `fact`
 * the exact text of a fact to propose.
 */
export type Command = { text: string } & (
  | { do: "propose"; fact: string }
  | { do: "run" }
  | { do: "set_clock" }
  | { do: "done" }
);
"#;

/// The part of a provider's request that a story reads.
#[derive(Readable)]
struct Request {
    run_id: RunId,
    message: Message,
    work_item: Option<Item>,
}

#[derive(Readable)]
struct Message {
    id: MessageId,
    kind: MessageKind,
    body: Body,
}

/// A story ignores structured content, because JavaScript would change it.
#[derive(Readable)]
struct Body {
    text: Option<String>,
}

#[derive(Readable)]
struct Item {
    work_item_id: WorkItemId,
}

impl From<Request> for Cue {
    fn from(request: Request) -> Self {
        Self {
            run_id: request.run_id,
            message_id: request.message.id,
            kind: request.message.kind,
            text: request.message.body.text.unwrap_or_default(),
            item: request.work_item.map(|item| item.work_item_id),
        }
    }
}

/// A command as JavaScript sees it. The fact is text, so that its numbers reach the scheduler as
/// they were written.
#[derive(Serialize)]
struct Command<'a> {
    #[serde(rename = "do")]
    what: &'static str,
    /// The command as the core's exact text.
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fact: Option<&'a str>,
}

/// Plays a story: returns what the host does next, and plays the provider.
#[wasm_bindgen]
pub struct Player {
    inner: story::Player,
    agent_id: String,
}

#[wasm_bindgen]
impl Player {
    /// A player at the beginning of a story in JSON text.
    ///
    /// # Errors Throws a `WakefulError` with the place if the text is not a story.
    #[wasm_bindgen(constructor)]
    pub fn new(story: &str) -> Result<Self, JsValue> {
        let story = Story::read(story).map_err(|why| {
            let place = ErrorPlace {
                file: None,
                line: why.line,
                column: why.column,
                path: why.path.clone(),
            };
            thrown(&ErrorReport {
                code: ErrorCode::Malformed,
                message: format!("malformed story: {why}"),
                place: Some(place),
            })
        })?;
        let agent_id = story.agent_id.to_string();
        Ok(Self { inner: story::Player::new(story), agent_id })
    }

    /// The agent of the story.
    #[wasm_bindgen(getter, js_name = agentId)]
    #[must_use]
    pub fn agent_id(&self) -> String {
        self.agent_id.clone()
    }

    /// The time of the story's clock, in nanoseconds since the epoch.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.inner.now().as_nanos()
    }

    /// What the host does next, for this next wake of the agent.
    ///
    /// # Errors
    /// Throws if the command cannot cross, which is a bug.
    #[wasm_bindgen(unchecked_return_type = "Command")]
    pub fn next(&mut self, next_wake: Option<i64>) -> Result<JsValue, JsValue> {
        let command = self.inner.next(next_wake.map(instant));
        let text = json::write(&command);
        object(&match &command {
            story::Command::Propose { fact } => {
                Command { what: "propose", text, fact: Some(fact.as_str()) }
            }
            story::Command::Run => Command { what: "run", text, fact: None },
            story::Command::SetClock { .. } => Command { what: "set_clock", text, fact: None },
            story::Command::Done => Command { what: "done", text, fact: None },
        })
    }

    /// Plays the provider: starts a turn. Its facts come with the next commands.
    ///
    /// # Errors Throws a `WakefulError` if this is not a request to a provider.
    #[wasm_bindgen(js_name = startTurn)]
    pub fn start_turn(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "TurnRequest")] request: JsValue,
    ) -> Result<(), JsValue> {
        let request: Request = read("turn request", &request)?;
        self.inner.start_turn(&request.into());
        Ok(())
    }

    /// Plays the provider: the run was aborted.
    #[wasm_bindgen(js_name = abortTurn)]
    pub fn abort_turn(&mut self, run: String, reason: &str) {
        self.inner.abort_turn(&RunId::from(run), reason);
    }

    /// Plays the provider: returns the tasks that are alive after a restart, which are those whose
    /// end is still to come in the story.
    #[must_use]
    pub fn alive(&self, active: Vec<String>) -> Vec<String> {
        active.into_iter().filter(|task| self.inner.tells_end_of(&task.as_str().into())).collect()
    }

    /// Plays the provider: releases everything.
    pub fn release(&mut self) {
        self.inner.release();
    }
}

//! The model of the soak, behind its server: it answers each chat with words or calls that are
//! drawn, checks that the chat is one that the strictest server accepts, and draws the quirks.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use serde_json::{Value, json};

use crate::{
    dice::Dice,
    faults::{self, PARTS, Part},
    openai::{
        answer::Answer,
        server::{ReceivedRequest, Server},
        strict,
    },
    render::{Meaning, Render},
    shared::{Mistake, REFUSED, Shared, tokens_in},
};

/// The longest chat that the server reads, in bytes of its messages. `--context-tokens` allows
/// more, so that a part of the chats is refused as too long.
const MOST_BYTES: usize = 36_000;

/// What the prompt says before the calls of an interrupted run.
const UNKNOWN: &str = "An earlier run ended while it made these calls.";

pub(crate) struct Model {
    shared: Arc<Shared>,
    dice: Mutex<Dice>,
    /// The parts of requests that this server refuses: a set of bits over [`PARTS`].
    refuses: AtomicU64,
}

impl Model {
    pub(crate) fn new(seed: u64, shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(shared),
            dice: Mutex::new(Dice::of_seed(seed ^ 0x5eed)),
            refuses: AtomicU64::new(0),
        })
    }

    /// A server with this model.
    pub(crate) fn serve(self: &Arc<Self>) -> Server {
        let model = Arc::clone(self);
        Server::scripted(move |request| model.answer(request))
    }

    /// Draws the parts that the server refuses for a new process of the agent. The last process
    /// lives longest, so its server takes streams: they have most of the quirks.
    pub(crate) fn begin_life(&self, is_last: bool) {
        let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
        let drawn = PARTS.iter().enumerate().filter(|(_, part)| {
            dice.one_in(3) && !(is_last && matches!(part, Part::Stream | Part::Thoughts))
        });
        let bits = drawn.fold(0, |bits, (at, _)| bits | 1 << at);
        self.refuses.store(bits, Ordering::SeqCst);
    }

    fn answer(&self, request: &ReceivedRequest) -> Answer {
        let mut dice = {
            let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
            // A seed per request, so that two requests at once do not wait for each other.
            Dice::of_seed(dice.below(u64::MAX))
        };
        let body = &request.body;
        let refuses = self.refuses.load(Ordering::SeqCst);
        let refused = || PARTS.iter().enumerate().filter(|(at, _)| refuses & 1 << at != 0);
        let has_text_always = refused().any(|(_, part)| *part == Part::NullContent);
        if let Some(why) = strict::complaint(&with_plain_content(body, has_text_always)) {
            self.shared.complain(format!("a strict server refuses a chat: {why:.600}"));
            return Answer::error(400, &why, "invalid_request_error", Value::Null);
        }
        let chat = Chat::new(body);
        for token in chat.unknown() {
            self.shared.is_told_unknown(token);
        }
        if chat.text.contains(REFUSED) {
            self.shared.count("content with a word that is refused");
            return faults::refused(&mut dice);
        }
        if chat.text.len() > MOST_BYTES {
            self.shared.count("a chat that is too long");
            return faults::too_long(&mut dice);
        }
        if self.shared.is_calm() {
            return Render::plain(&self.finishes(&chat));
        }
        if let Some((name, refusal)) = refused().filter_map(|(_, part)| part.refusal(body)).next() {
            self.shared.count(name);
            return refusal;
        }
        if let Some(fault) = faults::draw(&mut dice, &self.shared) {
            return fault;
        }
        let meaning = self.means(&mut dice, &chat);
        let tokens = u64::try_from(body.to_string().len() / 4).unwrap_or(u64::MAX);
        let mut render = Render { dice: &mut dice, shared: &self.shared, tokens };
        render.answer(&meaning, body["stream"] == true)
    }

    /// What the model means at the end: it finishes what is open.
    fn finishes(&self, chat: &Chat<'_>) -> Meaning {
        let known = self.shared.known();
        let call = |name: &str, args: Value| Meaning::Calls(vec![(name.to_owned(), args)]);
        match (known.waits.first(), known.items.first()) {
            // Waits first: the end of an item ends the turn.
            (Some(wait), _) if chat.rounds < 3 => {
                call("EndWait", json!({"wait_condition_id": wait}))
            }
            (_, Some(item)) if chat.rounds < 4 => {
                call("CompleteWorkItem", json!({"work_item_id": item, "result_summary": "done"}))
            }
            _ => Meaning::Says("All is done.".to_owned()),
        }
    }

    fn means(&self, dice: &mut Dice, chat: &Chat<'_>) -> Meaning {
        let ends = match chat.rounds {
            0 => dice.below(100) < 40,
            1 => dice.below(100) < 65,
            2..5 => dice.below(100) < 80,
            _ => true,
        };
        if ends {
            let words = "Some words of the model. ".repeat(1 + dice.index(12));
            return Meaning::Says(words);
        }
        if dice.one_in(250) {
            self.shared.count("more calls than are executed");
            return Meaning::Calls(vec![("TaskList".to_owned(), json!({})); 130]);
        }
        let calls = if dice.one_in(5) { 2 + dice.index(2) } else { 1 };
        Meaning::Calls((0..calls).map(|_| self.call(dice, chat)).collect())
    }

    /// A call that is drawn.
    fn call(&self, dice: &mut Dice, chat: &Chat<'_>) -> (String, Value) {
        let known = self.shared.known();
        let one = |dice: &mut Dice, ids: &[String]| ids.get(dice.index(ids.len())).cloned();
        let item = one(dice, &known.items);
        let wait = one(dice, &known.waits);
        let task = one(dice, &known.tasks);
        let hours = (1 + dice.below(48)) * 3_600_000;
        let is_full = known.items.len() >= 5;
        let is_waiting = known.waits.len() >= 5;
        drop(known);
        let (name, args) = match (dice.below(100), item, wait, task) {
            (0..34, ..) => ("ExecCommand", self.command(dice)),
            (34..42, None, ..) | (38..42, Some(_), ..) if !is_full => (
                "CreateWorkItem",
                json!({"objective": format!("An aim, {hours}"), "plan_status": "ready"}),
            ),
            (34..42, Some(item), ..) => ("PickWorkItem", json!({"work_item_id": item})),
            (42..54, Some(item), ..) if is_full || dice.one_in(2) => {
                ("CompleteWorkItem", json!({"work_item_id": item, "result_summary": "done"}))
            }
            (42..48, Some(item), ..) => (
                "UpdateWorkItem",
                json!({"work_item_id": item, "blocked_by": "a review", "recheck_after": hours}),
            ),
            (48..54, Some(item), ..) => {
                ("UpdateWorkItem", json!({"work_item_id": item, "plan": "x".repeat(400)}))
            }
            (54..66, _, Some(wait), _) if is_waiting || dice.one_in(3) => {
                ("EndWait", json!({"wait_condition_id": wait}))
            }
            (54..58, ..) if !is_waiting => {
                ("WaitFor", json!({"reason": "later", "wake": "timer", "duration_ms": hours}))
            }
            (58..60, ..) if !is_waiting => (
                "WaitFor",
                json!({"reason": "an answer", "wake": "operator_input", "recheck_after_ms": hours}),
            ),
            (60..63, ..) if !is_waiting => (
                "WaitFor",
                json!({"reason": "an event", "wake": "external", "recheck_after_ms": hours}),
            ),
            (63..66, _, _, Some(task)) => {
                ("WaitFor", json!({"reason": "a task", "wake": "task_result", "resource": task}))
            }
            (66..72, ..) => ("Sleep", json!({"reason": "a while", "duration_ms": hours})),
            (72..76, ..) => ("Enqueue", json!({"text": "Look at it again.", "priority": "next"})),
            (76..82, ..) => match chat.rest() {
                Some((id, offset)) => ("ReadRest", json!({"id": id, "offset": offset})),
                None => ("ReadRest", json!({"id": "no-such-text"})),
            },
            (82..84, _, _, Some(task)) => ("TaskStop", json!({"task_id": task})),
            (84..87, _, _, Some(task)) => {
                ("TaskOutput", json!({"task_id": task, "block": true, "timeout_ms": 200}))
            }
            (82..87, ..) => ("TaskStatus", json!({"task_id": "task-none"})),
            (87..90, ..) => ("AgentGet", json!({})),
            (90..93, ..) => ("ListWorkItems", json!({"filter": "all"})),
            (93..95, Some(item), ..) => ("GetWorkItem", json!({"work_item_id": item})),
            (95..97, ..) => ("LaunchRocket", json!({"to": "the moon"})),
            (97..99, ..) => ("ExecCommand", json!({"command": "ls"})),
            _ => ("TaskList", json!({})),
        };
        (name.to_owned(), args)
    }

    /// A command whose effect must not happen twice: it appends its token to the journal.
    fn command(&self, dice: &mut Dice) -> Value {
        let append = |token: &str| match self.shared.mistake {
            Mistake::ExecutesTwice => format!("echo {token} >> journal; echo {token} >> journal"),
            _ => format!("echo {token} >> journal"),
        };
        match dice.below(12) {
            3 => {
                let token = self.shared.token("tok-");
                json!({"cmd": format!("sleep 0.05; {}", append(&token))})
            }
            0 => {
                let token = self.shared.token("bg-");
                json!({"cmd": format!("sleep 0.05; {}", append(&token)), "yield_time_ms": 10})
            }
            1 => {
                let token = self.shared.token("tok-");
                let lines = 50 + dice.below(3_000);
                json!({"cmd": format!("{}; seq -f 'line %g of many' 1 {lines}", append(&token))})
            }
            2 => {
                let token = self.shared.token("tok-");
                json!({"cmd": format!("{}; exit 3", append(&token))})
            }
            _ => {
                let token = self.shared.token("tok-");
                json!({"cmd": append(&token)})
            }
        }
    }
}

/// A request as the rules of the strictest servers read it. Thoughts go back inside the content if
/// they came there, and a server that refuses `null` gets an empty text beside calls.
fn with_plain_content(body: &Value, has_text_always: bool) -> Value {
    let mut body = body.clone();
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        if let Some(parts) = message["content"].as_array() {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            message["content"] = json!(texts.collect::<String>());
        }
        if has_text_always && message["content"] == "" && message["tool_calls"].is_array() {
            message["content"] = Value::Null;
        }
    }
    body
}

/// A chat, as far as the model reads it.
struct Chat<'a> {
    /// The texts of all messages.
    text: String,
    /// The rounds with calls in this turn.
    rounds: usize,
    messages: &'a [Value],
}

impl<'a> Chat<'a> {
    fn new(body: &'a Value) -> Self {
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let mut text = String::new();
        for message in messages {
            text += message["content"].as_str().unwrap_or_default();
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                text += call["function"]["arguments"].as_str().unwrap_or_default();
            }
            text.push('\n');
        }
        let rounds = messages.iter().filter(|message| message["tool_calls"].is_array()).count();
        Self { text, rounds, messages }
    }

    /// The tokens of the calls that the runtime calls unknown.
    fn unknown(&self) -> Vec<String> {
        let told = self.messages.iter().filter_map(|message| message["content"].as_str());
        let parts = told.filter_map(|text| text.split_once(UNKNOWN));
        // The list ends at the next paragraph.
        parts
            .flat_map(|(_, after)| tokens_in(after.split("\n\n").next().unwrap_or(after)))
            .collect()
    }

    /// A text that is shown cut, and where it goes on.
    fn rest(&self) -> Option<(String, u64)> {
        let (_, after) = self.text.rsplit_once("ReadRest with id \"")?;
        let (id, after) = after.split_once("\" and offset ")?;
        let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
        Some((id.to_owned(), digits.parse().ok()?))
    }
}

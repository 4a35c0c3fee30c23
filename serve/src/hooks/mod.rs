//! Hooks: addresses and a program that learn what happens to agents.
//!
//! Each hook has a thread that follows the ledgers by a stored cursor. So an event is delivered at
//! least once, in the order of its agent, also after a stop of the server. A receiver that does not
//! answer delays its own hook only, and no event waits in memory.

mod cursor;
mod event;
mod send;
mod worker;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wakeful_core::{host::Clock, id::AgentId, json};
use wakeful_host::{clock::SystemClock, ledger::Store};

use self::{
    cursor::{Cursor, Positions},
    send::Sender,
};
use crate::{agents::Agents, problem::Problem, random, signing};

pub(crate) use self::event::EventType;

/// How events are sent to hooks.
#[derive(Clone, Debug)]
pub struct HookOptions {
    /// A program that gets each event as JSON on its standard input, besides the hooks of the
    /// store.
    pub command: Option<PathBuf>,
    /// Whether URLs may begin with `http://` for other machines than this one.
    pub allows_http: bool,
    /// The wait before an event is sent again for the first time. It doubles each time.
    pub first_wait: Duration,
    /// The longest such wait.
    pub longest_wait: Duration,
    /// The time after which an event that cannot be delivered is given up.
    pub give_up: Duration,
}

impl Default for HookOptions {
    fn default() -> Self {
        Self {
            command: None,
            allows_http: false,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(600),
            give_up: Duration::from_secs(3 * 24 * 60 * 60),
        }
    }
}

/// The kind of what the store keeps of hooks.
const KEPT: &str = "hook";

/// The name of the program's hook. No other can have it.
const COMMAND: &str = "(command)";

/// The most hooks of a server: each has a thread.
const MOST: usize = 32;

/// The time that hooks have at the end of the server to finish what they send.
const LAST: Duration = Duration::from_secs(2);

/// A hook as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Hook {
    /// Differs from that of an earlier hook of this name.
    id: String,
    url: String,
    events: BTreeSet<EventType>,
    agent_id: Option<AgentId>,
    /// Requests are signed with it, so it cannot be kept as a hash.
    secret: String,
    /// Whether its receiver said that it is gone. Nothing is sent until the hook is put again.
    #[serde(default)]
    is_off: bool,
}

/// What a new hook is, or what one becomes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewHook {
    /// The address to which events are sent with `POST`: https, or http to this machine.
    #[schemars(length(min = 1))]
    url: String,
    /// The events that it gets.
    #[schemars(length(min = 1))]
    events: BTreeSet<EventType>,
    /// The only agent whose events it gets; all if absent.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    agent_id: Option<AgentId>,
}

/// A hook as it is shown.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShownHook {
    /// The name.
    name: String,
    /// The address to which events are sent.
    url: String,
    /// The events that it gets.
    events: BTreeSet<EventType>,
    /// The only agent whose events it gets; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<AgentId>,
    /// Why the newest request failed; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    failing: Option<String>,
    /// Whether the receiver answered 410, so that nothing more is sent. To put the hook again turns
    /// it on; it then learns what happens from that moment.
    is_off: bool,
    /// The secret with which requests are signed (Standard Webhooks). It is shown once, when the
    /// hook is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// What came of trying a hook.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Tried {
    /// Whether the receiver took it.
    delivered: bool,
    /// Why it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

/// A hook that a thread looks after.
struct Watched {
    name: String,
    now: Mutex<Now>,
    rang: Condvar,
}

/// What the thread of a hook is told, and tells.
struct Now {
    hook: Arc<Hook>,
    /// Counts how often the positions were set anew.
    begun: u64,
    failing: Option<String>,
    /// Whether the hook was deleted, or the server ends.
    has_ended: bool,
    /// Whether it was deleted, so that nothing more is kept of it.
    is_deleted: bool,
    /// Whether its thread has ended.
    is_gone: bool,
}

impl Watched {
    fn now(&self) -> MutexGuard<'_, Now> {
        // Each change is one statement.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Now)) {
        change(&mut self.now());
        self.rang.notify_all();
    }
}

/// The hooks of a store.
pub(crate) struct Hooks {
    agents: Arc<Agents>,
    options: HookOptions,
    all: Mutex<BTreeMap<String, Arc<Watched>>>,
    /// The hook of the program.
    command: Mutex<Option<Arc<Watched>>>,
}

impl Hooks {
    pub(crate) fn start(agents: Arc<Agents>, options: HookOptions) -> Result<Arc<Self>, Problem> {
        let hooks =
            Arc::new(Self { agents, options, all: Mutex::default(), command: Mutex::default() });
        if hooks.agents.is_shared() {
            return Ok(hooks);
        }
        for (name, text) in hooks.store().kept(KEPT)? {
            match serde_json::from_str(&text) {
                Ok(hook) => {
                    let watched = hooks.watch(&name, hook)?;
                    hooks.all().insert(name, watched);
                }
                // A newer server wrote it.
                Err(why) => {
                    hooks.agents.tell(&format!("the hook `{name}` cannot be read: {why}"));
                }
            }
        }
        if hooks.options.command.is_some() {
            if !Cursor::is_kept(hooks.store(), COMMAND)? {
                Cursor::begin(hooks.store(), COMMAND, &hooks.heads())?;
            }
            let hook = Hook {
                id: COMMAND.to_owned(),
                url: String::new(),
                events: EventType::ALL.into(),
                agent_id: None,
                secret: String::new(),
                is_off: false,
            };
            let watched = hooks.watch(COMMAND, hook)?;
            *hooks.command.lock().unwrap_or_else(PoisonError::into_inner) = Some(watched);
        }
        Ok(hooks)
    }

    fn store(&self) -> &Store {
        self.agents.store()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Watched>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to look after a hook.
    fn watch(self: &Arc<Self>, name: &str, hook: Hook) -> Result<Arc<Watched>, Problem> {
        let now = Now {
            hook: hook.into(),
            begun: 0,
            failing: None,
            has_ended: false,
            is_deleted: false,
            is_gone: false,
        };
        let watched =
            Arc::new(Watched { name: name.to_owned(), now: now.into(), rang: Condvar::new() });
        let (hooks, own) = (Arc::clone(self), Arc::clone(&watched));
        thread::Builder::new()
            .name(format!("hook {name}"))
            .spawn(move || worker::work(&hooks.agents, &hooks.options, &own))
            .map_err(|why| Problem::broken(format!("the system gives no thread: {why}")))?;
        Ok(watched)
    }

    /// The hooks, sorted by name.
    pub(crate) fn list(&self) -> Vec<ShownHook> {
        self.all().values().map(|watched| watched.shown(None)).collect()
    }

    /// Makes a hook, or changes one. Returns whether it is new. A new hook learns what happens from
    /// now on.
    pub(crate) fn put(
        self: &Arc<Self>,
        name: &str,
        new: NewHook,
    ) -> Result<(ShownHook, bool), Problem> {
        if self.agents.is_shared() {
            // How far a hook is would have to be known per agent, and go with it.
            let detail = "a store that servers share has no hooks yet: follow `GET /v1/events`";
            return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, "not_on_a_store", detail));
        }
        if let Some(fault) = send::fault_in(&new.url, self.options.allows_http) {
            return Err(Problem::unfit(fault));
        }
        if new.events.is_empty() {
            return Err(Problem::malformed("name at least one event: `/openapi.json` lists them"));
        }
        if let Some(agent) = &new.agent_id {
            self.agents.cell(agent)?;
        }
        let NewHook { url, events, agent_id } = new;
        let mut all = self.all();
        if let Some(watched) = all.get(name) {
            let before = Arc::clone(&watched.now().hook);
            let hook = Hook { url, events, agent_id, is_off: false, ..Hook::clone(&before) };
            let mut now = watched.now();
            if hook.agent_id != before.agent_id || before.is_off {
                // Of the other agents, or of the time when it was off, it would get the past.
                Cursor::begin(self.store(), name, &self.heads())?;
                now.begun += 1;
                now.failing = None;
            }
            self.store().keep(KEPT, name, &json::write(&hook))?;
            now.hook = hook.into();
            drop(now);
            watched.rang.notify_all();
            return Ok((watched.shown(None), false));
        }
        if all.len() >= MOST {
            let detail = format!("there are {MOST} hooks already: delete one first");
            return Err(Problem::new(StatusCode::CONFLICT, "too_many", detail));
        }
        let secret = signing::new_secret().map_err(|_| Problem::store())?;
        let id = random::id()?;
        let hook = Hook { id, url, events, agent_id, secret: secret.clone(), is_off: false };
        Cursor::begin(self.store(), name, &self.heads())?;
        self.store().keep(KEPT, name, &json::write(&hook))?;
        let watched = self.watch(name, hook)?;
        let shown = watched.shown(Some(secret));
        all.insert(name.to_owned(), watched);
        Ok((shown, true))
    }

    /// The newest entry of each agent.
    fn heads(&self) -> Positions {
        self.agents.all().iter().map(|cell| (cell.agent.clone(), cell.head())).collect()
    }

    /// Ends a hook.
    pub(crate) fn delete(&self, name: &str) -> Result<(), Problem> {
        let mut all = self.all();
        let watched = all.get(name).ok_or_else(|| Problem::no_hook(name))?;
        // From here on, its thread writes nothing.
        watched.change(|now| (now.has_ended, now.is_deleted) = (true, true));
        self.agents.changes.ring();
        self.store().forget(KEPT, name)?;
        Cursor::forget(self.store(), name)?;
        all.remove(name);
        Ok(())
    }

    /// Sends an event by which people try a hook.
    pub(crate) fn test(&self, name: &str) -> Result<Tried, Problem> {
        let watched = self.all().get(name).cloned().ok_or_else(|| Problem::no_hook(name))?;
        let hook = Arc::clone(&watched.now().hook);
        let event = event::of_test(format!("evt_{}", random::id()?), &json!(SystemClock.now()));
        let sent = Sender::over_http(self.options.allows_http).send(&hook, &event);
        Ok(Tried { delivered: sent.is_ok(), failure: sent.err().map(|it| it.why) })
    }

    /// Ends the threads, unless a receiver holds one up.
    pub(crate) fn end(&self) {
        let mut all: Vec<_> = self.all().values().cloned().collect();
        all.extend(self.command.lock().unwrap_or_else(PoisonError::into_inner).clone());
        for watched in &all {
            watched.change(|now| now.has_ended = true);
        }
        self.agents.changes.ring();
        let until = Instant::now() + LAST;
        for watched in &all {
            let left = until.saturating_duration_since(Instant::now());
            let waited = watched.rang.wait_timeout_while(watched.now(), left, |now| !now.is_gone);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Watched {
    fn shown(&self, secret: Option<String>) -> ShownHook {
        let now = self.now();
        ShownHook {
            name: self.name.clone(),
            url: now.hook.url.clone(),
            events: now.hook.events.clone(),
            agent_id: now.hook.agent_id.clone(),
            failing: now.failing.clone(),
            is_off: now.hook.is_off,
            secret,
        }
    }
}

//! External triggers in every order of what can happen to them (contract 15): a delivery to an
//! active trigger is told at least once, and completes at most one turn. No wait outlives its last
//! waker.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};
use wakeful_core::{
    fact::outcome::Answer,
    id::{DeliveryId, ExternalTriggerId},
    record::{effect::Effect, ingress::DeliveryKey, queue::note::NoteKey},
    time::Timestamp,
};

use crate::properties::config;

use super::driven::{Driven, end, fact, item, of_item, prompt};

/// What can happen. Triggers, items and waits are numbered.
#[derive(Clone, Debug)]
enum Happens {
    Create {
        trigger: usize,
        mode: &'static str,
        item: Option<usize>,
        one_shot: bool,
        ms: Option<u64>,
    },
    Deliver {
        trigger: usize,
        delivery: usize,
        is_right: bool,
        text: Option<&'static str>,
    },
    Wait {
        item: Option<usize>,
        triggers: Vec<usize>,
    },
    Intent {
        item: Option<usize>,
        trigger: usize,
    },
    Rotate(usize),
    Revoke(usize),
    CreateItem(usize),
    Complete(usize),
    Prompt,
    Step,
    End,
    Later(u64),
    Stop,
    Start,
    Shutdown,
    Restart,
}

/// The number of triggers and of items.
const EACH: usize = 2;

fn happens() -> impl Strategy<Value = Happens> {
    let one = || 0..EACH;
    let maybe = || prop::option::of(0..EACH);
    let create = (
        one(),
        select(&["wake_hint", "enqueue_message"][..]),
        maybe(),
        any::<bool>(),
        select(&[None, None, Some(1_000_u64), Some(60_000)][..]),
    )
        .prop_map(|(trigger, mode, item, one_shot, ms)| Happens::Create {
            trigger,
            mode,
            item,
            one_shot,
            ms,
        });
    let deliver = (one(), 0..5_usize, prop::bool::weighted(0.8), select(&[None, Some("news")][..]))
        .prop_map(|(trigger, delivery, is_right, text)| Happens::Deliver {
            trigger,
            delivery,
            is_right,
            text,
        });
    let wait = (maybe(), prop::collection::vec(one(), 1..3))
        .prop_map(|(item, triggers)| Happens::Wait { item, triggers });
    prop_oneof![
        4 => create,
        8 => deliver,
        4 => wait,
        2 => (maybe(), one()).prop_map(|(item, trigger)| Happens::Intent { item, trigger }),
        1 => one().prop_map(Happens::Rotate),
        1 => one().prop_map(Happens::Revoke),
        2 => one().prop_map(Happens::CreateItem),
        1 => one().prop_map(Happens::Complete),
        1 => Just(Happens::Prompt),
        8 => Just(Happens::Step),
        4 => Just(Happens::End),
        2 => select(&[10_u64, 1_000, 60_000, 120_000][..]).prop_map(Happens::Later),
        1 => Just(Happens::Stop),
        2 => Just(Happens::Start),
        1 => Just(Happens::Shutdown),
        2 => Just(Happens::Restart),
    ]
}

/// A trigger as someone outside knows it.
struct Known {
    item: Option<usize>,
    one_shot: bool,
    expires: Option<Timestamp>,
    token: usize,
    deliveries: BTreeSet<usize>,
    is_over: bool,
}

/// A delivery that was accepted.
struct Accepted {
    trigger: ExternalTriggerId,
    key: DeliveryKey,
    is_hint_alone: bool,
    /// The number of effects before it.
    effects: usize,
}

/// The agent, and what is known outside of it.
struct Told {
    driven: Driven,
    known: BTreeMap<usize, Known>,
    modes: BTreeMap<usize, &'static str>,
    open_items: BTreeSet<usize>,
    all_items: BTreeSet<usize>,
    accepted: Vec<Accepted>,
    completed: BTreeSet<String>,
    waits: usize,
}

fn hash(token: usize) -> String {
    format!("{token:064x}")
}

fn trigger_id(trigger: usize) -> String {
    format!("x{trigger}")
}

fn item_id(item: usize) -> String {
    format!("w{item}")
}

impl Told {
    fn new() -> Self {
        Self {
            driven: Driven::new(),
            known: BTreeMap::new(),
            modes: BTreeMap::new(),
            open_items: BTreeSet::new(),
            all_items: BTreeSet::new(),
            accepted: Vec::new(),
            completed: BTreeSet::new(),
            waits: 0,
        }
    }

    fn play(&mut self, what: &Happens) {
        match what {
            Happens::Create { trigger, mode, item, one_shot, ms } => {
                self.create(*trigger, mode, *item, *one_shot, *ms);
            }
            Happens::Deliver { trigger, delivery, is_right, text } => {
                self.deliver(*trigger, *delivery, *is_right, *text);
            }
            Happens::Wait { item, triggers } => {
                self.waits += 1;
                let sources: Vec<_> = triggers
                    .iter()
                    .map(|trigger| json!({"kind": "external_ingress", "external_trigger_id": trigger_id(*trigger)}))
                    .collect();
                self.say(json!({"fact": "wait_condition_registered", "wait_condition_id": format!("c{}", self.waits),
                                "work_item_id": item.map(item_id), "kind": "external", "waiting_for": "news",
                                "wake_sources": sources}));
            }
            Happens::Intent { item, trigger } => {
                self.waits += 1;
                let scope = if item.is_some() { "work_item" } else { "agent" };
                self.say(json!({"fact": "waiting_intent_created", "waiting_intent_id": format!("i{}", self.waits),
                                "scope": scope, "work_item_id": item.map(item_id), "description": "news", "source": "ci",
                                "delivery_mode": "wake_hint", "external_trigger_id": trigger_id(*trigger)}));
            }
            Happens::Rotate(trigger) => {
                let token = self.known.get(trigger).map_or(0, |known| known.token + 1);
                let rotated = self.say(json!({"fact": "external_trigger_rotated",
                    "external_trigger_id": trigger_id(*trigger), "token_hash": hash(token)}));
                if let (true, Some(known)) = (rotated, self.known.get_mut(trigger)) {
                    known.token = token;
                }
            }
            Happens::Revoke(trigger) => {
                let id = trigger_id(*trigger);
                if self.say(json!({"fact": "external_trigger_revoked", "external_trigger_id": id}))
                {
                    self.known.get_mut(trigger).expect("it was there").is_over = true;
                }
            }
            Happens::CreateItem(number) => {
                if self.say(item(&item_id(*number))) {
                    self.open_items.insert(*number);
                    self.all_items.insert(*number);
                }
            }
            Happens::Complete(number) => {
                if self.say(of_item("work_item_completed", &item_id(*number))) {
                    self.open_items.remove(number);
                    let own = self.known.values_mut().filter(|known| known.item == Some(*number));
                    own.for_each(|known| known.is_over = true);
                }
            }
            Happens::Prompt => {
                self.waits += 1;
                self.say(prompt(&format!("p{}", self.waits)));
            }
            Happens::Step => drop(self.driven.step()),
            Happens::End => self.end(),
            Happens::Later(ms) => self.driven.now = self.driven.now.plus_ms(*ms),
            Happens::Stop => drop(self.say(fact("stop_requested"))),
            Happens::Start => drop(self.say(fact("start_requested"))),
            Happens::Shutdown => drop(self.say(fact("shutdown_requested"))),
            Happens::Restart => self.driven.restart(),
        }
    }

    fn say(&mut self, fact: Value) -> bool {
        self.driven.say(&fact) == Answer::Accepted
    }

    fn create(
        &mut self,
        trigger: usize,
        mode: &'static str,
        item: Option<usize>,
        one_shot: bool,
        ms: Option<u64>,
    ) {
        let created = self.say(json!({"fact": "external_trigger_created", "external_trigger_id": trigger_id(trigger),
            "token_hash": hash(0), "description": "news", "work_item_id": item.map(item_id), "delivery_mode": mode,
            "trust": "trusted_integration", "one_shot": one_shot, "expires_in_ms": ms}));
        let is_new = !self.known.contains_key(&trigger);
        let has_owner = item.is_none_or(|item| self.open_items.contains(&item));
        assert_eq!(created, is_new && has_owner, "creation of {trigger}");
        if created {
            let expires = ms.map(|ms| self.driven.now.plus_ms(ms));
            let known = Known {
                item,
                one_shot,
                expires,
                token: 0,
                deliveries: BTreeSet::new(),
                is_over: false,
            };
            self.known.insert(trigger, known);
            self.modes.insert(trigger, mode);
        }
    }

    fn deliver(&mut self, trigger: usize, number: usize, is_right: bool, text: Option<&str>) {
        let token = self.known.get(&trigger).map_or(0, |known| known.token);
        let token = if is_right { token } else { token + 7 };
        let delivery = format!("d{number}");
        let effects = self.driven.effects.len();
        let accepted = self.say(json!({"fact": "external_trigger_delivered", "external_trigger_id": trigger_id(trigger),
            "token_hash": hash(token), "delivery_id": delivery, "content": text.map(|text| json!({"type": "text", "text": text}))}));
        let now = self.driven.now;
        let expected = self.known.get_mut(&trigger).is_some_and(|known| {
            let is_active = !known.is_over && known.expires.is_none_or(|at| at > now);
            let counts = is_active && is_right && known.deliveries.insert(number);
            known.is_over |= counts && known.one_shot;
            counts
        });
        assert_eq!(accepted, expected, "delivery {number} to {trigger}");
        if accepted {
            let id = ExternalTriggerId::from(trigger_id(trigger));
            self.accepted.push(Accepted {
                key: DeliveryKey::new(&id, &DeliveryId::from(delivery)),
                trigger: id,
                is_hint_alone: self.modes[&trigger] == "wake_hint" && text.is_none(),
                effects,
            });
        }
    }

    fn end(&mut self) {
        let run = self.driven.state().turns().run.as_ref().map(|run| run.run_id.to_string());
        if let Some(run) = run {
            self.driven.tell(&[end("completed")]);
            self.completed.insert(run);
        }
    }

    /// Lets the agent run, and asks it something until nothing is left to tell.
    fn settle(&mut self) {
        if self.driven.state().control().closing.is_some() {
            self.driven.restart();
        }
        if self.driven.state().control().stopped.is_some() {
            self.say(fact("start_requested"));
        }
        for asked in 0..50 {
            self.driven.run();
            if self.driven.state().turns().run.is_some() {
                self.end();
            } else if self.driven.state().queue().deferred.is_empty() {
                return;
            } else {
                self.say(prompt(&format!("q{asked}")));
            }
        }
        panic!("no rest after fifty turns");
    }

    /// The runs that were told of a delivery.
    fn told(&self, delivery: &Accepted) -> Vec<String> {
        let message = delivery.key.message_id();
        let is_its_tick = |request: &wakeful_core::record::queue::message::MessageRecord| {
            let note = request.raw_note(NoteKey::WakeHint);
            note.is_some_and(|note| note.as_str().contains(delivery.trigger.as_str()))
        };
        let runs = self.driven.effects[delivery.effects..].iter().filter_map(|effect| {
            let Effect::StartTurn(request) = effect else { return None };
            let tells = std::iter::once(&request.message)
                .chain(request.deferred.iter().map(|told| &told.message))
                .any(|told| told.id == message || delivery.is_hint_alone && is_its_tick(told));
            tells.then(|| request.run_id.to_string())
        });
        runs.collect()
    }

    fn check(&self) {
        for delivery in &self.accepted {
            let told = self.told(delivery);
            assert!(!told.is_empty(), "{} was told to nobody", delivery.key);
            let completed = told.iter().filter(|run| self.completed.contains(*run)).count();
            // A tick can stand for several deliveries without content.
            assert!(
                delivery.is_hint_alone || completed == 1,
                "{} completed {completed}",
                delivery.key
            );
        }
        let now = self.driven.now;
        let is_dead = |id: &ExternalTriggerId| {
            self.known.iter().any(|(number, known)| {
                trigger_id(*number) == id.as_str()
                    && (known.is_over || known.expires.is_some_and(|at| at <= now))
            })
        };
        for wait in self.driven.state().wait_conditions() {
            let mut named = wait.wake_sources.iter().filter_map(|source| source.trigger());
            assert!(!named.all(is_dead), "`{}` outlives its last waker", wait.id);
        }
        for intent in self.driven.state().waiting_intents() {
            assert!(!is_dead(&intent.external_trigger_id), "`{}` outlives its trigger", intent.id);
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_delivery_is_told_once_and_no_wait_outlives_its_last_waker(all in vec(happens(), 1..60)) {
        let mut told = Told::new();
        all.iter().for_each(|what| told.play(what));
        told.settle();
        told.check();
    }
}

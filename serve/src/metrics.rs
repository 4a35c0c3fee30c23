//! What the server measures, as Prometheus text. Counters count what happened while this process
//! lives, and gauges are computed when they are read. No agent has a label of its own, so the text
//! is as long for ten thousand agents as for one.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use metrics::{
    Label, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
    with_local_recorder,
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use tokio::sync::Semaphore;
use wakeful_core::{
    derive::posture::Posture,
    host::Clock,
    record::{Class, Record, decision::Decision, event::EventKind, turn::RunStatus},
    time::Timestamp,
};
use wakeful_host::clock::SystemClock;

use crate::{agents::Agents, limits::Limits};

/// The most values of a label that others choose, such as the name of a model. More are `other`.
const MOST_VALUES: usize = 100;

/// The upper bounds of the times of appends, in seconds.
const SECONDS: [f64; 12] =
    [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// The lanes of a queue, the most urgent first.
const LANES: [&str; 4] = ["interject", "next", "normal", "background"];

const AGENTS: &str = "wakeful_agents";
const RESIDENT: &str = "wakeful_agents_resident";
const LATE: &str = "wakeful_agents_late";
const LIVING: &str = "wakeful_agents_living";
const DECISIONS: &str = "wakeful_decisions_total";
const OLDEST_WAIT: &str = "wakeful_oldest_wait_seconds";
const QUEUE: &str = "wakeful_queue_messages";
const OVERDUE: &str = "wakeful_obligations_overdue";
const PARKED: &str = "wakeful_parked";
const TURNS: &str = "wakeful_turns_total";
const TOKENS: &str = "wakeful_tokens_total";
const APPENDS: &str = "wakeful_append_seconds";
const INGRESS: &str = "wakeful_ingress_total";
const STREAMS: &str = "wakeful_streams";
const REQUESTS: &str = "wakeful_requests_total";
const HOOKS: &str = "wakeful_hook_deliveries_total";
const SPANS_SENT: &str = "wakeful_spans_sent_total";
const SPANS_DROPPED: &str = "wakeful_spans_dropped_total";

/// The kinds of events that are counted.
const COUNTED: [EventKind; 2] = [EventKind::SchedulerDecision, EventKind::ProviderRoundCompleted];

/// The bytes at the beginning of an entry that say its class and the kind of an event.
const BEGINNING: usize = 256;

/// Whether [`Metrics::entry`] may count this entry, by the beginning of its text: most entries are
/// not counted, and to parse them takes longer than all else. What an agent says comes later.
pub(crate) fn may_count(text: &str) -> bool {
    let begins = text.get(..BEGINNING).unwrap_or(text);
    let says = |what: &str| begins.contains(&format!("\":\"{what}\""));
    says(Class::Turns.as_str()) || COUNTED.iter().any(|kind| says(kind.as_str()))
}

/// What the server measures.
pub(crate) struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    /// The places for streams, and how many there are.
    pub(crate) streams: Arc<Semaphore>,
    places: usize,
    /// The values of labels that others choose.
    models: Mutex<BTreeSet<Box<str>>>,
    rules: Mutex<BTreeSet<Box<str>>>,
}

impl Metrics {
    pub(crate) fn new(limits: &Limits) -> Self {
        let buckets = PrometheusBuilder::new().set_buckets(&SECONDS);
        // INVARIANT: there are buckets.
        let builder = buckets.unwrap_or_else(|why| unreachable!("{why}"));
        let recorder = builder.build_recorder();
        with_local_recorder(&recorder, describe);
        Self {
            handle: recorder.handle(),
            recorder,
            streams: Arc::new(Semaphore::new(limits.streams)),
            places: limits.streams,
            models: Mutex::default(),
            rules: Mutex::default(),
        }
    }

    /// Counts an entry.
    pub(crate) fn entry(&self, record: &Record, model: Option<&str>) {
        match record {
            Record::Turn(turn) if turn.status != RunStatus::Started => {
                let terminal =
                    turn.kind.map_or_else(|| "interrupted".to_owned(), |kind| kind.to_string());
                self.count(TURNS, vec![Label::new("terminal", terminal)], 1);
            }
            Record::Event(event) => match event.known().filter(|kind| COUNTED.contains(kind)) {
                Some(EventKind::SchedulerDecision) => {
                    let Some(decision) = event.particulars::<Decision>() else { return };
                    let labels = vec![
                        Label::new("kind", decision.kind.to_string()),
                        Label::new("rule", bounded(&self.rules, &decision.rule)),
                    ];
                    self.count(DECISIONS, labels, 1);
                }
                Some(EventKind::ProviderRoundCompleted) => {
                    let model = bounded(&self.models, model.unwrap_or("unknown"));
                    for (field, direction) in
                        [("input_tokens", "input"), ("output_tokens", "output")]
                    {
                        let Some(tokens) = event.particular::<u64>(field) else { continue };
                        let labels = vec![
                            Label::new("direction", direction),
                            Label::new("model", model.clone()),
                        ];
                        self.count(TOKENS, labels, tokens);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// This server proposed a fact, and it took this long.
    pub(crate) fn appended(&self, took: Duration) {
        with_local_recorder(&self.recorder, || histogram!(APPENDS).record(took));
    }

    /// What became of a delivery to a trigger.
    pub(crate) fn delivered(&self, outcome: &'static str) {
        self.count(INGRESS, vec![Label::from_static_parts("outcome", outcome)], 1);
    }

    /// A request to a route was answered.
    pub(crate) fn answered(&self, route: &'static str, status: u16) {
        let labels = vec![
            Label::from_static_parts("route", route),
            Label::new("status", status.to_string()),
        ];
        self.count(REQUESTS, labels, 1);
    }

    /// What became of an event that was to be sent to a hook.
    pub(crate) fn sent(&self, outcome: &'static str) {
        self.count(HOOKS, vec![Label::from_static_parts("outcome", outcome)], 1);
    }

    /// Spans that a collector took, and those that it will never get.
    pub(crate) fn spans(&self, sent: usize, dropped: usize) {
        self.count(SPANS_SENT, Vec::new(), sent as u64);
        self.count(SPANS_DROPPED, Vec::new(), dropped as u64);
    }

    fn count(&self, name: &'static str, labels: Vec<Label>, by: u64) {
        with_local_recorder(&self.recorder, || counter!(name, labels).increment(by));
    }

    /// Folds the times that nobody has asked for, so that they take no memory.
    pub(crate) fn tidy(&self) {
        self.handle.run_upkeep();
    }

    /// The text.
    pub(crate) fn text(&self, agents: &Agents) -> String {
        let now = SystemClock.now();
        let seen = Seen::of(agents);
        with_local_recorder(&self.recorder, || {
            for (posture, count) in seen.postures {
                set(gauge!(AGENTS, "posture" => posture.to_string()), count);
            }
            set(gauge!(RESIDENT), seen.resident);
            set(gauge!(LIVING), agents.living());
            set(gauge!(LATE), agents.late());
            gauge!(OLDEST_WAIT)
                .set(seen.oldest_wait.map_or(0.0, |since| now.duration_since(since).as_secs_f64()));
            for (lane, count) in LANES.iter().zip(seen.lanes) {
                set(gauge!(QUEUE, "lane" => *lane), count);
            }
            set(gauge!(OVERDUE), seen.overdue);
            set(gauge!(PARKED), seen.parked);
            set(gauge!(STREAMS), self.places - self.streams.available_permits().min(self.places));
        });
        self.handle.render()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

/// The agents as a whole.
#[derive(Default)]
struct Seen {
    postures: Vec<(Posture, usize)>,
    resident: usize,
    oldest_wait: Option<Timestamp>,
    lanes: [usize; 4],
    overdue: usize,
    parked: usize,
}

impl Seen {
    /// Those of a shared store that other servers have are counted there.
    fn of(agents: &Agents) -> Self {
        let postures = Posture::ALL.iter().map(|posture| (*posture, 0)).collect();
        let mut seen = Self { postures, ..Self::default() };
        for cell in agents.all() {
            if cell.is_put_away() || !agents.has(&cell) {
                continue;
            }
            let brief = cell.brief();
            seen.resident += usize::from(cell.used().is_some());
            // One that cannot be read has no posture.
            if brief.problem.is_some() || !brief.is_read {
                continue;
            }
            for (posture, count) in &mut seen.postures {
                *count += usize::from(*posture == brief.posture);
            }
            seen.parked += usize::from(brief.is_parked);
            seen.overdue += brief.overdue as usize;
            for (sum, count) in seen.lanes.iter_mut().zip(brief.lanes) {
                *sum += count as usize;
            }
            let waits = [seen.oldest_wait, brief.oldest_wait];
            seen.oldest_wait = waits.into_iter().flatten().min();
        }
        seen
    }
}

fn describe() {
    describe_gauge!(AGENTS, "Agents by posture, without those that were put away.");
    describe_gauge!(RESIDENT, "Agents whose state is in memory.");
    describe_gauge!(LATE, "Agents whose time has come, and that no worker has looked at yet.");
    describe_gauge!(LIVING, "Agents with a model that run in this process now.");
    describe_counter!(DECISIONS, "Decisions that were recorded, by kind and rule.");
    describe_gauge!(OLDEST_WAIT, "The age of the oldest wait of any agent; 0 if there is none.");
    describe_gauge!(QUEUE, "Messages that wait, by lane.");
    describe_gauge!(OVERDUE, "Reasons not to rest whose time has come.");
    describe_gauge!(PARKED, "Agents that go on only after input from outside.");
    describe_counter!(TURNS, "Turns that ended, by how.");
    describe_counter!(TOKENS, "Tokens of rounds with the provider, by direction and model.");
    describe_histogram!(APPENDS, "How long this server took to record a fact that it was told.");
    describe_counter!(INGRESS, "Deliveries to triggers, by what became of them.");
    describe_gauge!(STREAMS, "Open streams.");
    describe_counter!(REQUESTS, "Requests that were answered, by route and status.");
    describe_counter!(HOOKS, "Events that were sent to hooks, by what became of them.");
    describe_counter!(SPANS_SENT, "Spans that the collector of traces took.");
    describe_counter!(SPANS_DROPPED, "Spans that the collector of traces will not get.");
}

fn set(gauge: metrics::Gauge, count: usize) {
    // More than 2^53 of anything does not fit into a machine.
    #[allow(clippy::cast_precision_loss)]
    gauge.set(count as f64);
}

/// The value of a label, unless there are too many others.
fn bounded(known: &Mutex<BTreeSet<Box<str>>>, value: &str) -> String {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if !known.contains(value) {
        if known.len() >= MOST_VALUES {
            return "other".to_owned();
        }
        known.insert(value.into());
    }
    value.to_owned()
}

#[cfg(test)]
mod tests {
    use wakeful_core::record::{chain::Head, entry::Entry, event::EventRecord};

    use super::*;

    #[test]
    fn an_entry_is_passed_over_by_its_beginning_unless_its_kind_is_counted() {
        let may = |kind: EventKind, data: &str| {
            let record = Record::Event(EventRecord::new(kind, Timestamp::default(), &data));
            may_count(Entry::seal(&Head::START, Timestamp::MAX, record).1.as_str())
        };
        assert!(COUNTED.into_iter().all(|kind| may(kind, "")));
        assert!(!may(EventKind::ToolRoundCompleted, ""));
        let said = format!("{}\":\"{}\"", "x".repeat(BEGINNING), COUNTED[0].as_str());
        assert!(!may(EventKind::WorkItemDelegated, &said), "what an agent says is not looked at");
    }

    #[test]
    fn a_label_that_others_choose_has_a_bounded_number_of_values() {
        let known = Mutex::default();
        for number in 0..MOST_VALUES {
            assert_eq!(bounded(&known, &number.to_string()), number.to_string());
        }
        assert_eq!(bounded(&known, "one more"), "other");
        assert_eq!(bounded(&known, "7"), "7");
    }
}

//! What the faults of a run excuse: how often turns were run, and how soon after a fault.

use std::{
    collections::HashMap,
    time::{Duration, Instant, SystemTime},
};

use wakeful_core::time::Timestamp;

use super::{
    model::{Asked, Question},
    workers::LEASE,
};
use crate::load::Found;

/// The time after the lease in which the agents of a dead server must be driven again.
pub(super) const TAKEOVER: Duration = Duration::from_secs(2);

/// What happens to a store that does not commit, for whatever reason.
pub(super) const OUTAGE: &str = "outage of the store";

/// The time after a failover until all nodes follow the new primary. Nodes and servers share the
/// cores of one machine here, and a node that is copied or rewound takes them from a takeover.
pub(super) const HEALING: &str = "healing of the cluster";

/// A fault: from when to when it lasted.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) what: &'static str,
    pub(super) from: Instant,
    pub(super) until: Instant,
}

/// When the runs of each delivery began, by its text.
pub(super) type Begun = HashMap<String, Vec<Timestamp>>;

/// What is known of the turns with a model.
pub(super) struct Told {
    pub(super) asked: Asked,
    pub(super) begun: Begun,
}

impl Told {
    /// When the turn of a question began: when its server recorded that, or else when it asked. On
    /// a busy machine it asks a while later, and a fault may lie between.
    fn began(&self, mark: &str, question: &Question) -> Instant {
        let runs = self.begun.get(mark).map(Vec::as_slice).unwrap_or_default();
        let (now, time) = (Instant::now(), SystemTime::now());
        let instants = runs.iter().filter_map(|at| {
            let nanos = u64::try_from(at.as_nanos()).ok()?;
            let at = SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos);
            now.checked_sub(time.duration_since(at).ok()?)
        });
        instants.filter(|at| *at <= question.asked).max().unwrap_or(question.asked)
    }
}

/// When a question had ended, for people.
fn ended(question: &Question) -> String {
    match question.ended {
        Some(ended) => format!("ended after {:.1} s", (ended - question.asked).as_secs_f64()),
        None => "did not end".to_owned(),
    }
}

/// Judges how often turns were run, and how soon after a fault. `hosted` is the number of turns
/// that hosts have run. Returns the deliveries whose turns were run twice and need not have been.
pub(super) fn turns(
    hosted: usize,
    told: &Told,
    faults: &[Fault],
    quiet_until: Instant,
    found: &mut Found,
) -> Vec<String> {
    let asked = &told.asked;
    let excuses = |fault: &&Fault| fault.what != HEALING;
    let (mut quiet, mut in_vain, mut at_once) = (0, 0, 0);
    let mut for_nothing = Vec::new();
    let mut slowest: Option<Duration> = None;
    for (mark, questions) in asked {
        for pair in questions.windows(2) {
            let [first, second] = pair else { continue };
            if second.asked < quiet_until {
                quiet += 1;
                continue;
            }
            in_vain += 1;
            // The turn was open when something failed.
            let began = told.began(mark, first);
            let was_open = |fault: &&Fault| began <= fault.until && fault.from <= second.asked;
            let fault = faults.iter().filter(excuses).find(was_open);
            let Some(fault) = fault else {
                for_nothing.push(mark.clone());
                let last = faults.iter().filter(excuses).rfind(|it| it.until < began);
                found.say(format!(
                    "{mark} began {:.1} s after a {}, was asked {:.1} s later by {}, and again \
                     after {:.1} s by {}; the first one {}",
                    last.map_or(0.0, |last| (began - last.until).as_secs_f64()),
                    last.map_or("start", |last| last.what),
                    (first.asked - began).as_secs_f64(),
                    first.by,
                    (second.asked - first.asked).as_secs_f64(),
                    second.by,
                    ended(first)
                ));
                continue;
            };
            // A paused process cannot end its turns. One that is cut off must, in time.
            let has_ended = first.ended.is_some_and(|ended| ended <= second.asked);
            if !has_ended && fault.what != "pause" {
                at_once += 1;
                found.say(format!("{mark} ran in two places after a {}", fault.what));
            }
            let is_away = |other: &Fault| {
                ["primary", OUTAGE, HEALING].contains(&other.what)
                    && other.from <= second.asked
                    && other.until >= fault.from
            };
            if fault.what == "kill" && fault.from >= first.asked && !faults.iter().any(is_away) {
                let took = second.asked - fault.from;
                if took > LEASE + TAKEOVER {
                    let last = faults.iter().rfind(|it| it.until < fault.from);
                    let since = last.map(|last| (last.what, fault.from - last.until));
                    found.say(format!(
                        "{mark} was open when {} was killed, and ran again {:.1} s later at {}; the \
                         last fault before: {since:?}",
                        first.by,
                        took.as_secs_f64(),
                        second.by
                    ));
                }
                slowest = slowest.max(Some(took));
            }
        }
    }
    let turns = asked.len() + hosted;
    found.say(format!("{turns} turns were run, {in_vain} of them once more after a fault"));
    found.none("turns run twice before the first fault", quiet);
    found.none("turns run twice that were not open at a fault", for_nothing.len() as u64);
    found.none("turns that ran in two places at once, but for pauses", at_once);
    let most = (LEASE + TAKEOVER).as_secs_f64();
    let what = "from the death of a server until its open turns run again";
    match slowest {
        Some(slowest) => found.figure(what, slowest.as_secs_f64(), "s", most),
        None => found.say(format!("{what}: not measured, no kill met an open turn")),
    }
    for_nothing
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Judges one turn that is asked for at the second 10 and at the second 20, of a server that
    /// was killed at the second 11 or not, while this happened from the second 5 to the second 25.
    /// Returns how often it ran for nothing, and whether the time of a recovery was measured.
    fn judged(is_killed: bool, meanwhile: Option<&'static str>) -> (usize, bool) {
        let start = Instant::now();
        let at = |second: u32| start + SECOND * second;
        let question = |second| Question {
            asked: at(second),
            by: String::new(),
            ended: Some(at(second) + SECOND),
        };
        let asked = [("mark-1-".to_owned(), vec![question(10), question(20)])].into();
        let kill = Fault { what: "kill", from: at(11), until: at(12) };
        let other = meanwhile.map(|what| Fault { what, from: at(5), until: at(25) });
        let faults: Vec<_> = is_killed.then_some(kill).into_iter().chain(other).collect();
        let told = Told { asked, begun: Begun::new() };
        let mut found = Found::default();
        let twice = turns(0, &told, &faults, start, &mut found);
        let is_measured = found.beyond.iter().any(|it| it.contains("from the death of a server"));
        (twice.len(), is_measured)
    }

    #[test]
    fn a_cluster_that_heals_excuses_a_late_recovery_and_no_turn_that_ran_twice() {
        assert_eq!(judged(false, None), (1, false));
        assert_eq!(judged(false, Some(HEALING)), (1, false));
        assert_eq!(judged(false, Some(OUTAGE)), (0, false));
        assert_eq!(judged(true, None), (0, true), "nine seconds are too long");
        assert_eq!(judged(true, Some(HEALING)), (0, false));
    }
}

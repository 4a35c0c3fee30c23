//! A corrected clock: what moves when the host's clock was ahead and is right again (contract 1.3).
//!
//! An instant that the core derived from a duration moves with its base. An instant that was named
//! absolutely stays, because the clock is right now. What already became a message stays too:
//! nothing happens twice because of a correction, except a slot of an interval.

use crate::{
    id::Seq,
    record::{
        control::ClockCorrected,
        entry::Place,
        waiting::{WaitConditionRecord, WakeSource},
    },
    state::{State, work::Item},
    time::Timestamp,
};

/// How instants move.
struct Shift {
    now: Timestamp,
    /// How far the clock was ahead, in nanoseconds.
    by: i64,
    /// The correction before this one. An instant that is older was right then, or moved then.
    since: Option<Seq>,
}

impl Shift {
    /// Moves an instant that has passed by the clock that was ahead.
    fn past(&self, at: &mut Timestamp) {
        if *at > self.now {
            *at = at.minus_nanos(self.by);
        }
    }

    /// Whether an instant of the entry at `seq` moves, if it was derived from `base`.
    fn moves(&self, base: Timestamp, seq: Seq) -> bool {
        base > self.now && self.since.is_none_or(|since| seq > since)
    }

    /// Moves an instant that is still to come.
    fn future(&self, at: &mut Timestamp) {
        *at = at.minus_nanos(self.by).max(self.now);
    }

    fn condition(&self, record: &mut WaitConditionRecord) {
        if record.expires_in_ms.is_some() {
            record.expires_at.iter_mut().for_each(|at| self.future(at));
        }
        for source in &mut record.wake_sources {
            if let WakeSource::Timer { wake_at, wake_in_ms: Some(_), .. } = source {
                self.future(wake_at);
            }
        }
    }

    fn item(&self, item: &mut Item) {
        let record = &mut item.record;
        self.past(&mut record.created_at);
        self.past(&mut record.updated_at);
        let told = item.recheck.as_ref().map(|told| told.recheck_at);
        if let (Some(from), Some(at)) = (&mut record.recheck_from, &mut record.recheck_at)
            && *from > self.now
            && told != Some(*at)
        {
            self.future(at);
            self.past(from);
        }
        item.progress.rest.iter_mut().for_each(|rest| self.past(&mut rest.since));
    }
}

impl State {
    /// Folds a correction of the clock. [`State::apply`] has set the time back already.
    pub(crate) fn correct_clock(&mut self, place: &Place, record: &ClockCorrected) {
        let elapsed = record.last_at.plus_ms(record.elapsed_ms.unwrap_or_default());
        let shift = Shift { now: self.at, by: elapsed.nanos_since(self.at), since: self.corrected };
        self.corrected = Some(place.seq);
        for timer in self.waiting.timers.values_mut() {
            let (base, timer_record) = (timer.record.created_at, &mut timer.record);
            let interval = timer_record.interval_ms.filter(|_| timer_record.repeat);
            match (&mut timer_record.next_fire_at, interval) {
                (Some(next), Some(step)) => *next = next.nearest_on_grid(step, shift.now),
                (Some(next), None) if shift.moves(base, timer.seq) => shift.future(next),
                _ => {}
            }
            shift.past(&mut timer_record.created_at);
        }
        let told = &self.waiting.deadlines_told;
        for wait in self.waiting.conditions.values_mut() {
            if shift.moves(wait.record.created_at, wait.seq) && !told.contains_key(&wait.record.id)
            {
                shift.condition(&mut wait.record);
            }
            // The delay of a system wait counts from here.
            shift.past(&mut wait.record.created_at);
            shift.past(&mut wait.record.updated_at);
        }
        for open in self.ingress.open.values_mut() {
            let record = &mut open.record;
            if record.expires_in_ms.is_some() && shift.moves(record.created_at, open.seq) {
                record.expires_at.iter_mut().for_each(|at| shift.future(at));
            }
            shift.past(&mut record.created_at);
            record.last_delivered_at.iter_mut().for_each(|at| shift.past(at));
        }
        // So that the end of a trigger is not later than now.
        self.ingress.ended.values_mut().for_each(|ended| shift.past(&mut ended.at));
        for intent in self.waiting.intents.values_mut() {
            shift.past(&mut intent.record.created_at);
            intent.record.last_triggered_at.iter_mut().for_each(|at| shift.past(at));
        }
        self.work.items.values_mut().for_each(|item| shift.item(item));
        for item in &mut self.work.completed {
            shift.past(&mut item.updated_at);
        }
        for task in self.tasks.active.values_mut() {
            shift.past(&mut task.record.created_at);
            shift.past(&mut task.record.updated_at);
        }
        for retry in self.turns.retries.values_mut() {
            if shift.moves(retry.from, retry.seq) {
                shift.future(&mut retry.due_at);
            }
        }
        if let Some(run) = &mut self.turns.run {
            shift.past(&mut run.started_at);
            shift.past(&mut run.heard_at);
        }
        // Both move, so an error stays later than the success before it.
        for noted in self.context.error.iter_mut().chain(&mut self.context.success) {
            shift.past(&mut noted.at);
        }
        // Most lists are sorted by instants.
        self.relist_all();
    }
}

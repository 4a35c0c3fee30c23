//! The spans that wait for the collector. The queue has a limit: if the collector is away, the
//! oldest spans are dropped, and nobody waits.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use opentelemetry_proto::tonic::trace::v1::Span;

/// The most spans of a request.
pub(super) const BATCH: usize = 512;

/// The longest that a span waits for others to share its request.
const LONGEST: Duration = Duration::from_secs(1);

pub(super) struct Queue {
    most: usize,
    now: Mutex<Now>,
    rang: Condvar,
}

#[derive(Default)]
struct Now {
    /// The oldest span first, with the time at which it came.
    spans: VecDeque<(Instant, Span)>,
    /// Whether no more spans come.
    has_ended: bool,
    /// Whether no more spans are taken.
    is_closed: bool,
}

impl Queue {
    pub(super) fn new(most: usize) -> Self {
        Self { most, now: Mutex::default(), rang: Condvar::new() }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        // What is guarded is consistent between any two statements.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds new spans. Returns how many old ones were dropped for them.
    pub(super) fn push(&self, spans: Vec<Span>) -> usize {
        let mut now = self.now();
        let came = Instant::now();
        now.spans.extend(spans.into_iter().map(|span| (came, span)));
        let too_many = now.spans.len().saturating_sub(self.most);
        now.spans.drain(..too_many);
        self.rang.notify_all();
        too_many
    }

    /// The next spans to send, after a short wait for more of them. `None` at the end.
    pub(super) fn take(&self) -> Option<Vec<Span>> {
        let mut now = self.now();
        loop {
            let waited = now.spans.front().map(|(came, _)| came.elapsed());
            let left = waited.map_or(LONGEST, |waited| LONGEST.saturating_sub(waited));
            match waited {
                None if now.has_ended => return None,
                Some(_) if now.has_ended || left.is_zero() || now.spans.len() >= BATCH => break,
                _ => {}
            }
            now = self.rang.wait_timeout(now, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let count = now.spans.len().min(BATCH);
        Some(now.spans.drain(..count).map(|(_, span)| span).collect())
    }

    /// Puts back spans that could not be sent, as far as there is room. Returns how many were
    /// dropped.
    pub(super) fn give_back(&self, mut spans: Vec<Span>) -> usize {
        let mut now = self.now();
        let room = self.most.saturating_sub(now.spans.len());
        let dropped = spans.len().saturating_sub(room);
        let came = Instant::now();
        for span in spans.drain(dropped..).rev() {
            now.spans.push_front((came, span));
        }
        dropped
    }

    /// Waits, but not longer than until the end. Returns whether that has come.
    pub(super) fn pause(&self, wait: Duration) -> bool {
        let waited = self.rang.wait_timeout_while(self.now(), wait, |now| !now.has_ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }

    /// No more spans come.
    pub(super) fn end(&self) {
        self.now().has_ended = true;
        self.rang.notify_all();
    }

    /// No more spans are taken. Returns how many were left.
    pub(super) fn close(&self) -> usize {
        let mut now = self.now();
        now.is_closed = true;
        self.rang.notify_all();
        now.spans.len()
    }

    /// Waits until no more spans are taken, but not longer than this. Returns how many are left.
    pub(super) fn wait_for_close(&self, longest: Duration) -> usize {
        let waited = self.rang.wait_timeout_while(self.now(), longest, |now| !now.is_closed);
        waited.unwrap_or_else(PoisonError::into_inner).0.spans.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(names: std::ops::Range<usize>) -> Vec<Span> {
        names.map(|name| Span { name: name.to_string(), ..Span::default() }).collect()
    }

    #[test]
    fn the_oldest_spans_make_room_and_the_others_stay_in_order() {
        let queue = Queue::new(1_000);
        assert_eq!(queue.push(spans(0..900)), 0);
        let batch = queue.take().expect("a batch");
        assert_eq!((batch.len(), batch[0].name.as_str()), (BATCH, "0"));
        assert_eq!(queue.push(spans(900..1_500)), 0, "the batch is not in the queue");
        // 988 wait, so 12 of the batch find room again: the newest of them.
        assert_eq!(queue.give_back(batch), BATCH - 12);
        assert_eq!(queue.push(spans(1_500..1_503)), 3);
        queue.end();
        let mut left = Vec::new();
        while let Some(batch) = queue.take() {
            assert!(batch.len() <= BATCH);
            left.extend(batch.into_iter().map(|span| span.name));
        }
        let expected: Vec<_> = (503..1_503).map(|name| name.to_string()).collect();
        assert_eq!(left, expected);
    }

    #[test]
    fn a_full_batch_is_taken_at_once_and_a_small_one_soon() {
        let queue = Queue::new(1_000);
        queue.push(spans(0..BATCH));
        let began = Instant::now();
        assert_eq!(queue.take().map(|batch| batch.len()), Some(BATCH));
        assert!(began.elapsed() < LONGEST / 2);
        queue.push(spans(0..1));
        assert_eq!(queue.take().map(|batch| batch.len()), Some(1));
        assert!(began.elapsed() >= LONGEST, "it waited for more");
    }

    #[test]
    fn the_end_interrupts_a_pause_and_what_is_left_is_counted() {
        let queue = Queue::new(10);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                queue.end();
            });
            assert!(queue.pause(Duration::from_secs(60)));
        });
        queue.push(spans(0..3));
        assert_eq!(queue.close(), 3);
        assert_eq!(queue.wait_for_close(Duration::from_secs(60)), 3);
    }
}

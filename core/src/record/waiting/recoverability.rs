//! Whether an external wait can end if its event is lost (`observed-decisions.md` 2.8.2).

use alloc::string::String;

use crate::{
    record::waiting::{WaitConditionKind, WaitConditionRecord, WaitConditionStatus, WakeSource},
    tagged::names,
};
use wakeful_json::{Map, RawJson};

names! {
    /// What happens to an external wait if its event never arrives.
    pub enum Recoverability {
        /// Something else wakes it.
        Recoverable,
        /// Nothing does, and no reason is given.
        Weak,
        /// Nothing does, on purpose: a reason is given.
        ExplicitNoFallback,
    }
}

type Notes = Map<String, RawJson>;

/// Keys of a continuation that name a fallback.
const FALLBACKS: [&str; 7] = [
    "durable_queue",
    "durable_queue_ref",
    "recheck_source",
    "recheck_after",
    "recheck_at",
    "fallback",
    "fallback_source",
];

/// Such keys in its recovery note. Only the first one present counts.
const NOTED_FALLBACKS: [&str; 3] = ["durable_queue", "recheck_source", "fallback_source"];

impl WaitConditionRecord {
    /// What happens to this wait if its event never arrives. `None` if it is not active or not
    /// external.
    #[must_use]
    pub fn recoverability(&self) -> Option<Recoverability> {
        let is_external =
            self.kind == WaitConditionKind::External && self.status == WaitConditionStatus::Active;
        is_external.then(|| {
            // A given reason outranks every waker, as in the reference runtime.
            if self.no_fallback_reason().is_some() {
                Recoverability::ExplicitNoFallback
            } else if self.wakes_by_itself() || self.has_fallback() {
                Recoverability::Recoverable
            } else {
                Recoverability::Weak
            }
        })
    }

    /// Why nothing else wakes this wait, if its continuation says so.
    #[must_use]
    pub fn no_fallback_reason(&self) -> Option<String> {
        let notes = self.notes()?;
        let given =
            notes.get("no_fallback_reason").or_else(|| notes.get("explicit_no_fallback_reason"));
        given.and_then(words).or_else(|| {
            let recovery = recovery(&notes)?;
            let kind = recovery.get("kind").and_then(words)?;
            let is_explicit = matches!(kind.as_str(), "explicit_no_fallback" | "no_fallback");
            recovery.get("reason").filter(|_| is_explicit).and_then(words)
        })
    }

    fn wakes_by_itself(&self) -> bool {
        self.wake_sources
            .iter()
            .any(|source| matches!(source, WakeSource::Timer { .. } | WakeSource::SystemTick))
    }

    fn has_fallback(&self) -> bool {
        let Some(notes) = self.notes() else { return false };
        let recovery = recovery(&notes).unwrap_or_default();
        FALLBACKS.iter().any(|key| notes.get(*key).is_some_and(says_yes))
            || recovery.get("kind").and_then(words).is_some_and(|kind| kind == "recoverable")
            || NOTED_FALLBACKS.iter().find_map(|key| recovery.get(*key)).is_some_and(says_yes)
    }

    fn notes(&self) -> Option<Notes> {
        self.continuation.as_ref()?.read().ok()
    }
}

fn recovery(notes: &Notes) -> Option<Notes> {
    notes.get("recoverability").or_else(|| notes.get("recovery"))?.read().ok()
}

/// A text that is not blank, unchanged.
fn words(raw: &RawJson) -> Option<String> {
    raw.read::<String>().ok().filter(|text| !text.trim().is_empty())
}

/// Whether free JSON counts as a yes. `null`, `false`, blank texts, and empty lists and objects
/// count as a no.
fn says_yes(raw: &RawJson) -> bool {
    match raw.as_str() {
        "null" | "false" | "[]" | "{}" => false,
        text if text.starts_with('"') => words(raw).is_some(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use wakeful_json as json;

    fn wait(wake_sources: &str, continuation: &str) -> WaitConditionRecord {
        let text = format!(
            r#"{{"id":"c","agent_id":"a","status":"active","kind":"external","waiting_for":"w",
            "wake_sources":{wake_sources},"continuation":{continuation},
            "created_at":"2026-05-27T09:00:00Z","updated_at":"2026-05-27T09:00:00Z"}}"#
        );
        json::read(&text).expect("a condition")
    }

    #[test]
    fn a_wait_is_weak_unless_something_else_wakes_it_or_a_reason_is_given() {
        let of = |continuation| wait("[]", continuation).recoverability();
        for weak in [
            "null",
            "[1]",
            "{}",
            r#"{"fallback":{}}"#,
            r#"{"recheck_at":" "}"#,
            r#"{"no_fallback_reason":5}"#,
            r#"{"no_fallback_reason":null,"explicit_no_fallback_reason":"r"}"#,
            r#"{"recovery":{"kind":"no_fallback"}}"#,
            r#"{"recoverability":null,"recovery":{"kind":"recoverable"}}"#,
            r#"{"recovery":{"durable_queue":false,"fallback_source":"x"}}"#,
        ] {
            assert_eq!(of(weak), Some(Recoverability::Weak), "{weak}");
        }
        for recoverable in [
            r#"{"recheck_after":0}"#,
            r#"{"durable_queue":["q"]}"#,
            r#"{"recovery":{"fallback_source":"x"}}"#,
        ] {
            assert_eq!(of(recoverable), Some(Recoverability::Recoverable), "{recoverable}");
        }
        for explicit in [
            r#"{"explicit_no_fallback_reason":"r"}"#,
            r#"{"recoverability":{"kind":"no_fallback","reason":"r"},"fallback":1}"#,
        ] {
            assert_eq!(of(explicit), Some(Recoverability::ExplicitNoFallback), "{explicit}");
        }
        let ticked = wait(r#"[{"kind":"external_ingress"},{"kind":"system_tick"}]"#, "null");
        assert_eq!(ticked.recoverability(), Some(Recoverability::Recoverable));
    }

    #[test]
    fn only_an_active_external_wait_is_judged() {
        let weak = wait("[]", "null");
        let ended = WaitConditionRecord { status: WaitConditionStatus::Cancelled, ..weak.clone() };
        let other = WaitConditionRecord { kind: WaitConditionKind::Task, ..weak };
        assert_eq!((ended.recoverability(), other.recoverability()), (None, None));
    }
}

//! Supposing: what would be decided under another edition or other values of the policy (contract
//! 7.3).

use alloc::string::String;

use crate::record::{control::PolicySet, edition::Edition, policy::Policy};
use wakeful_json::{self as json, JsonError, Map, RawJson, Readable};

/// A supposed edition and policy. Everything that it does not name stays as the ledger has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Readable)]
pub struct Supposition {
    edition: Option<Edition>,
    /// Values by field name of [`Policy`]; each was checked to be valid there.
    policy: Option<Map<String, RawJson>>,
}

impl Supposition {
    /// Reads a supposition from JSON: an object with optional `edition`, and optional `policy` with
    /// some of the fields of a [`Policy`].
    ///
    /// # Errors
    /// The errors that the fact `policy_set` would have with these parts.
    pub fn read(text: &str) -> Result<Self, JsonError> {
        // Only checks the values; reading them as a policy would add defaults for absent ones.
        json::read::<PolicySet>(text)?;
        json::read(text)
    }

    /// The change that turns this policy of the ledger into the supposed one.
    pub(crate) fn over(&self, policy: &Policy) -> PolicySet {
        let policy = self.policy.as_ref().map(|supposed| {
            // INVARIANT: a policy is an object, and `read` has checked the type of each value.
            let mut values: Map<String, RawJson> = own(&RawJson::from_value(policy));
            values.extend(supposed.clone());
            own(&RawJson::from_value(&values))
        });
        PolicySet { policy, edition: self.edition }
    }
}

/// Reads text that the core itself wrote.
fn own<T: Readable>(text: &RawJson) -> T {
    text.read().unwrap_or_else(|why| unreachable!("a core type cannot read its own text: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        explain,
        machine::{Machine, Options},
        record::decision::Boundary,
        time::Timestamp,
    };

    const NOW: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);

    fn machine(facts: &[&str]) -> Machine {
        let mut machine = Machine::new(Options::new("a".into()));
        machine.begin(NOW).expect("a fresh ledger");
        machine.committed();
        for fact in facts {
            machine.propose_json(fact, NOW).expect(fact);
            machine.committed();
        }
        machine
    }

    #[test]
    fn what_is_not_named_stays_as_the_ledger_has_it() {
        let ledger = || {
            machine(&[
                r#"{"fact":"policy_set","policy":{"lane_burst":7,"deferred_cap":9},"edition":"2026-05-08"}"#,
            ])
        };
        let supposed = Supposition::read(r#"{"policy":{"lane_burst":2,"overrides_waits":[]}}"#)
            .expect("valid");
        let before = ledger();
        let after = before.supposing(&supposed).expect("something is supposed");
        let policy = &after.state().control.policy;
        assert_eq!(
            (policy.lane_burst.get(), policy.deferred_cap.get(), policy.overrides_waits.len()),
            (2, 9, 0)
        );
        assert_eq!(after.state().control.edition, Edition::Rfc20260508);
        assert_eq!(after.head(), before.head());
        assert!(before.supposing(&Supposition::default()).is_none(), "nothing is supposed");
    }

    #[test]
    fn another_edition_is_decided_as_if_it_were_set() {
        let facts = [
            r#"{"fact":"work_item_created","work_item_id":"w","objective":"o"}"#,
            r#"{"fact":"work_item_picked","work_item_id":"w"}"#,
            r#"{"fact":"timer_created","timer_id":"t","duration_ms":60000}"#,
        ];
        let rule = |machine: &Machine| {
            explain::explain(machine.state(), Boundary::RunLoopIdle, NOW).decision.rule
        };
        assert_eq!(rule(&machine(&facts)), "5.continue_active");
        let supposed = Supposition::read(r#"{"edition":"2026-05-08"}"#).expect("valid");
        let set = [&facts[..], &[r#"{"fact":"policy_set","edition":"2026-05-08"}"#]].concat();
        let other = machine(&facts).supposing(&supposed).expect("something is supposed");
        assert_eq!(rule(&other), "8.timer");
        assert_eq!(rule(&machine(&set)), "8.timer");
    }

    #[test]
    fn what_no_policy_can_say_is_the_error_of_the_fact() {
        for text in [
            r#"{"policy":{"lane_burst":0}}"#,
            r#"{"policy":{"hint_ids":1,"offer_backoff_ms":[5,0]}}"#,
            r#"{"policy":{"run_lease_ms":null}}"#,
            r#"{"policy":[]}"#,
            r#"{"edition":"2026-05-09"}"#,
        ] {
            let why = Supposition::read(text).expect_err(text);
            let fact = alloc::format!(r#"{{"fact":"policy_set",{}"#, &text[1..]);
            let said = crate::fact::Fact::decode(&fact).expect_err(text);
            assert_eq!((why.path, why.message), (said.path, said.message), "{text}");
            assert_eq!(why.column + r#""fact":"policy_set","#.len() as u64, said.column, "{text}");
        }
    }
}

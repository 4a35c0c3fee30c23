//! `wakeful replay --edition`: the decisions of a ledger that another edition of the rules would
//! have made differently.

use serde::Serialize;
use wakeful_core::{
    host::{Ledger, Scheduler, SchedulerError, past::DecisionFrom},
    id::{AgentId, Seq},
    json,
    machine::Options,
    record::{decision::DecisionKind, edition::Edition},
    time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, provider::Elsewhere};

use super::{
    Verdict,
    status::counted,
    style::{self, FAINT, GOOD, painted},
};

/// A range of entries, the decision after each of them, and the decision by the other edition.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Difference {
    from: Seq,
    to: Seq,
    decides: Decided,
    would_decide: Decided,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Decided {
    decision: DecisionKind,
    rule: String,
    reason: String,
}

impl From<&DecisionFrom> for Decided {
    fn from(found: &DecisionFrom) -> Self {
        Self { decision: found.decision, rule: found.rule.clone(), reason: found.reason.clone() }
    }
}

/// Compares the decisions after each entry of a ledger with those by another edition, and prints
/// where they differ.
pub(super) fn compare<L: Ledger>(
    agent: &AgentId,
    ledger: L,
    edition: Edition,
    json: bool,
) -> Result<Verdict, SchedulerError> {
    // Nothing is proposed, so no entry gets this time.
    let clock = VirtualClock::at(Timestamp::from_nanos(0));
    let mut living = Scheduler::observe(Options::new(agent.clone()), ledger, clock, Elsewhere)?;
    let end = living.state().head().seq;
    let own = living.decisions_in(Seq(1)..=end, None)?;
    let other = living.decisions_in(Seq(1)..=end, Some(edition))?;
    let found = differences(&own, &other, end);
    if json {
        say!("{}", json::write(&found));
    } else {
        print(&found, edition, end);
    }
    Ok(if found.is_empty() { Verdict::Well } else { Verdict::Differs })
}

/// The ranges in which two lists of decisions differ, up to the last entry. Each decision holds
/// from its entry on, until the next one of its list.
fn differences(own: &[DecisionFrom], other: &[DecisionFrom], end: Seq) -> Vec<Difference> {
    let mut starts: Vec<Seq> = own.iter().chain(other).map(|decision| decision.seq).collect();
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().skip(1).map(|next| Seq(next.0 - 1)).chain([end]);
    let standing = |list: &[DecisionFrom], at: Seq| {
        let upto = list.partition_point(|decision| decision.seq <= at);
        upto.checked_sub(1).map(|index| Decided::from(&list[index]))
    };
    let mut found: Vec<Difference> = Vec::new();
    for (from, to) in starts.iter().copied().zip(ends) {
        // Before its first decision a list says nothing, so there is nothing to compare.
        let (Some(decides), Some(would_decide)) = (standing(own, from), standing(other, from))
        else {
            continue;
        };
        if decides == would_decide {
            continue;
        }
        // Neighbouring ranges with the same two decisions become one range.
        match found.last_mut() {
            Some(last)
                if last.to.0 + 1 == from.0
                    && (&last.decides, &last.would_decide) == (&decides, &would_decide) =>
            {
                last.to = to
            }
            _ => found.push(Difference { from, to, decides, would_decide }),
        }
    }
    found
}

fn print(found: &[Difference], edition: Edition, end: Seq) {
    let entries = counted(usize::try_from(end.0).unwrap_or(usize::MAX), "entry");
    if found.is_empty() {
        say!(
            "{} edition {edition} decides the same after each of {entries}",
            painted(GOOD, "no difference:")
        );
        return;
    }
    let mut table = style::table(&["entries", "decides", &format!("by {edition}")]);
    let said = |decided: &Decided| {
        format!("{:?} {}", decided.decision, painted(FAINT, &format!("by {}", decided.rule)))
    };
    table.add_rows(found.iter().map(|one| {
        let range = if one.from == one.to {
            one.from.to_string()
        } else {
            format!("{}-{}", one.from, one.to)
        };
        [range, said(&one.decides), said(&one.would_decide)]
    }));
    style::print(&table);
    let differ: u64 = found.iter().map(|one| one.to.0 - one.from.0 + 1).sum();
    say!("edition {edition} decides differently after {differ} of {entries}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(decisions: &[(u64, DecisionKind)]) -> Vec<DecisionFrom> {
        decisions
            .iter()
            .map(|(seq, decision)| DecisionFrom {
                seq: Seq(*seq),
                decision: *decision,
                rule: "r".into(),
                reason: "x".into(),
            })
            .collect()
    }

    #[test]
    fn differences_are_told_from_where_they_begin_to_where_they_end() {
        use DecisionKind::{Noop, Sleep, Stop};
        let own = list(&[(1, Noop), (4, Sleep), (9, Stop)]);
        assert_eq!(differences(&own, &own, Seq(12)), []);
        let other = list(&[(1, Noop), (6, Sleep), (9, Noop), (11, Stop)]);
        let found = differences(&own, &other, Seq(12));
        let ranges: Vec<_> = found
            .iter()
            .map(|one| (one.from.0, one.to.0, one.decides.decision, one.would_decide.decision))
            .collect();
        assert_eq!(ranges, [(4, 5, Sleep, Noop), (9, 10, Stop, Noop)]);
        let last = differences(&list(&[(1, Noop)]), &list(&[(1, Stop)]), Seq(3));
        assert_eq!((last[0].from, last[0].to), (Seq(1), Seq(3)));
    }
}

//! The continuation matrix: every trigger under every closure (contract 5.15, 6.3;
//! `observed-decisions.md` 6.3, 6.4).

use wakeful_core::{
    derive::continuation::{Found, Prior, Satisfied, classify},
    record::{
        continuation::{Class, ClosureOutcome, WaitingReason},
        queue::message::TriggerKind,
    },
    state::trigger::{Names, Trigger},
};

/// A row of the matrix: a trigger, and what it means under each waiting reason.
struct Row {
    kind: TriggerKind,
    /// The kind with which it meets waits. It differs from `kind` only for a prompt that is not
    /// operator input (contract 5.19).
    meets_as: TriggerKind,
    contentful: Option<bool>,
    terminal: Option<bool>,
    /// Whether it starts a turn if nothing is waited for.
    goes_on: bool,
    /// The cells: `R` resumes the expected wait; `o` and `t` override it; `M` matches, but is
    /// liveness only; `s` and `.` are liveness only. The columns are those of [`COLUMNS`].
    waiting: [char; 5],
}

const fn row(
    kind: TriggerKind,
    contentful: Option<bool>,
    terminal: Option<bool>,
    goes_on: bool,
    waiting: [char; 5],
) -> Row {
    Row { kind, meets_as: kind, contentful, terminal, goes_on, waiting }
}

const COLUMNS: [Option<WaitingReason>; 5] = [
    Some(WaitingReason::AwaitingOperatorInput),
    Some(WaitingReason::AwaitingExternalChange),
    Some(WaitingReason::AwaitingTaskResult),
    Some(WaitingReason::AwaitingTimer),
    None,
];

const MATRIX: [Row; 11] = [
    row(TriggerKind::OperatorInput, None, None, true, ['R', 'o', 'o', 'o', 'o']),
    row(TriggerKind::TaskResult, None, Some(true), true, ['t', 't', 'R', 't', 't']),
    row(TriggerKind::TaskResult, None, Some(false), false, ['.', '.', 'M', '.', '.']),
    row(TriggerKind::ExternalEvent, Some(true), None, true, ['.', 'R', '.', '.', '.']),
    row(TriggerKind::ExternalEvent, Some(false), None, false, ['.', 'M', '.', '.', '.']),
    row(TriggerKind::SystemTick, Some(true), None, true, ['s', 'R', 's', 's', 's']),
    row(TriggerKind::SystemTick, Some(false), None, false, ['.', 'M', '.', '.', '.']),
    row(TriggerKind::TimerFire, None, None, true, ['.', '.', '.', 'R', '.']),
    row(TriggerKind::InternalFollowup, None, None, true, ['.', '.', '.', '.', '.']),
    // D21: a prompt of anybody else meets waits as an external event, but starts turns like a
    // prompt.
    Row {
        meets_as: TriggerKind::ExternalEvent,
        ..row(TriggerKind::OperatorInput, Some(true), None, true, ['o', 'R', 'o', 'o', 'o'])
    },
    Row {
        meets_as: TriggerKind::ExternalEvent,
        ..row(TriggerKind::OperatorInput, Some(false), None, true, ['o', 'o', 'o', 'o', 'o'])
    },
];

/// The cell of a row for what was found. If its ids name no active wait, the trigger has the cell
/// of a reason that it does not match (contract 5.15). An override of the policy lifts a trigger
/// that is liveness only and matched nothing (contract 6.3).
fn cell(row: &Row, reason: Option<WaitingReason>, named_in_vain: bool, overrides: bool) -> char {
    let at = COLUMNS.iter().position(|column| *column == reason).expect("a column per reason");
    let cell = match row.waiting[at] {
        'R' | 'M' if named_in_vain => match (row.kind, row.contentful, row.terminal) {
            (TriggerKind::OperatorInput, ..) => 'o',
            (TriggerKind::TaskResult, _, Some(true)) => 't',
            (TriggerKind::SystemTick, Some(true), _) => 's',
            _ => '.',
        },
        cell => cell,
    };
    if overrides && matches!(cell, '.' | 's') { 'o' } else { cell }
}

/// The class, the re-entry, whether the reason matched, and the marker in the evidence.
fn read(cell: char) -> (Class, bool, bool, &'static str) {
    match cell {
        'R' => (Class::ResumeExpectedWait, true, true, "matches_waiting_reason"),
        'o' => (Class::ResumeOverride, true, false, "override_waiting_reason"),
        't' => (Class::ResumeOverride, true, false, "terminal_task_result"),
        'M' => (Class::LivenessOnly, false, true, "matches_waiting_reason"),
        's' => {
            (Class::LivenessOnly, false, false, "contentful_system_tick_expected_external_recheck")
        }
        '.' => (Class::LivenessOnly, false, false, "does_not_satisfy_waiting_reason"),
        other => panic!("`{other}` is not a cell"),
    }
}

fn row_of(
    kind: TriggerKind,
    meets_as: TriggerKind,
    contentful: bool,
    terminal: bool,
) -> &'static Row {
    let fits = |row: &&Row| {
        let may = |asked: Option<bool>, is: bool| asked.is_none_or(|asked| asked == is);
        row.kind == kind
            && row.meets_as == meets_as
            && may(row.contentful, contentful)
            && may(row.terminal, terminal)
    };
    let rows: Vec<_> = MATRIX.iter().filter(fits).collect();
    assert_eq!(
        rows.len(),
        1,
        "one row for {kind:?} as {meets_as:?}, contentful {contentful}, terminal {terminal}"
    );
    rows[0]
}

fn trigger(
    kind: TriggerKind,
    meets_as: TriggerKind,
    contentful: bool,
    task_terminal: bool,
) -> Trigger {
    Trigger {
        kind,
        meets_as,
        contentful,
        task_terminal,
        task_blocking: false,
        task_wait_policy: None,
        wake_hint_source: None,
        unawaited: false,
        names: Names::default(),
    }
}

/// Each kind with the kind as which it meets waits, including the prompt of anybody else.
fn kinds() -> Vec<(TriggerKind, TriggerKind)> {
    let own = TriggerKind::ALL.iter().map(|kind| (*kind, *kind));
    own.chain([(TriggerKind::OperatorInput, TriggerKind::ExternalEvent)]).collect()
}

#[test]
fn continuation_matrix() {
    let satisfied = Satisfied { intents: vec!["i".into()], ..Satisfied::default() };
    let found = [
        Found::ById(satisfied.clone()),
        Found::Mismatch,
        Found::Nameless(Satisfied::default()),
        Found::Nameless(satisfied),
    ];
    let reasons: Vec<_> = WaitingReason::ALL.iter().copied().map(Some).chain([None]).collect();
    let mut cells = 0;
    for (kind, meets_as) in kinds() {
        for flags in 0..8_u8 {
            let (contentful, terminal, overrides) = (flags & 1 > 0, flags & 2 > 0, flags & 4 > 0);
            let row = row_of(kind, meets_as, contentful, terminal);
            for (outcome, waiting_reason) in ClosureOutcome::ALL
                .iter()
                .flat_map(|outcome| reasons.iter().map(|reason| (*outcome, *reason)))
            {
                for found in &found {
                    let expected = match (found, outcome) {
                        // contract 5.15: a trigger that names an active wait and can end it resumes
                        // it under every closure.
                        (Found::ById(_), _) => read('R'),
                        (_, ClosureOutcome::Waiting) => {
                            read(cell(row, waiting_reason, *found == Found::Mismatch, overrides))
                        }
                        (
                            _,
                            ClosureOutcome::Completed
                            | ClosureOutcome::Continuable
                            | ClosureOutcome::Failed,
                        ) => {
                            let class = if row.goes_on {
                                Class::LocalContinuation
                            } else {
                                Class::LivenessOnly
                            };
                            (class, row.goes_on, false, "")
                        }
                    };
                    let prior = Prior { outcome, waiting_reason };
                    let said = classify(
                        &trigger(kind, meets_as, contentful, terminal),
                        prior,
                        found,
                        overrides,
                    );
                    let marker =
                        said.evidence.get(2 + usize::from(terminal)).map_or("", String::as_str);
                    let case = format!(
                        "{kind:?} as {meets_as:?} under {prior:?}, {found:?}, contentful \
                         {contentful}, terminal {terminal}, overrides {overrides}"
                    );
                    assert_eq!(
                        (said.class, said.model_reentry, said.matched_waiting_reason, marker),
                        expected,
                        "{case}"
                    );
                    assert_eq!(
                        (said.trigger_kind, said.prior_closure_outcome, said.prior_waiting_reason),
                        (kind, outcome, waiting_reason)
                    );
                    cells += 1;
                }
            }
        }
    }
    assert_eq!(
        cells,
        (TriggerKind::ALL.len() + 1) * 8 * ClosureOutcome::ALL.len() * reasons.len() * found.len()
    );
}

/// `observed-decisions.md` 6.4.1: the wait policy of a task, and whether it blocks, are only
/// evidence.
#[test]
fn the_wait_policy_of_a_task_changes_no_cell() {
    use wakeful_core::record::task::TaskWaitPolicy;
    for reason in COLUMNS {
        for terminal in [false, true] {
            let prior = Prior { outcome: ClosureOutcome::Waiting, waiting_reason: reason };
            let bare = trigger(TriggerKind::TaskResult, TriggerKind::TaskResult, true, terminal);
            let plain = classify(&bare, prior, &Found::Nameless(Satisfied::default()), false);
            for policy in TaskWaitPolicy::ALL {
                let task_blocking = *policy == TaskWaitPolicy::Blocking;
                let task =
                    Trigger { task_blocking, task_wait_policy: Some(*policy), ..bare.clone() };
                let said = classify(&task, prior, &Found::Nameless(Satisfied::default()), false);
                assert_eq!(
                    (said.class, said.model_reentry, said.matched_waiting_reason),
                    (plain.class, plain.model_reentry, plain.matched_waiting_reason)
                );
                let mark = if task_blocking { "task_blocking" } else { "task_background" };
                assert!(
                    said.evidence.iter().any(|evidence| evidence == mark),
                    "{:?}",
                    said.evidence
                );
            }
        }
    }
}

//! Import: a folder in, its records out, in the order in which they are written (contract 3.7).

use alloc::{string::ToString, vec::Vec};

use crate::{
    foreign::{Folder, ForeignError, agent, full, layout::Layout, short},
    machine::import::Import,
    record::{CarriedRecord, Class, Record},
    time::Timestamp,
};
use wakeful_json as json;

fn carry(name: &str, line: &super::layout::Line<'_>) -> Result<Record, ForeignError> {
    let text = json::read(line.text).map_err(|why| line.error(why))?;
    Ok(Record::Carried(CarriedRecord { of_class: name.to_string(), line: text }))
}

impl Import {
    /// Reads a folder: the agent state, then class by class, then the carried lines, each in file
    /// order. A short line belongs to the folder's agent and gets an increasing time from `from`
    /// on.
    ///
    /// # Errors
    /// If a file or a line cannot be read; the first such error.
    pub fn of_folder(folder: &Folder, from: Timestamp) -> Result<Self, ForeignError> {
        let layout = Layout::new(folder);
        let agent = agent::read(&layout)?;
        let agent_id = agent.agent_id.clone();
        let mut torn = Vec::new();
        let controls = agent.controls();
        let mut records = Vec::new();
        let mut carried = Vec::new();
        // contract 5.16: an import that has no conditions at all lacks the mirrors of its intents.
        let mirrored = !layout.lines(Class::WaitConditions.as_str())?.lines.is_empty();
        for class in Class::ALL.iter().copied().filter(|class| *class != Class::Carried) {
            let lines = layout.lines(class.as_str())?;
            torn.extend(lines.torn);
            for line in lines.lines {
                if full::is_carried(class, line.text) {
                    carried.push(carry(class.as_str(), &line)?);
                    continue;
                }
                // The control records come first in the ledger, so their times do too.
                let at = from.plus_ms((controls + records.len()) as u64);
                let made = if full::is_full(class, line.text) {
                    full::records(class, line.text, mirrored)
                } else {
                    short::record(class, line.text, short::Filled { agent_id: &agent_id, at })
                };
                records.extend(made.map_err(|why| line.error(why))?);
            }
        }
        let is_read = |name: &str| {
            Class::ALL.iter().any(|class| *class != Class::Carried && class.as_str() == name)
        };
        for name in layout.classes().into_iter().filter(|name| !is_read(name)) {
            let lines = layout.lines(name)?;
            torn.extend(lines.torn);
            for line in &lines.lines {
                carried.push(carry(name, line)?);
            }
        }
        let controls = agent.into_controls(torn.clone()).into_iter().map(Record::Control);
        let records = controls.chain(records).chain(carried).collect();
        Ok(Self { agent_id, records, torn })
    }

    /// An import from an agent's state and full records, without a folder. Each intent gets its
    /// mirror.
    #[cfg(feature = "internals")]
    pub fn of_records<'a>(
        agent: &str,
        lines: impl Iterator<Item = (Class, &'a str)>,
    ) -> Result<Self, json::JsonError> {
        let agent = agent::whole(agent)?;
        let agent_id = agent.agent_id.clone();
        let mut records: Vec<_> =
            agent.into_controls(Vec::new()).into_iter().map(Record::Control).collect();
        for (class, text) in lines {
            records.extend(full::records(class, text, false)?);
        }
        Ok(Self { agent_id, records, torn: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::record::control::TornLine;
    use crate::{
        fact::{Fact, control::Restarted},
        host::export::folder_of,
        machine::{Machine, Options, ProposeError},
        record::{
            control::AgentStatus,
            decision::{Boundary, DecisionKind},
            entry::EntryBytes,
            turn::RunStatus,
        },
    };

    const NOW: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);
    const RUNNING: &str = r#"{"id":"main","status":"awake_running","pending":0,"turn_index":3,"current_run_id":"run-a",
        "last_turn_terminal":{"turn_index":2,"kind":"completed","completed_at":"2026-05-27T09:00:00Z","duration_ms":1},
        "pending_wake_hint":{"reason":"look","source":"ci","body":{"type":"json","value":{"n":1.0}},"created_at":"2026-05-27T09:00:01.000002Z"}}"#;
    const MESSAGE: &str = r#"{"id":"m1","agent_id":"main","created_at":"2026-05-27T09:00:00Z","kind":"operator_prompt","origin":{"kind":"operator"},
        "trust":"trusted_operator","priority":"normal","body":{"type":"text","text":"hello"},"metadata":null}"#;
    const DEQUEUED: &str = r#"{"message_id":"m1","agent_id":"main","priority":"normal","status":"dequeued",
        "created_at":"2026-05-27T09:00:00Z","updated_at":"2026-05-27T09:00:00Z"}"#;

    fn data_folder(files: &[(&str, &str)]) -> Folder {
        let one_line = |text: &str| text.replace('\n', " ") + "\n";
        let ledger = files
            .iter()
            .map(|(class, text)| (alloc::format!(".holon/ledger/{class}.jsonl"), one_line(text)));
        ledger.chain([(".holon/state/agent.json".into(), RUNNING.into())]).collect()
    }

    fn opened(folder: &Folder) -> (Machine, Vec<EntryBytes>) {
        let import = Import::of_folder(folder, NOW).expect("the folder reads");
        let mut machine = Machine::new(Options::new(import.agent_id().clone()));
        let mut entries = machine.begin(NOW).expect("fresh").expect("a first entry").batch;
        machine.committed();
        entries.extend(machine.import(import, NOW).expect("an import").batch);
        machine.committed();
        (machine, entries)
    }

    #[test]
    fn an_imported_open_run_is_open_until_a_restart_interrupts_it() {
        let (mut machine, _) =
            opened(&data_folder(&[("messages", MESSAGE), ("queue_entries", DEQUEUED)]));
        let observed = machine.explain(Boundary::RunLoopIdle, NOW);
        assert_eq!(
            (observed.status, observed.decision.rule.as_str()),
            (AgentStatus::AwakeRunning, "2.run_open")
        );
        let restart =
            machine.propose(Fact::RuntimeRestarted(Restarted::default()), NOW).expect("a proposal");
        machine.committed();
        let turn = restart.batch.last().expect("an interruption").as_str();
        assert!(
            turn.contains(r#""run_id":"run-a""#)
                && turn.contains(&alloc::format!(r#""status":"{}""#, RunStatus::Interrupted)),
            "{turn}"
        );
        let driven = machine.explain(Boundary::RunLoop, NOW);
        assert_eq!(driven.decision.kind, DecisionKind::StartModelTurn, "its message replays");
        assert_eq!(driven.decision.message_id, Some("m1".into()));
    }

    #[test]
    fn a_hint_recorded_elsewhere_keeps_its_key() {
        let (mut machine, entries) = opened(&data_folder(&[]));
        machine.propose(Fact::RuntimeRestarted(Restarted::default()), NOW).expect("a proposal");
        machine.committed();
        let key = "idempotency_key=wake_hint:ci:1779872401000002";
        let evidence = machine.explain(Boundary::RunLoopIdle, NOW).decision.evidence;
        assert!(evidence.iter().any(|said| said == key), "{evidence:?}");
        let exported = folder_of(&entries).expect("whole");
        assert!(
            exported["agent.json"].contains("2026-05-27T09:00:01.000002Z"),
            "{}",
            exported["agent.json"]
        );
        assert!(
            exported["agent.json"].contains("1.0"),
            "free JSON is carried as given: {}",
            exported["agent.json"]
        );
    }

    #[test]
    fn a_terminal_of_an_older_turn_does_not_end_the_newest() {
        let (machine, _) = opened(&data_folder(&[]));
        assert_eq!(machine.state().turns.terminal_of_newest(), None);
        assert!(machine.state().turns.last_terminal.is_some_and(|last| last.turn_index == 2));
    }

    #[test]
    fn records_of_other_agents_are_counted_and_skipped() {
        let (machine, _) = opened(&data_folder(&[
            ("messages", &MESSAGE.replace("main", "other")),
            ("queue_entries", DEQUEUED),
        ]));
        assert_eq!(machine.state().foreign_records, 1);
        assert!(machine.state().queue.is_empty());
    }

    #[test]
    fn short_and_full_lines_stand_side_by_side_and_short_ones_are_the_folders_agents() {
        let both = r#"{"id":"nightly"}
{"id":"hourly","agent_id":"main","created_at":"2026-05-27T09:00:00Z","duration_ms":5,"interval_ms":null,"repeat":false,"status":"active"}"#;
        let mut folder = data_folder(&[]);
        folder.insert(".holon/ledger/timers.jsonl".into(), both.into());
        let (machine, _) = opened(&folder);
        let timers = &machine.state().waiting.timers;
        assert_eq!(machine.state().foreign_records, 0);
        assert_eq!(
            timers[&"hourly".into()].record.due_at().to_string(),
            "2026-05-27T09:00:00.005Z",
            "a full record keeps its time"
        );
        assert!(
            timers[&"nightly".into()].record.created_at >= NOW,
            "a short record gets the import's time"
        );
    }

    #[test]
    fn a_mirror_is_made_where_the_folder_has_none() {
        let intent = r#"{"id":"i","agent_id":"main","scope":"agent","description":"d","source":"s","delivery_mode":"wake_hint","status":"active","external_trigger_id":"e","created_at":"2026-05-27T09:00:00Z","trigger_count":0}"#;
        let (machine, entries) = opened(&data_folder(&[("waiting_intents", intent)]));
        assert_eq!(
            (machine.state().waiting.intents.len(), machine.state().waiting.conditions.len()),
            (1, 1)
        );
        let (again, second) = opened(&folder_of(&entries).expect("whole"));
        assert_eq!(
            (again.state().waiting.conditions.len(), second.len()),
            (1, entries.len()),
            "and none if the folder has it"
        );
    }

    #[test]
    fn a_folder_goes_into_its_own_agents_ledger_only() {
        let mut machine = Machine::new(Options::new("default".into()));
        machine.begin(NOW).expect("fresh");
        machine.committed();
        let import = Import::of_folder(&data_folder(&[]), NOW).expect("the folder reads");
        let why = machine.import(import, NOW).expect_err("another agent's");
        assert_eq!(
            why,
            ProposeError::OtherAgent { found: "main".into(), expected: "default".into() }
        );
    }

    #[test]
    fn an_unfinished_last_line_is_dropped_and_noted() {
        let mut folder = data_folder(&[("messages", MESSAGE)]);
        folder
            .get_or_insert(".holon/ledger/workspaces.jsonl".into(), String::new())
            .push_str("\n{\"id\":1}\n{\"id\":");
        let import = Import::of_folder(&folder, NOW).expect("the folder reads");
        let torn = TornLine { file: ".holon/ledger/workspaces.jsonl".into(), line: 3, bytes: 6 };
        assert_eq!(import.torn(), [torn]);
        let (machine, entries) = opened(&folder);
        assert_eq!(machine.state().carried_records, 1);
        assert!(
            entries[1].as_str().contains(
                r#""torn":[{"file":".holon/ledger/workspaces.jsonl","line":3,"bytes":6}]"#
            ),
            "{:?}",
            entries[1]
        );
    }

    #[test]
    fn any_other_bad_line_is_an_error_with_its_place() {
        let place = |class: &str, text: &str| {
            let mut folder = data_folder(&[]);
            folder.insert(alloc::format!(".holon/ledger/{class}.jsonl"), String::from(text));
            let place =
                Import::of_folder(&folder, NOW).expect_err("a bad line").place().expect("a place");
            (place.file.expect("a file"), place.line, place.path)
        };
        let bad_status = DEQUEUED.replace('\n', " ").replace("dequeued", "gone");
        let two = alloc::format!("\n{bad_status}");
        assert_eq!(
            place("queue_entries", &two),
            (".holon/ledger/queue_entries.jsonl".into(), 2, "status".into()),
            "complete, so not torn"
        );
        assert_eq!(
            place("workspaces", "{\"id\":\n{}\n"),
            (".holon/ledger/workspaces.jsonl".into(), 1, String::new())
        );
        let genesis =
            r#"{"control":"genesis","agent_id":"x","format":1,"edition":"2026-05-27","policy":{}}"#;
        assert_eq!(
            place("control", genesis),
            (".holon/ledger/control.jsonl".into(), 1, "control".into())
        );
    }
}

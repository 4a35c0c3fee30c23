//! Appending and reading (contract 3.1, 3.2): entries are read back unchanged and in order, and an
//! append to an old head is refused.

use wakeful_core::{AgentId, EntryBytes, Head, Ledger, LedgerError, SchedulerError, Seq, suite};
use wakeful_host::ledger::{MemoryLedger, SqliteFile};

use super::agent::{entries, file_with, folded, ledger, observed};
use crate::shared::prompt;

#[test]
fn what_was_appended_is_there_after_a_reopening_byte_for_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let (mut memory, said) = (MemoryLedger::default(), ["m0", "m1", "m2"]);
    let mut agent = observed("a", memory.clone());
    said.iter().for_each(|id| assert!(agent.propose(&prompt(id)).is_ok()));
    drop(file_with(&path, said.len()));

    let file = SqliteFile::open(&path).expect("it opens again");
    let mut stored = ledger(&file, "a");
    assert_eq!(entries(&mut stored), entries(&mut memory), "both ledgers hold the same bytes");
    assert_eq!(stored.head().expect("a head"), agent.state().head());
    assert_eq!(observed("a", stored).state(), agent.state());
}

#[test]
fn it_does_what_every_ledger_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let connections =
        suite::ledger(|agent_id| SqliteFile::open(&path).expect("it opens").ledger(agent_id));
    assert_eq!(connections, Ok(()));
    let file = SqliteFile::open(&folder.path().join("shared.sqlite")).expect("it opens");
    assert_eq!(suite::ledger(|agent_id| file.ledger(agent_id)), Ok(()));
}

#[test]
fn many_agents_live_in_one_file_and_know_nothing_of_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = SqliteFile::open(&folder.path().join("ledger.sqlite")).expect("it opens");
    let ids: Vec<String> = (0..40).map(|number| format!("agent-{number:02}")).collect();
    let mut agents: Vec<_> = ids.iter().map(|id| observed(id, ledger(&file, id))).collect();
    for round in 0..3 {
        for (number, agent) in agents.iter_mut().enumerate() {
            agent.propose(&prompt(&format!("m{round}-of-{number}"))).expect("it is recorded");
        }
    }
    let listed: Vec<String> =
        file.agents().expect("the agents").iter().map(AgentId::to_string).collect();
    assert_eq!(listed, ids);
    for (id, agent) in ids.iter().zip(&agents) {
        assert_eq!(&folded(id, &mut ledger(&file, id)), agent.state());
    }
    let mut unknown = ledger(&file, "nobody");
    assert_eq!((unknown.head(), unknown.read(Seq(0), 10)), (Ok(Head::START), Ok(Vec::new())));
    assert_eq!(unknown.append(&Head::START, &[]), Ok(()));
    assert_eq!(file.agents().expect("the agents").len(), 40, "reading does not add an agent");
}

#[test]
fn a_ledger_may_be_used_on_another_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = SqliteFile::open(&folder.path().join("ledger.sqlite")).expect("it opens");
    std::thread::scope(|scope| {
        for id in ["a", "b", "c"] {
            let stored = ledger(&file, id);
            scope.spawn(move || {
                let mut agent = observed(id, stored);
                (0..20).for_each(|number| {
                    assert!(agent.propose(&prompt(&format!("m{number}"))).is_ok())
                });
            });
        }
    });
    for id in ["a", "b", "c"] {
        assert_eq!(folded(id, &mut ledger(&file, id)).queue().len(), 20);
    }
}

#[test]
fn the_second_of_two_writers_is_told_where_the_ledger_ends_and_nothing_of_it_is_stored() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 1);
    let other = SqliteFile::open(&path).expect("a second connection");
    let mut first = observed("a", ledger(&file, "a"));
    let mut second = observed("a", ledger(&other, "a"));
    first.propose(&prompt("first")).expect("it is recorded");
    let before = second.state().clone();
    let why = second.propose(&prompt("second")).expect_err("the head is another");
    let found = first.state().head().seq;
    assert!(
        matches!(why, SchedulerError::Ledger(LedgerError::Conflict { found: at }) if at == found),
        "{why}"
    );
    assert_eq!(
        why.to_string(),
        format!(
            "the ledger ends at entry {found}, not where this writer left it: another writer was \
             first"
        )
    );
    assert_eq!(second.state(), &before);
    assert_eq!(&folded("a", &mut ledger(&file, "a")), first.state());
}

#[test]
fn a_batch_with_a_line_that_is_no_entry_is_refused_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = file_with(&folder.path().join("ledger.sqlite"), 1);
    let mut stored = ledger(&file, "a");
    let (head, before) = (stored.head().expect("a head"), entries(&mut stored));
    let batch = [before[0].clone(), EntryBytes::from_stored("{\"seq\":5}".to_owned())];
    let why = stored.append(&head, &batch).expect_err("no entry").to_string();
    let at = head.seq.plus(2);
    assert_eq!(
        why,
        format!(
            "the ledger failed: entry {at} of the batch does not end with its chain: nothing was \
             stored"
        )
    );
    assert_eq!(entries(&mut stored), before);
}

#[test]
fn a_page_ends_before_it_is_long_and_has_at_least_one_entry() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = SqliteFile::open(&folder.path().join("ledger.sqlite")).expect("it opens");
    let mut agent = observed("a", ledger(&file, "a"));
    let long = |id: &str| prompt(id).replace(&format!("hello {id}"), &"word ".repeat(40_000));
    (0..60).for_each(|number| drop(agent.propose(&long(&format!("m{number}"))).expect("a fact")));
    let mut stored = ledger(&file, "a");
    let bytes = |page: &[EntryBytes]| page.iter().map(|entry| entry.as_str().len()).sum::<usize>();
    let page = stored.read(Seq(0), u32::MAX).expect("a page");
    assert!(bytes(&page) < 5 << 20 && page.len() > 20, "{} bytes", bytes(&page));
    assert_eq!(&folded("a", &mut stored), agent.state());
    let text = "x".repeat(6 << 20);
    let record = wakeful_core::CarriedRecord {
        of_class: "long".into(),
        line: wakeful_core::json::RawJson::from_value(&text),
    };
    let mut lone = ledger(&file, "b");
    let (_, batch) = wakeful_core::seal_all(
        Head::START,
        super::agent::NOW,
        vec![wakeful_core::Record::Carried(record.clone()), wakeful_core::Record::Carried(record)],
    );
    lone.append(&Head::START, &batch).expect("it is stored");
    assert_eq!(lone.read(Seq(0), 10).expect("a page"), batch[..1]);
    assert_eq!(lone.read(Seq(1), 10).expect("a page"), batch[1..]);
    assert_eq!(lone.read(Seq(2), 10).expect("a page"), []);
}

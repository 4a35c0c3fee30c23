//! What the world does beside ending processes: it types, sends, repeats and stops.

use std::io::Write;

use serde_json::json;
use wakeful_core::{
    fact::{Fact, outcome::Answer, waiting::condition::WaitConditionNamed},
    host::{LedgerError, SchedulerError},
    json,
    record::{queue::envelope::Priority, waiting::EndedBy},
    story::{Request, said},
};

use super::{AGENT, Broken, FEW, World, broken};
use crate::shared::{REFUSED, prompt};

impl World {
    /// Proposes a fact as `wakeful send` does, beside the agent.
    pub(super) fn propose(&mut self, fact: &str) -> Result<Answer, Broken> {
        self.observed.set(self.clock.now());
        loop {
            match self.observer.propose(fact) {
                Ok(receipt) => return Ok(receipt.answer),
                Err(SchedulerError::Ledger(LedgerError::Conflict { .. })) => {
                    let loaded = self.observer.catch_up();
                    loaded.map_err(|why| broken("the ledger cannot be read")(&why))?;
                }
                Err(why) => return Err(format!("a fact cannot be sent: {why}: {fact:.200}")),
            }
        }
    }

    pub(super) fn marker(&mut self) -> String {
        self.markers += 1;
        format!("mark-{:07}", self.markers)
    }

    /// Sends a message with a marker; it must be accepted.
    pub(super) fn send(&mut self, marker: String, id: String, fact: String) -> Result<(), Broken> {
        match self.propose(&fact)? {
            Answer::Accepted => self.sent.push(marker),
            other => return Err(format!("message {id} is not accepted: {other:?}")),
        }
        self.again = Some((id, fact));
        Ok(())
    }

    fn type_line(&mut self, line: &str) -> Result<(), Broken> {
        let Some((_, stdin)) = &mut self.agent else { return Ok(()) };
        writeln!(stdin, "{line}").map_err(|why| broken("the agent does not listen")(&why))
    }

    /// Does something that is drawn.
    pub(super) fn act(&mut self) -> Result<(), Broken> {
        let marker = self.marker();
        let id = format!("sent-{}-{}", self.clock.now().as_nanos(), self.markers);
        match self.dice.below(1_000) {
            0..260 => {
                self.typed.push(marker.clone());
                self.type_line(&format!("Please go on, {marker}."))
            }
            260..500 => {
                let lane = match self.dice.below(5) {
                    0 => Some(Priority::Next),
                    1 => Some(Priority::Background),
                    _ => None,
                };
                self.send(
                    marker.clone(),
                    id.clone(),
                    prompt(&id, &format!("Do it, {marker}."), lane),
                )
            }
            500..600 => {
                let text = format!("Also this, {marker}.");
                self.send(marker, id.clone(), prompt(&id, &text, Some(Priority::Interject)))
            }
            600..790 => self.event(marker, id),
            790..850 => {
                let mut hint = said::hint(format!("look, {marker}"));
                hint.external_trigger_id = Some("trigger-1".into());
                // A hint may be ignored: a stopped agent is not woken.
                self.propose(&json::write(&Fact::WakeHintSubmitted(hint))).map(drop)
            }
            850..900 => self.repeat(),
            900..925 => {
                if self.dice.one_in(2) {
                    self.type_line("/stop")
                } else {
                    self.propose(&json::write(&Request::Stop.fact())).map(drop)
                }
            }
            925..950 => {
                let waits = &self.audit.state.waiting().conditions;
                let Some(wait) = waits.keys().next().cloned() else { return Ok(()) };
                let named = WaitConditionNamed {
                    wait_condition_id: wait,
                    ended_by: Some(EndedBy::Operator),
                };
                let fact = Fact::WaitConditionCancelled(named);
                self.propose(&json::write(&fact)).map(drop)
            }
            950..965 => {
                let text = format!("Read this {REFUSED}, {marker}.");
                self.send(marker, id.clone(), prompt(&id, &text, None))
            }
            965..970 => {
                let text = format!("Read all of this, {marker}. {}", "word ".repeat(14_000));
                self.send(marker, id.clone(), prompt(&id, &text, None))
            }
            970..980 => {
                let items = &self.audit.state.work().items;
                let Some(item) = items.keys().next().cloned() else { return Ok(()) };
                // The item may be completed before the line is read, so nothing is expected.
                self.type_line(&format!("/item {item} How far is it?"))
            }
            // A question reads the ledger into a state of its own, in another thread. The allocator
            // keeps that memory, which grows with the ledger. So the process that lives to the end
            // is not asked.
            980..985 if self.ends.is_empty() && self.wish.turns >= FEW => Ok(()),
            980..983 => self.type_line("/status"),
            983..985 => self.type_line("/why Sleep"),
            985..990 => self.send_by_a_process(marker, &id),
            _ => Ok(()),
        }
    }

    /// An event from outside: short, very long, or with a word that the server refuses.
    fn event(&mut self, marker: String, id: String) -> Result<(), Broken> {
        let text = match self.dice.below(20) {
            0..2 => {
                let words = self.dice.index(20_000);
                format!("A long event, {marker}. {}", "event ".repeat(words))
            }
            2 => format!("An event with {REFUSED}, {marker}."),
            _ => format!("An event, {marker}."),
        };
        let fact = match self.dice.below(3) {
            0 => {
                let trigger = format!("trigger-{}", self.dice.below(3));
                json::write(&said::delivery(id.as_str().into(), trigger.as_str().into(), text))
            }
            1 => json!({"fact": "message_queued", "message": {"id": id, "kind": "channel_event",
                "origin": {"kind": "channel", "channel_id": "c"}, "trust": "untrusted_external",
                "body": {"type": "text", "text": text}}})
            .to_string(),
            _ => json!({"fact": "message_queued", "message": {"id": id, "kind": "webhook_event",
                "origin": {"kind": "webhook", "source": "ci"}, "trust": "trusted_integration",
                "body": {"type": "text", "text": text}}})
            .to_string(),
        };
        self.send(marker, id, fact)
    }

    /// Sends a message once more, with the same or with another content. It must be ignored.
    fn repeat(&mut self) -> Result<(), Broken> {
        let Some((id, fact)) = self.again.clone() else { return Ok(()) };
        let fact = match self.dice.below(2) {
            0 => fact,
            _ => prompt(&id, "Something else.", None),
        };
        match self.propose(&fact)? {
            Answer::Ignored { .. } => Ok(()),
            Answer::Accepted => Err(format!("message {id} is accepted a second time")),
        }
    }

    /// Sends a prompt with the real command.
    fn send_by_a_process(&mut self, marker: String, id: &str) -> Result<(), Broken> {
        let output = self
            .wakeful()
            .arg("send")
            .arg("--ledger")
            .arg(self.path("agents.sqlite"))
            .args(["--agent", AGENT, "prompt", &format!("By a process, {marker}."), "--id", id])
            .output()
            .map_err(|why| broken("wakeful does not start")(&why))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`wakeful send` failed ({}): {said}", output.status));
        }
        self.sent.push(marker);
        Ok(())
    }
}

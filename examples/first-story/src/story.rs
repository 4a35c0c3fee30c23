//! Plays a story. The host is as small as possible: a ledger in memory, a clock that the story
//! sets, and turns that the story tells.

use std::{error::Error, fs, path::Path};

use wakeful_core::{
    Decision, Effect, Machine, Options, Proposal,
    story::{Command, Cue, Player, Story},
};

use crate::table::table;

/// Plays the story in a file. Returns each decision with the rule that fired, as a table.
pub(crate) fn play(path: &Path) -> Result<String, Box<dyn Error>> {
    let mut host = Host::new(Story::read(&fs::read_to_string(path)?)?);
    let decided = host.play()?;
    Ok(format!(
        "{}\n{} decisions, {} entries, head {}\n",
        table(["at", "decision", "rule", "reason"], decided.iter().map(row)),
        decided.len(),
        host.ledger.len(),
        host.machine.head().chain
    ))
}

fn row((at, decision): &Decided) -> [String; 4] {
    [at.clone(), decision.kind.to_string(), decision.rule.clone(), decision.reason.clone()]
}

/// A decision, and what the clock said.
type Decided = (String, Decision);

struct Host {
    machine: Machine,
    player: Player,
    /// The stored entries, one line of JSON each.
    ledger: Vec<String>,
}

impl Host {
    fn new(story: Story) -> Self {
        Self {
            machine: Machine::new(Options::new(story.agent_id.clone())),
            player: Player::new(story),
            ledger: Vec::new(),
        }
    }

    /// Plays the story to its end.
    fn play(&mut self) -> Result<Vec<Decided>, Box<dyn Error>> {
        if let Some(first) = self.machine.begin(self.player.now())? {
            self.append(&first);
        }
        self.propose(r#"{"fact":"runtime_restarted"}"#)?;
        let mut decided = Vec::new();
        loop {
            match self.player.next(self.machine.next_wake(self.player.now())) {
                Command::Propose { fact } => self.propose(fact.as_str())?,
                Command::Run => self.run_until_rest(&mut decided)?,
                // The player is the clock.
                Command::SetClock { .. } => {}
                Command::Done => return Ok(decided),
            }
        }
    }

    /// Reports a fact.
    fn propose(&mut self, fact: &str) -> Result<(), Box<dyn Error>> {
        let proposal = self.machine.propose_json(fact, self.player.now())?;
        self.append(&proposal);
        Ok(())
    }

    /// Takes decisions until the agent rests.
    fn run_until_rest(&mut self, decided: &mut Vec<Decided>) -> Result<(), Box<dyn Error>> {
        while let Some(proposal) = self.machine.step(self.machine.boundary(), self.player.now())? {
            self.append(&proposal);
            let goes_on = proposal.decision.as_ref().is_none_or(|decision| decision.kind.goes_on());
            decided.extend(
                proposal.decision.map(|decision| (self.player.now().to_string(), decision)),
            );
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// Stores a batch. Only after that the machine changes and releases effects.
    fn append(&mut self, proposal: &Proposal) {
        self.ledger.extend(proposal.batch.iter().map(|entry| entry.as_str().to_owned()));
        for effect in self.machine.committed() {
            match effect {
                Effect::StartTurn(request) => self.player.start_turn(&Cue::from(&request)),
                Effect::AbortTurn { run_id, reason } => {
                    self.player.abort_turn(&run_id, &reason.to_string())
                }
                Effect::Release => self.player.release(),
                // A story is written in advance, so it does not react to an interjection.
                Effect::Interject { .. } | Effect::YieldTurn { .. } => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_what_the_heartbeat_prints() {
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let told = play(&tree.join("tests/fixtures/stories/heartbeat.json")).expect("it plays");
        assert!(told.contains("  EmitSystemTick  5.continue_active   continue_active\n"), "{told}");
        let page = fs::read_to_string(tree.join("examples/README.md")).expect("the page");
        let command = "$ cargo run -p first-story tests/fixtures/stories/heartbeat.json\n";
        let (_, shown) = page.split_once(command).expect("the command is on the page");
        assert_eq!(shown.split_once("```").expect("the end of the example").0, told);
    }
}

//! The core alone: it plays a story and prints each decision with the rule that fired.
//!
//! `first-story STORY` reads a story in JSON. The host is as small as possible: a ledger in memory,
//! a clock that the story sets, and turns that the story tells.

use std::{env, error::Error, fs};

use wakeful_core::{
    Decision, Effect, Machine, Options, Proposal,
    story::{Command, Cue, Player, Story},
};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("usage: first-story STORY")?;
    let story = Story::read(&fs::read_to_string(path)?)?;
    let mut host = Host::new(story);
    let decided = host.play()?;
    print!("{}", table(&decided));
    println!(
        "\n{} decisions, {} entries, head {}",
        decided.len(),
        host.ledger.len(),
        host.machine.head().chain
    );
    Ok(())
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

fn table(decided: &[Decided]) -> String {
    let head = ["at", "decision", "rule", "reason"].map(str::to_owned);
    let rows: Vec<[String; 4]> = [head]
        .into_iter()
        .chain(decided.iter().map(|(at, decision)| {
            [at.clone(), decision.kind.to_string(), decision.rule.clone(), decision.reason.clone()]
        }))
        .collect();
    let widths = [0, 1, 2].map(|column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    });
    let line = |[at, decision, rule, reason]: &[String; 4]| {
        format!("{at:0$}  {decision:1$}  {rule:2$}  {reason}\n", widths[0], widths[1], widths[2])
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heartbeat_is_decided_by_these_rules() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/fixtures/stories/heartbeat.json");
        let story = Story::read(&fs::read_to_string(path).expect("a file")).expect("a story");
        let mut host = Host::new(story);
        let decided = host.play().expect("it plays");
        let rules: Vec<&str> = decided.iter().map(|(_, decision)| decision.rule.as_str()).collect();
        let turn = "3.head_starts_turn";
        assert_eq!(rules, [turn, "5.continue_active", turn, "8.timer", turn, "8.timer"]);
        assert_eq!(host.machine.head().seq.0, host.ledger.len() as u64);
        let table = table(&decided);
        assert!(
            table.starts_with(
                "at                    decision        rule                reason\n\
                 2026-05-27T09:00:00Z  StartModelTurn  "
            ),
            "{table}"
        );
    }
}

//! The end of a soak: what it did, and what is wrong.

use std::{fs, time::Duration};

use super::{Broken, FEW, World, broken};
use crate::{
    memory::{self, Sample},
    shared::Mistake,
};

impl World {
    pub(super) fn report(
        &self,
        took: Duration,
        per_tombstone: u64,
    ) -> Result<(Vec<String>, Vec<String>), Broken> {
        let journal = fs::read_to_string(self.path("workspace").join("journal"));
        let journal = journal.map_err(|why| broken("no journal")(&why))?;
        let mut sent = self.sent.clone();
        if self.wish.mistake == Mistake::LosesAMessage {
            sent.push("mark-9999999".to_owned());
        }
        let unknown = self.shared.told_unknown();
        let mut wrong = self.audit.findings(&sent, &journal, &unknown);
        wrong.extend(self.shared.complaints());
        wrong.extend(self.doctor()?);
        let (messages, commands, tasks) = self.audit.counts();
        let drawn = self.shared.drawn();
        let mut lines = vec![
            format!(
                "soak: {} turns over {:.1} virtual days in {} s, engine {}, seed {}: {}; {} wrong",
                self.audit.turns,
                self.clock.ahead().as_secs_f64() / 86_400.0,
                took.as_secs(),
                self.wish.engine,
                self.wish.seed,
                self.audit.kinds(),
                wrong.len(),
            ),
            format!(
                "soak: {} entries, {messages} messages, {commands} commands and {tasks} of them \
                 tasks, {} processes of which {} were killed, {} runs interrupted, {} calls told \
                 as unknown, {} quirks drawn {} times",
                self.audit.entries,
                self.processes,
                self.kills,
                self.audit.interrupted,
                unknown.len(),
                drawn.len(),
                drawn.values().sum::<u64>(),
            ),
        ];
        match self.memory() {
            Some((early, late)) => {
                let limit = memory::limit(early, late, per_tombstone);
                let new = late.tombstones.saturating_sub(early.tombstones);
                lines.push(format!(
                    "soak: resident memory {} KiB at turn {}, {} KiB at turn {}, limit {} KiB: \
                     1.1 times the first, and {new} tombstones of {per_tombstone} bytes",
                    early.resident / 1024,
                    early.turns,
                    late.resident / 1024,
                    late.turns,
                    limit / 1024,
                ));
                if late.resident > limit {
                    wrong.push(format!("{} bytes are resident, more than {limit}", late.resident));
                }
            }
            None => lines.push(format!("soak: memory is compared from {FEW} turns on")),
        }
        Ok((lines, wrong))
    }

    /// The memory after a tenth of the turns, and at the end.
    fn memory(&self) -> Option<(Sample, Sample)> {
        let of = self.wish.turns;
        let near = |at: u64| {
            let from = at.saturating_sub(of / 100);
            memory::median(
                self.samples.iter().copied().filter(|it| (from..=at).contains(&it.turns)),
            )
        };
        (of >= FEW).then(|| Some((near(of / 10 + of / 100)?, near(of)?)))?
    }

    /// What `wakeful doctor` finds in the ledger. A thorough examination copies the state after
    /// each batch, which would take longer than a long soak.
    fn doctor(&self) -> Result<Option<String>, Broken> {
        let thorough = (self.wish.turns <= FEW).then_some("--thorough");
        let output = self
            .wakeful()
            .arg("doctor")
            .arg(self.path("agents.sqlite"))
            .args(thorough)
            .output()
            .map_err(|why| broken("wakeful does not start")(&why))?;
        let said = String::from_utf8_lossy(&output.stdout);
        Ok((!output.status.success()).then(|| format!("the doctor finds: {said}")))
    }
}

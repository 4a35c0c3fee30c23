//! The scripted provider: what happens in each turn is written in a story.

use std::{
    cell::{RefCell, RefMut},
    rc::Rc,
};

use wakeful_core::{
    host::{Provider, ProviderError},
    id::{MessageId, RunId, TaskId},
    record::{effect::TurnRequest, turn::AbortReason},
    story::{Command, Cue, Player, Story},
    time::Timestamp,
};

/// Plays the turns of a story. Clones share the player.
#[derive(Clone, Debug)]
pub struct ScriptedProvider {
    player: Rc<RefCell<Player>>,
}

impl ScriptedProvider {
    /// A provider at the beginning of a story.
    #[must_use]
    pub fn new(story: Story) -> Self {
        Self::playing(Player::new(story))
    }

    /// A provider that goes on where a player stands.
    #[must_use]
    pub fn playing(player: Player) -> Self {
        Self { player: Rc::new(RefCell::new(player)) }
    }

    /// The player. Let go of it before the scheduler is asked for anything: it asks the provider.
    #[must_use]
    pub fn player(&self) -> RefMut<'_, Player> {
        self.player.borrow_mut()
    }

    /// What the story says comes next, given when the agent would wake.
    #[must_use]
    pub fn next(&self, next_wake: Option<Timestamp>) -> Command {
        self.player.borrow_mut().next(next_wake)
    }
}

impl Provider for ScriptedProvider {
    fn start_turn(&mut self, request: &TurnRequest) -> Result<(), ProviderError> {
        self.player.borrow_mut().start_turn(&Cue::from(request));
        Ok(())
    }

    fn interject(&mut self, _: &RunId, _: &MessageId) -> Result<(), ProviderError> {
        Ok(()) // A script is written beforehand: it does not answer to what it is told meanwhile.
    }

    fn yield_turn(&mut self, _: &RunId) -> Result<(), ProviderError> {
        Ok(()) // Likewise; the script ends its turns where it says so.
    }

    fn abort_turn(&mut self, run: &RunId, reason: AbortReason) -> Result<(), ProviderError> {
        self.player.borrow_mut().abort_turn(run, &reason.to_string());
        Ok(())
    }

    fn alive(&mut self, active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        let player = self.player.borrow();
        Ok(active.into_iter().filter(|task| player.tells_end_of(task)).collect())
    }

    fn release(&mut self) -> Result<(), ProviderError> {
        self.player.borrow_mut().release();
        Ok(())
    }
}

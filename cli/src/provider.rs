//! The scripted provider: a story says what happens in each turn.

use std::{
    cell::{RefCell, RefMut},
    rc::Rc,
};

use wakeful_core::{
    host::{Provider, ProviderError},
    id::TaskId,
    record::effect::Effect,
    story::{Command, Cue, Player, Story},
    time::Timestamp,
};

/// Plays the turns of a story. Clones share the player.
#[derive(Clone, Debug)]
pub struct ScriptedProvider {
    player: Rc<RefCell<Player>>,
}

impl ScriptedProvider {
    /// Starts at the beginning of a story.
    #[must_use]
    pub fn new(story: Story) -> Self {
        Self::playing(Player::new(story))
    }

    /// Continues from the position of a player.
    #[must_use]
    pub fn playing(player: Player) -> Self {
        Self { player: Rc::new(RefCell::new(player)) }
    }

    /// Borrows the player. Drop the borrow before you call the scheduler, because the scheduler
    /// calls the provider.
    #[must_use]
    pub fn player(&self) -> RefMut<'_, Player> {
        self.player.borrow_mut()
    }

    /// Returns the next command of the story. `next_wake` is when the agent would wake.
    #[must_use]
    pub fn next(&self, next_wake: Option<Timestamp>) -> Command {
        self.player.borrow_mut().next(next_wake)
    }
}

impl Provider for ScriptedProvider {
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
        let mut player = self.player.borrow_mut();
        match effect {
            Effect::StartTurn(request) => player.start_turn(&Cue::from(request)),
            Effect::AbortTurn { run_id, reason } => player.abort_turn(run_id, &reason.to_string()),
            // A script is fixed: it does not react to messages, and it ends its turns where it says
            // so.
            Effect::Interject { .. } | Effect::YieldTurn { .. } => {}
            Effect::Release => player.release(),
        }
        Ok(())
    }

    fn alive(&mut self, active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        let player = self.player.borrow();
        Ok(active.into_iter().filter(|task| player.tells_end_of(task)).collect())
    }
}

//! How long a prompt may be, and what the provider has taught about it.

/// The token budget of a prompt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// The most tokens of the whole prompt.
    pub(crate) tokens: u64,
    /// The last measurement: a number of bytes and the tokens that they had.
    measured: (u64, u64),
}

impl Budget {
    /// A budget that assumes four bytes per token until a provider has counted.
    pub(crate) fn new(tokens: u64) -> Self {
        Self { tokens, measured: (4, 1) }
    }

    /// The budget of the next turn: what was learned, but a limit that the provider gave may have
    /// been wrong, so that up to twice as much is tried again.
    pub(crate) fn of_next_turn(self, most: u64) -> Self {
        Self { tokens: self.tokens.saturating_mul(2).min(most), ..self }
    }

    /// Takes over a provider's count of a prompt. Implausible counts are ignored: a token has one
    /// to eight bytes.
    pub(crate) fn measured(&mut self, bytes: u64, tokens: u64) {
        if (bytes / 8..=bytes).contains(&tokens) && tokens > 0 {
            self.measured = (bytes, tokens);
        }
    }

    /// The estimated number of tokens of a text.
    pub(crate) fn tokens_of(&self, bytes: u64) -> u64 {
        let (of, tokens) = self.measured;
        u64::try_from(u128::from(bytes) * u128::from(tokens) / u128::from(of)).unwrap_or(u64::MAX)
    }

    /// The estimated number of bytes that fit.
    pub(crate) fn bytes(&self) -> usize {
        let (of, tokens) = self.measured;
        let bytes = u128::from(self.tokens) * u128::from(of) / u128::from(tokens);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Compaction starts above four fifths of the budget.
    pub(crate) fn soft(&self) -> u64 {
        self.tokens / 5 * 4
    }

    /// Compaction stops below three fifths of the budget, so that it does not run in every round.
    pub(crate) fn target(&self) -> u64 {
        self.tokens / 5 * 3
    }
}

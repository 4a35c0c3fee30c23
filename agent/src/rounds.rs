//! The rounds of one turn in the prompt. All of them are included while they fit; after that the
//! older ones become a recap (contract 5.22; turn-local compaction). The recap is built from the
//! recorded calls, without asking the model.

use crate::openai::ChatMessage;

/// The number of newest rounds that stay exact if they fit.
const EXACT: usize = 2;

/// The most characters of a line in the recap. The second width is for prompts that are too long
/// with the first.
const RECAP_WIDTHS: [usize; 2] = [400, 80];

/// One round: the messages, and a recap line for each call.
pub(crate) struct Round {
    /// The assistant's message and the results of its calls.
    pub(crate) messages: Vec<ChatMessage>,
    /// A line for each call: the tool and a summary of its result.
    pub(crate) recap: Vec<String>,
}

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

    /// Takes over a provider's count of a prompt. Implausible counts are ignored: a token has one
    /// to eight bytes.
    pub(crate) fn measured(&mut self, bytes: u64, tokens: u64) {
        if (bytes / 8..=bytes).contains(&tokens) && tokens > 0 {
            self.measured = (bytes, tokens);
        }
    }

    /// The estimated number of tokens of a text.
    fn tokens_of(&self, bytes: u64) -> u64 {
        let (of, tokens) = self.measured;
        u64::try_from(u128::from(bytes) * u128::from(tokens) / u128::from(of)).unwrap_or(u64::MAX)
    }

    /// Compaction starts above four fifths of the budget.
    fn soft(&self) -> u64 {
        self.tokens / 5 * 4
    }

    /// Compaction stops below three fifths of the budget, so that it does not run in every round.
    fn target(&self) -> u64 {
        self.tokens / 5 * 3
    }
}

/// The prompt does not fit, even with the shortest recap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the prompt has about {tokens} tokens and {budget} are allowed; all rounds but the newest are \
     already a line each"
)]
pub(crate) struct OverBudget {
    /// The estimated tokens of the prompt.
    pub(crate) tokens: u64,
    /// The most tokens that are allowed.
    pub(crate) budget: u64,
}

/// A prompt, and whether its recap covers more rounds than before.
pub(crate) struct Prompt {
    /// The messages, in order.
    pub(crate) messages: Vec<ChatMessage>,
    /// The length in bytes, including the tools.
    pub(crate) bytes: u64,
    /// How many rounds the recap covers, if that number has grown.
    pub(crate) compacted: Option<usize>,
}

/// The rounds of a turn.
pub(crate) struct Rounds {
    baseline: Vec<ChatMessage>,
    /// The bytes of the tools, which go with each prompt.
    fixed: u64,
    rounds: Vec<Round>,
    /// How many of the oldest rounds are in the recap. It only grows, so that the beginning of the
    /// prompt stays the same from round to round.
    told_short: usize,
    pub(crate) budget: Budget,
}

impl Rounds {
    /// A turn whose prompt begins with these messages.
    pub(crate) fn new(baseline: Vec<ChatMessage>, fixed: u64, budget: Budget) -> Self {
        Self { baseline, fixed, rounds: Vec::new(), told_short: 0, budget }
    }

    /// Adds a completed round.
    pub(crate) fn push(&mut self, round: Round) {
        self.rounds.push(round);
    }

    /// Whether there are no rounds yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    /// Called when the provider finds the prompt too long. Moves all rounds but the newest into the
    /// recap; returns whether that changes anything.
    pub(crate) fn shorten(&mut self) -> bool {
        let most = self.rounds.len().saturating_sub(1);
        let grows = self.told_short < most;
        self.told_short = most;
        grows
    }

    /// The recap of the rounds that are left out, for a checkpoint.
    pub(crate) fn recap(&self) -> String {
        self.recap_of(self.told_short, RECAP_WIDTHS[0])
    }

    /// Builds the prompt of the next round.
    ///
    /// # Errors
    /// If the prompt does not fit into the budget.
    pub(crate) fn prompt(&mut self) -> Result<Prompt, OverBudget> {
        let before = self.told_short;
        let mut width = RECAP_WIDTHS[0];
        // First step: move as many rounds into the recap as the target needs, but keep the newest
        // exact.
        if self.tokens(self.told_short, width) > self.budget.soft() {
            let exact = self.rounds.len().saturating_sub(EXACT);
            let fits = |short: &usize| self.tokens(*short, width) <= self.budget.target();
            self.told_short = (before..=exact.max(before)).find(fits).unwrap_or(exact.max(before));
        }
        // Second step, only if it still does not fit: keep the newest round alone, and shorter
        // recap lines.
        if self.tokens(self.told_short, width) > self.budget.tokens {
            self.told_short = self.rounds.len().saturating_sub(1).max(before);
            width = RECAP_WIDTHS[1];
        }
        let tokens = self.tokens(self.told_short, width);
        if tokens > self.budget.tokens {
            return Err(OverBudget { tokens, budget: self.budget.tokens });
        }
        let messages = self.messages(self.told_short, width);
        let bytes = self.fixed + length(&messages);
        Ok(Prompt {
            messages,
            bytes,
            compacted: (self.told_short > before).then_some(self.told_short),
        })
    }

    fn tokens(&self, short: usize, width: usize) -> u64 {
        self.budget.tokens_of(self.fixed + length(&self.messages(short, width)))
    }

    fn messages(&self, short: usize, width: usize) -> Vec<ChatMessage> {
        let recap = (short > 0).then(|| ChatMessage::User { content: self.recap_of(short, width) });
        let exact = self.rounds.iter().skip(short).flat_map(|round| &round.messages);
        self.baseline.iter().cloned().chain(recap).chain(exact.cloned()).collect()
    }

    fn recap_of(&self, short: usize, width: usize) -> String {
        let lines = self.rounds.iter().take(short).flat_map(|round| &round.recap);
        let lines: Vec<_> = lines
            .map(|line| format!("- {}", line.chars().take(width).collect::<String>()))
            .collect();
        let rounds = if short == 1 { "1 round".to_owned() } else { format!("{short} rounds") };
        format!(
            "[runtime] This turn began with {rounds} that are left out here. This was done in \
             them:\n{}",
            lines.join("\n")
        )
    }
}

fn length(messages: &[ChatMessage]) -> u64 {
    // The JSON around the texts is not counted. Each count of the provider corrects the estimate.
    messages.iter().map(|message| message.len() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(number: usize, bytes: usize) -> Round {
        Round {
            messages: vec![ChatMessage::User { content: "x".repeat(bytes) }],
            recap: vec![format!("call {number}")],
        }
    }

    fn rounds(count: usize, bytes: usize, tokens: u64) -> Rounds {
        let mut rounds = Rounds::new(
            vec![ChatMessage::System { content: "s".repeat(100) }],
            0,
            Budget::new(tokens),
        );
        (0..count).for_each(|number| rounds.push(round(number, bytes)));
        rounds
    }

    #[test]
    fn while_all_fits_all_is_shown() {
        let prompt = rounds(5, 100, 1_000).prompt().expect("it fits");
        assert_eq!((prompt.messages.len(), prompt.compacted), (6, None));
    }

    #[test]
    fn older_rounds_are_told_in_short_and_the_newest_stay_exact() {
        let mut rounds = rounds(10, 1_000, 2_000);
        let prompt = rounds.prompt().expect("it fits");
        let short = prompt.compacted.expect("a recap");
        assert_eq!(prompt.messages.len(), 1 + 1 + 10 - short);
        assert!(rounds.recap().contains("- call 0\n"), "{}", rounds.recap());
        assert!(short <= 8 && prompt.bytes / 4 <= 1_200, "{short} rounds, {} bytes", prompt.bytes);
        assert_eq!(
            rounds.prompt().expect("it fits").compacted,
            None,
            "the recap does not grow without need"
        );
    }

    #[test]
    fn a_newest_round_that_fits_alone_is_kept() {
        let prompt = rounds(4, 3_000, 1_000).prompt().expect("it fits");
        assert_eq!(prompt.compacted, Some(3));
    }

    #[test]
    fn a_prompt_that_cannot_fit_says_how_long_it_is() {
        let why = rounds(1, 8_000, 1_000).prompt().err().expect("it does not fit");
        assert!(why.tokens > 2_000 && why.budget == 1_000, "{why:?}");
    }

    #[test]
    fn the_tokens_of_a_provider_are_believed() {
        let mut rounds = rounds(3, 1_000, 1_000);
        assert_eq!(rounds.prompt().expect("775 tokens of four bytes").compacted, None);
        rounds.budget.measured(1_000, 1_000);
        assert_eq!(rounds.prompt().err().expect("3100 tokens of one byte").budget, 1_000);
        let mut rounds = self::rounds(3, 2_000, 1_000);
        rounds.budget.measured(6_100, 20);
        assert!(
            rounds.prompt().expect("it fits with a recap").compacted.is_some(),
            "three hundred bytes are not one token"
        );
    }
}

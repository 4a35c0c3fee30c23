//! The rounds of one turn as the model is shown them: all of them while they fit, else a recap of
//! the older ones and the newest exactly (contract 5.22; turn-local compaction). The recap is
//! written from what was done, without the model.

use crate::openai::ChatMessage;

/// How many of the newest rounds are shown exactly, where they fit.
const EXACT: usize = 2;

/// How much of a line about a call the recap shows, in characters; the second is for prompts that
/// are still too long with the first.
const RECAP_WIDTHS: [usize; 2] = [400, 80];

/// One round: what the model said, what came of it, and the same in a line for each call.
pub(crate) struct Round {
    /// The assistant's message, and the results of its calls.
    pub(crate) messages: Vec<ChatMessage>,
    /// A line for each call: what was done, and what of it has a name.
    pub(crate) recap: Vec<String>,
}

/// How long a prompt may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// The tokens that the whole prompt may have.
    pub(crate) tokens: u64,
    /// What was measured last: so many bytes were so many tokens.
    measured: (u64, u64),
}

impl Budget {
    /// A budget in tokens, of four bytes each until a provider has counted some.
    pub(crate) fn new(tokens: u64) -> Self {
        Self { tokens, measured: (4, 1) }
    }

    /// A provider has counted the tokens of a prompt. A count that no tokenizer gives is not
    /// believed: a token has one to eight bytes.
    pub(crate) fn measured(&mut self, bytes: u64, tokens: u64) {
        if (bytes / 8..=bytes).contains(&tokens) && tokens > 0 {
            self.measured = (bytes, tokens);
        }
    }

    /// About how many tokens so many bytes are.
    fn tokens_of(&self, bytes: u64) -> u64 {
        let (of, tokens) = self.measured;
        u64::try_from(u128::from(bytes) * u128::from(tokens) / u128::from(of)).unwrap_or(u64::MAX)
    }

    /// Compaction begins above four fifths of the budget.
    fn soft(&self) -> u64 {
        self.tokens / 5 * 4
    }

    /// And ends below three fifths.
    fn target(&self) -> u64 {
        self.tokens / 5 * 3
    }
}

/// The prompt does not fit, however short the rounds are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the prompt has about {tokens} tokens where {budget} are allowed, with all rounds but the \
     newest told in a line each"
)]
pub(crate) struct OverBudget {
    /// About how many tokens it has.
    pub(crate) tokens: u64,
    /// How many it may have.
    pub(crate) budget: u64,
}

/// A prompt, and whether more rounds are told in short than before.
pub(crate) struct Prompt {
    /// The messages, in order.
    pub(crate) messages: Vec<ChatMessage>,
    /// Their length in bytes, with that of the tools.
    pub(crate) bytes: u64,
    /// How many rounds the recap stands for, where that has grown.
    pub(crate) compacted: Option<usize>,
}

/// The rounds of a turn.
pub(crate) struct Rounds {
    baseline: Vec<ChatMessage>,
    /// The bytes of whatever goes with each prompt: the tools.
    fixed: u64,
    rounds: Vec<Round>,
    /// How many of the oldest are told in short. It only grows, so that what the model was shown
    /// does not change with each round.
    told_short: usize,
    pub(crate) budget: Budget,
}

impl Rounds {
    /// A turn that begins with this prompt.
    pub(crate) fn new(baseline: Vec<ChatMessage>, fixed: u64, budget: Budget) -> Self {
        Self { baseline, fixed, rounds: Vec::new(), told_short: 0, budget }
    }

    /// A round was completed.
    pub(crate) fn push(&mut self, round: Round) {
        self.rounds.push(round);
    }

    /// Whether anything was done yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    /// The provider found the prompt too long: tells more in short, or says that there is nothing
    /// left to shorten.
    pub(crate) fn shorten(&mut self) -> bool {
        let most = self.rounds.len().saturating_sub(1);
        let grows = self.told_short < most;
        self.told_short = most;
        grows
    }

    /// What the rounds that are told in short came to; for a checkpoint.
    pub(crate) fn recap(&self) -> String {
        self.recap_of(self.told_short, RECAP_WIDTHS[0])
    }

    /// The prompt of the next round.
    ///
    /// # Errors
    /// Where it does not fit.
    pub(crate) fn prompt(&mut self) -> Result<Prompt, OverBudget> {
        let before = self.told_short;
        let mut width = RECAP_WIDTHS[0];
        if self.tokens(self.told_short, width) > self.budget.soft() {
            let exact = self.rounds.len().saturating_sub(EXACT);
            let fits = |short: &usize| self.tokens(*short, width) <= self.budget.target();
            self.told_short = (before..=exact.max(before)).find(fits).unwrap_or(exact.max(before));
        }
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
            "[runtime] This turn began with {rounds} that are left out here. What was done in \
             them:\n{}",
            lines.join("\n")
        )
    }
}

fn length(messages: &[ChatMessage]) -> u64 {
    let bytes = |message: &ChatMessage| match message {
        ChatMessage::System { content }
        | ChatMessage::User { content }
        | ChatMessage::Tool { content, .. } => content.len(),
        ChatMessage::Assistant { text, tool_calls } => {
            text.as_ref().map_or(0, String::len)
                + tool_calls
                    .iter()
                    .map(|call| call.name.len() + call.arguments.len())
                    .sum::<usize>()
        }
    };
    messages.iter().map(|message| bytes(message) as u64).sum()
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
        let short = prompt.compacted.expect("some are told in short");
        assert_eq!(prompt.messages.len(), 1 + 1 + 10 - short);
        assert!(rounds.recap().contains("- call 0\n"), "{}", rounds.recap());
        assert!(short <= 8 && prompt.bytes / 4 <= 1_200, "{short} rounds, {} bytes", prompt.bytes);
        assert_eq!(
            rounds.prompt().expect("it fits").compacted,
            None,
            "what was told in short stays so, and is not told again"
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
            rounds.prompt().expect("it fits in short").compacted.is_some(),
            "three hundred bytes are no token"
        );
    }
}

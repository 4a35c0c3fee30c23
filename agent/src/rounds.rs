//! The rounds of one turn in the prompt. All of them are included while they fit; after that the
//! older ones become a recap (contract 5.22; turn-local compaction). The recap is built from the
//! recorded calls, without asking the model. Nothing that a tool printed makes a turn end: long
//! results are cut first (contract 5.5).

use crate::{
    budget::Budget,
    cut,
    openai::ChatMessage,
    prompt::{Baseline, Begin, FallingOut, LeftOut, Told},
    round::{LEAST, LINE, Round, Withheld},
};

/// The number of newest rounds that stay exact if they fit.
const EXACT: usize = 2;

/// The most characters of a line in the recap. The second width is for prompts that are too long
/// with the first.
const RECAP_WIDTHS: [usize; 2] = [LINE, 80];

/// The part of the budget that the recap may take, as a divisor.
const RECAP_PART: usize = 8;

/// The part of the budget that the results of a round may take when they must be cut, as a divisor.
const RESULTS_PART: usize = 3;

/// The part of the budget that the turns in a request for a summary may take, as a divisor.
const SUMMARY_PART: usize = 2;

/// The part of what remains beside the fixed parts that the baseline may take at first, as a
/// divisor.
const BASELINE_PART: usize = 2;

/// The prompt does not fit, even without everything that can be left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the prompt has about {tokens} tokens and {budget} are allowed, although everything that can \
     be left out is: the tools have {tools} bytes, {parts}; send a shorter message, or allow more \
     with --context-tokens if the model reads more"
)]
pub(crate) struct OverBudget {
    /// The estimated tokens of the prompt.
    pub(crate) tokens: u64,
    /// The most tokens that are allowed.
    pub(crate) budget: u64,
    /// The bytes of the tools.
    pub(crate) tools: u64,
    /// The other parts that are never cut, with their bytes.
    pub(crate) parts: String,
}

/// A prompt, and whether its recap covers more rounds than before.
#[derive(Debug)]
pub(crate) struct Prompt {
    /// The messages, in order.
    pub(crate) messages: Vec<ChatMessage>,
    /// The length in bytes, including the tools.
    pub(crate) bytes: u64,
    /// How many rounds the recap covers, if that number has grown.
    pub(crate) compacted: Option<usize>,
}

/// What the provider refused, as far as the search has found it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Culprits {
    /// The parts of the baseline that are left out.
    pub(crate) parts: LeftOut,
    /// The ids of interjected messages that are left out.
    pub(crate) inserted: Vec<String>,
}

/// The parts that are left out in the search for refused content, in this order: each alone, and
/// then together.
const SUSPECTS: [LeftOut; 7] = [
    LeftOut { deferred: true, past: false, summary: false, state: false },
    LeftOut { deferred: false, past: true, summary: false, state: false },
    LeftOut { deferred: false, past: false, summary: true, state: false },
    LeftOut { deferred: false, past: false, summary: false, state: true },
    LeftOut { deferred: true, past: true, summary: false, state: false },
    LeftOut { deferred: true, past: true, summary: true, state: false },
    LeftOut { deferred: true, past: true, summary: true, state: true },
];

/// The rounds of a turn.
pub(crate) struct Rounds {
    baseline: Baseline,
    /// The baseline within its room. It stays the same from round to round while it can.
    begin: Begin,
    room: usize,
    left_out: LeftOut,
    /// The bytes of the tools, which go with each prompt.
    tools: u64,
    rounds: Vec<Round>,
    /// How many of the oldest rounds are in the recap. It only grows, so that the beginning of the
    /// prompt stays the same from round to round.
    told_short: usize,
    width: usize,
    /// The model's newest account of where the work is, and the first round that does not have it.
    account: Option<(usize, String)>,
    /// How many rounds the provider has read; `None` before its first answer.
    accepted: Option<usize>,
    /// Whether the search for refused content has left something out since the last answer.
    is_searching: bool,
    /// The parts of the baseline that the search has left out, one try after the other.
    tried: Vec<LeftOut>,
    /// The parts that were left out before the search.
    known: LeftOut,
    pub(crate) budget: Budget,
}

impl Rounds {
    /// A turn whose prompt begins with these parts.
    pub(crate) fn new(baseline: Baseline, tools: u64, budget: Budget) -> Self {
        let fixed =
            usize::try_from(tools).unwrap_or(usize::MAX).saturating_add(baseline.fixed(true));
        let room = budget.bytes().saturating_sub(fixed) / BASELINE_PART;
        let mut rounds = Self {
            baseline,
            begin: Begin::default(),
            room,
            left_out: LeftOut::default(),
            tools,
            rounds: Vec::new(),
            told_short: 0,
            width: RECAP_WIDTHS[0],
            account: None,
            accepted: None,
            is_searching: false,
            tried: Vec::new(),
            known: LeftOut::default(),
            budget,
        };
        rounds.begin();
        rounds
    }

    /// Adds a completed round.
    pub(crate) fn push(&mut self, round: Round) {
        self.rounds.push(round);
        if !self.rounds.last().is_none_or(|round| round.inserted.is_empty()) {
            // The message that started the turn is not the newest any more.
            self.begin();
        }
    }

    /// Whether there are no rounds yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    /// Called when the provider finds the prompt too long: from here on less is allowed.
    pub(crate) fn shorten(&mut self) {
        self.budget.tokens = self.tokens().min(self.budget.tokens) / 4 * 3;
    }

    /// Called when the provider has answered: it reads all that it was sent. Returns what was left
    /// out for that since its last answer, if it had refused to read.
    pub(crate) fn accepted(&mut self) -> Option<Culprits> {
        let new = self.accepted.replace(self.rounds.len()).unwrap_or(0);
        if !std::mem::take(&mut self.is_searching) {
            return None;
        }
        let parts = self.left_out.since(self.known);
        self.known = self.left_out;
        let withheld = self.rounds.iter().skip(new).filter(|it| it.withheld > Withheld::Nothing);
        let inserted = withheld.flat_map(|round| &round.inserted).map(|told| told.id().to_owned());
        Some(Culprits { parts, inserted: inserted.collect() })
    }

    /// Called when the provider refuses to read the content of the prompt. Leaves out the next
    /// suspect: what is new first. Returns `false` if none is left but the message of the turn.
    pub(crate) fn leave_out(&mut self) -> bool {
        self.is_searching = true;
        if self.withhold() {
            return true;
        }
        // What it has read once is not to blame.
        if self.accepted.is_some() {
            return false;
        }
        let present = SUSPECTS.map(|suspect| self.baseline.present(suspect));
        let is_new = |parts: &LeftOut| *parts != LeftOut::default() && !self.tried.contains(parts);
        let Some(parts) = present.into_iter().find(is_new) else { return false };
        self.tried.push(parts);
        self.left_out = parts;
        self.begin();
        true
    }

    /// The ids of the messages that the earlier turns and the deferred content are of.
    pub(crate) fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    /// Withholds the next part of what the provider has not read yet: the results first, then the
    /// calls themselves.
    fn withhold(&mut self) -> bool {
        let new = self.accepted.unwrap_or(0);
        let newest = || {
            let rounds = self.rounds.iter().skip(new);
            rounds.filter(|round| !round.inserted.is_empty() || !round.results.is_empty())
        };
        let next = match newest().map(|round| round.withheld).min() {
            Some(Withheld::Nothing) => Withheld::Results,
            Some(Withheld::Results) => Withheld::Calls,
            Some(Withheld::Calls) | None => return false,
        };
        self.rounds.iter_mut().skip(new).for_each(|round| round.withheld = next);
        if next == Withheld::Calls {
            self.told_short = self.rounds.len();
        }
        true
    }

    /// The earlier turns that the prompt leaves out; `None` if it tells all.
    pub(crate) fn falling_out(&self) -> Option<FallingOut> {
        self.baseline.falling_out(&self.begin, self.budget.bytes() / SUMMARY_PART)
    }

    /// The most bytes of a summary that the prompt tells whole.
    pub(crate) fn summary_room(&self) -> usize {
        Baseline::summary_room(self.room)
    }

    /// Puts a summary in the place of the earlier turns up to this number.
    pub(crate) fn summarise(&mut self, summary: String, newest: u64) {
        self.baseline.summarise(summary, newest);
        self.begin();
    }

    /// Keeps the model's account of where the work is. It is told with the recap, as soon as its
    /// round is not. `is_alone`: the answer with it is not a round.
    pub(crate) fn keep_account(&mut self, account: String, is_alone: bool) {
        let round = if is_alone { 0 } else { self.rounds.len() };
        self.account = Some((round, account));
    }

    /// Builds the prompt of the next round.
    ///
    /// # Errors
    /// If the prompt does not fit into the budget.
    pub(crate) fn prompt(&mut self) -> Result<Prompt, OverBudget> {
        let before = self.told_short;
        // First steps: cut the newest results that are too long, and move as many rounds into the
        // recap as the target needs, but keep the newest exact.
        if self.tokens() > self.budget.soft()
            && !self.cut_results(self.budget.bytes() / RESULTS_PART)
        {
            let exact = self.rounds.len().saturating_sub(EXACT);
            while self.told_short < exact && self.tokens() > self.budget.target() {
                self.told_short += 1;
            }
        }
        // Further steps, only if it still does not fit.
        while self.tokens() > self.budget.tokens {
            if !self.give_way() {
                return Err(self.over_budget());
            }
        }
        let messages = self.messages();
        Ok(Prompt {
            bytes: self.tools + length(&messages),
            messages,
            compacted: (self.told_short > before).then_some(self.told_short),
        })
    }

    /// Shortens what can be spared best; `false` if there is nothing left. The order is that of
    /// contract 5.5: the newest results, older ones, and then the rest.
    fn give_way(&mut self) -> bool {
        let newest = self.rounds.len().saturating_sub(1);
        if self.cut_results(self.budget.bytes() / RESULTS_PART) {
            return true;
        }
        if self.told_short < newest {
            self.told_short = newest;
            self.width = RECAP_WIDTHS[1];
            return true;
        }
        let mut part = RESULTS_PART * 2;
        while part < self.budget.bytes() {
            if self.cut_results(self.budget.bytes() / part) {
                return true;
            }
            part *= 2;
        }
        if self.room > 0 {
            self.room = if self.room > LEAST { self.room / 2 } else { 0 };
            self.begin();
            return true;
        }
        // The answer itself can be long, such as one with the text of a file in a call.
        let all_told = self.told_short >= self.rounds.len();
        self.told_short = self.rounds.len();
        !all_told
    }

    /// Cuts the results of the newest round that has too long ones.
    fn cut_results(&mut self, bytes: usize) -> bool {
        let kept = self.newest_message().map(|message| message.id().to_owned());
        let mut exact = self.rounds.iter_mut().skip(self.told_short).rev();
        exact.any(|round| round.cut(bytes, kept.as_deref()))
    }

    /// The newest message of the operator, if it was interjected.
    fn newest_message(&self) -> Option<&Told> {
        let of_operator = |message: &&Told| message.is_operator_input();
        let seen = self.rounds.iter().filter(|round| round.withheld == Withheld::Nothing);
        seen.flat_map(|round| &round.inserted).rfind(of_operator)
    }

    fn begin(&mut self) {
        let has_newest = self.newest_message().is_none();
        self.begin = self.baseline.within(self.room, has_newest, self.left_out);
    }

    fn tokens(&self) -> u64 {
        self.budget.tokens_of(self.tools + length(&self.messages()))
    }

    fn messages(&self) -> Vec<ChatMessage> {
        let short = self.told_short;
        let recap =
            (short > 0).then(|| ChatMessage::User { content: self.recap_of(short, self.width) });
        // What the operator said last is told in any case.
        let newest = self.newest_message();
        let inserted = self.rounds.iter().take(short).flat_map(|round| &round.inserted);
        let is_short =
            newest.is_some_and(|newest| inserted.clone().any(|it| it.id() == newest.id()));
        let newest_short =
            newest.filter(|_| is_short).map(|told| ChatMessage::User { content: told.in_full() });
        let kept = newest.map(Told::id);
        let exact = self.rounds.iter().skip(short).flat_map(|round| round.told(kept));
        self.begin.messages.iter().cloned().chain(recap).chain(newest_short).chain(exact).collect()
    }

    fn recap_of(&self, short: usize, width: usize) -> String {
        let lines: Vec<_> = self.rounds.iter().take(short).flat_map(Round::recap).collect();
        let mut left = self.budget.bytes() / RECAP_PART;
        // The newest lines are the most useful ones.
        let mut told: Vec<_> = lines
            .iter()
            .rev()
            .map(|line| format!("- {}", cut::line(line, width)))
            .take_while(|line| {
                let fits = line.len() <= left;
                left = left.saturating_sub(line.len());
                fits
            })
            .collect();
        let untold = lines.len() - told.len();
        if untold > 0 {
            told.push(format!("- {untold} earlier calls"));
        }
        told.reverse();
        let rounds = if short == 1 { "1 round".to_owned() } else { format!("{short} rounds") };
        let account = self.account.as_ref().filter(|(round, _)| *round < short);
        let account = account.map_or_else(String::new, |(_, account)| {
            let told = cut::beginning(account, self.budget.bytes() / RECAP_PART);
            format!("\nThen you said where the work is: {told}")
        });
        format!(
            "[runtime] This turn began with {rounds} that are left out here. This was done in \
             them:\n{}{account}",
            told.join("\n")
        )
    }

    fn over_budget(&self) -> OverBudget {
        let newest = self.newest_message();
        let mut parts = self.baseline.fixed_parts(newest.is_none());
        if let Some(message) = newest {
            parts += &format!(", the operator's newest message {} bytes", message.len());
        }
        OverBudget { tokens: self.tokens(), budget: self.budget.tokens, tools: self.tools, parts }
    }
}

fn length(messages: &[ChatMessage]) -> u64 {
    // The JSON around the texts is not counted. Each count of the provider corrects the estimate.
    messages.iter().map(|message| message.len() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::round::CallResult;

    fn round(number: usize, bytes: usize) -> Round {
        let result = CallResult {
            call_id: format!("c{number}"),
            execution: format!("run/{number}.1"),
            tool: "ExecCommand".to_owned(),
            summary: format!("call {number}"),
            text: "x".repeat(bytes),
        };
        Round::said(ChatMessage::said(""), vec![result])
    }

    fn empty(bytes: usize, tokens: u64) -> Rounds {
        Rounds::new(Baseline::of_texts("s".repeat(bytes), "go on"), 0, Budget::new(tokens))
    }

    fn rounds(count: usize, bytes: usize, tokens: u64) -> Rounds {
        let mut rounds = empty(90, tokens);
        (0..count).for_each(|number| rounds.push(round(number, bytes)));
        rounds
    }

    fn text(prompt: &Prompt) -> String {
        prompt.messages.iter().map(|message| format!("{message:?}\n")).collect()
    }

    #[test]
    fn while_all_fits_all_is_shown() {
        let prompt = rounds(5, 100, 1_000).prompt().expect("it fits");
        assert_eq!((prompt.messages.len(), prompt.compacted), (2 + 10, None));
    }

    #[test]
    fn older_rounds_are_told_in_short_and_the_newest_stay_exact() {
        let mut rounds = rounds(10, 1_000, 2_000);
        let prompt = rounds.prompt().expect("it fits");
        let short = prompt.compacted.expect("a recap");
        assert_eq!(prompt.messages.len(), 2 + 1 + 2 * (10 - short));
        let text = text(&prompt);
        assert!(text.contains("- ExecCommand: call 0\\n"), "{text}");
        assert!(short <= 8 && prompt.bytes / 4 <= 1_200, "{short} rounds, {} bytes", prompt.bytes);
        assert_eq!(
            rounds.prompt().expect("it fits").compacted,
            None,
            "the recap does not grow without need"
        );
    }

    #[test]
    fn the_newest_result_is_cut_before_older_rounds_are_dropped() {
        let mut rounds = rounds(2, 400, 1_000);
        rounds.push(round(2, 1_000_000));
        let prompt = rounds.prompt().expect("it fits");
        let text = text(&prompt);
        assert_eq!(prompt.compacted, None, "{text}");
        assert!(text.contains("ReadRest with id \\\"run/2.1\\\" and offset 1333"), "{text}");
        assert!(!text.contains("run/1.1"), "short results stay whole: {text}");
    }

    #[test]
    fn many_long_results_of_a_round_share_the_room() {
        let mut rounds = empty(90, 4_000);
        let results = (0..20).map(|number| round(number, 16_000).results.remove(0)).collect();
        rounds.push(Round::said(ChatMessage::said(""), results));
        let text = text(&rounds.prompt().expect("it fits"));
        assert_eq!(text.matches("reads on").count(), 20);
    }

    #[test]
    fn a_long_answer_of_the_model_becomes_a_line() {
        let mut rounds = empty(90, 1_000);
        rounds.push(Round::said(ChatMessage::said("x".repeat(5_000)), round(0, 10).results));
        let prompt = rounds.prompt().expect("it fits");
        assert_eq!(prompt.compacted, Some(1));
    }

    #[test]
    fn what_is_never_cut_and_does_not_fit_is_named() {
        let why = empty(8_000, 1_000).prompt().expect_err("it does not fit").to_string();
        assert!(why.contains("the system prompt has 8000 bytes"), "{why}");
        assert!(why.contains("the operator's message 16 bytes"), "{why}");
    }

    #[test]
    fn a_limit_of_the_provider_makes_the_next_prompts_shorter() {
        let mut rounds = rounds(4, 2_000, 100_000);
        let mut before = rounds.prompt().expect("it fits").bytes;
        for _ in 0..3 {
            rounds.shorten();
            let bytes = rounds.prompt().expect("it fits").bytes;
            assert!(bytes < before, "{bytes} and {before}");
            before = bytes;
        }
        while rounds.prompt().is_ok() {
            rounds.shorten();
        }
    }

    #[test]
    fn the_tokens_of_a_provider_are_believed() {
        let mut rounds = rounds(3, 1_000, 1_000);
        assert!(!text(&rounds.prompt().expect("775 tokens of four bytes")).contains("reads on"));
        rounds.budget.measured(1_000, 1_000);
        assert!(text(&rounds.prompt().expect("3100 tokens of one byte, cut")).contains("reads on"));
        let mut rounds = self::rounds(3, 2_000, 1_000);
        rounds.budget.measured(6_100, 20);
        let text = text(&rounds.prompt().expect("it fits with a recap"));
        assert!(text.contains("left out here"), "three hundred bytes are not one token: {text}");
    }

    #[test]
    fn what_is_new_is_suspected_first_when_content_is_refused() {
        let mut rounds = rounds(1, 100, 10_000);
        assert_eq!(rounds.accepted(), None);
        rounds.push(round(1, 200));
        assert!(rounds.leave_out());
        let text = text(&rounds.prompt().expect("it fits"));
        assert!(text.contains(&"x".repeat(100)) && !text.contains(&"x".repeat(150)), "{text}");
        assert_eq!(rounds.accepted(), Some(Culprits::default()));
        assert_eq!(rounds.accepted(), None, "it is reported once");
        assert!(!rounds.leave_out(), "what was read is not to blame");
    }

    #[test]
    fn each_part_is_suspected_alone_and_only_what_helps_is_named() {
        let baseline = Baseline::of_texts("s".to_owned(), "go on").with_deferred("an event");
        let mut rounds = Rounds::new(baseline, 0, Budget::new(10_000));
        assert!(rounds.leave_out() && rounds.leave_out(), "the event, and then the state alone");
        let state = LeftOut { state: true, ..LeftOut::default() };
        assert_eq!(rounds.accepted().expect("something was left out").parts, state);
        rounds.push(round(0, 100));
        assert!(rounds.leave_out());
        assert_eq!(
            rounds.accepted(),
            Some(Culprits::default()),
            "what was named before is not named again"
        );
    }

    #[test]
    fn a_bare_message_that_is_refused_is_to_blame() {
        let mut rounds = empty(90, 10_000);
        assert!(rounds.leave_out(), "the current state is left out");
        assert!(!rounds.leave_out());
    }
}

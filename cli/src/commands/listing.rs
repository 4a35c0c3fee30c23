//! What `wakeful list tasks`, `items` and `waits` have in common: the ledger, groups, and
//! text that fits a terminal of 80 columns.

use clap::Args;
use serde::Serialize;
use wakeful_core::{
    id::{AgentId, Seq},
    machine::Machine,
    record::Record,
    state::State,
    time::Timestamp,
};
use wakeful_host::driver;

use super::{
    CliError, Verdict,
    ledger::{AgentsArg, Place, Stored, now, observed},
    status::counted,
    style::{FAINT, STRONG, painted},
};

/// The most ended things that `--all` lists, for each agent.
const ENDED: usize = 50;

/// The columns of a terminal.
const COLUMNS: usize = 80;

/// The most characters of a free text that are shown.
const FREE_TEXT: usize = 280;

/// The arguments of a list.
#[derive(Args)]
pub(super) struct Listing {
    #[command(flatten)]
    ledger: AgentsArg,
    /// List also those that have ended: the newest 50 of each agent
    #[arg(long)]
    all: bool,
    /// Print one JSON object per agent
    #[arg(long)]
    json: bool,
}

/// What is listed of one agent.
#[derive(Serialize)]
struct List<T> {
    agent_id: AgentId,
    /// The time to which ages are counted.
    at: Timestamp,
    groups: Vec<Group<T>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<Ended<T>>,
}

/// Members that belong together.
#[derive(Serialize)]
pub(super) struct Group<T> {
    group: String,
    members: Vec<T>,
}

/// The newest ones that have ended, newest first.
#[derive(Serialize)]
struct Ended<T> {
    members: Vec<T>,
    /// The number of others, also of those whose entries cannot be read any more.
    left_out: usize,
}

/// An agent whose things are listed.
pub(super) struct Read<'a> {
    pub(super) state: &'a State,
    pub(super) ledger: &'a mut Stored,
    /// The beginning of a command that sends something to the agent; `None` if the ledger can
    /// only be read.
    pub(super) send: Option<Vec<String>>,
}

/// A kind of thing that is listed.
pub(super) trait Listed: Serialize + Sized {
    /// The name of one, for people.
    const NAME: &'static str;

    /// The groups of the active ones. Empty groups are left out.
    fn groups(read: &mut Read<'_>) -> Vec<Group<Self>>;

    /// The heading of a group, for people.
    fn heading(group: &str) -> String;

    /// The entries that ended one each.
    fn ends(state: &State) -> Vec<Seq>;

    /// One that has ended, from the record of its end; `None` if the record is of another kind.
    fn ended(read: &Read<'_>, record: Record) -> Option<Self>;

    /// The lines of one.
    fn lines(&self, now: Timestamp) -> Lines;
}

/// The text of one thing: a first line, and lines below it.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) id: String,
    pub(super) about: String,
    pub(super) below: Vec<Line>,
}

/// A line below the first one.
pub(super) enum Line {
    /// A text, which is wrapped.
    Text(String),
    /// A command after these words. It is wrapped so that it can be copied.
    Command(&'static str, Vec<String>),
}

impl Lines {
    /// Adds a text from outside, in one line and without its end if it is long.
    pub(super) fn free(&mut self, before: &str, text: &str) {
        let text = one_line(text);
        if !text.is_empty() {
            self.below.push(Line::Text(format!("{before}{text}")));
        }
    }

    /// Adds a line.
    pub(super) fn line(&mut self, text: String) {
        self.below.push(Line::Text(text));
    }
}

impl Listing {
    /// Lists all things of a kind, agent by agent.
    pub(super) fn run<T: Listed>(&self) -> Result<Verdict, CliError> {
        let between = || {
            if !self.json {
                say!("");
            }
        };
        let place = self.ledger.place()?;
        self.ledger.for_each(&place, between, |agent| self.show::<T>(&place, agent))
    }

    fn show<T: Listed>(&self, place: &Place, agent: &AgentId) -> Result<Verdict, CliError> {
        let (machine, _, mut ledger) = observed(place, agent)?;
        let list = list::<T>(place, &machine, &mut ledger, self.all);
        if self.json {
            let text = serde_json::to_string(&list)
                .map_err(|why| CliError::Trace { case: agent.to_string(), why: why.into() })?;
            say!("{text}");
        } else {
            super::say::text(format_args!("{}", page(&list)));
        }
        Ok(Verdict::Well)
    }
}

/// The list of a running agent, as its command prints it.
#[cfg(target_os = "linux")]
pub(super) fn of_ledger<T: Listed>(place: &Place, agent: &AgentId) -> Result<String, CliError> {
    let (machine, _, mut ledger) = observed(place, agent)?;
    Ok(page(&list::<T>(place, &machine, &mut ledger, false)))
}

fn list<T: Listed>(place: &Place, machine: &Machine, ledger: &mut Stored, all: bool) -> List<T> {
    let state = machine.state();
    let now = now(state);
    let send = (!place.is_only_read()).then(|| {
        let [option, named] = place.options();
        let agent = state.agent_id().to_string();
        ["wakeful", "send", &option, &named, "--agent", &agent].map(str::to_owned).to_vec()
    });
    let mut read = Read { state, ledger, send };
    let groups = T::groups(&mut read);
    let ended = all.then(|| ended(&mut read));
    List { agent_id: state.agent_id().clone(), at: now, groups, ended }
}

/// The newest ones that have ended.
fn ended<T: Listed>(read: &mut Read<'_>) -> Ended<T> {
    let mut ends = T::ends(read.state);
    ends.sort_unstable();
    let newest = ends.iter().rev().take(ENDED);
    let mut members = Vec::new();
    for seq in newest {
        let record = driver::entry_at(read.ledger, *seq).map(|entry| entry.record);
        members.extend(record.and_then(|record| T::ended(read, record)));
    }
    Ended { left_out: ends.len() - members.len(), members }
}

/// Sorts things into groups, which come in the order of `names`. Members keep their order.
pub(super) fn grouped<T>(
    names: impl IntoIterator<Item = String>,
    all: Vec<(String, T)>,
) -> Vec<Group<T>> {
    let mut groups: Vec<_> =
        names.into_iter().map(|group| Group { group, members: Vec::new() }).collect();
    for (name, member) in all {
        if let Some(group) = groups.iter_mut().find(|group| group.group == name) {
            group.members.push(member);
        }
    }
    groups.retain(|group| !group.members.is_empty());
    groups
}

impl<T> Group<T> {
    /// Whether a member is one of these.
    pub(super) fn has(&self, is: impl Fn(&T) -> bool) -> bool {
        self.members.iter().any(is)
    }
}

fn page<T: Listed>(list: &List<T>) -> String {
    let mut out = String::new();
    let count = list.groups.iter().map(|group| group.members.len()).sum();
    let counted_all = match count {
        0 => format!("no active {}", plural(T::NAME)),
        count => counted(count, &format!("active {}", T::NAME)),
    };
    add!(out, "{}  {counted_all}", painted(STRONG, list.agent_id.as_str()));
    for group in &list.groups {
        add!(out, "  {}", painted(FAINT, &T::heading(&group.group)));
        group.members.iter().for_each(|member| show(&mut out, &member.lines(list.at)));
    }
    if let Some(ended) = &list.ended {
        let more = match ended.left_out {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let shown = ended.members.len();
        add!(out, "  {}", painted(FAINT, &format!("ended: {shown}{more}")));
        ended.members.iter().for_each(|member| show(&mut out, &member.lines(list.at)));
    }
    out
}

fn plural(name: &str) -> String {
    counted(0, name).trim_start_matches("0 ").to_owned()
}

fn show(out: &mut String, lines: &Lines) {
    let about = if lines.about.is_empty() { String::new() } else { format!("  {}", lines.about) };
    let first = wrapped(&format!("{}{about}", lines.id), COLUMNS - 4, COLUMNS - 8);
    for (at, line) in first.iter().enumerate() {
        // A long id goes on in the next line, and is not painted then.
        match (at, line.strip_prefix(lines.id.as_str())) {
            (0, Some(rest)) => add!(out, "    {}{rest}", painted(STRONG, &lines.id)),
            (0, None) => add!(out, "    {line}"),
            _ => add!(out, "        {line}"),
        }
    }
    for line in &lines.below {
        match line {
            Line::Text(text) => {
                let lines = wrapped(text, COLUMNS - 6, COLUMNS - 8);
                for (at, line) in lines.iter().enumerate() {
                    add!(out, "{}{line}", " ".repeat(if at == 0 { 6 } else { 8 }));
                }
            }
            Line::Command(before, words) => command(out, before, words),
        }
    }
}

/// Breaks a text into lines at its spaces. A word that is longer than a line is broken too. Spaces
/// before a word are kept, except at a break.
fn wrapped(text: &str, first: usize, others: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let room = |lines: &Vec<String>| if lines.is_empty() { first } else { others };
        let used = line.chars().count();
        if used > 0 && used + 1 + word.chars().count() > room(&lines) {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
        } else if !line.is_empty() || word.is_empty() {
            line.push(' ');
        }
        for letter in word.chars() {
            if line.chars().count() == room(&lines) {
                lines.push(std::mem::take(&mut line));
            }
            line.push(letter);
        }
    }
    lines.push(line);
    lines.retain(|line| !line.trim().is_empty());
    lines
}

/// Adds a command. Its lines end with a backslash, as a shell reads them; a word stays whole.
fn command(out: &mut String, before: &str, words: &[String]) {
    let mut line = format!("      {before}");
    for word in words {
        let word = quoted(word);
        // Two columns are for the backslash.
        let is_full = line.chars().count() + 1 + word.chars().count() + 2 > COLUMNS;
        if is_full && !line.trim().is_empty() {
            add!(out, "{line} \\");
            line = " ".repeat(8) + &word;
        } else {
            line = format!("{line} {word}");
        }
    }
    add!(out, "{line}");
}

/// A word as a shell reads it.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A free text in one line, cut if it is long.
pub(super) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(FREE_TEXT) {
        Some((at, _)) => format!("{} ..", &line[..at]),
        None => line,
    }
}

/// The time between two instants, in its two largest units.
pub(super) fn span(from: Timestamp, to: Timestamp) -> String {
    let seconds = to.as_nanos().abs_diff(from.as_nanos()) / 1_000_000_000;
    let [minute, hour, day] = [60, 3_600, 86_400];
    let parts = |large: u64, name: &str, small: u64, next: &str| {
        let rest = seconds % large / small;
        let rest = if rest == 0 { String::new() } else { format!(" {rest} {next}") };
        format!("{} {name}{rest}", seconds / large)
    };
    match seconds {
        0 => "less than a second".to_owned(),
        _ if seconds < minute => format!("{seconds} s"),
        _ if seconds < hour => parts(minute, "min", 1, "s"),
        _ if seconds < day => parts(hour, "h", minute, "min"),
        _ => parts(day, "d", hour, "h"),
    }
}

/// An instant, and how far away it is.
pub(super) fn instant(at: Timestamp, now: Timestamp) -> String {
    match at > now {
        true => format!("{at} (in {})", span(now, at)),
        false => format!("{at} ({} ago)", span(at, now)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_at_spaces_and_a_word_only_if_it_is_longer_than_a_line() {
        assert_eq!(wrapped("a bb ccc", 4, 4), ["a bb", "ccc"]);
        assert_eq!(wrapped("id  about it", 9, 4), ["id  about", "it"]);
        assert_eq!(wrapped("x abcdefgh", 4, 3), ["x", "abc", "def", "gh"]);
        assert_eq!(wrapped("éééé é", 4, 4), ["éééé", "é"]);
        assert!(wrapped("", 4, 4).is_empty());
    }

    #[test]
    fn a_command_can_be_copied_although_it_is_broken() {
        let words = ["wakeful", "send", "--ledger", &"l".repeat(40), "end-wait", "it's"];
        let mut out = String::new();
        command(&mut out, "end it:", &words.map(str::to_owned));
        assert!(out.lines().all(|line| line.chars().count() <= COLUMNS), "{out}");
        assert_eq!(
            out,
            format!(
                "      end it: wakeful send --ledger {} \\\n        end-wait 'it'\\''s'\n",
                "l".repeat(40)
            )
        );
    }

    #[test]
    fn a_span_has_its_two_largest_units() {
        let of = |seconds: u64| {
            span(Timestamp::default(), Timestamp::default().plus_ms(seconds * 1_000))
        };
        let said = [0, 59, 60, 61, 3_600, 3_719, 86_400, 180_000].map(of);
        assert_eq!(
            said,
            [
                "less than a second",
                "59 s",
                "1 min",
                "1 min 1 s",
                "1 h",
                "1 h 1 min",
                "1 d",
                "2 d 2 h"
            ]
        );
    }
}

//! What came of the rows, as people and programs read it.

use std::{borrow::Cow, fmt::Write};

use serde::{Deserialize, Serialize};

use crate::row::{Outcome, Row};

/// What must come of an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Expected {
    /// Without a wall: it succeeds.
    Succeeds,
    /// The wall holds it.
    Held,
    /// The wall does not hold it, and SECURITY.md says so.
    Open,
}

/// What came of an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    /// Each way succeeded.
    Succeeded,
    /// Some ways did.
    SucceededInPart,
    /// No way succeeded.
    Held,
    /// It could not be tried.
    Broken,
}

/// One cell of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) expected: Expected,
    pub(crate) came: Ending,
    /// What the host saw, for each way.
    pub(crate) seen: Vec<String>,
}

impl Cell {
    pub(crate) fn judged(expected: Expected, ways: &[(&str, Outcome)]) -> Self {
        let count = ways.iter().filter(|(_, outcome)| outcome.is_ok()).count();
        let came = match count {
            0 => Ending::Held,
            all if all == ways.len() => Ending::Succeeded,
            _ => Ending::SucceededInPart,
        };
        let seen = ways.iter().map(|(way, outcome)| {
            let (verb, text) = match outcome {
                Ok(text) => ("succeeded", text),
                Err(text) => ("failed", text),
            };
            let between = if way.is_empty() { "" } else { ": " };
            format!("{way}{between}{verb}: {text}")
        });
        Self { expected, came, seen: seen.collect() }
    }

    pub(crate) fn broken(expected: Expected, why: Cow<'_, str>) -> Self {
        Self { expected, came: Ending::Broken, seen: vec![why.into_owned()] }
    }

    fn is_right(&self) -> bool {
        match self.expected {
            Expected::Succeeds | Expected::Open => self.came == Ending::Succeeded,
            Expected::Held => self.came == Ending::Held,
        }
    }

    fn word(&self) -> &'static str {
        match (self.is_right(), self.came, self.expected) {
            (true, Ending::Succeeded, Expected::Open) => "open",
            (true, Ending::Succeeded, _) => "succeeds",
            (true, ..) => "held",
            (false, Ending::Broken, _) => "BROKEN",
            (false, Ending::Held, _) => "HELD",
            (false, Ending::SucceededInPart, _) => "IN PART",
            (false, Ending::Succeeded, _) => "SUCCEEDS",
        }
    }

    /// What is wrong, if something is.
    fn complaint(&self, wall: &str) -> Option<String> {
        let must = match self.expected {
            Expected::Succeeds => "must succeed",
            Expected::Held => "must be held",
            Expected::Open => "must be open, as SECURITY.md says",
        };
        let seen = || self.seen.join("\n      ");
        (!self.is_right()).then(|| format!("  {wall}: it {must}\n      {}", seen()))
    }
}

/// What came of one row for one user.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Came {
    pub(crate) attack: String,
    pub(crate) promise: String,
    pub(crate) user: String,
    /// Why the row was left out.
    pub(crate) left_out: Option<String>,
    pub(crate) bare: Option<Cell>,
    pub(crate) bubblewrap: Option<Cell>,
    pub(crate) as_expected: bool,
}

impl Came {
    pub(crate) fn new(
        row: &Row,
        user: &str,
        left_out: Option<String>,
        cells: Option<[Cell; 2]>,
    ) -> Self {
        let as_expected = cells.as_ref().is_none_or(|cells| cells.iter().all(Cell::is_right));
        let [bare, bubblewrap] = cells.map_or([None, None], |cells| cells.map(Some));
        Self {
            attack: row.name.to_owned(),
            promise: row.kind.promise.to_owned(),
            user: user.to_owned(),
            left_out,
            bare,
            bubblewrap,
            as_expected,
        }
    }

    fn cells(&self) -> [(&'static str, &Option<Cell>); 2] {
        [("bare", &self.bare), ("bubblewrap", &self.bubblewrap)]
    }

    /// The row in a line.
    pub(crate) fn line(&self) -> String {
        if let Some(why) = &self.left_out {
            return format!("{}: left out, {why}", self.attack);
        }
        let words: Vec<_> = self
            .cells()
            .into_iter()
            .filter_map(|(wall, cell)| Some(format!("{wall} {}", cell.as_ref()?.word())))
            .collect();
        format!("{}: {}", self.attack, words.join(", "))
    }

    /// The row, and what is wrong with it.
    pub(crate) fn say(&self) -> String {
        let wrong =
            self.cells().into_iter().filter_map(|(wall, cell)| cell.as_ref()?.complaint(wall));
        let lines = [format!("{}, as {}", self.attack, self.user)];
        lines.into_iter().chain(wrong).collect::<Vec<_>>().join("\n")
    }
}

/// The table, one for each user.
pub(crate) fn table(came: &[Came]) -> String {
    let mut text = String::new();
    let mut line = |cells: [&str; 4]| {
        let [attack, promise, bare, bubblewrap] = cells;
        let _memory = writeln!(text, "{attack:58} | {promise:44} | {bare:8} | {bubblewrap}");
    };
    let mut user = "";
    for one in came {
        if user != one.user {
            user = &one.user;
            let title = format!("as {user}: attack");
            line([&title, "promise", "bare", "bubblewrap"]);
        }
        let promise = short(&one.promise, 44);
        let words = one.cells().map(|(_, cell)| cell.as_ref().map_or("-", Cell::word));
        line([&one.attack, &promise, words[0], words[1]]);
    }
    for one in came {
        if let Some(why) = &one.left_out {
            let _memory = writeln!(text, "left out as {}: {}: {why}", one.user, one.attack);
        }
    }
    text
}

fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 3).chain("...".chars()).collect()
}

/// The counts.
pub(crate) fn summary(came: &[Came]) -> String {
    let count = |is: fn(&Came) -> bool| came.iter().filter(|one| is(one)).count();
    let mut users: Vec<&str> = came.iter().map(|one| one.user.as_str()).collect();
    users.dedup();
    format!(
        "{} rows as {}: {} as expected, {} wrong, {} left out with a reason; bubblewrap is open to {}",
        came.len(),
        users.join(" and "),
        count(|one| one.as_expected && one.left_out.is_none()),
        count(|one| !one.as_expected),
        count(|one| one.left_out.is_some()),
        count(|one| one.bubblewrap.as_ref().is_some_and(|cell| cell.expected == Expected::Open)),
    )
}

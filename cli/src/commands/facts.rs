//! `wakeful print facts`: prints every fact that a host can say, with an example and its answer.

use std::slice;

use clap::{Args, builder::PossibleValuesParser};
use wakeful_core::{fact::Fact, json};

use super::{
    CliError, Verdict,
    style::{self, FAINT, STRONG, painted},
};
use crate::facts::{self, Entry, layout, page};

#[derive(Args)]
#[command(after_help = "\
    The examples are the life of one agent. They are played while they are printed, so each \
    answer is what a host gets.\n\n\
    --json prints one array of {fact, says, said_by, chapter, when, example, answer, effects, \
    decisions, fields}; `said_by` is `driver` or `observer`.\n\n\
    Exit codes:\n\
    \x20 0  printed\n\
    \x20 2  there is no such fact\n\n\
    Examples:\n\
    \x20 wakeful print facts\n\
    \x20 wakeful print facts message_queued\n\
    \x20 wakeful print facts timer_created --json")]
pub(super) struct Facts {
    /// Print only this fact, with its example and its fields
    #[arg(
        value_name = "NAME",
        value_parser = PossibleValuesParser::new(Fact::NAMES.iter().copied()),
        hide_possible_values = true
    )]
    name: Option<String>,
    /// Print one JSON array
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print a Markdown page of all facts (docs/facts.md)
    #[arg(long, conflicts_with = "name")]
    markdown: bool,
}

impl Facts {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let told = facts::told().map_err(|why| CliError::Refused {
            case: "the examples of the facts".to_owned(),
            message: why.to_string(),
        })?;
        let is_asked = |entry: &&Entry| self.name.as_ref().is_none_or(|name| *name == entry.fact);
        if self.markdown {
            super::say::text(format_args!("{}", page::page(&told)));
        } else if self.json {
            say!("{}", json::write(&facts::entries(&told).filter(is_asked).collect::<Vec<_>>()));
        } else if self.name.is_some() {
            facts::entries(&told).filter(is_asked).for_each(print);
        } else {
            // One width for all chapters, so that the sentences are one column.
            let width = Fact::NAMES.iter().map(|name| name.len()).max().unwrap_or_default();
            for (at, chapter) in told.iter().enumerate() {
                if at > 0 {
                    say!("");
                }
                say!("{}", painted(STRONG, chapter.title));
                for entry in facts::entries(slice::from_ref(chapter)) {
                    say!(" {:width$}  {}", entry.fact, entry.says);
                }
            }
        }
        Ok(Verdict::Well)
    }
}

fn print(entry: &Entry) {
    say!("{}  {}", painted(STRONG, &entry.fact), painted(FAINT, entry.chapter));
    say!("{}\n{}\n", entry.says, entry.when);
    say!("{}\n", layout::laid_out(&entry.example));
    say!("{}", page::outcome(entry));
    if !entry.fields.is_empty() {
        say!("");
        let mut table = style::table(&["field", "needed", "type", "what it is"]);
        table.add_rows(entry.fields.iter().map(|field| {
            [&field.field, &field.needed.in_words(), &field.kind, &field.says].map(String::clone)
        }));
        style::print(&table);
    }
}

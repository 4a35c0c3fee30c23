//! Reads TOML into the same types as JSON, with errors that give the place in the TOML text.
//!
//! The document is converted into JSON text, and each token keeps its TOML offset. An error of the
//! JSON reader names a column of that text, and the token at that column gives the line and column
//! of the TOML. So one reader serves both formats.

use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};
use wakeful_core::json::{self, JsonError};

/// Reads TOML text with a reader of JSON. Also returns the JSON text.
///
/// # Errors
/// What is wrong, with its line and column in the TOML text.
pub fn read<T>(
    text: &str,
    from_json: impl Fn(&str) -> Result<T, JsonError>,
) -> Result<(T, String), JsonError> {
    let table = DeTable::parse(text).map_err(|why| {
        let (line, column) = place(text, why.span().map_or(text.len(), |span| span.start));
        JsonError { path: String::new(), line, column, message: why.message().to_owned() }
    })?;
    let mut writer = Writer::default();
    writer.table(0, table.get_ref());
    let value = from_json(&writer.json).map_err(|why| {
        let (line, column) = place(text, writer.origin(why.column));
        JsonError { line, column, ..why }
    })?;
    Ok((value, writer.json))
}

/// The line and the column in bytes of an offset, both from 1.
fn place(text: &str, offset: usize) -> (u64, u64) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() as u64 + 1;
    let column = before.rfind('\n').map_or(before.len(), |at| before.len() - at - 1) as u64 + 1;
    (line, column)
}

/// Writes JSON on one line, and remembers the TOML offset of each token.
#[derive(Default)]
struct Writer {
    json: String,
    /// For each token, its offset in the JSON text and in the TOML text.
    origins: Vec<(usize, usize)>,
}

impl Writer {
    /// The TOML offset of the token at a column of the JSON text, counted from 1.
    fn origin(&self, column: u64) -> usize {
        let at = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
        let after = self.origins.partition_point(|(json, _)| *json <= at);
        self.origins.get(after.saturating_sub(1)).map_or(0, |(_, toml)| *toml)
    }

    fn token(&mut self, from: usize, text: &str) {
        self.origins.push((self.json.len(), from));
        self.json.push_str(text);
    }

    fn table(&mut self, from: usize, table: &DeTable<'_>) {
        self.token(from, "{");
        for (at, (key, value)) in table.iter().enumerate() {
            if at > 0 {
                self.json.push(',');
            }
            self.token(key.span().start, &json::write(&key.get_ref()));
            self.json.push(':');
            self.value(value);
        }
        // A missing field is reported at the closing brace. In TOML that is the beginning of the
        // table.
        self.token(from, "}");
    }

    fn array(&mut self, from: usize, array: &DeArray<'_>) {
        self.token(from, "[");
        for (at, value) in array.iter().enumerate() {
            if at > 0 {
                self.json.push(',');
            }
            self.value(value);
        }
        self.token(from, "]");
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>) {
        let from = value.span().start;
        match value.get_ref() {
            DeValue::String(text) => self.token(from, &json::write(&text.as_ref())),
            DeValue::Integer(number) => self.token(from, &integer(number.as_str(), number.radix())),
            DeValue::Float(number) => self.token(from, number.as_str()),
            DeValue::Boolean(yes) => self.token(from, if *yes { "true" } else { "false" }),
            DeValue::Datetime(instant) => self.token(from, &json::write(&instant.to_string())),
            DeValue::Array(array) => self.array(from, array),
            DeValue::Table(table) => self.table(from, table),
        }
    }
}

/// A TOML integer in JSON form: decimal, without a plus sign.
fn integer(digits: &str, radix: u32) -> String {
    // A number that is too large for `i128` is left to the JSON reader.
    i128::from_str_radix(digits, radix)
        .map_or_else(|_| digits.to_owned(), |number| number.to_string())
}

//! The core's own JSON compared with `serde_json`. The same texts are JSON, errors have the same
//! message and place, and written text is equal byte for byte.

use serde_json::{Value, value::RawValue};
use wakeful_core::{
    id::AgentId,
    json::{self, RawJson},
    machine::{Machine, Options},
    record::decision::Boundary,
    time::Timestamp,
};

/// Tokens of JSON, valid and invalid ones.
const PARTS: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"a\"",
    "\"",
    "\\",
    "null",
    "true",
    "false",
    "nul",
    "tru",
    "0",
    "1",
    "-",
    "-0",
    "01",
    "1.5",
    "1.",
    "1e5",
    "1e",
    "1e+",
    "E",
    " ",
    "\n",
    "\r\t",
    "\"\\u0041\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud83d\"",
    "\"\\ude00\"",
    "\"\\ud83dx\"",
    "\"\\ud83d\\n\"",
    "\"\\u00zz\"",
    "\\u12",
    "\"\\q\"",
    "\"\u{1}\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "x",
];

/// A generator with a fixed seed: the same texts on every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).expect("small")
    }

    /// A value that is mostly valid JSON.
    fn value(&mut self, depth: usize, text: &mut String) {
        match self.below(if depth == 0 { 4 } else { 7 }) {
            0..4 => text.push_str(PARTS[self.below(PARTS.len())]),
            4 | 5 => self.bracket(depth, "{", "}", text),
            _ => self.bracket(depth, "[", "]", text),
        }
    }

    fn bracket(&mut self, depth: usize, opens: &str, closes: &str, text: &mut String) {
        text.push_str(opens);
        for index in 0..self.below(4) {
            text.push_str(if index > 0 { "," } else { "" });
            text.push_str(if opens == "{" { "\"k\": " } else { "\n" });
            self.value(depth - 1, text);
        }
        text.push_str(if self.below(20) == 0 { "," } else { closes });
    }
}

/// Message, line and column as serde_json gives them. A column of 0, before the first byte of a
/// line, becomes 1.
fn of_serde(why: &serde_json::Error) -> (String, u64, u64) {
    let said = why.to_string();
    let place = format!(" at line {} column {}", why.line(), why.column());
    let message = said.strip_suffix(&place).expect("it ends with the place").to_owned();
    (message, why.line() as u64, why.column().max(1) as u64)
}

#[test]
fn the_same_texts_are_json_and_the_same_is_wrong_with_the_others() {
    let (mut dice, mut good, mut bad) = (Dice(0x9E37_79B9_7F4A_7C15), 0, 0);
    for _ in 0..200_000 {
        let mut text = String::new();
        dice.value(3, &mut text);
        match (json::read::<RawJson>(&text), serde_json::from_str::<&RawValue>(&text)) {
            (Ok(ours), Ok(_)) => {
                good += 1;
                assert_eq!(serde_json::from_str::<RawJson>(&text).expect("JSON"), ours, "{text}");
            }
            (Err(ours), Err(theirs)) => {
                bad += 1;
                assert_eq!((ours.message, ours.line, ours.column), of_serde(&theirs), "{text}");
            }
            (ours, theirs) => panic!("{text:?}: {ours:?}, but {theirs:?}"),
        }
    }
    assert!(good > 20_000 && bad > 20_000, "{good} good and {bad} bad texts are too few");
}

#[test]
fn strings_say_the_same_or_break_at_the_same_place() {
    let (mut dice, mut good, mut bad) = (Dice(0x2545_F491_4F6C_DD1D), 0, 0);
    let pieces = [
        "a",
        "\\n",
        "\\u0041",
        "\\ud83d",
        "\\ude00",
        "\\u00e9",
        "\\\\",
        "\\\"",
        "u",
        "dc00",
        "\\/",
        "\u{1f980}",
    ];
    for _ in 0..100_000 {
        let content: String =
            (0..dice.below(6)).map(|_| pieces[dice.below(pieces.len())]).collect();
        let text = format!("\"{content}\"");
        match (json::read::<String>(&text), serde_json::from_str::<String>(&text)) {
            (Ok(ours), Ok(theirs)) => {
                good += 1;
                assert_eq!(ours, theirs, "{text}");
            }
            (Err(ours), Err(theirs)) => {
                bad += 1;
                let (message, line, column) = of_serde(&theirs);
                // Our column is never inside a character: it is moved back to the start of the
                // character.
                assert_eq!((ours.message, ours.line), (message, line), "{text}");
                assert!(
                    ours.column <= column && ours.column + 3 >= column,
                    "{text}: column {} instead of {column}",
                    ours.column
                );
            }
            (ours, theirs) => panic!("{text}: {ours:?}, but {theirs:?}"),
        }
    }
    assert!(good > 10_000 && bad > 10_000, "{good} good and {bad} bad texts are too few");
}

#[test]
fn what_is_written_is_what_serde_json_writes() {
    let texts = [
        "",
        "a",
        "\"",
        "\\",
        "\u{0}\u{1f}\u{7f}",
        "\u{8}\u{c}\n\r\t/",
        "\u{e9}\u{2028}\u{1f980}",
        "x\"y\\z\n",
    ];
    for text in texts {
        assert_eq!(json::write(&text), serde_json::to_string(&text).expect("text"));
    }
    let numbers =
        (u8::MAX, i8::MIN, i64::MIN, u64::MAX, -1, 0_u16, Some(true), None::<u8>, 'x', ());
    assert_eq!(json::write(&numbers), serde_json::to_string(&numbers).expect("numbers"));
    let mut machine = Machine::new(Options::new(AgentId::from("default")));
    let mut at = 1_780_000_000_000_000_000;
    let mut tick = || {
        at += 1_500_000_000;
        Timestamp::from_nanos(at)
    };
    machine.begin(tick()).expect("a fresh ledger");
    machine.committed();
    let facts = [
        r#"{"fact":"runtime_restarted"}"#,
        r#"{"fact":"message_queued","message":{"id":"m","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"json","value":[1.50,{"a":"\u0041"}]}}}"#,
        r#"{"fact":"work_item_created","work_item_id":"w","objective":"to say \"hi\"\n"}"#,
        r#"{"fact":"timer_created","timer_id":"t","duration_ms":5,"interval_ms":7}"#,
        r#"{"fact":"wait_condition_registered","wait_condition_id":"c","kind":"operator","waiting_for":"an answer"}"#,
        r#"{"fact":"task_created","task_id":"k"}"#,
    ];
    for fact in facts {
        machine.propose_json(fact, tick()).expect(fact);
        let effects = machine.committed();
        assert_eq!(json::write(&effects), serde_json::to_string(&effects).expect("effects"));
        let state = machine.state();
        assert_eq!(json::write(state), serde_json::to_string(state).expect("a state"));
        assert_eq!(
            json::write_indented(state),
            serde_json::to_string_pretty(state).expect("a state") + "\n"
        );
        let explanation = machine.explain(Boundary::RunLoop, tick());
        assert_eq!(
            json::write(&explanation),
            serde_json::to_string(&explanation).expect("an explanation")
        );
        assert_eq!(
            json::write_indented(&explanation),
            serde_json::to_string_pretty(&explanation).expect("an explanation") + "\n"
        );
    }
}

#[test]
fn values_of_hosts_are_written_as_serde_json_writes_them() {
    // This build has serde_json's `arbitrary_precision`, under which its numbers are not numbers to
    // serde.
    let value = serde_json::json!({ "n": [0, -5, 18_446_744_073_709_551_615_u64, 1.5], "none": null, "text": "\u{7}\"" });
    assert_eq!(json::write(&value), serde_json::to_string(&value).expect("a value"));
    for float in [0.0, -0.5, 1.0, 1e21, 1.25e-9, f64::MAX] {
        let read: f64 = serde_json::from_str(&json::write(&float)).expect("a float");
        assert_eq!(read.to_bits(), float.to_bits());
    }
    assert_eq!(json::write(&[f64::NAN, f64::INFINITY]), "[null,null]");
}

#[test]
fn free_json_goes_through_serde_json_as_it_is() {
    let raw: RawJson = json::read(r#"{"b": 1.0, "a": [1.5, "\u0041"]}"#).expect("JSON");
    assert_eq!(serde_json::to_string(&raw).expect("free JSON"), raw.as_str());
    assert_eq!(
        serde_json::to_string_pretty(&[&raw]).expect("free JSON"),
        format!("[\n  {}\n]", raw.as_str())
    );
    let value: Value = serde_json::to_value(&raw).expect("free JSON");
    assert_eq!(value["a"][1], "A");
    assert_eq!(
        serde_json::from_value::<RawJson>(value)
            .expect("free JSON")
            .field("a")
            .map(|a| a.as_str().to_owned())
            .as_deref(),
        Some(r#"[1.5,"A"]"#)
    );
}

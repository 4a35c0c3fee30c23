//! Compares traces and finds the first difference, by step and JSON path.

use serde::Serialize;
use serde_json::Value;

use crate::trace::{Step, Trace};

/// The first difference between two traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The step, from 0.
    pub step: usize,
    /// The JSON path within the trace, such as `$.steps[2].outcome[0].decision.reason`.
    pub path: String,
    /// The value in the first trace.
    pub left: String,
    /// The value in the second trace.
    pub right: String,
}

/// Finds the first difference between two traces, in the order in which things happened. `None` if
/// they are equal to the byte.
#[must_use]
pub fn first_difference(left: &Trace, right: &Trace) -> Option<Difference> {
    let pairs = left.steps.iter().zip(&right.steps).enumerate();
    let within = pairs.into_iter().find_map(|(step, (a, b))| of_step(step, a, b));
    let lengths = (left.steps.len(), right.steps.len());
    within.or_else(|| {
        (lengths.0 != lengths.1).then(|| Difference {
            step: lengths.0.min(lengths.1),
            path: "$.steps.length".to_owned(),
            left: lengths.0.to_string(),
            right: lengths.1.to_string(),
        })
    })
}

fn of_step(step: usize, a: &Step, b: &Step) -> Option<Difference> {
    let of_part =
        |part: &str, a: &str, b: &str| of_text(step, format!("$.steps[{step}].{part}"), a, b);
    // In the order in which things happen: the call, the appended entries, the answer.
    of_part("command", a.command.get(), b.command.get())
        .or_else(|| {
            of_part("entries.length", &a.entries.len().to_string(), &b.entries.len().to_string())
        })
        .or_else(|| {
            let entries = a.entries.iter().zip(&b.entries).enumerate();
            entries
                .into_iter()
                .find_map(|(at, (a, b))| of_part(&format!("entries[{at}]"), a.get(), b.get()))
        })
        .or_else(|| of_part("outcome", a.outcome.get(), b.outcome.get()))
        .or_else(|| of_part("explanation", a.explanation.get(), b.explanation.get()))
        .or_else(|| {
            // Only if both engines count fuel.
            let (a, b) = a.fuel_spent.zip(b.fuel_spent)?;
            of_part("fuel_spent", &a.to_string(), &b.to_string())
        })
}

fn of_text(step: usize, path: String, a: &str, b: &str) -> Option<Difference> {
    if a == b {
        return None;
    }
    let values = serde_json::from_str::<Value>(a).ok().zip(serde_json::from_str::<Value>(b).ok());
    let found = values.and_then(|(a, b)| of_values(path.clone(), &a, &b));
    // Texts may differ although their values are equal: in the order of keys, or in how a number is
    // written.
    let (path, left, right) = found.unwrap_or_else(|| {
        (format!("{path} (same value, other text)"), a.to_owned(), b.to_owned())
    });
    Some(Difference { step, path, left, right })
}

/// Finds the first difference between two values, as path, left and right value. An absent key and
/// a null are equal.
#[must_use]
pub fn first_value_difference(
    path: &str,
    a: &Value,
    b: &Value,
) -> Option<(String, String, String)> {
    match (a, b) {
        (Value::Object(left), Value::Object(right)) => {
            let keys = left.keys().chain(right.keys().filter(|key| !left.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let get = |object: &serde_json::Map<String, Value>| {
                    object.get(key).cloned().unwrap_or(Value::Null)
                };
                first_value_difference(&format!("{path}.{key}"), &get(left), &get(right))
            })
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let pairs = left.iter().zip(right).enumerate();
            pairs
                .into_iter()
                .find_map(|(at, (a, b))| first_value_difference(&format!("{path}[{at}]"), a, b))
        }
        _ => (a != b).then(|| (path.to_owned(), a.to_string(), b.to_string())),
    }
}

fn of_values(path: String, a: &Value, b: &Value) -> Option<(String, String, String)> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                // Unlike above, an absent key differs from a null: engines must write the same
                // text.
                let missing = Value::String("(nothing)".to_owned());
                of_values(
                    format!("{path}.{key}"),
                    a.get(key).unwrap_or(&missing),
                    b.get(key).unwrap_or(&missing),
                )
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs.into_iter().find_map(|(at, (a, b))| of_values(format!("{path}[{at}]"), a, b))
        }
        _ => (a != b).then(|| (path, a.to_string(), b.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(outcome: &str) -> Trace {
        let text =
            format!(r#"{{"command":{{}},"outcome":{outcome},"entries":[],"explanation":{{}}}}"#);
        let text = format!(r#"{{"case":"c","steps":[{text}]}}"#);
        serde_json::from_str(&text).expect("a trace")
    }

    #[test]
    fn the_path_of_a_difference_goes_down_to_the_value() {
        let found = first_difference(
            &trace(r#"[{"decision":{"reason":"a"}}]"#),
            &trace(r#"[{"decision":{"reason":"b"}}]"#),
        );
        let found = found.expect("they differ");
        assert_eq!(found.path, "$.steps[0].outcome[0].decision.reason");
        assert_eq!((found.left.as_str(), found.right.as_str()), (r#""a""#, r#""b""#));
    }

    #[test]
    fn the_same_number_in_other_digits_is_a_difference() {
        let found = first_difference(&trace("1e2"), &trace("100.0")).expect("the texts differ");
        assert!(found.path.starts_with("$.steps[0].outcome"), "{}", found.path);
    }

    #[test]
    fn equal_traces_do_not_differ() {
        assert_eq!(first_difference(&trace("[1,2]"), &trace("[1,2]")), None);
    }
}

//! JSON for people: on one line if it fits, else one member per line.

use serde_json::Value;

/// The widest line.
const WIDTH: usize = 88;

/// The value as text without a line end.
#[must_use]
pub fn laid_out(value: &Value) -> String {
    indented(value, 0, 0)
}

/// The value on one line, with a blank after each colon and comma.
fn in_one_line(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(name, value)| format!("{}: {}", quoted(name), in_one_line(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(values) => {
            format!("[{}]", values.iter().map(in_one_line).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// The value from a column on, in which `used` columns are taken by what goes before it.
fn indented(value: &Value, indent: usize, used: usize) -> String {
    let line = in_one_line(value);
    // The comma after it needs a column too.
    if indent + used + line.len() < WIDTH {
        return line;
    }
    let inner = indent + 2;
    let (open, close, parts): (_, _, Vec<String>) = match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let name = format!("{}: ", quoted(name));
                let value = indented(value, inner, name.len());
                name + &value
            };
            ('{', '}', members.iter().map(member).collect())
        }
        Value::Array(values) => {
            ('[', ']', values.iter().map(|value| indented(value, inner, 0)).collect())
        }
        _ => return line,
    };
    let lines: Vec<_> = parts.iter().map(|part| format!("{:inner$}{part}", "")).collect();
    format!("{open}\n{}\n{:indent$}{close}", lines.join(",\n"), "")
}

fn quoted(name: &str) -> String {
    Value::from(name).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_has_one_member_per_line_and_stays_the_same_value() {
        let short = r#"{"a": [1, {"b": "c"}], "d": null}"#;
        let value: Value = serde_json::from_str(short).expect("JSON");
        assert_eq!(laid_out(&value), short);
        let wide =
            serde_json::json!({"a": {"b": "x".repeat(60), "c": 1}, "list": ["y".repeat(90)]});
        let text = laid_out(&wide);
        assert_eq!(
            text,
            format!(
                "{{\n  \"a\": {{\"b\": \"{}\", \"c\": 1}},\n  \"list\": [\n    \"{}\"\n  ]\n}}",
                "x".repeat(60),
                "y".repeat(90)
            )
        );
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), wide);
    }
}

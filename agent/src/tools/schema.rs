//! The schemas of tools in the subset of JSON Schema that every server takes. Some servers know
//! one type per value, no `const`, and no format of numbers; some refuse an object without
//! `properties`.

use serde_json::{Map, Value, json};

/// The same schema in the common subset. An argument that may be left out need not be `null` too.
pub(super) fn plain(schema: Value) -> Value {
    let mut schema = schema;
    simplify(&mut schema);
    if let Value::Object(members) = &mut schema {
        members.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

fn simplify(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
    if let Some(items) = members.get_mut("items") {
        simplify(items);
    }
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            members.insert("type".to_owned(), one);
        }
    }
    if members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
    if members.get("type").is_some_and(|kind| kind == "integer") {
        members.remove("format");
    }
    for name in ["anyOf", "oneOf"] {
        if let Some(Value::Array(choices)) = members.get(name) {
            let mut choices = choices.clone();
            choices.retain(|choice| choice["type"] != "null");
            choices.iter_mut().for_each(simplify);
            if let [Value::Object(only)] = &choices[..]
                && !only.contains_key("const")
            {
                members.remove(name);
                // What is said about this argument is more precise than what its type says.
                for (name, value) in only.clone() {
                    members.entry(name).or_insert(value);
                }
            } else if let Some(values) = constants(&choices) {
                members.remove(name);
                members.insert("type".to_owned(), json!("string"));
                members.insert("enum".to_owned(), values);
                describe(members, &choices);
            } else {
                members.insert(name.to_owned(), Value::Array(choices));
            }
        }
    }
}

/// The texts that an argument may have, if its choices are nothing but texts.
fn constants(choices: &[Value]) -> Option<Value> {
    let texts: Option<Vec<&str>> = choices.iter().map(|choice| choice["const"].as_str()).collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| json!(texts))
}

/// Adds what each text means to the description of the argument.
fn describe(members: &mut Map<String, Value>, choices: &[Value]) {
    let own = members.get("description").and_then(Value::as_str);
    let meanings = choices.iter().filter_map(|choice| {
        Some(format!("`{}`: {}", choice["const"].as_str()?, choice["description"].as_str()?))
    });
    let said: Vec<String> = own.map(str::to_owned).into_iter().chain(meanings).collect();
    if !said.is_empty() {
        members.insert("description".to_owned(), json!(said.join(" ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_in_the_common_subset() {
        for (given, plain) in [
            (json!({"type": "object"}), json!({"type": "object", "properties": {}})),
            (
                json!({"properties": {
                    "a": {"type": ["string", "null"], "description": "A.", "default": null},
                    "b": {"type": ["integer", "null"], "format": "uint64", "minimum": 0, "default": 7},
                    "c": {"type": "array", "items": {"type": ["string", "null"]}},
                }}),
                json!({"properties": {
                    "a": {"type": "string", "description": "A."},
                    "b": {"type": "integer", "minimum": 0, "default": 7},
                    "c": {"type": "array", "items": {"type": "string"}},
                }}),
            ),
            (
                json!({"properties": {"a": {
                    "anyOf": [
                        {"description": "A type.", "oneOf": [
                            {"type": "string", "const": "x", "description": "One."},
                            {"type": "string", "const": "y", "description": "Two."},
                        ]},
                        {"type": "null"},
                    ],
                    "description": "Mine.",
                }}}),
                json!({"properties": {"a": {
                    "type": "string",
                    "enum": ["x", "y"],
                    "description": "Mine.",
                }}}),
            ),
            (
                json!({"properties": {"a": {"description": "Mine.", "oneOf": [
                    {"type": "string", "const": "x", "description": "One."},
                ]}}}),
                json!({"properties": {"a": {
                    "type": "string", "enum": ["x"], "description": "Mine. `x`: One.",
                }}}),
            ),
        ] {
            assert_eq!(super::plain(given), plain);
        }
    }
}

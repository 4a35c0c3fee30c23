//! The fields of each fact, read from the JSON Schema of the core's types.

use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value};
use wakeful_core::fact::Fact;

use super::{AllDescribed, play::PlayError};

/// What the schema says about a fact.
#[derive(Clone, Debug)]
pub struct Described {
    /// What the fact means, in a sentence.
    pub says: String,
    /// The name of the type of its fields.
    pub shape: String,
    /// Its fields, each object before its members.
    pub fields: Vec<Field>,
}

/// A field of a fact, or of an object in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Its name, with the names of the objects around it: `message.id`, `calls[].call_id`.
    pub field: String,
    /// Its type, in words.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether the object that holds it must have it.
    pub needed: Needed,
    /// What it is.
    pub says: String,
}

/// Whether an object must have a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Needed {
    /// Whether it must.
    pub is_needed: bool,
    /// The names in the object's tag with which it has the field at all; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
}

/// The fields of every fact, by its name.
///
/// # Errors
/// If the schema has another form than the one that is read here.
pub fn of_facts() -> Result<AllDescribed, PlayError> {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Fact>();
    let schema = schema.to_value();
    let reader = Reader { defs: schema.get("$defs").and_then(Value::as_object) };
    let variants = schema.get("oneOf").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    variants.iter().map(|variant| reader.fact(variant).ok_or(PlayError::Schema)).collect()
}

/// The definitions that a schema refers to.
#[derive(Clone, Copy)]
struct Reader<'a> {
    defs: Option<&'a Map<String, Value>>,
}

impl<'a> Reader<'a> {
    fn fact(self, variant: &'a Value) -> Option<(String, Described)> {
        let name = variant.pointer("/properties/fact/const")?.as_str()?.to_owned();
        let (shape, payload) = self.target(variant)?;
        let mut fields = Vec::new();
        self.members(payload, "", &[], &mut fields);
        Some((name, Described { says: described(variant), shape: shape.to_owned(), fields }))
    }

    /// The definition that a schema names.
    fn target(self, schema: &'a Value) -> Option<(&'a str, &'a Value)> {
        let name = schema.get("$ref")?.as_str()?.rsplit('/').next()?;
        Some((name, self.defs?.get(name)?))
    }

    /// The rows of an object's members. `with` has the names of its tag, if it is one of several.
    fn members(self, object: &'a Value, before: &str, with: &[String], rows: &mut Vec<Field>) {
        let properties = object.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            // The tag has a row of its own.
            if property.get("const").is_none() {
                let is_needed = list(object, "required").any(|needed| needed == name);
                let needed = Needed { is_needed, with: with.to_vec() };
                self.row(&format!("{before}{name}"), property, needed, rows);
            }
        }
    }

    /// The row of a field, and those of what is in it.
    fn row(self, field: &str, property: &'a Value, needed: Needed, rows: &mut Vec<Field>) {
        let (shape, schema) = self.meant(property);
        let says = Some(described(property)).filter(|says| !says.is_empty());
        let says = says.unwrap_or_else(|| described(schema));
        let (kind, inside) = self.kind(shape, schema);
        let row = Field { field: field.to_owned(), kind, needed, says };
        // A field that two variants of an object have in common is one field.
        let same = |held: &&mut Field| {
            (&held.field, &held.kind, &held.says) == (&row.field, &row.kind, &row.says)
                && held.needed.is_needed == row.needed.is_needed
        };
        match rows.iter_mut().find(same) {
            Some(held) => held.needed.with.extend(row.needed.with),
            None => {
                rows.push(row);
                if let Some((before, object)) = inside {
                    self.object(&format!("{field}{before}"), object, rows);
                }
            }
        }
    }

    /// The rows of what is in an object, which may be one of several.
    fn object(self, before: &str, object: &'a Value, rows: &mut Vec<Field>) {
        let Some(variants) = object.get("oneOf").and_then(Value::as_array) else {
            return self.members(object, before, &[], rows);
        };
        let tags: Vec<_> = variants.iter().filter_map(tag).collect();
        if let Some((tag, _)) = tags.first() {
            let names: Vec<_> = tags.iter().map(|(_, name)| *name).collect();
            let needed = Needed { is_needed: true, with: Vec::new() };
            let says = "Which of these it is.".to_owned();
            rows.push(Field {
                field: format!("{before}{tag}"),
                kind: one_of(&names),
                needed,
                says,
            });
        }
        let first = rows.len();
        for (variant, (_, name)) in variants.iter().zip(&tags) {
            self.members(variant, before, &[(*name).to_owned()], rows);
        }
        // A field of all variants needs no list of them.
        rows.iter_mut()
            .skip(first)
            .filter(|row| row.needed.with.len() == tags.len())
            .for_each(|row| row.needed.with.clear());
    }

    /// The schema that a property means, without `null`, and the name of its definition.
    fn meant(self, property: &'a Value) -> (&'a str, &'a Value) {
        let choices = property.get("anyOf").and_then(Value::as_array);
        let chosen = choices.and_then(|choices| choices.iter().find(|one| self.is_value(one)));
        let property = chosen.unwrap_or(property);
        self.target(property).unwrap_or(("", property))
    }

    fn is_value(self, schema: &Value) -> bool {
        schema.get("type").is_none_or(|kind| kind != "null")
    }

    /// A type in words, and the object in it with what goes before the names of its members.
    fn kind(self, shape: &str, schema: &'a Value) -> (String, Option<(&'static str, &'a Value)>) {
        if let Some(variants) = schema.get("oneOf").and_then(Value::as_array) {
            let names: Vec<_> =
                variants.iter().filter_map(|one| one.get("const")?.as_str()).collect();
            return match names.len() == variants.len() {
                true => (one_of(&names), None),
                false => ("object".to_owned(), Some((".", schema))),
            };
        }
        match type_of(schema) {
            Some("object") => ("object".to_owned(), Some((".", schema))),
            Some("array") => match schema.get("items") {
                Some(items) => {
                    let (shape, items) = self.meant(items);
                    let (kind, inside) = self.kind(shape, items);
                    (format!("list of: {kind}"), inside.map(|(_, object)| ("[].", object)))
                }
                None => ("list".to_owned(), None),
            },
            Some("string") if schema.get("format").is_some_and(|form| form == "date-time") => {
                ("instant, RFC 3339 in UTC".to_owned(), None)
            }
            Some("string") if shape.ends_with("Id") => ("id".to_owned(), None),
            Some("string") => ("text".to_owned(), None),
            Some("integer") if schema.get("minimum").is_some_and(|least| *least == 1) => {
                ("number, from 1".to_owned(), None)
            }
            Some("integer") => ("number".to_owned(), None),
            Some("boolean") => ("`true` or `false`".to_owned(), None),
            _ => ("any JSON".to_owned(), None),
        }
    }
}

/// The tag of one of several objects: its name and its value.
fn tag(variant: &Value) -> Option<(&str, &str)> {
    let properties = variant.get("properties")?.as_object()?;
    properties.iter().find_map(|(name, one)| Some((name.as_str(), one.get("const")?.as_str()?)))
}

/// The type of a schema, without `null`.
fn type_of(schema: &Value) -> Option<&str> {
    let kind = schema.get("type")?;
    kind.as_str().or_else(|| list(schema, "type").find(|kind| *kind != "null"))
}

fn list<'a>(schema: &'a Value, name: &str) -> impl Iterator<Item = &'a str> {
    schema.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn one_of(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// The description, in one line.
fn described(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Needed {
    /// Whether a field is needed, in a word or two.
    #[must_use]
    pub fn in_words(&self) -> String {
        let names: Vec<_> = self.with.iter().map(|name| format!("`{name}`")).collect();
        match (self.is_needed, self.with.is_empty()) {
            (true, true) => "yes".to_owned(),
            (false, true) => "no".to_owned(),
            (true, false) => format!("with {}", names.join(", ")),
            (false, false) => format!("no; only with {}", names.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(fact: &str) -> Vec<[String; 3]> {
        let fields = of_facts().expect("the schema")[fact].fields.clone();
        let row = |field: Field| [field.field, field.kind, field.needed.in_words()];
        fields.into_iter().map(row).collect()
    }

    #[test]
    fn fields_of_objects_lists_and_variants_are_named_with_their_place() {
        let has = |fact: &str, row: [&str; 3]| {
            let rows = rows(fact);
            assert!(rows.iter().any(|found| *found == row), "{fact}: no {row:?} in {rows:#?}");
        };
        has("message_queued", ["message", "object", "yes"]);
        has("message_queued", ["message.id", "id", "yes"]);
        has("message_queued", ["message.metadata", "any JSON", "no"]);
        has("message_queued", ["message.origin.channel_id", "text", "with `channel`"]);
        has("message_queued", ["message.origin.source", "text", "with `webhook`"]);
        has("message_queued", ["message.body.type", "`text`, `json`, `brief`", "yes"]);
        has("assistant_round_recorded", ["calls[].call_id", "text", "yes"]);
        has("content_refused", ["message_ids", "list of: id", "no"]);
        has(
            "wait_condition_registered",
            ["wake_sources[].after", "number", "no; only with `external_ingress`"],
        );
        has("timer_created", ["interval_ms", "number, from 1", "no"]);
        has("work_item_blocked", ["recheck_at", "instant, RFC 3339 in UTC", "no"]);
        has("task_created", ["recovery.spec.cmd", "text", "yes"]);
        has("task_created", ["recovery.summary", "text", "yes"]);
        has("budget_set", ["tokens_total", "number, from 1", "no"]);
        assert_eq!(rows("stop_requested"), Vec::<[String; 3]>::new());
    }

    #[test]
    fn every_fact_and_every_field_is_described() {
        let all = of_facts().expect("the schema");
        let mut names = Fact::NAMES.to_vec();
        names.sort_unstable();
        assert_eq!(all.keys().map(String::as_str).collect::<Vec<_>>(), names);
        for (fact, described) in &all {
            assert!(described.says.ends_with('.'), "{fact}");
            for field in &described.fields {
                assert!(!field.says.is_empty(), "{fact}: {}", field.field);
            }
        }
    }
}

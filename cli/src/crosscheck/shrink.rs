//! Shrinks a document while a condition holds: removes parts, the large ones first, until no part
//! can be removed.

use serde_json::Value;

/// The keys and positions that lead to a part.
type Path = Vec<Step>;

#[derive(Clone)]
enum Step {
    Key(String),
    Position(usize),
}

/// Removes members of lists and tables as long as `holds` is true of the rest. It must be true of
/// the document itself.
///
/// # Errors
/// The first error of `holds`.
pub(super) fn smallest<E>(
    mut document: Value,
    mut holds: impl FnMut(&Value) -> Result<bool, E>,
) -> Result<Value, E> {
    loop {
        let mut is_smaller = false;
        // The outer members first, because they are the large ones. The last members first, so that
        // a removal does not move a sibling that is still to be tried.
        for path in paths(&document).into_iter().rev() {
            if let Some(candidate) = without(&document, &path)
                && holds(&candidate)?
            {
                document = candidate;
                is_smaller = true;
            }
        }
        // A removal can make others possible, so all parts are tried again until none can go.
        if !is_smaller {
            return Ok(document);
        }
    }
}

/// The paths of all members of all lists and tables, the outer ones last.
fn paths(document: &Value) -> Vec<Path> {
    let mut all = Vec::new();
    let mut level = vec![(Path::new(), document)];
    while !level.is_empty() {
        let members =
            level.iter().flat_map(|(path, value)| members(path, value)).collect::<Vec<_>>();
        all.splice(0..0, members.iter().map(|(path, _)| path.clone()));
        level = members;
    }
    all
}

fn members<'a>(path: &Path, value: &'a Value) -> Vec<(Path, &'a Value)> {
    let below =
        |step: Step, value: &'a Value| (path.iter().cloned().chain([step]).collect(), value);
    match value {
        Value::Object(table) => {
            table.iter().map(|(key, value)| below(Step::Key(key.clone()), value)).collect()
        }
        Value::Array(list) => {
            list.iter().enumerate().map(|(at, value)| below(Step::Position(at), value)).collect()
        }
        _ => Vec::new(),
    }
}

/// The document without the member at a path; `None` if there is no longer a member.
fn without(document: &Value, path: &Path) -> Option<Value> {
    let mut smaller = document.clone();
    let (last, way) = path.split_last()?;
    let holder = way.iter().try_fold(&mut smaller, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Position(at) => value.get_mut(at),
    })?;
    match (holder, last) {
        // `remove` would change the order of the other keys.
        (Value::Object(table), Step::Key(key)) => drop(table.shift_remove(key)?),
        (Value::Array(list), Step::Position(at)) if *at < list.len() => drop(list.remove(*at)),
        _ => return None,
    }
    Some(smaller)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out_at_every_depth() {
        let document = json!({
            "script": [{"prompt": "a"}, {"wait_ms": 3, "x": 1}, {"hint": "b"}],
            "turns": [[1, 2, 3], [4]],
            "name": "n",
        });
        let mut tried = 0;
        let found = smallest(document, |candidate| {
            tried += 1;
            let text = candidate.to_string();
            Ok::<_, Infallible>(
                text.contains("wait_ms") && text.contains('2') && candidate["name"] == "n",
            )
        });
        assert_eq!(found, Ok(json!({"script": [{"wait_ms": 3}], "turns": [[2]], "name": "n"})));
        assert!(tried < 30, "{tried}");
    }

    #[test]
    fn a_document_of_which_all_matters_stays() {
        let document = json!({"a": [1, {"b": 2}]});
        let found =
            smallest(document.clone(), |candidate| Ok::<_, Infallible>(*candidate == document));
        assert_eq!(found, Ok(document));
    }
}

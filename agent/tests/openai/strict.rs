//! The rules of the strictest servers for a chat.

use serde_json::Value;

/// The first rule that a request breaks, as a server would say it; `None` if it breaks none.
pub(crate) fn complaint(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array()?;
    let mut open: Vec<&str> = Vec::new();
    // Some templates count users and assistants without calls; these must alternate.
    let mut next_is_user = true;
    for (at, message) in messages.iter().enumerate() {
        let said = |why: &str| Some(format!("message {at}: {why}: {message}"));
        let role = message["role"].as_str().unwrap_or_default();
        let before = at.checked_sub(1).map_or("", |at| messages[at]["role"].as_str().unwrap_or(""));
        let content = message["content"].as_str();
        let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        if role != "tool" && !open.is_empty() {
            return said("a call has no result directly after it");
        }
        if content.is_some_and(|content| content.trim().is_empty()) {
            return said("the text is empty");
        }
        match role {
            "system" if at > 0 => return said("a system message must be the first"),
            "system" => {}
            "user" if before == "tool" => return said("a user must not follow a tool"),
            "user" if !next_is_user => return said("roles must alternate"),
            "user" => next_is_user = false,
            "assistant" => {
                if !matches!(before, "user" | "tool") {
                    return said("an assistant must follow a user or a tool");
                }
                if content.is_some_and(|content| content.trim_end() != content) {
                    return said("the text ends with white space");
                }
                if content.is_none() && calls.is_empty() {
                    return said("there is neither text nor a call");
                }
                if calls.is_empty() {
                    if next_is_user {
                        return said("roles must alternate");
                    }
                    next_is_user = true;
                }
            }
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                let Some(at) = open.iter().position(|open| *open == id) else {
                    return said("the result has no call");
                };
                open.remove(at);
            }
            _ => return said("the role is not known"),
        }
        for call in calls {
            let name = call["function"]["name"].as_str().unwrap_or_default();
            let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            if !(1..=64).contains(&name.len()) || !name.chars().all(is_fit) {
                return said("the name of a tool has other letters than a-z, A-Z, 0-9, _ and -");
            }
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            if !serde_json::from_str::<Value>(arguments).is_ok_and(|read| read.is_object()) {
                return said("the arguments of a call are not a JSON object");
            }
            let id = call["id"].as_str().unwrap_or_default();
            if id.is_empty() || open.contains(&id) {
                return said("an id is missing or repeated");
            }
            open.push(id);
        }
    }
    let last = messages.last().map_or("", |message| message["role"].as_str().unwrap_or_default());
    match last {
        "user" => None,
        "tool" if open.is_empty() => None,
        _ => Some(format!("the last message is of the role {last}")),
    }
}

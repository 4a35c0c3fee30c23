//! Joins the pieces of tool calls.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    chat::{Chat, ChatMessage, ToolCall},
    dialect,
    endpoint::Watch,
    extra::Extra,
    wire::CallPiece,
};

/// The calls of an answer as far as they have arrived, in the order of their beginnings.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// The newest call of each index, and of each id.
    by_index: BTreeMap<u64, usize>,
    by_id: BTreeMap<String, usize>,
}

/// A tool call as far as it has arrived.
#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    json: Json,
    extra: Extra,
}

impl Calls {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Adds a piece.
    pub(super) fn take(&mut self, piece: CallPiece, watch: &mut dyn Watch) {
        let index = piece.index;
        let at = match self.place(&piece) {
            Some(at) => at,
            None => {
                let before = self.candidate(&piece).map(|at| self.calls[at].name.clone());
                let at = self.begin(index);
                // Only the first of several calls has the name: the model calls the same tool.
                if piece.name.is_empty() {
                    self.name(at, before.unwrap_or_default(), watch);
                }
                at
            }
        };
        let call = &mut self.calls[at];
        if call.id.is_empty() && !piece.id.is_empty() {
            call.id.clone_from(&piece.id);
        }
        if !piece.id.is_empty() {
            self.by_id.insert(piece.id, at);
        }
        for (name, value) in piece.extra {
            call.extra.add(name, value);
        }
        self.name(at, piece.name, watch);
        self.arguments(at, index, &piece.arguments, watch);
    }

    /// Adds to the arguments of a call. What follows their end begins a call of the same tool. Some
    /// gateways begin with an empty object, and the arguments follow.
    fn arguments(
        &mut self,
        mut at: usize,
        index: Option<u64>,
        mut piece: &str,
        watch: &mut dyn Watch,
    ) {
        loop {
            let used = self.calls[at].push(piece);
            piece = &piece[used..];
            if piece.is_empty() {
                return;
            }
            let call = &mut self.calls[at];
            if call.has_no_arguments() {
                call.arguments.clear();
                call.json = Json::default();
                continue;
            }
            let name = call.name.clone();
            at = self.begin(index);
            self.name(at, name, watch);
        }
    }

    fn name(&mut self, at: usize, name: String, watch: &mut dyn Watch) {
        let call = &mut self.calls[at];
        if call.name.is_empty() && !name.is_empty() {
            watch.tool_call_begun(&name);
            call.name = name;
        }
    }

    fn begin(&mut self, index: Option<u64>) -> usize {
        let at = self.calls.len();
        self.calls.push(Call { index, ..Call::default() });
        if let Some(index) = index {
            self.by_index.insert(index, at);
        }
        at
    }

    /// The call that a piece may belong to. The format gives each call an `index`. Some servers
    /// send none, but send whole calls or pieces in order.
    fn candidate(&self, piece: &CallPiece) -> Option<usize> {
        let of_id = self.by_id.get(&piece.id).copied();
        match piece.index {
            // Calls under one index may arrive piece by piece in turns.
            Some(index) => of_id
                .filter(|at| self.calls[*at].index == Some(index))
                .or_else(|| self.by_index.get(&index).copied()),
            None => of_id.or(self.calls.len().checked_sub(1)),
        }
    }

    /// The call that a piece belongs to; `None` if it begins a new one. Some servers give every
    /// call the same index, the same id, or no id, so names and the ends of arguments decide too.
    fn place(&self, piece: &CallPiece) -> Option<usize> {
        let at = self.candidate(piece)?;
        let call = &self.calls[at];
        let has_same_id = !piece.id.is_empty() && call.id == piece.id;
        let has_other_id = !piece.id.is_empty() && !call.id.is_empty() && !has_same_id;
        let begins_another = call.begins_another(&piece.arguments);
        let goes_on = call.json.is_open() && !piece.arguments.is_empty() && !begins_another;
        let belongs = if piece.is_whole && !piece.name.is_empty() {
            false
        } else if call.json.has_ended() && begins_another {
            piece.name.is_empty() && !has_other_id && call.has_no_arguments()
        } else if piece.name.is_empty() || call.name.is_empty() {
            true
        } else if piece.name != call.name {
            false
        } else if goes_on {
            // Some servers repeat the name in each piece, and some give each piece another id.
            true
        } else if has_other_id {
            false
        } else {
            let is_blank = piece.arguments.trim().is_empty();
            has_same_id || piece.index.is_some() && (is_blank || !call.json.has_ended())
        };
        belongs.then_some(at)
    }

    /// The calls with ids that are unique in the chat. A missing or repeated id is replaced by a
    /// generated one.
    pub(super) fn identified(self, chat: &Chat<'_>) -> Vec<ToolCall> {
        let mut taken: BTreeSet<&str> = BTreeSet::new();
        for message in chat.messages {
            if let ChatMessage::Assistant { tool_calls, .. } = message {
                taken.extend(tool_calls.iter().map(|call| call.id.as_str()));
            }
        }
        let mut number = taken.len();
        // A generated id must not take one that a later call of this round was given.
        let given: BTreeSet<String> = self.calls.iter().map(|call| call.id.clone()).collect();
        let mut used: BTreeSet<String> = taken.into_iter().map(str::to_owned).collect();
        let mut identified = Vec::with_capacity(self.calls.len());
        for Call { mut id, name, arguments, extra, .. } in self.calls {
            while id.is_empty() || used.contains(&id) {
                number += 1;
                id = Some(dialect::made_id(number))
                    .filter(|made| !given.contains(made))
                    .unwrap_or_default();
            }
            used.insert(id.clone());
            identified.push(ToolCall { id, name, arguments, extra: extra.bounded() });
        }
        identified
    }
}

impl Call {
    /// Adds a piece of the arguments, up to the beginning of another call. Returns how many bytes
    /// were used.
    fn push(&mut self, piece: &str) -> usize {
        let mut used = 0;
        while !self.json.has_ended() && used < piece.len() {
            self.json.read(piece.as_bytes()[used]);
            used += 1;
        }
        if !self.begins_another(&piece[used..]) {
            used = piece.len();
        }
        self.arguments.push_str(&piece[..used]);
        used
    }

    /// Whether the arguments are an empty object.
    fn has_no_arguments(&self) -> bool {
        let inner = self.arguments.trim().strip_prefix('{');
        inner.and_then(|inner| inner.strip_suffix('}')).is_some_and(|inner| inner.trim().is_empty())
    }

    /// Whether a text after the end of the arguments begins as they did.
    fn begins_another(&self, text: &str) -> bool {
        let first = text.bytes().find(|byte| !byte.is_ascii_whitespace());
        first.is_some() && first == self.json.first
    }
}

/// Finds the end of a JSON object, list or string, byte by byte.
#[derive(Default)]
struct Json {
    first: Option<u8>,
    depth: u32,
    in_string: bool,
    is_escaped: bool,
    has_ended: bool,
}

impl Json {
    fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether it has begun and not ended.
    fn is_open(&self) -> bool {
        matches!(self.first, Some(b'{' | b'[' | b'"')) && !self.has_ended
    }

    fn read(&mut self, byte: u8) {
        if self.first.is_none() && !byte.is_ascii_whitespace() {
            self.first = Some(byte);
        }
        // Only these three show by themselves where they end.
        if !matches!(self.first, Some(b'{' | b'[' | b'"')) {
            return;
        }
        if self.in_string {
            if self.is_escaped {
                self.is_escaped = false;
            } else {
                self.is_escaped = byte == b'\\';
                self.in_string = byte != b'"';
            }
        } else {
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.has_ended = !self.in_string && self.depth == 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_json_value_is_found() {
        for (text, end) in [
            ("{}", Some(2)),
            (" {\"a\": \"}\\\"\"} ", Some(13)),
            ("[1, {\"b\": []}] x", Some(14)),
            (r#""a \" b" c"#, Some(8)),
            ("{\"a\": {}", None),
            ("\"cut", None),
            ("12 ", None),
            ("", None),
        ] {
            let mut json = Json::default();
            let mut found = None;
            for (at, byte) in text.bytes().enumerate() {
                json.read(byte);
                if json.has_ended() {
                    found = Some(at + 1);
                    break;
                }
            }
            assert_eq!(found, end, "{text}");
        }
    }
}

//! Server-sent events: takes bytes in pieces of any size, and returns the data of whole events.

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// The type, if the server names one.
    pub(super) kind: Option<String>,
    pub(super) data: Vec<u8>,
}

/// Splits a stream of server-sent events. Ids, retry times and comments are skipped.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    kind: Option<String>,
    after_carriage_return: bool,
    has_begun: bool,
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl Splitter {
    /// The bytes of the event that has not ended yet.
    pub(super) fn held(&self) -> usize {
        self.line.len() + self.data.as_ref().map_or(0, Vec::len)
    }

    /// The event that the end of the stream cut, if it has data. It may be complete: some servers
    /// forget the empty line after their last event.
    pub(super) fn rest(mut self) -> Option<Event> {
        self.push(b"\n\n").pop()
    }

    /// Takes the next bytes, and returns each event that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for &byte in bytes {
            // CR LF ends one line, and the two may arrive in different pieces.
            let ends_pair = byte == b'\n' && std::mem::take(&mut self.after_carriage_return);
            if ends_pair {
                continue;
            }
            self.after_carriage_return = byte == b'\r';
            if matches!(byte, b'\r' | b'\n') {
                events.extend(self.end_line());
            } else {
                self.line.push(byte);
            }
        }
        events
    }

    /// Handles the line that ended: an empty line ends an event.
    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let line =
            if is_first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line) } else { &line };
        if line.is_empty() {
            let kind = self.kind.take();
            return self.data.take().map(|data| Event { kind, data });
        }
        if let Some(kind) = line.strip_prefix(b"event:") {
            self.kind = Some(String::from_utf8_lossy(kind.trim_ascii()).into_owned());
        }
        // Some servers write an error into a field of its own.
        let error =
            line.strip_prefix(b"error:").filter(|error| error.trim_ascii().starts_with(b"{"));
        if error.is_some() {
            self.kind = Some("error".to_owned());
        }
        let mut value = match (error, line.strip_prefix(b"data")) {
            (Some(error), _) => error,
            (None, Some([])) => &[],
            (None, Some([b':', b' ', value @ ..] | [b':', value @ ..])) => value,
            _ => return None,
        };
        // A proxy that wraps a stream into another one repeats the name of the field.
        while let Some(inner) = value.trim_ascii_start().strip_prefix(b"data:") {
            value = inner;
        }
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            none => *none = Some(value.to_vec()),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Vec<String> {
        told(&mut Splitter::default(), text.as_bytes())
    }

    fn told(splitter: &mut Splitter, bytes: &[u8]) -> Vec<String> {
        let events = splitter.push(bytes).into_iter();
        events.map(|event| String::from_utf8(event.data).unwrap()).collect()
    }

    #[test]
    fn lines_end_in_three_ways() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["data: one", "", "data: two", "data:three", "", ""].join(end);
            assert_eq!(whole(&text), ["one", "two\nthree"], "{end:?}");
        }
    }

    #[test]
    fn only_data_counts() {
        let text = "\u{feff}: hello\nevent: message\nid: 4\nretry: 10\ndatabase: no\ndata: \
                    yes\n\n: keep-alive\n\nevent: ping\n\n";
        assert_eq!(whole(text), ["yes"]);
    }

    #[test]
    fn the_type_belongs_to_one_event() {
        let events =
            Splitter::default().push(b"event: ping\ndata: x\n\ndata: y\n\nevent:\n\ndata: z\n\n");
        let kinds: Vec<_> = events.into_iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [Some("ping".to_owned()), None, None]);
    }

    #[test]
    fn one_space_after_the_colon_is_not_data() {
        assert_eq!(whole("data:  two\n\ndata\n\ndata:\ndata:\n\n"), [" two", "", "\n"]);
    }

    #[test]
    fn an_error_may_have_a_field_of_its_own_and_data_a_repeated_name() {
        let events = Splitter::default()
            .push(b"error: {\"code\":500}\n\ndata: data: {}\n\nerror: no\n\ndata: y\n\n");
        let told: Vec<_> = events
            .iter()
            .map(|event| (event.kind.as_deref(), String::from_utf8_lossy(&event.data)))
            .collect();
        let data = |text: &'static str| text.into();
        assert_eq!(
            told,
            [(Some("error"), data(" {\"code\":500}")), (None, data(" {}")), (None, data("y"))]
        );
    }

    #[test]
    fn an_event_that_is_not_ended_is_none() {
        assert_eq!(whole("data: one\n\ndata: cut\n"), ["one"]);
    }

    #[test]
    fn every_cut_gives_the_same_events() {
        let text = "\u{feff}data: {\"a\":\"é\u{1f980}\"}\r\n\r\n: c\rdata: x\r\rdata: y\r\ndata: \
                    z\r\n\r\ndata: [DONE]\n\n";
        let expected = whole(text);
        assert_eq!(expected, ["{\"a\":\"é\u{1f980}\"}", "x", "y\nz", "[DONE]"]);
        let bytes = text.as_bytes();
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let mut splitter = Splitter::default();
                let mut events = told(&mut splitter, &bytes[..first]);
                events.extend(told(&mut splitter, &bytes[first..second]));
                events.extend(told(&mut splitter, &bytes[second..]));
                assert_eq!(events, expected, "cut at {first} and {second}");
            }
        }
    }
}

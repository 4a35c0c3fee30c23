//! The stream of stored entries, as server-sent events.

use std::io::{self, BufRead, BufReader, Read};

use wakeful_core::{id::Seq, record::entry::EntryBytes};

use super::ServerError;

/// The most bytes of a line. The longest entry is far shorter.
const MOST: u64 = 64 << 20;

/// Entries that arrive one after another.
pub(super) struct Events {
    url: String,
    reader: BufReader<Box<dyn Read + Send>>,
    /// The newest entry that arrived.
    at: Seq,
    has_ended: bool,
}

impl Events {
    pub(super) fn new(url: String, body: impl Read + Send + 'static, after: Seq) -> Self {
        Self { url, reader: BufReader::new(Box::new(body)), at: after, has_ended: false }
    }

    /// The newest entry that arrived.
    pub(super) fn at(&self) -> Seq {
        self.at
    }

    /// The next entry; `None` at the end of the stream.
    pub(super) fn next(&mut self) -> Result<Option<EntryBytes>, ServerError> {
        let (mut id, mut data) = (None, None);
        while !self.has_ended {
            let Some(line) = self.line()? else {
                self.has_ended = true;
                // What was not ended by an empty line may be cut.
                return match data {
                    None => Ok(None),
                    Some(_) => Err(self.unusable("its stream ends within an entry".to_owned())),
                };
            };
            match line.split_once(':') {
                _ if line.is_empty() => {
                    let Some(text) = data.take() else { continue };
                    let seq = self.at.next();
                    if id != Some(seq) {
                        let named = id.map_or_else(|| "no number".to_owned(), |id| id.to_string());
                        let why = format!("its stream has {named} where entry {seq} comes next");
                        return Err(self.unusable(why));
                    }
                    self.at = seq;
                    return Ok(Some(EntryBytes::from_stored(text)));
                }
                Some(("id", value)) => id = value.trim().parse().ok().map(Seq),
                Some(("data", value)) => {
                    data = Some(value.strip_prefix(' ').unwrap_or(value).to_owned());
                }
                // A comment that says that the server lives, or a field that is not used.
                _ => {}
            }
        }
        Ok(None)
    }

    /// The next line, without its end; `None` at the end of the stream.
    fn line(&mut self) -> Result<Option<String>, ServerError> {
        let mut line = Vec::new();
        let read = self.reader.by_ref().take(MOST).read_until(b'\n', &mut line);
        let lost = |why: &io::Error| ServerError::lost_io(self.url.clone(), why);
        if read.map_err(|why| lost(&why))? == 0 {
            return Ok(None);
        }
        if line.pop_if(|last| *last == b'\n').is_none() {
            return Err(lost(&io::ErrorKind::UnexpectedEof.into()));
        }
        line.pop_if(|last| *last == b'\r');
        let line = String::from_utf8(line);
        line.map(Some).map_err(|_| self.unusable("its stream is not UTF-8".to_owned()))
    }

    fn unusable(&self, why: String) -> ServerError {
        ServerError::Stream { url: self.url.clone(), why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str, after: u64) -> Result<Vec<String>, String> {
        let mut events = Events::new("http://s".to_owned(), text.as_bytes(), Seq(after));
        let mut all = Vec::new();
        while let Some(entry) = events.next().map_err(|why| why.to_string())? {
            all.push(entry.as_str().to_owned());
        }
        assert_eq!(events.at(), Seq(after + all.len() as u64));
        Ok(all)
    }

    #[test]
    fn events_are_entries_in_order_and_comments_are_nothing() {
        let text = ":\n\nid: 3\ndata: {\"a\":1}\n\n: alive\n\nid:4\r\ndata:{\"b\": 2}\r\n\r\n";
        assert_eq!(read(text, 2).expect("two"), ["{\"a\":1}", "{\"b\": 2}"]);
        assert_eq!(read("", 2).expect("none"), <[String; 0]>::default());
    }

    #[test]
    fn what_is_left_out_told_twice_or_cut_is_an_error() {
        for (text, why) in [
            ("id: 4\ndata: x\n\n", "has 4 where entry 3 comes next"),
            ("id: 2\ndata: x\n\n", "has 2 where entry 3 comes next"),
            ("data: x\n\n", "has no number where entry 3 comes next"),
            ("id: 3\ndata: x\n", "ends within an entry"),
            ("id: 3\ndata: x", "it broke off"),
        ] {
            let said = read(text, 2).expect_err(text);
            assert!(said.contains(why), "{text:?}: {said}");
        }
    }
}

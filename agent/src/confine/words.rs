//! Reads which commands a shell would run, without running them.
//!
//! It covers the part of the shell's grammar that separates commands: quotes, expansions, lists and
//! pipes, redirections, here-documents, and nested commands. It expands nothing: a word that the
//! shell would expand is marked, and keeps its text.

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// The text without quotes. Expansions stay as they are written.
    pub(super) text: String,
    /// Whether the shell uses the text unchanged.
    pub(super) is_literal: bool,
}

/// A command without lists and pipes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) words: Vec<Word>,
    /// Files that redirections read or write.
    pub(super) reads: Vec<Word>,
    pub(super) writes: Vec<Word>,
    /// The text of the here-documents and here-strings in its line. The command reads it directly,
    /// or what another command makes of it.
    pub(super) here: Option<String>,
    /// Whether the command reads the output of another one.
    pub(super) is_piped: bool,
}

/// The deepest nesting of commands.
// The reader calls itself for each level, so a hostile line must not be able to exhaust the stack.
pub(super) const DEEPEST: usize = 12;

/// All simple commands of a command line, in approximately the order in which they run.
///
/// # Errors
/// If the line cannot be read: what is wrong with it.
pub(super) fn read(text: &str, depth: usize) -> Result<Vec<Simple>, String> {
    if depth > DEEPEST {
        return Err("commands are nested too deeply".to_owned());
    }
    let mut reader = Reader::new(text, depth);
    reader.commands(false)?;
    Ok(reader.found)
}

struct Reader {
    letters: Vec<char>,
    at: usize,
    depth: usize,
    found: Vec<Simple>,
    now: Simple,
    /// What the next word is for; `None` if it is a word of the command.
    target: Option<Target>,
    /// Here-documents whose text begins on the next line.
    heres: Vec<Here>,
    /// The text of the here-strings in the line.
    here_strings: Option<String>,
    /// The index in `found` of the first command of this line.
    line_start: usize,
}

#[derive(Clone, Copy)]
enum Target {
    Read,
    Write,
    /// The number of a stream.
    Stream,
    HereString,
    Here {
        strips_tabs: bool,
    },
}

struct Here {
    end: String,
    strips_tabs: bool,
    is_quoted: bool,
}

impl Reader {
    fn new(text: &str, depth: usize) -> Self {
        let (found, now) = (Vec::new(), Simple::default());
        Self {
            letters: text.chars().collect(),
            at: 0,
            depth,
            found,
            now,
            target: None,
            heres: Vec::new(),
            here_strings: None,
            line_start: 0,
        }
    }

    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek();
        self.at += usize::from(letter.is_some());
        letter
    }

    /// Skips a text if it is next; returns whether it was.
    fn takes(&mut self, text: &str) -> bool {
        let is_here = text
            .chars()
            .enumerate()
            .all(|(index, letter)| self.letters.get(self.at + index) == Some(&letter));
        self.at += if is_here { text.chars().count() } else { 0 };
        is_here
    }

    /// Reads commands up to the end, or up to the parenthesis that closes the substitution.
    fn commands(&mut self, is_inside: bool) -> Result<(), String> {
        let mut open = 0;
        while let Some(letter) = self.peek() {
            match letter {
                ' ' | '\t' | '\r' => self.at += 1,
                '\n' => {
                    self.at += 1;
                    self.end(false);
                    self.here_documents()?;
                }
                // A comment begins only at the start of a word: `word` takes every other `#`.
                '#' => {
                    while self.peek().is_some_and(|letter| letter != '\n') {
                        self.at += 1;
                    }
                }
                '&' if self.takes("&>>") || self.takes("&>") => self.target = Some(Target::Write),
                ')' if is_inside && open == 0 => {
                    self.at += 1;
                    self.end(false);
                    return Ok(());
                }
                '|' => {
                    let is_pipe = !self.takes("||");
                    let _both = is_pipe && (self.takes("|&") || self.takes("|"));
                    self.end(is_pipe);
                }
                ';' | '&' | '(' | ')' => {
                    open = match letter {
                        '(' => open + 1,
                        // A pattern of `case` has a closing parenthesis only.
                        ')' => usize::saturating_sub(open, 1),
                        _ => open,
                    };
                    self.at += 1;
                    self.end(false);
                }
                '<' | '>' => self.redirection()?,
                _ => self.word()?,
            }
        }
        self.end(false);
        self.here_documents()?;
        if is_inside { Err("a parenthesis is not closed".to_owned()) } else { Ok(()) }
    }

    fn end(&mut self, next_is_piped: bool) {
        let done = std::mem::take(&mut self.now);
        // A pipe at the end of a line continues on the next line.
        let is_empty = done.words.is_empty() && done.reads.is_empty() && done.writes.is_empty();
        self.now.is_piped = next_is_piped || (is_empty && done.is_piped);
        self.target = None;
        if !is_empty {
            self.found.push(done);
        }
    }

    fn redirection(&mut self) -> Result<(), String> {
        if self.takes("<(") || self.takes(">(") {
            return self.inside();
        }
        // Longest first, because `<<<` also begins with `<<` and with `<`.
        let target = match () {
            () if self.takes("<<<") => Target::HereString,
            () if self.takes("<<-") => Target::Here { strips_tabs: true },
            () if self.takes("<<") => Target::Here { strips_tabs: false },
            () if self.takes("<>") || self.takes(">>") || self.takes(">|") => Target::Write,
            () if self.takes("<&") => Target::Stream,
            () if self.takes(">&")
                && self.peek().is_some_and(|next| next.is_ascii_digit() || next == '-') =>
            {
                Target::Stream
            }
            () if self.takes("<") => Target::Read,
            () => {
                // The first character of `>&` may be gone already.
                let _one = self.takes(">");
                Target::Write
            }
        };
        self.target = Some(target);
        Ok(())
    }

    /// Reads the commands of a substitution, after its opening parenthesis. The outer command does
    /// not read their input.
    fn inside(&mut self) -> Result<(), String> {
        let outer = (std::mem::take(&mut self.now), self.target.take(), self.depth);
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("commands are nested too deeply".to_owned());
        }
        self.commands(true)?;
        (self.now, self.target, self.depth) = outer;
        Ok(())
    }

    fn word(&mut self) -> Result<(), String> {
        let mut word = Word { text: String::new(), is_literal: true };
        let mut is_quoted = false;
        while let Some(letter) = self.peek() {
            match letter {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' => break,
                '<' | '>' => {
                    // Digits directly before a redirection are the number of a stream.
                    if !is_quoted && word.text.bytes().all(|byte| byte.is_ascii_digit()) {
                        return Ok(());
                    }
                    break;
                }
                '\'' => {
                    is_quoted = true;
                    self.at += 1;
                    word.text.push_str(&self.up_to('\'')?);
                }
                '"' => {
                    is_quoted = true;
                    self.at += 1;
                    self.quoted(&mut word, Some('"'))?;
                }
                '\\' => {
                    is_quoted = true;
                    self.at += 1;
                    // A backslash before a newline joins the two lines, so both vanish.
                    word.text.extend(self.next().filter(|letter| *letter != '\n'));
                }
                '$' | '`' => self.expansion(&mut word)?,
                _ => {
                    word.is_literal &= !matches!(letter, '*' | '?' | '[' | '{')
                        || is_bracket_alone(&self.letters, self.at);
                    word.text.push(letter);
                    self.at += 1;
                }
            }
        }
        match self.target.take() {
            None => self.now.words.push(word),
            Some(Target::Read) => self.now.reads.push(word),
            Some(Target::Write) => self.now.writes.push(word),
            Some(Target::Stream) => {}
            Some(Target::HereString) => {
                self.here_strings.get_or_insert_default().extend([&word.text, "\n"])
            }
            Some(Target::Here { strips_tabs }) => {
                self.heres.push(Here { end: word.text, strips_tabs, is_quoted });
            }
        }
        Ok(())
    }

    /// The text up to a letter; skips both.
    fn up_to(&mut self, end: char) -> Result<String, String> {
        let rest = &self.letters[self.at..];
        let length = rest
            .iter()
            .position(|letter| *letter == end)
            .ok_or_else(|| format!("a {end} is not closed"))?;
        self.at += length + 1;
        Ok(rest[..length].iter().collect())
    }

    /// Reads text up to its end, in which only expansions and backslashes are special.
    fn quoted(&mut self, word: &mut Word, end: Option<char>) -> Result<(), String> {
        loop {
            match self.peek() {
                letter if letter == end => {
                    self.at += 1;
                    return Ok(());
                }
                None => return Err("a \" is not closed".to_owned()),
                Some('\\') => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') | None => {}
                        Some(letter @ ('"' | '\\' | '$' | '`')) => word.text.push(letter),
                        Some(letter) => word.text.extend(['\\', letter]),
                    }
                }
                Some('$' | '`') => self.expansion(word)?,
                Some(letter) => {
                    word.text.push(letter);
                    self.at += 1;
                }
            }
        }
    }

    /// Reads an expansion. Commands inside it are found too.
    fn expansion(&mut self, word: &mut Word) -> Result<(), String> {
        let from = self.at;
        let is_command = |text: &str| text.contains("$(") || text.contains('`');
        let mut is_literal = false;
        if self.takes("`") {
            let inner = self.up_to('`')?;
            self.found.extend(read(&inner, self.depth + 1)?);
        } else if self.takes("$((") {
            let inner = self.up_to(')')?;
            if is_command(&inner) || !self.takes(")") {
                return Err("an arithmetic expansion holds more than numbers and names".to_owned());
            }
        } else if self.takes("$(") {
            self.inside()?;
        } else if self.takes("${") {
            if is_command(&self.up_to('}')?) {
                return Err("`${...}` contains a command".to_owned());
            }
        } else {
            self.at += 1;
            match self.peek() {
                Some('\'') => {
                    self.at += 1;
                    self.up_to('\'')?;
                }
                Some(letter) if letter.is_ascii_alphanumeric() || "_@*#?!$-".contains(letter) => {
                    self.at += 1;
                    let is_name = letter.is_ascii_alphabetic() || letter == '_';
                    while is_name
                        && self
                            .peek()
                            .is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '_')
                    {
                        self.at += 1;
                    }
                }
                // A plain dollar sign, or one before a quoted word.
                _ => is_literal = true,
            }
        }
        word.is_literal &= is_literal;
        word.text.extend(&self.letters[from..self.at]);
        Ok(())
    }

    /// Reads the here-documents that begin here, and the commands inside them. Their text, and that
    /// of the here-strings, goes to all commands of the line.
    fn here_documents(&mut self) -> Result<(), String> {
        // Taken before the documents are read: commands inside them are found too, but do not read
        // this text.
        let line = self.line_start..self.found.len();
        let mut all = self.here_strings.take();
        for here in std::mem::take(&mut self.heres) {
            let mut text = String::new();
            while self.at < self.letters.len() {
                let line: String =
                    self.letters[self.at..].iter().take_while(|letter| **letter != '\n').collect();
                self.at = (self.at + line.chars().count() + 1).min(self.letters.len());
                let line = if here.strips_tabs { line.trim_start_matches('\t') } else { &line };
                if line == here.end {
                    break;
                }
                text.extend([line, "\n"]);
            }
            // The shell expands a document whose end is not quoted, so commands in it run.
            if !here.is_quoted {
                let mut inner = Reader::new(&text, self.depth + 1);
                inner.quoted(&mut Word { text: String::new(), is_literal: true }, None)?;
                self.found.append(&mut inner.found);
            }
            all.get_or_insert_default().push_str(&text);
        }
        if all.is_some() {
            self.found[line].iter_mut().for_each(|simple| simple.here.clone_from(&all));
        }
        self.line_start = self.found.len();
        Ok(())
    }
}

/// Whether a letter that could begin a pattern is a word on its own, as in `[ -f x ]` and `{ true;
/// }`.
fn is_bracket_alone(letters: &[char], at: usize) -> bool {
    let is_gap = |letter: Option<&char>| {
        letter.is_none_or(|letter| letter.is_whitespace() || "[;&|(".contains(*letter))
    };
    matches!(letters[at], '[' | '{')
        && is_gap(at.checked_sub(1).and_then(|before| letters.get(before)))
        && is_gap(letters.get(at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands of a text, one per line. Words that the shell expands are in angle brackets.
    fn shown(text: &str) -> String {
        let show = |word: &Word| {
            if word.is_literal { word.text.clone() } else { format!("<{}>", word.text) }
        };
        let line = |one: &Simple| {
            let words = one.words.iter().map(show);
            let reads = one.reads.iter().map(|word| format!("<={}", show(word)));
            let writes = one.writes.iter().map(|word| format!(">={}", show(word)));
            let here = one.here.iter().map(|text| format!("here={text:?}"));
            let all: Vec<String> = words.chain(reads).chain(writes).chain(here).collect();
            format!("{}{}", if one.is_piped { "| " } else { "" }, all.join(" "))
        };
        read(text, 0).map_or_else(
            |why| format!("error: {why}"),
            |all| all.iter().map(line).collect::<Vec<_>>().join("\n"),
        )
    }

    #[test]
    fn a_command_line_is_told_apart_as_a_shell_does_it() {
        for (text, expected) in [
            ("", ""),
            ("git push", "git push"),
            ("a;b&&c||d&e\nf", "a\nb\nc\nd\ne\nf"),
            ("a | b |& c", "a\n| b\n| c"),
            ("a |\n b", "a\n| b"),
            ("(a; b) && { c; }", "a\nb\n{ c\n}"),
            ("a 'b c' \"d e\" f\\ g h'i'\"j\"", "a b c d e f g hij"),
            ("g'i't p\\ush", "git push"),
            ("a # b; c\nd", "a\nd"),
            ("a \"$x\" $y ${z} $'q' *.c {a,b} [", "a <$x> <$y> <${z}> <$'q'> <*.c> <{a,b}> ["),
            ("a \"b $(c d) e\" `f g`", "c d\nf g\na <b $(c d) e> <`f g`>"),
            ("a $(b $(c))", "c\nb <$(c)>\na <$(b $(c))>"),
            ("a <(b) $((1 + x))", "b\na <$((1 + x))>"),
            ("a > out 2>&1 < in >> more 2> err &> all", "a <=in >=out >=more >=err >=all"),
            ("a 2 >x >&log", "a 2 >=x >=log"),
            ("cat <<E | b\ntext $x\nE\nc", "cat here=\"text $x\\n\"\n| b here=\"text $x\\n\"\nc"),
            (
                "git commit -m \"$(cat <<'E'\nIt's (almost) done\nE\n)\"",
                "cat here=\"It's (almost) done\\n\"\ngit commit -m <$(cat <<'E'\nIt's (almost) \
                 done\nE\n)>",
            ),
            ("sh <<E \"$(a)\"\nb\nE", "a here=\"b\\n\"\nsh <$(a)> here=\"b\\n\""),
            ("cat <<E\n$(b)\nE", "cat here=\"$(b)\\n\"\nb"),
            ("cat <<'E'\n$(b)\nE", "cat here=\"$(b)\\n\""),
            ("sh <<-E\n\ta\n\tE\nb", "sh here=\"a\\n\"\nb"),
            ("a <<< 'word x' b 2>&1", "a b here=\"word x\\n\""),
            ("cat <<< x$y | sh", "cat here=\"x$y\\n\"\n| sh here=\"x$y\\n\""),
            ("a\\\nb", "ab"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for (text, expected) in [
            ("a 'b", "a ' is not closed"),
            ("a \"b", "a \" is not closed"),
            ("a $(b", "a parenthesis is not closed"),
            ("a `b", "a ` is not closed"),
            ("a ${x:-$(b)}", "`${...}` contains a command"),
            ("a $((1 + $(b)))", "an arithmetic expansion holds more than numbers and names"),
            (&"$(".repeat(100), "commands are nested too deeply"),
        ] {
            assert_eq!(shown(text), format!("error: {expected}"), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_written_is_read_or_refused(
            text in "[ab$`'\"\\\\(){}<>|&;\n\t =*~/.#é-]{0,60}"
        ) {
            let _ = read(&text, 0);
        }
    }
}

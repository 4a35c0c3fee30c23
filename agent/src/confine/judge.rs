//! Judges whether a command line keeps to a policy, as far as its words show it.
//!
//! This gives clear refusals before anything runs. What a program does inside, only the kernel can
//! restrict. If it is not clear what would run, the command line is refused.

use std::path::{Path, PathBuf};

use super::{
    Refusal,
    places::Places,
    policy::{Commands, Words},
    words::{self, DEEPEST, Simple, Word},
    workspace::real_path,
};

/// Programs that run, now or later, the program named after them.
const RUN_OTHERS: [&str; 29] = [
    "builtin", "busybox", "chroot", "command", "coproc", "doas", "entr", "env", "exec", "find",
    "flock", "function", "ionice", "nice", "nohup", "nsenter", "parallel", "script", "setarch",
    "setsid", "stdbuf", "strace", "sudo", "taskset", "time", "timeout", "unshare", "watch",
    "xargs",
];

const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];

/// Shells that use the grammar that `words` reads.
const READERS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "ash"];

/// Keywords of the shell that may precede a command.
const BEFORE_COMMANDS: [&str; 12] =
    ["!", "{", "}", "if", "then", "elif", "else", "fi", "while", "until", "do", "done"];

/// Keywords of the shell that are not followed by a command.
const BEFORE_DATA: [&str; 4] = ["for", "case", "select", "esac"];

/// Commands that the shell itself runs and that affect nothing else.
const OF_THE_SHELL: [&str; 22] = [
    ":", "[", "[[", "break", "cd", "continue", "echo", "exit", "export", "false", "local", "popd",
    "printf", "pushd", "pwd", "read", "return", "set", "shift", "test", "true", "unset",
];

/// Judges command lines by a policy.
pub(super) struct Judge<'a> {
    pub(super) commands: &'a Commands,
    pub(super) places: &'a Places,
}

/// Whether words match a rule.
enum Match {
    Yes,
    No,
    /// The shell expands the word that decides.
    Unclear,
}

impl Judge<'_> {
    /// Judges the shell of a command line. It must read the line as `words` does, so it must be a
    /// shell that commands cannot replace.
    pub(super) fn shell(&self, shell: &str) -> Result<(), Refusal> {
        let path = Path::new(shell);
        let is_known = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| READERS.contains(&name));
        let is_fixed = path.is_absolute() && !self.places.is_writable(&real_path(path));
        if is_known && (is_fixed || !shell.contains('/')) {
            return Ok(());
        }
        Err(Refusal::Shell {
            shell: shell.to_owned(),
            known: READERS.map(|name| format!("`{name}`")).join(", "),
        })
    }

    /// Judges a command line that runs in a folder.
    pub(super) fn judge(&self, cmd: &str, workdir: &Path) -> Result<(), Refusal> {
        self.line(cmd, &mut Some(workdir.to_owned()), 0)
    }

    /// Judges a line. `folder` follows its `cd`, and is `None` once that is no longer possible.
    fn line(&self, cmd: &str, folder: &mut Option<PathBuf>, depth: usize) -> Result<(), Refusal> {
        for simple in words::read(cmd, depth).map_err(|what| Refusal::Unreadable { what })? {
            // Before the words: a redirection opens its file even if there is no command.
            self.paths(&simple, folder.as_deref())?;
            let is_before = |word: &Word| {
                is_assignment(word)
                    || (word.is_literal && BEFORE_COMMANDS.contains(&word.text.as_str()))
            };
            let start =
                simple.words.iter().position(|word| !is_before(word)).unwrap_or(simple.words.len());
            let command = &simple.words[start..];
            let Some(first) = command.first() else { continue };
            // The commands inside a loop or a `case` are simple commands of their own, and are
            // judged as such.
            if BEFORE_DATA.contains(&first.text.as_str()) {
                continue;
            }
            self.program(command, &simple, folder, depth)?;
            if matches!(first.text.as_str(), "cd" | "pushd" | "popd") {
                *folder = match (folder.take(), command.get(1)) {
                    (Some(from), Some(to)) if to.is_literal && to.text != "-" => {
                        Some(self.places.resolve(&from, &to.text))
                    }
                    // `cd -` and an expanded word lead to an unknown place. From here on only the
                    // kernel restricts relative paths.
                    _ => None,
                };
            }
        }
        Ok(())
    }

    /// Judges a program and its words.
    fn program(
        &self,
        command: &[Word],
        simple: &Simple,
        folder: &mut Option<PathBuf>,
        depth: usize,
    ) -> Result<(), Refusal> {
        let Some(first) = command.first() else { return Ok(()) };
        if !first.is_literal {
            return Err(Refusal::Unreadable {
                what: format!("the shell expands the name of the program, `{}`", first.text),
            });
        }
        let name = program_name(first);
        self.is_denied(command)?;
        if let Some(allowed) = &self.commands.allow
            && !OF_THE_SHELL.contains(&name)
            && !allowed.iter().any(|rule| begins_with(rule, command))
        {
            let allowed: Vec<String> = allowed.iter().map(|rule| format!("`{rule}`")).collect();
            return Err(Refusal::NotAllowed {
                command: shown(command),
                allowed: allowed.join(", "),
            });
        }
        self.scripts(command, simple, folder, depth)?;
        if RUN_OTHERS.contains(&name) {
            let is_program = |word: &&Word| {
                !word.text.starts_with(['-', '+'])
                    && !is_assignment(word)
                    // A number is a value, as in `timeout 5`, and not a program.
                    && !word.text.starts_with(|c: char| c.is_ascii_digit())
            };
            if let Some(made) = command[1..]
                .iter()
                .find(is_program)
                // The first word after `find` is a folder, which may be expanded.
                .filter(|word| !word.is_literal && name != "find")
            {
                return Err(Refusal::Unreadable {
                    what: format!(
                        "the shell expands the name of the program after `{name}`, `{}`",
                        made.text
                    ),
                });
            }
            // Options decide which word is the program, so every word is judged as one.
            for start in 1..command.len() {
                self.is_denied(&command[start..])?;
                self.scripts(&command[start..], simple, folder, depth)?;
            }
        }
        Ok(())
    }

    fn is_denied(&self, command: &[Word]) -> Result<(), Refusal> {
        for rule in &self.commands.deny {
            match matches(rule, command) {
                Match::No => {}
                Match::Yes => {
                    return Err(Refusal::Denied {
                        command: shown(command),
                        rule: rule.to_string(),
                    });
                }
                Match::Unclear => {
                    return Err(Refusal::Unreadable {
                        what: format!(
                            "`{}` may be `{rule}`, which the policy denies",
                            shown(command)
                        ),
                    });
                }
            }
        }
        Ok(())
    }

    /// Judges command lines that a program receives as text.
    fn scripts(
        &self,
        command: &[Word],
        simple: &Simple,
        folder: &mut Option<PathBuf>,
        depth: usize,
    ) -> Result<(), Refusal> {
        let Some(first) = command.first().filter(|word| word.is_literal) else { return Ok(()) };
        let arguments = &command[1..];
        let joined =
            || arguments.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        let script = match program_name(first) {
            "eval" | "watch" => Some(joined()),
            "trap" => arguments.first().map(|word| word.text.clone()),
            name if SHELLS.contains(&name) => {
                let is_option = |word: &&Word| word.text.starts_with(['-', '+']);
                let takes_script = arguments
                    .iter()
                    .take_while(is_option)
                    .any(|word| !word.text.starts_with("--") && word.text.contains('c'));
                let operand = arguments.iter().find(|word| !is_option(word));
                match operand {
                    Some(script) if takes_script => Some(script.text.clone()),
                    // A script in a file is not read: what a program does inside, only the kernel
                    // can restrict.
                    Some(_) => None,
                    None if simple.here.is_some() => simple.here.clone(),
                    None if simple.is_piped => {
                        return Err(Refusal::Unreadable {
                            what: format!("`{name}` reads its commands from another command"),
                        });
                    }
                    None => None,
                }
            }
            _ => None,
        };
        match script {
            Some(_) if depth >= DEEPEST => {
                Err(Refusal::Unreadable { what: "commands are nested too deeply".to_owned() })
            }
            Some(script) => self.line(&script, folder, depth + 1),
            None => Ok(()),
        }
    }

    /// Judges the words that are paths.
    fn paths(&self, simple: &Simple, folder: Option<&Path>) -> Result<(), Refusal> {
        for word in simple.words.iter().chain(&simple.reads) {
            for text in paths_in(&word.text) {
                if self
                    .places
                    .meant(text, folder)
                    .is_some_and(|path| !self.places.is_readable(&path))
                {
                    return Err(self.outside(text));
                }
            }
        }
        for word in &simple.writes {
            match self.places.meant(&word.text, folder) {
                Some(path) if self.places.is_writable(&path) => {}
                Some(path) if self.places.is_readable(&path) => {
                    return Err(Refusal::NotWritable { path: word.text.clone() });
                }
                Some(_) => return Err(self.outside(&word.text)),
                None => {}
            }
        }
        Ok(())
    }

    fn outside(&self, path: &str) -> Refusal {
        Refusal::PathOutside { path: path.to_owned(), root: self.places.root().to_owned() }
    }
}

fn program_name(word: &Word) -> &str {
    word.text.rsplit('/').next().unwrap_or(&word.text)
}

/// The first words of a command.
fn shown(command: &[Word]) -> String {
    let words: Vec<&str> = command.iter().take(4).map(|word| word.text.as_str()).collect();
    words.join(" ")
}

/// Whether a word is `NAME=value`, as before a command.
fn is_assignment(word: &Word) -> bool {
    let name = word.text.split_once('=').map_or("", |(name, _)| name.trim_end_matches('+'));
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

/// Whether a command begins with exactly the words of a rule.
fn begins_with(rule: &Words, command: &[Word]) -> bool {
    let mut words = command.iter();
    // No option is skipped here, unlike in `matches`: an option that is misread must not allow a
    // command.
    words.next().is_some_and(|first| program_name(first) == rule.0[0])
        && rule.0[1..]
            .iter()
            .all(|wanted| words.next().is_some_and(|word| word.is_literal && word.text == *wanted))
}

/// Whether a command matches a rule. Options, each with one value, may come between its words.
fn matches(rule: &Words, command: &[Word]) -> Match {
    let Some((_, rest)) = command
        .split_first()
        .filter(|(first, _)| first.is_literal && program_name(first) == rule.0[0])
    else {
        return Match::No;
    };
    let mut wanted = rule.0[1..].iter().peekable();
    let mut may_be_value = false;
    for word in rest {
        let Some(next) = wanted.peek() else { return Match::Yes };
        if word.is_literal && word.text == **next {
            wanted.next();
            may_be_value = false;
        } else if word.text.starts_with('-') {
            may_be_value = true;
        } else if may_be_value {
            may_be_value = false;
        } else {
            return if word.is_literal { Match::No } else { Match::Unclear };
        }
    }
    if wanted.peek().is_none() { Match::Yes } else { Match::No }
}

/// The parts of a word that may be paths: the whole word, the part after `=`, and the part after
/// the letter of an option.
fn paths_in(word: &str) -> impl Iterator<Item = &str> {
    let option = word
        .strip_prefix('-')
        .and_then(|rest| rest.find(['/', '~', '.', '$']).map(|at| &rest[at..]));
    let value = word.split_once('=').map(|(_, value)| value);
    let whole = (!word.starts_with('-')).then_some(word);
    whole.into_iter().chain(value).chain(option)
}

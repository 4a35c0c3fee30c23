//! What commands may do beside their workspace, as people write it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use wakeful_core::json::{self, JsonError, Readable};

use crate::{command::Limits, toml_text};

/// The policy file that says what holds without one, with comments.
const TEMPLATE: &str = include_str!("template.toml");

/// What commands may do. The workspace is always theirs; this says what else. What a file leaves
/// out is as [`Policy::default`] has it, and the [`Policy::template`] says that.
#[derive(Clone, Debug, PartialEq, Eq, Readable)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Files and folders beside the workspace.
    #[serde(default)]
    pub files: Files,
    /// What commands see of the host's environment.
    #[serde(default)]
    pub environment: Environment,
    /// What may be run.
    #[serde(default)]
    pub commands: Commands,
    /// How much of it.
    #[serde(default)]
    pub limits: PolicyLimits,
    /// Whether commands may use TCP.
    #[serde(default = "yes")]
    pub network: bool,
    /// What happens where the kernel cannot enforce this.
    #[serde(default)]
    pub kernel: Kernel,
}

fn yes() -> bool {
    true
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            files: Files::default(),
            environment: Environment::default(),
            commands: Commands::default(),
            limits: PolicyLimits::default(),
            network: yes(),
            kernel: Kernel::default(),
        }
    }
}

/// Files and folders that commands may use.
#[derive(Clone, Debug, PartialEq, Eq, Readable)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// What may be read and executed.
    #[serde(default = "settings_of_git")]
    pub read: Vec<Place>,
    /// What may also be written.
    #[serde(default)]
    pub write: Vec<Place>,
}

impl Default for Files {
    fn default() -> Self {
        Self { read: settings_of_git(), write: Vec::new() }
    }
}

/// Git does not work where it cannot read them; keys stand elsewhere.
fn settings_of_git() -> Vec<Place> {
    ["~/.gitconfig", "~/.config/git/config", "~/.config/git/ignore", "~/.config/git/attributes"]
        .map(|path| Place(path.to_owned()))
        .to_vec()
}

/// An absolute path, or one below the user's home (`~/...`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Readable)]
#[serde(try_from = "String")]
pub struct Place(String);

impl Place {
    /// The path, where the home is known that it may be below.
    pub(super) fn path(&self, home: Option<&Path>) -> Option<PathBuf> {
        match self.0.strip_prefix('~') {
            None => Some(PathBuf::from(&self.0)),
            Some(below) => home.map(|home| home.join(below.trim_start_matches('/'))),
        }
    }
}

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.starts_with('/') || text == "~" || text.starts_with("~/") {
            true => Ok(Self(text)),
            false => Err(format!(
                "`{text}` is relative: write an absolute path, or one that begins with `~/`"
            )),
        }
    }
}

/// What commands see of the host's environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Readable)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Names that are let through besides the usual ones; a `*` at the end stands for any rest.
    #[serde(default)]
    pub allow: Vec<NamePattern>,
    /// Variables that are set.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

/// The name of a variable, or with a `*` at its end the beginning of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Readable)]
#[serde(try_from = "String")]
pub struct NamePattern(String);

impl NamePattern {
    /// Whether it is this very name.
    pub(super) fn is(&self, name: &str) -> bool {
        self.0 == name
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        self.0.strip_suffix('*').map_or(self.0 == name, |start| name.starts_with(start))
    }
}

impl TryFrom<String> for NamePattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let name = text.strip_suffix('*').unwrap_or(&text);
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
        match is_name {
            true => Ok(Self(text)),
            false => Err(format!(
                "`{text}` names no variables: write a name, or the beginning of one and a `*`"
            )),
        }
    }
}

/// What may be run, by the words that a command begins with.
#[derive(Clone, Debug, PartialEq, Eq, Readable)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    /// What alone may be run; all that is not denied, where this is absent.
    #[serde(default)]
    pub allow: Option<Vec<Words>>,
    /// What may not.
    #[serde(default = "never_needed")]
    pub deny: Vec<Words>,
}

impl Default for Commands {
    fn default() -> Self {
        Self { allow: None, deny: never_needed() }
    }
}

/// What asks for the rights of another user or ends the machine.
fn never_needed() -> Vec<Words> {
    ["sudo", "su", "doas", "pkexec", "shutdown", "reboot", "poweroff", "halt"]
        .map(|word| Words(vec![word.to_owned()]))
        .to_vec()
}

/// A program and the words after it, as in `git push`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Readable)]
#[serde(try_from = "String")]
pub struct Words(pub(super) Vec<String>);

impl TryFrom<String> for Words {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        match words.first() {
            Some(program) if !program.contains('/') => Ok(Self(words)),
            _ => Err(format!(
                "`{text}` names no command: write a program without its folder, and the words \
                 after it, as in `git push`"
            )),
        }
    }
}

impl std::fmt::Display for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

/// How much a command may do; what is left out is as [`Limits::default`] has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Readable)]
#[serde(deny_unknown_fields)]
pub struct PolicyLimits {
    /// How long it may run.
    #[serde(default)]
    pub seconds: Option<u64>,
    /// How much of its output is kept.
    #[serde(default)]
    pub output_bytes: Option<u64>,
    /// How long it has to end when it is told to.
    #[serde(default)]
    pub stop_grace_ms: Option<u64>,
}

impl PolicyLimits {
    /// The limits of a command.
    #[must_use]
    pub fn of_commands(&self) -> Limits {
        let usual = Limits::default();
        Limits {
            output_bytes: self.output_bytes.unwrap_or(usual.output_bytes),
            wall: self.seconds.map(Duration::from_secs).or(usual.wall),
            stop_grace: self.stop_grace_ms.map_or(usual.stop_grace, Duration::from_millis),
        }
    }
}

/// What happens where the kernel cannot enforce a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Readable)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// Commands do not run.
    #[default]
    Required,
    /// They run, and what is not held is said.
    BestEffort,
}

impl Policy {
    /// Reads a policy from TOML.
    ///
    /// # Errors
    /// What is wrong, and at which line and column.
    pub fn read(text: &str) -> Result<Self, JsonError> {
        toml_text::read(text, json::read).map(|(policy, _)| policy)
    }

    /// A policy file that says what holds without one, with comments: something to begin from.
    #[must_use]
    pub fn template() -> &'static str {
        TEMPLATE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Policy::read(text).expect_err("it is no policy").to_string()
    }

    #[test]
    fn the_template_says_what_holds_without_a_file() {
        let template = Policy::read(TEMPLATE).expect("a policy");
        assert_eq!(template.limits.of_commands(), Limits::default());
        let without_limits = Policy { limits: PolicyLimits::default(), ..template };
        assert_eq!(without_limits, Policy::default());
        assert_eq!(Policy::read("").expect("a policy"), Policy::default());
        assert_eq!(
            Policy::read("[files]\nwrite = []\n[commands]\n[limits]\n").expect("a policy"),
            Policy::default()
        );
    }

    #[test]
    fn limits_are_in_the_units_of_their_names() {
        let policy = Policy::read("[limits]\nseconds = 2\noutput_bytes = 3\nstop_grace_ms = 4\n")
            .expect("a policy");
        let expected = Limits {
            output_bytes: 3,
            wall: Some(Duration::from_secs(2)),
            stop_grace: Duration::from_millis(4),
        };
        assert_eq!(policy.limits.of_commands(), expected);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        assert_eq!(
            refused("network = true\n\n[files]\nread = [\"/opt\", \"etc\"]\n"),
            "`etc` is relative: write an absolute path, or one that begins with `~/` at \
             `files.read[1]`, line 4 column 17"
        );
        assert!(
            refused("[commands]\ndenied = []\n").contains("line 2 column 1"),
            "{}",
            refused("[commands]\ndenied = []\n")
        );
        assert!(refused("kernel = \"maybe\"").contains("best_effort"));
        assert!(refused("[limits]\nseconds = -1\n").contains("line 2 column 11"));
        assert!(refused("[environment]\nallow = [\"*\"]").contains("names no variables"));
        assert!(refused("[commands]\ndeny = [\"/bin/rm\"]").contains("without its folder"));
        assert!(refused("network = ").contains("line 1"));
    }

    #[test]
    fn places_below_the_home_need_one() {
        let [absolute, below, home] = ["/opt/x", "~/.cargo", "~"]
            .map(|text| Place::try_from(text.to_owned()).expect("a place"));
        let someone = Path::new("/people/someone");
        assert_eq!(absolute.path(None), Some("/opt/x".into()));
        assert_eq!(
            (below.path(Some(someone)), below.path(None)),
            (Some("/people/someone/.cargo".into()), None)
        );
        assert_eq!(home.path(Some(someone)), Some("/people/someone/".into()));
    }
}

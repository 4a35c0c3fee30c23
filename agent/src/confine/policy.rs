//! The policy for commands, as people write it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use wakeful_core::json::{self, JsonError, Readable};

use super::{network::Network, resources::Resources};
use crate::{command::Limits, toml_text};

/// The policy file that equals the defaults, with comments.
const TEMPLATE: &str = include_str!("template.toml");

/// What commands may do. They may always use the workspace; the policy says what else. A file may
/// leave out anything: the defaults are those of [`Policy::default`], which [`Policy::template`]
/// spells out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Readable)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Files and folders beside the workspace.
    #[serde(default)]
    pub files: Files,
    /// What commands see of the host's environment.
    #[serde(default)]
    pub environment: Environment,
    /// How much a command may use.
    #[serde(default)]
    pub limits: PolicyLimits,
    /// Which network commands may use.
    #[serde(default)]
    pub network: Network,
    /// How long what ended tasks left on the disk is kept.
    #[serde(default)]
    pub leftovers: Leftovers,
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

impl Files {
    /// The real paths of what may be written. What does not exist is left out.
    #[must_use]
    pub fn written(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let paths = self.write.iter().filter_map(|place| place.path(home));
        paths.filter_map(|path| path.canonicalize().ok()).collect()
    }
}

/// Git fails if it cannot read these files. They hold no keys.
fn settings_of_git() -> Vec<Place> {
    ["~/.gitconfig", "~/.config/git/config", "~/.config/git/ignore", "~/.config/git/attributes"]
        .map(|path| Place(path.to_owned()))
        .to_vec()
}

/// An absolute path, or one below the user's home folder (`~/...`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Readable)]
#[serde(try_from = "String")]
pub struct Place(String);

impl Place {
    /// The path; `None` if it is below an unknown home folder.
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
    /// Names that are allowed besides the usual ones. A `*` at the end matches any rest.
    #[serde(default)]
    pub allow: Vec<NamePattern>,
    /// Variables that are set.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

impl Environment {
    /// Gives git these settings in all commands, unless the policy gives it some.
    pub(crate) fn set_for_git(&mut self, settings: &[(&str, &str)]) {
        if !self.set.contains_key("GIT_CONFIG_COUNT") {
            self.set.extend(super::for_git(settings));
        }
    }
}

/// The name of a variable, or the beginning of one with a `*` at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Readable)]
#[serde(try_from = "String")]
pub struct NamePattern(String);

impl NamePattern {
    /// Whether it is exactly this name.
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
                "`{text}` is not a variable name: write a name, or the beginning of one and a `*`"
            )),
        }
    }
}

/// How much a command may use. [`Limits::default`] has the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Readable)]
#[serde(deny_unknown_fields)]
pub struct PolicyLimits {
    /// The longest run time in seconds. `None` means no limit.
    #[serde(default)]
    pub seconds: Option<u64>,
    /// The approximate number of output bytes that are kept.
    #[serde(default)]
    pub output_bytes: Option<u64>,
    /// The time between the request to end and the kill, in milliseconds.
    #[serde(default)]
    pub stop_grace_ms: Option<u64>,
    /// The number of processes and threads of a command.
    #[serde(default)]
    pub processes: Option<u64>,
    /// The memory of each process, in bytes.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// The CPU time of each process, in seconds. `None` means no limit.
    #[serde(default)]
    pub cpu_seconds: Option<u64>,
    /// The number of open files of each process.
    #[serde(default)]
    pub open_files: Option<u64>,
    /// The length of a file that a command writes, in bytes.
    #[serde(default)]
    pub file_bytes: Option<u64>,
    /// The bytes that a command may add to its workspace and its folder for temporary files.
    #[serde(default)]
    pub disk_bytes: Option<u64>,
    /// The bytes that it must leave free in the file systems of these folders.
    #[serde(default)]
    pub disk_free_bytes: Option<u64>,
}

/// What a command may use if the policy says nothing.
const PROCESSES: u64 = 512;
const MEMORY_BYTES: u64 = 4 << 30;
const OPEN_FILES: u64 = 4_096;
const FILE_BYTES: u64 = 4 << 30;

impl PolicyLimits {
    /// What the kernel limits for each process.
    pub(super) fn resources(&self) -> Resources {
        Resources {
            processes: self.processes.or(Some(PROCESSES)),
            memory_bytes: self.memory_bytes.or(Some(MEMORY_BYTES)),
            cpu_seconds: self.cpu_seconds,
            open_files: self.open_files.or(Some(OPEN_FILES)),
            file_bytes: self.file_bytes.or(Some(FILE_BYTES)),
        }
    }

    /// The limits of a command.
    #[must_use]
    pub fn of_commands(&self) -> Limits {
        let usual = Limits::default();
        Limits {
            output_bytes: self.output_bytes.unwrap_or(usual.output_bytes),
            wall: self.seconds.map(Duration::from_secs).or(usual.wall),
            disk_bytes: self.disk_bytes.or(usual.disk_bytes),
            disk_free_bytes: self.disk_free_bytes.unwrap_or(usual.disk_free_bytes),
            stop_grace: self.stop_grace_ms.map_or(usual.stop_grace, Duration::from_millis),
        }
    }
}

/// How long what ended tasks left on the disk is kept: output files and worktrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Readable)]
#[serde(deny_unknown_fields)]
pub struct Leftovers {
    /// The longest time, in days.
    #[serde(default = "week")]
    pub days: u64,
    /// The most bytes of all of them; the oldest go first.
    #[serde(default = "gibibyte")]
    pub bytes: u64,
}

impl Default for Leftovers {
    fn default() -> Self {
        Self { days: week(), bytes: gibibyte() }
    }
}

fn week() -> u64 {
    7
}

fn gibibyte() -> u64 {
    1 << 30
}

impl Policy {
    /// Reads a policy from TOML.
    ///
    /// # Errors
    /// What is wrong, with its line and column.
    pub fn read(text: &str) -> Result<Self, JsonError> {
        toml_text::read(text, json::read).map(|(policy, _)| policy)
    }

    /// A policy file that equals the defaults, with comments: a file to start from.
    #[must_use]
    pub fn template() -> &'static str {
        TEMPLATE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Policy::read(text).expect_err("an invalid policy").to_string()
    }

    #[test]
    fn the_template_says_what_holds_without_a_file() {
        let template = Policy::read(TEMPLATE).expect("a policy");
        assert_eq!(template.limits.of_commands(), Limits::default());
        assert_eq!(template.limits.resources(), PolicyLimits::default().resources());
        let without_limits = Policy { limits: PolicyLimits::default(), ..template };
        assert_eq!(without_limits, Policy::default());
        assert_eq!(Policy::read("").expect("a policy"), Policy::default());
        assert_eq!(
            Policy::read("[files]\nwrite = []\n[environment]\n[limits]\n").expect("a policy"),
            Policy::default()
        );
    }

    #[test]
    fn limits_are_in_the_units_of_their_names() {
        let policy = "[limits]\nseconds = 2\noutput_bytes = 3\nstop_grace_ms = 4\ndisk_bytes = \
                      5\ndisk_free_bytes = 6\nprocesses = 7\nmemory_bytes = 8\ncpu_seconds = \
                      9\nopen_files = 10\nfile_bytes = 11\n";
        let limits = Policy::read(policy).expect("a policy").limits;
        let of_commands = Limits {
            output_bytes: 3,
            wall: Some(Duration::from_secs(2)),
            disk_bytes: Some(5),
            disk_free_bytes: 6,
            stop_grace: Duration::from_millis(4),
        };
        let resources = Resources {
            processes: Some(7),
            memory_bytes: Some(8),
            cpu_seconds: Some(9),
            open_files: Some(10),
            file_bytes: Some(11),
        };
        assert_eq!((limits.of_commands(), limits.resources()), (of_commands, resources));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        assert_eq!(
            refused("network = true\n\n[files]\nread = [\"/opt\", \"etc\"]\n"),
            "`etc` is relative: write an absolute path, or one that begins with `~/` at \
             `files.read[1]`, line 4 column 17"
        );
        assert!(
            refused("[files]\nopened = []\n").contains("line 2 column 1"),
            "{}",
            refused("[files]\nopened = []\n")
        );
        // Older policies named commands here.
        assert!(refused("\n[commands]\ndeny = []\n").contains("`commands`"));
        assert!(refused("[limits]\nseconds = -1\n").contains("line 2 column 11"));
        assert!(refused("[environment]\nallow = [\"*\"]").contains("is not a variable name"));
        assert!(refused("network = ").contains("line 1"));
    }

    #[test]
    fn the_network_is_closed_open_or_a_list_of_hosts() {
        let network = |text: &str| Policy::read(text).expect(text).network;
        assert_eq!(network(""), Network::Closed);
        assert_eq!(network("network = false"), Network::Closed);
        assert_eq!(network("network = true"), Network::Open);
        let listed = network("network = [\"Crates.io\", \"*.pypi.org\", \"[::1]:8443\"]");
        let listed: Vec<String> =
            listed.hosts().expect("a list").iter().map(ToString::to_string).collect();
        assert_eq!(listed, ["crates.io", "*.pypi.org", "[::1]:8443"]);
        assert_eq!(
            refused("\nnetwork = [\"crates.io\", \"https://pypi.org\"]\n"),
            "`https://pypi.org` is not a host: it is a URL; write only the host of it, as in \
             `crates.io` at `network[1]`, line 2 column 25"
        );
        let empty = refused("\nnetwork = []\n");
        assert!(empty.contains("list of hosts is empty") && empty.contains("line 2"), "{empty}");
        for other in ["\"crates.io\"", "1", "{ host = \"crates.io\" }", "\"true\"", "\"\""] {
            let other = refused(&format!("network = {other}"));
            assert!(
                other.contains("expected `true`, `false` or a list of hosts at `network`, line 1"),
                "{other}"
            );
        }
        for item in ["true", "80", "[\"crates.io\"]"] {
            let item = refused(&format!("network = [\"crates.io\", {item}]"));
            assert!(item.contains("`network[1]`, line 1 column 25"), "{item}");
        }
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

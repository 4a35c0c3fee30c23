//! The surroundings of an attack: a home with secrets, a workspace, a folder outside, and the wall.

use std::{
    cell::OnceCell,
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{BufRead, BufReader},
    os::unix::{fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use wakeful_agent::{
    command::{Limits, Running, Spec},
    confine::{Confinement, Policy, Redactor, Surroundings, Wall, Workspace},
};

use crate::{row::Outcome, users};

/// What no command may read.
pub(crate) const SECRET: &str = "the-secret-of-the-home";

/// The name of a file that no command may learn.
pub(crate) const SECRET_NAME: &str = "id_of_the_home";

/// The key of the host, which is also in a file of the workspace.
pub(crate) const KEY: &str = "sk-attack-0123456789abcdef";

/// What the file outside holds before an attack.
pub(crate) const UNCHANGED: &str = "as it was";

/// Each command prints this first. Without it, the attack did not begin.
const BEGUN: &str = "the-attack-began";

/// Longer than any attack takes.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A number that nothing else on this machine has at this time.
pub(crate) fn unique() -> u32 {
    std::process::id() * 1000 % 1_000_000_000 + NUMBER.fetch_add(1, Ordering::Relaxed) % 1000
}

/// What begins each probe in Python. `call` is a system call that fails with an exception.
const PRELUDE: &str = r#"
import ctypes, fcntl, glob, os, resource, signal, socket, struct, subprocess, sys, termios, time
libc = ctypes.CDLL(None, use_errno=True)
def done(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def call(number, *arguments):
    longs = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    libc.syscall.restype = ctypes.c_long
    return done(libc.syscall(ctypes.c_long(number), *longs))
"#;

/// The folders of one attack.
pub(crate) struct Scene {
    pub(crate) wall: Option<Wall>,
    folder: tempfile::TempDir,
    confinement: OnceCell<Confinement>,
}

/// What a command did.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The last thing that it said, for a message.
    pub(crate) fn last(&self) -> String {
        let said = format!("{}\n{}", self.out, self.err);
        let line = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        format!("exit {:?}: {}", self.code, line.replace(BEGUN, "").trim())
    }

    /// Succeeds if this is so.
    pub(crate) fn if_so(&self, is_so: bool, what: &str) -> Outcome {
        if is_so { Ok(what.to_owned()) } else { Err(self.last()) }
    }
}

impl Scene {
    pub(crate) fn new(wall: Option<Wall>) -> Self {
        let folder = tempfile::Builder::new().prefix("a").tempdir_in(users::folder());
        let scene = Self { wall, folder: folder.expect("a folder"), confinement: OnceCell::new() };
        scene.reset();
        scene
    }

    /// Makes everything as it was at the beginning.
    pub(crate) fn reset(&self) {
        for name in ["home", "outside", "new"] {
            let _missing = fs::remove_dir_all(self.path(name));
        }
        for name in ["work", "scratch"] {
            fs::create_dir_all(self.path(name)).expect("a folder");
            // The folder itself stays: the wall has it open.
            for entry in fs::read_dir(self.path(name)).expect("a folder").flatten() {
                let path = entry.path();
                let is_folder = path.is_dir() && !path.is_symlink();
                let gone =
                    if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                gone.unwrap_or_else(|why| panic!("cannot remove `{}`: {why}", path.display()));
            }
        }
        for (name, text) in [
            ("work/src/main.rs", "fn main() {}\n"),
            ("work/script.sh", "echo broken > ../outside/victim; cat ~/.ssh/id_of_the_home\n"),
            ("home/.ssh/id_of_the_home", SECRET),
            ("home/.gitconfig", "[user]\n\tname = someone\n\temail = a@b.c\n"),
            ("outside/secret", SECRET),
            ("outside/victim", UNCHANGED),
            ("agents.sqlite", SECRET),
        ] {
            self.write(name, text);
        }
        symlink(self.path("outside"), self.path("work/out")).expect("a link");
        symlink(self.path("home/.ssh"), self.path("work/keys")).expect("a link");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("text").to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder"))
            .and_then(|()| fs::write(path, text))
            .expect("it is written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.path(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether the host's file outside is not as it was.
    pub(crate) fn is_changed(&self) -> bool {
        self.read("outside/victim") != UNCHANGED || self.path("outside/new").exists()
    }

    /// Succeeds if a secret is in what the command printed or left in its workspace.
    pub(crate) fn leaked(&self, ran: &Ran) -> Outcome {
        let mut places = vec![("its output".to_owned(), format!("{}{}", ran.out, ran.err))];
        for entry in fs::read_dir(self.path("work")).expect("a folder").flatten() {
            let path = entry.path();
            let is_file = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
            if is_file && path.file_name().is_some_and(|name| name != "script.sh") {
                let bytes = fs::read(&path).unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                places.push((path.display().to_string(), text));
            }
        }
        let found = places.into_iter().find(|(_, text)| {
            let said = text.lines().any(|line| line.trim().ends_with(SECRET_NAME));
            text.contains(SECRET) || said && !text.contains("No such file")
        });
        match found {
            Some((place, _)) => Ok(format!("the secret is in {place}")),
            None => Err(ran.last()),
        }
    }

    /// The environment of the host.
    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        let variables = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", self.text("home")),
            ("LANG", "C.UTF-8".to_owned()),
            ("XDG_RUNTIME_DIR", self.text("outside")),
            ("BASH_ENV", self.text("outside/bash_env")),
            ("WAKEFUL_API_KEY", KEY.to_owned()),
            ("DATABASE_URL", format!("postgres://user:{SECRET}@host/")),
        ];
        variables.map(|(name, value)| (name.to_owned(), value)).into()
    }

    pub(crate) fn around(&self, wall: Wall) -> Surroundings {
        Surroundings {
            wall,
            launcher: users::program(),
            home: Some(self.path("home")),
            scratch: self.path("scratch"),
            output: self.path(""),
            also_read: Vec::new(),
            also_write: Vec::new(),
        }
    }

    /// The wall under a policy, if there is one.
    pub(crate) fn confinement(&self, policy: &str) -> Option<Confinement> {
        let made = |wall, policy| {
            let workspace = Workspace::new(&self.path("work")).expect("it is there");
            Confinement::new(policy, workspace, &self.around(wall))
                .unwrap_or_else(|why| panic!("the wall cannot be used: {why}"))
        };
        let wall = self.wall?;
        Some(match policy {
            "" => self.confinement.get_or_init(|| made(wall, Policy::default())).clone(),
            text => made(wall, Policy::read(text).expect("a policy")),
        })
    }

    /// Runs a shell line in the workspace.
    pub(crate) fn sh(&self, line: &str) -> Ran {
        self.sh_under("", line)
    }

    /// The same under a policy.
    pub(crate) fn sh_under(&self, policy: &str, line: &str) -> Ran {
        let line = format!("echo {BEGUN}\n{line}");
        let ran = match self.confinement(policy) {
            Some(confinement) => self.behind(&confinement, &line),
            None => self.bare(&line),
        };
        assert!(ran.out.contains(BEGUN), "the command did not begin: {ran:?}");
        ran
    }

    /// Runs a Python program in the workspace.
    pub(crate) fn python(&self, code: &str) -> Ran {
        self.python_under("", code)
    }

    /// The same under a policy.
    pub(crate) fn python_under(&self, policy: &str, code: &str) -> Ran {
        let begun = format!("print('python {BEGUN}', flush=True)");
        self.write("work/probe.py", &format!("{PRELUDE}{begun}\n{code}\n"));
        let ran = self.sh_under(policy, "exec /usr/bin/python3 probe.py");
        assert!(ran.out.contains(&format!("python {BEGUN}")), "Python did not begin: {ran:?}");
        ran
    }

    fn spec(&self, line: &str, environment: BTreeMap<String, String>) -> Spec {
        Spec {
            cmd: line.to_owned(),
            workdir: self.path("work"),
            shell: None,
            login: false,
            tty: false,
            accepts_input: false,
            environment,
            mark: format!("attack-{}", unique()),
            redactor: Arc::new(Redactor::new([KEY])),
        }
    }

    /// Runs a line as the agent does.
    pub(crate) fn behind(&self, confinement: &Confinement, line: &str) -> Ran {
        let host = self.environment().into_iter();
        let host = host.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let spec = self.spec(line, confinement.environment(host));
        let output = self.path(&format!("output-{}", unique()));
        let running = Running::start(&spec, &Limits::default(), Some(confinement), &output)
            .unwrap_or_else(|why| panic!("the command does not start: {why}"));
        let exit = running.wait(PATIENCE).unwrap_or_else(|| {
            running.stop();
            running.stop();
            panic!("the command does not end: {line}")
        });
        let (out, err) = (running.stdout().text.to_string(), running.stderr().text.to_string());
        Ran { code: exit.code, out, err }
    }

    /// Runs a line as if there were no wall and no agent.
    fn bare(&self, line: &str) -> Ran {
        let [out, err] = ["out", "err"].map(|name| self.path(&format!("{name}-{}", unique())));
        let file = |path: &Path| fs::File::create(path).expect("a file");
        let mut child = Command::new("/bin/bash")
            .args(["-c", line])
            .env_clear()
            .envs(self.environment())
            .current_dir(self.path("work"))
            .stdin(Stdio::null())
            // Files: what a daemon leaves open must not be waited for.
            .stdout(file(&out))
            .stderr(file(&err))
            .process_group(0)
            .spawn()
            .expect("bash starts");
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().expect("it can be asked") {
                break status;
            }
            if Instant::now() > until {
                child.kill().expect("it lives");
                panic!("the command does not end: {line}");
            }
            thread::sleep(Duration::from_millis(5));
        };
        let text =
            |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        Ran { code: status.code(), out: text(&out), err: text(&err) }
    }

    /// Runs a Python program of the host to its end, which must succeed. Returns what it printed.
    pub(crate) fn host_python(&self, code: &str) -> String {
        let ran = self.host(code).output().expect("python3 starts");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "the host cannot prepare the attack: {said}");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    fn host(&self, code: &str) -> Command {
        let mut command = Command::new("/usr/bin/python3");
        let marked = format!("{PRELUDE}{code}\n");
        command.args(["-c", &marked, SECRET]).env("PASSPHRASE", SECRET);
        command.current_dir(self.path("outside")).stdin(Stdio::null());
        command
    }

    /// A process of the host beside the command. It has the secret in its memory, its environment,
    /// its arguments and an open file, and its folder is outside. The code says `ready()`.
    pub(crate) fn bystander(&self, code: &str) -> Bystander {
        let begin = "def ready(): print('ready', flush=True)\n\
                     libc.prctl(0x59616d61, ctypes.c_ulong(-1).value, 0, 0, 0)\n\
                     held = open('secret'); kept = ctypes.create_string_buffer(held.read().encode())\n";
        let mut child = self
            .host(&format!("{begin}{code}\nsignal.pause()"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
        out.read_line(&mut line).expect("it says something");
        assert_eq!(line.trim(), "ready", "the bystander does not begin");
        Bystander { child, out }
    }
}

impl Drop for Scene {
    /// Ends what an attack left running here.
    fn drop(&mut self) {
        let Ok(folder) = self.folder.path().canonicalize() else { return };
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let is_here =
                fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&folder));
            let id = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(pid) = id.filter(|_| is_here).and_then(Pid::from_raw) {
                let _gone = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// A process of the host. It ends when this is dropped.
pub(crate) struct Bystander {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Bystander {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it was not ended.
    pub(crate) fn lives(&mut self) -> bool {
        self.child.try_wait().expect("it can be asked").is_none()
    }

    /// A field of its line in `/proc`, counted as in `proc(5)`.
    pub(crate) fn stat(&self, field: usize) -> String {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap_or_default();
        let after_name = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        after_name.split(' ').nth(field - 3).unwrap_or_default().to_owned()
    }

    /// The next line that it says.
    pub(crate) fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("it says something");
        line.trim().to_owned()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        // It may have been ended already, by the attack.
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

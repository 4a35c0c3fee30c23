//! One server, which ends with the process that started it.

use std::{
    env, fs,
    io::{self, Write},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use wakeful_host::ledger::Address;

use super::leftovers::Folder;

/// The time that a server has to begin to answer.
pub(super) const BEGIN: Duration = Duration::from_mins(10);

/// The folder of Debian's versions.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The settings of each server. It must not lose what it acknowledged.
pub(super) const SETTINGS: &str = "
fsync = on
synchronous_commit = on
full_page_writes = on
shared_buffers = 64MB
max_connections = 120
wal_log_hints = on
";

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum NoServer {
    /// The programs are not there.
    #[error(
        "PostgreSQL is not installed: apt-get install postgresql, or name its folder in PG_BIN"
    )]
    NotInstalled,
    /// What watches over the servers is not there.
    #[error(
        "Patroni or etcd is not installed: pip install patroni[etcd3], apt-get install etcd-server"
    )]
    NoPatroni,
    /// There is no namespace of the network.
    #[error("no namespace of the network can be made: run it as root, with `ip` of iproute2: {0}")]
    NoNamespace(String),
    /// A program failed.
    #[error("`{program}` failed: {said}")]
    Failed {
        /// The program.
        program: &'static str,
        /// What it printed.
        said: String,
    },
    /// The system refused something.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// How a server is guarded.
pub struct Guard<'a> {
    /// The password of its user.
    pub password: &'a str,
    /// Its certificate, as PEM.
    pub certificate: &'a str,
    /// The key of the certificate, as PEM.
    pub key: &'a str,
}

/// A server that runs.
pub struct Server {
    folder: Folder,
    port: u16,
    child: Child,
}

impl Server {
    /// Starts a new, empty server, which lets its user in without a password.
    ///
    /// # Errors
    /// If PostgreSQL is not installed, or does not start.
    pub fn start() -> Result<Self, NoServer> {
        Self::with(None)
    }

    /// As [`Server::start`], but it asks for a password, and takes TLS.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_guarded(guard: &Guard<'_>) -> Result<Self, NoServer> {
        Self::with(Some(guard))
    }

    fn with(guard: Option<&Guard<'_>>) -> Result<Self, NoServer> {
        let folder = Folder::new("wakeful-pg-")?;
        let user = User::find()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut settings = format!(
            "{SETTINGS}listen_addresses = '127.0.0.1'\nport = {port}\n\
             unix_socket_directories = ''\n"
        );
        let at = |name: &str| folder.path().join(name);
        if let Some(guard) = guard {
            let files = [
                ("password", guard.password),
                ("cert.pem", guard.certificate),
                ("key.pem", guard.key),
            ];
            for (name, text) in files {
                fs::write(at(name), text)?;
                fs::set_permissions(at(name), fs::Permissions::from_mode(0o600))?;
                user.give(&at(name))?;
            }
            let (certificate, key) = (at("cert.pem"), at("key.pem"));
            settings.push_str(&format!(
                "ssl = on\nssl_cert_file = '{}'\nssl_key_file = '{}'\n",
                certificate.display(),
                key.display()
            ));
        }
        user.give(folder.path())?;
        let data = at("data");
        user.run("initdb", |command| {
            command.args(["-U", "postgres", "--no-locale", "-E", "UTF8", "-N", "-D"]).arg(&data);
            match guard {
                None => command.args(["-A", "trust"]),
                Some(_) => command.args(["-A", "scram-sha-256", "--pwfile"]).arg(at("password")),
            };
        })?;
        fs::OpenOptions::new()
            .append(true)
            .open(data.join("postgresql.conf"))
            .and_then(|mut file| file.write_all(settings.as_bytes()))?;
        let child = user.serve(&data, &at("log"), &[])?;
        let mut server = Self { folder, port, child };
        server.until_it_answers(&user)?;
        Ok(server)
    }

    /// The address of a store in it, in a schema of its own.
    #[must_use]
    pub fn address(&self, schema: &str) -> Address {
        let text = format!("postgres://postgres@127.0.0.1:{}/postgres?schema={schema}", self.port);
        Address::parse(&text).unwrap_or_else(|why| unreachable!("{why}"))
    }

    /// Executes statements as its superuser.
    ///
    /// # Errors
    /// If the server refuses one.
    pub fn execute(&self, text: &str) -> Result<(), NoServer> {
        let port = self.port.to_string();
        let with = ["-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "postgres"];
        let run = |command: &mut Command| {
            command.args(with).args(["-p", &port, "-c", text]);
        };
        User::find()?.run("psql", run).map(drop)
    }

    /// The port of 127.0.0.1 at which it answers.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Kills it (SIGKILL), and starts it again on the same data.
    ///
    /// # Errors
    /// If it does not start again.
    pub fn crash_and_start(&mut self) -> Result<(), NoServer> {
        self.kill();
        let user = User::find()?;
        let data = self.folder.path().join("data");
        let until = Instant::now() + BEGIN;
        loop {
            self.child = user.serve(&data, &self.folder.path().join("log"), &[])?;
            match self.until_it_answers(&user) {
                // The processes of the dead one may hold its memory for a moment.
                Err(_) if Instant::now() < until => thread::sleep(Duration::from_millis(50)),
                done => return done,
            }
        }
    }

    /// Kills it (SIGKILL). The processes that serve its clients end with it.
    pub fn kill(&mut self) {
        // Its children see that it is gone and end themselves.
        drop(self.child.kill());
        drop(self.child.wait());
    }

    fn until_it_answers(&mut self, user: &User) -> Result<(), NoServer> {
        let until = Instant::now() + BEGIN;
        let port = self.port.to_string();
        loop {
            let asked = user.run("pg_isready", |command| {
                command.args(["-q", "-h", "127.0.0.1", "-p", &port]);
            });
            match asked {
                Ok(_) => return Ok(()),
                Err(_) if Instant::now() < until && self.child.try_wait()?.is_none() => {
                    thread::sleep(Duration::from_millis(20));
                }
                Err(_) => {
                    let log = fs::read_to_string(self.folder.path().join("log"));
                    let said = log.unwrap_or_default();
                    return Err(NoServer::Failed { program: "postgres", said });
                }
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The programs of PostgreSQL, and how to run them. They refuse to run as root.
pub(super) struct User {
    programs: PathBuf,
    is_root: bool,
}

impl User {
    pub(super) fn find() -> Result<Self, NoServer> {
        let named = env::var_os("PG_BIN").map(PathBuf::from);
        let programs = named.or_else(newest).ok_or(NoServer::NotInstalled)?;
        if !programs.join("initdb").is_file() {
            return Err(NoServer::NotInstalled);
        }
        Ok(Self { programs, is_root: rustix::process::geteuid().is_root() })
    }

    /// The folder of the programs.
    pub(super) fn programs(&self) -> &Path {
        &self.programs
    }

    /// A program of PostgreSQL, or one with its whole path.
    fn command(&self, program: &Path) -> Command {
        let program = self.programs.join(program);
        let mut command = Command::new("setpriv");
        if self.is_root {
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
        }
        command.args(["--pdeathsig", "KILL"]).arg(program);
        // The current folder may be one that its user must not see.
        command.current_dir("/").env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    /// Runs a program, and returns what it printed.
    pub(super) fn run(
        &self,
        program: &'static str,
        with: impl FnOnce(&mut Command),
    ) -> Result<String, NoServer> {
        let mut command = self.command(Path::new(program));
        with(&mut command);
        let output = command.output()?;
        let said = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        match output.status.success() {
            true => Ok(said(&output.stdout)),
            false => Err(NoServer::Failed { program, said: said(&output.stderr) }),
        }
    }

    /// Starts a server.
    pub(super) fn serve(&self, data: &Path, log: &Path, options: &[String]) -> io::Result<Child> {
        self.start(Path::new("postgres"), log, |command| {
            command.arg("-D").arg(data).args(options);
        })
    }

    /// Starts a program that goes on. A thread that lives as long as this process starts it,
    /// because the system ends it with that thread.
    pub(super) fn start(
        &self,
        program: &Path,
        log: &Path,
        with: impl FnOnce(&mut Command),
    ) -> io::Result<Child> {
        let log = fs::OpenOptions::new().create(true).append(true).open(log)?;
        let mut command = self.command(program);
        with(&mut command);
        command.stdout(log.try_clone()?).stderr(log);
        let (tell, told) = mpsc::channel();
        let name = program.display().to_string();
        thread::Builder::new().name(name).spawn(move || {
            // If nobody hears it, the child is dropped and its server lives on until the end.
            let _ = tell.send(command.spawn());
            loop {
                thread::park();
            }
        })?;
        told.recv().unwrap_or_else(|_| Err(io::Error::other("the thread ended")))
    }

    pub(super) fn give(&self, folder: &Path) -> Result<(), NoServer> {
        if !self.is_root {
            return Ok(());
        }
        let output = Command::new("chown").arg("postgres:postgres").arg(folder).output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(NoServer::Failed { program: "chown", said })
    }
}

/// The newest version of Debian's.
fn newest() -> Option<PathBuf> {
    let versions = fs::read_dir(DEBIAN).ok()?;
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.flatten().map(|it| it.path()).filter(|it| version(it).is_some());
    newest.max_by_key(version).map(|path| path.join("bin"))
}

//! `wakeful serve`: many agents behind one door.

mod fleet;

use std::{
    collections::BTreeSet,
    env, fs, io,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::Args;
#[cfg(target_os = "linux")]
use clap::ValueEnum;
#[cfg(target_os = "linux")]
use wakeful_core::{
    id::AgentId,
    record::entry::{Entry, EntryBytes},
};
use wakeful_host::{
    ledger::{SqliteFile, Store},
    text,
};
#[cfg(target_os = "linux")]
use wakeful_serve::{Folders, Models, Runner};
use wakeful_serve::{
    HookOptions, Limits, Options, Page, Scope, ServeError, Socket, Tls, TlsError, TraceError,
    TraceOptions,
};

use self::fleet::FleetArgs;
use super::{CliError, Verdict, run::signalled, say, status::counted};
#[cfg(target_os = "linux")]
use super::{
    engines::DriverArg,
    ledger::{Place as Where, home_of},
    model::{self, ModelArgs, Place},
};

/// The address of a server to which nothing else is said.
const LISTEN: &str = "127.0.0.1:7171";

/// The variables that name the collector of traces, as all programs with OpenTelemetry read them.
const OTLP_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const OTLP_HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const OTLP_SERVICE: &str = "OTEL_SERVICE_NAME";

/// The name of the token that the first start makes.
const FIRST: &str = "operator";

#[derive(Args)]
#[command(after_help = "\
    The first start makes a token with all rights and prints it once; `wakeful token` makes more. \
    Over the Unix socket a process of the same user needs no token.\n\n\
    Agents are made with `PUT /v1/agents/NAME`. The server decides for them, and a host in any \
    language runs their turns: it asks for the open turn with `GET /v1/agents/NAME/turn`, and \
    reports what happens with `POST /v1/agents/NAME/facts`. Other agents of the file are observed: \
    the process that drives them hears what is said to them here. docs/serve.md shows it step by step.\n\n\
    Over plain HTTP the server listens on the loopback only. For other addresses name a certificate \
    with --tls-cert and --tls-key, or say --behind-proxy if a proxy in front of it speaks TLS.\n\n\
    Ctrl-C ends it: streams end, and requests that have begun are answered. What was acknowledged is \
    in the ledger, even after `kill -9`.\n\n\
    Exit codes:\n\
    \x20 0    it was ended\n\
    \x20 2    it cannot start\n\
    \x20 4    the ledger file was deleted, renamed or replaced\n\
    \x20 130  Ctrl-C was pressed twice, which ends the process at once\n\n\
    Examples:\n\
    \x20 wakeful serve --ledger agents.sqlite\n\
    \x20 wakeful serve --store postgres://wakeful@db.example/agents --public-url http://10.0.0.7:7171\n\
    \x20 wakeful serve --ledger agents.sqlite --provider openai --model qwen3 --workspaces work\n\
    \x20 wakeful serve --ledger agents.sqlite --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem\n\
    \x20 wakeful serve --ledger agents.sqlite --listen 0.0.0.0:7171 --behind-proxy --host-name agents.example.org")]
pub(super) struct Serve {
    /// The ledger file, which is created if missing, or the address of a store in PostgreSQL, which
    /// servers share (docs/fleet.md)
    #[arg(long, visible_alias = "store", value_name = "FILE|URL")]
    ledger: PathBuf,
    /// The address to listen on; the port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", default_value = LISTEN)]
    listen: SocketAddr,
    /// The Unix socket to listen on [default: the ledger's path with `.sock`, and none for a store]
    #[cfg(unix)]
    #[arg(long, value_name = "FILE")]
    socket: Option<PathBuf>,
    /// Do not listen on a Unix socket
    #[cfg(unix)]
    #[arg(long, conflicts_with = "socket")]
    no_socket: bool,
    /// The certificates for TLS, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key for TLS, as PEM without a pass phrase
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Listen without TLS on an address that others can reach, because a proxy is in front
    #[arg(long)]
    behind_proxy: bool,
    /// A name by which clients call this server, as in the header `Host`; may be repeated
    #[arg(long, value_name = "NAME")]
    host_name: Vec<String>,
    /// The origin of a page that may ask this server, such as https://desk.example; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// A program that gets each event of an agent as JSON on its standard input, such as that a
    /// turn ended or that the agent waits for its operator; an event is repeated until the program
    /// ends with 0
    #[arg(long, value_name = "PROGRAM")]
    hook_command: Option<PathBuf>,
    /// Let hooks send events without encryption to other machines, such as those of a private
    /// network
    #[arg(long)]
    allow_http_hooks: bool,
    /// The built workbench to hand out at `/` [default: the one in this program, if it has one]
    #[arg(long, value_name = "DIR")]
    workbench: Option<PathBuf>,
    /// The collector to which a trace of each turn is sent, such as http://localhost:4318 (OTLP
    /// over HTTP); OTEL_EXPORTER_OTLP_HEADERS and OTEL_SERVICE_NAME are read too
    #[arg(long, value_name = "URL", env = OTLP_ENDPOINT)]
    otlp_endpoint: Option<String>,
    #[command(flatten, next_help_heading = "With a store in PostgreSQL")]
    fleet: FleetArgs,
    #[command(flatten, next_help_heading = "Limits")]
    limits: LimitArgs,
    #[cfg(target_os = "linux")]
    #[command(flatten, next_help_heading = "With --provider openai")]
    model: ModelsArgs,
}

/// The provider that executes turns in the process of the server.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProviderName {
    /// A model behind any server that speaks chat completions (docs/providers.md)
    Openai,
}

#[cfg(target_os = "linux")]
#[derive(Args)]
struct ModelsArgs {
    /// The provider that executes the turns of agents in this process [default: none]
    #[arg(long, value_enum)]
    provider: Option<ProviderName>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    driver: DriverArg,
    /// The folder in which the commands of all agents work
    #[arg(long, value_name = "DIR", conflicts_with = "workspaces")]
    workspace: Option<PathBuf>,
    /// The folder in which each agent has a folder of its own for its commands
    #[arg(long, value_name = "DIR")]
    workspaces: Option<PathBuf>,
    /// The agents' own folder, for output of commands and temporary files [default: the ledger's
    /// path with `.home`]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Agents whose turns run at once; others wait for one to rest
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = above_zero())]
    turns_at_once: u64,
}

#[cfg(target_os = "linux")]
impl ModelsArgs {
    /// What runs the turns of agents in this process, if anything does.
    fn runner(&self, ledger: &Path, store: &Store) -> Result<Option<Arc<dyn Runner>>, CliError> {
        let Some(ProviderName::Openai) = self.provider else { return Ok(None) };
        let (folder, folders) = match (&self.workspace, &self.workspaces) {
            (Some(one), _) => (model::workspace(one)?, Folders::One),
            (None, Some(each)) => {
                let all = model::workspace(each)?;
                let folders = Folders::Each(all.root().to_owned());
                (all, folders)
            }
            (None, None) => return Err(CannotServe::NoWorkspace.into()),
        };
        let home = home_of(&Where::named(ledger)?, self.home.as_deref())?;
        let checked = self.model.checked(&folder, store.file().map(|_| ledger), &home)?;
        if let Some(notice) = checked.notice() {
            mention!("{notice}");
        }
        let place = Place {
            agent_id: AgentId::from(""),
            store: store.clone(),
            engines: self.driver.engines()?,
            workspace: folder,
            home,
            trusts_clock: false,
            audience: Arc::new(Silent),
        };
        let setup = self.model.setup(checked, place)?;
        Ok(Some(Arc::new(Models::new(setup, folders))))
    }
}

/// The server gives each agent an audience of its own.
#[cfg(target_os = "linux")]
struct Silent;

#[cfg(target_os = "linux")]
impl wakeful_agent::Audience for Silent {
    fn entry(&self, _: &AgentId, _: &Entry, _: &EntryBytes) {}

    fn text(&self, _: &AgentId, _: &str) {}

    fn calls(&self, _: &AgentId, _: &str) {}

    fn notice(&self, _: &AgentId, _: &str) {}
}

#[derive(Args)]
struct LimitArgs {
    /// Seconds after which the state of an agent that nobody asks is dropped from memory
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    resident_idle: u64,
    /// Agents whose state is in memory
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    resident_agents: usize,
    /// Requests that wait for one agent; more are refused with 429
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = above_zero())]
    queue_per_agent: u64,
    /// Requests of one token in a second; more are refused with 429
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    requests_per_second: u32,
    /// Wrong tokens of one address in a second; more are refused with 429
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    wrong_tokens_per_second: u32,
    /// Open streams; more are refused with 429
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = above_zero())]
    streams: u64,
    /// Bytes of the body of a request; a longer one is refused with 413
    #[arg(long, value_name = "N", default_value_t = 1 << 20, value_parser = above_zero())]
    body_bytes: u64,
    /// Seconds that running turns have to end when the server is ended
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    drain: u64,
}

fn above_zero() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..)
}

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub(in crate::commands) enum CannotServe {
    /// The address cannot be used.
    #[error("cannot listen on {address}: {why}; name another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        why: io::Error,
    },
    /// The address is open to others, without encryption.
    #[error(
        "{0} can be reached by others, and tokens would cross the network in plain text: name a \
         certificate with --tls-cert and --tls-key, or say --behind-proxy if a proxy in front of \
         this server speaks TLS"
    )]
    Plain(SocketAddr),
    /// Another server has the Unix socket.
    #[error("another server listens on `{}`: end it, or name another socket with --socket", .0.display())]
    SocketTaken(PathBuf),
    /// The Unix socket cannot be made.
    #[error("cannot listen on the socket `{}`: {why}; name another one with --socket, or say --no-socket", path.display())]
    Socket {
        /// The path of the socket.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// The certificate cannot be used.
    #[error("`{}`: {why}", path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// Why.
        why: TlsError,
    },
    /// An origin is not one.
    #[error("`{0}` is not an origin: write it as a browser does, such as https://desk.example")]
    Origin(String),
    /// Traces cannot be sent.
    #[error(transparent)]
    Traces(#[from] TraceError),
    /// It is not said where commands work.
    #[cfg(target_os = "linux")]
    #[error(
        "say where the commands of agents work: --workspaces DIR gives each agent a folder of its \
         own, --workspace DIR is one folder for all"
    )]
    NoWorkspace,
    /// A file has one server.
    #[error(
        "--public-url and --label are for a store in PostgreSQL, which servers share: a ledger \
         file has one server"
    )]
    NotShared,
    /// A store has no hooks yet.
    #[error("--hook-command is for a ledger file: a store that servers share has no hooks yet")]
    NoHooks,
    /// The address of the server is not one.
    #[error("`{0}` is not the address of a server: write it as http://10.0.0.7:7171")]
    PublicUrl(String),
    /// The workbench cannot be handed out.
    #[error(transparent)]
    Page(#[from] wakeful_serve::PageError),
    /// The server cannot start.
    #[error(transparent)]
    Start(#[from] ServeError),
    /// The first token cannot be made.
    #[error(transparent)]
    Token(#[from] wakeful_serve::AccessError),
    /// The server broke down.
    #[error("the server broke down: {0}; start it again, nothing that was acknowledged is lost")]
    Broken(io::Error),
}

impl Serve {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        // Before anything else: the environment may hold the key of a provider.
        #[cfg(target_os = "linux")]
        if self.has_model() {
            wakeful_agent::confine::hide_memory().map_err(CliError::Memory)?;
        }
        let origins = self.allow_origin.iter().map(|origin| origin_of(origin));
        let origins = origins.collect::<Result<BTreeSet<_>, _>>()?;
        let tls = self.tls()?;
        let traces = self.traces()?;
        let is_open = !self.listen.ip().is_loopback();
        if is_open && tls.is_none() && !self.behind_proxy {
            return Err(CannotServe::Plain(self.listen).into());
        }
        let scheme = if tls.is_some() { "https" } else { "http" };
        let listener = TcpListener::bind(self.listen)
            .map_err(|why| CannotServe::Listen { address: self.listen, why })?;
        let mut sockets = vec![match tls {
            Some(tls) => Socket::Tls(listener, tls),
            None => Socket::Tcp(listener),
        }];
        let signals = signalled()?;
        let public_name = self.fleet.host_name()?;
        let store = self.fleet.open(&self.ledger, self.has_model(), self.hook_command.is_some())?;
        #[cfg(unix)]
        let socket = self.unix(&mut sockets)?;
        let is_first = wakeful_serve::grants(&store)?.is_empty();
        let token = is_first
            .then(|| wakeful_serve::grant(&store, FIRST, Scope::ALL, None))
            .transpose()
            .map_err(CannotServe::from)?;
        #[cfg(target_os = "linux")]
        let runner = self.model.runner(&self.ledger, &store)?;
        #[cfg(not(target_os = "linux"))]
        let runner = None;
        #[cfg_attr(not(target_os = "linux"), allow(unused_mut))]
        let mut limits = self.limits.limits();
        #[cfg(target_os = "linux")]
        {
            limits.turns_at_once = usize::try_from(self.model.turns_at_once).unwrap_or(usize::MAX);
        }
        let page = match &self.workbench {
            Some(folder) => Page::read(folder).map_err(CannotServe::from)?,
            None => Page::embedded(),
        };
        let has_page = page.is_there();
        let host_names = fleet::names(&self.host_name, public_name);
        let server = wakeful_serve::start(Options {
            store: store.clone(),
            runner,
            limits,
            sockets,
            host_names,
            origins,
            hooks: HookOptions {
                command: self.hook_command.clone(),
                allows_http: self.allow_http_hooks,
                ..HookOptions::default()
            },
            page,
            traces,
            notice: Arc::new(|notice| mention!("{notice}")),
        })
        .map_err(CannotServe::from)?;
        let address = server.addresses().first().copied().unwrap_or(self.listen);
        let mut greeting = String::new();
        match store.worker() {
            // It may have more agents than one process reads.
            Some(worker) => add!(greeting, "{store}: worker {}", worker.id()),
            None => {
                add!(greeting, "{store}: {}", counted(store.agents()?.len(), "agent"));
                let observed = server.observed();
                if observed > 0 {
                    add!(
                        greeting,
                        "of these, {observed} only observed: `wakeful run`, or a server with \
                         --provider, drives them"
                    );
                }
            }
        }
        add!(greeting, "listening on {scheme}://{address}");
        #[cfg(unix)]
        if let Some(socket) = &socket {
            add!(greeting, "listening on the socket {}", socket.path.display());
        }
        match &token {
            Some(token) => {
                add!(greeting, "{}", first_steps(&format!("{scheme}://{address}"), token));
                if has_page {
                    add!(greeting, "\nthe workbench: {scheme}://{address}/#token={token}");
                } else {
                    add!(
                        greeting,
                        "\nno workbench is in this program; --workbench DIR hands out a built one"
                    );
                }
            }
            None => {
                add!(greeting, "tokens: wakeful token list --ledger {}", self.ledger.display());
                if has_page {
                    add!(greeting, "the workbench: {scheme}://{address}/");
                }
            }
        }
        // The process that started the server may have closed the pipe. The agents need the server
        // all the same.
        if let Err(why) = say::line(greeting.trim_end()) {
            mention!("cannot write to standard output: {why}; the server runs");
        }
        let lost = loop {
            match signals.recv_timeout(Duration::from_secs(1)) {
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    if let Some(lost) = store.file().and_then(SqliteFile::lost) {
                        break Some(lost);
                    }
                }
                _ => break None,
            }
        };
        mention!("ending");
        let ended = server.stop();
        match lost {
            Some(lost) => Err(CliError::Lost(lost)),
            None => {
                ended.map_err(CannotServe::Broken)?;
                Ok(Verdict::Well)
            }
        }
    }

    /// Whether turns are run in this process.
    fn has_model(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.model.provider.is_some();
        #[cfg(not(target_os = "linux"))]
        return false;
    }

    /// The collector of traces, if there is one. An empty variable is as good as none.
    fn traces(&self) -> Result<Option<TraceOptions>, CliError> {
        let endpoint = self.otlp_endpoint.as_deref().filter(|endpoint| !endpoint.is_empty());
        let Some(endpoint) = endpoint else { return Ok(None) };
        let read = |name| env::var_os(name).unwrap_or_default().to_string_lossy().into_owned();
        let service = Some(read(OTLP_SERVICE)).filter(|name| !name.is_empty());
        let service = service.as_deref().unwrap_or("wakeful");
        let options = TraceOptions::new(endpoint, &read(OTLP_HEADERS), service);
        Ok(Some(options.map_err(CannotServe::from)?))
    }

    fn tls(&self) -> Result<Option<Tls>, CliError> {
        let (Some(certificates), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let read = |path: &Path| {
            text::read(path).map_err(|why| CliError::Read { path: path.to_owned(), why })
        };
        let tls = Tls::new(read(certificates)?.as_bytes(), read(key)?.as_bytes());
        let wrong = |why: TlsError| {
            let path = if matches!(why, TlsError::Key(_)) { key } else { certificates };
            CannotServe::Tls { path: path.clone(), why }
        };
        Ok(Some(tls.map_err(wrong)?))
    }

    /// The Unix socket, which only this user can open.
    #[cfg(unix)]
    fn unix(&self, sockets: &mut Vec<Socket>) -> Result<Option<Beside>, CliError> {
        use std::os::unix::{fs::PermissionsExt, net::UnixListener, net::UnixStream};

        if self.no_socket || self.socket.is_none() && fleet::is_shared(&self.ledger)? {
            return Ok(None);
        }
        let path = self.socket.clone().unwrap_or_else(|| {
            let mut path = self.ledger.as_os_str().to_owned();
            path.push(".sock");
            path.into()
        });
        let failed = |why| CannotServe::Socket { path: path.clone(), why };
        if UnixStream::connect(&path).is_ok() {
            return Err(CannotServe::SocketTaken(path).into());
        }
        // A server that was killed left it. Only a socket is removed, and nothing else.
        if fs::symlink_metadata(&path)
            .is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()))
        {
            fs::remove_file(&path).map_err(failed)?;
        }
        let listener = UnixListener::bind(&path).map_err(failed)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        sockets.push(Socket::Unix(listener));
        Ok(Some(Beside { path }))
    }
}

/// The file of a Unix socket, which goes with the server.
#[cfg(unix)]
struct Beside {
    path: PathBuf,
}

#[cfg(unix)]
impl Drop for Beside {
    fn drop(&mut self) {
        // Another process may have removed it already.
        let _ = fs::remove_file(&self.path);
    }
}

impl LimitArgs {
    fn limits(&self) -> Limits {
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Limits {
            resident_idle: Duration::from_secs(self.resident_idle),
            resident_agents: self.resident_agents,
            queue_per_agent: size(self.queue_per_agent),
            requests_per_second: self.requests_per_second,
            wrong_tokens_per_second: self.wrong_tokens_per_second,
            streams: size(self.streams),
            body_bytes: size(self.body_bytes),
            drain: Duration::from_secs(self.drain),
            ..Limits::default()
        }
    }
}

/// An origin as browsers write it.
fn origin_of(text: &str) -> Result<String, CannotServe> {
    let wrong = || CannotServe::Origin(text.to_owned());
    let (scheme, authority) = text.split_once("://").ok_or_else(wrong)?;
    let is_plain = matches!(scheme, "http" | "https")
        && !authority.is_empty()
        && !authority.contains(['/', '?', '#', '@', '*', ' ']);
    is_plain.then(|| text.to_ascii_lowercase()).ok_or_else(wrong)
}

/// What to try after the first start.
fn first_steps(url: &str, token: &str) -> String {
    format!(
        "\n\
         this token is shown once; it may do everything:\n\
         \x20 {token}\n\n\
         three commands to try in another terminal:\n\
         \x20 export URL={url} TOKEN={token} WAKEFUL_SERVER={url} WAKEFUL_SERVER_TOKEN={token}\n\
         \x20 curl -X PUT -H \"Authorization: Bearer $TOKEN\" {url}/v1/agents/ada\n\
         \x20 curl -X POST -H \"Authorization: Bearer $TOKEN\" {url}/v1/agents/ada/messages -d '{{\"text\":\"hello\"}}'\n\
         \x20 curl -H \"Authorization: Bearer $TOKEN\" {url}/v1/agents/ada/turn"
    )
}

#[cfg(test)]
mod tests {
    use super::origin_of;

    #[test]
    fn an_origin_is_written_as_browsers_do() {
        assert_eq!(
            origin_of("https://Desk.example:8443").expect("one"),
            "https://desk.example:8443"
        );
        for wrong in
            ["desk.example", "*", "https://*", "https://a/b", "ftp://a", "https://", "null"]
        {
            assert!(origin_of(wrong).is_err(), "{wrong}");
        }
    }
}

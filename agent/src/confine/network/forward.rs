//! The process beside a command that takes its connections to the proxy of the host.
//!
//! It listens on the loopback of the command, so programs find a proxy as they know one. It is
//! confined as the command is, and ends with it.

use std::{
    convert::Infallible,
    env,
    io::{self, BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener},
    os::fd::{AsFd, OwnedFd},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::{
    net::UnixStream,
    runtime::Builder,
    sync::Semaphore,
    task::{LocalSet, spawn_local},
    time::sleep,
};

use super::relay;

/// The port on the loopback of a command. It is always the same one, because some programs read
/// their proxy from a file. It is the usual port of proxies, and not one that servers use.
pub(in crate::confine) const PORT: u16 = 3128;

/// The socket of the host's proxy, where commands see it.
pub(in crate::confine) const SOCKET: &str = "/run/wakeful/proxy";

/// The hidden subcommand.
pub(in crate::confine) const NAME: &str = "confined-forward";

/// What the forwarder writes when it is confined and serves.
const READY: &str = "ready";

/// The connections at one time, more than the proxy serves. Others wait.
const CONNECTIONS: usize = 128;

/// The pause after the system could not accept a connection, such as for want of open files.
const PAUSE: Duration = Duration::from_millis(50);

/// Starts the forwarder with these rights, and waits until it serves.
pub(in crate::confine) fn start(rights: &str) -> io::Result<()> {
    // It listens before the command starts, so no connection of it comes too early.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
    let mut child = Command::new(env::current_exe()?)
        .args([NAME, rights])
        .env_clear()
        .stdin(OwnedFd::from(listener))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut said)?;
    }
    // This process only starts the forwarder and ends.
    child.wait()?;
    match said.trim_end() {
        READY => Ok(()),
        "" => Err(io::Error::other("it ended at once")),
        why => Err(io::Error::other(why)),
    }
}

/// Becomes the forwarder whose listener is the standard input. Returns only if it cannot.
pub(in crate::confine) fn run(
    rights: &str,
    restrict: impl FnOnce(&str) -> Result<(), String>,
) -> String {
    match confined_listener(rights, restrict) {
        Ok(listener) => serve(listener),
        // The launcher reads this line. Without a launcher, nobody does.
        Err(why) => {
            println!("{}", why.replace('\n', " "));
            why
        }
    }
}

fn confined_listener(
    rights: &str,
    restrict: impl FnOnce(&str) -> Result<(), String>,
) -> Result<TcpListener, String> {
    let failed = |why: io::Error| why.to_string();
    // A command that waits for all its children must not wait for this one, and what it signals to
    // its group or types on its terminal must not end it.
    nix::unistd::daemon(false, true).map_err(|why| failed(why.into()))?;
    restrict(rights)?;
    let listener =
        io::stdin().as_fd().try_clone_to_owned().map(TcpListener::from).map_err(failed)?;
    // Otherwise a standard input that is not a socket would only be noticed later, by nobody.
    listener.local_addr().map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    writeln!(io::stdout(), "{READY}").map_err(failed)?;
    Ok(listener)
}

/// Takes connections to the proxy for as long as the command lives. Returns only if it cannot.
fn serve(listener: TcpListener) -> String {
    let Err(why) = Builder::new_current_thread().enable_all().build().and_then(|runtime| {
        LocalSet::new().block_on(&runtime, async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let places = Arc::new(Semaphore::new(CONNECTIONS));
            loop {
                let place = Arc::clone(&places).acquire_owned().await;
                match listener.accept().await {
                    Ok((client, _)) => drop(spawn_local(async move {
                        // If the host is gone, so is the connection.
                        if let Ok(proxy) = UnixStream::connect(SOCKET).await
                            && client.set_nodelay(true).is_ok()
                        {
                            relay::join(client, proxy, relay::HALF_OPEN).await;
                        }
                        drop(place);
                    })),
                    Err(_) => sleep(PAUSE).await,
                }
            }
        })
    }) as io::Result<Infallible>;
    why.to_string()
}

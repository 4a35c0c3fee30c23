//! `cargo xtask serve`: the workbench on a local port.

use std::{
    io,
    net::{Ipv4Addr, TcpListener, TcpStream},
    num::NonZeroU16,
    process::{Child, ExitCode},
    thread,
    time::{Duration, Instant},
};

use crate::{
    call::{Call, Failure},
    paths::Paths,
    run,
    stage::{bold, stage},
    web_demo,
};

/// How long the server may take until it answers.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Builds the workbench and serves it until the server ends.
pub(crate) fn serve(paths: &Paths, port: Option<NonZeroU16>) -> Result<ExitCode, Failure> {
    // A port in use is said before minutes of building, not after.
    let wanted = port.map(|port| free_port(port.get())).transpose()?;
    run::build(paths)?;
    stage("packages", "installing the workbench's packages", || web_demo::install(paths))?;
    stage("traces", "recording the traces of the native engine", || web_demo::bundle(paths))?;
    stage("workbench", "building the workbench", || web_demo::script(paths, "build").build())?;

    let port = free_port(wanted.unwrap_or(0))?;
    let mut server = Call::new(paths, "serve", "npx")
        .args(["--no-install", "vite", "preview", "--host", "127.0.0.1", "--strictPort", "--port"])
        .arg(port.to_string())
        .folder(paths.web_demo())
        // Vite ends with its input, so it does not outlive this program, unless CI is set.
        .without_env("CI")
        .start()?;
    wait_until_it_answers(&mut server, port)?;
    anstream::println!("{} http://127.0.0.1:{port}/ (Ctrl-C ends it)", bold("The workbench is at"));
    let ended = server.wait().map_err(|why| Failure::new(format!("lost sight of the server: {why}")))?;
    if ended.success() { Ok(ExitCode::SUCCESS) } else { Err(Failure::new(format!("the server ended ({ended})"))) }
}

/// The port if nobody listens there; for 0 a free one of the system's choice.
fn free_port(port: u16) -> Result<u16, Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|listener| listener.local_addr()).map(|address| address.port()).map_err(|why| {
        if why.kind() == io::ErrorKind::AddrInUse {
            Failure::new(format!("port {port} is in use; end the program that listens there, choose another with `--port N`, or leave `--port` away"))
        } else {
            Failure::new(format!("port {port} cannot be used: {why}; choose another with `--port N`, or leave `--port` away"))
        }
    })
}

fn wait_until_it_answers(server: &mut Child, port: u16) -> Result<(), Failure> {
    let start = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        let ended = server.try_wait().map_err(|why| Failure::new(format!("lost sight of the server: {why}")))?;
        if let Some(status) = ended {
            return Err(Failure::new(format!("the server ended before it answered ({status})")));
        }
        if start.elapsed() > START_LIMIT {
            // It is the server's start that failed; what ending it answers changes nothing.
            let _ = server.kill();
            return Err(Failure::new(format!("the server did not answer on port {port} within {} s", START_LIMIT.as_secs())));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_named_with_what_to_do() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let failure = free_port(port).unwrap_err();
        assert!(failure.what.starts_with(&format!("port {port} is in use; ")) && failure.what.contains("--port N"), "{}", failure.what);
        assert_ne!(free_port(0).unwrap(), 0);
    }
}

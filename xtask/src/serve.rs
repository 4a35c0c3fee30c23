//! `cargo xtask serve`: the workbench on a local port.

use std::{
    io,
    net::{Ipv4Addr, TcpListener},
    num::NonZeroU16,
    process::ExitCode,
};

use crate::{
    call::{Call, Failure},
    packages,
    paths::Paths,
    run,
    stage::{bold, stage},
    web_demo,
};

/// Builds the workbench and serves it until the server ends.
pub(crate) fn serve(paths: &Paths, port: Option<NonZeroU16>) -> Result<ExitCode, Failure> {
    // Report a port in use before minutes of building, not after.
    let wanted = port.map(|port| free_port(port.get())).transpose()?;
    run::build(paths)?;
    stage("packages", "installing the workbench's packages", || {
        packages::install(paths, &paths.web_demo())
    })?;
    stage("traces", "recording the traces of the native engine", || web_demo::bundle(paths))?;
    stage("workbench", "building the workbench", || web_demo::script(paths, "build").build())?;

    // Only now, because another program may take a port while this one builds.
    let port = free_port(wanted.unwrap_or(0))?;
    anstream::eprintln!("{}: on port {port}, until Ctrl-C", bold("serving"));
    // Vite prints the address as soon as it answers. It is started without npx, because npx would
    // leave it running when npx itself is ended.
    Call::new(paths, "serve", "node")
        .args([
            "node_modules/vite/bin/vite.js",
            "preview",
            "--host",
            "127.0.0.1",
            // Otherwise Vite would serve on another port if this one is in use.
            "--strictPort",
            "--port",
        ])
        .arg(port.to_string())
        .folder(paths.web_demo())
        .become_it()
}

/// The port, if no program listens there. For 0, a free one that the system selects.
fn free_port(port: u16) -> Result<u16, Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|why| {
            if why.kind() == io::ErrorKind::AddrInUse {
                Failure::new(format!(
                    "port {port} is in use; end the program that listens there, choose another \
                     with `--port N`, or leave `--port` away"
                ))
            } else {
                Failure::new(format!(
                    "port {port} cannot be used: {why}; choose another with `--port N`, or leave \
                     `--port` away"
                ))
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_named_with_what_to_do() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let failure = free_port(port).expect_err("it is in use");
        assert!(
            failure.what.starts_with(&format!("port {port} is in use; "))
                && failure.what.contains("--port N"),
            "{}",
            failure.what
        );
        assert_ne!(free_port(0).expect("a free port"), 0);
    }
}

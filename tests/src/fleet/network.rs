//! The network between a server and the cluster, which can be cut: then nothing passes in either
//! direction, no connection is refused and none is closed. What was on its way arrives when the
//! network is whole again.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// How often a cut network is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// The ways to some ports of this machine. They live as long as the process.
pub(super) struct Network {
    /// The ports that lead there, in order.
    pub(super) ports: Vec<u16>,
    is_cut: Arc<AtomicBool>,
}

impl Network {
    pub(super) fn to(targets: &[u16]) -> io::Result<Self> {
        let is_cut = Arc::<AtomicBool>::default();
        let mut ports = Vec::new();
        for target in targets.iter().copied() {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            ports.push(listener.local_addr()?.port());
            let is_cut = Arc::clone(&is_cut);
            thread::spawn(move || {
                for from in listener.incoming().flatten() {
                    let is_cut = Arc::clone(&is_cut);
                    thread::spawn(move || {
                        wait(&is_cut);
                        // A node that is down refuses, and its client learns that.
                        let Ok(to) = TcpStream::connect(("127.0.0.1", target)) else { return };
                        let (Ok(back_from), Ok(back_to)) = (to.try_clone(), from.try_clone())
                        else {
                            return;
                        };
                        let cut = Arc::clone(&is_cut);
                        thread::spawn(move || pass(back_from, back_to, &cut));
                        pass(from, to, &is_cut);
                    });
                }
            });
        }
        Ok(Self { ports, is_cut })
    }

    /// Cuts it, or makes it whole.
    pub(super) fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Release);
    }
}

fn wait(is_cut: &AtomicBool) {
    while is_cut.load(Ordering::Acquire) {
        thread::sleep(LOOK);
    }
}

/// Passes on what comes from one side, until that side ends.
fn pass(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count) = from.read(&mut bytes) {
        wait(is_cut);
        if count == 0 || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // One that is closed already needs no end.
    drop(to.shutdown(Shutdown::Write));
}

//! The agent's own tests: commands that run as processes, and a model behind a real server.

#[cfg(all(target_os = "linux", feature = "linux"))]
mod children;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod command;
mod openai;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod place;
#[cfg(all(target_os = "linux", feature = "linux"))]
mod resting;

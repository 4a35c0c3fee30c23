//! Commands, with real processes: how they end, what they write, what they read, and what they
//! leave behind.

mod ends;
mod family;
mod home;
mod input;
mod output;

use self::home::{Home, PATIENCE, ended, eventually, lives};

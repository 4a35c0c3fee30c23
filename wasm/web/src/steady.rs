//! The time of a driver whose clock may be behind its ledger, for `SteadyClock` of the package.

use wakeful_core::{Remedy, Timestamp, json};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// Lets time pass while the host's clock is behind the ledger (contract 1.3).
///
/// Times are nanoseconds since the epoch. `monotonic` is a number of milliseconds by a clock that
/// never jumps.
#[wasm_bindgen]
pub struct Steady(wakeful_core::Steady);

#[wasm_bindgen]
impl Steady {
    /// The time of a driver whose newest entry has this time, as a state shows it.
    ///
    /// # Errors
    /// Throws the reason if it is not an RFC 3339 time.
    #[wasm_bindgen(constructor)]
    pub fn new(at: &str, monotonic: f64) -> Result<Self, JsValue> {
        Ok(Self(wakeful_core::Steady::new(instant(at)?, milliseconds(monotonic))))
    }

    /// The time for the scheduler.
    pub fn now(&mut self, host: i64, monotonic: f64) -> i64 {
        self.0.now(Timestamp::from_nanos(host), milliseconds(monotonic)).as_nanos()
    }

    /// What to do about the clock now: "report", "correct" or nothing.
    #[wasm_bindgen(unchecked_return_type = "\"report\" | \"correct\" | undefined")]
    pub fn remedy(&mut self, host: i64, monotonic: f64, trusted: bool) -> Option<String> {
        let remedy =
            self.0.remedy(Timestamp::from_nanos(host), milliseconds(monotonic), trusted)?;
        Some(
            match remedy {
                Remedy::Report => "report",
                Remedy::Correct => "correct",
            }
            .to_owned(),
        )
    }

    /// The newest entry has this time.
    ///
    /// # Errors
    /// As the constructor.
    pub fn recorded(&mut self, at: &str, monotonic: f64) -> Result<(), JsValue> {
        self.0.recorded(instant(at)?, milliseconds(monotonic));
        Ok(())
    }

    /// The ledger was set back to this time.
    ///
    /// # Errors
    /// As the constructor.
    pub fn corrected(&mut self, at: &str, monotonic: f64) -> Result<(), JsValue> {
        self.0.corrected(instant(at)?, milliseconds(monotonic));
        Ok(())
    }
}

fn instant(at: &str) -> Result<Timestamp, JsValue> {
    json::read(&json::write(&at)).map_err(|why| why.to_string().into())
}

fn milliseconds(monotonic: f64) -> u64 {
    monotonic.max(0.0) as u64
}

//! Ids that nobody can guess, and that are new each time.

use wakeful_host::token::hex;

use crate::problem::Problem;

/// Sixteen random bytes as hexadecimal digits.
pub(crate) fn id() -> Result<String, Problem> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| Problem::broken("the system gives no random bytes"))?;
    Ok(hex(&bytes))
}

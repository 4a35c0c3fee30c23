//! The hooks of a server.

use axum::http::StatusCode;

use crate::{
    asked::{Answer, Asked},
    problem::Problem,
};

/// The most bytes of a name.
const NAME_BYTES: usize = 64;

pub(crate) fn list(asked: &Asked) -> Result<Answer, Problem> {
    Ok(Answer::ok(&asked.hooks.list()))
}

pub(crate) fn put(asked: &Asked) -> Result<Answer, Problem> {
    let name = asked.part("hook");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > NAME_BYTES || !name.bytes().all(is_plain) {
        let detail = format!(
            "the name of a hook has 1 to {NAME_BYTES} letters of a to z, digits, `-`, `_` and `.`"
        );
        return Err(Problem::unfit(detail));
    }
    let (hook, is_new) = asked.hooks.put(name, asked.json()?)?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(Answer::with(status, &hook))
}

pub(crate) fn delete(asked: &Asked) -> Result<Answer, Problem> {
    asked.hooks.delete(asked.part("hook"))?;
    Ok(Answer::nothing())
}

pub(crate) fn test(asked: &Asked) -> Result<Answer, Problem> {
    Ok(Answer::ok(&asked.hooks.test(asked.part("hook"))?))
}

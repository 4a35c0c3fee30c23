//! The session of a page: a token becomes a cookie, because a script must not keep it.

use axum::http::{StatusCode, header, uri::Authority};
use wakeful_agent::http;

use crate::{
    asked::{Answer, Asked},
    auth, page,
    problem::Problem,
};

/// Whether the browser reached the server over TLS. On other addresses than the loopback there is
/// nothing else.
fn is_encrypted(asked: &Asked) -> bool {
    let host = asked.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.and_then(|host| host.parse::<Authority>().ok());
    host.is_some_and(|host| !http::is_loopback(host.host()))
}

fn answered(asked: &Asked, token: Option<&str>) -> Answer {
    let cookie = page::session(token, is_encrypted(asked));
    Answer { status: StatusCode::NO_CONTENT, cookie, ..Answer::nothing() }
}

pub(crate) fn begin(asked: &Asked) -> Result<Answer, Problem> {
    let token = auth::bearer(&asked.headers).ok_or_else(|| {
        Problem::malformed("send the token in the header `Authorization: Bearer TOKEN`")
    })?;
    Ok(answered(asked, Some(token)))
}

pub(crate) fn end(asked: &Asked) -> Result<Answer, Problem> {
    Ok(answered(asked, None))
}

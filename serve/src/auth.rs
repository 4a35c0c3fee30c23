//! The check of a request's token, before anything of the request is read.

use axum::http::{HeaderMap, StatusCode, header};
use wakeful_core::id::AgentId;

use crate::{
    access::{Access, Grant, Scope},
    problem::Problem,
};

/// The grant of a request that needs this scope for this agent.
pub(crate) fn granted(
    access: &Access,
    headers: &HeaderMap,
    scope: Scope,
    agent: Option<&AgentId>,
) -> Result<Grant, Problem> {
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim());
    let grant = token.and_then(|token| access.of(token)).ok_or_else(|| {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "send the header `Authorization: Bearer TOKEN` with a token of this server",
        )
    })?;
    let forbidden = |detail: String| Problem::new(StatusCode::FORBIDDEN, "forbidden", detail);
    if !grant.scopes.contains(&scope) {
        let has = grant.scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(", ");
        return Err(forbidden(format!(
            "this needs a token with the scope `{}`; this one has: {has}",
            scope.name()
        )));
    }
    match (&grant.agent_id, agent) {
        (Some(only), Some(agent)) if only != agent => {
            Err(forbidden(format!("this token is for the agent `{only}` only")))
        }
        (Some(only), None) => Err(forbidden(format!(
            "this token is for the agent `{only}` only: name it in the path"
        ))),
        _ => Ok(grant.clone()),
    }
}

//! What a route is, and the words in which the table says it.

use axum::response::Response;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::{
    access::Scope,
    asked::{Answer, Asked},
    problem::Problem,
};

/// What a route does with a request.
#[derive(Clone, Copy)]
pub(crate) enum Does {
    /// It answers at once.
    Answers(fn(&Asked) -> Result<Answer, Problem>),
    /// It answers a message; with `Prefer: wait` once its turn has ended.
    AnswersTurn,
    /// It answers the open turn; with `Prefer: wait` once there is one.
    WaitsForTurn,
    /// It streams what is stored.
    Streams(StreamOf),
}

/// The number of an entry.
#[derive(JsonSchema)]
#[schemars(transparent)]
pub(crate) struct EntryNumber(
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    #[allow(dead_code)]
    u64,
);

/// The highest number that is read: numbers above it are not exact in JavaScript.
pub(crate) const HIGHEST: u64 = 9_007_199_254_740_991;

/// The place in a stream, as one of its events named it.
#[derive(JsonSchema)]
#[schemars(transparent)]
pub(crate) struct Cursor(
    #[schemars(length(min = 1))]
    #[allow(dead_code)]
    String,
);

/// The id of a thing, as a path names it.
#[derive(JsonSchema)]
#[schemars(transparent)]
pub(crate) struct Id(
    #[schemars(length(min = 1), regex(pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"))]
    #[allow(dead_code)]
    String,
);

/// Opens a stream, which ends when the server does, and keeps its place while it is open.
pub(crate) type StreamOf =
    fn(&Asked, watch::Receiver<bool>, OwnedSemaphorePermit) -> Result<Response, Problem>;

/// The schema of a type.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

pub(crate) fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A parameter of the query or a header.
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// Whether it is a header, and not in the query.
    pub is_header: bool,
    /// Whether it must be there.
    pub is_required: bool,
    /// What it says.
    pub description: &'static str,
    pub(crate) schema: SchemaOf,
}

/// A route.
pub struct Route {
    /// The HTTP method.
    pub method: &'static str,
    /// The path, with its parts in braces.
    pub path: &'static str,
    /// The name of the operation in the OpenAPI document.
    pub name: &'static str,
    /// The scopes of which a token needs one. None if the path has a token of its own, or needs
    /// none.
    pub scopes: &'static [Scope],
    /// The summary in the OpenAPI document.
    pub summary: &'static str,
    /// Its parameters, apart from those of the path.
    pub parameters: &'static [Parameter],
    pub(crate) body: Option<Body>,
    pub(crate) answers: &'static [Reply],
    pub(crate) does: Does,
}

/// A body that a route takes.
pub(crate) struct Body {
    pub(crate) is_required: bool,
    /// None if anything is taken.
    pub(crate) schema: Option<SchemaOf>,
}

/// An answer that is not a problem.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) description: &'static str,
    pub(crate) kind: &'static str,
    /// None if the answer is a text, or empty.
    pub(crate) schema: Option<SchemaOf>,
}

pub(crate) const fn query(
    name: &'static str,
    schema: SchemaOf,
    description: &'static str,
) -> Parameter {
    Parameter { name, is_header: false, is_required: false, description, schema }
}

pub(crate) const fn header(
    name: &'static str,
    schema: SchemaOf,
    description: &'static str,
) -> Parameter {
    Parameter { name, is_header: true, is_required: false, description, schema }
}

pub(crate) const fn reply(status: u16, description: &'static str, schema: SchemaOf) -> Reply {
    Reply { status, description, kind: "application/json", schema: Some(schema) }
}

pub(crate) const fn get(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    parameters: &'static [Parameter],
    answers: &'static [Reply],
    does: fn(&Asked) -> Result<Answer, Problem>,
) -> Route {
    Route {
        method: "GET",
        path,
        name,
        scopes: &[Scope::Read],
        summary,
        parameters,
        body: None,
        answers,
        does: Does::Answers(does),
    }
}

pub(crate) const fn operate(
    method: &'static str,
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    body: Option<Body>,
    answers: &'static [Reply],
    does: fn(&Asked) -> Result<Answer, Problem>,
) -> Route {
    Route {
        method,
        path,
        name,
        scopes: &[Scope::Operate],
        summary,
        parameters: &[],
        body,
        answers,
        does: Does::Answers(does),
    }
}

pub(crate) const fn body<T: JsonSchema>() -> Option<Body> {
    Some(Body { is_required: true, schema: Some(schema::<T>) })
}

//! The OpenAPI document, made from the table of routes and the schemas of the core's own types.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::{
    problem::Problem,
    route::{Id, Reply, Route, schema as schema_of},
    routes::ROUTES,
};

/// The document as indented JSON.
pub(crate) fn text() -> String {
    serde_json::to_string_pretty(&document()).unwrap_or_else(|why| unreachable!("{why}")) + "\n"
}

/// The document.
#[must_use]
pub fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let problem = generator.subschema_for::<Problem>();
    let mut paths = Map::new();
    for route in ROUTES {
        let operation = operation(route, &mut generator, &problem);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_lowercase()] = operation;
    }
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Wakeful",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Many agents behind one door. Each request has a bearer token with a \
                scope, except for probes and deliveries. Errors are problem details (RFC 9457).",
            "license": { "name": "Apache-2.0", "identifier": env!("CARGO_PKG_LICENSE") },
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "`wakeful token create` makes one",
                },
            },
        },
    })
}

fn operation(
    route: &Route,
    generator: &mut schemars::SchemaGenerator,
    problem: &schemars::Schema,
) -> Value {
    let mut parameters: Vec<Value> = parts(route.path)
        .map(|name| {
            json!({
                "name": name,
                "in": "path",
                "required": true,
                "schema": schema_of::<Id>(generator),
            })
        })
        .collect();
    parameters.extend(route.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name,
            "in": if parameter.is_header { "header" } else { "query" },
            "required": parameter.is_required,
            "description": parameter.description,
            "schema": (parameter.schema)(generator),
        })
    }));
    let mut responses = Map::new();
    for answer in route.answers {
        responses.insert(answer.status.to_string(), response(answer, generator));
    }
    responses.insert(
        "default".to_owned(),
        json!({
            "description": "A problem, with its code and what to do",
            "content": { "application/problem+json": { "schema": problem } },
        }),
    );
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(body) = &route.body {
        let content = match body.schema {
            Some(schema) => json!({ "application/json": { "schema": schema(generator) } }),
            None => {
                json!({ "application/json": {}, "text/plain": { "schema": { "type": "string" } } })
            }
        };
        operation["requestBody"] = json!({ "required": body.is_required, "content": content });
    }
    let scopes: Vec<_> = route.scopes.iter().map(|scope| scope.name()).collect();
    if scopes.is_empty() {
        operation["security"] = json!([]);
    } else {
        operation["security"] = json!([{ "token": [] }]);
        operation["description"] = format!("Needs the scope {}.", scopes.join(" or ")).into();
    }
    operation
}

fn response(answer: &Reply, generator: &mut schemars::SchemaGenerator) -> Value {
    let mut response = json!({ "description": answer.description });
    if !answer.kind.is_empty() {
        let media = answer
            .schema
            .map_or_else(|| json!({}), |schema| json!({ "schema": schema(generator) }));
        response["content"] = json!({ answer.kind: media });
    }
    response
}

/// The parts of a path in braces.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

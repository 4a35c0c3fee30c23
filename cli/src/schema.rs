//! The JSON Schema of every payload, made from the core's types, and the OpenAPI document of the
//! server. `wakeful print schema` prints them.

use schemars::{JsonSchema, generate::SchemaSettings};
use wakeful_core::{
    SCHEMA_VERSION,
    derive::summary::{AgentListEntry, AgentSummary},
    explain::{Explanation, Headline, Oddity, WhyNot},
    fact::Fact,
    foreign::expected::Expected,
    host::{ErrorReport, Receipt, Replay, StepReport},
    machine::Options,
    record::{Record, decision::Boundary, effect::Effect},
    state::snapshot::Snapshot,
};

/// All payloads that cross a boundary of the scheduler, each under its name in `$defs`.
#[derive(JsonSchema)]
#[schemars(title = "Wakeful payloads", extend("version" = SCHEMA_VERSION))]
// Fields of one type, so that one document defines them all.
struct Payloads {
    #[allow(dead_code)]
    fact: Fact,
    #[allow(dead_code)]
    record: Record,
    #[allow(dead_code)]
    effect: Effect,
    #[allow(dead_code)]
    options: Options,
    #[allow(dead_code)]
    boundary: Boundary,
    #[allow(dead_code)]
    receipt: Receipt,
    #[allow(dead_code)]
    step_report: StepReport,
    #[allow(dead_code)]
    explanation: Explanation,
    #[allow(dead_code)]
    why_not: WhyNot,
    #[allow(dead_code)]
    headline: Headline,
    #[allow(dead_code)]
    oddity: Oddity,
    #[allow(dead_code)]
    agent_summary: AgentSummary,
    #[allow(dead_code)]
    agent_list_entry: AgentListEntry,
    #[allow(dead_code)]
    snapshot: Snapshot,
    #[allow(dead_code)]
    expected: Expected,
    #[allow(dead_code)]
    replay: Replay,
    #[allow(dead_code)]
    error_report: ErrorReport,
}

/// Returns the schema as indented JSON that ends in a newline.
///
/// # Errors
/// If the schema cannot be written, which would be a defect of its types.
pub fn text() -> Result<String, serde_json::Error> {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Payloads>();
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

/// Returns the OpenAPI document of `wakeful serve` as indented JSON that ends in a newline.
///
/// # Errors
/// If the document cannot be written, which would be a defect of its types.
pub fn http() -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(&wakeful_serve::document())? + "\n")
}

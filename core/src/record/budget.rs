//! Budgets: how much a provider may be asked, for the agent or for one item (contract 16).

use core::num::NonZeroU64;

use serde::Serialize;

use crate::id::{GrantId, RunId, WorkItemId};
use wakeful_json::Readable;

/// Fact and record `budget_set`: the limits of an owner. They replace those that it had; a limit
/// that is not named does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetSet {
    /// The item that the budget is for; absent means the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The limits.
    #[serde(flatten)]
    pub limits: BudgetLimits,
}

/// The limits of a budget. Tokens are those that went in and those that came out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetLimits {
    /// Tokens in a day (UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<NonZeroU64>,
    /// Tokens in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_total: Option<NonZeroU64>,
    /// Cost in a day (UTC), in millionths of the currency in which the host counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros_per_day: Option<NonZeroU64>,
}

/// Fact and record `budget_granted`: more than the limits, once. What it adds to the limits of a
/// day is for that day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetGranted {
    /// Chosen by the host, unique within the agent.
    pub grant_id: GrantId,
    /// The item that the grant is for; absent means the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Tokens that it adds.
    #[serde(default)]
    pub tokens: u64,
    /// Cost that it adds, in millionths.
    #[serde(default)]
    pub cost_micros: u64,
}

/// What a round with the provider used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundUsage {
    /// The run of the round.
    pub run_id: RunId,
    /// The number of the round in its run, from 1. A round counts once.
    pub round: u64,
    /// Tokens that went in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens that came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// The cost in millionths of the currency in which the host counts, if it knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

/// A limit of a budget, with what was used of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitUse {
    /// The name of the limit.
    pub limit: &'static str,
    /// What was used of it.
    pub used: u64,
    /// What may be used, with grants.
    pub of: u64,
    /// Whether the next day begins at zero.
    pub is_of_a_day: bool,
}

impl LimitUse {
    /// Whether nothing is left.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.used >= self.of
    }
}

//! Tables under admission, and the permits to be born there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::Nothing;
use crate::action::Action;
use crate::id::{ApprovalId, PermitId};
use crate::page::Page;
use crate::route::{Access, Endpoint, Route};

const READ: Access = Access::Permission("birth.read");

/// A table under admission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Family {
    #[serde(alias = "collection_name")]
    pub collection: String,
    /// Nothing when the table is gone.
    #[serde(alias = "table_name")]
    pub table: Option<String>,
    pub code_column: String,
    pub name_column: Option<String>,
    pub code_rule: Option<String>,
    pub ttl_seconds: i32,
    pub enforced_from: Option<String>,
    pub approval_required: bool,
    pub governance_role: String,
    pub active: bool,
    pub declared_by: String,
    pub declared_at: String,
    /// `enforced`, `report_only`, `glass_broken` or `released`.
    pub mode: String,
    pub armed: Option<bool>,
    /// Partitions that came with rows, which met no gate, and that nobody accepted.
    #[serde(default)]
    pub came_with_rows: Vec<String>,
}

/// Tables under admission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Families {
    pub items: Vec<Family>,
}

/// Which permits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermitsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub collection: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub status: Option<String>,
}

/// A permit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Permit {
    pub permit_id: PermitId,
    #[serde(alias = "collection_name")]
    pub collection: String,
    #[serde(alias = "entity_code")]
    pub code: String,
    #[serde(alias = "entity_name", default)]
    pub name: Option<String>,
    pub status: String,
    /// Hex.
    pub request_hash: String,
    #[serde(default)]
    pub batch_id: Option<Uuid>,
    #[serde(default)]
    pub approval_id: Option<ApprovalId>,
    #[serde(alias = "started_by")]
    pub requested_by: String,
    pub requested_at: String,
    pub expires_at: String,
    #[serde(default)]
    pub consumed_at: Option<String>,
    #[serde(alias = "finalized_birth_id", default)]
    pub birth_id: Option<Uuid>,
    /// Why it failed or was revoked.
    #[serde(default)]
    pub failure_reason: Option<String>,
    /// It was done before.
    #[serde(default)]
    pub replayed: Option<bool>,
}

/// A permit with what can be done to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermitShown {
    pub permit: Permit,
    pub actions: Vec<Action>,
}

/// Objects that are to be born.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestPermits {
    #[schemars(length(min = 1, max = 200))]
    pub collection: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 500))]
    pub objects: Vec<NewObject>,
    /// Instead of objects: so many permits for the next ids of the table. The answer names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub count: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// An object that is to be born.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewObject {
    #[schemars(length(min = 1, max = 200))]
    pub code: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub species: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub role: Option<String>,
    /// The row without its code and name; only its digest is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
}

/// Permits, in the order of the codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reserved {
    /// How many were made now; the others were there.
    pub reserved: i64,
    pub permits: Vec<Permit>,
}

/// Taking a permit back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokePermit {
    #[schemars(length(min = 1, max = 2000))]
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

pub const FAMILIES: Endpoint<Nothing, Nothing, Families> =
    Endpoint::get("list_families", "/v1/births/families", READ, "Tables under admission.");
pub const PERMITS: Endpoint<PermitsQuery, Nothing, Page<Permit>> =
    Endpoint::get("list_permits", "/v1/births/permits", READ, "Permits, the newest first.");
pub const PERMIT: Endpoint<Nothing, Nothing, PermitShown> = Endpoint::get(
    "show_permit",
    "/v1/births/permits/{permit}",
    READ,
    "A permit and what can be done to it.",
);
pub const REQUEST_PERMITS: Endpoint<Nothing, RequestPermits, Reserved> = Endpoint::post(
    "request_permits",
    "/v1/births/permits",
    Access::Permission("birth.request"),
    "Ask for permits, all or none.",
)
.signed()
.status(201);
pub const REVOKE_PERMIT: Endpoint<Nothing, RevokePermit, Permit> = Endpoint::post(
    "revoke_permit",
    "/v1/births/permits/{permit}/revoke",
    Access::Permission("birth.revoke"),
    "Take a permit back that was not used.",
)
.signed();

pub(crate) const ROUTES: &[&Route] =
    &[&FAMILIES.route, &PERMITS.route, &PERMIT.route, &REQUEST_PERMITS.route, &REVOKE_PERMIT.route];

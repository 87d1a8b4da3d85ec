//! Who there is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::KeyId;
use crate::page::{Page, PageQuery};
use crate::route::{Access, Endpoint, Nothing, Route};

const READ: Access = Access::Permission("principal.read");

/// A human, agent or service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Principal {
    pub name: String,
    /// `human`, `agent` or `service`.
    pub kind: String,
    pub active: bool,
    pub created_at: String,
    pub actor_classes: Vec<String>,
    /// Public keys that are not revoked.
    pub live_keys: i64,
}

/// A public key of somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PublicKey {
    pub key_id: KeyId,
    /// Hex.
    pub public_key: String,
    /// SHA-256 of the key, hex.
    pub fingerprint: String,
    pub registered_at: String,
    pub supersedes: Option<KeyId>,
    pub revoked_at: Option<String>,
    pub revoke_reason: Option<String>,
}

/// Somebody with their public keys, revoked ones too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrincipalShown {
    #[serde(flatten)]
    pub principal: Principal,
    pub keys: Vec<PublicKey>,
}

pub const PRINCIPALS: Endpoint<PageQuery, Nothing, Page<Principal>> =
    Endpoint::get("principals", "/v1/principals", READ, "Humans, agents and services, by name.");
pub const PRINCIPAL: Endpoint<Nothing, Nothing, PrincipalShown> =
    Endpoint::get("principal", "/v1/principals/{name}", READ, "Somebody, with their public keys.");

pub(crate) const ROUTES: &[&Route] = &[&PRINCIPALS.route, &PRINCIPAL.route];

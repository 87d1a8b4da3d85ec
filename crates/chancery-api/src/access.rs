//! Signing in and out, who one is, tokens, keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{KeyId, SessionId};
use crate::route::{Access, Endpoint, Method, Nothing, Route};

/// A name and a password.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    #[schemars(length(min = 1, max = 1000))]
    pub password: String,
}

impl std::fmt::Debug for SignIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignIn").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A session. The cookie is set beside it; what writes must show `csrf_token` in the header `Chancery-Csrf`.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct SignedIn {
    pub principal: String,
    pub session_id: SessionId,
    pub csrf_token: String,
    pub expires_at: String,
}

impl std::fmt::Debug for SignedIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignedIn").field("principal", &self.principal).finish_non_exhaustive()
    }
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Me {
    pub principal: String,
    pub kind: String,
    pub actor_classes: Vec<String>,
    pub permissions: Vec<String>,
    /// `session` or `token`.
    pub how: String,
    pub expires_at: String,
    /// Own keys that are good.
    pub keys: Vec<Key>,
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Key {
    pub key_id: KeyId,
    /// Hex.
    pub public_key: String,
    pub registered_at: String,
}

pub const SIGN_IN: Endpoint<Nothing, SignIn, SignedIn> =
    Endpoint::post("sign_in", "/v1/session", Access::Open, "Sign in with a password.").keyless();
pub const SIGN_OUT: Endpoint<Nothing, Nothing, Nothing> = Endpoint::post(
    "sign_out",
    "/v1/session",
    Access::Permission("self.read"),
    "End the session that asks.",
)
.by(Method::Delete)
.keyless();
pub const ME: Endpoint<Nothing, Nothing, Me> =
    Endpoint::get("me", "/v1/me", Access::Permission("self.read"), "Who asks, and what they may.");

pub(crate) const ROUTES: &[&Route] = &[&SIGN_IN.route, &SIGN_OUT.route, &ME.route];

//! Signing in and out, who one is, tokens, keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{KeyId, SessionId, TokenId};
use crate::page::{Page, PageQuery};
use crate::route::{Access, Endpoint, Method, Nothing, Route, Shape};

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

/// A new password, and the one that it replaces.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPassword {
    #[schemars(length(min = 1, max = 1000))]
    pub old_password: String,
    #[schemars(length(min = 12, max = 1000))]
    pub new_password: String,
}

impl std::fmt::Debug for NewPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewPassword").finish_non_exhaustive()
    }
}

/// A token of a program, without what it is recognised by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    pub token_id: TokenId,
    pub label: String,
    /// Permissions. The token has those of them that its principal has.
    pub scopes: Vec<String>,
    pub issued_at: String,
    pub issued_by: String,
    pub expires_at: String,
    pub revoked_at: Option<String>,
    pub revoke_reason: Option<String>,
}

/// A token that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What it is for.
    #[schemars(length(min = 1, max = 200))]
    pub label: String,
    #[schemars(length(min = 1, max = 100))]
    pub scopes: Vec<String>,
    #[schemars(range(min = 60, max = 31_622_400))]
    pub expires_in_seconds: i64,
}

/// A token that was made.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct TokenMade {
    /// What the program shows. It is told here, and never again.
    pub secret: String,
    pub token: Token,
}

impl std::fmt::Debug for TokenMade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenMade").field("token", &self.token).finish_non_exhaustive()
    }
}

/// Why a token is revoked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    #[schemars(length(min = 1, max = 1000))]
    pub reason: String,
}

/// A public key that the operator is to accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKeyRequest {
    /// ed25519, hex.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub public_key: String,
    /// The new key's signature, hex, under the DSSE encoding of the type `application/vnd.chancery.key.v1+json` and the canonical JSON
    /// `{"domain":"chancery.key.v1","meaning":"this key is mine","principal":…,"public_key":…}`.
    #[schemars(regex(pattern = "^[0-9a-f]{128}$"))]
    pub possession: String,
    /// A live key of one's own that this one takes the place of. Then no operator is needed, and that key is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<ReplacedKey>,
}

/// The word of an old key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplacedKey {
    pub key_id: KeyId,
    /// The old key's signature, hex, under the same type and the canonical JSON
    /// `{"domain":"chancery.key.v1","meaning":"this key replaces mine","old_key_id":…,"principal":…,"public_key":…}`, ids as UUIDs.
    #[schemars(regex(pattern = "^[0-9a-f]{128}$"))]
    pub signature: String,
}

/// A key that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyRequest {
    /// The id of the key, once it is accepted.
    pub request_id: KeyId,
    /// Hex.
    pub public_key: String,
    /// SHA-256 of the public key, hex: the operator compares it with what the person sees.
    pub fingerprint: String,
    pub requested_at: String,
    pub settled_at: Option<String>,
    /// `accepted` or `refused`.
    pub outcome: Option<String>,
}

/// What a provider sends a browser back with. It may send more: that is not read.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CameBack {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub state: Option<String>,
    /// The issuer, as RFC 9207 has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub iss: Option<String>,
    /// The provider says no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub error: Option<String>,
}

impl std::fmt::Debug for CameBack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CameBack").field("error", &self.error).finish_non_exhaustive()
    }
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

pub const SET_PASSWORD: Endpoint<Nothing, NewPassword, Nothing> = Endpoint::post(
    "set_password",
    "/v1/password",
    Access::Permission("self.write"),
    "Change one's password; every session of one's own ends.",
)
.by(Method::Put)
.keyless();
pub const TOKENS: Endpoint<PageQuery, Nothing, Page<Token>> = Endpoint::get(
    "tokens",
    "/v1/tokens",
    Access::Permission("self.read"),
    "One's own tokens, the newest first.",
);
pub const NEW_TOKEN: Endpoint<Nothing, NewToken, TokenMade> = Endpoint::post(
    "new_token",
    "/v1/tokens",
    Access::Permission("self.write"),
    "Make a token. What it is recognised by is told once.",
)
.status(201);
pub const REVOKE_TOKEN: Endpoint<Nothing, Reason, Token> = Endpoint::post(
    "revoke_token",
    "/v1/tokens/{token}/revoke",
    Access::Permission("self.write"),
    "Make one's own token good for nothing.",
)
.keyless();
pub const KEY_REQUESTS: Endpoint<PageQuery, Nothing, Page<KeyRequest>> = Endpoint::get(
    "key_requests",
    "/v1/key-requests",
    Access::Permission("self.read"),
    "Keys that one asked for, the newest first.",
);
pub const NEW_KEY_REQUEST: Endpoint<Nothing, NewKeyRequest, KeyRequest> = Endpoint::post(
    "new_key_request",
    "/v1/key-requests",
    Access::Permission("self.write"),
    "Ask the operator to accept a public key as one's own, or put it in the place of a live one.",
)
.status(201);
pub const OIDC: Endpoint<Nothing, Nothing, Nothing> = Endpoint::get(
    "sign_in_elsewhere",
    "/v1/session/oidc",
    Access::Open,
    "Send the browser to the provider of identities.",
)
.shape(Shape::Html)
.status(303);
pub const OIDC_CALLBACK: Endpoint<CameBack, Nothing, Nothing> = Endpoint::get(
    "signed_in_elsewhere",
    "/v1/session/oidc/callback",
    Access::Open,
    "Where the provider sends the browser back to.",
)
.shape(Shape::Html);

pub(crate) const ROUTES: &[&Route] = &[
    &SIGN_IN.route,
    &SIGN_OUT.route,
    &ME.route,
    &SET_PASSWORD.route,
    &TOKENS.route,
    &NEW_TOKEN.route,
    &REVOKE_TOKEN.route,
    &KEY_REQUESTS.route,
    &NEW_KEY_REQUEST.route,
    &OIDC.route,
    &OIDC_CALLBACK.route,
];

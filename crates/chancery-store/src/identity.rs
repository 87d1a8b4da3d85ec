//! Principals and their public keys. Each function has the name of the door it calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::decode;
use crate::{Error, Store};

/// A human, agent or service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    pub name: String,
    pub kind: String,
    pub active: bool,
    pub created_at: String,
    pub actor_classes: Vec<String>,
    pub live_keys: i64,
}

/// A registered public key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningKey {
    pub key_id: Uuid,
    pub principal: String,
    /// Hex.
    pub public_key: String,
    /// SHA-256 of the public key, hex.
    pub fingerprint: String,
    pub registered_at: String,
    pub supersedes: Option<Uuid>,
    pub revoked_at: Option<String>,
    /// Microseconds since 1970, for comparison with the log.
    pub revoked_at_micros: Option<i64>,
    pub revoke_reason: Option<String>,
}

impl Store {
    /// Adds a principal, or classes to one.
    ///
    /// # Errors
    /// `Refused` for a malformed name, an unknown class or another kind.
    pub async fn fn_principal_add(
        &self,
        name: &str,
        kind: &str,
        classes: &[String],
        acted_by: Option<&str>,
    ) -> Result<Principal, Error> {
        let principal: Value =
            sqlx::query_scalar("select identity.fn_principal_add($1, $2, $3, $4)")
                .bind(name)
                .bind(kind)
                .bind(classes)
                .bind(acted_by)
                .fetch_one(&self.pool)
                .await?;
        decode(principal)
    }

    /// Takes classes away from a principal.
    ///
    /// # Errors
    /// `Refused` when there is no such principal.
    pub async fn fn_principal_revoke(
        &self,
        name: &str,
        classes: &[String],
        acted_by: Option<&str>,
    ) -> Result<Principal, Error> {
        let principal: Value =
            sqlx::query_scalar("select identity.fn_principal_revoke($1, $2, $3)")
                .bind(name)
                .bind(classes)
                .bind(acted_by)
                .fetch_one(&self.pool)
                .await?;
        decode(principal)
    }

    /// Lets a principal act, or not any more.
    ///
    /// # Errors
    /// `Refused` when there is no such principal.
    pub async fn fn_principal_set_active(
        &self,
        name: &str,
        active: bool,
        acted_by: Option<&str>,
    ) -> Result<Principal, Error> {
        let principal: Value =
            sqlx::query_scalar("select identity.fn_principal_set_active($1, $2, $3)")
                .bind(name)
                .bind(active)
                .bind(acted_by)
                .fetch_one(&self.pool)
                .await?;
        decode(principal)
    }

    /// Registers a public key, which signed whose it is (`possession`); with `supersedes` it is a rotation.
    ///
    /// # Errors
    /// `Refused` when the key belongs to somebody else, was revoked or is malformed.
    pub async fn fn_key_register(
        &self,
        key_id: Uuid,
        principal: &str,
        public_key: &[u8],
        possession: &[u8],
        supersedes: Option<Uuid>,
        acted_by: Option<&str>,
    ) -> Result<SigningKey, Error> {
        let key: Value =
            sqlx::query_scalar("select identity.fn_key_register($1, $2, $3, $4, $5, $6)")
                .bind(key_id)
                .bind(principal)
                .bind(public_key)
                .bind(possession)
                .bind(supersedes)
                .bind(acted_by)
                .fetch_one(&self.pool)
                .await?;
        decode(key)
    }

    /// Revokes a key, for ever.
    ///
    /// # Errors
    /// `Refused` without a reason or for an unknown key.
    pub async fn fn_key_revoke(
        &self,
        key_id: Uuid,
        reason: &str,
        acted_by: Option<&str>,
    ) -> Result<SigningKey, Error> {
        let key: Value = sqlx::query_scalar("select identity.fn_key_revoke($1, $2, $3)")
            .bind(key_id)
            .bind(reason)
            .bind(acted_by)
            .fetch_one(&self.pool)
            .await?;
        decode(key)
    }

    /// All principals, by name.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn principals(&self) -> Result<Vec<Principal>, Error> {
        let all: Value =
            sqlx::query_scalar("select coalesce(jsonb_agg(to_jsonb(v) order by v.name), '[]') from identity.v_principal v")
                .fetch_one(&self.pool)
                .await?;
        decode(all)
    }

    /// Principals behind a name, by name.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn principals_page(
        &self,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Vec<Principal>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            "select to_jsonb(v) from identity.v_principal v where $1::text is null or v.name > $1 order by v.name limit $2",
        )
        .bind(after)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// One principal, or `None`.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn principal(&self, name: &str) -> Result<Option<Principal>, Error> {
        let row: Option<Value> =
            sqlx::query_scalar("select to_jsonb(v) from identity.v_principal v where v.name = $1")
                .bind(name)
                .fetch_optional(&self.pool)
                .await?;
        row.map(decode).transpose()
    }

    /// All keys, oldest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn signing_keys(&self) -> Result<Vec<SigningKey>, Error> {
        let all: Value = sqlx::query_scalar(
            "select coalesce(jsonb_agg(to_jsonb(v) order by v.registered_at, v.key_id), '[]') from identity.v_signing_key v",
        )
        .fetch_one(&self.pool)
        .await?;
        decode(all)
    }

    /// The kinds of principals whose moves must be signed, as the settings have it now.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn kinds_that_sign(&self) -> Result<Vec<String>, Error> {
        Ok(sqlx::query_scalar(
            "select substr(key, length('identity.signature_required.') + 1) from config.dot_config
              where starts_with(key, 'identity.signature_required.') and value = 'true' order by 1",
        )
        .fetch_all(&self.pool)
        .await?)
    }

    /// Public keys of one principal, revoked ones too.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn signing_keys_of(&self, principal: &str) -> Result<Vec<SigningKey>, Error> {
        let keys: Vec<Value> = sqlx::query_scalar(
            "select to_jsonb(v) from identity.v_signing_key v where v.principal = $1 order by v.registered_at, v.key_id",
        )
        .bind(principal)
        .fetch_all(&self.pool)
        .await?;
        keys.into_iter().map(decode).collect()
    }
}

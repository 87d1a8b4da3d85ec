//! Who may ask: sessions, tokens, passwords, links to providers, keys made in browsers. Each function has the name of the door it calls.

use chancery_model::refusal::{Code, Problem};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::{Signed, decode};
use crate::{Error, Store};

/// Whose a session or token is, and what it may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bearer {
    /// `session` or `token`.
    pub how: String,
    /// Of the session or token.
    pub id: Uuid,
    pub principal: String,
    /// `human`, `agent` or `service`.
    pub kind: String,
    pub actor_classes: Vec<String>,
    pub permissions: Vec<String>,
    /// What a form must show, hex; only a session has one.
    pub csrf_sha256: Option<String>,
    pub expires_at: String,
    /// What the principal signs with, the newest last.
    pub keys: Vec<BearerKey>,
}

/// A key of who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BearerKey {
    pub key_id: Uuid,
    /// Hex.
    pub public_key: String,
    pub revoked: bool,
}

impl Bearer {
    /// Whether it may this.
    pub fn may(&self, permission: &str) -> bool {
        self.permissions.iter().any(|held| held == permission)
    }
}

/// How a password is hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argon2id {
    pub salt: [u8; 16],
    pub memory_kib: u32,
    pub passes: u32,
    pub lanes: u32,
}

/// A session that was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    pub principal: String,
    pub session_id: Uuid,
    pub expires_at: String,
}

/// What a new session is recognised by: digests only.
#[derive(Debug, Clone, Copy)]
pub struct NewSession {
    pub session_id: Uuid,
    pub token_sha256: [u8; 32],
    pub csrf_sha256: [u8; 32],
}

/// A token of a program, without what it is recognised by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiToken {
    pub token_id: Uuid,
    pub principal: String,
    pub label: String,
    pub scopes: Vec<String>,
    pub issued_at: String,
    pub issued_by: String,
    pub expires_at: String,
    pub revoked_at: Option<String>,
    pub revoke_reason: Option<String>,
}

/// A token that is to be made.
#[derive(Debug, Clone, Copy)]
pub struct NewToken<'a> {
    pub token_id: Uuid,
    pub principal: &'a str,
    pub label: &'a str,
    pub scopes: &'a [String],
    pub seconds: i64,
    pub token_sha256: [u8; 32],
    /// The token that asks for it, where one does: it gives no more than it has.
    pub by_token: Option<Uuid>,
    pub acted_by: Option<&'a str>,
}

/// A public key that a person asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRequest {
    pub request_id: Uuid,
    pub principal: String,
    /// Hex.
    pub public_key: String,
    /// SHA-256 of the public key, hex.
    pub fingerprint: String,
    pub requested_at: String,
    pub settled_at: Option<String>,
    /// `accepted` or `refused`.
    pub outcome: Option<String>,
}

/// Something that can be done to a run, as the database judges it for one reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    pub name: String,
    pub label: String,
    pub to: String,
    pub actor_class: String,
    pub allowed: bool,
    /// What stands against it.
    pub problems: Vec<Value>,
    /// What the caller still has to bring.
    pub needs: Vec<Value>,
}

/// What can be permitted, and to whom it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permission {
    pub permission: String,
    pub description: String,
    pub actor_classes: Vec<String>,
}

#[derive(Deserialize)]
struct Salt {
    salt: String,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

impl Store {
    /// Whose the session or token with this digest is.
    ///
    /// # Errors
    /// `Refused` when it is nobody's, has expired, was ended, or its principal is not active.
    pub async fn fn_bearer(&self, how: &str, sha256: &[u8; 32]) -> Result<Bearer, Error> {
        let bearer: Value = sqlx::query_scalar("select identity.fn_bearer($1, $2)")
            .bind(how)
            .bind(&sha256[..])
            .fetch_one(&self.pool)
            .await?;
        decode(bearer)
    }

    /// What a password of this name is hashed with; names that nobody has get an answer as well.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_sign_in_salt(&self, name: &str) -> Result<Argon2id, Error> {
        let salt: Value = sqlx::query_scalar("select identity.fn_sign_in_salt($1)")
            .bind(name)
            .fetch_one(&self.pool)
            .await?;
        let Salt { salt, memory_kib, passes, lanes } = decode(salt)?;
        let mut bytes = [0; 16];
        hex::decode_to_slice(&salt, &mut bytes)
            .map_err(|error| Error::Schema(format!("a salt is 16 bytes in hex: {error}")))?;
        Ok(Argon2id { salt: bytes, memory_kib, passes, lanes })
    }

    /// Signs a person in who shows the right hash.
    ///
    /// # Errors
    /// `Refused` when name or password are wrong, or too many were.
    pub async fn fn_sign_in(
        &self,
        name: &str,
        hash: &[u8; 32],
        session: NewSession,
    ) -> Result<Opened, Error> {
        let report: Value = sqlx::query_scalar("select identity.fn_sign_in($1, $2, $3, $4, $5)")
            .bind(name)
            .bind(&hash[..])
            .bind(session.session_id)
            .bind(&session.token_sha256[..])
            .bind(&session.csrf_sha256[..])
            .fetch_one(&self.pool)
            .await?;
        decode(self.judged(report).await?)
    }

    /// Wrong passwords are counted, so their doors answer where others raise.
    async fn judged(&self, report: Value) -> Result<Value, Error> {
        if report["ok"] == true {
            return Ok(report);
        }
        let problems: Vec<Problem> = decode(report["problems"].clone())?;
        let code = problems.first().map_or(Code::RI044, |problem| problem.code);
        Err(Error::Refused(Box::new(self.refusal(code, problems).await?)))
    }

    /// Signs in whom a provider vouches for.
    ///
    /// # Errors
    /// `Refused` when the identity is not linked, or its principal not active.
    pub async fn fn_sign_in_oidc(
        &self,
        issuer: &str,
        subject: &str,
        session: NewSession,
    ) -> Result<Opened, Error> {
        let report: Value =
            sqlx::query_scalar("select identity.fn_sign_in_oidc($1, $2, $3, $4, $5)")
                .bind(issuer)
                .bind(subject)
                .bind(session.session_id)
                .bind(&session.token_sha256[..])
                .bind(&session.csrf_sha256[..])
                .fetch_one(&self.pool)
                .await?;
        decode(report)
    }

    /// Ends a session.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_session_end(&self, session_id: Uuid) -> Result<(), Error> {
        sqlx::query("select identity.fn_session_end($1)")
            .bind(session_id)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Gives a person a password, as its hash. Whoever is not the operator shows the old one.
    ///
    /// # Errors
    /// `Refused` for who is no person, when the old one is wrong, or too many were.
    pub async fn fn_password_set(
        &self,
        principal: &str,
        how: Argon2id,
        hash: &[u8; 32],
        old_hash: Option<&[u8; 32]>,
        acted_by: Option<&str>,
    ) -> Result<(), Error> {
        let number = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        let report: Value =
            sqlx::query_scalar("select identity.fn_password_set($1, $2, $3, $4, $5, $6, $7, $8)")
                .bind(principal)
                .bind(&how.salt[..])
                .bind(&hash[..])
                .bind(number(how.memory_kib))
                .bind(number(how.passes))
                .bind(number(how.lanes))
                .bind(old_hash.map(|hash| &hash[..]))
                .bind(acted_by)
                .fetch_one(&self.pool)
                .await?;
        self.judged(report).await.map(drop)
    }

    /// Makes a token.
    ///
    /// # Errors
    /// `Refused` when it would be more than its principal may, or live too long.
    pub async fn fn_token_issue(&self, token: &NewToken<'_>) -> Result<ApiToken, Error> {
        let issued: Value =
            sqlx::query_scalar("select identity.fn_token_issue($1, $2, $3, $4, $5, $6, $7, $8)")
                .bind(token.token_id)
                .bind(token.principal)
                .bind(token.label)
                .bind(token.scopes)
                .bind(token.seconds)
                .bind(&token.token_sha256[..])
                .bind(token.by_token)
                .bind(token.acted_by)
                .fetch_one(&self.pool)
                .await?;
        decode(issued)
    }

    /// Makes a token good for nothing.
    ///
    /// # Errors
    /// `Refused` for somebody else's token, or without a reason.
    pub async fn fn_token_revoke(
        &self,
        token_id: Uuid,
        reason: &str,
        acted_by: Option<&str>,
    ) -> Result<ApiToken, Error> {
        let token: Value = sqlx::query_scalar("select identity.fn_token_revoke($1, $2, $3)")
            .bind(token_id)
            .bind(reason)
            .bind(acted_by)
            .fetch_one(&self.pool)
            .await?;
        decode(token)
    }

    /// Tokens of one principal, or of all, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn api_tokens(&self, principal: Option<&str>) -> Result<Vec<ApiToken>, Error> {
        let tokens: Vec<Value> = sqlx::query_scalar(
            "select to_jsonb(t) from identity.v_api_token t where $1::text is null or t.principal = $1
              order by t.issued_at desc, t.token_id",
        )
        .bind(principal)
        .fetch_all(&self.pool)
        .await?;
        tokens.into_iter().map(decode).collect()
    }

    /// Everything that can be permitted.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn permissions(&self) -> Result<Vec<Permission>, Error> {
        let permissions: Vec<Value> = sqlx::query_scalar(
            "select jsonb_build_object('permission', v.permission, 'description', v.description,
                      'actor_classes', coalesce(jsonb_agg(v.actor_class order by v.actor_class) filter (where v.actor_class is not null), '[]'))
               from identity.v_class_permission v group by v.permission, v.description order by v.permission",
        )
        .fetch_all(&self.pool)
        .await?;
        permissions.into_iter().map(decode).collect()
    }

    /// Links an identity of a provider to a principal.
    ///
    /// # Errors
    /// `Refused` when it is somebody else's.
    pub async fn fn_oidc_link(
        &self,
        issuer: &str,
        subject: &str,
        principal: &str,
        acted_by: Option<&str>,
    ) -> Result<(), Error> {
        sqlx::query("select identity.fn_oidc_link($1, $2, $3, $4)")
            .bind(issuer)
            .bind(subject)
            .bind(principal)
            .bind(acted_by)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Asks the operator to accept a public key; with the word of a live key that it replaces, nobody has to.
    ///
    /// # Errors
    /// `Refused` for a key that somebody has, or when the old key is not live, not theirs, or did not sign this.
    pub async fn fn_key_request(
        &self,
        request_id: Uuid,
        principal: &str,
        public_key: &[u8],
        possession: &[u8],
        replaces: Option<&Signed>,
    ) -> Result<KeyRequest, Error> {
        let request: Value =
            sqlx::query_scalar("select identity.fn_key_request($1, $2, $3, $4, $5, $6)")
                .bind(request_id)
                .bind(principal)
                .bind(public_key)
                .bind(possession)
                .bind(replaces.map(|old| old.key_id))
                .bind(replaces.map(|old| old.signature.as_slice()))
                .fetch_one(&self.pool)
                .await?;
        decode(request)
    }

    /// Accepts or refuses a key that was asked for.
    ///
    /// # Errors
    /// `Refused` when there is no such request, or it was settled otherwise.
    pub async fn fn_key_request_settle(
        &self,
        request_id: Uuid,
        accept: bool,
        acted_by: Option<&str>,
    ) -> Result<KeyRequest, Error> {
        let request: Value =
            sqlx::query_scalar("select identity.fn_key_request_settle($1, $2, $3)")
                .bind(request_id)
                .bind(accept)
                .bind(acted_by)
                .fetch_one(&self.pool)
                .await?;
        decode(request)
    }

    /// Keys that were asked for, of one principal or of all, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn key_requests(&self, principal: Option<&str>) -> Result<Vec<KeyRequest>, Error> {
        let requests: Vec<Value> = sqlx::query_scalar(
            "select to_jsonb(r) from identity.v_key_request r where $1::text is null or r.principal = $1
              order by r.requested_at desc, r.request_id",
        )
        .bind(principal)
        .fetch_all(&self.pool)
        .await?;
        requests.into_iter().map(decode).collect()
    }

    /// What can be done to a run, and whether the reader may.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_actions(
        &self,
        run_kind: &str,
        run_id: Uuid,
        reader: &str,
    ) -> Result<Vec<Action>, Error> {
        let actions: Value = sqlx::query_scalar("select fsm.fn_actions($1, $2, $3)")
            .bind(run_kind)
            .bind(run_id)
            .bind(reader)
            .fetch_one(&self.pool)
            .await?;
        decode(actions)
    }
}

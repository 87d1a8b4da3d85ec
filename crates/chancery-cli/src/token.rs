//! `chancery token …`: what programs show the HTTP API.

use std::time::Duration;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use chancery_store::Role;
use chancery_store::access::{ApiToken, NewToken};
use clap::{Args, Subcommand};
use rand::RngCore as _;
use rand::rngs::OsRng;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::Context;
use crate::approval::duration;
use crate::failure::{Failure, Outcome};
use crate::output::{pairs, table, time};
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a token for a principal; it is shown once
    #[command(after_help = "\
A token has the permissions that are named, as long as its principal has them. `chancery token permissions` lists them.

Example:
  $ chancery token new --for scanner --label nightly --scope queue.work --scope queue.read
  $ chancery token new --for scanner --label nightly --scope queue.work --expires 90d --json")]
    New(New),
    /// List tokens, of all or of one
    #[command(after_help = "Example:\n  $ chancery token list scanner")]
    List {
        /// The principal
        name: Option<String>,
    },
    /// Revoke a token for ever
    #[command(
        after_help = "Example:\n  $ chancery token revoke 0197… --reason 'the laptop was lost'"
    )]
    Revoke {
        /// The token's id
        token_id: Uuid,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// List what can be permitted, and to which classes it is
    #[command(after_help = "Example:\n  $ chancery token permissions")]
    Permissions,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The principal, as with --for
    #[arg(
        value_name = "PRINCIPAL",
        required_unless_present = "principal",
        conflicts_with = "principal"
    )]
    name: Option<String>,
    /// The principal that the token is for
    #[arg(long = "for", value_name = "PRINCIPAL", value_parser = named)]
    principal: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    label: String,
    /// A permission; may be given several times
    #[arg(long = "scope", value_name = "PERMISSION", value_delimiter = ',', required = true)]
    scopes: Vec<String>,
    /// How long it is good: 30d, 12h
    #[arg(long = "expires", value_name = "DURATION", default_value = "30d", value_parser = duration)]
    life: Duration,
}

/// The name of a principal. Earlier releases took the lifetime here, which no name looks like.
fn named(text: &str) -> Result<String, String> {
    match duration(text) {
        Ok(_) => {
            Err("--for names the principal; how long the token is good is --expires".to_owned())
        }
        Err(_) => Ok(text.to_owned()),
    }
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::Migrator).await?;
    let acted_by = context.config.principal.clone();
    let acted_by = acted_by.as_deref();
    match command {
        Command::New(New { name, principal, label, scopes, life }) => {
            let name = name.or(principal).unwrap_or_default();
            let mut bytes = [0; 32];
            OsRng.fill_bytes(&mut bytes);
            let secret = format!("chy_{}", BASE64_URL_SAFE_NO_PAD.encode(bytes));
            let token = NewToken {
                token_id: Uuid::now_v7(),
                principal: &name,
                label: &label,
                scopes: &scopes,
                seconds: i64::try_from(life.as_secs()).unwrap_or(i64::MAX),
                token_sha256: Sha256::digest(&secret).into(),
                by_token: None,
                acted_by,
            };
            let token = store.fn_token_issue(&token).await?;
            context.out.note("the token is shown this once; the database keeps a digest of it");
            let shown = json!({ "secret": secret, "token": token });
            context.out.answer(&shown, || format!("{secret}\n\n{}", text(&token)))?;
        }
        Command::List { name } => {
            let tokens = store.api_tokens(name.as_deref()).await?;
            if tokens.is_empty() {
                context.out.note("there are no tokens; make one with `chancery token new`");
            }
            context.out.answer(&tokens, || list(&tokens))?;
        }
        Command::Revoke { token_id, reason } => {
            let token = store.fn_token_revoke(token_id, &reason, acted_by).await?;
            context.out.answer(&token, || text(&token))?;
        }
        Command::Permissions => {
            let permissions = store.permissions().await?;
            context.out.answer(&permissions, || {
                table(
                    &["permission", "what", "classes"],
                    permissions.iter().map(|one| {
                        let classes = one.actor_classes.join(", ");
                        vec![one.permission.clone(), one.description.clone(), classes]
                    }),
                )
            })?;
        }
    }
    Ok(Outcome::Done)
}

fn text(token: &ApiToken) -> String {
    pairs(&[
        ("token", token.token_id.to_string()),
        ("principal", token.principal.clone()),
        ("label", token.label.clone()),
        ("scopes", token.scopes.join(", ")),
        ("issued", time(&token.issued_at)),
        ("expires", time(&token.expires_at)),
        ("revoked", token.revoked_at.as_deref().map(time).unwrap_or_default()),
        ("reason", token.revoke_reason.clone().unwrap_or_default()),
    ])
}

fn list(tokens: &[ApiToken]) -> String {
    table(
        &["token", "principal", "label", "scopes", "expires", "revoked"],
        tokens.iter().map(|token| {
            vec![
                token.token_id.to_string(),
                token.principal.clone(),
                token.label.clone(),
                token.scopes.join(", "),
                time(&token.expires_at),
                token.revoked_at.as_deref().map(time).unwrap_or_default(),
            ]
        }),
    )
}

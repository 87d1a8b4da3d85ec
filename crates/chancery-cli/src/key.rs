//! `chancery key …`: what principals sign with. Private keys stay in files of the data directory.

use chancery_engine::identity;
use chancery_store::access::KeyRequest;
use chancery_store::identity::SigningKey;
use chancery_store::{Role, Store};
use clap::Subcommand;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::failure::{Failure, Outcome};
use crate::output::{pairs, table, time, yes_no};
use crate::session::Session;
use crate::{Context, principal};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a key for a principal and register its public half
    #[command(after_help = "Example:\n  $ chancery key new alice")]
    New {
        /// The principal
        name: String,
    },
    /// Replace a principal's keys by a new one; what the old ones signed stays good
    #[command(after_help = "Example:\n  $ chancery key rotate alice")]
    Rotate {
        /// The principal
        name: String,
    },
    /// Revoke a key for ever; what it signed before stays good
    #[command(
        after_help = "Example:\n  $ chancery key revoke 0197… --reason 'the laptop was lost'"
    )]
    Revoke {
        /// The key
        key_id: Uuid,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Print a principal's public keys with their fingerprints
    #[command(after_help = "Example:\n  $ chancery key export alice")]
    Export {
        /// The principal
        name: String,
    },
    /// List all keys, and which of them lie in this data directory
    #[command(after_help = "Example:\n  $ chancery key list")]
    List,
    /// List keys that people made in their browsers and asked for
    #[command(after_help = "Example:\n  $ chancery key requests")]
    Requests {
        /// Also those that were settled
        #[arg(long)]
        all: bool,
    },
    /// Accept a key that a person asked for: from now on it signs for them
    #[command(after_help = "\
Ask the person for the fingerprint that their browser shows, over another channel, and compare it.

Example:
  $ chancery key accept 0197…")]
    Accept {
        /// The request
        request_id: Uuid,
    },
    /// Refuse a key that somebody asked for
    #[command(after_help = "Example:\n  $ chancery key refuse 0197…")]
    Refuse {
        /// The request
        request_id: Uuid,
    },
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::Migrator).await?;
    let keystore = context.config.keystore();
    let acted_by = context.config.principal.clone();
    let acted_by = acted_by.as_deref();
    match command {
        Command::New { name } => {
            let key = identity::new_key(&store, &keystore, &name, acted_by).await?;
            made(context, &key)?;
        }
        Command::Rotate { name } => {
            let key = identity::rotate_key(&store, &keystore, &name, acted_by).await?;
            made(context, &key)?;
        }
        Command::Revoke { key_id, reason } => {
            let key = store.fn_key_revoke(key_id, &reason, acted_by).await?;
            context.out.answer(&key, || text(&key))?;
        }
        Command::Export { name } => export(context, &store, &name).await?,
        Command::List => {
            let keys = store.signing_keys().await?;
            let mut here = Vec::new();
            for key in &keys {
                here.extend(
                    keystore.list(&key.principal)?.into_iter().filter(|id| *id == key.key_id),
                );
            }
            if keys.is_empty() {
                context.out.note("there are no keys yet; make one with `chancery key new NAME`");
            }
            context.out.answer(&with_place(&keys, &here), || list(&keys, &here))?;
        }
        Command::Requests { all } => {
            let mut requests = store.key_requests(None).await?;
            requests.retain(|request| all || request.outcome.is_none());
            if requests.is_empty() {
                context.out.note("nobody asks for a key");
            }
            context.out.answer(&requests, || asked_for(&requests))?;
        }
        Command::Accept { request_id } => settle(context, &store, request_id, true).await?,
        Command::Refuse { request_id } => settle(context, &store, request_id, false).await?,
    }
    Ok(Outcome::Done)
}

async fn settle(
    context: &mut Context,
    store: &Store,
    request_id: Uuid,
    accept: bool,
) -> Result<(), Failure> {
    let acted_by = context.config.principal.clone();
    let request = store.fn_key_request_settle(request_id, accept, acted_by.as_deref()).await?;
    context.out.answer(&request, || asked_for(std::slice::from_ref(&request)))
}

fn asked_for(requests: &[KeyRequest]) -> String {
    table(
        &["request", "principal", "fingerprint (sha-256)", "asked", "outcome"],
        requests.iter().map(|request| {
            vec![
                request.request_id.to_string(),
                request.principal.clone(),
                request.fingerprint.clone(),
                time(&request.requested_at),
                request.outcome.clone().unwrap_or_default(),
            ]
        }),
    )
}

fn made(context: &mut Context, key: &SigningKey) -> Result<(), Failure> {
    let file = context.config.keystore().path(&key.principal, key.key_id);
    context
        .out
        .note(&format!("the private key lies in {}; only its owner can read it", file.display()));
    context.out.answer(key, || text(key))
}

async fn export(context: &mut Context, store: &Store, name: &str) -> Result<(), Failure> {
    principal::find(store, name).await?;
    let mut keys = store.signing_keys().await?;
    keys.retain(|key| key.principal == name);
    if keys.is_empty() {
        context.out.note(&format!("{name} has no key; make one with `chancery key new {name}`"));
    }
    context.out.answer(&keys, || {
        table(
            &["key", "public key (ed25519, hex)", "fingerprint (sha-256)", "revoked"],
            keys.iter().map(|key| {
                let revoked = key.revoked_at.as_deref().map(time).unwrap_or_default();
                vec![
                    key.key_id.to_string(),
                    key.public_key.clone(),
                    key.fingerprint.clone(),
                    revoked,
                ]
            }),
        )
    })
}

/// Keys, with whether their private halves lie here.
pub(crate) fn list(keys: &[SigningKey], here: &[Uuid]) -> String {
    table(
        &["key", "principal", "fingerprint", "registered", "here", "revoked"],
        keys.iter().map(|key| {
            let revoked = match (&key.revoked_at, &key.revoke_reason) {
                (Some(at), Some(reason)) => format!("{}: {reason}", time(at)),
                (at, _) => at.as_deref().map(time).unwrap_or_default(),
            };
            vec![
                key.key_id.to_string(),
                key.principal.clone(),
                key.fingerprint.chars().take(16).collect(),
                time(&key.registered_at),
                yes_no(here.contains(&key.key_id)),
                revoked,
            ]
        }),
    )
}

fn with_place(keys: &[SigningKey], here: &[Uuid]) -> Vec<Value> {
    let with_place = |key: &SigningKey| {
        let mut value = json!(key);
        value["here"] = json!(here.contains(&key.key_id));
        value
    };
    keys.iter().map(with_place).collect()
}

fn text(key: &SigningKey) -> String {
    pairs(&[
        ("key", key.key_id.to_string()),
        ("principal", key.principal.clone()),
        ("public key", key.public_key.clone()),
        ("fingerprint", key.fingerprint.clone()),
        ("registered", time(&key.registered_at)),
        ("supersedes", key.supersedes.map(|id| id.to_string()).unwrap_or_default()),
        ("revoked", key.revoked_at.as_deref().map(time).unwrap_or_default()),
        ("reason", key.revoke_reason.clone().unwrap_or_default()),
    ])
}

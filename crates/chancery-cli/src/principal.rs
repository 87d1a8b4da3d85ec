//! `chancery principal …`: who can act.

use chancery_model::refusal::Code;
use chancery_store::identity::{Principal, SigningKey};
use chancery_store::{Role, Store};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use crate::failure::{Failure, Outcome};
use crate::output::{pairs, table, time, yes_no};
use crate::password::new_password;
use crate::session::{Session, refusal};
use crate::{Context, key};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a principal, or more classes to one
    #[command(after_help = "\
Classes: system, pic_human, task_pic_human, reviewer, executor_worker, mow_orchestrator, \
escalation_handler, \
sovereign, review_authority, executor_dot991, verifier_dot992, observer

Example:
  $ chancery principal add alice --kind human --class pic_human --class reviewer")]
    Add(Add),
    /// Take classes away from a principal; what it did with them stays
    #[command(after_help = "Example:\n  $ chancery principal revoke alice --class reviewer")]
    Revoke {
        /// The principal
        name: String,
        /// An actor class it holds no longer; may be given several times
        #[arg(long = "class", value_name = "CLASS", value_delimiter = ',', required = true)]
        classes: Vec<String>,
    },
    /// List all principals
    #[command(after_help = "Example:\n  $ chancery principal list")]
    List,
    /// Show one principal with its keys
    #[command(after_help = "Example:\n  $ chancery principal show alice")]
    Show {
        /// The principal
        name: String,
    },
    /// Let a principal act no longer; what it did stays
    #[command(after_help = "Example:\n  $ chancery principal deactivate alice")]
    Deactivate {
        /// The principal
        name: String,
    },
    /// Let a principal act again
    #[command(after_help = "Example:\n  $ chancery principal activate alice")]
    Activate {
        /// The principal
        name: String,
    },
    /// Set a person's password; every session of theirs ends
    #[command(after_help = "\
It is asked for twice, or read from stdin, one line. It is kept as argon2id.

Example:
  $ chancery principal password alice
  $ pass show alice | chancery principal password alice --stdin")]
    Password {
        /// The principal
        name: String,
        /// Read it from stdin
        #[arg(long)]
        stdin: bool,
    },
    /// Say that an identity of a provider of OpenID Connect is this principal
    #[command(
        after_help = "Example:\n  $ chancery principal link alice --issuer https://login.example.org --subject 248289761001"
    )]
    Link {
        /// The principal
        name: String,
        /// The provider, exactly as it spells itself
        #[arg(long, value_name = "URL")]
        issuer: String,
        /// Who it is there: the claim `sub`
        #[arg(long, value_name = "SUB")]
        subject: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The name, for ever: lower case letters, digits, dot, dash, underscore
    name: String,
    /// What it is
    #[arg(long)]
    kind: Kind,
    /// An actor class it holds; may be given several times
    #[arg(long = "class", value_name = "CLASS", value_delimiter = ',')]
    classes: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Human,
    Agent,
    Service,
}

impl Kind {
    const fn code(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::Service => "service",
        }
    }
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::Migrator).await?;
    let acted_by = context.config.principal.clone();
    let acted_by = acted_by.as_deref();
    match command {
        Command::Add(Add { name, kind, classes }) => {
            let principal = store.fn_principal_add(&name, kind.code(), &classes, acted_by).await?;
            answer(context, &principal)?;
        }
        Command::Revoke { name, classes } => {
            let principal = store.fn_principal_revoke(&name, &classes, acted_by).await?;
            answer(context, &principal)?;
        }
        Command::List => {
            let principals = store.principals().await?;
            if principals.is_empty() {
                context
                    .out
                    .note("there are no principals yet; add one with `chancery principal add`");
            }
            context.out.answer(&principals, || list(&principals))?;
        }
        Command::Show { name } => show(context, &store, &name).await?,
        Command::Deactivate { name } => {
            let principal = store.fn_principal_set_active(&name, false, acted_by).await?;
            answer(context, &principal)?;
        }
        Command::Activate { name } => {
            let principal = store.fn_principal_set_active(&name, true, acted_by).await?;
            answer(context, &principal)?;
        }
        Command::Password { name, stdin } => {
            find(&store, &name).await?;
            let password = new_password(&name, stdin)?;
            let how = chancery_server::fresh_salt();
            let hash = chancery_server::hashed_password(password.as_bytes(), how)
                .ok_or_else(|| Failure::Failed("argon2id has no memory".to_owned()))?;
            store.fn_password_set(&name, how, &hash, None, acted_by).await?;
            context.out.note("sessions that were open are over");
            answer(context, &find(&store, &name).await?)?;
        }
        Command::Link { name, issuer, subject } => {
            store.fn_oidc_link(&issuer, &subject, &name, acted_by).await?;
            let linked = json!({ "principal": name, "issuer": issuer, "subject": subject });
            context.out.answer(&linked, || {
                pairs(&[("principal", name), ("issuer", issuer), ("subject", subject)])
            })?;
        }
    }
    Ok(Outcome::Done)
}

/// The principal of that name, or the refusal that there is none.
pub(crate) async fn find(store: &Store, name: &str) -> Result<Principal, Failure> {
    match store.principals().await?.into_iter().find(|principal| principal.name == name) {
        Some(principal) => Ok(principal),
        None => Err(refusal(store, Code::RI001, json!({ "principal": name })).await),
    }
}

async fn show(context: &mut Context, store: &Store, name: &str) -> Result<(), Failure> {
    let principal = find(store, name).await?;
    let mut keys: Vec<SigningKey> = store.signing_keys().await?;
    keys.retain(|key| key.principal == name);
    let here = context.config.keystore().list(name)?;
    context.out.answer(&json!({ "principal": principal, "keys": keys }), || {
        let keys = key::list(&keys, &here);
        [text(&principal), keys]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n\n")
    })
}

fn answer(context: &mut Context, principal: &Principal) -> Result<(), Failure> {
    context.out.answer(principal, || text(principal))
}

fn text(principal: &Principal) -> String {
    pairs(&[
        ("principal", principal.name.clone()),
        ("kind", principal.kind.clone()),
        ("active", yes_no(principal.active)),
        ("classes", principal.actor_classes.join(", ")),
        ("live keys", principal.live_keys.to_string()),
        ("since", time(&principal.created_at)),
    ])
}

fn list(principals: &[Principal]) -> String {
    table(
        &["principal", "kind", "active", "live keys", "classes"],
        principals.iter().map(|principal| {
            vec![
                principal.name.clone(),
                principal.kind.clone(),
                yes_no(principal.active),
                principal.live_keys.to_string(),
                principal.actor_classes.join(", "),
            ]
        }),
    )
}

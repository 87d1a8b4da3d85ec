//! `chancery queue class …` and `chancery queue policy …`: who can do jobs, and how often they are tried. The operator's.

use std::time::Duration;

use chancery_store::Role;
use clap::{Args, Subcommand};

use super::add::delay;
use crate::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{table, yes_no};
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Class {
    /// List executor classes with their policies
    #[command(after_help = "Example:\n  $ chancery queue class list")]
    List,
    /// Put an executor class into the registry, or change it; prints its name
    #[command(after_help = "\
Leases from now on follow it. An inactive class takes no jobs and gives none out.

Example:
  $ chancery queue class put post --policy patient --lease 2m --description 'Posts letters'
  $ chancery queue class put post --policy patient --inactive --description 'Closed for now'")]
    Put(PutClass),
}

#[derive(Debug, Args)]
pub(crate) struct PutClass {
    /// Its name: small letters, digits and _
    class: String,
    /// The retry policy
    #[arg(long, value_name = "POLICY", default_value = "standard")]
    policy: String,
    /// How long a worker has a job before it must report or extend
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = delay)]
    lease: Duration,
    /// How large a payload may be, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 16_384)]
    max_payload: i32,
    /// Takes no jobs and gives none out
    #[arg(long)]
    inactive: bool,
    /// What it does, in words
    #[arg(long, value_name = "TEXT")]
    description: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// List retry policies
    #[command(after_help = "Example:\n  $ chancery queue policy list")]
    List,
    /// Put a retry policy into the registry, or change it; prints its name
    #[command(after_help = "\
The n-th failure is followed by first × factor^(n-1), at most longest, less a random share of it. Failures from now on follow it.

Example:
  $ chancery queue policy put brisk --tries 3 --first 200ms --factor 2 --longest 5s --jitter 0.5 --description 'Three quick tries'")]
    Put(PutPolicy),
}

#[derive(Debug, Args)]
pub(crate) struct PutPolicy {
    /// Its name: small letters, digits and _
    policy: String,
    /// How often a job is tried
    #[arg(long, value_name = "N")]
    tries: i32,
    /// How long a job waits after its first failure
    #[arg(long, value_name = "DURATION", value_parser = delay)]
    first: Duration,
    /// How much longer it waits each time
    #[arg(long, value_name = "NUMBER", default_value_t = 2.0)]
    factor: f64,
    /// How long it waits at most
    #[arg(long, value_name = "DURATION", value_parser = delay)]
    longest: Duration,
    /// The random share that is taken off, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.25)]
    jitter: f64,
    /// What it is for, in words
    #[arg(long, value_name = "TEXT")]
    description: String,
}

pub(super) async fn class(context: &mut Context, command: Class) -> Result<Outcome, Failure> {
    let put = match command {
        Class::List => return list_classes(context).await,
        Class::Put(put) => put,
    };
    let store = Session::open(context).await?.store(Role::Migrator).await?;
    let lease = i32::try_from(put.lease.as_secs()).unwrap_or(i32::MAX);
    let answer = store
        .fn_executor_class_put(
            &put.class,
            &put.policy,
            lease,
            put.max_payload,
            !put.inactive,
            &put.description,
        )
        .await?;
    context.out.answer(&answer, || put.class.clone())?;
    Ok(Outcome::Done)
}

async fn list_classes(context: &mut Context) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let classes = store.executor_classes().await?;
    context.out.answer(&classes, || {
        table(
            &["class", "active", "policy", "tries", "lease", "payload", "description"],
            classes.iter().map(|class| {
                vec![
                    class.executor_class.clone(),
                    yes_no(class.active),
                    class.policy.clone(),
                    class.max_attempts.to_string(),
                    format!("{} s", class.lease_seconds),
                    format!("{} bytes", class.max_payload_bytes),
                    class.description.clone(),
                ]
            }),
        )
    })?;
    Ok(Outcome::Done)
}

pub(super) async fn policy(context: &mut Context, command: Policy) -> Result<Outcome, Failure> {
    let put = match command {
        Policy::List => return list_policies(context).await,
        Policy::Put(put) => put,
    };
    let store = Session::open(context).await?.store(Role::Migrator).await?;
    let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    let answer = store
        .fn_retry_policy_put(
            &put.policy,
            put.tries,
            millis(put.first),
            put.factor,
            millis(put.longest),
            put.jitter,
            &put.description,
        )
        .await?;
    context.out.answer(&answer, || put.policy.clone())?;
    Ok(Outcome::Done)
}

async fn list_policies(context: &mut Context) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let policies = store.retry_policies().await?;
    context.out.answer(&policies, || {
        table(
            &["policy", "tries", "first", "factor", "longest", "jitter", "description"],
            policies.iter().map(|policy| {
                vec![
                    policy.policy.clone(),
                    policy.max_attempts.to_string(),
                    format!("{} ms", policy.base_delay_ms),
                    policy.factor.to_string(),
                    format!("{} ms", policy.max_delay_ms),
                    policy.jitter.to_string(),
                    policy.description.clone(),
                ]
            }),
        )
    })?;
    Ok(Outcome::Done)
}

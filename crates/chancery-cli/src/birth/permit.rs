//! `chancery birth check|batch|revoke|break-glass`: permits, and doing without them.

use std::io::Read as _;
use std::time::Duration;

use chancery_engine::admission::{self, BREAKING_CLASSES, COMMAND, Object, REVOKING_CLASSES};
use chancery_model::strict_json;
use chancery_store::Role;
use chancery_store::birth::Ask;
use clap::Args;
use serde_json::json;
use uuid::Uuid;

use super::Requester;
use crate::Context;
use crate::acting::Acting;
use crate::failure::{Failure, Outcome};
use crate::output::{table, time, yes_no};
use crate::session::Session;

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The table under admission
    #[arg(long, value_name = "NAME")]
    collection: String,
    /// The code of the object
    #[arg(long, value_name = "CODE")]
    code: String,
    /// What it is called
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
}

pub(super) async fn check(context: &mut Context, args: &Check) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let family = admission::family(&store, &args.collection).await?;
    let name = args.name.as_deref();
    let answer =
        store.fn_pre_birth_check(&family.collection_name, &args.code, name, COMMAND).await?;
    context.out.answer(&answer, || {
        table(
            &["check", "ok", "why"],
            answer.checks.iter().map(|check| {
                vec![check.check.clone(), yes_no(check.ok), check.why.clone().unwrap_or_default()]
            }),
        )
    })?;
    Ok(if answer.ok { Outcome::Done } else { Outcome::Refused })
}

pub(super) const BATCH_EXAMPLES: &str = "\
The file has a code a line, or a JSON object a line (code, name, species, role, payload). All of them get a permit, or none. The \
rows are then inserted by whoever may, in any number of statements, before the permits run out. The same file again finds the same \
permits.

Example:
  $ chancery birth batch --collection shop.film --file codes.txt --as alice
  $ chancery birth batch --collection shop.film --file - --as alice < films.ndjson";

#[derive(Debug, Args)]
pub(crate) struct Batch {
    /// The table under admission
    #[arg(long, value_name = "NAME")]
    collection: String,
    /// The manifest, or - for stdin
    #[arg(long, value_name = "CODES")]
    file: String,
    /// The actor class to act in
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

impl Batch {
    fn objects(&self) -> Result<Vec<Object>, Failure> {
        let mut text = String::new();
        let read = match self.file.as_str() {
            "-" => std::io::stdin().read_to_string(&mut text),
            file => std::fs::read_to_string(file).map(|whole| {
                text = whole;
                text.len()
            }),
        };
        read.map_err(|error| Failure::Usage(format!("{}: {error}", self.file)))?;
        let lines = text.lines().zip(1_usize..).filter(|(line, _)| !line.trim().is_empty());
        let objects: Vec<Object> =
            lines.map(|(line, number)| self.line(line.trim(), number)).collect::<Result<_, _>>()?;
        if objects.is_empty() {
            return Err(Failure::Usage(format!("{} has no codes", self.file)));
        }
        Ok(objects)
    }

    fn line(&self, line: &str, number: usize) -> Result<Object, Failure> {
        let collection = self.collection.clone();
        if !line.starts_with('{') {
            return Ok(Object { collection, code: line.to_owned(), ..Object::default() });
        }
        let ask: Ask =
            strict_json::from_str(line).and_then(serde_json::from_value).map_err(|error| {
                Failure::Usage(format!("{}: line {number} is not a request: {error}", self.file))
            })?;
        if ask.permit_id.is_some() || ask.signature.is_some() {
            return Err(Failure::Usage(format!(
                "{}: line {number}: permit_id and signature are made here",
                self.file
            )));
        }
        let Ask { code, name, species, role, payload, .. } = ask;
        Ok(Object { collection, code, name, species, role, payload })
    }
}

pub(super) async fn batch(context: &mut Context, args: &Batch) -> Result<Outcome, Failure> {
    let objects = args.objects()?;
    let Requester { store, actor, class, .. } =
        Requester::open(context, args.class.as_deref()).await?;
    let family = admission::family(&store, &args.collection).await?;
    let reserved =
        admission::batch(&store, &actor, &class, &family, &objects, Uuid::now_v7()).await?;
    context.out.answer(&reserved, || {
        table(
            &["permit", "code", "status", "expires"],
            reserved.permits.iter().map(|permit| {
                vec![
                    permit.permit_id.to_string(),
                    permit.code.clone(),
                    permit.status.clone(),
                    time(&permit.expires_at),
                ]
            }),
        )
    })?;
    if !context.out.is_json() {
        let there = objects.len() as i64 - reserved.reserved;
        let before = if there > 0 { format!(", {there} there before") } else { String::new() };
        context.out.note(&format!("{} reserved{before}", reserved.reserved));
    }
    Ok(Outcome::Done)
}

#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// The permit
    permit: Uuid,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The actor class to act in
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

pub(super) async fn revoke(context: &mut Context, args: &Revoke) -> Result<Outcome, Failure> {
    let Acting { store, actor, class } =
        Acting::open(context, args.class.as_deref(), &REVOKING_CLASSES, &[Role::App]).await?;
    let permit = admission::revoke(&store, &actor, &class, args.permit, &args.reason).await?;
    if permit.replayed == Some(true) && !context.out.is_json() {
        context.out.note("it was revoked before; nothing was done twice");
    }
    context.out.answer(&permit, || permit.status.clone())?;
    Ok(Outcome::Done)
}

pub(super) const BREAK_GLASS_EXAMPLES: &str = "\
Without --approval the command asks for one, for exactly this reason and time, prints its id and ends with 4. Once somebody else has \
approved it, the same command with --approval breaks the glass. It ends by itself; every birth in that time says so, and a finding \
is open.

Example:
  $ chancery birth break-glass shop.film --reason 'import of the old shop' --minutes 30 --as alice
  $ chancery approval vote 0197… --approve --as carol
  $ chancery birth break-glass shop.film --reason 'import of the old shop' --minutes 30 --approval 0197… --as alice";

#[derive(Debug, Args)]
pub(crate) struct BreakGlass {
    /// The table under admission
    table: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// For how long
    #[arg(long, value_name = "N")]
    minutes: i32,
    /// The approval of exactly this
    #[arg(long, value_name = "UUID")]
    approval: Option<Uuid>,
    /// The actor class to act in
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

/// How long the approval can be given.
const APPROVAL_TIME: Duration = Duration::from_secs(24 * 3600);

pub(super) async fn break_glass(
    context: &mut Context,
    args: &BreakGlass,
) -> Result<Outcome, Failure> {
    let Acting { store, actor, class } =
        Acting::open(context, args.class.as_deref(), &BREAKING_CLASSES, &[Role::App]).await?;
    let family = admission::family(&store, &args.table).await?;
    let glass = admission::Glass {
        collection: family.collection_name,
        reason: args.reason.clone(),
        minutes: args.minutes,
    };
    let Some(approval) = args.approval else {
        let asked = glass.ask(&store, &actor, &class, APPROVAL_TIME).await?;
        context.out.answer(&json!({ "approval": asked, "waits": true }), || {
            asked.approval_id.to_string()
        })?;
        if !context.out.is_json() {
            context.out.note(&format!(
                "somebody else decides: `chancery approval vote {0} --approve`; then repeat this with --approval {0}",
                asked.approval_id
            ));
        }
        return Ok(Outcome::Paused);
    };
    let broken = glass.break_it(&store, &actor, &class, approval).await?;
    context
        .out
        .answer(&broken, || format!("{} until {}", broken.collection, time(&broken.expires_at)))?;
    Ok(Outcome::Done)
}

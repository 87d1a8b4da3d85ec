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

With --count the codes are the next ids of the sequence that the code column takes its default from. They are drawn for these permits, so \
nobody else gets them, and the INSERT names them; an id that is not used is a gap. The batch that is said makes the call repeatable.

Example:
  $ chancery birth batch --collection shop.film --file codes.txt --as alice
  $ chancery birth batch --collection shop.film --file - --as alice < films.ndjson
  $ chancery birth batch --collection shop.ticket --count 20 --as alice";

#[derive(Debug, Args)]
pub(crate) struct Batch {
    /// The table under admission
    #[arg(long, value_name = "NAME")]
    collection: String,
    /// The manifest, or - for stdin
    #[arg(long, value_name = "CODES", required_unless_present = "count", conflicts_with = "count")]
    file: Option<String>,
    /// So many permits for the next ids of the table, whatever they are; the answer names them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    count: Option<i32>,
    /// The batch to repeat, with --count: the same batch finds the permits it got before
    #[arg(long, value_name = "UUID", requires = "count")]
    batch: Option<Uuid>,
    /// The actor class to act in
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

impl Batch {
    fn objects(&self) -> Result<Vec<Object>, Failure> {
        let mut text = String::new();
        let name = self.file.as_deref().unwrap_or("-");
        let read = match name {
            "-" => std::io::stdin().read_to_string(&mut text),
            file => std::fs::read_to_string(file).map(|whole| {
                text = whole;
                text.len()
            }),
        };
        read.map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
        let lines = text.lines().zip(1_usize..).filter(|(line, _)| !line.trim().is_empty());
        let objects: Vec<Object> =
            lines.map(|(line, n)| self.line(name, line.trim(), n)).collect::<Result<_, _>>()?;
        if objects.is_empty() {
            return Err(Failure::Usage(format!("{name} has no codes")));
        }
        Ok(objects)
    }

    fn line(&self, name: &str, line: &str, number: usize) -> Result<Object, Failure> {
        let collection = self.collection.clone();
        if !line.starts_with('{') {
            return Ok(Object { collection, code: line.to_owned(), ..Object::default() });
        }
        let ask: Ask =
            strict_json::from_str(line).and_then(serde_json::from_value).map_err(|error| {
                Failure::Usage(format!("{name}: line {number} is not a request: {error}"))
            })?;
        if ask.permit_id.is_some() || ask.signature.is_some() {
            return Err(Failure::Usage(format!(
                "{name}: line {number}: permit_id and signature are made here"
            )));
        }
        let Ask { code, name: called, species, role, payload, .. } = ask;
        Ok(Object { collection, code, name: called, species, role, payload })
    }
}

pub(super) async fn batch(context: &mut Context, args: &Batch) -> Result<Outcome, Failure> {
    let objects = if args.count.is_some() { Vec::new() } else { args.objects()? };
    let Requester { store, actor, class, .. } =
        Requester::open(context, args.class.as_deref()).await?;
    let family = admission::family(&store, &args.collection).await?;
    let batch_id = args.batch.unwrap_or_else(Uuid::now_v7);
    let reserved = match args.count {
        Some(count) => {
            if args.batch.is_none() && !context.out.is_json() {
                // Said before it is done: whoever gets no answer can repeat it.
                context.out.note(&format!("batch {batch_id}"));
            }
            admission::batch_of(&store, &actor, &class, &family, count, batch_id).await?
        }
        None => admission::batch(&store, &actor, &class, &family, &objects, batch_id).await?,
    };
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
        let there = reserved.permits.len() as i64 - reserved.reserved;
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

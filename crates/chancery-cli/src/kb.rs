//! `chancery kb …`: documents in revisions, signed, and as a folder of files.

use std::path::PathBuf;

use chancery_engine::audit::{self, Pins};
use chancery_engine::kb::{self as engine, Writer};
use chancery_store::Role;
use chancery_store::kb::RevisionReport;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::Context;
use crate::acting::Acting;
use crate::doc::read;
use crate::failure::{Failure, Outcome};
use crate::output::{count, short, table, time};
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a document; prints the number of its newest revision
    #[command(after_help = "\
A path is lower case words joined by slashes. What was written stays; another text is the next revision, the same text is none.

Example:
  $ chancery kb put handbook/onboarding onboarding.md --as alice
  $ date | chancery kb put reports/today - --kind report --as alice
  $ chancery kb put handbook/onboarding onboarding.md --expect 3 --as alice")]
    Put(Put),
    /// Print a document byte for byte
    #[command(after_help = "\
Example:
  $ chancery kb get handbook/onboarding | cmp - onboarding.md
  $ chancery kb get handbook/onboarding --revision 1")]
    Get(Which),
    /// List documents with their newest revisions
    #[command(after_help = "Example:\n  $ chancery kb list handbook")]
    List {
        /// Only what lies at this path or below it
        prefix: Option<String>,
    },
    /// Put your signature under a revision
    #[command(after_help = "\
Example:
  $ chancery kb sign handbook/onboarding --as carol
  $ chancery kb sign handbook/onboarding --revision 2 --meaning 'read and understood' --as bob")]
    Sign(Sign),
    /// Check every text against its digest and every signature against its key
    #[command(after_help = "\
Names the first that does not fit and ends with exit code 1.

Example:
  $ chancery kb verify
  $ chancery kb verify handbook/onboarding")]
    Verify {
        /// Only this document
        path: Option<String>,
    },
    /// Write documents into a folder, with all their revisions and signatures
    #[command(after_help = "\
PATH.md is the newest text, .history/PATH/N.md each revision, .history/PATH/N.json who wrote and signed it. A text that was \
changed in the folder is not written over.

Example:
  $ chancery kb export handbook-copy handbook")]
    Export {
        /// The folder; made when it is not there
        dir: PathBuf,
        /// Only what lies at this path or below it
        prefix: Option<String>,
    },
    /// Bring the revisions of an exported folder that are not there yet
    #[command(after_help = "\
The texts are the same bytes with the same digests. They are written by whoever imports, now; authors, times and signatures of \
before stay in the folder's .json files. What differs is told, not changed, and ends with exit code 1.

Example:
  $ chancery kb import handbook-copy --as alice")]
    Import {
        /// The folder
        dir: PathBuf,
        /// The actor class to act in
        #[arg(long, value_name = "CLASS")]
        class: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Put {
    /// The document
    path: String,
    /// The file, or - for stdin
    file: PathBuf,
    /// What it is, such as note or report
    #[arg(long, default_value = "note")]
    kind: String,
    /// The revision it was written on, 0 for a new document; refused when there is a newer one
    #[arg(long, value_name = "REVISION", value_parser = clap::value_parser!(i32).range(0..))]
    expect: Option<i32>,
    /// The actor class to act in
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

/// A revision of a document.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The document
    path: String,
    /// The revision [default: the newest]
    #[arg(long, value_name = "N")]
    revision: Option<i32>,
}

#[derive(Debug, Args)]
pub(crate) struct Sign {
    #[command(flatten)]
    which: Which,
    /// What you mean by it
    #[arg(long, value_name = "TEXT", default_value = "approved")]
    meaning: String,
    /// The actor class to act in
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Put(args) => put(context, &args).await,
        Command::Get(which) => get(context, &which).await,
        Command::List { prefix } => list(context, prefix.as_deref()).await,
        Command::Sign(args) => sign(context, &args).await,
        Command::Verify { path } => verify(context, path.as_deref()).await,
        Command::Export { dir, prefix } => export(context, &dir, prefix.as_deref()).await,
        Command::Import { dir, class } => import(context, &dir, class.as_deref()).await,
    }
}

/// Everybody writes and signs documents.
async fn act(context: &Context, class: Option<&str>) -> Result<Acting, Failure> {
    let doors = [Role::App, Role::CutterExec, Role::CutterVerify, Role::CutterReview];
    Acting::open(context, class, &[], &doors).await
}

async fn put(context: &mut Context, args: &Put) -> Result<Outcome, Failure> {
    context.config.acting()?;
    let bytes = read(&args.file)?;
    let acting = act(context, args.class.as_deref()).await?;
    let Acting { store, actor, class } = &acting;
    let writer = Writer { principal: &actor.principal, actor_class: class };
    let report = engine::put(store, writer, &args.path, &args.kind, &bytes, args.expect).await?;
    told(context, &report)
}

async fn sign(context: &mut Context, args: &Sign) -> Result<Outcome, Failure> {
    let Acting { store, actor, class } = act(context, args.class.as_deref()).await?;
    let Which { path, revision } = &args.which;
    let report = engine::sign(&store, &actor, &class, path, *revision, &args.meaning).await?;
    told(context, &report)
}

fn told(context: &mut Context, report: &RevisionReport) -> Result<Outcome, Failure> {
    if !context.out.is_json() {
        let mut facts = vec![report.path.clone(), format!("revision {}", report.revision)];
        facts.push(format!("sha-256 {}", report.sha256));
        if let (Some(signer), Some(meaning)) = (&report.signer, &report.meaning) {
            facts.push(format!("signed by {signer}: {meaning}"));
        }
        if report.replayed {
            facts.push("there already; nothing was done twice".to_owned());
        }
        context.out.note(&facts.join(" · "));
    }
    context.out.answer(report, || report.revision.to_string())?;
    Ok(Outcome::Done)
}

async fn get(context: &mut Context, which: &Which) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let Some(document) = engine::get(&store, &which.path, which.revision).await? else {
        let revision = which.revision.map(|n| format!(" revision {n} of")).unwrap_or_default();
        return Err(Failure::Failed(format!(
            "there is no{revision} {}; see `chancery kb list`",
            which.path
        )));
    };
    if context.out.is_json() {
        context.out.json(&document)?;
    } else {
        context.out.bytes(document.body.as_bytes())?;
    }
    Ok(Outcome::Done)
}

async fn list(context: &mut Context, prefix: Option<&str>) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let documents = engine::list(&store, prefix).await?;
    if documents.is_empty() {
        context.out.note("there are no such documents; write one with `chancery kb put PATH FILE`");
    }
    context.out.answer(&documents, || {
        table(
            &["path", "revision", "kind", "bytes", "sha-256", "signatures", "written"],
            documents.iter().map(|row| {
                vec![
                    row.path.clone(),
                    row.revision.to_string(),
                    row.kind.clone(),
                    row.bytes.to_string(),
                    short(&row.sha256),
                    row.signatures.to_string(),
                    format!("{} by {}", time(&row.created_at), row.author),
                ]
            }),
        )
    })?;
    Ok(Outcome::Done)
}

async fn verify(context: &mut Context, path: Option<&str>) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let report = audit::verify_kb(&store, path, Pins::default()).await?;
    let revisions = report.evidence.get("kb.revision").copied().unwrap_or_default();
    if let Some(path) = path.filter(|_| revisions == 0) {
        return Err(Failure::Failed(format!("there is no {path}; see `chancery kb list`")));
    }
    let first = report.mismatches.first();
    let answer = json!({
        "ok": report.ok(), "revisions": revisions, "signatures": report.signatures, "first": first,
        "mismatches": report.mismatches,
    });
    context.out.answer(&answer, || match first {
        Some(first) => first.to_string(),
        None => format!(
            "{} and {} fit",
            count(usize::try_from(revisions).unwrap_or(usize::MAX), "revision", "revisions"),
            count(
                usize::try_from(report.signatures).unwrap_or(usize::MAX),
                "signature",
                "signatures"
            ),
        ),
    })?;
    Ok(if report.ok() { Outcome::Done } else { Outcome::Failed })
}

async fn export(
    context: &mut Context,
    dir: &std::path::Path,
    prefix: Option<&str>,
) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let exported = engine::export(&store, dir, prefix).await?;
    context.out.answer(&exported, || {
        format!(
            "{} in {}, {} written",
            count(exported.documents, "document", "documents"),
            count(exported.revisions, "revision", "revisions"),
            count(exported.written, "file", "files"),
        )
    })?;
    Ok(Outcome::Done)
}

async fn import(
    context: &mut Context,
    dir: &std::path::Path,
    class: Option<&str>,
) -> Result<Outcome, Failure> {
    let acting = act(context, class).await?;
    let Acting { store, actor, class } = &acting;
    let writer = Writer { principal: &actor.principal, actor_class: class };
    let imported = engine::import(store, writer, dir).await?;
    if !context.out.is_json() && imported.written > 0 {
        context.out.note(&format!(
            "written by {} now; who wrote and signed them before stays in {}",
            actor.principal,
            dir.join(".history").display()
        ));
    }
    context.out.answer(&imported, || {
        let mut lines = vec![format!(
            "{} in the folder: {} written, {} there already, {}",
            count(imported.revisions, "revision", "revisions"),
            imported.written,
            imported.present,
            count(imported.differences.len(), "difference", "differences"),
        )];
        lines.extend(imported.differences.iter().map(|difference| {
            let revision = difference.revision.filter(|n| *n > 0);
            let revision = revision.map(|n| format!(" revision {n}")).unwrap_or_default();
            format!("{}{revision}: {}", difference.path, difference.what)
        }));
        lines.join("\n")
    })?;
    Ok(if imported.differences.is_empty() { Outcome::Done } else { Outcome::Failed })
}

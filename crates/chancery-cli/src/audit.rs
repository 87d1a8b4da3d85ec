//! `chancery audit …`: everything that was written, proven from the outside.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use chancery_engine::audit::{self, Pins, Report};
use chancery_model::refusal::Code;
use chancery_store::Role;
use chancery_store::governance::{Asked, TimelinePage};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::failure::{Failure, Outcome};
use crate::output::{table, time};
use crate::session::{Session, refusal};
use crate::{Context, entry};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Recompute every hash, link and signature and compare it with what is stored
    ///
    /// The log of every run is replayed, and every entry of the cutter from log, signatures and artefacts. Nothing is taken
    /// from the audited database but raw columns. With --bundle there is no database at all: the file is everything. Ends with
    /// exit code 1 when something does not fit, and names it.
    #[command(
        after_help = "Example:\n  $ chancery audit verify\n  $ chancery audit verify --bundle data-act.bundle --keys trusted.keys"
    )]
    Verify(Verify),
    /// Write an entry of the cutter with everything that proves it into one file
    ///
    /// Whoever has the file needs nothing else: `chancery audit verify --bundle FILE`. It has the text of the document and of
    /// its units, and public keys; no private one.
    #[command(after_help = "Example:\n  $ chancery audit export data-act -o data-act.bundle")]
    Export(Export),
    /// What happened across all rooms: of a trace, of an entity, or within a window
    ///
    /// You see what the principal may see; without --as it is the service that comes with the database, which sees everything.
    #[command(
        after_help = "Example:\n  $ chancery audit timeline 4bf92f3577b34da6a3ce929d0e0e4736\n  $ chancery audit timeline --entity step 0197…\n  $ chancery audit timeline --from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00Z"
    )]
    Timeline(Timeline),
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Prove this file instead of the database; - reads stdin
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// A public key that you trust; what NAME signed with another one does not count
    #[arg(long = "key", value_name = "NAME=HEX", value_parser = pin)]
    pins: Vec<(String, String)>,
    /// Keys that you trust, a line NAME=HEX each; lines that begin with # say nothing
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Print everything that does not fit, not only the first
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The entry, by its id or by its document when that leaves no choice
    entry: String,
    /// Where to write; - is stdout
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Timeline {
    /// The trace, 32 hexadecimal digits
    trace: Option<String>,
    /// The entity, by its kind and its id
    #[arg(long, num_args = 2, value_names = ["KIND", "ID"])]
    entity: Option<Vec<String>>,
    /// Not before this time
    #[arg(long, value_name = "TIME", value_parser = micros)]
    from: Option<i64>,
    /// Not after this time
    #[arg(long, value_name = "TIME", value_parser = micros)]
    to: Option<i64>,
    /// Go on behind the page that ended with this cursor
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(i32).range(1..=1000))]
    limit: i32,
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Verify(command) => verify(context, &command).await,
        Command::Export(command) => export(context, &command).await,
        Command::Timeline(command) => timeline(context, &command).await,
    }
}

async fn verify(context: &mut Context, command: &Verify) -> Result<Outcome, Failure> {
    let pins = trusted(command)?;
    let report = if let Some(file) = &command.bundle {
        audit::verify_bundle(&read(file)?, pins).await?
    } else {
        let store = Session::open(context).await?.store(Role::Auditor).await?;
        let out = context.out.clone();
        let report = audit::verify(&store, pins, |report| {
            let evidence: u64 = report.evidence.values().sum();
            out.progress(&format!("{} log rows, {evidence} rows of evidence", report.rows));
        })
        .await?;
        out.progress("");
        report
    };
    let ok = report.ok();
    let answer = json!({
        "ok": ok, "runs": report.runs, "entries": report.entries, "rows": report.rows, "signatures": report.signatures,
        "evidence": report.evidence, "keys": report.keys, "unsigned_services": report.unsigned_services, "mismatches": report.mismatches,
    });
    context.out.answer(&answer, || text(&report, command.all))?;
    say_who_need_not_sign(context, &report);
    if command.bundle.is_some() {
        say_what_was_trusted(context, &report);
    }
    Ok(if ok { Outcome::Done } else { Outcome::Failed })
}

fn text(report: &Report, all: bool) -> String {
    let mut counts = Vec::new();
    let evidence: u64 = report.evidence.values().sum();
    for (number, what) in [
        (report.runs, "runs"),
        (report.entries, "entries"),
        (report.rows, "log rows"),
        (evidence, "rows of evidence"),
        (report.signatures, "signatures"),
    ] {
        if number > 0 || what == "log rows" {
            counts.push(format!("{number} {what}"));
        }
    }
    let counts = counts.join(", ");
    let Some(first) = report.mismatches.first() else {
        if report.rows == 0 && evidence == 0 {
            return "nothing is recorded yet, so there was nothing to verify".to_owned();
        }
        return format!("{counts}: everything fits");
    };
    let number = report.mismatches.len();
    if !all {
        let others = match number {
            1 => String::new(),
            _ => format!("\n{} more may follow from it; --all lists them", number - 1),
        };
        return format!("{counts}: {number} things do not fit; the first:\n  {first}{others}");
    }
    let rows = report.mismatches.iter().map(|mismatch| {
        vec![
            mismatch.table.to_owned(),
            mismatch.key.clone(),
            mismatch.rule.to_owned(),
            mismatch.what.clone(),
        ]
    });
    let list = table(&["table", "row", "rule", "what"], rows);
    format!("{counts}: {number} things do not fit\n\n{list}")
}

fn say_what_was_trusted(context: &Context, report: &Report) {
    for key in report.keys.iter().filter(|key| !key.pinned) {
        context.out.note(&format!(
            "taken on trust from the bundle: {} signs with {} (--key {0}={1} pins it)",
            key.principal, key.public_key
        ));
    }
}

fn say_who_need_not_sign(context: &Context, report: &Report) {
    for (service, moves) in &report.unsigned_services {
        context.out.note(&format!(
            "taken on trust: {service} is a service, so {moves} of its moves need no signature and carry none"
        ));
    }
}

async fn export(context: &mut Context, command: &Export) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::Auditor).await?;
    let entry_id = entry::find(&store, &command.entry).await?.entry_id;
    let Some(file) = audit::export(&store, entry_id).await? else {
        return Err(refusal(&store, Code::RC001, json!({ "entry_id": entry_id })).await);
    };
    // Evidence that does not hold is written as well: somebody will want to see it.
    let report = audit::verify_bundle(&file, Pins::default()).await?;
    let ok = report.ok();
    if command.output.as_os_str() == "-" {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(&file).and_then(|()| stdout.flush());
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::PipeClosed,
            _ => Failure::Failed(format!("stdout can't be written: {error}")),
        })?;
    } else {
        write(&command.output, &file)?;
        let evidence: u64 = report.evidence.values().sum();
        let answer = json!({
            "ok": ok, "entry_id": entry_id, "file": command.output, "bytes": file.len(), "rows": report.rows,
            "evidence": report.evidence, "signatures": report.signatures, "mismatches": report.mismatches,
        });
        context.out.answer(&answer, || {
            format!(
                "{}: {} bytes, {} log rows, {evidence} rows of evidence, {} signatures",
                command.output.display(),
                file.len(),
                report.rows,
                report.signatures
            )
        })?;
    }
    if let Some(first) = report.mismatches.first() {
        context
            .out
            .note(&format!("what was written does not hold together; the first:\n  {first}"));
    }
    Ok(if ok { Outcome::Done } else { Outcome::Failed })
}

async fn timeline(context: &mut Context, command: &Timeline) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let entity = match command.entity.as_deref() {
        Some([kind, id]) => Some((kind.as_str(), id.as_str())),
        _ => None,
    };
    let asked = Asked {
        trace: command.trace.as_deref(),
        entity,
        from_micros: command.from,
        to_micros: command.to,
    };
    let reader = context.config.service();
    let page =
        store.fn_timeline(reader, &asked, command.after.as_deref(), Some(command.limit)).await?;
    if page.items.is_empty() {
        context.out.note("nothing that you may see happened there");
    }
    context.out.answer(&page, || timeline_table(&page))?;
    if let (Some(next), false) = (&page.next, context.out.is_json()) {
        context.out.note(&format!("there is more: --after {next}"));
    }
    Ok(Outcome::Done)
}

/// What happened, a line each.
pub(crate) fn timeline_table(page: &TimelinePage) -> String {
    if page.items.is_empty() {
        return String::new();
    }
    table(
        &["at", "what", "entity", "move", "from", "to", "event", "by", "as", "reason"],
        page.items.iter().map(|row| {
            let text = |value: &Option<String>| value.clone().unwrap_or_default();
            vec![
                time(&row.at),
                row.source.clone(),
                format!("{} {}", row.entity_kind, row.entity_id),
                row.seq.map(|seq| seq.to_string()).unwrap_or_default(),
                text(&row.from),
                text(&row.to),
                text(&row.event_type),
                row.principal.clone(),
                text(&row.actor_class),
                text(&row.reason),
            ]
        }),
    )
}

fn micros(text: &str) -> Result<i64, String> {
    let at: jiff::Timestamp =
        text.parse().map_err(|_| "write a time such as 2026-11-16T08:00:00Z".to_owned())?;
    Ok(at.as_microsecond())
}

fn pin(text: &str) -> Result<(String, String), String> {
    let (name, key) =
        text.split_once('=').ok_or("write NAME=HEX, as `chancery key export` shows it")?;
    Ok((name.trim().to_owned(), key.trim().to_owned()))
}

fn trusted(command: &Verify) -> Result<Pins, Failure> {
    let mut pins = Pins::default();
    let mut listed = command.pins.clone();
    if let Some(file) = &command.keys {
        let text = String::from_utf8(read(file)?)
            .map_err(|_| Failure::Usage(format!("{} is not text", file.display())))?;
        let lines = text.lines().map(str::trim).enumerate();
        for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let pinned = pin(line).map_err(|error| {
                Failure::Usage(format!("{}:{}: {error}", file.display(), number + 1))
            })?;
            listed.push(pinned);
        }
    }
    for (name, key) in listed {
        pins.add(&name, &key).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    Ok(pins)
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let read = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(file)
    };
    read.map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))
}

/// Whole or not at all: half a proof is none.
fn write(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".part");
    let beside = PathBuf::from(beside);
    let written = fs::File::create(&beside)
        .and_then(|mut part| part.write_all(bytes).and_then(|()| part.sync_all()))
        .and_then(|()| fs::rename(&beside, file));
    written.map_err(|error| {
        // The part is of no use to anybody.
        let _ = fs::remove_file(&beside);
        Failure::Failed(format!("{}: {error}", file.display()))
    })
}

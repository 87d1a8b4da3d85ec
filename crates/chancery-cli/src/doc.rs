//! `chancery doc …`: source documents and the units they were cut into.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use chancery_document::Profile;
use chancery_engine::iu::{self as engine, AddedDocument, NewDocument};
use chancery_store::cutter::EntryFilter;
use chancery_store::iu::{DocumentRow, SourceVersion, UnitRow};
use chancery_store::{Role, Store};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use crate::Context;
use crate::cutter::look::Lines;
use crate::entry::Rules;
use crate::failure::{Failure, Outcome};
use crate::output::{count, hex, pairs, short, table, time};
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Store a document, or a new version of one
    #[command(after_help = "\
The document is cut in memory first: what cannot be cut is refused and nothing is stored. The same \
bytes again are the same version.

Example:
  $ chancery doc add examples/documents/records-policy.md --id records-policy --prefix RP --as alice
  $ pandoc act.docx -t plain | chancery doc add - --id act --prefix ACT --as alice")]
    Add(Add),
    /// List all documents
    #[command(after_help = "Example:\n  $ chancery doc list")]
    List,
    /// List the units a document was cut into
    #[command(after_help = "Example:\n  $ chancery doc units records-policy")]
    Units(Which),
    /// Print a document, put together from its units byte for byte
    #[command(
        after_help = "Example:\n  $ chancery doc cat records-policy | cmp - records-policy.md"
    )]
    Cat {
        #[command(flatten)]
        which: Which,
        /// Print the stored source instead of the units
        #[arg(long)]
        source: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The file, or - for stdin
    file: PathBuf,
    /// The document's name: lower case letters, digits, dot, dash, underscore
    #[arg(long, value_name = "DOC")]
    id: String,
    /// What its addresses begin with, such as ACT-2026; may be left out for a new version
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,
    /// How it is divided [default: what its text looks like]
    #[arg(long, value_parser = profile())]
    profile: Option<Profile>,
    /// What kind of text it is [default: by the file's name]
    #[arg(long, value_name = "TYPE", value_parser = ["text/markdown", "text/plain"])]
    media_type: Option<String>,
}

/// A version of a document.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The document
    #[arg(value_name = "DOC")]
    document: String,
    /// The version [default: the one that was cut, or else the newest]
    #[arg(long, value_name = "N")]
    version: Option<i32>,
}

/// The names of profiles, as an argument takes them.
pub(crate) fn profile() -> impl TypedValueParser<Value = Profile> {
    PossibleValuesParser::new(Profile::ALL.iter().map(|profile| profile.as_str()))
        .map(|name| name.parse().expect("only names of profiles are accepted"))
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Add(args) => add(context, args).await,
        Command::List => list(context).await,
        Command::Units(which) => units(context, &which).await,
        Command::Cat { which, source: false } => cat(context, &which).await,
        Command::Cat { which, source: true } => cat_source(context, &which).await,
    }
}

async fn add(context: &mut Context, args: Add) -> Result<Outcome, Failure> {
    let principal = context.config.acting()?.to_owned();
    let bytes = read(&args.file)?;
    let store = Session::open(context).await?.store(Role::App).await?;
    let media_type = args.media_type.unwrap_or_else(|| media_type(&args.file, &bytes).to_owned());
    let document = NewDocument {
        document_id: &args.id,
        prefix: args.prefix.as_deref(),
        media_type: &media_type,
        body: &bytes,
        profile: args.profile,
    };
    let AddedDocument { source, cut } = engine::add_document(&store, &principal, &document).await?;
    if !context.out.is_json() && source.replayed {
        context.out.note("the same bytes were there before; nothing was stored twice");
    }
    let mut answer = json!(source);
    answer["profile"] = json!(cut.profile);
    answer["units"] = json!(cut.units.len());
    context.out.answer(&answer, || {
        pairs(&[
            ("document", source.document_id.clone()),
            ("version", source.version_seq.to_string()),
            ("sha-256", source.content_sha256.clone()),
            ("bytes", source.byte_length.to_string()),
            ("units", format!("{}, cut by {}", cut.units.len(), cut.profile)),
        ])
    })?;
    if !context.out.is_json() {
        // What is detected from the text need not be said again.
        let profile = args.profile.map(|profile| format!(" --profile {profile}"));
        context.out.note(&format!(
            "next: chancery cutter mark {}{}",
            source.document_id,
            profile.unwrap_or_default()
        ));
    }
    Ok(Outcome::Done)
}

pub(crate) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = if file == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|mut file| file.read_to_end(&mut bytes))
    };
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Failure::Failed(format!("{}: {error}", file.display()))),
    }
}

/// By the file's name; a pipe has none, so there by what the text looks like.
fn media_type(file: &Path, bytes: &[u8]) -> &'static str {
    let is_markdown = match file.extension().and_then(|extension| extension.to_str()) {
        Some(extension) => ["md", "markdown"].contains(&extension),
        None => {
            let text = std::str::from_utf8(bytes).unwrap_or_default();
            Profile::detect(text) == Some(Profile::Markdown)
        }
    };
    if is_markdown { "text/markdown" } else { "text/plain" }
}

async fn list(context: &mut Context) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let documents = store.documents(None).await?;
    if documents.is_empty() {
        context.out.note("there are no documents yet; store one with `chancery doc add`");
    }
    context.out.answer(&documents, || {
        table(
            &["document", "prefix", "version", "bytes", "sha-256", "units", "added"],
            documents.iter().map(|document| {
                vec![
                    document.document_id.clone(),
                    document.prefix.clone(),
                    document.newest_version.to_string(),
                    document.newest_bytes.to_string(),
                    short(&document.newest_sha256),
                    document.units.to_string(),
                    format!("{} by {}", time(&document.created_at), document.created_by),
                ]
            }),
        )
    })?;
    Ok(Outcome::Done)
}

/// The units that a version of a document consists of, and the version.
async fn cut_units(store: &Store, which: &Which) -> Result<(SourceVersion, Vec<UnitRow>), Failure> {
    let document = find(store, &which.document).await?;
    let mut units = store.units(&document.prefix).await?;
    let cut_from = units.iter().find_map(|unit| unit.source_version_id);
    let version = match (which.version, cut_from) {
        (None, Some(id)) => store.source_version(id).await?,
        (version, _) => store.source_of(&which.document, version).await?,
    };
    let Some(version) = version else { return Err(no_version(which, &document)) };
    units.retain(|unit| unit.source_version_id == Some(version.source_version_id));
    Ok((version, units))
}

async fn find(store: &Store, document_id: &str) -> Result<DocumentRow, Failure> {
    match store.documents(Some(document_id)).await?.pop() {
        Some(document) => Ok(document),
        None => Err(Failure::Failed(format!(
            "there is no document {document_id}; see `chancery doc list`"
        ))),
    }
}

fn no_version(which: &Which, document: &DocumentRow) -> Failure {
    let newest = document.newest_version;
    let asked = which.version.unwrap_or_default();
    Failure::Failed(format!("{} has no version {asked}; the newest is {newest}", which.document))
}

async fn units(context: &mut Context, which: &Which) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let (version, units) = cut_units(&store, which).await?;
    if units.is_empty() {
        context.out.note(&advice(&store, &version).await?);
    }
    let shown = with_lines(&units);
    context.out.answer(&shown, || {
        table(
            &["address", "type", "lines", "lifecycle", "title"],
            shown.iter().map(|unit| {
                vec![
                    unit.address.to_owned(),
                    unit.section_type.to_owned(),
                    format!("{}–{}", unit.lines[0], unit.lines[1]),
                    unit.lifecycle_status.to_owned(),
                    unit.title.to_owned(),
                ]
            }),
        )
    })?;
    Ok(Outcome::Done)
}

/// A unit as it is listed: without its text, which `cat` gives.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    unit_id: Uuid,
    address: &'a str,
    parent: Option<&'a str>,
    section_type: &'a str,
    title: &'a str,
    /// In the document as its units give it, counted from one.
    lines: [usize; 2],
    content_hash: &'a str,
    lifecycle_status: &'a str,
    version_seq: i32,
    unit_kind: &'a str,
    owner_ref: &'a str,
    source_version_id: Option<Uuid>,
    change_set_id: Option<Uuid>,
}

fn with_lines(units: &[UnitRow]) -> Vec<Listed<'_>> {
    let text = text_of(units);
    let lines = Lines::of_bytes(&text);
    let mut at = 0;
    let mut listed = Vec::with_capacity(units.len());
    for unit in units {
        let start = at;
        at += unit.body.len();
        listed.push(Listed {
            unit_id: unit.unit_id,
            address: &unit.address,
            parent: unit.parent.as_deref(),
            section_type: &unit.section_type,
            title: &unit.title,
            lines: lines.of_span(start, at),
            content_hash: &unit.content_hash,
            lifecycle_status: &unit.lifecycle_status,
            version_seq: unit.version_seq,
            unit_kind: &unit.unit_kind,
            owner_ref: &unit.owner_ref,
            source_version_id: unit.source_version_id,
            change_set_id: unit.change_set_id,
        });
    }
    listed
}

fn text_of(units: &[UnitRow]) -> Vec<u8> {
    units.iter().flat_map(|unit| unit.body.as_bytes()).copied().collect()
}

/// What there is to do about a version without units: a request that was made already is gone on with, not made again.
async fn advice(store: &Store, version: &SourceVersion) -> Result<String, Failure> {
    let filter = EntryFilter {
        document_id: Some(version.document_id.clone()),
        limit: 1000,
        ..EntryFilter::default()
    };
    let rules = Rules::read(store).await?;
    let entries = store.entries(&filter).await?;
    let open = entries.iter().find(|entry| {
        entry.source_version_id == Some(version.source_version_id) && rules.is_open(entry)
    });
    let Some(entry) = open else { return Ok(not_cut(version)) };
    let (number, document) = (version.version_seq, &version.document_id);
    Ok(match entry.payload["orchestrator_run"].as_str() {
        Some(run) => format!(
            "version {number} of {document} has no units yet; run {run} is to cut it: see `cutter orchestrate status --run-id {run}`"
        ),
        None => format!(
            "version {number} of {document} has no units yet; its request is {}: see `chancery cutter show {}`",
            entry.status, entry.entry_id
        ),
    })
}

fn not_cut(version: &SourceVersion) -> String {
    format!(
        "version {} of {} has not been cut; ask for it with `chancery cutter mark {} --version {}`",
        version.version_seq, version.document_id, version.document_id, version.version_seq
    )
}

async fn cat(context: &mut Context, which: &Which) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let (version, units) = cut_units(&store, which).await?;
    if units.is_empty() {
        return Err(Failure::Failed(format!(
            "{}; its source is printed by `chancery doc cat {} --source`",
            not_cut(&version),
            version.document_id
        )));
    }
    let text = text_of(&units);
    let is_source = text == version.body;
    print(context, &version, "units", &text)?;
    if is_source {
        return Ok(Outcome::Done);
    }
    let edited = units.iter().filter(|unit| unit.version_seq > 1).count();
    if edited > 0 {
        let edited = count(edited, "unit was", "units were");
        context.out.note(&format!("{edited} edited since the cut: this is no longer the source"));
        return Ok(Outcome::Done);
    }
    context
        .out
        .note("the units are not the source, and nobody edited them: run `chancery audit verify`");
    Ok(Outcome::Failed)
}

async fn cat_source(context: &mut Context, which: &Which) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let document = find(&store, &which.document).await?;
    let Some(version) = store.source_of(&which.document, which.version).await? else {
        return Err(no_version(which, &document));
    };
    print(context, &version, "source", &version.body)?;
    Ok(Outcome::Done)
}

fn print(
    context: &mut Context,
    version: &SourceVersion,
    from: &str,
    text: &[u8],
) -> Result<(), Failure> {
    if !context.out.is_json() {
        return context.out.bytes(text);
    }
    context.out.json(&json!({
        "document_id": version.document_id, "version": version.version_seq, "from": from,
        "content_sha256": hex(&version.content_sha256), "is_source": text == version.body,
        "text": String::from_utf8_lossy(text),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_text_follows_the_name_and_then_the_text() {
        let check = |file: &str, text: &str, expect: &str| {
            assert_eq!(media_type(Path::new(file), text.as_bytes()), expect, "{file} {text}");
        };
        check("a.md", "Article 1. A\nArticle 2. B\n", "text/markdown");
        check("a.txt", "# A\n", "text/plain");
        check("-", "# A\n", "text/markdown");
        check("-", "Điều 1. A\nĐiều 2. B\n", "text/plain");
        check("-", "no structure", "text/plain");
    }
}

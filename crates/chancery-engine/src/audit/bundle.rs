//! One file with everything that proves one entry.
//!
//! Two lines. The first is canonical JSON (RFC 8785); every value in it is a text or null. The second is `sha256:` and the
//! SHA-256 of the first line with its line feed, so that `head -n 1 FILE | sha256sum` says the same. The same evidence gives the
//! same bytes: the file has no time of its own.
//!
//! ```text
//! {"entry_id":…,"format":"chancery.audit-bundle.v1","keys":{"columns":[…],"rows":[[…]]},"kinds_that_sign":[…],
//!  "log":{…},"principals":{…},"tables":{"cutter_governance.cut_change_set":{…},…}}
//! sha256:…
//! ```
//!
//! Tables stand under their tags, which never change, and columns under the names that they had when the file was made. A file of an
//! older release lacks columns that came later, `digest_version` and `hash_version` among them: its rows are of version 1 then, and
//! whatever is missing is in no digest of theirs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use chancery_model::canonical;
use chancery_model::chain::{Log, LogRow};
use chancery_model::evidence::{Layout, Registry, Table};
use chancery_store::{KeyFacts, RawRow, Snapshot};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::check::Checker;
use super::kb;
use super::log::{Facts, of_log_row, verify_run};
use super::orchestrator::runs_of;
use super::report::{Mismatch, Report};
use super::rows::{Rows, Source};
use super::signers::{Pins, Signers};
use super::table;
use crate::Error;

const FORMAT: &str = "chancery.audit-bundle.v1";

/// What stands for the table in a mismatch that concerns the file itself.
const FILE: &str = "bundle";

const VERSION_OF_HASH: &str = "hash_version";

const KEY_COLUMNS: [&str; 5] =
    ["key_id", "principal", "public_key", "registered_at_micros", "revoked_at_micros"];
const PRINCIPAL_COLUMNS: [&str; 2] = ["kind", "name"];
const LOG_COLUMNS: [&str; 24] = [
    "actor_class",
    "artefact_digest",
    "at_micros",
    "event_type",
    "evidence",
    "facet",
    "from_state",
    "hash",
    "hash_version",
    "idempotency_key",
    "key_id",
    "log_id",
    "prev_hash",
    "principal",
    "reason",
    "run_id",
    "run_kind",
    "seq",
    "signature",
    "state_machine_id",
    "to_state",
    "transition_id",
    "trigger_kind",
    "trigger_ref",
];

/// Everything that proves an entry, as one file; nothing when there is no such entry.
pub(super) async fn export(
    snapshot: &mut Snapshot,
    entry_id: Uuid,
) -> Result<Option<Vec<u8>>, Error> {
    let signers = Signers::read(snapshot, Pins::default()).await?;
    let mut source = Source::database(snapshot).await?;
    let rows = gather(&mut source, entry_id).await?;
    if rows.one(table::ENTRY, "entry_id", &entry_id.to_string()).is_none() {
        return Ok(None);
    }
    let mut line = canonical::to_string(&document(entry_id, &rows, &signers));
    line.push('\n');
    let seal = seal_of(line.as_bytes());
    line.push_str(&seal);
    Ok(Some(line.into_bytes()))
}

/// Everything that proves the entry and the run that drove it.
async fn gather(source: &mut Source<'_>, entry_id: Uuid) -> Result<Rows, Error> {
    let mut rows = source.collect(&BTreeSet::from([entry_id])).await?;
    for run_id in runs_of(&rows) {
        rows.merge(source.collect_run(run_id).await?);
    }
    Ok(rows)
}

fn seal_of(line: &[u8]) -> String {
    format!("sha256:{}\n", hex::encode(Sha256::digest(line)))
}

fn document(entry_id: Uuid, rows: &Rows, signers: &Signers) -> Value {
    let log: Vec<&LogRow> = rows.logs().flat_map(|(_, rows)| rows).collect();
    let mut principals: BTreeSet<&str> = log.iter().map(|row| row.principal.as_str()).collect();
    let mut keys: BTreeSet<Uuid> = log.iter().filter_map(|row| row.key_id).collect();
    for (table, principal) in [
        (table::DECISION, "reviewer_identity"),
        (table::SIGNATURE, "signer_principal"),
        (table::REQUEST, "proposer"),
        (table::VOTE, "voter"),
        (table::REVISION, "author"),
        (table::UNDER, "signer"),
    ] {
        principals.extend(rows.all(table).map(|row| row.text(principal)));
        keys.extend(rows.all(table).filter_map(|row| row.uuid("key_id")));
    }
    let keys = keys.iter().filter_map(|id| signers.keys.get(id)).map(|key| {
        vec![
            Some(key.key_id.to_string()),
            Some(key.principal.clone()),
            Some(key.public_key.clone()),
            Some(key.registered_at_micros.to_string()),
            key.revoked_at_micros.map(|at| at.to_string()),
        ]
    });
    let principals = principals.iter().filter_map(|name| {
        let kind = signers.principals.get(*name)?;
        Some(vec![Some(kind.clone()), Some((*name).to_owned())])
    });
    let registry = &signers.registry;
    let tables: Map<String, Value> = registry
        .tables()
        .iter()
        .filter_map(|table| {
            let mut all = rows.all(table.name()).peekable();
            let layout = Arc::clone(all.peek()?.raw.layout());
            let columns: Vec<&str> = layout.columns().iter().map(String::as_str).collect();
            let values = all.map(|row| row.raw.values().to_vec());
            Some((table.tag().to_owned(), written(&columns, values)))
        })
        .collect();
    let log_columns = log_columns(registry.log());
    json!({
        "format": FORMAT,
        "entry_id": entry_id,
        "keys": written(&KEY_COLUMNS, keys),
        "kinds_that_sign": signers.kinds_that_sign,
        "principals": written(&PRINCIPAL_COLUMNS, principals),
        "log": written(&log_columns, log.into_iter().map(|row| log_values(row, &log_columns))),
        "tables": tables,
    })
}

fn written(columns: &[&str], rows: impl Iterator<Item = Vec<Option<String>>>) -> Value {
    json!({ "columns": columns, "rows": rows.collect::<Vec<_>>() })
}

/// The columns of the log in a file, ascending.
fn log_columns(log: &Log) -> Vec<&'static str> {
    let mut all: Vec<&str> = LOG_COLUMNS.into_iter().chain(log.more()).collect();
    all.sort_unstable();
    all
}

fn log_values(row: &LogRow, columns: &[&str]) -> Vec<Option<String>> {
    let bytes = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(hex::encode);
    let first = [
        Some(row.actor_class.clone()),
        bytes(&row.artefact_digest),
        Some(row.at_micros.to_string()),
        row.event_type.clone(),
        Some(row.evidence.clone()),
        row.facet.clone(),
        row.from_state.clone(),
        Some(hex::encode(&row.hash)),
        Some(row.hash_version.to_string()),
        Some(row.idempotency_key.clone()),
        row.key_id.map(|id| id.to_string()),
        Some(row.log_id.to_string()),
        bytes(&row.prev_hash),
        Some(row.principal.clone()),
        row.reason.clone(),
        Some(row.run_id.to_string()),
        Some(row.run_kind.clone()),
        Some(row.seq.to_string()),
        bytes(&row.signature),
        Some(row.state_machine_id.clone()),
        Some(row.to_state.clone()),
        Some(row.transition_id.clone()),
        Some(row.trigger_kind.clone()),
        Some(row.trigger_ref.clone()),
    ];
    let mut values: BTreeMap<&str, Option<String>> = LOG_COLUMNS.into_iter().zip(first).collect();
    values.extend(row.more.iter().map(|(name, value)| (name.as_str(), value.clone())));
    columns.iter().map(|column| values.remove(column).flatten()).collect()
}

/// Proves what a file holds, with nothing but the file.
pub(super) async fn verify(
    registry: &Arc<Registry>,
    file: &[u8],
    pins: Pins,
) -> Result<Report, Error> {
    let mut report = Report::default();
    let mut wrong = |rule: &'static str, what: String| {
        report.found(Mismatch {
            table: FILE,
            key: String::new(),
            run_id: None,
            seq: None,
            rule,
            what,
        });
    };
    let end = file.iter().position(|byte| *byte == b'\n').map_or(file.len(), |place| place + 1);
    let (line, seal) = file.split_at(end);
    if seal != seal_of(line).as_bytes() {
        // What follows may say where.
        wrong("bundle_is_whole", "its last line is not the hash of its first".to_owned());
    }
    let bundle = match Bundle::read(registry, line) {
        Ok(bundle) => bundle,
        Err(what) => {
            wrong("bundle_is_readable", what);
            return Ok(report);
        }
    };
    let Bundle { entry_id, rows: held, mut signers } = bundle;
    signers.pins = pins;
    let rows = gather(&mut Source::Bundle(&held), entry_id).await?;
    let mut checker = Checker::new(&rows, &mut signers, &mut report);
    checker.digests(|_| true);
    nothing_else(&held, &rows, &mut report);
    for entry in rows.all(table::ENTRY) {
        let log = rows.log_of(entry.id("entry_id"));
        verify_run(log, Some(Facts::of_entry(entry)), &mut signers, &mut report);
        let mut checker = Checker::new(&rows, &mut signers, &mut report);
        for row in log {
            checker.legal(entry, row);
        }
    }
    for run in rows.all(table::ORCHESTRATED) {
        let log = rows.log_of(run.id("run_id"));
        verify_run(log, Some(Facts::of_orchestrated(run)), &mut signers, &mut report);
        let mut checker = Checker::new(&rows, &mut signers, &mut report);
        checker.orchestrated(run);
        for request in rows.all(table::REQUEST) {
            checker.asked_and_voted(request);
        }
    }
    kb::verify_held(&rows, &mut signers, &mut report);
    let mut checker = Checker::new(&rows, &mut signers, &mut report);
    for source in rows.all(table::SOURCE) {
        checker.source(source);
    }
    for signature in rows.all(table::SIGNATURE) {
        checker.lane(signature);
    }
    match rows.one(table::ENTRY, "entry_id", &entry_id.to_string()) {
        Some(entry) => checker.entry(entry),
        None => report.found(Mismatch {
            table: table::ENTRY,
            key: entry_id.to_string(),
            run_id: Some(entry_id),
            seq: None,
            rule: "bundle_has_its_request",
            what: "the entry that the bundle is about is not in it".to_owned(),
        }),
    }
    signers.tell(&mut report);
    Ok(report)
}

/// A row that nothing leads to proves nothing, and may be there to impress.
fn nothing_else(held: &Rows, reached: &Rows, report: &mut Report) {
    const RULE: &str = "bundle_has_nothing_else";
    let keys: BTreeSet<(&str, String)> =
        reached.every().map(|row| (row.table, row.key())).collect();
    let mut seen = BTreeSet::new();
    for row in held.every() {
        let key = (row.table, row.key());
        if !keys.contains(&key) || !seen.insert(key) {
            report.found(Mismatch {
                table: row.table,
                key: row.key(),
                run_id: None,
                seq: None,
                rule: RULE,
                what: "nothing in the bundle leads to this row".to_owned(),
            });
        }
    }
    for (run_id, rows) in held.logs() {
        if let Some(row) = rows.first().filter(|_| reached.log_of(*run_id).is_empty()) {
            let what = "nothing in the bundle leads to this run".to_owned();
            report.found(of_log_row(row, RULE, what));
        }
    }
}

struct Bundle {
    entry_id: Uuid,
    rows: Rows,
    signers: Signers,
}

impl Bundle {
    fn read(registry: &Arc<Registry>, line: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(line).map_err(|error| format!("it is not text: {error}"))?;
        let text = text.strip_suffix('\n').ok_or("it has no line feed")?;
        let document: Value =
            serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        if document["format"] != FORMAT {
            return Err(format!("its format is {}, not {FORMAT}", document["format"]));
        }
        if canonical::to_string(&document) != text {
            return Err("its JSON is not in canonical form".to_owned());
        }
        let entry_id = document["entry_id"].as_str().and_then(|id| id.parse().ok());
        let mut rows = Rows::default();
        rows.add_log(read_log(registry.log(), &document["log"])?);
        let tables = document["tables"].as_object().ok_or("it has no tables")?;
        for (name, held) in tables {
            let table =
                registry.tagged(name).ok_or_else(|| format!("{name} is no table of evidence"))?;
            let (columns, held) = read(held).ok_or_else(|| format!("{name} is malformed"))?;
            rows.add(table.name(), read_table(table, &columns, held)?);
        }
        let mut signers = read_signers(&document)?;
        signers.registry = Arc::clone(registry);
        Ok(Self { entry_id: entry_id.ok_or("it names no entry")?, rows, signers })
    }
}

type Values = Vec<Vec<Option<String>>>;

/// Columns, and rows with a value for each of them.
fn read(held: &Value) -> Option<(Vec<String>, Values)> {
    let columns: Vec<String> = serde_json::from_value(held.get("columns")?.clone()).ok()?;
    let rows: Values = serde_json::from_value(held.get("rows")?.clone()).ok()?;
    rows.iter().all(|row| row.len() == columns.len()).then_some((columns, rows))
}

/// Rows of a table of evidence. Columns are known from here and not from the file: no digest is over what a value is called.
fn read_table(table: &Table, columns: &[String], held: Values) -> Result<Vec<RawRow>, String> {
    let known = table.columns();
    let mut places: Vec<(&str, usize)> =
        columns.iter().enumerate().map(|(n, name)| (table.current_name(name), n)).collect();
    places.sort_unstable();
    let distinct = places.windows(2).all(|pair| pair[0].0 != pair[1].0);
    if !columns.is_sorted() || !distinct || !places.iter().all(|(name, _)| known.contains(name)) {
        return Err(format!("{} has other columns than this release knows", table.tag()));
    }
    let names = places.iter().map(|(name, _)| (*name).to_owned()).collect();
    let layout = Arc::new(Layout::of(table, names));
    let row = |values: Vec<Option<String>>| {
        let values = places.iter().map(|(_, place)| values[*place].clone()).collect();
        RawRow::new(Arc::clone(&layout), values)
    };
    Ok(held.into_iter().map(row).collect())
}

/// Rows of columns that are known.
fn read_known(held: &Value, what: &str, columns: &[&str]) -> Result<Values, String> {
    match read(held) {
        Some((names, rows)) if names == columns => Ok(rows),
        _ => Err(format!("its {what} are malformed")),
    }
}

fn read_signers(document: &Value) -> Result<Signers, String> {
    let malformed = || "its keys are malformed".to_owned();
    let mut signers = Signers::default();
    for mut row in read_known(&document["keys"], "keys", &KEY_COLUMNS)? {
        let key = KeyFacts {
            key_id: parsed(row[0].take()).ok_or_else(malformed)?,
            principal: row[1].take().ok_or_else(malformed)?,
            public_key: row[2].take().ok_or_else(malformed)?,
            registered_at_micros: parsed(row[3].take()).ok_or_else(malformed)?,
            revoked_at_micros: match row[4].take() {
                None => None,
                at => Some(parsed(at).ok_or_else(malformed)?),
            },
        };
        signers.keys.insert(key.key_id, key);
    }
    let principals = read_known(&document["principals"], "principals", &PRINCIPAL_COLUMNS)?;
    let principals: Option<BTreeMap<String, String>> =
        principals.into_iter().map(|mut row| Some((row[1].take()?, row[0].take()?))).collect();
    signers.principals = principals.ok_or("its principals are malformed")?;
    signers.kinds_that_sign = serde_json::from_value(document["kinds_that_sign"].clone())
        .map_err(|_| "its kinds of principals that sign are malformed".to_owned())?;
    Ok(signers)
}

fn parsed<T: std::str::FromStr>(text: Option<String>) -> Option<T> {
    text?.parse().ok()
}

/// The log. What came after version 1 may be missing: the version too, and then it is 1.
fn read_log(log: &Log, held: &Value) -> Result<Vec<LogRow>, String> {
    let malformed = || "its log rows are malformed".to_owned();
    let (columns, rows) = read(held).ok_or_else(malformed)?;
    let later: Vec<&str> = log.more().chain([VERSION_OF_HASH]).collect();
    let known = log_columns(log);
    let fits = columns.is_sorted()
        && columns.iter().all(|name| known.contains(&name.as_str()))
        && known.iter().all(|name| later.contains(name) || columns.iter().any(|c| c == name))
        && columns.windows(2).all(|pair| pair[0] != pair[1]);
    if !fits {
        return Err(malformed());
    }
    let more: Vec<&str> = log.more().filter(|name| columns.iter().any(|c| c == name)).collect();
    let row = |values: Vec<Option<String>>| {
        let mut values: HashMap<&str, Option<String>> =
            columns.iter().map(String::as_str).zip(values).collect();
        values.entry(VERSION_OF_HASH).or_insert_with(|| Some("1".to_owned()));
        log_row(&more, &values)
    };
    let rows: Option<Vec<LogRow>> = rows.into_iter().map(row).collect();
    rows.ok_or_else(malformed)
}

fn log_row(more: &[&str], values: &HashMap<&str, Option<String>>) -> Option<LogRow> {
    let get = |column: &str| values.get(column).cloned().flatten();
    let bytes = |column: &str| match get(column) {
        None => Some(None),
        Some(text) => hex::decode(text).ok().map(Some),
    };
    Some(LogRow {
        run_id: get("run_id")?.parse().ok()?,
        seq: get("seq")?.parse().ok()?,
        log_id: get("log_id")?.parse().ok()?,
        run_kind: get("run_kind")?,
        state_machine_id: get("state_machine_id")?,
        transition_id: get("transition_id")?,
        from_state: get("from_state"),
        to_state: get("to_state")?,
        facet: get("facet"),
        principal: get("principal")?,
        actor_class: get("actor_class")?,
        trigger_kind: get("trigger_kind")?,
        trigger_ref: get("trigger_ref")?,
        reason: get("reason"),
        evidence: get("evidence")?,
        event_type: get("event_type"),
        artefact_digest: bytes("artefact_digest")?,
        idempotency_key: get("idempotency_key")?,
        key_id: match get("key_id") {
            None => None,
            Some(id) => Some(id.parse().ok()?),
        },
        signature: bytes("signature")?,
        at_micros: get("at_micros")?.parse().ok()?,
        prev_hash: bytes("prev_hash")?,
        hash: hex::decode(get("hash")?).ok()?,
        hash_version: get(VERSION_OF_HASH)
            .and_then(|text| text.parse().ok().filter(|number: &i16| number.to_string() == text))?,
        more: more.iter().map(|name| ((*name).to_owned(), get(name))).collect(),
    })
}

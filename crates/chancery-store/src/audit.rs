//! Raw columns for the audit, which recomputes everything itself.
//!
//! Nothing here computes: columns are read from the raw views and rendered by casts that are built into the server. One
//! [`Snapshot`] is one transaction, so that a move that commits meanwhile does not look like a forgery.

use std::sync::Arc;

use chancery_model::chain::LogRow;
use chancery_model::evidence::{Layout, Registry};
use serde_json::Value;
use sqlx::postgres::{PgExecutor, PgRow};
use sqlx::{AssertSqlSafe, Column as _, Postgres, Row as _, Transaction};
use uuid::Uuid;

use crate::{Error, Store};

/// A custom run as it is stored, for comparison with its log.
#[derive(Debug, Clone)]
pub struct RunFacts {
    pub run_id: Uuid,
    pub state_machine_id: String,
    pub state: String,
    pub seq: i64,
    pub head_hash: Option<Vec<u8>>,
    pub parent_run_id: Option<Uuid>,
    pub data: Value,
    pub started_by: String,
    pub trace_id: String,
    pub correlation_id: String,
    pub facet: Option<String>,
    /// Microseconds since 1970.
    pub created_at_micros: i64,
    /// Microseconds since 1970.
    pub last_transition_at_micros: i64,
}

/// A row of evidence: every column as text, times as microseconds since 1970, bytes as lower hex, intervals as months, days and
/// microseconds.
#[derive(Debug, Clone)]
pub struct RawRow {
    /// Shared by the rows of a table.
    layout: Arc<Layout>,
    values: Vec<Option<String>>,
}

impl RawRow {
    /// A row with a value for each column.
    ///
    /// # Panics
    /// When the numbers of columns and values differ.
    pub fn new(layout: Arc<Layout>, values: Vec<Option<String>>) -> Self {
        assert_eq!(layout.columns().len(), values.len(), "a value for each column");
        Self { layout, values }
    }

    /// The value of a column; `None` when it is null or there is no such column.
    pub fn get(&self, column: &str) -> Option<&str> {
        self.value(self.layout.place(column)?)
    }

    /// The value at a place of the layout.
    pub fn value(&self, place: usize) -> Option<&str> {
        self.values[place].as_deref()
    }

    /// The names of the columns, and what the row's digest is over.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The values, in the order of the columns.
    pub fn values(&self) -> &[Option<String>] {
        &self.values
    }
}

/// A public key: whose it is, and from when to when it was good for new signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFacts {
    pub key_id: Uuid,
    pub principal: String,
    /// Hex.
    pub public_key: String,
    /// Microseconds since 1970.
    pub registered_at_micros: i64,
    /// Microseconds since 1970.
    pub revoked_at_micros: Option<i64>,
}

/// How much there is to read for one key, so that readers can take what fits into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight {
    pub id: Uuid,
    pub units: i64,
    pub bytes: i64,
}

/// The database as it was at one moment, for reading only.
pub struct Snapshot {
    transaction: Transaction<'static, Postgres>,
    /// What is evidence, and what digests are over.
    registry: Arc<Registry>,
    /// How the log is read.
    log: String,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").finish_non_exhaustive()
    }
}

/// How a table's columns are read.
#[derive(Debug, Clone)]
pub struct Shape {
    view: String,
    layout: Arc<Layout>,
    /// The select list, in the order of the columns.
    rendered: String,
}

impl Shape {
    /// The names of the columns, ascending.
    pub fn columns(&self) -> &[String] {
        self.layout.columns()
    }
}

impl Store {
    /// The database as it is now, for as long as the value lives; its evidence is as the registry says.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn snapshot(&self, registry: &Arc<Registry>) -> Result<Snapshot, Error> {
        let begin = "begin isolation level repeatable read, read only";
        let mut transaction = self.pool.begin_with(begin).await?;
        // Whole tables are compared here. Freshly filled ones have no statistics yet, and a plan for a handful of rows takes
        // time by the square of ten thousand.
        sqlx::query("set local enable_nestloop = off").execute(&mut *transaction).await?;
        let registry = Arc::clone(registry);
        let mut snapshot = Snapshot { transaction, registry, log: log_query(&[]) };
        let more: Vec<&'static str> = snapshot.registry.log().more().collect();
        if !more.is_empty() {
            let rendered = snapshot.rendered("fsm.transition_log").await?;
            let more = more.iter().filter_map(|name| rendered.iter().find(|(of, _)| of == name));
            snapshot.log = log_query(&more.cloned().collect::<Vec<_>>());
        }
        Ok(snapshot)
    }

    /// A page of the log in the order (run, seq), behind the given row.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn log_page(
        &self,
        after: Option<(Uuid, i64)>,
        limit: i64,
    ) -> Result<Vec<LogRow>, Error> {
        log_page(&self.pool, &log_query(&[]), after, limit).await
    }
}

impl Snapshot {
    /// What is evidence for whoever reads this, and what digests are over.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// As [`Store::log_page`].
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn log_page(
        &mut self,
        after: Option<(Uuid, i64)>,
        limit: i64,
    ) -> Result<Vec<LogRow>, Error> {
        log_page(&mut *self.transaction, &self.log, after, limit).await
    }

    /// The log of some runs, in the order (run, seq).
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn log_of(&mut self, runs: &[Uuid]) -> Result<Vec<LogRow>, Error> {
        let query = format!("{} where run_id = any($1) order by run_id, seq", self.log);
        let rows = sqlx::query(AssertSqlSafe(query)).bind(runs).fetch_all(&mut *self.transaction);
        rows.await?.iter().map(log_row).collect()
    }

    /// A page of custom runs by id, behind the given one.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn run_page(
        &mut self,
        after: Option<Uuid>,
        limit: i64,
    ) -> Result<Vec<RunFacts>, Error> {
        let rows = sqlx::query(
            "select run_id, state_machine_id, state_code, seq, head_hash, parent_run_id, data, started_by, trace_id, correlation_id, facet,
                    (extract(epoch from created_at) * 1000000)::bigint as created_at_micros,
                    (extract(epoch from last_transition_at) * 1000000)::bigint as last_transition_at_micros
               from fsm.v_run_facts where $1::uuid is null or run_id > $1 order by run_id limit $2",
        )
        .bind(after)
        .bind(limit)
        .fetch_all(&mut *self.transaction)
        .await?;
        rows.iter().map(run_facts).collect()
    }

    /// Every principal's name and kind.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn kinds_of_principals(&mut self) -> Result<Vec<(String, String)>, Error> {
        Ok(sqlx::query_as("select name, kind from identity.v_principal order by name")
            .fetch_all(&mut *self.transaction)
            .await?)
    }

    /// Every key, as the audit needs it.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn key_facts(&mut self) -> Result<Vec<KeyFacts>, Error> {
        let keys: Vec<(Uuid, String, String, i64, Option<i64>)> = sqlx::query_as(
            "select key_id, principal, public_key, (extract(epoch from registered_at) * 1000000)::bigint, revoked_at_micros
               from identity.v_signing_key order by key_id",
        )
        .fetch_all(&mut *self.transaction)
        .await?;
        Ok(keys
            .into_iter()
            .map(|(key_id, principal, public_key, registered_at_micros, revoked_at_micros)| {
                KeyFacts { key_id, principal, public_key, registered_at_micros, revoked_at_micros }
            })
            .collect())
    }

    /// The kinds of principals whose moves must be signed, as the settings have it now.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn kinds_that_sign(&mut self) -> Result<Vec<String>, Error> {
        Ok(sqlx::query_scalar(
            "select substr(key, length('identity.signature_required.') + 1) from config.dot_config
              where starts_with(key, 'identity.signature_required.') and value = 'true' order by 1",
        )
        .fetch_all(&mut *self.transaction)
        .await?)
    }

    /// What an approval needs, by its risk: sovereigns, reviewers, approving votes, and how many may be against it.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn quorum_rules(&mut self) -> Result<Vec<(String, [i32; 4])>, Error> {
        let rules: Vec<(String, i32, i32, i32, i32)> = sqlx::query_as(
            "select risk, sovereigns, reviewers, approvals, rejects_allowed from approval.v_quorum_rule order by risk",
        )
        .fetch_all(&mut *self.transaction)
        .await?;
        Ok(rules.into_iter().map(|(risk, s, r, a, n)| (risk, [s, r, a, n])).collect())
    }

    /// The columns of evidence tables (`room.table`), each read through its raw view; in the order of the names.
    ///
    /// # Errors
    /// When there is no answer, or no such view.
    pub async fn shapes(&mut self, tables: &[&str]) -> Result<Vec<Shape>, Error> {
        let columns = self.columns(tables).await?;
        let shape = |table: &&str| {
            let view = raw_view(table);
            let columns: Vec<&(String, String, String)> =
                columns.iter().filter(|(of, _, _)| *of == view).collect();
            if columns.is_empty() {
                return Err(Error::Schema(format!("the raw view of {table} is not there")));
            }
            let rendered: Vec<String> =
                columns.iter().map(|(_, name, kind)| render(name, kind)).collect();
            let names = columns.iter().map(|(_, name, _)| name.clone()).collect();
            let layout = match self.registry.table(table) {
                Some(table) => Layout::of(table, names),
                None => Layout::plain(names),
            };
            Ok(Shape {
                view: view.split('.').map(identifier).collect::<Vec<_>>().join("."),
                layout: Arc::new(layout),
                rendered: rendered.join(", "),
            })
        };
        tables.iter().map(shape).collect()
    }

    /// The columns of raw views with their types, by view and in the order of their names.
    async fn columns(&mut self, tables: &[&str]) -> Result<Vec<(String, String, String)>, Error> {
        Ok(sqlx::query_as(
            "select n.nspname || '.' || c.relname, a.attname::text, a.atttypid::regtype::text
               from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
              where n.nspname || '.' || c.relname = any ($1) and a.attnum > 0 and not a.attisdropped
              order by a.attname::text collate \"C\"",
        )
        .bind(tables.iter().map(|table| raw_view(table)).collect::<Vec<String>>())
        .fetch_all(&mut *self.transaction)
        .await?)
    }

    /// The columns of one raw view, each with the expression that gives it as text.
    async fn rendered(&mut self, table: &str) -> Result<Vec<(String, String)>, Error> {
        let columns = self.columns(&[table]).await?;
        Ok(columns
            .into_iter()
            .map(|(_, name, kind)| (name.clone(), render(&name, &kind)))
            .collect())
    }

    /// A page of a table in the order of its key, behind the given key; `key` are columns and their types.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn evidence_page(
        &mut self,
        shape: &Shape,
        key: &[(&str, &str)],
        after: Option<&[String]>,
        limit: i64,
    ) -> Result<Vec<RawRow>, Error> {
        let names: Vec<String> = key.iter().map(|(name, _)| identifier(name)).collect();
        let names = names.join(", ");
        let behind = match after {
            None => String::new(),
            Some(_) => {
                let values =
                    key.iter().enumerate().map(|(n, (_, kind))| format!("${}::{kind}", n + 1));
                format!("where ({names}) > ({})", values.collect::<Vec<_>>().join(", "))
            }
        };
        let query = format!(
            "select {} from {} t {behind} order by {} limit {limit}",
            shape.rendered,
            shape.view,
            by_value(key.iter().map(|(name, _)| *name))
        );
        let mut query = sqlx::query(AssertSqlSafe(query));
        for value in after.into_iter().flatten() {
            query = query.bind(value);
        }
        let rows = query.fetch_all(&mut *self.transaction).await?;
        rows.iter().map(|row| raw_row(shape, row)).collect()
    }

    /// The rows whose column has one of these ids, in the order of `order`.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn evidence_of(
        &mut self,
        shape: &Shape,
        column: &str,
        ids: &[Uuid],
        order: &[&str],
    ) -> Result<Vec<RawRow>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let query = format!(
            "select {} from {} t where {} = any($1::uuid[]) order by {}",
            shape.rendered,
            shape.view,
            identifier(column),
            by_value(order.iter().copied())
        );
        let rows =
            sqlx::query(AssertSqlSafe(query)).bind(ids).fetch_all(&mut *self.transaction).await?;
        rows.iter().map(|row| raw_row(shape, row)).collect()
    }

    /// The rows whose text column has one of these values, in the order of that column.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn evidence_named(
        &mut self,
        shape: &Shape,
        column: &str,
        names: &[String],
    ) -> Result<Vec<RawRow>, Error> {
        let column = identifier(column);
        let query = format!(
            "select {} from {} where {column} = any($1::text[]) order by {column}",
            shape.rendered, shape.view
        );
        let rows =
            sqlx::query(AssertSqlSafe(query)).bind(names).fetch_all(&mut *self.transaction).await?;
        rows.iter().map(|row| raw_row(shape, row)).collect()
    }

    /// The rows whose column of bytes has one of these values, in the order of that column.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn evidence_hashed(
        &mut self,
        shape: &Shape,
        column: &str,
        hashes: &[Vec<u8>],
    ) -> Result<Vec<RawRow>, Error> {
        if hashes.is_empty() {
            return Ok(Vec::new());
        }
        let query = format!(
            "select {} from {} t where {} = any($1::bytea[]) order by {}",
            shape.rendered,
            shape.view,
            identifier(column),
            by_value(std::iter::once(column))
        );
        let rows = sqlx::query(AssertSqlSafe(query)).bind(hashes);
        rows.fetch_all(&mut *self.transaction)
            .await?
            .iter()
            .map(|row| raw_row(shape, row))
            .collect()
    }

    /// How many rows a table has.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn evidence_count(&mut self, shape: &Shape) -> Result<i64, Error> {
        let query = format!("select count(*) from {}", shape.view);
        Ok(sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&mut *self.transaction).await?)
    }

    /// The keys of rows whose `column` names no row of another table, at most `limit`.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn evidence_orphans(
        &mut self,
        shape: &Shape,
        key: &[(&str, &str)],
        column: &str,
        parent: &Shape,
        parent_column: &str,
        limit: i64,
    ) -> Result<Vec<String>, Error> {
        let texts: Vec<String> =
            key.iter().map(|(name, _)| format!("c.{}::text", identifier(name))).collect();
        let query = format!(
            "select concat_ws('/', {}) from {} c where not exists (select from {} p where p.{} = c.{}) limit {limit}",
            texts.join(", "),
            shape.view,
            parent.view,
            identifier(parent_column),
            identifier(column),
        );
        Ok(sqlx::query_scalar(AssertSqlSafe(query)).fetch_all(&mut *self.transaction).await?)
    }

    /// A page of cut requests by id, behind the given one: how many units their manifests have and how long their sources are.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn entry_weights(
        &mut self,
        after: Option<Uuid>,
        limit: i64,
    ) -> Result<Vec<Weight>, Error> {
        weights(
            "select e.entry_id,
                    coalesce((select sum(m.unit_count) from cutter_governance.v_manifest_envelope m where m.entry_id = e.entry_id), 0)::bigint,
                    coalesce((select v.byte_length from iu.v_source_version v where v.source_version_id = e.source_version_id), 0)::bigint
               from cutter_governance.v_decision_backlog_entry e
              where $1::uuid is null or e.entry_id > $1 order by e.entry_id limit $2",
            &mut self.transaction,
            after,
            limit,
        )
        .await
    }

    /// A page of source versions by id, behind the given one, with their lengths.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn source_weights(
        &mut self,
        after: Option<Uuid>,
        limit: i64,
    ) -> Result<Vec<Weight>, Error> {
        weights(
            "select v.source_version_id, 0::bigint, v.byte_length::bigint from iu.v_source_version v
              where $1::uuid is null or v.source_version_id > $1 order by v.source_version_id limit $2",
            &mut self.transaction,
            after,
            limit,
        )
        .await
    }
}

async fn weights(
    query: &'static str,
    transaction: &mut Transaction<'static, Postgres>,
    after: Option<Uuid>,
    limit: i64,
) -> Result<Vec<Weight>, Error> {
    let rows: Vec<(Uuid, i64, i64)> =
        sqlx::query_as(query).bind(after).bind(limit).fetch_all(&mut **transaction).await?;
    Ok(rows.into_iter().map(|(id, units, bytes)| Weight { id, units, bytes }).collect())
}

fn raw_view(table: &str) -> String {
    table.replacen('.', ".v_", 1)
}

/// A column as text, by casts that no setting of the session changes.
fn render(name: &str, kind: &str) -> String {
    let column = identifier(name);
    match kind {
        "timestamp with time zone" => {
            format!("(extract(epoch from {column}) * 1000000)::bigint::text")
        }
        "bytea" => format!("encode({column}, 'hex')"),
        // Months, days and microseconds: how an interval is written is a setting.
        "interval" => format!(
            "case when {column} is not null then concat_ws(' ', (extract(year from {column}) * 12 + extract(month from {column}))::bigint, \
             extract(day from {column})::bigint, \
             ((extract(hour from {column}) * 60 + extract(minute from {column})) * 60000000 + extract(microseconds from {column}))::bigint) end"
        ),
        _ => format!("{column}::text"),
    }
}

/// Columns to order by, as they are stored: a bare name would mean the text it is rendered to, and "10" comes before "9".
fn by_value<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("t.{}", identifier(name))).collect::<Vec<_>>().join(", ")
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn raw_row(shape: &Shape, row: &PgRow) -> Result<RawRow, Error> {
    let values: Result<Vec<Option<String>>, sqlx::Error> =
        (0..shape.columns().len()).map(|place| row.try_get(place)).collect();
    Ok(RawRow::new(Arc::clone(&shape.layout), values?))
}

/// Columns that came after version 1 are read as text, behind a name of their own: `more.NAME`.
fn log_query(more: &[(String, String)]) -> String {
    let more: String = more
        .iter()
        .map(|(name, rendered)| format!(", {rendered} as {}", identifier(&format!("more.{name}"))))
        .collect();
    format!("{LOG}{more} from fsm.v_transition_log")
}

const LOG: &str = "
    select run_id, seq, log_id, run_kind, state_machine_id, transition_id, from_state, to_state, facet, principal, actor_class,
           trigger_kind, trigger_ref, reason, evidence, event_type, artefact_digest, idempotency_key, key_id, signature,
           (extract(epoch from at) * 1000000)::bigint as at_micros, prev_hash, hash, hash_version";

async fn log_page(
    executor: impl PgExecutor<'_>,
    log: &str,
    after: Option<(Uuid, i64)>,
    limit: i64,
) -> Result<Vec<LogRow>, Error> {
    let (run_id, seq) = after.unwrap_or((Uuid::nil(), 0));
    let query = format!("{log} where (run_id, seq) > ($1, $2) order by run_id, seq limit $3");
    let rows = sqlx::query(AssertSqlSafe(query)).bind(run_id).bind(seq).bind(limit);
    rows.fetch_all(executor).await?.iter().map(log_row).collect()
}

fn run_facts(row: &PgRow) -> Result<RunFacts, Error> {
    Ok(RunFacts {
        run_id: row.try_get("run_id")?,
        state_machine_id: row.try_get("state_machine_id")?,
        state: row.try_get("state_code")?,
        seq: row.try_get("seq")?,
        head_hash: row.try_get("head_hash")?,
        parent_run_id: row.try_get("parent_run_id")?,
        data: row.try_get("data")?,
        started_by: row.try_get("started_by")?,
        trace_id: row.try_get("trace_id")?,
        correlation_id: row.try_get("correlation_id")?,
        facet: row.try_get("facet")?,
        created_at_micros: row.try_get("created_at_micros")?,
        last_transition_at_micros: row.try_get("last_transition_at_micros")?,
    })
}

fn log_row(row: &PgRow) -> Result<LogRow, Error> {
    Ok(LogRow {
        run_id: row.try_get("run_id")?,
        seq: row.try_get("seq")?,
        log_id: row.try_get("log_id")?,
        run_kind: row.try_get("run_kind")?,
        state_machine_id: row.try_get("state_machine_id")?,
        transition_id: row.try_get("transition_id")?,
        from_state: row.try_get("from_state")?,
        to_state: row.try_get("to_state")?,
        facet: row.try_get("facet")?,
        principal: row.try_get("principal")?,
        actor_class: row.try_get("actor_class")?,
        trigger_kind: row.try_get("trigger_kind")?,
        trigger_ref: row.try_get("trigger_ref")?,
        reason: row.try_get("reason")?,
        evidence: row.try_get("evidence")?,
        event_type: row.try_get("event_type")?,
        artefact_digest: row.try_get("artefact_digest")?,
        idempotency_key: row.try_get("idempotency_key")?,
        key_id: row.try_get("key_id")?,
        signature: row.try_get("signature")?,
        at_micros: row.try_get("at_micros")?,
        prev_hash: row.try_get("prev_hash")?,
        hash: row.try_get("hash")?,
        hash_version: row.try_get("hash_version")?,
        more: row
            .columns()
            .iter()
            .filter_map(|column| Some((column.name().strip_prefix("more.")?, column.name())))
            .map(|(name, column)| Ok((name.to_owned(), row.try_get(column)?)))
            .collect::<Result<_, sqlx::Error>>()?,
    })
}

//! Machines, runs and moves. Each function has the name of the door it calls.

use chancery_model::refusal::Problem;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use uuid::Uuid;

use crate::{Error, Store};

/// A run, as [`run_row`] reads it; the parameter is [`ISO`].
macro_rules! run {
    ($iso:literal) => {
        concat!(
            "select run_id, state_machine_id, state_code, is_terminal, facet, seq, parent_run_id, data, started_by, trace_id,
                    to_char(created_at at time zone 'UTC', ",
            $iso,
            ") as created_at, to_char(last_transition_at at time zone 'UTC', ",
            $iso,
            ") as last_transition_at, ways_on
               from fsm.v_run"
        )
    };
}

/// A move, as [`history_row`] reads it; the parameter is [`ISO`].
macro_rules! history {
    ($iso:literal) => {
        concat!(
            "select seq, to_char(at at time zone 'UTC', ",
            $iso,
            ") as at, from_state, to_state, principal, actor_class, trigger, transition_id, reason, evidence, event_type, event_position,
                    idempotency_key, signed, hash
               from fsm.v_history"
        )
    };
}

mod pages;

pub use pages::RunFilter;

/// A signature and the key that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    pub key_id: Uuid,
    pub signature: Vec<u8>,
}

/// One move of one run.
#[derive(Debug, Clone)]
pub struct Move {
    pub run_id: Uuid,
    pub run_kind: String,
    /// The state the caller believes the run to be in; `None` takes it as it is.
    pub from: Option<String>,
    pub to: String,
    pub actor_class: String,
    pub trigger_kind: String,
    pub trigger_ref: String,
    pub evidence: Value,
    pub principal: String,
    pub idempotency_key: String,
    pub reason: Option<String>,
    pub signed: Option<Signed>,
}

/// The birth of a run of a custom machine.
#[derive(Debug, Clone)]
pub struct Start {
    pub run_id: Uuid,
    pub machine: String,
    pub data: Value,
    pub actor_class: String,
    pub trigger_kind: String,
    pub trigger_ref: String,
    pub evidence: Value,
    pub principal: String,
    pub idempotency_key: String,
    pub reason: Option<String>,
    pub parent: Option<Uuid>,
    pub trace_id: Option<String>,
    pub signed: Option<Signed>,
}

/// The answer to a move that was made, now or when its key was first used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MoveReport {
    pub ok: bool,
    pub run_id: Uuid,
    pub transition_id: Option<String>,
    pub emitted_event_type: Option<String>,
    pub from: Option<String>,
    pub to: String,
    pub seq: Option<i64>,
    pub hash: Option<String>,
    pub replayed: bool,
    pub problems: Vec<Problem>,
}

/// The answer to a preview.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preview {
    pub ok: bool,
    pub transition_id: Option<String>,
    pub emitted_event_type: Option<String>,
    pub problems: Vec<Problem>,
}

/// Whether a machine becomes active when it is put into the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activate {
    /// It is stored only.
    No,
    /// Unless it is older than the active version.
    Newer,
    /// Also when it is older than the active version.
    AlsoOlder,
}

impl From<bool> for Activate {
    fn from(activate: bool) -> Self {
        if activate { Self::Newer } else { Self::No }
    }
}

/// What applying a machine did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineApplied {
    pub machine: String,
    /// `created`, `replaced`, `activated` or `unchanged`.
    pub outcome: String,
    pub active: bool,
    pub guards_not_registered: Vec<String>,
}

/// A machine in the registry.
#[derive(Debug, Clone, Serialize)]
pub struct MachineRow {
    pub state_machine_id: String,
    pub scope: String,
    pub name: String,
    pub version: String,
    pub active: bool,
    pub description: String,
    pub initial_state: String,
    pub states: i64,
    pub transitions: i64,
    pub guards_not_registered: Value,
    pub definition: Value,
    /// Hex.
    pub definition_sha256: String,
}

/// A run of a custom machine, with the rows that lead on from where it is.
#[derive(Debug, Clone, Serialize)]
pub struct RunRow {
    pub run_id: Uuid,
    pub state_machine_id: String,
    pub state: String,
    pub terminal: bool,
    pub facet: Option<String>,
    pub seq: i64,
    pub parent_run_id: Option<Uuid>,
    pub data: Value,
    pub started_by: String,
    pub trace_id: String,
    pub created_at: String,
    pub last_transition_at: String,
    pub ways_on: Vec<WayOn>,
}

/// A transition row that leads on from a run's state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WayOn {
    pub to: String,
    pub actor_class: String,
    pub label: String,
    pub trigger: String,
    pub guards: Option<String>,
    pub audit: bool,
    pub transition_id: String,
    /// It waits for an approval and cannot fire yet.
    pub proposed: bool,
}

/// What an activation answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activated {
    pub transition_id: String,
    pub proposed: bool,
    pub approval_id: Uuid,
    /// Done before; nothing was done twice.
    pub replayed: bool,
}

/// A line of a run's history.
#[derive(Debug, Clone, Serialize)]
pub struct HistoryRow {
    pub seq: i64,
    pub at: String,
    pub from: Option<String>,
    pub to: String,
    pub principal: String,
    pub actor_class: String,
    pub trigger: String,
    pub transition_id: String,
    pub reason: Option<String>,
    pub evidence: Value,
    pub event_type: Option<String>,
    pub event_position: Option<i64>,
    pub idempotency_key: String,
    pub signed: bool,
    pub hash: String,
}

pub(crate) const ISO: &str = r#"YYYY-MM-DD"T"HH24:MI:SS.US"Z""#;

impl Store {
    /// Makes one move.
    ///
    /// # Errors
    /// `Refused` with every problem; then nothing changed.
    pub async fn fn_state_transition_apply(&self, m: &Move) -> Result<MoveReport, Error> {
        let Json(report) = sqlx::query_scalar::<_, Json<MoveReport>>(
            "select fsm.fn_state_transition_apply($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, null, $12, $13)",
        )
        .bind(m.run_id)
        .bind(&m.run_kind)
        .bind(&m.from)
        .bind(&m.to)
        .bind(&m.actor_class)
        .bind(&m.trigger_kind)
        .bind(&m.trigger_ref)
        .bind(&m.evidence)
        .bind(&m.principal)
        .bind(&m.idempotency_key)
        .bind(&m.reason)
        .bind(m.signed.as_ref().map(|s| s.key_id))
        .bind(m.signed.as_ref().map(|s| &s.signature))
        .fetch_one(&self.pool)
        .await?;
        Ok(report)
    }

    /// Makes many moves in one transaction, a verdict each.
    ///
    /// # Errors
    /// Only what concerns the whole call; a refused move has its problems in its report.
    pub async fn fn_state_transition_apply_batch(
        &self,
        moves: &[Move],
    ) -> Result<Vec<MoveReport>, Error> {
        let moves: Vec<Value> = moves
            .iter()
            .map(|m| {
                json!({
                    "run_id": m.run_id, "run_kind": m.run_kind, "from": m.from, "to": m.to, "actor_class": m.actor_class,
                    "trigger_kind": m.trigger_kind, "trigger_ref": m.trigger_ref, "evidence": m.evidence,
                    "principal": m.principal, "idempotency_key": m.idempotency_key, "reason": m.reason,
                    "key_id": m.signed.as_ref().map(|s| s.key_id),
                    "signature": m.signed.as_ref().map(|s| hex::encode(&s.signature)),
                })
            })
            .collect();
        let Json(reports) = sqlx::query_scalar::<_, Json<Vec<MoveReport>>>(
            "select fsm.fn_state_transition_apply_batch($1)",
        )
        .bind(Value::Array(moves))
        .fetch_one(&self.pool)
        .await?;
        Ok(reports)
    }

    /// What [`Store::fn_state_transition_apply`] would say. Runs in a READ ONLY transaction: a STABLE function could still
    /// write through a volatile one.
    ///
    /// # Errors
    /// Only when there is no answer; a refused move has its problems in the preview.
    pub async fn fn_state_transition_validate(&self, m: &Move) -> Result<Preview, Error> {
        let mut transaction = self.pool.begin_with("begin read only").await?;
        let preview: Value = sqlx::query_scalar(
            "select fsm.fn_state_transition_validate($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(m.run_id)
        .bind(&m.run_kind)
        .bind(&m.from)
        .bind(&m.to)
        .bind(&m.actor_class)
        .bind(&m.trigger_kind)
        .bind(&m.trigger_ref)
        .bind(&m.evidence)
        .bind(&m.principal)
        .fetch_one(&mut *transaction)
        .await?;
        transaction.rollback().await?;
        decode(preview)
    }

    /// Starts a run of an active custom machine.
    ///
    /// # Errors
    /// `Refused` with every problem; then nothing changed.
    pub async fn fn_run_start(&self, s: &Start) -> Result<MoveReport, Error> {
        let Json(report) = sqlx::query_scalar::<_, Json<MoveReport>>(
            "select fsm.fn_run_start($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, null, $13, $14)",
        )
        .bind(s.run_id)
        .bind(&s.machine)
        .bind(&s.data)
        .bind(&s.actor_class)
        .bind(&s.trigger_kind)
        .bind(&s.trigger_ref)
        .bind(&s.evidence)
        .bind(&s.principal)
        .bind(&s.idempotency_key)
        .bind(&s.reason)
        .bind(s.parent)
        .bind(&s.trace_id)
        .bind(s.signed.as_ref().map(|s| s.key_id))
        .bind(s.signed.as_ref().map(|s| &s.signature))
        .fetch_one(&self.pool)
        .await?;
        Ok(report)
    }

    /// Puts a machine into the registry.
    ///
    /// # Errors
    /// `Refused` when the version has runs, is unsound, is older than the active one, or should be activated without its guards.
    pub async fn fn_machine_apply(
        &self,
        definition: &Value,
        sha256: &str,
        applied_by: &str,
        activate: impl Into<Activate>,
    ) -> Result<MachineApplied, Error> {
        let activate = activate.into();
        let applied: Value = sqlx::query_scalar("select fsm.fn_machine_apply($1, $2, $3, $4, $5)")
            .bind(definition)
            .bind(sha256)
            .bind(applied_by)
            .bind(activate != Activate::No)
            .bind(activate == Activate::AlsoOlder)
            .fetch_one(&self.pool)
            .await?;
        decode(applied)
    }

    /// Lets a proposed transition fire, by its approval.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_transition_activate(
        &self,
        transition_id: &str,
        approval_id: Uuid,
        principal: &str,
        actor_class: &str,
    ) -> Result<Activated, Error> {
        let activated: Value =
            sqlx::query_scalar("select fsm.fn_transition_activate($1, $2, $3, $4)")
                .bind(transition_id)
                .bind(approval_id)
                .bind(principal)
                .bind(actor_class)
                .fetch_one(&self.pool)
                .await?;
        decode(activated)
    }

    /// The registry.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn machines(&self) -> Result<Vec<MachineRow>, Error> {
        let rows = sqlx::query(
            "select state_machine_id, scope, name, version, active, description, initial_state, states, transitions,
                    guards_not_registered, definition, definition_sha256
               from fsm.v_machine order by scope, name, string_to_array(substring(version from '^[0-9.]+'), '.')::int[]",
        )
        .fetch_all(&self.pool)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(MachineRow {
                    definition_sha256: row.try_get("definition_sha256")?,
                    state_machine_id: row.try_get("state_machine_id")?,
                    scope: row.try_get("scope")?,
                    name: row.try_get("name")?,
                    version: row.try_get("version")?,
                    active: row.try_get("active")?,
                    description: row.try_get("description")?,
                    initial_state: row.try_get("initial_state")?,
                    states: row.try_get("states")?,
                    transitions: row.try_get("transitions")?,
                    guards_not_registered: row.try_get("guards_not_registered")?,
                    definition: row.try_get("definition")?,
                })
            })
            .collect()
    }

    /// One run, or `None`.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn run(&self, run_id: Uuid) -> Result<Option<RunRow>, Error> {
        let row = sqlx::query(concat!(run!("$2"), " where run_id = $1"))
            .bind(run_id)
            .bind(ISO)
            .fetch_optional(&self.pool)
            .await?;
        row.as_ref().map(run_row).transpose()
    }

    /// The newest runs first, at most `limit`; of one machine (by name or id) when one is named.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn runs(&self, machine: Option<&str>, limit: i64) -> Result<Vec<RunRow>, Error> {
        let rows = sqlx::query(concat!(
            run!("$3"),
            " where $1::text is null or $1 in (state_machine_id, split_part(state_machine_id, '@', 1))
              order by v_run.created_at desc, run_id desc limit $2",
        ))
        .bind(machine)
        .bind(limit)
        .bind(ISO)
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(run_row).collect()
    }

    /// The moves of a run, oldest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn history(&self, run_id: Uuid) -> Result<Vec<HistoryRow>, Error> {
        let rows = sqlx::query(concat!(history!("$2"), " where run_id = $1 order by seq"))
            .bind(run_id)
            .bind(ISO)
            .fetch_all(&self.pool)
            .await?;
        rows.iter().map(history_row).collect()
    }
}

fn history_row(row: &PgRow) -> Result<HistoryRow, Error> {
    Ok(HistoryRow {
        seq: row.try_get("seq")?,
        at: row.try_get("at")?,
        from: row.try_get("from_state")?,
        to: row.try_get("to_state")?,
        principal: row.try_get("principal")?,
        actor_class: row.try_get("actor_class")?,
        trigger: row.try_get("trigger")?,
        transition_id: row.try_get("transition_id")?,
        reason: row.try_get("reason")?,
        evidence: row.try_get("evidence")?,
        event_type: row.try_get("event_type")?,
        event_position: row.try_get("event_position")?,
        idempotency_key: row.try_get("idempotency_key")?,
        signed: row.try_get("signed")?,
        hash: row.try_get("hash")?,
    })
}

fn run_row(row: &PgRow) -> Result<RunRow, Error> {
    Ok(RunRow {
        run_id: row.try_get("run_id")?,
        state_machine_id: row.try_get("state_machine_id")?,
        state: row.try_get("state_code")?,
        terminal: row.try_get("is_terminal")?,
        facet: row.try_get("facet")?,
        seq: row.try_get("seq")?,
        parent_run_id: row.try_get("parent_run_id")?,
        data: row.try_get("data")?,
        started_by: row.try_get("started_by")?,
        trace_id: row.try_get("trace_id")?,
        created_at: row.try_get("created_at")?,
        last_transition_at: row.try_get("last_transition_at")?,
        ways_on: decode(row.try_get("ways_on")?)?,
    })
}

/// A door's JSON answer as a type; another shape means that the binary and the schema do not belong together.
pub(crate) fn decode<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T, Error> {
    serde_json::from_value(value).map_err(|error| {
        Error::Schema(format!(
            "the database answered in a shape this binary does not know: {error}"
        ))
    })
}

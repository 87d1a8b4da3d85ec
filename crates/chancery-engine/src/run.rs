//! Runs of custom machines: start, move, preview.

use chancery_model::envelope;
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::fsm::{Move, MoveReport, Preview, Signed, Start};
use serde_json::Value;
use uuid::Uuid;

use crate::Error;
use crate::cutter::now_micros;
use crate::identity::{Keystore, OwnKey};

/// Who acts, and with which key if they have one.
#[derive(Debug)]
pub struct Actor {
    pub principal: String,
    pub key: Option<OwnKey>,
    /// A key that lies elsewhere, with its owner.
    remote: Option<RemoteKey>,
}

/// A key that never comes here: its owner is shown what to sign, and brings the signatures.
#[derive(Debug)]
pub struct RemoteKey {
    pub key_id: Uuid,
    pub public_key: Vec<u8>,
    /// What the owner brought.
    pub signatures: Vec<Vec<u8>>,
    /// When the owner was first asked, in microseconds: part of some statements, so it stays the same.
    pub asked_at: i64,
    /// The request's own key: ids in a statement are made of it, so that they stay the same.
    pub request: String,
    /// Whether the doors shall judge what is not all signed yet: each signature is one that holds for nothing, so that the database refuses
    /// whatever it refuses, and at the latest that signature (RI051). Nothing can come of it.
    pub rehearses: bool,
}

/// Sixty-four zeros are a signature under no statement by no key that can be registered.
const NOBODYS: [u8; 64] = [0; 64];

/// A signature that holds for nothing: what is judged under it is judged whole, and never done.
pub(crate) fn signed_by_nobody(key_id: Uuid) -> Signed {
    Signed { key_id, signature: NOBODYS.to_vec() }
}

impl Actor {
    /// Somebody who signs here, or not at all.
    pub fn new(principal: impl Into<String>, key: Option<OwnKey>) -> Self {
        Self { principal: principal.into(), key, remote: None }
    }

    /// Somebody who signs elsewhere.
    pub fn elsewhere(principal: impl Into<String>, key: RemoteKey) -> Self {
        Self { principal: principal.into(), key: None, remote: Some(key) }
    }

    /// The principal with its key from the keystore.
    ///
    /// # Errors
    /// When a key file cannot be used or the database does not answer.
    pub async fn open(store: &Store, keystore: &Keystore, principal: &str) -> Result<Self, Error> {
        let key = keystore.signing_key(store, principal).await?;
        Ok(Self::new(principal, key))
    }

    /// Which key signs.
    pub fn key_id(&self) -> Option<Uuid> {
        let own = self.key.as_ref().map(|own| own.key_id);
        own.or_else(|| self.remote.as_ref().map(|remote| remote.key_id))
    }

    /// The answer of a door, when another one is asked after it: a rehearsal that gets as far as the signature goes on to what the other
    /// may refuse, and keeps the first refusal for the end.
    ///
    /// # Errors
    /// Every other refusal.
    pub(crate) fn past_rehearsal<T>(
        &self,
        answer: Result<T, chancery_store::Error>,
    ) -> Result<Result<T, chancery_store::Error>, chancery_store::Error> {
        let rehearses = self.remote.as_ref().is_some_and(|remote| remote.rehearses);
        match answer {
            Err(error) if rehearses && error.refusal().is_some_and(|it| it.code == Code::RI051) => {
                Ok(Err(error))
            }
            answer => answer.map(Ok),
        }
    }

    /// The time that a statement carries.
    pub(crate) fn signing_time(&self) -> i64 {
        self.remote.as_ref().map_or_else(now_micros, |remote| remote.asked_at)
    }

    /// An id that a statement carries; `what` tells those of one request apart.
    pub(crate) fn new_id(&self, what: &str) -> Uuid {
        self.remote.as_ref().map_or_else(Uuid::now_v7, |remote| {
            let name = serde_json::json!([what, self.principal, remote.request, remote.asked_at]);
            Uuid::new_v5(&Uuid::NAMESPACE_OID, name.to_string().as_bytes())
        })
    }

    /// The signatures under several statements, in their order; all that are missing are named at once.
    ///
    /// # Errors
    /// As [`Self::sign_statement`].
    pub(crate) fn sign_statements(
        &self,
        statements: impl IntoIterator<Item = envelope::Statement>,
    ) -> Result<Vec<Option<Signed>>, Error> {
        let mut signed = Vec::new();
        let mut missing = None;
        for statement in statements {
            match (self.sign_statement(&statement), &mut missing) {
                (Ok(signature), _) => signed.push(signature),
                (
                    Err(Error::Unsigned { statements: more, .. }),
                    Some(Error::Unsigned { statements, .. }),
                ) => statements.extend(more),
                (Err(error), missing) => *missing = Some(error),
            }
        }
        missing.map_or(Ok(signed), Err)
    }

    fn sign(&self, statement: &envelope::Move<'_>) -> Result<Option<Signed>, Error> {
        self.sign_statement(&statement.statement())
    }

    /// The actor's signature, when it has a key.
    ///
    /// # Errors
    /// `Unsigned` when the key lies elsewhere and its owner has not signed this yet.
    pub(crate) fn sign_statement(
        &self,
        statement: &envelope::Statement,
    ) -> Result<Option<Signed>, Error> {
        if let Some(remote) = &self.remote {
            if remote.rehearses {
                return Ok(Some(signed_by_nobody(remote.key_id)));
            }
            let good = |signature: &&Vec<u8>| statement.is_signed_by(&remote.public_key, signature);
            return match remote.signatures.iter().find(good) {
                Some(signature) => {
                    Ok(Some(Signed { key_id: remote.key_id, signature: signature.clone() }))
                }
                None => Err(Error::Unsigned {
                    statements: vec![statement.clone()],
                    key_id: remote.key_id,
                    asked_at: remote.asked_at,
                }),
            };
        }
        let Some(own) = self.key.as_ref() else { return Ok(None) };
        let signature = statement.sign(&own.key);
        // The database verifies it as well; a fault here is told here.
        assert!(
            statement.is_signed_by(own.key.verifying_key().as_bytes(), &signature),
            "a signature made with a key verifies with that key"
        );
        Ok(Some(Signed { key_id: own.key_id, signature: signature.to_vec() }))
    }
}

/// What a caller asks of a run; what is left out is looked up where the rules leave no choice.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub from: Option<String>,
    pub actor_class: Option<String>,
    /// `(kind, ref)`.
    pub trigger: Option<(String, String)>,
    pub idempotency_key: Option<String>,
    pub evidence: Option<Value>,
    pub reason: Option<String>,
}

/// What a run is started with.
#[derive(Debug, Clone, Default)]
pub struct Birth {
    pub run_id: Option<Uuid>,
    pub data: Option<Value>,
    pub parent: Option<Uuid>,
    /// The trace that it belongs to; a new one when it is left out.
    pub trace_id: Option<String>,
    pub request: Request,
}

/// Starts a run.
///
/// # Errors
/// The database's refusal, or an actor class that only the caller can choose.
pub async fn start(
    store: &Store,
    actor: &Actor,
    machine: &str,
    birth: &Birth,
) -> Result<MoveReport, Error> {
    let request = &birth.request;
    let births = birth_rows(store, machine).await?;
    let rows: Vec<Row<'_>> =
        births.iter().map(|b| Row { actor_class: &b.0, trigger: (&b.1, &b.2) }).collect();
    let (actor_class, trigger) = choose(store, actor, request, &rows).await?;
    let run_id = birth.run_id.unwrap_or_else(|| new_run_id(machine, actor, request));
    let mut start = Start {
        run_id,
        machine: machine.to_owned(),
        data: birth.data.clone().unwrap_or_else(|| Value::Object(serde_json::Map::new())),
        actor_class,
        trigger_kind: trigger.0,
        trigger_ref: trigger.1,
        evidence: evidence(request),
        principal: actor.principal.clone(),
        idempotency_key: key(request),
        reason: request.reason.clone(),
        parent: birth.parent,
        trace_id: birth.trace_id.clone(),
        signed: None,
    };
    let initial = initial_state(store, machine).await?;
    start.signed = actor.sign(&envelope::Move {
        run_kind: "custom",
        run_id,
        to: &initial,
        principal: &start.principal,
        actor_class: &start.actor_class,
        trigger_kind: &start.trigger_kind,
        trigger_ref: &start.trigger_ref,
        evidence: &start.evidence,
        reason: start.reason.as_deref(),
        idempotency_key: &start.idempotency_key,
        birth: Some(envelope::Birth { machine: envelope::name_of(machine), data: &start.data }),
    })?;
    Ok(store.fn_run_start(&start).await?)
}

/// Moves a run.
///
/// # Errors
/// The database's refusal, or an actor class that only the caller can choose.
pub async fn make_move(
    store: &Store,
    actor: &Actor,
    run_id: Uuid,
    to: &str,
    request: &Request,
) -> Result<MoveReport, Error> {
    let mut m = prepare(store, actor, run_id, to, request).await?;
    m.signed = actor.sign(&envelope::Move {
        run_kind: &m.run_kind,
        run_id,
        to,
        principal: &m.principal,
        actor_class: &m.actor_class,
        trigger_kind: &m.trigger_kind,
        trigger_ref: &m.trigger_ref,
        evidence: &m.evidence,
        reason: m.reason.as_deref(),
        idempotency_key: &m.idempotency_key,
        birth: None,
    })?;
    let answer = store.fn_state_transition_apply(&m).await;
    if let Err(error) = &answer {
        record_refused_event(store, &m.principal, error).await;
    }
    Ok(answer?)
}

/// What [`make_move`] would say; changes nothing.
///
/// # Errors
/// Only when there is no answer; problems are part of the preview.
pub async fn preview(
    store: &Store,
    actor: &Actor,
    run_id: Uuid,
    to: &str,
    request: &Request,
) -> Result<Preview, Error> {
    let m = prepare(store, actor, run_id, to, request).await?;
    Ok(store.fn_state_transition_validate(&m).await?)
}

async fn prepare(
    store: &Store,
    actor: &Actor,
    run_id: Uuid,
    to: &str,
    request: &Request,
) -> Result<Move, Error> {
    // Who says who moves it and by what leaves nothing to be found out.
    let open = request.actor_class.is_none() || request.trigger.is_none();
    let repeated = if open { as_asked_before(store, run_id, request).await? } else { None };
    let request = repeated.as_ref().unwrap_or(request);
    let run = if open { store.run(run_id).await? } else { None };
    let ways_on = run.map_or_else(Vec::new, |run| run.ways_on);
    let triggers: Vec<(String, String)> =
        ways_on.iter().map(|way| split_trigger(&way.trigger)).collect();
    let rows: Vec<Row<'_>> = ways_on
        .iter()
        .zip(&triggers)
        .filter(|(way, _)| way.to == to)
        .map(|(way, trigger)| Row {
            actor_class: &way.actor_class,
            trigger: (&trigger.0, &trigger.1),
        })
        .collect();
    let (actor_class, trigger) = choose(store, actor, request, &rows).await?;
    Ok(Move {
        run_id,
        run_kind: "custom".to_owned(),
        from: request.from.clone(),
        to: to.to_owned(),
        actor_class,
        trigger_kind: trigger.0,
        trigger_ref: trigger.1,
        evidence: evidence(request),
        principal: actor.principal.clone(),
        idempotency_key: key(request),
        reason: request.reason.clone(),
        signed: None,
    })
}

/// A request whose key was used before, with what it leaves out taken from the move that the key stands for: by now other
/// ways lead on, and a repeated request must still be the same request.
async fn as_asked_before(
    store: &Store,
    run_id: Uuid,
    request: &Request,
) -> Result<Option<Request>, Error> {
    let Some(key) = &request.idempotency_key else { return Ok(None) };
    let first = store.history(run_id).await?.into_iter().find(|row| row.idempotency_key == *key);
    Ok(first.map(|first| {
        let mut request = request.clone();
        request.actor_class.get_or_insert(first.actor_class);
        request.trigger.get_or_insert_with(|| split_trigger(&first.trigger));
        request
    }))
}

/// A start with a key is done once, so the key names the run; without one every start is a new run.
fn new_run_id(machine: &str, actor: &Actor, request: &Request) -> Uuid {
    match &request.idempotency_key {
        Some(key) => {
            let name = serde_json::json!(["run_start", machine, actor.principal, key]);
            Uuid::new_v5(&Uuid::NAMESPACE_OID, name.to_string().as_bytes())
        }
        None => Uuid::now_v7(),
    }
}

#[derive(Clone, Copy)]
struct Row<'a> {
    actor_class: &'a str,
    trigger: (&'a str, &'a str),
}

/// Fills in the actor class and the trigger that the caller left out, from the rows that lead to the target. This decides
/// nothing: whatever comes out, the database judges it.
async fn choose(
    store: &Store,
    actor: &Actor,
    request: &Request,
    rows: &[Row<'_>],
) -> Result<(String, (String, String)), Error> {
    let actor_class = match &request.actor_class {
        Some(class) => class.clone(),
        None => {
            let principals = store.principals().await?;
            let held: &[String] = principals
                .iter()
                .find(|p| p.name == actor.principal)
                .map_or(&[], |p| &p.actor_classes);
            let mut fitting: Vec<&str> = rows
                .iter()
                .map(|row| row.actor_class)
                .filter(|class| held.iter().any(|h| h == class))
                .collect();
            fitting.dedup();
            match fitting.as_slice() {
                [only] => (*only).to_owned(),
                // Nothing fits: the database says why, for a class the principal holds or the row asks for.
                [] => rows
                    .first()
                    .map(|row| row.actor_class.to_owned())
                    .or_else(|| held.first().cloned())
                    .unwrap_or_default(),
                several => {
                    return Err(Error::Ambiguous(format!(
                        "{} holds several classes that may do this ({}); choose one with --actor",
                        actor.principal,
                        several.join(", ")
                    )));
                }
            }
        }
    };
    let trigger = request.trigger.clone().unwrap_or_else(|| {
        rows.iter()
            .find(|row| row.actor_class == actor_class)
            .or_else(|| rows.first())
            .map_or_else(Default::default, |row| {
                (row.trigger.0.to_owned(), row.trigger.1.to_owned())
            })
    });
    Ok((actor_class, trigger))
}

/// An event that was refused is on record, with who wanted it, even though the transaction that wanted it is gone. Best effort: the
/// refusal itself is what the caller gets.
pub(crate) async fn record_refused_event(
    store: &Store,
    principal: &str,
    error: &chancery_store::Error,
) {
    let Some(refusal) = error.refusal() else { return };
    for problem in &refusal.problems {
        let Some(event_type) = problem.facts.get("event_type").and_then(Value::as_str) else {
            continue;
        };
        let mut facts = problem.facts.clone();
        facts.insert("principal".to_owned(), principal.into());
        let facts = Value::Object(facts);
        if let Err(error) =
            store.fn_event_validation_record(event_type, problem.code.as_str(), &facts).await
        {
            tracing::warn!(event.type = event_type, %error, "the refused event could not be recorded");
        }
    }
}

async fn birth_rows(store: &Store, machine: &str) -> Result<Vec<(String, String, String)>, Error> {
    let machines = store.machines().await?;
    let definition =
        machines.iter().find(|m| m.active && is_called(m, machine)).map(|m| &m.definition);
    let rows = definition.and_then(|d| d["transitions"].as_array()).map_or(&[][..], Vec::as_slice);
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    Ok(rows
        .iter()
        .filter(|row| row["from"].is_null())
        .map(|row| (text(row, "actor"), text(row, "trigger_kind"), text(row, "trigger_ref")))
        .collect())
}

async fn initial_state(store: &Store, machine: &str) -> Result<String, Error> {
    let machines = store.machines().await?;
    Ok(machines
        .into_iter()
        .find(|m| m.active && is_called(m, machine))
        .map(|m| m.initial_state)
        .unwrap_or_default())
}

fn is_called(machine: &chancery_store::fsm::MachineRow, name: &str) -> bool {
    machine.scope == "custom" && (machine.name == name || machine.state_machine_id == name)
}

fn split_trigger(trigger: &str) -> (String, String) {
    let (kind, reference) = trigger.split_once(':').unwrap_or((trigger, ""));
    (kind.to_owned(), reference.to_owned())
}

fn evidence(request: &Request) -> Value {
    request.evidence.clone().unwrap_or_else(|| Value::Object(serde_json::Map::new()))
}

fn key(request: &Request) -> String {
    request.idempotency_key.clone().unwrap_or_else(|| Uuid::now_v7().to_string())
}

//! The admission: REQUESTED → VALIDATED → RESERVED → CONSUMED → FINALIZED → HANDOFF_ENQ → DONE.
//!
//! Every deed is committed before its step is logged, and every step is logged once. So a process that dies between the two leaves
//! a fact without its line, and whoever repeats the command finds the fact and writes the line.

use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::birth::{
    CommandStep, Family, InsertError, PermitRequest, PreBirthCheck, Rejected, Statement, Writer,
};
use chancery_store::iu::CommandLog;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{COMMAND, Object, checked, normal, refusal_of};
use crate::Error;
use crate::loops::SERVICE;
use crate::run::Actor;

/// So many passes of the handoff are made for one birth; what is left then is the loop's.
const PASSES: u32 = 20;

/// What is done next, one commit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Logs REQUESTED.
    Request,
    /// Asks the checks and logs VALIDATED.
    Validate,
    Reserve,
    /// Logs RESERVED.
    NoteReserved,
    Insert,
    /// Logs CONSUMED.
    NoteConsumed,
    /// Logs FINALIZED.
    NoteFinalized,
    HandOff,
    /// Logs HANDOFF_ENQ.
    NoteHandoff,
    /// Logs DONE.
    Finish,
}

/// A step that is logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    pub phase: &'static str,
    /// When it was logged, by the clock of the database.
    pub at: String,
    /// It was logged by an earlier call.
    pub before: bool,
    /// In a few words, for whoever watches.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<PreBirthCheck>,
}

/// Something was born.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Admitted {
    pub collection: String,
    pub code: String,
    pub permit_id: Uuid,
    pub birth_id: Uuid,
    /// Hex.
    pub request_hash: String,
    /// An earlier call had admitted it.
    pub replayed: bool,
    /// `DONE`, or the last step that is logged when the handoff is left to its loop.
    pub phase: &'static str,
    /// Why the handoff is left to its loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff_waits: Option<String>,
}

/// Nothing was born: the table did not take the row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotBorn {
    pub collection: String,
    pub code: String,
    pub permit_id: Uuid,
    /// What became of the permit: `FAILED`, `EXPIRED` or `REVOKED`.
    pub phase: &'static str,
    /// As it is kept.
    pub reason: String,
    /// The table's answer in full; it may quote the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Rejected>,
}

/// How an admission ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Born(Admitted),
    NotBorn(Box<NotBorn>),
}

/// An admission under way.
#[derive(Debug)]
pub struct Admission<'a> {
    store: &'a Store,
    writer: &'a Writer,
    actor: &'a Actor,
    actor_class: &'a str,
    family: &'a Family,
    object: &'a Object,
    approval_id: Option<Uuid>,
    hash: [u8; 32],
    next: Act,
    /// The ledger of this attempt, as far as it is known.
    ledger: Vec<CommandStep>,
    insert: Option<Statement>,
    permit_id: Option<Uuid>,
    expires_at: String,
    birth_id: Option<Uuid>,
    born_before: bool,
    handoff_waits: Option<String>,
}

/// What came of one act.
#[derive(Debug)]
pub enum Advance {
    /// It goes on; with a step when one was logged.
    On(Option<Step>),
    End(Option<Step>, End),
}

/// Admits one object, and tells each step once it is logged.
///
/// # Errors
/// The database's refusal, recorded as FAILED where a request stood. Without an answer it is unknown how far it came; the same call
/// again goes on from there.
#[expect(
    clippy::too_many_arguments,
    reason = "each is another thing, and each is named at the one call"
)]
pub async fn admit(
    store: &Store,
    writer: &Writer,
    actor: &Actor,
    actor_class: &str,
    family: &Family,
    object: &Object,
    approval_id: Option<Uuid>,
    mut tell: impl FnMut(&Step),
) -> Result<End, Error> {
    let objects = normal(store, family, std::slice::from_ref(object)).await?;
    let mut admission =
        Admission::open(store, writer, actor, actor_class, family, &objects[0], approval_id)
            .await?;
    loop {
        match admission.advance().await? {
            Advance::On(step) => step.iter().for_each(&mut tell),
            Advance::End(step, end) => {
                step.iter().for_each(&mut tell);
                return Ok(end);
            }
        }
    }
}

impl<'a> Admission<'a> {
    /// Finds where the request stands. An attempt whose permit is over is closed first, so that the request can be made again.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn open(
        store: &'a Store,
        writer: &'a Writer,
        actor: &'a Actor,
        actor_class: &'a str,
        family: &'a Family,
        object: &'a Object,
        approval_id: Option<Uuid>,
    ) -> Result<Self, Error> {
        let hash = object.request_hash(family);
        let ledger = store.command_steps(COMMAND, &hash).await?;
        let permit = store.permit_of_request(&hash).await?;
        let mut admission = Self {
            store,
            writer,
            actor,
            actor_class,
            family,
            object,
            approval_id,
            hash,
            next: Act::Request,
            ledger,
            insert: None,
            permit_id: None,
            expires_at: String::new(),
            birth_id: None,
            born_before: false,
            handoff_waits: None,
        };
        let over = permit.as_ref().and_then(|permit| end_phase(&permit.status));
        if let (Some(phase), Some(permit)) = (over, permit.as_ref())
            && admission.is_logged("RESERVED")
            && !admission.is_over()
        {
            admission.permit_id = Some(permit.permit_id);
            admission.log(phase, false, json!({ "permit_id": permit.permit_id })).await?;
        }
        if admission.is_over() {
            admission.ledger.clear();
        }
        Ok(admission)
    }

    /// What [`Admission::advance`] does next.
    pub fn next(&self) -> Act {
        self.next
    }

    /// Does one act and commits it.
    ///
    /// # Errors
    /// As [`admit`].
    pub async fn advance(&mut self) -> Result<Advance, Error> {
        let (step, next) = match self.next {
            Act::Request => (Some(self.request().await?), Act::Validate),
            Act::Validate => (Some(self.validate().await?), Act::Reserve),
            Act::Reserve => {
                self.reserve().await?;
                (None, Act::NoteReserved)
            }
            Act::NoteReserved => (Some(self.note_reserved().await?), Act::Insert),
            Act::Insert => {
                if let Some((step, end)) = self.insert().await? {
                    return Ok(Advance::End(Some(step), end));
                }
                (None, Act::NoteConsumed)
            }
            Act::NoteConsumed => {
                let by = format!("by {}", self.writer.login());
                let detail = if self.born_before { String::new() } else { by };
                (Some(self.log_ok("CONSUMED", detail).await?), Act::NoteFinalized)
            }
            Act::NoteFinalized => {
                let birth = self.birth_id.map(|id| format!("birth {id}")).unwrap_or_default();
                (Some(self.log_ok("FINALIZED", birth).await?), Act::HandOff)
            }
            Act::HandOff => {
                if !self.is_logged("HANDOFF_ENQ") {
                    self.hand_off().await;
                }
                (None, Act::NoteHandoff)
            }
            Act::NoteHandoff => match self.log_ok("HANDOFF_ENQ", String::new()).await {
                Ok(step) => (Some(step), Act::Finish),
                // The birth stands; governance hears of it from the loop.
                Err(error) if is_out_of_order(&error) => {
                    let why =
                        self.handoff_waits.take().unwrap_or_else(|| "others go first".to_owned());
                    self.handoff_waits = Some(why);
                    return Ok(Advance::End(None, self.born("FINALIZED")));
                }
                Err(error) => return Err(error),
            },
            Act::Finish => {
                let step = self.log_ok("DONE", String::new()).await?;
                return Ok(Advance::End(Some(step), self.born("DONE")));
            }
        };
        self.next = next;
        Ok(Advance::On(step))
    }

    async fn request(&mut self) -> Result<Step, Error> {
        let mut asked =
            json!({ "collection": self.family.collection_name, "code": self.object.code });
        if let Some(species) = &self.object.species {
            asked["species"] = json!(species);
        }
        let before = self.is_logged("REQUESTED");
        self.log("REQUESTED", true, asked).await?;
        let attempt = self.ledger.last().map_or(1, |step| step.attempt);
        let again = if attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
        let detail = format!("{} {}{again}", self.family.collection_name, self.object.code);
        Ok(self.step("REQUESTED", before, detail))
    }

    async fn validate(&mut self) -> Result<Step, Error> {
        let (store, family, object) = (self.store, self.family, self.object);
        let checks = checked(store, family, object, &self.hash).await?;
        if !checks.ok
            && let Some(error) = refusal_of(store, family, object, &checks).await
        {
            return Err(self.give_up(error).await);
        }
        let (name, payload) = (object.name.as_deref(), object.payload.as_ref());
        match store.fn_birth_statement(&family.collection_name, &object.code, name, payload).await {
            Ok(statement) => self.insert = Some(statement),
            Err(error) => return Err(self.give_up(error.into()).await),
        }
        let before = self.is_logged("VALIDATED");
        let names: Vec<_> = checks.checks.iter().map(|check| check.check.as_str()).collect();
        self.log("VALIDATED", true, json!({ "checks": names })).await?;
        let mut step = self.step("VALIDATED", before, format!("{} checks hold", names.len()));
        step.checks = checks.checks;
        Ok(step)
    }

    /// Takes the permit that the request has, or a new one.
    async fn reserve(&mut self) -> Result<(), Error> {
        let standing = self.store.permit_of_request(&self.hash).await?;
        if let Some(born) = standing.filter(|permit| permit.finalized_birth_id.is_some()) {
            self.permit_id = Some(born.permit_id);
            self.birth_id = born.finalized_birth_id;
            self.born_before = true;
            self.expires_at = born.expires_at;
            return Ok(());
        }
        let ask = self.object.ask(self.family, self.actor, self.actor_class);
        let reserved = self
            .store
            .fn_birth_permit_request(&PermitRequest {
                collection: &self.family.collection_name,
                asks: &[ask?],
                principal: &self.actor.principal,
                actor_class: self.actor_class,
                dot: COMMAND,
                approval_id: self.approval_id,
                batch_id: None,
                key_id: self.actor.key_id(),
            })
            .await;
        let permit = match reserved {
            Ok(reserved) => reserved.permits.into_iter().next(),
            Err(error) => return Err(self.give_up(error.into()).await),
        };
        let permit = permit.ok_or_else(|| {
            chancery_store::Error::Schema("the database answered without a permit".to_owned())
        })?;
        self.permit_id = Some(permit.permit_id);
        self.birth_id = permit.birth_id;
        self.born_before = permit.birth_id.is_some();
        self.expires_at = permit.expires_at;
        Ok(())
    }

    async fn note_reserved(&mut self) -> Result<Step, Error> {
        let before = self.is_logged("RESERVED");
        self.log("RESERVED", true, json!({ "permit_id": self.permit_id })).await?;
        let permit = self.permit_id.map(|id| format!("permit {id}")).unwrap_or_default();
        let until = if self.born_before {
            String::new()
        } else {
            format!(" until {}", to_the_second(&self.expires_at))
        };
        Ok(self.step("RESERVED", before, format!("{permit}{until}")))
    }

    /// Writes the row, unless that was done. Gives the end when the table did not take it.
    async fn insert(&mut self) -> Result<Option<(Step, End)>, Error> {
        if self.birth_id.is_some() {
            return Ok(None);
        }
        let statement = self.insert.as_ref().expect("a validated request has its statement");
        let done = self.writer.insert(statement).await;
        // What became of the permit decides, not what came back: the answer may be lost, another call of the same request may have
        // been faster, a trigger may have swallowed the row.
        let permit_id = self.permit_id.expect("a reserved request has its permit");
        let permit = match self.store.permit(permit_id).await {
            Ok(permit) => permit,
            Err(error) => return Err(error.into()),
        };
        if let Some(birth_id) = permit.as_ref().and_then(|permit| permit.finalized_birth_id) {
            self.birth_id = Some(birth_id);
            return Ok(None);
        }
        let (reason, rejected) = match done {
            Ok(_) => (self.what_became_of_the_row().await?.to_owned(), None),
            Err(InsertError::Rejected(rejected)) => (rejected.reason(), Some(*rejected)),
            Err(InsertError::Store(error)) => {
                let Some(refusal) = error.refusal() else { return Err(error.into()) };
                let (code, permit_is_over) = (
                    refusal.code,
                    permit.as_ref().is_some_and(|permit| end_phase(&permit.status).is_some()),
                );
                let reason = format!("{code} {}", code.problem());
                if !permit_is_over {
                    self.fail(permit_id, &reason).await?;
                }
                self.close(permit_id, &reason).await?;
                return Err(error.into());
            }
        };
        self.fail(permit_id, &reason).await?;
        let phase = self.close(permit_id, &reason).await?;
        let step = self.step(phase, false, reason.clone());
        let end = End::NotBorn(Box::new(NotBorn {
            collection: self.family.collection_name.clone(),
            code: self.object.code.clone(),
            permit_id,
            phase,
            reason,
            rejected,
        }));
        Ok(Some((step, end)))
    }

    /// Why an insert that went through did not use the permit.
    async fn what_became_of_the_row(&self) -> Result<&'static str, Error> {
        let born = self.store.birth(&self.family.collection_name, &self.object.code).await?;
        Ok(match born {
            // The permit was taken back or ran out at that moment, where that is only reported.
            Some(_) => "the row stands without this permit",
            None => "the insert left no row under this code",
        })
    }

    /// Says that the permit led to nothing, in a transaction of its own.
    async fn fail(&self, permit_id: Uuid, reason: &str) -> Result<(), Error> {
        let principal = &self.actor.principal;
        let failed =
            self.store.fn_birth_permit_fail(permit_id, reason, principal, self.actor_class).await;
        match failed {
            // Somebody else asked for it: it is theirs to fail, or runs out.
            Err(error) if error.refusal().is_some_and(|refusal| refusal.code == Code::RB019) => {
                tracing::warn!(%permit_id, "the permit is another's and stays as it is");
                Ok(())
            }
            other => Ok(other.map(|_| ())?),
        }
    }

    /// Logs how the attempt ended, by what became of the permit.
    async fn close(&mut self, permit_id: Uuid, reason: &str) -> Result<&'static str, Error> {
        let permit = self.store.permit(permit_id).await?;
        let phase = permit.and_then(|permit| end_phase(&permit.status)).unwrap_or("FAILED");
        self.log(phase, false, json!({ "permit_id": permit_id, "reason": reason })).await?;
        Ok(phase)
    }

    /// Records a refusal before anything was reserved; what cannot be recorded does not hide it.
    async fn give_up(&mut self, error: Error) -> Error {
        let Some(refusal) = error.refusal() else { return error };
        let reason = format!("{} {}", refusal.code, refusal.code.problem());
        if let Err(unlogged) = self.log("FAILED", false, json!({ "reason": reason })).await {
            tracing::warn!(error = %unlogged, "the refusal is not in the command log");
        }
        error
    }

    async fn hand_off(&mut self) {
        for _ in 0..PASSES {
            match self.store.fn_birth_handoff(SERVICE).await {
                Ok(pass) if pass.more => {}
                Ok(_) => return,
                Err(error) => {
                    self.handoff_waits = Some(error.to_string());
                    return;
                }
            }
        }
    }

    async fn log_ok(&mut self, phase: &'static str, detail: String) -> Result<Step, Error> {
        let before = self.is_logged(phase);
        let after = json!({ "permit_id": self.permit_id, "birth_id": self.birth_id });
        self.log(phase, true, after).await?;
        Ok(self.step(phase, before, detail))
    }

    async fn log(&mut self, phase: &str, ok: bool, after: Value) -> Result<(), Error> {
        let before =
            self.ledger.last().map_or_else(|| json!({}), |step| json!({ "phase": step.phase }));
        self.ledger = self
            .store
            .fn_dot_iu_command_log(&CommandLog {
                command: COMMAND,
                run_mode: "apply",
                phase,
                ok,
                request_hash: &self.hash,
                before: &before,
                after: &after,
                actor: &self.actor.principal,
            })
            .await?;
        Ok(())
    }

    fn step(&self, phase: &'static str, before: bool, detail: String) -> Step {
        let logged = self.ledger.iter().find(|step| step.phase == phase);
        let at = logged.map(|step| step.at.clone()).unwrap_or_default();
        Step { phase, at, before, detail, checks: Vec::new() }
    }

    fn is_logged(&self, phase: &str) -> bool {
        self.ledger.iter().any(|step| step.phase == phase)
    }

    fn is_over(&self) -> bool {
        self.ledger.iter().any(|step| end_phase(&step.phase).is_some())
    }

    fn born(&self, phase: &'static str) -> End {
        End::Born(Admitted {
            collection: self.family.collection_name.clone(),
            code: self.object.code.clone(),
            permit_id: self.permit_id.expect("what is born has its permit"),
            birth_id: self.birth_id.expect("what is born is on record"),
            request_hash: hex::encode(self.hash),
            replayed: self.born_before,
            phase,
            handoff_waits: self.handoff_waits.clone().filter(|_| phase != "DONE"),
        })
    }
}

/// The step that says that a permit is over without a birth.
fn end_phase(status: &str) -> Option<&'static str> {
    ["FAILED", "EXPIRED", "REVOKED"].into_iter().find(|phase| *phase == status)
}

fn is_out_of_order(error: &Error) -> bool {
    error.refusal().is_some_and(|refusal| refusal.code == Code::RB014)
}

fn to_the_second(at: &str) -> String {
    at.parse::<jiff::Timestamp>()
        .map_or_else(|_| at.to_owned(), |at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

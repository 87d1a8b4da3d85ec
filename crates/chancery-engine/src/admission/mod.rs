//! Births: one command from the request to the handoff, rehearsals, batches of permits, and taking a permit back.
//!
//! The database decides each step; here they are only put in their order. Whoever repeats a command goes on where it ended.

use chancery_model::birth::{Request, payload_digest, request_hash};
use chancery_model::envelope::{Birth, Move, Statement};
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::birth::{
    Ask, Family, PermitReport, PermitRequest, PreBirth, Reserved, Revocation,
};
use chancery_store::fsm::Signed;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Error;
use crate::cutter::refused;
use crate::run::Actor;

mod admit;
mod glass;
mod rehearse;

pub use admit::{Act, Admission, Admitted, Advance, End, NotBorn, Step, admit};
pub use glass::Glass;
pub use rehearse::{Rehearsed, Standing, rehearse};

/// The command under which admissions stand in the ledger.
pub const COMMAND: &str = "dot_birth_admit";
/// Classes that may ask for permits.
pub const REQUESTING_CLASSES: [&str; 3] = ["pic_human", "executor_worker", "system"];
/// Classes that may take a permit back.
pub const REVOKING_CLASSES: [&str; 2] = ["reviewer", "sovereign"];
/// Classes that may break the glass.
pub const BREAKING_CLASSES: [&str; 4] =
    ["pic_human", "escalation_handler", "reviewer", "sovereign"];

/// What is to be born.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object {
    pub collection: String,
    pub code: String,
    pub name: Option<String>,
    pub species: Option<String>,
    /// The family's, when it is left out.
    pub role: Option<String>,
    /// The row besides its code and name: an object, columns by their names.
    pub payload: Option<Value>,
}

impl Object {
    /// The digest under which the request stands: the same request has the same one, whoever makes it and how often.
    pub fn request_hash(&self, family: &Family) -> [u8; 32] {
        // A payload that is no object is nothing to the database either, which refuses it.
        let digest =
            self.payload.as_ref().filter(|payload| payload.is_object()).map(payload_digest);
        request_hash(&Request {
            collection: &family.collection_name,
            code: &self.code,
            name: self.name.as_deref(),
            species: self.species.as_deref(),
            role: self.role.as_deref().unwrap_or(&family.governance_role),
            payload_digest: digest.as_ref().map(<[u8; 32]>::as_slice),
        })
    }

    /// The request of this object, signed when the actor has a key.
    fn ask(&self, family: &Family, actor: &Actor, actor_class: &str) -> Result<Ask, Error> {
        let (permit_id, statement) = self.reservation(family, actor, actor_class);
        Ok(self.signed(permit_id, actor.sign_statement(&statement)?))
    }

    /// What is signed for the reservation, and the id in it.
    fn reservation(&self, family: &Family, actor: &Actor, actor_class: &str) -> (Uuid, Statement) {
        let request_hash = hex::encode(self.request_hash(family));
        let permit_id = actor.new_id(&format!("permit of {request_hash}"));
        let statement = Move {
            run_kind: "birth_permit",
            run_id: permit_id,
            to: "RESERVED",
            principal: &actor.principal,
            actor_class,
            trigger_kind: "rpc",
            trigger_ref: "permit_request",
            evidence: &json!({ "request_hash": request_hash }),
            reason: None,
            idempotency_key: "reserve",
            birth: Some(Birth { machine: "birth_permit", data: &Value::Null }),
        }
        .statement();
        (permit_id, statement)
    }

    fn signed(&self, permit_id: Uuid, signed: Option<Signed>) -> Ask {
        let signature = signed.map(|signed| hex::encode(signed.signature));
        Ask { permit_id: Some(permit_id), signature, ..self.unsigned() }
    }

    fn unsigned(&self) -> Ask {
        Ask {
            permit_id: None,
            code: self.code.clone(),
            name: self.name.clone(),
            species: self.species.clone(),
            role: self.role.clone(),
            payload: self.payload.clone(),
            signature: None,
        }
    }
}

/// The family that a name means: its own, or that of its table when that leaves no choice.
///
/// # Errors
/// RB002 when there is none; a name that several have is only the caller's to tell apart.
pub async fn family(store: &Store, name: &str) -> Result<Family, Error> {
    let families: Vec<Family> =
        store.families().await?.into_iter().filter(|family| family.active).collect();
    if let Some(exact) = families.iter().find(|family| family.collection_name == name) {
        return Ok(exact.clone());
    }
    let is_meant = |family: &&Family| {
        family.table_name.as_deref() == Some(name)
            || family.collection_name.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
    };
    match families.iter().filter(is_meant).collect::<Vec<_>>().as_slice() {
        [only] => Ok((*only).clone()),
        [] => Err(refused(store, Code::RB002, json!({ "collection": name })).await),
        several => {
            let names: Vec<_> = several.iter().map(|f| f.collection_name.as_str()).collect();
            Err(Error::Ambiguous(format!("{name} can be {}; say which", names.join(" or "))))
        }
    }
}

/// The first class that the principal holds and that may ask for permits. Which one it is makes no difference to the birth.
///
/// # Errors
/// When there is no answer.
pub async fn requesting_class(store: &Store, principal: &str) -> Result<Option<String>, Error> {
    let principals = store.principals().await?;
    let held = principals.iter().find(|p| p.name == principal).map(|p| &p.actor_classes);
    let mut fitting = REQUESTING_CLASSES.iter().map(|class| (*class).to_owned());
    Ok(held.and_then(|held| fitting.find(|class| held.contains(class))))
}

/// The objects with their codes as rows of the family say them, so that a signature is under what the row will have.
///
/// # Errors
/// When there is no answer.
pub async fn normal(
    store: &Store,
    family: &Family,
    objects: &[Object],
) -> Result<Vec<Object>, Error> {
    let given: Vec<&str> = objects.iter().map(|object| object.code.as_str()).collect();
    let codes = store.fn_codes_normal(&family.collection_name, &given).await?;
    let with = |(object, code): (&Object, String)| Object { code, ..object.clone() };
    Ok(objects.iter().zip(codes).map(with).collect())
}

/// Asks for so many permits for the next ids of the family, whatever they are. The same batch finds the permits it got before.
///
/// # Errors
/// The database's refusal: RB021 where the codes come from no sequence.
pub async fn batch_of(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    family: &Family,
    count: i32,
    batch_id: Uuid,
) -> Result<Reserved, Error> {
    let collection = &family.collection_name;
    let codes =
        store.fn_codes_draw(collection, count, batch_id, &actor.principal, actor_class).await?;
    let object = |code| Object { collection: collection.clone(), code, ..Object::default() };
    let objects: Vec<Object> = codes.into_iter().map(object).collect();
    batch(store, actor, actor_class, family, &objects, batch_id).await
}

/// Asks for permits for a manifest, all or none. The same manifest finds the permits it got before.
///
/// # Errors
/// The database's refusal.
pub async fn batch(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    family: &Family,
    objects: &[Object],
    batch_id: Uuid,
) -> Result<Reserved, Error> {
    let objects = normal(store, family, objects).await?;
    let (ids, statements): (Vec<Uuid>, Vec<Statement>) =
        objects.iter().map(|it| it.reservation(family, actor, actor_class)).unzip();
    let signatures = actor.sign_statements(statements)?;
    let asks: Vec<Ask> = objects
        .iter()
        .zip(ids)
        .zip(signatures)
        .map(|((it, permit_id), signed)| it.signed(permit_id, signed))
        .collect();
    Ok(store
        .fn_birth_permit_request(&PermitRequest {
            collection: &family.collection_name,
            asks: &asks,
            principal: &actor.principal,
            actor_class,
            dot: COMMAND,
            approval_id: None,
            batch_id: Some(batch_id),
            key_id: actor.key_id(),
        })
        .await?)
}

/// Takes a permit back that was not used.
///
/// # Errors
/// The database's refusal.
pub async fn revoke(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    permit_id: Uuid,
    reason: &str,
) -> Result<PermitReport, Error> {
    const KEY: &str = "revoke";
    let statement = Move {
        run_kind: "birth_permit",
        run_id: permit_id,
        to: "REVOKED",
        principal: &actor.principal,
        actor_class,
        trigger_kind: "rpc",
        trigger_ref: "permit_revoke",
        evidence: &json!({
            "reason": reason, "audit_ref": format!("birth_permit:{permit_id}"), "event": { "reason": reason },
        }),
        reason: Some(reason),
        idempotency_key: KEY,
        birth: None,
    }
    .statement();
    Ok(store
        .fn_birth_permit_revoke(&Revocation {
            permit_id,
            reason: reason.to_owned(),
            actor_class: actor_class.to_owned(),
            principal: actor.principal.clone(),
            idempotency_key: KEY.to_owned(),
            signed: actor.sign_statement(&statement)?,
        })
        .await?)
}

/// The checks as they are for whoever asks: what this very request has got already is no obstacle to it.
async fn checked(
    store: &Store,
    family: &Family,
    object: &Object,
    hash: &[u8],
) -> Result<PreBirth, Error> {
    let (collection, name) = (family.collection_name.as_str(), object.name.as_deref());
    let mut checks = store.fn_pre_birth_check(collection, &object.code, name, COMMAND).await?;
    let live = store.live_permit(collection, &object.code).await?;
    if live.is_some_and(|permit| permit.request_hash == hex::encode(hash)) {
        for check in &mut checks.checks {
            if ["code_is_not_born", "no_permit_is_live"].contains(&&*check.check) && !check.ok {
                *check = chancery_store::birth::PreBirthCheck {
                    check: check.check.clone(),
                    ok: true,
                    why: Some("it is this very request's".to_owned()),
                };
            }
        }
        checks.ok = checks.checks.iter().all(|check| check.ok);
    }
    Ok(checks)
}

/// The refusal that the doors would give for the first check that fails.
async fn refusal_of(
    store: &Store,
    family: &Family,
    object: &Object,
    checks: &PreBirth,
) -> Option<Error> {
    let failed = checks.checks.iter().find(|check| !check.ok)?;
    let collection = &family.collection_name;
    let answer = match failed.check.as_str() {
        "code_is_not_born" => store.birth(collection, &object.code).await.map(|birth| {
            let birth = birth.as_ref();
            (Code::RB010, json!({
                "collection": collection, "entity_code": object.code, "birth_id": birth.map(|b| b.birth_id),
                "admission": birth.map(|b| &b.admission),
            }))
        }),
        "no_permit_is_live" => store.live_permit(collection, &object.code).await.map(|permit| {
            let permit = permit.as_ref();
            (Code::RB009, json!({
                "collection": collection, "entity_code": object.code, "permit_id": permit.map(|p| p.permit_id),
                "permit_status": permit.map(|p| &p.status),
            }))
        }),
        "family_is_protected" => Ok((Code::RB002, json!({ "collection": collection }))),
        "origin_is_in_the_catalogue" => Ok((Code::RB015, json!({ "command": COMMAND }))),
        _ => {
            let why = match failed.check.as_str() {
                "code_is_there" => Some("no_code"),
                _ => failed.why.as_deref(),
            };
            let mut facts = json!({ "entity_code": object.code, "why": why, "collection": collection });
            if let Some(rule) = &family.code_rule {
                facts["rule"] = json!(rule);
            }
            Ok((Code::RB003, facts))
        }
    };
    match answer {
        Ok((code, facts)) => Some(refused(store, code, facts).await),
        Err(error) => Some(error.into()),
    }
}

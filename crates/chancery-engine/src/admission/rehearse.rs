//! The rehearsal: what a commit would do, done in a transaction that cannot be committed.

use chancery_model::refusal::{Code, Refusal};
use chancery_store::Store;
use chancery_store::birth::{Family, InsertError, PreBirth, PreBirthCheck, Rejected, Writer};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Object, checked, normal, refusal_of};
use crate::Error;
use crate::cutter::refused;
use crate::run::Actor;

/// What a commit would come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It would be born.
    WouldBeBorn,
    /// This very request was made before, and its object is born.
    IsBorn,
    /// A rule of the product would refuse it.
    WouldBeRefused,
    /// The table would not take the row.
    WouldBeRejected,
}

/// A rehearsal.
#[derive(Debug, Clone, Serialize)]
pub struct Rehearsed {
    pub standing: Standing,
    pub collection: String,
    pub code: String,
    /// The family's mode, such as `enforced`.
    pub mode: String,
    /// Hex; what an approval of this birth must be about.
    pub request_hash: String,
    pub checks: Vec<PreBirthCheck>,
    /// The row that would be written, without what the table adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refusal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Rejected>,
}

/// Rehearses a birth with the login that would insert. Nothing of it stays, whatever comes of it.
///
/// # Errors
/// When there is no answer, or when the writer may not rehearse. A refusal is part of the rehearsal.
pub async fn rehearse(
    store: &Store,
    writer: &Writer,
    actor: &Actor,
    actor_class: &str,
    family: &Family,
    object: &Object,
    approval_given: bool,
) -> Result<Rehearsed, Error> {
    let objects = normal(store, family, std::slice::from_ref(object)).await?;
    let object = &objects[0];
    let hash = object.request_hash(family);
    let collection = &family.collection_name;
    let mut checks = checked(store, family, object, &hash).await?;
    if family.approval_required {
        let why = (!approval_given).then_some("the family asks for an approval of each birth");
        checks.checks.push(PreBirthCheck {
            check: "approval_is_given".to_owned(),
            ok: approval_given,
            why: why.map(str::to_owned),
        });
        checks.ok &= approval_given;
    }
    let mut rehearsed = Rehearsed {
        standing: Standing::WouldBeBorn,
        collection: collection.clone(),
        code: object.code.clone(),
        mode: family.mode.clone(),
        request_hash: hex::encode(hash),
        checks: checks.checks.clone(),
        row: None,
        refused: None,
        rejected: None,
    };
    if !checks.ok {
        let error = match failing(&checks) {
            Some("approval_is_given") => {
                let facts = json!({ "collection": collection, "codes": 1, "approval_id": null });
                Some(refused(store, Code::RB011, facts).await)
            }
            _ => refusal_of(store, family, object, &checks).await,
        };
        return error.map_or(Ok(rehearsed.clone()), |error| rehearsed.refused_by(error));
    }
    let name = object.name.as_deref();
    let statement =
        store.fn_birth_statement(collection, &object.code, name, object.payload.as_ref());
    let statement = match statement.await {
        Ok(statement) => statement,
        Err(error) => return rehearsed.refused_by(error.into()),
    };
    rehearsed.row = Some(statement.document.clone());
    let standing = store.permit_of_request(&hash).await?;
    if standing.is_some_and(|permit| permit.finalized_birth_id.is_some()) {
        rehearsed.standing = Standing::IsBorn;
        return Ok(rehearsed);
    }
    let ask = object.unsigned();
    let done =
        writer.fn_birth_rehearse(collection, &ask, &actor.principal, actor_class, &statement).await;
    match done {
        Ok((_, 1)) => Ok(rehearsed),
        Ok((_, rows)) => Ok(rehearsed.rejected_by(Rejected {
            sqlstate: "02000".to_owned(),
            message: format!(
                "the insert leaves {rows} rows; a trigger of the table takes them away"
            ),
            constraint: None,
            table: None,
            column: None,
        })),
        Err(InsertError::Rejected(rejected)) => Ok(rehearsed.rejected_by(*rejected)),
        Err(InsertError::Store(error)) => rehearsed.refused_by(error.into()),
    }
}

fn failing(checks: &PreBirth) -> Option<&str> {
    checks.checks.iter().find(|check| !check.ok).map(|check| check.check.as_str())
}

impl Rehearsed {
    fn refused_by(mut self, error: Error) -> Result<Self, Error> {
        let Some(refusal) = error.refusal() else { return Err(error) };
        self.standing = Standing::WouldBeRefused;
        self.refused = Some(refusal.clone());
        Ok(self)
    }

    fn rejected_by(mut self, rejected: Rejected) -> Self {
        self.standing = Standing::WouldBeRejected;
        self.rejected = Some(rejected);
        self
    }
}

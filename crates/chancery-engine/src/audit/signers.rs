//! Who can sign with which key, and who must.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use chancery_model::chain::LogRow;
use chancery_model::envelope::{self, Statement};
use chancery_model::evidence::Registry;
use chancery_store::{KeyFacts, Snapshot};
use serde_json::Value;
use uuid::Uuid;

use super::report::{KeyUse, Report};
use crate::Error;

/// Public keys that the auditor trusts: names of principals, and the keys each of them may have signed with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pins(HashMap<String, HashSet<String>>);

impl Pins {
    /// Adds a key in hex. A principal may have several.
    ///
    /// # Errors
    /// When it is no ed25519 public key.
    pub fn add(&mut self, principal: &str, public_key: &str) -> Result<(), Error> {
        let public_key = public_key.to_ascii_lowercase();
        if hex::decode(&public_key).map(|bytes| bytes.len()) != Ok(32) {
            return Err(Error::Key(format!(
                "the key of {principal} is not 64 hexadecimal digits: {public_key}"
            )));
        }
        if hex::decode(&public_key).is_ok_and(|bytes| envelope::public_key(&bytes).is_none()) {
            return Err(Error::Key(format!(
                "the key of {principal} is not a usable ed25519 public key: {public_key}"
            )));
        }
        self.0.entry(principal.to_owned()).or_default().insert(public_key);
        Ok(())
    }
}

/// The principals and keys of what is audited.
#[derive(Debug, Clone, Default)]
pub(super) struct Signers {
    /// What digests, hashes and statements are over, by their versions.
    pub(super) registry: Arc<Registry>,
    pub(super) keys: HashMap<Uuid, KeyFacts>,
    /// Kinds of principals by their names.
    pub(super) principals: BTreeMap<String, String>,
    /// Kinds of principals whose moves must carry a signature.
    pub(super) kinds_that_sign: Vec<String>,
    pub(super) pins: Pins,
    used: BTreeMap<Uuid, u64>,
    /// Moves without a signature, of services whose keys are pinned: that they are services is taken on trust.
    unsigned: BTreeMap<String, u64>,
}

/// A signature with its circumstances.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signed<'a> {
    pub(super) principal: &'a str,
    pub(super) key_id: Uuid,
    pub(super) signature: &'a [u8],
    /// When it was signed, in microseconds since 1970: a key revoked later does not void it.
    pub(super) at: i64,
    /// When it was stored.
    pub(super) recorded_at: i64,
}

impl Signers {
    pub(super) async fn read(snapshot: &mut Snapshot, pins: Pins) -> Result<Self, Error> {
        let registry = Arc::clone(snapshot.registry());
        let keys = snapshot.key_facts().await?.into_iter().map(|key| (key.key_id, key)).collect();
        let kinds_that_sign = snapshot.kinds_that_sign().await?;
        let principals = snapshot.kinds_of_principals().await?.into_iter().collect();
        Ok(Self {
            registry,
            keys,
            principals,
            kinds_that_sign,
            pins,
            used: BTreeMap::new(),
            unsigned: BTreeMap::new(),
        })
    }

    /// Whether the row is signed, and that this is as it must be. Without it, a tail forged with the right hashes and no
    /// signature would pass for a person's moves.
    pub(super) fn check_move(
        &mut self,
        row: &LogRow,
        data: Option<&Value>,
    ) -> Result<bool, String> {
        let Some(kind) = self.principals.get(&row.principal) else {
            return Err(format!("{} is nobody", row.principal));
        };
        let (Some(key_id), Some(signature)) = (row.key_id, &row.signature) else {
            // Who has a pinned key is known to sign, whatever the audited settings say; but in the cutter's lanes the
            // attestation is signed and not the move, and the moves of services are held by their logins.
            let pinned = self.pins.0.contains_key(&row.principal);
            let is_service = kind == "service";
            let in_a_lane = ["executor_dot991", "verifier_dot992", "system"];
            let signs = pinned && !is_service && !in_a_lane.contains(&row.actor_class.as_str());
            if signs || self.kinds_that_sign.contains(kind) {
                return Err(format!(
                    "{} must sign, and this move carries no signature",
                    row.principal
                ));
            }
            if pinned && is_service {
                *self.unsigned.entry(row.principal.clone()).or_default() += 1;
            }
            return Ok(false);
        };
        let Some(version) = self.registry.log().version(row.hash_version) else {
            return Err(format!("no statement of version {} is known", row.hash_version));
        };
        let statement = version.statement(row, data);
        let statement = statement.map_err(|_| "the evidence is not JSON".to_owned())?;
        let signed = Signed {
            principal: &row.principal,
            key_id,
            signature,
            at: row.at_micros,
            recorded_at: row.at_micros,
        };
        self.check(&statement, &signed, "move").map(|()| true)
    }

    /// That the principal signed the statement with a key that was theirs and good at that time.
    pub(super) fn check(
        &mut self,
        statement: &Statement,
        signed: &Signed<'_>,
        what: &str,
    ) -> Result<(), String> {
        let key_id = signed.key_id;
        let key =
            self.keys.get(&key_id).ok_or_else(|| format!("key {key_id} is not registered"))?;
        if key.principal != signed.principal {
            return Err(format!(
                "key {key_id} is {}'s, the {what} is {}'s",
                key.principal, signed.principal
            ));
        }
        if key.revoked_at_micros.is_some_and(|revoked| revoked <= signed.at) {
            return Err(format!("key {key_id} had been revoked when it signed this {what}"));
        }
        if key.registered_at_micros > signed.recorded_at {
            return Err(format!("key {key_id} was not registered yet when this {what} was stored"));
        }
        let pinned = self.pins.0.get(&key.principal);
        if pinned.is_some_and(|keys| !keys.contains(&key.public_key)) {
            return Err(format!(
                "key {key_id} is {}, which is not a key that you trust for {}",
                key.public_key, key.principal
            ));
        }
        let public_key =
            hex::decode(&key.public_key).map_err(|_| format!("key {key_id} is not hex"))?;
        if !statement.is_signed_by(&public_key, signed.signature) {
            return Err(format!("key {key_id} did not sign this {what}"));
        }
        *self.used.entry(key_id).or_default() += 1;
        Ok(())
    }

    /// Tells which keys the signatures were checked with.
    pub(super) fn tell(&self, report: &mut Report) {
        report.keys = self
            .used
            .iter()
            .filter_map(|(key_id, signatures)| {
                let key = self.keys.get(key_id)?;
                Some(KeyUse {
                    key_id: *key_id,
                    principal: key.principal.clone(),
                    public_key: key.public_key.clone(),
                    signatures: *signatures,
                    pinned: self.pins.0.contains_key(&key.principal),
                })
            })
            .collect();
        report.unsigned_services = self.unsigned.clone();
        report.keys.sort_by(|a, b| (&a.principal, a.key_id).cmp(&(&b.principal, b.key_id)));
    }
}

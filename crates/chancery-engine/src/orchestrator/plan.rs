//! What a run will write, made from the stored source alone.

use std::collections::{BTreeMap, BTreeSet};

use chancery_document::Profile;
use chancery_model::cutter::{Effect, Manifest, derived_uuid};
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::orchestrator::RunRow;
use serde_json::{Value, json};
use uuid::Uuid;

use super::sidecar::Run;
use super::stop::Stop;
use crate::Error;
use crate::cutter::{manifest_of_source, refused};

/// The ids of everything that a run makes follow from its own: a repetition makes the same thing, and an approval can name it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ids {
    pub(super) change_set: Uuid,
    pub(super) manifest: Uuid,
    pub(super) cut_decision: Uuid,
    pub(super) lifecycle_decision: Uuid,
    pub(super) executor_signature: Uuid,
    pub(super) verify_result: Uuid,
    pub(super) verifier_signature: Uuid,
}

impl Ids {
    pub(super) fn of(run_id: Uuid) -> Self {
        let part = |name: &str| derived_uuid(run_id, name);
        Self {
            change_set: part("change_set"),
            manifest: part("manifest"),
            cut_decision: part("cut_decision"),
            lifecycle_decision: part("lifecycle_decision"),
            executor_signature: part("executor_signature"),
            verify_result: part("verify_result"),
            verifier_signature: part("verifier_signature"),
        }
    }
}

/// How a document is cut, as far as somebody said so; the rest follows from its text.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    pub profile: Option<Profile>,
    pub unit_kind: Option<String>,
    pub publication_type: Option<String>,
}

/// The pins that say how a document is cut: what was chosen before the first gate, and everything after it.
const CHOSEN: [&str; 3] = ["profile", "unit_kind", "publication_type"];

impl Choice {
    /// Written into the sidecar before the run begins, so that a crash does not forget it.
    pub(super) fn pin(&self, run: &mut Run) -> Result<(), Stop> {
        let words = [
            self.profile.map(Profile::as_str),
            self.unit_kind.as_deref(),
            self.publication_type.as_deref(),
        ];
        for (name, word) in CHOSEN.into_iter().zip(words) {
            if let Some(word) = word {
                run.context_pins.pin(name, json!(word))?;
            }
        }
        Ok(())
    }
}

/// How a document is cut, from what is pinned.
pub(super) fn chosen<'a>(pin: impl Fn(&str) -> Option<&'a Value>) -> Value {
    let words = CHOSEN.into_iter().filter_map(|name| Some((name.to_owned(), pin(name)?.clone())));
    Value::Object(words.collect())
}

/// A plan, rebuilt from the bytes that stand in the database now.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) manifest: Manifest,
    pub(super) effect: Effect,
    pub(super) region_bytes: usize,
}

impl Planned {
    /// Reads the source and cuts it as was chosen. Each call does all of it again.
    pub(super) async fn build(store: &Store, run: &RunRow, chosen: &Value) -> Result<Self, Error> {
        let Some(source) = store.source_version(run.source_version_id).await? else {
            let facts = json!({ "document_id": run.document_id });
            return Err(refused(store, Code::RO006, facts).await);
        };
        let manifest = manifest_of_source(store, &source, chosen).await?;
        let effect = Effect::of(&manifest, Ids::of(run.run_id).change_set, &run.started_by);
        Ok(Self { manifest, effect, region_bytes: source.body.len() })
    }

    pub(super) fn manifest_digest(&self) -> String {
        hex::encode(self.manifest.digest())
    }

    pub(super) fn region_sha(&self) -> String {
        hex::encode(self.manifest.content_sha256)
    }

    pub(super) fn writer_digest(&self) -> String {
        hex::encode(self.effect.writer_digest())
    }

    pub(super) fn count(&self) -> usize {
        self.manifest.units.len()
    }

    /// How many sections of each kind.
    pub(super) fn section_types(&self) -> BTreeMap<&str, usize> {
        let mut types = BTreeMap::new();
        for unit in &self.manifest.units {
            *types.entry(unit.section_type.as_str()).or_default() += 1;
        }
        types
    }

    /// Every word that the rows use, as its setting is called.
    pub(super) fn vocabulary(&self) -> BTreeSet<String> {
        vocabulary(&self.manifest)
    }

    /// How many rows have a key of their own: the id under which a repetition finds the row.
    pub(super) fn distinct_keys(&self) -> usize {
        self.effect.units.iter().map(|unit| unit.affected_row_id).collect::<BTreeSet<_>>().len()
    }

    /// The request as it is marked.
    pub(super) fn request(&self, run: &RunRow) -> Value {
        json!({
            "idempotency_key": format!("orchestrate:{}", run.run_name),
            "signal_source": "orchestrator",
            "iu_ref": run.document_id,
            "orchestrator_run": run.run_name,
            "proposed_cut_spec": {
                "document_id": run.document_id,
                "source_version_id": run.source_version_id,
                "content_sha256": self.region_sha(),
                "profile": self.manifest.profile,
                "unit_kind": self.manifest.unit_kind,
                "publication_type": self.manifest.publication_type,
            },
        })
    }
}

/// What a run would make, so far as it can be known before it begins. Of a document that is not there the door says so.
pub(super) async fn outlook(
    store: &Store,
    source_version_id: Uuid,
    chosen: &Value,
) -> Result<Value, Error> {
    let Some(source) = store.source_version(source_version_id).await? else {
        return Ok(json!({}));
    };
    let manifest = manifest_of_source(store, &source, chosen).await?;
    Ok(json!({ "units": manifest.units.len(), "vocabulary": vocabulary(&manifest) }))
}

/// Every word that the rows of a manifest use, as its setting is called.
fn vocabulary(manifest: &Manifest) -> BTreeSet<String> {
    let sections = manifest.units.iter().map(|u| format!("section_type.{}", u.section_type));
    sections
        .chain([
            format!("unit_kind.{}", manifest.unit_kind),
            format!("publication_type.{}", manifest.publication_type),
        ])
        .collect()
}

/// The id of the request that a run marks.
pub(super) fn entry_id(run_name: &str) -> Uuid {
    chancery_model::cutter::entry_id(&format!("orchestrate:{run_name}"))
}

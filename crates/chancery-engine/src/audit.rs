//! The audit of the log: every hash, link and signature recomputed from raw columns, never by the audited database.

use std::collections::{HashMap, HashSet};

use chancery_model::canonical;
use chancery_model::chain::LogRow;
use chancery_model::envelope::Statement;
use chancery_store::identity::SigningKey;
use chancery_store::{RunFacts, Store};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Error;

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    pub run_id: Uuid,
    /// The log row it concerns; `None` when it concerns the run itself.
    pub seq: Option<i64>,
    /// Which rule does not hold.
    pub rule: &'static str,
    pub what: String,
}

/// What was looked at and what did not fit.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    pub runs: u64,
    pub rows: u64,
    pub signatures: u64,
    pub mismatches: Vec<Mismatch>,
}

const PAGE: i64 = 5_000;

/// Replays the whole log and compares it with the runs. `progress` is called after each page with the rows seen so far.
///
/// # Errors
/// When the database does not answer.
pub async fn verify_log(store: &Store, mut progress: impl FnMut(u64)) -> Result<Report, Error> {
    let signers = Signers::read(store).await?;
    let mut report = Report::default();
    let mut runs = Runs::new(store);
    let mut replay: Option<Replay> = None;
    let mut after = None;
    loop {
        let page = store.log_page(after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some((last.run_id, last.seq));
        for row in page {
            report.rows += 1;
            if replay.as_ref().is_none_or(|replay| replay.run_id != row.run_id) {
                if let Some(done) = replay.take() {
                    done.finish(&mut report);
                }
                let facts = if row.run_kind == "custom" {
                    runs.seek(row.run_id, &mut report).await?
                } else {
                    None
                };
                replay = Some(Replay::new(row.run_id, &row.run_kind, facts));
            }
            let current = replay.as_mut().expect("set just above");
            current.step(&row, &signers, &mut report);
        }
        progress(report.rows);
    }
    if let Some(done) = replay {
        done.finish(&mut report);
    }
    runs.rest(&mut report).await?;
    Ok(report)
}

/// Custom runs in the order of their ids, walked beside the log.
struct Runs<'a> {
    store: &'a Store,
    page: std::vec::IntoIter<RunFacts>,
    peeked: Option<RunFacts>,
    after: Option<Uuid>,
    exhausted: bool,
}

impl<'a> Runs<'a> {
    fn new(store: &'a Store) -> Self {
        Self { store, page: Vec::new().into_iter(), peeked: None, after: None, exhausted: false }
    }

    async fn next(&mut self) -> Result<Option<RunFacts>, Error> {
        if let Some(run) = self.peeked.take() {
            return Ok(Some(run));
        }
        if let Some(run) = self.page.next() {
            return Ok(Some(run));
        }
        if self.exhausted {
            return Ok(None);
        }
        let page = self.store.run_page(self.after, PAGE).await?;
        self.exhausted = page.is_empty();
        self.after = page.last().map(|run| run.run_id).or(self.after);
        self.page = page.into_iter();
        Ok(self.page.next())
    }

    /// The run with this id; runs before it have no log at all.
    async fn seek(&mut self, run_id: Uuid, report: &mut Report) -> Result<Option<RunFacts>, Error> {
        while let Some(run) = self.next().await? {
            report.runs += 1;
            match run.run_id.cmp(&run_id) {
                std::cmp::Ordering::Less => report.unlogged(&run),
                std::cmp::Ordering::Equal => return Ok(Some(run)),
                std::cmp::Ordering::Greater => {
                    report.runs -= 1;
                    self.peeked = Some(run);
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    async fn rest(&mut self, report: &mut Report) -> Result<(), Error> {
        while let Some(run) = self.next().await? {
            report.runs += 1;
            report.unlogged(&run);
        }
        Ok(())
    }
}

impl Report {
    fn unlogged(&mut self, run: &RunFacts) {
        self.mismatches.push(Mismatch {
            run_id: run.run_id,
            seq: None,
            rule: "every_run_has_a_log",
            what: format!(
                "the run is in {} at seq {} and the log knows nothing of it",
                run.state, run.seq
            ),
        });
    }
}

/// One run's log, row by row.
struct Replay {
    run_id: Uuid,
    custom: bool,
    facts: Option<RunFacts>,
    seq: i64,
    state: Option<String>,
    hash: Option<Vec<u8>>,
    facet: Option<String>,
    at_micros: i64,
}

impl Replay {
    fn new(run_id: Uuid, run_kind: &str, facts: Option<RunFacts>) -> Self {
        Self {
            run_id,
            custom: run_kind == "custom",
            facts,
            seq: 0,
            state: None,
            hash: None,
            facet: None,
            at_micros: 0,
        }
    }

    fn step(&mut self, row: &LogRow, signers: &Signers, report: &mut Report) {
        let mut wrong = |rule: &'static str, what: String| {
            report.mismatches.push(Mismatch { run_id: row.run_id, seq: Some(row.seq), rule, what });
        };
        if row.seq != self.seq + 1 {
            wrong("seq_is_dense", format!("seq {} follows {}", row.seq, self.seq));
        }
        if row.from_state != self.state {
            wrong(
                "states_link",
                format!(
                    "the row leaves {:?}, the one before entered {:?}",
                    row.from_state, self.state
                ),
            );
        }
        if row.prev_hash != self.hash {
            wrong("hashes_link", "the row does not carry the hash of the one before it".to_owned());
        }
        if row.hash != row.expected_hash() {
            wrong(
                "hash_is_of_the_row",
                "a column of the row was changed after it was written".to_owned(),
            );
        }
        let canonical_evidence = serde_json::from_str::<Value>(&row.evidence)
            .is_ok_and(|v| canonical::to_string(&v) == row.evidence);
        if !canonical_evidence {
            wrong("evidence_is_canonical", "the evidence is not RFC 8785 JSON".to_owned());
        }
        if row.seq == 1
            && let Some(facts) = &self.facts
            && row.artefact_digest.as_deref() != Some(birth_digest(facts).as_slice())
        {
            wrong(
                "birth_facts_are_unchanged",
                "what the run was born with is not what its birth row says".to_owned(),
            );
        }
        let data = (row.seq == 1).then(|| self.facts.as_ref().map(|f| &f.data)).flatten();
        match signers.check(row, data) {
            Ok(signed) => report.signatures += u64::from(signed),
            Err(what) => wrong("signature_is_good", what),
        }
        self.seq = row.seq;
        self.state = Some(row.to_state.clone());
        self.hash = Some(row.hash.clone());
        self.facet.clone_from(&row.facet);
        self.at_micros = row.at_micros;
    }

    fn finish(self, report: &mut Report) {
        if !self.custom {
            return;
        }
        let what = match &self.facts {
            None => Some("the log has moves of a run that does not exist".to_owned()),
            Some(f)
                if f.seq != self.seq
                    || Some(&f.state) != self.state.as_ref()
                    || f.head_hash != self.hash =>
            {
                let state = self.state.unwrap_or_default();
                Some(format!(
                    "the run is in {} at seq {}, its log ends in {state} at seq {}",
                    f.state, f.seq, self.seq
                ))
            }
            Some(f) if f.facet != self.facet => Some(format!(
                "the run's facet is {:?}, its log ends with {:?}",
                f.facet, self.facet
            )),
            Some(f) if f.last_transition_at_micros != self.at_micros => {
                Some("the run's last move has another time than its last log row".to_owned())
            }
            Some(_) => None,
        };
        if let Some(what) = what {
            report.mismatches.push(Mismatch {
                run_id: self.run_id,
                seq: None,
                rule: "state_equals_log",
                what,
            });
        }
    }
}

fn birth_digest(facts: &RunFacts) -> [u8; 32] {
    canonical::sha256(&json!({
        "state_machine_id": facts.state_machine_id,
        "parent_run_id": facts.parent_run_id,
        "data": facts.data,
        "started_by": facts.started_by,
        "trace_id": facts.trace_id,
        "correlation_id": facts.correlation_id,
        "created_at_micros": facts.created_at_micros,
    }))
}

/// Who can sign with which key, and who must.
struct Signers {
    keys: HashMap<Uuid, SigningKey>,
    /// Principals whose moves must carry a signature.
    bound: HashSet<String>,
}

impl Signers {
    async fn read(store: &Store) -> Result<Self, Error> {
        let keys = store.signing_keys().await?.into_iter().map(|key| (key.key_id, key)).collect();
        let kinds = store.kinds_that_sign().await?;
        let principals = store.principals().await?;
        let bound =
            principals.into_iter().filter(|p| kinds.contains(&p.kind)).map(|p| p.name).collect();
        Ok(Self { keys, bound })
    }

    /// Whether the row is signed, and that this is as it must be. Without it, a tail forged with the right hashes and no
    /// signature would pass for a person's moves.
    fn check(&self, row: &LogRow, data: Option<&Value>) -> Result<bool, String> {
        let (Some(key_id), Some(signature)) = (row.key_id, &row.signature) else {
            return if self.bound.contains(&row.principal) {
                Err(format!("{} must sign, and this move carries no signature", row.principal))
            } else {
                Ok(false)
            };
        };
        let key =
            self.keys.get(&key_id).ok_or_else(|| format!("key {key_id} is not registered"))?;
        if key.principal != row.principal {
            return Err(format!(
                "key {key_id} is {}'s, the move is {}'s",
                key.principal, row.principal
            ));
        }
        if key.revoked_at_micros.is_some_and(|revoked| revoked <= row.at_micros) {
            return Err(format!("key {key_id} had been revoked when it signed this move"));
        }
        let statement =
            Statement::of_log_row(row, data).map_err(|_| "the evidence is not JSON".to_owned())?;
        let public_key =
            hex::decode(&key.public_key).map_err(|_| format!("key {key_id} is not hex"))?;
        if statement.is_signed_by(&public_key, signature) {
            Ok(true)
        } else {
            Err(format!("key {key_id} did not sign this move"))
        }
    }
}

//! The log of every run: hashes, links and signatures, and the run as its log leaves it.

use chancery_model::canonical;
use chancery_model::chain::{LogRow, job_genesis};
use chancery_model::evidence::artefact_digest;
use chancery_store::{RunFacts, Shape, Snapshot};
use serde_json::{Value, json};
use uuid::Uuid;

use super::birth::permit_digest_of;
use super::report::{Mismatch, Report};
use super::rows::Row;
use super::signers::Signers;
use super::table;
use crate::Error;

const PAGE: i64 = 5_000;
/// Entries are wider than runs.
const ENTRY_PAGE: i64 = 1_000;

/// Replays the whole log and compares it with the runs.
pub(super) async fn verify(
    reader: &mut Reader<'_>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(), Error> {
    reader.columns(report).await?;
    let mut walks: Vec<Walk> = KINDS.iter().map(Walk::through).collect();
    let mut replay: Option<Replay> = None;
    let mut after = None;
    loop {
        let page = reader.snapshot.log_page(after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some((last.run_id, last.seq));
        for row in page {
            if replay.as_ref().is_none_or(|replay| replay.run_id != row.run_id) {
                if let Some(done) = replay.take() {
                    done.finish(report);
                }
                let walk = walks.iter_mut().find(|walk| walk.kind.run_kind == row.run_kind);
                let facts = match walk {
                    Some(walk) => walk.seek(reader, row.run_id, report).await?,
                    None => None,
                };
                replay = Some(Replay::new(&row, facts));
            }
            let current = replay.as_mut().expect("set just above");
            current.step(&row, signers, report);
        }
        progress(report);
    }
    if let Some(done) = replay {
        done.finish(report);
    }
    for mut walk in walks {
        walk.rest(reader, report).await?;
    }
    Ok(())
}

/// A kind of run whose rows are known here.
struct Kind {
    run_kind: &'static str,
    /// Where its runs are stored.
    table: &'static str,
    /// What they are read through: `room.NAME` for the view `room.v_NAME`. Runs of custom machines have a reader of their own.
    view: Option<&'static str>,
    key: &'static [(&'static str, &'static str)],
    facts: fn(Row<'_>) -> Facts,
}

const KINDS: &[Kind] = &[
    Kind {
        run_kind: "custom",
        table: table::RUN,
        view: None,
        key: &[("run_id", "uuid")],
        facts: Facts::of_orchestrated,
    },
    Kind {
        run_kind: "cut_request",
        table: table::ENTRY,
        view: Some(table::ENTRY),
        key: &[("entry_id", "uuid")],
        facts: Facts::of_entry,
    },
    Kind {
        run_kind: "orchestrator_run",
        table: table::ORCHESTRATED,
        view: Some(table::ORCHESTRATED),
        key: &[("run_id", "uuid")],
        facts: Facts::of_orchestrated,
    },
    Kind {
        run_kind: "job",
        table: table::JOB,
        view: Some(table::LOGGED_JOB),
        key: &[("job_id", "uuid")],
        facts: Facts::of_job,
    },
    Kind {
        run_kind: "dlq_replay",
        table: table::REPLAY,
        view: Some(table::REPLAY),
        key: &[("dlq_replay_request_id", "uuid")],
        facts: Facts::of_replay,
    },
    Kind {
        run_kind: "finding",
        table: table::FINDING,
        view: Some(table::FINDING),
        key: &[("issue_id", "uuid")],
        facts: Facts::of_finding,
    },
    Kind {
        run_kind: "birth_permit",
        table: table::PERMIT,
        view: Some(table::PERMIT),
        key: &[("permit_id", "uuid")],
        facts: Facts::of_permit,
    },
    Kind {
        run_kind: "governance_candidate",
        table: table::CANDIDATE,
        view: Some(table::CANDIDATE),
        key: &[("candidate_id", "uuid")],
        facts: Facts::of_candidate,
    },
    Kind {
        run_kind: "workflow_run",
        table: table::WORKFLOW_RUN,
        view: Some(table::WORKFLOW_RUN),
        key: &[("workflow_run_id", "uuid")],
        facts: Facts::of_workflow_run,
    },
    Kind {
        run_kind: "step",
        table: table::STEP,
        view: Some(table::LOGGED_STEP),
        key: &[("step_run_id", "uuid")],
        facts: Facts::of_step,
    },
    Kind {
        run_kind: "task",
        table: table::TASK,
        view: Some(table::LOGGED_TASK),
        key: &[("task_run_id", "uuid")],
        facts: Facts::of_task,
    },
    Kind {
        run_kind: "workflow_change",
        table: table::CHANGE,
        view: Some(table::CHANGE),
        key: &[("change_request_id", "uuid")],
        facts: Facts::of_change,
    },
    Kind {
        run_kind: "proposal",
        table: table::PROPOSAL,
        view: Some(table::PROPOSAL),
        key: &[("proposal_id", "uuid")],
        facts: Facts::of_proposal,
    },
];

/// A run as it is stored.
#[derive(Debug)]
pub(super) struct Facts {
    run_id: Uuid,
    table: &'static str,
    state: String,
    seq: i64,
    head_hash: Option<Vec<u8>>,
    facet: Option<String>,
    last_transition_at: i64,
    /// What the run was born with; a signed birth is over it.
    data: Value,
    /// What the birth row must carry. An entry's is over several rows and checked with them.
    birth_digest: Option<[u8; 32]>,
}

impl Facts {
    fn of_run(run: RunFacts) -> Self {
        Self {
            run_id: run.run_id,
            table: table::RUN,
            birth_digest: Some(birth_digest(&run)),
            state: run.state,
            seq: run.seq,
            head_hash: run.head_hash,
            facet: run.facet,
            last_transition_at: run.last_transition_at_micros,
            data: run.data,
        }
    }

    /// A run of a room, by the columns that every room has.
    fn of_row(
        row: Row<'_>,
        table: &'static str,
        id: &str,
        state: &str,
        birth_digest: Option<[u8; 32]>,
    ) -> Self {
        Self {
            run_id: row.id(id),
            table,
            state: row.text(state).to_owned(),
            seq: row.number("seq").unwrap_or_default(),
            head_hash: row.bytes("head_hash"),
            facet: row.opt("facet").map(str::to_owned),
            last_transition_at: row.number("last_transition_at").unwrap_or_default(),
            data: Value::Null,
            birth_digest,
        }
    }

    pub(super) fn of_entry(entry: Row<'_>) -> Self {
        Self {
            data: entry.json("payload"),
            ..Self::of_row(entry, table::ENTRY, "entry_id", "status", None)
        }
    }

    pub(super) fn of_orchestrated(run: Row<'_>) -> Self {
        Self::of_row(
            run,
            table::ORCHESTRATED,
            "run_id",
            "state_code",
            run.expected_digest().map(|digest| artefact_digest(&[digest])),
        )
    }

    /// A job that the log knows: one that died, or that somebody acted on.
    fn of_job(job: Row<'_>) -> Self {
        Self::of_row(job, table::JOB, "job_id", "state", None)
    }

    fn of_replay(request: Row<'_>) -> Self {
        Self::of_row(
            request,
            table::REPLAY,
            "dlq_replay_request_id",
            "proposal_state",
            request.expected_digest().map(|digest| artefact_digest(&[digest])),
        )
    }

    fn of_finding(issue: Row<'_>) -> Self {
        Self::of_row(
            issue,
            table::FINDING,
            "issue_id",
            "state",
            issue.expected_digest().map(|digest| artefact_digest(&[digest])),
        )
    }

    fn of_permit(permit: Row<'_>) -> Self {
        Self::of_row(permit, table::PERMIT, "permit_id", "status", Some(permit_digest_of(permit)))
    }

    fn of_candidate(candidate: Row<'_>) -> Self {
        Self::of_row(
            candidate,
            table::CANDIDATE,
            "candidate_id",
            "state",
            candidate.expected_digest().map(|digest| artefact_digest(&[digest])),
        )
    }

    fn of_workflow_run(run: Row<'_>) -> Self {
        Self::of_row(
            run,
            table::WORKFLOW_RUN,
            "workflow_run_id",
            "state_code",
            run.expected_digest().map(|digest| artefact_digest(&[digest])),
        )
    }

    /// What a step or task was born with follows from its run and the definition.
    fn of_step(step: Row<'_>) -> Self {
        Self::of_row(step, table::STEP, "step_run_id", "state_code", None)
    }

    fn of_task(task: Row<'_>) -> Self {
        Self::of_row(task, table::TASK, "task_run_id", "state_code", None)
    }

    fn of_change(change: Row<'_>) -> Self {
        Self::of_row(
            change,
            table::CHANGE,
            "change_request_id",
            "proposal_state",
            change.expected_digest().map(|digest| artefact_digest(&[digest])),
        )
    }

    /// A proposal's birth is over what it rests on as well, and checked with that.
    fn of_proposal(proposal: Row<'_>) -> Self {
        Self::of_row(proposal, table::PROPOSAL, "proposal_id", "proposal_state", None)
    }
}

fn birth_digest(run: &RunFacts) -> [u8; 32] {
    canonical::sha256(&json!({
        "state_machine_id": run.state_machine_id,
        "parent_run_id": run.parent_run_id,
        "data": run.data,
        "started_by": run.started_by,
        "trace_id": run.trace_id,
        "correlation_id": run.correlation_id,
        "created_at_micros": run.created_at_micros,
    }))
}

/// Runs of a kind in the order of their ids, walked beside the log.
struct Walk {
    kind: &'static Kind,
    page: std::vec::IntoIter<Facts>,
    peeked: Option<Facts>,
    after: Option<Uuid>,
    exhausted: bool,
}

impl Walk {
    fn through(kind: &'static Kind) -> Self {
        let page = Vec::new().into_iter();
        Self { kind, page, peeked: None, after: None, exhausted: false }
    }

    async fn next(&mut self, reader: &mut Reader<'_>) -> Result<Option<Facts>, Error> {
        if let Some(run) = self.peeked.take() {
            return Ok(Some(run));
        }
        if let Some(run) = self.page.next() {
            return Ok(Some(run));
        }
        if self.exhausted {
            return Ok(None);
        }
        let page = reader.runs(self.kind, self.after).await?;
        self.exhausted = page.is_empty();
        self.after = page.last().map(|run| run.run_id).or(self.after);
        self.page = page.into_iter();
        Ok(self.page.next())
    }

    /// The run with this id; runs before it have no log at all.
    async fn seek(
        &mut self,
        reader: &mut Reader<'_>,
        run_id: Uuid,
        report: &mut Report,
    ) -> Result<Option<Facts>, Error> {
        while let Some(run) = self.next(reader).await? {
            match run.run_id.cmp(&run_id) {
                std::cmp::Ordering::Less => unlogged(&run, report),
                std::cmp::Ordering::Equal => {
                    count(&run, report);
                    return Ok(Some(run));
                }
                std::cmp::Ordering::Greater => {
                    self.peeked = Some(run);
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    async fn rest(&mut self, reader: &mut Reader<'_>, report: &mut Report) -> Result<(), Error> {
        while let Some(run) = self.next(reader).await? {
            unlogged(&run, report);
        }
        Ok(())
    }
}

/// Reads runs and log rows of a database.
pub(super) struct Reader<'a> {
    snapshot: &'a mut Snapshot,
    shapes: Vec<(&'static str, Shape)>,
}

impl<'a> Reader<'a> {
    pub(super) async fn open(snapshot: &'a mut Snapshot) -> Result<Self, Error> {
        let views: Vec<&'static str> = KINDS.iter().filter_map(|kind| kind.view).collect();
        let shapes = snapshot.shapes(&views).await?;
        Ok(Self { snapshot, shapes: views.into_iter().zip(shapes).collect() })
    }

    /// The log has the columns that this release knows: another one would be in no hash.
    async fn columns(&mut self, report: &mut Report) -> Result<(), Error> {
        let shapes = self.snapshot.shapes(&[table::LOG]).await?;
        let found = shapes.iter().flat_map(Shape::columns);
        if !self.snapshot.registry().log().columns().iter().eq(found) {
            report.found(Mismatch {
                table: table::LOG,
                key: String::new(),
                run_id: None,
                seq: None,
                rule: "columns_are_known",
                what: "the table has other columns than this release knows".to_owned(),
            });
        }
        Ok(())
    }

    async fn runs(
        &mut self,
        kind: &'static Kind,
        after: Option<Uuid>,
    ) -> Result<Vec<Facts>, Error> {
        let shape = self.shapes.iter().find(|(view, _)| Some(*view) == kind.view);
        let Some((_, shape)) = shape else {
            let page = self.snapshot.run_page(after, PAGE).await?;
            return Ok(page.into_iter().map(Facts::of_run).collect());
        };
        let after = after.map(|id| [id.to_string()]);
        let after = after.as_ref().map(<[String; 1]>::as_slice);
        let page = self.snapshot.evidence_page(shape, kind.key, after, ENTRY_PAGE).await?;
        Ok(page.iter().map(|raw| (kind.facts)(Row { table: kind.table, raw })).collect())
    }
}

fn count(run: &Facts, report: &mut Report) {
    if run.table == table::ENTRY {
        report.entries += 1;
    } else {
        report.runs += 1;
    }
}

fn unlogged(run: &Facts, report: &mut Report) {
    count(run, report);
    report.found(Mismatch {
        table: run.table,
        key: run.run_id.to_string(),
        run_id: Some(run.run_id),
        seq: None,
        rule: "every_run_has_a_log",
        what: format!(
            "the run is in {} at seq {} and the log knows nothing of it",
            run.state, run.seq
        ),
    });
}

/// Replays the log of one run whose rows are at hand.
pub(super) fn verify_run(
    rows: &[LogRow],
    facts: Option<Facts>,
    signers: &mut Signers,
    report: &mut Report,
) {
    let Some(first) = rows.first() else {
        if let Some(run) = facts {
            unlogged(&run, report);
        }
        return;
    };
    if let Some(run) = &facts {
        count(run, report);
    }
    let mut replay = Replay::new(first, facts);
    for row in rows {
        replay.step(row, signers, report);
    }
    replay.finish(report);
}

/// One run's log, row by row.
struct Replay {
    run_id: Uuid,
    /// Whether the rows of this kind of run are known here.
    known_kind: bool,
    facts: Option<Facts>,
    seq: i64,
    state: Option<String>,
    hash: Option<Vec<u8>>,
    facet: Option<String>,
    at_micros: i64,
}

impl Replay {
    fn new(first: &LogRow, facts: Option<Facts>) -> Self {
        // A job lives outside of the log until it dies or somebody acts on it: its log begins at 2, wherever it stood, and is chained
        // to a hash made of its id.
        let is_job = first.run_kind == "job";
        Self {
            run_id: first.run_id,
            known_kind: KINDS.iter().any(|kind| kind.run_kind == first.run_kind),
            facts,
            seq: i64::from(is_job),
            state: first.from_state.clone().filter(|_| is_job),
            hash: is_job.then(|| job_genesis(first.run_id).to_vec()),
            facet: None,
            at_micros: 0,
        }
    }

    fn step(&mut self, row: &LogRow, signers: &mut Signers, report: &mut Report) {
        report.rows += 1;
        let mut wrong = |rule: &'static str, what: String| {
            report.found(of_log_row(row, rule, what));
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
        let log = signers.registry.log();
        match log.version(row.hash_version) {
            None => wrong(
                "hash_version_is_known",
                format!(
                    "its hash is of version {}, which this release does not know",
                    row.hash_version
                ),
            ),
            Some(version) => {
                for column in version.beyond(row) {
                    wrong(
                        "column_is_of_the_version",
                        format!(
                            "{column} has a value, and hashes of version {} are not over it",
                            row.hash_version
                        ),
                    );
                }
                if row.hash_in(log).is_none_or(|hash| row.hash != hash) {
                    wrong(
                        "hash_is_of_the_row",
                        "a column of the row was changed after it was written".to_owned(),
                    );
                }
            }
        }
        let canonical_evidence = serde_json::from_str::<Value>(&row.evidence)
            .is_ok_and(|v| canonical::to_string(&v) == row.evidence);
        if !canonical_evidence {
            wrong("evidence_is_canonical", "the evidence is not RFC 8785 JSON".to_owned());
        }
        if row.seq == 1
            && let Some(expected) = self.facts.as_ref().and_then(|facts| facts.birth_digest)
            && row.artefact_digest.as_deref() != Some(expected.as_slice())
        {
            wrong(
                "birth_facts_are_unchanged",
                "what the run was born with is not what its birth row says".to_owned(),
            );
        }
        let data = (row.seq == 1).then(|| self.facts.as_ref().map(|f| &f.data)).flatten();
        match signers.check_move(row, data) {
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
        if !self.known_kind {
            return;
        }
        let (table, what) = match &self.facts {
            None => (table::LOG, "the log has moves of a run that does not exist".to_owned()),
            Some(f) if f.seq != self.seq || Some(&f.state) != self.state.as_ref() => {
                let state = self.state.unwrap_or_default();
                let what = format!(
                    "the run is in {} at seq {}, its log ends in {state} at seq {}",
                    f.state, f.seq, self.seq
                );
                (f.table, what)
            }
            Some(f) if f.head_hash != self.hash => {
                (f.table, "the run does not carry the hash of its last log row".to_owned())
            }
            Some(f) if f.facet != self.facet => (
                f.table,
                format!("the run's facet is {:?}, its log ends with {:?}", f.facet, self.facet),
            ),
            Some(f) if f.last_transition_at != self.at_micros => {
                (f.table, "the run's last move has another time than its last log row".to_owned())
            }
            Some(_) => return,
        };
        report.found(Mismatch {
            table,
            key: self.run_id.to_string(),
            run_id: Some(self.run_id),
            seq: None,
            rule: "state_equals_log",
            what,
        });
    }
}

/// A mismatch that concerns a row of the log.
pub(super) fn of_log_row(row: &LogRow, rule: &'static str, what: String) -> Mismatch {
    Mismatch {
        table: table::LOG,
        key: format!("{}/{}", row.run_id, row.seq),
        run_id: Some(row.run_id),
        seq: Some(row.seq),
        rule,
        what,
    }
}

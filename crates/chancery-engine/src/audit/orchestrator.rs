//! Runs of the orchestrator: what each gate wrote, and that the sovereign's document, vote and decision belong together.

use std::collections::{BTreeMap, HashSet};
use std::sync::OnceLock;

use chancery_model::canonical;
use chancery_model::chain::LogRow;
use chancery_model::cutter::derived_uuid;
use chancery_model::evidence::artefact_digest;
use chancery_model::machine::{Definition, File, Transition};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::check::Checker;
use super::entry::{evidence_of, text_of};
use super::report::Report;
use super::rows::{Row, Rows, Source, run_units};
use super::signers::Signers;
use super::table::{self, DECISION, LIFECYCLE, ORCHESTRATED, REQUEST, REVISION, UNDER, USE, VOTE};
use crate::Error;

/// Runs that are named together; what proves them is read one by one.
const PAGE: i64 = 200;

/// Where the documents of the gates stand.
const DOCUMENTS: &[(&str, &str)] = &[
    ("IG_source_pin", "01-source-pin"),
    ("IG_mark", "02-mark"),
    ("IG_cutplan", "03-cutplan"),
    ("IG_backup", "04-pre-write-backup"),
    ("IG_grant_probe", "05-grant-probe"),
    ("SG_cut_authz_request", "sg1-cut-authz-request"),
    ("SG_cut_authz_received", "06-cut-leg-a"),
    ("IG_structural_verify", "07-structural-verify"),
    ("IG_leg_b_record", "08-leg-b-record"),
    ("IG_write_verify", "09-write-verify"),
    ("SG_lifecycle_authz_request", "sg2-lifecycle-authz-request"),
    ("SG_lifecycle_authz_received", "10-lifecycle-enact"),
    ("IG_closeout", "11-final-orchestrator-report"),
];

/// The transitions of the machine, from the file that this binary was built with.
fn transitions() -> &'static [Transition] {
    static TRANSITIONS: OnceLock<Vec<Transition>> = OnceLock::new();
    TRANSITIONS.get_or_init(|| {
        let file = File::parse(include_str!("../../../../machines/orchestrator_run.yaml"))
            .expect("the machine ships with the binary and its tests read it");
        Definition::from(&file).transitions
    })
}

/// The pages of the index of runs, as the closeouts say that they wrote them.
#[derive(Debug, Default)]
pub(super) struct IndexPages {
    written: HashSet<(String, i64)>,
    /// Pages on which a run of an older release stands, whose closeout does not say which revision it wrote.
    unnumbered: HashSet<String>,
}

impl IndexPages {
    fn add(&mut self, row: &LogRow) {
        let Step::Gate("IG_closeout") = step_of(row) else { return };
        let evidence = evidence_of(row);
        let path = text_of(&evidence, "index_kb_id").to_owned();
        match evidence["index_kb_revision"].as_i64() {
            Some(number) => drop(self.written.insert((path, number))),
            None => drop(self.unnumbered.insert(path)),
        }
    }

    /// Whether a revision was written by the closeout of a run, so far as that can be told.
    pub(super) fn has(&self, path: &str, number: i64) -> bool {
        self.unnumbered.contains(path) || self.written.contains(&(path.to_owned(), number))
    }
}

/// Looks at every run. Gives the approvals that runs say they used, and the pages of the index that they wrote.
pub(super) async fn verify(
    source: &mut Source<'_>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(HashSet<Uuid>, IndexPages), Error> {
    let mut used = HashSet::new();
    let mut pages = IndexPages::default();
    let mut after: Option<Vec<String>> = None;
    loop {
        let (snapshot, shapes) = source.reader();
        let key = table::key_of(ORCHESTRATED);
        let page =
            snapshot.evidence_page(&shapes[ORCHESTRATED], key, after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { return Ok((used, pages)) };
        after = Some(vec![Row { table: ORCHESTRATED, raw: last }.text("run_id").to_owned()]);
        for raw in &page {
            let run_id = Row { table: ORCHESTRATED, raw }.id("run_id");
            let rows = source.collect_run(run_id).await?;
            let mut checker = Checker::new(&rows, signers, report);
            // The others are counted where all of them are looked at.
            checker.digests(|row| row.table == ORCHESTRATED);
            for run in rows.all(ORCHESTRATED) {
                checker.orchestrated(run);
            }
            used.extend(rows.log_of(run_id).iter().filter_map(used_approval));
            rows.log_of(run_id).iter().for_each(|row| pages.add(row));
            progress(report);
        }
    }
}

/// What a move did to its run.
enum Step<'a> {
    Start,
    /// Past a gate.
    Gate(&'a str),
    /// Failed or stopped.
    Halt,
    Resume,
    Void,
}

fn step_of(row: &LogRow) -> Step<'_> {
    match row.trigger_ref.as_str() {
        "orchestrate_start" => Step::Start,
        "orchestrate_resume" => Step::Resume,
        "orchestrate_void" => Step::Void,
        gate if DOCUMENTS.iter().any(|(known, _)| *known == gate) => Step::Gate(gate),
        _ => Step::Halt,
    }
}

/// The approval that a move used.
pub(super) fn used_approval(row: &LogRow) -> Option<Uuid> {
    authority_of(row)?;
    text_of(&evidence_of(row), "approval_id").parse().ok()
}

/// The sovereign gate that a move passed.
fn authority_of(row: &LogRow) -> Option<&'static str> {
    match step_of(row) {
        Step::Gate("SG_cut_authz_received") => Some("SG_cut_authz"),
        Step::Gate("SG_lifecycle_authz_received") => Some("SG_lifecycle_authz"),
        Step::Resume if row.from_state.as_deref() == Some("stopped_drift") => Some("SG_drift_ack"),
        Step::Resume => Some("SG_resume_stopped"),
        _ => None,
    }
}

/// Where the document stands that a move wrote.
fn document_path(run: Row<'_>, row: &LogRow) -> Option<String> {
    let name = match step_of(row) {
        Step::Gate(gate) => DOCUMENTS.iter().find(|(known, _)| *known == gate)?.1.to_owned(),
        Step::Halt => format!("stop-route-report-{}", row.seq),
        Step::Resume => format!("resumed-{}", row.seq),
        Step::Start | Step::Void => return None,
    };
    Some(format!("orchestrator/{}/{name}", run.text("run_name").to_lowercase()))
}

/// The paths of the documents that the moves of a run wrote or rest on.
pub(super) fn paths(run: Row<'_>, log: &[LogRow]) -> Vec<String> {
    let mut paths: Vec<String> = log.iter().filter_map(|row| document_path(run, row)).collect();
    for row in log {
        let evidence = evidence_of(row);
        let named = match step_of(row) {
            Step::Void => text_of(&evidence, "void_kb_id"),
            _ if authority_of(row).is_some() => text_of(&evidence, "approval_kb_id"),
            _ => "",
        };
        paths.extend((!named.is_empty()).then(|| named.to_owned()));
    }
    paths
}

/// The JSON object in the first fenced block of a document.
fn json_block(body: &str) -> Option<Map<String, Value>> {
    let (_, rest) = body.split_once("```json\n")?;
    let (block, _) = rest.split_once("\n```")?;
    serde_json::from_str(block).ok()
}

impl<'a> Checker<'a> {
    /// Proves one run.
    pub(super) fn orchestrated(&mut self, run: Row<'a>) {
        let run_id = run.id("run_id");
        self.entry_id = Some(run_id);
        // Later pins of the same name hold.
        let mut pins: Map<String, Value> = Map::new();
        let log = self.rows.log_of(run_id);
        for row in log {
            self.legal_in(transitions(), "orchestrator_run", run, row);
            let evidence = evidence_of(row);
            match step_of(row) {
                Step::Start => self.started(run, row),
                Step::Gate(gate) => self.passed(run, row, gate, &evidence),
                Step::Halt => self.halted(run, row),
                Step::Resume => self.resumed(run, row, &evidence),
                Step::Void => self.void(run, row, &evidence),
            }
            if let Some(gate) = authority_of(row) {
                self.authorized(run, row, gate, &evidence, &pins);
            }
            if let Some(pinned) = evidence["pins"].as_object() {
                pins.extend(pinned.clone());
            }
        }
        self.entry_id = None;
    }

    fn started(&mut self, run: Row<'a>, row: &LogRow) {
        const RULE: &str = "run_is_as_it_was_started";
        self.artefacts(row, &[run]);
        self.expect_evidence(row, &json!({ "run_name": run.opt("run_name") }));
        self.expect_move(row, "idempotency key", Some(&row.idempotency_key), Some("start"));
        self.expect_all(
            run,
            RULE,
            &[("started_by", Some(&row.principal)), ("correlation_id", run.opt("run_name"))],
        );
        if run.text("run_name").get(22..) != run.opt("run_id") {
            self.wrong(run, RULE, "its name is not that of its id");
        }
    }

    /// The rows of a move: those that its phase wrote, and its document.
    fn passed(&mut self, run: Row<'a>, row: &LogRow, gate: &str, evidence: &Value) {
        self.expect_move(row, "idempotency key", Some(&row.idempotency_key), Some(gate));
        self.expect_move(row, "gate", evidence["gate"].as_str(), Some(gate));
        let held = evidence["invariants"].as_object();
        if held.is_none_or(|held| held.is_empty() || held.values().any(|held| *held != true)) {
            self.wrong_move(row, "every_invariant_held", "an invariant of the gate did not hold");
        }
        let Some(mut rows) = self.written(run, row, gate, evidence) else { return };
        let kind = if gate.ends_with("_request") { "request" } else { "receipt" };
        let Some(receipt) = self.receipt(run, row, kind, evidence) else { return };
        rows.push(receipt);
        self.artefacts(row, &rows);
    }

    /// What the phase before a gate wrote.
    fn written(
        &mut self,
        run: Row<'a>,
        row: &LogRow,
        gate: &str,
        evidence: &Value,
    ) -> Option<Vec<Row<'a>>> {
        let part = |part: &str| derived_uuid(run.id("run_id"), part).to_string();
        let one = match gate {
            "IG_mark" => (table::ENTRY, "entry_id", run.text("entry_id").to_owned()),
            "IG_leg_b_record" => (table::CHANGE_SET, "change_set_id", part("change_set")),
            "IG_write_verify" => return self.verdict(run, row).map(|verdict| vec![verdict]),
            "SG_cut_authz_received" => return Some(self.leg_a(run, row, evidence)),
            "SG_lifecycle_authz_received" => {
                let mut rows = self.changes(run, "enacted");
                for change in &rows {
                    let decision = part("lifecycle_decision");
                    self.expect(
                        *change,
                        "change_is_of_its_run",
                        "review_decision_id",
                        Some(&decision),
                    );
                }
                let id = part("lifecycle_decision");
                rows.push(self.row_of(row, DECISION, "review_decision_id", &id)?);
                rows.extend(self.used_for(row, evidence));
                return Some(rows);
            }
            _ => return Some(Vec::new()),
        };
        Some(vec![self.row_of(row, one.0, one.1, &one.2)?])
    }

    fn leg_a(&mut self, run: Row<'a>, row: &LogRow, evidence: &Value) -> Vec<Row<'a>> {
        let mut rows = self.changes(run, "created");
        for change in &rows {
            self.expect(*change, "change_is_of_its_run", "actor", Some(&row.principal));
        }
        rows.extend(self.used_for(row, evidence));
        rows
    }

    /// The changes of one kind that the run made to its units.
    fn changes(&self, run: Row<'a>, kind: &str) -> Vec<Row<'a>> {
        let set = derived_uuid(run.id("run_id"), "change_set").to_string();
        run_units(self.rows, run)
            .into_iter()
            .flat_map(|unit| self.rows.of(LIFECYCLE, "unit_id", &unit.to_string()))
            .filter(|change| {
                change.text("change_kind") == kind && change.opt("change_set_id") == Some(&set)
            })
            .collect()
    }

    fn row_of(
        &mut self,
        row: &LogRow,
        table: &'static str,
        column: &'static str,
        id: &str,
    ) -> Option<Row<'a>> {
        let found = self.rows.one(table, column, id);
        if found.is_none() {
            self.missing(row, table, id);
        }
        found
    }

    fn verdict(&mut self, run: Row<'a>, row: &LogRow) -> Option<Row<'a>> {
        let set = derived_uuid(run.id("run_id"), "change_set").to_string();
        let id = derived_uuid(run.id("run_id"), "verify_result").to_string();
        let mut results = self.rows.of(table::RESULT, "change_set_id", &set);
        let found = results.find(|result| result.text("verify_result_id") == id);
        if found.is_none() {
            self.missing(row, table::RESULT, &id);
        }
        found
    }

    fn used_for(&mut self, row: &LogRow, evidence: &Value) -> Option<Row<'a>> {
        self.row_of(row, USE, "approval_id", text_of(evidence, "approval_id"))
    }

    /// The revision of the move's document that its evidence names.
    fn receipt(
        &mut self,
        run: Row<'a>,
        row: &LogRow,
        kind: &str,
        evidence: &Value,
    ) -> Option<Row<'a>> {
        let path = document_path(run, row)?;
        self.expect_move(row, "document", evidence["kb_doc_id"].as_str(), Some(&path));
        let number = evidence["kb_revision"].as_i64();
        let revisions: Vec<Row<'a>> = self.rows.of(REVISION, "path", &path).collect();
        for foreign in revisions.iter().filter(|revision| revision.number("revision") != number) {
            let what = format!("{} wrote it; the run did not", foreign.text("author"));
            self.wrong(*foreign, "document_is_of_its_move", what);
        }
        let mut revisions = revisions.into_iter();
        let Some(receipt) = revisions.find(|revision| revision.number("revision") == number) else {
            self.missing(row, REVISION, &format!("{path}/{}", number.unwrap_or_default()));
            return None;
        };
        // A text that stood there already is not written again, so its author may be somebody else.
        self.expect(receipt, "document_is_of_its_move", "kind", Some(kind));
        Some(receipt)
    }

    fn halted(&mut self, run: Row<'a>, row: &LogRow) {
        let mut rows = Vec::new();
        if row.actor_class == "verifier_dot992" {
            let Some(verdict) = self.verdict(run, row) else { return };
            rows.push(verdict);
        }
        // Signed as it was given, the evidence cannot name the revision; one of them is the one.
        let path = document_path(run, row).unwrap_or_default();
        let reports: Vec<Row<'a>> = self.rows.of(REVISION, "path", &path).collect();
        let Some(report) = self.one_of(row, rows, &reports, &path) else { return };
        for foreign in reports.iter().filter(|one| one.opt("revision") != report.opt("revision")) {
            let what = format!("{} wrote it; the run did not", foreign.text("author"));
            self.wrong(*foreign, "document_is_of_its_move", what);
        }
    }

    fn void(&mut self, run: Row<'a>, row: &LogRow, evidence: &Value) {
        let path = text_of(evidence, "void_kb_id");
        let signatures: Vec<Row<'a>> = self
            .rows
            .of(UNDER, "path", path)
            .filter(|signature| signature.text("meaning") == "void")
            .collect();
        let Some(signature) = self.one_of(row, Vec::new(), &signatures, path) else { return };
        let said = self.said(signature).unwrap_or_default();
        if said.get("run_id").and_then(Value::as_str) != run.opt("run_name")
            || said.get("voids") != Some(&json!(true))
        {
            let what = "the document does not void this run";
            self.wrong(signature, "authority_belongs_together", what);
        }
        self.expect(
            signature,
            "authority_belongs_together",
            "signer",
            Some(row.principal.as_str()),
        );
    }

    /// The digest of the move is over some rows and one of several.
    fn one_of(
        &mut self,
        row: &LogRow,
        mut rows: Vec<Row<'a>>,
        candidates: &[Row<'a>],
        path: &str,
    ) -> Option<Row<'a>> {
        let fits = |candidate: &&Row<'a>| {
            let all = rows.iter().chain([*candidate]).map(|row| row.digest());
            let digests: Option<Vec<[u8; 32]>> = all.collect();
            digests.is_some_and(|digests| {
                row.artefact_digest.as_deref() == Some(artefact_digest(&digests).as_slice())
            })
        };
        let Some(chosen) = candidates.iter().find(fits).or_else(|| candidates.last()).copied()
        else {
            self.missing(row, REVISION, path);
            return None;
        };
        rows.push(chosen);
        self.artefacts(row, &rows);
        Some(chosen)
    }

    fn resumed(&mut self, run: Row<'a>, row: &LogRow, evidence: &Value) {
        let key = format!("resume:{}", text_of(evidence, "approval_id"));
        self.expect_move(row, "idempotency key", Some(&row.idempotency_key), Some(&key));
        let before = self.rows.log_of(row.run_id).iter().rev().find(|log| log.seq < row.seq);
        let stopped_in = before.and_then(|before| before.from_state.clone());
        self.expect_move(row, "state", Some(&row.to_state), stopped_in.as_deref());
        let Some(used) = self.used_for(row, evidence) else { return };
        let Some(receipt) = self.receipt(run, row, "receipt", evidence) else { return };
        self.artefacts(row, &[used, receipt]);
    }

    /// What the text under a signature says.
    fn said(&self, signature: Row<'_>) -> Option<Map<String, Value>> {
        let mut revisions = self.rows.of(REVISION, "path", signature.text("path"));
        let revision =
            revisions.find(|revision| revision.opt("revision") == signature.opt("revision"));
        json_block(revision?.text("body"))
    }

    /// One person signed the document, voted and decided; all of it is for exactly this gate of this run.
    fn authorized(
        &mut self,
        run: Row<'a>,
        row: &LogRow,
        gate: &str,
        evidence: &Value,
        pins: &Map<String, Value>,
    ) {
        const RULE: &str = "authority_belongs_together";
        let id = text_of(evidence, "approval_id");
        let Some(request) = self.row_of(row, REQUEST, "approval_id", id) else { return };
        let kind = match gate {
            "SG_cut_authz" => "cut_authorization",
            "SG_lifecycle_authz" => "lifecycle_authorization",
            "SG_resume_stopped" => "resume_stopped",
            _ => "drift_ack",
        };
        let facts = request.json("facts");
        let digest = hex::encode(canonical::sha256(&facts));
        self.expect_all(
            request,
            RULE,
            &[
                ("kind", Some(kind)),
                ("subject_ref", run.opt("run_name")),
                ("subject_digest", Some(&digest)),
            ],
        );
        if let Some(used) = self.rows.one(USE, "approval_id", id) {
            let what = format!("{}/{gate}", run.text("run_name"));
            self.expect_all(
                used,
                RULE,
                &[
                    ("used_for_kind", Some("orchestrator_run")),
                    ("used_for_ref", Some(&what)),
                    ("used_by", Some(&row.principal)),
                ],
            );
        }
        let mut binding = self.binding(run, row, gate, pins);
        if let Some(survey) = facts.get("survey").filter(|_| gate == "SG_drift_ack") {
            binding.insert("survey", survey.clone());
        }
        for (field, expected) in &binding {
            if facts.get(*field) != Some(expected) {
                self.wrong(request, RULE, format!("what was asked for has another {field}"));
            }
        }
        binding.insert("approval_id", json!(id));
        binding.insert("nonce", facts["nonce"].clone());
        binding.insert("expires_at", json!(request.number("expires_at")));
        binding.insert("authorizes", json!(true));
        let path = text_of(evidence, "approval_kb_id");
        // The newest one that stood when the gate was passed.
        let signature = self
            .rows
            .of(UNDER, "path", path)
            .filter(|under| under.text("meaning") == gate)
            .filter(|under| under.number("recorded_at").is_some_and(|at| at <= row.at_micros))
            .max_by_key(|under| (under.number("revision"), under.number("recorded_at")));
        let Some(signature) = signature else {
            return self.wrong_move(row, RULE, format!("nobody signed {path} for {gate}"));
        };
        let said = self.said(signature).unwrap_or_default();
        for (field, expected) in &binding {
            if said.get(*field) != Some(expected) {
                let what = format!("what was signed has another {field}");
                self.wrong(signature, RULE, what);
            }
        }
        self.one_person(run, row, (gate, id), signature, pins);
    }

    /// Who signed voted as a sovereign, and decided where a decision is due.
    fn one_person(
        &mut self,
        run: Row<'a>,
        row: &LogRow,
        (gate, approval): (&str, &str),
        signature: Row<'a>,
        pins: &Map<String, Value>,
    ) {
        const RULE: &str = "authority_belongs_together";
        let signer = signature.text("signer");
        let newest = self.rows.of(VOTE, "approval_id", approval).filter(|vote| {
            vote.text("voter") == signer
                && vote.number("voted_at").is_some_and(|at| at <= row.at_micros)
        });
        let voted = newest.last().is_some_and(|vote| {
            vote.text("decision") == "approve" && vote.text("counted_as") == "sovereign"
        });
        if !voted {
            let what = format!("{signer} did not approve as a sovereign");
            self.wrong(signature, RULE, what);
        }
        let (part, kind) = match gate {
            "SG_cut_authz" => ("cut_decision", "cut_review"),
            "SG_lifecycle_authz" => ("lifecycle_decision", "lifecycle_enactment"),
            _ => return,
        };
        let id = derived_uuid(run.id("run_id"), part).to_string();
        let Some(decision) = self.row_of(row, DECISION, "review_decision_id", &id) else { return };
        self.expect_all(
            decision,
            RULE,
            &[
                ("governance_event_kind", Some(kind)),
                ("entry_id", run.opt("entry_id")),
                ("reviewer_identity", Some(signer)),
                ("verdict", Some("approve")),
                ("manifest_version", pins.get("manifest_digest").and_then(Value::as_str)),
            ],
        );
    }

    /// What an approval for a gate must say, from what the run pinned before and where it stood.
    fn binding(
        &self,
        run: Row<'a>,
        row: &LogRow,
        gate: &str,
        pins: &Map<String, Value>,
    ) -> BTreeMap<&'static str, Value> {
        let part = |part: &str| json!(derived_uuid(run.id("run_id"), part));
        let mut binding = BTreeMap::from([
            ("run_id", json!(run.opt("run_name"))),
            ("gate", json!(gate)),
            ("document_id", json!(run.opt("document_id"))),
        ]);
        if ["SG_cut_authz", "SG_lifecycle_authz"].contains(&gate) {
            let decision =
                if gate == "SG_cut_authz" { "cut_decision" } else { "lifecycle_decision" };
            let pinned = |name: &str| pins.get(name).cloned().unwrap_or_default();
            binding.extend([
                ("source_version_id", json!(run.opt("source_version_id"))),
                ("writer_digest", pinned("writer_digest")),
                ("manifest_digest", pinned("manifest_digest")),
                ("change_set_id", part("change_set")),
                ("review_decision_id", part(decision)),
            ]);
        } else {
            binding.extend([
                ("stopped_state", json!(row.from_state)),
                ("stopped_seq", json!(row.seq - 1)),
            ]);
        }
        binding
    }
}

/// The runs that drove the entries at hand.
pub(super) fn runs_of(rows: &Rows) -> Vec<Uuid> {
    rows.all(ORCHESTRATED).map(|run| run.id("run_id")).collect()
}

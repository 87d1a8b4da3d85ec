//! Permits, births and their handoff: each permit was issued, used and ended as its log says, each birth has the permit that it names
//! or says that it has none, and what was handed to governance was born.

use std::collections::{BTreeSet, HashSet};
use std::sync::OnceLock;

use chancery_model::birth::{Permit, Request, permit_digest, request_hash};
use chancery_model::chain::LogRow;
use chancery_model::cutter::derived_uuid;
use chancery_model::machine::Transition;
use chancery_store::{Shape, Snapshot};
use serde_json::json;
use uuid::Uuid;

use super::check::Checker;
use super::entry::evidence_of;
use super::ledger;
use super::policy::{self, Policies};
use super::queue::transitions_of;
use super::report::Report;
use super::rows::{Row, Rows, Source, ids};
use super::signers::Signers;
use super::table::{self, BIRTH, CANDIDATE, FAMILY, PERMIT, REQUEST, USE};
use crate::Error;

/// Permits, births or candidates that are looked at together.
pub(super) const PAGE: i64 = 1_000;

/// States in which a permit stands for its code.
const LIVE: [&str; 3] = ["RESERVED", "CONSUMED", "FINALIZED"];

fn of_permits() -> &'static [Transition] {
    static TRANSITIONS: OnceLock<Vec<Transition>> = OnceLock::new();
    TRANSITIONS
        .get_or_init(|| transitions_of(include_str!("../../../../machines/birth_permit.yaml")))
}

fn of_candidates() -> &'static [Transition] {
    static TRANSITIONS: OnceLock<Vec<Transition>> = OnceLock::new();
    TRANSITIONS.get_or_init(|| {
        transitions_of(include_str!("../../../../machines/governance_candidate.yaml"))
    })
}

/// The digest of the request that a permit's columns say.
fn request_hash_of(permit: Row<'_>) -> [u8; 32] {
    let payload = permit.bytes("payload_digest");
    request_hash(&Request {
        collection: permit.text("collection_name"),
        code: permit.text("entity_code"),
        name: permit.opt("entity_name"),
        species: permit.opt("species_code"),
        role: permit.text("governance_role"),
        payload_digest: payload.as_deref(),
    })
}

/// The digest that the reservation of a permit must carry, from the permit's columns alone.
pub(super) fn permit_digest_of(permit: Row<'_>) -> [u8; 32] {
    permit_digest(&Permit {
        permit_id: permit.id("permit_id"),
        request_hash: &request_hash_of(permit),
        batch_id: permit.uuid("batch_id"),
        dot: permit.text("requested_by_dot"),
        approval_id: permit.uuid("approval_id"),
        requested_at: permit.number("requested_at").unwrap_or_default(),
        expires_at: permit.number("expires_at").unwrap_or_default(),
    })
}

/// The tables of the room that are not stamped.
pub(super) struct Shapes {
    pub(super) permit: Shape,
    pub(super) family: Shape,
}

impl Shapes {
    async fn read(snapshot: &mut Snapshot) -> Result<Self, Error> {
        let permit = snapshot.shapes(&[PERMIT]).await?.remove(0);
        let family = snapshot.shapes(&[FAMILY]).await?.remove(0);
        Ok(Self { permit, family })
    }
}

/// Looks at every permit, birth and candidate, at the policies behind them and at the ledger of commands. Gives the approvals that
/// were used for any of them.
pub(super) async fn verify(
    source: &mut Source<'_>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<HashSet<Uuid>, Error> {
    let shapes = Shapes::read(source.reader().0).await?;
    let mut used = HashSet::new();
    let policies = policy::verify(source, &shapes, signers, report, &mut used).await?;
    permits(source, &shapes, signers, report, progress).await?;
    births(source, &shapes, &policies, signers, report, progress).await?;
    candidates(source, signers, report, progress).await?;
    ledger::verify(source, &shapes, signers, report, progress).await?;
    admissions(source, &shapes, &mut used).await?;
    Ok(used)
}

async fn permits(
    source: &mut Source<'_>,
    shapes: &Shapes,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(), Error> {
    let (snapshot, stamped) = source.reader();
    let mut after: Option<Vec<String>> = None;
    loop {
        let key = table::key_of(PERMIT);
        let page = snapshot.evidence_page(&shapes.permit, key, after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(vec![Row { table: PERMIT, raw: last }.key()]);
        let mut rows = Rows::default();
        rows.add(PERMIT, page);
        let permits: Vec<Uuid> = ids(rows.all(PERMIT), "permit_id").into_iter().collect();
        let order = ["birth_id"];
        let births = snapshot.evidence_of(&stamped[BIRTH], "permit_id", &permits, &order).await?;
        rows.add(BIRTH, births);
        rows.add_log(snapshot.log_of(&permits).await?);
        let approvals: Vec<Uuid> = ids(rows.all(PERMIT), "approval_id").into_iter().collect();
        for table in [REQUEST, USE] {
            let key = "approval_id";
            let found = snapshot.evidence_of(&stamped[table], key, &approvals, &[key]).await?;
            rows.add(table, found);
        }
        let mut checker = Checker::new(&rows, signers, report);
        // All of these are counted where all of them are looked at.
        checker.digests(|_| false);
        for permit in rows.all(PERMIT) {
            checker.permit(permit);
        }
        progress(report);
    }
}

/// Every birth, in the order of its code: of two with one code the second is found.
async fn births(
    source: &mut Source<'_>,
    shapes: &Shapes,
    policies: &Policies,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(), Error> {
    let (snapshot, stamped) = source.reader();
    let order = [("entity_code", "text"), ("collection_name", "text"), ("birth_id", "uuid")];
    let mut after: Option<Vec<String>> = None;
    loop {
        let page = snapshot.evidence_page(&stamped[BIRTH], &order, after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        let place = |row: Row<'_>| {
            order.iter().map(|(column, _)| row.text(column).to_owned()).collect::<Vec<String>>()
        };
        let mut before = after.replace(place(Row { table: BIRTH, raw: last }));
        let mut rows = Rows::default();
        rows.add(BIRTH, page);
        let permits: Vec<Uuid> = ids(rows.all(BIRTH), "permit_id").into_iter().collect();
        let key = "permit_id";
        rows.add(PERMIT, snapshot.evidence_of(&shapes.permit, key, &permits, &[key]).await?);
        let mut checker = Checker::new(&rows, signers, report);
        checker.digests(|row| row.table == BIRTH);
        for birth in rows.all(BIRTH) {
            checker.birth(birth, policies);
            let place = place(birth);
            if before.is_some_and(|before| before[..2] == place[..2]) {
                checker.wrong(birth, "birth_is_once_a_code", "another birth has the same code");
            }
            before = Some(place);
        }
        progress(report);
    }
}

async fn candidates(
    source: &mut Source<'_>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(), Error> {
    let (snapshot, stamped) = source.reader();
    let mut after: Option<Vec<String>> = None;
    loop {
        let key = table::key_of(CANDIDATE);
        let page = snapshot.evidence_page(&stamped[CANDIDATE], key, after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(vec![Row { table: CANDIDATE, raw: last }.key()]);
        let mut rows = Rows::default();
        rows.add(CANDIDATE, page);
        let births: Vec<Uuid> = ids(rows.all(CANDIDATE), "birth_id").into_iter().collect();
        let order = ["birth_id"];
        rows.add(BIRTH, snapshot.evidence_of(&stamped[BIRTH], order[0], &births, &order).await?);
        let candidates: Vec<Uuid> = ids(rows.all(CANDIDATE), "candidate_id").into_iter().collect();
        rows.add_log(snapshot.log_of(&candidates).await?);
        let mut checker = Checker::new(&rows, signers, report);
        checker.digests(|row| row.table == CANDIDATE);
        for candidate in rows.all(CANDIDATE) {
            checker.candidate(candidate);
        }
        progress(report);
    }
}

/// Approvals that were used for a request: a permit of that request is there. Not always one that names the approval: who asks again
/// gets the permit that the request had.
async fn admissions(
    source: &mut Source<'_>,
    shapes: &Shapes,
    used: &mut HashSet<Uuid>,
) -> Result<(), Error> {
    let (snapshot, stamped) = source.reader();
    let mut after: Option<Vec<String>> = None;
    loop {
        let key = table::key_of(USE);
        let page = snapshot.evidence_page(&stamped[USE], key, after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(vec![Row { table: USE, raw: last }.key()]);
        let uses = page.iter().map(|raw| Row { table: USE, raw });
        let uses = uses.filter(|row| row.text("used_for_kind") == "birth_request");
        let uses: Vec<(Uuid, Vec<u8>)> = uses
            .filter_map(|row| Some((row.id("approval_id"), row.bytes("used_for_ref")?)))
            .collect();
        let hashes: Vec<Vec<u8>> = uses.iter().map(|(_, hash)| hash.clone()).collect();
        let found = snapshot.evidence_hashed(&shapes.permit, "request_hash", &hashes).await?;
        let found: BTreeSet<Vec<u8>> = found
            .iter()
            .filter_map(|raw| Row { table: PERMIT, raw }.bytes("request_hash"))
            .collect();
        used.extend(uses.iter().filter(|(_, hash)| found.contains(hash)).map(|(id, _)| *id));
    }
}

impl<'a> Checker<'a> {
    /// One permit: reserved for exactly this request, and used or ended as its row says.
    fn permit(&mut self, permit: Row<'a>) {
        const RULE: &str = "permit_is_as_it_was_logged";
        let id = permit.id("permit_id");
        self.entry_id = Some(id);
        let (mut consumed, mut birth) = (None, None);
        for row in self.rows.log_of(id) {
            self.legal_in(of_permits(), "birth_permit", permit, row);
            match row.trigger_ref.as_str() {
                "permit_request" => self.reserved(permit, row),
                "permit_insert" => {
                    self.by_the_gate(row, "consume");
                    self.nothing_written(row);
                    let login = permit.opt("consumed_by");
                    self.expect_evidence(row, &json!({ "login": login }));
                    consumed = Some(row.at_micros.to_string());
                }
                "permit_commit" => birth = self.finalized(permit, row),
                "permit_failure" => self.failed(permit, row),
                "permit_ttl" => {
                    self.nothing_written(row);
                    self.expect_evidence(row, &json!({}));
                    if Some(row.at_micros) < permit.number("expires_at") {
                        self.wrong_move(row, RULE, "it expired before its time had run out");
                    }
                }
                _ => self.revoked(permit, row),
            }
        }
        let live = LIVE.contains(&permit.text("status")).to_string();
        let born = birth.and_then(|birth: Row<'a>| birth.opt("birth_id"));
        self.expect_all(
            permit,
            RULE,
            &[
                ("live", Some(&live)),
                ("consumed_at", consumed.as_deref()),
                ("finalized_birth_id", born),
            ],
        );
        if consumed.is_none() {
            let nobody = [("consumed_by", None), ("consumed_xid", None)];
            self.expect_all(permit, RULE, &nobody);
        }
        for birth in self.rows.of(BIRTH, "permit_id", permit.text("permit_id")) {
            self.require_claim(birth, "permit that was finalized");
        }
        self.entry_id = None;
    }

    fn reserved(&mut self, permit: Row<'a>, row: &LogRow) {
        const RULE: &str = "permit_is_as_it_was_reserved";
        let hash = hex::encode(request_hash_of(permit));
        self.expect_evidence(row, &json!({ "request_hash": hash }));
        self.expect_move(row, "idempotency key", Some(&row.idempotency_key), Some("reserve"));
        let id = permit.id("permit_id");
        self.expect_all(
            permit,
            RULE,
            &[
                ("request_hash", Some(&hash)),
                ("started_by", Some(&row.principal)),
                ("requested_at", Some(&row.at_micros.to_string())),
                ("trace_id", Some(&id.simple().to_string())),
                ("correlation_id", Some(&id.to_string())),
            ],
        );
        let Some(approval) = permit.opt("approval_id") else { return };
        let subject = format!("{}/{}", permit.text("collection_name"), permit.text("entity_code"));
        let asked = self.rows.one(REQUEST, "approval_id", approval);
        let Some(asked) = asked else { return self.missing(row, REQUEST, approval) };
        self.expect_all(
            asked,
            "admission_was_approved",
            &[
                ("kind", Some("birth_admission")),
                ("subject_ref", Some(&subject)),
                ("subject_digest", Some(&hash)),
            ],
        );
        let used = self.rows.one(USE, "approval_id", approval);
        let Some(used) = used else { return self.missing(row, USE, approval) };
        let of = [("used_for_kind", Some("birth_request")), ("used_for_ref", Some(&*hash))];
        self.expect_all(used, "admission_was_approved", &of);
    }

    /// The birth that ended the permit is what the permit was for, in the transaction that took it.
    fn finalized(&mut self, permit: Row<'a>, row: &LogRow) -> Option<Row<'a>> {
        self.by_the_gate(row, "finalize");
        let births = self.rows.of(BIRTH, "permit_id", permit.text("permit_id"));
        let births: Vec<Row<'a>> = births.collect();
        let Some(birth) = births.first().copied() else {
            self.missing(row, BIRTH, permit.text("finalized_birth_id"));
            return None;
        };
        if births.len() > 1 {
            self.wrong(births[1], "birth_has_one_permit", "its permit admitted another birth");
        }
        self.artefacts(row, &[birth]);
        let event = json!({ "finalized_birth_id": birth.opt("birth_id") });
        self.expect_evidence(row, &json!({ "event": event }));
        self.expect_all(
            birth,
            "birth_is_what_was_permitted",
            &[
                ("collection_name", permit.opt("collection_name")),
                ("entity_code", permit.opt("entity_code")),
                ("entity_name", permit.opt("entity_name")),
                ("species_code", permit.opt("species_code")),
                ("governance_role", permit.opt("governance_role")),
                ("dot_origin", permit.opt("requested_by_dot")),
                ("born_by", permit.opt("consumed_by")),
                ("xid", permit.opt("consumed_xid")),
            ],
        );
        Some(birth)
    }

    /// A permit fails at the commit of an insert that left no row, or when who asked for it says that the insert was refused.
    fn failed(&mut self, permit: Row<'a>, row: &LogRow) {
        self.by_the_gate(row, "fail");
        self.nothing_written(row);
        let evidence = evidence_of(row);
        let reason = &evidence["failure_reason"];
        let mut expected =
            json!({ "event": { "failure_reason": reason }, "failure_reason": reason });
        if row.from_state.as_deref() == Some("RESERVED") {
            expected["told_by"] = permit.text("started_by").into();
        }
        self.expect_evidence(row, &expected);
        if !reason.is_string() {
            self.wrong_move(row, "log_agrees_with_its_rows", "the failure does not say why");
        }
    }

    fn revoked(&mut self, permit: Row<'a>, row: &LogRow) {
        self.nothing_written(row);
        let audit_ref = format!("birth_permit:{}", permit.text("permit_id"));
        let reason = row.reason.as_deref();
        self.expect_evidence(
            row,
            &json!({ "audit_ref": audit_ref, "event": { "reason": reason }, "reason": reason }),
        );
        if Some(row.principal.as_str()) == permit.opt("started_by") {
            let what = "who asked for the permit took it back";
            self.wrong_move(row, "nobody_revokes_their_own", what);
        }
    }

    /// The gates of the database made the move: nobody asks for it.
    fn by_the_gate(&mut self, row: &LogRow, key: &str) {
        self.expect_move(row, "idempotency key", Some(&row.idempotency_key), Some(key));
        self.expect_move(row, "principal", Some(&row.principal), Some("chancery"));
        if row.key_id.is_some() {
            let what = "the database makes this move, and nobody signs it";
            self.wrong_move(row, "log_agrees_with_its_rows", what);
        }
    }

    /// A birth has the permit that it names, or says that it has none, at a time when that was allowed.
    fn birth(&mut self, birth: Row<'a>, policies: &Policies) {
        const RULE: &str = "birth_was_admitted";
        self.expect(birth, RULE, "status", Some("born"));
        let (collection, admission) = (birth.text("collection_name"), birth.text("admission"));
        let at = birth.number("born_at").unwrap_or_default();
        if let Some(id) = birth.opt("permit_id") {
            self.expect(birth, RULE, "admission", Some("permit"));
            match self.rows.one(PERMIT, "permit_id", id) {
                None => self.wrong(birth, RULE, format!("its permit {id} is not there")),
                Some(permit) => self.expect_all(
                    permit,
                    "permit_has_its_birth",
                    &[("status", Some("FINALIZED")), ("finalized_birth_id", birth.opt("birth_id"))],
                ),
            }
            return;
        }
        self.expect_all(birth, RULE, &[("dot_origin", Some("by_hand")), ("species_code", None)]);
        let what = match admission {
            "missing" if policies.only_reported(collection, at) => return,
            "break_glass" if policies.glass_was_broken(collection, at) => return,
            "missing" => "its family never was without enforcement until then",
            "break_glass" => "the glass was not broken at that time",
            _ => "it names no permit, and does not say that it has none",
        };
        self.wrong(birth, RULE, what);
    }

    /// What was handed to governance is a birth, and was announced as that.
    fn candidate(&mut self, candidate: Row<'a>) {
        const RULE: &str = "candidate_is_what_was_born";
        let id = candidate.id("candidate_id");
        self.entry_id = Some(id);
        let birth_id = candidate.id("birth_id");
        let birth = self.rows.one(BIRTH, "birth_id", candidate.text("birth_id"));
        let log = self.rows.log_of(id);
        for row in log {
            self.legal_in(of_candidates(), "governance_candidate", candidate, row);
            if row.trigger_ref == "object_born" {
                self.artefacts(row, &[candidate]);
                self.expect_evidence(row, &json!({}));
                self.expect(candidate, RULE, "started_by", Some(&row.principal));
                continue;
            }
            self.nothing_written(row);
            let event = json!({
                "object_type": candidate.opt("object_type"), "object_ref": candidate.opt("object_ref"),
                "change_kind": "born", "birth_id": birth_id,
                "governance_role": birth.and_then(|birth| birth.opt("governance_role")),
            });
            self.expect_evidence(row, &json!({ "event": event }));
        }
        self.expect_all(
            candidate,
            RULE,
            &[
                ("candidate_id", Some(&derived_uuid(birth_id, "candidate").to_string())),
                ("object_type", birth.and_then(|birth| birth.opt("collection_name"))),
                ("object_ref", birth.and_then(|birth| birth.opt("entity_code"))),
                ("trace_id", Some(&birth_id.simple().to_string())),
                ("correlation_id", Some(&birth_id.to_string())),
            ],
        );
        self.entry_id = None;
    }
}

//! Entries of the cutter that went every way there is, made through the doors.

use std::collections::HashMap;
use std::time::Duration;

use chancery_engine::approval::{self, NewRequest};
use chancery_engine::audit::{self, Mismatch, Pins, Report};
use chancery_engine::cutter::{self, AbandonRequest, MarkRequest, ReviewRequest, Verdict};
use chancery_engine::identity::{Keystore, new_key};
use chancery_engine::iu::{self, NewDocument};
use chancery_engine::kb::{self, Writer};
use chancery_engine::registry::install_product_machines;
use chancery_engine::run::Actor;
use chancery_model::cutter::{Decision, decision_payload};
use chancery_model::envelope::Statement;
use chancery_store::cutter::LifecycleReview;
use chancery_store::fsm::Signed;
use chancery_store::iu::{Enactment, NewUnit};
use chancery_store::{Role, Store};
use chancery_testkit::TestDb;
use serde_json::json;
use uuid::Uuid;

use crate::support::LETTER;

/// Who acts, and behind which logins.
pub(crate) struct Cutter {
    pub(crate) db: TestDb,
    pub(crate) app: Store,
    pub(crate) exec: Store,
    pub(crate) verifier: Store,
    pub(crate) review: Store,
    pub(crate) auditor: Store,
    pub(crate) actors: HashMap<&'static str, Actor>,
}

impl Cutter {
    pub(crate) async fn new() -> Self {
        let db = TestDb::new().await;
        let operator = db.store(Role::Migrator);
        install_product_machines(&operator, "test").await.expect("the machines");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keystore = Keystore::below(folder.path());
        let app = db.store(Role::App);
        let mut actors = HashMap::new();
        for (name, kind, classes) in [
            ("mara", "human", &["pic_human"][..]),
            ("rita", "human", &["review_authority"]),
            ("sol", "human", &["sovereign"]),
            ("sara", "human", &["sovereign", "review_authority"]),
            ("edith", "service", &["executor_dot991"]),
            ("vera", "service", &["verifier_dot992"]),
        ] {
            let classes: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
            operator.fn_principal_add(name, kind, &classes, None).await.expect("a principal");
            new_key(&operator, &keystore, name, None).await.expect("a key");
            actors.insert(name, Actor::open(&app, &keystore, name).await.expect("an actor"));
        }
        Self {
            app,
            exec: db.store(Role::CutterExec),
            verifier: db.store(Role::CutterVerify),
            review: db.store(Role::CutterReview),
            auditor: db.store(Role::Auditor),
            db,
            actors,
        }
    }

    pub(crate) fn actor(&self, name: &str) -> &Actor {
        &self.actors[name]
    }

    /// Stores a document and marks it.
    pub(crate) async fn mark(&self, name: &str, text: &str, depends_on: &[Uuid]) -> Uuid {
        let document = NewDocument {
            document_id: name,
            prefix: Some(&name.to_ascii_uppercase()),
            media_type: "text/markdown",
            body: text.as_bytes(),
            profile: None,
        };
        iu::add_document(&self.app, "mara", &document).await.expect("a document");
        let request = MarkRequest {
            document_id: name.to_owned(),
            depends_on: depends_on.to_vec(),
            ..MarkRequest::default()
        };
        let marked = cutter::mark(&self.app, self.actor("mara"), &request).await.expect("marked");
        marked.entry_id
    }

    pub(crate) async fn sweep(&self) {
        cutter::sweep(&self.exec, "edith", "manual", None).await.expect("swept");
    }

    pub(crate) async fn decide(&self, entry: Uuid, verdict: Verdict) {
        let request = ReviewRequest {
            rationale: Some(format!("looked at it: {}", verdict.as_str())),
            findings: json!({ "looked_at": ["titles", "regions"] }),
            ..ReviewRequest::new(verdict)
        };
        cutter::review(&self.review, self.actor("rita"), entry, &request).await.expect("decided");
    }

    pub(crate) async fn cut(&self, entry: Uuid) {
        cutter::cut(&self.exec, self.actor("edith"), entry).await.expect("cut");
    }

    pub(crate) async fn verify(&self, entry: Uuid) -> bool {
        let verified = cutter::verify(&self.verifier, self.actor("vera"), entry).await;
        verified.expect("a verdict").passed()
    }

    /// From the document to verified units.
    pub(crate) async fn complete(&self, name: &str, text: &str, depends_on: &[Uuid]) -> Uuid {
        let entry = self.mark(name, text, depends_on).await;
        self.sweep().await;
        self.decide(entry, Verdict::Approve).await;
        self.cut(entry).await;
        assert!(self.verify(entry).await, "an honest cut passes");
        entry
    }

    /// Gives a draft unit another text.
    pub(crate) async fn edit(&self, address: &str, text: &str) {
        let draft = Uuid::now_v7();
        let drafted = self.exec.fn_iu_edit_draft(draft, address, "Another title", text, "edith");
        drafted.await.expect("drafted");
        let applied = self.exec.fn_iu_apply_edit_draft(draft, "edith", Some("a better wording"));
        applied.await.expect("applied");
    }

    /// Decides that the units of an entry may be enacted, and enacts one.
    pub(crate) async fn enact(&self, entry: Uuid, address: &str) {
        let key = self.actor("rita").key.as_ref().expect("a key");
        let detail = self.auditor.entry_detail(entry).await.expect("an answer").expect("an entry");
        let cut = detail.decisions.last().expect("a decision");
        let (prior, manifest) = (cut.review_decision_id, cut.manifest_id);
        let digest = hex_32(&cut.manifest_digest);
        let (id, signed_at) = (Uuid::now_v7(), self.now().await);
        let findings = json!({});
        let payload = decision_payload(&Decision {
            review_decision_id: id,
            governance_event_kind: "lifecycle_enactment",
            entry_id: entry,
            manifest_id: manifest,
            manifest_digest: digest,
            verdict: "approve",
            findings: &findings,
            rationale: None,
            risk: "low",
            prior_review_decision_id: Some(prior),
            principal: "rita",
            key_id: key.key_id,
            signed_at,
        });
        let signature = Statement::review(payload.clone()).sign(&key.key).to_vec();
        let review = LifecycleReview {
            entry_id: entry,
            verdict: "approve".to_owned(),
            review_decision_id: id,
            prior_review_decision_id: Some(prior),
            findings,
            rationale: None,
            risk: "low".to_owned(),
            principal: "rita".to_owned(),
            signed_at,
            decision: Some(Signed { key_id: key.key_id, signature }),
            decision_payload: payload,
        };
        self.review.fn_lifecycle_review(&review).await.expect("decided");
        let enactment = Enactment {
            canonical_address: address.to_owned(),
            actor: "edith".to_owned(),
            review_decision_id: id,
            reason: Some("in force from today".to_owned()),
            tool_revision: Some("test/1".to_owned()),
            dry_run: false,
        };
        self.exec.fn_iu_enact(&enactment).await.expect("enacted");
    }

    pub(crate) async fn now(&self) -> i64 {
        let now = self.db.text("select internal.micros(internal.now())::text").await;
        now.parse().expect("a number")
    }

    pub(crate) async fn audit(&self) -> Report {
        audit::verify(&self.auditor, Pins::default(), |_| ()).await.expect("an audit")
    }

    pub(crate) async fn mismatches(&self) -> Vec<Mismatch> {
        self.audit().await.mismatches
    }
}

fn hex_32(text: &str) -> [u8; 32] {
    let bytes: Vec<u8> = (0..text.len() / 2)
        .map(|n| u8::from_str_radix(&text[2 * n..2 * n + 2], 16).expect("hex"))
        .collect();
    bytes.try_into().expect("a digest")
}

pub(crate) const TEXT: &str = "Before the first heading.\n\n# Purpose\n\nWhy there is a rule.\n\n## Scope\n\nWhom it binds, \
                               “đúng” and 𝔸.\n\n# Duties\n\nWhat is to be done.\n";

/// The ways an entry can go.
pub(crate) struct Ways {
    pub(crate) happy: Uuid,
    pub(crate) dependent: Uuid,
    pub(crate) failed: Uuid,
    pub(crate) abandoned: Uuid,
    pub(crate) rejected: Uuid,
}

/// A request that was approved and used, one that was rejected, one that waits; votes of every kind.
async fn approvals(cutter: &Cutter) {
    cutter.db.machine(LETTER).await;
    let shortcut = "letter@1.0.0#shortcut:draft>sent/executor_worker";
    let new = NewRequest {
        approval_id: None,
        kind: "transition_activation".to_owned(),
        subject_ref: shortcut.to_owned(),
        subject_digest: None,
        risk: None,
        title: "Letters may take the short way".to_owned(),
        facts: json!({ "minutes": [7, 9] }),
        expires_in: Duration::from_secs(3_600),
    };
    let ask = async |new: &NewRequest| {
        let asked = approval::request(&cutter.app, cutter.actor("mara"), "pic_human", new).await;
        asked.expect("asked").approval_id
    };
    let vote = async |name: &str, class: &str, id: Uuid, decision, rationale| {
        let store = if class == "review_authority" { &cutter.review } else { &cutter.app };
        let voted = approval::vote(store, cutter.actor(name), class, id, decision, rationale).await;
        voted.expect("voted").state
    };
    let used = ask(&new).await;
    vote("rita", "review_authority", used, approval::Decision::Abstain, Some("not mine to say"))
        .await;
    vote("rita", "review_authority", used, approval::Decision::Approve, None).await;
    assert_eq!(
        vote("sol", "sovereign", used, approval::Decision::Approve, Some("yes")).await,
        "approved"
    );
    let activated = approval::activate_transition(&cutter.app, "mara", "pic_human", shortcut, used);
    assert!(!activated.await.expect("activated").replayed);
    let another = NewRequest { kind: "run_transition".to_owned(), ..new };
    let rejected = ask(&another).await;
    vote("sol", "sovereign", rejected, approval::Decision::Reject, Some("no")).await;
    ask(&NewRequest { risk: Some("high".to_owned()), ..another }).await;
}

/// Documents with one revision and with several, signed and not.
async fn documents(cutter: &Cutter) {
    let writer = Writer { principal: "mara", actor_class: "pic_human" };
    for (path, text) in [("notes/one", TEXT), ("notes/one", "another text\n"), ("notes", "x\n")] {
        let put = kb::put(&cutter.app, writer, path, "note", text.as_bytes(), None).await;
        put.expect("written");
    }
    for (revision, meaning) in [(Some(1), "read"), (None, "approved")] {
        let sol = cutter.actor("sol");
        let signed = kb::sign(&cutter.app, sol, "sovereign", "notes/one", revision, meaning).await;
        signed.expect("signed");
    }
}

/// Entries that passed, waited for another, were put off, failed, were abandoned after the cut, rejected and only marked; units
/// that were edited, enacted and made without a cut; a second look that passed and one that failed; a sweep that found nothing;
/// beside them approvals and documents of the knowledge base.
pub(crate) async fn every_way(cutter: &Cutter) -> Ways {
    let happy = cutter.complete("happy", TEXT, &[]).await;
    let again = cutter::verify_again(&cutter.verifier, cutter.actor("vera"), happy).await;
    assert!(again.expect("a second look").passed());
    cutter.enact(happy, "HAPPY/purpose").await;
    cutter.edit("HAPPY/duties", "# Duties\n\nWhat is really to be done.\n").await;
    let again = cutter::verify_again(&cutter.verifier, cutter.actor("vera"), happy).await;
    assert!(!again.expect("a third look").passed(), "an edited unit is no longer what was cut");

    let dependent = cutter.mark("dependent", TEXT, &[happy]).await;
    cutter.sweep().await;
    cutter.decide(dependent, Verdict::Defer).await;
    cutter.sweep().await;
    cutter.decide(dependent, Verdict::Approve).await;
    cutter.cut(dependent).await;
    assert!(cutter.verify(dependent).await);

    let failed = cutter.mark("failed", TEXT, &[]).await;
    cutter.sweep().await;
    cutter.decide(failed, Verdict::Approve).await;
    cutter.cut(failed).await;
    cutter.edit("FAILED/duties", "# Duties\n\nSomebody was faster than the verifier.\n").await;
    assert!(!cutter.verify(failed).await, "the verifier sees the edit");

    let abandoned = cutter.mark("abandoned", TEXT, &[]).await;
    let rejected = cutter.mark("rejected", TEXT, &[]).await;
    cutter.sweep().await;
    cutter.decide(abandoned, Verdict::Approve).await;
    cutter.decide(rejected, Verdict::Reject).await;
    cutter.cut(abandoned).await;
    let request = AbandonRequest {
        reason: "no longer needed".to_owned(),
        audit_ref: Some("minutes 7".to_owned()),
        idempotency_key: None,
    };
    cutter::abandon(&cutter.app, cutter.actor("sol"), abandoned, &request).await.expect("given up");

    let unit = NewUnit {
        canonical_address: "NOTES/one".to_owned(),
        title: "One".to_owned(),
        body: "A unit that no cut made.\n".to_owned(),
        actor: "edith".to_owned(),
        unit_kind: Some("design_doc_section".to_owned()),
        section_type: Some("heading".to_owned()),
        publication_type: Some("document".to_owned()),
        ..NewUnit::default()
    };
    cutter.exec.fn_iu_create(&unit).await.expect("a unit by hand");
    cutter.edit("NOTES/one", "A unit that no cut made, edited.\n").await;
    cutter.sweep().await;
    cutter.sweep().await;
    cutter.mark("waiting", TEXT, &[happy, dependent]).await;
    approvals(cutter).await;
    documents(cutter).await;
    Ways { happy, dependent, failed, abandoned, rejected }
}

//! The people and services of the cutter, in a database of their own.

use std::fmt::Debug;

use chancery_engine::cutter::{self, MarkRequest, ReviewRequest, Verdict, Verified};
use chancery_engine::identity::{Keystore, new_key};
use chancery_engine::iu::{AddedDocument, NewDocument, add_document};
use chancery_engine::run::Actor;
use chancery_engine::{Error, registry};
use chancery_model::refusal::Code;
use chancery_store::cutter::EntryReport;
use chancery_store::{Role, Store};
use chancery_testkit::TestDb;
use uuid::Uuid;

/// One heading, one unit.
pub(crate) const ONE: &str = "# Rules\n\nAll of them.\n";

/// A preamble, two levels, odd characters.
pub(crate) const SEVERAL: &str = "Gì đó \"trước\".\r\n\n# Luật số 1 \\ \"một\"\n\nText.\n\n## Scope\n\n* a\n* b\n\n## Terms 𝔸\u{2028}\n\n```\n# no heading\n```\n\n# End\n";

/// A database with the machine, everybody's keys, and a login a duty.
pub(crate) struct Scene {
    pub(crate) db: TestDb,
    pub(crate) keystore: Keystore,
    _folder: tempfile::TempDir,
    pub(crate) operator: Store,
    pub(crate) app: Store,
    pub(crate) exec: Store,
    pub(crate) reviewer: Store,
    pub(crate) verify: Store,
    /// Marks.
    pub(crate) alice: Actor,
    /// Reviews.
    pub(crate) rita: Actor,
    /// Reviews as well, and marks.
    pub(crate) ruth: Actor,
    /// Cuts, sweeps and marks.
    pub(crate) dora: Actor,
    /// Verifies.
    pub(crate) vera: Actor,
    /// Gives up.
    pub(crate) sam: Actor,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        let db = TestDb::new().await;
        let operator = db.store(Role::Migrator);
        registry::install_product_machines(&operator, "test").await.expect("the machines");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keystore = Keystore::below(folder.path());
        for (name, kind, classes) in [
            ("alice", "human", &["pic_human"][..]),
            ("rita", "human", &["review_authority"]),
            ("ruth", "human", &["review_authority", "pic_human"]),
            ("dora", "service", &["executor_dot991"]),
            ("vera", "service", &["verifier_dot992"]),
            ("sam", "human", &["sovereign"]),
        ] {
            let classes: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
            operator.fn_principal_add(name, kind, &classes, None).await.expect("a principal");
            new_key(&operator, &keystore, name, None).await.expect("a key");
        }
        let app = db.store(Role::App);
        let actor = async |name: &str| Actor::open(&app, &keystore, name).await.expect("an actor");
        Self {
            alice: actor("alice").await,
            rita: actor("rita").await,
            ruth: actor("ruth").await,
            dora: actor("dora").await,
            vera: actor("vera").await,
            sam: actor("sam").await,
            exec: db.store(Role::CutterExec),
            reviewer: db.store(Role::CutterReview),
            verify: db.store(Role::CutterVerify),
            app,
            operator,
            keystore,
            _folder: folder,
            db,
        }
    }

    pub(crate) async fn add(&self, id: &str, prefix: &str, text: &str) -> AddedDocument {
        let document = NewDocument {
            document_id: id,
            prefix: Some(prefix),
            media_type: "text/markdown",
            body: text.as_bytes(),
            profile: None,
        };
        add_document(&self.app, "alice", &document).await.expect("a document")
    }

    pub(crate) async fn mark(&self, id: &str) -> Uuid {
        self.mark_with(&MarkRequest { document_id: id.to_owned(), ..MarkRequest::default() })
            .await
            .expect("marked")
            .entry_id
    }

    pub(crate) async fn mark_with(&self, request: &MarkRequest) -> Result<EntryReport, Error> {
        cutter::mark(&self.app, &self.alice, request).await
    }

    pub(crate) async fn sweep(&self) -> Vec<Uuid> {
        cutter::sweep(&self.exec, "dora", "manual", None).await.expect("swept").entries
    }

    pub(crate) async fn review(&self, entry: Uuid, verdict: Verdict) -> Result<EntryReport, Error> {
        cutter::review(&self.reviewer, &self.rita, entry, &ReviewRequest::new(verdict)).await
    }

    pub(crate) async fn cut(&self, entry: Uuid) -> Result<EntryReport, Error> {
        cutter::cut(&self.exec, &self.dora, entry).await
    }

    pub(crate) async fn verify(&self, entry: Uuid) -> Result<Verified, Error> {
        cutter::verify(&self.verify, &self.vera, entry).await
    }

    /// A marked and approved request for a document of its own.
    pub(crate) async fn approved(&self, id: &str, prefix: &str, text: &str) -> Uuid {
        self.add(id, prefix, text).await;
        let entry = self.mark(id).await;
        self.sweep().await;
        self.review(entry, Verdict::Approve).await.expect("approved");
        entry
    }

    /// A request that was cut and waits for its verdict.
    pub(crate) async fn applied(&self, id: &str, prefix: &str, text: &str) -> Uuid {
        let entry = self.approved(id, prefix, text).await;
        self.cut(entry).await.expect("cut");
        entry
    }

    /// The number of rows of each of the cutter's tables, and of the log, for requests that exist.
    pub(crate) async fn counts(&self) -> Vec<(&'static str, i64)> {
        let mut counts = Vec::new();
        for table in [
            "decision_backlog_entry",
            "decision_backlog_history",
            "decision_backlog_dependency",
            "decision_backlog_sweep_log",
            "manifest_envelope",
            "manifest_unit_block",
            "review_decision",
            "dot_pair_signature",
            "cut_change_set",
            "cut_change_set_affected_row",
            "verify_result",
            "canonical_address_alias",
        ] {
            counts.push((table, self.db.count(&format!("cutter_governance.{table}")).await));
        }
        counts
    }

    pub(crate) async fn status(&self, entry: Uuid) -> String {
        self.app.entry(entry).await.expect("an answer").expect("the entry").status
    }
}

/// The codes of a refusal, in the order in which they were reported.
pub(crate) fn codes<T: Debug>(answer: Result<T, Error>) -> Vec<Code> {
    let error = answer.expect_err("a refusal");
    let refusal = error.refusal().unwrap_or_else(|| panic!("a refusal, not {error:?}"));
    refusal.problems.iter().map(|problem| problem.code).collect()
}

/// The facts of a refusal's first problem.
pub(crate) fn facts<T: Debug>(answer: Result<T, Error>) -> serde_json::Value {
    let error = answer.expect_err("a refusal");
    let refusal = error.refusal().unwrap_or_else(|| panic!("a refusal, not {error:?}"));
    serde_json::Value::Object(refusal.problems[0].facts.clone())
}

/// The names of the findings of a verdict, each once.
pub(crate) fn findings(verified: &Verified) -> Vec<String> {
    let all = verified.findings["findings"].as_array().expect("an array");
    let mut names: Vec<String> =
        all.iter().map(|f| f["finding"].as_str().expect("a name").to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

//! What there is to ask for: made by a service over the routes themselves, or by the doors.

use std::fs;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use chancery_server::router;
use chancery_store::Role;
use chancery_store::iu::NewUnit;
use chancery_testkit::{flows, repo_path, shipped};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use uuid::Uuid;

use super::world::World;

/// A service that makes what the others ask for; its moves need no signature.
const MAKER: &str = "m-maker";

impl World {
    /// The machines. What people may follows from them.
    pub(super) async fn machines(&self) {
        for machine in shipped().iter().filter(|machine| machine.machine != "job") {
            self.scene.db.definition(machine).await;
        }
        let example = repo_path("machines/examples/purchase_approval.yaml");
        self.scene.db.machine(&fs::read_to_string(example).expect("the example")).await;
    }

    /// One of each kind of thing.
    pub(crate) async fn furnish(&mut self) {
        let classes = ["pic_human", "task_pic_human", "executor_worker"];
        self.add(MAKER, "service", &classes).await;
        let may = self.permissions(&classes).await;
        let (_, token) = self.token(MAKER, &may).await;

        let run = json!({ "machine": "purchase_approval", "data": { "amount": 1 } });
        let run = self.make(&token, "POST", "/v1/runs", &run).await;
        self.told("run", &run["run_id"]);
        let document = json!({ "document_id": "luat", "prefix": "LUAT", "text": "# Một\n\nđầu\n" });
        self.make(&token, "POST", "/v1/documents", &document).await;
        let document = json!({ "path": "notes/one", "body": "một" });
        self.make(&token, "PUT", "/v1/kb/document", &document).await;
        let entry =
            self.make(&token, "POST", "/v1/entries", &json!({ "document_id": "luat" })).await;
        self.told("entry", &entry["entry_id"]);
        self.unit().await;

        let kinds =
            ["works", "fails"].map(|key| json!({ "class": "noop", "kind": "trial", "key": key }));
        self.make(&token, "POST", "/v1/queue/jobs", &json!({ "jobs": kinds })).await;
        let claimed =
            self.make(&token, "POST", "/v1/queue/noop/claim", &json!({ "worker": "m0" })).await;
        let (job, lease) = (&claimed["jobs"][0]["job_id"], &claimed["jobs"][0]["lease_no"]);
        let failed = json!({ "job_id": job, "lease_no": lease, "outcome": "failed_for_good", "detail": { "reason": "x" } });
        self.make(&token, "POST", "/v1/queue/ack", &json!({ "worker": "m0", "results": [failed] }))
            .await;

        flows::live(&self.scene.db).await;
        for (word, prefix, query) in [
            ("approval", "apr", "select approval_id::text from approval.approval_request"),
            ("wfr", "wfr", "select workflow_run_id::text from workflow.workflow_run"),
            (
                "step",
                "stp",
                "select step_run_id::text from workflow.step_run where step_key = 'second'",
            ),
            (
                "hidden step",
                "stp",
                "select step_run_id::text from workflow.step_run where step_key = 'first'",
            ),
            ("task", "tsk", "select task_run_id::text from workflow.task_run"),
            ("wait", "wai", "select wait_id::text from workflow.wait"),
            (
                "change",
                "chg",
                "select change_request_id::text from workflow.workflow_change_requests",
            ),
            ("permit", "prm", "select permit_id::text from birth.birth_admission_permit"),
            ("job", "job", "select job_id::text from queue.job_queue"),
            ("dead", "job", "select job_id::text from queue.job_dead_letter"),
            ("proposal", "prp", "select proposal_id::text from governance.proposal"),
        ] {
            self.name(word, prefix, &format!("{query} limit 1")).await;
        }
    }

    fn told(&mut self, word: &'static str, id: &Value) {
        self.there.insert(word, id.as_str().expect("an id").to_owned());
    }

    async fn make(&self, token: &str, method: &str, path: &str, body: &Value) -> Value {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .header("idempotency-key", Uuid::now_v7().to_string())
            .body(Body::from(body.to_string()))
            .expect("a request");
        let response = router(self.scene.host.clone()).oneshot(request).await.expect("an answer");
        let status = response.status();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
        let text = String::from_utf8_lossy(&bytes);
        assert!(status.is_success(), "{method} {path}: {status} {text}");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    async fn unit(&mut self) {
        self.scene.db.service("m-executor", &["executor_dot991"]).await;
        let unit = NewUnit {
            canonical_address: "LUAT/u1".to_owned(),
            title: "Điều 1".to_owned(),
            body: "nội dung".to_owned(),
            actor: "m-executor".to_owned(),
            unit_kind: Some("law_unit".to_owned()),
            section_type: Some("article".to_owned()),
            owner_ref: Some(MAKER.to_owned()),
            publication_type: Some("law".to_owned()),
            ..NewUnit::default()
        };
        let made = self.scene.db.store(Role::CutterExec).fn_iu_create(&unit).await.expect("a unit");
        let id = made["unit_id"].as_str().expect("an id").replace('-', "");
        self.there.insert("unit", format!("unt_{id}"));
    }
}

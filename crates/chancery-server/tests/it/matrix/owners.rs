//! SEC-2, own and other: for every route, whose the thing is. What is one principal's is refused to another of the same classes, with the
//! answer that the row names and without a trace; its owner is then answered.

use std::collections::BTreeSet;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use chancery_api::routes;
use chancery_server::router;
use chancery_testkit::flows::Flow;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use uuid::Uuid;

use super::world::{Shows, World};
use crate::scene::Scene;

/// Whose the thing behind a route is.
#[derive(Debug, PartialEq, Eq)]
enum Owner {
    /// Nobody's own: whoever has the permission is answered alike, or the rule is about classes and signatures.
    Nobody,
    /// The asker's: the route knows no other.
    Asker,
    /// One principal's.
    One,
}

/// The answer for each route; one that is not named here fails the test.
fn whose(route: &str) -> Option<Owner> {
    Some(match route {
        "sign_out" | "me" | "set_password" | "tokens" | "new_token" | "key_requests" | "new_key_request" | "inbox" => Owner::Asker,
        "revoke_token" | "report_jobs" | "extend_leases" | "release_leases" | "worker_heartbeat" | "turn_jobs" | "begin_work" | "report_work" | "issue_callback"
        | "revise_change" | "submit_change" | "withdraw_change" | "submit_proposal" | "withdraw_proposal" | "answer_wait" | "show_step"
        | "show_task" | "problem" | "problem_list" | "problems" | "timeline" => Owner::One,
        // Open to everybody, or the token in the path is the right.
        "sign_in" | "sign_in_elsewhere" | "signed_in_elsewhere" | "openapi" | "docs" | "docs_style" | "call_back"
        // What all see who may read it; hidden steps are left out of them (`routes_b_work`, `problems`, `feed`).
        | "machines" | "machine" | "machine_diagram" | "runs" | "run" | "run_history" | "preview_move" | "principals" | "principal"
        | "documents" | "document" | "document_units" | "document_source" | "unit" | "kb" | "kb_document" | "verify_kb" | "approvals" | "approval"
        | "entries" | "entry" | "orchestrator_runs" | "orchestrator_run" | "list_workflows" | "show_workflow" | "workflow_graph" | "list_changes"
        | "show_change" | "change_diff" | "change_graph" | "list_proposals" | "show_proposal" | "list_workflow_runs" | "show_workflow_run"
        | "workflow_run_snapshot" | "workflow_run_graph" | "workflow_run_rollup" | "workflow_run_downstream" | "search" | "words" | "state_tokens"
        | "events" | "headline" | "show_queue" | "show_job" | "list_dead_letters" | "show_dead_letter" | "show_replay" | "list_workers" | "show_lag" | "metrics"
        | "list_families" | "list_permits" | "show_permit" | "summary_list" | "summary"
        // New things, which are of who makes them.
        | "start_run" | "add_document" | "put_kb_document" | "sign_kb_document" | "request_approval" | "mark" | "propose_change" | "propose"
        | "start_workflow_run" | "enqueue_jobs" | "claim_jobs" | "propose_replay" | "request_permits" | "summary_put"
        // A class and a signature decide, and for some that it is NOT one's own: votes, permits, moves of steps that a class may make.
        | "move_run" | "vote" | "abandon_entry" | "stop_orchestrator_run" | "approve_orchestrator_run" | "merge_change" | "carry_out_proposal"
        | "pause_workflow_run" | "resume_workflow_run" | "cancel_workflow_run" | "move_step" | "extend_step" | "escalate_step_block"
        | "comment_step" | "checkpoint_step" | "move_task" | "extend_task" | "escalate_task_block" | "comment_task" | "checkpoint_task"
        | "dismiss_dead_letter" | "freeze_workers" | "thaw_workers" | "run_replay" | "revoke_permit" | "issue_acknowledge" | "issue_resolve" => Owner::Nobody,
        _ => return None,
    })
}

const CLASSES: [&str; 3] = ["pic_human", "task_pic_human", "executor_worker"];

/// Two of the same classes. Services, so that no signature stands between them and the door.
struct Pair {
    world: World,
    own: Shows,
    other: Shows,
    asked: BTreeSet<&'static str>,
}

#[derive(Debug)]
struct Said {
    status: u16,
    body: Value,
}

impl Said {
    fn code(&self) -> &str {
        self.body["code"].as_str().or_else(|| self.body["problem"].as_str()).unwrap_or_default()
    }
}

impl Pair {
    async fn new() -> Self {
        let world = World::new(Scene::new().await).await;
        let may = world.permissions(&CLASSES).await;
        let mut shows = Vec::new();
        for name in ["m-own", "m-other"] {
            world.add(name, "service", &CLASSES).await;
            shows.push(Shows::Token(world.token(name, &may).await.1));
        }
        let (other, own) = (shows.pop().expect("two"), shows.pop().expect("two"));
        Self { world, own, other, asked: BTreeSet::new() }
    }

    async fn send(&self, shows: &Shows, method: &str, path: &str, body: &Value) -> Said {
        let request = shows
            .on(Request::builder().method(method).uri(path))
            .header("content-type", "application/json")
            .header("idempotency-key", Uuid::now_v7().to_string())
            .body(if method == "GET" { Body::empty() } else { Body::from(body.to_string()) })
            .expect("a request");
        let answer =
            router(self.world.scene.host.clone()).oneshot(request).await.expect("an answer");
        let status = answer.status().as_u16();
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.expect("a body");
        Said { status, body: serde_json::from_slice(&bytes).unwrap_or_default() }
    }

    /// Something of the owner's.
    async fn make(&self, path: &str, body: &Value) -> Value {
        let said = self.send(&self.own, "POST", path, body).await;
        assert!(matches!(said.status, 200 | 201), "{path}: {said:?}");
        said.body
    }

    /// The other is refused so, nothing changes, and the owner is answered so.
    async fn case(
        &mut self,
        route: &'static str,
        path: &str,
        body: Value,
        refused: (u16, &str),
        accepted: (u16, &str),
    ) -> Value {
        let known = routes();
        let found = known.iter().find(|known| known.id == route).expect("a route");
        let before = self.world.fingerprint().await;
        let no = self.send(&self.other, found.method.as_str(), path, &body).await;
        assert_eq!((no.status, no.code()), refused, "{route} by the other: {no:?}");
        assert_eq!(self.world.fingerprint().await, before, "{route}: a refusal changed something");
        let yes = self.send(&self.own, found.method.as_str(), path, &body).await;
        assert_eq!((yes.status, yes.code()), accepted, "{route} by its owner: {yes:?}");
        self.asked.insert(route);
        yes.body
    }

    /// Routes over several leases answer for each by itself: the other's count for nothing.
    async fn lease_case(&mut self, route: &'static str, path: &str, body: &Value, count: &str) {
        let taken = |said: &Said| match said
            .body
            .pointer(count)
            .unwrap_or_else(|| panic!("{route}: {said:?}"))
        {
            Value::Array(taken) => taken.len() as u64,
            Value::Bool(taken) => u64::from(*taken),
            taken => taken.as_u64().unwrap_or_else(|| panic!("{route}: {said:?}")),
        };
        // A turn may renew the hint where a lane begins, which is nobody's.
        let jobs = "select string_agg(q::text, ' ' order by job_no) from queue.job_queue q";
        let before = self.world.scene.db.text(jobs).await;
        let no = self.send(&self.other, "POST", path, body).await;
        assert_eq!((no.status, taken(&no)), (200, 0), "{route} by the other: {no:?}");
        assert_eq!(self.world.scene.db.text(jobs).await, before, "{route}: it changed something");
        let yes = self.send(&self.own, "POST", path, body).await;
        assert_eq!((yes.status, taken(&yes)), (200, 1), "{route} by its owner: {yes:?}");
        self.asked.insert(route);
    }

    async fn job(&self, key: &str) -> Value {
        let jobs = json!({ "jobs": [{ "class": "noop", "kind": "trial", "key": key }] });
        self.make("/v1/queue/jobs", &jobs).await;
        self.claim().await
    }

    async fn claim(&self) -> Value {
        let claimed = self.make("/v1/queue/noop/claim", &json!({ "worker": "w1" })).await;
        let job = &claimed["jobs"][0];
        json!({ "job_id": job["job_id"], "lease_no": job["lease_no"] })
    }

    /// The name of a worker is no secret: another principal says the same one.
    async fn leases(&mut self) {
        let lease = self.job("extended").await;
        let leases = json!({ "worker": "w1", "leases": [lease] });
        self.lease_case("extend_leases", "/v1/queue/extend", &leases, "/kept").await;
        self.lease_case("release_leases", "/v1/queue/release", &leases, "/released").await;
        // A heartbeat is its principal's: the same name of another one is another worker.
        let leaving = json!({ "worker": "w1", "leaving": true });
        self.make("/v1/queue/noop/heartbeat", &json!({ "worker": "w1" })).await;
        self.lease_case("worker_heartbeat", "/v1/queue/noop/heartbeat", &leaving, "/removed").await;
        let result = |mut lease: Value| {
            lease["outcome"] = json!("succeeded");
            json!({ "worker": "w1", "class": "noop", "limit": 1, "results": [lease] })
        };
        let turn = result(self.claim().await);
        self.lease_case("turn_jobs", "/v1/queue/turn", &turn, "/report/accepted").await;
        let mut report = result(self.job("reported").await);
        for member in ["class", "limit"] {
            report.as_object_mut().expect("an object").remove(member);
        }
        self.case("report_jobs", "/v1/queue/ack", report, (409, "RE010"), (200, "")).await;
    }

    async fn work(&mut self, flow: &Flow) {
        flow.one_step("over_http", &json!({ "executor": "noop" })).await;
        let mut lease = self.claim().await;
        lease["worker"] = json!("w1");
        let lost = (409, "RE010");
        self.case("begin_work", "/v1/work/begin", lease.clone(), lost, (200, "")).await;
        self.case("issue_callback", "/v1/work/callback", lease.clone(), lost, (201, "")).await;
        let mut report = lease;
        report["call"] = json!("step_complete");
        report["document"] = json!({});
        self.case("report_work", "/v1/work/report", report, lost, (200, "")).await;
    }

    async fn proposals(&mut self) {
        let title = json!({ "en": "Other", "vi": "Khác" });
        let step = json!({ "key": "first", "title": title, "pic": { "starter": true } });
        let mut text = json!({ "definition": { "workflow": "other", "title": title, "steps": [step], "relations": [] } });
        let change = self.make("/v1/changes", &text).await;
        let path = format!("/v1/changes/{}", World::text(&change, "change_id"));
        text["definition"]["title"]["en"] = json!("Another");
        self.case("revise_change", &path, text, (422, "RW005"), (200, "")).await;
        let not_theirs = (422, "RS006");
        self.handed_in("submit_change", "withdraw_change", &path, not_theirs).await;
        let proposal = json!({ "kind": "no_action", "proposer_class": "kg_feedback", "title": "Leave it", "action": { "why": "enough" }, "usage": [{ "kind": "read", "facts": { "times": 3 } }] });
        let proposal = self.make("/v1/proposals", &proposal).await;
        let path = format!("/v1/proposals/{}", World::text(&proposal, "proposal_id"));
        self.handed_in("submit_proposal", "withdraw_proposal", &path, not_theirs).await;
    }

    /// Handing in also asks for an approval, which even a service signs: its owner comes as far as that, with the proposal handed in.
    async fn handed_in(
        &mut self,
        submit: &'static str,
        withdraw: &'static str,
        path: &str,
        not_theirs: (u16, &str),
    ) {
        let to_sign = (422, "RI008");
        self.case(submit, &format!("{path}/submit"), json!({}), not_theirs, to_sign).await;
        self.case(withdraw, &format!("{path}/withdraw"), json!({}), not_theirs, (200, "")).await;
    }
}

impl Pair {
    /// A step that is for reviewers' eyes, and for those who work on it: the owner's, who waits for a word of their own; it is late.
    async fn hidden(&mut self, flow: &Flow) {
        let title = json!({ "en": "Secret", "vi": "Kín" });
        let task = json!({ "key": "part", "title": title, "pic": { "starter": true } });
        let step = json!({ "key": "kept", "title": title, "pic": { "starter": true }, "visible_to": ["reviewer"], "tasks": [task] });
        flow.adopt(
            &json!({ "workflow": "kept", "title": title, "steps": [step], "relations": [] }),
        )
        .await;
        let run = self.make("/v1/workflows/kept/runs", &json!({})).await;
        let run: Uuid =
            World::text(&run, "run_id").trim_start_matches("wfr_").parse().expect("an id");
        flow.turn(run).await;
        let id = |kind: &str| {
            format!(
                "select {kind}_run_id::text from workflow.{kind}_run where workflow_run_id = '{run}'"
            )
        };
        let step = self.world.scene.db.text(&id("step")).await;
        let path = format!("/v1/steps/stp_{}", step.replace('-', ""));
        let hidden = (404, "RW001");
        self.case("show_step", &path, json!({}), hidden, (200, "")).await;
        self.make(&format!("{path}/moves"), &json!({ "call": "step_claim" })).await;
        let task = self.world.scene.db.text(&id("task")).await;
        let task = format!("/v1/tasks/tsk_{}", task.replace('-', ""));
        self.case("show_task", &task, json!({}), hidden, (200, "")).await;
        let wait = json!({ "facet": "waiting_human", "of": "m-own" });
        let wait = json!({ "call": "step_wait", "evidence": { "audit_ref": "A-1", "facets": ["waiting_human"], "waits": [wait] } });
        self.make(&format!("{path}/moves"), &wait).await;
        let late = format!(
            "update workflow.step_run set deadline = internal.now() - interval '1 hour' where step_run_id = '{step}'"
        );
        self.world.scene.db.forge(&[&late]).await;

        let (all, list) = ("/v1/problems", "/v1/problems/overdue_step");
        self.seen("problems", all, |body| {
            let categories = body["categories"].as_array().expect("categories");
            let late = categories.iter().find(|one| one["category"] == "overdue_step");
            late.and_then(|late| late["count"].as_u64()).expect("a count")
        })
        .await;
        self.seen("problem_list", list, |body| {
            let items = body["items"].as_array().expect("items").len();
            assert_eq!(items, body["groups"].as_array().expect("groups").len(), "{body}");
            items as u64
        })
        .await;
        self.case("problem", &format!("{list}/step:{step}"), json!({}), (404, "RE041"), (200, ""))
            .await;
        let timeline = format!("/v1/timeline?entity_kind=step&entity_id={step}");
        self.seen("timeline", &timeline, |body| {
            u64::from(!body["items"].as_array().unwrap_or_else(|| panic!("{body}")).is_empty())
        })
        .await;
        let wait = self
            .world
            .scene
            .db
            .text("select wait_id::text from workflow.wait where facet = 'waiting_human'")
            .await;
        let wait = format!("/v1/waits/wai_{}/answer", wait.replace('-', ""));
        self.case("answer_wait", &wait, json!({ "proof": { "n": 1 } }), hidden, (200, "")).await;
    }

    /// The owner is told of one, the other of none.
    async fn seen(&mut self, route: &'static str, path: &str, count: fn(&Value) -> u64) {
        for (shows, wanted) in [(&self.own, 1), (&self.other, 0)] {
            let said = self.send(shows, "GET", path, &Value::Null).await;
            assert_eq!((said.status, count(&said.body)), (200, wanted), "{route}: {said:?}");
        }
        self.asked.insert(route);
    }
}

#[tokio::test]
async fn what_is_ones_own_is_nobody_elses() {
    let unsaid: Vec<&str> =
        routes().iter().map(|route| route.id).filter(|id| whose(id).is_none()).collect();
    assert!(unsaid.is_empty(), "say in matrix/owners.rs whose the things of these are: {unsaid:?}");

    let mut pair = Pair::new().await;
    let flow = Flow::install(&pair.world.scene.db).await;
    let own: BTreeSet<String> = ["self.read".to_owned()].into();
    let (spare, _) = pair.world.token("m-own", &own).await;
    let revoke = format!("/v1/tokens/tok_{}/revoke", spare.simple());
    pair.case(
        "revoke_token",
        &revoke,
        json!({ "reason": "enough" }),
        (404, "not_found"),
        (200, ""),
    )
    .await;
    pair.leases().await;
    pair.work(&flow).await;
    pair.proposals().await;
    pair.hidden(&flow).await;

    let one: BTreeSet<&str> =
        routes().iter().map(|route| route.id).filter(|id| whose(id) == Some(Owner::One)).collect();
    assert_eq!(pair.asked, one, "routes to what is one principal's, and those asked by another");
}

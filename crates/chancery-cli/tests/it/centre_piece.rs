//! RUN-18 and the demo's centre piece: a workflow whose step cuts a real document, waits at both sovereign gates, and completes; and
//! a step that calls out over a real socket and is called back. All of it by the binary, its hosts and its workers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::orchestrate::scene::Scene;
use crate::place::run_it;
use crate::serve::{Host, until};

const EXAMPLE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workflows/cut_a_document.yaml");

/// A worker at work; killed with the value.
struct Worker(Child);

impl Worker {
    fn start(scene: &Scene, args: &[&str]) -> Self {
        let mut command = scene.place.command(&[&["worker"], args].concat());
        command.env("SHOP_TOKEN", "Bearer s3cret");
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self(child.expect("a worker"))
    }

    fn signal(&self, name: &str) {
        run_it(Command::new("kill").args([name, &self.0.id().to_string()])).ends_with(0);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A workflow by its whole way: proposed, handed in, approved by another one, merged.
fn adopted(scene: &Scene, file: &str) {
    let propose = scene.place.done(&["workflow", "propose", file, "--as", "alice"]);
    let change = propose.stdout.trim();
    scene.place.done(&["workflow", "submit", change, "--as", "alice"]);
    let vote = ["workflow", "approve", change, "--class", "sovereign", "--as", "sofia"];
    scene.place.done(&vote);
    scene.place.done(&["workflow", "merge", change, "--as", "alice"]);
}

fn started(scene: &Scene, name: &str, input: &Value) -> String {
    let input = input.to_string();
    let said = scene.place.done(&["workflow", "start", name, "--input", &input, "--as", "alice"]);
    said.stdout.trim().to_owned()
}

/// `state` of a step, and what it waits for.
fn step(scene: &Scene, run: &str, key: &str) -> String {
    scene.one(&format!(
        "select concat_ws(' ', state_code, facet, failure_class) from workflow.step_run where workflow_run_id = '{run}' and step_key = '{key}'"
    ))
}

fn output(scene: &Scene, run: &str, key: &str) -> Value {
    let text = scene.one(&format!(
        "select o.document from workflow.step_run s join workflow.step_run_snapshot o on o.snapshot_id = s.output_snapshot_id
          where s.workflow_run_id = '{run}' and s.step_key = '{key}'"
    ));
    serde_json::from_str(&text).unwrap_or_default()
}

fn is_over(scene: &Scene, run: &str) -> bool {
    scene.one(&format!(
        "select state_code from workflow.workflow_run where workflow_run_id = '{run}'"
    )) == "completed"
}

/// From the CLI alone: the step waits for the sovereign twice, survives a worker that is killed, and the run completes.
#[test]
fn a_step_cuts_a_document_and_waits_at_both_gates() {
    let scene = Scene::new();
    scene.document("policy", 3);
    adopted(&scene, EXAMPLE);
    let _host = Host::start(&scene.place);
    let run = started(&scene, "cut_a_document", &json!({ "document": "policy" }));
    let cutter = Worker::start(&scene, &["--class", "cutter", "--as", "executor"]);
    let _noop = Worker::start(&scene, &["--class", "noop"]);

    until("it waits at the first gate", || step(&scene, &run, "cut") == "waiting waiting_human");
    let cut = scene.one("select run_name from orchestrator.run");
    assert_eq!(scene.state(&cut), "awaiting_cut_authorization");
    assert_eq!(scene.one("select count(*) from iu.information_unit"), "0");
    let waits = scene.one("select subject_kind || ' ' || subject_ref from workflow.wait");
    assert_eq!(waits, format!("orchestrator_run {cut}"));

    // Nobody is there to go on with it for a while.
    drop(cutter);
    scene.approved(&cut);
    until("the answer is seen", || step(&scene, &run, "cut") == "in_progress");
    let _cutter = Worker::start(&scene, &["--class", "cutter", "--as", "executor"]);
    until("it waits at the second gate", || step(&scene, &run, "cut") == "waiting waiting_human");
    assert_eq!(scene.state(&cut), "awaiting_lifecycle_authorization");
    scene.approved(&cut);
    until("the run is over", || is_over(&scene, &run));

    assert_eq!(scene.state(&cut), "closeout_reported");
    let said = json!({ "run_id": cut, "document_id": "policy", "units": 3 });
    assert_eq!(output(&scene, &run, "cut"), said);
    assert_eq!(output(&scene, &run, "record"), json!({ "document": "policy", "units": 3 }));
    assert_eq!(scene.one("select count(*) from orchestrator.run"), "1", "it was one run");
    let moves = scene.one(&format!(
        "select string_agg(l.trigger_ref, ' ' order by l.seq) from fsm.transition_log l join workflow.step_run s on s.step_run_id = l.run_id
          where s.workflow_run_id = '{run}' and s.step_key = 'cut' and l.from_state is not null"
    ));
    assert_eq!(
        moves,
        "precondition_resolved step_claim step_wait facet_resolved step_wait facet_resolved step_complete"
    );

    // What the sovereign rejects is a failure that nobody tries again; so is a document that is not there.
    scene.document("refused", 2);
    let second = started(&scene, "cut_a_document", &json!({ "document": "refused" }));
    let third = started(&scene, "cut_a_document", &json!({ "document": "nothing" }));
    until("the second waits", || step(&scene, &second, "cut") == "waiting waiting_human");
    let cut = scene.one("select run_name from orchestrator.run where document_id = 'refused'");
    let asked = scene.one(&format!(
        "select approval_id from approval.approval_request where subject_ref = '{cut}'"
    ));
    let vote = ["approval", "vote", &asked, "--reject", "--class", "sovereign", "--as", "sofia"];
    scene.place.done(&vote);
    until("it is failed", || step(&scene, &second, "cut") == "failed rejected");
    until("so is the other", || step(&scene, &third, "cut") == "failed bad_request");
    scene.audit_is_clean();
}

/// A step that calls a server on this machine, which answers later at the URL it was given. A worker that is stopped in the middle of
/// its call and comes back late is refused; the step is done once.
#[test]
fn a_step_calls_out_and_is_called_back() {
    let scene = Scene::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/orders", listener.local_addr().expect("an address"));
    let definition = json!({
        "workflow": "order", "title": { "en": "Order", "vi": "Đặt hàng" },
        "steps": [{ "key": "call", "title": { "en": "Call", "vi": "Gọi" }, "executor": "http", "with": {
            "url": url, "body": { "item": "$.inputs.item" }, "headers": { "authorization": { "env": "SHOP_TOKEN" } }, "callback": true } }],
    });
    adopted(&scene, &scene.place.file("order.json", &definition.to_string()));
    // So that a lease that is not kept is over soon.
    let short = ["--policy", "standard", "--lease", "2s", "--description", "Calls"];
    scene.place.done(&[&["queue", "class", "put", "http"][..], &short].concat());
    let host = Host::start(&scene.place);
    let run = started(&scene, "order", &json!({ "item": "paper" }));
    let args = ["--class", "http", "--allow-url", &url, "--allow-env", "SHOP_TOKEN"];

    let stopped = Worker::start(&scene, &[&args[..], &["--name", "stopped"]].concat());
    let (mut first, request) = accepted(&listener);
    stopped.signal("-STOP");
    assert!(request.contains("authorization: Bearer s3cret\r\n"), "{request}");
    assert!(request.ends_with(r#"{"item":"paper"}"#), "{request}");
    until("its lease is over", || {
        scene.one("select state from queue.job_queue where executor_class = 'http'")
            == "retry_waiting"
    });
    let _second = Worker::start(&scene, &[&args[..], &["--name", "second"]].concat());
    let (mut second, again) = accepted(&listener);
    let key = |request: &str| header(request, "idempotency-key");
    assert_eq!(key(&request), key(&again), "the same work has the same key");
    let call_back = header(&again, "callback-url");
    assert_eq!(call_back, header(&request, "callback-url"), "and the same call-back");
    assert!(call_back.starts_with(&format!("{}/v1/callbacks/", host.url)), "{call_back}");
    answer(&mut second, 202);
    until("it waits", || step(&scene, &run, "call") == "waiting waiting_external");

    // The first one comes back and has an answer too, which is nobody's any more.
    answer(&mut first, 200);
    stopped.signal("-CONT");
    stopped.signal("-TERM");
    let mut stopped = stopped;
    assert!(stopped.0.wait().expect("it ends").success());
    assert_eq!(step(&scene, &run, "call"), "waiting waiting_external");

    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let post = |body: &str| {
        let request = agent.post(&call_back).header("content-type", "application/json");
        let answer = request.send(body).expect("an answer");
        let status = answer.status().as_u16();
        let text = answer.into_body().read_to_string().expect("text");
        (status, serde_json::from_str::<Value>(&text).expect("JSON"))
    };
    assert_eq!(post(r#"{"order": 17}"#), (200, json!({ "taken": true })));
    let (status, refused) = post(r#"{"order": 18}"#);
    assert!(
        status == 409 && (refused["code"] == "RW013" || refused["code"] == "RW014"),
        "{refused}"
    );
    until("the run is over", || is_over(&scene, &run));
    assert_eq!(output(&scene, &run, "call"), json!({ "order": 17 }));
    let (status, refused) = post(r#"{"order": 19}"#);
    assert_eq!((status, &refused["code"]), (409, &json!("RW014")), "{refused}");
    let words = host.ends_well();
    let token = call_back.rsplit('/').next().expect("a token");
    assert!(!words.contains(token), "the token is told to nobody");
    assert_eq!(
        scene.one(&format!("select count(*) from workflow.wait w where w::text like '%{token}%'")),
        "0"
    );
    scene.audit_is_clean();
}

fn accepted(listener: &TcpListener) -> (std::net::TcpStream, String) {
    let (stream, _) = listener.accept().expect("a call");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time limit");
    let mut reader = BufReader::new(&stream);
    let mut request = String::new();
    while !request.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut request).expect("a line"), 0, "it ended: {request}");
    }
    let mut body = vec![0; header(&request, "content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).expect("the body");
    request.push_str(&String::from_utf8(body).expect("text"));
    (stream, request)
}

fn header(request: &str, name: &str) -> String {
    let mut lines = request.lines().filter_map(|line| line.split_once(": "));
    lines
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map_or(String::new(), |(_, value)| value.to_owned())
}

fn answer(stream: &mut std::net::TcpStream, status: u16) {
    let text =
        format!("HTTP/1.1 {status} so\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}");
    // Who was stopped may have given up.
    let _ = stream.write_all(text.as_bytes());
}

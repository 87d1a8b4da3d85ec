//! `chancery mcp`: the real binary over pipes, against a real database, as a client of the protocol drives it. SEC-1, SEC-2, APR-1, RUN-14.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use chancery_testkit::until_found;
use serde_json::{Value, json};

use crate::place::{Place, run_it};

/// A server at work, and how to ask it; killed with the value.
struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    asked: u64,
}

impl Agent {
    fn start(place: &Place, args: &[&str]) -> Self {
        let mut agent = Self::unintroduced(place, args);
        let client = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "0" },
        });
        let met = agent.ask("initialize", client);
        assert_eq!(met["result"]["protocolVersion"], "2025-06-18", "{met}");
        assert_eq!(met["result"]["serverInfo"]["name"], "chancery");
        agent.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        agent
    }

    fn unintroduced(place: &Place, args: &[&str]) -> Self {
        let mut command = place.command(&[&["mcp"], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("its stdout"));
        Self { child, stdin, stdout, asked: 0 }
    }

    fn line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("its stdin");
        stdin.write_all(format!("{line}\n").as_bytes()).expect("it reads");
    }

    fn heard(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("no message ({error}): {line}"))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let mut message = json!({ "jsonrpc": "2.0", "id": self.asked, "method": method });
        message["params"] = params;
        self.line(&message.to_string());
        let answer = self.heard();
        assert_eq!(answer["id"], self.asked, "{answer}");
        answer
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut params = json!({ "name": tool });
        params["arguments"] = arguments;
        let answer = self.ask("tools/call", params);
        let result = answer["result"].clone();
        let text = result["content"][0]["text"].as_str().expect("a text");
        let text: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(text, result["structuredContent"], "told twice, the same");
        result
    }

    #[track_caller]
    fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// A call that a rule refuses with this code; its hint says what would help.
    #[track_caller]
    fn refused(&mut self, code: &str, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        let refused = result["structuredContent"]["refused"].clone();
        assert_eq!(
            (&result["isError"], &refused["code"]),
            (&json!(true), &json!(code)),
            "{result}"
        );
        assert!(refused["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{refused}");
        assert!(refused["problems"][0]["code"].is_string(), "{refused}");
        refused
    }

    /// A call that makes no sense as it stands; the words of why.
    #[track_caller]
    fn senseless(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        let why = &result["structuredContent"]["failed"]["message"];
        why.as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
    }

    /// As if the machine had gone: nothing is said, nothing is put in order.
    fn killed(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have been killed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

struct Host {
    child: Child,
    url: String,
}

impl Host {
    fn start(place: &Place) -> Self {
        let mut command = place.command(&["serve", "--listen", ":0", "--json"]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a host");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("its stdout");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let said: Value = serde_json::from_str(&line).expect("JSON");
        Self { child, url: said["url"].as_str().expect("a URL").to_owned() }
    }

    /// The code of the refusal of a vote over HTTP.
    fn vote(&self, token: &str, approval: &str, class: &str) -> Value {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let path = format!("{}/v1/approvals/{approval}/votes", self.url);
        let request = agent
            .post(path)
            .header("authorization", format!("Bearer {token}"))
            .header("idempotency-key", format!("vote-{class}"))
            .header("content-type", "application/json");
        let vote = json!({ "decision": "approve", "actor_class": class });
        let mut answer = request.send(vote.to_string()).expect("an answer");
        let text = answer.body_mut().read_to_string().expect("a body");
        let body: Value = serde_json::from_str(&text).expect("JSON");
        assert!(answer.status().as_u16() >= 400, "{body}");
        body["code"].clone()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Asks until the answer is there. The host brings it about.
#[track_caller]
fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    until_found(what, Duration::from_secs(60), look).0
}

/// What decisions and those who make them left behind; the host's loops keep books of their own meanwhile. One of those is a run's colour:
/// that a run or a step moved is in the log.
fn decided(place: &Place) -> Vec<String> {
    let rooms = [
        "approval.",
        "identity.",
        "fsm.transition_log",
        "governance.proposal",
        "workflow.workflow_",
        "workflow.step_run_",
        "workflow.wait",
    ];
    let all = place.fingerprint();
    let lines = all.lines().filter(|line| rooms.iter().any(|room| line.starts_with(room)));
    let lines = lines.filter(|line| !line.starts_with("workflow.workflow_run|"));
    lines.map(str::to_owned).collect()
}

fn principal(place: &Place, name: &str, kind: &str, classes: &[&str]) {
    let mut args = vec!["principal", "add", name, "--kind", kind];
    args.extend(classes.iter().flat_map(|class| ["--class", class]));
    place.done(&args);
}

fn letter() -> Value {
    let text = json!({
        "type": "object", "required": ["text"], "properties": { "text": { "type": "string", "minLength": 3 } }, "additionalProperties": false,
    });
    json!({
        "workflow": "letter", "title": { "en": "A letter", "vi": "Một lá thư" },
        "steps": [
            { "key": "write", "title": { "en": "Write it", "vi": "Viết" }, "executor": "drafting", "output": text },
            { "key": "proofread", "title": { "en": "Read it again", "vi": "Đọc lại" }, "executor": "quick", "retry": "brisk" },
            { "key": "sign", "title": { "en": "Sign it", "vi": "Ký" }, "pic": { "class": "pic_human" } },
            { "key": "secret", "title": { "en": "Between us", "vi": "Riêng" }, "pic": { "class": "sovereign" }, "visible_to": ["sovereign"] },
        ],
        "relations": [{ "from": "write", "to": "proofread" }, { "from": "proofread", "to": "sign" }, { "from": "sign", "to": "secret" }],
    })
}

/// SEC-1, SEC-2, APR-1, RUN-14: an agent proposes, asks, claims, waits, fails, completes, all signed with its own key; a killed server
/// loses nothing; and no door lets an agent decide.
#[test]
fn an_agent_works_under_its_own_name_and_decides_nothing() {
    let place = Place::with_database();
    principal(&place, "alice", "human", &["pic_human"]);
    principal(&place, "carol", "human", &["sovereign"]);
    principal(&place, "scribe", "agent", &["executor_worker"]);
    principal(&place, "judge", "agent", &["reviewer", "sovereign", "pic_human"]);
    for name in ["alice", "carol", "judge"] {
        place.done(&["key", "new", name]);
    }
    let brisk =
        ["--tries", "3", "--first", "100ms", "--longest", "1s", "--description", "Quick tries"];
    place.done(&[&["queue", "policy", "put", "brisk"], &brisk[..]].concat());
    place.done(&["queue", "class", "put", "drafting", "--lease", "5m", "--description", "Drafts"]);
    let quick = ["--policy", "brisk", "--lease", "9s", "--description", "Reads"];
    place.done(&[&["queue", "class", "put", "quick"], &quick[..]].concat());
    let host = Host::start(&place);
    let serve = ["--class", "drafting", "--class", "quick", "--as", "scribe"];
    let mut scribe = Agent::start(&place, &serve);

    // Without a key nothing is done; a key is found as soon as it is there.
    let change = json!({ "definition": letter() });
    scribe.refused("RI008", "propose_workflow_change", change.clone());
    place.done(&["key", "new", "scribe"]);
    let draft = scribe.done("propose_workflow_change", change.clone());
    let id = draft["change_request_id"].as_str().expect("an id").to_owned();
    assert_eq!((&draft["state"], &draft["proposer"]), (&json!("draft"), &json!("scribe")));
    let again = scribe.done("propose_workflow_change", change);
    assert_eq!(
        again["change_request_id"], draft["change_request_id"],
        "said again, it is the same"
    );
    let ask = json!({ "kind": "workflow_change", "subject": id });
    let asked = scribe.done("ask_for_approval", ask.clone());
    assert_eq!(asked["state"], "review");
    let approval = asked["approval"]["approval_id"].as_str().expect("an id").to_owned();
    assert_eq!(scribe.done("ask_for_approval", ask)["approval"]["approval_id"], json!(approval));

    // No agent decides: not the one that asked, nor another, in whichever class, through whichever command.
    principal(&place, "asker", "human", &["pic_human"]);
    place.done(&["key", "new", "asker"]);
    let of_a_person = place.done(&[
        "approval",
        "request",
        "--kind",
        "dlq_replay",
        "--subject",
        "x",
        "--title",
        "low",
        "--as",
        "asker",
    ]);
    let of_a_person = of_a_person.stdout.trim().to_owned();
    let token = ["token", "new", "judge", "--label", "t", "--scope", "approval.vote"];
    let token = place.json(&token)["secret"].as_str().expect("a token").to_owned();
    let before = decided(&place);
    for request in [&approval, &of_a_person] {
        for (agent, class) in
            [("scribe", "executor_worker"), ("judge", "reviewer"), ("judge", "sovereign")]
        {
            let vote = ["approval", "vote", request, "--approve", "--class", class, "--as", agent];
            place.refused("RA010", &vote);
        }
    }
    for class in ["reviewer", "sovereign"] {
        assert_eq!(host.vote(&token, &approval, class), "RA010", "over HTTP");
    }
    let beyond = ["token", "new", "scribe", "--label", "t", "--scope", "approval.vote"];
    place.run(&beyond).ends_with(3);
    place.refused("RA010", &["workflow", "approve", &id, "--as", "scribe"]);
    place.refused("RA010", &["workflow", "approve", &id, "--class", "reviewer", "--as", "judge"]);
    place.run(&["workflow", "merge", &id, "--as", "judge"]).ends_with(3);
    assert_eq!(decided(&place), before, "nothing changed");
    let unknown =
        scribe.ask("tools/call", json!({ "name": "vote", "arguments": { "id": approval } }));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");

    // People decide, and a person starts a run.
    place.done(&["workflow", "approve", &id, "--as", "carol"]);
    place.done(&["workflow", "merge", &id, "--as", "alice"]);
    let run =
        place.done(&["workflow", "start", "letter", "--as", "alice"]).stdout.trim().to_owned();
    let could_claim = until("the step can be claimed", || {
        let now = scribe.done("what_can_i_do", json!({}));
        now["could_claim"].as_array().filter(|found| !found.is_empty()).cloned()
    });
    assert_eq!(
        could_claim.len(),
        1,
        "what people do, and what one may not see, is not offered: {could_claim:?}"
    );
    assert_eq!(could_claim[0]["claim_with"], json!({ "class": "drafting" }));
    let actions = could_claim[0]["actions"].as_array().expect("actions").clone();
    let claim = actions.iter().find(|one| one["name"] == "step_claim").expect("a claim");
    assert_eq!(
        (&claim["allowed"], &claim["actor_class"]),
        (&json!(true), &json!("executor_worker"))
    );
    let write = could_claim[0]["id"].clone();

    // A claim is a lease and a signed move. Asked again it is the same; so it is after the server was killed.
    let class = json!({ "class": "drafting" });
    let first = scribe.done("claim", class.clone())["claimed"].clone();
    assert_eq!((&first["run_id"], &first["state"]), (&write, &json!("in_progress")));
    assert_eq!(first["output_contract"]["required"], json!(["text"]));
    assert_eq!(scribe.done("claim", class.clone())["claimed"], first, "again");
    scribe.killed();
    let mut scribe = Agent::start(&place, &serve);
    assert_eq!(scribe.done("what_can_i_do", json!({}))["holds"][0]["id"], write, "nothing is lost");
    assert_eq!(scribe.done("claim", class.clone())["claimed"], first, "by another process");

    // What breaks a rule is told with its code and changes nothing.
    let before = decided(&place);
    let wrong = json!({ "id": write, "output": { "text": "no" } });
    scribe.refused("RW008", "complete", wrong);
    scribe.refused("RW007", "wait", json!({ "id": write }));
    scribe.refused("RS006", "block", json!({ "id": write, "because": "no mood" }));
    scribe.refused(
        "RW024",
        "fail",
        json!({ "id": write, "detail": "x", "failure_class": "bad_luck" }),
    );
    assert_eq!(decided(&place), before, "nothing changed");

    // It waits for a person, who answers; then it is blocked, and a person unblocks it; then it is done, once.
    let waiting = scribe.done("wait", json!({ "id": write, "for_people": ["alice"] }));
    assert_eq!(waiting["to"], "waiting");
    assert_eq!(
        scribe.done("wait", json!({ "id": write, "for_people": ["alice"] }))["replayed"],
        true
    );
    place.done(&["step", "resume", &run, "write", "--reason", "to Mrs Lam", "--as", "alice"]);
    let taken = scribe.done("claim", class.clone())["claimed"].clone();
    assert_eq!(taken["waits"][0]["proof"]["said"], "to Mrs Lam", "{taken}");
    assert_eq!(
        scribe.done("block", json!({ "id": write, "because": "missing_input" }))["to"],
        "blocked"
    );
    place.done(&["step", "unblock", &run, "write", "--by", "the address", "--as", "alice"]);
    assert_eq!(scribe.done("claim", class)["claimed"]["run_id"], write);
    let long = "đ a ".repeat(2_500);
    scribe.done("comment", json!({ "id": write, "text": long }));
    let output = json!({ "id": write, "output": { "text": "Dear Mrs Lam" } });
    assert_eq!(scribe.done("complete", output.clone())["to"], "completed");
    let again = scribe.done("complete", output);
    assert_eq!((&again["replayed"], &again["to"]), (&json!(true), &json!("completed")));
    scribe.refused("RS012", "complete", json!({ "id": write, "output": { "text": "Another" } }));

    // A long text is cut, and read on without loss.
    let shown = scribe.done("show", json!({ "kind": "step", "id": write }));
    let place_of = shown["cut"]["places"][0].clone();
    assert_eq!(
        (&place_of["shown"], &place_of["of"]),
        (&json!(4_000), &json!(10_000)),
        "{place_of}"
    );
    let on = json!({ "kind": "step", "id": write, "part": place_of["part"], "from": 4_000 });
    let rest = scribe.done("show", on);
    let head = shown.pointer(place_of["part"].as_str().expect("a place")).and_then(Value::as_str);
    let both = format!("{}{}", head.expect("a text"), rest["value"].as_str().expect("a text"));
    assert_eq!((both.as_str(), &rest["next"]), (long.as_str(), &Value::Null));
    let moves = shown["history"].as_array().expect("moves").clone();
    let own: Vec<&Value> = moves.iter().filter(|one| one["principal"] == "scribe").collect();
    assert!(own.len() >= 4 && own.iter().all(|one| one["signed"] == true), "{own:?}");
    assert!(own.iter().all(|one| one["actor_class"] == "executor_worker"), "{own:?}");

    // Its lease is kept while it works. A try that failed is tried again, signed too.
    let quick = json!({ "class": "quick" });
    let claimed = |scribe: &mut Agent| {
        until("the next step is due", || {
            let claimed = scribe.done("claim", quick.clone())["claimed"].clone();
            claimed.is_object().then_some(claimed)
        })
    };
    let proofread = claimed(&mut scribe);
    let job = proofread["job_id"].as_str().expect("an id").to_owned();
    let lease = |place: &Place| place.json(&["queue", "show", &job])["lease_until"].clone();
    let given = lease(&place);
    until("the lease is kept", || (lease(&place) != given).then_some(()));
    let failed = json!({ "id": proofread["run_id"], "detail": "my glasses" });
    assert_eq!(scribe.done("fail", failed.clone())["to"], "failed");
    assert_eq!(scribe.done("fail", failed)["replayed"], true);
    let second = claimed(&mut scribe);
    assert_eq!((&second["run_id"], &second["attempt"]), (&proofread["run_id"], &json!(2)));
    scribe.done("complete", json!({ "id": second["run_id"] }));

    // What people do is not an executor's, and what one may not see is not there.
    let sign = place.json(&["step", "show", &run, "sign"])["run_id"].clone();
    let secret = place.json(&["step", "show", &run, "secret"])["run_id"].clone();
    until("it is the turn of people", || {
        (place.json(&["step", "show", &run, "sign"])["state_code"] == "ready").then_some(())
    });
    scribe.refused("RW020", "claim", json!({ "id": sign }));
    scribe.refused("RW001", "show", json!({ "kind": "step", "id": secret }));
    let seen = scribe.done("show", json!({ "kind": "workflow_run", "id": run }));
    let keys: Vec<&str> = seen["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .filter_map(|step| step["path"].as_str())
        .collect();
    assert_eq!(keys.len(), 3, "{keys:?}");
    assert!(!seen.to_string().contains("secret"), "{seen}");
    let of_run =
        scribe.ask("resources/read", json!({ "uri": format!("chancery://workflow-run/{run}") }));
    let text = of_run["result"]["contents"][0]["text"].as_str().expect("a text");
    assert!(text.contains("proofread") && !text.contains("secret"), "{text}");
    let hidden = scribe.ask(
        "resources/read",
        json!({ "uri": format!("chancery://step/{}", secret.as_str().expect("an id")) }),
    );
    assert_eq!(hidden["error"]["code"], -32002, "{hidden}");

    // It proposes other things, and asks for approvals that it sees but does not give.
    let split = json!({
        "kind": "iu_split", "title": "Two duties in one unit", "action": { "into": 2 },
        "evidence": [{ "kind": "search_miss", "facts": { "times": 40 } }],
    });
    let proposal = scribe.done("propose", split.clone());
    assert_eq!(scribe.done("propose", split)["proposal_id"], proposal["proposal_id"], "the same");
    let cancel = json!({ "kind": "step_cancel", "subject": sign, "title": "Not needed any more" });
    let asked = scribe.done("ask_for_approval", cancel.clone());
    assert_eq!(
        scribe.done("ask_for_approval", cancel)["approval_id"],
        asked["approval_id"],
        "the same"
    );
    let shown = scribe.done("show", json!({ "kind": "approval", "id": asked["approval_id"] }));
    assert_eq!(shown["state"], "pending");
    scribe.refused("RI040", "show", json!({ "kind": "approval", "id": of_a_person }));
    scribe.refused("RI040", "problems", json!({}));
    let now = scribe.done("what_can_i_do", json!({}));
    assert_eq!(now["approvals_asked_for"].as_array().map(Vec::len), Some(2), "{now}");
    assert_eq!(now["proposals"][0]["proposal_id"], proposal["proposal_id"]);
    let actions = now["proposals"][0]["actions"].as_array().expect("actions");
    assert!(actions.iter().any(|one| one["name"] == "submit"), "{actions:?}");

    // Every signature is good for what stands in the log.
    place.done(&["audit", "verify"]);
}

/// SEC-2: what is no message, no tool or no argument is told so by what it is, and nothing changes.
#[test]
fn what_makes_no_sense_is_told_so_and_changes_nothing() {
    let place = Place::with_database();
    principal(&place, "alice", "human", &["pic_human"]);
    principal(&place, "scribe", "agent", &["executor_worker"]);
    for name in ["alice", "scribe"] {
        place.done(&["key", "new", name]);
    }
    // The key of a person would say that the person did it.
    let said = place.run(&["mcp", "--as", "alice"]).ends_with(2);
    assert!(said.stderr.contains("principal of its own"), "{said:?}");
    place.run(&["mcp"]).ends_with(2);
    place.run(&["mcp", "--class", "nothing", "--as", "scribe"]).ends_with(2);
    let nobody = run_it(&mut place.command(&["mcp", "--as", "nobody"])).ends_with(3);
    assert!(nobody.stderr.starts_with("refused RI001 "), "{nobody:?}");

    let before = decided(&place);
    let mut scribe = Agent::unintroduced(&place, &["--as", "scribe"]);
    let too_early = scribe.ask("tools/list", json!({}));
    assert_eq!(too_early["error"]["code"], -32600, "{too_early}");
    assert_eq!(scribe.ask("ping", json!({}))["result"], json!({}));
    assert_eq!(scribe.ask("initialize", json!({}))["error"]["code"], -32602);
    // A client of another version is told which one is spoken here.
    let met = scribe.ask("initialize", json!({ "protocolVersion": "1999-01-01" }));
    assert_eq!(met["result"]["protocolVersion"], "2025-06-18");
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let long = "x".repeat(4 * 1024 * 1024 + 1);
    let wrong = [
        ("{", -32700),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (r#"{"id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#, -32602),
        (deep.as_str(), -32700),
        (long.as_str(), -32600),
    ];
    for (line, code) in wrong {
        scribe.line(line);
        let answer = scribe.heard();
        assert_eq!(answer["error"]["code"], code, "{}: {answer}", &line[..line.len().min(60)]);
    }
    let tools = scribe.ask("tools/list", json!({}))["result"]["tools"].clone();
    for tool in tools.as_array().expect("tools") {
        let name = tool["name"].as_str().expect("a name");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        let why = scribe.senseless(name, json!({ "surprise": 1 }));
        assert!(why.starts_with("arguments: "), "{name}: {why}");
        scribe.senseless(name, json!([]));
    }
    let nil = "00000000-0000-0000-0000-000000000000";
    scribe.senseless("show", json!({ "kind": "step", "id": "x" }));
    scribe.senseless("show", json!({ "kind": "weather", "id": nil }));
    scribe.senseless("claim", json!({}));
    scribe.senseless("claim", json!({ "class": "noop" }));
    scribe.senseless("comment", json!({ "id": nil, "text": "a\u{0}b" }));
    scribe.senseless("propose_workflow_change", json!({ "definition": "a: [" }));
    for tool in ["complete", "block", "wait", "fail", "comment"] {
        let all = json!({ "id": nil, "because": "x", "detail": "x", "text": "x" });
        let taken: &[&str] = match tool {
            "block" => &["id", "because"],
            "fail" => &["id", "detail"],
            "comment" => &["id", "text"],
            _ => &["id"],
        };
        let arguments: serde_json::Map<String, Value> =
            taken.iter().map(|name| ((*name).to_owned(), all[*name].clone())).collect();
        scribe.refused("RW001", tool, Value::Object(arguments));
    }
    for (kind, code) in [
        ("workflow_run", "RW001"),
        ("proposal", "RW001"),
        ("workflow_change", "RW001"),
        ("run", "RS001"),
        ("unit", "RI028"),
    ] {
        scribe.refused(code, "show", json!({ "kind": kind, "id": nil }));
    }
    scribe.refused(
        "RW003",
        "propose_workflow_change",
        json!({ "definition": { "workflow": "x" } }),
    );
    for uri in ["chancery://step/x", "chancery://weather/1", "file:///etc/passwd"] {
        assert_eq!(scribe.ask("resources/read", json!({ "uri": uri }))["error"]["code"], -32002);
    }
    assert_eq!(scribe.ask("resources/list", json!({}))["result"]["resources"], json!([]));
    let templates = scribe.ask("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"].as_array().map(Vec::len), Some(2));
    assert_eq!(decided(&place), before, "nothing changed");

    // Who closes the pipe ends it.
    drop(scribe.stdin.take());
    assert!(scribe.child.wait().expect("an end").success());
}

//! `chancery demo --serve`: what it fills is there for a browser, it can be repeated, and it ends in good order.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::place::{Place, run_it};
use crate::serve::read;

/// A demo at work; killed with the value.
struct Shown {
    child: Child,
    lines: BufReader<ChildStdout>,
    people: Vec<Value>,
    url: String,
    agent: ureq::Agent,
}

/// Somebody who signed in.
struct Reader<'a> {
    shown: &'a Shown,
    cookie: String,
}

impl Shown {
    fn start(place: &Place) -> Self {
        let mut command = place.command(&["demo", "--serve", "--listen", "127.0.0.1:0", "--json"]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a demo");
        let lines = BufReader::new(child.stdout.take().expect("its stdout"));
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent = config.timeout_global(Some(Duration::from_secs(20))).build().into();
        let mut shown = Self { child, lines, people: Vec::new(), url: String::new(), agent };
        shown.people = shown.said()["people"].as_array().expect("people").clone();
        shown.url = shown.said()["url"].as_str().expect("a URL").to_owned();
        shown
    }

    fn said(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| {
            let mut words = String::new();
            let _ = self.child.stderr.take().expect("its stderr").read_to_string(&mut words);
            panic!("no JSON ({error}): {line}{words}")
        })
    }

    fn signed_in(&self, name: &str) -> Reader<'_> {
        let person = self.people.iter().find(|person| person["name"] == name).expect("a person");
        let body = json!({ "name": name, "password": person["password"] }).to_string();
        let request = self.agent.post(format!("{}/v1/session", self.url));
        let answer =
            request.header("content-type", "application/json").send(body).expect("an answer");
        assert_eq!(answer.status(), 200, "{name} signs in with the printed password");
        let cookies = answer.headers().get_all("set-cookie").iter();
        let cookies = cookies.filter_map(|cookie| cookie.to_str().ok()?.split(';').next());
        Reader { shown: self, cookie: cookies.collect::<Vec<_>>().join("; ") }
    }

    fn ends_well(mut self) {
        run_it(Command::new("kill").args(["-INT", &self.child.id().to_string()])).ends_with(0);
        assert!(self.child.wait().expect("it ends").success(), "asked to end, it ends well");
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Reader<'_> {
    fn get(&self, path: &str) -> Value {
        let request = self.shown.agent.get(format!("{}{path}", self.shown.url));
        let (status, body) =
            read(request.header("cookie", &self.cookie).call().expect("an answer"));
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// How many of a list have this value in this field.
    fn count(&self, path: &str, field: &str, value: &str) -> usize {
        let items = self.get(path)["items"].clone();
        let items = items.as_array().unwrap_or_else(|| panic!("{path} has no items")).clone();
        items.iter().filter(|item| item[field] == value).count()
    }
}

#[test]
fn a_filled_system_shows_something_on_every_page() {
    let place = Place::new();
    let shown = Shown::start(&place);
    assert_eq!(shown.people.len(), 4);
    every_item_is_there(&place, &shown);
    let first = shown.people[0]["password"].clone();
    shown.ends_well();
    assert_eq!(
        place.json(&["audit", "verify"])["ok"],
        true,
        "and everything was done by the doors"
    );

    let again = Shown::start(&place);
    assert_ne!(again.people[0]["password"], first, "passwords are new each time");
    every_item_is_there(&place, &again);
    again.ends_well();
}

fn every_item_is_there(place: &Place, shown: &Shown) {
    let (lan, hoa, thu) = (shown.signed_in("lan"), shown.signed_in("hoa"), shown.signed_in("thu"));

    let problems = lan.get("/v1/problems");
    let counted = |category: &str| {
        let all = problems["categories"].as_array().expect("categories");
        all.iter().find(|one| one["category"] == category).expect("it")["count"].clone()
    };
    assert_eq!(counted("dlq"), 5, "{problems}");
    assert_eq!(counted("silent_worker"), 1, "{problems}");
    assert_eq!(counted("overdue_step"), 1, "{problems}");

    let runs = lan.get("/v1/workflow-runs")["items"].clone();
    let of = |workflow: &str| {
        let all = runs.as_array().expect("runs").iter().filter(|run| run["workflow"] == workflow);
        all.cloned().collect::<Vec<_>>()
    };
    let states = |run: &Value| {
        let id = run["run_id"].as_str().expect("an id").trim_start_matches("wfr_");
        let steps = place.json(&["step", "list", id]);
        steps.as_array().expect("steps").clone()
    };
    let building = states(&of("building_permit")[0]);
    let with = |steps: &[Value], state: &str| {
        steps
            .iter()
            .filter(|step| step["run_kind"] == "step" && step["state_code"] == state)
            .count()
    };
    assert_eq!(
        (with(&building, "blocked"), with(&building, "overdue"), with(&building, "waiting")),
        (1, 1, 1)
    );
    assert_eq!(building.iter().filter(|step| step["run_kind"] == "step").count(), 12);
    let archive = states(&of("archive_digitisation")[0]);
    assert_eq!(archive.iter().filter(|step| step["run_kind"] == "step").count(), 500);
    assert!(with(&archive, "completed") > 250, "it is under way");
    assert_eq!((with(&archive, "failed"), with(&archive, "blocked")), (1, 1));
    let cuts = of("cut_a_document");
    let mut ends: Vec<_> = cuts.iter().filter_map(|run| run["state"].as_str()).collect();
    ends.sort_unstable();
    assert_eq!(ends, ["completed", "in_progress"], "one is finished, one stands at a gate");

    let gate = "awaiting_cut_authorization";
    assert_eq!(lan.count("/v1/orchestrator/runs", "state", gate), 1);
    assert_eq!(lan.count("/v1/orchestrator/runs", "state", "closeout_reported"), 1);
    assert_eq!(lan.count("/v1/entries", "status", "verified_complete"), 2);
    assert_eq!(lan.count("/v1/changes", "state", "review"), 1);
    assert_eq!(lan.count("/v1/births/permits", "status", "RESERVED"), 2);
    assert!(lan.count("/v1/kb?prefix=handbook", "kind", "note") >= 2);
    assert!(thu.count("/v1/approvals", "state", "pending") >= 2, "a change and a replay wait");
    let waiting = hoa.get("/v1/inbox");
    assert!(waiting["waiting"].as_array().is_some_and(|all| all.len() >= 2), "{waiting}");
}

//! The row `serve` of the CLI, and EVT-4: the host gives jobs to workers, ends in good order, and is replaced when it does not.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use chancery_testkit::until_found;
use serde_json::{Value, json};

use crate::place::{Place, run_it};

/// A host at work; killed with the value.
pub(crate) struct Host {
    child: Child,
    pub(crate) url: String,
    token: String,
    pub(crate) agent: ureq::Agent,
}

impl Host {
    pub(crate) fn start(place: &Place) -> Self {
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent = config.timeout_global(Some(Duration::from_secs(40))).build().into();
        Self::with(place, &[], agent)
    }

    /// With more options, asked by this client.
    pub(crate) fn with(place: &Place, more: &[&str], agent: ureq::Agent) -> Self {
        let args = [&["serve", "--listen", ":0", "--json"], more].concat();
        let mut command = place.command(&args);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a host");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("its stdout");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| {
            let mut words = String::new();
            let _ = child.stderr.take().expect("its stderr").read_to_string(&mut words);
            panic!("no JSON ({error}): {line}{words}")
        });
        let file = said["token_file"].as_str().expect("a file");
        let token = fs::read_to_string(file).expect("the token").trim().to_owned();
        Self { child, url: said["url"].as_str().expect("a URL").to_owned(), token, agent }
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        let answer = self.agent.get(format!("{}{path}", self.url)).call().expect("an answer");
        read(answer)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = self
            .agent
            .post(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json");
        read(request.send(body.to_string()).expect("an answer"))
    }

    /// The loops that it leads, when it is ready.
    fn leads(&self) -> Option<usize> {
        let (status, body) = self.get("/readyz");
        let loops = body["loops"].as_array().expect("loops");
        (status == 200).then(|| loops.iter().filter(|state| state["leads"] == true).count())
    }

    fn signal(&self, name: &str) {
        run_it(Command::new("kill").args([name, &self.child.id().to_string()])).ends_with(0);
    }

    /// Asks it to end; answers what it said meanwhile.
    pub(crate) fn ends_well(mut self) -> String {
        let asked = Instant::now();
        self.signal("-TERM");
        assert!(self.child.wait().expect("it ends").success(), "asked to end, it ends well");
        assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
        let mut words = String::new();
        let mut stderr = self.child.stderr.take().expect("its stderr");
        stderr.read_to_string(&mut words).expect("text");
        assert!(words.ends_with("ended in good order\n"), "{words}");
        words
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn read(answer: ureq::http::Response<ureq::Body>) -> (u16, Value) {
    let status = answer.status().as_u16();
    let text = answer.into_body().read_to_string().expect("text");
    (status, serde_json::from_str(&text).expect("every answer is JSON"))
}

/// Asks until the answer is yes; how long it took.
pub(crate) fn until(what: &str, mut ask: impl FnMut() -> bool) -> Duration {
    until_found(what, Duration::from_secs(30), || ask().then_some(())).1
}

const LOOPS: usize = 12;
/// Loops that every host does.
const EVERYWHERE: usize = 1;
const HELD: &str = "select count(*) from queue.loop_lease where lease_until > clock_timestamp()";

/// From the start over a job to the end: jobs go through, waiting workers are let go, nothing stays leased.
#[test]
fn a_host_gives_jobs_and_ends_in_good_order() {
    let place = Place::with_database();
    let said = place.run(&["serve", "--listen", "0.0.0.0:0"]).ends_with(2);
    assert!(said.stderr.contains("--insecure-listen"), "{said:?}");
    let said = place.run(&["serve", "--listen", "nowhere"]).ends_with(2);
    assert!(said.stderr.contains("IP:PORT"), "{said:?}");

    let host = Host::start(&place);
    let address = fs::read_to_string(place.path().join("serve.address")).expect("the address");
    assert_eq!(format!("http://{}", address.trim()), host.url);
    assert_eq!(host.get("/healthz").0, 200);
    until("the host is ready", || host.leads() == Some(LOOPS));
    let port = address.trim().rsplit(':').next().expect("a port");
    let said = place.run(&["serve", "--listen", &format!(":{port}")]).ends_with(1);
    assert!(said.stderr.contains("can't listen at"), "{said:?}");

    let job = json!({ "jobs": [{ "class": "noop", "kind": "trial", "key": "k", "payload": { "n": 1 } }] });
    assert_eq!(host.post("/v1/queue/jobs", &job).0, 201);
    let (status, claimed) = host.post("/v1/queue/noop/claim", &json!({ "worker": "w1" }));
    assert_eq!(status, 200, "{claimed}");
    let mine = &claimed["jobs"][0];
    let result =
        json!({ "job_id": mine["job_id"], "lease_no": mine["lease_no"], "outcome": "succeeded" });
    let (status, report) =
        host.post("/v1/queue/ack", &json!({ "worker": "w1", "results": [result] }));
    assert_eq!((status, &report["accepted"]), (200, &json!(1)), "{report}");
    let late = json!({ "job_id": mine["job_id"], "lease_no": 7, "outcome": "succeeded" });
    let (status, refused) =
        host.post("/v1/queue/ack", &json!({ "worker": "w1", "results": [late] }));
    assert_eq!((status, &refused["code"]), (409, &json!("RE010")), "{refused}");

    let (token, url, agent) = (host.token.clone(), host.url.clone(), host.agent.clone());
    let header = format!("Bearer {token}");
    let waiting = std::thread::spawn(move || {
        let request = agent.post(format!("{url}/v1/queue/noop/claim"));
        let request = request.header("authorization", header);
        let long = r#"{"worker":"w2","wait_ms":30000}"#;
        read(request.header("content-type", "application/json").send(long).expect("an answer"))
    });
    until("somebody waits", || host.get("/readyz").1["waiting"] == 1);
    let words = host.ends_well();
    let (status, body) = waiting.join().expect("it is answered");
    assert_eq!((status, &body["jobs"]), (200, &json!([])), "{body}");
    assert!(!words.contains(&token), "the token is told to nobody");
    assert_eq!(place.superuser(HELD).trim(), "0", "no loop is led");
    let leased = "select count(*) from queue.job_queue where lease_owner is not null";
    assert_eq!(place.superuser(leased).trim(), "0", "no job is leased");
    assert!(!place.path().join("serve.address").exists());

    place.superuser("grant execute on function queue.fn_leases_expire(text) to public");
    let said = place.run(&["serve", "--listen", ":0"]).ends_with(1);
    assert!(said.stderr.contains("no function is executable by PUBLIC"), "{said:?}");
    place.superuser("revoke execute on function queue.fn_leases_expire(text) from public");
    let token_file = place.path().join("secrets/serve.token");
    run_it(Command::new("chmod").arg("644").arg(&token_file)).ends_with(0);
    let said = place.run(&["serve", "--listen", ":0"]).ends_with(1);
    assert!(said.stderr.contains("serve.token"), "{said:?}");
}

/// Of two hosts one leads; when it is killed, or only stands still, the other one does within seconds. One that stood still
/// finds out that it no longer leads.
#[test]
fn another_host_leads_when_the_first_is_killed_or_stopped() {
    let place = Place::with_database();
    let first = Host::start(&place);
    until("the first leads", || first.leads() == Some(LOOPS));
    let second = Host::start(&place);
    until("the second is ready", || second.leads() == Some(EVERYWHERE));
    drop(first);
    let after_kill = until("the second leads", || second.leads() == Some(LOOPS));

    let third = Host::start(&place);
    until("the third is ready", || third.leads() == Some(EVERYWHERE));
    second.signal("-STOP");
    let after_stop = until("the third leads", || third.leads() == Some(LOOPS));
    second.signal("-CONT");
    until("the second has noticed", || second.leads() == Some(EVERYWHERE));
    assert_eq!(third.leads(), Some(LOOPS));
    let bound = Duration::from_secs(15);
    assert!(after_kill < bound && after_stop < bound, "{after_kill:?} {after_stop:?}");

    third.ends_well();
    let handed_over = until("the second leads again", || second.leads() == Some(LOOPS));
    assert!(handed_over < bound, "{handed_over:?}");
    second.ends_well();
    assert_eq!(place.superuser(HELD).trim(), "0");
}

/// A database that goes away and comes back does not end the host; it is said once.
#[test]
fn a_host_lives_through_a_restart_of_its_database() {
    let place = Place::with_database();
    let host = Host::start(&place);
    until("the host is ready", || host.leads() == Some(LOOPS));
    place.done(&["db", "stop"]);
    until("it is not ready", || host.leads().is_none());
    let (status, body) = host.get("/readyz");
    assert_eq!((status, &body["ready"]), (503, &json!(false)), "{body}");
    assert_eq!(host.get("/healthz").0, 200);
    let (status, body) = host.post("/v1/queue/noop/claim", &json!({ "worker": "w1" }));
    assert_eq!((status, &body["problem"]), (503, &json!("database_away")), "{body}");
    place.done(&["db", "start"]);
    until("it is ready again", || host.leads() == Some(LOOPS));
    let words = host.ends_well();
    let told = words.lines().filter(|line| line.contains("trying again")).count();
    assert!((1..=4).contains(&told), "trouble is told, and not over and over:\n{words}");
}

/// RELIABILITY: a private database that dies under the host is there again without anybody's hand; one that is stopped stays stopped.
#[test]
fn a_host_starts_its_database_again_when_it_dies() {
    let place = Place::with_database();
    let host = Host::start(&place);
    until("the host is ready", || host.leads() == Some(LOOPS));
    let pid = |place: &Place| place.json(&["db", "status"])["pid"].as_i64();
    let first = pid(&place).expect("it runs");
    run_it(Command::new("kill").args(["-KILL", &first.to_string()])).ends_with(0);
    until("the database runs again", || pid(&place).is_some_and(|pid| pid != first));
    until("the host is ready again", || host.leads() == Some(LOOPS));
    let words = host.ends_well();
    assert!(words.contains("had died and was started again"), "{words}");

    let host = Host::start(&place);
    until("the next host is ready", || host.leads() == Some(LOOPS));
    place.done(&["db", "stop"]);
    until("it is away", || host.leads().is_none());
    let path = place.json(&["db", "status"])["log"].as_str().expect("a path").to_owned();
    let log = fs::OpenOptions::new().write(true).open(&path).expect("the log");
    log.set_len(11 << 20).expect("a long log");
    // The log is looked after in the same pass, so a rotated one proves that a pass went by.
    until("a pass went by", || fs::exists(format!("{path}.1")).expect("the folder"));
    assert_eq!(pid(&place), None, "somebody stopped it");
    host.ends_well();
}

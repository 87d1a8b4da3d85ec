//! Workflows of one step, and workers of this process that do it.

use std::collections::VecDeque;
use std::io::{BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chancery_engine::queue::{Executor, Settings, Tally, Worker};
use chancery_store::{Role, Store};
use chancery_testkit::flows::Flow;
use chancery_testkit::{TestDb, repo_path};
use serde_json::Value;
use uuid::Uuid;

/// A database in which workflows run. The loop is turned by hand.
pub(crate) struct FlowScene {
    pub(crate) db: TestDb,
    pub(crate) store: Store,
    pub(crate) flow: Flow,
}

impl FlowScene {
    pub(crate) async fn new() -> Self {
        let db = TestDb::new().await;
        let machine = std::fs::read_to_string(repo_path("machines/job.yaml")).expect("the machine");
        db.machine(&machine).await;
        let flow = Flow::install(&db).await;
        Self { store: db.store(Role::App), flow, db }
    }

    /// Has a worker do what waits in a class, until nothing is due.
    pub(crate) async fn work(&self, class: &str, executor: Arc<dyn Executor>) -> Tally {
        let settings = Settings {
            class: class.to_owned(),
            worker: format!("{class}-test"),
            principal: "chancery".to_owned(),
            concurrency: 2,
            prefetch: 2,
            lease: Duration::from_secs(30),
            once: true,
            grace: Duration::from_secs(5),
        };
        let worker = Worker::new(self.store.clone(), executor, settings);
        worker.run(std::future::pending()).await.expect("a worker")
    }

    /// A step as `state`, or the failure that it is in.
    pub(crate) async fn state(&self, step: Uuid) -> String {
        self.db
            .text(&format!(
                "select state_code || coalesce(' ' || failure_classification || ' ' || failure_class, '')
                   from workflow.step_run where step_run_id = '{step}' and state_code = 'failed'
                 union all
                 select state_code from workflow.step_run where step_run_id = '{step}' and state_code <> 'failed'"
            ))
            .await
    }

    /// The moves of a step, in order, by the ids of their rows.
    pub(crate) async fn moves(&self, step: Uuid) -> String {
        self.db
            .text(&format!(
                "select string_agg(trigger_ref, ' ' order by seq) from fsm.transition_log
                  where run_id = '{step}' and from_state is not null"
            ))
            .await
    }

    pub(crate) async fn output(&self, step: Uuid) -> Value {
        let text = self
            .db
            .text(&format!(
                "select o.document from workflow.step_run s join workflow.step_run_snapshot o on o.snapshot_id = s.output_snapshot_id
                  where s.step_run_id = '{step}'"
            ))
            .await;
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Where the jobs of a step stand: `state` each, oldest first; what is done is done.
    pub(crate) async fn jobs(&self, step: Uuid) -> Vec<String> {
        let texts = self
            .db
            .texts(&format!(
                "select state from (
                   select job_no, state from queue.job_queue where payload_json ->> 'run_id' = '{step}'
                   union all
                   select job_no, state from queue.job_finished where payload_json ->> 'run_id' = '{step}') j order by job_no"
            ))
            .await;
        texts.into_iter().flatten().collect()
    }

    /// From now on the clock of the database is so much later.
    pub(crate) async fn later(&self, interval: &str) {
        let clock = format!(
            "create or replace function internal.now() returns timestamptz language sql
             as 'select clock_timestamp() + interval ''{interval}'''"
        );
        self.db.forge(&[&clock]).await;
    }
}

/// A request that somebody got.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }
}

/// A small server that answers each request with the next of its answers, the last one again and again.
pub(crate) struct Outside {
    pub(crate) url: String,
    got: Arc<Mutex<Vec<Got>>>,
}

type Deed = Box<dyn Fn(&Got) + Send>;

impl Outside {
    pub(crate) fn new(answers: &[(u16, &str)]) -> Self {
        Self::that(answers, Box::new(|_| {}))
    }

    /// Does something with each request before it answers.
    pub(crate) fn that(answers: &[(u16, &str)], deed: Deed) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let got: Arc<Mutex<Vec<Got>>> = Arc::default();
        let mut answers: VecDeque<(u16, String)> =
            answers.iter().map(|(status, body)| (*status, (*body).to_owned())).collect();
        let seen = Arc::clone(&got);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let request = read(&mut BufReader::new(&stream));
                deed(&request);
                seen.lock().expect("the list").push(request);
                let (status, body) =
                    if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() }
                        .expect("an answer");
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status} so\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\nLocation: /elsewhere\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        Self { url, got }
    }

    pub(crate) fn got(&self) -> Vec<Got> {
        self.got.lock().expect("the list").clone()
    }
}

fn read(stream: &mut impl std::io::BufRead) -> Got {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).expect("a line");
        match line.trim_end() {
            "" => break,
            text => lines.push(text.to_owned()),
        }
    }
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("the body");
    let body = String::from_utf8(body).expect("text");
    Got { line: lines.swap_remove(0), headers, body }
}

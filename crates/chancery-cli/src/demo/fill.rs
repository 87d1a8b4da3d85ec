//! Fills a data directory with everything that the pages of the product can show, by really running the flows: people sign, workers
//! work and fail, loops drive. Nothing is written past the doors. Each part looks first at what is there, so a fill that was cut off
//! goes on, and one that is repeated changes nothing.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chancery_store::{Role, Store};
use clap::Parser as _;
use serde_json::{Value, json};
use uuid::Uuid;

use super::archive;
use super::hands::Hands;
use super::{CONNECTIONS, demo_file, demo_folder};
use crate::Context;
use crate::cli::{self, Cli};
use crate::failure::{Failure, Outcome};
use crate::output::Out;
use crate::session::Session;

/// Somebody who can sign in: name, classes, and what they are in a few words.
pub(super) struct Person {
    pub(super) name: &'static str,
    classes: &'static str,
    pub(super) role: &'static str,
    signs: bool,
}

pub(super) const PEOPLE: [Person; 4] = [
    Person {
        name: "lan",
        classes: "pic_human,task_pic_human",
        role: "operator: starts runs, does steps and tasks, proposes",
        signs: true,
    },
    Person {
        name: "minh",
        classes: "reviewer,pic_human,task_pic_human",
        role: "reviewer: decides on other people's work",
        signs: true,
    },
    Person {
        name: "hoa",
        classes: "sovereign,review_authority,pic_human",
        role: "sovereign: signs at the gates, approves changes",
        signs: true,
    },
    Person {
        name: "thu",
        classes: "observer",
        role: "auditor: sees everything, changes nothing",
        signs: false,
    },
];

/// Name and class.
const SERVICES: [(&str, &str); 3] =
    [("executor", "executor_dot991"), ("verifier", "verifier_dot992"), ("hand", "executor_worker")];

/// A public key whose secret half was thrown away: nobody reads the backups of a demo.
const BACKUP_KEY: &str = include_str!("backup.asc");

macro_rules! example {
    ($path:literal) => {
        include_str!(concat!("../../../../examples/", $path))
    };
}

const BUILDING: &str = example!("workflows/building_permit.yaml");
const CUTTING: &str = example!("workflows/cut_a_document.yaml");

/// File, id, prefix, text.
const DOCUMENTS: [(&str, &str, &str, &str); 4] = [
    ("quy-che-luu-tru.txt", "quy-che-luu-tru", "QC-LT", example!("documents/quy-che-luu-tru.txt")),
    (
        "noi-quy-phong-doc.txt",
        "noi-quy-phong-doc",
        "NQ-PD",
        example!("documents/noi-quy-phong-doc.txt"),
    ),
    ("records-policy.md", "records-policy", "RP", example!("documents/records-policy.md")),
    ("loan-rules.md", "loan-rules", "LR", example!("documents/loan-rules.md")),
];

/// Path, and the texts of its revisions.
const PAGES: [(&str, &[&str]); 3] = [
    (
        "handbook/onboarding",
        &[
            "# Onboarding\n\nRead the records policy, then sign this page.\n",
            "# Onboarding\n\nRead the records policy and the loan rules, then sign this page.\n\n\
             - Nobody approves what they asked for.\n- What was signed stays.\n",
        ],
    ),
    (
        "handbook/so-tay-luu-tru",
        &[
            "# Sổ tay lưu trữ\n\nHồ sơ được lập, giữ và trả theo quy chế.\n\n1. Tiếp nhận và kiểm đếm.\n2. Quét, kiểm tra, ký số.\n\
           3. Trả lại bản gốc.\n",
        ],
    ),
    (
        "decisions/2026-scanners",
        &["# Two scanners\n\nWe rent two scanners for the digitisation of the archive.\n"],
    ),
];

/// A worker of this name says that it lives, and then nothing more.
const SILENT: &str = "scanner-hall-2";
/// So many seconds a worker of its class may say nothing.
const SILENCE: u32 = 10;
/// So many seconds a permit for a reader's card is good.
const CARD_SECONDS: &str = "600";

const TABLES: &str = "create table if not exists public.film (code text primary key, title text, minutes int); \
                      create table if not exists public.reader_card (code text primary key, holder text)";

/// A fill under way.
pub(super) struct Fill<'a> {
    context: &'a Context,
    store: Store,
    hands: Hands,
    /// Where the host will listen: some jobs die because nobody is there yet.
    host: SocketAddr,
    began: Instant,
}

/// Something that is known by the same id in every demo.
fn id_of(what: &str) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("chancery demo: {what}").as_bytes()).to_string()
}

/// The building permit of the demo: one step works on a unit of a document that is cut here.
fn building(text: &str) -> String {
    text.replace("  - key: site_visit\n", "  - key: site_visit\n    unit: QC-LT/dieu.1\n")
}

/// The database and everybody in it; before that no loop can run.
pub(super) async fn ground(context: &Context) -> Result<(), Failure> {
    ask(context, &["db", "start"]).await?;
    let people = PEOPLE.iter().map(|it| (it.name, "human", it.classes, it.signs));
    let services = SERVICES.iter().map(|(name, class)| (*name, "service", *class, true));
    let store = Session::open(context).await?.store(Role::Migrator).await?;
    let keys = store.signing_keys().await?;
    for (name, kind, classes, signs) in people.chain(services) {
        ask(context, &["principal", "add", name, "--kind", kind, "--class", classes]).await?;
        let here = context.config.keystore().list(name)?;
        let has_key = keys.iter().any(|key| key.revoked_at.is_none() && here.contains(&key.key_id));
        if signs && !has_key {
            ask(context, &["key", "new", name]).await?;
        }
    }
    let file = demo_file(context.config.home.path(), "backup.asc", BACKUP_KEY)?;
    ask(context, &["cutter", "orchestrate", "backup-key", &file]).await?;
    Ok(())
}

/// A command line, parsed and run like one that was typed; its answer.
async fn ask(context: &Context, args: &[&str]) -> Result<Value, Failure> {
    let told = |why: String| Failure::Failed(format!("`chancery {}`: {why}", args.join(" ")));
    let cli = Cli::try_parse_from(std::iter::once("chancery").chain(args.iter().copied()))
        .map_err(|error| told(error.to_string()))?;
    let mut config = context.config.clone();
    config.principal = cli.globals.principal;
    let mut context = Context { config, out: Out::kept() };
    match cli::dispatch(&mut context, cli.command).await {
        Ok(Outcome::Done | Outcome::Paused) => {
            Ok(serde_json::from_slice(&context.out.taken()).unwrap_or_default())
        }
        Ok(outcome) => Err(told(format!("ended with {}", outcome.exit_code()))),
        Err(failure) => Err(told(failure.as_text())),
    }
}

impl<'a> Fill<'a> {
    pub(super) async fn new(
        context: &'a Context,
        host: SocketAddr,
        began: Instant,
    ) -> Result<Self, Failure> {
        let session = Session::open(context).await?;
        let store = Store::with_connections(&session.target, Role::App, CONNECTIONS)?;
        let logs = demo_folder(context.config.home.path());
        let hands = Hands::of(context, &logs)?;
        Ok(Self { context, store, hands, host, began })
    }

    /// Everything; gives the workers that are to stay.
    pub(super) async fn run(mut self) -> Result<Hands, Failure> {
        self.hands.keep("noop-1", &["--class", "noop", "--concurrency", "8", "--as", "hand"])?;
        self.hands.keep("cutter-1", &["--class", "cutter", "--as", "executor"])?;
        self.fall_silent().await?;
        self.adopt_workflows().await?;
        self.add_documents().await?;
        self.start_runs().await?;
        self.say("four runs of three workflows began")?;
        self.cut_one_to_the_end().await?;
        self.cut_by_hand().await?;
        self.say("documents: one through both gates, one at the first, one cut by hand, one to be reviewed")?;
        self.work_on_the_building().await?;
        self.say("a building permit: one step blocked, one overdue, one waiting")?;
        self.work_on_the_archive().await?;
        self.let_jobs_die().await?;
        self.say("five dead letters, one of them a step")?;
        self.write_pages().await?;
        self.protect_tables().await?;
        self.propose_a_change().await?;
        self.propose_a_replay().await?;
        self.say("pages of the knowledge base, permits that run out, a change and a replay that wait for approval")?;
        self.wait_for_what_takes_time().await?;
        self.say("a worker that is silent")?;
        self.stay().await
    }

    fn say(&self, text: &str) -> Result<(), Failure> {
        if self.context.out.is_json() {
            return Ok(());
        }
        let seconds = self.began.elapsed().as_secs_f32();
        self.context.out.clone().line(&format!("{seconds:5.1} s  {text}"))
    }

    async fn ask(&self, args: &[&str]) -> Result<Value, Failure> {
        ask(self.context, args).await
    }

    fn home(&self) -> &Path {
        self.context.config.home.path()
    }

    /// A worker lives, and is killed. The class may be silent for seconds here rather than for a minute.
    async fn fall_silent(&mut self) -> Result<(), Failure> {
        let setting = format!(
            "insert into config.dot_config (key, value, description) values ('heartbeat.threshold.command', '{SILENCE}', \
             'In the demo nobody waits for a minute.') on conflict (key) do nothing"
        );
        let psql = ["db", "psql", "--admin", "--", "-v", "ON_ERROR_STOP=1", "-qc", TABLES];
        // Settings are the owner's, also before an administrator.
        let owner = ["-c", "set role chancery_owner", "-c", &setting];
        self.hands.run("settings", &[&psql[..], &owner].concat()).await?;
        if self.health().await?.is_some() {
            return Ok(());
        }
        let mut worker = self.hands.worker(SILENT, &["--class", "command", "--as", "hand"])?;
        self.until("a worker has said that it lives", async || Ok(self.health().await?.is_some()))
            .await?;
        worker.child.kill().await.map_err(|error| Failure::Failed(format!("{SILENT}: {error}")))
    }

    /// How the silent worker is.
    async fn health(&self) -> Result<Option<String>, Failure> {
        let workers = self.store.queue_health().await?;
        Ok(workers.into_iter().find(|it| it.worker == SILENT).map(|it| it.status))
    }

    async fn adopt_workflows(&self) -> Result<(), Failure> {
        let first = building(BUILDING);
        // It has a slip that the change mends: a deadline of two seconds.
        let slip = first.replace("deadline: 4 days", "deadline: 2 seconds");
        let archive = serde_json::to_string_pretty(&archive::definition()).expect("plain data");
        for (name, file, text) in [
            ("cut_a_document", "cut_a_document.yaml", CUTTING),
            ("building_permit", "building_permit-1.yaml", &slip),
            ("archive_digitisation", "archive_digitisation.json", &archive),
        ] {
            let known = self.ask(&["workflow", "list"]).await?;
            if found(&known, "workflow", name).is_some() {
                continue;
            }
            let file = demo_file(self.home(), file, text)?;
            let change = id_of(name);
            self.ask(&["workflow", "propose", &file, "--id", &change, "--as", "lan"]).await?;
            self.ask(&["workflow", "submit", &change, "--as", "lan"]).await?;
            let approve = ["workflow", "approve", &change, "--class", "sovereign", "--as", "hoa"];
            self.ask(&approve).await?;
            self.ask(&["workflow", "merge", &change, "--as", "lan"]).await?;
        }
        Ok(())
    }

    async fn add_documents(&self) -> Result<(), Failure> {
        for (file, id, prefix, text) in DOCUMENTS {
            let known = self.ask(&["doc", "list"]).await?;
            if found(&known, "document_id", id).is_none() {
                let file = demo_file(self.home(), file, text)?;
                let add = ["doc", "add", &file, "--id", id, "--prefix", prefix, "--as", "lan"];
                self.ask(&add).await?;
            }
        }
        Ok(())
    }

    async fn start_runs(&self) -> Result<(), Failure> {
        for (what, workflow, input) in [
            ("finished", "cut_a_document", json!({ "document": "quy-che-luu-tru" })),
            ("gate", "cut_a_document", json!({ "document": "noi-quy-phong-doc" })),
            ("building", "building_permit", json!({ "applicant": "Công ty Hoa Sen", "floors": 9 })),
            ("archive", "archive_digitisation", json!({})),
        ] {
            let run = id_of(what);
            if self.store.workflow_run(run.parse().unwrap_or_default()).await?.is_none() {
                let input = input.to_string();
                let start =
                    ["workflow", "start", workflow, "--id", &run, "--input", &input, "--as", "lan"];
                self.ask(&start).await?;
            }
        }
        Ok(())
    }

    async fn work_on_the_building(&self) -> Result<(), Failure> {
        let run = id_of("building");
        let run = run.as_str();
        if self.claimed(run, "receive", "lan").await? {
            self.ask(&["step", "complete", run, "receive", "--as", "lan"]).await?;
        }
        self.claimed(run, "land_check", "minh").await?;
        if self.claimed(run, "plan_check", "lan").await? {
            let why = "Chưa có bản đồ quy hoạch 1/500";
            let block = ["step", "block", run, "plan_check", "--because", "missing_input"];
            self.ask(&[&block[..], &["--reason", why, "--as", "lan"]].concat()).await?;
        }
        if self.claimed(run, "site_visit", "lan").await? {
            self.claimed(run, "site_visit/measure", "lan").await?;
        }
        if self.claimed(run, "fire_safety", "minh").await? {
            let wait = ["step", "wait", run, "fire_safety", "--for", "Phòng cảnh sát PCCC"];
            self.ask(&[&wait[..], &["--as", "minh"]].concat()).await?;
        }
        Ok(())
    }

    async fn work_on_the_archive(&self) -> Result<(), Failure> {
        let run = id_of("archive");
        for commune in [1, 2, 3, 4, 5, 6, 10, 11, 15, 16, 20] {
            let step = archive::key(commune, "accept");
            if self.claimed(&run, &step, "lan").await? {
                self.ask(&["step", "complete", &run, &step, "--as", "lan"]).await?;
            }
        }
        let [blocked, free] = archive::READ_BY_PEOPLE.map(|commune| archive::key(commune, "proof"));
        if self.claimed(&run, &blocked, "minh").await? {
            let block = ["step", "block", &run, &blocked, "--because", "missing_iu"];
            let why = ["--reason", "Thiếu bản gốc tập hai", "--as", "minh"];
            self.ask(&[&block[..], &why].concat()).await?;
        }
        self.reaches(&run, &free).await?;
        self.reaches(&run, &archive::key(21, "accept")).await?;
        let shown = self.ask(&["workflow", "status", &run]).await?;
        let counted = |field: &str| shown[field].as_i64().unwrap_or_default();
        let (done, all) = (counted("completed_count"), counted("mandatory_count"));
        self.say(&format!("an archive of 500 steps: {done} of {all} mandatory ones are done"))
    }

    /// Programs that are not there, an address where nobody listens yet, and a scanner that gives up.
    async fn let_jobs_die(&self) -> Result<(), Failure> {
        for number in 1..=3 {
            let payload = json!({ "program": "thumbnailer", "args": [format!("box-{number}")] });
            self.put_job("command", "thumbnail", &format!("thumbnail-{number}"), &payload).await?;
        }
        let nobody = json!({ "url": format!("http://{}/healthz", self.host), "method": "GET" });
        self.put_job("http", "notify", "notify-1", &nobody).await?;
        self.reaches(&id_of("archive"), &archive::key(archive::FAILING, "scan_two")).await?;

        let scanner =
            self.program("scanner", "echo 'the scanner does not answer' >&2; exit 100")?;
        let work = ["worker", "--class", "command", "--once", "--as", "hand", "--allow", &scanner];
        self.hands.run("command-once", &work).await?;
        let url = format!("http://{}/", self.host);
        let work = ["worker", "--class", "http", "--once", "--as", "hand", "--allow-url", &url];
        self.hands.run("http-once", &work).await
    }

    async fn put_job(
        &self,
        class: &str,
        kind: &str,
        key: &str,
        payload: &Value,
    ) -> Result<(), Failure> {
        let payload = payload.to_string();
        let add = ["queue", "add", "--class", class, "--kind", kind, "--key", key];
        let once = ["--payload", &payload, "--max-attempts", "1", "--as", "lan"];
        // The key is taken by the job of an earlier fill, which had another address in it: that one will do.
        match self.ask(&[&add[..], &once].concat()).await {
            Err(Failure::Failed(why)) if why.contains("RE009") => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// A program in the demo's folder, as `--allow` takes it.
    fn program(&self, name: &str, script: &str) -> Result<String, Failure> {
        let file = demo_file(self.home(), name, &format!("#!/bin/sh\n{script}\n"))?;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))
            .map_err(|error| Failure::Failed(format!("{file}: {error}")))?;
        let path = PathBuf::from(&file);
        let path = std::path::absolute(&path).unwrap_or(path);
        Ok(format!("{name}={}", path.display()))
    }

    /// The sovereign signs at both gates; the worker goes on by itself.
    async fn cut_one_to_the_end(&self) -> Result<(), Failure> {
        self.at_a_gate("noi-quy-phong-doc").await?;
        let document = "quy-che-luu-tru";
        while let Some(run) = self.at_a_gate(document).await? {
            let (name, state) = (&run["run_id"], run["state"].clone());
            let approve = ["cutter", "orchestrate", "approve", "--run-id"];
            let why = ["--rationale", "đã so với bản ký", "--as", "hoa"];
            let name = name.as_str().unwrap_or_default();
            self.ask(&[&approve[..], &[name], &why].concat()).await?;
            self.until("the run goes on after the signature", async || {
                Ok(self.orchestrated(document).await?.is_some_and(|run| run["state"] != state))
            })
            .await?;
        }
        self.until("the finished workflow is completed", async || {
            Ok(self.state(&id_of("finished"), "record").await?.as_deref() == Some("completed"))
        })
        .await
    }

    /// The document's run when it asks a sovereign; none when it is over.
    async fn at_a_gate(&self, document: &str) -> Result<Option<Value>, Failure> {
        const GATES: [&str; 2] = ["awaiting_cut_authorization", "awaiting_lifecycle_authorization"];
        let mut run = Value::Null;
        self.until("the run is at a gate, or over", async || {
            run = self.orchestrated(document).await?.unwrap_or_default();
            let state = run["state"].as_str().unwrap_or_default();
            Ok(GATES.contains(&state) || state == "closeout_reported")
        })
        .await?;
        Ok(Some(run).filter(|run| run["state"] != "closeout_reported"))
    }

    async fn orchestrated(&self, document: &str) -> Result<Option<Value>, Failure> {
        let runs = self.ask(&["cutter", "orchestrate", "list"]).await?;
        Ok(found(&runs, "document_id", document).cloned())
    }

    /// One document the direct way, phase by phase; another one as far as its review.
    async fn cut_by_hand(&self) -> Result<(), Failure> {
        let name = "records-policy";
        loop {
            let state = self.entry(name).await?;
            match state.as_deref() {
                None => self.ask(&["cutter", "mark", name, "--as", "lan"]).await?,
                Some("marked") => self.ask(&["cutter", "sweep", "--as", "executor"]).await?,
                Some("review_pending") => {
                    let review = ["cutter", "review", name, "--approve", "--rationale"];
                    self.ask(&[&review[..], &["read in full", "--as", "hoa"]].concat()).await?
                }
                Some("reviewed_approved") => {
                    self.ask(&["cutter", "cut", name, "--as", "executor"]).await?
                }
                Some("cut_applied") => {
                    self.ask(&["cutter", "verify", name, "--as", "verifier"]).await?
                }
                Some(_) => break,
            };
            if self.entry(name).await? == state {
                return Err(Failure::Failed(format!("the cut of {name} stays {state:?}")));
            }
        }
        if self.entry("loan-rules").await?.is_none() {
            self.ask(&["cutter", "mark", "loan-rules", "--as", "lan"]).await?;
            self.ask(&["cutter", "sweep", "--as", "executor"]).await?;
        }
        Ok(())
    }

    async fn entry(&self, document: &str) -> Result<Option<String>, Failure> {
        let entries = self.ask(&["cutter", "list", "--document", document]).await?;
        Ok(entries[0]["status"].as_str().map(str::to_owned))
    }

    async fn write_pages(&self) -> Result<(), Failure> {
        let known = self.ask(&["kb", "list"]).await?;
        for (path, texts) in PAGES {
            let there = found(&known, "path", path);
            let written = there.and_then(|page| page["revision"].as_u64()).unwrap_or_default();
            for (number, text) in
                texts.iter().enumerate().skip(usize::try_from(written).unwrap_or(0))
            {
                let file = demo_file(self.home(), "page.md", text)?;
                let expected = number.to_string();
                let put = ["kb", "put", path, &file, "--expect", &expected, "--as", "lan"];
                self.ask(&put).await?;
            }
        }
        let page = PAGES[0].0;
        let unsigned = self.ask(&["kb", "list", page]).await?[0]["signatures"] == 0;
        if unsigned {
            let meaning = ["--meaning", "read and understood", "--as", "minh"];
            self.ask(&[&["kb", "sign", page][..], &meaning].concat()).await?;
        }
        Ok(())
    }

    /// Two tables under admission: something was born in one, permits run out in the other.
    async fn protect_tables(&self) -> Result<(), Failure> {
        let film = ["birth", "protect", "public.film", "--code", "code", "--name-column", "title"];
        self.ask(&[&film[..], &["--enforce", "--as", "lan"]].concat()).await?;
        let admit = ["birth", "admit", "--collection", "public.film", "--code", "F-1", "--name"];
        let payload =
            ["The Trial", "--payload", r#"{"minutes": 118}"#, "--actor", "lan", "--commit"];
        self.ask(&[&admit[..], &payload].concat()).await?;

        let card = ["birth", "protect", "public.reader_card", "--code", "code", "--name-column"];
        let policy = ["holder", "--enforce", "--ttl", CARD_SECONDS, "--rule", "^R-[0-9]+$"];
        self.ask(&[&card[..], &policy, &["--as", "lan"]].concat()).await?;
        // A code whose permit ran out stays used up, so each fill asks for the next ones.
        let status = self.ask(&["birth", "status", "public.reader_card"]).await?;
        let counts = status["permits"].as_array().cloned().unwrap_or_default();
        let asked: u64 = counts.iter().filter_map(|row| row["permits"].as_u64()).sum();
        if !counts.iter().any(|row| row["status"] == "RESERVED") {
            let codes = format!(
                "{{\"code\": \"R-{}\", \"name\": \"Nguyễn Văn Bình\"}}\n{{\"code\": \"R-{}\", \"name\": \"Trần Thị Mai\"}}\n",
                asked + 101,
                asked + 102
            );
            let file = demo_file(self.home(), "cards.ndjson", &codes)?;
            let batch = ["birth", "batch", "--collection", "public.reader_card", "--file", &file];
            self.ask(&[&batch[..], &["--as", "lan"]].concat()).await?;
        }
        Ok(())
    }

    /// A second version of the building permit, which waits for the sovereign.
    async fn propose_a_change(&self) -> Result<(), Failure> {
        let changes = self.ask(&["workflow", "changes", "--workflow", "building_permit"]).await?;
        let change = id_of("second reading");
        if found(&changes, "change_request_id", &change).is_some() {
            return Ok(());
        }
        let step = "  - key: second_reading\n    title: { en: Second reading, vi: Thẩm định lần hai }\n    lane: planning\n    \
                    category: decision\n    pic: { class: reviewer }\n    deadline: 1 day\n\n  - key: sign\n";
        let ways =
            "  - { from: opinion, to: second_reading }\n  - { from: second_reading, to: sign }\n";
        let text = building(BUILDING)
            .replace("  - key: sign\n", step)
            .replace("  - { from: opinion, to: sign }\n", ways);
        let file = demo_file(self.home(), "building_permit-2.yaml", &text)?;
        let propose = ["workflow", "propose", &file, "--id", &change, "--title"];
        let title = ["A second pair of eyes before the signature", "--as", "lan"];
        self.ask(&[&propose[..], &title].concat()).await?;
        self.ask(&["workflow", "submit", &change, "--as", "lan"]).await?;
        Ok(())
    }

    /// One of the dead letters is proposed to run again.
    async fn propose_a_replay(&self) -> Result<(), Failure> {
        let dead = self.ask(&["queue", "dead", "list"]).await?;
        let Some(letter) = found(&dead, "idempotency_key", "thumbnail-1") else { return Ok(()) };
        let (job, batch) = (letter["job_id"].as_str().unwrap_or_default(), id_of("replay"));
        let propose = ["queue", "replay", "propose", job, "--batch", &batch, "--reason"];
        let why = ["the program is installed now", "--as", "lan"];
        match self.ask(&[&propose[..], &why].concat()).await {
            // Somebody went on with it, or proposed another one.
            Err(Failure::Failed(why)) if why.contains("refused") => Ok(()),
            other => other.map(|_| ()),
        }
    }

    async fn wait_for_what_takes_time(&self) -> Result<(), Failure> {
        self.until("the deadline of a step has passed", async || {
            let state = self.state(&id_of("building"), "land_check").await?;
            Ok(state.is_some_and(|state| state != "ready" && state != "in_progress"))
        })
        .await?;
        self.until("the worker is found silent", async || {
            Ok(self.health().await?.is_none_or(|status| status == "silent"))
        })
        .await
    }

    /// Workers for what people start now. What died can be done now: the program is there, and the host listens.
    async fn stay(mut self) -> Result<Hands, Failure> {
        let thumbnailer = self.program("thumbnailer", "echo '{}'")?;
        let url = format!("http://{}/", self.host);
        let command = ["--class", "command", "--as", "hand", "--allow", &thumbnailer];
        self.hands.keep("command-1", &command)?;
        self.hands.keep("http-1", &["--class", "http", "--as", "hand", "--allow-url", &url])?;
        self.store.close().await;
        Ok(self.hands)
    }

    /// Takes a step or task up when it is ready; whether it was.
    async fn claimed(&self, run: &str, key: &str, who: &str) -> Result<bool, Failure> {
        self.reaches(run, key).await?;
        if self.state(run, key).await?.as_deref() != Some("ready") {
            return Ok(false);
        }
        let class = if key.contains('/') { "task_pic_human" } else { "pic_human" };
        self.ask(&["step", "claim", run, key, "--class", class, "--as", who]).await?;
        Ok(true)
    }

    /// Waits until what comes before a step is done.
    async fn reaches(&self, run: &str, key: &str) -> Result<(), Failure> {
        self.until(&format!("the step {key} is ready"), async || {
            Ok(self.state(run, key).await?.is_some_and(|state| state != "not_started"))
        })
        .await
    }

    async fn state(&self, run: &str, key: &str) -> Result<Option<String>, Failure> {
        let work = self.store.work_at(run.parse().unwrap_or_default(), key).await?;
        Ok(work.map(|work| work.state_code))
    }

    async fn until(
        &self,
        what: &str,
        mut holds: impl AsyncFnMut() -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        for _ in 0..600 {
            if holds().await? {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(Failure::Failed(format!("the demo waited for a minute until {what}")))
    }
}

/// The first of a list whose field has this value.
fn found<'v>(list: &'v Value, field: &str, value: &str) -> Option<&'v Value> {
    list.as_array()?.iter().find(|one| one[field] == value)
}

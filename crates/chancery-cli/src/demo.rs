//! `chancery demo`: a walk that is also a tutorial, and a populated system to look at.
//!
//! Each step of the walk is a command line that is printed, parsed and run like one that was typed, so the walk cannot show what
//! the program does not do. What `--fill` makes comes about in the same way.

mod archive;
mod fill;
mod hands;
mod host;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chancery_engine::loops::{LOOPS, Loops};
use chancery_model::refusal::Code;
use chancery_store::{Role, Store};
use clap::{Args, Parser as _};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;

use crate::Context;
use crate::cli::{self, Cli};
use crate::failure::{Failure, Outcome};
use crate::output::{Out, pairs};
use crate::session::Session;

macro_rules! machine {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../machines/", $path, ".yaml")))
    };
}

const EXAMPLE: (&str, &str) =
    ("purchase_approval", include_str!("../../../machines/examples/purchase_approval.yaml"));

/// The machines of the product itself.
const PRODUCT: [(&str, &str); 11] = [
    machine!("step"),
    machine!("task"),
    machine!("workflow_run"),
    machine!("cut_request"),
    machine!("orchestrator_run"),
    machine!("birth_permit"),
    machine!("job"),
    machine!("dlq_replay"),
    machine!("finding"),
    machine!("governance_candidate"),
    machine!("proposal"),
];

/// Name, kind, class.
type Person = (&'static str, &'static str, &'static str);

const BUYERS: [Person; 4] = [
    ("alice", "human", "pic_human"),
    ("bob", "human", "reviewer"),
    ("carol", "human", "sovereign"),
    ("dora", "agent", "executor_worker"),
];
const CUTTERS: [Person; 3] = [
    ("rita", "human", "review_authority"),
    ("executor", "service", "executor_dot991"),
    ("verifier", "service", "verifier_dot992"),
];

const DOCUMENT: (&str, &str) =
    ("records-policy.md", include_str!("../../../examples/documents/records-policy.md"));

const WORKFLOW: (&str, &str) =
    ("business_trip.yaml", include_str!("../../../examples/workflows/business_trip.yaml"));
/// For the loops.
const CONNECTIONS: u32 = 6;
const FILING: [Person; 1] = [("hand", "service", "executor_worker")];

const DATA: &str = r#"{"item": "laser cutter", "amount": 7200}"#;
const ORDER_UNBACKED: &str =
    r#"{"facet": "supplier_confirmation", "event": {"order_number": "PO-117"}}"#;
const ORDER: &str = r#"{"audit_ref": "order form PO-117", "facet": "supplier_confirmation", "event": {"order_number": "PO-117"}}"#;

/// How a step is meant to end.
#[derive(Debug, Clone, Copy)]
enum End {
    Done,
    Refused(Code),
    /// A preview that says no.
    WouldBeRefused,
}

/// A step that was walked, for programs.
#[derive(Debug, Serialize)]
struct Step {
    command: String,
    exit: u8,
    result: Value,
}

struct Walk<'a> {
    context: &'a mut Context,
    steps: Vec<Step>,
}

pub(crate) const EXAMPLES: &str = "\
Without an option it walks: every line that begins with $ is a command that is run, and that you can type yourself. With --fill or \
--serve it runs the flows of the product until there is something to see on every page, in about half a minute; repeated, it goes \
on where it was. Ctrl-C ends it in good order.

Example:
  $ chancery demo
  $ chancery demo --serve";

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Make a populated system instead: runs, problems, permits, things to decide
    #[arg(long)]
    fill: bool,
    /// The same, then host it for browsers and print who can sign in
    #[arg(long)]
    pub(crate) serve: bool,
    /// With --serve: where to listen [default: 127.0.0.1:8080, or the next port that is free]
    #[arg(long, value_name = "ADDR", requires = "serve")]
    listen: Option<SocketAddr>,
}

pub(crate) async fn demo(context: &mut Context, args: &Demo) -> Result<Outcome, Failure> {
    if args.fill || args.serve {
        return Box::pin(host::populate(context, args)).await;
    }
    let home = context.config.home.path().to_owned();
    let mut walk = Walk { context, steps: Vec::new() };
    walk.say("A purchase from draft to delivery, a document from text to verified units, and a workflow from its proposal to the end of a run. Every line that begins with $ is a command you can type yourself.")?;
    walk.say(&format!("$ export CHANCERY_HOME={}", quoted(&home.display().to_string())))?;
    walk.set_up(&home).await?;
    let run = Uuid::now_v7().to_string();
    walk.buy(&run).await?;
    walk.look_back(&run).await?;
    walk.cut_a_document(&home).await?;
    walk.run_a_workflow(&home).await?;
    walk.farewell(&home, &run)?;
    if walk.context.out.is_json() {
        let answer = json!({ "run": run, "steps": walk.steps });
        walk.context.out.json(&answer)?;
    }
    Ok(Outcome::Done)
}

impl Walk<'_> {
    async fn set_up(&mut self, home: &Path) -> Result<(), Failure> {
        self.step(
            "First a database: a private PostgreSQL in the data directory.",
            &["db", "start"],
            End::Done,
        )
        .await?;

        self.introduce("Four principals, each with the one class it acts in.", &BUYERS).await?;

        let files = write_machines(home)?;
        let why = "The rules are a file. It is checked as a whole before it may count: every state reachable, every invariant proven.";
        self.step(why, &["machine", "check", &files[0]], End::Done).await?;
        self.step(
            "Applied, it is rows in the database, and the database decides.",
            &["machine", "apply", &files[0]],
            End::Done,
        )
        .await?;
        let mut why = "The product's own machines are of the same kind. Those whose guards are installed are active, the others \
                       are stored and wait.";
        for file in &files[1..] {
            self.step(why, &["machine", "apply", file], End::Done).await?;
            why = "";
        }
        self.step("", &["machine", "list"], End::Done).await
    }

    async fn introduce(&mut self, why: &str, people: &[Person]) -> Result<(), Failure> {
        let mut why = why;
        for (name, kind, class) in people {
            let add = ["principal", "add", name, "--kind", kind, "--class", class];
            self.step(why, &add, End::Done).await?;
            why = "";
        }
        let mut why =
            "Each signs with a key of its own; the private half never leaves the keystore.";
        for (name, ..) in people {
            if !self.has_key(name).await? {
                self.step(why, &["key", "new", name], End::Done).await?;
                why = "";
            }
        }
        Ok(())
    }

    async fn buy(&mut self, run: &str) -> Result<(), Failure> {
        let start = [
            "run",
            "start",
            "--machine",
            "purchase_approval",
            "--id",
            run,
            "--data",
            DATA,
            "--as",
            "alice",
        ];
        self.step("Alice wants to buy something.", &start, End::Done).await?;
        self.step(
            "Where it is, which ways lead on, and what each needs.",
            &["run", "show", run],
            End::Done,
        )
        .await?;
        self.step(
            "She hands it in.",
            &["run", "move", run, "--to", "submitted", "--as", "alice"],
            End::Done,
        )
        .await?;

        let why = "Refusal 1. She tries to approve it herself. All problems are named, not just the first.";
        let own = ["run", "move", run, "--to", "approved", "--as", "alice"];
        self.step(why, &own, End::Refused(Code::RS006)).await?;
        let why = "Refusal 2. Dora tries to order what nobody approved. The facts say what is possible from here.";
        let early = ["run", "move", run, "--to", "ordered", "--as", "dora", "--evidence", ORDER];
        self.step(why, &early, End::Refused(Code::RS004)).await?;

        let why = "Bob asks before he acts. A preview changes nothing; it is judged by the same function that would do it.";
        let ask = ["run", "move", run, "--to", "approved", "--as", "bob", "--preview"];
        self.step(why, &ask, End::WouldBeRefused).await?;
        let why = "7200 is beyond a reviewer's limit. Carol may.";
        let ask = ["run", "move", run, "--to", "approved", "--as", "carol", "--preview"];
        self.step(why, &ask, End::Done).await?;
        let approve = [
            "run",
            "move",
            run,
            "--to",
            "approved",
            "--as",
            "carol",
            "--reason",
            "needed for the workshop",
        ];
        self.step("", &approve, End::Done).await?;

        let why = "Refusal 3. Dora orders, but without a reference to the signed order form.";
        let unbacked =
            ["run", "move", run, "--to", "ordered", "--as", "dora", "--evidence", ORDER_UNBACKED];
        self.step(why, &unbacked, End::Refused(Code::RS007)).await?;
        let order = [
            "run",
            "move",
            run,
            "--to",
            "ordered",
            "--as",
            "dora",
            "--key",
            "order-PO-117",
            "--evidence",
            ORDER,
        ];
        self.step(
            "With it, she can. She names her request, in case the line breaks.",
            &order,
            End::Done,
        )
        .await?;
        self.step(
            "The same request again is answered again, and nothing is ordered twice.",
            &order,
            End::Done,
        )
        .await?;
        let receive = ["run", "move", run, "--to", "received", "--as", "alice"];
        self.step("The goods arrive.", &receive, End::Done).await
    }

    async fn look_back(&mut self, run: &str) -> Result<(), Failure> {
        let why = "Every move that was made, signed and chained. The refused ones changed nothing.";
        self.step(why, &["run", "history", run], End::Done).await?;
        let why = "What others were told: CloudEvents, written in the transaction of the move.";
        self.step(why, &["run", "history", run, "--events"], End::Done).await?;
        let why = "The audit recomputes every hash, link and signature itself.";
        self.step(why, &["audit", "verify"], End::Done).await
    }

    async fn cut_a_document(&mut self, home: &Path) -> Result<(), Failure> {
        let why = "Now a document. Four duties, and nobody has two: alice asks, rita decides, one service cuts, another verifies.";
        self.introduce(why, &CUTTERS).await?;
        let file = demo_file(home, DOCUMENT.0, DOCUMENT.1)?;
        let name = "records-policy";
        let add = ["doc", "add", &file, "--id", name, "--prefix", "RP", "--as", "alice"];
        let steps: [(&str, &[&str]); 8] = [
            (
                "The text is stored. It was cut in memory first: what cannot be cut is refused.",
                &add,
            ),
            ("Alice asks for the cut.", &["cutter", "mark", name, "--as", "alice"]),
            (
                "A sweep puts it before the review authority.",
                &["cutter", "sweep", "--as", "executor"],
            ),
            (
                "Rita reads the plan, every unit with its lines, and signs her decision.",
                &["cutter", "review", name, "--preview"],
            ),
            (
                "",
                &[
                    "cutter",
                    "review",
                    name,
                    "--approve",
                    "--rationale",
                    "read in full",
                    "--as",
                    "rita",
                ],
            ),
            (
                "The executor applies exactly this plan.",
                &["cutter", "cut", name, "--as", "executor"],
            ),
            (
                "The verifier trusts nobody: it cuts the source again and compares.",
                &["cutter", "verify", name, "--as", "verifier"],
            ),
            ("Who did what, signed with which key, past which guards.", &["cutter", "show", name]),
        ];
        for (why, args) in steps {
            self.step(why, args, End::Done).await?;
        }
        self.step(
            "Put together again, the units are the document.",
            &["doc", "cat", name],
            End::Done,
        )
        .await?;
        self.step("And everything fits, the units included.", &["audit", "verify"], End::Done).await
    }

    async fn run_a_workflow(&mut self, home: &Path) -> Result<(), Failure> {
        let why =
            "Last, a workflow: steps of people and of programs. A service does what needs nobody.";
        self.introduce(why, &FILING).await?;
        let file = demo_file(home, WORKFLOW.0, WORKFLOW.1)?;
        let (change, run) = (Uuid::now_v7().to_string(), Uuid::now_v7().to_string());
        let propose = ["workflow", "propose", &file, "--id", &change, "--as", "alice"];
        let start = [
            "workflow",
            "start",
            "business_trip",
            "--id",
            &run,
            "--input",
            r#"{"to": "Hanoi", "abroad": false}"#,
            "--as",
            "alice",
        ];
        let steps: [(&str, &[&str]); 6] = [
            ("A definition enters by a proposal. What is wrong with it is said now.", &propose),
            ("Handed in, its text stands.", &["workflow", "submit", &change, "--as", "alice"]),
            ("Others approve exactly this text.", &["workflow", "approve", &change, "--as", "bob"]),
            ("", &["workflow", "approve", &change, "--as", "carol"]),
            ("Merged, it can be started.", &["workflow", "merge", &change, "--as", "alice"]),
            ("Alice starts a run.", &start),
        ];
        for (why, args) in steps {
            self.step(why, args, End::Done).await?;
        }
        let session = Session::open(self.context).await?;
        let store = Store::with_connections(&session.target, Role::App, CONNECTIONS)?;
        let (end, stop) = watch::channel(false);
        self.say("\nA host drives it (`chancery serve`); here the walk does so itself.")?;
        let loops = Loops::start(LOOPS, &store, &format!("demo:{}", Uuid::now_v7()), &stop);
        let walked = self.walk_the_run(&store, &run).await;
        end.send_replace(true);
        loops.ended().await;
        walked?;
        self.step("", &["workflow", "status", &run], End::Done).await?;
        self.step("And everything fits, the run included.", &["audit", "verify"], End::Done).await
    }

    async fn walk_the_run(&mut self, store: &Store, run: &str) -> Result<(), Failure> {
        reaches(store, run, "plan", "ready").await?;
        let claim = ["step", "claim", run, "plan", "--as", "alice"];
        self.step("The first step is hers.", &claim, End::Done).await?;
        let why = "Refusal 4. The output breaks the contract of the step.";
        let free = ["step", "complete", run, "plan", "--output", r#"{"cost": 0}"#, "--as", "alice"];
        self.step(why, &free, End::Refused(Code::RW008)).await?;
        let done =
            ["step", "complete", run, "plan", "--output", r#"{"cost": 700}"#, "--as", "alice"];
        self.step("", &done, End::Done).await?;
        reaches(store, run, "file", "ready").await?;
        let why = "The trip stays at home, so nobody insures it. A worker files it.";
        self.step(why, &["worker", "--class", "noop", "--once", "--as", "hand"], End::Done).await?;
        reaches(store, run, "file", "completed").await
    }

    fn farewell(&mut self, home: &Path, run: &str) -> Result<(), Failure> {
        let file = demo_folder(home).join(format!("{}.yaml", EXAMPLE.0));
        let copy = format!("cp {} mine.yaml", quoted(&file.display().to_string()));
        let next = pairs(&[
            (
                "  what the machine allows, and to whom",
                "chancery machine show purchase_approval".to_owned(),
            ),
            ("  a machine of your own: copy, rename, change", copy),
            ("  and put it to work", "chancery machine apply mine.yaml".to_owned()),
            ("  every run there is", "chancery run list".to_owned()),
            ("  the units of the document", "chancery doc units records-policy".to_owned()),
            (
                "  the workflow, and who does what",
                "chancery workflow show business_trip".to_owned(),
            ),
            ("  look inside, with a login that only reads", "chancery db psql".to_owned()),
            ("  is the ground safe?", "chancery doctor".to_owned()),
            ("  good night", "chancery db stop".to_owned()),
        ]);
        self.say(&format!("\nThe run of this walk is {run}. Try next:\n{next}"))
    }

    async fn step(&mut self, why: &str, args: &[&str], end: End) -> Result<(), Failure> {
        let command = format!(
            "chancery {}",
            args.iter().map(|arg| quoted(arg)).collect::<Vec<_>>().join(" ")
        );
        self.say(&if why.is_empty() {
            format!("\n$ {command}")
        } else {
            format!("\n{why}\n$ {command}")
        })?;

        let cli = Cli::try_parse_from(std::iter::once("chancery").chain(args.iter().copied()))
            .map_err(|error| {
                Failure::Failed(format!("`{command}` is no command any more: {error}"))
            })?;
        let mut config = self.context.config.clone();
        config.principal = cli.globals.principal;
        let json = self.context.out.is_json();
        let out = if json { Out::kept() } else { Out::to_stdout(false) };
        let mut context = Context { config, out };
        let outcome = match (cli::dispatch(&mut context, cli.command).await, end) {
            (Ok(outcome @ Outcome::Done), End::Done)
            | (Ok(outcome @ Outcome::Refused), End::WouldBeRefused) => outcome,
            (Err(failure), End::Refused(code)) if failure.code() == Some(code) => {
                failure.report(&mut context.out)
            }
            (end, _) => {
                if let Err(failure) = end {
                    self.context.out.note(&failure.as_text());
                }
                let stops = format!("the walk stops: `{command}` did not end as it should");
                return Err(Failure::Failed(stops));
            }
        };
        if json {
            let result = serde_json::from_slice(&context.out.taken()).unwrap_or_default();
            self.steps.push(Step { command, exit: outcome.exit_code(), result });
        }
        Ok(())
    }

    fn say(&mut self, text: &str) -> Result<(), Failure> {
        if self.context.out.is_json() { Ok(()) } else { self.context.out.line(text) }
    }

    /// Whether the principal can sign from this keystore.
    async fn has_key(&self, name: &str) -> Result<bool, Failure> {
        let store = Session::open(self.context).await?.store(Role::Migrator).await?;
        let here = self.context.config.keystore().list(name)?;
        let keys = store.signing_keys().await?;
        Ok(keys.iter().any(|key| key.revoked_at.is_none() && here.contains(&key.key_id)))
    }
}

/// Waits until the loops have brought a step to a state.
async fn reaches(store: &Store, run: &str, key: &str, state: &str) -> Result<(), Failure> {
    let run: Uuid = run.parse().unwrap_or_default();
    for _ in 0..200 {
        let work = store.work_at(run, key).await?;
        if work.is_some_and(|work| work.state_code == state) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(Failure::Failed(format!("the walk stops: the step {key} is not {state} after 20 s")))
}

fn demo_folder(home: &Path) -> PathBuf {
    home.join("demo")
}

/// Lays a file where the printed commands can find it.
fn demo_file(home: &Path, name: &str, text: &str) -> Result<String, Failure> {
    let file = demo_folder(home).join(name);
    fs::create_dir_all(demo_folder(home))
        .and_then(|()| fs::write(&file, text))
        .map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))?;
    Ok(file.display().to_string())
}

/// Lays the machine files where the printed commands can find them; the example comes first.
fn write_machines(home: &Path) -> Result<Vec<String>, Failure> {
    let mut files = Vec::new();
    for (name, text) in std::iter::once(EXAMPLE).chain(PRODUCT) {
        let file = demo_file(home, &format!("{name}.yaml"), text)?;
        files.push(file);
    }
    Ok(files)
}

/// An argument as a shell takes it.
fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@,+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_pasted_into_a_shell() {
        assert_eq!(quoted("rpc:purchase_submit"), "rpc:purchase_submit");
        assert_eq!(quoted(r#"{"a": 1}"#), r#"'{"a": 1}'"#);
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    /// FSM-9: what the demo applies holds together.
    #[test]
    fn the_embedded_machines_hold_together() {
        use chancery_model::machine::{Definition, File, check};
        for (name, text) in std::iter::once(EXAMPLE).chain(PRODUCT) {
            let definition = Definition::from(&File::parse(text).expect(name));
            assert_eq!(definition.machine, name);
            assert_eq!(check(&definition), [], "{name}");
        }
    }
}

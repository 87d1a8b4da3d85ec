//! `chancery mcp`: a server of the Model Context Protocol on stdio, for one agent.
//!
//! The agent acts under its own principal and signs with its own key; every tool calls the engine function that the command line
//! calls, and the database judges. Calls are answered one after the other, in the order in which they came. Nothing that matters is
//! kept in this process: it can be killed between any two calls, and the next one goes on.

mod cut;
mod look;
mod propose;
mod tools;
mod wire;
mod work;

use std::time::{Duration, Instant};

use chancery_engine::identity::Keystore;
use chancery_engine::run::Actor;
use chancery_model::refusal::Code;
use chancery_store::agent::Standing;
use chancery_store::{Role, Store};
use clap::Args;
use serde_json::{Value, json};

use crate::Context;
use crate::failure::{Failure, Outcome};
use crate::session::{Session, refusal};
use wire::{Fault, Incoming, Message};

/// The version of the protocol that is spoken here.
const PROTOCOL: &str = "2025-06-18";
/// An agent that says nothing for so long has its leases kept no more: its work goes to somebody else when they run out.
const QUIET: Duration = Duration::from_secs(3_600);
const LONGEST_LOOK: Duration = Duration::from_secs(20);

pub(crate) const EXAMPLES: &str = "\
Messages are JSON-RPC on stdin and stdout; a client of the protocol starts this and ends it by closing stdin. Who acts is an \
agent with a key in the keystore. With --class it may also take up steps of these executor classes, one of each at a time; their \
leases are kept while it works. There is no tool to vote: people decide what agents ask for.

Example:
  $ chancery principal add scribe --kind agent --class executor_worker
  $ chancery key new scribe
  $ chancery mcp --class drafting --as scribe";

const INSTRUCTIONS: &str = "\
You act under your own principal in a system where rules in a database decide what may be done, and everything is signed, logged \
and kept. Begin with what_can_i_do. Work: claim a step, then complete it, or say wait, block or fail. To change how things are \
done, propose it and ask_for_approval; people vote, you cannot. A refused call changed nothing: its code, facts and hint say why \
and what would help. Repeating a call right away does nothing twice.";

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// An executor class whose steps the agent may take up; several are several options
    #[arg(long = "class", value_name = "CLASS")]
    classes: Vec<String>,
}

/// One agent's way in.
#[derive(Debug)]
struct Server {
    store: Store,
    keystore: Keystore,
    principal: String,
    /// The name that jobs are leased to: the same after a restart, so that what was held is still held.
    worker: String,
    classes: Vec<String>,
    has_begun: bool,
    /// When the agent last asked for something.
    heard: Instant,
}

pub(crate) async fn mcp(context: &Context, args: &Mcp) -> Result<Outcome, Failure> {
    let principal = context.config.acting()?.to_owned();
    let store = Session::open(context).await?.store(Role::App).await?;
    let Some(who) = store.standing(&principal).await? else {
        return Err(refusal(&store, Code::RI001, json!({ "principal": principal })).await);
    };
    if who.kind != "agent" {
        // With somebody else's key the log would say that they did what an agent did.
        return Err(Failure::Usage(format!(
            "{principal} is a {}; an agent acts under a principal of its own: chancery principal add NAME --kind agent",
            who.kind
        )));
    }
    let known = store.executor_classes().await?;
    if let Some(class) =
        args.classes.iter().find(|c| !known.iter().any(|k| k.executor_class == **c))
    {
        return Err(Failure::Usage(format!(
            "there is no executor class {class}; see chancery queue class list"
        )));
    }
    let of_ours = known.iter().filter(|class| args.classes.contains(&class.executor_class));
    let shortest = of_ours.map(|class| class.lease_seconds).min();
    let look = shortest
        .and_then(|seconds| u64::try_from(seconds).ok())
        .map_or(LONGEST_LOOK, |s| (Duration::from_secs(s) / 3).min(LONGEST_LOOK));
    let mut server = Server {
        store,
        keystore: context.config.keystore(),
        worker: format!("mcp:{principal}"),
        principal,
        classes: args.classes.clone(),
        has_begun: false,
        heard: Instant::now(),
    };
    server.serve(look).await;
    Ok(Outcome::Done)
}

impl Server {
    /// Answers until nobody asks any more.
    async fn serve(&mut self, look: Duration) {
        let mut incoming = wire::lines();
        let mut ticks = tokio::time::interval(look);
        loop {
            let line = tokio::select! {
                line = incoming.recv() => line,
                _ = ticks.tick() => {
                    self.keep_leases().await;
                    continue;
                }
            };
            let Some(line) = line else { return };
            self.heard = Instant::now();
            let (id, answer) = match line {
                Incoming::TooLong => {
                    let why = format!("a message has at most {} bytes", wire::MOST_BYTES);
                    (Value::Null, Err(Fault(wire::INVALID_REQUEST, why)))
                }
                Incoming::Line(line) => match wire::read(&line) {
                    Ok(None | Some(Message::Notification)) => continue,
                    Ok(Some(Message::Request { id, method, params })) => {
                        (id, self.answer(&method, params).await)
                    }
                    Err((id, fault)) => (id, Err(fault)),
                },
            };
            if !wire::send(&id, answer) {
                return;
            }
        }
    }

    async fn answer(&mut self, method: &str, params: Value) -> Result<Value, Fault> {
        match method {
            "initialize" => self.initialize(&params),
            "ping" => Ok(json!({})),
            _ if !self.has_begun => {
                Err(Fault(wire::INVALID_REQUEST, "initialize comes first".to_owned()))
            }
            "tools/list" => Ok(json!({ "tools": tools::list() })),
            "tools/call" => Box::pin(tools::call(self, params)).await,
            "resources/list" => Box::pin(self.resources()).await,
            "resources/templates/list" => Ok(json!({ "resourceTemplates": look::templates() })),
            "resources/read" => Box::pin(self.read_resource(&params)).await,
            _ => Err(Fault(wire::METHOD_NOT_FOUND, format!("there is no method {method}"))),
        }
    }

    fn initialize(&mut self, params: &Value) -> Result<Value, Fault> {
        if !params["protocolVersion"].is_string() {
            let why = "protocolVersion is a text".to_owned();
            return Err(Fault(wire::INVALID_PARAMS, why));
        }
        self.has_begun = true;
        // Whatever version was asked for, this is the one that is spoken here; the client decides whether it goes on.
        Ok(json!({
            "protocolVersion": PROTOCOL,
            "capabilities": { "tools": {}, "resources": {} },
            "serverInfo": { "name": "chancery", "title": "Chancery", "version": env!("CARGO_PKG_VERSION") },
            "instructions": INSTRUCTIONS,
        }))
    }

    /// Keeps what the agent works on, as long as it is there.
    async fn keep_leases(&self) {
        if self.classes.is_empty() || self.heard.elapsed() > QUIET {
            return;
        }
        let kept = async {
            let held = self.store.jobs_leased_to(&self.principal, &self.worker).await?;
            let leases: Vec<_> = held.iter().map(|job| (job.job_id, job.lease_no)).collect();
            if !leases.is_empty() {
                self.store.fn_job_extend(&self.worker, &self.principal, &leases).await?;
            }
            Ok::<(), chancery_store::Error>(())
        };
        if let Err(error) = kept.await {
            tracing::warn!(%error, "leases could not be kept");
        }
    }

    /// The agent with its key as it is now: a key that was rotated is used from then on.
    async fn actor(&self) -> Result<Actor, Failure> {
        Ok(Actor::open(&self.store, &self.keystore, &self.principal).await?)
    }

    async fn standing(&self) -> Result<Standing, Failure> {
        match self.store.standing(&self.principal).await? {
            Some(who) => Ok(who),
            None => Err(self.refuse(Code::RI001, json!({ "principal": self.principal })).await),
        }
    }

    /// As a route of the HTTP API asks it: one of the agent's classes may this. The doors behind it judge every write again.
    async fn require(&self, permission: &str) -> Result<(), Failure> {
        let who = self.standing().await?;
        if who.permissions.iter().any(|held| held == permission) {
            return Ok(());
        }
        let classes = self.store.classes_that_may(permission).await?;
        let facts = json!({
            "principal": self.principal, "permission": permission, "classes": classes,
        });
        Err(self.refuse(Code::RI040, facts).await)
    }

    async fn refuse(&self, code: Code, facts: Value) -> Failure {
        refusal(&self.store, code, facts).await
    }
}

//! `chancery relay`: hands events on to NATS JetStream.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use chancery_engine::event::relay::{self, Options, Relay as Loop, State, Status};
use chancery_engine::event::{Servers, Trouble};
use chancery_store::Role;
use clap::Args;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::Context;
use crate::failure::{Failure, Outcome};
use crate::output::Out;
use crate::session::Session;

pub(crate) const EXAMPLES: &str = "\
Events go out as CloudEvents 1.0, in the order of their positions, on subjects like chancery.custom.purchase.submitted. The \
position is kept in the database under the consumer's name, so that a relay can be killed at any moment and started \
elsewhere. Several relays of one name are safe: one works, the others stand by. Who runs it holds the class executor_worker. \
Ctrl-C or SIGTERM ends it when its batch is done.

Example:
  $ chancery relay --nats nats://127.0.0.1:4222 --as relay
  $ chancery relay --nats nats://a.example,nats://b.example --prefix acme --consumer acme --as relay
  $ chancery relay --nats nats://127.0.0.1:4222 --once --json --as relay";

/// So often a program, or somebody who watches, hears how it goes.
const REPORT: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(crate) struct Relay {
    /// The servers: nats://[USER:PASSWORD@]HOST[:PORT] or tls://…, with commas between them
    #[arg(
        long,
        value_name = "URL",
        value_delimiter = ',',
        required = true,
        env = "NATS_URL",
        hide_env_values = true
    )]
    nats: Vec<String>,
    /// The stream; it is made when it is missing
    #[arg(long, value_name = "NAME", default_value = "CHANCERY")]
    stream: String,
    /// What subjects begin with
    #[arg(long, value_name = "WORD", default_value = "chancery")]
    prefix: String,
    /// The name that the position is kept under
    #[arg(long, value_name = "NAME", default_value = "nats")]
    consumer: String,
    /// Send what is there now, then end
    #[arg(long)]
    once: bool,
}

pub(crate) async fn relay(context: &mut Context, args: &Relay) -> Result<Outcome, Failure> {
    let servers = Servers::parse(args.nats.iter().map(String::as_str)).map_err(Failure::Usage)?;
    let options = Options {
        servers,
        stream: args.stream.clone(),
        prefix: args.prefix.clone(),
        consumer: args.consumer.clone(),
        principal: context.config.acting()?.to_owned(),
        once: args.once,
    };
    let store = Session::open(context).await?.store(Role::App).await?;
    let relay = Loop::new(store, options)?;
    let shutdown = asked_to_end()?;
    let mut told = Told::new(context.out.clone());
    let ended = relay.run(shutdown, |status| told.hear(status)).await;
    context.out.progress("");
    let status = match ended {
        Ok(status) => status,
        Err(error) => return Err(error.into()),
    };
    if !context.out.is_json() {
        context.out.line(&format!(
            "{} handed on, position {} in stream {}",
            status.published, status.position, status.stream
        ))?;
    }
    told.outcome
}

/// Tells how it goes: programs get a line whenever something changes, and at most one a second while events flow.
struct Told {
    out: Out,
    watched: bool,
    last: Option<(State, Option<Trouble>)>,
    reported: Option<Instant>,
    outcome: Result<Outcome, Failure>,
}

impl Told {
    fn new(out: Out) -> Self {
        let watched = std::io::stderr().is_terminal();
        Self { out, watched, last: None, reported: None, outcome: Ok(Outcome::Done) }
    }

    fn hear(&mut self, status: &Status) {
        let now = Some((status.state, status.trouble.clone()));
        let changed = self.last != now;
        let due = self.reported.is_none_or(|at| at.elapsed() >= REPORT);
        if !changed && !due {
            return;
        }
        let eased = changed && self.last.as_ref().is_some_and(|(_, trouble)| trouble.is_some());
        self.last = now;
        self.reported = Some(Instant::now());
        if self.out.is_json() {
            if let Err(failure) = self.out.line(&json!(status).to_string()) {
                self.outcome = Err(failure);
            }
            return;
        }
        if eased && status.trouble.is_none() {
            self.out.note("events flow again");
        }
        if changed && status.state == State::Standby {
            self.out.note(&format!(
                "another relay of consumer {} is at work; standing by",
                status.consumer
            ));
        }
        if self.watched {
            let state = json!(status.state);
            self.out.progress(&format!(
                "{} · position {} · {} handed on",
                state.as_str().unwrap_or_default(),
                status.position,
                status.published
            ));
        }
    }
}

/// Turns true at SIGTERM or Ctrl-C. Asked twice, the process ends at once: the position only ever tells of what was taken.
fn asked_to_end() -> Result<watch::Receiver<bool>, Failure> {
    let listen =
        |kind| signal(kind).map_err(|error| Failure::Failed(format!("no signal handler: {error}")));
    let (mut terminate, mut interrupt) =
        (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let (ask, asked) = watch::channel(false);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if ask.send_replace(true) {
                std::process::exit(130);
            }
        }
    });
    Ok(asked)
}

impl From<relay::Error> for Failure {
    fn from(error: relay::Error) -> Self {
        match error {
            relay::Error::Engine(error) => error.into(),
            relay::Error::Unfit(message) => Self::Usage(message),
            error @ (relay::Error::Stream(_) | relay::Error::Trouble(_) | relay::Error::Led(_)) => {
                Self::Failed(error.to_string())
            }
        }
    }
}

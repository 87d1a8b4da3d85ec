#![doc = include_str!("../README.md")]

mod cli;
mod config;
mod failure;
mod lifeline;
mod output;
mod session;
mod stop;

mod approval;
mod audit;
mod birth;
mod cutter;
mod db;
mod demo;
mod doc;
mod doctor;
mod governance;
mod kb;
mod key;
mod machine;
mod manual;
mod mcp;
mod orchestrate;
mod principal;
mod proposal;
mod queue;
mod relay;
mod run;
mod serve;
mod step;
mod token;
mod worker;
mod workflow;

mod acting;
mod address;
mod document;
mod entry;
mod password;
mod saying;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use chancery_server::telemetry::Exporter;
use clap::Parser as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::cli::{Cli, Command, Cutter, DotBirthAdmit, Globals};
use crate::config::Config;
use crate::failure::{Failure, Outcome};
use crate::output::Out;
use crate::serve::LogFormat;

/// What every command works with: what was asked for in the environment, and where answers go.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) config: Config,
    pub(crate) out: Out,
}

/// The program `chancery`.
pub fn chancery() -> ExitCode {
    // Wrong usage ends here with exit code 2, help and version with 0.
    let Cli { globals, command } = Cli::parse();
    program(&globals, command)
}

/// The program `cutter`: the same as `chancery cutter`.
pub fn cutter() -> ExitCode {
    let Cutter { globals, command } = Cutter::parse();
    program(&globals, Command::Cutter(command))
}

/// The program `dot-birth-admit`: the same as `chancery birth admit`.
pub fn dot_birth_admit() -> ExitCode {
    let DotBirthAdmit { globals, admit } = DotBirthAdmit::parse();
    program(&globals, Command::Birth(birth::Command::Admit(admit)))
}

fn program(globals: &Globals, command: Command) -> ExitCode {
    let serve = if let Command::Serve(serve) = &command { Some(serve) } else { None };
    // Sends what is left when it goes.
    let _exporter = log_to_stderr(globals.verbose, serve);
    let mut out = Out::to_stdout(globals.json);
    let outcome =
        run(globals, command, &mut out).unwrap_or_else(|failure| failure.report(&mut out));
    ExitCode::from(outcome.exit_code())
}

fn run(globals: &Globals, command: Command, out: &mut Out) -> Result<Outcome, Failure> {
    let config = Config::read(globals)?;
    tracing::debug!(?config, "configured");
    // One command runs a few statements; a host answers many at once.
    let mut builder = match command {
        Command::Serve(_) | Command::Demo(demo::Demo { serve: true, .. }) => {
            tokio::runtime::Builder::new_multi_thread()
        }
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = builder
        .enable_all()
        .build()
        .map_err(|error| Failure::Failed(format!("no runtime: {error}")))?;
    let works_for_another = config.works_for_another;
    let mut context = Context { config, out: out.clone() };
    runtime.block_on(async {
        let work = Box::pin(cli::dispatch(&mut context, command));
        tokio::select! {
            outcome = work => outcome,
            () = lifeline::starter_is_gone(), if works_for_another => {
                Err(Failure::Failed("whoever started this process is gone".to_owned()))
            }
        }
    })
}

fn log_to_stderr(verbose: u8, serve: Option<&serve::Serve>) -> Option<Exporter> {
    // A slow statement of a migration is no news to its user, and would be printed in full.
    let filter = EnvFilter::new(match verbose {
        0 => "warn,sqlx=error",
        1 => "info,sqlx=warn",
        2 => "debug,sqlx=info",
        _ => "trace",
    });
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match serve.map(serve::Serve::log_format) {
        Some(LogFormat::Json) => lines.json().with_filter(filter).boxed(),
        _ => lines
            .with_ansi(std::io::stderr().is_terminal())
            .without_time()
            .with_filter(filter)
            .boxed(),
    };
    let exporter = serve.and_then(serve::Serve::collector).map(|it| Exporter::start(&it));
    let traces = exporter.as_ref().map(Exporter::layer);
    tracing_subscriber::registry().with(lines).with(traces).init();
    exporter
}

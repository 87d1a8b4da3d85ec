//! `chancery worker`: does work that waits, under a duty of the cutter or for an executor class of the queue.

mod cutter;
mod entries;
mod jobs;

use std::path::PathBuf;
use std::time::Duration;

use chancery_engine::queue::Prefix;
use clap::Args;

use crate::Context;
use crate::failure::{Failure, Outcome};

pub(crate) const EXAMPLES: &str = "\
With --class, a worker leases jobs of the queue, keeps the leases while it works, and reports: plain jobs, and steps of workflows. \
The classes noop, command, http and cutter are built in; others are served over HTTP (docs/how-to/work-as-an-executor.md). With --role, it does what the \
cutter has waiting: an executor cuts what is approved, a verifier checks what is cut, each with the login and the key of its duty. \
Several workers at once are safe: the database gives each job and each entry to one of them. Ctrl-C or SIGTERM ends a worker in good \
order: what runs is finished and reported, what was not started is given back.

Example:
  $ chancery worker --class noop
  $ chancery worker --class command --allow report=/usr/local/bin/report --allow-option report=--format --concurrency 4
  $ chancery worker --class http --allow-url https://api.example.org/v1/ --allow-env API_TOKEN=https://api.example.org/v1/
  $ chancery worker --class cutter --as executor
  $ chancery worker --role executor --as executor
  $ chancery worker --role verifier --as verifier --once";

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("work").required(true).args(["class", "role"]))]
pub(crate) struct Worker {
    /// An executor class of the queue
    #[arg(long, value_name = "NAME")]
    class: Option<String>,
    /// A duty of the cutter
    #[arg(long, value_enum)]
    role: Option<entries::Duty>,
    /// Do what waits now, then end
    #[arg(long)]
    once: bool,
    /// With --role: how long to wait before looking again
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,
    /// With --class: so many jobs at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1000))]
    concurrency: u64,
    /// With --class: so many jobs are leased ahead
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u64).range(0..=4000))]
    prefetch: u64,
    /// With --class: the worker's name, which leases are given to; one of its own by default
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// With --class command: a program that jobs may call by this name; may be given several times
    #[arg(long, value_name = "NAME=PATH", value_parser = allowed)]
    allow: Vec<(String, PathBuf)>,
    /// With --class command: an argument beginning with `-` that jobs may give this program; may be given several times
    #[arg(long, value_name = "NAME=OPTION", value_parser = allowed_option, allow_hyphen_values = true)]
    allow_option: Vec<(String, String)>,
    /// With --class http: calls go only below this address; may be given several times
    #[arg(long, value_name = "URL")]
    allow_url: Vec<Prefix>,
    /// With --class http: an environment variable whose value headers may carry, below this address alone [default: the one that
    /// --allow-url gave]; may be given several times
    #[arg(long, value_name = "NAME[=URL]", value_parser = allowed_variable)]
    allow_env: Vec<AllowedVariable>,
    /// With --class http: where call-backs reach `chancery serve` [default: where it listens on this machine]
    #[arg(long, value_name = "URL")]
    callback_url: Option<String>,
    /// With --class http: so long a call may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    call_timeout: u64,
    /// With --class cutter: who verifies what is written [default: the only verifier there is]
    #[arg(long, value_name = "NAME")]
    verifier: Option<String>,
    /// With --class: so long running jobs may take once the worker was asked to end
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=3600))]
    grace: u64,
}

/// A variable of the environment, and where its value may be sent.
#[derive(Debug, Clone)]
struct AllowedVariable {
    name: String,
    goes_to: Option<Prefix>,
}

fn allowed_variable(text: &str) -> Result<AllowedVariable, String> {
    let (name, url) = text.split_once('=').map_or((text, None), |(name, url)| (name, Some(url)));
    if name.is_empty() {
        return Err("expected the name of an environment variable, or NAME=URL".to_owned());
    }
    let goes_to = url.map(str::parse).transpose().map_err(|error| format!("{name}: {error}"))?;
    Ok(AllowedVariable { name: name.to_owned(), goes_to })
}

fn allowed_option(text: &str) -> Result<(String, String), String> {
    let (name, option) = text.split_once('=').ok_or("expected NAME=OPTION")?;
    if name.is_empty() || !option.starts_with('-') || option.contains('=') {
        return Err("expected a program's name and an option such as --format".to_owned());
    }
    Ok((name.to_owned(), option.to_owned()))
}

fn allowed(text: &str) -> Result<(String, PathBuf), String> {
    let (name, path) = text.split_once('=').ok_or("expected NAME=PATH")?;
    let path = PathBuf::from(path);
    if name.is_empty() || !path.is_absolute() {
        return Err("expected a name and the absolute path of a program".to_owned());
    }
    Ok((name.to_owned(), path))
}

pub(crate) async fn worker(context: &mut Context, args: &Worker) -> Result<Outcome, Failure> {
    match (&args.class, args.role) {
        (Some(class), _) => jobs::work(context, class, args).await,
        (None, Some(duty)) => {
            let interval = Duration::from_secs(args.interval);
            Box::pin(entries::work(context, duty, args.once, interval)).await
        }
        (None, None) => Err(Failure::Usage("name --class or --role".to_owned())),
    }
}

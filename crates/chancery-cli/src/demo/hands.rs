//! Processes that the demo starts: this program again, as workers and as an administrator.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use crate::Context;
use crate::failure::Failure;
use crate::lifeline::{self, Lifeline};

/// So long a worker may take to end in good order.
const FAREWELL: Duration = Duration::from_secs(8);

/// Workers at work. What is left of them is killed with the value.
#[derive(Debug)]
pub(super) struct Hands {
    program: PathBuf,
    home: PathBuf,
    logs: PathBuf,
    workers: Vec<Hand>,
}

/// A worker, and the line by which it lives: without it, one that is left behind would write into the log of its successor.
#[derive(Debug)]
pub(super) struct Hand {
    pub(super) child: Child,
    _lifeline: Lifeline,
}

impl Hands {
    pub(super) fn of(context: &Context, logs: &Path) -> Result<Self, Failure> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::Failed(format!("this program can't find itself: {error}")))?;
        let home = context.config.home.path().to_owned();
        Ok(Self { program, home, logs: logs.to_owned(), workers: Vec::new() })
    }

    /// The program with these arguments; what it says goes into a file of this name.
    fn command(&self, log: &str, args: &[&str]) -> Result<Command, Failure> {
        let path = self.logs.join(format!("{log}.log"));
        let failed =
            |error: std::io::Error| Failure::Failed(format!("{}: {error}", path.display()));
        let file = File::create(&path).map_err(failed)?;
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .env("CHANCERY_HOME", &self.home)
            .stdout(file.try_clone().map_err(failed)?)
            .stderr(file)
            // Ctrl-C is for us; we end them when nothing needs them any more.
            .process_group(0);
        Ok(command)
    }

    /// Runs it to its end, which must be a good one.
    pub(super) async fn run(&self, log: &str, args: &[&str]) -> Result<(), Failure> {
        let failed = |error: String| {
            let place = self.logs.join(format!("{log}.log"));
            Failure::Failed(format!(
                "`chancery {}` {error}; it said why in {}",
                args.join(" "),
                place.display()
            ))
        };
        let started = lifeline::spawn(&mut self.command(log, args)?);
        let (mut child, _lifeline) =
            started.map_err(|error| failed(format!("can't be run: {error}")))?;
        let status = child.wait().await;
        let status = status.map_err(|error| failed(format!("can't be run: {error}")))?;
        if status.success() { Ok(()) } else { Err(failed(format!("ended with {status}"))) }
    }

    /// A worker that stays until the end.
    pub(super) fn keep(&mut self, name: &str, args: &[&str]) -> Result<(), Failure> {
        let worker = self.worker(name, args)?;
        self.workers.push(worker);
        Ok(())
    }

    /// A worker of a name.
    pub(super) fn worker(&self, name: &str, args: &[&str]) -> Result<Hand, Failure> {
        let args = [&["worker", "--name", name][..], args].concat();
        let started = lifeline::spawn(&mut self.command(name, &args)?);
        let (child, _lifeline) =
            started.map_err(|error| Failure::Failed(format!("the worker {name}: {error}")))?;
        Ok(Hand { child, _lifeline })
    }

    /// Asks all workers to end, and waits for them.
    pub(super) async fn dismiss(mut self) {
        for worker in &self.workers {
            let pid =
                worker.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
            if let Some(pid) = pid {
                // One that is gone needs no asking.
                let _ = kill_process(pid, Signal::TERM);
            }
        }
        for worker in &mut self.workers {
            // Who does not end in time is killed with the value; its leases run out by themselves.
            let _ = tokio::time::timeout(FAREWELL, worker.child.wait()).await;
        }
    }
}

//! The processes that a runner starts: each has a login that the runner does not hold.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use chancery_engine::orchestrator::backup::{
    self, Attempt, Backup, BackupError, BackupKey, PgDump,
};
use chancery_engine::orchestrator::{Aides, Stop, TakenBackup};
use chancery_model::refusal::{Code, Problem, Refusal};
use chancery_store::managed::{BinarySearch, find_binaries};
use chancery_store::{Role, Store};
use serde_json::{Value, json};

use crate::Context;
use crate::failure::{Failure, Outcome};
use crate::lifeline;
use crate::session::Session;

/// This program again, for the same data and in somebody's name.
#[derive(Debug, Clone)]
pub(crate) struct Own {
    program: PathBuf,
    home: PathBuf,
    runs: PathBuf,
    principal: String,
}

/// What such a process said.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) exit: Option<i32>,
    pub(crate) answer: Value,
    pub(crate) complaint: String,
}

impl Own {
    pub(crate) fn of(context: &Context, principal: &str) -> Result<Self, Failure> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::Failed(format!("this program can't find itself: {error}")))?;
        Ok(Self {
            program,
            home: context.config.home.path().to_owned(),
            runs: context.config.runs_dir(),
            principal: principal.to_owned(),
        })
    }

    /// `cutter orchestrate …`, which ends with this process.
    pub(crate) async fn run<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
    ) -> Result<Answer, std::io::Error> {
        let mut command = tokio::process::Command::new(&self.program);
        if self.program.file_stem().is_none_or(|name| name != "cutter") {
            command.arg("cutter");
        }
        command
            .arg("orchestrate")
            .args(arguments)
            .args(["--json", "--as", &self.principal])
            .env("CHANCERY_HOME", &self.home)
            .env("CUTTER_RUNS_DIR", &self.runs)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let (child, _lifeline) = lifeline::spawn(&mut command)?;
        let output = child.wait_with_output().await?;
        Ok(Answer {
            exit: output.status.code(),
            answer: serde_json::from_slice(&output.stdout).unwrap_or(Value::Null),
            complaint: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }
}

/// The backup and the verifier.
#[derive(Debug)]
pub(super) struct Processes {
    verifier: Own,
}

impl Processes {
    pub(super) async fn of(
        context: &Context,
        store: &Store,
        verifier: Option<&str>,
    ) -> Result<Self, Failure> {
        let verifier = match verifier {
            Some(name) => name.to_owned(),
            None => only_verifier(store).await?,
        };
        Ok(Self { verifier: Own::of(context, &verifier)? })
    }
}

async fn only_verifier(store: &Store) -> Result<String, Failure> {
    let principals = store.principals().await?;
    let mut verifiers = principals
        .into_iter()
        .filter(|p| p.active && p.actor_classes.iter().any(|class| class == "verifier_dot992"));
    match (verifiers.next(), verifiers.next()) {
        (Some(only), None) => Ok(only.name),
        (None, _) => Err(Failure::Usage(
            "nobody can verify: add a service with the class verifier_dot992 and a key".to_owned(),
        )),
        (Some(_), Some(_)) => {
            Err(Failure::Usage("there are several verifiers; name one with --verifier".to_owned()))
        }
    }
}

impl Aides for Processes {
    async fn take_backup(&self, run_name: &str, file: &Path) -> Result<TakenBackup, Stop> {
        let attempt = Attempt::begin(file);
        let arguments: [&OsStr; 5] = [
            "take-backup".as_ref(),
            "--run-id".as_ref(),
            run_name.as_ref(),
            "--file".as_ref(),
            attempt.file().as_os_str(),
        ];
        let failed = |why: String| {
            Stop::new("STOP_BACKUP", why, "mend what it says; without a backup nothing is written")
        };
        let said =
            self.verifier.run(&arguments).await.map_err(|error| failed(error.to_string()))?;
        if said.exit.is_none() {
            // Somebody ended it: that says nothing about whether a backup can be taken.
            return Err(Stop::new(
                "STOP_BACKUP_CUT_SHORT",
                "the process that takes the backup was ended before it was done",
                "nothing was written: `cutter orchestrate resume --run-id RUN` takes it from the start",
            ));
        }
        if said.exit != Some(0) {
            let why = complaint_of(&said.answer, said.complaint);
            if said.answer["stopped"]["code"] == "STOP_DISK_FULL" {
                let way = "make room, then `cutter orchestrate resume --run-id RUN`";
                return Err(Stop::new("STOP_DISK_FULL", why, way));
            }
            return Err(failed(why));
        }
        let taken = serde_json::from_value(said.answer)
            .map_err(|error| failed(format!("no answer: {error}")))?;
        attempt.keep().map_err(stop_of)?;
        Ok(taken)
    }

    async fn write_verify(&self, run_name: &str) -> Result<(), Stop> {
        let failed = |why: String| {
            Stop::new(
                "STOP_VERIFIER",
                format!("the verifier could not record its verdict: {why}"),
                "mend what it says, then `cutter orchestrate resume --run-id RUN`",
            )
        };
        let arguments = ["write-verify", "--run-id", run_name];
        let said =
            self.verifier.run(&arguments).await.map_err(|error| failed(error.to_string()))?;
        // A verdict of fail is a verdict: the database moved the run, and the runner sees it there.
        if said.exit == Some(0) || said.answer["state"] == "failed_write_verify" {
            return Ok(());
        }
        let stop = failed(complaint_of(&said.answer, said.complaint));
        Err(match refusal_of(&said.answer) {
            Some(refusal) => stop.because(chancery_store::Error::Refused(Box::new(refusal)).into()),
            None => stop,
        })
    }
}

/// What a backup that could not be made, or put in place, means for the run.
fn stop_of(error: BackupError) -> Stop {
    match error {
        BackupError::DiskFull { .. } => {
            let way = "make room, then `cutter orchestrate resume --run-id RUN`";
            Stop::new("STOP_DISK_FULL", error.to_string(), way)
        }
        other => Stop::new(
            "STOP_BACKUP",
            other.to_string(),
            "mend what it says; without a backup nothing is written",
        ),
    }
}

/// What another process complained about, in its own words.
fn complaint_of(said: &Value, complaint: String) -> String {
    let words = [&said["stopped"]["reason"], &said["refused"]["title"], &said["failed"]["message"]];
    words.into_iter().find_map(Value::as_str).map_or(complaint, str::to_owned)
}

/// The database's refusal, as another process handed it on.
fn refusal_of(said: &Value) -> Option<Refusal> {
    let refused = [&said["stopped"]["refused"], &said["refused"]];
    let refused = refused.into_iter().find(|refused| refused["code"].is_string())?;
    let text = |name: &str| refused[name].as_str().unwrap_or_default().to_owned();
    Some(Refusal {
        code: Code::from_sqlstate(refused["code"].as_str()?)?,
        title: text("title"),
        hint: text("hint"),
        problems: serde_json::from_value::<Vec<Problem>>(refused["problems"].clone()).ok()?,
    })
}

/// Pins the key that backups are encrypted to.
pub(super) async fn pin_key(context: &mut Context, file: &Path) -> Result<Outcome, Failure> {
    let bytes = std::fs::read(file)
        .map_err(|error| Failure::Failed(format!("{} can't be read: {error}", file.display())))?;
    let key = BackupKey::parse(&bytes).map_err(|error| Failure::Failed(error.to_string()))?;
    let store = Session::open(context).await?.store(Role::Migrator).await?;
    let fingerprint = key.fingerprint();
    let by = context.config.principal.clone().unwrap_or_else(|| "operator".to_owned());
    let before = store.fn_backup_key_pin(&fingerprint, key.armored(), &by).await?;
    if !context.out.is_json() {
        let done = if before { "was pinned before" } else { "is pinned" };
        context.out.note(&format!("the key of {} {done}", key.user_id()));
    }
    let answer =
        json!({ "fingerprint": fingerprint, "user_id": key.user_id(), "replayed": before });
    context.out.answer(&answer, || fingerprint)?;
    Ok(Outcome::Done)
}

/// Takes a backup as the login of the backup.
pub(super) async fn take_backup(context: &mut Context, file: &Path) -> Result<Outcome, Failure> {
    let session = Session::open(context).await?;
    let store = session.store(Role::Backup).await?;
    let Some(pinned) = store.orchestrator_backup_key().await? else {
        return Err(Failure::Failed(
            "no key is pinned for backups; pin one with `cutter orchestrate backup-key FILE`"
                .to_owned(),
        ));
    };
    let failed = |error: BackupError| Failure::Failed(error.to_string());
    let key = BackupKey::parse(pinned.public_key.as_bytes()).map_err(failed)?;
    let tables: Vec<String> = store
        .setting("orchestrator.backup.tables")
        .await?
        .and_then(|value| serde_json::from_value(value).ok())
        .unwrap_or_default();
    let pg_dump = match &session.cluster {
        Some(cluster) => PgDump::Of(Box::new(cluster.binaries().clone())),
        None => {
            let search =
                BinarySearch::on_this_machine(context.config.path.as_deref(), &context.config.home);
            PgDump::Of(Box::new(find_binaries(&search)?))
        }
    };
    let request = Backup {
        database: &session.target,
        pg_dump: &pg_dump,
        tables: &tables,
        key: &key,
        fingerprint: &pinned.fingerprint,
        file,
    };
    let taken = backup::take(&request).await.map_err(|error| match error {
        full @ BackupError::DiskFull { .. } => stop_of(full).into(),
        other => failed(other),
    })?;
    let taken = TakenBackup {
        sha256: taken.sha256,
        size_bytes: taken.size_bytes,
        fingerprint: taken.fingerprint,
    };
    context.out.answer(&taken, || taken.sha256.clone())?;
    Ok(Outcome::Done)
}

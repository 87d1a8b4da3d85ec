//! `chancery doctor`: the ground everything stands on.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use chancery_store::ground::Check;
use chancery_store::{Role, Target};
use clap::Args;
use serde_json::json;

use crate::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{table, yes_no};
use crate::session::{self, Session};

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Arm guard triggers again that a restore left disarmed
    #[arg(long)]
    fix: bool,
}

pub(crate) async fn doctor(context: &mut Context, args: &Doctor) -> Result<Outcome, Failure> {
    let mut checks = files(context);
    let session = server(context, &mut checks).await?;
    let mut armed = None;
    if let Some(session) = session {
        if args.fix {
            armed = Some(session.target.rearm_triggers().await?);
        }
        checks.extend(database(&session, Role::Auditor).await?);
        checks.extend(gates(&session).await?);
    }
    if let Some(armed) = armed {
        context.out.note(&format!("armed {armed} guard triggers again"));
    }
    let ok = checks.iter().all(|check| check.ok);
    context.out.answer(&json!({ "ok": ok, "checks": checks, "triggers_armed": armed }), || {
        text(&checks)
    })?;
    if !ok && !context.out.is_json() {
        let wrong = checks.iter().filter(|check| !check.ok).count();
        context.out.note(&format!("{wrong} of {} checks failed", checks.len()));
    }
    Ok(if ok { Outcome::Done } else { Outcome::Failed })
}

/// What a service must not stand on; empty when all is well. Looks with the login of the service, which has no other.
pub(crate) async fn unsafe_ground(
    context: &Context,
    session: &Session,
) -> Result<Vec<Check>, Failure> {
    let mut checks = files(context);
    checks.extend(database(session, Role::App).await?);
    checks.retain(|check| !check.ok);
    Ok(checks)
}

fn text(checks: &[Check]) -> String {
    let rows =
        checks.iter().map(|check| vec![check.name.clone(), yes_no(check.ok), check.found.clone()]);
    let mut text = table(&["check", "ok", "found"], rows);
    for check in checks {
        if let Some(mend) = &check.mend {
            text.push_str(&format!("\n\n{}\n  mend: {mend}", check.name));
        }
    }
    text
}

fn check(name: &str, ok: bool, found: String, mend: impl FnOnce() -> String) -> Check {
    Check { name: name.to_owned(), ok, found, mend: (!ok).then(mend) }
}

/// What lies in the data directory.
fn files(context: &Context) -> Vec<Check> {
    let home = context.config.home.path();
    let writable = exposed(home, 0o022);
    let secrets = in_folders([context.config.home.secrets()], &["password", "token"]);
    let keys = home.join("keys");
    let key_folders = fs::read_dir(&keys).into_iter().flatten().flatten().map(|entry| entry.path());
    let keys = in_folders(key_folders, &["key"]);
    let closed = |name: &str, open: &[PathBuf]| {
        check(
            name,
            open.is_empty(),
            if open.is_empty() { "they are".to_owned() } else { shown(open) },
            || {
                format!(
                    "chmod go-rwx {}; if others use this machine, change what they may have read",
                    shown(open)
                )
            },
        )
    };
    vec![
        check(
            "nobody else can write to the data directory",
            !writable,
            home.display().to_string(),
            || format!("chmod go-w {}", home.display()),
        ),
        closed("password files are the owner's alone", &secrets),
        closed("private keys are the owner's alone", &keys),
    ]
}

/// Files of these kinds, and their folders, that others can read.
fn in_folders(folders: impl IntoIterator<Item = PathBuf>, extensions: &[&str]) -> Vec<PathBuf> {
    let mut open = Vec::new();
    for folder in folders {
        let files = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        open.extend(files.filter(|file| {
            file.extension().is_some_and(|e| extensions.iter().any(|known| e == *known))
                && exposed(file, 0o077)
        }));
        if exposed(&folder, 0o077) {
            open.push(folder);
        }
    }
    open.sort();
    open
}

fn exposed(path: &Path, bits: u32) -> bool {
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & bits != 0)
}

fn shown(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
}

/// The server; `None` when it does not run. Looking changes nothing, so it is not started.
async fn server(context: &Context, checks: &mut Vec<Check>) -> Result<Option<Session>, Failure> {
    if context.config.database_url.is_some() {
        checks.push(check(
            "the server is an outside one",
            true,
            "DATABASE_URL".to_owned(),
            String::new,
        ));
        return Ok(Some(Session::open(context).await?));
    }
    let (cluster, status) = match session::open_cluster(&context.config).await {
        Ok(found) => found,
        Err(Failure::Failed(message)) => {
            let mend = "do what the finding says".to_owned();
            checks.push(check("server binaries fit the cluster", false, message, || mend));
            return Ok(None);
        }
        Err(other) => return Err(other),
    };
    let found = format!("PostgreSQL {} in {}", status.version, status.bin_dir.display());
    checks.push(check("server binaries fit the cluster", true, found, String::new));
    let ready = status.running.as_ref().is_some_and(|server| server.ready);
    let found = match &status.running {
        Some(server) => format!("process {}", server.pid),
        None if status.initialised => "stopped; what is inside could not be looked at".to_owned(),
        None => "no cluster yet".to_owned(),
    };
    checks.push(check("the private server is running", ready, found, || {
        "run `chancery db start`".to_owned()
    }));
    if !ready {
        return Ok(None);
    }
    Ok(Some(Session { target: Target::managed(&cluster)?, cluster: Some(cluster) }))
}

/// What is inside the database.
async fn database(session: &Session, role: Role) -> Result<Vec<Check>, Failure> {
    let store = session.unchecked_store(role)?;
    if session.release(&store).await?.is_none() {
        let mend = || "run `chancery migrate`".to_owned();
        return Ok(vec![check(
            "Chancery is installed in the database",
            false,
            "nothing is".to_owned(),
            mend,
        )]);
    }
    Ok(store.ground().await?)
}

/// Tables under admission whose gate is not in place. No ground that a service stands on: the table's owner can take a gate away
/// at any time, and then the watchdog must be there to say so.
async fn gates(session: &Session) -> Result<Option<Check>, Failure> {
    let store = session.unchecked_store(Role::Auditor)?;
    // Where nothing is installed, or something older, that is the finding.
    let Ok(families) = store.families().await else { return Ok(None) };
    let open: Vec<String> = families
        .iter()
        .filter(|family| family.active && family.armed != Some(true))
        .map(|family| family.collection_name.clone())
        .collect();
    let found = if open.is_empty() { "they are".to_owned() } else { open.join(", ") };
    Ok(Some(check(
        "the gates of all tables under admission are in place",
        open.is_empty(),
        found,
        || {
            "run `chancery birth protect` for it again with its policy, or `chancery birth release` when it is gone for good".to_owned()
        },
    )))
}

//! `chancery doctor`: the ground everything stands on.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use chancery_store::drift::Acknowledgement;
use chancery_store::ground::Check;
use chancery_store::{Release, Role, Target};
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
    /// Answer for one difference from the release, as it is shown, so that `serve` decides in spite of it
    #[arg(long, value_name = "OBJECT", conflicts_with = "fix", requires = "reason")]
    acknowledge: Option<String>,
    /// For how many hours
    #[arg(long, value_name = "HOURS", default_value_t = 24, requires = "acknowledge")]
    hours: i32,
    /// Why it may stand so long
    #[arg(long, value_name = "TEXT", requires = "acknowledge")]
    reason: Option<String>,
}

pub(crate) async fn doctor(context: &mut Context, args: &Doctor) -> Result<Outcome, Failure> {
    if let Some(object) = &args.acknowledge {
        return acknowledge(context, args, object).await;
    }
    let mut checks = files(context);
    let session = server(context, &mut checks).await?;
    let mut armed = None;
    if let Some(session) = session {
        if args.fix {
            armed = Some(session.target.rearm_triggers().await?);
        }
        checks.extend(database(&session, Role::Auditor).await?);
        checks.extend(rules(&session).await?);
        checks.extend(advice(&session).await?);
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

/// The rules themselves, object by object. Where nothing is installed, or another release, that is the finding.
async fn rules(session: &Session) -> Result<Vec<Check>, Failure> {
    let store = session.unchecked_store(Role::Auditor)?;
    match session.release(&store).await? {
        Some(release) if release.bundle_sha256 == Release::of_this_binary().bundle_sha256 => {}
        _ => return Ok(Vec::new()),
    }
    let differences = store.drift().await?;
    let name = "the rules in the database are those of this release";
    let standing = differences.iter().filter(|one| one.acknowledged.is_none()).count();
    let found = match (differences.len(), standing) {
        (0, _) => "they are".to_owned(),
        (all, standing) => format!("{all} differences, {} of them acknowledged", all - standing),
    };
    let mend = || {
        "run `chancery migrate`; what it cannot mend without losing something it names".to_owned()
    };
    let mut checks = vec![check(name, standing == 0, found, mend)];
    for one in &differences {
        let mut found = one.difference.clone();
        if let Some(word) = &one.acknowledged {
            let Acknowledgement { acknowledged_by, reason, expires_at } = word;
            found.push_str(&format!(
                "; acknowledged by {acknowledged_by} until {expires_at}: {reason}"
            ));
        }
        let ok = one.acknowledged.is_some();
        checks.push(check(&one.object(), ok, found, || {
            format!(
                "chancery doctor --acknowledge '{}' --reason TEXT, if it is to stay for a while",
                one.object()
            )
        }));
    }
    Ok(checks)
}

/// What an operator should know and a service need not. Where nothing is installed there is nothing to say.
async fn advice(session: &Session) -> Result<Vec<Check>, Failure> {
    let store = session.unchecked_store(Role::Auditor)?;
    if session.release(&store).await?.is_none() {
        return Ok(Vec::new());
    }
    Ok(store.advice().await?)
}

/// Somebody answers for one difference.
async fn acknowledge(
    context: &mut Context,
    args: &Doctor,
    object: &str,
) -> Result<Outcome, Failure> {
    let principal = context.config.acting()?.to_owned();
    let session = Session::open(context).await?;
    let differences = session.store(Role::Auditor).await?.drift().await?;
    let Some(difference) = differences.iter().find(|one| one.object() == object) else {
        return Err(Failure::Failed(format!(
            "{object} is no difference between this database and its release; see `chancery doctor`"
        )));
    };
    let operator = session.store(Role::Migrator).await?;
    let reason = args.reason.as_deref().unwrap_or_default();
    let noted = operator
        .fn_drift_acknowledge(object, &difference.found, args.hours, reason, &principal)
        .await?;
    let until = noted["expires_at"].as_str().unwrap_or_default().to_owned();
    context.out.answer(&noted, || format!("{object}: acknowledged until {until}"))?;
    Ok(Outcome::Done)
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

//! `chancery db …` and `chancery migrate`: the private PostgreSQL and what is installed in it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command as Program, Stdio};

use chancery_engine::registry;
use chancery_store::managed::secrets;
use chancery_store::{LOGINS, Migrated, Release, Role};
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;

use crate::address::Address;
use crate::failure::{Failure, Outcome};
use crate::machine::OPERATOR;
use crate::output::{pairs, yes_no};
use crate::session::{self, Session, blocking};
use crate::{Context, config};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the private server and bring its database up to this release
    ///
    /// Makes the cluster when there is none, and takes over cleanly after a crash. With DATABASE_URL set, an outside
    /// database is used and only brought up to this release.
    #[command(after_help = "Example:\n  $ chancery db start")]
    Start,
    /// Stop the private server
    #[command(after_help = "Example:\n  $ chancery db stop")]
    Stop,
    /// Say whether the server runs, where it is and what is installed
    #[command(after_help = "Example:\n  $ chancery db status --json")]
    Status,
    /// Print a connection URL for a login
    #[command(after_help = "Example:\n  $ chancery db url --role auditor_ro")]
    Url {
        /// The login
        #[arg(long, default_value = "chancery_app", value_parser = role())]
        role: Role,
        /// Print the password too
        #[arg(long)]
        with_password: bool,
    },
    /// Open psql as a login; without --role as one that only reads
    #[command(
        after_help = "Example:\n  $ chancery db psql\n  $ chancery db psql -- -c 'select * from fsm.v_machine'\n  $ chancery db psql --admin -- -f my-tables.sql"
    )]
    Psql {
        /// The login
        #[arg(long, default_value = "auditor_ro", value_parser = role())]
        role: Role,
        /// As the administrator, whom no rule of ours binds; to make tables of your own
        #[arg(long, conflicts_with = "role")]
        admin: bool,
        /// Arguments for psql
        #[arg(last = true, value_name = "ARGS")]
        args: Vec<OsString>,
    },
}

fn role() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(LOGINS.iter().map(|role| role.name()))
        .map(|name| name.parse().expect("only names of logins are accepted"))
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Start => start(context).await,
        Command::Stop => stop(context).await,
        Command::Status => status(context).await,
        Command::Url { role, with_password } => url(context, role, with_password).await,
        Command::Psql { role, admin, args } => psql(context, (!admin).then_some(role), &args).await,
    }
}

async fn start(context: &mut Context) -> Result<Outcome, Failure> {
    let (session, started) = Session::open_or_make(context).await?;
    if started.is_none() {
        context.out.note("DATABASE_URL names an outside database: it is used as it runs, and brought up to this release");
    }
    let migrated = bring_up(context, &session).await?;
    let answer = json!({
        "managed": started.is_some(),
        "pid": started.as_ref().map(|s| s.pid),
        "already_running": started.as_ref().is_none_or(|s| s.already_running),
        "created": started.as_ref().is_some_and(|s| s.created),
        "recovered": started.as_ref().map_or(&[][..], |s| &s.recovered),
        "database": session.target.database(),
        "migrated": migrated,
    });
    context.out.answer(&answer, || {
        let database = session.target.database();
        let version = migrated.schema_version;
        match &started {
            Some(started) => {
                let how = if started.already_running { "was running" } else { "runs" };
                format!(
                    "PostgreSQL {how} as process {}; database {database} is at schema {version}",
                    started.pid
                )
            }
            None => format!("database {database} is at schema {version}"),
        }
    })?;
    Ok(Outcome::Done)
}

pub(crate) async fn migrate(context: &mut Context) -> Result<Outcome, Failure> {
    let (session, _) = Session::open_or_make(context).await?;
    let migrated = bring_up(context, &session).await?;
    context.out.answer(&migrated, || {
        let changed = if migrated.rules_applied { "" } else { " already; nothing changed" };
        format!(
            "database {} is at schema {}{changed}",
            session.target.database(),
            migrated.schema_version
        )
    })?;
    Ok(Outcome::Done)
}

async fn bring_up(context: &Context, session: &Session) -> Result<Migrated, Failure> {
    let migrated = session.target.migrate().await?;
    if !migrated.applied.is_empty() {
        context.out.note(&format!("applied migrations {}", migrated.applied.join(", ")));
    }
    if migrated.rules_applied {
        context.out.note("applied the rules of this release: functions, views, triggers, grants");
    }
    for difference in &migrated.differences {
        let (object, what) = (difference.object(), &difference.difference);
        context.out.note(&format!("differs from this release and is left to you: {object} {what}"));
    }
    // The machines of the product are part of a release, as its rules are.
    let store = session.store(Role::Migrator).await?;
    let applied_by = context.config.principal.as_deref().unwrap_or(OPERATOR);
    for machine in registry::install_product_machines(&store, applied_by).await? {
        if machine.outcome != "unchanged" {
            context.out.note(&format!("machine {}: {}", machine.machine, machine.outcome));
        }
    }
    Ok(migrated)
}

async fn stop(context: &mut Context) -> Result<Outcome, Failure> {
    if context.config.database_url.is_some() {
        return Err(Failure::Failed(
            "DATABASE_URL names an outside database, which is not ours to stop".to_owned(),
        ));
    }
    let (cluster, _) = session::open_cluster(&context.config).await?;
    let stopped = blocking(move || Ok(cluster.stop()?)).await?;
    context.out.answer(&json!({ "stopped": stopped }), || {
        if stopped { "PostgreSQL is stopped" } else { "PostgreSQL was not running" }.to_owned()
    })?;
    Ok(Outcome::Done)
}

async fn status(context: &mut Context) -> Result<Outcome, Failure> {
    let ours = Release::of_this_binary();
    if let Some(url) = &context.config.database_url {
        let session = Session::open(context).await?;
        let installed = installed(&session).await?;
        let place = Address::of_url(url, session.target.database(), None)?.url();
        let answer =
            json!({ "managed": false, "url": place, "installed": installed, "this_binary": ours });
        context.out.answer(&answer, || {
            pairs(&[
                ("server", format!("outside, {place}")),
                ("installed", release_text(installed.as_ref(), &ours)),
            ])
        })?;
        return Ok(Outcome::Done);
    }
    let (cluster, status) = session::open_cluster(&context.config).await?;
    let ready = status.running.as_ref().is_some_and(|server| server.ready);
    let installed = if ready {
        let target = chancery_store::Target::managed(&cluster)?;
        installed(&Session { target, cluster: Some(cluster) }).await?
    } else {
        None
    };
    let since = status
        .running
        .as_ref()
        .and_then(|server| {
            jiff::Timestamp::from_second(i64::try_from(server.started_at?).ok()?).ok()
        })
        .map(|at| at.to_string());
    let answer = json!({
        "managed": true, "running": status.running.is_some(), "ready": ready, "pid": status.running.as_ref().map(|s| s.pid),
        "started_at": since, "initialised": status.initialised, "version": status.version, "bin_dir": status.bin_dir,
        "data_dir": status.data_dir, "socket_dir": status.socket_dir, "port": status.port, "log": status.log,
        "os_user": status.os_user, "installed": installed, "this_binary": ours,
        "logins": LOGINS.iter().map(|role| role.name()).collect::<Vec<_>>(),
    });
    context.out.answer(&answer, || {
        let server = match &status.running {
            Some(server) if server.ready => format!("running as process {}", server.pid),
            Some(server) => format!("process {} is starting or stopping", server.pid),
            None if status.initialised => "stopped; `chancery db start` starts it".to_owned(),
            None => "not made yet; `chancery db start` makes it".to_owned(),
        };
        pairs(&[
            ("server", server),
            ("since", since.unwrap_or_default()),
            ("version", format!("PostgreSQL {} from {}", status.version, status.bin_dir.display())),
            ("data", status.data_dir.display().to_string()),
            ("socket", status.socket_dir.display().to_string()),
            ("log", status.log.display().to_string()),
            ("runs as", status.os_user.clone()),
            (
                "installed",
                if ready { release_text(installed.as_ref(), &ours) } else { String::new() },
            ),
            ("logins", LOGINS.iter().map(|role| role.name()).collect::<Vec<_>>().join(", ")),
        ])
    })?;
    Ok(Outcome::Done)
}

async fn installed(session: &Session) -> Result<Option<Release>, Failure> {
    session.release(&session.unchecked_store(Role::App)?).await
}

fn release_text(installed: Option<&Release>, ours: &Release) -> String {
    installed.map_or_else(
        || "nothing yet; run `chancery migrate`".to_owned(),
        |installed| {
            let same = yes_no(installed.bundle_sha256 == ours.bundle_sha256);
            format!(
                "{} with schema {} (this binary's: {same})",
                installed.product_version, installed.schema_version
            )
        },
    )
}

async fn url(context: &mut Context, role: Role, with_password: bool) -> Result<Outcome, Failure> {
    let address = address(context, role).await?;
    let url = if with_password { address.url_with_password() } else { address.url() };
    context.out.answer(&json!({ "role": role.name(), "url": url }), || url.clone())?;
    Ok(Outcome::Done)
}

/// As a login, or without one as the administrator.
async fn psql(
    context: &mut Context,
    role: Option<Role>,
    args: &[OsString],
) -> Result<Outcome, Failure> {
    if context.out.is_json() {
        return Err(Failure::Usage(
            "psql has a voice of its own; for programs there is `chancery db url --json`"
                .to_owned(),
        ));
    }
    let session = Session::open(context).await?;
    let address = match role {
        Some(role) => address(context, role).await?,
        None => admin_address(context, &session)?,
    };
    let mut program = match &session.cluster {
        Some(cluster) if cluster.binaries().psql.is_none() => {
            let place = cluster.binaries().bin_dir.display();
            return Err(Failure::Failed(format!(
                "there is no psql in {place}; install PostgreSQL's client"
            )));
        }
        Some(cluster) => cluster.binaries().command("psql"),
        None => Program::new("psql"),
    };
    // The server's programs run in a clean environment; a person's psql wants the pager, the editor and the terminal.
    program.envs(config::inherited()).stdin(Stdio::inherit());
    if let Ok(here) = std::env::current_dir() {
        program.current_dir(here);
    }
    if let Some(password) = &address.password {
        program.env("PGPASSWORD", password);
    }
    let error = program.arg("--dbname").arg(address.url()).args(args).exec();
    Err(Failure::Failed(format!("psql can't be run: {error}")))
}

fn admin_address(context: &Context, session: &Session) -> Result<Address, Failure> {
    match (&session.cluster, &context.config.database_url) {
        (Some(cluster), _) => {
            let connection = cluster.connection(cluster.superuser())?;
            Ok(Address::of_socket(&connection.with_database(chancery_store::DATABASE)))
        }
        (None, url) => {
            Address::of_url(url.as_deref().unwrap_or_default(), session.target.database(), None)
        }
    }
}

async fn address(context: &Context, role: Role) -> Result<Address, Failure> {
    let config = &context.config;
    let Some(url) = &config.database_url else {
        let (cluster, _) = session::open_cluster(config).await?;
        let connection = cluster.connection(role.name())?.with_database(chancery_store::DATABASE);
        return Ok(Address::of_socket(&connection));
    };
    let database = Session::open(context).await?.target.database().to_owned();
    let known = secrets::path(&config.home, role.name())?.exists();
    let secret = known.then(|| secrets::read(&config.home, role.name())).transpose()?;
    let login = secret.as_ref().map(|secret| (role.name(), secret.expose()));
    Address::of_url(url, &database, login)
}

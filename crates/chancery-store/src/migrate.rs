//! Puts a release into a database: roles, migrations, and everything that is re-applied whole.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};

use crate::drift::{self, Difference};
use crate::managed::secrets;
use crate::target::{LOGINS, Role, Store, Target};
use crate::{Error, bundle};

/// The database that is made in a private cluster.
pub const DATABASE: &str = "chancery";

/// A migration that met a deadlock, as with the analysis of tables that were just restored, is tried so often.
const MIGRATION_TRIES: usize = 20;

/// What [`Target::migrate`] did.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Migrated {
    pub schema_version: i32,
    /// Names of the migrations applied now.
    pub applied: Vec<String>,
    /// Whether functions, views, triggers and grants were re-applied.
    pub rules_applied: bool,
    /// What in the database differs from this release and could not be mended without losing something.
    pub differences: Vec<Difference>,
}

/// Every role of the product, those that own and those that connect.
pub(crate) const ALL_ROLES: &[&str] = &[
    "chancery_owner",
    "chancery_definer",
    "chancery_guard",
    "chancery_app",
    "chancery_migrator",
    "chancery_backup",
    "auditor_ro",
    "cutter_exec",
    "cutter_verify",
    "cutter_review",
    "cutter_ro",
    "birth_writer",
];

/// What is installed in a database.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Release {
    pub product_version: String,
    pub schema_version: i32,
    pub bundle_sha256: String,
}

impl Release {
    /// The release that this binary brings.
    pub fn of_this_binary() -> Self {
        Self {
            product_version: env!("CARGO_PKG_VERSION").to_owned(),
            schema_version: bundle::migrations().iter().map(|m| m.version).max().unwrap_or(0),
            bundle_sha256: bundle::sha256(),
        }
    }
}

/// Locks that belong to nobody, and files that belong to no table: any login could hold up others with the ones, and fill the disk with the
/// others. The operator's login takes one such lock, before there is a table to lock.
const CLOSED: &str = "
do $closed$
declare
  v_function regprocedure;
begin
  for v_function in
    select p.oid from pg_proc p where p.pronamespace = 'pg_catalog'::regnamespace and p.proname ~ '^(pg_(try_)?advisory_|lo_(creat|create|from_bytea|put)$)'
       and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)
  loop
    execute format('revoke execute on function %s from public', v_function);
  end loop;
  -- It takes the lock as the owner that it becomes.
  grant execute on function pg_advisory_xact_lock(bigint) to chancery_owner;
end
$closed$";

impl Target {
    /// Makes the database, the roles and the schema, or brings them up to this release. Repeating it changes nothing.
    ///
    /// # Errors
    /// `Schema` when the database is of a newer release or a migration's text changed after it was applied.
    pub async fn migrate(&self) -> Result<Migrated, Error> {
        self.prepare().await?;
        let mut tries = 1..MIGRATION_TRIES;
        loop {
            let mut connection = self.options(Role::Migrator)?.connect().await?;
            let migrated = apply(&mut connection).await;
            connection.close().await?;
            match migrated {
                // All of it is one transaction, so nothing of it is there.
                Err(Error::Conflict(_)) if tries.next().is_some() => {}
                done => return done,
            }
        }
    }

    /// What only an administrator can do: database, roles and their passwords, rights on the database itself.
    async fn prepare(&self) -> Result<(), Error> {
        // Roles belong to the cluster and advisory locks to one database: everyone locks in the same one.
        let mut postgres = self.admin.clone().database("postgres").connect().await?;
        postgres.execute("select pg_advisory_lock(hashtextextended('chancery roles', 0))").await?;
        let existing: Vec<String> = sqlx::query_scalar("select rolname::text from pg_roles")
            .fetch_all(&mut postgres)
            .await?;
        sqlx::raw_sql(bundle::file("roles.sql")).execute(&mut postgres).await?;
        for role in LOGINS {
            // A password that somebody set on an outside server is theirs; on our own server the file is the truth.
            if self.managed || !existing.iter().any(|name| name == role.name()) {
                set_password(&mut postgres, self, role.name()).await?;
            }
        }
        if self.managed {
            set_password(&mut postgres, self, self.admin.get_username()).await?;
            // The cluster is ours alone: its other databases are closed, and a backup reads whatever table users put beside ours.
            postgres
                .execute("revoke connect on database postgres from public; grant pg_read_all_data to chancery_backup")
                .await?;
        }
        let found: Option<i32> = sqlx::query_scalar("select 1 from pg_database where datname = $1")
            .bind(&self.database)
            .fetch_optional(&mut postgres)
            .await?;
        if found.is_none() {
            let quoted = self.database.replace('"', "\"\"");
            postgres.execute(AssertSqlSafe(format!("create database \"{quoted}\""))).await?;
        }
        postgres.close().await?;
        self.apply_database_settings().await
    }

    /// What belongs to one database and is lost when it is cloned or restored under another name.
    ///
    /// # Errors
    /// When the administrator may not change the database.
    pub async fn apply_database_settings(&self) -> Result<(), Error> {
        let mut admin = self.admin.clone().database(&self.database).connect().await?;
        sqlx::raw_sql(bundle::file("database.sql")).execute(&mut admin).await?;
        if self.managed {
            // Ours alone: what any login can do for itself in PostgreSQL, and no part of the product does, is closed.
            sqlx::raw_sql(CLOSED).execute(&mut admin).await?;
        }
        admin.close().await?;
        Ok(())
    }

    /// The administrator's way in, for the parts of the harness and of `doctor` that need it.
    pub fn admin_options(&self) -> PgConnectOptions {
        self.admin.clone().database(&self.database)
    }
}

async fn set_password(
    postgres: &mut PgConnection,
    target: &Target,
    role: &str,
) -> Result<(), Error> {
    let secret = secrets::ensure(&target.home, role)?;
    // The verifier, not the password: plaintext never travels in a statement. Its alphabet has no quote.
    let verifier = secrets::scram_verifier(&secret);
    let statement = format!("alter role {role} password '{verifier}'");
    postgres.execute(AssertSqlSafe(statement)).await?;
    Ok(())
}

async fn apply(connection: &mut PgConnection) -> Result<Migrated, Error> {
    let ours = Release::of_this_binary();
    let mut transaction = connection.begin().await?;
    transaction
        .execute("set local check_function_bodies = off; set local lock_timeout = '30s'; set local client_min_messages = warning; set local chancery.release = 'applying'")
        .await?;
    // The migrator inherits nothing; what it does, it does as one of the owners.
    transaction.execute("set local role chancery_owner").await?;
    one_at_a_time(&mut transaction).await?;
    let applied = applied_migrations(&mut transaction).await?;
    if let Some((version, name, _)) =
        applied.iter().find(|(version, ..)| *version > ours.schema_version)
    {
        return Err(Error::Schema(format!(
            "the database has migration {version} ({name}) of a newer release; this binary knows up to {}. Use the newer binary.",
            ours.schema_version
        )));
    }
    let mut names = Vec::new();
    for migration in bundle::migrations() {
        match applied.iter().find(|(version, ..)| *version == migration.version) {
            Some((_, _, sha256)) if *sha256 == migration.sha256() => {}
            Some((_, name, _)) => {
                return Err(Error::Schema(format!(
                    "migration {name} was applied with another text; migrations are never edited after they were released"
                )));
            }
            None => {
                run(&mut transaction, migration.name, migration.text).await?;
                sqlx::query(
                    "insert into internal.migration (version, name, sha256) values ($1, $2, $3)",
                )
                .bind(migration.version)
                .bind(migration.name)
                .bind(migration.sha256())
                .execute(&mut *transaction)
                .await?;
                names.push(migration.name.to_owned());
            }
        }
    }
    let installed: Option<String> =
        sqlx::query_scalar("select bundle_sha256 from internal.release")
            .fetch_optional(&mut *transaction)
            .await?;
    let new_rules = installed.as_deref() != Some(ours.bundle_sha256.as_str());
    // Rules that were changed behind our back are applied again, also where the release is the same.
    let drifted =
        !new_rules && drift::is_current() && !drift::drift_in(&mut transaction).await?.is_empty();
    let rules_applied = new_rules || drifted;
    if rules_applied {
        transaction.execute("set local role none").await?;
        for piece in bundle::pieces() {
            let role = piece.owner.unwrap_or("chancery_migrator");
            transaction.execute(AssertSqlSafe(format!("set local role {role}"))).await?;
            run(&mut transaction, piece.name, piece.text).await?;
        }
        transaction.execute("set local role chancery_owner").await?;
        sqlx::query(
            "insert into internal.release (product_version, schema_version, bundle_sha256, applied_at)
             values ($1, $2, $3, clock_timestamp())
             on conflict (only_one) do update set product_version = excluded.product_version,
               schema_version = excluded.schema_version, bundle_sha256 = excluded.bundle_sha256, applied_at = excluded.applied_at",
        )
        .bind(&ours.product_version)
        .bind(ours.schema_version)
        .bind(&ours.bundle_sha256)
        .execute(&mut *transaction)
        .await?;
    }
    let mut differences = Vec::new();
    if rules_applied && drift::is_current() {
        differences = drift::drift_in(&mut transaction).await?;
        if differences.iter().any(|difference| difference.acknowledged.is_none()) {
            drift::mend(&mut transaction, &differences).await?;
            differences = drift::drift_in(&mut transaction).await?;
        }
    }
    transaction.commit().await?;
    Ok(Migrated { schema_version: ours.schema_version, applied: names, rules_applied, differences })
}

/// Two that migrate at once do it one after the other. By a lock on a table, which no other login can take: an advisory lock is anybody's,
/// and is taken only where there is no table yet, and nothing to be kept from.
async fn one_at_a_time(connection: &mut PgConnection) -> Result<(), Error> {
    let there = "select to_regclass('internal.migration') is not null";
    if !sqlx::query_scalar::<_, bool>(there).fetch_one(&mut *connection).await? {
        connection
            .execute("select pg_advisory_xact_lock(hashtextextended('chancery migrate', 0))")
            .await?;
    }
    if sqlx::query_scalar::<_, bool>(there).fetch_one(&mut *connection).await? {
        connection.execute("lock table internal.migration in share row exclusive mode").await?;
    }
    Ok(())
}

async fn applied_migrations(
    connection: &mut PgConnection,
) -> Result<Vec<(i32, String, String)>, Error> {
    let there: bool = sqlx::query_scalar("select to_regclass('internal.migration') is not null")
        .fetch_one(&mut *connection)
        .await?;
    if !there {
        return Ok(Vec::new());
    }
    Ok(sqlx::query_as("select version, name, sha256 from internal.migration order by version")
        .fetch_all(connection)
        .await?)
}

async fn run(connection: &mut PgConnection, name: &str, text: &'static str) -> Result<(), Error> {
    sqlx::raw_sql(text).execute(connection).await.map_err(|error| match Error::from(error) {
        Error::Bug { sqlstate, message } => {
            Error::Bug { sqlstate, message: format!("{name}: {message}") }
        }
        other => other,
    })?;
    Ok(())
}

impl Store {
    /// What is installed.
    ///
    /// # Errors
    /// `Schema` when nothing is.
    pub async fn release(&self) -> Result<Release, Error> {
        let row: Option<(String, i32, String)> = sqlx::query_as(
            "select product_version, schema_version, bundle_sha256 from internal.release",
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(|error| match Error::from(error) {
            // undefined table or schema
            Error::Bug { sqlstate, .. } if sqlstate.starts_with("42P01") || sqlstate == "3F000" => {
                not_installed()
            }
            other => other,
        })?;
        let (product_version, schema_version, bundle_sha256) = row.ok_or_else(not_installed)?;
        Ok(Release { product_version, schema_version, bundle_sha256 })
    }
}

fn not_installed() -> Error {
    Error::Schema("Chancery is not installed in this database; run `chancery migrate`".to_owned())
}

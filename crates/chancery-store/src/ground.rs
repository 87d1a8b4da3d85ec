//! The ground the product stands on: what must hold before anything is trusted to it.

use serde::Serialize;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};

use crate::migrate::Release;
use crate::target::{Role, Store, Target};
use crate::{Error, LOGINS};

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: String,
    pub ok: bool,
    /// What was found.
    pub found: String,
    /// How to mend it, when it is not well.
    pub mend: Option<String>,
}

/// Each row is (name, ok, found, mend); every query reads catalogues only, so any login can run it.
const QUERIES: &[&str] = &[
    "select 'server is PostgreSQL 15 or newer', current_setting('server_version_num')::int >= 150000, current_setting('server_version'),
            'use PostgreSQL 15 or newer'",
    "select 'setting ' || s.name || ' is on', s.setting = 'on', s.setting, 'set ' || s.name || ' = on: evidence must survive a power cut'
       from pg_settings s where s.name in ('fsync', 'full_page_writes', 'synchronous_commit')",
    "select 'data checksums are on', current_setting('data_checksums') = 'on', current_setting('data_checksums'),
            'enable them with pg_checksums while the server is stopped'",
    "select 'every guard trigger is ENABLE ALWAYS', count(*) = 0, coalesce(string_agg(t.tgname || ' on ' || c.oid::regclass, ', '), 'all are'),
            'run `chancery doctor --fix`: a restore with --disable-triggers leaves them at the default'
       from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any($1) and not t.tgisinternal and t.tgenabled <> 'A'",
    "select 'no function is executable by PUBLIC', count(*) = 0, coalesce(string_agg(p.oid::regprocedure::text, ', '), 'none is'),
            'run `chancery migrate`, or revoke it by hand'
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = any($1)
        and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0 and a.privilege_type = 'EXECUTE')",
    "select 'every SECURITY DEFINER function pins its search path', count(*) = 0, coalesce(string_agg(p.oid::regprocedure::text, ', '), 'all do'),
            'run `chancery migrate`'
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = any($1) and p.prosecdef
        and not exists (select from unnest(p.proconfig) c where c like 'search_path=%pg_temp')",
    "select 'no login can rise above its duty', count(*) = 0, coalesce(string_agg(r.rolname, ', '), 'none can'),
            'take SUPERUSER, CREATEROLE, CREATEDB, REPLICATION and BYPASSRLS from it'
       from pg_roles r
      where r.rolname = any($2) and (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication or r.rolbypassrls)",
    "select 'nobody can put temporary objects in front of ours', not has_database_privilege('public', current_database(), 'TEMP'),
            case when has_database_privilege('public', current_database(), 'TEMP') then 'PUBLIC has TEMP' else 'PUBLIC has no TEMP' end,
            'run `chancery migrate`: the rights of a database do not come along with a restore or a clone'",
    "select 'no login owns a table', count(*) = 0, coalesce(string_agg(c.oid::regclass::text, ', '), 'none does'), 'run `chancery migrate`'
       from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_roles r on r.oid = c.relowner
      where n.nspname = any($1) and c.relkind in ('r', 'p') and r.rolcanlogin",
];

/// The schemas of the product.
pub(crate) const ROOMS: &[&str] = &[
    "internal",
    "config",
    "identity",
    "event",
    "fsm",
    "audit",
    "iu",
    "cutter_governance",
    "approval",
    "kb",
    "orchestrator",
    "queue",
    "governance",
    "birth",
    "workflow",
];

impl Store {
    /// Looks at the ground. An empty list of failures means that it is safe to work.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn ground(&self) -> Result<Vec<Check>, Error> {
        let rooms: Vec<String> = ROOMS.iter().map(|&r| r.to_owned()).collect();
        let logins: Vec<String> = LOGINS.iter().map(|r| r.name().to_owned()).collect();
        let mut checks = Vec::new();
        for &query in QUERIES {
            // Bound by place: a query that needs neither list must still accept both.
            let query = sqlx::AssertSqlSafe(format!(
                "with lists as (select $1::text[], $2::text[]) {query}"
            ));
            let rows: Vec<(String, bool, String, String)> =
                sqlx::query_as(query).bind(&rooms).bind(&logins).fetch_all(&self.pool).await?;
            checks.extend(rows.into_iter().map(|(name, ok, found, mend)| Check {
                name,
                ok,
                found,
                mend: (!ok).then_some(mend),
            }));
        }
        let release = self.release().await?;
        let ours = Release::of_this_binary();
        let same = release.bundle_sha256 == ours.bundle_sha256;
        checks.push(Check {
            name: "the installed rules are this binary's".to_owned(),
            ok: same,
            found: format!("{} with schema {}", release.product_version, release.schema_version),
            mend: (!same).then(|| {
                "run `chancery migrate`, or use the binary the database was migrated with"
                    .to_owned()
            }),
        });
        Ok(checks)
    }
}

/// What a service can stand on and an operator should know. Some are warnings: well enough, and mended by whoever runs the server.
const ADVICE: &[(&str, bool)] = &[
    (
        "select 'a backup can read every table', count(*) = 0, coalesce(string_agg(t.name, ', ' order by t.name), 'it can'),
                'grant select on it to chancery_backup, and usage on its schema: until then pg_dump stops at it'
           from (select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
                  where c.relkind in ('r', 'p', 'S', 'm') and c.relpersistence <> 't' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
                    and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
                    and not (has_schema_privilege('chancery_backup', n.oid, 'USAGE')
                             and case c.relkind when 'S' then has_sequence_privilege('chancery_backup', c.oid, 'SELECT')
                                                else has_table_privilege('chancery_backup', c.oid, 'SELECT') end)
                  limit 20) t",
        true,
    ),
    (
        "select 'our logins cannot enter the database postgres', count(*) = 0, coalesce(string_agg(r.rolname, ', ' order by r.rolname), 'they cannot'),
                'revoke connect on database postgres from public: roles are changed under a lock that any login there can take'
           from pg_roles r where r.rolname = any($2) and exists (select from pg_database d where d.datname = 'postgres')
            and has_database_privilege(r.oid, 'postgres', 'CONNECT')",
        false,
    ),
    (
        "select 'our logins take no locks that belong to nobody, and make no files beside the tables', count(*) = 0,
                coalesce(string_agg(distinct p.proname, ', ' order by p.proname), 'they cannot'),
                'no door waits for such a lock; where no other application here needs them, an administrator may revoke execute on these functions from public'
           from pg_proc p
          where p.pronamespace = 'pg_catalog'::regnamespace and p.proname ~ '^(pg_(try_)?advisory_|lo_(creat|create|from_bytea|put)$)'
            and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0 and a.privilege_type = 'EXECUTE')",
        false,
    ),
];

impl Store {
    /// What an operator should know beside the ground.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn advice(&self) -> Result<Vec<Check>, Error> {
        let logins: Vec<String> = LOGINS.iter().map(|r| r.name().to_owned()).collect();
        let mut checks = Vec::new();
        for &(query, is_needed) in ADVICE {
            let query = sqlx::AssertSqlSafe(format!(
                "with lists as (select $1::text[], $2::text[]) {query}"
            ));
            let row: (String, bool, String, String) =
                sqlx::query_as(query).bind(ROOMS).bind(&logins).fetch_one(&self.pool).await?;
            let (name, ok, found, mend) = row;
            checks.push(Check { name, ok: ok || !is_needed, found, mend: (!ok).then_some(mend) });
        }
        Ok(checks)
    }
}

impl Target {
    /// Arms every guard trigger again: a restore with `--disable-triggers` leaves them at the default.
    ///
    /// # Errors
    /// When the migrator may not.
    pub async fn rearm_triggers(&self) -> Result<u64, Error> {
        let mut connection = self.options(Role::Migrator)?.connect().await?;
        let mut transaction = connection.begin().await?;
        transaction.execute("set local role chancery_owner").await?;
        let statements: Vec<String> = sqlx::query_scalar(
            "select format('alter table %s enable always trigger %I', t.tgrelid::regclass, t.tgname)
               from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
              where n.nspname = any($1) and not t.tgisinternal and t.tgenabled <> 'A'",
        )
        .bind(ROOMS.iter().map(|&r| r.to_owned()).collect::<Vec<String>>())
        .fetch_all(&mut *transaction)
        .await?;
        let mut armed = 0;
        for statement in statements {
            transaction.execute(sqlx::AssertSqlSafe(statement)).await?;
            armed += 1;
        }
        transaction.commit().await?;
        connection.close().await?;
        Ok(armed)
    }
}

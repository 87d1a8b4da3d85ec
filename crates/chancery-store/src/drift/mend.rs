//! What `chancery migrate` can put right without anybody's choice: what does not belong goes, and a rule row is again what its history
//! says. Functions, views, triggers and grants of ours are re-applied whole before. Tables, constraints and indexes have data in them:
//! a difference there is named and left to people.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use super::Difference;
use crate::migrate::ALL_ROLES;
use crate::{Error, ground};

/// Statements that take away what does not belong, each with the role that may: rights that somebody outside of the product got.
const STRANGERS: &str = "
    select pg_get_userbyid(o.owner)::text, format('revoke all on %s %s from %I', o.kind, o.name, r.rolname)
      from (select case c.relkind when 'S' then 'sequence' else 'table' end as kind, c.oid::regclass::text as name, c.relowner as owner, c.relacl as acl, c.relnamespace as room
              from pg_class c
            union all
            select 'function', p.oid::regprocedure::text, p.proowner, p.proacl, p.pronamespace from pg_proc p
             where not (p.pronamespace = 'birth'::regnamespace and p.proname ~ '^family_[0-9]+$')
            union all
            select 'schema', quote_ident(n.nspname), n.nspowner, n.nspacl, n.oid from pg_namespace n where n.nspname <> 'birth'
            union all
            select 'table', c.oid::regclass::text, c.relowner, a.attacl, c.relnamespace from pg_attribute a join pg_class c on c.oid = a.attrelid where a.attacl is not null) o
      join pg_namespace n on n.oid = o.room
     cross join aclexplode(o.acl) a
      join pg_roles r on r.oid = a.grantee
     where n.nspname = any ($1) and r.rolname <> all ($2) and pg_get_userbyid(o.owner) = any ($2)
     group by 1, 2";

/// Mends what can be mended, as the migrator, in its transaction.
pub(crate) async fn mend(
    connection: &mut PgConnection,
    differences: &[Difference],
) -> Result<(), Error> {
    let strangers: Vec<(String, String)> = sqlx::query_as(STRANGERS)
        .bind(ground::ROOMS)
        .bind(ALL_ROLES)
        .fetch_all(&mut *connection)
        .await?;
    for (role, statement) in strangers {
        attempt(connection, &role, &statement).await?;
    }
    for difference in differences.iter().filter(|difference| difference.acknowledged.is_none()) {
        if difference.kind == "row" {
            if let Some((table, key)) = difference.name.split_once(' ') {
                restore(connection, table, key).await?;
            }
        } else if let Some((role, statement)) = removal(connection, difference).await? {
            attempt(connection, &role, &statement).await?;
        }
    }
    connection.execute("set local role chancery_owner").await?;
    Ok(())
}

/// How something that does not belong is taken away.
async fn removal(
    connection: &mut PgConnection,
    difference: &Difference,
) -> Result<Option<(String, String)>, Error> {
    let query = match (difference.kind.as_str(), difference.difference.as_str()) {
        ("trigger" | "rule" | "policy", "does not belong to this release") => {
            "select pg_get_userbyid(c.relowner)::text, format('drop %s %I on %s', $1::text, t.name, c.oid::regclass)
               from (select tgrelid as relation, tgname as name from pg_trigger where $1 = 'trigger' and not tgisinternal and tgparentid = 0
                     union all select ev_class, rulename from pg_rewrite where $1 = 'rule'
                     union all select polrelid, polname from pg_policy where $1 = 'policy') t
               join pg_class c on c.oid = t.relation join pg_namespace n on n.oid = c.relnamespace
              where n.nspname || '.' || c.relname || ' ' || t.name = $2"
        }
        ("foreign function", _) => {
            "select pg_get_userbyid(p.proowner)::text, format('drop %s %s', case p.prokind when 'p' then 'procedure' else 'function' end, p.oid::regprocedure)
               from pg_proc p where $1::text is not null and p.oid::regprocedure::text = $2"
        }
        ("foreign view", _) => {
            "select pg_get_userbyid(c.relowner)::text, format('drop %s %s', case c.relkind when 'm' then 'materialized view' else 'view' end, c.oid::regclass)
               from pg_class c where $1::text is not null and c.relkind in ('v', 'm') and c.oid::regclass::text = $2"
        }
        _ => return Ok(None),
    };
    Ok(sqlx::query_as(query)
        .bind(&difference.kind)
        .bind(&difference.name)
        .fetch_optional(&mut *connection)
        .await?)
}

async fn restore(connection: &mut PgConnection, table: &str, key: &str) -> Result<(), Error> {
    let mut attempt = connection.begin().await?;
    attempt.execute("set local role chancery_owner").await?;
    let restored: Result<bool, sqlx::Error> =
        sqlx::query_scalar("select audit.restore_rule($1, $2)")
            .bind(table)
            .bind(key)
            .fetch_one(&mut *attempt)
            .await;
    match restored.map_err(Error::from) {
        Ok(_) => attempt.commit().await?,
        Err(error @ (Error::Away(_) | Error::Conflict(_))) => return Err(error),
        // Something rests on the row as it is: it stays named.
        Err(_) => attempt.rollback().await?,
    }
    Ok(())
}

/// One statement as one of our roles; what that role may not do stays as it is and stays named.
async fn attempt(connection: &mut PgConnection, role: &str, statement: &str) -> Result<(), Error> {
    let mut attempt = connection.begin().await?;
    let role = role.replace('"', "\"\"");
    let done = async {
        // The migrator itself is entered by `none`: it cannot become what it is already.
        let role =
            if role == "chancery_migrator" { "none".to_owned() } else { format!("\"{role}\"") };
        attempt.execute(AssertSqlSafe(format!("set local role {role}"))).await?;
        attempt.execute(AssertSqlSafe(statement.to_owned())).await
    }
    .await
    .map_err(Error::from);
    match done {
        Ok(_) => attempt.commit().await?,
        Err(error @ (Error::Away(_) | Error::Conflict(_))) => return Err(error),
        Err(_) => attempt.rollback().await?,
    }
    Ok(())
}

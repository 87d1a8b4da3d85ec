//! Putting a table under admission, and taking it out: what only an administrator can do.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};

use super::Family;
use crate::fsm::decode;
use crate::{Error, Target};

/// A table and the policy it is to have. What is not named stays as it is, where the table is under admission already.
#[derive(Debug, Clone, Default)]
pub struct NewFamily {
    /// As SQL names it; without a schema it is looked up as the administrator's login would.
    pub table: String,
    /// Several columns have commas between them.
    pub code_column: Option<String>,
    pub name_column: Option<String>,
    pub code_rule: Option<String>,
    pub ttl_seconds: Option<i32>,
    /// Births without a permit are refused; nothing changes about that where it is not named.
    pub enforce: bool,
    /// Enforced from then on, RFC 3339; from now on when it is left out.
    pub enforced_from: Option<String>,
    pub approval_required: Option<bool>,
    pub governance_role: Option<String>,
    /// What is put back to the default: `enforced_from`, `name_column`, `rule`, `ttl_seconds`, `role`.
    pub unset: Vec<String>,
}

/// What became of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FamilyChange {
    /// How it stands now.
    pub family: Family,
    /// How it stood before; nothing when it was never under admission.
    #[serde(skip)]
    pub before: Option<Family>,
    /// Rights for the inserting login that the administrator could not give, for somebody who can.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grants_to_do: Vec<String>,
}

#[derive(Deserialize)]
struct Answer {
    collection_name: String,
    /// Nothing when the table is gone.
    owner: Option<String>,
    statements: Vec<String>,
    #[serde(default)]
    grants: Vec<String>,
}

impl Target {
    /// Puts a table under admission, or changes its policy, and binds its triggers: all of it, or nothing.
    ///
    /// # Errors
    /// `Refused` for a table or a policy that does not fit; `Denied` when there is no such table, or no right to change it.
    pub async fn fn_family_put(
        &self,
        family: &NewFamily,
        principal: &str,
    ) -> Result<FamilyChange, Error> {
        let mut admin = self.admin_options().connect().await?;
        let mut transaction = admin.begin().await?;
        let table = find(&mut transaction, &family.table).await?;
        become_definer(&mut transaction).await?;
        let before = stand(&mut transaction, table).await?;
        let answer: Value = sqlx::query_scalar(
            "select birth.fn_family_put($1, $2, $3, $4, $5, case when $6 then coalesce($7::timestamptz, internal.now()) end, $8, $9, $10, $11)",
        )
        .bind(table)
        .bind(&family.code_column)
        .bind(&family.name_column)
        .bind(&family.code_rule)
        .bind(family.ttl_seconds)
        .bind(family.enforce)
        .bind(&family.enforced_from)
        .bind(family.approval_required)
        .bind(&family.governance_role)
        .bind(principal)
        .bind(&family.unset)
        .fetch_one(&mut *transaction)
        .await?;
        let answer: Answer = decode(answer)?;
        become_owner(&mut transaction, &family.table, &answer).await?;
        run(&mut transaction, &family.table, &answer).await?;
        let grants_to_do = grant(&mut transaction, &answer.grants).await?;
        become_definer(&mut transaction).await?;
        let after = by_name(&mut transaction, &answer.collection_name).await?;
        if after.armed != Some(true) {
            // Dropped with the connection, and the transaction with it.
            return Err(Error::Schema(format!(
                "the triggers on {} are not in place after they were made, so nothing was changed; see what else changes \
                 triggers there (event triggers, a partition with triggers of its own under these names)",
                answer.collection_name
            )));
        }
        transaction.commit().await?;
        admin.close().await?;
        Ok(FamilyChange { family: after, before, grants_to_do })
    }

    /// Takes a table out of admission and unbinds its triggers: all of it, or nothing. What was born stays on record.
    ///
    /// # Errors
    /// `Refused` when it never was under admission; `Denied` when there is no such table, or no right to change it.
    pub async fn fn_family_release(
        &self,
        table: &str,
        principal: &str,
    ) -> Result<FamilyChange, Error> {
        let mut admin = self.admin_options().connect().await?;
        let mut transaction = admin.begin().await?;
        let relation = released(&mut transaction, table).await?;
        become_definer(&mut transaction).await?;
        let before = stand(&mut transaction, relation).await?;
        let answer: Value = sqlx::query_scalar("select birth.fn_family_release($1, $2)")
            .bind(relation)
            .bind(principal)
            .fetch_one(&mut *transaction)
            .await?;
        let answer: Answer = decode(answer)?;
        become_owner(&mut transaction, table, &answer).await?;
        run(&mut transaction, table, &answer).await?;
        become_definer(&mut transaction).await?;
        let family = by_name(&mut transaction, &answer.collection_name).await?;
        transaction.commit().await?;
        admin.close().await?;
        Ok(FamilyChange { family, before, grants_to_do: Vec::new() })
    }
}

/// The table's number: its schema need not be open to the definer.
async fn find(
    connection: &mut PgConnection,
    table: &str,
) -> Result<sqlx::postgres::types::Oid, Error> {
    let found: Result<Option<sqlx::postgres::types::Oid>, sqlx::Error> =
        sqlx::query_scalar("select to_regclass($1)::oid")
            .bind(table)
            .fetch_one(&mut *connection)
            .await;
    let missing = || {
        Error::Denied(format!(
            "there is no table {table} that this login can see; name it as SQL does, with its schema: SCHEMA.TABLE"
        ))
    };
    match found.map_err(Error::from) {
        Ok(found) => found.ok_or_else(missing),
        // A name that is none, or of another database.
        Err(Error::Bug { sqlstate, .. }) if ["42602", "42601", "0A000"].contains(&&*sqlstate) => {
            Err(missing())
        }
        Err(other) => Err(other),
    }
}

/// The number of a table that is to be released: also of one that is gone or has another name now, by the name of its family.
async fn released(
    connection: &mut PgConnection,
    table: &str,
) -> Result<sqlx::postgres::types::Oid, Error> {
    let found = find(connection, table).await;
    let known: Option<sqlx::postgres::types::Oid> = sqlx::query_scalar(
        "select f.relation from birth.v_family f where f.active and (f.relation = $1 or f.collection_name = $2)
          order by coalesce(f.relation = $1, false) desc limit 1",
    )
    .bind(found.as_ref().ok())
    .bind(table)
    .fetch_optional(connection)
    .await?;
    known.map_or(found, Ok)
}

async fn become_definer(connection: &mut PgConnection) -> Result<(), Error> {
    // Names in what follows are the database's own: nothing that stands in a schema of users is looked up by accident.
    let became = connection
        .execute("reset role; set local role chancery_definer; set local search_path = pg_catalog, pg_temp")
        .await;
    became.map(|_| ()).map_err(|error| match Error::from(error) {
        Error::Denied(message) => Error::Denied(format!(
            "{message}; a table is put under admission or taken out by the administrator who installed Chancery: \
             set DATABASE_URL to that login"
        )),
        other => other,
    })
}

async fn become_owner(
    connection: &mut PgConnection,
    table: &str,
    answer: &Answer,
) -> Result<(), Error> {
    connection.execute("reset role").await?;
    let Some(owner) = &answer.owner else { return Ok(()) };
    let superuser: bool =
        sqlx::query_scalar("select r.rolsuper from pg_roles r where r.rolname = current_user")
            .fetch_one(&mut *connection)
            .await?;
    if superuser {
        return Ok(());
    }
    let quoted = owner.replace('"', "\"\"");
    let became = connection.execute(AssertSqlSafe(format!("set local role \"{quoted}\""))).await;
    became.map(|_| ()).map_err(|error| match Error::from(error) {
        Error::Denied(message) => Error::Denied(format!(
            "{message}; {table} belongs to {owner}, and its triggers are made in that name: grant {owner} to this login, or use \
             a superuser's"
        )),
        other => other,
    })
}

async fn run(connection: &mut PgConnection, table: &str, answer: &Answer) -> Result<(), Error> {
    for statement in &answer.statements {
        connection.execute(AssertSqlSafe(statement.as_str())).await.map_err(|error| {
            match Error::from(error) {
                Error::Denied(message) => Error::Denied(format!(
                    "{message}; the triggers on {table} are made as {}, or as a superuser",
                    answer.owner.as_deref().unwrap_or_default()
                )),
                other => other,
            }
        })?;
    }
    Ok(())
}

/// Gives the inserting login what it needs. What this administrator may not give is told, and stops nothing: who inserts under a
/// login of their own does not need it.
async fn grant(connection: &mut PgConnection, grants: &[String]) -> Result<Vec<String>, Error> {
    let mut left = Vec::new();
    for grant in grants {
        let mut attempt = connection.begin().await?;
        let given = attempt.execute(AssertSqlSafe(grant.as_str())).await.map_err(Error::from);
        match given {
            Ok(_) => attempt.commit().await?,
            Err(Error::Denied(_)) => {
                attempt.rollback().await?;
                left.push(grant.clone());
            }
            Err(other) => return Err(other),
        }
    }
    Ok(left)
}

/// How a table stands, by its number.
async fn stand(
    connection: &mut PgConnection,
    table: sqlx::postgres::types::Oid,
) -> Result<Option<Family>, Error> {
    let row: Option<Value> = sqlx::query_scalar(
        "select to_jsonb(v) from birth.v_family v where v.relation = $1 order by v.active desc limit 1",
    )
    .bind(table)
    .fetch_optional(connection)
    .await?;
    row.map(decode).transpose()
}

async fn by_name(connection: &mut PgConnection, collection: &str) -> Result<Family, Error> {
    let row: Value =
        sqlx::query_scalar("select to_jsonb(v) from birth.v_family v where v.collection_name = $1")
            .bind(collection)
            .fetch_one(connection)
            .await?;
    decode(row)
}

//! What a superuser can do and see by hand, for tests about forgeries. SQL that only a test would write.

use chancery_store::Role;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use crate::TestDb;

/// A transaction of a superuser that holds what its statement locked, until it is let go.
#[derive(Debug)]
pub struct Held(PgConnection);

impl Held {
    /// Lets go.
    ///
    /// # Panics
    /// When the transaction was lost.
    pub async fn let_go(mut self) {
        self.0.execute("commit").await.expect("the end of the transaction");
        self.0.close().await.expect("the superuser leaves");
    }
}

impl TestDb {
    /// Runs a statement as a superuser and holds its locks.
    ///
    /// # Panics
    /// When it fails.
    pub async fn hold(&self, statement: &str) -> Held {
        let mut admin = self.superuser().await;
        admin.execute("begin").await.expect("a transaction");
        let done = admin.execute(AssertSqlSafe(statement.to_owned())).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}"));
        Held(admin)
    }

    /// Runs statements as a superuser with the triggers of the tables that they name off and no foreign key asked; afterwards the
    /// triggers are on again. Gives how many rows were touched.
    ///
    /// # Panics
    /// When a statement fails.
    pub async fn forge(&self, statements: &[&str]) -> u64 {
        let mut admin = self.superuser().await;
        let mut transaction = admin.begin().await.expect("a transaction");
        // Not those of all tables: every session would have to learn anew what all tables look like, each time.
        let mut found = triggers(&mut transaction).await;
        found.retain(|(table, _)| statements.iter().any(|statement| statement.contains(table)));
        let off =
            format!("set local session_replication_role = replica; {}", switch(&found, "disable"));
        transaction.execute(AssertSqlSafe(off)).await.expect("the triggers are off");
        let mut touched = 0;
        for statement in statements {
            let done = transaction.execute(AssertSqlSafe((*statement).to_owned())).await;
            touched += done.unwrap_or_else(|error| panic!("{statement}: {error}")).rows_affected();
        }
        let mut left = triggers(&mut transaction).await;
        left.retain(|trigger| found.contains(trigger));
        let on = switch(&left, "enable always");
        transaction.execute(AssertSqlSafe(on)).await.expect("the triggers are on again");
        transaction.commit().await.expect("forged");
        admin.close().await.expect("the superuser leaves");
        touched
    }

    /// The texts of a query's only column, as a superuser sees them.
    ///
    /// # Panics
    /// When it fails.
    pub async fn texts(&self, query: &str) -> Vec<Option<String>> {
        let mut admin = self.borrow_superuser().await;
        let texts = sqlx::query_scalar(AssertSqlSafe(query.to_owned())).fetch_all(&mut admin).await;
        self.give_back(admin);
        texts.unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    /// The only text of a query; null and no row are the empty text.
    ///
    /// # Panics
    /// When it fails.
    pub async fn text(&self, query: &str) -> String {
        self.texts(query).await.into_iter().next().flatten().unwrap_or_default()
    }

    /// The only text of a query that a login asks: for doors that nothing else calls yet.
    ///
    /// # Panics
    /// When it fails.
    pub async fn text_as(&self, role: Role, query: &str) -> String {
        let mut connection = self.connect(role).await;
        let query = AssertSqlSafe(query.to_owned());
        let text: Option<String> = sqlx::query_scalar(query)
            .fetch_one(&mut connection)
            .await
            .unwrap_or_else(|error| panic!("{role:?}: {error}"));
        connection.close().await.expect("the login leaves");
        text.unwrap_or_default()
    }

    /// How many rows a table has, or those that fit a condition (`TABLE where …`).
    ///
    /// # Panics
    /// When it cannot be asked.
    pub async fn count(&self, table: &str) -> i64 {
        let count = self.text(&format!("select count(*)::text from {table}")).await;
        count.parse().expect("a number")
    }
}

/// Tables and names of our triggers.
async fn triggers(connection: &mut PgConnection) -> Vec<(String, String)> {
    sqlx::query_as(
        "select t.tgrelid::regclass::text, quote_ident(t.tgname)
           from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
          where n.nspowner = 'chancery_owner'::regrole and not t.tgisinternal and t.tgparentid = 0",
    )
    .fetch_all(connection)
    .await
    .expect("the triggers")
}

fn switch(triggers: &[(String, String)], how: &str) -> String {
    triggers
        .iter()
        .map(|(table, name)| format!("alter table {table} {how} trigger {name};"))
        .collect()
}

//! A small film-rental shop that was there before the product, and then came under admission.
//!
//! Its tables have what real ones have: triggers of their own, a sequence, a generated column, foreign keys that are looked at when
//! the transaction ends, partitions of partitions, row-level security, and rows.

use chancery_store::{Error, Role};
use chancery_testkit::{TestDb, repo_path};
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::approval_world::Panel;

/// Who the shop belongs to. No login: the shop's people come as somebody else and become it.
pub(crate) const OWNER: &str = "birth_shop_owner";

/// Roles are of the whole cluster, and several tests make this one at once.
const OWNER_ROLE: &str = "do $$ begin
  create role birth_shop_owner;
exception when duplicate_object or unique_violation then null; end $$";

const SHOP: &str = r#"
create schema shop authorization birth_shop_owner;
set role birth_shop_owner;
create sequence shop.film_no;
create table shop.ledger (n bigint generated always as identity primary key, what text not null);
create table shop.film (
  code text primary key,
  title text not null,
  price numeric not null default 1 check (price >= 0),
  film_no bigint not null default nextval('shop.film_no'),
  shelf text generated always as (upper(left(title, 1))) stored
);
create function shop.tidy() returns trigger language plpgsql as $$ begin new.title := btrim(new.title); return new; end $$;
create function shop.note() returns trigger language plpgsql security definer set search_path = pg_catalog as
  $$ begin insert into shop.ledger (what) values (tg_op || ' ' || new.code); return null; end $$;
create trigger tidy before insert or update on shop.film for each row execute function shop.tidy();
create trigger note after insert or update on shop.film for each row execute function shop.note();
create table shop.inventory (
  code uuid primary key,
  film_code text not null references shop.film (code) deferrable initially deferred
);
create table shop.rental (code text not null, rented_on date not null, customer text, primary key (code, rented_on))
  partition by range (rented_on);
create table shop.rental_2025 partition of shop.rental for values from ('2025-01-01') to ('2026-01-01');
create table shop.rental_2026 partition of shop.rental for values from ('2026-01-01') to ('2027-01-01') partition by range (rented_on);
create table shop.rental_2026_spring partition of shop.rental_2026 for values from ('2026-01-01') to ('2026-07-01');
create table shop.rental_2026_autumn partition of shop.rental_2026 for values from ('2026-07-01') to ('2027-01-01');
create table shop.rental_default partition of shop.rental default;
create table shop.disc (film_code text not null, disc_no integer not null, label varchar(60) not null unique, primary key (film_code, disc_no));
create table shop.ticket (code bigint primary key, note text);
create table shop.member (code text collate "C" primary key, name text);
alter table shop.member enable row level security;
create policy only_named on shop.member for insert with check (name is not null);
create policy all_read on shop.member for select using (true);
insert into shop.film (code, title) values ('F-1', 'Alien'), ('F-2', 'Brazil');
insert into shop.inventory (code, film_code) values ('00000000-0000-4000-8000-000000000001', 'F-1');
insert into shop.rental (code, rented_on) values ('R-1', '2025-05-05'), ('R-2', '2026-02-02'), ('R-3', '2030-03-03');
insert into shop.disc (film_code, disc_no, label) values ('F-1', 1, 'D-1');
insert into shop.ticket (code) values (1);
insert into shop.member (code, name) values ('M-1', 'Ada');
reset role;
"#;

/// What a film, of which nothing but a permit was asked for, looks like on every table.
pub(crate) const RESERVED: &str =
    "rows 0 | permits RESERVED | births - | log RESERVED | told reserved";
/// Born, with everything that belongs to it.
pub(crate) const BORN: &str = "rows 1 | permits FINALIZED | births permit | log RESERVED>CONSUMED>FINALIZED | told reserved,consumed,finalized";
/// Its insert led to no row.
pub(crate) const SPENT: &str = "rows 0 | permits FAILED | births - | log RESERVED>CONSUMED>FAILED | told reserved,consumed,failed";
/// Never heard of.
pub(crate) const NOTHING: &str = "rows 0 | permits - | births - | log - | told -";
/// Older than its table's protection.
pub(crate) const OLD: &str = "rows 1 | permits - | births - | log - | told -";

/// A whole policy, as the arguments of `fn_family_put` behind the table: what it leaves out is the default, whatever the table had before.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    pub(crate) code: &'static str,
    pub(crate) name: Option<&'static str>,
    pub(crate) rule: Option<&'static str>,
    pub(crate) ttl: Option<i32>,
    /// An expression.
    pub(crate) enforced_from: Option<&'static str>,
    pub(crate) approval: bool,
    pub(crate) role: Option<&'static str>,
}

impl Policy {
    /// Enforced from now on.
    pub(crate) const fn enforced(code: &'static str) -> Self {
        Self { enforced_from: Some("internal.now()"), ..Self::reported(code) }
    }

    /// Births without a permit are only reported.
    pub(crate) const fn reported(code: &'static str) -> Self {
        Self {
            code,
            name: None,
            rule: None,
            ttl: None,
            enforced_from: None,
            approval: false,
            role: None,
        }
    }
}

/// The shop, beside the people of [`Panel`].
pub(crate) struct Shop {
    panel: Panel,
}

impl std::ops::Deref for Shop {
    type Target = Panel;

    fn deref(&self) -> &Panel {
        &self.panel
    }
}

impl Shop {
    /// The shop as it was, and the product beside it.
    pub(crate) async fn open() -> Self {
        Self::on(TestDb::new().await).await
    }

    /// In a database that has other things in it.
    pub(crate) async fn on(db: TestDb) -> Self {
        let panel = Panel::on(db).await;
        for machine in ["birth_permit", "governance_candidate", "finding"] {
            let path = repo_path(&format!("machines/{machine}.yaml"));
            panel.db.machine(&std::fs::read_to_string(path).expect("a shipped machine")).await;
        }
        for (name, class) in [
            ("clerk", "executor_worker"),
            ("cashier", "executor_worker"),
            ("chief", "reviewer"),
            ("guest", "observer"),
        ] {
            panel.db.service(name, &[class]).await;
        }
        let mut admin = panel.db.superuser().await;
        for statement in [OWNER_ROLE, SHOP] {
            admin.execute(statement).await.expect("the shop opens");
        }
        Self { panel }
    }

    /// The shop with its films under enforced admission.
    pub(crate) async fn enforced() -> Self {
        let shop = Self::open().await;
        let film = Policy { name: Some("title"), ..Policy::enforced("code") };
        shop.protect("shop.film", &film).await.expect("films are protected");
        shop
    }

    // ── families ────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Puts a table under admission as the administrator does: policy, triggers by the owner, grants, in one transaction.
    pub(crate) async fn protect(&self, table: &str, policy: &Policy) -> Result<Value, Error> {
        let relation = self.relation(table).await;
        self.protect_number(relation, policy).await
    }

    pub(crate) async fn protect_number(
        &self,
        relation: i64,
        policy: &Policy,
    ) -> Result<Value, Error> {
        let mut admin = self.db.superuser().await;
        admin.execute("begin").await?;
        admin.execute("set local role chancery_definer").await?;
        let query = format!(
            "select birth.fn_family_put({relation}::oid, $1, $2, $3, $4, {}, $5, $6, 'chancery', '{{enforced_from,name_column,rule,ttl_seconds,role}}')",
            policy.enforced_from.unwrap_or("null"),
        );
        let answer: Value = sqlx::query_scalar(AssertSqlSafe(query))
            .bind(policy.code)
            .bind(policy.name)
            .bind(policy.rule)
            .bind(policy.ttl)
            .bind(policy.approval)
            .bind(policy.role)
            .fetch_one(&mut admin)
            .await?;
        let owner = answer["owner"].as_str().expect("an owner");
        admin.execute(AssertSqlSafe(format!("set local role \"{owner}\""))).await?;
        bind(&mut admin, &answer).await?;
        admin.execute("commit").await?;
        Ok(answer)
    }

    /// Takes a table out again, by its number.
    pub(crate) async fn release(&self, relation: i64) -> Result<Value, Error> {
        let mut admin = self.db.superuser().await;
        admin.execute("begin").await?;
        admin.execute("set local role chancery_definer").await?;
        let query = format!("select birth.fn_family_release({relation}::oid, 'chancery')");
        let answer: Value = sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&mut admin).await?;
        admin.execute("reset role").await?;
        bind(&mut admin, &answer).await?;
        admin.execute("commit").await?;
        Ok(answer)
    }

    pub(crate) async fn relation(&self, table: &str) -> i64 {
        self.one(&format!("select '{table}'::regclass::oid::bigint")).await
    }

    // ── permits ─────────────────────────────────────────────────────────────────────────────────────────────────────

    /// What the clerk asks for through the product's own login.
    pub(crate) async fn ask(&self, collection: &str, asks: Value) -> Result<Value, Error> {
        self.ask_as("clerk", "executor_worker", collection, asks, None).await
    }

    pub(crate) async fn ask_as(
        &self,
        principal: &str,
        class: &str,
        collection: &str,
        asks: Value,
        approval: Option<Uuid>,
    ) -> Result<Value, Error> {
        let mut app = self.db.connect(Role::App).await;
        let answer = sqlx::query_scalar(
            "select birth.fn_birth_permit_request($1, $2, $3, $4, 'dot_birth_admit', $5)",
        )
        .bind(collection)
        .bind(asks)
        .bind(principal)
        .bind(class)
        .bind(approval)
        .fetch_one(&mut app)
        .await?;
        Ok(answer)
    }

    /// Permits for these codes, which nobody has asked for otherwise.
    pub(crate) async fn permits(&self, collection: &str, codes: &[&str]) {
        let asks = codes.iter().map(|code| json!({ "code": code })).collect();
        self.ask(collection, Value::Array(asks)).await.expect("permits");
    }

    /// The newest permit of a code.
    pub(crate) async fn permit_of(&self, collection: &str, code: &str) -> Uuid {
        let query = format!(
            "select permit_id from birth.birth_admission_permit where collection_name = '{collection}' and entity_code = '{code}'
              order by requested_at desc, permit_id desc limit 1"
        );
        self.one(&query).await
    }

    // ── the glass ───────────────────────────────────────────────────────────────────────────────────────────────────────

    /// An approval to break the glass, asked for by petra.
    pub(crate) async fn glass_approval(
        &self,
        collection: &str,
        minutes: i32,
        reason: &str,
    ) -> Uuid {
        let mut ask = self.an_ask("birth_break_glass", "medium", collection).await;
        let digest = format!("select sha256(convert_to('{minutes}:{reason}', 'UTF8'))");
        ask.subject_digest = Some(self.one(&digest).await);
        self.sign_ask(&mut ask).await;
        crate::approval_world::Panel::ask(self, &ask).await.expect("a request");
        ask.approval_id
    }

    pub(crate) async fn break_with(
        &self,
        collection: &str,
        approval: Option<Uuid>,
        reason: &str,
        minutes: i32,
    ) -> Result<Value, Error> {
        let mut app = self.db.connect(Role::App).await;
        let answer =
            sqlx::query_scalar("select birth.fn_break_glass($1, $2, $3, $4, 'pic_human', 'petra')")
                .bind(collection)
                .bind(approval)
                .bind(reason)
                .bind(minutes)
                .fetch_one(&mut app)
                .await?;
        Ok(answer)
    }

    /// Breaks the glass of a family, on the word of another person.
    pub(crate) async fn break_glass(&self, collection: &str, minutes: i32) {
        let approval = self.glass_approval(collection, minutes, "a flood").await;
        self.votes(approval, "sofia", "approve").await.expect("a vote");
        self.break_with(collection, Some(approval), "a flood", minutes).await.expect("broken");
    }

    // ── statements ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// One transaction of a login: all of these, or what refused them, at the latest its COMMIT.
    pub(crate) async fn run(&self, role: Role, statements: &[&str]) -> Result<(), Error> {
        let mut connection = self.db.connect(role).await;
        transaction(&mut connection, statements).await
    }

    /// One transaction of the login that writes protected tables.
    pub(crate) async fn write(&self, statements: &[&str]) -> Result<(), Error> {
        self.run(Role::BirthWriter, statements).await
    }

    /// One transaction of the shop's owner.
    pub(crate) async fn own(&self, statements: &[&str]) -> Result<(), Error> {
        let mut admin = self.db.superuser().await;
        admin.execute("set role birth_shop_owner").await?;
        transaction(&mut admin, statements).await
    }

    /// One transaction of the administrator.
    pub(crate) async fn administer(&self, statements: &[&str]) -> Result<(), Error> {
        let mut admin = self.db.superuser().await;
        transaction(&mut admin, statements).await
    }

    // ── what came of it ─────────────────────────────────────────────────────────────────────────────────────────────

    /// How a code stands: its rows, permits, births, what the log says of its permits, and their events.
    pub(crate) async fn standing(&self, table: &str, column: &str, code: &str) -> String {
        let of_it = format!("p.collection_name = '{table}' and p.entity_code = '{code}'");
        let query = format!(
            "select concat_ws(' | ',
               (select 'rows ' || count(*) from {table} t where t.{column}::text = '{code}'),
               (select 'permits ' || coalesce(string_agg(p.status, ',' order by p.requested_at, p.permit_id), '-')
                  from birth.birth_admission_permit p where {of_it}),
               (select 'births ' || coalesce(string_agg(p.admission, ','), '-') from birth.birth_registry p where {of_it}),
               (select 'log ' || coalesce(string_agg(l.to_state, '>' order by p.requested_at, l.run_id, l.seq), '-')
                  from fsm.transition_log l join birth.birth_admission_permit p on p.permit_id = l.run_id where {of_it}),
               (select 'told ' || coalesce(string_agg(replace(o.event_type, 'permit.', ''), ',' order by p.requested_at, o.subject_id, o.subject_seq), '-')
                  from event.event_outbox o join birth.birth_admission_permit p on p.permit_id = o.subject_id where {of_it}))"
        );
        self.one(&query).await
    }

    /// How a film stands.
    pub(crate) async fn film(&self, code: &str) -> String {
        self.standing("shop.film", "code", code).await
    }

    /// Digest of everything: every row of ours, every row of the shop.
    pub(crate) async fn everything(&self) -> String {
        let shop: String = self
            .one(
                "select string_agg(md5(t::text), '' order by md5(t::text)) from (
                   select 'film' as k, f::text from shop.film f union all select 'ledger', l::text from shop.ledger l
                   union all select 'inventory', i::text from shop.inventory i union all select 'rental', r.tableoid::regclass || r::text from shop.rental r
                   union all select 'disc', d::text from shop.disc d union all select 'ticket', t::text from shop.ticket t
                   union all select 'member', m::text from shop.member m) t",
            )
            .await;
        format!("{}\n{shop}", self.db.fingerprint().await)
    }

    /// No half state anywhere: no permit is in use, none is finalized without its birth, no birth by a permit is without one that is
    /// finalized, every permit stands as its log says, and the log is chained.
    pub(crate) async fn is_sound(&self) {
        let found: Vec<Option<String>> = self
            .db
            .texts(
                "select 'consumed ' || entity_code from birth.birth_admission_permit where status = 'CONSUMED'
                 union all select violation || ' ' || entity_code from birth.v_birth_admission_violation where violation not in ('permit_missing', 'glass_broken')
                 union all select 'not its own birth ' || p.entity_code from birth.birth_admission_permit p left join birth.birth_registry b on b.birth_id = p.finalized_birth_id
                    where (p.status = 'FINALIZED') is distinct from (b.permit_id = p.permit_id and b.entity_code = p.entity_code and b.collection_name = p.collection_name)
                      and not (p.status <> 'FINALIZED' and p.finalized_birth_id is null)
                 union all select 'not as logged ' || p.entity_code from birth.birth_admission_permit p
                    left join lateral (select l.* from fsm.transition_log l where l.run_id = p.permit_id order by l.seq desc limit 1) l on true
                    where (l.to_state, l.seq, l.hash) is distinct from (p.status, p.seq, p.head_hash)
                 union all select 'not chained ' || l.run_id from fsm.transition_log l left join fsm.transition_log b on b.run_id = l.run_id and b.seq = l.seq - 1
                    where l.run_kind = 'birth_permit' and (l.prev_hash is distinct from b.hash or l.seq > 1 and l.from_state is distinct from b.to_state)
                 union all select 'rehearsed ' || entity_code from birth.rehearsal",
            )
            .await;
        assert_eq!(found, Vec::<Option<String>>::new(), "no half state");
    }

    /// Open findings, by type and what they are about.
    pub(crate) async fn findings(&self) -> Vec<String> {
        self.db
            .texts(
                "select issue_type || ' ' || entity_code from governance.system_issues
                  where state in ('open', 'acknowledged') order by 1",
            )
            .await
            .into_iter()
            .flatten()
            .collect()
    }
}

/// Runs the statements of an answer: what binds or unbinds a table, and what its writer needs.
async fn bind(owner: &mut PgConnection, answer: &Value) -> Result<(), Error> {
    for list in ["statements", "grants"] {
        for statement in answer[list].as_array().into_iter().flatten() {
            let statement = statement.as_str().expect("a statement").to_owned();
            owner.execute(AssertSqlSafe(statement)).await?;
        }
    }
    Ok(())
}

/// All of these statements and the COMMIT, or the first refusal.
pub(crate) async fn transaction(
    connection: &mut PgConnection,
    statements: &[&str],
) -> Result<(), Error> {
    let whole = ["begin"].iter().chain(statements).chain(&["commit"]);
    for statement in whole {
        let done = connection.execute(AssertSqlSafe((*statement).to_owned())).await;
        if let Err(error) = done {
            connection.execute("rollback").await?;
            return Err(error.into());
        }
    }
    Ok(())
}

/// What PostgreSQL itself said no to.
#[track_caller]
pub(crate) fn denied(answer: Result<(), Error>) -> String {
    match answer.expect_err("refused") {
        Error::Denied(message) => message,
        Error::Bug { sqlstate, message } => format!("{sqlstate} {message}"),
        other => panic!("PostgreSQL's own no, not {other:?}"),
    }
}

//! A shop whose permits and births went every way there is, and what a forger can do to them.

use std::time::Duration;

use chancery_engine::approval::{self, Decision, NewRequest};
use chancery_engine::audit::{self, Mismatch, Pins, Report};
use chancery_engine::identity::{Keystore, new_key};
use chancery_engine::run::Actor;
use chancery_model::birth::{Request, payload_digest, request_hash};
use chancery_model::envelope::{Birth, Move};
use chancery_store::{Role, Store};
use chancery_testkit::{TestDb, repo_path};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

/// Three tables of somebody's shop: one that is enforced, one where a missing permit is only reported, one whose births are approved.
const SHOP: &str = "
create schema shop;
create table shop.film (code text primary key, title text unique, minutes int);
create table shop.note (code text primary key, title text);
create table shop.deed (code text primary key, title text);";

const FILM: &str = "birth.birth_admission_permit p where p.collection_name = 'shop.film'";

/// Permits and births that went every way there is, by people who sign with keys of their own.
pub(super) struct Scene {
    pub(super) db: TestDb,
    app: Store,
    ada: Actor,
    ben: Actor,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is asked for: a code with a name, of the family's own role.
fn film<'a>(code: &'a str, name: &'a str) -> Request<'a> {
    Request {
        collection: "shop.film",
        code,
        name: Some(name),
        species: None,
        role: "governed",
        payload_digest: None,
    }
}

impl Scene {
    pub(super) async fn new() -> Self {
        let db = TestDb::new().await;
        for machine in ["birth_permit", "governance_candidate", "finding"] {
            let path = repo_path(&format!("machines/{machine}.yaml"));
            db.machine(&std::fs::read_to_string(path).expect("a shipped machine")).await;
        }
        let operator = db.store(Role::Migrator);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keystore = Keystore::below(folder.path());
        for (name, classes) in [("ada", ["pic_human"]), ("ben", ["sovereign"])] {
            let classes = classes.map(str::to_owned);
            operator.fn_principal_add(name, "human", &classes, None).await.expect("a person");
            new_key(&operator, &keystore, name, None).await.expect("a key");
        }
        db.service("clerk", &["executor_worker"]).await;
        let app = db.store(Role::App);
        let ada = Actor::open(&app, &keystore, "ada").await.expect("ada");
        let ben = Actor::open(&app, &keystore, "ben").await.expect("ben");
        let scene = Self { db, app, ada, ben };
        scene.every_way().await;
        assert_eq!(scene.found().await, [], "an honest history has none");
        scene
    }

    async fn every_way(&self) {
        // Two hours ago: the policies, and a permit that nobody used.
        self.clock("clock_timestamp() - interval '2 hours'").await;
        self.as_superuser(SHOP).await;
        self.protect("shop.film", "null", "internal.now()", false).await;
        self.protect("shop.note", "null", "null", false).await;
        self.protect("shop.deed", "'^D-'", "internal.now()", true).await;
        self.ask("F-4", "late").await;
        self.clock("clock_timestamp()").await;
        self.door("birth.fn_permit_watchdog(100, 'chancery')").await;

        self.signed("F-1", "Phở").await;
        self.insert("insert into shop.film values ('F-1', 'Phở', 90)").await;
        self.ask("F-2", "waiting").await;
        self.ask("F-3", "Phở").await;
        self.insert("insert into shop.film values ('F-3', 'Phở', 1) on conflict do nothing").await;
        self.ask("F-5", "unwanted").await;
        self.revoke("F-5").await;
        let told = self.ask("F-6", "refused").await;
        self.door(&format!("birth.fn_birth_permit_fail('{told}', 'minutes is no number', 'clerk', 'executor_worker')")).await;
        let asks = json!([{ "code": "F-7" }, { "code": "F-8", "payload": { "minutes": 7.0 } }]);
        self.door(&format!(
            "birth.fn_birth_permit_request('shop.film', '{asks}', 'clerk', 'executor_worker', p_batch_id => gen_random_uuid())"
        ))
        .await;
        self.insert("insert into shop.film (code) values ('F-7'), ('F-8')").await;
        self.insert("insert into shop.note values ('N-1', 'by hand')").await;
        self.approved_deed().await;
        self.break_the_glass().await;
        self.insert("insert into shop.film values ('G-1', 'in a hurry', 2)").await;
        let handed = self.door("birth.fn_birth_handoff('chancery')").await;
        assert_eq!(handed["handed"], 6, "{handed}");
        self.ledger().await;
    }

    async fn as_superuser(&self, statements: &str) {
        let mut admin = self.db.superuser().await;
        let done = admin.execute(AssertSqlSafe(statements.to_owned())).await;
        done.unwrap_or_else(|error| panic!("{statements}: {error}"));
    }

    async fn clock(&self, now: &str) {
        self.as_superuser(&format!(
            "create or replace function internal.now() returns timestamptz language sql volatile parallel safe as $$ select {now} $$"
        ))
        .await;
    }

    /// Puts a table under admission, as an administrator who owns it.
    async fn protect(&self, table: &str, rule: &str, from: &str, approval: bool) {
        self.as_superuser(&format!(
            "do $do$
             declare
               v_report jsonb;
               v_statement text;
               v_from timestamptz := {from};
               v_table oid := '{table}'::regclass;
             begin
               set local role chancery_definer;
               v_report := birth.fn_family_put(v_table, 'code', 'title', {rule}, 3600, v_from, {approval}, null, 'clerk');
               reset role;
               for v_statement in select jsonb_array_elements_text(v_report -> 'statements' || (v_report -> 'grants')) loop
                 execute v_statement;
               end loop;
             end
             $do$"
        ))
        .await;
    }

    /// What a door of the app's login answers.
    async fn door(&self, call: &str) -> Value {
        let answer = self.db.text_as(Role::App, &format!("select {call}::text")).await;
        serde_json::from_str(&answer).expect("a JSON answer")
    }

    async fn insert(&self, statement: &str) {
        let mut writer = self.db.connect(Role::BirthWriter).await;
        let done = writer.execute(AssertSqlSafe(statement.to_owned())).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }

    /// A permit for a film, asked for by a service.
    async fn ask(&self, code: &str, name: &str) -> Uuid {
        let asks = json!([{ "code": code, "name": name }]);
        let call = format!(
            "birth.fn_birth_permit_request('shop.film', '{asks}', 'clerk', 'executor_worker')"
        );
        let answer = self.door(&call).await;
        answer["permits"][0]["permit_id"].as_str().expect("a permit").parse().expect("an id")
    }

    /// A permit for a film that ada asks for and signs.
    async fn signed(&self, code: &str, name: &str) {
        let permit_id = Uuid::now_v7();
        let payload = json!({ "minutes": 90 });
        let digest = payload_digest(&payload);
        let hash = request_hash(&Request { payload_digest: Some(&digest), ..film(code, name) });
        let evidence = json!({ "request_hash": hex(&hash) });
        let statement = Move {
            run_kind: "birth_permit",
            run_id: permit_id,
            to: "RESERVED",
            principal: "ada",
            actor_class: "pic_human",
            trigger_kind: "rpc",
            trigger_ref: "permit_request",
            evidence: &evidence,
            reason: None,
            idempotency_key: "reserve",
            birth: Some(Birth { machine: "birth_permit", data: &Value::Null }),
        }
        .statement();
        let own = self.ada.key.as_ref().expect("ada has a key");
        let signature = hex(&statement.sign(&own.key));
        let asks = json!([{ "permit_id": permit_id, "code": code, "name": name, "payload": payload, "signature": signature }]);
        let answer = self
            .door(&format!(
                "birth.fn_birth_permit_request('shop.film', '{asks}', 'ada', 'pic_human', p_key_id => '{}')",
                own.key_id
            ))
            .await;
        assert_eq!(answer["permits"][0]["request_hash"], hex(&hash), "both sides hash the same");
    }

    /// Ben takes a permit back, and signs it.
    async fn revoke(&self, code: &str) {
        let query = format!("select permit_id::text from {FILM} and entity_code = '{code}'");
        let id = self.db.text(&query).await;
        let reason = "ordered twice";
        let evidence = json!({ "reason": reason, "audit_ref": format!("birth_permit:{id}"), "event": { "reason": reason } });
        let statement = Move {
            run_kind: "birth_permit",
            run_id: id.parse().expect("an id"),
            to: "REVOKED",
            principal: "ben",
            actor_class: "sovereign",
            trigger_kind: "rpc",
            trigger_ref: "permit_revoke",
            evidence: &evidence,
            reason: Some(reason),
            idempotency_key: "revoke",
            birth: None,
        }
        .statement();
        let own = self.ben.key.as_ref().expect("ben has a key");
        let signature = hex(&statement.sign(&own.key));
        self.door(&format!(
            "birth.fn_birth_permit_revoke('{id}', '{reason}', 'sovereign', 'ben', 'revoke', '{}', '\\x{signature}')",
            own.key_id
        ))
        .await;
    }

    /// An approval that ada asked for and ben gave.
    async fn approval(&self, kind: &str, subject: &str, digest: [u8; 32]) -> Uuid {
        let new = NewRequest {
            approval_id: None,
            kind: kind.to_owned(),
            subject_ref: subject.to_owned(),
            subject_digest: Some(digest.to_vec()),
            risk: None,
            title: "Let it be born".to_owned(),
            facts: json!({}),
            expires_in: Duration::from_secs(600),
        };
        let asked = approval::request(&self.app, &self.ada, "pic_human", &new).await;
        let id = asked.expect("a request").approval_id;
        let vote = approval::vote(&self.app, &self.ben, "sovereign", id, Decision::Approve, None);
        vote.await.expect("a vote");
        id
    }

    async fn approved_deed(&self) {
        let request = Request { collection: "shop.deed", name: None, ..film("D-1", "") };
        let hash = request_hash(&request);
        let id = self.approval("birth_admission", "shop.deed/D-1", hash).await;
        self.door(&format!(
            "birth.fn_birth_permit_request('shop.deed', '[{{\"code\": \"D-1\"}}]', 'clerk', 'executor_worker', p_approval_id => '{id}')"
        ))
        .await;
        self.insert("insert into shop.deed values ('D-1', 'a house')").await;
    }

    async fn break_the_glass(&self) {
        let reason = "the till is down";
        let text = format!("30:{reason}");
        let query = format!("select encode(sha256(convert_to('{text}', 'UTF8')), 'hex')");
        let digest = self.db.text(&query).await;
        let byte = |at: usize| u8::from_str_radix(&digest[at * 2..at * 2 + 2], 16).expect("hex");
        let id = self.approval("birth_break_glass", "shop.film", std::array::from_fn(byte)).await;
        self.door(&format!(
            "birth.fn_break_glass('shop.film', '{id}', '{reason}', 30, 'pic_human', 'ada')"
        ))
        .await;
    }

    /// F-7 from its request to its end; F-6 failed, and is asked for again.
    async fn ledger(&self) {
        let done =
            ["REQUESTED", "VALIDATED", "RESERVED", "CONSUMED", "FINALIZED", "HANDOFF_ENQ", "DONE"];
        let failed = ["REQUESTED", "VALIDATED", "RESERVED", "FAILED", "REQUESTED"];
        for (code, phases) in [("F-7", &done[..]), ("F-6", &failed)] {
            for phase in phases {
                self.door(&format!(
                    "iu.fn_dot_iu_command_log('dot_birth_admit', 'apply', '{phase}', 'ok',
                       (select p.request_hash from birth.v_birth_admission_permit p where p.entity_code = '{code}'),
                       '{{}}', '{{\"code\": \"{code}\"}}', 'clerk')"
                ))
                .await;
            }
        }
    }

    pub(super) async fn audit(&self) -> Report {
        let auditor = self.db.store(Role::Auditor);
        audit::verify(&auditor, Pins::default(), |_| ()).await.expect("an audit")
    }

    pub(super) async fn found(&self) -> Vec<Mismatch> {
        self.audit().await.mismatches
    }

    pub(super) async fn forged(&self, statements: &[&str]) {
        assert!(self.db.forge(statements).await > 0, "{statements:?}");
    }

    /// Copies tables, and takes away what keeps a forger from any row.
    pub(super) async fn keep(&self, tables: &[&str]) {
        for table in tables {
            let copy = format!("create table public.{} as table {table}", copy_of(table));
            self.as_superuser(&copy).await;
        }
        let constraints = self
            .db
            .texts(
                "select format('alter table %s drop constraint %I cascade', k.conrelid::regclass, k.conname)
                   from pg_constraint k join pg_namespace n on n.oid = k.connamespace
                  where (n.nspname in ('birth', 'approval') or k.conrelid in ('governance.governance_candidate_state'::regclass, 'iu.dot_iu_command_run'::regclass))
                    and k.contype in ('c', 'u', 'f') and k.conrelid <> 0 and k.conislocal and k.conparentid = 0
                 union all select 'drop index birth.permit_one_a_code, birth.permit_one_a_request, iu.command_step_once'",
            )
            .await;
        for constraint in constraints.into_iter().flatten() {
            self.as_superuser(&constraint).await;
        }
    }

    pub(super) async fn put_back(&self, table: &str) {
        let overriding = if table == "birth.family" { "overriding system value" } else { "" };
        self.forged(&[
            &format!("delete from {table}"),
            &format!("insert into {table} {overriding} table public.{}", copy_of(table)),
        ])
        .await;
    }

    /// Changes a row as somebody who has our code would: its own digest fits again.
    pub(super) async fn restamped(&self, table: &str, condition: &str, set: &str) {
        let stamp = self
            .db
            .text(&format!(
                "select quote_ident(tgname) from pg_trigger where tgrelid = '{table}'::regclass and tgfoid = 'audit.stamp_{}'::regproc",
                copy_of(table)
            ))
            .await;
        self.forged(&[
            &format!("alter table {table} enable always trigger {stamp}"),
            &format!(
                "create temp table forged on commit drop as select * from {table} where {condition}"
            ),
            &format!("update forged set {set}"),
            &format!("delete from {table} where {condition}"),
            &format!("insert into {table} select * from forged"),
        ])
        .await;
    }

    /// The audit names this table and this rule.
    pub(super) async fn names(&self, what: &str, table: &str, rule: &str) {
        let found = self.found().await;
        assert!(
            found.iter().any(|mismatch| mismatch.table == table && mismatch.rule == rule),
            "{what}: {table} {rule}, not {found:#?}"
        );
    }
}

fn copy_of(table: &str) -> String {
    table.replace('.', "_")
}

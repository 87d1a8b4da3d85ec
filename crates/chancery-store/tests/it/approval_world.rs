//! A database with people who ask, vote and write: principals with keys, and each door of `approval` and `kb` by SQL.
//!
//! Everybody signs with the key of their name ([`keys`]).

use std::collections::BTreeMap;

use chancery_model::envelope::Statement;
use chancery_model::refusal::Code;
use chancery_store::{Error, Role};
use chancery_testkit::{TestDb, keys};
use serde_json::{Map, Value, json};
use sqlx::postgres::{PgConnection, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

/// Who there is: name, kind, the class they act in first, and any other.
const PRINCIPALS: [(&str, &str, &[&str]); 10] = [
    ("petra", "human", &["pic_human", "reviewer", "sovereign"]),
    ("sofia", "human", &["sovereign", "reviewer"]),
    ("silas", "human", &["sovereign"]),
    ("robot", "service", &["sovereign"]),
    ("rita", "human", &["reviewer"]),
    ("ralf", "human", &["reviewer"]),
    ("agnes", "service", &["review_authority"]),
    ("agata", "agent", &["reviewer", "sovereign", "executor_worker"]),
    ("wanda", "service", &["executor_worker"]),
    ("emil", "service", &["executor_dot991"]),
];

/// A kind of approval that asks for one vote; the shipped ones ask for more.
const NOTE: &str =
    "insert into approval.approval_kind (kind, risk, subject_kind, max_ttl_seconds, description)
                    values ('note', 'low', 'note', 3600, 'A note may be sent.')";

/// The proposed transition of the machine of letters.
pub(crate) const SHORTCUT: &str = "letter@1.0.0#shortcut:draft>sent/executor_worker";

pub(crate) struct Panel {
    pub(crate) db: TestDb,
    pub(crate) admin: PgPool,
    app: PgPool,
    review: PgPool,
    exec: PgPool,
    keys: BTreeMap<&'static str, Uuid>,
}

/// A request as it would be signed.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) approval_id: Uuid,
    pub(crate) kind: String,
    pub(crate) subject_ref: String,
    pub(crate) subject_digest: Option<Vec<u8>>,
    pub(crate) risk: String,
    pub(crate) title: String,
    pub(crate) facts: Value,
    pub(crate) expires_at: i64,
    pub(crate) principal: String,
    pub(crate) class: String,
    pub(crate) key_id: Option<Uuid>,
    pub(crate) signed_at: i64,
    pub(crate) payload: String,
}

/// A vote as it would be signed.
#[derive(Debug, Clone)]
pub(crate) struct Vote {
    pub(crate) vote_id: Uuid,
    pub(crate) approval_id: Uuid,
    pub(crate) decision: String,
    pub(crate) rationale: Option<String>,
    pub(crate) principal: String,
    pub(crate) class: String,
    pub(crate) key_id: Option<Uuid>,
    pub(crate) signed_at: i64,
    pub(crate) payload: String,
}

/// A signature under a revision.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    pub(crate) signature_id: Uuid,
    pub(crate) path: String,
    pub(crate) revision: i32,
    pub(crate) meaning: String,
    pub(crate) principal: String,
    pub(crate) class: String,
    pub(crate) key_id: Option<Uuid>,
    pub(crate) signed_at: i64,
    pub(crate) payload: String,
}

impl Panel {
    pub(crate) async fn new() -> Self {
        Self::on(TestDb::new().await).await
    }

    /// In a database that has other things in it.
    pub(crate) async fn on(db: TestDb) -> Self {
        let operator = db.store(Role::Migrator);
        let mut registered = BTreeMap::new();
        for (name, kind, classes) in PRINCIPALS {
            let classes: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
            operator.fn_principal_add(name, kind, &classes, None).await.expect("a principal");
            registered.insert(name, keys::register(&operator, name).await);
        }
        let pool = |options| PgPoolOptions::new().max_connections(4).connect_lazy_with(options);
        let login = |role| pool(db.target().options(role).expect("options"));
        let panel = Self {
            admin: pool(db.target().admin_options()),
            app: login(Role::App),
            review: login(Role::CutterReview),
            exec: login(Role::CutterExec),
            keys: registered,
            db,
        };
        panel.as_owner(NOTE).await;
        panel
    }

    pub(crate) fn key(&self, principal: &str) -> Uuid {
        self.keys[principal]
    }

    fn class(principal: &str) -> &'static str {
        PRINCIPALS.iter().find(|(name, ..)| *name == principal).expect("a principal").2[0]
    }

    /// The login behind which somebody of this class acts.
    fn pool(&self, class: &str) -> &PgPool {
        match class {
            "review_authority" => &self.review,
            "executor_dot991" => &self.exec,
            _ => &self.app,
        }
    }

    /// A statement of the operator as the tables' owner: how rules and registries change between releases.
    pub(crate) async fn as_owner(&self, statement: &str) {
        let mut operator = self.db.connect(Role::Migrator).await;
        for statement in ["set role chancery_owner", statement] {
            operator.execute(AssertSqlSafe(statement.to_owned())).await.expect("the owner may");
        }
    }

    /// The time stands still, so long after 1970.
    pub(crate) async fn stop_the_clock(&self, micros: i64) {
        let now = format!(
            "create or replace function internal.now() returns timestamptz language sql as 'select internal.from_micros({micros})'"
        );
        self.admin.execute(AssertSqlSafe(now)).await.expect("the clock is one function");
    }

    /// A value as a superuser reads it.
    pub(crate) async fn one<T>(&self, query: &str) -> T
    where
        T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres> + Send + Unpin,
    {
        let query = AssertSqlSafe(query.to_owned());
        sqlx::query_scalar(query).fetch_one(&self.admin).await.expect("a value")
    }

    pub(crate) async fn now(&self) -> i64 {
        self.one("select internal.micros(internal.now())").await
    }

    // ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────

    /// A request of petra's, good for a minute.
    pub(crate) async fn an_ask(&self, kind: &str, risk: &str, subject: &str) -> Ask {
        let now = self.now().await;
        let mut ask = Ask {
            approval_id: Uuid::now_v7(),
            kind: kind.to_owned(),
            subject_ref: subject.to_owned(),
            subject_digest: None,
            risk: risk.to_owned(),
            title: "Let it happen".to_owned(),
            facts: json!({ "why": "đúng hạn", "cost": 1.5 }),
            expires_at: now + 60_000_000,
            principal: "petra".to_owned(),
            class: "pic_human".to_owned(),
            key_id: Some(self.key("petra")),
            signed_at: now,
            payload: String::new(),
        };
        self.sign_ask(&mut ask).await;
        ask
    }

    /// Signs again after a change.
    pub(crate) async fn sign_ask(&self, ask: &mut Ask) {
        ask.payload = sqlx::query_scalar(
            "select approval.request_payload(jsonb_populate_record(null::approval.approval_request, jsonb_build_object(
                      'approval_id', $1, 'kind', $2, 'subject_kind', (select k.subject_kind from approval.approval_kind k where k.kind = $2),
                      'subject_ref', $3, 'subject_digest', $4, 'risk', $5, 'title', $6, 'facts', '{}', 'expires_at', internal.from_micros($8),
                      'proposer', $9, 'key_id', $10, 'signed_at', internal.from_micros($11))
                    || jsonb_build_object('facts', case jsonb_typeof($7) when 'object' then internal.canonical_json($7) else '{}' end)))",
        )
        .bind(ask.approval_id)
        .bind(&ask.kind)
        .bind(&ask.subject_ref)
        .bind(&ask.subject_digest)
        .bind(&ask.risk)
        .bind(&ask.title)
        .bind(&ask.facts)
        .bind(ask.expires_at)
        .bind(&ask.principal)
        .bind(ask.key_id)
        .bind(ask.signed_at)
        .fetch_one(&self.admin)
        .await
        .expect("the text to sign");
    }

    pub(crate) async fn ask(&self, ask: &Ask) -> Result<Value, Error> {
        let mut connection = self.pool(&ask.class).acquire().await.expect("a connection");
        ask_on(&mut connection, ask).await
    }

    /// A request that stands.
    pub(crate) async fn asked(&self, kind: &str, risk: &str, subject: &str) -> Uuid {
        let ask = self.an_ask(kind, risk, subject).await;
        self.ask(&ask).await.expect("a request");
        ask.approval_id
    }

    // ── votes ───────────────────────────────────────────────────────────────────────────────────────────────────────

    pub(crate) async fn a_vote(&self, approval: Uuid, principal: &str, decision: &str) -> Vote {
        let mut vote = Vote {
            vote_id: Uuid::now_v7(),
            approval_id: approval,
            decision: decision.to_owned(),
            rationale: Some("đã đọc".to_owned()),
            principal: principal.to_owned(),
            class: Self::class(principal).to_owned(),
            key_id: Some(self.key(principal)),
            signed_at: self.now().await,
            payload: String::new(),
        };
        self.sign_vote(&mut vote).await;
        vote
    }

    /// Signs again after a change.
    pub(crate) async fn sign_vote(&self, vote: &mut Vote) {
        vote.payload = sqlx::query_scalar(
            "select approval.vote_payload($1, $2, (select r.row_digest from approval.approval_request r where r.approval_id = $2),
                                          $3, $4, $5, $6, $7, $8)",
        )
        .bind(vote.vote_id)
        .bind(vote.approval_id)
        .bind(&vote.decision)
        .bind(&vote.rationale)
        .bind(&vote.principal)
        .bind(&vote.class)
        .bind(vote.key_id)
        .bind(vote.signed_at)
        .fetch_one(&self.admin)
        .await
        .expect("the text to sign");
    }

    pub(crate) async fn vote(&self, vote: &Vote) -> Result<Value, Error> {
        let mut connection = self.pool(&vote.class).acquire().await.expect("a connection");
        vote_on(&mut connection, vote).await
    }

    /// A vote, signed and given.
    pub(crate) async fn votes(
        &self,
        approval: Uuid,
        principal: &str,
        decision: &str,
    ) -> Result<Value, Error> {
        self.vote(&self.a_vote(approval, principal, decision).await).await
    }

    /// A request that stands and is approved.
    pub(crate) async fn approved(&self, kind: &str, subject: &str) -> Uuid {
        let approval = self.asked(kind, "medium", subject).await;
        let report = self.votes(approval, "sofia", "approve").await.expect("a vote");
        assert_eq!(report["state"], "approved", "{report}");
        approval
    }

    pub(crate) async fn state(&self, approval: Uuid) -> String {
        self.one(&format!("select approval.state('{approval}')")).await
    }

    pub(crate) async fn activate(&self, transition: &str, approval: Uuid) -> Result<Value, Error> {
        let mut connection = self.app.acquire().await.expect("a connection");
        activate_on(&mut connection, transition, approval).await
    }

    // ── the knowledge base ──────────────────────────────────────────────────────────────────────────────────────────

    pub(crate) async fn put(
        &self,
        path: &str,
        body: &str,
        expected: Option<i32>,
    ) -> Result<Value, Error> {
        let mut connection = self.app.acquire().await.expect("a connection");
        put_on(&mut connection, path, body, expected).await
    }

    /// A signature of petra's.
    pub(crate) async fn a_mark(&self, path: &str, revision: i32, meaning: &str) -> Mark {
        let mut mark = Mark {
            signature_id: Uuid::now_v7(),
            path: path.to_owned(),
            revision,
            meaning: meaning.to_owned(),
            principal: "petra".to_owned(),
            class: "pic_human".to_owned(),
            key_id: Some(self.key("petra")),
            signed_at: self.now().await,
            payload: String::new(),
        };
        self.sign_mark(&mut mark).await;
        mark
    }

    /// Signs again after a change.
    pub(crate) async fn sign_mark(&self, mark: &mut Mark) {
        mark.payload = sqlx::query_scalar(
            "select kb.signature_payload($1, $2, $3, (select r.sha256 from kb.revision r where r.path = $2 and r.revision = $3), $4, $5, $6, $7)",
        )
        .bind(mark.signature_id)
        .bind(&mark.path)
        .bind(mark.revision)
        .bind(&mark.meaning)
        .bind(&mark.principal)
        .bind(mark.key_id)
        .bind(mark.signed_at)
        .fetch_one(&self.admin)
        .await
        .expect("the text to sign");
    }

    pub(crate) async fn mark(&self, mark: &Mark) -> Result<Value, Error> {
        let mut connection = self.pool(&mark.class).acquire().await.expect("a connection");
        mark_on(&mut connection, mark).await
    }

    /// Leaves a row in every table of both rooms. The database has the machine of letters.
    pub(crate) async fn live(&self) {
        let approval = self.approved("transition_activation", SHORTCUT).await;
        self.activate(SHORTCUT, approval).await.expect("activated");
        self.put("policies/one", "a text", None).await.expect("a revision");
        let mark = self.a_mark("policies/one", 1, "read").await;
        self.mark(&mark).await.expect("a signature");
    }
}

/// `fn_approval_request` on a connection of one's own, for transactions that are held open.
pub(crate) async fn ask_on(connection: &mut PgConnection, ask: &Ask) -> Result<Value, Error> {
    let signature = keys::sign(&ask.principal, &Statement::approval(&ask.payload));
    ask_with(connection, ask, &signature).await
}

/// The same with whatever signature.
pub(crate) async fn ask_with(
    connection: &mut PgConnection,
    ask: &Ask,
    signature: &[u8],
) -> Result<Value, Error> {
    let report = sqlx::query_scalar(
        "select approval.fn_approval_request($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    )
    .bind(ask.approval_id)
    .bind(&ask.kind)
    .bind(&ask.subject_ref)
    .bind(&ask.subject_digest)
    .bind(&ask.risk)
    .bind(&ask.title)
    .bind(&ask.facts)
    .bind(ask.expires_at)
    .bind(&ask.principal)
    .bind(&ask.class)
    .bind(ask.key_id)
    .bind(ask.signed_at)
    .bind(&ask.payload)
    .bind(signature)
    .fetch_one(connection)
    .await?;
    Ok(report)
}

pub(crate) async fn vote_on(connection: &mut PgConnection, vote: &Vote) -> Result<Value, Error> {
    let signature = keys::sign(&vote.principal, &Statement::approval(&vote.payload));
    vote_with(connection, vote, &signature).await
}

/// The same with whatever signature.
pub(crate) async fn vote_with(
    connection: &mut PgConnection,
    vote: &Vote,
    signature: &[u8],
) -> Result<Value, Error> {
    let report = sqlx::query_scalar(
        "select approval.fn_approval_vote($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(vote.vote_id)
    .bind(vote.approval_id)
    .bind(&vote.decision)
    .bind(&vote.rationale)
    .bind(&vote.principal)
    .bind(&vote.class)
    .bind(vote.key_id)
    .bind(vote.signed_at)
    .bind(&vote.payload)
    .bind(signature)
    .fetch_one(connection)
    .await?;
    Ok(report)
}

/// `fn_transition_activate` by petra.
pub(crate) async fn activate_on(
    connection: &mut PgConnection,
    transition: &str,
    approval: Uuid,
) -> Result<Value, Error> {
    let report =
        sqlx::query_scalar("select fsm.fn_transition_activate($1, $2, 'petra', 'pic_human')")
            .bind(transition)
            .bind(approval)
            .fetch_one(connection)
            .await?;
    Ok(report)
}

/// `fn_kb_put` by petra.
pub(crate) async fn put_on(
    connection: &mut PgConnection,
    path: &str,
    body: &str,
    expected: Option<i32>,
) -> Result<Value, Error> {
    let report =
        sqlx::query_scalar("select kb.fn_kb_put($1, 'policy', $2, $3, 'petra', 'pic_human')")
            .bind(path)
            .bind(body)
            .bind(expected)
            .fetch_one(connection)
            .await?;
    Ok(report)
}

pub(crate) async fn mark_on(connection: &mut PgConnection, mark: &Mark) -> Result<Value, Error> {
    let signature = keys::sign(&mark.principal, &Statement::kb(&mark.payload));
    mark_with(connection, mark, &signature).await
}

/// The same with whatever signature.
pub(crate) async fn mark_with(
    connection: &mut PgConnection,
    mark: &Mark,
    signature: &[u8],
) -> Result<Value, Error> {
    let report =
        sqlx::query_scalar("select kb.fn_kb_sign($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)")
            .bind(mark.signature_id)
            .bind(&mark.path)
            .bind(mark.revision)
            .bind(&mark.meaning)
            .bind(&mark.principal)
            .bind(&mark.class)
            .bind(mark.key_id)
            .bind(mark.signed_at)
            .bind(&mark.payload)
            .bind(signature)
            .fetch_one(connection)
            .await?;
    Ok(report)
}

/// What is changed in a request, and how.
pub(crate) type Change<T> = (&'static str, fn(&mut T));

/// The one problem of a refusal: its code and its facts.
#[track_caller]
pub(crate) fn refusal(answer: Result<Value, Error>) -> (Code, Value) {
    let error = answer.expect_err("a refusal");
    let refusal = error.refusal().unwrap_or_else(|| panic!("a refusal, not {error:?}"));
    assert_eq!(refusal.problems.len(), 1, "{refusal:?}");
    let facts: Map<String, Value> = refusal.problems[0].facts.clone();
    (refusal.code, Value::Object(facts))
}

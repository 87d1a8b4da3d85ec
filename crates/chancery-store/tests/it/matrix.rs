//! The legality matrix: every (state, target, actor class) of every shipped machine, asked of the real engine.
//!
//! Each state is reached by real moves of a run of its own. From there every cell is previewed and really applied; a legal
//! one inside a transaction that is rolled back, so that the next cell starts from the same state. The snapshots are the
//! tables as PostgreSQL answered them.

mod table;

use std::collections::{BTreeMap, VecDeque};

use chancery_model::refusal::{Code, Problem};
use chancery_reference::rules::{ACTOR_CLASSES, Rule};
use chancery_store::{Error, Role};
use chancery_testkit::TestDb;
use serde_json::{Value, json};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};
use uuid::Uuid;

use self::table::table;
use crate::shipped::{MOVERS, NAMES, Shipped, login_of, may_act};

/// A service that holds every actor class: what it may not do, no row allows.
const ANYONE: &str = "anyone";

/// A move as it is asked; the run and the state it is in come from where it is asked.
#[derive(Clone)]
struct Question {
    to: &'static str,
    class: &'static str,
    trigger: (&'static str, &'static str),
    evidence: Value,
}

/// One connection a login: the prepared statements stay, and nothing runs beside anything.
struct Logins(Vec<(Role, PgConnection)>);

impl Logins {
    async fn open(db: &TestDb) -> Self {
        let mut open = Vec::new();
        for login in MOVERS {
            open.push((login, db.connect(login).await));
        }
        Self(open)
    }

    fn of(&mut self, login: Role) -> &mut PgConnection {
        self.0
            .iter_mut()
            .find(|(role, _)| *role == login)
            .map(|(_, connection)| connection)
            .expect("a login that moves runs")
    }
}

/// A machine in a database, with one run in each stored state.
struct Board {
    shipped: Shipped,
    db: TestDb,
    logins: Logins,
    superuser: PgConnection,
    runs: BTreeMap<&'static str, Run>,
}

#[derive(Clone, Copy)]
struct Run {
    id: Uuid,
    seq: i64,
}

impl Board {
    async fn set_up(name: &str) -> Self {
        let shipped = Shipped::load(name);
        let db = shipped.install().await;
        db.service(ANYONE, &ACTOR_CLASSES).await;
        let logins = Logins::open(&db).await;
        let superuser = db.superuser().await;
        let mut board = Self { shipped, db, logins, superuser, runs: BTreeMap::new() };
        for (state, path) in board.paths() {
            let run = board.walk(&path).await;
            board.runs.insert(state, run);
        }
        board
    }

    /// A shortest way from birth to each stored state, by the rows of the reference.
    fn paths(&self) -> BTreeMap<&'static str, Vec<Rule>> {
        let birth = *self.shipped.birth();
        let mut found = BTreeMap::from([(birth.to, vec![birth])]);
        let mut open = VecDeque::from([birth.to]);
        while let Some(state) = open.pop_front() {
            for rule in self.shipped.rules.iter().filter(|rule| rule.from == Some(state)) {
                if !found.contains_key(rule.to) {
                    let longer = [found[state].as_slice(), &[*rule]].concat();
                    found.insert(rule.to, longer);
                    open.push_back(rule.to);
                }
            }
        }
        let stored = self.shipped.machine.states.iter().filter(|state| !state.conceptual).count();
        assert_eq!(found.len(), stored, "every stored state is reachable");
        found
    }

    async fn walk(&mut self, path: &[Rule]) -> Run {
        let id = Uuid::now_v7();
        for (n, rule) in path.iter().enumerate() {
            let question = self.of_rule(rule);
            let login = self.logins.of(login_of(rule.actor));
            let report = if n == 0 {
                start(login, id, self.shipped.machine.name, &question).await
            } else {
                apply(login, id, &question).await
            };
            assert_eq!(report.expect("a move along the path")["ok"], json!(true));
        }
        Run { id, seq: path.len().try_into().expect("a short path") }
    }

    fn of_rule(&self, rule: &Rule) -> Question {
        let evidence = self.shipped.flawless_evidence(rule);
        Question { to: rule.to, class: rule.actor, trigger: rule.trigger, evidence }
    }

    /// The most favourable way to ask for a cell: when no row is for this class, everything another class would need.
    fn ask(&self, from: Option<&str>, to: &'static str, class: &'static str) -> Question {
        let rules = &self.shipped.rules;
        let nearest = self
            .shipped
            .rule(from, to, class)
            .or_else(|| rules.iter().find(|rule| rule.from == from && rule.to == to))
            .or_else(|| rules.iter().find(|rule| rule.to == to));
        match nearest {
            Some(rule) => Question { class, ..self.of_rule(rule) },
            None => Question {
                to,
                class,
                trigger: ("rpc", "anything"),
                evidence: json!({ "audit_ref": "A-1" }),
            },
        }
    }

    fn stored(&self) -> Vec<&'static str> {
        self.shipped
            .machine
            .states
            .iter()
            .filter(|state| !state.conceptual)
            .map(|state| state.code)
            .collect()
    }

    fn targets(&self) -> Vec<&'static str> {
        self.shipped.machine.states.iter().map(|state| state.code).collect()
    }

    /// What the reference expects of a cell that is asked with nothing else wrong.
    fn expected(&self, from: Option<&str>, to: &str, class: &str, login: Role) -> Vec<Code> {
        let row = self.shipped.rule(from, to, class).is_none().then_some(Code::RS004);
        let duty = (!may_act(login, class)).then_some(Code::RI004);
        row.into_iter().chain(duty).collect()
    }
}

async fn start(
    login: &mut PgConnection,
    id: Uuid,
    machine: &str,
    asked: &Question,
) -> Result<Value, Error> {
    let report =
        sqlx::query_scalar("select fsm.fn_run_start($1, $2, '{}', $3, $4, $5, $6, $7, $8)")
            .bind(id)
            .bind(machine)
            .bind(asked.class)
            .bind(asked.trigger.0)
            .bind(asked.trigger.1)
            .bind(&asked.evidence)
            .bind(ANYONE)
            .bind(Uuid::now_v7().to_string());
    Ok(report.fetch_one(login).await?)
}

async fn apply(login: &mut PgConnection, id: Uuid, asked: &Question) -> Result<Value, Error> {
    let report = sqlx::query_scalar(
        "select fsm.fn_state_transition_apply($1, 'custom', null, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(id)
    .bind(asked.to)
    .bind(asked.class)
    .bind(asked.trigger.0)
    .bind(asked.trigger.1)
    .bind(&asked.evidence)
    .bind(ANYONE)
    .bind(Uuid::now_v7().to_string());
    Ok(report.fetch_one(login).await?)
}

/// Previews many moves of one run in one READ ONLY round trip.
async fn preview(
    login: &mut PgConnection,
    id: Uuid,
    from: &str,
    asked: &[Question],
) -> Vec<Vec<Problem>> {
    let column = |value: fn(&Question) -> &'static str| -> Vec<&'static str> {
        asked.iter().map(value).collect()
    };
    let mut transaction = login.begin_with("begin read only").await.expect("a transaction");
    let answers: Vec<Value> = sqlx::query_scalar(
        "select fsm.fn_state_transition_validate($1, 'custom', $2, q.target, q.class, q.kind, q.ref, q.evidence, $3)
           from unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::jsonb[])
                with ordinality q (target, class, kind, ref, evidence, n)
          order by q.n",
    )
    .bind(id)
    .bind(from)
    .bind(ANYONE)
    .bind(column(|q| q.to))
    .bind(column(|q| q.class))
    .bind(column(|q| q.trigger.0))
    .bind(column(|q| q.trigger.1))
    .bind(asked.iter().map(|q| q.evidence.clone()).collect::<Vec<_>>())
    .fetch_all(&mut *transaction)
    .await
    .expect("previews");
    transaction.rollback().await.expect("a rollback");
    assert_eq!(answers.len(), asked.len());
    answers
        .into_iter()
        .map(|answer| {
            let problems: Vec<Problem> =
                serde_json::from_value(answer["problems"].clone()).expect("problems");
            assert_eq!(
                answer["ok"],
                json!(problems.is_empty()),
                "ok says whether there are problems"
            );
            problems
        })
        .collect()
}

fn codes(problems: &[Problem]) -> Vec<Code> {
    problems.iter().map(|problem| problem.code).collect()
}

/// The problems of a refusal, whose SQLSTATE is the first of them.
#[track_caller]
fn refused(answer: Result<Value, Error>, cell: &str) -> Vec<Problem> {
    let error =
        answer.err().unwrap_or_else(|| panic!("{cell}: applied, and should have been refused"));
    let refusal = error.refusal().unwrap_or_else(|| panic!("{cell}: a refusal, not {error:?}"));
    assert_eq!(refusal.problems.first().map(|problem| problem.code), Some(refusal.code), "{cell}");
    refusal.problems.clone()
}

/// Rows in the log and in the outbox.
async fn counts(superuser: &mut PgConnection) -> (i64, i64) {
    sqlx::query_as("select (select count(*) from fsm.transition_log), (select count(*) from event.event_outbox)")
        .fetch_one(superuser)
        .await
        .expect("counts")
}

/// Makes a legal move, looks at what it wrote, and takes it back.
///
/// No login reads the outbox, so the connection is a superuser's that becomes the login for the move itself.
async fn apply_and_roll_back(board: &mut Board, run: Run, rule: &Rule) {
    let cell = format!("{:?} → {} by {}", rule.from, rule.to, rule.actor);
    let (asked, machine) = (board.of_rule(rule), board.shipped.machine.name);
    let mut transaction = board.superuser.begin().await.expect("a transaction");
    let (rows, events) = counts(&mut transaction).await;
    let become_login = format!("set local session authorization {}", login_of(rule.actor).name());
    transaction.execute(AssertSqlSafe(become_login)).await.expect("the login");
    let report = match rule.from {
        None => start(&mut transaction, run.id, machine, &asked).await,
        Some(_) => apply(&mut transaction, run.id, &asked).await,
    };
    let report = report.unwrap_or_else(|error| panic!("{cell}: refused: {error:?}"));
    assert_eq!(report["seq"], json!(run.seq + 1), "{cell}");
    assert_eq!(report["emitted_event_type"], json!(rule.event), "{cell}");
    // What COMMIT would check.
    transaction.execute("set constraints all immediate").await.expect("state and log agree");
    transaction
        .execute("set local session authorization default")
        .await
        .expect("the superuser again");
    assert_eq!(
        counts(&mut transaction).await,
        (rows + 1, events + i64::from(rule.event.is_some())),
        "{cell}"
    );

    let written: PgRow = sqlx::query(
        "select r.state_code, r.seq, r.facet, l.from_state, l.to_state, l.actor_class, l.event_type,
                e.event_type as sent, e.payload
           from fsm.run r
           join fsm.transition_log l on l.run_id = r.run_id and l.seq = r.seq
           left join event.event_outbox e on e.subject_id = r.run_id and e.subject_seq = r.seq
          where r.run_id = $1",
    )
    .bind(run.id)
    .fetch_one(&mut *transaction)
    .await
    .expect("the run and its newest log row");
    let text = |column: &str| written.get::<Option<String>, _>(column);
    assert_eq!(text("state_code").as_deref(), Some(rule.to), "{cell}");
    assert_eq!(written.get::<i64, _>("seq"), run.seq + 1, "{cell}");
    assert_eq!(text("facet").as_deref(), board.shipped.facets(rule.to).first().copied(), "{cell}");
    assert_eq!(text("from_state").as_deref(), rule.from, "{cell}");
    assert_eq!(text("to_state").as_deref(), Some(rule.to), "{cell}");
    assert_eq!(text("actor_class").as_deref(), Some(rule.actor), "{cell}");
    assert_eq!(text("event_type").as_deref(), rule.event, "{cell}");
    assert_eq!(text("sent").as_deref(), rule.event, "{cell}");
    assert_eq!(
        written.get::<Option<Value>, _>("payload"),
        asked.evidence.get("event").cloned(),
        "{cell}"
    );
    transaction.rollback().await.expect("a rollback");
}

/// What the engine answered, by (from, to): the classes it allows.
type Allowed = BTreeMap<(Option<&'static str>, &'static str), Vec<&'static str>>;

/// Births: fn_run_start leads to the initial state only, so this row of the matrix has one target.
async fn check_births(board: &mut Board, allowed: &mut Allowed) -> usize {
    let (initial, machine) = (board.shipped.machine.initial, board.shipped.machine.name);
    for class in ACTOR_CLASSES {
        let cell = format!("∅ → {initial} by {class}");
        let expected = board.expected(None, initial, class, Role::App);
        let newborn = Run { id: Uuid::now_v7(), seq: 0 };
        if expected.is_empty() {
            let rule = *board.shipped.rule(None, initial, class).expect("expected to be legal");
            apply_and_roll_back(board, newborn, &rule).await;
        } else {
            let asked = board.ask(None, initial, class);
            let answer = start(board.logins.of(Role::App), newborn.id, machine, &asked).await;
            assert_eq!(codes(&refused(answer, &cell)), expected, "{cell}");
        }
        if !expected.contains(&Code::RS004) {
            allowed.entry((None, initial)).or_default().push(class);
        }
    }
    ACTOR_CLASSES.len()
}

/// Every target and class from one state, each through the login of the class.
async fn check_state(board: &mut Board, from: &'static str, allowed: &mut Allowed) -> usize {
    let run = board.runs[from];
    let mut cells = 0;
    for login in MOVERS {
        let mut questions = Vec::new();
        for to in board.targets() {
            for class in ACTOR_CLASSES.into_iter().filter(|class| login_of(class) == login) {
                questions.push(board.ask(Some(from), to, class));
            }
        }
        cells += questions.len();
        let answers = preview(board.logins.of(login), run.id, from, &questions).await;
        for (asked, problems) in questions.iter().zip(answers) {
            let cell = format!("{from} → {} by {}", asked.to, asked.class);
            let expected = board.expected(Some(from), asked.to, asked.class, login);
            assert_eq!(codes(&problems), expected, "{cell}");
            if problems.is_empty() {
                allowed.entry((Some(from), asked.to)).or_default().push(asked.class);
                let rule =
                    *board.shipped.rule(Some(from), asked.to, asked.class).expect("as expected");
                apply_and_roll_back(board, run, &rule).await;
            } else {
                let answer = apply(board.logins.of(login), run.id, asked).await;
                assert_eq!(refused(answer, &cell), problems, "preview and apply agree on {cell}");
            }
        }
    }
    cells
}

/// SEC-3: what is legal for a class is refused to every login that does not carry the class's duty, for that reason alone.
async fn check_other_logins(board: &mut Board, from: &'static str) -> usize {
    let run = board.runs[from];
    let mut asked_in_all = 0;
    for login in MOVERS {
        let of_others: Vec<Rule> = board
            .shipped
            .rules
            .iter()
            .filter(|rule| rule.from == Some(from) && !may_act(login, rule.actor))
            .copied()
            .collect();
        let questions: Vec<Question> = of_others.iter().map(|rule| board.of_rule(rule)).collect();
        for (asked, problems) in
            questions.iter().zip(preview(board.logins.of(login), run.id, from, &questions).await)
        {
            assert_eq!(
                codes(&problems),
                [Code::RI004],
                "{from} → {} by {} as {login:?}",
                asked.to,
                asked.class
            );
        }
        asked_in_all += questions.len();
    }
    asked_in_all
}

/// FSM-4, FSM-5, FSM-6: allowed ⇔ the reference has a row; a legal move writes its three rows, a refused one nothing.
#[expect(clippy::print_stdout, reason = "the figures of the matrix")]
async fn check_matrix(name: &str) {
    let mut board = Board::set_up(name).await;
    let before = board.db.fingerprint().await;
    let mut allowed = Allowed::new();
    let mut cells = check_births(&mut board, &mut allowed).await;
    let mut foreign = 0;
    for from in board.stored() {
        cells += check_state(&mut board, from, &mut allowed).await;
        foreign += check_other_logins(&mut board, from).await;
    }
    assert_eq!(
        board.db.fingerprint().await,
        before,
        "{name}: refused and rolled-back moves changed something"
    );

    let legal: usize = allowed.values().map(Vec::len).sum();
    assert_eq!(legal, board.shipped.rules.len(), "{name}: as many legal cells as rows");
    println!(
        "{name}: {cells} cells, {legal} legal, {foreign} legal ones asked by a login of another duty"
    );
    insta::assert_snapshot!(name, table(&board, &allowed, cells));
}

#[tokio::test]
async fn step_allows_exactly_the_rows_of_the_reference() {
    check_matrix("step").await;
}

#[tokio::test]
async fn task_allows_exactly_the_rows_of_the_reference() {
    check_matrix("task").await;
}

#[tokio::test]
async fn workflow_run_allows_exactly_the_rows_of_the_reference() {
    check_matrix("workflow_run").await;
}

#[tokio::test]
async fn cut_request_allows_exactly_the_rows_of_the_reference() {
    check_matrix("cut_request").await;
}

#[tokio::test]
async fn orchestrator_run_allows_exactly_the_rows_of_the_reference() {
    check_matrix("orchestrator_run").await;
}

#[tokio::test]
async fn birth_permit_allows_exactly_the_rows_of_the_reference() {
    check_matrix("birth_permit").await;
}

#[tokio::test]
async fn job_allows_exactly_the_rows_of_the_reference() {
    check_matrix("job").await;
}

#[tokio::test]
async fn dlq_replay_allows_exactly_the_rows_of_the_reference() {
    check_matrix("dlq_replay").await;
}

#[tokio::test]
async fn finding_allows_exactly_the_rows_of_the_reference() {
    check_matrix("finding").await;
}

#[tokio::test]
async fn governance_candidate_allows_exactly_the_rows_of_the_reference() {
    check_matrix("governance_candidate").await;
}

#[tokio::test]
async fn proposal_allows_exactly_the_rows_of_the_reference() {
    check_matrix("proposal").await;
}

/// A row's question with some guards false, and the names of those.
fn with_guards(board: &Board, rule: &Rule, truths: usize) -> (Question, Vec<&'static str>) {
    let mut asked = board.of_rule(rule);
    let mut closed = Vec::new();
    for (n, guard) in rule.guards.iter().enumerate() {
        let holds = truths >> n & 1 == 1;
        asked.evidence["guards"][*guard] = json!(holds);
        if !holds {
            closed.push(*guard);
        }
    }
    (asked, closed)
}

#[track_caller]
fn check_refusing(problems: &[Problem], closed: &[&str], duty: bool, row: &str) {
    let (guards, others): (Vec<_>, Vec<_>) =
        problems.iter().partition(|problem| problem.code == Code::RS006);
    let named: Vec<&str> =
        guards.iter().filter_map(|problem| problem.facts["guard"].as_str()).collect();
    assert_eq!(named, closed, "{row}");
    let others: Vec<Code> = others.iter().map(|problem| problem.code).collect();
    assert_eq!(others, if duty { vec![] } else { vec![Code::RI004] }, "{row}");
}

/// FSM-5, M2: all 2^k truths of a row's k guards; the refusal names exactly those that do not hold, in the row's order.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "the figures of the truth tables")]
async fn guards_refuse_by_name_in_every_combination() {
    for name in NAMES {
        let mut board = Board::set_up(name).await;
        let before = board.db.fingerprint().await;
        let (mut rows, mut combinations) = (0, 0);
        for rule in board.shipped.rules.clone() {
            assert!(rule.guards.len() <= 6, "{name} {rule:?}: too many guards to try all");
            let row =
                format!("{name} {}: {:?} → {} by {}", rule.label, rule.from, rule.to, rule.actor);
            let truths = 0..1 << rule.guards.len();
            let (questions, closed): (Vec<_>, Vec<_>) =
                truths.map(|bits| with_guards(&board, &rule, bits)).unzip();
            rows += 1;
            combinations += questions.len();
            let Some(from) = rule.from else {
                for (asked, closed) in questions.iter().zip(&closed) {
                    let duty = may_act(Role::App, rule.actor);
                    let mut transaction =
                        board.logins.of(Role::App).begin().await.expect("a transaction");
                    let answer = start(&mut transaction, Uuid::now_v7(), name, asked).await;
                    transaction.rollback().await.expect("a rollback");
                    match (answer, duty && closed.is_empty()) {
                        (Ok(_), true) => {}
                        (answer, _) => check_refusing(&refused(answer, &row), closed, duty, &row),
                    }
                }
                continue;
            };
            let run = board.runs[from];
            let answers =
                preview(board.logins.of(login_of(rule.actor)), run.id, from, &questions).await;
            for (problems, closed) in answers.iter().zip(&closed) {
                check_refusing(problems, closed, true, &row);
            }
        }
        assert_eq!(board.db.fingerprint().await, before, "{name}: a question changed something");
        println!("{name}: {rows} rows, {combinations} combinations of guards");
    }
}

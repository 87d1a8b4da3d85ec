//! The same random requests to the model in memory and to PostgreSQL: the same answers, and the same rows in the end.
//!
//! `CHANCERY_TEST_SEED` repeats a run, `CHANCERY_TEST_COMMANDS` says how many requests it has over all machines. A stream is
//! a few hundred requests against a fresh model; the database is kept and the runs are new.
//!
//! Two things the model does not hold are added here: which login may act for a class, and whether a payload fits its
//! schema. The principals are services, so nothing is signed.

mod generate;
mod request;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use chancery_reference::model::{Command, Entry, Model, Outcome, Principal, Run};
use chancery_reference::problem::Problem;
use chancery_reference::rules::Rule;
use chancery_store::fsm::{HistoryRow, Move};
use chancery_store::{Role, Store};
use chancery_testkit::{TestDb, slice};
use sqlx::postgres::PgConnection;

use self::generate::{Generator, PRINCIPALS};
use self::request::{Answer, Request, id_of, label, preview_of_engine};
use crate::shipped::{MOVERS, NAMES, Shipped, may_act};

const SEED: u64 = 20_260_214;
const COMMANDS: usize = 4_400;
const STREAM: usize = 250;

/// A machine in a database of its own, and what happened there so far.
struct Game {
    shipped: Rc<Shipped>,
    /// Rows that wait for approval: they are seen and cannot fire.
    proposed: Vec<Rule>,
    db: TestDb,
    logins: Vec<(Role, Store)>,
    auditor: Store,
    tally: Tally,
    seed: u64,
    stream: u64,
}

#[derive(Default)]
struct Tally {
    commands: usize,
    /// Requests whose answer carries this name; a refusal counts under each of its problems.
    answers: BTreeMap<String, usize>,
    fired: BTreeSet<(Option<&'static str>, &'static str, &'static str)>,
    runs: usize,
    moves: usize,
    events: usize,
    in_engine: Duration,
}

impl Tally {
    fn count(&mut self, request: &Request, outcome: &Outcome) {
        self.commands += 1;
        let names: BTreeSet<&str> = match outcome {
            Outcome::Accepted { from, to, .. } => {
                self.fired.insert((*from, to, request.command.actor_class));
                ["accepted"].into()
            }
            Outcome::Replayed { .. } => ["replayed"].into(),
            Outcome::Refused(problems) => problems.iter().map(|problem| problem.name()).collect(),
        };
        for name in names {
            *self.answers.entry(name.to_owned()).or_default() += 1;
        }
    }
}

/// The model's answer with the login taken into account; what is accepted is recorded.
fn ask_model(model: &mut Model, request: &Request) -> Outcome {
    if may_act(request.login, request.command.actor_class) {
        return if request.birth {
            model.start(&request.birth_to_model())
        } else {
            model.apply(&request.command)
        };
    }
    let verdict = if request.birth {
        model.preview_start(&request.birth_to_model())
    } else {
        model.preview(&request.command)
    };
    forbid_login(verdict, request.birth)
}

/// The verdict for a login that may not act. Who only repeats a request hears its first answer all the same.
fn forbid_login(verdict: Outcome, birth: bool) -> Outcome {
    match verdict {
        Outcome::Accepted { .. } => Outcome::Refused(vec![Problem::LoginMayNotAct]),
        Outcome::Refused(mut problems) => {
            let alone = match problems[..] {
                [
                    Problem::RunUnknown
                    | Problem::IdempotencyKeyMissing
                    | Problem::IdempotencyKeyReused,
                ] => true,
                [Problem::PrincipalUnknown] => birth,
                _ => false,
            };
            if !alone {
                problems.push(Problem::LoginMayNotAct);
            }
            Outcome::Refused(problems)
        }
        replayed @ Outcome::Replayed { .. } => replayed,
    }
}

impl Game {
    async fn set_up(name: &str, seed: u64) -> Self {
        let mut shipped = Shipped::load(name);
        let proposed = to_be_proposed(&shipped);
        for row in &mut shipped.definition.transitions {
            row.proposed = proposed.iter().any(|rule| {
                (rule.from, rule.to, rule.actor)
                    == (row.from.as_deref(), row.to.as_str(), row.actor.code())
            });
        }
        let db = shipped.install().await;
        for (name, active, classes) in PRINCIPALS {
            db.service(name, classes).await;
            if !active {
                db.store(Role::Migrator)
                    .fn_principal_set_active(name, false, None)
                    .await
                    .expect("a retired principal");
            }
        }
        let logins = MOVERS.map(|login| (login, db.store(login))).into();
        let auditor = db.store(Role::Auditor);
        Self {
            shipped: Rc::new(shipped),
            proposed,
            db,
            logins,
            auditor,
            tally: Tally::default(),
            seed,
            stream: 0,
        }
    }

    fn model(&self) -> Model {
        let mut model = Model::new(&self.shipped.machine);
        for (name, active, classes) in PRINCIPALS {
            model.set_principal(
                name,
                Principal { active, classes: classes.iter().copied().collect() },
            );
        }
        for rule in &self.proposed {
            model.propose(rule);
        }
        model
    }

    fn store(&self, login: Role) -> &Store {
        self.logins
            .iter()
            .find(|(role, _)| *role == login)
            .map(|(_, store)| store)
            .expect("a login that moves runs")
    }

    #[track_caller]
    fn agree<T: std::fmt::Debug + PartialEq>(
        &self,
        what: &str,
        request: &dyn std::fmt::Debug,
        model: &T,
        engine: &T,
    ) {
        assert!(
            model == engine,
            "{}: model and engine differ in {what}\nseed {}, stream {}, command {}\n{request:#?}\nmodel:  {model:?}\nengine: {engine:?}",
            self.shipped.machine.name,
            self.seed,
            self.stream,
            self.tally.commands,
        );
    }

    /// One stream of requests, and the rows it leaves.
    async fn play(&mut self, commands: usize) {
        let shipped = Rc::clone(&self.shipped);
        let place =
            NAMES.iter().position(|name| *name == shipped.machine.name).expect("a shipped machine");
        let mut generator =
            Generator::new(&shipped, self.seed ^ ((place as u64) << 48) ^ (self.stream << 16));
        let mut model = self.model();
        let end = self.tally.commands + commands;
        while self.tally.commands < end {
            if generator.chance(8) {
                self.many(&mut generator, &mut model).await;
            } else {
                let request = generator.draw(&model);
                self.one(&mut generator, &mut model, &request).await;
            }
        }
        self.compare_rows(&model).await;
        self.stream += 1;
    }

    async fn one(&mut self, generator: &mut Generator<'_>, model: &mut Model, request: &Request) {
        if !request.birth && generator.chance(25) {
            self.preview(generator, model, request).await;
        }
        let expected = self.answer_of_model(generator, model, request);
        let store = self.store(request.login);
        let asked = Instant::now();
        let answer = match request.birth {
            true => store.fn_run_start(&request.birth_to_engine(self.shipped.machine.name)).await,
            false => store.fn_state_transition_apply(&request.to_engine()).await,
        };
        self.tally.in_engine += asked.elapsed();
        self.agree("the answer", request, &expected, &Answer::of_engine(answer));
    }

    /// A handful of moves through the batch door, which takes one login for all of them.
    async fn many(&mut self, generator: &mut Generator<'_>, model: &mut Model) {
        let mut requests = Vec::new();
        let mut expected = Vec::new();
        let mut birth = None;
        while requests.len() < 6 && birth.is_none() {
            let request = generator.draw(model);
            if request.birth {
                birth = Some(request);
            } else {
                let request = Request { login: Role::App, ..request };
                expected.push(self.answer_of_model(generator, model, &request));
                requests.push(request);
            }
        }
        let moves: Vec<Move> = requests.iter().map(Request::to_engine).collect();
        let asked = Instant::now();
        let reports =
            self.store(Role::App).fn_state_transition_apply_batch(&moves).await.expect("verdicts");
        self.tally.in_engine += asked.elapsed();
        let answers: Vec<Answer> =
            reports.into_iter().map(|report| Answer::of_engine(Ok(report))).collect();
        self.agree("a batch", &requests, &expected, &answers);
        if let Some(birth) = birth {
            self.one(generator, model, &birth).await;
        }
    }

    fn answer_of_model(
        &mut self,
        generator: &mut Generator<'_>,
        model: &mut Model,
        request: &Request,
    ) -> Answer {
        let outcome = ask_model(model, request);
        generator.learn(request, &outcome);
        self.tally.count(request, &outcome);
        Answer::of_model(&outcome, model.run(&request.command.run))
    }

    /// FSM-4: the preview of a request says what apply would say, were its key a new one.
    async fn preview(&self, generator: &Generator<'_>, model: &Model, request: &Request) {
        let command = Command {
            idempotency_key: "a new one".to_owned(),
            event_payload_valid: generator.payload_fits(model, request),
            ..request.command.clone()
        };
        let mut verdict = model.preview(&command);
        if !may_act(request.login, command.actor_class) {
            verdict = forbid_login(verdict, false);
        }
        let expected = Answer::of_model(&verdict, model.run(&command.run)).as_preview();
        let store = self.store(request.login);
        let preview =
            store.fn_state_transition_validate(&request.to_engine()).await.expect("a preview");
        self.agree("the preview", request, &expected, &preview_of_engine(&preview));
    }

    /// What was never answered so far, though this machine can answer it.
    fn missing(&self) -> Vec<&'static str> {
        let facets = self.shipped.machine.states.iter().any(|state| !state.facets.is_empty());
        let audited = self.shipped.rules.iter().any(|rule| rule.audit);
        EXPECTED
            .into_iter()
            .chain(audited.then_some("audit_reference_missing"))
            .chain(facets.then_some("facet_missing"))
            .chain((!self.proposed.is_empty()).then_some("transition_proposed"))
            .filter(|name| !self.tally.answers.contains_key(*name))
            .collect()
    }

    /// State, seq, facet, history and events of every run, and that there are no others.
    async fn compare_rows(&mut self, model: &Model) {
        model.check_invariants().expect("the model's own invariants");
        // The outbox itself, which no login reads: a consumer sees an event only once the sequencer has.
        let mut outbox = self.db.superuser().await;
        for (name, run) in model.runs() {
            let stored = self.auditor.run(id_of(name)).await.expect("an answer").expect("the run");
            let state = (run.state().to_owned(), run.seq(), run.facet().map(str::to_owned));
            let seq = u64::try_from(stored.seq).expect("a number of moves");
            self.agree("the run", &name, &state, &(stored.state, seq, stored.facet));
            self.agree(
                "the history",
                &name,
                &history_of_model(run),
                &self.history_of_engine(name).await,
            );
            let sent = model.outbox().iter().filter(|sent| sent.run == name);
            let sent: Vec<(String, u64)> =
                sent.map(|sent| (sent.event.to_owned(), sent.seq)).collect();
            self.agree("the events", &name, &sent, &events_of_engine(&mut outbox, name).await);
        }
        self.tally.runs += model.runs().count();
        self.tally.moves += model.runs().map(|(_, run)| run.history().len()).sum::<usize>();
        self.tally.events += model.outbox().len();
        let counted: (i64, i64, i64) = sqlx::query_as(
            "select (select count(*) from fsm.run), (select count(*) from fsm.transition_log),
                    (select count(*) from event.event_outbox)",
        )
        .fetch_one(&mut outbox)
        .await
        .expect("counts");
        let as_rows = |n: usize| i64::try_from(n).expect("a count");
        let known =
            (as_rows(self.tally.runs), as_rows(self.tally.moves), as_rows(self.tally.events));
        self.agree("the number of runs, moves and events", &"in all", &known, &counted);
    }

    async fn history_of_engine(&self, run: &str) -> Vec<Line> {
        let history = self.auditor.history(id_of(run)).await.expect("the history");
        let line = |row: HistoryRow| Line {
            seq: row.seq.try_into().expect("a number of moves"),
            from: row.from,
            to: row.to,
            actor: row.actor_class,
            event: row.event_type,
            transition: label(&row.transition_id).to_owned(),
        };
        history.into_iter().map(line).collect()
    }
}

/// A line of a run's history, from either side.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    seq: u64,
    from: Option<String>,
    to: String,
    actor: String,
    event: Option<String>,
    transition: String,
}

async fn events_of_engine(outbox: &mut PgConnection, run: &str) -> Vec<(String, u64)> {
    let sent: Vec<(String, i64)> =
        sqlx::query_as("select event_type, subject_seq from event.event_outbox where subject_id = $1 order by subject_seq")
            .bind(id_of(run))
            .fetch_all(outbox)
            .await
            .expect("the events");
    sent.into_iter()
        .map(|(event, seq)| (event, seq.try_into().expect("a number of moves")))
        .collect()
}

fn history_of_model(run: &Run) -> Vec<Line> {
    let owned = |word: &str| word.to_owned();
    let line = |entry: &Entry| Line {
        seq: entry.seq,
        from: entry.from.map(owned),
        to: owned(entry.to),
        actor: owned(entry.actor),
        event: entry.event.map(owned),
        transition: owned(entry.transition),
    };
    run.history().iter().map(line).collect()
}

/// Every fourth row, but none without which a state would be out of reach.
fn to_be_proposed(shipped: &Shipped) -> Vec<Rule> {
    let mut proposed: Vec<Rule> = Vec::new();
    for rule in shipped.rules.iter().filter(|rule| rule.from.is_some()).step_by(4) {
        proposed.push(*rule);
        if reachable(shipped, &proposed) < reachable(shipped, &[]) {
            proposed.pop();
        }
    }
    proposed
}

/// How many states a run can come to without these rows.
fn reachable(shipped: &Shipped, without: &[Rule]) -> usize {
    let mut reached = BTreeSet::from([shipped.machine.initial]);
    let mut open = vec![shipped.machine.initial];
    while let Some(state) = open.pop() {
        let rows =
            shipped.rules.iter().filter(|rule| rule.from == Some(state) && !without.contains(rule));
        open.extend(rows.map(|rule| rule.to).filter(|to| reached.insert(to)));
    }
    reached.len()
}

/// M4: verdict, problem names in their order, event, seq, and the rows that stay.
#[expect(clippy::print_stdout, reason = "the seed and the figures")]
async fn check(name: &str) {
    let seed = slice::seed(SEED);
    let commands = slice::amount("CHANCERY_TEST_COMMANDS", COMMANDS).div_ceil(NAMES.len());
    println!("{name}: seed {seed}, {commands} commands");
    let mut game = Game::set_up(name, seed).await;
    while game.tally.commands < commands {
        let rest = commands - game.tally.commands;
        game.play(rest.min(STREAM)).await;
    }
    // The seed decides which flaws are drawn: a rare one may take some streams more.
    let in_full = commands >= COMMANDS / NAMES.len();
    while in_full && !game.missing().is_empty() && game.tally.commands < 30 * commands {
        game.play(STREAM).await;
    }
    let Tally { answers, fired, runs, in_engine, commands: asked, .. } = &game.tally;
    let rate = *asked as f64 / in_engine.as_secs_f64();
    let rows = game.shipped.rules.len() - game.proposed.len();
    println!(
        "{name}: {asked} commands, {rate:.0}/s, {runs} runs, {} of {rows} rows fired\n{answers:#?}",
        fired.len()
    );
    if in_full {
        let missing = game.missing();
        assert!(
            missing.is_empty(),
            "{name}: seed {seed} never met {missing:?}, so it proves nothing of them"
        );
    }
}

/// What every stream worth its name has met.
const EXPECTED: [&str; 15] = [
    "accepted",
    "replayed",
    "run_unknown",
    "state_unknown",
    "no_matching_transition",
    "wrong_trigger",
    "transition_refused_by_guard",
    "stale_from_state",
    "idempotency_key_reused",
    "idempotency_key_missing",
    "event_payload_invalid",
    "principal_unknown",
    "principal_inactive",
    "actor_class_not_held",
    "login_may_not_act",
];

#[tokio::test]
async fn step_answers_as_the_model_does() {
    check("step").await;
}

#[tokio::test]
async fn task_answers_as_the_model_does() {
    check("task").await;
}

#[tokio::test]
async fn workflow_run_answers_as_the_model_does() {
    check("workflow_run").await;
}

#[tokio::test]
async fn cut_request_answers_as_the_model_does() {
    check("cut_request").await;
}

#[tokio::test]
async fn orchestrator_run_answers_as_the_model_does() {
    check("orchestrator_run").await;
}

#[tokio::test]
async fn birth_permit_answers_as_the_model_does() {
    check("birth_permit").await;
}

#[tokio::test]
async fn job_answers_as_the_model_does() {
    check("job").await;
}

#[tokio::test]
async fn dlq_replay_answers_as_the_model_does() {
    check("dlq_replay").await;
}

#[tokio::test]
async fn finding_answers_as_the_model_does() {
    check("finding").await;
}

#[tokio::test]
async fn governance_candidate_answers_as_the_model_does() {
    check("governance_candidate").await;
}

#[tokio::test]
async fn proposal_answers_as_the_model_does() {
    check("proposal").await;
}

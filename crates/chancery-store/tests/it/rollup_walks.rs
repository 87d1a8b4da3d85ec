//! What is stored on a run after every move, against what is computed from its steps: random walks through the doors that people, executors
//! and the loops use.
//!
//! `CHANCERY_TEST_WALKS` says how many, `CHANCERY_TEST_SEED` repeats them.

use std::collections::BTreeMap;

use chancery_model::refusal::Code;
use chancery_store::Error;
use chancery_store::queue::LeasedJob;
use chancery_store::workflow::{RunCall, WorkCall};
use chancery_testkit::workflows::{CLASS, CLERK, Flows, digest};
use chancery_testkit::{TestDb, slice};
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

const MOVES: usize = 30;
const DEFINITIONS: usize = 15;
const WORKER: &str = "hall:1";

/// Everything a walk does at least once in a while.
const VERBS: [&str; 23] = [
    "claim",
    "release",
    "wait",
    "resolve",
    "block",
    "unblock",
    "escalate_block",
    "complete",
    "cannot",
    "reengage",
    "extend",
    "escalate",
    "reopen",
    "cancel",
    "begin",
    "report_complete",
    "report_transient",
    "report_permanent",
    "report_wait",
    "report_block",
    "pause",
    "resume",
    "time",
];

/// What must be none of after any move. A run on hold keeps its colour and counts on.
const DIFFERENT: &str = "
  select jsonb_build_object('run', to_jsonb(r) - 'inputs', 'computed', c,
                            'steps', (select jsonb_agg(jsonb_build_array(s.step_no, s.state_code, s.rollup_class, s.skipped) order by s.step_no)
                                        from workflow.step_run s where s.workflow_run_id = r.workflow_run_id))
    from workflow.workflow_run r cross join lateral workflow.fn_workflow_rollup_compute(r.workflow_run_id) c
    cross join lateral (
      select count(*) filter (where s.mandatory and not s.skipped) as mandatory, count(*) filter (where s.mandatory and s.state_code = 'completed') as completed
        from workflow.step_run s where s.workflow_run_id = r.workflow_run_id) n
   where r.created_at >= internal.from_micros($1)
     and ((r.red_count, r.yellow_count, r.green_count, r.skipped_count, r.optional_excluded_count, r.mandatory_count, r.completed_count)
          is distinct from ((c ->> 'red_count')::int, (c ->> 'yellow_count')::int, (c ->> 'green_count')::int, (c ->> 'skipped_count')::int,
                            (c ->> 'optional_excluded_count')::int, n.mandatory, n.completed)
          or (r.frozen_at is null
              and (r.rollup_state_code, r.decisive_step_run_id, r.decisive_state_code)
                  is distinct from (c ->> 'rollup_state_code', (c ->> 'decisive_step_run_id')::uuid, c ->> 'decisive_state_code')))";

/// Runs at rest whose marks are not on the critical path.
const ASTRAY: &str = "
  select jsonb_build_object('run', r.workflow_run_id, 'path', workflow.critical_path(r.workflow_run_id),
                            'steps', (select jsonb_agg(jsonb_build_array(s.step_no, s.state_code, s.skipped, s.on_critical_path) order by s.step_no)
                                        from workflow.step_run s where s.workflow_run_id = r.workflow_run_id))
    from workflow.workflow_run r
   where r.created_at >= internal.from_micros($1) and r.state_code in ('in_progress', 'completed')
     and workflow.critical_path(r.workflow_run_id) is distinct from
         (select coalesce(array_agg(s.step_no order by s.step_no) filter (where s.on_critical_path), '{}') from workflow.step_run s
           where s.workflow_run_id = r.workflow_run_id)";

struct Walk {
    flows: Flows,
    rng: StdRng,
    now: i64,
    /// When the run of this walk began.
    since: i64,
    leased: BTreeMap<Uuid, LeasedJob>,
    done: BTreeMap<&'static str, usize>,
    refused: BTreeMap<&'static str, usize>,
}

/// A step that can be moved.
#[derive(Debug, Clone)]
struct Open {
    step_run_id: Uuid,
    workflow_run_id: Uuid,
    state_code: String,
    executor_class_ref: String,
    run_state: String,
}

fn definition(rng: &mut StdRng, n: usize) -> Value {
    let key = |n: usize| format!("s{n}");
    let count = rng.gen_range(5..=12);
    let steps: Vec<Value> = (0..count)
        .map(|n| {
            let mut step = json!({ "key": key(n), "title": { "en": key(n), "vi": key(n) }, "optional": rng.gen_bool(0.2) });
            match rng.gen_range(0..10) {
                0 => step["sub_workflow"] = json!("pair"),
                1..=4 => step["executor"] = json!(CLASS),
                _ => {}
            }
            if rng.gen_bool(0.4) && step["sub_workflow"].is_null() {
                step["deadline"] = json!("1 hour");
            }
            step
        })
        .collect();
    let mut relations = Vec::new();
    for to in 1..count {
        let mut froms: Vec<usize> = (0..to).collect();
        froms.shuffle(rng);
        for &from in froms.iter().take(rng.gen_range(1..=2)) {
            let mut relation = json!({ "from": key(from), "to": key(to) });
            match rng.gen_range(0..6) {
                0 => relation["kind"] = json!("and"),
                1 => relation["kind"] = json!("or"),
                2 => relation["kind"] = json!("parallel"),
                3 => {
                    relation["kind"] = json!("condition");
                    relation["when"] = json!(if rng.gen_bool(0.5) {
                        "$.run.id != null"
                    } else {
                        "$.run.id == null"
                    });
                }
                _ => {}
            }
            relations.push(relation);
        }
    }
    json!({ "workflow": format!("walk_{n}"), "title": { "en": "Walk", "vi": "Đi" }, "steps": steps, "relations": relations })
}

impl Walk {
    async fn new(db: &TestDb, seed: u64) -> Self {
        let flows = Flows::new(db.target()).await;
        let now: i64 = sqlx::query_scalar("select internal.micros(clock_timestamp())")
            .fetch_one(&flows.admin)
            .await
            .expect("a time");
        let mut walk = Self {
            flows,
            rng: StdRng::seed_from_u64(seed),
            now,
            since: now,
            leased: BTreeMap::new(),
            done: BTreeMap::new(),
            refused: BTreeMap::new(),
        };
        walk.later(0).await;
        let pair = json!({ "workflow": "pair", "title": { "en": "Pair", "vi": "Đôi" },
            "steps": [{ "key": "a", "title": { "en": "A", "vi": "A" } }, { "key": "b", "title": { "en": "B", "vi": "B" } }],
            "relations": [{ "from": "a", "to": "b" }] });
        walk.flows.install(&pair).await;
        for n in 0..DEFINITIONS {
            let definition = definition(&mut walk.rng, n);
            walk.flows.install(&definition).await;
        }
        walk
    }

    /// So many seconds pass; nothing rings by itself.
    async fn later(&mut self, seconds: i64) {
        self.now += seconds * 1_000_000;
        // Guards read it too, and may call nothing of ours.
        let clock = format!(
            "create or replace function internal.now() returns timestamptz language sql as
               $$ select timestamptz 'epoch' + {} * interval '1 microsecond' $$",
            self.now
        );
        sqlx::query(AssertSqlSafe(clock))
            .execute(&self.flows.admin)
            .await
            .expect("the clock is one function");
    }

    async fn none_of(&self, query: &'static str, what: &str) {
        let found: Vec<Value> = sqlx::query_scalar(query)
            .bind(self.since)
            .fetch_all(&self.flows.admin)
            .await
            .expect("an answer");
        assert!(found.is_empty(), "after {what}: {:#}", found[0]);
    }

    async fn open(&self) -> Vec<Open> {
        let rows: Vec<(Uuid, Uuid, String, String, String)> = sqlx::query_as(
            "select s.step_run_id, s.workflow_run_id, s.state_code, s.executor_class_ref, r.state_code
               from workflow.step_run s join workflow.workflow_run r using (workflow_run_id)
              where r.created_at >= internal.from_micros($1) and s.state_code not in ('not_started', 'cancelled') order by r.created_at, s.step_no",
        )
        .bind(self.since)
        .fetch_all(&self.flows.admin)
        .await
        .expect("steps");
        rows.into_iter()
            .map(|(step_run_id, workflow_run_id, state_code, executor_class_ref, run_state)| Open {
                step_run_id,
                workflow_run_id,
                state_code,
                executor_class_ref,
                run_state,
            })
            .collect()
    }

    fn note<T>(&mut self, verb: &'static str, answer: &Result<T, Error>) {
        match answer {
            Ok(_) => *self.done.entry(verb).or_default() += 1,
            Err(Error::Refused(_)) => *self.refused.entry(verb).or_default() += 1,
            Err(error) => panic!("{verb}: {error:?}"),
        }
    }

    /// One thing that somebody does, whether it is let or not.
    async fn one_move(&mut self, run: Uuid) -> &'static str {
        let open = self.open().await;
        let dice = self.rng.gen_range(0..100);
        // What is done is opened again now and then.
        let unfinished: Vec<&Open> =
            open.iter().filter(|step| step.state_code != "completed").collect();
        let step =
            if self.rng.gen_bool(0.1) { None } else { unfinished.choose(&mut self.rng).copied() };
        let Some(step) = step.or_else(|| open.choose(&mut self.rng)).cloned() else {
            self.later(1).await;
            return "time";
        };
        if dice < 5 || (step.run_state == "paused" && dice < 60) {
            let (verb, call) = if step.run_state == "paused" {
                ("resume", "workflow_resume")
            } else {
                ("pause", "workflow_pause")
            };
            let which = if self.rng.gen_bool(0.7) { run } else { step.workflow_run_id };
            let answer = self.flows.run_call(which, call, None).await;
            self.note(verb, &answer);
            return verb;
        }
        if dice < 15 {
            let seconds = [1, 600, 3_600, 15_000][self.rng.gen_range(0..4)];
            self.later(seconds).await;
            self.note("time", &Ok(()));
            // What the clock decides is the timers' to do; until they ring, nobody has looked.
            self.flows.quiet().await;
            return "time";
        }
        let for_a_worker = step.executor_class_ref == CLASS && step.state_code == "ready";
        if dice < 25 || for_a_worker {
            return self.take_up().await;
        }
        self.move_step(&step).await
    }

    /// A worker takes the next job.
    async fn take_up(&mut self) -> &'static str {
        let jobs = self.flows.lease(CLASS, 1, WORKER).await.expect("a lease");
        for job in jobs {
            let answer = self.flows.begin(&job, WORKER).await;
            self.note("begin", &answer);
            if let Ok(Some(step)) = answer.map(|given| given.run_id) {
                self.leased.insert(step, job);
            }
        }
        "begin"
    }

    async fn move_step(&mut self, step: &Open) -> &'static str {
        let verbs: &[&str] = match step.state_code.as_str() {
            "ready" => &["claim"],
            "in_progress" if step.executor_class_ref == CLASS => &[
                "report_complete",
                "report_complete",
                "report_transient",
                "report_permanent",
                "report_wait",
                "report_block",
                "cancel",
            ],
            "in_progress" => &[
                "release", "wait", "block", "block", "complete", "complete", "complete", "cannot",
                "extend",
            ],
            "waiting" => &["resolve", "resolve", "resolve", "extend", "cannot"],
            "blocked" => &["unblock", "unblock", "escalate_block", "extend", "cannot"],
            "overdue" if step.executor_class_ref == CLASS => {
                &["extend", "report_complete", "report_transient"]
            }
            "overdue" => &["reengage", "extend", "complete"],
            "failed" => &["escalate", "cancel", "escalate"],
            "completed" | "cannot_complete" => &["reopen", "reopen", "cancel"],
            other => panic!("nothing can be done to a step that is {other}"),
        };
        let verb = verbs[self.rng.gen_range(0..verbs.len())];
        if let Some(outcome) = verb.strip_prefix("report_") {
            return self.report(step.step_run_id, verb, outcome).await;
        }
        let output = json!({ "done": true });
        let in_ten_minutes = self.time(600).await;
        let (call, mut evidence) = match verb {
            "claim" => ("step_claim", json!({})),
            "release" => ("step_release", json!({})),
            "wait" => ("step_wait", self.wait(&in_ten_minutes)),
            "block" => ("step_block", json!({ "block_reason": "missing_iu" })),
            "unblock" => ("blocker_resolved", json!({ "resolution_ref": "found" })),
            "complete" => ("step_complete", json!({ "output_sha256": digest(&output) })),
            "cannot" => ("declare_cannot_complete", json!({ "declaration_ref": "said" })),
            "reengage" => ("step_reengage", json!({})),
            "escalate" => ("escalate", json!({})),
            "reopen" => {
                let approval = self.flows.approve("step_reopen", step.step_run_id, None).await;
                (
                    "step_reopen_for_correction",
                    json!({ "approval_id": approval, "correction_reason": "data_error" }),
                )
            }
            "cancel" => {
                let approval = self.flows.approve("step_cancel", step.step_run_id, None).await;
                ("step_cancel", json!({ "approval_id": approval }))
            }
            _ => return self.decide(step.step_run_id, verb).await,
        };
        evidence["audit_ref"] = json!("walk");
        let document = (verb == "complete").then_some(&output);
        let answer = self.flows.call(step.step_run_id, call, &evidence, document).await;
        self.note(verb, &answer);
        verb
    }

    /// What people decide without a move of their own.
    async fn decide(&mut self, step: Uuid, verb: &'static str) -> &'static str {
        let key = Uuid::now_v7().to_string();
        let call = WorkCall {
            run_kind: "step",
            run_id: step,
            call: verb,
            evidence: &Value::Null,
            document: None,
            principal: CLERK,
            actor_class: "pic_human",
            idempotency_key: &key,
            reason: Some("walk"),
            signed: None,
        };
        match verb {
            "extend" => {
                let later = self.time(7_200).await;
                let answer = self.flows.store.fn_work_extend(&call, &later).await;
                self.note(verb, &answer);
            }
            "escalate_block" => {
                let answer = self.flows.store.fn_step_block_escalate(&call, None).await;
                self.note(verb, &answer);
            }
            _ => {
                let waits: Vec<Uuid> = sqlx::query_scalar(
                    "select w.wait_id from workflow.wait w where w.run_id = $1 and w.resolved_at is null and w.facet = 'waiting_human'",
                )
                .bind(step)
                .fetch_all(&self.flows.admin)
                .await
                .expect("waits");
                for wait in waits {
                    let proof = json!({ "given": true });
                    let answer =
                        self.flows.store.fn_wait_resolve(wait, &proof, CLERK, "pic_human").await;
                    self.note("resolve", &answer);
                }
            }
        }
        verb
    }

    async fn report(&mut self, step: Uuid, verb: &'static str, outcome: &str) -> &'static str {
        let Some(job) = self.leased.get(&step).cloned() else { return verb };
        let output = json!({ "done": true });
        let in_ten_minutes = self.time(600).await;
        let (call, evidence) = match outcome {
            "complete" => ("step_complete", json!({ "output_sha256": digest(&output) })),
            "transient" => (
                "executor_failure",
                json!({ "classification": "transient", "failure_class": "timeout" }),
            ),
            "permanent" => (
                "executor_failure",
                json!({ "classification": "permanent", "failure_class": "bad_request" }),
            ),
            "block" => ("step_block", json!({ "block_reason": "config_error" })),
            _ => ("step_wait", self.wait(&in_ten_minutes)),
        };
        let document = (outcome == "complete").then_some(&output);
        let answer = self.flows.report(&job, WORKER, call, &evidence, document).await;
        self.note(verb, &answer);
        verb
    }

    fn wait(&mut self, until: &str) -> Value {
        let gate = json!({ "facet": "waiting_time_gate", "until": until });
        let human = json!({ "facet": "waiting_human", "of": CLERK });
        let waits = match self.rng.gen_range(0..3) {
            0 => vec![gate],
            1 => vec![human],
            _ => vec![human, gate],
        };
        let facets: Vec<&Value> = waits.iter().map(|wait| &wait["facet"]).collect();
        json!({ "facets": facets, "waits": waits })
    }

    async fn time(&self, from_now: i64) -> String {
        sqlx::query_scalar("select to_char(internal.from_micros($1) at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
            .bind(self.now + from_now * 1_000_000)
            .fetch_one(&self.flows.admin)
            .await
            .expect("a time")
    }

    async fn walk(&mut self) {
        self.later(1).await;
        self.since = self.now;
        self.leased.clear();
        let workflow = format!("walk_{}", self.rng.gen_range(0..DEFINITIONS));
        let run = self.flows.start(&workflow).await;
        self.none_of(DIFFERENT, "start").await;
        self.flows.quiet().await;
        for _ in 0..MOVES {
            let verb = self.one_move(run).await;
            self.none_of(DIFFERENT, verb).await;
            if self.rng.gen_bool(0.7) {
                self.flows.quiet().await;
                self.none_of(DIFFERENT, "the loop").await;
            }
        }
        // Long enough for the critical path of what happened last, and too short for anything to become late.
        for _ in 0..2 {
            self.later(2).await;
            self.flows.quiet().await;
        }
        self.none_of(DIFFERENT, "the end").await;
        self.none_of(ASTRAY, "the end").await;
        self.call_off().await;
        self.none_of(DIFFERENT, "the cancellation").await;
    }

    /// What is left of this walk does not wake up in the next one.
    async fn call_off(&self) {
        let runs: Vec<Uuid> = sqlx::query_scalar(
            "select r.workflow_run_id from workflow.workflow_run r
              where r.created_at >= internal.from_micros($1) and r.state_code not in ('completed', 'cancelled') order by r.created_at",
        )
        .bind(self.since)
        .fetch_all(&self.flows.admin)
        .await
        .expect("runs");
        for run in runs {
            let approval = self.flows.approve("workflow_cancel", run, None).await;
            self.flows.run_call(run, "workflow_cancel", Some(approval)).await.expect("called off");
        }
        self.flows.quiet().await;
    }
}

/// RUN-15: what is stored is what is computed, after every move, whoever makes it; RUN-16: the marks are on the critical path.
#[expect(clippy::print_stdout, reason = "a run tells what it went through")]
#[tokio::test]
async fn what_is_stored_is_what_is_computed() {
    let walks = slice::amount("CHANCERY_TEST_WALKS", 20);
    let seed = slice::seed(20_261_116);
    let db = TestDb::new().await;
    let mut walk = Walk::new(&db, seed).await;
    for _ in 0..walks {
        walk.walk().await;
    }
    println!(
        "{walks} walks of {MOVES} moves, seed {seed}: done {:?}, refused {:?}",
        walk.done, walk.refused
    );
    // A few walks need not have met everything.
    for verb in VERBS.into_iter().filter(|_| walks >= 100) {
        assert!(walk.done.contains_key(verb), "nobody did {verb}: {:?}", walk.done);
    }
}

/// RUN-8, RUN-14: nobody takes the key of a move that the clock or the loop is still to make, and whatever key a person uses stops neither.
#[tokio::test]
async fn a_persons_key_is_no_key_of_the_loops() {
    let db = TestDb::new().await;
    let flows = Flows::new(db.target()).await;
    flows
        .install(&json!({ "workflow": "errand", "title": { "en": "Errand", "vi": "Việc" }, "relations": [],
            "steps": [{ "key": "only", "title": { "en": "Only", "vi": "Duy nhất" }, "deadline": "1 hour" }] }))
        .await;
    let run = flows.start("errand").await;
    flows.quiet().await;
    let step: Uuid = sqlx::query_scalar("select s.step_run_id from workflow.step_run s")
        .fetch_one(&flows.admin)
        .await
        .expect("a step");
    let evidence = json!({ "audit_ref": "test" });
    let claim = |key| WorkCall {
        run_kind: "step",
        run_id: step,
        call: "step_claim",
        evidence: &evidence,
        document: None,
        principal: CLERK,
        actor_class: "pic_human",
        idempotency_key: key,
        reason: None,
        signed: None,
    };
    let hold = |call, key| RunCall {
        workflow_run_id: run,
        call,
        evidence: &evidence,
        principal: CLERK,
        actor_class: "reviewer",
        idempotency_key: key,
        reason: None,
        signed: None,
    };
    let before = db.fingerprint().await;
    let refusals = [
        flows.store.fn_work_move(&claim("chancery:overdue:3")).await.err(),
        flows.store.fn_workflow_move(&hold("workflow_pause", "chancery:complete")).await.err(),
    ];
    for refusal in refusals {
        let code = refusal.as_ref().and_then(Error::refusal).map(|refusal| refusal.code);
        assert_eq!(code, Some(Code::RS012), "{refusal:?}");
    }
    assert_eq!(before, db.fingerprint().await, "nothing changed");
    for (call, key) in [("workflow_pause", "complete"), ("workflow_resume", "start")] {
        flows.store.fn_workflow_move(&hold(call, key)).await.expect("a key of one's own");
    }
    flows.store.fn_work_move(&claim("overdue:2")).await.expect("a key of one's own");
    let output = json!({});
    let ending = json!({ "audit_ref": "test", "output_sha256": digest(&output) });
    flows.call(step, "step_complete", &ending, Some(&output)).await.expect("it is done");
    flows.quiet().await;
    let state: String = sqlx::query_scalar("select r.state_code from workflow.workflow_run r")
        .fetch_one(&flows.admin)
        .await
        .expect("a run");
    assert_eq!(state, "completed");
}

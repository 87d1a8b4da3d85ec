//! The queue's tables and every way past their doors.

use chancery_store::{LOGINS, Role};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::hardening::{attempt, hand_writes, not_refused, without_key_violations};
use crate::queue_world::{Yard, done, failed};

/// A job in each state that a row can stand in, a finished one, letters and a request.
async fn at_work() -> Yard {
    let yard = Yard::new().await;
    let ids = yard.dead("dead", 3).await;
    yard.propose(Uuid::now_v7(), &ids[..1], 0).await.expect("a batch");
    for key in ["done", "retry", "leased", "progress", "queued", "cancelled"] {
        yard.put(key).await;
    }
    let leased = yard.claim(4).await;
    yard.ack(&[done(&leased[0]), failed(&leased[1], "no")]).await;
    let kept = yard.store.fn_job_extend("hall:1", "hall", &[(leased[3].job_id, 1)]).await;
    assert_eq!(kept.expect("an answer").len(), 1);
    let cancelled = yard.enqueue(&[crate::queue_world::job("cancelled")]).await.expect("there");
    yard.cancel(cancelled[0].job_id, "c").await.expect("cancelled");
    let states: String = yard
        .one("select string_agg(distinct state, ' ' order by state) from queue.job_queue")
        .await;
    assert_eq!(states, "cancelled dead_letter in_progress leased queued retry_waiting");
    yard
}

const TABLES: [&str; 4] =
    ["queue.job_queue", "queue.job_finished", "queue.job_dead_letter", "queue.dlq_replay_request"];

/// What somebody would like to do to a job.
const CHANGES: [&str; 9] = [
    "state = 'succeeded'",
    "state = 'leased', lease_owner = 'me', lease_until = 'infinity'",
    "lease_no = lease_no + 1",
    "lease_until = lease_until + interval '1 day'",
    "attempts = 0",
    "scheduled_at = now()",
    "failures = '[]'",
    "payload_json = '{\"n\": 1}'",
    "seq = seq + 1, head_hash = sha256(coalesce(head_hash, ''))",
];

fn statements() -> Vec<String> {
    let mut statements: Vec<String> =
        CHANGES.iter().map(|change| format!("update queue.job_queue set {change}")).collect();
    let facts = "job_id, executor_class, job_kind, state, state_machine_id, scheduled_at, max_attempts, idempotency_key, started_by, trace_id, correlation_id, created_at, last_transition_at";
    let row = |state: &str| {
        format!(
            "insert into queue.job_queue ({facts}) select gen_random_uuid(), executor_class, job_kind, '{state}', state_machine_id, now(), 1, 'forged', started_by, trace_id, correlation_id, now(), now() from queue.job_queue limit 1"
        )
    };
    statements.extend([row("queued"), row("succeeded"), row("dead_letter")]);
    statements.push("update queue.dlq_replay_request set proposal_state = 'scheduled', approval_id = gen_random_uuid(), replay_job_id = gen_random_uuid()".to_owned());
    statements.push("update queue.dlq_replay_request set outcome_jsonb = '{}'".to_owned());
    statements
}

/// EVT-3, SEC-3: no login, no owner and no superuser writes a job by hand, also with the triggers of a replica.
#[tokio::test]
async fn no_job_is_written_by_hand() {
    let yard = at_work().await;
    let mut admin = yard.db.superuser().await;
    let mut all = hand_writes(&mut admin, &TABLES.map(str::to_owned)).await;
    assert_eq!(all.len(), 5 * TABLES.len(), "each has a row to try it on");
    all.extend(statements());
    let before = yard.db.fingerprint().await;
    let mut found = Vec::new();
    for &role in LOGINS {
        let mut connection = yard.db.connect(role).await;
        found.extend(not_refused(&mut connection, &all).await);
    }
    for owner in ["chancery_owner", "chancery_definer", "chancery_guard"] {
        let mut operator = yard.db.connect(Role::Migrator).await;
        let become_owner = AssertSqlSafe(format!("set role {owner}"));
        operator.execute(become_owner).await.expect("the operator may");
        found.extend(not_refused(&mut operator, &all).await);
    }
    for replication_role in ["origin", "replica", "local"] {
        let setting = AssertSqlSafe(format!("set session_replication_role = {replication_role}"));
        admin.execute(setting).await.expect("a superuser may");
        found.extend(not_refused(&mut admin, &all).await);
    }
    assert_eq!(without_key_violations(found), Vec::<String>::new());
    assert_eq!(before, yard.db.fingerprint().await, "nothing changed");
}

/// EVT-3: the right to write the table opens nothing; and even in the role of the doors, a job moves only along the edges of its machine,
/// its facts stay, and what the log knows does not change without it.
#[tokio::test]
async fn also_with_the_right_a_job_moves_only_along_its_edges() {
    let yard = at_work().await;
    yard.admin
        .execute(
            "grant select, insert, update, delete on all tables in schema queue to chancery_app;
             grant execute on all functions in schema internal, queue, fsm to chancery_app",
        )
        .await
        .expect("a superuser may");
    yard.admin
        .execute(
            "create function queue.in_the_role_of_the_doors(p_statement text) returns void
             language plpgsql security definer as $$ begin execute p_statement; end $$;
             alter function queue.in_the_role_of_the_doors(text) owner to chancery_definer;
             grant execute on function queue.in_the_role_of_the_doors(text) to chancery_app",
        )
        .await
        .expect("a superuser may");
    let as_a_door = |statement: &str| {
        format!("select queue.in_the_role_of_the_doors($statement${statement}$statement$)")
    };
    let states = ["queued", "leased", "in_progress", "retry_waiting", "dead_letter", "cancelled"];
    let edges: Vec<String> = sqlx::query_scalar(
        "select distinct t.from_state || '>' || t.to_state from fsm.transition_def t join fsm.state_machine_def m using (state_machine_id)
          where m.scope = 'job' and t.from_state is not null",
    )
    .fetch_all(&yard.admin)
    .await
    .expect("the edges");
    assert_eq!(edges.len(), 17, "{edges:?}");
    let logged = ["dead_letter", "cancelled"];
    let mut app = yard.db.connect(Role::App).await;
    let before = yard.db.fingerprint().await;
    for from in states {
        for to in states.into_iter().chain(["succeeded", "failed", "cleaned"]) {
            if from == to {
                continue;
            }
            let change = format!(
                "update queue.job_queue set state = '{to}', lease_owner = 'w', lease_until = now() where state = '{from}'"
            );
            assert_eq!(attempt(&mut app, &change).await.as_deref(), Some("RS015"), "{from} → {to}");
            let allowed = edges.contains(&format!("{from}>{to}")) && !logged.contains(&from);
            let answer = attempt(&mut app, &as_a_door(&change)).await;
            assert_eq!(answer, (!allowed).then(|| "RS015".to_owned()), "{from} → {to}");
        }
    }
    for (statement, code) in [
        ("update queue.job_queue set payload_json = '{}'", "RS015"),
        ("update queue.job_queue set priority = 0", "RS015"),
        ("update queue.job_queue set idempotency_key = 'x'", "RS015"),
        ("delete from queue.job_queue where state = 'queued'", "RS015"),
        ("delete from queue.job_queue where state = 'dead_letter'", "RS015"),
        ("update queue.job_finished set result = '{}'", "RS016"),
        ("delete from queue.job_finished", "RS016"),
        ("update queue.job_dead_letter set reason = 'x'", "RS015"),
        ("delete from queue.job_dead_letter", "RS015"),
        (
            "update queue.job_queue set last_transition_at = now() where state = 'cancelled'",
            "RS015",
        ),
        // The general door.
        (
            "select fsm.fn_state_transition_apply((select job_id from queue.job_queue where state = 'dead_letter' limit 1), 'job', null, 'cleaned', 'system', 'event', 'replay_succeeded', '{}', 'chancery', 'k')",
            "RS026",
        ),
    ] {
        assert_eq!(attempt(&mut app, statement).await.as_deref(), Some(code), "{statement}");
    }
    for (statement, code) in [
        ("update queue.job_queue set payload_json = '{}'", "42501"),
        // What the log knows, without the log.
        ("update queue.job_queue set seq = 3 where state = 'dead_letter'", "RS017"),
        ("update queue.job_queue set head_hash = sha256('x') where state = 'cancelled'", "RS017"),
        (
            "update queue.job_queue set seq = 1, head_hash = sha256('x') where state = 'queued'",
            "RS017",
        ),
    ] {
        assert_eq!(
            attempt(&mut app, &as_a_door(statement)).await.as_deref(),
            Some(code),
            "{statement}"
        );
    }
    assert_eq!(before, yard.db.fingerprint().await, "nothing changed");
}

/// FSM-5 for the queue: what is missing is refused by code, never by an error that only a programmer can read.
#[tokio::test]
async fn a_missing_argument_is_refused_by_code() {
    let yard = at_work().await;
    let letters = yard.db.texts("select job_id::text from queue.job_queue where state = 'dead_letter' order by state, job_no").await;
    let letters: Vec<String> = letters.into_iter().flatten().collect();
    let of =
        |state: &str| format!("select job_id::text from queue.job_queue where state = '{state}'");
    let (leased, queued) = (yard.db.text(&of("leased")).await, yard.db.text(&of("queued")).await);
    let open =
        yard.db.text("select dlq_replay_request_id::text from queue.dlq_replay_request").await;
    let batch = yard.approved_batch(&[letters[1].parse().expect("an id")], 0).await;
    let text = |value: &str| format!("'{value}'");
    let list = |value: &str, kind: &str| format!("array['{value}']::{kind}[]");
    let (person, key) = (["'pic_human'", "'desk'"].map(str::to_owned), text("k"));
    let lists = [list(&leased, "uuid"), "array[1]".to_owned()];
    let results = [&lists[..], &[list("succeeded", "text"), list("{}", "jsonb")]].concat();
    let worker = ["'hall:1'", "'hall'"].map(str::to_owned);
    let claim = ["'noop'", "5"].map(str::to_owned);
    let why = |id: &str| vec![text(id), text("why")];
    let proposed = Uuid::now_v7();
    let proposal = yard.proposal(proposed, &[letters[2].parse().expect("an id")], 0);
    let signed = proposal.signatures.expect("signed").concat();
    let signed: String = signed.iter().map(|byte| format!("{byte:02x}")).collect();
    let seal = format!("array[decode('{signed}', 'hex')]");
    let calls: Vec<(&str, Vec<String>)> = vec![
        (
            "queue.fn_job_enqueue",
            vec![
                text(r#"[{"class": "noop", "kind": "t", "key": "new"}]"#),
                text("desk"),
                text("pic_human"),
            ],
        ),
        ("queue.fn_job_claim", [&claim[..], &worker].concat()),
        ("queue.fn_job_ack", [&worker[..], &results].concat()),
        ("queue.fn_job_turn", [&claim[..], &worker, &results].concat()),
        ("queue.fn_job_extend", [&worker[..], &lists].concat()),
        ("queue.fn_job_release", [&worker[..], &lists].concat()),
        ("queue.fn_job_cancel", [why(&queued), person.to_vec(), vec![key.clone()]].concat()),
        ("queue.fn_dlq_replay_withdraw", [why(&open), person.to_vec(), vec![key.clone()]].concat()),
        (
            "queue.fn_dlq_replay_preview",
            vec![text(&open), list(&letters[0], "uuid"), "0".to_owned()],
        ),
        (
            "queue.fn_dlq_replay",
            [
                vec![text(&batch.0.batch_id.to_string()), text(&batch.1.to_string())],
                person.to_vec(),
            ]
            .concat(),
        ),
        (
            "queue.fn_dlq_replay_propose",
            vec![
                text(&proposed.to_string()),
                list(&letters[2], "uuid"),
                text(&proposal.reason),
                "0".to_owned(),
                text("pic_human"),
                text("petra"),
                text(&yard.key("petra").to_string()),
                seal,
            ],
        ),
    ];
    let before = yard.db.fingerprint().await;
    let mut app = yard.db.connect(Role::App).await;
    let mut found = Vec::new();
    for (door, arguments) in calls {
        let whole = format!("select {door}({})", arguments.join(", "));
        assert_eq!(attempt(&mut app, &whole).await, None, "{whole}");
        for n in 0..arguments.len() {
            let mut arguments = arguments.clone();
            arguments[n] = "null".to_owned();
            let statement = format!("select {door}({})", arguments.join(", "));
            match attempt(&mut app, &statement).await {
                Some(state) if !state.starts_with('R') => {
                    found.push(format!("{door} without argument {}: {state}", n + 1));
                }
                _ => {}
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(before, yard.db.fingerprint().await, "everything was undone");
}

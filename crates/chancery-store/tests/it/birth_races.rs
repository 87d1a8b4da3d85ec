//! Crowds at the gate: permits are asked for, used, taken back and expired at once, by everybody for the same codes.
//!
//! `CHANCERY_TEST_PERMITS` says how many codes are fought over, `CHANCERY_TEST_SEED` repeats the choices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use chancery_model::refusal::Code;
use chancery_store::{Error, Role};
use chancery_testkit::{TestDb, repo_path, slice};
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use sqlx::Executor as _;
use sqlx::postgres::PgConnection;

use crate::birth_load::{assert_chained, assert_whole, protect};
use crate::session::{Isolation, Session};
use crate::support::codes;

const CLIENTS: usize = 64;
/// So many codes are fought over at a time: few enough that everybody meets everybody.
const WAVE: usize = 75;

/// A shop with one table under admission, whose permits live for half a second.
struct Shop {
    db: TestDb,
}

impl Shop {
    async fn open() -> Self {
        let db = TestDb::new().await;
        for machine in ["birth_permit", "governance_candidate", "finding"] {
            let path = repo_path(&format!("machines/{machine}.yaml"));
            db.machine(&std::fs::read_to_string(path).expect("a shipped machine")).await;
        }
        db.service("desk", &["executor_worker"]).await;
        db.service("chief", &["reviewer"]).await;
        let mut admin = db.superuser().await;
        // The clock runs fast, so that permits run out all the time.
        let fast = "create or replace function internal.now() returns timestamptz language sql as
           'select timestamptz ''2026-01-01'' + (clock_timestamp() - timestamptz ''2026-01-01'') * 50'";
        admin.execute(fast).await.expect("a clock");
        protect(&mut admin, 25).await;
        // Those who lock codes in any order are told so at once.
        let quick =
            format!("alter database {} set deadlock_timeout = '20ms'", db.target().database());
        admin.execute(sqlx::AssertSqlSafe(quick)).await.expect("a setting");
        let shop = Self { db };
        // Whoever wants the slot of this one gets no row.
        let mut desk = Session::open(&shop.db, Role::App).await;
        request(&mut desk.connection, &["item-0".to_owned()], "item").await.expect("a permit");
        let mut writer = Session::open(&shop.db, Role::BirthWriter).await;
        writer.run("insert into shop.item values ('item-0', 0)").await.expect("born");
        shop
    }
}

/// Asks for permits; answers how many were new.
async fn request(desk: &mut PgConnection, codes: &[String], name: &str) -> Result<i64, Error> {
    let asks: Vec<Value> = codes.iter().map(|code| json!({ "code": code, "name": name })).collect();
    let answer: Value = sqlx::query_scalar(
        "select birth.fn_birth_permit_request('shop.item', $1, 'desk', 'executor_worker')",
    )
    .bind(Value::Array(asks))
    .fetch_one(desk)
    .await?;
    Ok(answer["reserved"].as_i64().expect("a number"))
}

/// What came of everybody's turns, by a word each; and who was told that a code is born.
#[derive(Default)]
struct Tally {
    words: Mutex<BTreeMap<String, usize>>,
    born: Mutex<Vec<usize>>,
    left: AtomicUsize,
}

impl Tally {
    fn say(&self, word: impl Into<String>) {
        *self.words.lock().expect("nobody panicked").entry(word.into()).or_default() += 1;
    }

    fn born(&self, codes: &[usize]) {
        self.born.lock().expect("nobody panicked").extend(codes);
        self.left.fetch_sub(codes.len(), Ordering::SeqCst);
    }

    fn of(&self, word: &str) -> usize {
        self.words.lock().expect("nobody panicked").get(word).copied().unwrap_or_default()
    }
}

/// One of the crowd: a connection, dice, and the codes that everybody wants.
struct Client {
    session: Session,
    rng: StdRng,
    wave: std::ops::Range<usize>,
    tally: Arc<Tally>,
}

impl Client {
    fn some(&mut self, most: usize) -> Vec<usize> {
        let mut codes: Vec<usize> = self.wave.clone().collect();
        codes.shuffle(&mut self.rng);
        codes.truncate(most);
        codes
    }

    /// Reserves, alone or in batches, now and then with another intent.
    async fn ask(&mut self) {
        let most = if self.rng.gen_bool(0.3) { 6 } else { 1 };
        let asked: Vec<String> = self.some(most).iter().map(|n| format!("item-{n}")).collect();
        let name = if self.rng.gen_bool(0.1) { "another" } else { "item" };
        match request(&mut self.session.connection, &asked, name).await {
            Ok(0) => self.tally.say("asked again"),
            Ok(_) => self.tally.say("reserved"),
            Err(error) => {
                let code = error.refusal().map(|refusal| refusal.code);
                assert_eq!(code, Some(Code::RB009), "{error:?}");
                self.tally.say("another intent");
            }
        }
    }

    /// Takes back, or tells that it failed, whatever permit is live.
    async fn withdraw(&mut self) {
        let code = format!("item-{}", self.some(1)[0]);
        let permit: Option<uuid::Uuid> = sqlx::query_scalar(
            "select permit_id from birth.v_birth_admission_permit where entity_code = $1 and status = 'RESERVED'",
        )
        .bind(code)
        .fetch_optional(&mut self.session.connection)
        .await
        .expect("an answer");
        let Some(permit) = permit else { return };
        let door = if self.rng.gen_bool(0.5) {
            "select birth.fn_birth_permit_revoke($1, 'changed our mind', 'reviewer', 'chief', $1::text)"
        } else {
            "select birth.fn_birth_permit_fail($1, 'lost heart', 'desk', 'executor_worker')"
        };
        let answer =
            sqlx::query_scalar(door).bind(permit).fetch_one(&mut self.session.connection).await;
        match answer.map_err(Error::from) {
            Ok::<Value, _>(permit) => {
                self.tally.say(format!("withdrawn {}", permit["status"]));
            }
            // Used, expired or taken back by another in between.
            Err(error) => {
                let code = error.refusal().map(|refusal| refusal.code);
                assert_eq!(code, Some(Code::RS004), "{error:?}");
                self.tally.say("withdrawn too late");
            }
        }
    }

    async fn watch(&mut self) {
        let report: Value = sqlx::query_scalar("select birth.fn_permit_watchdog(50, 'chancery')")
            .fetch_one(&mut self.session.connection)
            .await
            .expect("no deadlock, no error");
        if report["expired"] != 0 {
            self.tally.say("expired");
        }
    }

    /// Inserts by hand, in all the ways in which an insert can end.
    async fn insert(&mut self) {
        let codes = self.some(3);
        let one = codes[0];
        let row = |n: usize| format!("insert into shop.item values ('item-{n}', {n})");
        let isolation = Isolation::ALL[self.rng.gen_range(0..3)];
        let (statements, born): (Vec<String>, &[usize]) = match self.rng.gen_range(0..12) {
            0 => (vec![row(one), format!("delete from shop.item where code = 'item-{one}'")], &[]),
            // No row: somebody has the slot.
            1 => (
                vec![format!(
                    "insert into shop.item values ('item-{one}', 0) on conflict do nothing"
                )],
                &[],
            ),
            2 => (
                vec![format!(
                    "insert into shop.item select 'item-' || n, n from unnest(array{codes:?}) n"
                )],
                &codes,
            ),
            3 => (
                vec![row(one), "savepoint s".to_owned(), row(codes[1]), "rollback to s".to_owned()],
                &codes[..1],
            ),
            4 => (vec![row(one), "rollback; begin".to_owned()], &[]),
            _ => (vec![row(one)], &codes[..1]),
        };
        self.session.begin(isolation).await;
        let mut done = Ok(());
        for statement in &statements {
            done = raw(&mut self.session.connection, statement).await;
            if done.is_err() {
                break;
            }
        }
        if done.is_ok() {
            done = raw(&mut self.session.connection, "commit").await;
        }
        match done {
            Ok(()) => {
                self.tally.born(born);
                self.tally.say(if born.is_empty() { "nothing born" } else { "born" });
            }
            Err(state) => {
                let expected = match state.as_str() {
                    "RB001" | "23505" => true,
                    "RB005" => statements.len() == 2,
                    "40001" => isolation != Isolation::ReadCommitted,
                    "40P01" => statements.len() > 1 || born.len() > 1,
                    _ => false,
                };
                assert!(expected, "{state} from {statements:?}");
                self.tally.say(state);
                self.session.rollback().await;
            }
        }
    }
}

/// A statement as it is, and the SQLSTATE of its end.
async fn raw(connection: &mut PgConnection, statement: &str) -> Result<(), String> {
    match connection.execute(sqlx::AssertSqlSafe(statement.to_owned())).await {
        Ok(_) => Ok(()),
        Err(error) => {
            let refused = error.as_database_error().unwrap_or_else(|| panic!("{error}"));
            if refused.code().as_deref() == Some("23505") {
                let by = refused.constraint();
                assert_eq!(by, Some("item_pkey"), "only the row itself is there twice: {error}");
            }
            Err(refused.code().expect("a code").into_owned())
        }
    }
}

/// ADM-3, ADM-4: 64 clients ask for, use, revoke, fail and expire the same permits, in every isolation level, until every code is
/// born. Whoever was told that it is born is the only one; nothing else is.
#[expect(clippy::print_stdout, reason = "a run tells what it went through")]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_birth_without_its_permit_and_no_permit_without_its_birth() {
    let permits = slice::amount("CHANCERY_TEST_PERMITS", 150);
    let seed = slice::seed(6);
    let shop = Shop::open().await;
    let mut admin = shop.db.superuser().await;
    let mut crowd = Vec::new();
    for n in 0..CLIENTS {
        let role = if n % 2 == 0 { Role::BirthWriter } else { Role::App };
        crowd.push(Session::open(&shop.db, role).await);
    }
    let tally = Arc::new(Tally::default());
    for first in (1..=permits).step_by(WAVE) {
        let wave = first..(first + WAVE).min(permits + 1);
        tally.left.store(wave.len(), Ordering::SeqCst);
        let mut tasks = Vec::new();
        for (n, session) in crowd.into_iter().enumerate() {
            let rng = StdRng::seed_from_u64(seed ^ ((first as u64) << 32) ^ ((n as u64) << 16));
            let mut client = Client { session, rng, wave: wave.clone(), tally: tally.clone() };
            tasks.push(tokio::spawn(async move {
                while client.tally.left.load(Ordering::SeqCst) > 0 {
                    match n {
                        1 | 3 => client.watch().await,
                        5 | 7 | 9 | 11 => client.withdraw().await,
                        _ if n % 2 == 1 => client.ask().await,
                        _ => client.insert().await,
                    }
                }
                client.session
            }));
        }
        crowd = Vec::new();
        for task in tasks {
            crowd.push(task.await.expect("nobody met anything unexpected"));
        }
        assert_whole(&mut admin).await;
        assert_chained(&shop.db.store(Role::Auditor)).await;
    }
    println!("{permits} permits, seed {seed}: {:?}", tally.words.lock().expect("nobody panicked"));
    let told = tally.born.lock().expect("nobody panicked").clone();
    assert_eq!(told.len(), permits, "each birth was told to one");
    assert_eq!(BTreeSet::from_iter(told), (1..=permits).collect());
    let rows = usize::try_from(shop.db.count("shop.item").await).expect("a few");
    assert_eq!(rows, permits + 1, "and every code is born");
    for word in [
        "another intent",
        "withdrawn \"REVOKED\"",
        "withdrawn \"FAILED\"",
        "expired",
        "nothing born",
        "RB001",
        "RB005",
        "23505",
    ] {
        assert!(tally.of(word) > 0, "the race had no {word}");
    }
    for status in ["FINALIZED", "FAILED", "EXPIRED", "REVOKED"] {
        let permits = format!("birth.birth_admission_permit where status = '{status}'");
        assert!(shop.db.count(&permits).await > 0, "no permit is {status}");
    }
}

/// ADM-3: an id that a permit has, live or over, is no id for another one: the request is refused at once and changes nothing.
#[tokio::test]
async fn the_id_of_a_permit_is_used_once() {
    let shop = Shop::open().await;
    let mut desk = Session::open(&shop.db, Role::App).await;
    let id = uuid::Uuid::now_v7();
    let ask = |code: &str| {
        format!(
            "select birth.fn_birth_permit_request('shop.item', '[{{\"code\": \"{code}\", \"permit_id\": \"{id}\"}}]', 'desk', 'executor_worker')"
        )
    };
    desk.run(&ask("item-1")).await.expect("a permit");
    let before = shop.db.fingerprint().await;
    desk.run(&ask("item-1")).await.expect("the same again");
    assert_eq!(codes(desk.run(&ask("item-2")).await), [Code::RS023]);
    assert_eq!(shop.db.fingerprint().await, before);
    desk.run(&format!(
        "select birth.fn_birth_permit_fail('{id}', 'lost heart', 'desk', 'executor_worker')"
    ))
    .await
    .expect("failed");
    assert_eq!(codes(desk.run(&ask("item-1")).await), [Code::RS023]);
}

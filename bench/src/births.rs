//! A thousand rows that are admitted (one request, one insert, one commit) against the same rows written set-based by hand: the row,
//! its permit, three log rows with their hashes, the birth, three events.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use chancery_bench::{Server, say, tell};
use chancery_engine::registry;
use chancery_store::{Role, Store, Target};
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

/// How much is done.
#[derive(Debug, Clone, Copy)]
struct Amount {
    /// Rows of one request.
    rows: usize,
    /// Admissions of one row each in a round.
    singles: usize,
    /// Rounds that settle plans and statistics; nobody counts them.
    warm_up: usize,
}

/// PostgreSQL settles on a plan after five rounds.
const FULL: Amount = Amount { rows: 1_000, singles: 100, warm_up: 6 };
const QUICK: Amount = Amount { rows: 50, singles: 5, warm_up: 1 };
/// The tables are filled to so many requests' births before each of the later rounds.
const GROWTH: [usize; 2] = [10, 100];

/// The permit, the log, the birth and the events of codes and titles in a collection.
pub(crate) const BY_HAND: &str = include_str!("../sql/births_by_hand.sql");
/// Where they go.
pub(crate) const LIMIT: &str = include_str!("../sql/births_limit.sql");
const REQUEST: &str =
    "select birth.fn_birth_permit_request('shop.film', $1, 'bench', 'executor_worker')";
const INSERT: &str = "insert into shop.film (code, title, minutes)
  select u.code, u.title, 90 from unnest($1::text[], $2::text[]) u (code, title)";
const FILM: &str = "insert into bench.film (code, title, minutes)
  select u.code, u.title, 90 from unnest($1::text[], $2::text[]) u (code, title)";
const BARE: &str = "insert into bench.bare_film (code, title, minutes)
  select u.code, u.title, 90 from unnest($1::text[], $2::text[]) u (code, title)";

/// What the same rows took in three ways, by the row.
#[derive(Debug, Clone, Copy)]
struct Round {
    reserve: Duration,
    insert: Duration,
    commit: Duration,
    by_hand: Duration,
    bare: Duration,
}

impl Round {
    fn admitted(&self) -> f64 {
        micros(self.reserve + self.insert + self.commit)
    }

    fn ratio(&self) -> f64 {
        self.admitted() / micros(self.by_hand)
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// All three in turn, `rounds` times, with few births in the tables, with ten and with a hundred times as many; and one row at a time.
pub(crate) async fn measure(server: &Server, rounds: usize, quick: bool) -> Result<Value> {
    let amount = if quick { QUICK } else { FULL };
    let rows = amount.rows;
    let target = server.target("bench_births")?;
    let mut shop = Shop::open(&target, amount).await?;
    tell(&format!(
        "{:>8} {:>6} | {:>8} {:>8} {:>8} {:>8} | {:>8} {:>6} | {:>8}",
        "births", "rows", "reserve", "insert", "commit", "admitted", "by hand", "ratio", "to bare"
    ));
    let mut figures = Vec::new();
    for times in [0].into_iter().chain(GROWTH) {
        shop.fill(times * rows).await?;
        figures.push(shop.rounds(rounds, rows).await?);
    }
    figures.push(shop.rounds(rounds, 1).await?);
    tell("microseconds a row");
    tell(&format!(
        "{rows} admitted rows / by hand: {:.2} × (asked: at most 3)",
        figures[0]["ratio"].as_f64().context("a ratio")?
    ));
    for figure in figures.iter().filter(|figure| figure["rows"] == rows).skip(1) {
        let growth = figure["admitted_us"].as_f64().context("a time")?
            / figures[0]["admitted_us"].as_f64().context("a time")?;
        tell(&format!("cost with {} births in the tables: {growth:.2} ×", figure["births_before"]));
    }
    shop.close().await?;
    Ok(json!({ "what": "births", "rows": rows, "figures": figures }))
}

/// A table under admission, and the two logins that an admission needs.
struct Shop {
    target: Target,
    amount: Amount,
    desk: PgConnection,
    writer: PgConnection,
    born: usize,
}

impl Shop {
    async fn open(target: &Target, amount: Amount) -> Result<Self> {
        target.migrate().await?;
        let operator = Store::open(target, Role::Migrator)?;
        registry::install_product_machines(&operator, "bench").await?;
        let classes = ["executor_worker".to_owned()];
        operator.fn_principal_add("bench", "service", &classes, None).await?;
        operator.close().await;
        let mut owner: PgConnection = target.admin_options().connect().await?;
        sqlx::raw_sql(include_str!("../sql/films.sql")).execute(&mut owner).await?;
        sqlx::raw_sql(LIMIT).execute(&mut owner).await?;
        let policy: Value = sqlx::query_scalar(
            "select birth.fn_family_put('shop.film'::regclass, 'code', 'title', '^[a-z0-9-]+$', 3600, now(), false, 'governed', 'chancery')",
        )
        .fetch_one(&mut owner)
        .await?;
        for list in ["statements", "grants"] {
            for statement in policy[list].as_array().context("statements")? {
                let statement = statement.as_str().context("a statement")?.to_owned();
                sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut owner).await?;
            }
        }
        owner.close().await?;
        let desk = target.options(Role::App)?.connect().await?;
        let writer = target.options(Role::BirthWriter)?.connect().await?;
        Ok(Self { target: target.clone(), amount, desk, writer, born: 0 })
    }

    async fn close(self) -> Result<()> {
        self.desk.close().await?;
        self.writer.close().await?;
        Ok(())
    }

    /// Rounds of `rows` rows each; the figures are those of the median ratio.
    async fn rounds(&mut self, rounds: usize, rows: usize) -> Result<Value> {
        let births = self.born;
        let mut measured = Vec::new();
        let warm_up = self.amount.warm_up;
        for round in 0..rounds + warm_up {
            let taken = if rows == 1 { self.singles().await? } else { self.once(rows).await? };
            if round >= warm_up {
                measured.push(taken);
            }
        }
        self.analyze().await?;
        measured.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
        let median = measured[measured.len() / 2];
        tell(&format!(
            "{births:>8} {rows:>6} | {:>8.1} {:>8.1} {:>8.1} {:>8.1} | {:>8.1} {:>6.2} | {:>8.1}",
            micros(median.reserve),
            micros(median.insert),
            micros(median.commit),
            median.admitted(),
            micros(median.by_hand),
            median.ratio(),
            median.admitted() / micros(median.bare),
        ));
        Ok(json!({
            "births_before": births, "rows": rows, "reserve_us": micros(median.reserve), "insert_us": micros(median.insert),
            "commit_us": micros(median.commit), "admitted_us": median.admitted(), "by_hand_us": micros(median.by_hand),
            "bare_us": micros(median.bare), "ratio": median.ratio(), "ratios": measured.iter().map(Round::ratio).collect::<Vec<f64>>(),
            "ratio_to_bare": median.admitted() / micros(median.bare),
        }))
    }

    /// One batch in each way.
    async fn once(&mut self, rows: usize) -> Result<Round> {
        let (codes, titles, asks) = self.batch(rows);
        let by_hand = self.by_hand(&codes, &titles).await?;
        let bare = self.bare(&codes, &titles).await?;
        let begun = Instant::now();
        let report: Value =
            sqlx::query_scalar(REQUEST).bind(asks).fetch_one(&mut self.desk).await?;
        let reserve = begun.elapsed();
        ensure!(report["reserved"] == rows, "so many were reserved: {}", report["reserved"]);
        let begun = Instant::now();
        let mut transaction = self.writer.begin().await?;
        let inserted =
            sqlx::query(INSERT).bind(&codes).bind(&titles).execute(&mut *transaction).await?;
        ensure!(inserted.rows_affected() == rows as u64, "some were not inserted");
        let insert = begun.elapsed();
        transaction.commit().await?;
        let commit = begun.elapsed() - insert;
        let share = u32::try_from(rows)?;
        Ok(Round {
            reserve: reserve / share,
            insert: insert / share,
            commit: commit / share,
            by_hand: by_hand / share,
            bare: bare / share,
        })
    }

    /// Some rows one by one, each in transactions of its own.
    async fn singles(&mut self) -> Result<Round> {
        let mut sum = self.once(1).await?;
        for _ in 1..self.amount.singles {
            let one = self.once(1).await?;
            sum.reserve += one.reserve;
            sum.insert += one.insert;
            sum.commit += one.commit;
            sum.by_hand += one.by_hand;
            sum.bare += one.bare;
        }
        let share = u32::try_from(self.amount.singles)?;
        Ok(Round {
            reserve: sum.reserve / share,
            insert: sum.insert / share,
            commit: sum.commit / share,
            by_hand: sum.by_hand / share,
            bare: sum.bare / share,
        })
    }

    async fn by_hand(&mut self, codes: &[String], titles: &[String]) -> Result<Duration> {
        let begun = Instant::now();
        let mut transaction = self.writer.begin().await?;
        let films = sqlx::query(FILM).bind(codes).bind(titles).execute(&mut *transaction).await?;
        let events = sqlx::query(BY_HAND)
            .bind(codes)
            .bind(titles)
            .bind("shop.film")
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        let taken = begun.elapsed();
        let rows = codes.len() as u64;
        ensure!(
            films.rows_affected() == rows && events.rows_affected() == 3 * rows,
            "some were not written"
        );
        Ok(taken)
    }

    async fn bare(&mut self, codes: &[String], titles: &[String]) -> Result<Duration> {
        let begun = Instant::now();
        sqlx::query(BARE).bind(codes).bind(titles).execute(&mut self.writer).await?;
        Ok(begun.elapsed())
    }

    /// Codes that nobody has, their titles, and the request for them.
    fn batch(&mut self, rows: usize) -> (Vec<String>, Vec<String>, Value) {
        let range = self.born..self.born + rows;
        self.born = range.end;
        let codes: Vec<String> = range.clone().map(|n| format!("film-{n:08}")).collect();
        let titles: Vec<String> = range.map(|n| format!("The film of number {n}")).collect();
        let asks: Vec<Value> = codes
            .iter()
            .zip(&titles)
            .map(|(code, title)| json!({ "code": code, "name": title }))
            .collect();
        (codes, titles, Value::Array(asks))
    }

    /// Both ways, until there are so many births on either side.
    async fn fill(&mut self, births: usize) -> Result<()> {
        if births > self.born {
            say(&format!("filling up to {births} births"));
        }
        while self.born < births {
            self.once((births - self.born).min(5 * self.amount.rows)).await?;
        }
        self.analyze().await
    }

    async fn analyze(&self) -> Result<()> {
        let mut admin: PgConnection = self.target.admin_options().connect().await?;
        sqlx::raw_sql("vacuum analyze").execute(&mut admin).await?;
        admin.close().await?;
        Ok(())
    }
}

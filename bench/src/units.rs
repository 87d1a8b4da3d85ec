//! Ten thousand units in one transaction as a cut writes them, with permits and gates and all, against the same rows set-based by hand.

use std::time::Instant;

use anyhow::{Result, ensure};
use chancery_bench::{Server, tell};
use chancery_engine::registry;
use chancery_store::{Role, Store};
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions as _, Connection as _};
use uuid::Uuid;

use crate::births;

const UNITS: usize = 10_000;
/// When it is to be seen that everything runs, and nothing is measured.
const FEW: usize = 100;

/// Both ways in turn, `rounds` times; gives the figures of the median pair.
pub(crate) async fn measure(server: &Server, rounds: usize, quick: bool) -> Result<Value> {
    let units = if quick { FEW } else { UNITS };
    let target = server.target("bench_units")?;
    target.migrate().await?;
    let operator = Store::open(&target, Role::Migrator)?;
    // A unit is born by a permit.
    registry::install_product_machines(&operator, "bench").await?;
    operator.fn_principal_add("bench", "service", &["executor_dot991".to_owned()], None).await?;
    operator.close().await;
    let mut admin: PgConnection = target.admin_options().connect().await?;
    sqlx::raw_sql(include_str!("../sql/units_limit.sql")).execute(&mut admin).await?;
    sqlx::raw_sql(births::LIMIT).execute(&mut admin).await?;
    admin.close().await?;

    let mut rounds_taken = Vec::new();
    let mut executor: PgConnection = target.options(Role::CutterExec)?.connect().await?;
    for round in 0..=rounds {
        let text = Text::of(&format!("B{round}X"), units);
        let (alone, by_hand) = by_hand(&mut executor, &text).await?;
        let by_door = by_door(&mut executor, &text).await?;
        // The first round settles plans and statistics; nobody counts it.
        if round > 0 {
            rounds_taken.push((alone, by_hand, by_door));
        }
        let mut admin: PgConnection = target.admin_options().connect().await?;
        sqlx::raw_sql("analyze").execute(&mut admin).await?;
        admin.close().await?;
    }
    executor.close().await?;
    rounds_taken.sort_by(|a, b| (a.2 / a.1).total_cmp(&(b.2 / b.1)));
    let (alone, by_hand, by_door) = rounds_taken[rounds_taken.len() / 2];
    tell(&format!(
        "{units} units in one transaction: by hand {by_hand:.2} s, through permits and fn_iu_create {by_door:.2} s: {:.1} × (asked: at most 6); \
         by hand without their births {alone:.2} s: {:.1} ×",
        by_door / by_hand,
        by_door / alone
    ));
    Ok(json!({
        "units": units, "by_hand_seconds": by_hand, "by_hand_without_births_seconds": alone, "by_door_seconds": by_door, "times": by_door / by_hand,
        "all_times": rounds_taken.iter().map(|taken| taken.2 / taken.1).collect::<Vec<f64>>(),
    }))
}

/// What is cut, the same on both sides.
struct Text {
    prefix: String,
    titles: Vec<String>,
    bodies: Vec<String>,
    addresses: Vec<String>,
    ids: Vec<Uuid>,
}

impl Text {
    fn of(prefix: &str, units: usize) -> Self {
        let body = |n: usize| {
            format!("# Heading {n}\n\n{}\n\n", "What a clause says, at some length. ".repeat(14))
        };
        Self {
            prefix: prefix.to_owned(),
            titles: (0..units).map(|n| format!("Heading {n}")).collect(),
            bodies: (0..units).map(body).collect(),
            addresses: (1..=units).map(|n| format!("{prefix}/h{n}")).collect(),
            ids: (0..units).map(|_| Uuid::now_v7()).collect(),
        }
    }
}

/// The rows of the units, and then those of their births. Gives the seconds until the first are written, and all of them.
async fn by_hand(executor: &mut PgConnection, text: &Text) -> Result<(f64, f64)> {
    let codes: Vec<String> = text.ids.iter().map(Uuid::to_string).collect();
    let begun = Instant::now();
    let mut transaction = executor.begin().await?;
    let written = sqlx::query(include_str!("../sql/units_by_hand.sql"))
        .bind(&text.prefix)
        .bind(&text.titles)
        .bind(&text.bodies)
        .bind(&text.ids)
        .execute(&mut *transaction)
        .await?
        .rows_affected();
    let units = text.ids.len();
    ensure!(written == units as u64, "by hand {written} units were written");
    let alone = begun.elapsed().as_secs_f64();
    let born = sqlx::query(births::BY_HAND)
        .bind(&codes)
        .bind(&text.addresses)
        .bind("iu.information_unit")
        .execute(&mut *transaction)
        .await?
        .rows_affected();
    ensure!(born == 3 * units as u64, "by hand {born} events were written");
    transaction.commit().await?;
    Ok((alone, begun.elapsed().as_secs_f64()))
}

async fn by_door(executor: &mut PgConnection, text: &Text) -> Result<f64> {
    let begun = Instant::now();
    let mut transaction = executor.begin().await?;
    let made: i64 = sqlx::query_scalar("select bench.cut_units($1, $2, $3, $4)")
        .bind(&text.prefix)
        .bind(&text.titles)
        .bind(&text.bodies)
        .bind(&text.ids)
        .fetch_one(&mut *transaction)
        .await?;
    ensure!(made == text.ids.len() as i64, "the door made {made} units");
    transaction.commit().await?;
    Ok(begun.elapsed().as_secs_f64())
}

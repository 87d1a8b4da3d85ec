//! Ten thousand units in one transaction as a cut writes them, with permits and gates and all, against the rows of the units set-based by
//! hand.

use std::time::Instant;

use anyhow::{Result, ensure};
use chancery_bench::{Server, tell};
use chancery_engine::registry;
use chancery_store::{Role, Store};
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions as _, Connection as _};

const UNITS: usize = 10_000;

/// Both ways in turn, `rounds` times; gives the figures of the median pair.
pub(crate) async fn measure(server: &Server, rounds: usize) -> Result<Value> {
    let target = server.target("bench_units")?;
    target.migrate().await?;
    let operator = Store::open(&target, Role::Migrator)?;
    // A unit is born by a permit.
    registry::install_product_machines(&operator, "bench").await?;
    operator.fn_principal_add("bench", "service", &["executor_dot991".to_owned()], None).await?;
    operator.close().await;
    let mut admin: PgConnection = target.admin_options().connect().await?;
    sqlx::raw_sql(include_str!("../sql/units_limit.sql")).execute(&mut admin).await?;
    admin.close().await?;

    let titles: Vec<String> = (0..UNITS).map(|n| format!("Heading {n}")).collect();
    let bodies: Vec<String> = (0..UNITS)
        .map(|n| {
            format!("# Heading {n}\n\n{}\n\n", "What a clause says, at some length. ".repeat(14))
        })
        .collect();
    let mut executor: PgConnection = target.options(Role::CutterExec)?.connect().await?;
    let mut pairs = Vec::new();
    for round in 0..=rounds {
        let prefix = format!("B{round}X");
        let by_hand = write(&mut executor, BY_HAND, &prefix, &titles, &bodies).await?;
        let by_door = write(&mut executor, BY_DOOR, &prefix, &titles, &bodies).await?;
        // The first round settles plans and statistics; nobody counts it.
        if round > 0 {
            pairs.push((by_hand, by_door));
        }
        let mut admin: PgConnection = target.admin_options().connect().await?;
        sqlx::raw_sql("analyze").execute(&mut admin).await?;
        admin.close().await?;
    }
    executor.close().await?;
    pairs.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let (by_hand, by_door) = pairs[pairs.len() / 2];
    tell(&format!(
        "{UNITS} units in one transaction: by hand {by_hand:.2} s, through permits and fn_iu_create {by_door:.2} s: {:.1} × (asked: at most 6)",
        by_door / by_hand
    ));
    Ok(json!({
        "units": UNITS, "by_hand_seconds": by_hand, "by_door_seconds": by_door, "times": by_door / by_hand,
        "all_times": pairs.iter().map(|pair| pair.1 / pair.0).collect::<Vec<f64>>(),
    }))
}

const BY_HAND: &str = include_str!("../sql/units_by_hand.sql");
const BY_DOOR: &str = "select bench.cut_units($1, $2, $3)";

async fn write(
    executor: &mut PgConnection,
    statement: &'static str,
    prefix: &str,
    titles: &[String],
    bodies: &[String],
) -> Result<f64> {
    let begun = Instant::now();
    let mut transaction = executor.begin().await?;
    let query = sqlx::query(statement).bind(prefix).bind(titles).bind(bodies);
    if statement == BY_HAND {
        let written = query.execute(&mut *transaction).await?.rows_affected();
        ensure!(written == UNITS as u64, "by hand {written} units were written");
    } else {
        let row = query.fetch_one(&mut *transaction).await?;
        let written: i64 = sqlx::Row::try_get(&row, 0)?;
        ensure!(written == UNITS as i64, "the door made {written} units");
    }
    transaction.commit().await?;
    Ok(begun.elapsed().as_secs_f64())
}

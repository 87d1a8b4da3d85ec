//! UIG-7, UIG-8, AUD: what happened across the rooms, by trace, entity or window, as each reader may see it. There is no tail of everything.

use std::collections::BTreeSet;

use chancery_model::refusal::Code::{RE042, RE043, RI001};
use chancery_store::Store;
use chancery_store::governance::{Asked, TimelineRow};
use chancery_store::queue::JobOutcome;
use serde_json::json;

use crate::flow_world::{Flow, single};
use crate::queue_world::result;
use crate::support::{check, codes, draft, letters};

/// Every row, so many at a time.
async fn pages(store: &Store, reader: &str, asked: &Asked<'_>, limit: i32) -> Vec<TimelineRow> {
    let mut rows = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = store.fn_timeline(reader, asked, after.as_deref(), Some(limit)).await;
        let page = page.expect("a page");
        assert!(page.items.len() <= usize::try_from(limit).expect("small"));
        rows.extend(page.items);
        after = page.next;
        if after.is_none() {
            return rows;
        }
    }
}

/// UIG-7: one trace through workflow, step and job, in the order of time; the same in pages of any size; for each reader what is theirs.
#[tokio::test]
async fn a_trace_is_followed_across_the_rooms() {
    let (flow, run) = Flow::with(single("made", json!({ "executor": "noop" }))).await;
    flow.later(1000).await;
    let leased = flow.working().await;
    flow.later(1000).await;
    let dies = result(&leased, JobOutcome::FailedForGood, json!({ "reason": "no such file" }));
    assert_eq!(flow.ack(&[dies]).await.accepted, 1);
    flow.later(1000).await;
    flow.turn().await;
    // Another run, which is none of this trace's business.
    flow.start("made", json!({})).await;

    let trace = flow
        .db
        .text(&format!(
            "select trace_id from workflow.workflow_run where workflow_run_id = '{run}'"
        ))
        .await;
    let asked = Asked { trace: Some(&trace), ..Asked::default() };
    let whole = pages(&flow.store, "guest", &asked, 1000).await;
    let kinds: BTreeSet<&str> = whole.iter().map(|row| row.entity_kind.as_str()).collect();
    assert!(kinds.is_superset(&BTreeSet::from(["workflow_run", "step", "job"])), "{kinds:?}");
    assert!(whole.iter().all(|row| row.trace_id.as_deref() == Some(trace.as_str())));
    assert!(whole.is_sorted_by_key(|row| (row.at.clone(), row.key.clone())), "{whole:?}");
    let dead = whole.iter().find(|row| row.to.as_deref() == Some("dead_letter"));
    let dead = dead.expect("the death of the job");
    assert_eq!(dead.event_type.as_deref(), Some("job.dead_lettered"));
    assert!(dead.event_id.is_some());
    // Nothing of the trace is left out.
    let logged = flow
        .number(&format!(
            "select count(*) from fsm.transition_log l where l.run_id in (
               select '{run}'::uuid union all select step_run_id from workflow.step_run where workflow_run_id = '{run}'
               union all select job_id from queue.job_queue where trace_id = '{trace}')"
        ))
        .await;
    assert_eq!(i64::try_from(whole.len()), Ok(logged));
    for limit in [1, 2, 3] {
        assert_eq!(pages(&flow.store, "guest", &asked, limit).await, whole, "{limit} at a time");
    }
    // The desk began the run, and its steps are part of it; the hall did nothing that is logged under its name but its own claim.
    let of_desk = pages(&flow.store, "desk", &asked, 1000).await;
    assert!(of_desk.iter().all(|row| row.entity_kind != "job" || row.principal == "desk"));
    assert!(of_desk.iter().any(|row| row.entity_kind == "step" && row.principal != "desk"));
    let of_hall = pages(&flow.store, "hall", &asked, 1000).await;
    assert!(
        !of_hall.is_empty() && of_hall.iter().all(|row| row.principal == "hall"),
        "{of_hall:?}"
    );
    assert_eq!(pages(&flow.store, "tess", &asked, 1000).await, []);

    // By entity: one run of it.
    let id = leased.job_id.to_string();
    let asked = Asked { entity: Some(("job", &id)), ..Asked::default() };
    let rows = pages(&flow.store, "guest", &asked, 1000).await;
    assert!(!rows.is_empty() && rows.iter().all(|row| row.entity_id == id), "{rows:?}");
    // Known by a text, and of a trace that has no such run.
    let asked = Asked { entity: Some(("principal", "desk")), ..Asked::default() };
    let rows = pages(&flow.store, "guest", &asked, 1).await;
    assert_eq!(rows.first().and_then(|row| row.to.as_deref()), Some("principal_added"));
    assert!(rows.iter().all(|row| row.entity_id == "desk" && row.source == "identity"));
    let asked =
        Asked { trace: Some(&trace), entity: Some(("principal", "desk")), ..Asked::default() };
    assert_eq!(pages(&flow.store, "guest", &asked, 10).await, []);
}

/// UIG-7: a call that nothing bounds is refused, whoever asks.
#[tokio::test]
async fn there_is_no_tail_of_everything() {
    let (_db, store) = letters().await;
    draft(&store).await;
    let day = 86_400_000_000;
    for asked in [
        Asked::default(),
        Asked { from_micros: Some(0), ..Asked::default() },
        Asked { to_micros: Some(0), ..Asked::default() },
        Asked { from_micros: Some(0), to_micros: Some(31 * day + 1), ..Asked::default() },
        Asked { from_micros: Some(day), to_micros: Some(0), ..Asked::default() },
        Asked { trace: Some("everything"), ..Asked::default() },
        Asked { entity: Some((" ", "x")), ..Asked::default() },
    ] {
        assert_eq!(
            codes(store.fn_timeline("chancery", &asked, None, None).await),
            [RE042],
            "{asked:?}"
        );
    }
    let window = Asked { from_micros: Some(0), to_micros: Some(31 * day), ..Asked::default() };
    assert_eq!(store.fn_timeline("chancery", &window, None, None).await.expect("a page").items, []);
    for cursor in ["", "%", "W10", "WyJhIiwiYiJd"] {
        let page = store.fn_timeline("chancery", &window, Some(cursor), None).await;
        assert_eq!(codes(page), [RE043], "{cursor:?}");
    }
    for limit in [0, 1001] {
        let page = store.fn_timeline("chancery", &window, None, Some(limit)).await;
        assert_eq!(codes(page), [RE043], "{limit}");
    }
    assert_eq!(codes(store.fn_timeline("nobody", &window, None, None).await), [RI001]);
}

/// UIG-7: pages of a window while others write: whatever was there when the first page was read comes, and nothing comes twice.
#[tokio::test]
async fn pages_lose_nothing_while_others_write() {
    let (db, store) = letters().await;
    for _ in 0..60 {
        let run = draft(&store).await;
        store.fn_state_transition_apply(&check(run)).await.expect("checked");
    }
    let there: BTreeSet<String> = db
        .texts("select entry_key from audit.vw_audit_event_timeline")
        .await
        .into_iter()
        .flatten()
        .collect();
    assert!(there.len() > 120);
    let now: i64 =
        db.text("select internal.micros(clock_timestamp())::text").await.parse().expect("a time");
    let hour = 3_600_000_000;
    let window = Asked {
        from_micros: Some(now - 100 * hour),
        to_micros: Some(now + 2 * hour),
        ..Asked::default()
    };
    let writer = async {
        for _ in 0..60 {
            let run = draft(&store).await;
            store.fn_state_transition_apply(&check(run)).await.expect("checked");
        }
    };
    let (rows, ()) = tokio::join!(pages(&store, "chancery", &window, 7), writer);
    let keys: Vec<&str> = rows.iter().map(|row| row.key.as_str()).collect();
    let once: BTreeSet<&str> = keys.iter().copied().collect();
    assert_eq!(once.len(), keys.len(), "nothing twice");
    let lost: Vec<&String> = there.iter().filter(|key| !once.contains(key.as_str())).collect();
    assert_eq!(lost, Vec::<&String>::new(), "nothing lost");
    assert!(rows.is_sorted_by_key(|row| row.at.clone()));
    // And the whole of it once more, when nobody writes: in one page and in many.
    let many = pages(&store, "chancery", &window, 11).await;
    assert_eq!(many, pages(&store, "chancery", &window, 1000).await);
    assert!(many.len() > rows.len() || many == rows);
}

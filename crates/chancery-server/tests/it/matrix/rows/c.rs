//! Jobs, leases, dead letters, replays, births, figures.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Part, Row, SAID, row};
use crate::matrix::world::{Who, World};

pub(super) fn rows() -> Vec<Row> {
    [leases(), queue(), births()].into_iter().flatten().collect()
}

fn worker(_: &World) -> Value {
    json!({ "worker": "m1" })
}

fn no_leases(_: &World) -> Value {
    json!({ "worker": "m1", "leases": [] })
}

/// A lease that nobody has.
fn lost(_: &World) -> Value {
    json!({ "worker": "m1", "job_id": Uuid::now_v7(), "lease_no": 1 })
}

/// The class `system` has the permission to enqueue; the doors give work to workers alone.
fn work(who: &Who) -> &'static [u16] {
    if who.name == "system" { &[403] } else { &[200] }
}

fn no_lease(who: &Who) -> &'static [u16] {
    if who.name == "system" { &[403] } else { &[404] }
}

fn leases() -> Vec<Row> {
    vec![
        row("claim_jobs")
            .part("class", Part::Fixed("noop"))
            .body(worker)
            .missing(&[403, 404])
            .told(work),
        row("turn_jobs")
            .body(|_| json!({ "class": "noop", "worker": "m1", "results": [] }))
            .told(work),
        row("report_jobs").body(|_| json!({ "worker": "m1", "results": [] })).told(work),
        row("extend_leases").body(no_leases).told(work),
        row("release_leases").body(no_leases).told(work),
        row("worker_heartbeat")
            .part("class", Part::Fixed("noop"))
            .body(worker)
            .missing(&[403, 404])
            .told(work),
        row("enqueue_jobs")
            .body(|_| json!({ "jobs": [{ "class": "noop", "kind": "trial", "key": "matrix" }] }))
            .there(&[200, 201]),
        row("begin_work").body(lost).told(no_lease),
        row("report_work")
            .body(|world| {
                let mut body = lost(world);
                body["call"] = json!("step_complete");
                body
            })
            .told(no_lease),
        row("issue_callback").body(lost).told(no_lease),
        // Whoever has the token may, and nobody has one.
        row("call_back").part("token", Part::Fixed("nobodys")).free().there(&[404]),
    ]
}

fn queue() -> Vec<Row> {
    let dead = |route| row(route).id("job", "job", "dead");
    // It takes an approval to make one.
    let batch = |route| row(route).id("batch", "bat", "");
    // No worker of this class ever ticked, so nothing changes.
    let workers = |route| {
        row(route)
            .part("class", Part::Fixed("nobodys"))
            .there(&[403, 404, 409, 422])
            .missing(&[403, 404, 409, 422])
    };
    let reason = |_: &World| json!({ "reason": "a look" });
    vec![
        row("show_queue"),
        row("show_job").id("job", "job", "job"),
        row("list_dead_letters"),
        dead("show_dead_letter"),
        dead("dismiss_dead_letter").body(|_| json!({ "reason": "seen" })).there(SAID),
        row("propose_replay")
            .body(|world| json!({ "jobs": [world.find("dead")], "reason": "again" }))
            .there(SAID),
        batch("show_replay").there(&[404]),
        batch("run_replay")
            .body(|world| json!({ "approval_id": world.find("approval") }))
            .there(&[404]),
        row("list_workers"),
        workers("freeze_workers").body(reason),
        workers("thaw_workers").body(reason),
        row("show_lag"),
        row("metrics"),
    ]
}

fn births() -> Vec<Row> {
    let permit = |route| row(route).id("permit", "prm", "permit");
    vec![
        row("list_families"),
        row("list_permits"),
        row("request_permits")
            .body(|_| json!({ "collection": "nothing", "objects": [{ "code": "A-1" }] }))
            .there(&[404]),
        permit("show_permit"),
        permit("revoke_permit").body(|_| json!({ "reason": "enough" })).there(SAID),
    ]
}

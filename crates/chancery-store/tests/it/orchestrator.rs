//! ORC-1…ORC-11: runs of the orchestrator, as the database holds them.

use chancery_model::refusal::Code::{RO001, RO002, RO003, RO005, RO006, RO007, RO008, RO009, RO010, RO011};
use chancery_store::Error;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::approval_world::refusal;
use crate::orchestrator_world::{GATES, World};

/// ORC-1: a run goes through its gates to the end, its units are enacted, and doing it all again changes nothing.
#[tokio::test]
async fn a_run_goes_from_gate_to_gate() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    world.drive(&run, "IG_closeout").await;
    assert_eq!(world.state(&run).await, "closeout_reported");
}

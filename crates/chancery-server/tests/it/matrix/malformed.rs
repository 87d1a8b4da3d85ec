//! What each signed route is asked with and can't be: SEC-2, UIX-2. A route that lets people sign and is not here fails the test.

use serde_json::{Value, json};

use super::world::World;

/// Bodies of this route that are refused whoever asks and whoever signs; `good` is one that may be done.
pub(super) fn bodies(route: &str, good: &Value, world: &World) -> Vec<Value> {
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    let mut bodies = own(route, world).map_or_else(
        || panic!("{route} asks for signatures: say in matrix/malformed.rs what it refuses"),
        |wrong| wrong.iter().map(|(name, value)| with(name, value.clone())).collect::<Vec<_>>(),
    );
    // A class that there is not, and one that is no text.
    bodies.push(with("actor_class", json!("no_such_class")));
    bodies.push(with("actor_class", json!(7)));
    bodies
}

/// Members of a good body, and what can't stand there. Nothing for routes that are not known here.
fn own(route: &str, world: &World) -> Option<Vec<(&'static str, Value)>> {
    let nowhere = json!({
        "workflow": "other", "title": { "en": "Other", "vi": "Khác" },
        "steps": [{ "key": "first", "title": { "en": "F", "vi": "F" }, "pic": { "starter": true } }],
        "relations": [{ "from": "first", "to": "nowhere" }],
    });
    let nobodys = json!(format!("apr_{}", "0".repeat(32)));
    Some(match route {
        "start_run" => vec![("machine", json!("nothing")), ("data", json!([]))],
        "move_run" => vec![("to", json!("nowhere")), ("evidence", json!("no object"))],
        "propose_change" | "revise_change" => {
            vec![("definition", json!({})), ("definition", nowhere), ("title", json!(" "))]
        }
        "submit_change" | "submit_proposal" => vec![("expires_in_seconds", json!(0))],
        "propose" => vec![
            ("kind", json!("nonsense")),
            ("title", json!(" ")),
            ("usage", json!([])),
            ("proposer_class", json!("No word")),
        ],
        "start_workflow_run" => vec![("inputs", json!([])), ("trace_id", json!("none"))],
        "withdraw_change"
        | "withdraw_proposal"
        | "merge_change"
        | "carry_out_proposal"
        | "pause_workflow_run"
        | "resume_workflow_run" => Vec::new(),
        "cancel_workflow_run" => vec![("approval_id", nobodys)],
        "move_step" | "move_task" => {
            vec![("call", json!("dance")), ("document", json!("no object"))]
        }
        "request_approval" => vec![
            ("kind", json!("nonsense")),
            ("title", json!(" ")),
            ("subject_ref", json!(" ")),
            ("expires_in_seconds", json!(0)),
        ],
        "vote" => vec![("decision", json!("perhaps"))],
        "mark" => vec![("document_id", json!("nothing")), ("depends_on", json!(["ent_x"]))],
        "dismiss_dead_letter" => vec![("reason", json!(" "))],
        "propose_replay" => {
            let dead = world.find("dead");
            vec![
                ("jobs", json!([])),
                ("jobs", json!([dead, dead])),
                ("reason", json!(" ")),
                ("stagger_ms", json!(-1)),
                ("expires_in_seconds", json!(0)),
            ]
        }
        "request_permits" => vec![("objects", json!([])), ("objects", json!([{ "code": "" }]))],
        "sign_kb_document" => vec![("meaning", json!(" ")), ("revision", json!(99))],
        "abandon_entry"
        | "stop_orchestrator_run"
        | "revoke_permit"
        | "issue_acknowledge"
        | "issue_resolve" => vec![("reason", json!(" "))],
        _ => return None,
    })
}

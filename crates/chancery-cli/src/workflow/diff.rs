//! What a change changes, as people read it.

use serde_json::Value;
use uuid::Uuid;

use crate::Context;
use crate::failure::{Failure, Outcome};
use crate::saying::reader;

pub(super) async fn diff(context: &mut Context, change: Uuid) -> Result<Outcome, Failure> {
    let store = reader(context).await?;
    let diff = store.fn_workflow_change_diff(change).await?;
    context.out.answer(&diff, || text(&diff))?;
    Ok(Outcome::Done)
}

fn text(diff: &Value) -> String {
    let word = |key: &str| diff[key].as_str().unwrap_or_default();
    let mut lines = vec![match diff["base_version"].as_i64() {
        Some(base) => format!(
            "{} on version {base} ({}); {} open runs stay on it",
            word("workflow"),
            word("state"),
            diff["runs_on_base"]
        ),
        None => format!("{} is new ({})", word("workflow"), word("state")),
    }];
    if diff["base_version"] != diff["current_version"] {
        lines.push(format!(
            "it is stale: the newest version is {} by now, so it cannot be merged as it stands",
            diff["current_version"]
        ));
    }
    fields(&mut lines, "", &diff["fields"]);
    for (list, one) in [("steps", "step"), ("relations", "relation")] {
        let id = |doc: &Value| match doc["key"].as_str() {
            Some(key) => key.to_owned(),
            None => {
                let end = |key: &str| doc[key].as_str().unwrap_or_default().to_owned();
                format!("{} → {}", end("from"), end("to"))
            }
        };
        for (mark, what) in [("+", "added"), ("-", "removed")] {
            for doc in diff[list][what].as_array().into_iter().flatten() {
                lines.push(format!("{mark} {one} {}", id(doc)));
            }
        }
        for changed in diff[list]["changed"].as_array().into_iter().flatten() {
            lines.push(format!("~ {one} {}", changed["id"].as_str().unwrap_or_default()));
            fields(&mut lines, "    ", &changed["fields"]);
        }
    }
    if lines.len() == 1 {
        lines.push("nothing is different".to_owned());
    }
    lines.join("\n")
}

fn fields(lines: &mut Vec<String>, indent: &str, fields: &Value) {
    for field in fields.as_array().into_iter().flatten() {
        let name = field["field"].as_str().unwrap_or_default();
        let value = |side: &str| match &field[side] {
            Value::Null => "nothing".to_owned(),
            other => other.to_string(),
        };
        let mark = if indent.is_empty() { "~ " } else { indent };
        lines.push(format!("{mark}{name}: {} → {}", value("old"), value("new")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_change_is_told_field_by_field() {
        let diff = json!({
            "workflow": "letter", "base_version": 1, "current_version": 1, "state": "draft", "runs_on_base": 2, "fields": [],
            "steps": {
                "added": [{ "key": "post" }], "removed": [],
                "changed": [{ "id": "write", "fields": [{ "field": "deadline", "old": null, "new": "2 days" }] }],
            },
            "relations": { "added": [{ "from": "write", "to": "post" }], "removed": [], "changed": [] },
        });
        assert_eq!(
            text(&diff),
            "letter on version 1 (draft); 2 open runs stay on it\n+ step post\n~ step write\n    deadline: nothing → \"2 days\"\n+ relation write → post"
        );
    }
}

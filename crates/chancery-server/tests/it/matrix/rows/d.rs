//! Problems, findings, the timeline, summaries.

use serde_json::json;

use super::{Part, Row, row};

pub(super) fn rows() -> Vec<Row> {
    let answer = |route| {
        row(route)
            .id("issue", "iss", "")
            .body(|_| json!({ "reason": "seen", "actor_class": "reviewer" }))
            .missing(&[403, 404])
            // There is none; whoever may is told so, and not asked to sign first.
            .there(&[403, 404])
    };
    vec![
        row("problems"),
        row("problem_list").part("category", Part::Fixed("dlq")),
        row("problem")
            .part("category", Part::Fixed("dlq"))
            .part("item", Part::Fixed("nothing"))
            .there(&[404]),
        answer("issue_acknowledge"),
        answer("issue_resolve"),
        row("timeline").query("trace=0123456789abcdef0123456789abcdef"),
        row("summary_list"),
        row("summary").id("summary", "sum", "").there(&[404]),
        // One that rests on nothing: refused, whoever puts it.
        row("summary_put").free().there(&[403, 422]),
    ]
}

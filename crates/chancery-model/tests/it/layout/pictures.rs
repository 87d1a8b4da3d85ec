//! Small layouts, number by number.

use chancery_model::layout::{Graph, Options};
use serde_json::{Value, json};

use super::check::checked;

/// One line a thing, so that a change is a small difference.
fn page(document: &Value, options: &Options) -> String {
    let graph = Graph::of_definition(document).expect("a definition");
    let layout = serde_json::to_value(checked(&graph, options)).expect("a layout is JSON");
    let mut page = format!("{} × {}\n", layout["width"], layout["height"]);
    for list in ["bands", "lanes", "groups", "nodes", "edges"] {
        for thing in layout[list].as_array().expect("a list") {
            page.push_str(&format!("{list} {thing}\n"));
        }
    }
    page + &format!("order {}\n", layout["topo_order"])
}

#[test]
fn two_steps() {
    let document = json!({
        "steps": [{ "key": "first" }, { "key": "second" }],
        "relations": [{ "from": "first", "to": "second" }],
    });
    insta::assert_snapshot!(page(&document, &Options::default()));
}

#[test]
fn a_diamond_with_conditions() {
    let document = json!({
        "steps": [{ "key": "ask" }, { "key": "high" }, { "key": "low" }, { "key": "pay" }],
        "relations": [
            { "from": "ask", "to": "high", "kind": "condition", "when": "$.amount > 10", "label": { "en": "large", "vi": "lớn" } },
            { "from": "ask", "to": "low", "kind": "condition", "when": "$.amount <= 10", "label": { "en": "small", "vi": "nhỏ" } },
            { "from": "high", "to": "pay", "kind": "or" },
            { "from": "low", "to": "pay", "kind": "or" },
        ],
    });
    insta::assert_snapshot!(page(&document, &Options::default()));
}

fn three_lanes() -> Value {
    json!({
        "lanes": [{ "key": "sales" }, { "key": "legal" }, { "key": "board" }],
        "categories": [{ "key": "review" }],
        "steps": [
            { "key": "draft", "lane": "sales" },
            { "key": "check", "lane": "legal", "category": "review" },
            { "key": "recheck", "lane": "legal", "category": "review" },
            { "key": "vote", "lane": "board", "category": "review" },
            { "key": "send", "lane": "sales" },
            { "key": "archive", "sub_workflow": "archiving" },
        ],
        "relations": [
            { "from": "draft", "to": "check" }, { "from": "check", "to": "recheck" },
            { "from": "recheck", "to": "vote" }, { "from": "vote", "to": "send" },
            { "from": "draft", "to": "vote", "kind": "and" }, { "from": "send", "to": "archive" },
        ],
    })
}

#[test]
fn steps_in_three_lanes() {
    insta::assert_snapshot!(page(&three_lanes(), &Options::default()));
}

/// The three steps of the category are one node, in no lane since they are in two; the two arrows that come to it are one.
#[test]
fn a_collapsed_group() {
    let collapsed = ["review".to_owned()].into();
    insta::assert_snapshot!(page(&three_lanes(), &Options { collapsed, ..Options::default() }));
}

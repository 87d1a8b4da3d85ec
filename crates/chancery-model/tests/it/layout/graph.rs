//! Reading a definition.

use chancery_model::layout::{
    Error, Graph, Mark, NodeKind, Options, Relation, RelationKind, Step, union,
};
use serde_json::{Value, json};

use super::check::checked;

fn review() -> Value {
    json!({
        "workflow": "contract_review",
        "title": { "en": "Contract review", "vi": "Xét hợp đồng" },
        "lanes": [{ "key": "sales", "title": { "en": "Sales" } }, { "key": "legal" }],
        "categories": [{ "key": "intake" }],
        "steps": [
            { "key": "draft", "lane": "sales", "category": "intake", "tasks": [{ "key": "write" }] },
            { "key": "check", "lane": "legal", "optional": true, "executor": "human" },
            { "key": "sign", "sub_workflow": "signing" },
        ],
        "relations": [
            { "from": "draft", "to": "check", "kind": "condition", "when": "$.amount > 10", "label": { "en": "large" } },
            { "from": "check", "to": "sign" },
        ],
    })
}

#[test]
fn a_definition_is_read_for_what_a_picture_needs() {
    let graph = Graph::of_definition(&review()).unwrap();
    let keys: Vec<&str> = graph.steps().iter().map(|step| step.key.as_str()).collect();
    assert_eq!(keys, ["check", "draft", "sign"]);
    assert_eq!(graph.steps()[1].category.as_deref(), Some("intake"));
    assert_eq!(graph.relations()[0].kind, RelationKind::Trigger);
    assert_eq!(graph.relations()[1].kind, RelationKind::Condition);
    assert_eq!(graph.relations()[1].label, Some(json!({ "en": "large" })));
    let layout = checked(&graph, &Options::default());
    let sign = layout.nodes.iter().find(|node| node.id == "sign").unwrap();
    assert_eq!(sign.kind, NodeKind::SubWorkflow);
    assert_eq!(layout.topo_order, ["draft", "check", "sign"]);
}

#[test]
fn a_definition_without_steps_is_an_empty_picture() {
    let graph = Graph::of_definition(&json!({ "workflow": "nothing" })).unwrap();
    let layout = checked(&graph, &Options::default());
    assert!(layout.nodes.is_empty() && layout.bands.is_empty());
}

/// Each fault is a value that names what is wrong, and nothing panics.
#[test]
fn a_broken_definition_is_an_error() {
    let broken = |path: &str, value: Value| {
        let mut document = review();
        *document.pointer_mut(path).unwrap() = value;
        Graph::of_definition(&document).unwrap_err()
    };
    let unknown =
        |what, key: &str, by: &str| Error::Unknown { what, key: key.into(), by: by.into() };
    assert_eq!(
        broken("/relations/1/to", json!("stamp")),
        unknown("step", "stamp", r#"the relation from "check" to "stamp""#)
    );
    assert_eq!(broken("/steps/0/lane", json!("hr")), unknown("lane", "hr", r#"step "draft""#));
    assert_eq!(
        broken("/steps/0/category", json!("late")),
        unknown("category", "late", r#"step "draft""#)
    );
    assert_eq!(
        broken("/steps/2/key", json!("draft")),
        Error::Twice { what: "step", key: "draft".into() }
    );
    assert_eq!(broken("/relations/0/kind", json!("maybe")), Error::Kind { kind: "maybe".into() });
    let shape = |at: &str, wanted| Error::Shape { at: at.into(), wanted };
    assert_eq!(broken("/steps", json!({})), shape("steps", "a list"));
    assert_eq!(broken("/steps/1/key", json!(7)), shape("steps[1].key", "a text"));
    assert_eq!(broken("/relations/0/from", Value::Null), shape("relations[0].from", "a text"));
}

/// One picture for both sides of a proposal. Reversing an arrow makes a cycle of the two, and that is drawn too.
#[test]
fn a_union_serves_a_comparison() {
    let graph = |keys: &[&str], relations: &[(&str, &str)]| {
        let steps = keys.iter().map(|key| Step::new(*key)).collect();
        let relations = relations.iter().map(|(from, to)| Relation::new(*from, *to)).collect();
        Graph::new(Vec::new(), Vec::new(), steps, relations).unwrap()
    };
    let base = graph(&["a", "b", "c"], &[("a", "b"), ("b", "c")]);
    let proposed = graph(&["a", "b", "d"], &[("b", "a"), ("b", "d")]);
    let layout = checked(&union(&base, &proposed), &Options::default());
    let marks: Vec<_> = layout.nodes.iter().map(|node| (node.id.as_str(), node.mark)).collect();
    let expected = [("a", Mark::Kept), ("b", Mark::Kept), ("c", Mark::Removed), ("d", Mark::Added)];
    assert_eq!(marks, expected.map(|(id, mark)| (id, Some(mark))));
    let marks: Vec<_> =
        layout.edges.iter().map(|e| (e.from.as_str(), e.to.as_str(), e.mark)).collect();
    let expected = [
        ("a", "b", Mark::Removed),
        ("b", "a", Mark::Added),
        ("b", "c", Mark::Removed),
        ("b", "d", Mark::Added),
    ];
    assert_eq!(marks, expected.map(|(from, to, mark)| (from, to, Some(mark))));
}

/// A lane that the proposal took away keeps its place among the others.
#[test]
fn a_union_keeps_the_order_of_lanes() {
    let graph = |lanes: &[&str]| {
        let steps = lanes
            .iter()
            .map(|lane| Step { lane: Some((*lane).into()), ..Step::new(format!("step_{lane}")) });
        let lanes = lanes.iter().map(|lane| (*lane).into()).collect();
        Graph::new(lanes, Vec::new(), steps.collect(), Vec::new()).unwrap()
    };
    let both = union(&graph(&["z", "m", "a"]), &graph(&["z", "a", "n"]));
    let layout = checked(&both, &Options::default());
    let keys: Vec<&str> = layout.lanes.iter().map(|lane| lane.key.as_str()).collect();
    assert_eq!(keys, ["z", "m", "a", "n"]);
}

//! The rows `governance` and `audit timeline` of the CLI: from a sentence to a list, to one problem, to its timeline.

use serde_json::{Value, json};

use crate::place::Place;

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} in {value}"))
}

/// UIG-1, UIG-3, UIG-7: nothing is wrong; a job dies; it is counted, listed, shown, followed, summarized, and each reader sees their part.
#[test]
fn a_dead_job_is_found_and_followed() {
    let place = Place::with_database();
    for (name, kind, class) in [
        ("alice", "human", "pic_human"),
        ("olga", "human", "observer"),
        ("hall", "service", "executor_worker"),
    ] {
        place.done(&["principal", "add", name, "--kind", kind, "--class", class]);
    }
    let said = place.done(&["governance", "problems"]);
    assert!(said.stdout.starts_with("No problems. Checked just now.\n"), "{said:?}");
    assert_eq!(place.json(&["governance", "summary", "list"]), json!([]));

    let app = |sql: &str| {
        place.done(&["db", "psql", "--role", "chancery_app", "--", "-Atqc", sql]).stdout
    };
    app(
        r#"select queue.fn_job_enqueue('[{"class": "noop", "kind": "trial", "key": "dead", "payload": {"fail_for_good": true}}]', 'hall', 'executor_worker')"#,
    );
    place.done(&["worker", "--class", "noop", "--once"]);

    let problems = place.json(&["governance", "problems", "--as", "olga"]);
    let first = &problems["categories"][0];
    assert_eq!((text(first, "category"), &first["count"]), ("dlq", &json!(1)));
    assert!(text(&problems, "headline_en").starts_with("1 problem: trial of noop"), "{problems}");
    let hidden: Vec<&str> = problems["categories"]
        .as_array()
        .expect("categories")
        .iter()
        .filter(|category| category["hidden"] == true)
        .map(|category| text(category, "category"))
        .collect();
    assert_eq!(hidden, Vec::<&str>::new(), "an observer sees everything");
    let said = place.done(&["governance", "problems", "--as", "alice"]);
    assert!(said.stdout.contains("may not be seen"), "{said:?}");
    place.refused("RI040", &["governance", "problems", "integrity", "--as", "alice"]);
    place.refused("RI040", &["governance", "problems", "--as", "hall"]);
    place.refused("RE040", &["governance", "problems", "letters"]);

    let page = place.json(&["governance", "problems", "dlq", "--limit", "1"]);
    let item = &page["items"][0];
    let (job, trace) = (text(item, "item_id"), text(item, "trace_id"));
    let said = place.done(&["governance", "problems", "dlq"]);
    assert!(said.stdout.contains(job) && said.stdout.contains("critical"), "{said:?}");
    let said = place.done(&["governance", "problems", "dlq", job]);
    assert!(said.stdout.contains("what to do") && said.stdout.contains("dead_letter"), "{said:?}");
    place.refused("RE041", &["governance", "problems", "dlq", "another"]);

    let rows = place.json(&["audit", "timeline", trace]);
    assert_eq!(text(&rows["items"][0], "event_type"), "job.dead_lettered");
    let same = place.json(&["audit", "timeline", "--entity", "job", job]);
    assert_eq!(same["items"], rows["items"]);
    let said = place.done(&["audit", "timeline", trace]);
    assert!(said.stdout.contains("job.dead_lettered"), "{said:?}");
    // Alice neither did anything there nor is she in charge.
    let hers = place.json(&["audit", "timeline", trace, "--as", "alice"]);
    assert_eq!(hers["items"], json!([]));
    place.refused("RE042", &["audit", "timeline"]);

    assert!(app("select governance.fn_summaries_run('chancery') ->> 'written'").starts_with('2'));
    let list = place.json(&["governance", "summary", "list", "--category", "dlq"]);
    assert_eq!((text(&list[0], "state"), &list[0]["source_event_total"]), ("red", &json!(1)));
    let said = place.done(&["governance", "summary", "list"]);
    assert!(said.stdout.contains("Dead letters: 1, 1 critical"), "{said:?}");
    let said = place.done(&["governance", "summary", "show", text(&list[0], "summary_id")]);
    assert!(
        said.stdout.contains("deterministic_rule") && said.stdout.contains("dead_letter"),
        "{said:?}"
    );
    place.refused("RE049", &["governance", "summary", "show", job]);
}

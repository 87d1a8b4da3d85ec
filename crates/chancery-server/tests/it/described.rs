//! What the document of the API says about bodies that the database judges.

use std::collections::BTreeSet;

use chancery_api::openapi::document;
use chancery_testkit::repo_path;
use serde_json::Value;

/// UIG-3: the document says what a summary is made of: the members that the database takes, and no others.
#[test]
fn a_summary_is_described_as_the_database_takes_it() {
    let document = document("0");
    let body = &document["paths"]["/v1/summaries"]["post"]["requestBody"]["content"]["application/json"]
        ["schema"];
    let name = body["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    let schema = name.map_or(body, |name| &document["components"]["schemas"][name]);
    assert_eq!(schema["additionalProperties"], false, "{schema}");
    let described: BTreeSet<&str> =
        schema["properties"].as_object().expect("members").keys().map(String::as_str).collect();
    let rule = std::fs::read_to_string(repo_path("sql/governance/functions/summary_problems.sql"));
    let rule = rule.expect("the rule");
    let (_, list) = rule.split_once("k <> all ('{").expect("the members");
    let taken: BTreeSet<&str> = list.split_once("}'").expect("their end").0.split(',').collect();
    assert_eq!(described, taken);
    let needed = |member: &str| {
        schema["required"].as_array().is_some_and(|all| all.contains(&Value::from(member)))
    };
    assert!(
        needed("source_event_refs") && needed("time_window") && !needed("confidence"),
        "{schema}"
    );
}

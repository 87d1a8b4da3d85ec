//! The OpenAPI document, made of the routes.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::problem::Problem;
use crate::route::{Access, Method, Route, Shape};

/// Answers that any route can give, and when.
const REFUSALS: &[(u16, &str, &str)] = &[
    (400, "Malformed", "The request is malformed."),
    (401, "Nobody", "Nobody is signed in, or the credential is not good any more."),
    (403, "NotPermitted", "Who asks may not do this."),
    (404, "NotThere", "There is no such thing, or none that the caller may see."),
    (405, "OtherMethod", "This is asked with another method."),
    (406, "OtherForm", "This is not answered in the form that was asked for."),
    (408, "TooSlow", "The request did not arrive in time."),
    (409, "Conflict", "It stands against what is there by now."),
    (412, "HasChanged", "It has changed since it was read."),
    (413, "TooLarge", "The body is too large."),
    (415, "OtherMedia", "The body is not sent as JSON."),
    (422, "Refused", "A rule says no."),
    (428, "BringFirst", "Something has to be brought first: a signature, or a key."),
    (429, "TooMany", "Too many requests."),
    (500, "Defect", "A defect."),
    (503, "NotNow", "Not now."),
];

/// The document, as OpenAPI 3.1 has it.
pub fn document(version: &str) -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut schemas = settings.into_generator();
    let problem = schemas.subschema_for::<Problem>().to_value();
    let refusals: Map<String, Value> = REFUSALS
        .iter()
        .map(|(_, name, when)| {
            let content = json!({ "application/problem+json": { "schema": problem } });
            ((*name).to_owned(), json!({ "description": when, "content": content }))
        })
        .collect();
    let mut paths: Map<String, Value> = Map::new();
    let mut routes = crate::routes();
    routes.sort_by_key(|route| (route.path, route.method));
    for route in routes {
        let operation = operation(route, &mut schemas);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_lowercase()] = operation;
    }
    let mut definitions = schemas.take_definitions(true);
    definitions.sort_keys();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Chancery",
            "version": version,
            "description": "Governed state machines on PostgreSQL. What the declared rules do not allow is refused by the database; the refusal's code comes back as a problem document.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": definitions,
            "responses": refusals,
            "securitySchemes": {
                "session": { "type": "apiKey", "in": "cookie", "name": "chancery_session", "description": "A browser that signed in. What writes also shows `Chancery-Csrf`." },
                "token": { "type": "http", "scheme": "bearer", "description": "A token of a program." },
            },
        },
    })
}

fn operation(route: &Route, schemas: &mut schemars::SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = path_names(route.path)
        .map(|name| {
            let schema = match prefix(route.path, name) {
                Some(prefix) => {
                    json!({ "type": "string", "pattern": format!("^{prefix}_[0-9a-f]{{32}}$") })
                }
                None => json!({ "type": "string", "minLength": 1, "maxLength": 500 }),
            };
            json!({ "name": name, "in": "path", "required": true, "schema": schema })
        })
        .collect();
    if let Some(query) = route.query {
        parameters.extend(query_parameters(&query(schemas).to_value(), schemas));
    }
    if route.writes {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": true,
            "description": "The same key with the same request is the same change, once.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$" },
        }));
    }
    if route.signed {
        for (name, description) in [
            ("Chancery-Key", "The key that signed."),
            ("Chancery-Signed-At", "As the answer 428 told it."),
            (
                "Chancery-Signature",
                "Signatures in base64, separated by commas, in the order of the statements.",
            ),
        ] {
            parameters.push(json!({ "name": name, "in": "header", "required": false, "description": description, "schema": { "type": "string" } }));
        }
    }
    let mut responses = Map::new();
    let media = match route.shape {
        Shape::Json => "application/json",
        Shape::Events => "text/event-stream",
        Shape::Bytes => "application/octet-stream",
        Shape::Text => "text/plain",
        Shape::Html => "text/html",
        Shape::Style => "text/css",
    };
    let schema = match route.answer {
        Some(answer) => answer(schemas).to_value(),
        None => json!({ "type": "string" }),
    };
    for status in [Some(route.status), route.same_status].into_iter().flatten() {
        let answer = json!({ "description": "Done.", "content": { media: { "schema": schema } } });
        responses.insert(status.to_string(), answer);
    }
    for (status, name, _) in REFUSALS {
        let refusal = json!({ "$ref": format!("#/components/responses/{name}") });
        responses.insert(status.to_string(), refusal);
    }
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "tags": [tag(route.path)],
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(body) = route.body
        && route.method != Method::Delete
    {
        operation["requestBody"] = json!({ "required": true, "content": { "application/json": { "schema": body(schemas).to_value() } } });
    }
    match route.access {
        Access::Open => operation["security"] = json!([]),
        Access::Permission(permission) => {
            operation["security"] = json!([{ "session": [] }, { "token": [] }]);
            operation["x-permission"] = permission.into();
        }
    }
    operation
}

/// The noun of a path; what stands outside of the API belongs to the host.
fn tag(path: &str) -> &str {
    let noun = path.strip_prefix("/v1/").unwrap_or("host");
    noun.split(['/', '.']).next().unwrap_or(noun)
}

/// The prefix of the ids that stand in a path under this name; names have none.
fn prefix(path: &str, name: &str) -> Option<&'static str> {
    Some(match name {
        "approval" => "apr",
        "batch" => "bat",
        "change" => "chg",
        "entry" => "ent",
        "job" => "job",
        "permit" => "prm",
        "proposal" => "prp",
        "run" if path.starts_with("/v1/orchestrator/") => "orc",
        "run" if path.starts_with("/v1/workflow-runs/") => "wfr",
        "run" => "run",
        "step" => "stp",
        "task" => "tsk",
        "token" if path.starts_with("/v1/tokens/") => "tok",
        "unit" => "unt",
        "wait" => "wai",
        _ => return None,
    })
}

/// The names in a path.
pub fn path_names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// The members of the type of a query, each a parameter.
fn query_parameters(schema: &Value, schemas: &schemars::SchemaGenerator) -> Vec<Value> {
    let definition = schema["$ref"]
        .as_str()
        .and_then(|reference| schemas.definitions().get(reference.rsplit('/').next()?))
        .unwrap_or(schema);
    let required = |name: &str| {
        definition["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name))
    };
    let members = definition["properties"].as_object().cloned().unwrap_or_default();
    members
        .into_iter()
        .map(|(name, mut schema)| {
            let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            // What is left out is left out: a query has no null.
            if let Some(kinds) = schema["type"].as_array() {
                let kinds: Vec<Value> = kinds.iter().filter(|kind| *kind != "null").cloned().collect();
                schema["type"] = kinds.into_iter().next().unwrap_or(Value::Null);
            }
            if let Some(schema) = schema.as_object_mut() {
                schema.remove("default");
            }
            let mut parameter = json!({ "name": name, "in": "query", "required": required(&name), "schema": schema });
            if let Some(description) = description {
                parameter["description"] = description;
            }
            parameter
        })
        .collect()
}

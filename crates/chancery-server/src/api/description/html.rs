//! The page: plain HTML made of the document. Everything is there when it arrives, so it can be searched, linked and printed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The page of an OpenAPI document of ours.
pub(super) fn page(document: &Value) -> String {
    let mut page = String::new();
    let title = text(&document["info"]["title"]);
    let nouns = nouns(document);
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}: HTTP API</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><link rel=\"stylesheet\" href=\"/docs/style.css\"></head><body>\
         <h1>{title} {version}: HTTP API</h1><p>{about}</p>\
         <p>The same for programs: <a href=\"/v1/openapi.json\">openapi.json</a>.</p><nav>",
        version = text(&document["info"]["version"]),
        about = text(&document["info"]["description"]),
    );
    for noun in nouns.keys() {
        let _ = write!(page, "<a href=\"#{0}\">{0}</a>", escape(noun));
    }
    page.push_str("<a href=\"#answers\">answers</a><a href=\"#types\">types</a></nav>");
    for (noun, operations) in &nouns {
        let _ = write!(page, "<h2 id=\"{0}\">{0}</h2>", escape(noun));
        for one in operations {
            operation(&mut page, one);
        }
    }
    answers(&mut page, document);
    types(&mut page, document);
    page.push_str("</body></html>\n");
    page
}

struct Operation<'a> {
    method: &'a str,
    path: &'a str,
    about: &'a Value,
}

fn nouns(document: &Value) -> BTreeMap<&str, Vec<Operation<'_>>> {
    let mut nouns: BTreeMap<&str, Vec<Operation<'_>>> = BTreeMap::new();
    for (path, methods) in members(&document["paths"]) {
        for (method, about) in members(methods) {
            let noun = about["tags"][0].as_str().unwrap_or_default();
            nouns.entry(noun).or_default().push(Operation { method, path, about });
        }
    }
    nouns
}

fn operation(page: &mut String, Operation { method, path, about }: &Operation<'_>) {
    let _ = write!(
        page,
        "<details id=\"{id}\"><summary><span class=\"method {method}\">{name}</span><code>{path}</code><span class=\"about\">{summary}</span></summary><div>",
        id = text(&about["operationId"]),
        name = method.to_uppercase(),
        path = escape(path),
        summary = text(&about["summary"]),
    );
    match about["x-permission"].as_str() {
        Some(permission) => {
            let _ =
                write!(page, "<p>Needs the permission <code>{}</code>.</p>", escape(permission));
        }
        None => page.push_str("<p>Open to everybody.</p>"),
    }
    let parameters = about["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !parameters.is_empty() {
        page.push_str("<h3>Parameters</h3><table><tr><th>name</th><th>where</th><th>type</th><th>meaning</th></tr>");
        for one in parameters {
            let needed = if one["required"] == true { "" } else { " (optional)" };
            row(
                page,
                &one["name"],
                &format!("{}{needed}", text(&one["in"])),
                &one["schema"],
                &one["description"],
            );
        }
        page.push_str("</table>");
    }
    if let Some(schema) = about.pointer("/requestBody/content/application~1json/schema") {
        page.push_str("<h3>Body</h3>");
        shape(page, schema);
    }
    for (status, answer) in members(&about["responses"]) {
        let contents = members(&answer["content"]);
        for (media, content) in contents.filter(|_| status.starts_with('2')) {
            let _ =
                write!(page, "<h3>Answer {}, <code>{}</code></h3>", escape(status), escape(media));
            shape(page, &content["schema"]);
        }
    }
    page.push_str("</div></details>");
}

/// Refusals are the same everywhere: they are told once.
fn answers(page: &mut String, document: &Value) {
    page.push_str("<h2 id=\"answers\">Answers that are no</h2><p>Each is a problem document: <a href=\"#type-Problem\">Problem</a>.</p><table>");
    let operations = members(&document["paths"]).flat_map(|(_, methods)| members(methods));
    let any = operations.map(|(_, about)| &about["responses"]).next().unwrap_or(&Value::Null);
    for (status, answer) in members(any) {
        let refusal =
            answer["$ref"].as_str().and_then(|name| document.pointer(name.strip_prefix('#')?));
        if let Some(refusal) = refusal {
            let (status, meaning) = (escape(status), text(&refusal["description"]));
            let _ = write!(page, "<tr><td><code>{status}</code></td><td>{meaning}</td></tr>");
        }
    }
    page.push_str("</table>");
}

fn types(page: &mut String, document: &Value) {
    page.push_str("<h2 id=\"types\">Types</h2>");
    for (name, schema) in members(&document["components"]["schemas"]) {
        let _ = write!(
            page,
            "<details id=\"type-{0}\"><summary><code>{0}</code><span class=\"about\">{1}</span></summary><div>",
            escape(name),
            text(&schema["description"])
        );
        shape(page, schema);
        page.push_str("</div></details>");
    }
}

/// What a value is made of: its members, or in one line.
fn shape(page: &mut String, schema: &Value) {
    let Some(properties) = schema["properties"].as_object().filter(|all| !all.is_empty()) else {
        let _ = write!(page, "<p>{}</p>", kind(schema));
        return;
    };
    page.push_str("<table><tr><th>member</th><th></th><th>type</th><th>meaning</th></tr>");
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (name, member) in properties {
        let needed = if required.iter().any(|one| one == name) { "" } else { "optional" };
        row(page, &Value::from(name.as_str()), needed, member, &member["description"]);
    }
    page.push_str("</table>");
}

fn row(page: &mut String, name: &Value, place: &str, schema: &Value, meaning: &Value) {
    let (name, kind, meaning) = (text(name), kind(schema), text(meaning));
    let _ = write!(
        page,
        "<tr><td><code>{name}</code></td><td>{place}</td><td>{kind}</td><td>{meaning}</td></tr>"
    );
}

/// A type in one line, with links to those that have a name.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        return format!("<a href=\"#type-{0}\">{0}</a>", escape(name));
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(code).collect::<Vec<_>>().join(", ");
    }
    if let Some(value) = schema.get("const") {
        return code(value);
    }
    for of in ["anyOf", "oneOf", "allOf"] {
        if let Some(kinds) = schema[of].as_array() {
            return kinds.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    let mut words = match &schema["type"] {
        Value::String(one) => escape(one),
        Value::Array(several) => several.iter().map(text).collect::<Vec<_>>().join(" or "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "anything".to_owned(),
    };
    if !schema["items"].is_null() {
        let _ = write!(words, " of {}", kind(&schema["items"]));
    }
    if let Some(members) = schema["properties"].as_object().filter(|members| !members.is_empty()) {
        let inside = members
            .iter()
            .map(|(name, one)| format!("<code>{}</code>: {}", escape(name), kind(one)));
        let _ = write!(words, " {{ {} }}", inside.collect::<Vec<_>>().join(", "));
    }
    const BOUNDS: [&str; 8] = [
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "pattern",
        "format",
    ];
    for bound in BOUNDS.iter().filter(|bound| !schema[**bound].is_null()) {
        let _ = write!(words, " <span class=\"about\">{bound} {}</span>", code(&schema[*bound]));
    }
    words
}

fn code(value: &Value) -> String {
    format!("<code>{}</code>", text(value))
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter).map(|(name, value)| (name.as_str(), value))
}

/// A value as it is read, safe to stand in HTML.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => escape(text),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            escape(&value.to_string())
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

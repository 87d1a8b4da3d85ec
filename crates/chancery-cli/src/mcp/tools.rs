//! The tools: what each takes, as types that make the schema and read the call.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::wire::{Fault, INVALID_PARAMS};
use super::{Server, cut};
use crate::failure::Failure;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Problems {
    /// The problems of this category; without it, how many there are of each.
    pub(super) category: Option<String>,
    /// With category: what the page before gave as next.
    pub(super) after: Option<String>,
}

/// What can be shown.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shown {
    Step,
    Task,
    /// A run of a workflow, with its steps.
    WorkflowRun,
    /// A run of a machine of one's own.
    Run,
    Approval,
    WorkflowChange,
    Proposal,
    /// A unit of a document, by its id or its address.
    Unit,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Show {
    pub(super) kind: Shown,
    /// Its id; of a unit also its address.
    #[schemars(length(min = 1, max = 500))]
    pub(super) id: String,
    /// To read on where an answer was cut: the place that it named, such as /body.
    pub(super) part: Option<String>,
    /// With part: from which character or member on.
    #[serde(default)]
    pub(super) from: usize,
}

macro_rules! arguments {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name {
            $($(#[$field_doc])* pub(super) $field: $type,)*
            /// Why, in words.
            pub(super) reason: Option<String>,
            /// A key of your own: the same key with the same call is done once. Without one, a call that is repeated right away is the same.
            #[schemars(length(min = 1, max = 200))]
            pub(super) key: Option<String>,
            /// The actor class to act in, when you hold several that may.
            pub(super) actor_class: Option<String>,
        }

        impl $name {
            pub(super) fn said(&self) -> chancery_engine::workflow::Said {
                chancery_engine::workflow::Said {
                    class: self.actor_class.clone(),
                    reason: self.reason.clone(),
                    audit_ref: None,
                    key: self.key.clone(),
                }
            }
        }
    };
}

arguments!(Claim {
    /// A step or task that people do, and that you are or may be in charge of.
    #[schemars(with = "Option<String>", extend("format" = "uuid"))]
    id: Option<Uuid>,
    /// Instead of an id: an executor class; you get its next step or task, or the one that you hold already.
    class: Option<String>,
});

arguments!(Complete {
    /// The step or task.
    #[schemars(with = "String", extend("format" = "uuid"))]
    id: Uuid,
    /// What came of it; its output contract says what belongs into it.
    #[serde(default)]
    output: Map<String, Value>,
});

arguments!(Block {
    /// The step or task.
    #[schemars(with = "String", extend("format" = "uuid"))]
    id: Uuid,
    /// A reason of the vocabulary, such as missing_input, missing_approval, missing_iu or config_error.
    because: String,
});

/// A decision by others about a subject, as its request for approval names it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Decision {
    pub(super) kind: String,
    pub(super) of: String,
}

arguments!(Wait {
    /// The step or task.
    #[schemars(with = "String", extend("format" = "uuid"))]
    id: Uuid,
    /// Times: a duration from now, such as 90m, or RFC 3339.
    #[serde(default)]
    until: Vec<String>,
    /// Other steps of the run, by their keys.
    #[serde(default)]
    for_steps: Vec<String>,
    /// People by name, or whoever it is in words.
    #[serde(default)]
    for_people: Vec<String>,
    /// Decisions by others.
    #[serde(default)]
    for_decisions: Vec<Decision>,
});

arguments!(Fail {
    /// The step or task.
    #[schemars(with = "String", extend("format" = "uuid"))]
    id: Uuid,
    /// What went wrong, in words.
    #[schemars(length(min = 1, max = 2000))]
    detail: String,
    /// Trying again would not help.
    #[serde(default)]
    permanent: bool,
    /// A class of the registry, such as unavailable, timeout or bad_request; of work that an executor does.
    failure_class: Option<String>,
});

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Comment {
    /// The step or task.
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub(super) id: Uuid,
    #[schemars(length(min = 1, max = 16384))]
    pub(super) text: String,
    /// A key of your own; without one the same words are the same comment.
    #[schemars(length(min = 1, max = 200))]
    pub(super) key: Option<String>,
}

arguments!(ProposeWorkflowChange {
    /// The whole definition as it shall be: an object, or its YAML as a text.
    definition: Value,
    /// In words.
    title: Option<String>,
    /// Your draft to write on; without it your open draft of the workflow, or a new one.
    #[schemars(with = "Option<String>", extend("format" = "uuid"))]
    change_id: Option<Uuid>,
});

arguments!(Propose {
    /// A kind of the vocabulary, such as kg_edge, iu_bundle, iu_split or iu_merge.
    kind: String,
    /// In words.
    title: String,
    /// What is to be done.
    action: Map<String, Value>,
    /// What it rests on: a list of {kind, facts, iu_id?}.
    evidence: Vec<Value>,
    /// Ids of the units that it changes.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    units: Vec<Uuid>,
});

arguments!(AskForApproval {
    /// What is to be approved: workflow_change or proposal hands a draft of yours in; others are step_cancel, step_reopen, run_transition and so on.
    kind: String,
    /// The id of what it is about.
    subject: String,
    /// What voters read first; of a draft that is handed in, its own title stands.
    title: Option<String>,
    /// What voters should know.
    #[serde(default)]
    facts: Map<String, Value>,
    /// low, medium or high; at least what the kind asks for.
    risk: Option<String>,
    /// How long it stands, such as 12h or 7d.
    expires: Option<String>,
    /// The SHA-256 of the subject as it is now, in hex, where the kind pins it.
    digest: Option<String>,
});

/// A kind of proposal.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Proposed {
    WorkflowChange,
    Proposal,
}

arguments!(Withdraw {
    kind: Proposed,
    /// The proposal.
    #[schemars(with = "String", extend("format" = "uuid"))]
    id: Uuid,
});

struct Tool {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    only_reads: bool,
    schema: fn() -> Value,
}

macro_rules! tool {
    ($name:literal, $title:literal, $takes:ty, $only_reads:literal, $description:literal) => {
        Tool {
            name: $name,
            title: $title,
            description: $description,
            only_reads: $only_reads,
            schema: schema_of::<$takes>,
        }
    };
}

const TOOLS: &[Tool] = &[
    tool!(
        "what_can_i_do",
        "What can I do",
        Nothing,
        true,
        "Who you are, what you may, what you hold, what you could claim, what you proposed and asked for; each with the actions that the rules allow or refuse now, and why."
    ),
    tool!("problems", "Problems", Problems, true, "What is wrong in the system right now."),
    tool!(
        "show",
        "Show",
        Show,
        true,
        "One thing with all that is known of it and what can be done to it: a step, a task, a run, an approval, a proposal, a unit of a document."
    ),
    tool!(
        "claim",
        "Claim work",
        Claim,
        false,
        "Take work up. By class: the next step or task of an executor class, with its input and output contract. By id: one that people do and that you are in charge of."
    ),
    tool!(
        "complete",
        "Complete work",
        Complete,
        false,
        "Complete a step or task that you took up, with its output."
    ),
    tool!(
        "block",
        "Block",
        Block,
        false,
        "Say that something the work needs is missing. A person or the system unblocks it."
    ),
    tool!(
        "wait",
        "Wait",
        Wait,
        false,
        "Say what the work waits for; several things are waited for together. It goes on by itself when all have come."
    ),
    tool!(
        "fail",
        "Fail",
        Fail,
        false,
        "Say that the work failed: it is tried again as its policy says, unless that would not help. Work that people do is declared impossible."
    ),
    tool!(
        "comment",
        "Comment",
        Comment,
        false,
        "Say something about a step or task; it stands beside it."
    ),
    tool!(
        "propose_workflow_change",
        "Propose a change of a workflow",
        ProposeWorkflowChange,
        false,
        "Write a definition of a workflow as a draft. Nothing changes before people approve it: ask_for_approval hands it in."
    ),
    tool!(
        "propose",
        "Propose",
        Propose,
        false,
        "Propose something that is not a workflow, as a draft with what it rests on. ask_for_approval hands it in."
    ),
    tool!(
        "ask_for_approval",
        "Ask for an approval",
        AskForApproval,
        false,
        "Hand a draft of yours in, or ask for an approval of exactly one thing. People vote; you cannot."
    ),
    tool!(
        "withdraw",
        "Withdraw",
        Withdraw,
        false,
        "Take a proposal of yours back before others were asked about it, so that it is a draft again; give up a draft for good."
    ),
];

fn schema_of<T: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(members) = schema.as_object_mut() {
        members.remove("$schema");
        members.remove("title");
        members.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// The tools with what they take.
pub(super) fn list() -> Vec<Value> {
    let tool = |tool: &Tool| {
        json!({
            "name": tool.name, "title": tool.title, "description": tool.description, "inputSchema": (tool.schema)(),
            "annotations": {
                "readOnlyHint": tool.only_reads, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false,
            },
        })
    };
    TOOLS.iter().map(tool).collect()
}

/// Calls a tool. What it did not do is part of its answer: the agent reads it and can do better.
pub(super) async fn call(server: &Server, params: Value) -> Result<Value, Fault> {
    let Some(name) = params["name"].as_str() else {
        return Err(Fault(INVALID_PARAMS, "name is a text".to_owned()));
    };
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => json!({}),
        Some(arguments) => arguments.clone(),
    };
    // Who reads on asked for this much.
    let is_part = name == "show" && !arguments["part"].is_null();
    let answer = match name {
        "what_can_i_do" => match taken::<Nothing>(arguments) {
            Ok(Nothing {}) => server.what_can_i_do().await,
            Err(failure) => Err(failure),
        },
        "problems" => tried(arguments, async |args| server.problems(args).await).await,
        "show" => tried(arguments, async |args| server.show(args).await).await,
        "claim" => tried(arguments, async |args| server.claim(args).await).await,
        "complete" => tried(arguments, async |args| server.complete(args).await).await,
        "block" => tried(arguments, async |args| server.block(args).await).await,
        "wait" => tried(arguments, async |args| server.wait(args).await).await,
        "fail" => tried(arguments, async |args| server.fail(args).await).await,
        "comment" => tried(arguments, async |args| server.comment(args).await).await,
        "propose_workflow_change" => {
            tried(arguments, async |args| server.propose_workflow_change(args).await).await
        }
        "propose" => tried(arguments, async |args| server.propose(args).await).await,
        "ask_for_approval" => {
            tried(arguments, async |args| server.ask_for_approval(args).await).await
        }
        "withdraw" => tried(arguments, async |args| server.withdraw(args).await).await,
        _ => {
            let known: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
            let why = format!("there is no tool {name}; there are {}", known.join(", "));
            return Err(Fault(INVALID_PARAMS, why));
        }
    };
    Ok(match answer {
        Ok(answer) if is_part => told(&answer, false),
        Ok(answer) => told(&cut::shortened(&answer), false),
        Err(failure) => told(&failure.as_json(), true),
    })
}

async fn tried<T: DeserializeOwned>(
    arguments: Value,
    done: impl AsyncFnOnce(T) -> Result<Value, Failure>,
) -> Result<Value, Failure> {
    done(taken(arguments)?).await
}

/// What a tool was called with, strictly.
fn taken<T: DeserializeOwned>(arguments: Value) -> Result<T, Failure> {
    // A list would be read field by field.
    if !arguments.is_object() {
        return Err(Failure::Usage("arguments: an object is expected".to_owned()));
    }
    if has_nul(&arguments) {
        return Err(Failure::Usage("a text of the arguments has a NUL character".to_owned()));
    }
    serde_json::from_value(arguments).map_err(|error| Failure::Usage(format!("arguments: {error}")))
}

/// PostgreSQL keeps no NUL in a text.
fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => {
            members.iter().any(|(name, value)| name.contains('\0') || has_nul(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn told(answer: &Value, is_error: bool) -> Value {
    let text = serde_json::to_string_pretty(answer).expect("answers are plain data");
    json!({
        "content": [{ "type": "text", "text": text }], "structuredContent": answer, "isError": is_error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_refuses_what_it_does_not_know() {
        for tool in TOOLS {
            let schema = (tool.schema)();
            assert_eq!(schema["type"], "object", "{}", tool.name);
            assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
            assert!(schema.to_string().find("$ref").is_none(), "{}: {schema}", tool.name);
        }
    }

    #[test]
    fn there_is_no_tool_to_vote() {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), 13);
        for word in ["vote", "approve", "reject", "merge", "carry_out"] {
            assert!(!names.contains(&word), "{word}");
        }
    }
}

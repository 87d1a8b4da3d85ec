//! The shipped machines as the tests drive them: the custom copy in the database beside the hand-written tables.

use chancery_model::machine::{ActorClass, Definition, Transition, TriggerKind};
use chancery_reference as reference;
use chancery_reference::rules::{ACTOR_CLASSES, Machine, Rule};
use chancery_store::Role;
use chancery_testkit::{TestDb, as_custom, shipped};
use serde_json::{Map, Value, json};

/// Every shipped machine, in the order of the reference.
pub(crate) const NAMES: [&str; 11] = [
    "step",
    "task",
    "workflow_run",
    "cut_request",
    "orchestrator_run",
    "birth_permit",
    "job",
    "dlq_replay",
    "finding",
    "governance_candidate",
    "proposal",
];

/// A machine twice: what the database runs on, and the table it is held against.
pub(crate) struct Shipped {
    pub(crate) machine: Machine,
    pub(crate) rules: Vec<Rule>,
    pub(crate) definition: Definition,
}

impl Shipped {
    pub(crate) fn load(name: &str) -> Self {
        let mut machine = reference::machine(name).expect("a machine of the reference");
        let file =
            shipped().into_iter().find(|file| file.machine == name).expect("a shipped machine");
        let mut definition = as_custom(file);
        // Custom runs are born through fn_run_start, which only chancery_app can call and only for its own classes. The
        // orchestrator is born by executor_dot991 alone (the door of its room will do it), so both copies get a birth by
        // `system`; it emits nothing, which makes it the one row without an event.
        if !(machine.rules)()
            .iter()
            .any(|rule| rule.from.is_none() && may_act(Role::App, rule.actor))
        {
            assert_eq!(
                name, "orchestrator_run",
                "another machine that chancery_app cannot give birth to"
            );
            machine.rules = orchestrator_rules_with_a_birth_by_system;
            definition.transitions.push(birth_by_system(&definition));
        }
        Self { machine, rules: (machine.rules)(), definition }
    }

    /// A database with this machine active in it.
    pub(crate) async fn install(&self) -> TestDb {
        let db = TestDb::new().await;
        db.definition_in_any_class(&self.definition).await;
        db
    }

    pub(crate) fn rule(&self, from: Option<&str>, to: &str, actor: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.from == from && rule.to == to && rule.actor == actor)
    }

    /// The birth row that the tests start runs by.
    pub(crate) fn birth(&self) -> &Rule {
        let mut births = self.rules.iter().filter(|rule| rule.from.is_none());
        births.find(|rule| may_act(Role::App, rule.actor)).expect("load() sees to it")
    }

    pub(crate) fn facets(&self, state: &str) -> &'static [&'static str] {
        self.machine.state(state).map_or(&[], |state| state.facets)
    }

    pub(crate) fn schema(&self, event: &str) -> &Value {
        &self
            .definition
            .events
            .iter()
            .find(|declared| declared.event_type == event)
            .expect("a declared event")
            .schema
    }

    /// Evidence that nothing in this row objects to.
    pub(crate) fn flawless_evidence(&self, rule: &Rule) -> Value {
        let guards: Map<String, Value> =
            rule.guards.iter().map(|&guard| (guard.to_owned(), json!(true))).collect();
        let mut evidence = json!({ "guards": guards });
        if rule.audit {
            evidence["audit_ref"] = json!("A-1");
        }
        if let Some(facet) = self.facets(rule.to).first() {
            evidence["facet"] = json!(facet);
        }
        if let Some(event) = rule.event {
            evidence["event"] = valid_payload(self.schema(event));
        }
        evidence
    }
}

fn orchestrator_rules_with_a_birth_by_system() -> Vec<Rule> {
    let mut rules = (reference::orchestrator_run::MACHINE.rules)();
    let birth = *rules.iter().find(|rule| rule.from.is_none()).expect("a birth");
    rules.push(Rule { actor: "system", trigger: ("timer", "test_birth"), event: None, ..birth });
    rules
}

fn birth_by_system(definition: &Definition) -> Transition {
    let birth =
        definition.transitions.iter().find(|row| row.from.is_none()).expect("a birth").clone();
    Transition {
        transition_id: birth.transition_id.replace("/executor_dot991", "/system"),
        actor: ActorClass::System,
        trigger_kind: TriggerKind::Timer,
        trigger_ref: "test_birth".to_owned(),
        event: None,
        ..birth
    }
}

/// The logins that can move runs.
pub(crate) const MOVERS: [Role; 4] =
    [Role::App, Role::CutterExec, Role::CutterVerify, Role::CutterReview];

/// Who may act for a class, written from the duties and not from `identity.login_actor_class`.
pub(crate) fn may_act(login: Role, class: &str) -> bool {
    match class {
        "executor_dot991" => login == Role::CutterExec,
        "verifier_dot992" => login == Role::CutterVerify,
        "review_authority" => login == Role::CutterReview,
        // Who authorizes a run reviews its manifest in the same transaction.
        "sovereign" => [Role::App, Role::CutterReview].contains(&login),
        "observer" => false,
        other => login == Role::App && ACTOR_CLASSES.contains(&other),
    }
}

/// The login to ask for a class; a class that none may act for is asked as the app.
pub(crate) fn login_of(class: &str) -> Role {
    MOVERS.into_iter().find(|&login| may_act(login, class)).unwrap_or(Role::App)
}

/// The smallest value that a schema accepts: its required members and no others.
pub(crate) fn valid_payload(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|allowed| allowed.first()) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
            let member = |name: &Value| {
                let name = name.as_str().expect("a member's name");
                (name.to_owned(), valid_payload(&schema["properties"][name]))
            };
            Value::Object(required.iter().map(member).collect())
        }
        Some("string") => json!("x"),
        Some("boolean") => json!(true),
        other => panic!("no event of a shipped machine has asked for {other:?} so far"),
    }
}

/// A second, smaller reading of the schema subset: exactly the keywords the shipped machines use.
pub(crate) fn accepts(schema: &Value, value: &Value) -> bool {
    let keywords = schema.as_object().expect("a schema is an object");
    keywords.iter().all(|(keyword, rule)| match keyword.as_str() {
        "type" => match rule.as_str().expect("one type") {
            "object" => value.is_object(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            other => panic!("type {other} is not read here yet"),
        },
        "enum" => rule.as_array().expect("a list").contains(value),
        "required" => rule
            .as_array()
            .expect("a list")
            .iter()
            .all(|name| value.get(name.as_str().expect("a name")).is_some()),
        "properties" => {
            let properties = rule.as_object().expect("properties");
            properties
                .iter()
                .all(|(name, schema)| value.get(name).is_none_or(|member| accepts(schema, member)))
        }
        "additionalProperties" => {
            rule.as_bool() == Some(true)
                || value.as_object().is_none_or(|members| {
                    members.keys().all(|name| schema["properties"].get(name).is_some())
                })
        }
        other => panic!("{other} is not read here yet"),
    })
}

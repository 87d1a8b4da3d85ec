//! Random requests: mostly a legal move, otherwise one with flaws, a repetition, or a key used for something else.

use std::collections::BTreeMap;

use chancery_model::machine::schema_subset::DENIED_KEYS;
use chancery_reference::model::{Command, Model, Outcome, Run};
use chancery_reference::rules::{ACTOR_CLASSES, Rule, TRIGGER_KINDS};
use chancery_store::Role;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use uuid::Uuid;

use super::request::Request;
use crate::shipped::{MOVERS, Shipped, accepts, login_of, valid_payload};

pub(super) const EVERYBODY: &str = "everybody";

/// Name, active, classes.
pub(super) const PRINCIPALS: [(&str, bool, &[&str]); 4] = [
    (EVERYBODY, true, &ACTOR_CLASSES),
    ("retired", false, &ACTOR_CLASSES),
    ("bystander", true, &[]),
    ("specialist", true, &["system", "pic_human", "executor_dot991", "reviewer"]),
];

/// Where a request can be wrong. A birth does not send `from`, `to` or a run that could be unknown.
#[derive(Debug, Clone, Copy)]
enum Flaw {
    Trigger,
    Class,
    Principal,
    Key,
    From,
    To,
    Run,
    Guard,
    Audit,
    Facet,
}

/// Draws requests and remembers what was sent.
pub(super) struct Generator<'a> {
    shipped: &'a Shipped,
    rng: StdRng,
    runs: Vec<String>,
    sent: Vec<Request>,
    /// The request each key was used for.
    used: BTreeMap<(String, String), Request>,
}

impl<'a> Generator<'a> {
    pub(super) fn new(shipped: &'a Shipped, seed: u64) -> Self {
        let rng = StdRng::seed_from_u64(seed);
        Self { shipped, rng, runs: Vec::new(), sent: Vec::new(), used: BTreeMap::new() }
    }

    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.rng.gen_ratio(percent, 100)
    }

    /// The next request against what the model holds now.
    pub(super) fn draw(&mut self, model: &Model) -> Request {
        let goes_on = |run: &&String| {
            let state = model.run(run).map(Run::state);
            model.rules_from(state).next().is_some()
        };
        let open: Vec<String> = self.runs.iter().filter(goes_on).cloned().collect();
        let mut request = match self.rng.gen_range(0..100) {
            _ if open.len() < 3 && self.chance(40) => self.birth(model),
            0..8 => self.birth(model),
            8..16 if !self.sent.is_empty() => self.pick_cloned(|all| &all.sent),
            16..24 if !self.used.is_empty() => self.key_for_something_else(model),
            24..28 => self.a_move(model, None),
            _ => {
                let run = open.choose(&mut self.rng).cloned();
                self.a_move(model, run)
            }
        };
        request.command.event_payload_valid = self.tell_of_payload(model, &request);
        self.sent.push(request.clone());
        request
    }

    /// Remembers what the answer means for later requests.
    pub(super) fn learn(&mut self, request: &Request, outcome: &Outcome) {
        if let Outcome::Accepted { from, .. } = outcome {
            let key = (request.command.run.clone(), request.command.idempotency_key.clone());
            self.used.insert(key, request.clone());
            if from.is_none() {
                self.runs.push(request.command.run.clone());
            }
        }
    }

    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        *among.choose(&mut self.rng).expect("something to pick from")
    }

    fn pick_cloned(&mut self, of: impl Fn(&Self) -> &Vec<Request>) -> Request {
        let place = self.rng.gen_range(0..of(self).len());
        of(self)[place].clone()
    }

    fn fresh_id(&mut self) -> String {
        Uuid::from_u128(self.rng.r#gen()).to_string()
    }

    fn birth(&mut self, model: &Model) -> Request {
        let births: Vec<Rule> = model.rules_from(None).copied().collect();
        let rule = self.pick(&births);
        let run = self.fresh_id();
        let mut request = self.flawless(run, &rule);
        self.spoil(model, &mut request, &rule);
        request
    }

    /// A move of this run, or of any run at all when none is given.
    fn a_move(&mut self, model: &Model, run: Option<String>) -> Request {
        let run = run
            .or_else(|| self.runs.choose(&mut self.rng).cloned())
            .unwrap_or_else(|| self.fresh_id());
        let state = model.run(&run).map(Run::state);
        let mut rows: Vec<Rule> =
            model.rules_from(state).filter(|rule| rule.from.is_some()).copied().collect();
        if rows.is_empty() || self.chance(15) {
            rows = model.rules().iter().filter(|rule| rule.from.is_some()).copied().collect();
        }
        let rule = self.pick(&rows);
        let mut request = self.flawless(run, &rule);
        self.spoil(model, &mut request, &rule);
        request
    }

    fn flawless(&mut self, run: String, rule: &Rule) -> Request {
        let facets = self.shipped.facets(rule.to);
        let command = Command {
            run,
            from: rule.from.filter(|_| self.chance(50)),
            to: rule.to,
            actor_class: rule.actor,
            trigger_kind: rule.trigger.0,
            trigger_ref: rule.trigger.1,
            principal: EVERYBODY.to_owned(),
            idempotency_key: format!("k{}", self.sent.len()),
            guard_truths: rule.guards.iter().map(|guard| (*guard, true)).collect(),
            audit_ref: rule.audit || self.chance(20),
            facet: facets.choose(&mut self.rng).copied(),
            event_payload_valid: true,
        };
        Request { birth: rule.from.is_none(), command, payload: None, login: Role::App }
    }

    /// Adds none, one or several flaws; then a payload for the row that the request now asks for.
    fn spoil(&mut self, model: &Model, request: &mut Request, rule: &Rule) {
        let flaws = [0, 0, 0, 0, 0, 1, 1, 1, 2, 3];
        for _ in 0..self.pick(&flaws) {
            self.flaw(request, rule);
        }
        // A run is started by chancery_app or not at all: only that login has the door.
        request.login = match request.birth {
            true => Role::App,
            false if self.chance(5) => self.pick(&MOVERS),
            false => login_of(request.command.actor_class),
        };
        let event = self.row(model, request).and_then(|row| row.event);
        request.payload = event.and_then(|event| self.payload(event));
    }

    /// One thing wrong that this row can notice.
    fn flaw(&mut self, request: &mut Request, rule: &Rule) {
        let mut flaws = vec![Flaw::Trigger, Flaw::Class, Flaw::Principal, Flaw::Key];
        if !request.birth {
            flaws.extend([Flaw::From, Flaw::To, Flaw::Run]);
        }
        if !rule.guards.is_empty() {
            flaws.extend([Flaw::Guard, Flaw::Guard]);
        }
        if rule.audit {
            flaws.push(Flaw::Audit);
        }
        if !self.shipped.facets(rule.to).is_empty() {
            // Few rows lead to a state with facets, so their flaw is drawn more often.
            flaws.extend([Flaw::Facet; 12]);
        }
        let states: Vec<&'static str> =
            self.shipped.machine.states.iter().map(|state| state.code).collect();
        let command = &mut request.command;
        match self.pick(&flaws) {
            Flaw::Trigger if self.chance(50) => command.trigger_kind = self.pick(&TRIGGER_KINDS),
            Flaw::Trigger => command.trigger_ref = "something_else",
            Flaw::Class if self.chance(80) => command.actor_class = self.pick(&ACTOR_CLASSES),
            Flaw::Class => command.actor_class = "stranger",
            Flaw::Principal => {
                command.principal =
                    self.pick(&["nobody", "retired", "bystander", "specialist"]).to_owned()
            }
            Flaw::Key if self.chance(30) => command.idempotency_key = "k".repeat(201),
            Flaw::Key => command.idempotency_key = self.pick(&["", " ", "   "]).to_owned(),
            Flaw::From if self.chance(80) => command.from = Some(self.pick(&states)),
            Flaw::From => command.from = Some("limbo"),
            Flaw::To if self.chance(70) => command.to = self.pick(&states),
            Flaw::To => command.to = "nowhere",
            Flaw::Run => command.run = self.fresh_id(),
            Flaw::Guard if self.chance(30) => command.guard_truths = BTreeMap::new(),
            Flaw::Guard => {
                command.guard_truths.insert(self.pick(rule.guards), false);
            }
            Flaw::Audit => command.audit_ref = false,
            Flaw::Facet if self.chance(50) => command.facet = Some("waiting_for_godot"),
            Flaw::Facet => command.facet = None,
        }
    }

    /// Something that was done, asked again with one thing changed under the same key.
    fn key_for_something_else(&mut self, model: &Model) -> Request {
        let keys: Vec<(String, String)> = self.used.keys().cloned().collect();
        let key = keys.choose(&mut self.rng).expect("the caller looked");
        let mut request = self.used[key].clone();
        let command = &mut request.command;
        let kinds = if request.birth { 0..7 } else { 1..10 };
        match self.rng.gen_range(kinds) {
            // The words of the birth, but asked of a run that is already there.
            0 => request.birth = false,
            1 => command.audit_ref = !command.audit_ref,
            2 => {
                command.guard_truths.insert("G-UNHEARD-OF", true);
            }
            3 => command.trigger_ref = "something_else",
            4 => command.principal = self.pick(&["retired", "specialist", "nobody"]).to_owned(),
            5 => command.actor_class = self.pick(&ACTOR_CLASSES),
            6 => request.payload = Some(json!({ "unheard_of": self.sent.len() })),
            7 => command.to = self.pick(model.machine().states).code,
            8 => command.from = Some(self.pick(model.machine().states).code),
            // Not another request: a repetition may leave the state open, and any login may hear the first answer.
            _ => {
                command.from = None;
                request.login = self.pick(&MOVERS);
            }
        }
        request
    }

    /// The row a request asks for, if there is one.
    fn row(&self, model: &Model, request: &Request) -> Option<&Rule> {
        let asked = &request.command;
        let from = match request.birth {
            true => None,
            false => Some(asked.from.or_else(|| model.run(&asked.run).map(Run::state))?),
        };
        self.shipped.rule(from, asked.to, asked.actor_class)
    }

    /// Mostly a fitting payload; otherwise one that may or may not fit.
    fn payload(&mut self, event: &str) -> Option<Value> {
        let schema = self.shipped.schema(event);
        let mut payload = valid_payload(schema);
        match self.rng.gen_range(0..30) {
            0 => payload["password"] = json!("x"),
            1 => payload["deep"] = json!([{ "Token": 1 }]),
            2 => payload["unheard_of"] = json!(1),
            3 => return None,
            4 => {
                if let Some(first) =
                    payload.as_object_mut().and_then(|members| members.values_mut().next())
                {
                    *first = json!(7);
                }
            }
            5 => {
                if let Some(first) =
                    payload.as_object_mut().and_then(|members| members.values_mut().next())
                {
                    *first = json!("another word");
                }
            }
            6..12 => {
                let optional = schema["properties"].as_object().into_iter().flatten();
                for (name, member) in optional {
                    payload[name] = valid_payload(member);
                }
            }
            _ if payload == json!({}) => return None,
            _ => {}
        }
        Some(payload)
    }

    /// What the model has to be told of the payload.
    ///
    /// For a key in use it only has to hear whether the payload is the one the key stands for: it takes the flag as a part of
    /// the request, and what fitted the row then need not fit the row that the same words would ask for today.
    fn tell_of_payload(&self, model: &Model, request: &Request) -> bool {
        let key = (request.command.run.clone(), request.command.idempotency_key.clone());
        match self.used.get(&key) {
            Some(first) => (request.payload == first.payload) == first.command.event_payload_valid,
            None => self.payload_fits(model, request),
        }
    }

    /// Whether the payload fits the event of the row that is asked for.
    pub(super) fn payload_fits(&self, model: &Model, request: &Request) -> bool {
        let Some(event) = self.row(model, request).and_then(|row| row.event) else {
            return true;
        };
        let payload = request.payload.clone().unwrap_or_else(|| json!({}));
        accepts(self.shipped.schema(event), &payload) && !names_a_denied_key(&payload)
    }
}

fn names_a_denied_key(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, member)| {
            DENIED_KEYS.contains(&name.to_lowercase().as_str()) || names_a_denied_key(member)
        }),
        Value::Array(items) => items.iter().any(names_a_denied_key),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

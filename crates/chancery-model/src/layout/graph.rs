//! What is laid out: steps, relations, lanes and categories of a definition, by key.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A graph with known references, in one order whatever order it was given in: steps by key, relations by their ends.
///
/// Lanes keep the order of the definition. It is the order in which its author wants them from top to bottom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    pub(super) lanes: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(super) steps: Vec<Step>,
    pub(super) relations: Vec<Relation>,
}

/// A step as far as a picture needs it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    pub key: String,
    pub lane: Option<String>,
    pub category: Option<String>,
    /// Whether the step stands for a workflow of its own. It is one node here.
    pub sub_workflow: bool,
    /// Where the step comes from, in a union of two definitions.
    pub mark: Option<Mark>,
}

impl Step {
    /// A step without a lane or a category.
    pub fn new(key: impl Into<String>) -> Self {
        Self { key: key.into(), ..Self::default() }
    }
}

/// An arrow from one step to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    pub from: String,
    pub to: String,
    pub kind: RelationKind,
    /// The words on the arrow, as the definition has them.
    pub label: Option<Value>,
    /// Where the relation comes from, in a union of two definitions.
    pub mark: Option<Mark>,
}

impl Relation {
    /// A plain trigger.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self {
            from: from.into(),
            to: to.into(),
            kind: RelationKind::Trigger,
            label: None,
            mark: None,
        }
    }

    fn ends(&self) -> (&str, &str, RelationKind) {
        (&self.from, &self.to, self.kind)
    }
}

/// How the step before counts for the step after.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum RelationKind {
    #[default]
    Trigger,
    And,
    Or,
    Condition,
    Parallel,
    SubWorkflow,
}

/// On which side of a comparison a step or relation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Only in the proposed definition.
    Added,
    /// Only in the base.
    Removed,
    /// In both.
    Kept,
}

/// Why a document is no graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{at} is not {wanted}")]
    Shape { at: String, wanted: &'static str },
    #[error("{what} {key:?} is named by {by} and is not there")]
    Unknown { what: &'static str, key: String, by: String },
    #[error("{what} {key:?} is there twice")]
    Twice { what: &'static str, key: String },
    #[error("{kind:?} is no kind of relation")]
    Kind { kind: String },
}

impl Graph {
    /// Checks the references and puts everything in order.
    ///
    /// # Errors
    /// When a key is there twice, or one is named that is not there.
    pub fn new(
        lanes: Vec<String>,
        mut categories: Vec<String>,
        mut steps: Vec<Step>,
        mut relations: Vec<Relation>,
    ) -> Result<Self, Error> {
        categories.sort();
        steps.sort_by(|a, b| a.key.cmp(&b.key));
        relations.sort_by(|a, b| {
            a.ends().cmp(&b.ends()).then_with(|| words(&a.label).cmp(&words(&b.label)))
        });
        let lane_set = distinct("lane", lanes.iter())?;
        let category_set = distinct("category", categories.iter())?;
        let keys = distinct("step", steps.iter().map(|step| &step.key))?;
        for step in &steps {
            known("lane", &lane_set, step.lane.as_ref(), || format!("step {:?}", step.key))?;
            let by = || format!("step {:?}", step.key);
            known("category", &category_set, step.category.as_ref(), by)?;
        }
        for relation in &relations {
            let by = || format!("the relation from {:?} to {:?}", relation.from, relation.to);
            known("step", &keys, Some(&relation.from), by)?;
            known("step", &keys, Some(&relation.to), by)?;
        }
        Ok(Self { lanes, categories, steps, relations })
    }

    /// Reads keys, lanes, categories and relations of a definition document, and nothing else of it.
    ///
    /// # Errors
    /// When the document has another shape, or names what it does not have. The database has looked before.
    pub fn of_definition(document: &Value) -> Result<Self, Error> {
        let keys = |name| -> Result<Vec<String>, Error> {
            list(document, name)?.map(|(at, item)| text(item, &at, "key")).collect()
        };
        let steps = list(document, "steps")?
            .map(|(at, step)| {
                Ok(Step {
                    key: text(step, &at, "key")?,
                    lane: optional_text(step, &at, "lane")?,
                    category: optional_text(step, &at, "category")?,
                    sub_workflow: step.get("sub_workflow").is_some_and(|value| !value.is_null()),
                    mark: None,
                })
            })
            .collect::<Result<_, Error>>()?;
        let relations = list(document, "relations")?
            .map(|(at, relation)| {
                let kind = optional_text(relation, &at, "kind")?;
                Ok(Relation {
                    from: text(relation, &at, "from")?,
                    to: text(relation, &at, "to")?,
                    kind: kind.map_or_else(|| Ok(RelationKind::default()), kind_of)?,
                    label: relation.get("label").filter(|label| !label.is_null()).cloned(),
                    mark: None,
                })
            })
            .collect::<Result<_, Error>>()?;
        Self::new(keys("lanes")?, keys("categories")?, steps, relations)
    }

    /// The keys of the lanes, from top to bottom.
    pub fn lanes(&self) -> &[String] {
        &self.lanes
    }

    /// The keys of the categories, in order.
    pub fn categories(&self) -> &[String] {
        &self.categories
    }

    /// The steps, by key.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The relations, by their ends.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }
}

/// Every step and relation of both, marked, so that one layout serves the comparison.
///
/// What both have is as the proposed one has it: its lane, its category, its label. A relation is the same when its ends and its kind
/// are. The result may have a cycle where neither has one.
pub fn union(base: &Graph, proposed: &Graph) -> Graph {
    let mut steps: BTreeMap<&str, Step> = BTreeMap::new();
    for step in &base.steps {
        steps.insert(&step.key, Step { mark: Some(Mark::Removed), ..step.clone() });
    }
    for step in &proposed.steps {
        let mark = if steps.contains_key(step.key.as_str()) { Mark::Kept } else { Mark::Added };
        steps.insert(&step.key, Step { mark: Some(mark), ..step.clone() });
    }
    let of_base: BTreeSet<_> = base.relations.iter().map(Relation::ends).collect();
    let of_proposed: BTreeSet<_> = proposed.relations.iter().map(Relation::ends).collect();
    let mut relations = Vec::new();
    for relation in &proposed.relations {
        let mark = if of_base.contains(&relation.ends()) { Mark::Kept } else { Mark::Added };
        relations.push(Relation { mark: Some(mark), ..relation.clone() });
    }
    for relation in base.relations.iter().filter(|r| !of_proposed.contains(&r.ends())) {
        relations.push(Relation { mark: Some(Mark::Removed), ..relation.clone() });
    }
    relations.sort_by(|a, b| {
        a.ends().cmp(&b.ends()).then_with(|| words(&a.label).cmp(&words(&b.label)))
    });
    let mut categories: BTreeSet<String> = base.categories.iter().cloned().collect();
    categories.extend(proposed.categories.iter().cloned());
    Graph {
        lanes: merged_lanes(&base.lanes, &proposed.lanes),
        categories: categories.into_iter().collect(),
        steps: steps.into_values().collect(),
        relations,
    }
}

/// The proposed lanes in their order. A lane that only the base has stays behind the one it followed there.
fn merged_lanes(base: &[String], proposed: &[String]) -> Vec<String> {
    let mut lanes = proposed.to_vec();
    let mut place = 0;
    for lane in base {
        match lanes.iter().position(|other| other == lane) {
            Some(at) => place = at + 1,
            None => {
                lanes.insert(place, lane.clone());
                place += 1;
            }
        }
    }
    lanes
}

fn words(label: &Option<Value>) -> String {
    label.as_ref().map(Value::to_string).unwrap_or_default()
}

fn distinct<'a>(
    what: &'static str,
    keys: impl Iterator<Item = &'a String>,
) -> Result<BTreeSet<&'a str>, Error> {
    let mut set = BTreeSet::new();
    for key in keys {
        if !set.insert(key.as_str()) {
            return Err(Error::Twice { what, key: key.clone() });
        }
    }
    Ok(set)
}

fn known(
    what: &'static str,
    keys: &BTreeSet<&str>,
    key: Option<&String>,
    by: impl Fn() -> String,
) -> Result<(), Error> {
    match key {
        Some(key) if !keys.contains(key.as_str()) => {
            Err(Error::Unknown { what, key: key.clone(), by: by() })
        }
        _ => Ok(()),
    }
}

/// The items of a list, with where they stand; a list that is absent is empty.
fn list<'a>(
    document: &'a Value,
    name: &'static str,
) -> Result<impl Iterator<Item = (String, &'a Value)>, Error> {
    let items: &[Value] = match document.get(name) {
        None | Some(Value::Null) => &[],
        Some(Value::Array(items)) => items,
        Some(_) => return Err(Error::Shape { at: name.to_owned(), wanted: "a list" }),
    };
    Ok(items.iter().enumerate().map(move |(index, item)| (format!("{name}[{index}]"), item)))
}

fn text(item: &Value, at: &str, name: &str) -> Result<String, Error> {
    optional_text(item, at, name)?
        .ok_or_else(|| Error::Shape { at: format!("{at}.{name}"), wanted: "a text" })
}

fn optional_text(item: &Value, at: &str, name: &str) -> Result<Option<String>, Error> {
    match item.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Error::Shape { at: format!("{at}.{name}"), wanted: "a text" }),
    }
}

fn kind_of(name: String) -> Result<RelationKind, Error> {
    match name.as_str() {
        "trigger" => Ok(RelationKind::Trigger),
        "and" => Ok(RelationKind::And),
        "or" => Ok(RelationKind::Or),
        "condition" => Ok(RelationKind::Condition),
        "parallel" => Ok(RelationKind::Parallel),
        "sub_workflow" => Ok(RelationKind::SubWorkflow),
        _ => Err(Error::Kind { kind: name }),
    }
}

//! Versions of workflows: each is the text that was merged, and its steps, tasks, relations and permissions are what that text says.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::sync::Arc;

use chancery_model::cutter::derived_uuid;
use chancery_store::{RawRow, Shape, Snapshot};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::check::Checker;
use super::report::Report;
use super::rows::{Row, Rows, Source};
use super::signers::Signers;
use super::span::Span;
use super::table::{self, PERMISSION, REGISTRY, RELATION, STEP_DEF, TASK_DEF, WORKFLOW};
use super::whole::found;
use crate::Error;

/// Versions that are looked at together.
const PAGE: i64 = 20;
/// Steps of versions that are kept for the runs that follow.
const KEPT: usize = 100_000;

const RULE: &str = "definition_is_what_was_merged";

/// A step or task as its definition says.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) key: String,
    pub(super) def_id: Uuid,
    pub(super) executor: String,
    pub(super) optional: bool,
    pub(super) has_deadline: bool,
    /// Where the text says it in words that are understood here.
    pub(super) deadline: Option<Span>,
    pub(super) tasks: Vec<Part>,
    /// How many relations of each join lead here.
    pub(super) joins: [i64; 3],
    /// Where the step stands in the text.
    place: usize,
}

/// A way from one step to another, by their numbers from 0.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) from: usize,
    pub(super) to: usize,
    /// 0: all of them, 1: one of them, 2: all are decided and one is taken.
    pub(super) join: usize,
    pub(super) conditional: bool,
}

/// A version, from its text alone.
#[derive(Debug)]
pub(super) struct Version {
    pub(super) workflow: String,
    pub(super) class: String,
    /// By their numbers from 0.
    pub(super) steps: Vec<Part>,
    /// In the order of the text.
    pub(super) ways: Vec<Way>,
}

fn text<'a>(value: &'a Value, member: &str) -> Option<&'a str> {
    value[member].as_str()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The numbers of steps: each after all that lead to it, in the order of the text where that leaves a choice.
fn numbers(count: usize, ways: &[(usize, usize)]) -> Vec<usize> {
    let ways: BTreeSet<(usize, usize)> = ways.iter().copied().collect();
    let mut left = vec![0_usize; count];
    let mut out = vec![Vec::new(); count];
    for (from, to) in ways {
        left[to] += 1;
        out[from].push(to);
    }
    // Of the steps that may come next, the first of the text: a queue would number all starts before what follows one of them.
    let mut open: BinaryHeap<Reverse<usize>> =
        (0..count).filter(|step| left[*step] == 0).map(Reverse).collect();
    // In a cycle nothing has a number; no merge lets one in.
    let mut numbers = vec![count; count];
    let mut number = 0;
    while let Some(Reverse(step)) = open.pop() {
        numbers[step] = number;
        number += 1;
        for &next in &out[step] {
            left[next] -= 1;
            if left[next] == 0 {
                open.push(Reverse(next));
            }
        }
    }
    numbers
}

fn part(doc: &Value, def_id: Uuid, place: usize) -> Part {
    let executor = if doc.get("sub_workflow").is_some() { "sub_workflow" } else { "human" };
    let executor = match executor {
        "human" => text(doc, "executor").unwrap_or("human"),
        other => other,
    };
    let deadline = text(doc, "deadline");
    Part {
        key: text(doc, "key").unwrap_or_default().to_owned(),
        def_id,
        executor: executor.to_owned(),
        optional: doc["optional"] == true,
        has_deadline: deadline.is_some(),
        deadline: deadline.and_then(Span::of_words),
        tasks: Vec::new(),
        joins: [0; 3],
        place,
    }
}

impl Version {
    fn of(version: Row<'_>) -> Self {
        let doc = version.json("definition");
        Self::parse(&doc, version.id("workflow_def_id"))
    }

    fn parse(doc: &Value, def: Uuid) -> Self {
        let steps = list(&doc["steps"]);
        let places: HashMap<&str, usize> = steps
            .iter()
            .enumerate()
            .filter_map(|(n, step)| Some((text(step, "key")?, n)))
            .collect();
        let relations = list(&doc["relations"]).iter();
        let ends: Vec<(usize, usize, &Value)> = relations
            .filter_map(|way| {
                Some((*places.get(text(way, "from")?)?, *places.get(text(way, "to")?)?, way))
            })
            .collect();
        let pairs: Vec<(usize, usize)> = ends.iter().map(|(from, to, _)| (*from, *to)).collect();
        let numbers = numbers(steps.len(), &pairs);
        let mut parts: Vec<(usize, Part)> = steps
            .iter()
            .enumerate()
            .map(|(place, step)| {
                let key = text(step, "key").unwrap_or_default();
                let mut made = part(step, derived_uuid(def, key), place);
                let tasks = list(&step["tasks"]).iter().enumerate();
                made.tasks = tasks
                    .map(|(n, task)| {
                        let name = format!("{key}/{}", text(task, "key").unwrap_or_default());
                        part(task, derived_uuid(def, &name), n)
                    })
                    .collect();
                (numbers[place], made)
            })
            .collect();
        parts.sort_by_key(|(number, _)| *number);
        let mut steps: Vec<Part> = parts.into_iter().map(|(_, part)| part).collect();
        let ways: Vec<Way> = ends
            .iter()
            .map(|(from, to, way)| Way {
                from: numbers[*from],
                to: numbers[*to],
                join: match text(way, "kind") {
                    Some("and") => 0,
                    Some("or") => 1,
                    _ => 2,
                },
                conditional: way.get("when").is_some(),
            })
            .collect();
        for way in &ways {
            if let Some(step) = steps.get_mut(way.to) {
                step.joins[way.join] += 1;
            }
        }
        Self {
            workflow: text(doc, "workflow").unwrap_or_default().to_owned(),
            class: text(doc, "class").unwrap_or("standard").to_owned(),
            steps,
            ways,
        }
    }
}

/// Versions that runs were looked at with; as many as have not too many steps.
#[derive(Debug, Default)]
pub(super) struct Versions {
    known: HashMap<Uuid, Option<Arc<Version>>>,
    steps: usize,
}

impl Versions {
    /// The version of this id, if there is one.
    pub(super) async fn get(
        &mut self,
        snapshot: &mut Snapshot,
        stamped: &HashMap<&'static str, Shape>,
        id: Uuid,
    ) -> Result<Option<Arc<Version>>, Error> {
        if let Some(known) = self.known.get(&id) {
            return Ok(known.clone());
        }
        let key = "workflow_def_id";
        let found = snapshot.evidence_of(&stamped[WORKFLOW], key, &[id], &[key]).await?;
        let version = found.first().map(|raw| Arc::new(Version::of(Row { table: WORKFLOW, raw })));
        let steps = version.as_ref().map_or(0, |version| version.steps.len());
        if self.steps + steps > KEPT {
            self.known.clear();
            self.steps = 0;
        }
        self.steps += steps;
        self.known.insert(id, version.clone());
        Ok(version)
    }
}

/// The tables that a version was cut into.
struct Shapes {
    step: Shape,
    task: Shape,
    relation: Shape,
    permission: Shape,
    registry: Shape,
}

impl Shapes {
    async fn read(snapshot: &mut Snapshot) -> Result<Self, Error> {
        let names = [STEP_DEF, TASK_DEF, RELATION, PERMISSION, REGISTRY];
        let mut shapes = snapshot.shapes(&names).await?.into_iter();
        let mut next = || shapes.next().expect("a shape for each name");
        Ok(Self {
            step: next(),
            task: next(),
            relation: next(),
            permission: next(),
            registry: next(),
        })
    }
}

/// Looks at every version in the order of its number, and at the registry, which names the newest.
pub(super) async fn verify(
    source: &mut Source<'_>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(), Error> {
    let (snapshot, stamped) = source.reader();
    let shapes = Shapes::read(snapshot).await?;
    let mut newest: BTreeMap<String, (i64, Uuid)> = BTreeMap::new();
    let order = [("workflow", "text"), ("version", "integer")];
    let mut after: Option<Vec<String>> = None;
    loop {
        let page =
            snapshot.evidence_page(&stamped[WORKFLOW], &order, after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { break };
        let last = Row { table: WORKFLOW, raw: last };
        after = Some(order.iter().map(|(column, _)| last.text(column).to_owned()).collect());
        for raw in page {
            let rows = parts(snapshot, &shapes, raw).await?;
            let mut checker = Checker::new(&rows, signers, report);
            checker.digests(|_| true);
            for version in rows.all(WORKFLOW) {
                checker.version(version);
                let number = version.number("version").unwrap_or_default();
                let id = version.id("workflow_def_id");
                let before = newest.insert(version.text("workflow").to_owned(), (number, id));
                let before = before.map_or(0, |(number, _)| number);
                if number != before + 1 {
                    let what = format!("number {number} follows {before}");
                    checker.wrong(version, "versions_are_numbered", what);
                }
            }
        }
        progress(report);
    }
    registry(snapshot, &shapes, newest, report).await
}

/// A version with what it was cut into.
async fn parts(snapshot: &mut Snapshot, shapes: &Shapes, raw: RawRow) -> Result<Rows, Error> {
    let id = Row { table: WORKFLOW, raw: &raw }.id("workflow_def_id");
    let mut rows = Rows::default();
    rows.add(WORKFLOW, vec![raw]);
    let (key, order) = ("workflow_def_id", ["step_no"]);
    rows.add(STEP_DEF, snapshot.evidence_of(&shapes.step, key, &[id], &order).await?);
    let order = ["relation_no"];
    rows.add(RELATION, snapshot.evidence_of(&shapes.relation, key, &[id], &order).await?);
    let (key, steps) = ("step_def_id", super::rows::ids(rows.all(STEP_DEF), "step_def_id"));
    let steps: Vec<Uuid> = steps.into_iter().collect();
    let order = ["step_def_id", "task_no"];
    rows.add(TASK_DEF, snapshot.evidence_of(&shapes.task, key, &steps, &order).await?);
    let order = ["step_def_id", "actor_class"];
    rows.add(PERMISSION, snapshot.evidence_of(&shapes.permission, key, &steps, &order).await?);
    Ok(rows)
}

async fn registry(
    snapshot: &mut Snapshot,
    shapes: &Shapes,
    mut newest: BTreeMap<String, (i64, Uuid)>,
    report: &mut Report,
) -> Result<(), Error> {
    const RULE: &str = "registry_names_the_newest";
    let mut after: Option<Vec<String>> = None;
    loop {
        let key = table::key_of(REGISTRY);
        let page = snapshot.evidence_page(&shapes.registry, key, after.as_deref(), 1_000).await?;
        let Some(last) = page.last() else { break };
        after = Some(vec![Row { table: REGISTRY, raw: last }.key()]);
        for raw in &page {
            let row = Row { table: REGISTRY, raw };
            let stands =
                (row.number("current_version").unwrap_or_default(), row.id("current_def_id"));
            if newest.remove(row.text("workflow")) != Some(stands) {
                let what = "the version that it names is not the newest of its workflow";
                report.found(found(REGISTRY, row.key(), None, RULE, what));
            }
        }
    }
    for workflow in newest.into_keys() {
        let what = "the workflow has versions and is not in the registry";
        report.found(found(REGISTRY, workflow, None, RULE, what));
    }
    Ok(())
}

/// A condition without what PostgreSQL writes in another way than it was written; nothing where more than that may differ.
fn plain(condition: &str) -> Option<String> {
    let spoken = |c: char| c.is_ascii_alphanumeric() || "_$.@\"'=<>!&|() ".contains(c);
    let odd = ["<>", "like_regex", "lax", "strict", "starts", "'"];
    let has_fraction = condition.as_bytes().windows(2).any(|pair| {
        pair[0].is_ascii_digit() && (pair[1] == b'.' || pair[1].eq_ignore_ascii_case(&b'e'))
            || pair[0] == b'.' && pair[1].is_ascii_digit()
    });
    if has_fraction
        || !condition.chars().all(spoken)
        || odd.iter().any(|word| condition.contains(word))
    {
        return None;
    }
    Some(condition.chars().filter(|c| !" ()\"".contains(*c)).collect())
}

impl<'a> Checker<'a> {
    fn version(&mut self, version: Row<'a>) {
        self.of_its_text(version, "definition", "definition_sha256");
        let doc = version.json("definition");
        let made = Version::of(version);
        self.expect(version, RULE, "workflow", Some(&made.workflow));
        let steps: Vec<Row<'a>> = self.rows.all(STEP_DEF).collect();
        if steps.len() != made.steps.len() {
            let what = format!("it has {} steps, not {}", steps.len(), made.steps.len());
            self.wrong(version, RULE, what);
        }
        let docs = list(&doc["steps"]);
        let mut tasks: HashMap<&str, Vec<Row<'a>>> = HashMap::new();
        for task in self.rows.all(TASK_DEF) {
            tasks.entry(task.text("step_def_id")).or_default().push(task);
        }
        let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
        for (number, (row, step)) in steps.iter().copied().zip(&made.steps).enumerate() {
            let doc = &docs[step.place];
            self.expect(row, RULE, "step_no", Some(&(number + 1).to_string()));
            self.step_def(row, step, doc);
            let tasks = tasks.remove(row.text("step_def_id")).unwrap_or_default();
            if tasks.len() != step.tasks.len() {
                let what = format!("it has {} tasks, not {}", tasks.len(), step.tasks.len());
                self.wrong(row, RULE, what);
            }
            for (row, task) in tasks.into_iter().zip(&step.tasks) {
                self.expect(row, RULE, "task_key", Some(&task.key));
                self.expect(row, RULE, "task_no", Some(&(task.place + 1).to_string()));
                self.expect(row, RULE, "task_def_id", Some(&task.def_id.to_string()));
                self.part_def(row, task, &list(&doc["tasks"])[task.place]);
            }
            let classes = list(&doc["visible_to"]).iter().filter_map(Value::as_str);
            seen.extend(classes.map(|class| (step.def_id.to_string(), class.to_owned())));
        }
        let stored: BTreeSet<(String, String)> = self
            .rows
            .all(PERMISSION)
            .map(|row| (row.text("step_def_id").to_owned(), row.text("actor_class").to_owned()))
            .collect();
        if stored != seen {
            self.wrong(version, RULE, "its steps are seen by others than it says");
        }
        self.relation_defs(version, &made, &doc);
    }

    /// A column of bytes is the SHA-256 of a column of canonical JSON.
    pub(super) fn of_its_text(&mut self, row: Row<'_>, text: &str, digest: &str) {
        let expected = hex::encode(Sha256::digest(row.text(text)));
        self.expect(row, "digest_is_of_the_text", digest, Some(&expected));
        self.canonical(row, text);
    }

    fn step_def(&mut self, row: Row<'a>, step: &Part, doc: &Value) {
        let joins = step.joins.map(|joins| joins.to_string());
        let flag = |member: &str| (doc[member] == true).to_string();
        self.expect_all(
            row,
            RULE,
            &[
                ("step_key", Some(&step.key)),
                ("step_def_id", Some(&step.def_id.to_string())),
                ("optional", Some(&flag("optional"))),
                ("milestone", Some(&flag("milestone"))),
                ("lane", text(doc, "lane")),
                ("category", text(doc, "category")),
                ("unit_address", text(doc, "unit")),
                ("joins_and", Some(&joins[0])),
                ("joins_or", Some(&joins[1])),
                ("joins_plain", Some(&joins[2])),
                ("has_tasks", Some(&(!step.tasks.is_empty()).to_string())),
            ],
        );
        if row.opt("sub_workflow_def_id").is_some() != (step.executor == "sub_workflow") {
            self.wrong(row, RULE, "it stands for a sub-workflow, or not, against its definition");
        }
        self.part_def(row, step, doc);
    }

    /// What steps and tasks have in common.
    fn part_def(&mut self, row: Row<'a>, part: &Part, doc: &Value) {
        self.expect_all(
            row,
            RULE,
            &[
                ("name_en", doc["title"]["en"].as_str()),
                ("name_vi", doc["title"]["vi"].as_str()),
                ("executor_class", Some(&part.executor)),
                ("retry_policy", Some(text(doc, "retry").unwrap_or("standard"))),
            ],
        );
        let documents = [
            ("pic_rule", "pic", json!({ "starter": true })),
            ("params", "with", json!({})),
            ("output_contract", "output", Value::Null),
        ];
        for (column, member, default) in documents {
            let expected = doc.get(member).unwrap_or(&default);
            if row.json(column) != *expected {
                self.wrong(row, RULE, format!("{column} is not what the definition says"));
            }
        }
        for column in ["precondition", "postcondition"] {
            self.condition(row, column, text(doc, column));
        }
        let stored = row.opt("deadline").map(Span::of_columns);
        let fits = match (stored, part.deadline) {
            (Some(stored), Some(deadline)) => stored == Some(deadline),
            (stored, None) => stored.is_some() == part.has_deadline,
            (None, Some(_)) => false,
        };
        if !fits {
            self.wrong(row, RULE, "the deadline is not what the definition says");
        }
    }

    /// PostgreSQL writes a condition in its own way. Where that is only quotes, parentheses and spaces, the words are compared.
    fn condition(&mut self, row: Row<'a>, column: &str, expected: Option<&str>) {
        let found = row.opt(column);
        let differs = match (found.map(plain), expected.map(plain)) {
            (Some(Some(found)), Some(Some(expected))) => found != expected,
            (found, expected) => found.is_some() != expected.is_some(),
        };
        if differs {
            self.wrong(row, RULE, format!("the {column} is not what the definition says"));
        }
    }

    fn relation_defs(&mut self, version: Row<'a>, made: &Version, doc: &Value) {
        let rows: Vec<Row<'a>> = self.rows.all(RELATION).collect();
        if rows.len() != made.ways.len() {
            let what = format!("it has {} relations, not {}", rows.len(), made.ways.len());
            self.wrong(version, RULE, what);
        }
        let docs = list(&doc["relations"]);
        for (number, (row, way)) in rows.into_iter().zip(&made.ways).enumerate() {
            let Some(doc) = docs.get(number) else { return };
            self.expect_all(
                row,
                RULE,
                &[
                    ("relation_no", Some(&(number + 1).to_string())),
                    ("from_no", Some(&(way.from + 1).to_string())),
                    ("to_no", Some(&(way.to + 1).to_string())),
                    ("relation_kind", Some(text(doc, "kind").unwrap_or("trigger"))),
                    ("label_en", doc["label"]["en"].as_str()),
                    ("label_vi", doc["label"]["vi"].as_str()),
                ],
            );
            self.condition(row, "condition", text(doc, "when"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_numbered_along_their_relations_in_the_order_of_the_text() {
        assert_eq!(numbers(4, &[(0, 3), (3, 1), (0, 2), (2, 1)]), [0, 3, 1, 2]);
        assert_eq!(numbers(3, &[]), [0, 1, 2]);
        assert_eq!(numbers(2, &[(1, 0), (1, 0)]), [1, 0]);
        // Several starts: what follows the first of them comes before the second.
        assert_eq!(numbers(4, &[(0, 1), (2, 3)]), [0, 1, 2, 3]);
        assert_eq!(numbers(4, &[(3, 0), (2, 1)]), [3, 1, 0, 2]);
    }

    #[test]
    fn a_condition_is_compared_by_its_words_where_that_is_all() {
        assert_eq!(plain(r#"$.inputs.amount > 1000"#), plain(r#"($."inputs"."amount" > 1000)"#));
        assert_ne!(plain("$.inputs.amount > 1000"), plain("$.inputs.amount > 9000"));
        assert_eq!(plain("$.a > 1.50"), None);
        assert_eq!(plain(r#"$.a like_regex "^x""#), None);
    }
}

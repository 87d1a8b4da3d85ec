//! Random rules of the subset that machines and workflows may use, and random documents to ask them of.

use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use serde_json::{Map, Value, json};

/// What a member mostly is, by its name; `inner` has the same members again.
const NUMBER: &str = "amount";
const TEXT: &str = "title";
const TRUTH: &str = "urgent";
const LIST: &str = "list";
const OBJECT: &str = "inner";
const NAMES: [&str; 5] = [NUMBER, TEXT, TRUTH, LIST, OBJECT];
const TEXTS: [&str; 4] = ["", "x", "xy", "Ảnh"];
const LAST: &str = "last";
const DEPTH: u32 = 3;

/// A rule, and what it is asked of.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) rule: String,
    pub(super) document: Value,
    /// The document without each of the members that the rule reads.
    pub(super) without: Vec<Value>,
}

pub(super) fn asked(random: &mut StdRng) -> Asked {
    let mut reads = Vec::new();
    let rule = predicate(random, DEPTH, &mut reads);
    reads.sort();
    reads.dedup();
    let document = object(random, 2);
    let without = reads.iter().filter_map(|path| without(&document, path)).collect();
    Asked { rule, document, without }
}

/// Nothing where there is no such member.
fn without(document: &Value, path: &[String]) -> Option<Value> {
    let mut rest = document.clone();
    let (last, way) = path.split_last()?;
    let place = way.iter().try_fold(&mut rest, |value, part| match value {
        Value::Object(members) => members.get_mut(part),
        Value::Array(elements) => {
            let place =
                if part == LAST { elements.len().checked_sub(1)? } else { part.parse().ok()? };
            elements.get_mut(place)
        }
        _ => None,
    })?;
    place.as_object_mut()?.remove(last)?;
    Some(rest)
}

fn object(random: &mut StdRng, depth: u32) -> Value {
    let mut members = Map::new();
    for name in NAMES {
        if random.gen_bool(0.93) {
            members.insert(name.to_owned(), value(random, name, depth));
        }
    }
    Value::Object(members)
}

fn value(random: &mut StdRng, name: &str, depth: u32) -> Value {
    let name = if random.gen_bool(0.05) { one_of(random, &NAMES) } else { name };
    match name {
        _ if random.gen_bool(0.04) => Value::Null,
        NUMBER => json!(random.gen_range(-2..=2)),
        TEXT => json!(one_of(random, &TEXTS)),
        TRUTH => json!(random.gen_bool(0.5)),
        LIST => (0..random.gen_range(0..3)).map(|_| json!(random.gen_range(-2..=2))).collect(),
        _ if depth > 0 => object(random, depth - 1),
        _ => json!({}),
    }
}

fn one_of<'a>(random: &mut StdRng, from: &[&'a str]) -> &'a str {
    from.choose(random).expect("there is something to choose from")
}

/// `$.inner."title"`, and what it reads. Now and then it is misspelt, or leads to something of another type.
fn path(random: &mut StdRng, last: &str, reads: &mut Vec<Vec<String>>) -> String {
    let mut text = "$".to_owned();
    let mut lies_in = Vec::new();
    let mut names = vec![OBJECT; *[0, 0, 0, 1, 1, 2].choose(random).expect("there are depths")];
    names.push(if random.gen_bool(0.05) { one_of(random, &NAMES) } else { last });
    for name in names {
        let name = if random.gen_bool(0.03) { "ammount" } else { name };
        text += &if random.gen_bool(0.2) { format!(".\"{name}\"") } else { format!(".{name}") };
        lies_in.push(name.to_owned());
        reads.push(lies_in.clone());
    }
    text
}

fn number(random: &mut StdRng, depth: u32, reads: &mut Vec<Vec<String>>) -> String {
    match random.gen_range(0..12) {
        0..=3 => random.gen_range(-2..=2).to_string(),
        4 => format!("{}.size()", path(random, LIST, reads)),
        5 => format!("{}[{}]", path(random, LIST, reads), one_of(random, &["0", "1", LAST])),
        6 => format!(
            "{}.{}()",
            path(random, NUMBER, reads),
            one_of(random, &["abs", "floor", "ceiling", "double"])
        ),
        7..=8 if depth > 0 => {
            let operator = one_of(random, &["+", "-", "*", "/", "%"]);
            let (left, right) =
                (number(random, depth - 1, reads), number(random, depth - 1, reads));
            format!("({left} {operator} {right})")
        }
        9 => format!("-({})", path(random, NUMBER, reads)),
        _ => path(random, NUMBER, reads),
    }
}

fn predicate(random: &mut StdRng, depth: u32, reads: &mut Vec<Vec<String>>) -> String {
    if depth > 0 {
        match random.gen_range(0..8) {
            0..=2 => return format!("!({})", predicate(random, depth - 1, reads)),
            3..=4 => {
                return format!(
                    "({} && {})",
                    predicate(random, depth - 1, reads),
                    predicate(random, depth - 1, reads)
                );
            }
            5..=6 => {
                return format!(
                    "({} || {})",
                    predicate(random, depth - 1, reads),
                    predicate(random, depth - 1, reads)
                );
            }
            _ => {}
        }
    }
    let equal = one_of(random, &["==", "!=", "<>"]);
    match random.gen_range(0..10) {
        0..=3 => {
            let operator = one_of(random, &["==", "!=", "<>", "<", "<=", ">", ">="]);
            let (left, right) = (number(random, 1, reads), number(random, 1, reads));
            format!("{left} {operator} {right}")
        }
        4 => format!("{} {equal} {}", path(random, TRUTH, reads), random.gen_bool(0.5)),
        5 => format!("{} {equal} {}", path(random, TEXT, reads), path(random, TEXT, reads)),
        6 => format!("{} {equal} {}", path(random, TEXT, reads), json!(one_of(random, &TEXTS))),
        7 => format!("{} like_regex \"^x\"", path(random, TEXT, reads)),
        8 => format!("{} starts with \"x\"", path(random, TEXT, reads)),
        _ => {
            let name = one_of(random, &NAMES);
            let kind = one_of(random, &["string", "number", "object", "array", "null", "boolean"]);
            let asked = path(random, name, reads);
            if random.gen_bool(0.5) {
                format!("{asked} {equal} null")
            } else {
                format!("{asked}.type() {equal} \"{kind}\"")
            }
        }
    }
}

//! Graphs of a given size and shape, for tests, the benchmark and pictures. The same arguments give the same graph.

use super::{Graph, Relation, Step};

/// A source of numbers that is the same on every machine.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    /// A number below `sides`.
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides.max(1)
    }
}

fn key(number: usize) -> String {
    format!("s{number:05}")
}

fn graph(lanes: usize, steps: Vec<Step>, relations: Vec<Relation>) -> Graph {
    let lanes = (0..lanes).map(|lane| format!("lane_{lane}")).collect();
    let mut categories: Vec<String> =
        steps.iter().filter_map(|step| step.category.clone()).collect();
    categories.sort();
    categories.dedup();
    Graph::new(lanes, categories, steps, relations).expect("it names only what it has")
}

/// One step after the other.
pub fn chain(steps: usize) -> Graph {
    let relations = (1..steps).map(|step| Relation::new(key(step - 1), key(step))).collect();
    graph(0, (0..steps).map(|step| Step::new(key(step))).collect(), relations)
}

/// One step, many that it leads to, and one that waits for all of them.
pub fn fan(steps: usize) -> Graph {
    let last = steps.saturating_sub(1);
    let relations = (1..last)
        .flat_map(|step| [Relation::new(key(0), key(step)), Relation::new(key(step), key(last))]);
    graph(0, (0..steps).map(|step| Step::new(key(step))).collect(), relations.collect())
}

/// One step, branches of several steps side by side, and one step that waits for all of them.
pub fn branches(count: usize, length: usize) -> Graph {
    let last = count * length + 1;
    let mut relations = Vec::with_capacity(count * (length + 1));
    for branch in 0..count {
        let first = branch * length + 1;
        relations.push(Relation::new(key(0), key(first)));
        relations.extend((1..length).map(|at| Relation::new(key(first + at - 1), key(first + at))));
        relations.push(Relation::new(key(first + length - 1), key(last)));
    }
    graph(0, (0..=last).map(|step| Step::new(key(step))).collect(), relations)
}

/// Layers of which each step leads to every step of the next.
pub fn dense(layers: usize, width: usize) -> Graph {
    let mut relations = Vec::new();
    for layer in 1..layers {
        for from in 0..width {
            for to in 0..width {
                relations
                    .push(Relation::new(key((layer - 1) * width + from), key(layer * width + to)));
            }
        }
    }
    graph(0, (0..layers * width).map(|step| Step::new(key(step))).collect(), relations)
}

/// What a process looks like: runs that fork and join, some steps back to back, a few arrows far ahead; about one and a half arrows a
/// step. With lanes, most arrows stay in one. Every tenth part of the steps is a category.
pub fn process(steps: usize, lanes: usize, seed: u64) -> Graph {
    let mut dice = Dice(seed);
    let mut lane_of: Vec<usize> = Vec::with_capacity(steps);
    let mut relations = Vec::with_capacity(steps * 3 / 2);
    let mut layer: Vec<usize> = Vec::new();
    let mut next = 0;
    while next < steps {
        let width = match dice.roll(10) {
            0..=2 => 1,
            3..=5 => 2 + dice.roll(2),
            6..=8 => 3 + dice.roll(4),
            _ => 5 + dice.roll(8),
        };
        let new: Vec<usize> = (next..steps.min(next + width)).collect();
        next += new.len();
        for (place, &step) in new.iter().enumerate() {
            // From the step that stands about where this one does.
            let from = layer.get(place * layer.len() / new.len()).copied();
            let stays = from.filter(|_| dice.roll(10) < 7).map(|from| lane_of[from]);
            lane_of.push(stays.unwrap_or_else(|| dice.roll(lanes)));
            relations.extend(from.map(|from| (from, step)));
        }
        for (place, &from) in layer.iter().enumerate() {
            let leads_nowhere = !relations.iter().rev().take(40).any(|relation| relation.0 == from);
            if leads_nowhere && dice.roll(8) > 0 {
                relations.push((from, new[place * new.len() / layer.len()]));
            }
        }
        for &step in &new {
            if step > 0 && dice.roll(10) < 2 {
                let back = if dice.roll(12) == 0 { 60 } else { 8 };
                relations
                    .push((step.saturating_sub(1 + dice.roll(back)).min(new[0].max(1) - 1), step));
            }
        }
        layer = new;
    }
    relations.sort_unstable();
    relations.dedup();
    let step = |number: usize| Step {
        lane: (lanes > 0).then(|| format!("lane_{}", lane_of[number])),
        category: Some(format!("part_{}", number * 10 / steps)),
        ..Step::new(key(number))
    };
    let relations = relations.into_iter().map(|(from, to)| Relation::new(key(from), key(to)));
    graph(lanes, (0..steps).map(step).collect(), relations.collect())
}

/// The same graph without categories.
#[must_use]
pub fn without_categories(graph: &Graph) -> Graph {
    let steps = graph.steps().iter().map(|step| Step { category: None, ..step.clone() });
    Graph {
        lanes: graph.lanes.clone(),
        categories: Vec::new(),
        steps: steps.collect(),
        relations: graph.relations.clone(),
    }
}

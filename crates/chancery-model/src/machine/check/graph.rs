//! The machine as a graph, for proofs about paths.

use std::collections::{BTreeMap, VecDeque};

use super::super::expand::{Definition, Transition};
use super::super::vocabulary::BIRTH;

/// States as nodes and rows as arrows, with a node for birth.
///
/// A row with a `via` becomes two arrows over a node of its own. One shared node for the conceptual
/// state would join rows that have nothing to do with each other: a failed verification would seem
/// to lead to success because both pass `verify_in_progress`.
pub(super) struct Graph<'a> {
    names: Vec<&'a str>,
    arrows: Vec<Vec<Arrow<'a>>>,
}

#[derive(Clone, Copy, PartialEq)]
struct Arrow<'a> {
    label: &'a str,
    to: usize,
}

impl<'a> Graph<'a> {
    pub(super) fn of(definition: &'a Definition) -> Self {
        let mut graph = Self { names: Vec::new(), arrows: Vec::new() };
        let mut index = BTreeMap::new();
        // Rows may name states that do not exist: those are reported elsewhere, and are nodes here.
        let stored = definition.states.iter().filter(|state| !state.conceptual);
        let named_by_rows =
            definition.transitions.iter().flat_map(|row| [row.from_code(), &row.to]);
        let names = stored.map(|state| state.code.as_str()).chain(named_by_rows);
        for name in [BIRTH].into_iter().chain(names) {
            index.entry(name).or_insert_with(|| graph.add_node(name));
        }
        for row in &definition.transitions {
            let (from, to) = (index[row.from_code()], index[row.to.as_str()]);
            let enters = Arrow { label: &row.label, to };
            match row.via.as_deref() {
                None => graph.add_arrow(from, enters),
                Some(via) => {
                    let middle = graph.add_node(via);
                    graph.add_arrow(from, Arrow { label: &row.label, to: middle });
                    graph.add_arrow(middle, enters);
                }
            }
        }
        // Without a birth every state would be reported as unreachable beside the missing birth.
        if graph.arrows[index[BIRTH]].is_empty() {
            for state in definition.states.iter().filter(|s| s.initial && !s.conceptual) {
                let to = index[state.code.as_str()];
                graph.add_arrow(index[BIRTH], Arrow { label: "birth", to });
            }
        }
        graph
    }

    /// The shortest path of one or more arrows from a node of that name to the goal.
    ///
    /// The path may start at a name that `avoid` refuses, but never enters one.
    pub(super) fn shortest_path(
        &self,
        from: &str,
        goal: impl Fn(&str) -> bool,
        avoid: impl Fn(&str) -> bool,
    ) -> Option<Vec<String>> {
        let mut came_from = vec![None; self.names.len()];
        let mut seen = vec![false; self.names.len()];
        let mut queue = VecDeque::new();
        for node in (0..self.names.len()).filter(|&node| self.names[node] == from) {
            seen[node] = true;
            queue.push_back(node);
        }
        while let Some(node) = queue.pop_front() {
            for &arrow in &self.arrows[node] {
                let name = self.names[arrow.to];
                if avoid(name) {
                    continue;
                }
                // Before `seen`: the start itself counts when an arrow leads back to it.
                if goal(name) {
                    return Some(self.walk_back(&came_from, node, arrow));
                }
                if !seen[arrow.to] {
                    seen[arrow.to] = true;
                    came_from[arrow.to] = Some((node, arrow));
                    queue.push_back(arrow.to);
                }
            }
        }
        None
    }

    /// The shortest path from birth to a state.
    pub(super) fn path_from_birth(&self, to: &str) -> Option<Vec<String>> {
        self.shortest_path(BIRTH, |name| name == to, |_| false)
    }

    fn walk_back(
        &self,
        came_from: &[Option<(usize, Arrow<'a>)>],
        node: usize,
        last: Arrow<'a>,
    ) -> Vec<String> {
        let mut backwards = vec![self.names[last.to], last.label, self.names[node]];
        let mut here = node;
        while let Some((before, arrow)) = came_from[here] {
            backwards.extend([arrow.label, self.names[before]]);
            here = before;
        }
        backwards.into_iter().rev().map(str::to_owned).collect()
    }

    fn add_node(&mut self, name: &'a str) -> usize {
        self.names.push(name);
        self.arrows.push(Vec::new());
        self.names.len() - 1
    }

    /// Rows that differ in their actor only are one arrow.
    fn add_arrow(&mut self, from: usize, arrow: Arrow<'a>) {
        if !self.arrows[from].contains(&arrow) {
            self.arrows[from].push(arrow);
        }
    }
}

/// The row as a path of one edge.
pub(super) fn edge(row: &Transition) -> Vec<String> {
    vec![row.from_code().to_owned(), row.label.clone(), row.to.clone()]
}

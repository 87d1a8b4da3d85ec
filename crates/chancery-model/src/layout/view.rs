//! The graph by index: collapsed groups are one node, arrows that close a cycle are known, and every arrow belongs to a net.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Options;
use super::graph::{Graph, Mark, RelationKind};
use super::output::NodeKind;

/// Nodes by key, arrows by their ends.
#[derive(Debug)]
pub(super) struct View {
    pub(super) nodes: Vec<Vertex>,
    pub(super) arrows: Vec<Arrow>,
    /// Arrows that leave a node, without those that close a cycle.
    pub(super) leaving: Lists,
    /// Arrows that come to a node, without those that close a cycle.
    pub(super) coming: Lists,
    /// Strips of a band: the lanes and one for what has none, or a single one when lanes are not shown.
    pub(super) strips: usize,
}

#[derive(Debug)]
pub(super) struct Vertex {
    pub(super) id: String,
    pub(super) kind: NodeKind,
    pub(super) lane: Option<usize>,
    pub(super) strip: usize,
    /// The category, as an index into the graph's.
    pub(super) group: Option<usize>,
    pub(super) mark: Option<Mark>,
}

#[derive(Debug)]
pub(super) struct Arrow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: RelationKind,
    pub(super) label: Option<Value>,
    pub(super) mark: Option<Mark>,
    /// How many relations it stands for.
    pub(super) relations: usize,
    /// It closes a cycle and runs against the direction of reading.
    pub(super) back: bool,
    /// Arrows of a net share their lines: all that leave one node, or all that come to one.
    pub(super) net: usize,
}

impl View {
    pub(super) fn of(graph: &Graph, options: &Options) -> Self {
        let collapsed: Vec<bool> =
            graph.categories.iter().map(|key| options.collapsed.contains(key)).collect();
        let (nodes, node_of) = nodes(graph, options, &collapsed);
        let mut arrows = arrows(graph, &nodes, &node_of);
        mark_cycles(nodes.len(), &mut arrows);
        let (mut out, mut into) = (vec![0; nodes.len()], vec![0; nodes.len()]);
        for arrow in &arrows {
            out[arrow.from] += 1;
            into[arrow.to] += 1;
        }
        for arrow in &mut arrows {
            let by_source = out[arrow.from] >= into[arrow.to];
            arrow.net = if by_source { arrow.from } else { nodes.len() + arrow.to };
        }
        let forward = |arrow: &&(usize, &Arrow)| !arrow.1.back;
        let numbered: Vec<(usize, &Arrow)> = arrows.iter().enumerate().collect();
        let leaving =
            Lists::of(nodes.len(), numbered.iter().filter(forward).map(|&(i, a)| (a.from, i)));
        let coming =
            Lists::of(nodes.len(), numbered.iter().filter(forward).map(|&(i, a)| (a.to, i)));
        let strips = if options.lanes { graph.lanes.len() + 1 } else { 1 };
        Self { nodes, arrows, leaving, coming, strips }
    }

    /// Whether the lines of the net start at one node, rather than end at one.
    pub(super) fn is_source_net(&self, net: usize) -> bool {
        net < self.nodes.len()
    }
}

/// The nodes by id, and for each step the node that stands for it.
fn nodes(graph: &Graph, options: &Options, collapsed: &[bool]) -> (Vec<Vertex>, Vec<usize>) {
    let lane_of: BTreeMap<&str, usize> =
        graph.lanes.iter().enumerate().map(|(index, key)| (key.as_str(), index)).collect();
    let group_of: BTreeMap<&str, usize> =
        graph.categories.iter().enumerate().map(|(index, key)| (key.as_str(), index)).collect();
    let mut nodes: Vec<Vertex> = Vec::with_capacity(graph.steps.len());
    let mut of_group: Vec<Option<usize>> = vec![None; graph.categories.len()];
    let mut node_of = Vec::with_capacity(graph.steps.len());
    for step in &graph.steps {
        let lane = step.lane.as_deref().and_then(|key| lane_of.get(key)).copied();
        let group = step.category.as_deref().and_then(|key| group_of.get(key)).copied();
        let Some(group_index) = group.filter(|&group| collapsed[group]) else {
            let kind = if step.sub_workflow { NodeKind::SubWorkflow } else { NodeKind::Step };
            node_of.push(nodes.len());
            nodes.push(Vertex {
                id: step.key.clone(),
                kind,
                lane,
                strip: 0,
                group,
                mark: step.mark,
            });
            continue;
        };
        if let Some(node) = of_group[group_index] {
            let node: &mut Vertex = &mut nodes[node];
            // A group across lanes is in none of them.
            if node.lane != lane {
                node.lane = None;
            }
            // A group that changed in part is there before and after.
            if node.mark != step.mark {
                node.mark = Some(Mark::Kept);
            }
        } else {
            of_group[group_index] = Some(nodes.len());
            nodes.push(Vertex {
                // Keys have no colon, so no step is called so.
                id: format!("group:{}", graph.categories[group_index]),
                kind: NodeKind::Group,
                lane,
                strip: 0,
                group,
                mark: step.mark,
            });
        }
        node_of.push(of_group[group_index].unwrap_or_default());
    }
    for node in &mut nodes {
        node.strip = if options.lanes { node.lane.unwrap_or(graph.lanes.len()) } else { 0 };
    }
    (nodes, node_of)
}

/// The relations between nodes. Those inside a collapsed group are gone, those with one at an end are merged.
fn arrows(graph: &Graph, nodes: &[Vertex], node_of: &[usize]) -> Vec<Arrow> {
    let at = |key: &str| {
        let found = graph.steps.binary_search_by(|step| step.key.as_str().cmp(key));
        node_of[found.expect("a graph knows the ends of its relations")]
    };
    let is_group = |node: usize| nodes[node].kind == NodeKind::Group;
    let mut arrows: Vec<Arrow> = Vec::with_capacity(graph.relations.len());
    let mut merged: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for relation in &graph.relations {
        let (from, to) = (at(&relation.from), at(&relation.to));
        let touches_group = is_group(from) || is_group(to);
        if touches_group && from == to {
            continue;
        }
        if touches_group && let Some(&first) = merged.get(&(from, to)) {
            let arrow = &mut arrows[first];
            arrow.relations += 1;
            arrow.label = None;
            if arrow.kind != relation.kind {
                arrow.kind = RelationKind::Trigger;
            }
            if arrow.mark != relation.mark {
                arrow.mark = Some(Mark::Kept);
            }
            continue;
        }
        merged.insert((from, to), arrows.len());
        arrows.push(Arrow {
            from,
            to,
            kind: relation.kind,
            label: relation.label.clone(),
            mark: relation.mark,
            relations: 1,
            back: false,
            net: 0,
        });
    }
    arrows
}

/// Finds arrows without which there is no cycle, depth first, from the nodes that nothing leads to and then by id.
///
/// Definitions have none. Collapsed groups and unions can.
fn mark_cycles(count: usize, arrows: &mut [Arrow]) {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let leaving = Lists::of(count, arrows.iter().enumerate().map(|(i, arrow)| (arrow.from, i)));
    let mut entered = vec![false; count];
    for arrow in arrows.iter() {
        entered[arrow.to] = true;
    }
    let mut colour = vec![NEW; count];
    let mut path: Vec<(usize, usize)> = Vec::new();
    let roots = (0..count).filter(|&node| !entered[node]).chain(0..count);
    for root in roots {
        if colour[root] != NEW {
            continue;
        }
        colour[root] = OPEN;
        path.push((root, 0));
        while let Some((node, next)) = path.last_mut() {
            let Some(&index) = leaving.get(*node).get(*next) else {
                colour[*node] = DONE;
                path.pop();
                continue;
            };
            *next += 1;
            let to = arrows[index].to;
            if colour[to] == OPEN {
                arrows[index].back = true;
            } else if colour[to] == NEW {
                colour[to] = OPEN;
                path.push((to, 0));
            }
        }
    }
}

/// Lists of numbers by number, in one piece of memory.
#[derive(Debug, Default)]
pub(super) struct Lists {
    start: Vec<usize>,
    items: Vec<usize>,
}

impl Lists {
    /// Each list keeps the order in which its members come.
    pub(super) fn of(count: usize, pairs: impl Iterator<Item = (usize, usize)> + Clone) -> Self {
        let mut start = vec![0; count + 1];
        for (list, _) in pairs.clone() {
            start[list + 1] += 1;
        }
        for list in 0..count {
            start[list + 1] += start[list];
        }
        let mut items = vec![0; start[count]];
        let mut next = start.clone();
        for (list, item) in pairs {
            items[next[list]] = item;
            next[list] += 1;
        }
        Self { start, items }
    }

    pub(super) fn get(&self, list: usize) -> &[usize] {
        &self.items[self.start[list]..self.start[list + 1]]
    }
}

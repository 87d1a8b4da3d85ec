//! What every layout must be, checked slowly and plainly.

use std::collections::BTreeMap;

use chancery_model::layout::{Box, Graph, Layout, Node, NodeKind, Options, lay_out};

pub(super) fn bytes(layout: &Layout) -> String {
    serde_json::to_string(layout).expect("a layout is JSON")
}

/// Lays out and checks.
pub(super) fn checked(graph: &Graph, options: &Options) -> Layout {
    let layout = lay_out(graph, options);
    if let Err(fault) = faults(graph, options, &layout) {
        panic!("{fault}\n{}", bytes(&layout));
    }
    layout
}

/// The first thing that is wrong.
pub(super) fn faults(graph: &Graph, options: &Options, layout: &Layout) -> Result<(), String> {
    everything_is_there(graph, options, layout)?;
    nodes_lie_apart(layout)?;
    lanes_hold_their_nodes(graph, options, layout)?;
    groups_hold_exactly_their_nodes(layout)?;
    edges_are_routed(layout)?;
    reading_order(layout)
}

fn ensure(holds: bool, fault: impl Fn() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(fault()) }
}

fn everything_is_there(graph: &Graph, options: &Options, layout: &Layout) -> Result<(), String> {
    let collapsed = |category: &Option<String>| {
        category.as_ref().is_some_and(|key| options.collapsed.contains(key))
    };
    for step in graph.steps() {
        let found = layout.nodes.iter().filter(|node| node.id == step.key).count();
        let expected = usize::from(!collapsed(&step.category));
        ensure(found == expected, || format!("step {} is there {found} times", step.key))?;
    }
    let relations: usize = layout.edges.iter().map(|edge| edge.relations).sum();
    let hidden = graph.relations().iter().filter(|relation| {
        let of = |key: &str| graph.steps().iter().find(|step| step.key == key).expect("a step");
        let (from, to) = (of(&relation.from), of(&relation.to));
        collapsed(&from.category) && from.category == to.category
    });
    let expected = graph.relations().len() - hidden.count();
    ensure(relations == expected, || format!("{relations} relations, not {expected}"))?;
    ensure(layout.topo_order.len() == layout.nodes.len(), || "the order misses a node".into())
}

fn rectangle(node: &Node) -> Box {
    Box { x: node.x, y: node.y, w: node.w, h: node.h }
}

fn overlap(a: Box, b: Box) -> bool {
    a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
}

fn contains(outer: Box, inner: Box) -> bool {
    outer.x <= inner.x
        && outer.y <= inner.y
        && inner.x + inner.w <= outer.x + outer.w
        && inner.y + inner.h <= outer.y + outer.h
}

fn nodes_lie_apart(layout: &Layout) -> Result<(), String> {
    let page = Box { x: 0, y: 0, w: layout.width, h: layout.height };
    for (index, node) in layout.nodes.iter().enumerate() {
        let here = rectangle(node);
        ensure(contains(page, here), || format!("{} is off the page", node.id))?;
        let band = &layout.bands[node.band];
        let inside = band.y <= here.y && here.y + here.h <= band.y + band.h;
        ensure(inside, || format!("{} is off its band", node.id))?;
        for other in &layout.nodes[index + 1..] {
            let apart = !overlap(here, rectangle(other));
            ensure(apart, || format!("{} lies on {}", node.id, other.id))?;
        }
    }
    for pair in layout.bands.windows(2) {
        ensure(pair[0].y + pair[0].h < pair[1].y, || "bands touch".into())?;
    }
    Ok(())
}

fn lanes_hold_their_nodes(graph: &Graph, options: &Options, layout: &Layout) -> Result<(), String> {
    let lanes: BTreeMap<&str, &[Box]> =
        layout.lanes.iter().map(|lane| (lane.key.as_str(), lane.boxes.as_slice())).collect();
    let shown = options.lanes && graph.steps().iter().any(|step| step.lane.is_some());
    ensure(shown || lanes.is_empty(), || "lanes are shown".into())?;
    let all: Vec<Box> = layout.lanes.iter().flat_map(|lane| lane.boxes.clone()).collect();
    for (index, lane) in all.iter().enumerate() {
        let apart = all[index + 1..].iter().all(|other| !overlap(*lane, *other));
        ensure(apart, || "lanes overlap".into())?;
    }
    for node in layout.nodes.iter().filter(|_| shown) {
        let here = rectangle(node);
        match &node.lane {
            Some(key) => {
                let held = lanes[key.as_str()].iter().any(|lane| contains(*lane, here));
                ensure(held, || format!("{} is not in its lane", node.id))?;
            }
            None => {
                let free = !all.iter().any(|lane| overlap(*lane, here));
                ensure(free, || format!("{} has no lane and lies in one", node.id))?;
            }
        }
    }
    Ok(())
}

fn groups_hold_exactly_their_nodes(layout: &Layout) -> Result<(), String> {
    for group in &layout.groups {
        for node in &layout.nodes {
            let here = rectangle(node);
            let around = group.boxes.iter().filter(|piece| contains(**piece, here)).count();
            let touching = group.boxes.iter().filter(|piece| overlap(**piece, here)).count();
            let expected = usize::from(node.group.as_ref() == Some(&group.key));
            ensure((around, touching) == (expected, expected), || {
                format!(
                    "{} lies in {around} boxes of {} and touches {touching}",
                    node.id, group.key
                )
            })?;
            let kept = group.collapsed == (node.kind == NodeKind::Group) || expected == 0;
            ensure(kept, || format!("{} and {} do not agree", node.id, group.key))?;
        }
    }
    Ok(())
}

fn edges_are_routed(layout: &Layout) -> Result<(), String> {
    let nodes: BTreeMap<&str, &Node> =
        layout.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    for edge in &layout.edges {
        let name = || format!("{} → {}", edge.from, edge.to);
        let (from, to) = (nodes[edge.from.as_str()], nodes[edge.to.as_str()]);
        let (first, last) = (edge.points[0], edge.points[edge.points.len() - 1]);
        let leaves = first[0] == from.x + from.w && (from.y..=from.y + from.h).contains(&first[1]);
        ensure(leaves, || format!("{} does not leave its node", name()))?;
        let comes = last[0] == to.x && (to.y..=to.y + to.h).contains(&last[1]);
        ensure(comes, || format!("{} does not come to its node", name()))?;
        if from.band + 1 == to.band {
            let in_band = |y: i32| layout.bands.iter().any(|b| (b.y..=b.y + b.h).contains(&y));
            let gap =
                layout.bands[from.band].y + layout.bands[from.band].h..layout.bands[to.band].y;
            let mut level = edge.points.windows(2).filter(|p| p[0][1] == p[1][1]).map(|p| p[0][1]);
            let kept = level.all(|y| in_band(y) || gap.contains(&y));
            ensure(kept, || format!("{} leaves the gap between its bands", name()))?;
        }
        for pair in edge.points.windows(2) {
            let ([ax, ay], [bx, by]) = (pair[0], pair[1]);
            ensure((ax == bx) != (ay == by), || format!("{} is not orthogonal", name()))?;
            let piece =
                Box { x: ax.min(bx), y: ay.min(by), w: (ax - bx).abs(), h: (ay - by).abs() };
            let on_page = piece.x > 0 && piece.y > 0;
            ensure(on_page && piece.x + piece.w < layout.width, || format!("{} is off", name()))?;
            ensure(piece.y + piece.h < layout.height, || format!("{} is off", name()))?;
            for node in &layout.nodes {
                // Touching a side is what an end does; a piece that has something of the inside has run through.
                let inside = piece.x < node.x + node.w
                    && node.x < piece.x + piece.w
                    && piece.y < node.y + node.h
                    && node.y < piece.y + piece.h;
                let upright = piece.w == 0
                    && node.x < piece.x
                    && piece.x < node.x + node.w
                    && piece.y < node.y + node.h
                    && node.y < piece.y + piece.h;
                let level = piece.h == 0
                    && node.y < piece.y
                    && piece.y < node.y + node.h
                    && piece.x < node.x + node.w
                    && node.x < piece.x + piece.w;
                let through = inside || upright || level;
                ensure(!through, || format!("{} runs through {}", name(), node.id))?;
            }
        }
    }
    Ok(())
}

fn reading_order(layout: &Layout) -> Result<(), String> {
    let rank: BTreeMap<&str, usize> =
        layout.nodes.iter().map(|node| (node.id.as_str(), node.rank)).collect();
    let sorted = layout.topo_order.is_sorted_by_key(|id| rank[id.as_str()]);
    ensure(sorted, || "the order of reading is not that of ranks".into())?;
    for pair in layout.nodes.windows(2) {
        let same = (pair[0].rank == pair[1].rank) == (pair[0].x == pair[1].x);
        let bands = pair[0].band != pair[1].band;
        ensure(same || bands, || "a rank is not a column".into())?;
    }
    Ok(())
}

/// Every edge leads to a higher rank. Holds without cycles.
pub(super) fn ranks_rise(layout: &Layout) -> bool {
    let rank: BTreeMap<&str, usize> =
        layout.nodes.iter().map(|node| (node.id.as_str(), node.rank)).collect();
    layout.edges.iter().all(|edge| rank[edge.from.as_str()] < rank[edge.to.as_str()])
}

/// A card's smaller side in pixels when the whole is seen in a window.
pub(super) fn cell(layout: &Layout, width: u32, height: u32) -> f64 {
    let side = layout.nodes.iter().map(|node| node.w.min(node.h)).min().unwrap_or(0);
    f64::from(side) * layout.fitted_scale(width, height)
}

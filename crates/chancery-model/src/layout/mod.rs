//! Where the steps of a workflow stand on a picture, computed once for all views of it.
//!
//! A layered layout from left to right that knows the window it is for: ranks are columns, and columns wrap into bands like words into
//! lines of text (`docs/decisions/0019-layout-in-bands.md`). The same graph gives the same bytes in whatever order its steps and
//! relations were listed: ties are broken by key.
//!
//! [`Graph`] is what goes in, [`Layout`] what comes out, [`lay_out`] goes through the stages, a file each: `view` by index, `fill` the
//! columns, `columns` into bands, `items` in their order, `place` their heights, `route` the lines, `boxes` around lanes and groups.

use std::collections::BTreeSet;

mod boxes;
mod columns;
pub mod example;
mod fill;
mod graph;
mod items;
mod output;
mod place;
mod route;
mod view;

pub use graph::{Error, Graph, Mark, Relation, RelationKind, Step, union};
pub use output::{Band, Box, Edge, Group, Lane, Layout, Node, NodeKind};

/// A card: an icon, two lines of title, a line of state.
pub const NODE_W: i32 = 160;
pub const NODE_H: i32 = 72;

/// Between two cards of a column.
const ROW_GAP: i32 = 12;
/// Between two parallel lines.
const TRACK: i32 = 8;
/// Between two columns, at least.
const CHANNEL: i32 = 36;
/// Between a line and what it runs beside.
const EDGE: i32 = 12;
/// Between two bands, at least.
const CORRIDOR: i32 = 32;
/// Around everything.
const MARGIN: i32 = 16;
/// Between a lane's cards and its edge.
const LANE_PAD: i32 = 2;
/// For a lane's name, left of its cards.
const LANE_HEAD: i32 = 28;
/// How far off the middle of a card's side a bent line comes to it.
const PORT: i32 = 10;
/// Between a group's cards and its edge.
const GROUP_PAD: i32 = 4;

/// For which window, and what of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The window in pixels. Its shape counts; its size only in that nothing wraps that fits as it is.
    pub width: u32,
    pub height: u32,
    /// Whether each lane has a strip of its own in a band.
    pub lanes: bool,
    /// Categories of which all steps are one node. What is no category of the graph has no effect.
    pub collapsed: BTreeSet<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { width: 1280, height: 800, lanes: true, collapsed: BTreeSet::new() }
    }
}

impl Options {
    /// With every category of the graph as one node.
    #[must_use]
    pub fn with_all_collapsed(self, graph: &Graph) -> Self {
        Self { collapsed: graph.categories().iter().cloned().collect(), ..self }
    }
}

/// Lays a graph out.
pub fn lay_out(graph: &Graph, options: &Options) -> Layout {
    // Without lanes in the graph there is nothing to show.
    let lanes = options.lanes && !graph.lanes.is_empty();
    let options = Options {
        width: options.width.max(1),
        height: options.height.max(1),
        lanes,
        collapsed: options.collapsed.clone(),
    };
    let view = view::View::of(graph, &options);
    let plan = columns::plan(&view, &options);
    let items = items::Items::of(&view, &plan);
    let heights = place::heights(&view, &plan, &items);
    let routes = route::routes(&view, &plan, &items, &heights);
    let nodes = nodes(graph, &view, &plan, &heights, &routes);
    let edges = view.arrows.iter().zip(routes.lines).map(|(arrow, points)| Edge {
        from: view.nodes[arrow.from].id.clone(),
        to: view.nodes[arrow.to].id.clone(),
        kind: arrow.kind,
        points,
        label: arrow.label.clone(),
        mark: arrow.mark,
        relations: arrow.relations,
    });
    let bands = routes.y.iter().zip(&heights.bands).map(|(&y, &h)| Band { y, h });
    let topo_order = items.columns.iter().flatten().filter(|&&item| items.all[item].is_node);
    Layout {
        width: routes.width,
        height: routes.height,
        edges: edges.collect(),
        bands: bands.collect(),
        lanes: boxes::lanes(graph, &heights, &routes.y, routes.across, lanes),
        groups: boxes::groups(graph, &options, &items, &nodes),
        topo_order: topo_order.map(|&item| view.nodes[item].id.clone()).collect(),
        nodes,
    }
}

fn nodes(
    graph: &Graph,
    view: &view::View,
    plan: &columns::Plan,
    heights: &place::Heights,
    routes: &route::Routes,
) -> Vec<Node> {
    let band_of = plan.band_of_columns();
    view.nodes
        .iter()
        .enumerate()
        .map(|(index, vertex)| {
            let rank = plan.column[index];
            Node {
                id: vertex.id.clone(),
                x: routes.x[rank],
                y: routes.y[band_of[rank]] + heights.middle[index] - NODE_H / 2,
                w: NODE_W,
                h: NODE_H,
                rank,
                band: band_of[rank],
                lane: vertex.lane.map(|lane| graph.lanes[lane].clone()),
                group: vertex.group.map(|group| graph.categories[group].clone()),
                kind: vertex.kind,
                mark: vertex.mark,
            }
        })
        .collect()
}

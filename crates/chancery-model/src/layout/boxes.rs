//! Rectangles around what belongs together.

use super::graph::Graph;
use super::items::Items;
use super::output::{Box, Group, Lane, Node};
use super::place::Heights;
use super::{GROUP_PAD, Options};

/// One rectangle for each lane and band that has something of the lane, as wide as the widest band.
pub(super) fn lanes(
    graph: &Graph,
    heights: &Heights,
    band_y: &[i32],
    across: (i32, i32),
    shown: bool,
) -> Vec<Lane> {
    if !shown {
        return Vec::new();
    }
    let boxes = |lane: usize| {
        heights.strips.iter().zip(band_y).filter_map(move |(strips, &top)| {
            let (y, h) = strips[lane]?;
            Some(Box { x: across.0, y: top + y, w: across.1 - across.0, h })
        })
    };
    let lanes = graph.lanes.iter().enumerate();
    lanes
        .map(|(lane, key)| Lane { key: key.clone(), boxes: boxes(lane).collect() })
        .filter(|lane| !lane.boxes.is_empty())
        .collect()
}

/// One rectangle for each piece of a group. It grows column by column as long as nothing else comes to lie in it.
pub(super) fn groups(
    graph: &Graph,
    options: &Options,
    items: &Items,
    nodes: &[Node],
) -> Vec<Group> {
    let columns: Vec<Vec<usize>> = items
        .columns
        .iter()
        .map(|column| column.iter().copied().filter(|&item| items.all[item].is_node).collect())
        .collect();
    let mut pieces: Vec<Vec<Piece>> = vec![Vec::new(); graph.categories.len()];
    for (column, members) in columns.iter().enumerate() {
        let runs = members.chunk_by(|&a, &b| items.all[a].group == items.all[b].group);
        for run in runs {
            let Some(group) = items.all[run[0]].group else { continue };
            let piece = Piece {
                first: column,
                last: column,
                top: nodes[run[0]].y - GROUP_PAD,
                bottom: nodes[run[run.len() - 1]].y + nodes[run[0]].h + GROUP_PAD,
            };
            let joins = |at: &usize| {
                let other = &pieces[group][*at];
                let whole = other.with(&piece);
                let same_band = nodes[columns[other.first][0]].band == nodes[run[0]].band;
                let mut others = pieces[group].iter().enumerate().filter(|(index, _)| index != at);
                same_band
                    && column - other.last <= 2
                    && !others.any(|(_, other)| whole.overlaps(other))
                    && whole.has_only(group, &columns, items, nodes)
            };
            match (0..pieces[group].len()).rev().find(joins) {
                Some(at) => pieces[group][at] = pieces[group][at].with(&piece),
                None => pieces[group].push(piece),
            }
        }
    }
    let keys = graph.categories.iter().zip(pieces).filter(|(_, pieces)| !pieces.is_empty());
    keys.map(|(key, pieces)| {
        let boxes = pieces.iter().map(|piece| {
            let x = nodes[columns[piece.first][0]].x;
            let last = &nodes[columns[piece.last][0]];
            Box {
                x: x - GROUP_PAD,
                y: piece.top,
                w: last.x + last.w - x + 2 * GROUP_PAD,
                h: piece.bottom - piece.top,
            }
        });
        let collapsed = options.collapsed.contains(key);
        Group { key: key.clone(), collapsed, boxes: boxes.collect() }
    })
    .collect()
}

/// A rectangle over some columns of a band.
#[derive(Debug, Clone, Copy)]
struct Piece {
    first: usize,
    last: usize,
    top: i32,
    bottom: i32,
}

impl Piece {
    fn with(&self, other: &Self) -> Self {
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            top: self.top.min(other.top),
            bottom: self.bottom.max(other.bottom),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last
            && other.first <= self.last
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn has_only(
        &self,
        group: usize,
        columns: &[Vec<usize>],
        items: &Items,
        nodes: &[Node],
    ) -> bool {
        columns[self.first..=self.last].iter().all(|column| {
            let start = column.partition_point(|&item| nodes[item].y + nodes[item].h <= self.top);
            let inside = column[start..].iter().take_while(|&&item| nodes[item].y < self.bottom);
            inside.into_iter().all(|&item| items.all[item].group == Some(group))
        })
    }
}

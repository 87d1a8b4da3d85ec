//! How high items stand in their band: as near to their neighbours as their order and the room of their lane allow.
//!
//! A strip (a lane in a band) is as high as its fullest column. So straight lines never cost height. In each column the items stand where
//! the sum of weighted distances from where they want to be is least; since it is distances and not their squares, an item that can
//! stand exactly beside its neighbour does.

use super::columns::Plan;
use super::items::{Items, Side};
use super::view::View;
use super::{LANE_PAD, NODE_H, ROW_GAP, TRACK};

/// Heights in each band, from the band's upper edge.
#[derive(Debug)]
pub(super) struct Heights {
    /// The middle of each item.
    pub(super) middle: Vec<i32>,
    /// Upper edge and height of the strips that a band has, by strip.
    pub(super) strips: Vec<Vec<Option<(i32, i32)>>>,
    pub(super) bands: Vec<i32>,
}

/// What a neighbour's pull counts: none there, the end of a line, one node of several, two pieces of a line, the only node on both
/// sides. Nodes stand straight before lines do.
const ALONE: i64 = 1;
const END: i64 = 3;
const SOME: i64 = 8;
const LINE: i64 = 20;
const ONLY: i64 = 60;

/// The room that a line takes in a column.
pub(super) const LINE_ROOM: i32 = TRACK + 2;

/// Half the room that an item takes.
fn half(items: &Items, item: usize) -> i32 {
    if items.all[item].is_node { (NODE_H + ROW_GAP) / 2 } else { LINE_ROOM / 2 }
}

pub(super) fn heights(view: &View, plan: &Plan, items: &Items) -> Heights {
    let pad = if view.strips > 1 { LANE_PAD } else { 0 };
    let mut heights = Heights {
        middle: vec![0; items.all.len()],
        strips: Vec::with_capacity(plan.bands()),
        bands: Vec::with_capacity(plan.bands()),
    };
    for band in plan.starts.windows(2) {
        let range = band[0]..band[1];
        let mut room = vec![0; view.strips];
        for column in range.clone() {
            for unit in by_strip(items, column) {
                let strip = items.all[unit[0]].strip;
                let total: i32 = unit.iter().map(|&item| 2 * half(items, item)).sum();
                room[strip] = room[strip].max(total);
            }
        }
        let mut top = 0;
        let mut strips = vec![None; view.strips];
        for (strip, &high) in room.iter().enumerate().filter(|(_, high)| **high > 0) {
            strips[strip] = Some((top, high + 2 * pad));
            top += high + 2 * pad;
        }
        for column in range.clone() {
            for unit in by_strip(items, column) {
                let (top, high) = strips[items.all[unit[0]].strip].unwrap_or_default();
                let total: i32 = unit.iter().map(|&item| 2 * half(items, item)).sum();
                let mut at = top + (high - total) / 4 * 2;
                for &item in unit {
                    heights.middle[item] = at + half(items, item);
                    at += 2 * half(items, item);
                }
            }
        }
        let mut settle = |column: usize, sides: &[Side]| {
            for unit in by_strip(items, column) {
                let (top, high) = strips[items.all[unit[0]].strip].unwrap_or_default();
                let bounds = (top + pad, top + high - pad);
                place(items, unit, sides, bounds, &mut heights.middle);
            }
        };
        for _ in 0..2 {
            range.clone().for_each(|column| settle(column, &[Side::Before]));
            range.clone().rev().for_each(|column| settle(column, &[Side::After]));
        }
        range.clone().for_each(|column| settle(column, &[Side::Before, Side::After]));
        range.clone().for_each(|column| settle(column, &[Side::Before, Side::After]));
        heights.strips.push(strips);
        heights.bands.push(top);
    }
    heights
}

/// The items of a column, strip by strip.
fn by_strip(items: &Items, column: usize) -> impl Iterator<Item = &[usize]> {
    items.columns[column].chunk_by(|&a, &b| items.all[a].strip == items.all[b].strip)
}

/// Items that press against each other and move together.
struct Block {
    first: usize,
    /// Where its first item would stand by the wish of each member, with weights, in order.
    wishes: Vec<(i64, i64)>,
    at: i64,
}

/// Places the items of a strip and column, in their order, within bounds.
fn place(items: &Items, unit: &[usize], sides: &[Side], bounds: (i32, i32), middle: &mut [i32]) {
    let mut blocks: Vec<Block> = Vec::with_capacity(unit.len());
    let mut offset = 0;
    let mut offsets = Vec::with_capacity(unit.len());
    for (first, &item) in unit.iter().enumerate() {
        let (wish, weight) = wish(items, item, sides, middle);
        offset += i64::from(half(items, item));
        offsets.push(offset);
        let wishes = vec![(wish - offset, weight)];
        let mut block = Block { first, at: wish - offset, wishes };
        offset += i64::from(half(items, item));
        while let Some(above) = blocks.pop_if(|above| above.at > block.at) {
            block = joined(&above, &block);
        }
        blocks.push(block);
    }
    let (lowest, highest) = (i64::from(bounds.0), i64::from(bounds.1) - offset);
    let mut end = unit.len();
    for block in blocks.iter().rev() {
        // The bounds have room for all, so the order of blocks survives them.
        let at = block.at.min(highest).max(lowest);
        for index in block.first..end {
            middle[unit[index]] = i32::try_from(at + offsets[index]).unwrap_or(i32::MAX);
        }
        end = block.first;
    }
}

fn joined(above: &Block, below: &Block) -> Block {
    let mut wishes = Vec::with_capacity(above.wishes.len() + below.wishes.len());
    let (mut left, mut right) = (above.wishes.as_slice(), below.wishes.as_slice());
    while let (Some(a), Some(b)) = (left.first(), right.first()) {
        if a <= b {
            wishes.push(*a);
            left = &left[1..];
        } else {
            wishes.push(*b);
            right = &right[1..];
        }
    }
    wishes.extend_from_slice(left);
    wishes.extend_from_slice(right);
    let at = weighted_middle(&wishes);
    Block { first: above.first, wishes, at }
}

/// The weighted median; between the two that share it, the middle.
fn weighted_middle(wishes: &[(i64, i64)]) -> i64 {
    let total: i64 = wishes.iter().map(|wish| wish.1).sum();
    let mut sum = 0;
    for (index, &(at, weight)) in wishes.iter().enumerate() {
        sum += weight;
        if 2 * sum == total {
            let next = wishes.get(index + 1).map_or(at, |wish| wish.0);
            return (at + next).div_euclid(4) * 2;
        }
        if 2 * sum > total {
            return at;
        }
    }
    0
}

/// Where an item wants to stand, and how much.
fn wish(items: &Items, item: usize, sides: &[Side], middle: &[i32]) -> (i64, i64) {
    let mut near: Vec<(i64, i64)> = Vec::new();
    for side in sides {
        let (list, back) = match side {
            Side::Before => (&items.before, &items.after),
            Side::After => (&items.after, &items.before),
        };
        let others = list.get(item);
        for &other in others {
            let weight = match (items.all[item].is_node, items.all[other].is_node) {
                (false, false) => LINE,
                (true, true) if others.len() == 1 && back.get(other).len() == 1 => ONLY,
                (true, true) => SOME,
                _ => END,
            };
            // Of two equal pulls the one from the side that has settled wins: half-way between them is straight with neither.
            let settled = matches!(side, Side::Before) || sides.len() == 1;
            near.push((i64::from(middle[other]), weight * if settled { 3 } else { 2 }));
        }
    }
    if near.is_empty() {
        return (i64::from(middle[item]), ALONE);
    }
    near.sort_unstable();
    let weight = near.iter().map(|near| near.1).max().unwrap_or(ALONE);
    (weighted_middle(&near), weight)
}

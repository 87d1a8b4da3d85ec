//! Which column a node stands in.
//!
//! Ranks are longest paths. A rank that is too wide for the window goes on in the next column, like a list set in several columns. There
//! are two ways to go on. By ranks: all of a rank stands before the next one. By chains: what follows on the column before comes first,
//! so that each of many parallel branches stays together, and what has not begun yet waits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::view::View;

/// Longest paths.
#[derive(Debug)]
pub(super) struct Ranking {
    /// How many there are.
    pub(super) ranks: usize,
    rank: Vec<usize>,
    /// The longest path that a node begins.
    tail: Vec<usize>,
    /// Rank by rank; within one, what has the longest way to go first, then what belongs together.
    order: Vec<usize>,
}

impl Ranking {
    pub(super) fn of(view: &View) -> Self {
        let rank = ranks(view);
        let mut order: Vec<usize> = (0..view.nodes.len()).collect();
        order.sort_by_key(|&node| rank[node]);
        let mut tail = vec![0usize; view.nodes.len()];
        for &node in order.iter().rev() {
            let after = view.leaving.get(node).iter().map(|&arrow| tail[view.arrows[arrow].to] + 1);
            tail[node] = after.max().unwrap_or(0);
        }
        order.sort_by_key(|&node| (rank[node], Reverse(tail[node]), view.nodes[node].group, node));
        let ranks = rank.iter().max().map_or(0, |max| max + 1);
        Self { ranks, rank, tail, order }
    }

    /// The column of each node, in several ways. In the first one columns are about ranks.
    pub(super) fn candidates<'a>(
        &'a self,
        view: &'a View,
    ) -> impl Iterator<Item = Vec<usize>> + 'a {
        let limits = self.limits(view);
        let chains = limits.clone().into_iter().skip(1).step_by(2);
        let by_ranks = limits.into_iter().map(move |limit| self.by_ranks(view, limit));
        by_ranks.chain(chains.map(move |limit| self.by_chains(view, limit)))
    }

    /// So many nodes a column and lane are tried. The first one is as many as any rank has.
    fn limits(&self, view: &View) -> Vec<usize> {
        let mut cells: Vec<(usize, usize)> =
            self.rank.iter().zip(&view.nodes).map(|(&rank, node)| (rank, node.strip)).collect();
        cells.sort_unstable();
        let widest = cells.chunk_by(|a, b| a == b).map(<[_]>::len).max().unwrap_or(1);
        // More rows than this are higher than the window is at any scale worth showing.
        let most = (view.nodes.len() as f64).sqrt() as usize * 2 + 2;
        let mut limits = Vec::new();
        let mut limit = if view.strips > 1 { 1 } else { 2 };
        while limit < widest.min(most) {
            limits.push(limit);
            limit = (limit + 1).max(limit * 5 / 4);
        }
        limits.push(widest);
        limits.reverse();
        limits
    }

    /// The first column with room, behind all that lead to a node. What can wait a little without making anything longer does so rather than
    /// stand in a column that is half full.
    fn by_ranks(&self, view: &View, limit: usize) -> Vec<usize> {
        let mut column = vec![0; view.nodes.len()];
        let mut strips: Vec<Strip> = (0..view.strips).map(|_| Strip::default()).collect();
        let half = limit.div_ceil(2);
        let mut end = self.ranks;
        for &node in &self.order {
            let before =
                view.coming.get(node).iter().map(|&arrow| column[view.arrows[arrow].from] + 1);
            // A start has nothing before it but its rank, which puts it near to what it leads to.
            let earliest = before.max().unwrap_or(self.rank[node]);
            let strip = &mut strips[view.nodes[node].strip];
            let latest =
                (earliest + WAIT).min(end.saturating_sub(self.tail[node] + 1)).max(earliest);
            let quiet = (earliest..=latest).find(|&at| strip.has(at) < half);
            column[node] = strip.take(quiet.unwrap_or(earliest), limit);
            end = end.max(column[node] + self.tail[node] + 1);
        }
        close_gaps(&mut column);
        column
    }

    /// Column by column: what follows on the column before comes first.
    fn by_chains(&self, view: &View, limit: usize) -> Vec<usize> {
        let count = view.nodes.len();
        let mut place = vec![0; count];
        for (at, &node) in self.order.iter().enumerate() {
            place[node] = at;
        }
        let mut waits: Vec<usize> = (0..count).map(|node| view.coming.get(node).len()).collect();
        let starts: Vec<usize> =
            self.order.iter().copied().filter(|&node| waits[node] == 0).collect();
        let mut starts = starts.into_iter().peekable();
        let mut ready: Vec<BinaryHeap<(usize, Reverse<usize>)>> =
            (0..view.strips).map(|_| BinaryHeap::new()).collect();
        let mut column = vec![0; count];
        let mut taken = Vec::new();
        let (mut left, mut at) = (count, 0);
        while left > 0 {
            // The order is by rank, so the next start is the earliest.
            while let Some(start) = starts.next_if(|&start| self.rank[start] <= at) {
                ready[view.nodes[start].strip].push((0, Reverse(place[start])));
            }
            taken.clear();
            for strip in &mut ready {
                taken.extend((0..limit).map_while(|_| strip.pop()).map(|(_, next)| next.0));
            }
            for node in taken.iter().map(|&place| self.order[place]) {
                column[node] = at;
                for &arrow in view.leaving.get(node) {
                    let to = view.arrows[arrow].to;
                    waits[to] -= 1;
                    if waits[to] == 0 {
                        ready[view.nodes[to].strip].push((at + 1, Reverse(place[to])));
                    }
                }
            }
            left -= taken.len();
            at += 1;
        }
        close_gaps(&mut column);
        column
    }
}

/// Longest paths from the starts. A start stands right before the first node it leads to.
fn ranks(view: &View) -> Vec<usize> {
    let count = view.nodes.len();
    let mut ranks = vec![0usize; count];
    let mut waits: Vec<usize> = (0..count).map(|node| view.coming.get(node).len()).collect();
    let mut ready: Vec<usize> = (0..count).filter(|&node| waits[node] == 0).collect();
    let mut next = 0;
    while next < ready.len() {
        let node = ready[next];
        next += 1;
        for &arrow in view.leaving.get(node) {
            let to = view.arrows[arrow].to;
            ranks[to] = ranks[to].max(ranks[node] + 1);
            waits[to] -= 1;
            if waits[to] == 0 {
                ready.push(to);
            }
        }
    }
    for node in 0..count {
        if view.coming.get(node).is_empty() {
            let first = view.leaving.get(node).iter().map(|&arrow| ranks[view.arrows[arrow].to]);
            ranks[node] = first.min().map_or(ranks[node], |rank| rank.saturating_sub(1));
        }
    }
    ranks
}

/// Waiting longer would take a step away from what leads to it.
const WAIT: usize = 3;

/// Numbers columns without the empty ones, which starts can leave.
fn close_gaps(column: &mut [usize]) {
    let mut used = vec![0; column.iter().max().map_or(0, |max| max + 1)];
    for &at in column.iter() {
        used[at] = 1;
    }
    let mut number = 0;
    for place in &mut used {
        let is_used = *place;
        *place = number;
        number += is_used;
    }
    for at in column {
        *at = used[*at];
    }
}

/// How full a lane is, column by column, and where to look next behind a full one.
#[derive(Debug, Default)]
struct Strip {
    taken: Vec<usize>,
    next: Vec<usize>,
}

impl Strip {
    fn has(&self, column: usize) -> usize {
        self.taken.get(column).copied().unwrap_or(0)
    }

    fn take(&mut self, earliest: usize, limit: usize) -> usize {
        let mut at = earliest;
        loop {
            while self.taken.len() <= at + 1 {
                self.next.push(self.taken.len());
                self.taken.push(0);
            }
            if self.next[at] == at {
                break;
            }
            // Shortens the way for the next one.
            self.next[at] = self.next[self.next[at]];
            at = self.next[at];
        }
        self.taken[at] += 1;
        if self.taken[at] == limit {
            self.next[at] = at + 1;
        }
        at
    }
}

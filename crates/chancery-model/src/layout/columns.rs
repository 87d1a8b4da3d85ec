//! Which column a node stands in, and where the columns break into bands.
//!
//! Ranks are longest paths. A rank that is too wide for the window goes on in the next column, like a list set in several columns. How
//! wide is too wide, and how many columns a band has, is found by trying: each pair is judged by the scale at which the whole would fit
//! the window.

use super::view::View;
use super::{
    CHANNEL, CORRIDOR, LANE_HEAD, LANE_PAD, MARGIN, NODE_H, NODE_W, Options, ROW_GAP, TRACK,
};

/// Columns and bands.
#[derive(Debug)]
pub(super) struct Plan {
    /// The column of each node, counted through all bands.
    pub(super) column: Vec<usize>,
    /// The first column of each band, and the number of columns at the end.
    pub(super) starts: Vec<usize>,
}

impl Plan {
    pub(super) fn bands(&self) -> usize {
        self.starts.len() - 1
    }

    /// The band of each column.
    pub(super) fn band_of_columns(&self) -> Vec<usize> {
        let mut bands = Vec::new();
        for (band, pair) in self.starts.windows(2).enumerate() {
            bands.resize(pair[1], band);
        }
        bands
    }
}

/// What doubling the number of bands, and of columns, must gain in scale to be worth it.
const BAND_COST: f64 = 0.985;
const COLUMN_COST: f64 = 0.95;

pub(super) fn plan(view: &View, options: &Options) -> Plan {
    let ranks = ranks(view);
    let order = filling_order(view, &ranks);
    let mut best: Option<(f64, Plan)> = None;
    let natural = ranks.iter().max().map_or(0, |max| max + 1);
    let mut last: Option<Vec<usize>> = None;
    for limit in limits(view, &ranks) {
        let column = fill(view, &ranks, &order, limit);
        if last.as_ref() == Some(&column) {
            continue;
        }
        let sketch = Sketch::of(view, &column);
        let stretch = (sketch.columns.max(1) as f64 / natural.max(1) as f64).log2();
        for bands in band_counts(&sketch, options) {
            let starts = sketch.breaks(bands);
            let scale = sketch.scale(&starts, options, view.strips > 1);
            let broken = ((starts.len() - 1) as f64).max(1.0).log2();
            let worth = scale * BAND_COST.powf(broken) * COLUMN_COST.powf(stretch);
            if best.as_ref().is_none_or(|(most, _)| worth > *most) {
                best = Some((worth, Plan { column: column.clone(), starts }));
            }
        }
        last = Some(column);
    }
    best.map_or_else(|| Plan { column: Vec::new(), starts: vec![0] }, |(_, plan)| plan)
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

/// Rank by rank; within one, what has the longest way to go first, then what belongs together.
fn filling_order(view: &View, ranks: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..view.nodes.len()).collect();
    order.sort_by_key(|&node| ranks[node]);
    let mut tail = vec![0usize; view.nodes.len()];
    for &node in order.iter().rev() {
        let after = view.leaving.get(node).iter().map(|&arrow| tail[view.arrows[arrow].to] + 1);
        tail[node] = after.max().unwrap_or(0);
    }
    order.sort_by_key(|&node| (ranks[node], usize::MAX - tail[node], view.nodes[node].group, node));
    order
}

/// So many nodes a column and lane are tried. The last one is never in the way: columns are ranks.
fn limits(view: &View, ranks: &[usize]) -> Vec<usize> {
    let mut cells: Vec<(usize, usize)> =
        ranks.iter().zip(&view.nodes).map(|(&rank, node)| (rank, node.strip)).collect();
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

/// The first column with room, behind all that lead to a node.
fn fill(view: &View, ranks: &[usize], order: &[usize], limit: usize) -> Vec<usize> {
    let mut column = vec![0; view.nodes.len()];
    let mut strips: Vec<Strip> = (0..view.strips).map(|_| Strip::default()).collect();
    for &node in order {
        let before = view.coming.get(node).iter().map(|&arrow| column[view.arrows[arrow].from] + 1);
        // A start has nothing before it but its rank, which puts it near to what it leads to.
        let earliest = before.max().unwrap_or(ranks[node]);
        column[node] = strips[view.nodes[node].strip].take(earliest, limit);
    }
    close_gaps(&mut column);
    column
}

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

/// What is known of sizes before anything is ordered or routed.
#[derive(Debug)]
struct Sketch {
    columns: usize,
    /// Nodes by column and strip.
    cells: Vec<(usize, usize, usize)>,
    /// Nets that pass the place before a column.
    cut: Vec<usize>,
    /// Widths of all columns before one, with their channels.
    ends: Vec<i64>,
}

impl Sketch {
    fn of(view: &View, column: &[usize]) -> Self {
        let columns = column.iter().max().map_or(0, |max| max + 1);
        let mut cells: Vec<(usize, usize, usize)> =
            column.iter().zip(&view.nodes).map(|(&at, node)| (at, node.strip, 1)).collect();
        cells.sort_unstable();
        cells.dedup_by(|next, first| {
            let same = (next.0, next.1) == (first.0, first.1);
            first.2 += usize::from(same);
            same
        });
        let mut spans = vec![(usize::MAX, 0); 2 * view.nodes.len()];
        for arrow in view.arrows.iter().filter(|arrow| !arrow.back) {
            let span = &mut spans[arrow.net];
            *span = (span.0.min(column[arrow.from]), span.1.max(column[arrow.to]));
        }
        let mut change = vec![0isize; columns + 2];
        for &(from, to) in spans.iter().filter(|span| span.0 < span.1) {
            change[from + 1] += 1;
            change[to + 1] -= 1;
        }
        let mut cut = vec![0; columns + 1];
        let mut passing = 0;
        let mut ends = vec![0; columns + 1];
        for at in 0..columns {
            passing += change[at];
            cut[at] = passing as usize;
            // About half of the nets bend, and some of those share a track.
            let tracks = (cut[at] as i64) / 2;
            ends[at + 1] = ends[at]
                + i64::from(NODE_W)
                + (i64::from(CHANNEL)).max(i64::from(CHANNEL) / 2 + tracks * i64::from(TRACK));
        }
        Self { columns, cells, cut, ends }
    }

    /// The starts of about so many bands, broken where few lines pass.
    fn breaks(&self, bands: usize) -> Vec<usize> {
        let most = self.columns.div_ceil(bands.max(1)).max(1);
        let least = (most * 4).div_ceil(5);
        let mut starts = vec![0];
        let mut at = 0;
        while at + most < self.columns {
            let places = (at + least..=at + most).rev();
            at = places.min_by_key(|&place| self.cut[place]).unwrap_or(at + most);
            starts.push(at);
        }
        starts.push(self.columns);
        starts
    }

    /// The scale at which it would fit the window, about.
    fn scale(&self, starts: &[usize], options: &Options, lanes: bool) -> f64 {
        let mut width = 0;
        let mut height = i64::from(MARGIN);
        let mut cells = self.cells.iter().peekable();
        let mut rows: Vec<usize> = Vec::new();
        for pair in starts.windows(2) {
            width = width.max(self.ends[pair[1]] - self.ends[pair[0]]);
            rows.clear();
            while let Some(&&(_, strip, count)) = cells.peek().filter(|cell| cell.0 < pair[1]) {
                if rows.len() <= strip {
                    rows.resize(strip + 1, 0);
                }
                rows[strip] = rows[strip].max(count);
                cells.next();
            }
            let row = i64::from(NODE_H + ROW_GAP);
            for &count in rows.iter().filter(|&&count| count > 0) {
                height += count as i64 * row + if lanes { 2 * i64::from(LANE_PAD) } else { 0 };
            }
            height += i64::from(CORRIDOR) + self.cut[pair[1]] as i64 * i64::from(TRACK) * 3 / 4;
        }
        width += i64::from(2 * MARGIN + CHANNEL) + if lanes { i64::from(LANE_HEAD) } else { 0 };
        let across = f64::from(options.width) / width as f64;
        let down = f64::from(options.height) / height.max(1) as f64;
        across.min(down).min(1.0)
    }
}

/// Numbers of bands that are worth a try: around the one that gives the window's shape if all bands are equally high, and one.
fn band_counts(sketch: &Sketch, options: &Options) -> Vec<usize> {
    let row = f64::from(NODE_H + ROW_GAP);
    let mut deepest = 0.0f64;
    for column in sketch.cells.chunk_by(|a, b| a.0 == b.0) {
        let nodes: usize = column.iter().map(|cell| cell.2).sum();
        deepest = deepest.max(nodes as f64 * row);
    }
    let length = sketch.ends[sketch.columns] as f64;
    let aspect = f64::from(options.width) / f64::from(options.height);
    // The fewest bands when every one is as shallow as can be, and the most.
    let most = (length / (aspect * (row + f64::from(CORRIDOR)))).sqrt().ceil() as usize + 1;
    let least = (length / (aspect * (deepest * 4.0 + f64::from(CORRIDOR)))).sqrt() as usize;
    let mut counts = vec![1];
    let mut count = least.max(2);
    while count <= most.min(sketch.columns) {
        counts.push(count);
        count = (count + 1).max(count * 9 / 8);
    }
    counts
}

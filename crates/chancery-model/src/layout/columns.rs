//! Which column a node stands in, and where the columns break into bands.
//!
//! Ranks are longest paths. A rank that is too wide for the window goes on in the next column, like a list set in several columns. How
//! wide is too wide, and how many columns a band has, is found by trying: each pair is judged by the scale at which the whole would fit
//! the window.

use super::items::LONGEST;
use super::place::LINE_ROOM as LINE;
use super::view::View;
use super::{
    CHANNEL, CORRIDOR, EDGE, LANE_HEAD, LANE_PAD, MARGIN, NODE_H, NODE_W, Options, ROW_GAP, TRACK,
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

/// What doubling the number of bands, and of columns, must gain to be worth it.
const BAND_COST: f64 = 0.985;
const COLUMN_COST: f64 = 0.9;
/// A card of so many pixels can be told from others. Below it every pixel counts, above it every second.
const LEGIBLE: f64 = 12.0;

/// What a scale is worth to a reader, with so many bands and so many times more columns than ranks.
fn worth(scale: f64, bands: usize, stretch: f64) -> f64 {
    let legible = LEGIBLE / f64::from(NODE_H);
    let seen = scale.min(legible) + (scale - legible).max(0.0) / 2.0;
    seen * BAND_COST.powf((bands.max(1) as f64).log2()) * COLUMN_COST.powf(stretch.log2())
}

pub(super) fn plan(view: &View, options: &Options) -> Plan {
    let ranks = ranks(view);
    let (order, tail) = filling_order(view, &ranks);
    let natural = ranks.iter().max().map_or(0, |max| max + 1);
    let mut best: Option<(f64, i64, Vec<usize>, Sketch)> = None;
    for limit in limits(view, &ranks) {
        let column = fill(view, &ranks, &order, &tail, limit);
        let sketch = Sketch::of(view, &column);
        let stretch = sketch.columns.max(1) as f64 / natural.max(1) as f64;
        let mut found: Option<(f64, i64)> = None;
        for bands in band_counts(&sketch, options) {
            let (width, height) = sketch.even_height(bands);
            let worth = worth(scale(width, height, options), bands, stretch);
            if found.is_none_or(|(most, _)| worth > most) {
                found = Some((worth, width));
            }
        }
        if let Some((worth, width)) = found
            && best.as_ref().is_none_or(|best| worth > best.0)
        {
            best = Some((worth, width, column, sketch));
        }
    }
    let Some((_, width, column, sketch)) = best else {
        return Plan { column: Vec::new(), starts: vec![0] };
    };
    let mut starts = vec![0, sketch.columns];
    let mut most = 0.0;
    // Each try looks at every band that could be; with very many columns the first tries do.
    let tries = if sketch.columns > MANY { 3 } else { WIDTHS.len() };
    for percent in &WIDTHS[..tries] {
        let (tried, height) = sketch.breaks(width * percent / 100);
        let scale = scale(sketch.width(&tried), height, options);
        let worth = worth(scale, tried.len() - 1, 1.0);
        if worth > most {
            (starts, most) = (tried, worth);
        }
    }
    Plan { column, starts }
}

/// Around the width that equal bands would have.
const WIDTHS: [i64; 7] = [100, 90, 82, 94, 76, 106, 112];
const MANY: usize = 1_000;

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
fn filling_order(view: &View, ranks: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..view.nodes.len()).collect();
    order.sort_by_key(|&node| ranks[node]);
    let mut tail = vec![0usize; view.nodes.len()];
    for &node in order.iter().rev() {
        let after = view.leaving.get(node).iter().map(|&arrow| tail[view.arrows[arrow].to] + 1);
        tail[node] = after.max().unwrap_or(0);
    }
    order.sort_by_key(|&node| (ranks[node], usize::MAX - tail[node], view.nodes[node].group, node));
    (order, tail)
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

/// The first column with room, behind all that lead to a node. What can wait a little without making anything longer does so rather than
/// stand in a column that is half full.
fn fill(view: &View, ranks: &[usize], order: &[usize], tail: &[usize], limit: usize) -> Vec<usize> {
    let mut column = vec![0; view.nodes.len()];
    let mut strips: Vec<Strip> = (0..view.strips).map(|_| Strip::default()).collect();
    let half = limit.div_ceil(2);
    let mut end = ranks.iter().max().map_or(0, |max| max + 1);
    for &node in order {
        let before = view.coming.get(node).iter().map(|&arrow| column[view.arrows[arrow].from] + 1);
        // A start has nothing before it but its rank, which puts it near to what it leads to.
        let earliest = before.max().unwrap_or(ranks[node]);
        let strip = &mut strips[view.nodes[node].strip];
        let latest = (earliest + WAIT).min(end.saturating_sub(tail[node] + 1)).max(earliest);
        let quiet = (earliest..=latest).find(|&at| strip.has(at) < half);
        column[node] = strip.take(quiet.unwrap_or(earliest), limit);
        end = end.max(column[node] + tail[node] + 1);
    }
    close_gaps(&mut column);
    column
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

/// What is known of sizes before anything is ordered or routed.
#[derive(Debug)]
struct Sketch {
    columns: usize,
    /// Column, strip, and how high what stands there is.
    cells: Vec<(usize, usize, i64)>,
    /// Where the cells of a column start.
    first_cell: Vec<usize>,
    /// How many tracks a gap before a column would have.
    cut: Vec<i64>,
    /// Widths of all columns before one, with their channels.
    ends: Vec<i64>,
    /// Above and below the cards of a strip.
    pad: i64,
}

impl Sketch {
    fn of(view: &View, column: &[usize]) -> Self {
        let columns = column.iter().max().map_or(0, |max| max + 1);
        let row = i64::from(NODE_H + ROW_GAP);
        let mut cells: Vec<(usize, usize, i64)> =
            column.iter().zip(&view.nodes).map(|(&at, node)| (at, node.strip, row)).collect();
        let mut spans = vec![(usize::MAX, 0, usize::MAX, 0); 2 * view.nodes.len()];
        for arrow in view.arrows.iter().filter(|arrow| !arrow.back) {
            let (from, to) = (column[arrow.from], column[arrow.to]);
            let span = &mut spans[arrow.net];
            (span.0, span.1) = (span.0.min(from), span.1.max(to));
            if to - from <= LONGEST + 1 {
                (span.2, span.3) = (span.2.min(from), span.3.max(to));
            }
        }
        let mut change = vec![0i64; columns + 2];
        for (net, &(from, to, near_from, near_to)) in spans.iter().enumerate() {
            if from < to {
                change[from + 1] += 1;
                change[to + 1] -= 1;
            }
            let strip = view.nodes[net % view.nodes.len()].strip;
            for at in near_from.saturating_add(1)..near_to {
                cells.push((at, strip, i64::from(LINE)));
            }
        }
        cells.sort_unstable();
        cells.dedup_by(|next, first| {
            let same = (next.0, next.1) == (first.0, first.1);
            first.2 += if same { next.2 } else { 0 };
            same
        });
        let mut first_cell = vec![0; columns + 1];
        for cell in &cells {
            first_cell[cell.0 + 1] += 1;
        }
        let mut cut = vec![0; columns + 1];
        let mut passing = 0;
        let mut ends = vec![0; columns + 1];
        for at in 0..columns {
            first_cell[at + 1] += first_cell[at];
            passing += change[at];
            cut[at] = passing;
            // About half of the nets bend, and some of those share a track.
            let channel =
                i64::from(CHANNEL).max(2 * i64::from(EDGE) + passing * i64::from(TRACK) / 2);
            ends[at + 1] = ends[at] + i64::from(NODE_W) + channel;
        }
        let pad = if view.strips > 1 { 2 * i64::from(LANE_PAD) } else { 0 };
        Self { columns, cells, first_cell, cut, ends, pad }
    }

    /// The starts of bands that are not wider than that, so that all together are as low as can be: every place for a break is tried.
    fn breaks(&self, widest: i64) -> (Vec<usize>, i64) {
        let mut least = vec![(0i64, 0usize); self.columns + 1];
        let mut strips: Vec<i64> = Vec::new();
        for end in 1..=self.columns {
            strips.clear();
            let gap = self.gap(end);
            let mut band = 0;
            let mut best = (i64::MAX, end - 1);
            for start in (0..end).rev() {
                let wide = self.ends[end] - self.ends[start];
                if wide > widest && start + 1 < end {
                    break;
                }
                for &(_, strip, high) in
                    &self.cells[self.first_cell[start]..self.first_cell[start + 1]]
                {
                    if strips.len() <= strip {
                        strips.resize(strip + 1, 0);
                    }
                    if strips[strip] == 0 {
                        band += self.pad;
                    }
                    band += (high - strips[strip]).max(0);
                    strips[strip] = strips[strip].max(high);
                }
                let total = least[start].0 + band + gap;
                if total <= best.0 {
                    best = (total, start);
                }
            }
            least[end] = best;
        }
        let mut starts = vec![self.columns];
        let mut at = self.columns;
        while at > 0 {
            at = least[at].1;
            starts.push(at);
        }
        starts.reverse();
        (starts, least[self.columns].0)
    }

    /// How high the gap before a column is, if bands break there.
    fn gap(&self, column: usize) -> i64 {
        i64::from(CORRIDOR).max(self.cut[column] * i64::from(TRACK) + 2 * i64::from(EDGE))
    }

    /// The same quickly: bands of equal length.
    fn even_height(&self, bands: usize) -> (i64, i64) {
        let length = self.columns.div_ceil(bands.max(1)).max(1);
        let mut strips: Vec<i64> = Vec::new();
        let (mut width, mut height) = (0, 0);
        let mut start = 0;
        while start < self.columns {
            let end = (start + length).min(self.columns);
            strips.clear();
            for &(_, strip, high) in &self.cells[self.first_cell[start]..self.first_cell[end]] {
                if strips.len() <= strip {
                    strips.resize(strip + 1, 0);
                }
                strips[strip] = strips[strip].max(high);
            }
            height +=
                strips.iter().filter(|high| **high > 0).map(|high| high + self.pad).sum::<i64>();
            height += self.gap(end);
            width = width.max(self.ends[end] - self.ends[start]);
            start = end;
        }
        (width, height)
    }

    fn width(&self, starts: &[usize]) -> i64 {
        starts.windows(2).map(|pair| self.ends[pair[1]] - self.ends[pair[0]]).max().unwrap_or(0)
    }
}

/// The scale at which something of that size fits the window.
fn scale(width: i64, height: i64, options: &Options) -> f64 {
    let head = if options.lanes { i64::from(LANE_HEAD) } else { 0 };
    let across = f64::from(options.width) / (width + i64::from(2 * MARGIN) + head) as f64;
    let down = f64::from(options.height) / (height + i64::from(MARGIN)) as f64;
    across.min(down).min(1.0)
}

/// Numbers of bands that are worth a try, by the scale they would give if each band were as high as all are on average.
fn band_counts(sketch: &Sketch, options: &Options) -> Vec<usize> {
    let row = i64::from(NODE_H + ROW_GAP + CORRIDOR);
    let length = sketch.ends[sketch.columns] as f64;
    let aspect = f64::from(options.width) / f64::from(options.height);
    let deepest = sketch.even_height(1).1.max(row);
    let most = (length / (aspect * row as f64)).sqrt().ceil() as usize + 1;
    let least = (length / (aspect * 2.0 * deepest as f64)).sqrt() as usize;
    let mut counts = vec![1];
    let mut count = least.max(2);
    while count <= most.min(sketch.columns) {
        counts.push(count);
        count = (count + 1).max(count * 9 / 8);
    }
    counts
}

//! Where the columns break into bands, and which of several ways to fill the columns is taken.
//!
//! Both are found by trying: each pair is judged by the scale at which the whole would fit the window.

use super::fill::Ranking;
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
const COLUMN_COST: f64 = 0.85;
/// A card of so many pixels can be told from others. Above it every second pixel counts; below it every one does, and costs hardly do.
const LEGIBLE: f64 = 12.0;
const COST_BELOW: f64 = 0.25;

/// What a scale is worth to a reader, with so many bands and so many times more columns than ranks.
fn worth(scale: f64, bands: usize, stretch: f64) -> f64 {
    let cost = BAND_COST.powf((bands.max(1) as f64).log2()) * COLUMN_COST.powf(stretch.log2());
    let legible = LEGIBLE / f64::from(NODE_H);
    scale.min(legible) * cost.powf(COST_BELOW) + (scale - legible).max(0.0) / 2.0 * cost
}

pub(super) fn plan(view: &View, options: &Options) -> Plan {
    let ranking = Ranking::of(view);
    let mut best: Option<(f64, i64, Vec<usize>, Sketch)> = None;
    for column in ranking.candidates(view) {
        let sketch = Sketch::of(view, &column);
        let stretch = sketch.columns.max(1) as f64 / ranking.ranks.max(1) as f64;
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
    /// How many of those are too long for the columns, and run beside the band.
    beside: Vec<i64>,
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
        let mut change = vec![(0i64, 0i64); columns + 2];
        for (net, &(from, to, near_from, near_to)) in spans.iter().enumerate() {
            if from < to {
                let long = i64::from(to - from > LONGEST + 1);
                change[from + 1] = (change[from + 1].0 + 1, change[from + 1].1 + long);
                change[to + 1] = (change[to + 1].0 - 1, change[to + 1].1 - long);
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
        let mut beside = vec![0; columns + 1];
        let (mut passing, mut long) = (0, 0);
        let mut ends = vec![0; columns + 1];
        for at in 0..columns {
            first_cell[at + 1] += first_cell[at];
            passing += change[at].0;
            long += change[at].1;
            (cut[at], beside[at]) = (passing, long);
            // About half of the nets bend, and some of those share a track.
            let bent = (passing - long) * i64::from(TRACK) / 2;
            let channel = i64::from(CHANNEL).max(2 * i64::from(EDGE) + bent);
            ends[at + 1] = ends[at] + i64::from(NODE_W) + channel;
        }
        let pad = if view.strips > 1 { 2 * i64::from(LANE_PAD) } else { 0 };
        Self { columns, cells, first_cell, cut, beside, ends, pad }
    }

    /// The starts of bands that are not wider than that, so that all together are as low as can be: every place for a break is tried.
    fn breaks(&self, widest: i64) -> (Vec<usize>, i64) {
        let mut least = vec![(0i64, 0usize); self.columns + 1];
        let mut strips: Vec<i64> = Vec::new();
        for end in 1..=self.columns {
            strips.clear();
            let gap = self.gap(end);
            let (mut band, mut beside) = (0, 0);
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
                let total = least[start].0 + band + gap + beside * i64::from(TRACK);
                // What passes the start itself is counted there.
                beside = beside.max(self.beside[start]);
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
            let beside = self.beside[start + 1..end].iter().max().copied().unwrap_or(0);
            height += self.gap(end) + beside * i64::from(TRACK);
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

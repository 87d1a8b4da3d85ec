//! What stands in the columns of a band, and in which order: nodes, and the lines that pass a column.

use super::columns::Plan;
use super::view::{Lists, View};

/// Arrows that pass more columns than this run along the gap between bands. It bounds the lines in the columns.
pub(super) const LONGEST: usize = 4;

/// Everything in the columns.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) all: Vec<Item>,
    /// The items of each column from top to bottom.
    pub(super) columns: Vec<Vec<usize>>,
    /// The items that an arrow visits; empty when it runs along the gaps.
    pub(super) paths: Vec<Vec<usize>>,
    /// With which items of the column before, and of the column after, an item has a line in common.
    pub(super) before: Lists,
    pub(super) after: Lists,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) column: usize,
    pub(super) strip: usize,
    pub(super) group: Option<usize>,
    /// A node has the item of its own number; a line has none.
    pub(super) is_node: bool,
}

impl Items {
    pub(super) fn of(view: &View, plan: &Plan) -> Self {
        let band_of = plan.band_of_columns();
        let mut all: Vec<Item> = Vec::with_capacity(view.nodes.len() * 2);
        for (vertex, &column) in view.nodes.iter().zip(&plan.column) {
            all.push(Item { column, strip: vertex.strip, group: vertex.group, is_node: true });
        }
        let mut paths = vec![Vec::new(); view.arrows.len()];
        let mut links = Vec::new();
        for (net, arrows) in nets(view) {
            // A net has one line a column, whatever number of arrows run in it.
            let mut lines: Vec<(usize, usize)> = Vec::new();
            for &index in &arrows {
                let arrow = &view.arrows[index];
                let (first, last) = (plan.column[arrow.from], plan.column[arrow.to]);
                let inside = !arrow.back && first < last && band_of[first] == band_of[last];
                if !inside || last - first > LONGEST + 1 {
                    continue;
                }
                let hub = if view.is_source_net(net) { arrow.from } else { arrow.to };
                let mut path = vec![arrow.from];
                for column in first + 1..last {
                    let found = lines.iter().find(|line| line.0 == column).map(|line| line.1);
                    path.push(found.unwrap_or_else(|| {
                        let strip = view.nodes[hub].strip;
                        all.push(Item { column, strip, group: None, is_node: false });
                        lines.push((column, all.len() - 1));
                        all.len() - 1
                    }));
                }
                path.push(arrow.to);
                links.extend(path.windows(2).map(|pair| (pair[0], pair[1])));
                paths[index] = path;
            }
        }
        links.sort_unstable();
        links.dedup();
        let mut columns = vec![Vec::new(); *plan.starts.last().unwrap_or(&0)];
        for (index, item) in all.iter().enumerate() {
            columns[item.column].push(index);
        }
        let before = Lists::of(all.len(), links.iter().map(|&(from, to)| (to, from)));
        let after = Lists::of(all.len(), links.iter().copied());
        let mut items = Self { all, columns, paths, before, after };
        items.sort(plan);
        items
    }

    /// Sweeps over the columns of each band, each ordered by the middle of its neighbours in the one before; the best order stays.
    fn sort(&mut self, plan: &Plan) {
        let mut place = vec![0.0; self.all.len()];
        for band in plan.starts.windows(2) {
            let range = band[0]..band[1];
            for column in range.clone() {
                let all = &self.all;
                self.columns[column].sort_by_key(|&item| (all[item].strip, all[item].group, item));
                number(&self.columns[column], &mut place);
            }
            let mut best = self.columns[range.clone()].to_vec();
            let mut fewest = self.crossings(range.clone(), &place);
            let mut idle = 0;
            for sweep in 0..SWEEPS {
                if fewest == 0 || idle > 2 {
                    break;
                }
                if sweep % 2 == 0 {
                    for column in range.clone() {
                        self.sort_column(column, &mut place, Side::Before);
                    }
                } else {
                    for column in range.clone().rev() {
                        self.sort_column(column, &mut place, Side::After);
                    }
                }
                let crossings = self.crossings(range.clone(), &place);
                idle += 1;
                if crossings < fewest {
                    fewest = crossings;
                    best.clone_from_slice(&self.columns[range.clone()]);
                    idle = 0;
                }
            }
            self.columns[range].clone_from_slice(&best);
        }
    }

    fn sort_column(&mut self, column: usize, place: &mut [f64], side: Side) {
        let lists = match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        };
        let mut wanted: Vec<Wish> = self.columns[column]
            .iter()
            .map(|&item| {
                let near = lists.get(item);
                let sum: f64 = near.iter().map(|&other| place[other]).sum();
                let at = if near.is_empty() { place[item] } else { sum / near.len() as f64 };
                let Item { strip, group, .. } = self.all[item];
                Wish { strip, group, together: at, at, item }
            })
            .collect();
        // What belongs to one category stays together, at the middle of its members.
        if wanted.iter().any(|wish| wish.group.is_some()) {
            wanted.sort_by_key(|wish| (wish.strip, wish.group));
            for unit in wanted.chunk_by_mut(|a, b| (a.strip, a.group) == (b.strip, b.group)) {
                if unit[0].group.is_some() {
                    let middle = unit.iter().map(|wish| wish.at).sum::<f64>() / unit.len() as f64;
                    unit.iter_mut().for_each(|wish| wish.together = middle);
                }
            }
        }
        wanted.sort_by(|a, b| {
            (a.strip.cmp(&b.strip))
                .then(a.together.total_cmp(&b.together))
                .then(a.group.cmp(&b.group))
                .then(a.at.total_cmp(&b.at))
                .then(place[a.item].total_cmp(&place[b.item]))
        });
        let order = &mut self.columns[column];
        order.clear();
        order.extend(wanted.iter().map(|wish| wish.item));
        number(order, place);
    }

    /// Pairs of links that cross, counted by a tree of sums.
    fn crossings(&self, range: std::ops::Range<usize>, place: &[f64]) -> u64 {
        let mut crossings = 0;
        let mut ends: Vec<usize> = Vec::new();
        let mut sums: Vec<u32> = Vec::new();
        for column in range.start..range.end.saturating_sub(1) {
            sums.clear();
            sums.resize(self.columns[column + 1].len() + 1, 0);
            let mut seen = 0u64;
            for &item in &self.columns[column] {
                ends.clear();
                ends.extend(self.after.get(item).iter().map(|&to| place[to] as usize));
                for &end in &ends {
                    let mut at = end + 1;
                    let mut not_below = 0u64;
                    while at > 0 {
                        not_below += u64::from(sums[at]);
                        at &= at - 1;
                    }
                    crossings += seen - not_below;
                }
                for &end in &ends {
                    let mut at = end + 1;
                    while at < sums.len() {
                        sums[at] += 1;
                        at += at & at.wrapping_neg();
                    }
                }
                seen += ends.len() as u64;
            }
        }
        crossings
    }
}

/// More of them change little.
const SWEEPS: usize = 8;

/// The column before, or the one after.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side {
    Before,
    After,
}

/// Where an item of a column would stand.
#[derive(Debug)]
struct Wish {
    strip: usize,
    group: Option<usize>,
    together: f64,
    at: f64,
    item: usize,
}

fn number(order: &[usize], place: &mut [f64]) {
    for (at, &item) in order.iter().enumerate() {
        place[item] = at as f64;
    }
}

/// The arrows of each net.
fn nets(view: &View) -> Vec<(usize, Vec<usize>)> {
    let pairs = view.arrows.iter().enumerate().map(|(index, arrow)| (arrow.net, index));
    let lists = Lists::of(2 * view.nodes.len(), pairs);
    (0..2 * view.nodes.len())
        .map(|net| (net, lists.get(net).to_vec()))
        .filter(|(_, arrows)| !arrows.is_empty())
        .collect()
}

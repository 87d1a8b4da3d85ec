//! Where lines run: in channels between columns, along corridors between bands, and in the gutter left of all bands.
//!
//! None of these has a node in it, so no line runs through one. Lines of one net share their pieces. Others that would lie upon each
//! other get tracks of their own.

use super::columns::Plan;
use super::items::Items;
use super::place::Heights;
use super::view::{Arrow, View};
use super::{CHANNEL, CORRIDOR, EDGE, LANE_HEAD, MARGIN, NODE_H, NODE_W, PORT, TRACK};

/// The picture's measures and its lines.
#[derive(Debug)]
pub(super) struct Routes {
    /// The left edge of each column.
    pub(super) x: Vec<i32>,
    /// The upper edge of each band.
    pub(super) y: Vec<i32>,
    /// From where to where bands reach.
    pub(super) across: (i32, i32),
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) lines: Vec<Vec<[i32; 2]>>,
}

/// A piece of a net in a channel, a corridor or the gutter, and later its track.
#[derive(Debug, Clone, Copy)]
struct Piece {
    place: usize,
    net: usize,
    low: i32,
    high: i32,
    /// Where it comes from and goes to across the channel, summed, and how many.
    from: i64,
    to: i64,
    count: i64,
    track: i32,
}

/// Beyond every band.
const FAR: i32 = 1 << 28;

/// How an arrow runs along the gaps: out of the band by one corridor, into it by another. They may be the same.
#[derive(Debug, Clone, Copy)]
struct Detour {
    exit: usize,
    entry: usize,
    /// It leaves its band downwards, and comes to its band from above.
    down: bool,
    from_above: bool,
}

struct Router<'a> {
    view: &'a View,
    plan: &'a Plan,
    items: &'a Items,
    heights: &'a Heights,
    band_of: Vec<usize>,
}

pub(super) fn routes(view: &View, plan: &Plan, items: &Items, heights: &Heights) -> Routes {
    let band_of = plan.band_of_columns();
    Router { view, plan, items, heights, band_of }.routes()
}

impl Router<'_> {
    fn routes(&self) -> Routes {
        let detours: Vec<Option<Detour>> =
            (0..self.view.arrows.len()).map(|index| self.detour(index)).collect();
        let gutter = self.gutter(&detours);
        let gutter_tracks = gutter.iter().map(|piece| piece.track + 1).max().unwrap_or(0);
        let head = if self.view.strips > 1 { LANE_HEAD } else { 0 };
        let left = MARGIN + gutter_tracks * TRACK;
        let channels = self.channels(&detours);
        let (x, track_x, right) = self.columns(&channels, left + head);
        let at = |place: usize, net: usize| track_x[found(&channels, place, net)];
        let gutter_x =
            |net: usize| MARGIN + gutter[found(&gutter, 0, net)].track * TRACK + TRACK / 2;
        let ends = |index: usize| {
            let arrow = &self.view.arrows[index];
            let (out, into) = (self.channel_after(arrow.from), self.channel_before(arrow.to));
            (at(out, arrow.net), at(into, arrow.net))
        };
        let corridors = self.corridors(&detours, ends, gutter_x);
        let (y, corridor_y, height) = self.bands(&corridors);
        let lines = (0..self.view.arrows.len())
            .map(|index| {
                let arrow = &self.view.arrows[index];
                let out = [x[self.plan.column[arrow.from]] + NODE_W, self.middle(arrow.from, &y)];
                let Some(detour) = detours[index] else {
                    return self.path(index, out, &x, &y, &at);
                };
                let (leave, come) = ends(index);
                let first = corridor_y[found(&corridors, detour.exit, arrow.net)];
                let last = corridor_y[found(&corridors, detour.entry, arrow.net)];
                let port = self.detour_port(arrow, detour) + y[self.band(arrow.to)];
                let mut points = vec![out, [leave, out[1]], [leave, first]];
                if detour.exit != detour.entry {
                    points.extend([[gutter_x(arrow.net), first], [gutter_x(arrow.net), last]]);
                }
                let end = x[self.plan.column[arrow.to]];
                points.extend([[come, last], [come, port], [end, port]]);
                simplified(points)
            })
            .collect();
        Routes { x, y, across: (left, right), width: right + MARGIN, height, lines }
    }

    fn band(&self, node: usize) -> usize {
        self.band_of[self.plan.column[node]]
    }

    fn middle(&self, node: usize, y: &[i32]) -> i32 {
        self.heights.middle[node] + y[self.band(node)]
    }

    /// Channels are counted through all bands. A band has one more than columns.
    fn channel_before(&self, node: usize) -> usize {
        self.plan.column[node] + self.band(node)
    }

    fn channel_after(&self, node: usize) -> usize {
        self.channel_before(node) + 1
    }

    /// Corridor `n` is above band `n`; the last one is below all.
    fn detour(&self, index: usize) -> Option<Detour> {
        if !self.items.paths[index].is_empty() {
            return None;
        }
        let arrow = &self.view.arrows[index];
        let (from, to) = (self.band(arrow.from), self.band(arrow.to));
        let down = match from.cmp(&to) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => {
                // All arrows of a net take the same side, by the node that they share.
                let hub = if self.view.is_source_net(arrow.net) { arrow.from } else { arrow.to };
                self.heights.middle[hub] * 2 > self.heights.bands[from]
            }
        };
        let exit = from + usize::from(down);
        let from_above = if from == to { !down } else { down };
        Some(Detour { exit, entry: to + usize::from(!from_above), down, from_above })
    }

    /// Nothing else comes to the node, or only what shares the line.
    fn comes_alone(&self, net: usize, node: usize) -> bool {
        !self.view.is_source_net(net) || self.view.coming.get(node).len() == 1
    }

    /// How high in its band an arrow comes to its node from a corridor.
    fn detour_port(&self, arrow: &Arrow, detour: Detour) -> i32 {
        let middle = self.heights.middle[arrow.to];
        if self.comes_alone(arrow.net, arrow.to) {
            middle
        } else if detour.from_above {
            middle - PORT
        } else {
            middle + PORT
        }
    }

    /// How high a line comes to an item that stood at some height before: straight if the item is there, else a little off the middle,
    /// since lines leave at the middle.
    fn port(&self, net: usize, from: i32, item: usize) -> i32 {
        let middle = self.heights.middle[item];
        if !self.items.all[item].is_node {
            middle
        } else if (from - middle).abs() <= NODE_H / 2 - PORT {
            from
        } else if self.comes_alone(net, item) {
            middle
        } else if from < middle {
            middle - PORT
        } else {
            middle + PORT
        }
    }

    /// The upright pieces between columns, with their tracks from left to right.
    fn channels(&self, detours: &[Option<Detour>]) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(self.view.arrows.len());
        for (index, arrow) in self.view.arrows.iter().enumerate() {
            let net = arrow.net;
            if let Some(detour) = detours[index] {
                let from = self.heights.middle[arrow.from];
                let end = if detour.down { FAR } else { -FAR };
                pieces.push(piece(self.channel_after(arrow.from), net, from, end));
                let start = if detour.from_above { -FAR } else { FAR };
                let to = self.detour_port(arrow, detour);
                pieces.push(piece(self.channel_before(arrow.to), net, start, to));
                continue;
            }
            let mut from = self.heights.middle[arrow.from];
            for (step, &item) in self.items.paths[index].iter().enumerate().skip(1) {
                let to = self.port(net, from, item);
                if from != to {
                    pieces.push(piece(self.channel_after(arrow.from) + step - 1, net, from, to));
                }
                from = to;
            }
        }
        let mut pieces = merged(pieces);
        for channel in pieces.chunk_by_mut(|a, b| a.place == b.place) {
            assign_channel(channel);
        }
        pieces
    }

    /// The left edges of the columns, the x of each piece, and where the widest band ends.
    fn columns(&self, channels: &[Piece], left: i32) -> (Vec<i32>, Vec<i32>, i32) {
        let mut x = Vec::with_capacity(self.band_of.len());
        let mut track_x = Vec::with_capacity(channels.len());
        let mut rest = channels;
        let mut right = left;
        for (band, pair) in self.plan.starts.windows(2).enumerate() {
            let mut at = left;
            for place in pair[0]..=pair[1] {
                let count = rest.iter().take_while(|piece| piece.place == place + band).count();
                let (here, others) = rest.split_at(count);
                rest = others;
                let tracks = here.iter().map(|piece| piece.track + 1).max().unwrap_or(0);
                let is_outer = place == pair[0] || place == pair[1];
                let least = if is_outer { EDGE } else { CHANNEL };
                let wide = room(tracks, least);
                let first = at + (wide - (tracks - 1).max(0) * TRACK) / 2;
                track_x.extend(here.iter().map(|piece| first + piece.track * TRACK));
                at += wide;
                if place < pair[1] {
                    x.push(at);
                    at += NODE_W;
                }
            }
            right = right.max(at);
        }
        (x, track_x, right)
    }

    /// Nets that pass whole bands, each on a track left of them.
    fn gutter(&self, detours: &[Option<Detour>]) -> Vec<Piece> {
        let pieces = self.view.arrows.iter().zip(detours).filter_map(|(arrow, detour)| {
            let detour = (*detour)?;
            (detour.exit != detour.entry)
                .then(|| piece(0, arrow.net, detour.exit as i32, detour.entry as i32))
        });
        let mut pieces = merged(pieces.collect());
        assign_first_fit(&mut pieces, 0);
        pieces
    }

    fn corridors(
        &self,
        detours: &[Option<Detour>],
        ends: impl Fn(usize) -> (i32, i32),
        gutter_x: impl Fn(usize) -> i32,
    ) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (index, detour) in detours.iter().enumerate() {
            let Some(detour) = detour else { continue };
            let net = self.view.arrows[index].net;
            let (leave, come) = ends(index);
            if detour.exit == detour.entry {
                pieces.push(piece(detour.exit, net, leave, come));
            } else {
                pieces.push(piece(detour.exit, net, leave, gutter_x(net)));
                pieces.push(piece(detour.entry, net, gutter_x(net), come));
            }
        }
        let mut pieces = merged(pieces);
        for corridor in pieces.chunk_by_mut(|a, b| a.place == b.place) {
            assign_first_fit(corridor, TRACK);
        }
        pieces
    }

    /// The upper edges of the bands, the y of each piece, and the height of all.
    fn bands(&self, corridors: &[Piece]) -> (Vec<i32>, Vec<i32>, i32) {
        let mut y = Vec::with_capacity(self.plan.bands());
        let mut track_y = Vec::with_capacity(corridors.len());
        let mut rest = corridors;
        let mut at = 0;
        for place in 0..=self.plan.bands() {
            let count = rest.iter().take_while(|piece| piece.place == place).count();
            let (here, others) = rest.split_at(count);
            rest = others;
            let tracks = here.iter().map(|piece| piece.track + 1).max().unwrap_or(0);
            let is_outer = place == 0 || place == self.plan.bands();
            let least = if is_outer { MARGIN } else { CORRIDOR };
            let high = room(tracks, least);
            let first = at + (high - (tracks - 1).max(0) * TRACK) / 2;
            track_y.extend(here.iter().map(|piece| first + piece.track * TRACK));
            at += high;
            if place < self.plan.bands() {
                y.push(at);
                at += self.heights.bands[place];
            }
        }
        (y, track_y, at)
    }

    /// The line of an arrow that stays in the columns of its band.
    fn path(
        &self,
        index: usize,
        out: [i32; 2],
        x: &[i32],
        y: &[i32],
        at: &impl Fn(usize, usize) -> i32,
    ) -> Vec<[i32; 2]> {
        let arrow = &self.view.arrows[index];
        let top = y[self.band(arrow.from)];
        let mut points = vec![out];
        let mut from = out[1] - top;
        for (step, &item) in self.items.paths[index].iter().enumerate().skip(1) {
            let to = self.port(arrow.net, from, item);
            if from != to {
                let track = at(self.channel_after(arrow.from) + step - 1, arrow.net);
                points.extend([[track, from + top], [track, to + top]]);
            }
            from = to;
        }
        points.push([x[self.plan.column[arrow.to]], from + top]);
        simplified(points)
    }
}

/// What so many tracks need, with room beside them.
fn room(tracks: i32, least: i32) -> i32 {
    if tracks == 0 { least } else { least.max((tracks - 1) * TRACK + 2 * EDGE) }
}

fn piece(place: usize, net: usize, from: i32, to: i32) -> Piece {
    Piece {
        place,
        net,
        low: from.min(to),
        high: from.max(to),
        from: i64::from(from),
        to: i64::from(to),
        count: 1,
        track: 0,
    }
}

/// One piece for each place and net, in this order.
fn merged(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.sort_by_key(|piece| (piece.place, piece.net));
    pieces.dedup_by(|next, first| {
        let same = (next.place, next.net) == (first.place, first.net);
        if same {
            first.low = first.low.min(next.low);
            first.high = first.high.max(next.high);
            first.from += next.from;
            first.to += next.to;
            first.count += 1;
        }
        same
    });
    pieces
}

fn found(pieces: &[Piece], place: usize, net: usize) -> usize {
    pieces
        .binary_search_by_key(&(place, net), |piece| (piece.place, piece.net))
        .expect("every piece of a line was put in before it is drawn")
}

/// Tracks in a channel. Of two lines that go down side by side the lower one is further left, of two that go up the upper one: then they
/// do not cross.
fn assign_channel(pieces: &mut [Piece]) {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    let goes_down = |piece: &Piece| piece.to >= piece.from;
    order.sort_by_key(|&index| {
        let piece = &pieces[index];
        let from = piece.from / piece.count;
        (goes_down(piece), if goes_down(piece) { -from } else { from }, piece.net)
    });
    let mut placed: Vec<usize> = Vec::with_capacity(pieces.len());
    let mut taken: Vec<bool> = Vec::new();
    for index in order {
        let here = pieces[index];
        taken.clear();
        taken.resize(placed.len() + 1, false);
        let mut track = 0;
        for &other in &placed {
            let other = &pieces[other];
            if other.low <= here.high + 2 && here.low <= other.high + 2 {
                taken[other.track as usize] = true;
                if goes_down(other) == goes_down(&here) {
                    track = track.max(other.track + 1);
                }
            }
        }
        while taken[track as usize] {
            track += 1;
        }
        pieces[index].track = track;
        placed.push(index);
    }
}

/// The first track that is free from there on.
fn assign_first_fit(pieces: &mut [Piece], apart: i32) {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by_key(|&index| (pieces[index].low, pieces[index].high, pieces[index].net));
    let mut ends: Vec<i32> = Vec::new();
    for index in order {
        let piece = &mut pieces[index];
        let free = ends.iter().position(|&end| end + apart < piece.low);
        let track = free.unwrap_or(ends.len());
        if track == ends.len() {
            ends.push(0);
        }
        ends[track] = piece.high;
        piece.track = track as i32;
    }
}

/// Without points that a straight line passes anyway.
fn simplified(points: Vec<[i32; 2]>) -> Vec<[i32; 2]> {
    let mut kept: Vec<[i32; 2]> = Vec::with_capacity(points.len());
    for point in points {
        if kept.last() == Some(&point) {
            continue;
        }
        if let [.., a, b] = kept[..] {
            let upright = a[0] == b[0] && b[0] == point[0];
            let level = a[1] == b[1] && b[1] == point[1];
            if upright || level {
                kept.pop();
            }
        }
        kept.push(point);
    }
    kept
}

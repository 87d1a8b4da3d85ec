//! What is left of a card when all steps are seen at once.

use chancery_model::layout::{Graph, Options, example, lay_out};

use super::check::{cell, checked};

fn lanes_off() -> Options {
    Options { lanes: false, ..Options::default() }
}

/// 500 steps at 1280×800 leave each a cell of 10 pixels: a chain, a process, a fan, and a process in seven lanes.
#[test]
fn five_hundred_steps_fit_a_screen() {
    let mut shapes: Vec<(String, Graph)> =
        vec![("chain".into(), example::chain(500)), ("fan".into(), example::fan(500))];
    for seed in 0..30 {
        shapes.push((format!("process {seed}"), example::process(500, 0, seed)));
        shapes.push((format!("lanes {seed}"), example::process(500, 7, seed)));
    }
    for (name, graph) in shapes {
        let layout = lay_out(&graph, &Options::default());
        let side = cell(&layout, 1280, 800);
        assert!(side >= 10.0, "{name}: {side:.2} px, {}×{}", layout.width, layout.height);
    }
}

/// The same four shapes keep every rule at this size, not only in small.
#[test]
fn five_hundred_steps_keep_the_rules() {
    checked(&example::chain(500), &Options::default());
    checked(&example::fan(500), &Options::default());
    checked(&example::process(500, 0, 3), &Options::default());
    checked(&example::process(500, 7, 3), &Options::default());
    checked(&example::dense(20, 20), &Options::default());
    checked(&example::branches(100, 5), &Options::default());
}

/// Branches of a wide fan stay together when it wraps: each of their lines is straight.
#[test]
fn parallel_branches_stay_together() {
    let layout = checked(&example::branches(100, 5), &Options::default());
    let inner: Vec<_> =
        layout.edges.iter().filter(|e| e.from != "s00000" && e.to != "s00501").collect();
    assert_eq!(inner.len(), 400);
    let bent = inner.iter().filter(|edge| edge.points.len() > 2).count();
    assert!(bent <= 40, "{bent} of {} lines bend", inner.len());
}

/// The window's shape counts: in a tall one the same steps take more bands, and the layout is tall too.
#[test]
fn bands_follow_the_window() {
    let graph = example::chain(200);
    let wide = lay_out(&graph, &Options { width: 1600, height: 400, ..Options::default() });
    let tall = lay_out(&graph, &Options { width: 400, height: 1600, ..Options::default() });
    assert!(wide.bands.len() * 2 < tall.bands.len(), "{} {}", wide.bands.len(), tall.bands.len());
    assert!(wide.width > 2 * wide.height, "{}×{}", wide.width, wide.height);
    assert!(tall.height > 2 * tall.width, "{}×{}", tall.width, tall.height);
}

/// What fits as it is does not wrap.
#[test]
fn a_short_chain_is_one_band() {
    let layout = checked(&example::chain(6), &Options::default());
    assert_eq!(layout.bands.len(), 1);
    assert!(layout.fitted_scale(1280, 800) >= 1.0);
}

/// Steps one after the other stand in a line, also where the line goes on in the next band.
#[test]
fn a_chain_is_straight() {
    let layout = checked(&example::chain(120), &lanes_off());
    for band in 0..layout.bands.len() {
        let heights: Vec<i32> =
            layout.nodes.iter().filter(|node| node.band == band).map(|node| node.y).collect();
        assert!(heights.iter().all(|y| *y == heights[0]), "{heights:?}");
    }
    let bent = layout.edges.iter().filter(|edge| edge.points.len() > 2).count();
    assert_eq!(bent, layout.bands.len() - 1, "only the ends of bands bend");
}

/// Where one step leads to one and that one waits for no other, the line between them is straight, but for columns that are full: there
/// the order of the others decides.
#[test]
fn chains_in_a_process_are_straight() {
    let (mut straight, mut all) = (0, 0);
    for seed in 0..5 {
        let graph = example::without_categories(&example::process(300, 0, seed));
        let layout = lay_out(&graph, &lanes_off());
        let rank = |id: &str| layout.nodes.iter().find(|n| n.id == id).map(|n| (n.rank, n.band));
        for edge in &layout.edges {
            let leaving = layout.edges.iter().filter(|other| other.from == edge.from).count();
            let coming = layout.edges.iter().filter(|other| other.to == edge.to).count();
            let (from, to) = (rank(&edge.from).unwrap(), rank(&edge.to).unwrap());
            if leaving == 1 && coming == 1 && from.0 + 1 == to.0 && from.1 == to.1 {
                all += 1;
                straight += usize::from(edge.points.len() == 2);
            }
        }
    }
    assert!(all > 50, "too few to tell: {all}");
    assert!(straight * 100 >= all * 85, "{straight} of {all}");
}

/// Long arrows do not fill the columns with lines: the picture of a star or of dense layers stays as large as its steps need.
#[test]
fn shapes_that_could_explode_do_not() {
    for (name, graph, most) in [
        ("branches", example::branches(1_000, 5), 4.0),
        ("star", example::fan(5_002), 12.0),
        ("dense", example::dense(20, 20), 6.0),
        ("chain", example::chain(5_000), 6.0),
    ] {
        let layout = lay_out(&graph, &Options::default());
        let cards = layout.nodes.iter().map(|node| f64::from(node.w) * f64::from(node.h));
        let room = f64::from(layout.width) * f64::from(layout.height) / cards.sum::<f64>();
        assert!(room < most, "{name}: {room:.1} times the cards");
        let points = layout.edges.iter().map(|edge| edge.points.len()).max().unwrap();
        assert!(points <= 16, "{name}: a line of {points} points");
    }
}

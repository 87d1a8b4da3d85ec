//! How long the layout of a workflow takes, and what it looks like.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use chancery_bench::{say, tell};
use chancery_model::layout::{Graph, Layout, Options, example, lay_out};
use serde_json::{Value, json};

const SIZES: [usize; 7] = [2, 20, 100, 500, 2_000, 5_000, 20_000];
/// Steps, and the milliseconds they may take in an optimised build.
const ASKED: [(usize, f64); 2] = [(500, 5.0), (5_000, 50.0)];

/// Every shape at every size: the median of `rounds` runs. Fails when one takes longer than is asked.
pub(crate) fn measure(rounds: usize) -> Result<Value> {
    tell(&format!(
        "{:>7} {:>8} {:>7} | {:>8} {:>8} | {:>6} {:>13} {:>7} | {:>8}",
        "shape", "steps", "edges", "ms", "max ms", "bands", "size", "cell px", "KB JSON"
    ));
    let mut figures = Vec::new();
    let mut late = Vec::new();
    for steps in SIZES {
        for (shape, graph, lanes) in shapes(steps) {
            let options = Options { lanes, ..Options::default() };
            let mut times: Vec<f64> = Vec::new();
            let mut layout = lay_out(&graph, &options);
            for _ in 0..rounds.max(5) {
                let begun = Instant::now();
                layout = lay_out(&graph, &options);
                times.push(begun.elapsed().as_secs_f64() * 1e3);
            }
            times.sort_by(f64::total_cmp);
            let (median, most) = (times[times.len() / 2], times[times.len() - 1]);
            let bytes = serde_json::to_vec(&layout)?.len();
            tell(&format!(
                "{shape:>7} {steps:>8} {:>7} | {median:>8.3} {most:>8.3} | {:>6} {:>13} {:>7.1} | {:>8.1}",
                layout.edges.len(),
                layout.bands.len(),
                format!("{}×{}", layout.width, layout.height),
                cell(&layout),
                bytes as f64 / 1024.0,
            ));
            if let Some((_, asked)) =
                ASKED.iter().find(|(size, asked)| *size == steps && median > *asked)
            {
                late.push(format!(
                    "{shape} of {steps} took {median:.1} ms (asked: at most {asked})"
                ));
            }
            figures.push(json!({
                "shape": shape, "steps": steps, "edges": layout.edges.len(), "median_ms": median, "max_ms": most,
                "bands": layout.bands.len(), "width": layout.width, "height": layout.height, "cell_px": cell(&layout), "bytes": bytes,
            }));
        }
    }
    ensure!(cfg!(debug_assertions) || late.is_empty(), "too slow: {}", late.join("; "));
    Ok(json!({ "what": "layout", "figures": figures }))
}

/// A card's smaller side when all of the picture is seen at 1280×800.
fn cell(layout: &Layout) -> f64 {
    let side = layout.nodes.iter().map(|node| node.w.min(node.h)).min().unwrap_or(0);
    f64::from(side) * layout.fitted_scale(1280, 800)
}

fn shapes(steps: usize) -> Vec<(&'static str, Graph, bool)> {
    vec![
        ("process", example::process(steps, 0, 7), false),
        ("lanes", example::process(steps, 7, 7), true),
        ("chain", example::chain(steps), false),
        ("fan", example::fan(steps), false),
        ("dense", example::dense(steps.div_ceil(20), 20.min(steps)), false),
    ]
}

/// Pictures to look at.
pub(crate) fn draw(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let all = |graph: Graph, lanes: bool, collapsed: bool| {
        let options = Options { lanes, ..Options::default() };
        let options = if collapsed { options.with_all_collapsed(&graph) } else { options };
        lay_out(&graph, &options)
    };
    let pictures = [
        ("chain_30", all(example::chain(30), false, false)),
        ("process_60_lanes", all(example::process(60, 3, 5), true, false)),
        ("process_60", all(example::process(60, 0, 5), false, false)),
        ("process_60_collapsed", all(example::process(60, 0, 5), false, true)),
        ("process_500", all(example::process(500, 0, 7), false, false)),
        ("lanes_500", all(example::process(500, 7, 7), true, false)),
        ("fan_500", all(example::fan(500), false, false)),
        ("chain_500", all(example::chain(500), false, false)),
        ("dense_400", all(example::dense(20, 20), false, false)),
    ];
    for (name, layout) in pictures {
        let path = folder.join(format!("{name}.svg"));
        std::fs::write(&path, svg(&layout)?)?;
        say(&format!(
            "{} is {}×{}, a cell of {:.1} px",
            path.display(),
            layout.width,
            layout.height,
            cell(&layout)
        ));
    }
    Ok(())
}

fn svg(layout: &Layout) -> Result<String> {
    let mut out = String::new();
    writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" font-family="sans-serif">"##,
        layout.width, layout.height
    )?;
    let mut rect = |x: i32, y: i32, w: i32, h: i32, fill: &str, stroke: &str| {
        writeln!(
            out,
            r##"<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{fill}" stroke="{stroke}"/>"##
        )
    };
    rect(0, 0, layout.width, layout.height, "#ffffff", "none")?;
    for (number, lane) in layout.lanes.iter().enumerate() {
        let fill = if number % 2 == 0 { "#eef2ff" } else { "#f8fafc" };
        for b in &lane.boxes {
            rect(b.x, b.y, b.w, b.h, fill, "#cbd5e1")?;
        }
    }
    for b in layout.groups.iter().flat_map(|group| &group.boxes) {
        rect(b.x, b.y, b.w, b.h, "#fef3c7", "#d97706")?;
    }
    for node in &layout.nodes {
        rect(node.x, node.y, node.w, node.h, "#d9fee7", "#04a13f")?;
    }
    for edge in &layout.edges {
        let points: Vec<String> = edge.points.iter().map(|[x, y]| format!("{x},{y}")).collect();
        writeln!(
            out,
            r##"<polyline points="{}" fill="none" stroke="#475569" stroke-width="2"/>"##,
            points.join(" ")
        )?;
        if let Some([x, y]) = edge.points.last() {
            writeln!(
                out,
                r##"<polygon points="{x},{y} {0},{1} {0},{2}" fill="#475569"/>"##,
                x - 8,
                y - 4,
                y + 4
            )?;
        }
    }
    for node in &layout.nodes {
        writeln!(
            out,
            r##"<text x="{}" y="{}" font-size="16">{}</text>"##,
            node.x + 10,
            node.y + 38,
            node.id
        )?;
    }
    out.push_str("</svg>\n");
    Ok(out)
}

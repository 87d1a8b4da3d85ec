//! How long the layout of a workflow takes, and what it looks like.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use chancery_bench::{say, tell};
use chancery_model::layout::{Graph, Layout, Options, example, lay_out};
use serde_json::{Value, json};

const SIZES: [usize; 7] = [2, 20, 100, 500, 2_000, 5_000, 20_000];
/// Steps, and the milliseconds they may take in an optimised build, from the definition to the layout.
const ASKED: [(usize, f64); 2] = [(500, 5.0), (5_000, 50.0)];

/// Every shape at every size: the median of some runs. Fails when a shape takes longer than is asked.
pub(crate) fn measure(rounds: usize, quick: bool) -> Result<Value> {
    tell(&format!(
        "{:>8} {:>6} {:>7} | {:>8} {:>8} {:>8} {:>8} | {:>5} {:>13} {:>7} {:>8}",
        "shape",
        "steps",
        "edges",
        "read",
        "lay out",
        "both",
        "most",
        "bands",
        "size",
        "cell px",
        "KB JSON"
    ));
    let mut figures = Vec::new();
    let mut late = Vec::new();
    let sizes = if quick { &SIZES[..4] } else { &SIZES[..] };
    for &steps in sizes {
        for shape in shapes(steps) {
            let figure = shape.measure(steps, if quick { 1 } else { rounds.max(5) })?;
            let took = figure["median_ms"].as_f64().context("a time")?;
            let asked = ASKED.iter().find(|(size, most)| *size == steps && took > *most);
            if let Some((_, most)) = asked.filter(|_| shape.asked) {
                late.push(format!("{} of {steps}: {took:.1} ms, asked {most}", shape.name));
            }
            figures.push(figure);
        }
    }
    tell("milliseconds; a cell is the smaller side of a card when all is seen at 1280×800");
    ensure!(quick || cfg!(debug_assertions) || late.is_empty(), "too slow: {}", late.join("; "));
    Ok(json!({ "what": "layout", "figures": figures }))
}

struct Shape {
    name: &'static str,
    graph: Graph,
    /// Whether the time is held to what is asked. Dense layers have twenty edges a step and are not what is meant.
    asked: bool,
}

fn shapes(steps: usize) -> Vec<Shape> {
    let shape = |name, graph| Shape { name, graph, asked: name != "dense" };
    vec![
        shape("process", example::process(steps, 0, 7)),
        shape("lanes", example::process(steps, 7, 7)),
        shape("chain", example::chain(steps)),
        shape("fan", example::fan(steps)),
        shape("branches", example::branches((steps / 5).max(1), 5)),
        shape("dense", example::dense(steps.div_ceil(20), 20.min(steps))),
    ]
}

impl Shape {
    fn measure(&self, steps: usize, rounds: usize) -> Result<Value> {
        let document = definition(&self.graph);
        let mut times: Vec<(f64, f64)> = Vec::new();
        let mut layout = lay_out(&self.graph, &Options::default());
        for _ in 0..rounds {
            let begun = Instant::now();
            let graph = Graph::of_definition(&document)?;
            let read = begun.elapsed();
            layout = lay_out(&graph, &Options::default());
            times.push((begun.elapsed().as_secs_f64() * 1e3, read.as_secs_f64() * 1e3));
        }
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ((median, read), (most, _)) = (times[times.len() / 2], times[times.len() - 1]);
        let bytes = serde_json::to_vec(&layout)?.len();
        tell(&format!(
            "{:>8} {steps:>6} {:>7} | {read:>8.3} {:>8.3} {median:>8.3} {most:>8.3} | {:>5} {:>13} {:>7.1} {:>8.1}",
            self.name,
            layout.edges.len(),
            median - read,
            layout.bands.len(),
            format!("{}×{}", layout.width, layout.height),
            cell(&layout),
            bytes as f64 / 1024.0,
        ));
        Ok(json!({
            "shape": self.name, "steps": steps, "edges": layout.edges.len(), "median_ms": median, "read_ms": read, "max_ms": most,
            "bands": layout.bands.len(), "width": layout.width, "height": layout.height, "cell_px": cell(&layout), "bytes": bytes,
        }))
    }
}

/// The document that the database would have.
fn definition(graph: &Graph) -> Value {
    let keys = |keys: &[String]| keys.iter().map(|key| json!({ "key": key })).collect::<Vec<_>>();
    let steps = graph.steps().iter().map(|step| {
        json!({ "key": step.key, "title": { "en": step.key, "vi": step.key }, "lane": step.lane, "category": step.category })
    });
    let relations = graph.relations().iter();
    json!({
        "workflow": "bench", "lanes": keys(graph.lanes()), "categories": keys(graph.categories()), "steps": steps.collect::<Vec<_>>(),
        "relations": relations.map(|r| json!({ "from": r.from, "to": r.to, "kind": r.kind })).collect::<Vec<_>>(),
    })
}

/// A card's smaller side when all of the picture is seen at 1280×800.
fn cell(layout: &Layout) -> f64 {
    let side = layout.nodes.iter().map(|node| node.w.min(node.h)).min().unwrap_or(0);
    f64::from(side) * layout.fitted_scale(1280, 800)
}

/// Pictures to look at.
pub(crate) fn draw(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let plain = |graph: Graph| lay_out(&graph, &Options::default());
    let small = example::process(60, 0, 5);
    let pictures = [
        ("chain_30", plain(example::chain(30))),
        ("process_60", plain(small.clone())),
        ("process_60_collapsed", lay_out(&small, &Options::default().with_all_collapsed(&small))),
        ("process_60_lanes", plain(example::process(60, 3, 5))),
        ("process_500", plain(example::process(500, 0, 7))),
        ("lanes_500", plain(example::process(500, 7, 7))),
        ("chain_500", plain(example::chain(500))),
        ("fan_500", plain(example::fan(500))),
        ("branches_500", plain(example::branches(100, 5))),
        ("dense_400", plain(example::dense(20, 20))),
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

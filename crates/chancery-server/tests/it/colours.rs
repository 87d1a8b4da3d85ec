//! The colours of states, judged from what the server answers.

use std::collections::{BTreeMap, BTreeSet};

use chancery_api::words::{Colours, StateToken, Themes, Tokens};
use chancery_testkit::shipped;
use serde_json::{Value, json};

use crate::routes_a_client::Person;
use crate::scene::Scene;

const FLOOR: [&str; 9] = [
    "not_started",
    "ready",
    "in_progress",
    "waiting",
    "blocked",
    "overdue",
    "failed",
    "cannot_complete",
    "completed",
];

/// How people see: everybody, and the three dichromacies as Machado, Oliveira and Fernandes (2009) model them, severity 1.0.
const VISIONS: [(&str, [[f64; 3]; 3]); 4] = [
    ("normal", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protan",
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
    ),
    (
        "deutan",
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ),
    (
        "tritan",
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ),
];

fn linear(hex: &str) -> [f64; 3] {
    assert!(hex.len() == 7 && hex.starts_with('#'), "{hex}");
    [1, 3, 5].map(|at| {
        let part = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    })
}

fn contrast(one: &str, other: &str) -> f64 {
    let luminance = |hex| {
        let [red, green, blue] = linear(hex);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    };
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// CIE L*a*b* under D65.
fn lab(linear: [f64; 3]) -> [f64; 3] {
    let [red, green, blue] = linear.map(|part| part.clamp(0.0, 1.0));
    let x = (0.412_456_4 * red + 0.357_576_1 * green + 0.180_437_5 * blue) / 0.950_47;
    let y = 0.212_672_9 * red + 0.715_152_2 * green + 0.072_175 * blue;
    let z = (0.019_333_9 * red + 0.119_192 * green + 0.950_304_1 * blue) / 1.088_83;
    let root = |t: f64| {
        if t > 216.0 / 24389.0 { t.cbrt() } else { (24389.0 / 27.0 * t + 16.0) / 116.0 }
    };
    let (x, y, z) = (root(x), root(y), root(z));
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn hue(a: f64, b: f64) -> f64 {
    if a == 0.0 && b == 0.0 { 0.0 } else { b.atan2(a).to_degrees().rem_euclid(360.0) }
}

/// CIEDE2000, as Sharma, Wu and Dalal (2005) write it.
fn delta_e(one: [f64; 3], other: [f64; 3]) -> f64 {
    let seventh = 25_f64.powi(7);
    let chroma = (one[1].hypot(one[2]) + other[1].hypot(other[2])) / 2.0;
    let g = 0.5 * (1.0 - (chroma.powi(7) / (chroma.powi(7) + seventh)).sqrt());
    let (a1, a2) = ((1.0 + g) * one[1], (1.0 + g) * other[1]);
    let (c1, c2) = (a1.hypot(one[2]), a2.hypot(other[2]));
    let (h1, h2) = (hue(a1, one[2]), hue(a2, other[2]));
    let gray = c1 * c2 == 0.0;
    let turn = match h2 - h1 {
        _ if gray => 0.0,
        turn if turn > 180.0 => turn - 360.0,
        turn if turn < -180.0 => turn + 360.0,
        turn => turn,
    };
    let (dl, dc) = (other[0] - one[0], c2 - c1);
    let dh = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin();
    let (l, c) = (f64::midpoint(one[0], other[0]), f64::midpoint(c1, c2));
    let h = match h1 + h2 {
        sum if gray => sum,
        sum if (h1 - h2).abs() <= 180.0 => sum / 2.0,
        sum if sum < 360.0 => (sum + 360.0) / 2.0,
        sum => (sum - 360.0) / 2.0,
    };
    let wave = |times: f64, by: f64| (times * h + by).to_radians().cos();
    let t = 1.0 - 0.17 * wave(1.0, -30.0) + 0.24 * wave(2.0, 0.0) + 0.32 * wave(3.0, 6.0)
        - 0.20 * wave(4.0, -63.0);
    let sl = 1.0 + 0.015 * (l - 50.0).powi(2) / (20.0 + (l - 50.0).powi(2)).sqrt();
    let (sc, sh) = (1.0 + 0.045 * c, 1.0 + 0.015 * c * t);
    let bend = 30.0 * (-((h - 275.0) / 25.0).powi(2)).exp();
    let rt = -2.0 * (c.powi(7) / (c.powi(7) + seventh)).sqrt() * (2.0 * bend).to_radians().sin();
    let (l, c, h) = (dl / sl, dc / sc, dh / sh);
    (l * l + c * c + h * h + rt * c * h).sqrt()
}

fn seen(hex: &str, matrix: &[[f64; 3]; 3]) -> [f64; 3] {
    let light = linear(hex);
    lab(matrix.map(|row| row.iter().zip(light).map(|(weight, part)| weight * part).sum()))
}

async fn tokens(person: &Person<'_>) -> Tokens {
    let answer = person.get("/v1/state-tokens").await;
    serde_json::from_value(answer.is(200).body.clone()).expect("tokens")
}

fn themes<T>(of: &Themes<T>) -> [(&'static str, &T); 3] {
    [("light", &of.light), ("dark", &of.dark), ("contrast", &of.contrast)]
}

async fn every_machine(scene: &Scene) {
    for machine in shipped() {
        scene.db.definition(&machine).await;
    }
}

/// The measure itself, by pairs of the paper's table.
#[test]
fn the_measure_of_colours_is_the_papers() {
    for (one, other, expected) in [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
        ([2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514], 0.9082),
        ([90.8027, -2.0831, 1.441], [91.1528, -1.6435, 0.0447], 1.4441),
    ] {
        let found = delta_e(one, other);
        assert!((found - expected).abs() < 1e-4, "{one:?} {other:?}: {found}");
    }
    assert!((contrast("#FFFFFF", "#059669") - 3.77).abs() < 0.01);
}

/// Whatever a state is called, its text can be read and its border can be seen, in every theme.
#[tokio::test]
async fn every_state_can_be_read_in_every_theme() {
    let scene = Scene::new().await;
    every_machine(&scene).await;
    let ann = Person::new(&scene, "ann", &["observer"]).await;
    let tokens = tokens(&ann).await;
    let machines: BTreeSet<&str> = tokens.states.iter().map(|state| &*state.machine).collect();
    assert!(machines.len() >= 11, "{machines:?}");
    let pages: BTreeMap<&str, &String> = themes(&tokens.pages).into();
    for StateToken { machine, state, palette, .. } in &tokens.states {
        for (theme, Colours { bg, fg, border }) in themes(palette) {
            let least = if theme == "contrast" { 7.0 } else { 4.5 };
            let (text, edge) = (contrast(fg, bg), contrast(border, pages[theme]));
            assert!(text >= least, "{machine} {state} {theme}: {fg} on {bg} has {text:.2}");
            assert!(edge >= 3.0, "{machine} {state} {theme}: {border} has {edge:.2}");
        }
    }
}

/// The nine floor states differ in colour for everybody, and in silhouette.
#[tokio::test]
async fn floor_states_are_told_apart_by_everybody() {
    let scene = Scene::new().await;
    every_machine(&scene).await;
    let ann = Person::new(&scene, "ann", &["observer"]).await;
    let tokens = tokens(&ann).await;
    for machine in ["step", "task"] {
        let floor: Vec<&StateToken> = FLOOR
            .iter()
            .map(|&code| {
                let mut all = tokens.states.iter();
                all.find(|one| one.machine == machine && one.state == code).expect("a floor state")
            })
            .collect();
        let icons: BTreeSet<&str> = floor.iter().map(|state| &*state.icon).collect();
        assert_eq!(icons.len(), 9, "{icons:?}");
        for (n, one) in floor.iter().enumerate() {
            for other in &floor[n + 1..] {
                for (vision, matrix) in &VISIONS {
                    for (theme, a, b) in [
                        ("light", &one.palette.light, &other.palette.light),
                        ("dark", &one.palette.dark, &other.palette.dark),
                    ] {
                        let apart = delta_e(seen(&a.bg, matrix), seen(&b.bg, matrix));
                        let (one, other) = (&one.state, &other.state);
                        assert!(apart >= 10.0, "{theme} {vision} {one} {other}: {apart:.1}");
                    }
                }
            }
        }
    }
}

/// A colour that can't be read is refused, whoever writes it; and so is a page on which the colours can't be seen.
#[tokio::test]
async fn a_bad_colour_is_refused_by_hand() {
    let scene = Scene::new().await;
    let mut hand = scene.db.superuser().await;
    for (statement, constraint) in [
        // The white on green that was said to have 4.6, and has 3.77.
        (
            "update config.palette set bg = '#059669', fg = '#FFFFFF' where colour = 'ui.traffic_light.green' and theme = 'light'",
            "palette_text_can_be_read",
        ),
        (
            "update config.palette set fg = '#767676' where colour = 'ui.traffic_light.red' and theme = 'contrast'",
            "palette_text_can_be_read",
        ),
        (
            "update config.palette set border = '#FFFFFF' where theme = 'light'",
            "palette_border_can_be_seen",
        ),
        (
            "update config.theme set page = '#808080' where theme = 'dark'",
            "palette_border_can_be_seen",
        ),
        ("update config.theme set least_text = 3 where theme = 'light'", "theme_text_can_be_read"),
        ("update config.palette set bg = 'red'", "palette_is_hex"),
    ] {
        sqlx::raw_sql("begin; set local role chancery_owner")
            .execute(&mut hand)
            .await
            .expect("ours");
        let error = sqlx::raw_sql(statement).execute(&mut hand).await.expect_err("refused");
        let error = error.as_database_error().expect("the database says so").constraint();
        assert_eq!(error, Some(constraint), "{statement}");
        sqlx::raw_sql("rollback").execute(&mut hand).await.expect("an end");
    }
}

/// A machine that an earlier release took with a colour that nobody knows is shown in gray.
#[tokio::test]
async fn a_colour_that_nobody_knows_is_gray() {
    let scene = Scene::new().await;
    let own = chancery_testkit::repo_path("machines/examples/purchase_approval.yaml");
    let own = std::fs::read_to_string(own).expect("the example");
    scene.db.machine(&own).await;
    let mut hand = scene.db.superuser().await;
    sqlx::raw_sql(
        "begin; set local role chancery_owner;
         update fsm.state_def set ui_color_token = 'ui.own.magenta'
          where state_machine_id like 'purchase_approval@%' and state_code = 'returned'; commit",
    )
    .execute(&mut hand)
    .await
    .expect("as an earlier release left it");
    let ann = Person::new(&scene, "ann", &["observer"]).await;
    let answer = ann.get("/v1/state-tokens").await;
    let states = answer.is(200).body["states"].as_array().expect("states");
    let of = |state: &str| {
        let found = states
            .iter()
            .find(|one| one["state"] == state && one["machine"] == "purchase_approval");
        found.map(|one| one["palette"].clone()).unwrap_or(Value::Null)
    };
    assert_eq!(of("returned"), of("draft"));
    assert_eq!(of("returned")["light"]["bg"], json!("#C4C8D4"));
}

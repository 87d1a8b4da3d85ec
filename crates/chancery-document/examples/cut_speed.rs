//! How long it takes to cut 5 MB into 10,000 units, by profile.
//!
//! `cargo run --release -p chancery-document --example cut_speed`

#![allow(clippy::print_stdout, reason = "an example speaks to the terminal")]

use std::fmt::Write;
use std::time::Instant;

use chancery_document::{Profile, cut};

const BYTES: usize = 5_000_000;
const UNITS: usize = 10_000;

fn main() {
    println!("{:9} {:>9} {:>6} {:>9} {:>9}", "profile", "bytes", "units", "named", "detected");
    for &profile in Profile::ALL {
        let text = document(profile);
        let named = best_of_five(&text, Some(profile));
        let detected = best_of_five(&text, None);
        let units = cut(&text, "SPEED", None).expect("the document can be cut").units.len();
        println!("{profile:9} {:>9} {units:>6} {named:>6.1} ms {detected:>6.1} ms", text.len());
    }
}

/// Milliseconds.
fn best_of_five(text: &str, profile: Option<Profile>) -> f64 {
    let run = || {
        let start = Instant::now();
        let cut = cut(text, "SPEED", profile).expect("the document can be cut");
        let elapsed = start.elapsed();
        assert_eq!(cut.units.len(), UNITS);
        elapsed.as_secs_f64() * 1000.0
    };
    (0..5).map(|_| run()).fold(f64::INFINITY, f64::min)
}

/// Chapters of ten units: a heading of its own and nine below.
fn document(profile: Profile) -> String {
    let mut text = String::with_capacity(BYTES + BYTES / 10);
    for n in 0..UNITS {
        let (chapter, below) = (n / 10 + 1, n % 10);
        let heading = match (profile, below) {
            (Profile::Markdown, 0) => format!("# Chapter {chapter}"),
            (Profile::Markdown, _) => format!("## Rules of *kind* {below}"),
            (Profile::LegalEn, 0) => format!("CHAPTER {chapter}"),
            (Profile::LegalEn, 1..6) => format!("Article {}. Rules", chapter * 5 + below),
            (Profile::LegalEn, _) => format!("({}) The keeper", below - 5),
            (Profile::LegalVi, 0) => format!("Chương {chapter}"),
            (Profile::LegalVi, 1..6) => format!("Điều {}. Quy định", chapter * 5 + below),
            (Profile::LegalVi, _) => format!("{}. Người giữ sổ", below - 5),
        };
        writeln!(text, "{heading}\n").expect("a string takes everything");
        while text.len() < BYTES / UNITS * (n + 1) {
            let line = match profile {
                Profile::Markdown => "Some *text* with a [link](#x), `code` and an [open] end.\n",
                Profile::LegalEn => "The keeper lights the lamp and writes down the hour of it.\n",
                Profile::LegalVi => "Người giữ sổ ghi ngày, tên sách và người mượn vào sổ.\n",
            };
            text.push_str(line);
        }
        text.push('\n');
    }
    text
}

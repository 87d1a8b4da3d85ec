//! Time grows with the length of a document, not with its square.

use std::fmt::Write;
use std::time::Duration;

use chancery_document::{Profile, cut};
use rustix::time::{ClockId, clock_gettime};

/// A quadratic cut would take a hundred times as long for ten times the text. Thirty leaves room for
/// caches.
const TIMES: usize = 10;
const ALLOWED: u32 = 30;

/// The time that this thread has computed.
///
/// Time on the wall would tell how busy the machine is: the short run fits between two interruptions,
/// the long one does not.
fn computed() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("time does not run backwards")
}

fn best_of(text: &str, profile: Profile) -> Duration {
    let run = || {
        let start = computed();
        // A collision counts as well; it is found at the end.
        let _ = std::hint::black_box(cut(text, "DOC", Some(profile)));
        computed() - start
    };
    (0..5).map(|_| run()).min().expect("five runs")
}

fn check(name: &str, profile: Profile, write: impl Fn(&mut String, usize)) {
    let text = |units: usize| {
        let mut text = String::new();
        (0..units).for_each(|n| write(&mut text, n));
        text
    };
    let (short, long) = (text(500), text(500 * TIMES));
    let (once, ten_times) = (best_of(&short, profile), best_of(&long, profile));
    assert!(
        ten_times < once * ALLOWED,
        "{name}: {} bytes in {once:?}, {} bytes in {ten_times:?}",
        short.len(),
        long.len()
    );
}

#[test]
fn a_long_document_takes_proportionally_long() {
    check("headings", Profile::Markdown, |text, n| {
        writeln!(text, "## Heading {n}\n\n{}\n", "Some [text] of it. ".repeat(10)).expect("text");
    });
    check("articles", Profile::LegalVi, |text, n| {
        writeln!(text, "Điều {n}. Tên\n1. Một\na) Hai\nb) Ba\n2. Bốn").expect("text");
    });
}

/// What is nested, left open or repeated must not be looked at again for every line.
#[test]
fn a_hostile_document_takes_no_longer() {
    check("open quotations", Profile::LegalEn, |text, n| {
        writeln!(text, "“Article {n}. Quoted\n\"Article {n}. Quoted\n").expect("text");
    });
    check("bare chapters", Profile::LegalEn, |text, n| {
        writeln!(text, "Chapter {n}\n\n\n\n\n\n").expect("text");
    });
    check("roman numbers", Profile::LegalEn, |text, n| {
        let opening = if n == 0 { "Article 1\n(1) x\n(h) x\n" } else { "" };
        writeln!(text, "{opening}(i) x\n(v) x").expect("text");
    });
    check("equal headings", Profile::Markdown, |text, _| text.push_str("# Same\n"));
    check("lone carriage returns", Profile::Markdown, |text, n| {
        write!(text, "# Heading {n}\r\rText.\r\n").expect("text");
    });
    check("open brackets", Profile::Markdown, |text, n| {
        write!(text, "{}[[[![", if n == 0 { "# One\n\n" } else { "" }).expect("text");
    });
    check("blank lines", Profile::LegalVi, |text, n| {
        text.push_str(if n == 0 { "Điều 1\n" } else { " \n" });
    });
}

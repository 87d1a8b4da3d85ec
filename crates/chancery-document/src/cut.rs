//! From marks to units: the partition, the addresses, the refusals.
//!
//! A unit runs from the first byte of its heading's line to the first byte of the next unit. So its
//! text is its own, without that of the units it contains, every byte belongs to exactly one unit,
//! and the units in order are the source. What stands before the first mark is a unit `preamble`,
//! unless nothing can be seen of it; then it belongs to the first unit.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::error::{CutError, refuse_nul};
use crate::legal::{self, Language};
use crate::line;
use crate::mark::{Mark, PREAMBLE};
use crate::markdown;
use crate::profile::Profile;
use crate::unit::{Cut, SectionType, Unit};

const PREFIX_MAX: usize = 32;

/// Cuts a document into units.
///
/// Without a profile, the one that fits is detected. The same text, prefix and profile always give
/// the same units.
///
/// # Errors
///
/// See [`CutError`]; a document that cannot be cut as a whole is not cut at all.
pub fn cut(text: &str, prefix: &str, profile: Option<Profile>) -> Result<Cut, CutError> {
    check_prefix(prefix)?;
    refuse_nul(text)?;
    if text.chars().all(line::is_blank) {
        return Err(CutError::Empty);
    }
    let Some(used) = profile.or_else(|| Profile::detect(text)) else {
        return Err(CutError::NoStructure { profile: None });
    };
    let mut marks = match used {
        Profile::Markdown => markdown::marks(text),
        Profile::LegalEn => legal::marks(text, Language::English),
        Profile::LegalVi => legal::marks(text, Language::Vietnamese),
    };
    if marks.is_empty() {
        return Err(CutError::NoStructure { profile: Some(used) });
    }
    begin_at_zero(text, &mut marks);
    let units = units(text, prefix, marks);
    refuse_collisions(text, &units)?;
    Ok(Cut { profile: used, units })
}

/// The text of the units, one after the other: the source, byte for byte.
///
/// # Panics
///
/// If `text` is not the text that was cut.
pub fn rejoin(text: &str, cut: &Cut) -> String {
    cut.units.iter().map(|unit| unit.text(text)).collect()
}

fn check_prefix(prefix: &str) -> Result<(), CutError> {
    let fits = (2..=PREFIX_MAX).contains(&prefix.len())
        && prefix.starts_with(|c: char| c.is_ascii_uppercase())
        && prefix.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-');
    if fits { Ok(()) } else { Err(CutError::BadPrefix { prefix: prefix.to_owned() }) }
}

/// Gives what stands before the first mark to a unit.
fn begin_at_zero(text: &str, marks: &mut Vec<Mark>) {
    if text[..marks[0].start].chars().all(line::is_blank) {
        marks[0].start = 0;
        return;
    }
    for mark in marks.iter_mut() {
        mark.parent = mark.parent.map(|parent| parent + 1);
    }
    let preamble = Mark {
        start: 0,
        parent: None,
        section_type: SectionType::Preamble,
        path: PREAMBLE.to_owned(),
        title: String::from("Preamble"),
    };
    marks.insert(0, preamble);
}

fn units(text: &str, prefix: &str, marks: Vec<Mark>) -> Vec<Unit> {
    let width = marks.len().to_string().len().max(4);
    let ends: Vec<usize> =
        marks.iter().skip(1).map(|mark| mark.start).chain([text.len()]).collect();
    let mut units: Vec<Unit> = Vec::with_capacity(marks.len());
    for (n, (mark, end)) in marks.into_iter().zip(ends).enumerate() {
        units.push(Unit {
            local_id: format!("u{:0width$}", n + 1),
            address: format!("{prefix}/{}", mark.path),
            parent: mark.parent,
            level: mark.parent.map_or(1, |parent| units[parent].level + 1),
            section_type: mark.section_type,
            title: mark.title,
            range: mark.start..end,
        });
    }
    units
}

fn refuse_collisions(text: &str, units: &[Unit]) -> Result<(), CutError> {
    let mut seen = HashMap::with_capacity(units.len());
    for unit in units {
        match seen.entry(unit.address.as_str()) {
            Entry::Vacant(place) => {
                place.insert(unit);
            }
            Entry::Occupied(first) => return Err(collision(text, first.get(), unit)),
        }
    }
    Ok(())
}

fn collision(text: &str, first: &Unit, second: &Unit) -> CutError {
    // A first unit can begin with blank lines; the line that people look for is the heading's.
    let heading = |unit: &Unit| {
        let blank = unit.text(text).find(|c| !line::is_blank(c)).unwrap_or(0);
        unit.range.start + blank
    };
    let (first_offset, second_offset) = (heading(first), heading(second));
    CutError::AddressCollision {
        address: first.address.clone(),
        first_line: line::number(text.as_bytes(), first_offset),
        first_offset,
        second_line: line::number(text.as_bytes(), second_offset),
        second_offset,
    }
}

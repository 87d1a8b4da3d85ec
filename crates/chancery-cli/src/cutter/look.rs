//! What is shown of entries and plans.

use chancery_engine::cutter::{Plan, Shown, Verified};
use chancery_model::cutter::ManifestUnit;
use chancery_store::cutter::{EntryDetail, EntryHistoryRow, EntryRow};
use chancery_store::iu::SourceVersion;
use serde_json::{Value, json};

use crate::Context;
use crate::cutter::units_text;
use crate::entry::Rules;
use crate::failure::{Failure, Outcome};
use crate::output::{hex, pairs, short, table, time};

/// The plan of a cut: every unit with its lines and digest, and the digest of the whole.
pub(crate) fn plan(context: &mut Context, plan: &Plan) -> Result<Outcome, Failure> {
    let Plan { entry, source, manifest, digest } = plan;
    let lines = Lines::of_bytes(&source.body);
    let lines_of = |unit: &ManifestUnit| {
        let offset = |at: i64| usize::try_from(at).unwrap_or_default();
        lines.of_span(offset(unit.start), offset(unit.end))
    };
    let digest = hex(digest);
    let answer = json!({
        "entry_id": entry.entry_id, "document_id": manifest.document_id, "source_version_id": manifest.source_version_id,
        "version": source.version_seq, "content_sha256": hex(&manifest.content_sha256),
        "profile": manifest.profile, "unit_kind": manifest.unit_kind, "publication_type": manifest.publication_type,
        "manifest_digest": digest,
        "units": manifest.units.iter().map(|unit| json!({
            "local_id": unit.local_id, "address": unit.address, "parent": unit.parent, "section_type": unit.section_type,
            "title": unit.title, "start": unit.start, "end": unit.end, "lines": lines_of(unit),
            "sha256": hex(&unit.sha256),
        })).collect::<Vec<_>>(),
    });
    context.out.answer(&answer, || {
        let head = pairs(&[
            ("entry", entry.entry_id.to_string()),
            ("document", document(entry, Some(source))),
            ("state", entry.status.clone()),
            ("plan", format!("{} by {}", units_text(manifest.units.len()), manifest.profile)),
            ("kinds", format!("{}, {}", manifest.unit_kind, manifest.publication_type)),
            ("manifest", digest.clone()),
        ]);
        let units = table(
            &["unit", "address", "type", "lines", "sha-256", "title"],
            manifest.units.iter().map(|unit| {
                let [first, last] = lines_of(unit);
                vec![
                    unit.local_id.clone(),
                    unit.address.clone(),
                    unit.section_type.clone(),
                    format!("{first}–{last}"),
                    short(&hex(&unit.sha256)),
                    unit.title.clone(),
                ]
            }),
        );
        format!("{head}\n\n{units}")
    })?;
    Ok(Outcome::Done)
}

fn document(entry: &EntryRow, source: Option<&SourceVersion>) -> String {
    let name = entry.document_id.as_deref().unwrap_or_default();
    match source {
        Some(source) => {
            let sha = short(&hex(&source.content_sha256));
            format!("{name} version {}, sha-256 {sha}", source.version_seq)
        }
        None => name.to_owned(),
    }
}

/// Where the lines of a source begin.
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        // As the splitter counts them: a line ends with LF, CRLF or a lone CR.
        let ends = bytes.iter().enumerate().filter(|&(at, byte)| {
            *byte == b'\n' || *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')
        });
        Self(std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// The first and the last line of a piece, counted from one.
    pub(crate) fn of_span(&self, start: usize, end: usize) -> [usize; 2] {
        let line = |at: usize| self.0.partition_point(|begin| *begin <= at).max(1);
        [line(start), line(end.saturating_sub(1).max(start))]
    }
}

/// One entry with everything that is known about it.
pub(crate) fn entry(shown: &Shown, rules: &Rules, source: Option<&SourceVersion>) -> String {
    let Shown { detail, ways_on } = shown;
    let entry = &detail.entry;
    let joined = |parts: Vec<String>| parts.join(", ");
    let head = pairs(&[
        ("entry", entry.entry_id.to_string()),
        ("document", document(entry, source)),
        ("state", entry.status.clone()),
        ("kind", entry.kind.clone()),
        ("key", entry.idempotency_key.clone()),
        (
            "waits for",
            joined(
                detail
                    .depends_on
                    .iter()
                    .map(|needed| format!("{} ({})", needed.entry_id, needed.status))
                    .collect(),
            ),
        ),
        ("escalation of", entry.escalation_of.map(|id| id.to_string()).unwrap_or_default()),
        ("escalated to", joined(detail.escalations.iter().map(ToString::to_string).collect())),
        ("plan", plan_of(detail)),
        ("units", units_of(detail)),
        ("trace", entry.trace_id.clone()),
    ]);
    let ways = table(
        &["way on to", "by", "move", "guards"],
        ways_on.iter().map(|way| {
            let guards = way.guards.clone().unwrap_or_default().replace('+', ", ");
            vec![way.to.clone(), way.actor_class.clone(), way.label.clone(), guards]
        }),
    );
    let ways = if ways.is_empty() { "no way leads on".to_owned() } else { ways };
    let last = detail.verify_results.last();
    let found = last.map(|result| findings(&result.findings)).unwrap_or_default();
    [head, phases(detail, rules), found, ways]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn plan_of(detail: &EntryDetail) -> String {
    let newest = detail.decisions.iter().rfind(|decision| decision.superseded_by.is_none());
    newest.map_or_else(String::new, |decision| {
        format!(
            "{} by {}, manifest {}",
            units_text(usize::try_from(decision.unit_count).unwrap_or_default()),
            decision.profile,
            short(&decision.manifest_digest)
        )
    })
}

fn units_of(detail: &EntryDetail) -> String {
    let sets = detail.change_sets.iter().map(|set| {
        let done = if set.change_kind == "apply" { "cut" } else { "taken back" };
        format!("{} {done} ({})", set.units, set.change_set_id)
    });
    sets.collect::<Vec<_>>().join(", ")
}

fn phases(detail: &EntryDetail, rules: &Rules) -> String {
    let machine = &detail.entry.state_machine_id;
    table(
        &["seq", "phase", "state", "at", "by", "as", "signed", "guards passed", "why"],
        detail.history.iter().map(|row| {
            let guards = rules.guards(machine, row.from.as_deref(), &row.to, &row.actor_class);
            vec![
                row.seq.to_string(),
                row.change_kind.clone(),
                row.to.clone(),
                time(&row.at),
                row.principal.clone(),
                row.actor_class.clone(),
                signed(row),
                guards,
                row.reason.clone().unwrap_or_default(),
            ]
        }),
    )
}

/// What is signed about a phase: the move itself, the decision, or an attestation in a lane.
fn signed(row: &EntryHistoryRow) -> String {
    let mut signed = Vec::new();
    for (field, what) in [
        ("review_decision_id", "decision"),
        ("executor_signature_id", "DOT-991"),
        ("verifier_signature_id", "DOT-992"),
    ] {
        if row.evidence[field].is_string() {
            signed.push(what);
        }
    }
    // A cut names the decision it rests on; what is signed there is the attestation.
    if signed.len() > 1 {
        signed.retain(|what| *what != "decision");
    }
    if row.signed {
        signed.push("move");
    }
    if signed.is_empty() { "no".to_owned() } else { signed.join(", ") }
}

/// A verdict, for programs.
pub(crate) fn verdict(verified: &Verified) -> Value {
    let mut answer = json!(verified.report);
    answer["findings"] = verified.findings["findings"].clone();
    answer["checks"] = verified.findings["checks"].clone();
    answer
}

/// What a verification found, a line each; nothing when it found nothing.
pub(crate) fn findings(document: &Value) -> String {
    let list = document["findings"].as_array().or_else(|| document.as_array());
    table(
        &["finding", "address", "facts"],
        list.into_iter().flatten().map(|finding| {
            let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            let mut rest = finding.as_object().cloned().unwrap_or_default();
            rest.retain(|key, _| key != "finding" && key != "address");
            let rest = if rest.is_empty() { String::new() } else { json!(rest).to_string() };
            vec![text("finding"), text("address"), rest]
        }),
    )
}

/// Entries, a line each.
pub(crate) fn list(entries: &[EntryRow]) -> String {
    table(
        &["entry", "document", "state", "kind", "marked by", "last move"],
        entries.iter().map(|entry| {
            vec![
                entry.entry_id.to_string(),
                entry.document_id.clone().unwrap_or_default(),
                entry.status.clone(),
                entry.kind.clone(),
                entry.started_by.clone(),
                time(&entry.last_transition_at),
            ]
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one_and_end_where_the_piece_ends() {
        let lines = Lines::of_bytes(b"a\nb\n\nc");
        assert_eq!(lines.of_span(0, 2), [1, 1]);
        assert_eq!(lines.of_span(2, 5), [2, 3]);
        assert_eq!(lines.of_span(5, 6), [4, 4]);
        assert_eq!(lines.of_span(0, 6), [1, 4]);
        assert_eq!(Lines::of_bytes(b"").of_span(0, 0), [1, 1]);
    }

    #[test]
    fn findings_are_shown_with_their_facts() {
        let found = json!({ "findings": [{ "finding": "text_differs", "address": "A/b", "expected": "x" }] });
        assert_eq!(
            findings(&found),
            "FINDING       ADDRESS  FACTS\ntext_differs  A/b      {\"expected\":\"x\"}"
        );
        assert_eq!(findings(&json!({ "findings": [] })), "");
    }
}

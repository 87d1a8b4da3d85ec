//! The documents of a run: receipts, requests, approvals, reports. Markdown for people, with one JSON block for the rules.

use std::fmt::Write as _;

use chancery_store::orchestrator::RunRow;
use serde_json::Value;

/// A document with its facts in a fenced block.
pub(super) fn page(title: &str, run: &RunRow, words: &str, facts: &Value) -> String {
    let mut text = format!(
        "# {title}\n\n- Run: {}\n- Document: {}\n- Source version: {}\n- Request: {}\n\n{words}\n\n",
        run.run_name, run.document_id, run.source_version_id, run.entry_id
    );
    let facts = serde_json::to_string_pretty(facts).expect("facts are plain data");
    writeln!(text, "```json\n{facts}\n```").expect("a text takes text");
    text
}

/// Where a document of a run stands.
pub(super) fn path(run_name: &str, name: &str) -> String {
    format!("orchestrator/{}/{name}", run_name.to_lowercase())
}

/// Where the sovereign's answer stands; `seq` tells one stop from another.
pub fn approval_path(run_name: &str, question: &str, seq: i64) -> String {
    let name = match question {
        "SG_cut_authz" => "sg1-cut-authz-approval".to_owned(),
        "SG_lifecycle_authz" => "sg2-lifecycle-authz-approval".to_owned(),
        "SG_drift_ack" => format!("sg3-drift-ack-approval-{seq}"),
        _ => format!("sg3-resume-approval-{seq}"),
    };
    path(run_name, &name)
}

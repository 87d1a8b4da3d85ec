//! `chancery audit …`: the log, proven from the outside.

use chancery_engine::audit;
use chancery_store::Role;
use clap::Subcommand;
use serde_json::json;

use crate::Context;
use crate::failure::{Failure, Outcome};
use crate::output::table;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Recompute every hash, link and signature of the log and compare it with the runs
    ///
    /// Nothing is taken from the audited database but raw columns. Ends with exit code 1 when something does not fit, and
    /// names it.
    #[command(after_help = "Example:\n  $ chancery audit verify")]
    Verify,
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Verify => verify(context).await,
    }
}

async fn verify(context: &mut Context) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::Auditor).await?;
    let out = context.out.clone();
    let report =
        audit::verify_log(&store, |rows| out.progress(&format!("{rows} log rows"))).await?;
    out.progress("");
    let ok = report.mismatches.is_empty();
    let answer = json!({
        "ok": ok, "runs": report.runs, "rows": report.rows, "signatures": report.signatures, "mismatches": report.mismatches,
    });
    context.out.answer(&answer, || {
        let counts = format!(
            "{} runs, {} log rows, {} signatures",
            report.runs, report.rows, report.signatures
        );
        if ok {
            return format!("{counts}: everything fits");
        }
        let mismatches = table(
            &["run", "seq", "rule", "what"],
            report.mismatches.iter().map(|mismatch| {
                vec![
                    mismatch.run_id.map(|id| id.to_string()).unwrap_or_default(),
                    mismatch.seq.map(|seq| seq.to_string()).unwrap_or_default(),
                    mismatch.rule.to_owned(),
                    mismatch.what.clone(),
                ]
            }),
        );
        format!("{counts}: {} things do not fit\n\n{mismatches}", report.mismatches.len())
    })?;
    Ok(if ok { Outcome::Done } else { Outcome::Failed })
}

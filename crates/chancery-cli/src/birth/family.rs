//! `chancery birth protect|release|status`: which tables are under admission, and how they stand.

use chancery_engine::admission;
use chancery_store::Role;
use chancery_store::birth::{Family, FamilyChange, NewFamily, Permit, PermitCount, Violation};
use clap::Args;
use serde_json::json;

use super::admit::GovernanceRole;
use crate::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{pairs, table, time, yes_no};
use crate::session::Session;

pub(super) const PROTECT_EXAMPLES: &str = "\
Until --enforce is said, a birth without a permit is reported and passes. Then it is refused: from now on, or from the time that --from \
says. Protecting again changes what is named and nothing else. Rows that are there stay as they are.

Several columns that name an object together are given with commas: --code film_code,disc_no. Its code is then F-1,3; a comma or backslash \
within a part has a backslash before it.

The administrator who installed Chancery does this, in one transaction: policy, triggers and rights, or nothing.

Example:
  $ chancery birth protect shop.film --code code --as alice
  $ chancery birth protect shop.film --code code --name-column title --rule '^F-[0-9]+$' --ttl 900 --enforce --as alice
  $ chancery birth protect shop.disc --code film_code,disc_no --as alice
  $ chancery birth protect shop.film --report-only --as alice";

#[derive(Debug, Args)]
pub(crate) struct Protect {
    /// The table, as SQL names it
    table: String,
    /// The column that holds the code, or several with commas; needed the first time
    #[arg(long, value_name = "COLUMNS")]
    code: Option<String>,
    /// The column that holds the name
    #[arg(long, value_name = "COLUMN")]
    name_column: Option<String>,
    /// Write no name any more
    #[arg(long, conflicts_with = "name_column")]
    no_name_column: bool,
    /// Refuse births without a permit
    #[arg(long)]
    enforce: bool,
    /// Only report them again
    #[arg(long, conflicts_with_all = ["enforce", "from"])]
    report_only: bool,
    /// Refuse them from this time on, RFC 3339
    #[arg(long, value_name = "TIME", requires = "enforce")]
    from: Option<jiff::Timestamp>,
    /// What a code must match
    #[arg(long, value_name = "REGEX")]
    rule: Option<String>,
    /// Take any code again
    #[arg(long, conflicts_with = "rule")]
    no_rule: bool,
    /// How long a permit is good, in seconds [default: 3600]
    #[arg(long, value_name = "SECONDS")]
    ttl: Option<i32>,
    /// Ask for an approval of each birth
    #[arg(long)]
    require_approval: bool,
    /// Ask for none any more
    #[arg(long, conflicts_with = "require_approval")]
    no_approval: bool,
    /// What governance has to do with what is born here, unless a request says otherwise [default: governed]
    #[arg(long, value_enum)]
    role: Option<GovernanceRole>,
}

pub(super) async fn protect(context: &mut Context, args: &Protect) -> Result<Outcome, Failure> {
    let principal = context.config.acting()?.to_owned();
    let session = Session::open(context).await?;
    // Asked first: the administrator's way in does not look at the release.
    session.store(Role::App).await?.close().await;
    let unset = [
        (args.report_only, "enforced_from"),
        (args.no_name_column, "name_column"),
        (args.no_rule, "rule"),
    ];
    let family = NewFamily {
        table: args.table.clone(),
        code_column: args.code.clone(),
        name_column: args.name_column.clone(),
        code_rule: args.rule.clone(),
        ttl_seconds: args.ttl,
        enforce: args.enforce,
        enforced_from: args.from.map(|at| at.to_string()),
        approval_required: match (args.require_approval, args.no_approval) {
            (false, false) => None,
            (asked, _) => Some(asked),
        },
        governance_role: args.role.map(GovernanceRole::word),
        unset: unset.iter().filter(|(said, _)| *said).map(|(_, what)| (*what).to_owned()).collect(),
    };
    let change = session.target.fn_family_put(&family, &principal).await?;
    for grant in &change.grants_to_do {
        context.out.note(&format!("a right is missing; who may give it runs: {grant}"));
    }
    answer(context, &change)
}

pub(super) async fn release(context: &mut Context, table: &str) -> Result<Outcome, Failure> {
    let principal = context.config.acting()?.to_owned();
    let session = Session::open(context).await?;
    session.store(Role::App).await?.close().await;
    let change = session.target.fn_family_release(table, &principal).await?;
    answer(context, &change)
}

fn answer(context: &mut Context, change: &FamilyChange) -> Result<Outcome, Failure> {
    let family = &change.family;
    context.out.answer(change, || {
        pairs(&[
            ("collection", family.collection_name.clone()),
            ("mode", mode(family)),
            ("code", family.code_column.clone()),
            ("name", family.name_column.clone().unwrap_or_default()),
            ("rule", family.code_rule.clone().unwrap_or_default()),
            ("permits last", format!("{} s", family.ttl_seconds)),
            ("approval", if family.approval_required { "of each birth" } else { "" }.to_owned()),
            ("armed", yes_no(family.armed == Some(true))),
        ])
    })?;
    Ok(Outcome::Done)
}

/// The mode, and since or from when.
fn mode(family: &Family) -> String {
    match &family.enforced_from {
        Some(from) if family.mode == "enforced" => format!("enforced since {}", time(from)),
        Some(from) if family.mode == "report_only" => {
            format!("report_only, enforced from {}", time(from))
        }
        _ => family.mode.clone(),
    }
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Only this table
    table: Option<String>,
    /// How many violations and failed permits at most, the newest first
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

pub(super) async fn status(context: &mut Context, args: &Status) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let families = match &args.table {
        // A released one is shown by its whole name.
        Some(name) => match store.family(name).await? {
            Some(family) => vec![family],
            None => vec![admission::family(&store, name).await?],
        },
        None => store.families().await?,
    };
    let only =
        args.table.as_ref().and_then(|_| families.first()).map(|f| f.collection_name.as_str());
    let permits = store.permit_counts(only).await?;
    let violations = store.birth_violations(only, args.limit).await?;
    let failed = store.permit_page(only, Some("FAILED"), None, args.limit).await?;
    let answer = json!({ "families": families, "permits": permits, "failed": failed, "violations": violations });
    context.out.answer(&answer, || {
        let parts =
            [listed(&families), counted(&permits), failures(&failed), violated(&violations)];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    })?;
    for family in families.iter().filter(|family| family.active && family.armed != Some(true)) {
        context.out.note(&format!(
            "the gate of {} is not in place; protect it again, or release it",
            family.collection_name
        ));
    }
    for family in families.iter().filter(|family| !family.came_with_rows.is_empty()) {
        context.out.note(&format!(
            "partitions came to {} with rows that met no gate: {}; look at them, and protect the table again to accept them as they are",
            family.collection_name,
            family.came_with_rows.join(", ")
        ));
    }
    Ok(Outcome::Done)
}

fn listed(families: &[Family]) -> String {
    let armed = |family: &Family| match (family.active, family.armed) {
        (false, _) => String::new(),
        (true, armed) => yes_no(armed == Some(true)),
    };
    table(
        &["collection", "mode", "armed", "code", "rule", "ttl", "role"],
        families.iter().map(|family| {
            vec![
                family.collection_name.clone(),
                mode(family),
                armed(family),
                family.code_column.clone(),
                family.code_rule.clone().unwrap_or_default(),
                format!("{} s", family.ttl_seconds),
                family.governance_role.clone(),
            ]
        }),
    )
}

fn counted(permits: &[PermitCount]) -> String {
    table(
        &["collection", "permits", "number", "newest", "codes"],
        permits.iter().map(|count| {
            vec![
                count.collection_name.clone(),
                count.status.clone(),
                count.permits.to_string(),
                time(&count.newest),
                count.newest_codes.join(", "),
            ]
        }),
    )
}

/// Permits that led to no birth, and why.
fn failures(failed: &[Permit]) -> String {
    if failed.is_empty() {
        return String::new();
    }
    table(
        &["collection", "failed permit", "code", "at", "reason"],
        failed.iter().map(|permit| {
            vec![
                permit.collection_name.clone(),
                permit.permit_id.to_string(),
                permit.entity_code.clone(),
                time(&permit.last_transition_at),
                permit.failure_reason.clone().unwrap_or_default(),
            ]
        }),
    )
}

fn violated(violations: &[Violation]) -> String {
    table(
        &["collection", "violation", "code", "at", "login"],
        violations.iter().map(|violation| {
            vec![
                violation.collection_name.clone(),
                violation.violation.clone(),
                violation.entity_code.clone(),
                time(&violation.born_at),
                violation.born_by.clone().unwrap_or_default(),
            ]
        }),
    )
}

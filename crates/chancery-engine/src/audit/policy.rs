//! The policies of families: what each was and when, that they stand as they were left, and the times in which the glass was broken.

use std::collections::{HashMap, HashSet};

use chancery_model::cutter::derived_uuid;
use chancery_store::RawRow;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::birth::{PAGE, Shapes};
use super::check::Checker;
use super::report::Report;
use super::rows::{Row, Rows, Source, ids};
use super::signers::Signers;
use super::table::{self, FAMILY, FAMILY_LOG, GLASS, REQUEST, USE};
use crate::Error;

/// The family that ships with the product; nobody changes its policy, so the log has nothing of it.
const UNITS: &str = "iu.information_unit";

const MINUTE: i64 = 60_000_000;

/// When which family admitted what without a permit.
#[derive(Debug, Default)]
pub(super) struct Policies {
    /// From when on a family was under a policy, and from when on that enforces.
    under: HashMap<String, Vec<(i64, Option<i64>)>>,
    /// From when to when the glass was broken.
    broken: HashMap<String, Vec<(i64, i64)>>,
}

impl Policies {
    /// Whether a birth without a permit may only have been reported at that time. Not the policy of that moment alone counts, but any
    /// before it: a transaction that began under the old one may end after the new one was written.
    pub(super) fn only_reported(&self, collection: &str, at: i64) -> bool {
        self.under.get(collection).is_some_and(|under| {
            under.iter().any(|(since, from)| *since <= at && from.is_none_or(|from| from > at))
        })
    }

    pub(super) fn glass_was_broken(&self, collection: &str, at: i64) -> bool {
        let broken = self.broken.get(collection);
        broken.is_some_and(|times| times.iter().any(|(from, to)| *from <= at && at < *to))
    }
}

/// Looks at every family, every change of one and every broken glass. Adds the approvals that the latter used.
pub(super) async fn verify(
    source: &mut Source<'_>,
    shapes: &Shapes,
    signers: &mut Signers,
    report: &mut Report,
    used: &mut HashSet<Uuid>,
) -> Result<Policies, Error> {
    let (snapshot, stamped) = source.reader();
    let mut rows = Rows::default();
    // Few, whatever is born.
    let tables =
        [(FAMILY, &shapes.family), (FAMILY_LOG, &stamped[FAMILY_LOG]), (GLASS, &stamped[GLASS])];
    for (table, shape) in tables {
        let mut all: Vec<RawRow> = Vec::new();
        let mut after: Option<Vec<String>> = None;
        loop {
            let key = table::key_of(table);
            let page = snapshot.evidence_page(shape, key, after.as_deref(), PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(vec![Row { table, raw: last }.key()]);
            all.extend(page);
        }
        // Changes as they followed each other.
        all.sort_by_key(|raw| Row { table, raw }.number("at"));
        rows.add(table, all);
    }
    let approvals: Vec<Uuid> = ids(rows.all(GLASS), "approval_id").into_iter().collect();
    for table in [REQUEST, USE] {
        let key = "approval_id";
        let found = snapshot.evidence_of(&stamped[table], key, &approvals, &[key]).await?;
        rows.add(table, found);
    }
    let mut checker = Checker::new(&rows, signers, report);
    checker.digests(|row| [FAMILY_LOG, GLASS].contains(&row.table));
    for glass in rows.all(GLASS) {
        checker.glass(glass);
    }
    for family in rows.all(FAMILY) {
        checker.family(family);
    }
    for change in rows.all(FAMILY_LOG) {
        checker.policy_change(change);
    }
    used.extend(approvals);
    Ok(policies(&rows))
}

fn policies(rows: &Rows) -> Policies {
    let mut policies = Policies::default();
    for change in rows.all(FAMILY_LOG) {
        let policy = change.json("policy");
        if policy["active"] == true {
            let since = change.number("at").unwrap_or_default();
            let under = policies.under.entry(change.text("collection_name").to_owned());
            under.or_default().push((since, policy["enforced_from"].as_i64()));
        }
    }
    for glass in rows.all(GLASS) {
        let time = |column: &str| glass.number(column).unwrap_or_default();
        let broken = policies.broken.entry(glass.text("collection_name").to_owned());
        broken.or_default().push((time("opened_at"), time("expires_at")));
    }
    policies
}

/// A policy as the log has it.
fn policy_of(family: Row<'_>) -> Value {
    json!({
        "code_column": family.opt("code_column"), "name_column": family.opt("name_column"),
        "rule": family.opt("code_rule"), "ttl_seconds": family.number("ttl_seconds"),
        "enforced_from": family.number("enforced_from"),
        "approval_required": family.opt("approval_required") == Some("true"),
        "role": family.opt("governance_role"), "active": family.opt("active") == Some("true"),
    })
}

impl<'a> Checker<'a> {
    /// A family stands as its newest change left it.
    fn family(&mut self, family: Row<'a>) {
        const RULE: &str = "policy_is_as_it_was_left";
        let stands = policy_of(family);
        let history = self.rows.of(FAMILY_LOG, "collection_name", family.text("collection_name"));
        let history: Vec<Row<'a>> = history.collect();
        let newest = match history.last() {
            Some(newest) => newest.json("policy"),
            None if family.text("collection_name") == UNITS => json!({
                "code_column": "id", "name_column": "canonical_address", "rule": null,
                "ttl_seconds": 3600, "approval_required": false, "role": "governed", "active": true,
                // When the release came is not known here; that there is no way around it is.
                "enforced_from": family.number("enforced_from").unwrap_or_default(),
            }),
            None => return self.wrong(family, RULE, "nothing says who protected the table"),
        };
        if stands != newest {
            let what = format!("the policy is {stands}, it was left as {newest}");
            self.wrong(family, RULE, what);
        }
        let mut active = false;
        for change in history.iter().copied() {
            let (action, policy) = (change.text("action"), change.json("policy"));
            let fits = match action {
                "protected" => !active,
                "changed" | "released" | "broke_glass" => active,
                _ => false,
            };
            active = policy["active"] == true;
            if !fits || active != (action != "released") {
                let what = format!("{action} does not follow what was before it");
                self.wrong(change, "changes_follow_each_other", what);
            }
        }
        // Each broken glass is noted once, beside who broke it.
        let mut open: HashMap<&str, i64> = HashMap::new();
        for glass in self.rows.of(GLASS, "collection_name", family.text("collection_name")) {
            *open.entry(glass.text("opened_by")).or_default() += 1;
        }
        for change in history.iter().filter(|change| change.text("action") == "broke_glass") {
            *open.entry(change.text("principal")).or_default() -= 1;
        }
        if open.values().any(|left| *left != 0) {
            self.wrong(family, RULE, "its log and its broken glasses are not of the same number");
        }
    }

    fn policy_change(&mut self, change: Row<'a>) {
        self.canonical(change, "policy");
        if self.rows.one(FAMILY, "collection_name", change.text("collection_name")).is_none() {
            self.wrong(change, "policy_is_as_it_was_left", "the family is not there");
        }
        if !self.signers.principals.contains_key(change.text("principal")) {
            let what = format!("{} is nobody", change.text("principal"));
            self.wrong(change, "changes_follow_each_other", what);
        }
    }

    /// The glass was broken for what was approved, for that reason and that long, by who used the approval for it.
    fn glass(&mut self, glass: Row<'a>) {
        const RULE: &str = "glass_was_approved";
        if self.rows.one(FAMILY, "collection_name", glass.text("collection_name")).is_none() {
            self.wrong(glass, "policy_is_as_it_was_left", "the family is not there");
        }
        let id = derived_uuid(glass.id("approval_id"), "break_glass").to_string();
        self.expect(glass, RULE, "break_glass_id", Some(&id));
        let collection = glass.opt("collection_name");
        let opened_by = glass.opt("opened_by");
        let approval = glass.text("approval_id");
        let (asked, used) = (
            self.rows.one(REQUEST, "approval_id", approval),
            self.rows.one(USE, "approval_id", approval),
        );
        let (Some(asked), Some(used)) = (asked, used) else {
            return self.wrong(glass, RULE, format!("approval {approval} was not used for it"));
        };
        let time = |column: &str| glass.number(column).unwrap_or_default();
        let minutes = (time("expires_at") - time("opened_at")) / MINUTE;
        let digest = Sha256::digest(format!("{minutes}:{}", glass.text("reason")));
        self.expect_all(
            asked,
            RULE,
            &[
                ("kind", Some("birth_break_glass")),
                ("subject_ref", collection),
                ("subject_digest", Some(&hex::encode(digest))),
            ],
        );
        self.expect_all(
            used,
            RULE,
            &[
                ("used_for_kind", Some("birth_family")),
                ("used_for_ref", collection),
                ("used_by", opened_by),
            ],
        );
    }
}

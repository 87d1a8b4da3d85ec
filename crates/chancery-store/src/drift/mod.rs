//! Whether the rules in a database are still those of this release: every function, trigger, constraint, view, grant and membership
//! against the fingerprints that the binary carries, and every rule row against its logged history.
//!
//! The expected side stands in the binary, and the found side is read from PostgreSQL's own catalogues: whoever can edit the database
//! can edit neither. See docs/decisions/0034-the-binary-knows-its-rules.md.

mod mend;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use sqlx::Connection as _;
use sqlx::postgres::PgConnection;

use crate::migrate::ALL_ROLES;
use crate::target::Store;
use crate::{Error, bundle, ground};

pub(crate) use mend::mend;

/// What is asked of the catalogues.
const CATALOGUE: &str = include_str!("catalogue.sql");

/// What the answers are in a database that this release was just put into; made by the test
/// `the_fingerprints_are_those_of_a_fresh_database`.
const RELEASE: &str = include_str!("release.tsv");

/// Hexadecimal digits of a fingerprint: 64 bits, of which nobody chooses both sides.
const DIGITS: usize = 16;

/// Rule rows that a release brings and that hold nothing of one installation: their digests stand in the release.
const RELEASED_ROWS: &[&str] = &[
    "approval.approval_kind",
    "approval.quorum_rule",
    "audit.evidence_def",
    "audit.evidence_version",
    "audit.rule_table",
    "config.dot_config",
    "config.partitioned_table",
    "fsm.guard_def",
    "fsm.guard_need",
    "fsm.lock_target_def",
    "fsm.run_kind_def",
    "identity.actor_class",
    "identity.class_permission",
    "identity.login_actor_class",
    "identity.permission",
    "identity.permission_source",
    "iu.dot_iu_command_catalog",
    "workflow.failure_class_registry",
];

/// Something in the database that is not as this release, or its own history, says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What it is, such as `function`, `trigger`, `row`.
    pub kind: String,
    /// Which one.
    pub name: String,
    /// In which way it differs, in words.
    pub difference: String,
    /// The digest of what was found; an acknowledgement is of this and nothing else.
    pub found: String,
    /// Until when an operator answers for it, and who does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<Acknowledgement>,
}

/// Somebody's word that a difference is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Acknowledgement {
    pub acknowledged_by: String,
    pub reason: String,
    /// RFC 3339.
    pub expires_at: String,
}

impl Difference {
    /// Its name as people and acknowledgements write it.
    pub fn object(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }

    fn new(kind: &str, name: &str, difference: impl Into<String>, found: impl AsRef<[u8]>) -> Self {
        Self {
            kind: kind.to_owned(),
            name: name.to_owned(),
            difference: difference.into(),
            found: fingerprint(found),
            acknowledged: None,
        }
    }
}

/// One line of the release, or of what was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    kind: String,
    name: String,
    digest: String,
    rights: Option<String>,
}

impl Entry {
    fn to_line(&self) -> String {
        let rights = self.rights.as_deref().unwrap_or_default();
        format!("{}\t{}\t{}\t{rights}", self.kind, self.name, self.digest)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.split('\t').map(str::to_owned);
        let (kind, name, digest) = (parts.next()?, parts.next()?, parts.next()?);
        let rights = parts.next().filter(|text| !text.is_empty());
        Some(Self { kind, name, digest, rights })
    }
}

/// A rule row, as `audit.fn_rule_rows` tells of it.
#[derive(Debug)]
struct RuleRow {
    table_name: String,
    row_key: String,
    digest: Option<String>,
    recorded: Option<String>,
    is_as_recorded: bool,
    via: Option<String>,
    login_role: Option<String>,
    changed_at: Option<String>,
    by_hand: bool,
}

/// The same, in the order of its columns.
type RuleTuple = (
    String,
    String,
    Option<String>,
    Option<String>,
    bool,
    Option<String>,
    Option<String>,
    Option<String>,
    bool,
);

impl From<RuleTuple> for RuleRow {
    fn from(row: RuleTuple) -> Self {
        let (table_name, row_key, digest, recorded, is_as_recorded, via, login_role, at, by_hand) =
            row;
        let changed_at = at;
        Self {
            table_name,
            row_key,
            digest,
            recorded,
            is_as_recorded,
            via,
            login_role,
            changed_at,
            by_hand,
        }
    }
}

/// What was found in a database, read in one snapshot.
struct Found {
    catalogue: BTreeSet<Entry>,
    /// Texts made from rows, by name.
    generated: BTreeMap<String, String>,
    /// What they must be, when the function that says so is there.
    generators: Option<BTreeMap<String, String>>,
    rows: Option<Vec<RuleRow>>,
    acknowledged: Vec<(String, String, Acknowledgement)>,
}

fn fingerprint(text: impl AsRef<[u8]>) -> String {
    hex::encode(Sha256::digest(text)).chars().take(DIGITS).collect()
}

/// The first line of the release's fingerprints: which text they are of.
fn heading() -> String {
    format!("# fingerprints of the rules with the digest {}", bundle::sha256())
}

/// Whether the fingerprints are of the rules that this binary has: a build between an edit and the test that renews them has old ones.
pub(crate) fn is_current() -> bool {
    RELEASE.lines().next() == Some(heading().as_str())
}

fn expected() -> BTreeSet<Entry> {
    RELEASE.lines().filter(|line| !line.starts_with('#')).filter_map(Entry::parse).collect()
}

impl Store {
    /// Every difference between the rules in the database and this release, acknowledged ones included. Reads only.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn drift(&self) -> Result<Vec<Difference>, Error> {
        let mut connection = self.pool.acquire().await?;
        drift_in(&mut connection).await
    }

    /// The lines that a release carries about itself, as this database has them.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fingerprints(&self) -> Result<String, Error> {
        let mut connection = self.pool.acquire().await?;
        let found = look(&mut connection).await?;
        let mut entries = found.catalogue;
        for row in found.rows.unwrap_or_default() {
            if let Some(digest) = row.digest
                && RELEASED_ROWS.contains(&row.table_name.as_str())
            {
                let name = format!("{} {}", row.table_name, row.row_key);
                let digest = digest.chars().take(DIGITS).collect();
                entries.insert(Entry { kind: "row".to_owned(), name, digest, rights: None });
            }
        }
        let lines = entries.iter().map(Entry::to_line);
        Ok([heading()].into_iter().chain(lines).map(|line| line + "\n").collect())
    }

    /// Puts on record that one difference is known, for some hours. `object` and `found` are those of a [`Difference`].
    ///
    /// # Errors
    /// `Refused` without a reason or for too long.
    pub async fn fn_drift_acknowledge(
        &self,
        object: &str,
        found: &str,
        hours: i32,
        reason: &str,
        principal: &str,
    ) -> Result<serde_json::Value, Error> {
        Ok(sqlx::query_scalar("select audit.fn_drift_acknowledge($1, $2, $3, $4, $5)")
            .bind(object)
            .bind(found)
            .bind(hours)
            .bind(reason)
            .bind(principal)
            .fetch_one(&self.pool)
            .await?)
    }
}

/// As [`Store::drift`], in somebody's transaction: what it changed so far counts.
///
/// # Errors
/// When there is no answer.
pub async fn drift_in(connection: &mut PgConnection) -> Result<Vec<Difference>, Error> {
    if !is_current() {
        let what = "are of another text than the rules in this binary: it was built before they were renewed";
        return Ok(vec![Difference::new("release", "fingerprints", what, heading())]);
    }
    let found = look(connection).await?;
    let mut differences = of_catalogue(&expected(), &found.catalogue);
    differences.extend(of_generated(&found));
    match &found.rows {
        Some(rows) => differences.extend(of_rows(rows)),
        None => differences.push(Difference::new(
            "function",
            "audit.fn_rule_rows()",
            "does not answer, so no rule row could be compared with its history",
            "",
        )),
    }
    for difference in &mut differences {
        let object = difference.object();
        difference.acknowledged = found
            .acknowledged
            .iter()
            .find(|(of, digest, _)| *of == object && *digest == difference.found)
            .map(|(_, _, acknowledgement)| acknowledgement.clone());
    }
    differences.sort_by(|a, b| (&a.kind, &a.name).cmp(&(&b.kind, &b.name)));
    differences.dedup();
    Ok(differences)
}

async fn look(connection: &mut PgConnection) -> Result<Found, Error> {
    let mut transaction = connection.begin().await?;
    // Names are written with their schemas, and a plan of this size is not worth compiling.
    sqlx::raw_sql("set local search_path = ''; set local jit = off; set local timezone = 'UTC'")
        .execute(&mut *transaction)
        .await?;
    let lines: Vec<(String, String, String, Option<String>)> = sqlx::query_as(CATALOGUE)
        .bind(ground::ROOMS)
        .bind(ALL_ROLES)
        .fetch_all(&mut *transaction)
        .await?;
    let mut catalogue = BTreeSet::new();
    let mut generated = BTreeMap::new();
    for (kind, name, definition, rights) in lines {
        if kind == "generated" {
            generated.insert(name, fingerprint(definition));
        } else {
            catalogue.insert(Entry { kind, name, digest: fingerprint(definition), rights });
        }
    }
    let generators: Option<Vec<(String, String)>> = answer(
        &mut transaction,
        sqlx::query_as(
            "select name, coalesce(regexp_replace(text, '<> ([0-9]{1,4}|1[0-5][0-9]{3}|16[0-2][0-9]{2}|163[0-7][0-9]|1638[0-3])::regtype', '<> a type', 'g'), '')
               from audit.fn_generated_texts()",
        ),
    )
    .await?;
    let generators = generators
        .map(|texts| texts.into_iter().map(|(name, text)| (name, fingerprint(text))).collect());
    let rows: Option<Vec<RuleTuple>> = answer(
        &mut transaction,
        sqlx::query_as(
            "select table_name, row_key, digest, recorded, is_as_recorded, via, login_role, changed_at::text, by_hand from audit.fn_rule_rows()",
        ),
    )
    .await?;
    let rows = rows.map(|rows| rows.into_iter().map(RuleRow::from).collect());
    let acknowledged: Option<Vec<AcknowledgementTuple>> = answer(
        &mut transaction,
        sqlx::query_as(
            r#"select object, found, acknowledged_by, reason, to_char(expires_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') from audit.v_drift_acknowledgement where holds
              order by expires_at desc"#,
        ),
    )
    .await?;
    let acknowledged = acknowledged.unwrap_or_default().into_iter();
    let acknowledged = acknowledged
        .map(|(object, found, acknowledged_by, reason, expires_at)| {
            (object, found, Acknowledgement { acknowledged_by, reason, expires_at })
        })
        .collect();
    // Released and not rolled back: inside of a transaction, what comes after would be written by a part of it. Nothing was changed.
    transaction.commit().await?;
    Ok(Found { catalogue, generated, generators, rows, acknowledged })
}

/// Object, what was found there, by whom it is answered for, why, and until when.
type AcknowledgementTuple = (String, String, String, String, String);

/// What a function of ours says; nothing when it is gone, closed, or fails: that is for the catalogue to name.
async fn answer<'q, T>(
    connection: &mut PgConnection,
    query: sqlx::query::QueryAs<'q, sqlx::Postgres, T, sqlx::postgres::PgArguments>,
) -> Result<Option<Vec<T>>, Error>
where
    T: for<'r> sqlx::FromRow<'r, sqlx::postgres::PgRow> + Send + Unpin,
{
    let mut attempt = connection.begin().await?;
    match query.fetch_all(&mut *attempt).await.map_err(Error::from) {
        Ok(rows) => {
            attempt.commit().await?;
            Ok(Some(rows))
        }
        Err(error @ (Error::Away(_) | Error::Conflict(_))) => Err(error),
        Err(_) => {
            attempt.rollback().await?;
            Ok(None)
        }
    }
}

fn of_catalogue(expected: &BTreeSet<Entry>, found: &BTreeSet<Entry>) -> Vec<Difference> {
    let mut differences = Vec::new();
    let by_name = |entries: &BTreeSet<Entry>| {
        let mut by_name: BTreeMap<(String, String), Vec<Entry>> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.kind != "row") {
            by_name
                .entry((entry.kind.clone(), entry.name.clone()))
                .or_default()
                .push(entry.clone());
        }
        by_name
    };
    let (expected, found) = (by_name(expected), by_name(found));
    for ((kind, name), wanted) in &expected {
        // A name stands for several only where they are alike: the partitions of a table.
        let wanted = &wanted[0];
        let Some(entries) = found.get(&(kind.clone(), name.clone())) else {
            differences.push(Difference::new(kind, name, "is missing", ""));
            continue;
        };
        for entry in entries {
            if entry.digest != wanted.digest {
                let what = "is not as this release has it";
                differences.push(Difference::new(kind, name, what, entry.to_line()));
            } else if entry.rights != wanted.rights {
                let what = rights_differ(wanted.rights.as_deref(), entry.rights.as_deref());
                differences.push(Difference::new(kind, name, what, entry.to_line()));
            }
        }
    }
    for ((kind, name), entries) in &found {
        let is_harmless =
            |entry: &Entry| kind == "index" && entry.rights.as_deref() == Some("plain");
        if !expected.contains_key(&(kind.clone(), name.clone())) {
            let strange = entries.iter().filter(|entry| !is_harmless(entry));
            differences.extend(strange.map(|entry| {
                Difference::new(kind, name, "does not belong to this release", entry.to_line())
            }));
        }
    }
    differences
}

/// Which rights are there too much, and which are gone.
fn rights_differ(expected: Option<&str>, found: Option<&str>) -> String {
    let split = |text: Option<&str>| -> BTreeSet<String> {
        let text = text.unwrap_or_default().to_owned();
        text.split(' ')
            .filter_map(|grant| grant.split_once('='))
            .flat_map(|(who, rights)| {
                rights.split(',').map(|right| format!("{who} {right}")).collect::<Vec<_>>()
            })
            .collect()
    };
    let (expected, found) = (split(expected), split(found));
    let list = |label: &str, some: Vec<&String>| {
        let some: Vec<_> = some.into_iter().map(String::as_str).collect();
        (!some.is_empty()).then(|| format!("{label}: {}", some.join(", ")))
    };
    let more =
        list("rights that this release does not give", found.difference(&expected).collect());
    let less = list("rights that are missing", expected.difference(&found).collect());
    [more, less].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn of_generated(found: &Found) -> Vec<Difference> {
    let Some(generators) = &found.generators else {
        let what = "does not answer, so what is generated from rows could not be compared";
        return vec![Difference::new("function", "audit.fn_generated_texts()", what, "")];
    };
    let differs = found.generated.iter().filter_map(|(name, digest)| match generators.get(name) {
        Some(wanted) if wanted == digest => None,
        Some(_) => {
            let what = "is not what the rows that it is made from say";
            Some(Difference::new("generated", name, what, digest))
        }
        // The trigger function of a table that is gone does nothing any more.
        None => None,
    });
    differs.collect()
}

fn of_rows(rows: &[RuleRow]) -> Vec<Difference> {
    let released: BTreeMap<String, String> = expected()
        .into_iter()
        .filter(|entry| entry.kind == "row")
        .map(|entry| (entry.name, entry.digest))
        .collect();
    let mut differences = Vec::new();
    let mut seen = BTreeSet::new();
    for row in rows {
        let name = format!("{} {}", row.table_name, row.row_key);
        let digest: Option<String> =
            row.digest.as_deref().map(|digest| digest.chars().take(DIGITS).collect());
        let as_released = digest.is_some() && released.get(&name) == digest.as_ref();
        seen.insert(name.clone());
        if let Some(what) = row.difference(as_released, released.contains_key(&name)) {
            let found = row.digest.as_deref().unwrap_or_default();
            differences.push(Difference::new("row", &name, what, found));
        }
    }
    for name in released.keys().filter(|name| !seen.contains(*name)) {
        // Deleted by a door, it would be known to the history; a hand may take back a setting.
        if !name.starts_with("config.dot_config ") {
            differences.push(Difference::new("row", name, "is missing", ""));
        }
    }
    differences
}

impl RuleRow {
    /// What is wrong with it, if anything.
    fn difference(&self, as_released: bool, of_release: bool) -> Option<String> {
        let by = || {
            format!(
                "{} through {} at {}",
                self.login_role.as_deref().unwrap_or("nobody"),
                self.via.as_deref().unwrap_or("nothing"),
                self.changed_at.as_deref().unwrap_or("no time")
            )
        };
        match (&self.digest, &self.recorded) {
            (None, None) => Some(format!("was deleted by hand: {}", by())),
            (None, Some(_)) => {
                Some(format!("was deleted past its history; last written by {}", by()))
            }
            (Some(_), None) => Some("was written past its history".to_owned()),
            (Some(_), Some(_)) if !self.is_as_recorded => {
                Some(format!("is not as its history has it; last written by {}", by()))
            }
            _ if as_released || self.by_hand => None,
            _ if self.via.as_deref() == Some("hand") => {
                Some(format!("was changed by hand: {}", by()))
            }
            // A door changed it, or it is nobody's but this installation's.
            _ if !of_release || self.via.as_deref() != Some("release") => None,
            _ => Some(format!("is not as this release has it; last written by {}", by())),
        }
    }
}

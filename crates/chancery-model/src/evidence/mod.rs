//! Digests of evidence rows, recomputed from raw columns.
//!
//! The triggers that `internal.generate_digests` writes stamp the same into `row_digest`; the digests of what a move wrote stand
//! in its log row. Nothing here comes from the database that is looked at: which columns a digest is over is said below, for every
//! version that a release ever stamped. A row names its version (`digest_version`), and its digest binds it: a row of version 1
//! verifies for ever, whatever columns and names its table gets later.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use sha2::{Digest, Sha256};

use crate::chain::Log;

mod layout;
mod tables;

pub use layout::{Fault, Layout};

/// The column that holds the digest.
pub const DIGEST_COLUMN: &str = "row_digest";
/// The column that holds the digest's version. Rows that were read before there was one are of version 1.
pub const VERSION_COLUMN: &str = "digest_version";

/// A table of evidence: its columns by the names that they have now, and what the digests of its rows are over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    name: &'static str,
    tag: &'static str,
    key: Vec<(&'static str, &'static str)>,
    mutable: Vec<&'static str>,
    versions: Vec<Vec<&'static str>>,
    renamed: Vec<(&'static str, &'static str)>,
}

impl Table {
    /// A table as its first release had it: its key with types, and the columns of version 1 in the order of the digest.
    pub fn new(
        name: &'static str,
        key: &[(&'static str, &'static str)],
        columns: &'static str,
    ) -> Self {
        Self {
            name,
            tag: name,
            key: key.to_vec(),
            mutable: Vec::new(),
            versions: vec![columns.split_ascii_whitespace().collect()],
            renamed: Vec::new(),
        }
    }

    /// Columns outside the digest because doors change them; what they hold follows from other evidence.
    #[must_use]
    pub fn mutable(mut self, columns: &'static str) -> Self {
        self.mutable.extend(columns.split_ascii_whitespace());
        self
    }

    /// A further version: over what the one before it was over, and these columns behind it.
    ///
    /// # Panics
    /// Never: a table has a version from the start.
    #[must_use]
    pub fn add_columns(mut self, columns: &'static str) -> Self {
        let mut next = self.versions.last().expect("a first version").clone();
        next.extend(columns.split_ascii_whitespace());
        self.versions.push(next);
        self
    }

    /// A column under another name. No version changes: a digest is over values, not over what they are called. The old name is
    /// never used again, so that an old bundle cannot be misread.
    #[must_use]
    pub fn rename_column(mut self, old: &'static str, new: &'static str) -> Self {
        let lists = self.versions.iter_mut().chain([&mut self.mutable]).flatten();
        lists.chain(self.key.iter_mut().map(|(name, _)| name)).for_each(|name| {
            if *name == old {
                *name = new;
            }
        });
        self.renamed.push((old, new));
        self
    }

    /// The table under another name. Its digests and its place in a bundle keep the first one.
    #[must_use]
    pub fn rename_table(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// `schema.table`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What digests and bundles call it: its first name.
    pub fn tag(&self) -> &'static str {
        self.tag
    }

    /// The columns of its key, with their types.
    pub fn key(&self) -> &[(&'static str, &'static str)] {
        &self.key
    }

    /// The columns that stand outside the digest.
    pub fn mutable_columns(&self) -> &[&'static str] {
        &self.mutable
    }

    /// What each version is over, in the order of the digest; the first one is version 1.
    pub fn versions(&self) -> &[Vec<&'static str>] {
        &self.versions
    }

    /// Every column that the table has in this release, ascending.
    pub fn columns(&self) -> Vec<&'static str> {
        let own = [DIGEST_COLUMN, VERSION_COLUMN];
        let mut all: Vec<&str> =
            self.versions.iter().flatten().chain(&self.mutable).copied().chain(own).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What a column is called now that was called so once.
    pub fn current_name<'a>(&self, column: &'a str) -> &'a str
    where
        'static: 'a,
    {
        self.renamed.iter().fold(column, |name, (old, new)| if name == *old { new } else { name })
    }
}

/// What an audit knows of evidence: each table and the log, with every version there ever was. A value and not a constant, so that
/// tests can look at a database as a later release would.
#[derive(Debug, Clone)]
pub struct Registry {
    tables: Vec<Table>,
    log: Log,
}

impl Default for Registry {
    fn default() -> Self {
        Self::of_this_release()
    }
}

impl Registry {
    /// What this release knows.
    pub fn of_this_release() -> Self {
        Self { tables: tables::tables(), log: Log::of_this_release() }
    }

    /// The same with another account of one table.
    ///
    /// # Panics
    /// When there is no table of that name.
    #[must_use]
    pub fn with_table(mut self, name: &str, change: impl FnOnce(Table) -> Table) -> Self {
        let table = self.tables.iter_mut().find(|table| table.name == name);
        let table = table.expect("a table of evidence");
        *table = change(table.clone());
        self
    }

    /// The same with another account of the log.
    #[must_use]
    pub fn with_log(mut self, change: impl FnOnce(Log) -> Log) -> Self {
        self.log = change(self.log);
        self
    }

    /// Every table whose rows are stamped.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The table that digests and bundles call so.
    pub fn tagged(&self, tag: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.tag == tag)
    }

    /// The log of moves.
    pub fn log(&self) -> &Log {
        &self.log
    }
}

static RELEASE: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(Registry::of_this_release()));

/// What this release knows of evidence.
pub fn release() -> &'static Arc<Registry> {
    &RELEASE
}

/// The digest that a row must carry as this release sees it; `None` when it is of no version that this release knows. `columns`
/// are all columns of the row as text: times as microseconds since 1970, bytes as lower hex, everything else as PostgreSQL writes
/// it.
pub fn row_digest(table: &str, columns: &BTreeMap<String, Option<String>>) -> Option<[u8; 32]> {
    let layout = Layout::of(release().table(table)?, columns.keys().cloned().collect());
    let values: Vec<Option<&str>> = columns.values().map(Option::as_deref).collect();
    layout.digest(|place| values[place])
}

/// Everything that does not fit about a row by itself, as this release sees it. A row of no table of evidence has nothing to fit.
pub fn row_faults(table: &str, columns: &BTreeMap<String, Option<String>>) -> Vec<Fault> {
    let Some(table) = release().table(table) else { return Vec::new() };
    let layout = Layout::of(table, columns.keys().cloned().collect());
    let values: Vec<Option<&str>> = columns.values().map(Option::as_deref).collect();
    layout.faults(|place| values[place])
}

/// One digest for all rows that a move wrote: SHA-256 over their digests in ascending order.
pub fn artefact_digest(row_digests: &[[u8; 32]]) -> [u8; 32] {
    let mut sorted = row_digests.to_vec();
    sorted.sort_unstable();
    Sha256::digest(sorted.concat()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_names_a_column_once_and_nothing_that_changes() {
        for table in release().tables() {
            let columns = table.columns();
            for version in table.versions() {
                let mut sorted = version.clone();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len(), version.len(), "{}", table.name());
                assert!(
                    table.key().iter().all(|(key, _)| version.contains(key)),
                    "{}",
                    table.name()
                );
                assert!(
                    version.iter().all(|name| !table.mutable.contains(name)),
                    "{}",
                    table.name()
                );
            }
            assert!(columns.contains(&DIGEST_COLUMN) && columns.contains(&VERSION_COLUMN));
            assert!(
                table.renamed.iter().all(|(old, _)| !columns.contains(old)),
                "{}",
                table.name()
            );
        }
    }

    #[test]
    fn a_table_says_what_became_of_it() {
        let table = Table::new("room.old", &[("id", "uuid")], "a id z")
            .mutable("state")
            .add_columns("b")
            .rename_column("a", "alpha")
            .rename_column("alpha", "first")
            .rename_table("room.new");
        assert_eq!(table.versions(), [vec!["first", "id", "z"], vec!["first", "id", "z", "b"]]);
        assert_eq!(
            table.columns(),
            ["b", "digest_version", "first", "id", "row_digest", "state", "z"]
        );
        assert_eq!(
            ["a", "alpha", "z"].map(|name| table.current_name(name)),
            ["first", "first", "z"]
        );
        assert_eq!((table.name(), table.tag()), ("room.new", "room.old"));
    }

    #[test]
    fn the_order_of_rows_does_not_matter() {
        assert_eq!(artefact_digest(&[[1; 32], [2; 32]]), artefact_digest(&[[2; 32], [1; 32]]));
        assert_ne!(artefact_digest(&[]), artefact_digest(&[[0; 32]]));
    }
}

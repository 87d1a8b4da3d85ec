//! The digest of one row, by the version that the row names.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{DIGEST_COLUMN, Table, VERSION_COLUMN};

/// How rows with certain columns are digested: which places each version is over. Made once for many rows.
#[derive(Debug)]
pub struct Layout {
    /// Ascending.
    columns: Arc<[String]>,
    digests: Option<Digests>,
}

#[derive(Debug)]
struct Digests {
    /// Where a row says its version; sources without such a column hold rows of version 1.
    version: Option<usize>,
    digest: Option<usize>,
    /// The first one is version 1.
    versions: Vec<Pinned>,
}

#[derive(Debug)]
struct Pinned {
    /// As rows name it.
    name: String,
    prefix: String,
    /// In the order of the digest; `None` when one of the columns is missing.
    places: Option<Vec<usize>>,
    /// Columns of the table that the digest is not over, although a later one is.
    beyond: Vec<usize>,
}

/// What does not fit about a row by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// No release had this version, or none that this one knows of.
    UnknownVersion(String),
    /// The version's digest is over a column that is not there.
    MissingColumn,
    /// A column that the version's digest is not over has a value.
    BeyondVersion { column: String, version: String },
    /// The digest is not that of the columns.
    Digest,
}

impl Layout {
    /// Rows without a digest.
    ///
    /// # Panics
    /// When the columns are not in ascending order.
    pub fn plain(columns: Vec<String>) -> Self {
        assert!(columns.is_sorted(), "columns are found by bisection");
        Self { columns: columns.into(), digests: None }
    }

    /// Rows of a table of evidence, of which a source has these columns.
    ///
    /// # Panics
    /// When the columns are not in ascending order.
    pub fn of(table: &Table, columns: Vec<String>) -> Self {
        let mut layout = Self::plain(columns);
        let known = table.versions().iter().flatten();
        let versions = table.versions().iter().enumerate().map(|(n, pinned)| Pinned {
            name: (n + 1).to_string(),
            prefix: format!("chancery.row.v{},{},", n + 1, table.tag()),
            places: pinned.iter().map(|name| layout.place(name)).collect(),
            beyond: {
                let mut beyond: Vec<usize> = known
                    .clone()
                    .filter(|name| !pinned.contains(name))
                    .filter_map(|name| layout.place(name))
                    .collect();
                beyond.sort_unstable();
                beyond.dedup();
                beyond
            },
        });
        let digests = Digests {
            version: layout.place(VERSION_COLUMN),
            digest: layout.place(DIGEST_COLUMN),
            versions: versions.collect(),
        };
        layout.digests = Some(digests);
        layout
    }

    /// The names of the columns, ascending.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Where a column is.
    pub fn place(&self, column: &str) -> Option<usize> {
        self.columns.binary_search_by(|name| name.as_str().cmp(column)).ok()
    }

    /// Whether the rows carry a digest.
    pub fn is_evidence(&self) -> bool {
        self.digests.is_some()
    }

    /// The digest that a row must carry; `None` when it is of no version that is known here or lacks a column.
    pub fn digest<'v>(&self, value: impl Fn(usize) -> Option<&'v str>) -> Option<[u8; 32]> {
        let pinned = self.digests.as_ref()?.pinned(&value).ok()?;
        pinned.digest(&value)
    }

    /// The digests that a row has under its own version and under each before it, the newest first: what is stamped again when it
    /// changes may have been of an older one.
    pub fn digests_so_far<'v>(&self, value: impl Fn(usize) -> Option<&'v str>) -> Vec<[u8; 32]> {
        let Some(digests) = &self.digests else { return Vec::new() };
        let Ok(own) = digests.pinned(&value) else { return Vec::new() };
        let older = digests.versions.iter().take_while(|pinned| pinned.name != own.name);
        let mut all: Vec<&Pinned> = older.chain([own]).collect();
        all.reverse();
        all.into_iter().filter_map(|pinned| pinned.digest(&value)).collect()
    }

    /// Everything that does not fit about a row by itself.
    pub fn faults<'v>(&self, value: impl Fn(usize) -> Option<&'v str>) -> Vec<Fault> {
        let Some(digests) = &self.digests else { return Vec::new() };
        let pinned = match digests.pinned(&value) {
            Ok(pinned) => pinned,
            Err(version) => return vec![Fault::UnknownVersion(version)],
        };
        let beyond = pinned.beyond.iter().filter(|place| value(**place).is_some());
        let mut faults: Vec<Fault> = beyond
            .map(|place| Fault::BeyondVersion {
                column: self.columns[*place].clone(),
                version: pinned.name.clone(),
            })
            .collect();
        match pinned.digest(&value) {
            None => faults.push(Fault::MissingColumn),
            Some(digest) => {
                let stored = digests.digest.and_then(&value).and_then(|hex| hex::decode(hex).ok());
                if stored.as_deref() != Some(digest.as_slice()) {
                    faults.push(Fault::Digest);
                }
            }
        }
        faults
    }
}

impl Digests {
    /// The version of a row, or what the row says instead of one.
    fn pinned<'v>(&self, value: &impl Fn(usize) -> Option<&'v str>) -> Result<&Pinned, String> {
        let named = self.version.map_or(Some("1"), value).unwrap_or("null");
        self.versions.iter().find(|pinned| pinned.name == named).ok_or_else(|| named.to_owned())
    }
}

impl Pinned {
    fn digest<'v>(&self, value: &impl Fn(usize) -> Option<&'v str>) -> Option<[u8; 32]> {
        let places = self.places.as_ref()?;
        let mut head = self.prefix.clone();
        for (n, place) in places.iter().enumerate() {
            let separator = if n == 0 { "" } else { "," };
            match value(*place) {
                None => write!(head, "{separator}-1"),
                Some(text) => write!(head, "{separator}{}", text.len()),
            }
            .expect("writing to a string cannot fail");
        }
        head.push(':');
        let mut digest = Sha256::new();
        digest.update(head);
        for text in places.iter().filter_map(|place| value(*place)) {
            digest.update(text);
        }
        Some(digest.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn table() -> Table {
        Table::new("room.thing", &[("id", "uuid")], "id made title").mutable("state")
    }

    fn later() -> Table {
        table().add_columns("colour").rename_column("made", "created")
    }

    fn row(columns: &[(&str, Option<&str>)]) -> BTreeMap<String, Option<String>> {
        columns.iter().map(|(n, v)| ((*n).to_owned(), v.map(str::to_owned))).collect()
    }

    fn digest(table: &Table, row: &BTreeMap<String, Option<String>>) -> Option<[u8; 32]> {
        let values: Vec<Option<&str>> = row.values().map(Option::as_deref).collect();
        Layout::of(table, row.keys().cloned().collect()).digest(|place| values[place])
    }

    fn faults(table: &Table, row: &BTreeMap<String, Option<String>>) -> Vec<Fault> {
        let values: Vec<Option<&str>> = row.values().map(Option::as_deref).collect();
        Layout::of(table, row.keys().cloned().collect()).faults(|place| values[place])
    }

    /// A row with the digest that fits it.
    fn stamped(
        table: &Table,
        columns: &[(&str, Option<&str>)],
    ) -> BTreeMap<String, Option<String>> {
        let mut row = row(columns);
        let stamp = digest(table, &row).map(hex::encode);
        row.insert(DIGEST_COLUMN.to_owned(), stamp);
        row
    }

    const OLD: &[(&str, Option<&str>)] =
        &[("id", Some("1")), ("made", Some("2")), ("title", Some("đ"))];

    /// AUD-1: the bytes of version 1, written out.
    #[test]
    fn version_1_is_over_lengths_and_texts() {
        let bytes = "chancery.row.v1,room.thing,1,1,2:12đ";
        assert_eq!(digest(&table(), &row(OLD)), Some(Sha256::digest(bytes).into()));
        let null = row(&[("id", Some("1")), ("made", None), ("title", Some(""))]);
        let bytes = "chancery.row.v1,room.thing,1,-1,0:1";
        assert_eq!(digest(&table(), &null), Some(Sha256::digest(bytes).into()));
    }

    #[test]
    fn null_is_not_the_empty_text_and_bytes_cannot_move_between_columns() {
        let digests = [("xy", Some("")), ("x", Some("y")), ("xy", None)].map(|(made, title)| {
            digest(&table(), &row(&[("id", Some("1")), ("made", Some(made)), ("title", title)]))
        });
        assert_ne!(digests[0], digests[1]);
        assert_ne!(digests[0], digests[2]);
    }

    #[test]
    fn columns_that_doors_change_are_outside() {
        let mut other = stamped(&table(), OLD);
        other.insert("state".to_owned(), Some("open".to_owned()));
        other.insert(VERSION_COLUMN.to_owned(), Some("1".to_owned()));
        assert_eq!(faults(&table(), &other), []);
    }

    /// AUD-1: what was stamped under version 1 fits a release that has more columns and other names.
    #[test]
    fn an_old_row_fits_a_later_release() {
        let old = stamped(&table(), OLD);
        let mut now = old.clone();
        let made = now.remove("made").expect("a column");
        now.extend([
            ("created".to_owned(), made),
            ("colour".to_owned(), None),
            (VERSION_COLUMN.to_owned(), Some("1".to_owned())),
        ]);
        assert_eq!(faults(&later(), &now), []);
        let fault = |column: &str, value: Option<&str>| {
            let mut row = now.clone();
            row.insert(column.to_owned(), value.map(str::to_owned));
            faults(&later(), &row)
        };
        let beyond = Fault::BeyondVersion { column: "colour".to_owned(), version: "1".to_owned() };
        assert_eq!(fault("colour", Some("red")), [beyond]);
        assert_eq!(fault("title", None), [Fault::Digest]);
        assert_eq!(fault(DIGEST_COLUMN, None), [Fault::Digest]);
        assert_eq!(
            fault(VERSION_COLUMN, Some("2")),
            [Fault::Digest],
            "the digest binds its version"
        );
        for unknown in [Some("3"), Some("0"), Some("01"), Some("-1"), None] {
            let said = Fault::UnknownVersion(unknown.unwrap_or("null").to_owned());
            assert_eq!(fault(VERSION_COLUMN, unknown), [said]);
        }
        let mut without = now.clone();
        without.remove("title");
        assert_eq!(faults(&later(), &without), [Fault::MissingColumn]);
    }

    #[test]
    fn a_new_row_is_over_the_new_column() {
        let new = [
            ("colour", Some("red")),
            ("created", Some("2")),
            (VERSION_COLUMN, Some("2")),
            ("id", Some("1")),
            ("title", None),
        ];
        let row = stamped(&later(), &new);
        assert_eq!(faults(&later(), &row), []);
        let bytes = "chancery.row.v2,room.thing,1,1,-1,3:12red";
        assert_eq!(digest(&later(), &row), Some(Sha256::digest(bytes).into()));
        let values: Vec<Option<&str>> = row.values().map(Option::as_deref).collect();
        let layout = Layout::of(&later(), row.keys().cloned().collect());
        let first: [u8; 32] = Sha256::digest("chancery.row.v1,room.thing,1,1,-1:12").into();
        let second: [u8; 32] = Sha256::digest(bytes).into();
        assert_eq!(layout.digests_so_far(|place| values[place]), [second, first]);
    }
}

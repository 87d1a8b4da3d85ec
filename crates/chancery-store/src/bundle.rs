//! The SQL text of this release, in the order in which it is applied.

use sha2::{Digest, Sha256};

include!(concat!(env!("OUT_DIR"), "/bundle.rs"));

/// A numbered, forward-only change of tables and types.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    pub(crate) version: i32,
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

impl Migration {
    pub(crate) fn sha256(&self) -> String {
        hex::encode(Sha256::digest(self.text.as_bytes()))
    }
}

/// Owns the tables.
const OWNER: &str = "chancery_owner";
/// Owns the functions and views.
const DEFINER: &str = "chancery_definer";

/// Everything that is re-applied whole, with the role that comes to own it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    /// `None`: the text itself says as whom, since it concerns several owners.
    pub(crate) owner: Option<&'static str>,
}

pub(crate) fn file(name: &str) -> &'static str {
    FILES
        .iter()
        .find_map(|(path, text)| (*path == name).then_some(*text))
        .expect("named files are part of the bundle")
}

pub(crate) fn migrations() -> Vec<Migration> {
    FILES
        .iter()
        .filter_map(|(path, text)| {
            let name = path.strip_prefix("migrations/")?.strip_suffix(".sql")?;
            let version = name.split('_').next()?.parse().expect("migrations are numbered");
            Some(Migration { version, name, text })
        })
        .collect()
}

/// Functions and views first, then who may use them, then what is generated from rows, then the rooms' guards, then the
/// triggers.
pub(crate) fn pieces() -> Vec<Piece> {
    let objects =
        FILES.iter().filter(|(path, _)| path.contains("/functions/") || path.contains("/views/"));
    let views_last = |path: &str| path.contains("/views/");
    let mut pieces: Vec<Piece> =
        objects.map(|(name, text)| Piece { name, text, owner: Some(owner_of(text)) }).collect();
    pieces.sort_by_key(|piece| (views_last(piece.name), piece.name));
    // A view whose columns changed cannot be replaced, so all of ours are made anew.
    pieces.insert(
        0,
        Piece { name: "drop views", text: file("drop_views.sql"), owner: Some(DEFINER) },
    );
    pieces.push(Piece { name: "grants.sql", text: file("grants.sql"), owner: None });
    pieces.push(Piece {
        name: "generated",
        text: "select internal.generate_dispatchers(); select internal.generate_digests(); select fsm.compile_transitions(); select birth.generate_families();",
        owner: Some(DEFINER),
    });
    let guards = FILES.iter().filter(|(path, _)| path.ends_with("/guards.sql"));
    pieces.extend(guards.map(|(name, text)| Piece { name, text, owner: Some(DEFINER) }));
    let rest = FILES
        .iter()
        .filter(|(path, _)| path.ends_with("/triggers.sql") || path.starts_with("config/"));
    pieces.extend(rest.map(|(name, text)| Piece { name, text, owner: Some(OWNER) }));
    pieces.push(Piece {
        name: "drop stale functions",
        text: file("drop_stale_functions.sql"),
        owner: Some(DEFINER),
    });
    pieces.push(Piece {
        name: "partitions",
        text: "select event.fn_ensure_partitions();",
        owner: Some(DEFINER),
    });
    pieces
}

/// Definer-owned unless the first line says otherwise: `-- owner: ROLE`.
fn owner_of(text: &'static str) -> &'static str {
    text.lines().next().and_then(|line| line.strip_prefix("-- owner: ")).map_or(DEFINER, str::trim)
}

/// Digest of the whole text: two installations with the same digest have the same rules.
pub(crate) fn sha256() -> String {
    let mut hasher = Sha256::new();
    for (path, text) in FILES {
        hasher.update(path.len().to_be_bytes());
        hasher.update(path.as_bytes());
        hasher.update(text.len().to_be_bytes());
        hasher.update(text.as_bytes());
    }
    hex::encode(hasher.finalize())
}

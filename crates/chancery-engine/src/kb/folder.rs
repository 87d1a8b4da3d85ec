//! The knowledge base as a folder of files, and back.
//!
//! `PATH.md` is the newest text. `.history/PATH/N.md` is each revision, `.history/PATH/N.json` beside it says who wrote it when and
//! who signed it with which key: enough to check the signatures with nothing but the folder. The database sees to it that no path
//! is a file and a folder at once.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use chancery_store::Store;
use chancery_store::kb::{RevisionRow, SignatureRow};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Writer, folder_of, put};
use crate::Error;

const FORMAT: &str = "chancery.kb.v1";
const HISTORY: &str = ".history";

/// What stands in a `.json` beside a revision.
#[derive(Debug, Serialize, Deserialize)]
struct Metadata {
    format: String,
    path: String,
    revision: i32,
    kind: String,
    /// Hex.
    sha256: String,
    author: String,
    created_at: String,
    signatures: Vec<SignatureRow>,
}

/// What an export wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    pub documents: usize,
    pub revisions: usize,
    /// Files that were not there before or had another text.
    pub written: usize,
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// Revisions of the folder.
    pub revisions: usize,
    /// Those that were written now.
    pub written: usize,
    /// Those that were there before, with the same text.
    pub present: usize,
    pub differences: Vec<Difference>,
}

/// Something in the folder that is not in the knowledge base, and was not put there either.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i32>,
    pub what: String,
}

/// Writes every document at a path or below it into a folder. Files that are not of the knowledge base are left alone; a text that
/// somebody changed after an earlier export is not written over.
///
/// # Errors
/// When a file cannot be written, or the database does not answer.
pub async fn export(store: &Store, folder: &Path, prefix: Option<&str>) -> Result<Exported, Error> {
    let mut documents: BTreeMap<String, Vec<RevisionRow>> = BTreeMap::new();
    for row in store.kb_revisions(prefix.and_then(folder_of)).await? {
        documents.entry(row.path.clone()).or_default().push(row);
    }
    let mut exported = Exported::default();
    make_folder(folder)?;
    for (path, revisions) in documents {
        let signatures = store.kb_signatures(&path).await?;
        let newest = revisions.last().map(|row| row.revision);
        for row in &revisions {
            let Some(body) = store.kb_body(&path, row.revision).await? else { continue };
            let history = history_of(folder, &path);
            let text = history.join(format!("{}.md", row.revision));
            exported.written += usize::from(write(&text, body.as_bytes(), &[])?);
            let metadata = Metadata {
                format: FORMAT.to_owned(),
                path: path.clone(),
                revision: row.revision,
                kind: row.kind.clone(),
                sha256: row.sha256.clone(),
                author: row.author.clone(),
                created_at: row.created_at.clone(),
                signatures: signatures
                    .iter()
                    .filter(|signature| signature.revision == row.revision)
                    .cloned()
                    .collect(),
            };
            let mut json = serde_json::to_vec_pretty(&metadata).expect("metadata is plain data");
            json.push(b'\n');
            // Signatures come later than the text that they stand under.
            let place = history.join(format!("{}.json", row.revision));
            exported.written += usize::from(replace(&place, &json)?);
            if newest == Some(row.revision) {
                let known: Vec<&str> = revisions.iter().map(|row| row.sha256.as_str()).collect();
                let file = text_of(folder, &path);
                exported.written += usize::from(write(&file, body.as_bytes(), &known)?);
            }
        }
        exported.documents += 1;
        exported.revisions += revisions.len();
    }
    Ok(exported)
}

/// Brings the revisions of an exported folder that are not there yet into the knowledge base, with the same bytes. They are written
/// by whoever imports; who wrote and signed them first stays in the folder.
///
/// Nothing is written when the folder does not hold together; a document that has another text under one of its numbers is left as
/// it is from there on.
///
/// # Errors
/// The database's refusal, or a file that cannot be read.
pub async fn import(store: &Store, writer: Writer<'_>, folder: &Path) -> Result<Imported, Error> {
    let (documents, damaged) = read(folder)?;
    let mut imported = Imported { differences: damaged, ..Imported::default() };
    imported.revisions = documents.values().map(Vec::len).sum();
    if imported.differences.iter().any(|difference| difference.revision.is_some()) {
        return Ok(imported);
    }
    for (path, revisions) in &documents {
        let mut known = store.kb_revisions(Some(path)).await?;
        known.retain(|row| row.path == *path);
        for (metadata, bytes) in revisions {
            let there = known.iter().find(|row| row.revision == metadata.revision);
            match there {
                Some(row) if row.sha256 == metadata.sha256 && row.kind == metadata.kind => {
                    imported.present += 1;
                }
                Some(row) => {
                    let what = format!(
                        "the knowledge base has {} {} here, the folder {} {}",
                        row.kind, row.sha256, metadata.kind, metadata.sha256
                    );
                    let revision = Some(metadata.revision);
                    imported.differences.push(Difference { path: path.clone(), revision, what });
                    break;
                }
                None => {
                    let expected = Some(metadata.revision - 1);
                    put(store, writer, path, &metadata.kind, bytes, expected).await?;
                    imported.written += 1;
                }
            }
        }
    }
    Ok(imported)
}

type Documents = BTreeMap<String, Vec<(Metadata, Vec<u8>)>>;

/// Everything in a folder, and what in it does not hold together.
fn read(folder: &Path) -> Result<(Documents, Vec<Difference>), Error> {
    let mut documents = Documents::new();
    let mut damaged = Vec::new();
    for file in files(&folder.join(HISTORY))? {
        let place = file.strip_prefix(folder.join(HISTORY)).unwrap_or(&file);
        let path = slashed(place.parent().unwrap_or_else(|| Path::new("")));
        let number = file.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        let mut wrong = |what: String| {
            damaged.push(Difference { path: path.clone(), revision: number.or(Some(0)), what });
        };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("json") => {}
            Some("md") if file.with_extension("json").is_file() => continue,
            _ => {
                wrong(format!("{} is not of an export", file.display()));
                continue;
            }
        }
        if !file.with_extension("md").is_file() {
            wrong("its text is not there".to_owned());
            continue;
        }
        let metadata: Metadata = match serde_json::from_slice(&read_file(&file)?) {
            Ok(metadata) => metadata,
            Err(error) => {
                wrong(format!("{} is not of an export: {error}", file.display()));
                continue;
            }
        };
        if metadata.format != FORMAT || metadata.path != path || Some(metadata.revision) != number {
            wrong(format!("{} is about something else", file.display()));
            continue;
        }
        let bytes = read_file(&file.with_extension("md"))?;
        if hex::encode(Sha256::digest(&bytes)) != metadata.sha256 {
            wrong("the text is not what its digest says".to_owned());
            continue;
        }
        documents.entry(path).or_default().push((metadata, bytes));
    }
    for (path, revisions) in &mut documents {
        revisions.sort_by_key(|(metadata, _)| metadata.revision);
        let numbers = revisions.iter().map(|(metadata, _)| metadata.revision);
        let count = i32::try_from(revisions.len()).unwrap_or(i32::MAX);
        if !numbers.eq(1..=count) {
            let what = "its revisions are not numbered without gaps".to_owned();
            damaged.push(Difference { path: path.clone(), revision: Some(0), what });
        }
    }
    for file in files(folder)? {
        let Some(path) = text_path(folder, &file) else { continue };
        let newest = documents.get(&path).and_then(|revisions| revisions.last());
        let what = match newest {
            None => "it has no history; write it with `chancery kb put`",
            Some((_, bytes)) if *bytes != read_file(&file)? => {
                "it was changed since it was exported; write it with `chancery kb put`"
            }
            Some(_) => continue,
        };
        damaged.push(Difference { path, revision: None, what: what.to_owned() });
    }
    Ok((documents, damaged))
}

fn history_of(folder: &Path, path: &str) -> PathBuf {
    folder.join(HISTORY).join(path)
}

fn text_of(folder: &Path, path: &str) -> PathBuf {
    folder.join(format!("{path}.md"))
}

/// The document that a file outside the history is the newest text of.
fn text_path(folder: &Path, file: &Path) -> Option<String> {
    let place = slashed(file.strip_prefix(folder).ok()?);
    if place.split('/').any(|part| part.starts_with('.')) {
        return None;
    }
    place.strip_suffix(".md").map(str::to_owned)
}

fn slashed(path: &Path) -> String {
    let parts = path.components().map(|part| part.as_os_str().to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}

/// Every regular file below a folder, by name; links are not followed.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |source| Error::File { path: folder.clone(), source };
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })
}

fn make_folder(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|source| Error::File { path: folder.to_owned(), source })
}

/// Writes a text where none is, or over one whose digest is known. Says whether there was something to write.
fn write(file: &Path, bytes: &[u8], known: &[&str]) -> Result<bool, Error> {
    if let Some(found) = stored(file)?
        && found != bytes
        && !known.contains(&hex::encode(Sha256::digest(&found)).as_str())
    {
        let path = file.to_owned();
        let source = io::Error::new(
            io::ErrorKind::AlreadyExists,
            "was changed since it was exported; write it with `chancery kb put` or move it away",
        );
        return Err(Error::File { path, source });
    }
    replace(file, bytes)
}

/// Writes a file so that it is there whole or not at all. Says whether there was something to write.
fn replace(file: &Path, bytes: &[u8]) -> Result<bool, Error> {
    if stored(file)?.is_some_and(|found| found == bytes) {
        return Ok(false);
    }
    make_folder(file.parent().unwrap_or_else(|| Path::new(".")))?;
    let name = file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let half = file.with_file_name(format!(".{name}.part"));
    let written = fs::File::create(&half)
        .and_then(|mut open| open.write_all(bytes).and_then(|()| open.sync_all()))
        .and_then(|()| fs::rename(&half, file));
    written.map_err(|source| Error::File { path: file.to_owned(), source })?;
    Ok(true)
}

fn stored(file: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::File { path: file.to_owned(), source }),
    }
}

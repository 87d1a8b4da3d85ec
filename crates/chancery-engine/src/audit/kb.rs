//! Documents of the knowledge base and the signatures under them.

use std::collections::HashMap;

use chancery_model::envelope::{Domain, Statement};
use chancery_model::kb::{Signature, signature_payload_of};
use chancery_store::RawRow;
use sha2::{Digest as _, Sha256};

use super::lane::unknown_statement;
use super::orchestrator::IndexPages;
use super::report::Report;
use super::rows::{Row, Rows, Source};
use super::signers::{Signed, Signers};
use super::table::{self, REVISION, UNDER};
use super::whole::found;
use crate::Error;

/// Texts are long: few revisions at a time, many signatures.
const REVISIONS: i64 = 16;
const SIGNATURES: i64 = 1_000;

/// Digests of the texts that were seen, by path and number.
type Digests = HashMap<(String, i64), [u8; 32]>;

/// Looks at every revision, then at every signature; with the pages that runs wrote, also whether each page of their index is one of these.
pub(super) async fn verify(
    source: &mut Source<'_>,
    index: Option<&IndexPages>,
    signers: &mut Signers,
    report: &mut Report,
    progress: &mut impl FnMut(&Report),
) -> Result<(), Error> {
    let mut look = Look { signers, report, index, digests: Digests::new(), last: None };
    for (table, limit) in [(REVISION, REVISIONS), (UNDER, SIGNATURES)] {
        let (snapshot, shapes) = source.reader();
        let key = table::key_of(table);
        let mut after: Option<Vec<String>> = None;
        loop {
            let page = snapshot.evidence_page(&shapes[table], key, after.as_deref(), limit).await?;
            let Some(last) = page.last() else { break };
            let last = Row { table, raw: last };
            after = Some(key.iter().map(|(column, _)| last.text(column).to_owned()).collect());
            look.at(table, &page);
            progress(look.report);
        }
    }
    Ok(())
}

/// Looks at one document.
pub(super) async fn verify_one(
    source: &mut Source<'_>,
    path: &str,
    signers: &mut Signers,
    report: &mut Report,
) -> Result<(), Error> {
    let (snapshot, shapes) = source.reader();
    let mut look = Look { signers, report, index: None, digests: Digests::new(), last: None };
    for table in [REVISION, UNDER] {
        let names = [path.to_owned()];
        let mut rows = snapshot.evidence_named(&shapes[table], "path", &names).await?;
        rows.sort_by_key(|raw| Row { table, raw }.number("revision"));
        look.at(table, &rows);
    }
    Ok(())
}

/// Looks at the documents that a bundle holds; their digests were computed again with all others.
pub(super) fn verify_held(rows: &Rows, signers: &mut Signers, report: &mut Report) {
    let mut look = Look { signers, report, index: None, digests: Digests::new(), last: None };
    for row in rows.all(REVISION) {
        look.revision(row);
    }
    for row in rows.all(UNDER) {
        look.signature(row);
    }
}

struct Look<'a> {
    signers: &'a mut Signers,
    report: &'a mut Report,
    index: Option<&'a IndexPages>,
    digests: Digests,
    /// The revision before: its path and number.
    last: Option<(String, i64)>,
}

impl Look<'_> {
    fn at(&mut self, table: &'static str, rows: &[RawRow]) {
        for raw in rows {
            let row = Row { table, raw };
            *self.report.evidence.entry(table).or_default() += 1;
            for (rule, what) in row.faults() {
                self.wrong(row, rule, what);
            }
            if table == REVISION { self.revision(row) } else { self.signature(row) }
        }
    }

    fn wrong(&mut self, row: Row<'_>, rule: &'static str, what: impl Into<String>) {
        self.report.found(found(row.table, row.key(), None, rule, what));
    }

    /// A revision's text is what its digest says, and it follows the one before it.
    fn revision(&mut self, row: Row<'_>) {
        let digest: [u8; 32] = Sha256::digest(row.text("body").as_bytes()).into();
        if row.sha256("sha256") != Some(digest) {
            let what = format!("the text has the digest {}", hex::encode(digest));
            self.wrong(row, "text_is_what_its_digest_says", what);
        }
        let (path, number) = (row.text("path"), row.number("revision").unwrap_or_default());
        let before = self.last.as_ref().filter(|(of, _)| of == path).map_or(0, |(_, n)| *n);
        if number != before + 1 {
            let what = format!("revision {number} follows {before}");
            self.wrong(row, "revisions_are_numbered", what);
        }
        if !self.signers.principals.contains_key(row.text("author")) {
            self.wrong(row, "author_is_known", format!("{} is nobody", row.text("author")));
        }
        // People answer a run, stop it and void it; what else stands below its path, its doors wrote.
        let by = self.signers.principals.get(row.text("author")).map(String::as_str);
        let of_people = match row.text("kind") {
            "approval" | "void" => true,
            "report" => path.contains("/stop-route-report-"),
            _ => false,
        };
        let of_no_run = path.starts_with("orchestrator/runs-index/")
            && self.index.is_some_and(|index| !index.has(path, number));
        if of_no_run
            || path.starts_with("orchestrator/")
                && !(by == Some("service") || by == Some("human") && of_people)
        {
            let what = format!("{} wrote it; no run did", row.text("author"));
            self.wrong(row, "document_is_of_its_move", what);
        }
        self.digests.insert((path.to_owned(), number), digest);
        self.last = Some((path.to_owned(), number));
    }

    /// A signature is its signer's, under the text that stands there.
    fn signature(&mut self, row: Row<'_>) {
        const RULE: &str = "signed_is_what_is_stored";
        let number = row.number("revision").unwrap_or_default();
        let digest = self.digests.get(&(row.text("path").to_owned(), number)).copied();
        let Some(digest) = digest else {
            self.wrong(row, "row_has_an_origin", "there is no such revision");
            return;
        };
        let stored = row.text("signature_payload");
        let version = match Domain::Kb.version_of(stored) {
            Ok(version) => version,
            Err(named) => {
                self.wrong(row, "statement_version_is_known", unknown_statement(&named));
                return;
            }
        };
        let payload = signature_payload_of(
            version,
            &Signature {
                signature_id: row.id("signature_id"),
                path: row.text("path"),
                revision: i32::try_from(number).unwrap_or_default(),
                sha256: &digest,
                meaning: row.text("meaning"),
                principal: row.text("signer"),
                key_id: row.id("key_id"),
                signed_at: row.number("signed_at").unwrap_or_default(),
            },
        );
        if payload.as_deref() != Some(stored) {
            self.wrong(row, RULE, "what was signed is not what the rows say");
        }
        let bytes = row.bytes("signature").unwrap_or_default();
        let recorded_at = row.number("recorded_at").unwrap_or_default();
        let signed = Signed {
            principal: row.text("signer"),
            key_id: row.id("key_id"),
            signature: &bytes,
            // A clock that is a little ahead does not bring a signature behind the end of its key.
            at: row.number("signed_at").unwrap_or_default().min(recorded_at),
            recorded_at,
        };
        let Ok(statement) = Statement::stored(Domain::Kb, stored) else { return };
        match self.signers.check(&statement, &signed, "signature") {
            Ok(()) => self.report.signatures += 1,
            Err(problem) => self.wrong(row, "signature_is_good", problem),
        }
    }
}

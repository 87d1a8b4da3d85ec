//! Documents of the knowledge base, in pages.

use serde_json::Value;

use super::RevisionRow;
use crate::fsm::{ISO, decode};
use crate::{Error, Store};

impl Store {
    /// The newest revision of each document at a path or below it, behind a path, by path.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn kb_page(
        &self,
        folder: Option<&str>,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Vec<RevisionRow>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            r#"select jsonb_build_object(
                        'path', r.path, 'revision', r.revision, 'kind', r.kind, 'sha256', encode(r.sha256, 'hex'),
                        'bytes', octet_length(r.body), 'author', r.author, 'created_at', to_char(r.created_at at time zone 'UTC', $4),
                        'signatures', (select count(*) from kb.v_revision_signature s where s.path = r.path and s.revision = r.revision))
                 from kb.v_revision r
                where ($1::text is null or r.path = $1 or starts_with(r.path, $1 || '/')) and ($2::text is null or r.path collate "C" > $2)
                  and not exists (select from kb.v_revision n where n.path = r.path and n.revision > r.revision)
                order by r.path collate "C" limit $3"#,
        )
        .bind(folder)
        .bind(after)
        .bind(limit)
        .bind(ISO)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }
}

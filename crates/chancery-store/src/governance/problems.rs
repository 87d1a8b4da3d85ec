//! What is wrong now, as a reader may see it. Counts and lists come from the same views.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::TimelinePage;
use crate::fsm::decode;
use crate::{Error, Store};

/// One look at everything that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problems {
    pub checked_at: String,
    /// One sentence.
    pub headline_en: String,
    pub headline_vi: String,
    /// Of the categories that the reader may see.
    pub total: i64,
    /// The worst severity there is.
    pub worst: Option<String>,
    /// All eight: the worst first, those without a problem last, then those that the reader may not see.
    pub categories: Vec<Category>,
}

/// A category of problems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    pub category: String,
    pub name_en: String,
    pub name_vi: String,
    /// What a reader needs to see it.
    pub permission: String,
    /// The reader may not see it; then nothing below is said.
    pub hidden: bool,
    #[serde(default)]
    pub count: Option<i64>,
    /// How many different causes there are.
    #[serde(default)]
    pub causes: Option<i64>,
    #[serde(default)]
    pub severity: Option<String>,
    #[serde(default)]
    pub oldest: Option<String>,
    #[serde(default)]
    pub what_to_do_en: Option<String>,
    #[serde(default)]
    pub what_to_do_vi: Option<String>,
}

/// Problems of one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    pub cause: String,
    pub count: i64,
    pub oldest: String,
    pub severity: String,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    pub category: String,
    pub item_id: String,
    /// What problems are grouped by.
    pub cause: String,
    /// `critical`, `warning` or `info`.
    pub severity: String,
    pub since: String,
    pub title_en: String,
    pub title_vi: String,
    pub facts: Value,
    pub trace_id: Option<String>,
    /// Where it is a run.
    pub run_kind: Option<String>,
    pub run_id: Option<Uuid>,
    /// The finding about it, where there is one.
    pub issue_id: Option<Uuid>,
}

/// A page of the problems of a category.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProblemPage {
    pub category: String,
    /// All groups of the category, whatever the page shows.
    pub groups: Vec<Group>,
    pub items: Vec<Problem>,
    /// Leads to the next page.
    pub next: Option<String>,
}

/// A problem with what is known about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProblemShown {
    #[serde(flatten)]
    pub problem: Problem,
    pub what_to_do_en: String,
    pub what_to_do_vi: String,
    /// The finding with its history.
    pub finding: Option<Value>,
    /// How the timeline of its trace begins.
    pub timeline: TimelinePage,
}

impl Store {
    /// What is wrong now.
    ///
    /// # Errors
    /// `Refused` when the reader may not see problems.
    pub async fn fn_problems(&self, reader: &str) -> Result<Problems, Error> {
        let problems: Value = sqlx::query_scalar(limited!("$2", "governance.fn_problems($1)"))
            .bind(reader)
            .bind(self.limit())
            .fetch_one(&self.pool)
            .await?;
        decode(problems)
    }

    /// A page of the problems of a category, the worst and oldest first.
    ///
    /// # Errors
    /// `Refused` when there is no such category, the reader may not see it, or the cursor is none.
    pub async fn fn_problem_list(
        &self,
        reader: &str,
        category: &str,
        cause: Option<&str>,
        after: Option<&str>,
        limit: Option<i32>,
    ) -> Result<ProblemPage, Error> {
        let page: Value =
            sqlx::query_scalar(limited!("$6", "governance.fn_problem_list($1, $2, $3, $4, $5)"))
                .bind(reader)
                .bind(category)
                .bind(cause)
                .bind(after)
                .bind(limit)
                .bind(self.limit())
                .fetch_one(&self.pool)
                .await?;
        decode(page)
    }

    /// One problem with its finding and the beginning of its timeline.
    ///
    /// # Errors
    /// `Refused` when it is no problem, or not any more.
    pub async fn fn_problem_show(
        &self,
        reader: &str,
        category: &str,
        item: &str,
    ) -> Result<ProblemShown, Error> {
        let shown: Value =
            sqlx::query_scalar(limited!("$4", "governance.fn_problem_show($1, $2, $3)"))
                .bind(reader)
                .bind(category)
                .bind(item)
                .bind(self.limit())
                .fetch_one(&self.pool)
                .await?;
        decode(shown)
    }
}

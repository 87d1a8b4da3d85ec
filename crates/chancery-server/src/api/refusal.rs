//! Refusals in the database's words, for what is found out before a door is asked.

use chancery_model::refusal::{Code, Problem as Facts};
use chancery_store::Store;
use serde_json::{Map, Value};

use super::page::told;
use crate::problem::Problem;

/// A refusal with one problem.
pub(crate) async fn refused(store: &Store, code: Code, facts: Value) -> Problem {
    let facts = match facts {
        Value::Object(facts) => facts,
        _ => Map::new(),
    };
    with(store, vec![Facts { code, problem: code.problem().to_owned(), facts }]).await
}

/// A refusal with the problems that the database found, of which there are some.
pub(crate) async fn refused_for(store: &Store, problems: &[Value]) -> Problem {
    match told(problems) {
        Ok(problems) => with(store, problems).await,
        Err(problem) => problem,
    }
}

async fn with(store: &Store, problems: Vec<Facts>) -> Problem {
    let code = problems.first().map_or(Code::RS001, |problem| problem.code);
    match store.refusal(code, problems).await {
        Ok(refusal) => Problem::Refused(Box::new(refusal)),
        Err(error) => error.into(),
    }
}

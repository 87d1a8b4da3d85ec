//! Words, and how states are shown.

use axum::response::Response;
use chancery_api::Nothing;
use chancery_api::words::{TOKENS, Tokens, WORDS, Words, WordsQuery};
use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::common::versioned;
use super::page::told;
use super::{Call, Routes};
use crate::problem::Problem;

pub(super) fn bind(routes: Routes) -> Routes {
    routes.on_raw(&WORDS, words).on_raw(&TOKENS, tokens)
}

fn digest(value: &impl Serialize) -> String {
    hex::encode(Sha256::digest(json!(value).to_string().as_bytes()))
}

async fn words(call: Call<WordsQuery, Nothing>) -> Result<Response, Problem> {
    let words: Words = told(call.store().fn_words(call.query.locale.as_str()).await?)?;
    Ok(versioned(&call.headers, &digest(&words), &words))
}

async fn tokens(call: Call<Nothing, Nothing>) -> Result<Response, Problem> {
    let tokens: Tokens = told(call.store().fn_tokens().await?)?;
    Ok(versioned(&call.headers, &digest(&tokens), &tokens))
}

//! Everything that people read is there in both languages, and says the same.

use std::collections::{BTreeMap, BTreeSet};

use chancery_model::refusal::Code;
use chancery_store::Role;
use chancery_testkit::{TestDb, shipped};

/// What stands between two signs.
fn between(text: &str, open: char, close: char) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = text;
    while let Some(start) = rest.find(open) {
        let after = &rest[start + open.len_utf8()..];
        let Some(end) = after.find(close) else { break };
        found.insert(after[..end].to_owned());
        rest = &after[end + close.len_utf8()..];
    }
    found
}

/// Texts by key, each in English and in Vietnamese.
async fn texts(db: &TestDb) -> BTreeMap<String, BTreeMap<String, String>> {
    let rows: Vec<(String, String, String)> =
        sqlx::query_as("select message_key, locale, text from config.message")
            .fetch_all(&mut db.superuser().await)
            .await
            .expect("texts");
    let mut texts: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (key, locale, text) in rows {
        texts.entry(key).or_default().insert(locale, text);
    }
    texts
}

/// No text is there in one language alone, and what is filled in is filled in in both.
#[tokio::test]
async fn every_text_is_there_in_both_languages() {
    let db = TestDb::new().await;
    for machine in shipped() {
        db.definition(&machine).await;
    }
    let mut wrong = Vec::new();
    for (key, text) in &texts(&db).await {
        let (Some(en), Some(vi)) = (text.get("en"), text.get("vi")) else {
            wrong.push(format!("{key}: {text:?}"));
            continue;
        };
        // A name may be written in each language in its own way.
        let fills = |text: &str| -> BTreeSet<String> {
            let names = between(text, '{', '}').into_iter();
            names
                .filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
                .map(|name| name.trim_end_matches("_en").trim_end_matches("_vi").to_owned())
                .collect()
        };
        if fills(en) != fills(vi) && !key.ends_with(".one") {
            wrong.push(format!("{key}: {en} | {vi}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every refusal has its words in Vietnamese, with the same commands, and the routes give them.
#[tokio::test]
async fn every_refusal_is_said_in_vietnamese() {
    let db = TestDb::new().await;
    let texts = texts(&db).await;
    let words = db.store(Role::App).fn_words("vi").await.expect("words");
    for code in Code::ALL {
        for what in ["title", "hint"] {
            let key = format!("refusal.{}.{what}", code.as_str());
            let text = texts.get(&key).unwrap_or_else(|| panic!("{key} has no words"));
            let (en, vi) = (&text["en"], &text["vi"]);
            assert_ne!(en, vi, "{key}");
            assert_eq!(between(en, '`', '`'), between(vi, '`', '`'), "{key}: the commands");
            let options = |text: &str| -> BTreeSet<String> {
                let words = text.split(|c: char| !(c.is_ascii_lowercase() || c == '-'));
                words.filter(|word| word.starts_with("--")).map(str::to_owned).collect()
            };
            assert_eq!(options(en), options(vi), "{key}: the options");
            assert_eq!(words["refusals"][code.as_str()][what], **vi, "{key}");
        }
    }
    let known: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    let said = texts.keys().filter_map(|key| key.strip_prefix("refusal.")?.split('.').next());
    assert_eq!(said.collect::<BTreeSet<_>>(), known, "no words of what there is not");
}

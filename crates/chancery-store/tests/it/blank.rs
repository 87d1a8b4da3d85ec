//! A text that has to say something says something: one rule, asked by every door and every constraint (SEC-3).

use chancery_testkit::TestDb;
use sqlx::{AssertSqlSafe, Row as _};

/// Every way to say nothing.
const NOTHINGS: &[&str] = &[
    "",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\u{b}",
    "\u{c}",
    "\u{85}",
    "\u{a0}",
    "\u{ad}",
    "\u{1680}",
    "\u{2003}",
    "\u{200b}",
    "\u{200d}",
    "\u{2028}",
    "\u{202f}",
    "\u{2060}",
    "\u{2800}",
    "\u{3000}",
    "\u{3164}",
    "\u{feff}",
    " \t\u{a0}\u{200b}\n",
];

/// SEC-3: the rule itself, whatever the collation.
#[tokio::test]
async fn nothing_is_nothing_in_every_spelling() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let mut is_blank = async |text: Option<&str>, collation: &str| -> bool {
        sqlx::query_scalar(AssertSqlSafe(format!(
            "select internal.is_blank($1::text collate \"{collation}\")"
        )))
        .bind(text)
        .fetch_one(&mut admin)
        .await
        .expect("an answer")
    };
    assert!(is_blank(None, "C").await);
    for collation in ["C", "default"] {
        for nothing in NOTHINGS {
            assert!(is_blank(Some(nothing), collation).await, "{nothing:?} {collation}");
        }
        for something in ["x", " x ", "\u{a0}.", "đ", "0", "\u{1f600}"] {
            assert!(!is_blank(Some(something), collation).await, "{something:?} {collation}");
        }
    }
    // What Unicode calls white space is covered.
    for c in (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| c.is_whitespace()) {
        assert!(is_blank(Some(&c.to_string()), "C").await, "{c:?}");
    }
}

/// SEC-3: no function of ours looks for blanks in another way: what compares a trimmed text with nothing is found in the catalogue.
#[tokio::test]
async fn every_door_asks_the_one_rule() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let others: Vec<String> = sqlx::query_scalar(
        "select p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
          where n.nspowner = 'chancery_owner'::regrole and p.oid <> 'internal.is_blank(text)'::regprocedure
            and (p.prosrc ~ E'trim\\\\([^;]*\\\\)\\\\s*(=|<>)\\\\s*\'\'' or p.prosrc ~ E'octet_length\\\\(btrim')
          union all
         select k.conrelid::regclass || ' ' || k.conname from pg_constraint k join pg_namespace n on n.oid = k.connamespace
          where n.nspowner = 'chancery_owner'::regrole and k.contype = 'c' and pg_get_constraintdef(k.oid) ~ E'trim\\\\([^)]*\\\\) <> \'\''
          order by 1",
    )
    .fetch_all(&mut admin)
    .await
    .expect("the catalogue");
    assert_eq!(others, Vec::<String>::new());
    let asking: i64 = sqlx::query_scalar(
        "select count(*) from pg_proc p where p.prosrc ~ 'internal[.]is_blank[(]'",
    )
    .fetch_one(&mut admin)
    .await
    .expect("a number");
    assert!(asking >= 35, "{asking} functions ask it");
}

/// SEC-3: each constraint that asks for a text, as the catalogue has it, takes no nothing and takes something.
#[tokio::test]
async fn every_constraint_takes_no_nothing() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let checks = sqlx::query(
        "select k.conrelid::regclass::text as place, a.attname::text as name,
                regexp_replace(pg_get_constraintdef(k.oid), '^CHECK (.*?)( NOT VALID)?$', '\\1') as rule
           from pg_constraint k join pg_namespace n on n.oid = k.connamespace
           join pg_attribute a on a.attrelid = k.conrelid and a.attnum = any (k.conkey)
          where n.nspowner = 'chancery_owner'::regrole and k.contype = 'c' and k.coninhcount = 0 and pg_get_constraintdef(k.oid) ~ ('is_blank[(]' || a.attname || '[)]')
          order by 1, 2",
    )
    .fetch_all(&mut admin)
    .await
    .expect("the catalogue");
    assert!(checks.len() >= 18, "{} constraints", checks.len());
    for check in &checks {
        let (place, name, rule): (String, String, String) =
            (check.get(0), check.get(1), check.get(2));
        // The other columns of the rule have something in them.
        let columns = "select string_agg(case when a.attname = $2 then format('$1::text as %I', a.attname) else format('%L::text as %I', 'x', a.attname) end, ', ')
               from pg_attribute a where a.attrelid = $1::regclass and a.attnum > 0 and a.atttypid = 'text'::regtype";
        let columns: String = sqlx::query_scalar(columns)
            .bind(&place)
            .bind(&name)
            .fetch_one(&mut admin)
            .await
            .expect("columns");
        if rule.contains("is_derived") {
            continue; // not of texts alone; its machine is checked before it is stored
        }
        let asked = format!("select {rule} from (select {columns}) r");
        for nothing in NOTHINGS {
            let taken: bool = sqlx::query_scalar(AssertSqlSafe(asked.clone()))
                .bind(nothing)
                .fetch_one(&mut admin)
                .await
                .expect("an answer");
            assert!(!taken, "{place}.{name} takes {nothing:?}");
        }
        let taken: bool = sqlx::query_scalar(AssertSqlSafe(asked))
            .bind("x")
            .fetch_one(&mut admin)
            .await
            .expect("an answer");
        assert!(taken, "{place}.{name} takes something");
    }
}

/// SEC-3: each function with an argument that must say something, as the catalogue has them: the expression that asks it, over every nothing.
#[tokio::test]
async fn every_argument_that_must_say_something() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    // Where the argument stands in the condition alone, and what it refuses with beside other conditions, differs; that it is asked does not.
    let asked: Vec<String> = sqlx::query_scalar(
        "select distinct format('%s %s', p.oid::regproc, m.found[1]) collate \"C\"
           from pg_proc p join pg_namespace n on n.oid = p.pronamespace,
                regexp_matches(p.prosrc, 'is_blank[(]([a-z_.]+(?: ->> ''[a-z_]+'')?)[)]', 'g') m (found)
          where n.nspowner = 'chancery_owner'::regrole order by 1",
    )
    .fetch_all(&mut admin)
    .await
    .expect("the catalogue");
    insta::assert_snapshot!(asked.join("\n"));
}

//! Legal text, case by case.

use Profile::{LegalEn, LegalVi};
use chancery_document::{CutError, Profile, cut};

/// The addresses without the prefix.
fn check(profile: Profile, text: &str, expected: &[&str]) {
    let found = cut(text, "DOC", Some(profile)).expect("it can be cut");
    let paths =
        found.units.iter().map(|unit| unit.address.strip_prefix("DOC/").expect("the prefix"));
    assert_eq!(paths.collect::<Vec<_>>(), expected, "{text:?}");
}

#[test]
fn an_article_is_addressed_without_its_chapter() {
    check(
        LegalEn,
        "Chapter I\nArticle 1.\nChapter II\nArticle 2.\n",
        &["ch.1", "art.1", "ch.2", "art.2"],
    );
    let error = cut("Chapter I\nArticle 1.\nChapter II\nArticle 1.\n", "DOC", Some(LegalEn));
    let Err(CutError::AddressCollision { address, first_line: 2, second_line: 4, .. }) = error
    else {
        panic!("{error:?}");
    };
    assert_eq!(address, "DOC/art.1");
}

#[test]
fn an_annex_counts_anew() {
    check(
        LegalEn,
        "Article 1.\nANNEX I\nArticle 1.\n(1) x\nANNEX II\nPART A\nArticle 1.\n",
        &[
            "art.1",
            "annex.1",
            "annex.1-art.1",
            "annex.1-art.1-cl.1",
            "annex.2",
            "annex.2-part.a",
            "annex.2-art.1",
        ],
    );
}

#[test]
fn articles_contain_sections_or_sections_articles() {
    check(
        LegalEn,
        "ARTICLE I\nSection 1.\nSection 2.\nARTICLE II\nSection 1.\n",
        &["art.1", "art.1-sec.1", "art.1-sec.2", "art.2", "art.2-sec.1"],
    );
    check(
        LegalEn,
        "Chapter 1\nSection 1\nArticle 1\nArticle 2\nSection 2\nArticle 3\n",
        &["ch.1", "ch.1-sec.1", "art.1", "art.2", "ch.1-sec.2", "art.3"],
    );
}

#[test]
fn numbers_are_clauses_only_where_they_count() {
    // Outside of an article, far from one, downwards, and marked otherwise.
    check(
        LegalEn,
        "1. No\nArticle 1\n7. No\n1. Yes\n(3) No\n2. Yes\n1. No\n2024. No\n3. Yes\n",
        &["preamble", "art.1", "art.1-cl.1", "art.1-cl.2", "art.1-cl.3"],
    );
    check(LegalEn, "Article 5\n5.1 Yes\n5.2 Yes\n6.3 No\n", &["art.5", "art.5-cl.1", "art.5-cl.2"]);
    check(
        LegalVi,
        "Mục 1\n1. Không\nĐiều 1.\na) Không\n1. Có\na) Có\n1a. Có\n",
        &["muc.1", "dieu.1", "dieu.1-khoan.1", "dieu.1-khoan.1-diem.a", "dieu.1-khoan.1a"],
    );
}

/// The removal of a clause leaves a gap; what follows keeps its address.
#[test]
fn a_gap_does_not_end_the_count() {
    check(
        LegalEn,
        "Article 1\n(2) x\n(4) y\n(b) z\n",
        &["art.1", "art.1-cl.2", "art.1-cl.4", "art.1-cl.4-pt.b"],
    );
}

#[test]
fn roman_numbers_below_points_are_no_points() {
    let text = "Article 1\n(1) x\n(g) x\n(h) x\n(i) x\n(j) x\n";
    // The first is too far from a; nothing follows it.
    check(LegalEn, text, &["art.1", "art.1-cl.1"]);
    let letters = "Article 1\n(1) x\n(a) x\n(e) x\n(h) x\n(i) x\n(j) x\n";
    check(
        LegalEn,
        letters,
        &[
            "art.1",
            "art.1-cl.1",
            "art.1-cl.1-pt.a",
            "art.1-cl.1-pt.e",
            "art.1-cl.1-pt.h",
            "art.1-cl.1-pt.i",
            "art.1-cl.1-pt.j",
        ],
    );
    let below = "Article 1\n(1) x\n(a) x\n(e) x\n(h) x\n(i) x\n(ii) x\n(iii) x\n(iv) x\n(v) x\n(i) x\n(ii) x\n";
    check(
        LegalEn,
        below,
        &["art.1", "art.1-cl.1", "art.1-cl.1-pt.a", "art.1-cl.1-pt.e", "art.1-cl.1-pt.h"],
    );
}

/// `(v)` may follow `(u)`, but not where it ends the row i to v.
#[test]
fn a_roman_five_is_told_by_the_four_before_it() {
    let points = "Article 1\n(1) x\n(d) x\n(h) x\n(l) x\n(p) x\n(t) x\n";
    let count = |text: &str| cut(text, "DOC", Some(LegalEn)).expect("it can be cut").units.len();
    assert_eq!(count(&format!("{points}(v) x\n")), count(points) + 1);
    assert_eq!(count(&format!("{points}(i) x\n(ii) x\n(iii) x\n(iv) x\n(v) x\n")), count(points));
}

#[test]
fn what_is_quoted_belongs_to_the_clause_that_quotes() {
    check(
        LegalVi,
        "Điều 1.\n1. Sửa như sau:\n“Điều 9. Tên\n1. “x”\n2. y”.\n2. Bỏ.\n",
        &["dieu.1", "dieu.1-khoan.1", "dieu.1-khoan.2"],
    );
    // Marks that nothing closes quote nothing but their own line.
    check(
        LegalVi,
        "Điều 1.\n“Điều 9. Tên\nĐiều 2.\n\"Điều 9. Tên\nĐiều 3.\n",
        &["dieu.1", "dieu.2", "dieu.3"],
    );
}

#[test]
fn a_sentence_that_goes_on_is_no_division() {
    check(
        LegalEn,
        "Article 1\nas laid down in\nArticle 2.\nand, as it seems,\nArticle 3.\n\nArticle 4.\n",
        &["art.1", "art.4"],
    );
    // A heading is no sentence, whatever its last word.
    check(LegalEn, "Article 1. Meaning of section\n(1) x\n", &["art.1", "art.1-cl.1"]);
    // Lists may well be introduced by such words.
    check(
        LegalEn,
        "Article 1\nwith the consent of\n(1) x, and\n(2) y; see paragraph\n(3)\n",
        &["art.1", "art.1-cl.1", "art.1-cl.2"],
    );
}

#[test]
fn d_and_barred_d_are_two_points() {
    check(
        LegalVi,
        "Điều 1.\n1. x\nc) x\nd) x\nđ) x\ne) x\n",
        &[
            "dieu.1",
            "dieu.1-khoan.1",
            "dieu.1-khoan.1-diem.c",
            "dieu.1-khoan.1-diem.d",
            "dieu.1-khoan.1-diem.dd",
            "dieu.1-khoan.1-diem.e",
        ],
    );
}

#[test]
fn numbers_are_values() {
    check(
        LegalVi,
        "PHẦN II\nChương 2\nCHƯƠNG III\nPhần thứ ba\nChương thứ mười một\n",
        &["phan.2", "phan.2-chuong.2", "phan.2-chuong.3", "phan.3", "phan.3-chuong.11"],
    );
    assert!(cut("Chapter II\nChapter Two\n", "DOC", Some(LegalEn)).is_err());
}

#[test]
fn a_title_may_stand_on_the_next_line() {
    let title = |text: &str| {
        let found = cut(text, "DOC", Some(LegalVi)).expect("it can be cut");
        found.units[0].title.clone()
    };
    assert_eq!(title("Chương I\n\nQuy định chung\n"), "Chương I — Quy định chung");
    assert_eq!(title("## **Chương I.**\n## **QUY ĐỊNH CHUNG.**\n"), "Chương I — QUY ĐỊNH CHUNG.");
    assert_eq!(title("Chương I\nĐiều 1.\n"), "Chương I");
    assert_eq!(title("Điều 1.\nLuật này quy định việc giữ sổ.\n"), "Điều 1");
    assert_eq!(title("Điều 1. **Phạm vi** ##\n"), "Điều 1. Phạm vi");
    let long = title(&format!("Điều 1. {}\n", "dài ".repeat(200)));
    assert!(long.chars().count() <= 161 && long.ends_with('…'), "{long}");
}

//! Legal text, cut by its own words: Part, Chapter, Article, Section, Clause; Phần, Chương, Mục,
//! Điều, Khoản, Điểm.
//!
//! A division begins at the start of a line, also where the line is dressed as a Markdown heading or
//! set in bold. Four steps, one file each: [`numeral`] reads a number, [`candidate`] reads a line by
//! itself, [`scan`] leaves out quotations and references, [`outline`] builds the tree. [`grammar`]
//! holds the words of both languages.
//!
//! # Addresses
//!
//! | Division | Address | Why |
//! |---|---|---|
//! | article | its number alone, `art.5`, `dieu.5` | articles are counted through the whole text and cited without their chapter; an article that moves to another chapter keeps its address |
//! | clause, point | below the article, `art.5-cl.2-pt.a` | they are counted anew in each |
//! | part, chapter, section | below what contains them, `part.1-ch.2-sec.1` | chapters and sections are often counted anew |
//! | section of an article | below the article, `art.1-sec.2` | so are they |
//! | annex, schedule, appendix | at the top, and in front of all inside, `annex.1-art.1` | annexes count articles anew |
//!
//! A text that counts articles anew in each chapter collides, and is refused. The alternative, to put
//! the chapter in front as soon as a number repeats, would change every address of a document
//! through one edit anywhere in it.
//!
//! Numbers are values: `Chương II`, `CHƯƠNG 2` and `Chương thứ hai` are all `chuong.2`.

mod candidate;
mod grammar;
mod numeral;
mod outline;
mod scan;

pub(crate) use grammar::{Language, Rank};
pub(crate) use outline::{divisions, marks};

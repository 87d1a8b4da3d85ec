//! The generated page.

use chancery_model::machine::diagram;

use super::fixture::{PURCHASE, definition};

#[test]
fn the_page_of_a_machine() {
    insta::assert_snapshot!(diagram(&definition(PURCHASE)));
}

/// `end` closes a block in mermaid; a state may still be called so.
#[test]
fn a_state_may_carry_a_name_that_mermaid_reserves() {
    let page = diagram(&definition(&PURCHASE.replace("approved", "end")));
    assert!(page.contains("    state \"end\" as end_\n"), "{page}");
    assert!(page.contains("    end_ --> paid : pay\n"), "{page}");
    assert!(page.contains("| `end` |"), "{page}");
}

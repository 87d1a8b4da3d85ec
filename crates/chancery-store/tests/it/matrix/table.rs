//! The matrix as a table that a reviewer can read.

use super::{Allowed, Board};

const LETTERS: [(char, &str); 12] = [
    ('Y', "system"),
    ('P', "pic_human"),
    ('T', "task_pic_human"),
    ('R', "reviewer"),
    ('W', "executor_worker"),
    ('M', "mow_orchestrator"),
    ('E', "escalation_handler"),
    ('S', "sovereign"),
    ('A', "review_authority"),
    ('X', "executor_dot991"),
    ('V', "verifier_dot992"),
    ('O', "observer"),
];

fn letter(class: &str) -> char {
    LETTERS
        .iter()
        .find(|(_, code)| *code == class)
        .map(|(letter, _)| *letter)
        .expect("a letter a class")
}

/// The matrix to read: a row a state that is left, a column a state that is entered, a letter a class that may do it.
pub(super) fn table(board: &Board, allowed: &Allowed, cells: usize) -> String {
    let targets = board.targets();
    let content = |from: Option<&'static str>, to: &'static str| -> String {
        let classes = allowed.get(&(from, to)).map_or(&[][..], Vec::as_slice);
        classes.iter().map(|class| letter(class)).collect()
    };
    let named = targets.iter().map(|code| code.len()).max().unwrap_or_default().max(12);
    let froms: Vec<Option<&'static str>> =
        [None].into_iter().chain(targets.iter().copied().map(Some)).collect();
    let widths: Vec<usize> = targets
        .iter()
        .map(|to| froms.iter().map(|from| content(*from, to).len()).max().unwrap_or(0).max(2))
        .collect();

    let mut lines = vec![format!(
        "{cells} cells, {} of them legal",
        allowed.values().map(Vec::len).sum::<usize>()
    )];
    lines.extend(
        LETTERS
            .chunks(4)
            .map(|four| four.iter().map(|(letter, code)| format!("{letter} {code:<20}")).collect()),
    );
    lines.push("Row ∅: who has a birth row. fn_run_start is chancery_app's door: A, X and V are refused there with RI004 alone.".to_owned());
    if board.shipped.machine.name == "orchestrator_run" {
        lines.push("Its Y is the tests' own row: the machine as shipped is born by X.".to_owned());
    }
    let head: Vec<String> =
        widths.iter().enumerate().map(|(n, width)| format!("{:<width$}", n + 1)).collect();
    lines.push(String::new());
    lines.push(format!("   {:named$} │ {}", "from ↓  to →", head.join(" ")));
    for (n, from) in froms.iter().enumerate() {
        let number = if n == 0 { String::new() } else { n.to_string() };
        let state = from.and_then(|code| board.shipped.machine.state(code));
        let row: Vec<String> = if state.is_some_and(|state| state.conceptual) {
            vec!["never stored".to_owned()]
        } else {
            let filled = |(to, width): (&&'static str, &usize)| match content(*from, to) {
                empty if empty.is_empty() => format!("{:<width$}", "·"),
                letters => format!("{letters:<width$}"),
            };
            targets.iter().zip(&widths).map(filled).collect()
        };
        lines.push(format!("{number:>2} {:named$} │ {}", from.unwrap_or("∅"), row.join(" ")));
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

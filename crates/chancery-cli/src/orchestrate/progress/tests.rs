//! Issue 4, part 3: the display of a run, on a terminal and in a log.

use super::*;

const STATES: [&str; 14] = [
    "pending",
    "source_pinned",
    "marked",
    "cutplan_ok",
    "pre_write_backup_taken",
    "grants_probed",
    "awaiting_cut_authorization",
    "cut_leg_a_committed",
    "structural_verified",
    "leg_b_recorded",
    "write_verified",
    "awaiting_lifecycle_authorization",
    "lifecycle_enacted",
    "closeout_reported",
];

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn minutes(minutes: u64) -> Option<Duration> {
    Some(Duration::from_secs(60 * minutes))
}

/// A terminal of a given size, as far as the display needs one: it scrolls, and breaks lines that are too long.
#[derive(Debug)]
struct Screen {
    columns: usize,
    rows: usize,
    lines: Vec<Vec<char>>,
    /// Lines that have left the screen at the top, and can't be reached any more.
    gone: usize,
    at: (usize, usize),
    colours: usize,
}

impl Screen {
    fn new(columns: usize, rows: usize) -> Self {
        Self { columns, rows, lines: vec![Vec::new()], gone: 0, at: (0, 0), colours: 0 }
    }

    fn text(&self) -> String {
        let line = |line: &Vec<char>| line.iter().collect::<String>().trim_end().to_owned();
        self.lines.iter().map(line).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    fn down(&mut self) {
        self.at.0 += 1;
        if self.at.0 == self.lines.len() {
            self.lines.push(Vec::new());
        }
        self.gone = self.gone.max((self.at.0 + 1).saturating_sub(self.rows));
    }

    fn put(&mut self, char: char) {
        if self.at.1 == self.columns {
            self.down();
            self.at.1 = 0;
        }
        let line = &mut self.lines[self.at.0];
        line.truncate(line.len().max(self.at.1));
        while line.len() <= self.at.1 {
            line.push(' ');
        }
        line[self.at.1] = char;
        self.at.1 += 1;
    }

    fn steer(&mut self, number: usize, verb: char) {
        match verb {
            'A' => self.at.0 = self.at.0.saturating_sub(number).max(self.gone),
            // At the end of a full line the cursor stands on the last sign, which goes too.
            'K' => self.lines[self.at.0].truncate(self.at.1.min(self.columns - 1)),
            'J' => {
                self.lines[self.at.0].truncate(self.at.1);
                self.lines.truncate(self.at.0 + 1);
            }
            'm' => self.colours += 1,
            other => panic!("an unknown sequence: {other}"),
        }
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut chars = str::from_utf8(bytes).unwrap().chars();
        while let Some(char) = chars.next() {
            match char {
                '\r' => self.at.1 = 0,
                '\n' => {
                    self.down();
                    self.at.1 = 0;
                }
                '\x1b' => {
                    assert_eq!(chars.next(), Some('['));
                    let mut number = String::new();
                    let verb = loop {
                        match chars.next().unwrap() {
                            digit if digit.is_ascii_digit() => number.push(digit),
                            verb => break verb,
                        }
                    };
                    self.steer(number.parse().unwrap_or(0), verb);
                }
                char => self.put(char),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn on_screen(columns: usize, rows: usize) -> Progress<Screen> {
    let mut progress = Progress::new(Screen::new(columns, rows), &STATES, true);
    progress.resized(columns, rows);
    progress
}

fn to_the_first_gate<W: Write>(progress: &mut Progress<W>) {
    for (phase, state, cap, took) in [
        ("source_pin", "source_pinned", 2, 3),
        ("mark", "marked", 5, 12),
        ("cutplan", "cutplan_ok", 10, 75),
        ("backup", "pre_write_backup_taken", 5, 30),
        ("grant_probe", "grants_probed", 1, 0),
    ] {
        progress.phase_started(phase, minutes(cap));
        progress.invariant("it_holds", true);
        progress.tick(seconds(took));
        progress.phase_passed(state, seconds(took));
    }
    progress.phase_started("cut_authz_request", None);
    progress.phase_passed("awaiting_cut_authorization", seconds(1));
    progress.paused("SG_cut_authz");
}

#[test]
fn a_log_has_a_line_for_each_event() {
    let mut log = Vec::new();
    let mut progress = Progress::new(&mut log, &STATES, false);
    progress.resumed_at("source_pinned");
    progress.phase_started("mark", minutes(5));
    progress.invariant("region_sha_matches", true);
    progress.tick(seconds(1));
    progress.phase_passed("marked", seconds(72));
    progress.phase_started("cut_authz_request", None);
    progress.phase_passed("awaiting_cut_authorization", seconds(0));
    progress.paused("SG_cut_authz");
    progress.phase_started("cut_leg_a", minutes(10));
    progress.invariant("exactly_n_units", false);
    progress.stopped("STOP_GATE_FAILED", "59 units\nof \x1b[31m60");
    insta::assert_snapshot!(String::from_utf8(log).unwrap(), @r"
    resumed at source_pinned (2 of 14)
    mark: begun (cap 5:00)
    mark: region_sha_matches holds
    mark: passed after 1:12, now marked (3 of 14)
    cut_authz_request: begun
    cut_authz_request: passed after 0:00, now awaiting_cut_authorization (7 of 14)
    paused at SG_cut_authz
    cut_leg_a: begun (cap 10:00)
    cut_leg_a: exactly_n_units does not hold
    stopped: STOP_GATE_FAILED: 59 units of  [31m60
    ");
}

#[test]
fn a_terminal_shows_the_states_and_the_gate_at_work() {
    let mut progress = on_screen(80, 40);
    progress.phase_started("source_pin", minutes(2));
    progress.phase_passed("source_pinned", seconds(3));
    progress.phase_started("mark", minutes(5));
    progress.invariant("region_sha_matches", true);
    progress.invariant("rowset_within_limit", true);
    progress.tick(seconds(12));
    insta::assert_snapshot!(progress.out.text(), @r"
    ✓ pending
    ✓ source_pinned  0:03
    ▸ marked
      0:12 of 5:00  mark
        ✓ region_sha_matches
        ✓ rowset_within_limit
    · cutplan_ok
    · pre_write_backup_taken
    · grants_probed
    · awaiting_cut_authorization
    · cut_leg_a_committed
    · structural_verified
    · leg_b_recorded
    · write_verified
    · awaiting_lifecycle_authorization
    · lifecycle_enacted
    · closeout_reported
    ");
}

#[test]
fn a_pause_shows_who_is_waited_for() {
    let mut progress = on_screen(80, 40);
    to_the_first_gate(&mut progress);
    insta::assert_snapshot!(progress.out.text(), @r"
    ✓ pending
    ✓ source_pinned  0:03
    ✓ marked  0:12
    ✓ cutplan_ok  1:15
    ✓ pre_write_backup_taken  0:30
    ✓ grants_probed  0:00
    ‖ awaiting_cut_authorization
      waiting for approval: SG_cut_authz
    · cut_leg_a_committed
    · structural_verified
    · leg_b_recorded
    · write_verified
    · awaiting_lifecycle_authorization
    · lifecycle_enacted
    · closeout_reported
    ");
}

#[test]
fn a_stop_shows_what_did_not_hold() {
    let mut progress = on_screen(80, 40);
    progress.resumed_at("awaiting_cut_authorization");
    progress.phase_started("cut_leg_a", minutes(10));
    progress.invariant("approval_is_signed", true);
    progress.invariant("exactly_n_units", false);
    progress.tick(seconds(601));
    progress.stopped("STOP_GATE_FAILED", "59 units\nof 60");
    insta::assert_snapshot!(progress.out.text(), @r"
    ✓ pending
    ✓ source_pinned
    ✓ marked
    ✓ cutplan_ok
    ✓ pre_write_backup_taken
    ✓ grants_probed
    ✓ awaiting_cut_authorization
    ✗ cut_leg_a_committed
      10:01 over 10:00  cut_leg_a
        ✓ approval_is_signed
        ✗ exactly_n_units
      STOP_GATE_FAILED: 59 units of 60
    · structural_verified
    · leg_b_recorded
    · write_verified
    · awaiting_lifecycle_authorization
    · lifecycle_enacted
    · closeout_reported
    ");
}

#[test]
fn forty_columns_are_enough() {
    let mut progress = on_screen(40, 40);
    progress.resumed_at("write_verified");
    progress.phase_started("lifecycle_authz_request", minutes(15));
    progress.invariant("a_name_that_is_much_too_long_for_forty_columns", true);
    progress.tick(seconds(901));
    insta::assert_snapshot!(progress.out.text(), @r"
    ✓ pending
    ✓ source_pinned
    ✓ marked
    ✓ cutplan_ok
    ✓ pre_write_backup_taken
    ✓ grants_probed
    ✓ awaiting_cut_authorization
    ✓ cut_leg_a_committed
    ✓ structural_verified
    ✓ leg_b_recorded
    ✓ write_verified
    ▸ awaiting_lifecycle_authorization
      15:01 over 15:00  lifecycle_authz_req…
        ✓ a_name_that_is_much_too_long_for_…
    · lifecycle_enacted
    · closeout_reported
    ");
}

#[test]
fn a_low_terminal_shows_what_is_near() {
    let mut progress = on_screen(80, 12);
    progress.resumed_at("cut_leg_a_committed");
    progress.phase_started("structural_verify", minutes(2));
    for n in 1..=11 {
        progress.invariant(&format!("probe_{n}"), true);
    }
    insta::assert_snapshot!(progress.out.text(), @r"
    ✓ 7 states reached
    ✓ cut_leg_a_committed
    ▸ structural_verified
      0:00 of 2:00  structural_verify
        ✓ probe_6
        ✓ probe_7
        ✓ probe_8
        ✓ probe_9
        ✓ probe_10
        ✓ probe_11
    · 5 more to come
    ");
}

/// Whatever the size, a frame replaces the last one: nothing scrolls away, and nothing is left of it.
#[test]
fn frames_never_leave_a_trace() {
    for rows in [2, 3, 5, 8, 12, 16, 20, 24, 40] {
        for columns in [40, 41, 80] {
            let mut progress = on_screen(columns, rows);
            to_the_first_gate(&mut progress);
            progress.phase_started("cut_leg_a", minutes(10));
            for n in 0..12 {
                progress.invariant(&format!("invariant_{n}"), n != 11);
                assert!(progress.out.gone == 0, "{columns}×{rows} scrolled");
            }
            progress.stopped("STOP_GATE_FAILED", &"a long reason ".repeat(20));
            let alone = {
                progress.drawn = 0;
                let shown = progress.out.text();
                progress.out = Screen::new(columns, rows);
                progress.draw();
                (shown, progress.out.text())
            };
            assert_eq!(alone.0, alone.1, "{columns}×{rows}");
        }
    }
}

#[test]
fn a_terminal_that_is_too_narrow_gets_lines() {
    let mut progress = on_screen(39, 24);
    progress.phase_started("mark", minutes(5));
    progress.tick(seconds(1));
    assert_eq!(progress.out.text(), "mark: begun (cap 5:00)");
}

#[test]
fn colours_are_shown_only_when_welcome() {
    for (colour, shown) in [(false, false), (true, true)] {
        let mut progress = on_screen(80, 40).colour(colour);
        to_the_first_gate(&mut progress);
        assert_eq!(progress.out.colours > 0, shown);
    }
    let mut log = Vec::new();
    to_the_first_gate(&mut Progress::new(&mut log, &STATES, false).colour(true));
    assert!(!log.contains(&0x1b), "a log has no colours");
    assert!(colour_is_welcome(None));
    assert!(colour_is_welcome(Some(OsStr::new(""))));
    assert!(!colour_is_welcome(Some(OsStr::new("1"))));
}

/// Nobody reads: the run goes on.
#[test]
fn a_closed_stderr_is_no_error() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
    for terminal in [true, false] {
        let mut progress = Progress::new(Closed, &STATES, terminal);
        to_the_first_gate(&mut progress);
        assert_eq!(progress.reached, 7);
    }
}

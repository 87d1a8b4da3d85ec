//! How far a run is, for somebody who watches it.
//!
//! On a terminal a list of all states, redrawn in place, with the invariants of the current gate as they are checked.
//! Elsewhere a line for each event, so that a log has the whole story. It is fed with events and asks nobody: no
//! database, no clock, no environment.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

/// With less the names of the states do not fit.
const NARROWEST: usize = 40;
/// The rows of a terminal that does not say how many it has.
const USUAL_ROWS: usize = 24;
const USUAL_COLUMNS: usize = 80;

/// The display of one run.
#[derive(Debug)]
pub(crate) struct Progress<W: Write> {
    out: W,
    terminal: bool,
    colour: bool,
    columns: usize,
    rows: usize,
    states: Vec<State>,
    /// How many of the states are reached.
    reached: usize,
    phase: Option<Phase>,
    end: Option<End>,
    /// Lines of the last frame, which the next one replaces.
    drawn: usize,
}

#[derive(Debug)]
struct State {
    name: String,
    /// What its phase took, when this process saw it.
    took: Option<Duration>,
}

#[derive(Debug)]
struct Phase {
    name: String,
    soft_cap: Option<Duration>,
    elapsed: Duration,
    invariants: Vec<(String, bool)>,
}

#[derive(Debug)]
enum End {
    Paused { gate: String },
    Stopped { code: String, reason: String },
}

/// What a line says, which is also its colour.
#[derive(Debug, Clone, Copy)]
enum Tone {
    Done,
    Now,
    Waiting,
    Wrong,
    ToCome,
}

impl Tone {
    const fn colour(self) -> &'static str {
        match self {
            Self::Done => "\x1b[32m",
            Self::Now => "\x1b[1m",
            Self::Waiting => "\x1b[33m",
            Self::Wrong => "\x1b[31m",
            Self::ToCome => "\x1b[2m",
        }
    }
}

/// Whether colours are welcome, by the value of `NO_COLOR`: any but an empty one says no.
pub(crate) fn colour_is_welcome(no_color: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty)
}

/// Columns and rows of the terminal that stderr is, when it is one.
pub(crate) fn stderr_size() -> Option<(usize, usize)> {
    let (columns, rows) = terminal_size::terminal_size_of(io::stderr())?;
    Some((columns.0.into(), rows.0.into()))
}

impl<W: Write> Progress<W> {
    /// A display of these states, of which the first is where every run begins.
    pub(crate) fn new(out: W, states: &[&str], terminal: bool) -> Self {
        let state = |name: &&str| State { name: plain(name), took: None };
        Self {
            out,
            terminal,
            colour: false,
            columns: USUAL_COLUMNS,
            rows: USUAL_ROWS,
            states: states.iter().map(state).collect(),
            reached: states.len().min(1),
            phase: None,
            end: None,
            drawn: 0,
        }
    }

    /// With colours, or without.
    pub(crate) fn colour(mut self, colour: bool) -> Self {
        self.colour = colour;
        self
    }

    /// The size of the terminal, at the beginning and whenever it changes.
    ///
    /// The next frame begins below the last one: a terminal that was made narrower has broken its lines, and nobody
    /// knows how many there are now.
    pub(crate) fn resized(&mut self, columns: usize, rows: usize) {
        if (columns, rows) != (self.columns, self.rows) {
            (self.columns, self.rows) = (columns, rows);
            self.drawn = 0;
        }
    }

    /// The run stands at this state already: it was resumed.
    pub(crate) fn resumed_at(&mut self, state: &str) {
        self.reach(state);
        let (n, of) = (self.reached, self.states.len());
        self.say(&format!("resumed at {} ({n} of {of})", plain(state)));
    }

    pub(crate) fn phase_started(&mut self, name: &str, soft_cap: Option<Duration>) {
        let name = plain(name);
        let cap = soft_cap.map_or_else(String::new, |cap| format!(" (cap {})", clock(cap)));
        let line = format!("{name}: begun{cap}");
        self.end = None;
        self.phase =
            Some(Phase { name, soft_cap, elapsed: Duration::ZERO, invariants: Vec::new() });
        self.say(&line);
    }

    /// An invariant of the current gate was checked.
    pub(crate) fn invariant(&mut self, name: &str, passed: bool) {
        let name = plain(name);
        let verdict = if passed { "holds" } else { "does not hold" };
        let line = match &self.phase {
            Some(phase) => format!("{}: {name} {verdict}", phase.name),
            None => format!("{name} {verdict}"),
        };
        if let Some(phase) = &mut self.phase {
            phase.invariants.push((name, passed));
        }
        self.say(&line);
    }

    /// Time goes by; only a terminal shows it.
    pub(crate) fn tick(&mut self, elapsed: Duration) {
        if let Some(phase) = &mut self.phase {
            phase.elapsed = elapsed;
            if self.shows_frames() {
                self.draw();
            }
        }
    }

    /// The phase is over, and the run has reached a state.
    pub(crate) fn phase_passed(&mut self, state: &str, elapsed: Duration) {
        self.reach(state);
        if let Some(last) = self.reached.checked_sub(1) {
            self.states[last].took = Some(elapsed);
        }
        let phase = self.phase.take().map_or_else(String::new, |phase| format!("{}: ", phase.name));
        let (n, of) = (self.reached, self.states.len());
        let (took, state) = (clock(elapsed), plain(state));
        self.say(&format!("{phase}passed after {took}, now {state} ({n} of {of})"));
    }

    /// The run waits for a sovereign.
    pub(crate) fn paused(&mut self, gate: &str) {
        let gate = plain(gate);
        let line = format!("paused at {gate}");
        self.phase = None;
        self.end = Some(End::Paused { gate });
        self.say(&line);
    }

    /// The run has stopped.
    pub(crate) fn stopped(&mut self, code: &str, reason: &str) {
        let (code, reason) = (plain(code), plain(reason));
        let line = format!("stopped: {code}: {reason}");
        self.end = Some(End::Stopped { code, reason });
        self.say(&line);
    }

    fn reach(&mut self, state: &str) {
        // A state that is not on the list (`failed_…`) leaves the list as it is.
        if let Some(at) = self.states.iter().position(|known| known.name == state) {
            self.reached = at + 1;
        }
    }

    fn shows_frames(&self) -> bool {
        self.terminal && self.columns >= NARROWEST
    }

    fn say(&mut self, line: &str) {
        if self.shows_frames() {
            self.draw();
        } else {
            // Who closed stderr does not want to know.
            let _ = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
        }
    }

    /// Puts a new frame in place of the last one, in one write, so that no half of it is ever seen.
    fn draw(&mut self) {
        let frame = self.frame();
        let mut text = String::new();
        if self.drawn > 0 {
            let _ = write!(text, "\x1b[{}A", self.drawn);
        }
        for (tone, line) in &frame {
            let line = cut(line, self.columns);
            let (on, off) = if self.colour { (tone.colour(), "\x1b[0m") } else { ("", "") };
            // Cleared first: behind a line that fills the last column, many terminals would clear that column.
            let _ = writeln!(text, "\r\x1b[K{on}{line}{off}");
        }
        text.push_str("\x1b[J");
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        self.drawn = frame.len();
    }

    /// The lines of a frame, never more than the terminal has: what has scrolled away can't be redrawn.
    fn frame(&self) -> Vec<(Tone, String)> {
        let room = self.rows.saturating_sub(1).max(1);
        let now = self.now();
        let before = self.states[..self.reached].iter().map(|state| {
            let took = state.took.map_or_else(String::new, |took| format!("  {}", clock(took)));
            (Tone::Done, format!("✓ {}{took}", state.name))
        });
        let mut before: Vec<_> = before.collect();
        if let (Some(End::Paused { .. }), Some(last)) = (&self.end, before.last_mut()) {
            // The state of a pause is reached, and is where the run waits.
            *last = (Tone::Waiting, format!("‖ {}", self.states[self.reached - 1].name));
        }
        let rest = &self.states[self.reached..];
        let mut after: Vec<_> =
            rest.iter().map(|state| (Tone::ToCome, format!("· {}", state.name))).collect();
        let mut next = Vec::new();
        if let Some((tone, mark)) = self.mark_of_next()
            && let Some(state) = rest.first()
        {
            after.remove(0);
            next.push((tone, format!("{mark} {}", state.name)));
        }

        // What is furthest from now is told in one line when there is no room.
        let mut lines = before.len() + next.len() + now.len() + after.len();
        if lines > room && after.len() > 1 {
            lines -= after.len() - 1;
            after = vec![(Tone::ToCome, format!("· {} more to come", after.len()))];
        }
        if lines > room && before.len() > 2 {
            let over = (lines - room + 1).min(before.len() - 1);
            before.splice(..over, [(Tone::Done, format!("✓ {over} states reached"))]);
        }
        let room_for_now = room.saturating_sub(before.len() + next.len() + after.len()).max(1);
        // The first line of now is the time; of the others the latest are kept.
        let now = match now.split_first() {
            Some((first, others)) => {
                let kept = others.len().min(room_for_now - 1);
                [std::slice::from_ref(first), &others[others.len() - kept..]].concat()
            }
            None => now,
        };
        let mut frame: Vec<_> = before.into_iter().chain(next).chain(now).chain(after).collect();
        frame.truncate(room);
        frame
    }

    /// The mark of the state that comes next.
    fn mark_of_next(&self) -> Option<(Tone, char)> {
        match (&self.end, &self.phase) {
            (Some(End::Stopped { .. }), _) => Some((Tone::Wrong, '✗')),
            (Some(End::Paused { .. }), _) | (None, None) => None,
            (None, Some(_)) => Some((Tone::Now, '▸')),
        }
    }

    /// What happens between the last state and the next.
    fn now(&self) -> Vec<(Tone, String)> {
        let mut lines = Vec::new();
        if let Some(phase) = &self.phase {
            lines.push(phase.time());
            lines.extend(phase.invariants.iter().map(|(name, passed)| {
                let (tone, mark) = if *passed { (Tone::Done, '✓') } else { (Tone::Wrong, '✗') };
                (tone, format!("    {mark} {name}"))
            }));
        }
        match &self.end {
            // The whole reason is told by the command's own report.
            Some(End::Stopped { code, reason }) => {
                lines.push((Tone::Wrong, format!("  {code}: {reason}")));
            }
            Some(End::Paused { gate }) => {
                lines.insert(0, (Tone::Waiting, format!("  waiting for approval: {gate}")));
            }
            None => {}
        }
        lines
    }
}

impl Phase {
    /// The time first: when the line is cut, the name suffers.
    fn time(&self) -> (Tone, String) {
        let elapsed = clock(self.elapsed);
        match self.soft_cap {
            Some(cap) if self.elapsed > cap => {
                (Tone::Wrong, format!("  {elapsed} over {}  {}", clock(cap), self.name))
            }
            Some(cap) => (Tone::Now, format!("  {elapsed} of {}  {}", clock(cap), self.name)),
            None => (Tone::Now, format!("  {elapsed}  {}", self.name)),
        }
    }
}

/// Minutes and seconds.
fn clock(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

/// A text on one line, and without signs that steer a terminal.
fn plain(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// As much of a line as fits; a line that is broken by the terminal can't be redrawn.
fn cut(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.to_owned();
    }
    line.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests;

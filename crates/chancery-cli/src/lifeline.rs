//! A process that works for another one ends with it.
//!
//! The one that starts it holds one end of a pipe, and the started one has the other end as its stdin. Nothing is ever written: the pipe
//! is at its end when the starter is, however it ended, SIGKILL included, and also when that was before anybody looked. (A signal at the
//! parent's death is there on Linux alone, is bound to the thread that started, and comes too late for a parent that is gone already.)

use std::io::{self, Read as _};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;

/// Says to a process that its stdin is such a pipe.
pub(crate) const VARIABLE: &str = "CHANCERY_LIFELINE";

/// So long a process may take to put things in order, when nobody waits for it any more.
const GRACE: Duration = Duration::from_secs(2);

/// While this is held, the process may go on.
#[derive(Debug)]
pub(crate) struct Lifeline(#[expect(dead_code, reason = "it is held, not used")] ChildStdin);

/// Starts this program again, to end when this process does or lets go of the line. (To wait for a child closes its stdin, so that the
/// line is apart from it.)
pub(crate) fn spawn(command: &mut Command) -> io::Result<(Child, Lifeline)> {
    command.env(VARIABLE, "stdin").stdin(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let line = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    Ok((child, Lifeline(line)))
}

/// Returns when whoever started this process is gone. What is under way is then dropped, and with it what this process started; a moment
/// later the process ends in any case.
pub(crate) async fn starter_is_gone() {
    let (tell, told) = oneshot::channel();
    // Blocked in a read for good, which no runtime has to wait for at its end.
    std::thread::spawn(move || {
        let mut nothing = [0; 64];
        while matches!(io::stdin().read(&mut nothing), Ok(1..)) {}
        let _ = tell.send(());
        std::thread::sleep(GRACE);
        std::process::exit(1);
    });
    let _ = told.await;
}

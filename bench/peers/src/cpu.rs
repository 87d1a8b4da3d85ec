//! Processor time, as Linux counts it.

use std::time::Duration;

use anyhow::{Context as _, Result};

/// The kernel's unit in `/proc`, the same on every architecture.
const TICK: Duration = Duration::from_millis(10);

/// What was spent so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cpu {
    /// All processes of the server, those that have ended included.
    pub(crate) server: Duration,
    /// This process.
    pub(crate) client: Duration,
}

impl Cpu {
    pub(crate) fn spent(postmaster: i32) -> Result<Self> {
        let mut server = Usage::of(&postmaster.to_string())?.with_ended_children;
        for entry in std::fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(pid) = name.to_str().filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
            else {
                continue;
            };
            // A process that ends while we look is counted with its parent the next time.
            if let Ok(usage) = Usage::of(pid)
                && usage.parent == postmaster
            {
                server += usage.own;
            }
        }
        Ok(Self { server, client: Usage::of("self")?.own })
    }

    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            server: self.server.saturating_sub(before.server),
            client: self.client.saturating_sub(before.client),
        }
    }
}

struct Usage {
    parent: i32,
    own: Duration,
    with_ended_children: Duration,
}

impl Usage {
    fn of(pid: &str) -> Result<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The second field is a name in brackets that may hold blanks; what follows it is plain.
        let (_, rest) = stat.rsplit_once(") ").context("a line of /proc/*/stat")?;
        let field = |number: usize| -> Result<u32> {
            let text = rest.split(' ').nth(number - 3).context("a field of /proc/*/stat")?;
            Ok(text.parse()?)
        };
        let own = field(14)? + field(15)?;
        let ended = field(16)? + field(17)?;
        Ok(Self {
            parent: i32::try_from(field(4)?)?,
            own: TICK * own,
            with_ended_children: TICK * (own + ended),
        })
    }
}

//! Whether the rules in the database are still those of this release, asked again and again by whoever decides.

use std::time::Duration;

use chancery_store::{Error, Store};
use tokio::sync::watch;

/// How often the rules are compared, when no setting says so.
pub const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// What the last comparison found: nothing yet, or the differences that nobody acknowledged.
type Standing = Option<Vec<String>>;

/// The answer of the last comparison, for everybody in the process.
#[derive(Debug, Clone)]
pub struct RuleWatch(watch::Sender<Standing>);

impl Default for RuleWatch {
    /// Nothing was compared yet, so nothing may be decided.
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl RuleWatch {
    /// For a process that stands on ground that another one compares: everything may be decided.
    pub fn trusting() -> Self {
        Self(watch::Sender::new(Some(Vec::new())))
    }

    /// Compares now.
    ///
    /// # Errors
    /// When the database gives no answer: what was found before still counts.
    pub async fn check(&self, store: &Store) -> Result<(), Error> {
        let differences = store.drift().await?;
        let standing: Vec<String> = differences
            .iter()
            .filter(|difference| difference.acknowledged.is_none())
            .map(|difference| format!("{} {}", difference.object(), difference.difference))
            .collect();
        let changed = self.0.send_replace(Some(standing.clone())).as_ref() != Some(&standing);
        if changed && standing.is_empty() {
            tracing::info!("the rules in the database are those of this release");
        } else if changed {
            for difference in &standing {
                tracing::error!(%difference, "the rules in the database differ from this release; nothing is decided until they are mended");
            }
        }
        Ok(())
    }

    /// Compares at this interval, for ever.
    pub async fn run(&self, store: &Store, interval: Duration) {
        loop {
            tokio::time::sleep(interval).await;
            if let Err(error) = self.check(store).await {
                tracing::warn!(%error, "the rules could not be compared with the release; trying again");
            }
        }
    }

    /// What stands against deciding anything; `None` when all is well.
    pub fn objection(&self) -> Option<String> {
        match &*self.0.borrow() {
            None => Some("the rules were not compared with this release yet".to_owned()),
            Some(standing) if standing.is_empty() => None,
            Some(standing) => {
                let more = match standing.len() {
                    1 => String::new(),
                    count => format!(" (and {} more)", count - 1),
                };
                Some(format!("{}{more}", standing[0]))
            }
        }
    }
}

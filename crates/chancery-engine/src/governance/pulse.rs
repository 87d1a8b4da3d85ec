//! The heartbeat of one worker or loop.

use chancery_store::governance::{Tick, Ticked};
use chancery_store::{Error, Store};
use serde_json::Value;

/// Says for one worker that it lives.
#[derive(Debug, Clone)]
pub struct Pulse {
    store: Store,
    worker_class: String,
    worker: String,
    principal: String,
}

impl Pulse {
    /// The pulse of a worker. It is known from its first beat on.
    pub fn new(store: Store, worker_class: &str, worker: &str, principal: &str) -> Self {
        Self {
            store,
            worker_class: worker_class.to_owned(),
            worker: worker.to_owned(),
            principal: principal.to_owned(),
        }
    }

    /// One beat. `ok` says whether the work since the last one went well: only such a beat ends a silence.
    ///
    /// # Errors
    /// The database's refusal, or that it does not answer.
    pub async fn beat(&self, ok: bool, metadata: &Value) -> Result<Ticked, Error> {
        let tick = Tick {
            worker_class: &self.worker_class,
            worker: &self.worker,
            ok,
            metadata,
            principal: &self.principal,
        };
        self.store.fn_heartbeat_tick(&tick).await
    }

    /// The worker ends in good order and is not missed. One that was silent until now stays a finding for somebody to look at.
    ///
    /// # Errors
    /// That the database does not answer.
    pub async fn end(&self) -> Result<(), Error> {
        let Self { store, worker_class, worker, principal } = self;
        match store.fn_heartbeat_deregister(worker_class, worker, principal).await {
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

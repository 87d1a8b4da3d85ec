//! Breaking the glass: a family admits births without permits for a while, by somebody else's approval.

use std::time::Duration;

use chancery_store::Store;
use chancery_store::approval::ApprovalReport;
use chancery_store::birth::BrokenGlass;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::Error;
use crate::approval::{self, NewRequest};
use crate::run::Actor;

/// Which glass is broken, why, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glass {
    pub collection: String,
    pub reason: String,
    pub minutes: i32,
}

impl Glass {
    /// What an approval must be about: this reason and this time, no others.
    fn digest(&self) -> [u8; 32] {
        Sha256::digest(format!("{}:{}", self.minutes, self.reason)).into()
    }

    /// Asks for the approval.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn ask(
        &self,
        store: &Store,
        actor: &Actor,
        actor_class: &str,
        expires_in: Duration,
    ) -> Result<ApprovalReport, Error> {
        let request = NewRequest {
            approval_id: None,
            kind: "birth_break_glass".to_owned(),
            subject_ref: self.collection.clone(),
            subject_digest: Some(self.digest().to_vec()),
            risk: None,
            title: format!(
                "{} admits births without permits for {} minutes",
                self.collection, self.minutes
            ),
            facts: json!({ "reason": self.reason, "minutes": self.minutes }),
            expires_in,
        };
        approval::request(store, actor, actor_class, &request).await
    }

    /// Breaks it.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn break_it(
        &self,
        store: &Store,
        actor: &Actor,
        actor_class: &str,
        approval_id: Uuid,
    ) -> Result<BrokenGlass, Error> {
        let Self { collection, reason, minutes } = self;
        let principal = &actor.principal;
        Ok(store
            .fn_break_glass(collection, approval_id, reason, *minutes, actor_class, principal)
            .await?)
    }
}

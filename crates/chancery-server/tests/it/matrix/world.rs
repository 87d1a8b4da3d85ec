//! Who asks, with which credential, and what there is to ask for.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::request::Builder;
use chancery_engine::identity::OwnKey;
use chancery_store::access::{NewSession, NewToken};
use chancery_store::{Role, Store};
use ed25519_dalek::SigningKey;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::scene::Scene;

/// What a request shows.
#[derive(Debug, Clone)]
pub(crate) enum Shows {
    Nothing,
    Token(String),
    /// The cookie, and the token of forms when it is brought.
    Cookie(String, Option<String>),
}

impl Shows {
    pub(crate) fn on(&self, request: Builder) -> Builder {
        match self {
            Self::Nothing => request,
            Self::Token(token) => request.header("authorization", format!("Bearer {token}")),
            Self::Cookie(cookie, csrf) => {
                let request = request.header("cookie", format!("chancery_session={cookie}"));
                match csrf {
                    Some(csrf) => request.header("chancery-csrf", csrf),
                    None => request,
                }
            }
        }
    }
}

/// Somebody whose credential is good.
#[derive(Debug)]
pub(crate) struct Who {
    pub(crate) name: String,
    /// Empty for the host's own token.
    pub(crate) principal: String,
    pub(crate) shows: Shows,
    /// As the test reads it from the table, not as the server says it.
    pub(crate) may: BTreeSet<String>,
}

/// A credential that is not good, and how that is answered.
#[derive(Debug)]
pub(crate) struct Stranger {
    pub(crate) name: &'static str,
    pub(crate) shows: Shows,
    pub(crate) status: u16,
    /// The fault's word, or the refusal's code.
    pub(crate) problem: &'static str,
}

pub(crate) struct World {
    pub(crate) scene: Scene,
    pub(crate) everybody: Vec<Who>,
    pub(crate) strangers: Vec<Stranger>,
    /// A session whose forms show nothing, or something else.
    pub(crate) forged: Vec<Shows>,
    pub(crate) classes: Vec<String>,
    /// What is there, by the words that the rows use.
    pub(crate) there: BTreeMap<&'static str, String>,
}

const ISSUER: &str = "https://provider.example";

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

impl World {
    pub(crate) async fn new(scene: Scene) -> Self {
        let mut world = Self {
            scene,
            everybody: Vec::new(),
            strangers: Vec::new(),
            forged: Vec::new(),
            classes: Vec::new(),
            there: BTreeMap::new(),
        };
        let classes =
            world.scene.db.texts("select code from identity.actor_class order by 1").await;
        world.classes = classes.into_iter().flatten().collect();
        assert_eq!(world.classes.len(), 12, "every class is a role of its own");
        world.machines().await;
        world.people().await;
        world.strangers().await;
        world
    }

    fn operator(&self) -> Store {
        self.scene.db.store(Role::Migrator)
    }

    /// What the table gives to classes.
    pub(super) async fn permissions(&self, classes: &[&str]) -> BTreeSet<String> {
        let classes = classes.join(",");
        let query = format!(
            "select distinct permission from identity.v_class_permission where actor_class = any (string_to_array('{classes}', ','))"
        );
        self.scene.db.texts(&query).await.into_iter().flatten().collect()
    }

    pub(super) async fn add(&self, principal: &str, kind: &str, classes: &[&str]) {
        let classes: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
        let added = self.operator().fn_principal_add(principal, kind, &classes, None).await;
        added.expect("a principal");
        if kind != "service" {
            let seed: [u8; 32] = digest(principal);
            let own = OwnKey { key_id: Uuid::now_v7(), key: SigningKey::from_bytes(&seed) };
            own.register(&self.operator(), principal, None, None).await.expect("a key");
        }
    }

    /// A token of a principal, and its id.
    pub(super) async fn token(&self, principal: &str, scopes: &BTreeSet<String>) -> (Uuid, String) {
        let (token_id, token) = (Uuid::now_v7(), format!("chy_{}", Uuid::now_v7().simple()));
        let scopes: Vec<String> = scopes.iter().cloned().collect();
        let new = NewToken {
            token_id,
            principal,
            label: "matrix",
            scopes: &scopes,
            seconds: 86_400,
            token_sha256: digest(&token),
            acted_by: None,
            by_token: None,
        };
        self.operator().fn_token_issue(&new).await.expect("a token");
        (token_id, token)
    }

    /// A session of a principal, and its id.
    async fn session(&self, principal: &str) -> (Uuid, Shows) {
        let subject = format!("{principal}/{}", Uuid::now_v7());
        let linked = self.operator().fn_oidc_link(ISSUER, &subject, principal, None).await;
        linked.expect("a link");
        let (session_id, cookie, csrf) =
            (Uuid::now_v7(), format!("c{}", Uuid::now_v7()), format!("f{}", Uuid::now_v7()));
        let new =
            NewSession { session_id, token_sha256: digest(&cookie), csrf_sha256: digest(&csrf) };
        self.scene.store.fn_sign_in_oidc(ISSUER, &subject, new).await.expect("a session");
        (session_id, Shows::Cookie(cookie, Some(csrf)))
    }

    async fn people(&mut self) {
        for class in self.classes.clone() {
            let principal = format!("m-{class}");
            self.add(&principal, "human", &[&class]).await;
            let may = self.permissions(&[&class]).await;
            let (_, token) = self.token(&principal, &may).await;
            self.everybody.push(Who { name: class, principal, shows: Shows::Token(token), may });
        }
        for class in ["sovereign", "pic_human"] {
            let principal = format!("m-{class}");
            let may = self.permissions(&[class]).await;
            let (_, shows) = self.session(&principal).await;
            self.everybody.push(Who {
                name: format!("{class} in a browser"),
                principal,
                shows,
                may,
            });
        }
        self.add("m-nobody", "human", &[]).await;
        let (_, shows) = self.session("m-nobody").await;
        let nobody = Who {
            name: "of no class".to_owned(),
            principal: "m-nobody".to_owned(),
            shows,
            may: BTreeSet::new(),
        };
        self.everybody.push(nobody);
        for kind in ["agent", "service"] {
            let principal = format!("m-{kind}");
            self.add(&principal, kind, &["executor_worker"]).await;
            let may = self.permissions(&["executor_worker"]).await;
            let (_, token) = self.token(&principal, &may).await;
            let name = format!("executor_worker, {kind}");
            self.everybody.push(Who { name, principal, shows: Shows::Token(token), may });
        }
        let may: BTreeSet<String> = ["self.read".to_owned()].into();
        let (spare, _) = self.token("m-sovereign", &may).await;
        self.there.insert("token", format!("tok_{}", spare.simple()));
        let (_, token) = self.token("m-sovereign", &may).await;
        self.everybody.push(Who {
            name: "sovereign, by a narrow token".to_owned(),
            principal: "m-sovereign".to_owned(),
            shows: Shows::Token(token),
            may,
        });
        self.everybody.push(Who {
            name: "the host's token".to_owned(),
            principal: String::new(),
            shows: Shows::Token(self.scene.token.clone()),
            may: ["queue.enqueue", "queue.read", "queue.work"].map(str::to_owned).into(),
        });
    }

    /// Credentials of somebody who might do everything, if only they were good.
    async fn strangers(&mut self) {
        let classes: Vec<&str> = self.classes.iter().map(String::as_str).collect();
        for principal in ["m-stranger", "m-inactive"] {
            self.add(principal, "human", &classes).await;
        }
        let may = self.permissions(&classes).await;
        let (expired, by_expired) = self.token("m-stranger", &may).await;
        let (revoked, by_revoked) = self.token("m-stranger", &may).await;
        let (_, by_inactive) = self.token("m-inactive", &may).await;
        let (old, by_old) = self.session("m-stranger").await;
        let (ended, by_ended) = self.session("m-stranger").await;
        let (_, by_inactive_session) = self.session("m-inactive").await;
        let (_, good) = self.session("m-stranger").await;
        let operator = self.operator();
        operator.fn_token_revoke(revoked, "left", None).await.expect("revoked");
        self.scene.store.fn_session_end(ended).await.expect("ended");
        operator.fn_principal_set_active("m-inactive", false, None).await.expect("set");
        let past = "interval '1 day'";
        self.scene
            .db
            .forge(&[
                &format!("update identity.api_token set issued_at = issued_at - {past}, expires_at = expires_at - {past} where token_id = '{expired}'"),
                &format!("update identity.session set opened_at = opened_at - {past}, expires_at = expires_at - {past} where session_id = '{old}'"),
            ])
            .await;
        let unknown = Shows::Token("chy_nobody".to_owned());
        let all = [
            ("anonymous", Shows::Nothing, 401, "unauthorized"),
            ("an unknown token", unknown, 401, "RI041"),
            (
                "an unknown cookie",
                Shows::Cookie("x".to_owned(), Some("x".to_owned())),
                401,
                "RI041",
            ),
            ("an expired token", Shows::Token(by_expired), 401, "RI042"),
            ("an expired session", by_old, 401, "RI042"),
            ("a revoked token", Shows::Token(by_revoked), 401, "RI043"),
            ("an ended session", by_ended, 401, "RI043"),
            ("the token of somebody inactive", Shows::Token(by_inactive), 403, "RI002"),
            ("the session of somebody inactive", by_inactive_session, 403, "RI002"),
        ];
        self.strangers = all
            .into_iter()
            .map(|(name, shows, status, problem)| Stranger { name, shows, status, problem })
            .collect();
        let Shows::Cookie(cookie, _) = good else { unreachable!("sessions show cookies") };
        self.forged =
            vec![Shows::Cookie(cookie.clone(), None), Shows::Cookie(cookie, Some("f".to_owned()))];
    }

    /// Something that is there, under the word that rows use.
    pub(crate) fn find(&self, word: &str) -> &str {
        self.there.get(word).unwrap_or_else(|| panic!("nothing is there as {word:?}"))
    }

    /// Names the first value of a query, with a prefix.
    pub(crate) async fn name(&mut self, word: &'static str, prefix: &str, query: &str) {
        let found = self.scene.db.text(query).await;
        assert!(!found.is_empty(), "{word}: there is none: {query}");
        let id =
            if prefix.is_empty() { found } else { format!("{prefix}_{}", found.replace('-', "")) };
        self.there.insert(word, id);
    }

    /// What nobody may change by being refused.
    pub(crate) async fn fingerprint(&self) -> String {
        self.scene.db.fingerprint().await
    }

    pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
        value[name].as_str().unwrap_or_default()
    }
}

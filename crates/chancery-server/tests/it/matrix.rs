//! SEC-2: every route × everybody × {own, other, missing, malformed, foreign, expired, revoked, inactive, forged}. What a class may is read
//! from `identity.v_class_permission`; a route without a row fails.

mod malformed;
mod owners;
mod rows;
mod things;
pub(crate) mod world;

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use chancery_api::openapi::document;
use chancery_api::{Access, Method, Route, Shape, routes};
use chancery_server::router;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use uuid::Uuid;

use crate::scene::Scene;
use rows::{Part, Row};
use world::{Shows, Who, World};

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    There,
    Missing,
    Malformed,
    /// The id of another kind of thing.
    Foreign,
}

#[derive(Debug)]
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

impl Answer {
    fn problem(&self) -> &str {
        self.body["code"].as_str().or_else(|| self.body["problem"].as_str()).unwrap_or_default()
    }
}

struct Matrix {
    world: World,
    router: Router,
    document: Value,
    asked: usize,
    /// Everything that is not as it should be: all of it is told at once.
    wrong: Vec<String>,
}

/// How a request differs from a good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slip {
    None,
    NoKey,
    UnknownMember,
    UnknownParameter,
    /// One of the bodies that `malformed` lists.
    Malformed(usize),
}

impl Matrix {
    async fn ask(
        &mut self,
        route: &Route,
        row: &Row,
        shows: &Shows,
        which: Which,
        slip: Slip,
    ) -> Answer {
        let mut path = route.path.to_owned();
        for (name, part) in &row.parts {
            let text = match (part, which) {
                (Part::Id(prefix, ""), Which::There) | (Part::Id(prefix, _), Which::Missing) => {
                    format!("{prefix}_{}", Uuid::now_v7().simple())
                }
                (Part::Id(_, word), Which::There) => self.world.find(word).to_owned(),
                (Part::Id(prefix, _), Which::Foreign) => {
                    let other = if *prefix == "evt" { "ses" } else { "evt" };
                    format!("{other}_{}", Uuid::now_v7().simple())
                }
                (Part::Id(..), Which::Malformed) => "%2e%2e%2fetc".to_owned(),
                (Part::Fixed(text), Which::There) => (*text).to_owned(),
                (Part::Fixed(_), Which::Missing | Which::Foreign) => "nobody-has-this".to_owned(),
                (Part::Fixed(_), Which::Malformed) => "%00".to_owned(),
            };
            path = path.replace(&format!("{{{name}}}"), &text);
        }
        assert!(!path.contains('{'), "{}: the row lacks a part of {path}", route.id);
        let query = match slip {
            Slip::UnknownParameter => "nobody_asked=1",
            Slip::None | Slip::NoKey | Slip::UnknownMember | Slip::Malformed(_) => row.query,
        };
        if !query.is_empty() {
            path = format!("{path}?{query}");
        }
        let mut request = shows.on(Request::builder().method(route.method.as_str()).uri(path));
        if route.writes && slip != Slip::NoKey {
            request = request.header("idempotency-key", Uuid::now_v7().to_string());
        }
        let body = if route.body.is_some() && route.method != Method::Delete {
            request = request.header("content-type", "application/json");
            let mut body = (row.body)(&self.world);
            if slip == Slip::UnknownMember {
                body["nobody_asked"] = json!(1);
            }
            if let Slip::Malformed(at) = slip {
                body = malformed::bodies(route.id, &body, &self.world).swap_remove(at);
            }
            Body::from(body.to_string())
        } else {
            Body::empty()
        };
        let request = request.body(body).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("an answer");
        let (parts, body) = response.into_parts();
        let status = parts.status.as_u16();
        // Events have no end.
        let bytes = if route.shape == Shape::Events && status < 300 {
            Vec::new()
        } else {
            to_bytes(body, usize::MAX).await.expect("a body").to_vec()
        };
        self.asked += 1;
        let answer = Answer {
            status,
            headers: parts.headers,
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
        };
        self.look_at(route, &answer);
        answer
    }

    /// What holds for every answer: it is in the document, and a no is a problem.
    fn look_at(&mut self, route: &Route, answer: &Answer) {
        let known =
            &self.document["paths"][route.path][route.method.as_str().to_lowercase()]["responses"];
        if known[answer.status.to_string()].is_null() || answer.status >= 500 {
            self.wrong.push(format!("{}: answered {answer:?}", route.id));
        }
        let media = answer.headers.get("content-type").and_then(|media| media.to_str().ok());
        if answer.status >= 400 {
            let whole = media == Some("application/problem+json")
                && answer.body["status"] == answer.status
                && answer.body["title"].is_string();
            if !whole {
                self.wrong.push(format!("{}: no problem document: {answer:?}", route.id));
            }
        }
    }

    fn expect(&mut self, what: &str, answer: &Answer, statuses: &[u16], problem: Option<&str>) {
        let right = statuses.contains(&answer.status)
            && problem.is_none_or(|word| answer.problem() == word);
        if !right {
            let (status, word) = (answer.status, answer.problem());
            let more = World::text(&answer.body, "detail");
            self.wrong
                .push(format!("{what}: {status} {word} {more}, not {statuses:?} {problem:?}"));
        }
    }

    /// Whoever may not ask is refused before anything is looked up, so that the answer tells nothing about what is there.
    async fn refused(&mut self, route: &Route, row: &Row, permission: &str) {
        let strangers = std::mem::take(&mut self.world.strangers);
        for stranger in &strangers {
            let answer = self.ask(route, row, &stranger.shows, Which::There, Slip::None).await;
            let what = format!("{} by {}", route.id, stranger.name);
            self.expect(&what, &answer, &[stranger.status], Some(stranger.problem));
        }
        self.world.strangers = strangers;
        if route.method != Method::Get {
            for shows in self.world.forged.clone() {
                let answer = self.ask(route, row, &shows, Which::There, Slip::None).await;
                self.expect(&format!("{} forged", route.id), &answer, &[403], Some("csrf_missing"));
            }
        }
        let everybody = std::mem::take(&mut self.world.everybody);
        for who in everybody.iter().filter(|who| !who.may.contains(permission)) {
            let mut told = BTreeSet::new();
            for which in [Which::There, Which::Missing, Which::Malformed, Which::Foreign] {
                let answer = self.ask(route, row, &who.shows, which, Slip::None).await;
                let what = format!("{} of {which:?} by {}", route.id, who.name);
                self.expect(&what, &answer, &[403], Some("RI040"));
                let mut body = answer.body;
                if let Some(body) = body.as_object_mut() {
                    body.remove("request_id");
                }
                told.insert(body.to_string());
                if row.parts.is_empty() {
                    break;
                }
            }
            if told.len() != 1 {
                self.wrong.push(format!("{}: who may not, learns something: {told:?}", route.id));
            }
        }
        self.world.everybody = everybody;
    }

    /// Whoever may ask hears what is wrong with what they asked.
    async fn slips(&mut self, route: &Route, row: &Row, who: &[&Who]) {
        for one in who {
            if row.parts.is_empty() {
                break;
            }
            let answer = self.ask(route, row, &one.shows, Which::Missing, Slip::None).await;
            let what = format!("{} of something missing by {}", route.id, one.name);
            self.expect(&what, &answer, row.missing, None);
        }
        let Some(one) = who.first() else { return };
        if row.parts.iter().any(|(_, part)| matches!(part, Part::Id(..))) {
            for which in [Which::Malformed, Which::Foreign] {
                let answer = self.ask(route, row, &one.shows, which, Slip::None).await;
                let what = format!("{} of something {which:?}", route.id);
                self.expect(&what, &answer, &[400], Some("id_malformed"));
            }
        } else if !row.parts.is_empty() {
            let answer = self.ask(route, row, &one.shows, Which::Malformed, Slip::None).await;
            self.expect(&format!("{} of U+0000", route.id), &answer, &[400, 404], None);
        }
        if route.writes {
            let answer = self.ask(route, row, &one.shows, Which::There, Slip::NoKey).await;
            let what = format!("{} without a key", route.id);
            self.expect(&what, &answer, &[428], Some("idempotency_key_missing"));
        }
        if route.body.is_some() && route.method != Method::Delete && !row.free {
            let answer = self.ask(route, row, &one.shows, Which::There, Slip::UnknownMember).await;
            let what = format!("{} with an unknown member", route.id);
            self.expect(&what, &answer, &[422], Some("request_invalid"));
        }
        if route.signed {
            self.judged_unsigned(route, row, who).await;
        }
        if row.free {
            return;
        }
        let answer = self.ask(route, row, &one.shows, Which::There, Slip::UnknownParameter).await;
        let what = format!("{} with an unknown parameter", route.id);
        self.expect(&what, &answer, &[400], Some("query_invalid"));
    }

    /// Nobody is asked to sign what would be refused once they had: what is malformed is told at once, to everybody.
    async fn judged_unsigned(&mut self, route: &Route, row: &Row, who: &[&Who]) {
        let bodies = malformed::bodies(route.id, &(row.body)(&self.world), &self.world);
        for one in who {
            for (at, body) in bodies.iter().enumerate() {
                let slip = Slip::Malformed(at);
                let answer = self.ask(route, row, &one.shows, Which::There, slip).await;
                let what = format!("{} with {body} by {}", route.id, one.name);
                self.expect(&what, &answer, &[400, 403, 404, 409, 422], None);
            }
        }
    }

    fn finish(&self) {
        let Self { wrong, asked, .. } = self;
        assert!(wrong.is_empty(), "{} of {asked} answers:\n{}", wrong.len(), wrong.join("\n"));
    }
}

/// Those who may ask a route, with nobody for open ones.
fn permitted<'a>(route: &Route, everybody: &'a [Who]) -> Vec<&'a Who> {
    match route.access {
        Access::Open => everybody.iter().take(1).collect(),
        Access::Permission(permission) => {
            everybody.iter().filter(|who| who.may.contains(permission)).collect()
        }
    }
}

#[tokio::test]
async fn every_route_is_open_to_those_who_may_and_closed_to_all_others() {
    let scene = Scene::new().await;
    let router = router(scene.host.clone());
    let mut world = World::new(scene).await;
    world.furnish().await;
    let mut matrix = Matrix { world, router, document: document("0"), asked: 0, wrong: Vec::new() };
    let mut rows: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    for row in rows::rows() {
        rows.entry(row.route).or_default().push(row);
    }
    let routes = routes();
    let known: BTreeSet<&str> = routes.iter().map(|route| route.id).collect();
    let lacking: Vec<&&str> = known.iter().filter(|id| !rows.contains_key(**id)).collect();
    assert!(lacking.is_empty(), "routes without a row in matrix/rows: {lacking:?}");
    let idle: Vec<&&str> = rows.keys().filter(|id| !known.contains(**id)).collect();
    assert!(idle.is_empty(), "rows without a route: {idle:?}");

    let before = matrix.world.fingerprint().await;
    for route in &routes {
        for row in &rows[route.id] {
            if let Access::Permission(permission) = route.access {
                let known = format!(
                    "select count(*)::text from identity.permission where permission = '{permission}'"
                );
                assert_eq!(
                    matrix.world.scene.db.text(&known).await,
                    "1",
                    "{}: {permission}",
                    route.id
                );
                matrix.refused(route, row, permission).await;
            }
            let everybody = std::mem::take(&mut matrix.world.everybody);
            matrix.slips(route, row, &permitted(route, &everybody)).await;
            matrix.world.everybody = everybody;
        }
    }
    let after = matrix.world.fingerprint().await;
    for (one, other) in before.lines().zip(after.lines()).filter(|(one, other)| one != other) {
        matrix.wrong.push(format!("a refusal changed something: {one} became {other}"));
    }

    // Last, because it may change things: what is there, by everybody who may. Whoever signs out is gone.
    let everybody = std::mem::take(&mut matrix.world.everybody);
    let mut last = routes;
    last.sort_by_key(|route| (route.id == "sign_out", route.method));
    for route in last {
        for row in &rows[route.id] {
            for who in permitted(route, &everybody) {
                let answer = matrix.ask(route, row, &who.shows, Which::There, Slip::None).await;
                let what = format!("{} of what is there by {}", route.id, who.name);
                let statuses = row.told.map_or(row.there, |told| told(who));
                matrix.expect(&what, &answer, statuses, None);
            }
        }
    }
    matrix.finish();
}

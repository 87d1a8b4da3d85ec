//! From a route to its function: everything that holds for all of them.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{
    ConnectInfo, DefaultBodyLimit, FromRequest as _, FromRequestParts as _, Path, Request, State,
};
use axum::http::header::{CACHE_CONTROL, ETAG};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, on};
use chancery_api::{Access, Endpoint, Method, Route};
use chancery_model::refusal::{Code, Problem as Facts};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, json};

use super::bearer::bearer;
use super::call::{Answered, Call};
use crate::asking;
use crate::body::{Asked, answer};
use crate::host::Host;
use crate::problem::{Fault, Problem};

/// Routes with their functions.
pub(crate) struct Routes {
    router: Router<Host>,
    bound: Vec<&'static str>,
}

impl Routes {
    pub(crate) fn new(_: &Host) -> Self {
        Self { router: Router::new(), bound: Vec::new() }
    }

    /// Binds a function that answers in JSON.
    pub(crate) fn on<Q, B, A, F, R>(self, endpoint: &'static Endpoint<Q, B, A>, function: F) -> Self
    where
        Q: DeserializeOwned + Clone + Send + 'static,
        B: DeserializeOwned + Clone + Send + 'static,
        A: Serialize + Send + 'static,
        F: Fn(Call<Q, B>) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Result<Answered<A>, Problem>> + Send,
    {
        let route = &endpoint.route;
        let status = StatusCode::from_u16(route.status).unwrap_or(StatusCode::OK);
        self.on_raw(endpoint, move |call| {
            let answering = function(call);
            async move {
                let Answered { value, status: other, version, headers } = answering.await?;
                let mut response = answer(other.unwrap_or(status), &value);
                response.headers_mut().extend(headers);
                if let Some(version) = version
                    && let Ok(etag) = HeaderValue::from_str(&format!("\"{version}\""))
                {
                    response.headers_mut().insert(ETAG, etag);
                }
                Ok(response)
            }
        })
    }

    /// Binds a function that makes its answer itself.
    pub(crate) fn on_raw<Q, B, A, F, R>(
        mut self,
        endpoint: &'static Endpoint<Q, B, A>,
        function: F,
    ) -> Self
    where
        Q: DeserializeOwned + Clone + Send + 'static,
        B: DeserializeOwned + Clone + Send + 'static,
        A: 'static,
        F: Fn(Call<Q, B>) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Result<Response, Problem>> + Send,
    {
        let route: &'static Route = &endpoint.route;
        let handler = move |State(host): State<Host>, request: Request| {
            let function = function.clone();
            async move {
                let done = match admit(host, route, request).await {
                    Ok(call) => judged(call, function).await,
                    Err(problem) => Err(problem),
                };
                let mut response = done.unwrap_or_else(Problem::into_response);
                // Nothing here is for a cache on the way, unless its function says so.
                response
                    .headers_mut()
                    .entry(CACHE_CONTROL)
                    .or_insert(HeaderValue::from_static("no-store"));
                response
            }
        };
        let filter = match route.method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Put => MethodFilter::PUT,
            Method::Delete => MethodFilter::DELETE,
        };
        let limit = DefaultBodyLimit::max(route.most_bytes);
        self.router = self.router.route(route.path, on(filter, handler).layer(limit));
        self.bound.push(route.id);
        self
    }

    /// The router, when every route has its function.
    pub(crate) fn into_router(self) -> Router<Host> {
        let missing: Vec<&str> = chancery_api::routes()
            .iter()
            .map(|route| route.id)
            .filter(|id| !self.bound.contains(id))
            .collect();
        assert!(missing.is_empty(), "routes without a function: {missing:?}");
        self.router
    }
}

/// Does what is asked. Who would have to sign first is asked for it only when nothing else stands against it: the same is asked of the
/// database once more with a signature that holds for nothing, and what it refuses is told instead.
async fn judged<Q: Clone, B: Clone, F, R>(
    call: Call<Q, B>,
    function: F,
) -> Result<Response, Problem>
where
    F: Fn(Call<Q, B>) -> R,
    R: Future<Output = Result<Response, Problem>>,
{
    let again = call.can_sign().then(|| Call { rehearses: true, ..call.clone() });
    match (function(call).await, again) {
        (Err(unsigned @ Problem::Unsigned(_)), Some(again)) => match function(again).await {
            Err(problem) if !problem.is_about_the_signature() => Err(problem),
            Ok(_) | Err(_) => Err(unsigned),
        },
        (done, _) => done,
    }
}

/// What is sent and decides nothing: a session begins and ends also while the rules differ, so that people can read.
const UNDECIDING: &[&str] = &["sign_in", "sign_out", "preview_move"];

/// Lets a request in, or says why not: who asks, whether they may, and whether it is whole. In this order, so that who may not ask
/// learns nothing about what they asked for.
async fn admit<Q: DeserializeOwned, B: DeserializeOwned>(
    host: Host,
    route: &Route,
    request: Request,
) -> Result<Call<Q, B>, Problem> {
    if host.is_stopping() {
        return Err(Problem::of(Fault::Stopping, "ask another one, or again"));
    }
    let (mut parts, body) = request.into_parts();
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
    let bearer = match route.access {
        Access::Open => None,
        Access::Permission(permission) => {
            let bearer = bearer(&host, route.method, &parts.headers, peer).await?;
            asking::is(&bearer.principal);
            host.limits().admit(&bearer.principal)?;
            if !bearer.may(permission) {
                return Err(not_permitted(&host, &bearer.principal, permission).await);
            }
            Some(bearer)
        }
    };
    if route.method != Method::Get
        && !UNDECIDING.contains(&route.id)
        && let Some(objection) = host.rules().objection()
    {
        return Err(Problem::of(Fault::RulesDiffer, objection));
    }
    let path: Result<Path<BTreeMap<String, String>>, PathRejection> =
        Path::from_request_parts(&mut parts, &host).await;
    let path = match path {
        // What is no text is no right that the path could show; its function says so.
        Err(_) if route.access == Access::Open => BTreeMap::new(),
        Ok(Path(path)) if route.access == Access::Open => path,
        Ok(Path(path)) if path.values().any(|text| text.contains('\0')) => {
            return Err(Problem::of(Fault::IdMalformed, "the path has the character U+0000"));
        }
        Ok(Path(path)) => path,
        Err(_) => return Err(Problem::of(Fault::IdMalformed, "the path is no UTF-8")),
    };
    let key = if route.writes { Some(idempotency_key(&parts.headers)?) } else { None };
    let query = query(parts.uri.query().unwrap_or_default())?;
    let headers = parts.headers.clone();
    let body = if route.body.is_none() || route.method == Method::Delete {
        serde_json::from_value(json!({})).map_err(|_| no_body())?
    } else {
        let Asked(body) = Asked::from_request(Request::from_parts(parts, body), &host).await?;
        body
    };
    let store = match &bearer {
        Some(bearer) => host.store().limited_to(&bearer.permissions),
        None => host.store().clone(),
    };
    Ok(Call { host, store, bearer, path, query, body, key, headers, peer, rehearses: false })
}

fn no_body() -> Problem {
    Problem::of(Fault::Internal, "a route without a body takes nothing")
}

pub(crate) async fn not_permitted(host: &Host, principal: &str, permission: &str) -> Problem {
    let facts: Map<_, _> = [("principal", principal), ("permission", permission)]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let code = Code::RI040;
    let problem = Facts { code, problem: code.problem().to_owned(), facts };
    match host.store().refusal(code, vec![problem]).await {
        Ok(refusal) => Problem::Refused(Box::new(refusal)),
        Err(error) => error.into(),
    }
}

/// The key that a change is known by: visible ASCII, at most 200 bytes, once.
fn idempotency_key(headers: &HeaderMap) -> Result<String, Problem> {
    let mut shown = headers.get_all("idempotency-key").iter();
    let (Some(key), None) = (shown.next(), shown.next()) else {
        return Err(Problem::of(Fault::KeyMissing, "send one header Idempotency-Key"));
    };
    key.to_str()
        .ok()
        .filter(|key| (1..=200).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic()))
        .map(str::to_owned)
        .ok_or_else(|| Problem::of(Fault::KeyMissing, "a key is 1 to 200 visible ASCII characters"))
}

fn query<Q: DeserializeOwned>(text: &str) -> Result<Q, Problem> {
    if text.contains("%00") {
        return Err(Problem::of(Fault::QueryInvalid, "a parameter has the character U+0000"));
    }
    serde_urlencoded::from_str(text)
        .map_err(|error| Problem::of(Fault::QueryInvalid, error.to_string()))
}

/// For answers that carry bytes as they are.
pub(crate) fn bytes(media: &'static str, bytes: impl Into<Bytes>) -> Response {
    ([(axum::http::header::CONTENT_TYPE, HeaderValue::from_static(media))], bytes.into())
        .into_response()
}

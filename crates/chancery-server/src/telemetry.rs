//! Traces for a collector: OTLP over HTTP, in JSON.
//!
//! A request's span goes to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names. The protocol is a POST of one document, so we write
//! it ourselves. Nothing waits for the collector: what it does not take in time is dropped and counted in the log.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustls::crypto::ring;
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, Filter};
use tracing_subscriber::registry::LookupSpan;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// The target of the spans that are told.
const TARGET: &str = "chancery::request";
/// So many wait for the collector, so many go at once, and so long they are gathered.
const QUEUE: usize = 4_096;
const BATCH: usize = 512;
const GATHER: Duration = Duration::from_secs(1);
/// The collector has so long to take a batch, and all of them at the end.
const PATIENCE: Duration = Duration::from_secs(5);
const FAREWELL: Duration = Duration::from_secs(2);

/// Where traces go.
#[derive(Clone)]
pub struct Collector {
    /// As `OTEL_EXPORTER_OTLP_ENDPOINT` has it; `/v1/traces` is added.
    pub endpoint: String,
    /// As `OTEL_EXPORTER_OTLP_HEADERS` has it: `name=value`, separated by commas. They may be secrets.
    pub headers: Option<String>,
    /// As `OTEL_SERVICE_NAME` has it; `chancery` when nobody says.
    pub service: Option<String>,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").field("service", &self.service).finish_non_exhaustive()
    }
}

/// A span that has ended.
#[derive(Debug)]
struct Span {
    fields: BTreeMap<&'static str, String>,
    begun: Timestamp,
    ended: Timestamp,
}

/// Sends spans until it is dropped; then it sends what is left, within two seconds.
#[derive(Debug)]
pub struct Exporter {
    queue: Arc<Mutex<Option<SyncSender<Span>>>>,
    sending: Option<JoinHandle<()>>,
}

/// What hears of spans.
#[derive(Debug, Clone)]
pub struct Spans(Arc<Mutex<Option<SyncSender<Span>>>>);

impl Exporter {
    /// Begins to send to a collector. An address that is none is found out with the first batch, and told in the log.
    pub fn start(collector: &Collector) -> Self {
        let (queue, spans) = sync_channel(QUEUE);
        let sender = Sender::new(collector);
        let sending = std::thread::Builder::new()
            .name("telemetry".to_owned())
            .spawn(move || sender.run(&spans))
            .inspect_err(|error| tracing::warn!(%error, "no thread for traces"))
            .ok();
        Self { queue: Arc::new(Mutex::new(Some(queue))), sending }
    }

    /// A layer that hears of the spans of requests.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        Spans(Arc::clone(&self.queue)).with_filter(OfRequests)
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let until = Instant::now() + FAREWELL;
        while self.sending.as_ref().is_some_and(|sending| !sending.is_finished())
            && Instant::now() < until
        {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Whatever the log shows, spans of requests are told, and nothing else is.
struct OfRequests;

impl<S> Filter<S> for OfRequests {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        metadata.is_span() && metadata.target() == TARGET
    }
}

/// The fields of a span while it lasts.
#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>, Option<Timestamp>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields(BTreeMap::new(), Some(Timestamp::now()));
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            values.record(fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let fields = context.span(&id).and_then(|span| span.extensions_mut().remove::<Fields>());
        let Some(Fields(fields, Some(begun))) = fields else { return };
        let span = Span { fields, begun, ended: Timestamp::now() };
        let queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Err(TrySendError::Full(_))) = queue.as_ref().map(|queue| queue.try_send(span)) {
            drop(queue);
            tracing::debug!("the collector is slow: a span was dropped");
        }
    }
}

struct Sender {
    agent: ureq::Agent,
    url: String,
    headers: Vec<(String, String)>,
    service: String,
}

impl Sender {
    fn new(collector: &Collector) -> Self {
        let roots = rustls_native_certs::load_native_certs().certs;
        let roots = roots.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
            .build();
        let agent = ureq::Agent::config_builder()
            .tls_config(tls)
            .timeout_global(Some(PATIENCE))
            .max_redirects(0)
            .build()
            .new_agent();
        let headers = collector.headers.as_deref().unwrap_or_default();
        let headers = headers
            .split(',')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
            .collect();
        let url = format!("{}/v1/traces", collector.endpoint.trim_end_matches('/'));
        let service = collector.service.clone().unwrap_or_else(|| "chancery".to_owned());
        Self { agent, url, headers, service }
    }

    fn run(&self, spans: &Receiver<Span>) {
        let mut failing = false;
        let mut open = true;
        while open {
            let mut batch = Vec::new();
            let until = Instant::now() + GATHER;
            while batch.len() < BATCH {
                match spans.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(span) => batch.push(span),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => {
                        open = false;
                        break;
                    }
                }
            }
            if batch.is_empty() {
                continue;
            }
            let sent = self.send(&batch);
            if let Err(error) = &sent
                && !failing
            {
                tracing::warn!(%error, "the collector takes no traces; they are dropped until it does");
            }
            failing = sent.is_err();
        }
    }

    fn send(&self, batch: &[Span]) -> Result<(), ureq::Error> {
        let spans: Vec<Value> = batch.iter().map(span).collect();
        let document = json!({ "resourceSpans": [{
            "resource": { "attributes": [text("service.name", &self.service), text("service.version", env!("CARGO_PKG_VERSION"))] },
            "scopeSpans": [{ "scope": { "name": "chancery" }, "spans": spans }],
        }] });
        let mut request = self.agent.post(&self.url).header("content-type", "application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.send(document.to_string()).map(drop)
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// As OTLP's JSON has it: ids in hex, numbers of 64 bits as text.
fn span(span: &Span) -> Value {
    const SERVER: u8 = 2;
    const FAILED: u8 = 2;
    let field = |name: &str| span.fields.get(name).map_or("", String::as_str);
    let nanos = |time: Timestamp| time.as_nanosecond().to_string();
    let status: u16 = field("http.status").parse().unwrap_or_default();
    let mut told = json!({
        "traceId": field("trace.id"), "spanId": field("span.id"), "kind": SERVER,
        "name": format!("{} {}", field("http.method"), field("http.route")),
        "startTimeUnixNano": nanos(span.begun), "endTimeUnixNano": nanos(span.ended),
        "attributes": [
            text("http.request.method", field("http.method")), text("http.route", field("http.route")),
            json!({ "key": "http.response.status_code", "value": { "intValue": status.to_string() } }),
        ],
        "status": if status >= 500 { json!({ "code": FAILED }) } else { json!({}) },
    });
    if !field("span.parent").is_empty() {
        told["parentSpanId"] = field("span.parent").into();
    }
    told
}

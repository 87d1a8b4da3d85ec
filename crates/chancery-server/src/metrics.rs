//! Figures of this process, in the text that Prometheus reads. A registry of our own: what is counted is known, so that nothing from
//! outside can become a label.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::host::Host;

/// Upper bounds in seconds.
const BUCKETS: [f64; 13] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Whoever asks for figures does not wait longer for those of the database.
const PATIENCE: Duration = Duration::from_secs(2);

/// A route as it is declared, never an address as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Asked {
    method: &'static str,
    route: String,
}

#[derive(Debug, Default)]
struct Answers {
    by_status: BTreeMap<u16, u64>,
    /// How many took at most as long, not added up; the last for those beyond.
    buckets: [u64; BUCKETS.len() + 1],
    seconds: f64,
}

/// Requests by route.
#[derive(Debug, Default)]
pub(crate) struct Requests(Mutex<BTreeMap<Asked, Answers>>);

impl Requests {
    pub(crate) fn count(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = BUCKETS.iter().position(|&bound| seconds <= bound).unwrap_or(BUCKETS.len());
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = requests.entry(Asked { method, route: route.to_owned() }).or_default();
        *answers.by_status.entry(status).or_default() += 1;
        answers.buckets[bucket] += 1;
        answers.seconds += seconds;
    }

    fn write(&self, page: &mut Page) {
        let requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        page.family("chancery_http_requests_total", "counter", "Answers by route and status.");
        for (Asked { method, route }, answers) in &*requests {
            for (status, count) in &answers.by_status {
                let labels =
                    [("method", *method), ("route", route), ("status", &status.to_string())];
                page.sample("", &labels, count);
            }
        }
        let help = "How long answers took until their head; a stream's body is not counted.";
        page.family("chancery_http_request_seconds", "histogram", help);
        for (Asked { method, route }, answers) in &*requests {
            let mut upto = 0;
            let bounds = BUCKETS.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
            for (bound, count) in bounds.zip(answers.buckets) {
                upto += count;
                let labels = [("method", *method), ("route", route), ("le", &bound)];
                page.sample("_bucket", &labels, upto);
            }
            let labels = [("method", *method), ("route", route.as_str())];
            page.sample("_sum", &labels, answers.seconds);
            page.sample("_count", &labels, upto);
        }
    }
}

/// The text as it grows.
#[derive(Default)]
struct Page {
    text: String,
    name: &'static str,
}

impl Page {
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        for (n, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
            let _ = write!(self.text, "{}{label}=\"{text}\"", if n == 0 { "{" } else { "," });
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{close} {value}");
    }

    fn one(&mut self, name: &'static str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample("", &[], value);
    }
}

/// Every figure as it stands.
pub(crate) async fn text(host: &Host) -> String {
    let mut page = Page::default();
    page.family("chancery_build_info", "gauge", "The release that runs.");
    page.sample("", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    host.requests().write(&mut page);
    listeners(host, &mut page);
    loops(host, &mut page);
    let (open, idle) = host.store().connections();
    page.family("chancery_pool_connections", "gauge", "Connections for requests.");
    page.sample("", &[("state", "open")], open);
    page.sample("", &[("state", "idle")], idle);
    page.one(
        "chancery_waiting_claims",
        "gauge",
        "Requests that wait for a job.",
        host.waiting().guests(),
    );
    database(host, &mut page).await;
    page.text
}

fn listeners(host: &Host, page: &mut Page) {
    let hub = host.feed();
    let figures = &hub.figures;
    let read = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    page.one("chancery_sse_clients", "gauge", "Streams that are open.", hub.clients());
    let help = "Events and notes that went into streams.";
    page.one("chancery_sse_deliveries_total", "counter", help, read(&figures.deliveries));
    page.family("chancery_sse_drops_total", "counter", "Streams that this process ended.");
    page.sample("", &[("why", "slow")], read(&figures.slow));
    page.sample("", &[("why", "signed_out")], read(&figures.ended));
    let help = "Streams whose client was told to reload.";
    page.one("chancery_sse_gaps_total", "counter", help, read(&figures.gaps));
    page.family(
        "chancery_feed_queries_total",
        "counter",
        "Questions for events: of the one reader, and for clients far behind.",
    );
    page.sample("", &[("by", "reader")], read(&figures.reads));
    page.sample("", &[("by", "catch_up")], read(&figures.catch_ups));
    if let Some(position) = hub.position() {
        page.one(
            "chancery_feed_position",
            "gauge",
            "The last position that was told here.",
            position,
        );
    }
}

fn loops(host: &Host, page: &mut Page) {
    let loops = host.board().loops();
    type Value = fn(&chancery_engine::loops::LoopState) -> f64;
    let families: [(&'static str, &str, &str, Value); 4] = [
        ("chancery_loop_ok", "gauge", "Whether the loop ticked well, and lately.", |one| {
            f64::from(u8::from(one.ok))
        }),
        ("chancery_loop_leads", "gauge", "Whether this process leads the loop.", |one| {
            f64::from(u8::from(one.leads))
        }),
        ("chancery_loop_ticks_total", "counter", "Ticks of the loop in this process.", |one| {
            one.ticks as f64
        }),
        ("chancery_loop_silent_seconds", "gauge", "Since the loop's last tick.", |one| {
            one.silent_ms as f64 / 1e3
        }),
    ];
    for (name, kind, help, value) in families {
        page.family(name, kind, help);
        for one in &loops {
            page.sample("", &[("loop", one.name)], value(one));
        }
    }
}

/// What only the database knows. Without it the rest is told all the same.
async fn database(host: &Host, page: &mut Page) {
    let store = host.store();
    let asked = async { (store.fn_feed_topics(&[]).await, store.queue_depth().await) };
    let (position, depths) = match tokio::time::timeout(PATIENCE, asked).await {
        Ok((Ok(topics), Ok(depths))) => (topics.position, depths),
        _ => {
            page.one("chancery_database_up", "gauge", "Whether the database answered.", 0);
            return;
        }
    };
    page.one("chancery_database_up", "gauge", "Whether the database answered.", 1);
    page.one("chancery_events_position", "gauge", "The last position that was given.", position);
    page.family("chancery_queue_jobs", "gauge", "Jobs by class and state.");
    for depth in depths {
        page.sample("", &[("class", &depth.executor_class), ("state", &depth.state)], depth.jobs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_adds_up_and_labels_are_quoted() {
        let requests = Requests::default();
        for (millis, status) in [(1, 200), (30, 200), (20_000, 503)] {
            requests.count("GET", "/v1/a\"b", status, Duration::from_millis(millis));
        }
        let mut page = Page::default();
        requests.write(&mut page);
        for line in [
            r#"chancery_http_requests_total{method="GET",route="/v1/a\"b",status="200"} 2"#,
            r#"chancery_http_request_seconds_bucket{method="GET",route="/v1/a\"b",le="0.001"} 1"#,
            r#"chancery_http_request_seconds_bucket{method="GET",route="/v1/a\"b",le="0.05"} 2"#,
            r#"chancery_http_request_seconds_bucket{method="GET",route="/v1/a\"b",le="+Inf"} 3"#,
            r#"chancery_http_request_seconds_count{method="GET",route="/v1/a\"b"} 3"#,
        ] {
            assert!(page.text.lines().any(|one| one == line), "{line}\n{}", page.text);
        }
    }
}

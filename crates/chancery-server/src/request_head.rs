//! What the head of every request is held to: its size, and the host name that it is addressed to.
//!
//! A page of a stranger can make a browser resolve the stranger's own name to an address of ours (DNS rebinding). Its requests then name the
//! stranger's host, and are refused. An address in digits and `localhost` cannot be rebound.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderName, HeaderValue, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::host::Host;
use crate::options::Options;
use crate::problem::{Fault, Problem};

/// No request line with its headers is larger.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Whoever asks whether the process lives may not know its name, and learns nothing else.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];

/// How large the head was on the wire, before anything here added to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeadBytes(usize);

/// Passes a request on, or refuses it before anything of it is read further.
pub(crate) async fn check(State(host): State<Host>, request: Request, next: Next) -> Response {
    // Every request that comes from a socket has it.
    let bytes = request.extensions().get::<HeadBytes>().map_or(0, |head| head.0);
    if bytes > MAX_HEAD_BYTES {
        let detail = format!(
            "the request line and all headers together have {bytes} bytes; at most {MAX_HEAD_BYTES} are taken"
        );
        return Problem::of(Fault::HeadTooLarge, detail).into_response();
    }
    let is_probe = PROBES.contains(&request.uri().path());
    match unknown_host(host.options(), &request) {
        Some(name) if !is_probe => {
            let detail = format!(
                "{name:?} is neither an IP address nor localhost nor a configured name; start the server with --public-url or --allow-host"
            );
            Problem::of(Fault::HostUnknown, detail).into_response()
        }
        _ => next.run(request).await,
    }
}

impl HeadBytes {
    pub(crate) fn of<B>(request: &axum::http::Request<B>) -> Self {
        // With the empty line at its end.
        let line =
            request.method().as_str().len() + uri_bytes(request.uri()) + " HTTP/1.1\r\n \r\n".len();
        let header = |(name, value): (&HeaderName, &HeaderValue)| {
            name.as_str().len() + value.len() + ": \r\n".len()
        };
        Self(line + request.headers().iter().map(header).sum::<usize>())
    }
}

fn uri_bytes(uri: &Uri) -> usize {
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    uri.scheme_str().map_or(0, str::len)
        + authority
        + uri.path_and_query().map_or(0, |path| path.as_str().len())
}

/// The name that is none of ours, where the request has one. A request without any comes from no browser.
fn unknown_host(options: &Options, request: &Request) -> Option<String> {
    let in_line = request.uri().authority().map(Authority::as_str);
    let in_headers = request.headers().get_all(HOST).iter();
    let in_headers = in_headers.map(|value| value.to_str().unwrap_or("not ASCII"));
    in_line.into_iter().chain(in_headers).find(|name| !is_known(options, name)).map(str::to_owned)
}

fn is_known(options: &Options, authority: &str) -> bool {
    let Ok(parsed) = authority.parse::<Authority>() else { return false };
    if authority.contains('@') {
        return false;
    }
    let name = parsed.host().trim_end_matches('.').to_ascii_lowercase();
    let digits = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
    digits.parse::<IpAddr>().is_ok()
        || name == "localhost"
        || options.known_hosts().any(|known| known.eq_ignore_ascii_case(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SEC-2: only names that cannot be rebound, or that the operator gave.
    #[test]
    fn a_name_is_known_when_it_is_an_address_or_configured() {
        let options = Options {
            public_url: Some("https://Chancery.example.org:8443".to_owned()),
            host_names: vec!["chancery".to_owned()],
            ..Options::default()
        };
        for good in [
            "localhost",
            "LOCALHOST:7420",
            "127.0.0.1:7420",
            "10.1.2.3",
            "[::1]:7420",
            "[2001:db8::1]",
            "chancery.example.org",
            "chancery.example.org.:8443",
            "chancery:80",
        ] {
            assert!(is_known(&options, good), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "localhost.evil.example",
            "evil.chancery.example.org",
            "127.0.0.1.evil.example",
            "user@localhost",
            "localhost, evil.example",
            "localhost/evil",
            "0x7f.1",
        ] {
            assert!(!is_known(&options, bad), "{bad}");
        }
    }
}

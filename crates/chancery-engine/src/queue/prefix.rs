//! Which URLs may be called: those below an address that an operator named.

use std::fmt;
use std::str::FromStr;

use ureq::http::Uri;

/// A scheme, a host, a port and the beginning of a path. What is below it has all of them: no other host that begins the same, and no
/// way up out of the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix {
    scheme: String,
    host: String,
    port: u16,
    /// Without a slash at its end.
    path: String,
}

/// What is still encoded after so many decodings is not decoded further, but refused.
const MAX_DECODINGS: usize = 5;

/// The text is no prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an address is http:// or https:// with a host and perhaps a path, such as https://api.example.org/v1/"
)]
pub struct NotAPrefix;

impl Prefix {
    /// Whether this URL is below it.
    pub fn covers(&self, url: &str) -> bool {
        let Some(url) = Parts::of(url) else { return false };
        let below = url.path.strip_prefix(&*self.path);
        url.scheme == self.scheme
            && url.host == self.host
            && url.port == self.port
            && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl FromStr for Prefix {
    type Err = NotAPrefix;

    fn from_str(text: &str) -> Result<Self, NotAPrefix> {
        if text.contains(['?', '#']) {
            return Err(NotAPrefix);
        }
        let Parts { scheme, host, port, path } = Parts::of(text).ok_or(NotAPrefix)?;
        Ok(Self { scheme, host, port, path: path.trim_end_matches('/').to_owned() })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}{}", self.scheme, self.host, self.port, self.path)
    }
}

struct Parts {
    scheme: String,
    host: String,
    port: u16,
    path: String,
}

impl Parts {
    fn of(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let scheme = uri.scheme_str()?.to_ascii_lowercase();
        let usual = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let authority = uri.authority()?;
        // A name before the host makes it look like another one.
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return None;
        }
        let path = uri.path();
        if leads_astray(path) {
            return None;
        }
        Some(Self {
            host: authority.host().to_ascii_lowercase(),
            port: authority.port_u16().unwrap_or(usual),
            path: path.to_owned(),
            scheme,
        })
    }
}

/// Whether the other side may take the path for a way up or for one with other separators: as it stands, or after decoding it once or
/// several times, as a proxy and the server behind it do, or without the parameters of its segments (`..;x`).
fn leads_astray(path: &str) -> bool {
    let mut bytes = path.as_bytes().to_vec();
    // The separators that stand in the text are the only ones that there may be.
    let separators = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'/').count();
    let stated = separators(&bytes);
    for _ in 0..MAX_DECODINGS {
        if bytes.iter().any(|&byte| byte == b'\\' || byte.is_ascii_control())
            || separators(&bytes) != stated
        {
            return true;
        }
        let dots = |part: &[u8]| {
            let name = part.split(|&byte| byte == b';').next().unwrap_or_default();
            matches!(name.trim_ascii(), b"." | b"..")
        };
        if bytes.split(|&byte| byte == b'/').any(dots) {
            return true;
        }
        let decoded = decoded(&bytes);
        if decoded == bytes {
            return false;
        }
        bytes = decoded;
    }
    true
}

/// With each `%xx` as its byte; shorter than before if there was one.
fn decoded(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        let byte = match rest {
            [b'%', high, low, ..] => std::str::from_utf8(&[*high, *low])
                .ok()
                .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
                .and_then(|digits| u8::from_str_radix(digits, 16).ok()),
            _ => None,
        };
        match byte {
            Some(byte) => {
                out.push(byte);
                rest = &rest[3..];
            }
            None => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RUN-18: a call goes only where an operator let it go.
    #[test]
    fn only_what_is_below_it_is_covered() {
        let prefix: Prefix = "https://api.example.org/v1/".parse().expect("a prefix");
        for below in [
            "https://api.example.org/v1",
            "https://api.example.org/v1/",
            "https://API.example.org:443/v1/orders?x=../y",
            "https://api.example.org/v1//orders",
            "https://api.example.org/v1/..orders;v=2/100%25/a%20b",
        ] {
            assert!(prefix.covers(below), "{below}");
        }
        for beside in [
            "",
            "/v1/orders",
            "api.example.org/v1",
            "http://api.example.org/v1/",
            "https://api.example.org:8443/v1/",
            "https://api.example.org/v10",
            "https://api.example.org/",
            "https://api.example.org.evil.org/v1/",
            "https://api.example.org@evil.org/v1/",
            "https://user@api.example.org/v1/",
            "https://evil.org/v1/?https://api.example.org/v1/",
            "https://api.example.org/v1/../v2",
            "https://api.example.org/v1/%2E%2e/v2",
            "https://api.example.org/v1/..%2fv2",
            "https://api.example.org/v1/..\\v2",
            "https://api.example.org/v1/..;/v2",
            "https://api.example.org/v1/..;a=b/v2",
            "https://api.example.org/v1/%2e%2e;/v2",
            "https://api.example.org/v1/..%3b/v2",
            "https://api.example.org/v1/%252e%252e/v2",
            "https://api.example.org/v1/%25252e%25252e/v2",
            "https://api.example.org/v1/..%252fv2",
            "https://api.example.org/v1/..%255cv2",
            "https://api.example.org/v1/..%20/v2",
            "https://api.example.org/v1/a%0d%0ab",
            "https://api.example.org%2f@evil.org/v1/",
            "https://api.example.org:443@evil.org/v1/",
            "ftp://api.example.org/v1/",
        ] {
            assert!(!prefix.covers(beside), "{beside}");
        }
        let whole: Prefix = "http://127.0.0.1:8080".parse().expect("a prefix");
        assert!(whole.covers("http://127.0.0.1:8080/any?thing"));
        assert!(!whole.covers("http://127.0.0.1:80/any"));
        for wrong in
            ["", "example.org", "ftp://example.org", "https://", "https://a@b", "https://a/?b"]
        {
            assert_eq!(wrong.parse::<Prefix>(), Err(NotAPrefix), "{wrong}");
        }
    }
}

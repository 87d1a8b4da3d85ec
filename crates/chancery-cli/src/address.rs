//! Connection URLs that other programs understand.

use std::fmt::Write as _;

use chancery_store::managed::Connection;

use crate::failure::Failure;

/// How a login reaches the database.
#[derive(Clone)]
pub(crate) struct Address {
    user: String,
    pub(crate) password: Option<String>,
    /// What follows the `@`.
    rest: String,
}

impl Address {
    /// Through the socket of the private server.
    pub(crate) fn of_socket(connection: &Connection) -> Self {
        let host = encoded(&connection.socket_dir.to_string_lossy(), "/");
        Self {
            user: connection.user.clone(),
            password: Some(connection.password.expose().to_owned()),
            rest: format!(
                "/{}?host={host}&port={}",
                encoded(&connection.database, ""),
                connection.port
            ),
        }
    }

    /// At an outside server: the URL's place, as `login` when its password is known, otherwise as the URL's own user.
    pub(crate) fn of_url(
        url: &str,
        database: &str,
        login: Option<(&str, &str)>,
    ) -> Result<Self, Failure> {
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        if !matches!(scheme, "postgres" | "postgresql") {
            return Err(Failure::Usage(
                "DATABASE_URL does not begin with postgresql://".to_owned(),
            ));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let authority = rest.split('/').next().unwrap_or_default();
        let (user_info, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
        let (mut user, mut password) =
            (decoded(user), Some(decoded(password)).filter(|password| !password.is_empty()));
        let mut options = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("user", value)) => user = decoded(value),
                Some(("password", value)) => password = Some(decoded(value)),
                _ => options.push(option),
            }
        }
        if let Some((name, secret)) = login {
            (user, password) = (name.to_owned(), Some(secret.to_owned()));
        }
        let mut rest = format!("{place}/{}", encoded(database, ""));
        if !options.is_empty() {
            let _ = write!(rest, "?{}", options.join("&"));
        }
        Ok(Self { user, password, rest })
    }

    /// The URL without the password, which belongs in no argument list and no shell history.
    pub(crate) fn url(&self) -> String {
        format!("postgresql://{}@{}", encoded(&self.user, ""), self.rest)
    }

    /// The URL with the password.
    pub(crate) fn url_with_password(&self) -> String {
        match &self.password {
            Some(password) => {
                format!(
                    "postgresql://{}:{}@{}",
                    encoded(&self.user, ""),
                    encoded(password, ""),
                    self.rest
                )
            }
            None => self.url(),
        }
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Address").field(&self.url()).finish()
    }
}

/// The same URL in a form that our driver takes: libpq allows a user in front of an empty host
/// (`postgresql://me@/db?host=/run/pg`), the driver wants it among the options.
pub(crate) fn for_the_driver(url: &str) -> String {
    let Some((scheme, (user_info, rest))) =
        url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.split_once("@/")?)))
    else {
        return url.to_owned();
    };
    if user_info.contains(['/', '?']) {
        return url.to_owned();
    }
    let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    let separator = if rest.contains('?') { '&' } else { '?' };
    let mut url = format!("{scheme}:///{rest}{separator}user={user}");
    if !password.is_empty() {
        let _ = write!(url, "&password={password}");
    }
    url
}

/// Percent-encoding of everything but unreserved characters and those in `kept`.
fn encoded(text: &str, kept: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        if c.is_ascii_alphanumeric() || "-._~".contains(c) || kept.contains(c) {
            out.push(c);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match hex.filter(|_| byte == b'%').and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &tail[2..];
            }
            None => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, login: Option<(&str, &str)>, expect: &str, with_password: &str) {
        let address = Address::of_url(url, "chancery", login).expect("a URL");
        assert_eq!(
            (address.url().as_str(), address.url_with_password().as_str()),
            (expect, with_password),
            "{url}"
        );
    }

    #[test]
    fn the_password_of_an_outside_url_is_shown_only_when_asked_for() {
        check(
            "postgres://me:p%40ss@db.example:5433/other?sslmode=require",
            None,
            "postgresql://me@db.example:5433/chancery?sslmode=require",
            "postgresql://me:p%40ss@db.example:5433/chancery?sslmode=require",
        );
        check(
            "postgresql:///x?host=/run/pg&user=me&password=s%3Dcret",
            None,
            "postgresql://me@/chancery?host=/run/pg",
            "postgresql://me:s%3Dcret@/chancery?host=/run/pg",
        );
    }

    #[test]
    fn a_login_takes_the_place_of_the_urls_user() {
        check(
            "postgres://me:secret@db/x",
            Some(("auditor_ro", "hers")),
            "postgresql://auditor_ro@db/chancery",
            "postgresql://auditor_ro:hers@db/chancery",
        );
    }

    #[test]
    fn a_url_without_a_host_reaches_the_driver_too() {
        let check = |url: &str, expect: &str| assert_eq!(for_the_driver(url), expect);
        check("postgresql://me@/db?host=/run/pg", "postgresql:///db?host=/run/pg&user=me");
        check("postgresql://me:a%40b@/db", "postgresql:///db?user=me&password=a%40b");
        for as_it_is in [
            "postgresql://me@host/db",
            "postgresql:///db?host=/x",
            "postgresql://h/a?b=c@/d",
            "odd",
        ] {
            check(as_it_is, as_it_is);
        }
    }

    #[test]
    fn another_scheme_is_wrong_usage() {
        assert!(matches!(Address::of_url("mysql://x", "chancery", None), Err(Failure::Usage(_))));
    }

    #[test]
    fn decoding_undoes_encoding() {
        for text in ["plain", "a b/c%d@é", "%", "%zz", "100%2"] {
            assert_eq!(decoded(&encoded(text, "")), text);
        }
    }
}

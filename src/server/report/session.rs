//! Sessions of browsers: a number that nobody can guess stands for a token.
//!
//! The cookie holds the number and not the token, because browsers send cookies for `localhost` to every port of it: another program
//! there could see what this one has set, and a number is of no use outside this process.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use axum::http::{HeaderMap, header};
use rustls::crypto::CryptoProvider;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep_until};

/// How long one lasts at most: as long as `kubectl create token` makes tokens by default.
const LONGEST: Duration = Duration::from_hours(1);
/// So many at once; for a further one the oldest ends.
const SESSIONS: usize = 128;
/// The cookie.
const COOKIE: &str = "queuewarden-report";
/// Bytes of a number.
const BYTES: usize = 32;

/// The number of a session, in hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Number(String);

/// All that there are.
#[derive(Default)]
pub(super) struct Sessions {
    /// By the SHA-256 of the number: how long a lookup takes then tells nothing about numbers.
    open: Mutex<HashMap<[u8; 32], Session>>,
}

struct Session {
    token: String,
    until: Instant,
}

impl std::fmt::Debug for Sessions {
    /// Tokens are secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

impl Sessions {
    /// Begins one. `None`: there are no random numbers to be had.
    pub(super) fn begin(&self, token: String) -> Option<Number> {
        let number = Number::random()?;
        let now = Instant::now();
        let mut open = self.current(now);
        if open.len() >= SESSIONS {
            let oldest = open.iter().min_by_key(|(_, session)| session.until).map(|(key, _)| *key);
            oldest.and_then(|key| open.remove(&key));
        }
        open.insert(number.key(), Session { token, until: now + LONGEST });
        Some(number)
    }

    /// The token that a number stands for.
    pub(super) fn token(&self, number: &Number) -> Option<String> {
        self.current(Instant::now()).get(&number.key()).map(|session| session.token.clone())
    }

    /// Ends one.
    pub(super) fn end(&self, number: &Number) {
        self.current(Instant::now()).remove(&number.key());
    }

    /// Those that are not over; the others are forgotten.
    fn current(&self, now: Instant) -> MutexGuard<'_, HashMap<[u8; 32], Session>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, session| session.until > now);
        open
    }

    /// When the next one is over; one that begins later is so no sooner.
    fn next_end(&self) -> Instant {
        let now = Instant::now();
        self.current(now).values().map(|session| session.until).min().unwrap_or(now + LONGEST)
    }
}

/// Forgets those that are over while nobody asks, for as long as there is anything to forget them in.
pub(super) async fn sweep(sessions: Weak<Sessions>) {
    while let Some(next) = sessions.upgrade().map(|sessions| sessions.next_end()) {
        sleep_until(next).await;
    }
}

impl Number {
    fn random() -> Option<Self> {
        let mut bytes = [0; BYTES];
        let provider = CryptoProvider::get_default()?;
        provider.secure_random.fill(&mut bytes).ok()?;
        Some(Self(bytes.iter().fold(String::with_capacity(2 * BYTES), |mut hex, byte| {
            // Writing into a text does not fail.
            _ = write!(hex, "{byte:02x}");
            hex
        })))
    }

    fn key(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// `Set-Cookie` for it: not for scripts, not for requests that other sites begin. It ends with the browser, and here.
    pub(super) fn cookie(&self) -> String {
        format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict", self.0)
    }
}

/// `Set-Cookie` that takes it away.
pub(super) fn no_cookie() -> String {
    format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
}

/// The number in a request's cookies.
pub(super) fn shown(headers: &HeaderMap) -> Option<Number> {
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let number = pairs.find(|(name, _)| *name == COOKIE)?.1;
    let is_one = number.len() == 2 * BYTES && number.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_one.then(|| Number(number.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use axum::http::HeaderValue;

    fn begin(sessions: &Sessions, token: &str) -> Number {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        sessions.begin(token.to_owned()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_by_itself() {
        let sessions = Sessions::default();
        let number = begin(&sessions, "t");
        assert_eq!(sessions.token(&number).as_deref(), Some("t"));
        tokio::time::advance(LONGEST).await;
        assert_eq!(sessions.token(&number), None);
        assert_eq!(sessions.open.lock().unwrap().len(), 0, "what is over is forgotten");
        let other = begin(&sessions, "u");
        sessions.end(&other);
        assert_eq!(sessions.token(&other), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_forgotten_while_nobody_asks() {
        let sessions = Arc::new(Sessions::default());
        let sweeping = tokio::spawn(sweep(Arc::downgrade(&sessions)));
        let held = || sessions.open.lock().unwrap().len();
        let minutes = |minutes| tokio::time::sleep(Duration::from_mins(minutes));
        minutes(20).await;
        begin(&sessions, "t");
        minutes(30).await;
        begin(&sessions, "u");
        minutes(29).await;
        assert_eq!(held(), 2);
        minutes(2).await;
        assert_eq!(held(), 1);
        minutes(30).await;
        assert_eq!(held(), 0);
        drop(sessions);
        sweeping.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_makes_room() {
        let sessions = Sessions::default();
        let mut numbers = Vec::new();
        for _ in 0..=SESSIONS {
            numbers.push(begin(&sessions, "t"));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let open = numbers.iter().filter(|number| sessions.token(number).is_some()).count();
        assert_eq!((open, sessions.token(&numbers[0])), (SESSIONS, None));
    }

    #[test]
    fn the_number_is_found_among_cookies() {
        let number = "ab".repeat(32);
        let cases = [
            (format!("a=b; {COOKIE}={number}"), true),
            (format!("{COOKIE}={number}x"), false),
            (format!("x{COOKIE}={number}"), false),
            (String::new(), false),
        ];
        for (cookies, found) in cases {
            let headers = [(header::COOKIE, HeaderValue::from_str(&cookies).unwrap())].into_iter().collect();
            assert_eq!(shown(&headers).is_some(), found, "{cookies}");
        }
    }
}

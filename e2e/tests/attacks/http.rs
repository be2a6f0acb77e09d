//! Attacks on HTTP itself, at the HTTPS port: request smuggling, path traversal, headers that end early.

use super::Expected::Refused;
use super::{Attack, Expected, Given, To, Who, raw};

/// A request smuggled after another one, which would be answered with the list of the group.
const SECOND: &str = "GET /apis/access.queuewarden.dev HTTP/1.1\r\nhost: x\r\n\r\n";

fn attack(name: &'static str, request: impl Into<Vec<u8>>, expected: Expected) -> Attack {
    Attack {
        name,
        who: Who::Stranger,
        given: Given::Serving,
        steps: vec![raw(To::Endpoints, request)],
        expected,
    }
}

/// Returns a request with these lines of headers, and the bytes after them.
fn sent(line: &str, headers: &str, rest: &str) -> String {
    format!("{line}\r\nhost: endpoints\r\n{headers}\r\n{rest}")
}

const HOOK: &str = "POST /authorize HTTP/1.1";
const READY: &str = "GET /readyz HTTP/1.1";

pub(super) fn attacks() -> Vec<Attack> {
    [lengths(), paths(), headers()].concat()
}

fn lengths() -> Vec<Attack> {
    let chunked = "transfer-encoding: chunked\r\n";
    let both = format!("content-length: 5\r\n{chunked}");
    vec![
        attack(
            "two lengths",
            sent(HOOK, "content-length: 0\r\ncontent-length: 50\r\n", SECOND),
            Refused(400, &["400"]),
        ),
        attack(
            "two lengths in one header",
            sent(HOOK, "content-length: 0, 50\r\n", SECOND),
            Refused(400, &["400"]),
        ),
        attack("a length with a sign", sent(HOOK, "content-length: +5\r\n", SECOND), Refused(400, &["400"])),
        attack(
            "a length below nothing",
            sent(HOOK, "content-length: -1\r\n", SECOND),
            Refused(400, &["400"]),
        ),
        attack(
            "a length too long for a number",
            sent(HOOK, "content-length: 99999999999999999999\r\n", SECOND),
            Refused(400, &["400"]),
        ),
        attack(
            "a length and chunks",
            sent(HOOK, &both, &format!("0\r\n\r\n{SECOND}")),
            Refused(400, &["400"]),
        ),
        attack(
            "chunks in an encoding that there is not",
            sent(HOOK, "transfer-encoding: chunked, identity\r\n", &format!("0\r\n\r\n{SECOND}")),
            Refused(400, &["400"]),
        ),
        attack(
            "chunks by another name",
            sent(HOOK, "transfer-encoding: xchunked\r\n", &format!("0\r\n\r\n{SECOND}")),
            Refused(400, &["400"]),
        ),
        attack(
            "a chunk whose size is no number",
            sent(HOOK, chunked, &format!("zz\r\n\r\n{SECOND}")),
            Refused(400, &["the body cannot be read"]),
        ),
        attack(
            "a chunk whose size is too long",
            sent(HOOK, chunked, &format!("ffffffffffffffffff\r\n{SECOND}")),
            Refused(400, &["the body cannot be read"]),
        ),
        attack(
            "chunks in HTTP/1.0",
            sent("POST /authorize HTTP/1.0", chunked, &format!("0\r\n\r\n{SECOND}")),
            Refused(400, &["400"]),
        ),
    ]
}

fn paths() -> Vec<Attack> {
    let close = "connection: close\r\n";
    let path =
        |name, line: &str, code| attack(name, sent(line, close, ""), Refused(code, &["connection: close"]));
    vec![
        path("a path that climbs to another endpoint", "POST /user-info/../authorize HTTP/1.1", 404),
        path("the same, escaped", "POST /user-info/%2e%2e/authorize HTTP/1.1", 404),
        path("an escaped slash", "POST /user-info%2Fcheck HTTP/1.1", 404),
        path("two slashes", "POST //user-info HTTP/1.1", 404),
        path("an endpoint in capitals", "POST /USER-INFO HTTP/1.1", 404),
        path("an endpoint with a parameter", "POST /user-info;x=/check HTTP/1.1", 404),
        path("a slash at the end", "POST /validate/ HTTP/1.1", 404),
        path("another server", "GET http://127.0.0.1:9080/ws/v1/config HTTP/1.1", 404),
        path("an address instead of a path", "CONNECT 127.0.0.1:9080 HTTP/1.1", 404),
        path("a star instead of a path", "OPTIONS * HTTP/1.1", 404),
        path("a method that there is not", "STEAL /readyz HTTP/1.1", 405),
        path("a method that writes", "DELETE /readyz HTTP/1.1", 405),
    ]
}

fn headers() -> Vec<Attack> {
    vec![
        attack(
            "a line break in a path",
            format!("GET /readyz HTTP/1.1\r\nx: y\r\n\r\n{SECOND}").replace("/readyz", "/readyz\r\n"),
            Refused(400, &["400"]),
        ),
        attack("nothing in a header", sent(READY, "x: a\0b\r\n", ""), Refused(400, &["400"])),
        attack(
            "a space before a colon",
            sent(READY, "authorization : Bearer x\r\n", ""),
            Refused(400, &["400"]),
        ),
        attack(
            "a header that goes on in the next line",
            sent(READY, "x: a\r\n authorization: Bearer x\r\n", ""),
            Refused(400, &["400"]),
        ),
        attack(
            "a header of 40 kB at the endpoints",
            sent(READY, &format!("x: {}\r\n", "x".repeat(40_000)), ""),
            Refused(431, &["431"]),
        ),
        attack("a thousand headers", sent(READY, &"x: y\r\n".repeat(1000), ""), Refused(431, &["431"])),
        attack("a request without a version", "GET /readyz\r\n\r\n", Refused(400, &["400"])),
        attack(
            "the beginning of HTTP/2 and then HTTP/1",
            format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{SECOND}"),
            Expected::Cut,
        ),
    ]
}

//! Attacks on port 8080: everyone may read health and metrics, and nothing else.

use super::Expected::{Refused, Without};
use super::{Attack, NOTHING, Step, To, raw};

fn get(path: &str) -> Step {
    Step::new(To::Health, "GET", path, "")
}

fn wire(head: &str) -> Step {
    raw(To::Health, format!("{head}\r\nhost: x\r\nconnection: close\r\n\r\n"))
}

pub(super) fn attacks() -> Vec<Attack> {
    vec![
        Attack::by_stranger(
            "names in metrics",
            get("/metrics"),
            Without(200, &["queuewarden_decisions_total"], &["mallory", "boss", "devs", "root.prod"]),
        ),
        Attack::by_stranger(
            "metrics that are written",
            Step::new(To::Health, "POST", "/metrics", ""),
            Refused(405, &["\"allow\": \"GET,HEAD\""]),
        ),
        Attack::by_stranger(
            "metrics with a body",
            Step::new(To::Health, "GET", "/metrics", "x"),
            Refused(413, &["the limit is 0 bytes"]),
        ),
        Attack::by_stranger(
            "an endpoint of the other port",
            Step::new(To::Health, "POST", "/user-info", ""),
            Refused(404, NOTHING),
        ),
        Attack::by_stranger(
            "the authorizer without TLS",
            Step::new(To::Health, "POST", "/authorize", ""),
            Refused(404, NOTHING),
        ),
        Attack::by_stranger(
            "queues without TLS",
            get("/apis/access.queuewarden.dev/v1alpha1/queues").header("X-Remote-User", "admin"),
            Refused(404, NOTHING),
        ),
        Attack::by_stranger("a profile", get("/debug/pprof/heap"), Refused(404, NOTHING)),
        Attack::by_stranger(
            "a file above",
            wire("GET /../../etc/passwd HTTP/1.1"),
            Refused(404, &["connection: close"]),
        ),
        Attack::by_stranger(
            "a file above, escaped",
            wire("GET /metrics/%2e%2e/%2e%2e/etc/passwd HTTP/1.1"),
            Refused(404, &["connection: close"]),
        ),
        Attack::by_stranger(
            "another server through this one",
            wire("GET http://127.0.0.1:9080/ws/v1/config HTTP/1.1"),
            Refused(404, &["connection: close"]),
        ),
        Attack::by_stranger(
            "a tunnel",
            wire("CONNECT 127.0.0.1:9080 HTTP/1.1"),
            Refused(404, &["connection: close"]),
        ),
        Attack::by_stranger(
            "a request that comes back",
            wire("TRACE /metrics HTTP/1.1\r\ncookie: secret"),
            Without(405, &["connection: close"], &["secret"]),
        ),
        Attack::by_stranger(
            "a header of 100 kB",
            wire(&format!("GET /livez HTTP/1.1\r\nx: {}", "x".repeat(100_000))),
            Refused(431, &["431"]),
        ),
        Attack::by_stranger(
            "a handshake of TLS",
            raw(To::Health, [0x16, 3, 1, 0, 5, 1, 0, 0, 1, 3]),
            Refused(400, &["400"]),
        ),
        Attack::by_stranger(
            "two lengths on port 8080",
            raw(
                To::Health,
                "POST /livez HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 0\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n",
            ),
            Refused(400, &["400"]),
        ),
        Attack::by_stranger(
            "a version of HTTP that has no headers",
            raw(To::Health, "GET /metrics\r\n\r\n"),
            Refused(400, &["400"]),
        ),
    ]
}

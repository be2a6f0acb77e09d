//! Tests the health check that Argo CD runs on our objects.

use mlua::{Lua, LuaSerdeExt as _, Table};
use serde_json::{Value, json};

fn health(object: &Value) -> (String, String) {
    let lua = Lua::new();
    lua.globals().set("obj", lua.to_value(object).unwrap()).unwrap();
    let health: Table = lua.load(include_str!("../manifests/argo-cd/health.lua")).eval().unwrap();
    (health.get("status").unwrap(), health.get("message").unwrap())
}

fn object(status: &str, reason: &str, observed: u32) -> Value {
    let ready = json!({"type": "Ready", "status": status, "reason": reason, "message": "words", "observedGeneration": observed});
    let accepted = json!({"type": "Accepted", "status": "True", "reason": "Accepted", "message": "", "observedGeneration": observed});
    json!({"kind": "QueueAcl", "metadata": {"generation": 2}, "status": {"conditions": [accepted, ready]}})
}

#[test]
fn health_follows_ready_and_its_reason() {
    for (object, expected) in [
        (object("True", "Ready", 2), "Healthy"),
        (object("True", "NotVerified", 2), "Healthy"),
        (object("True", "Ready", 1), "Progressing"),
        (object("True", "NotYetValid", 2), "Suspended"),
        (object("True", "Expired", 2), "Suspended"),
        (object("True", "Suspended", 2), "Suspended"),
        (object("False", "ObserveMode", 2), "Suspended"),
        (object("False", "WithdrawalPending", 2), "Degraded"),
        (object("False", "Rejected", 2), "Degraded"),
        (object("False", "RootAllowsEveryone", 2), "Degraded"),
        (object("False", "Invalid", 2), "Degraded"),
        (object("False", "Pending", 2), "Progressing"),
        (object("False", "LoadPending", 2), "Progressing"),
        (object("Unknown", "SchedulerUnreachable", 2), "Progressing"),
        (json!({"kind": "QueueAcl", "metadata": {"generation": 1}}), "Progressing"),
        (
            json!({"kind": "QueueAcl", "metadata": {"generation": 1}, "status": {"conditions": []}}),
            "Progressing",
        ),
    ] {
        assert_eq!(health(&object).0, expected, "{object}");
    }
    assert_eq!(health(&object("False", "Invalid", 2)).1, "Invalid: words");
}

//! The `queuewarden` binary.
fn main() {}

//! `cargo fuzz run acl`; see `queuewarden_fuzz::acl`.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| queuewarden_fuzz::acl(data));

#[cfg(not(fuzzing))]
fn main() {
    eprintln!("built without a fuzzer: cargo +nightly fuzz run acl");
}

//! `cargo fuzz run access_review`; see `queuewarden_fuzz::access_review`.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| queuewarden_fuzz::access_review(data));

#[cfg(not(fuzzing))]
fn main() {
    eprintln!("built without a fuzzer: cargo +nightly fuzz run access_review");
}

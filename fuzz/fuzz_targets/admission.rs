//! `cargo fuzz run admission`; see `queuewarden_fuzz::admission`.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| queuewarden_fuzz::admission(data));

#[cfg(not(fuzzing))]
fn main() {
    eprintln!("built without a fuzzer: cargo +nightly fuzz run admission");
}

//! `cargo fuzz run xml`; see `queuewarden_fuzz::xml`.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| queuewarden_fuzz::xml(data));

#[cfg(not(fuzzing))]
fn main() {
    eprintln!("built without a fuzzer: cargo +nightly fuzz run xml");
}

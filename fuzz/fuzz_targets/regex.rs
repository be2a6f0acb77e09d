//! `cargo fuzz run regex`; see `queuewarden_fuzz::regex`.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| queuewarden_fuzz::regex(data));

#[cfg(not(fuzzing))]
fn main() {
    eprintln!("built without a fuzzer: cargo +nightly fuzz run regex");
}

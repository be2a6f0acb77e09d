//! The `queuewarden` binary.

/// Plans over thousands of objects are made on changing threads, and let go at once. glibc keeps what each thread had at its highest; this one
/// gives it back (`docs/scale.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    queuewarden::cli::main()
}

//! The `queuewarden` binary.

/// Gives freed memory back to the system. Plans over thousands of objects are built on changing threads and
/// freed at once; glibc's allocator keeps the peak of every thread (`docs/scale.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    queuewarden::args::main()
}

//! The `queuewarden` binary.

fn main() -> std::process::ExitCode {
    queuewarden::cli::main()
}

//! Examines every kernel by every gate. See the library.

fn main() -> std::process::ExitCode {
    portability::run(std::env::args().skip(1))
}

//! Every kernel before every gate: see the library.

fn main() -> std::process::ExitCode {
    portability::run(std::env::args().skip(1))
}

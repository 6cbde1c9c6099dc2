//! The transcripts of `tests/transcripts`: what the command prints about shaders with one fault
//! each, and about wrong usage.

/// `TRYCMD=overwrite` in the environment writes them anew.
#[test]
fn transcripts_are_what_the_command_prints() {
    trycmd::TestCases::new()
        .case("tests/transcripts/*.md")
        .env("COLUMNS", "100");
}

//! `completions`: prints shell completions.

use crate::Cli;
use bcfsort_term::fault::Fault;
use bcfsort_term::output::print_data;
use clap::CommandFactory;
use clap_complete::Shell;

const AFTER_HELP: &str = "\
Examples:
  wgpu-bcfsort completions bash > /etc/bash_completion.d/wgpu-bcfsort
  wgpu-bcfsort completions zsh > ~/.zfunc/_wgpu-bcfsort
  wgpu-bcfsort completions fish > ~/.config/fish/completions/wgpu-bcfsort.fish";

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Shell to complete commands in
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    // Buffered, because the generator panics on a write error.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "wgpu-bcfsort", &mut script);
    print_data(&String::from_utf8_lossy(&script))
}

//! `man`: the manual pages.

use crate::Cli;
use bcfsort_term::fault::Fault;
use bcfsort_term::output::{Output, print_data};
use clap::CommandFactory;
use clap_mangen::Man;
use std::io::Write;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  wgpu-bcfsort man | man -l -
  wgpu-bcfsort man --dir /usr/local/share/man/man1";

/// Print the manual page, or write the pages of all commands
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Existing directory to write wgpu-bcfsort.1, wgpu-bcfsort-sort.1 and so on to
    #[arg(long)]
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let Some(directory) = &args.dir else {
        return print_data(&String::from_utf8_lossy(&page("wgpu-bcfsort", command)?));
    };
    for subcommand in command.get_subcommands() {
        let name = format!("wgpu-bcfsort-{}", subcommand.get_name());
        write(directory, &name, subcommand.clone())?;
    }
    write(directory, "wgpu-bcfsort", command)
}

fn page(name: &str, command: clap::Command) -> Result<Vec<u8>, Fault> {
    let mut page = Vec::new();
    Man::new(command)
        .title(name)
        .render(&mut page)
        .map_err(|error| Fault::Usage(error.to_string()))?;
    Ok(page)
}

fn write(directory: &Path, name: &str, command: clap::Command) -> Result<(), Fault> {
    let mut output = Output::create(&directory.join(format!("{name}.1")))?;
    output
        .write_all(&page(name, command)?)
        .map_err(|error| Fault::io(&output.name, "cannot write", &error))?;
    output.commit()
}

//! The command `wgsl-audit`: runs a WGSL compute shader on the CPU, in lock-step, and reports bank
//! conflicts, races and other faults.

mod fault;
mod help;
mod values;

use clap::builder::{PossibleValuesParser, Styles, TypedValueParser};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use fault::Fault;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use values::Workgroups;
use wgsl_lockstep::Config;
use wgsl_lockstep::audit::{BufferContents, Dispatch, Prepared, override_value, plural, positive};

/// Maximum size of a shader. It rejects a data file given by mistake early.
const LONGEST: u64 = 16 << 20;

/// Finds bank conflicts, races and out-of-bounds accesses in a WGSL compute shader.
///
/// Runs the shader on the CPU, the lanes of each warp in lock-step, and needs no GPU.
#[derive(Parser)]
#[command(
    name = "wgsl-audit",
    version,
    after_help = help::SHORT,
    after_long_help = help::LONG,
    max_term_width = 100
)]
struct Args {
    /// Compute shader in WGSL, - for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Entry point; may be left out where there is only one
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Workgroups in x, y and z, such as 4,4 or 4x4
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "1")]
    workgroups: Workgroups,
    /// Contents of a buffer, such as 0=random:4096 or size=words:64,64; may be given for each
    #[arg(long = "buffer", value_name = "BUFFER=CONTENTS")]
    buffers: Vec<BufferContents>,
    /// Value of an 'override' declaration; may be given for each
    #[arg(long = "override", value_name = "NAME=VALUE", value_parser = override_value)]
    overrides: Vec<(String, f64)>,
    /// Seed of random buffers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Lanes of a warp, and of a subgroup
    #[arg(
        long,
        value_name = "LANES",
        default_value = "32",
        value_parser = warp(),
        help_heading = "Hardware"
    )]
    warp: u32,
    /// Banks of workgroup memory, of 4 bytes each
    #[arg(
        long,
        default_value_t = 32,
        value_parser = clap::value_parser!(u32).range(1..=64),
        help_heading = "Hardware"
    )]
    banks: u32,
    /// Fail on bank conflicts of a greater degree, and if no access to workgroup memory was
    /// executed (default: none fails)
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Limits"
    )]
    max_degree: Option<u32>,
    /// Fail on loops of more iterations
    #[arg(
        long,
        value_name = "COUNT",
        default_value = "2^20",
        value_parser = positive,
        help_heading = "Limits"
    )]
    max_iterations: u64,
    /// Stop the dispatch after so many operations on lanes, and fail (default: no limit)
    #[arg(long, value_name = "COUNT", value_parser = positive, help_heading = "Limits")]
    max_lane_instructions: Option<u64>,
    /// Print failures and warnings only
    #[arg(short, long, conflicts_with = "json", help_heading = "Output")]
    quiet: bool,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Write the notes as SARIF 2.1.0, for code-scanning services
    #[arg(long, value_name = "FILE.sarif", help_heading = "Output")]
    sarif: Option<PathBuf>,
    /// Draw the degree of each access in each bank, as SVG
    #[arg(long, value_name = "FILE.svg", help_heading = "Output")]
    heatmap: Option<PathBuf>,
}

fn warp() -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(["4", "8", "16", "32", "64"]).try_map(|text| text.parse::<u32>())
}

fn run(args: Args) -> Result<(), Fault> {
    let (name, source) = read(&args.file)?;
    let Workgroups(workgroups) = args.workgroups;
    let mut dispatch = Dispatch::new(&name);
    dispatch.entry = args.entry;
    dispatch.overrides = args.overrides;
    dispatch.workgroups = workgroups;
    dispatch.buffers = args.buffers;
    dispatch.seed = args.seed;
    dispatch.config = Config::default()
        .warp(args.warp)
        .banks(args.banks)
        .max_iterations(args.max_iterations)
        .max_lane_instructions(args.max_lane_instructions.unwrap_or(u64::MAX));
    dispatch.max_degree = args.max_degree;
    let mut prepared = dispatch
        .prepare(&source)
        .map_err(|error| Fault::dispatch(&name, error))?;

    let started = Instant::now();
    let report = prepared
        .run()
        .map_err(|error| Fault::shader(&name, error))?;
    let time = started.elapsed();

    let audit = prepared.audit(report).time(time);
    if let Some(path) = &args.sarif {
        write(path, &audit.sarif())?;
    }
    if let Some(path) = &args.heatmap {
        write(path, &audit.heatmap())?;
    }
    let failures = audit.failures();
    let printed = if args.json {
        // Stdout is for another program; failures are shown on stderr.
        for failure in &failures {
            let _ = writeln!(io::stderr(), "{}", escaped(failure));
        }
        let json = prepared.json(&audit, env!("CARGO_PKG_VERSION"));
        print(&json.map_err(|error| Fault::usage(error.to_string()))?)
    } else if args.quiet {
        print(&escaped(&audit.brief()))
    } else {
        let header = header(&name, &prepared, workgroups, args.warp);
        print(&escaped(&audit.text(&header, true)))
    };
    // A closed pipe does not change the result of the audit.
    match printed {
        Ok(()) | Err(Fault::ClosedPipe) if !failures.is_empty() => Err(Fault::Unclean),
        printed => printed,
    }
}

/// Reads a file. Returns its name in messages, and its text.
fn read(file: &Path) -> Result<(String, String), Fault> {
    let is_stdin = file == Path::new("-");
    let name = if is_stdin {
        "stdin".to_owned()
    } else {
        file.display().to_string()
    };
    if file.is_dir() {
        return Err(Fault::usage(format!(
            "{name} is a directory: give a shader"
        )));
    }
    let failed = |error| Fault::io(&name, "cannot read", &error);
    let stream: Box<dyn Read> = if is_stdin {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(file).map_err(failed)?)
    };
    let mut bytes = Vec::new();
    stream
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > LONGEST {
        return Err(Fault::usage(format!(
            "{name} has more than {} MiB: give a shader",
            LONGEST >> 20
        )));
    }
    match String::from_utf8(bytes) {
        Ok(source) => Ok((name, source)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(Fault::usage(format!(
                "{name} is not UTF-8 text (byte {at}): give a shader in WGSL"
            )))
        }
    }
}

/// Describes the dispatch.
fn header(name: &str, prepared: &Prepared, workgroups: [u32; 3], warp: u32) -> String {
    let shader = prepared.shader();
    let lanes: u32 = shader.workgroup_size().iter().product();
    let mut text = format!(
        "{name}: entry point {}: {} of {} ({}), {} bytes of workgroup memory\n",
        shader.entry(),
        extent(workgroups, "workgroup"),
        extent(shader.workgroup_size(), "lane"),
        plural(lanes.div_ceil(warp).into(), "warp"),
        shader.workgroup_bytes(),
    );
    for buffer in prepared.buffers() {
        let _ = writeln!(text, "{buffer}");
    }
    text
}

/// Formats a size without trailing dimensions of 1.
fn extent(size: [u32; 3], what: &str) -> String {
    match size {
        [x, 1, 1] => plural(x.into(), what),
        [x, y, 1] => format!("{x} x {y} {what}s"),
        [x, y, z] => format!("{x} x {y} x {z} {what}s"),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Fault> {
    fs::write(path, text)
        .map_err(|error| Fault::io(&path.display().to_string(), "cannot write", &error))
}

fn print(text: &str) -> Result<(), Fault> {
    let mut stdout = io::stdout();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| Fault::io("stdout", "cannot write", &error))
}

/// Prints help and the version as clap does, and its errors on one line.
fn usage(error: clap::Error) -> ExitCode {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help {
        return match error.print() {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => ExitCode::from(2),
            _ => ExitCode::SUCCESS,
        };
    }
    // With styles, clap would leave out what it takes for a terminal's sequences.
    let plain = Args::command().styles(Styles::plain());
    let error = plain.try_get_matches().err().unwrap_or(error);
    let text = error.render().ansi().to_string();
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty())
        .collect();
    let line = lines.join("; ").replace(":; ", ": ");
    let message = line.strip_prefix("error: ").unwrap_or(&line);
    say(&format!("{message} (wgsl-audit --help lists the options)"));
    ExitCode::from(2)
}

/// Writes a message on one line. A closed stderr is not an error.
fn say(message: &str) {
    let message = message.replace('\n', " ");
    let _ = writeln!(io::stderr(), "wgsl-audit: {}", escaped(&message));
}

/// The text with escapes in place of what a terminal would obey or not show, in the names of files
/// or in shaders: characters that control it, change the direction of text, or take no room. Line
/// feeds and tabs stay.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, ' '..='~' | '\n' | '\t') {
            escaped.push(c);
        } else {
            // Behind another one, a character that combines with it is no escape.
            escaped.extend(format!("x{c}").escape_debug().skip(1));
        }
    }
    escaped
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(error),
    };
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            if let Fault::Usage(message, excerpt) = &fault {
                say(message);
                if !excerpt.is_empty() {
                    let _ = writeln!(io::stderr(), "{}", escaped(excerpt.trim_end()));
                }
            }
            ExitCode::from(fault.exit_code())
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Args::command().debug_assert();
    }
}

//! `audit`: runs the sort's kernels on the CPU, in lock-step, and counts bank conflicts, races and
//! other defects.

mod library;
mod sort;

use bcfsort_data::Pattern;
use bcfsort_term::args::{
    Choice, Direction, Tuning, count, count_in, key_type, pattern, positive, shown,
};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice;
use bcfsort_term::output::{Output, print, print_data};
use clap::ValueHint;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use wgpu_bcfsort::{Engine, KeyType};
use wgsl_lockstep::Config;
use wgsl_lockstep::audit::{Audit, Severity};

/// Heading of the options for printing.
const REPORT: &str = "Report";

const AFTER_HELP: &str = "\
Sorts generated keys in an interpreter of the WGSL that a GPU would get, compares the result with \
the CPU's, and reports:
  race      two lanes access the same bytes, one of them writes, with no barrier between
  bounds    an index past the end of an array, or an address past the end of a buffer
  barrier   a barrier that not all lanes of a workgroup reach
  loop      a loop of more iterations than --max-iterations
  conflict  lanes of a warp access different words of one bank of workgroup memory; their number
            is the degree, and 1 is free of conflicts (fails only above --max-degree)
No GPU is needed. For compute shaders of your own use the command wgsl-audit (in a clone
of the repository: cargo install --locked --path crates/wgsl-lockstep --features cli).

Exit codes: 0 clean, 1 something failed, 2 bad usage, 130 interrupted

Examples:
  wgpu-bcfsort audit -n 2^17 --pattern zero-one --lines | less
  wgpu-bcfsort audit --engine fast --type f64 --heatmap banks.svg
  wgpu-bcfsort audit --all --max-degree 1
  wgpu-bcfsort audit --print merge.page_merge.1w | less";

const DETAILS: &str = "\
The report also counts the 32-byte sectors of storage that each access touches, against the fewest \
that hold as many bytes, and warns of workgroup memory that is read before it is written. --lines \
shows lines of the text that a device gets, which is composed of several files.

--all runs sorts that together use every kernel, and one of each key type and order, on random \
keys and one other kind of ascending, zero-one, constant and adversary keys; the default engines \
on all of them; and prefix sums with colors of five kinds. Baselines have the bank conflicts of \
their originals: odd-even transposition, Warpsort and the naive prefix sums. Kernels of the sample \
sort that search in workgroup memory have conflicts that depend on the data. --max-degree fails \
none of these.

wgsl-audit is a command of the crate wgsl-lockstep. Its --help explains the columns, and the \
fields of --json, which are the same here but for those about one shader's dispatch and buffers. \
Instead of these there are:
  command          'sort' or 'all'
  sort             of 'sort': engine, keys, type, order, pattern, seed, sorted;
                   of 'all': sorts, sorted";

/// Count bank conflicts and find data races in the GPU kernels of a sort
#[derive(clap::Args)]
#[command(
    after_help = AFTER_HELP,
    after_long_help = format!("{DETAILS}\n\n{AFTER_HELP}"),
    mut_args(shown)
)]
#[allow(clippy::struct_excessive_bools)] // Each is a flag of the command line.
pub(crate) struct Args {
    /// No file: for a shader of your own there is the command wgsl-audit
    #[arg(hide = true, value_name = "FILE", value_hint = ValueHint::Other, value_parser = no_file)]
    _file: Option<String>,
    /// Audit every kernel of the library
    #[arg(
        long,
        conflicts_with_all = ["engine", "count", "pattern", "key", "Direction", "Tuning"],
        help_heading = "Sort"
    )]
    all: bool,
    /// Print the WGSL of a kernel as a device gets it; without a name, list all
    #[arg(
        long,
        value_name = "KERNEL",
        num_args = 0..=1,
        default_missing_value = "",
        exclusive = true,
        help_heading = REPORT
    )]
    print: Option<String>,
    /// Engine to audit
    #[arg(
        long,
        default_value = Engine::BcfMergesortPb.name(),
        value_parser = Choice::engines(),
        help_heading = "Sort"
    )]
    engine: Engine,
    /// Number of keys
    #[arg(short = 'n', long, default_value = "2^15", value_parser = count, help_heading = "Sort")]
    count: u64,
    /// Data set: a pattern from 'gen --help'
    #[arg(
        long,
        default_value = "random",
        hide_possible_values = true,
        value_parser = pattern(),
        help_heading = "Sort"
    )]
    pattern: Pattern,
    /// Type of the keys
    #[arg(
        long = "type",
        value_name = "TYPE",
        default_value = "u32",
        value_parser = key_type(),
        help_heading = "Sort"
    )]
    key: KeyType,
    #[command(flatten, next_help_heading = "Sort")]
    direction: Direction,
    #[command(flatten)]
    tuning: Tuning,
    /// Seed of the keys
    #[arg(long, default_value_t = 1, value_parser = count, help_heading = "Sort")]
    seed: u64,
    /// Lanes per warp, and per subgroup
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
        value_parser = count_in(1..=64),
        help_heading = "Hardware"
    )]
    banks: u32,
    /// Most iterations of a loop that do not fail
    #[arg(
        long,
        value_name = "COUNT",
        default_value = "2^20",
        value_parser = positive,
        help_heading = "Limits"
    )]
    max_iterations: u64,
    /// Stop a dispatch after this number of lane operations [default: never]
    #[arg(long, value_name = "COUNT", value_parser = positive, help_heading = "Limits")]
    max_lane_instructions: Option<u64>,
    /// Largest degree of conflict that does not fail [default: any]
    #[arg(
        long,
        value_name = "N",
        value_parser = count_in(1..=u32::MAX),
        help_heading = "Limits"
    )]
    max_degree: Option<u32>,
    /// Show each line that accesses memory, and all notes
    #[arg(long, conflicts_with_all = ["json", "markdown"], help_heading = REPORT)]
    lines: bool,
    /// Print JSON
    #[arg(long, help_heading = REPORT)]
    json: bool,
    /// Print only the table of kernels, as Markdown
    #[arg(long, conflicts_with = "json", help_heading = REPORT)]
    markdown: bool,
    /// Draw the degree of each access in each bank, as SVG
    #[arg(long, value_name = "FILE.svg", help_heading = REPORT)]
    heatmap: Option<PathBuf>,
    #[arg(from_global)]
    quiet: bool,
}

/// Rejects any file name.
fn no_file(_: &str) -> Result<String, &'static str> {
    Err(
        "audit takes no file; to audit a compute shader of your own, use the command wgsl-audit \
         (cargo install --locked --path crates/wgsl-lockstep --features cli)",
    )
}

fn warp() -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(["4", "8", "16", "32", "64"]).try_map(|text| text.parse::<u32>())
}

/// An audited sort or corpus, and its result.
enum Job {
    Sort(sort::Job),
    All(library::Job),
}

impl Job {
    /// Describes a wrong result in one line.
    fn wrong_result(&self) -> Option<String> {
        match self {
            Self::Sort(job) => job.wrong_result(),
            Self::All(job) => job.wrong_result(),
        }
    }

    fn header(&self) -> String {
        match self {
            Self::Sort(job) if job.sorted => {
                format!("{}: sorted, the same bytes as the CPU's sort", job.name())
            }
            Self::Sort(job) => format!("{}: NOT SORTED", job.name()),
            Self::All(job) => format!(
                "{} sorts and prefix sums: {} as the CPU's, byte for byte",
                job.sorts,
                job.sorts - job.unsorted.len()
            ),
        }
    }

    fn document(&self) -> Document {
        match self {
            Self::Sort(job) => Document {
                command: "sort",
                sort: Sorted::One {
                    engine: job.engine.name(),
                    keys: job.spec.count,
                    r#type: job.key.name(),
                    order: job.order.name(),
                    pattern: job.spec.pattern.name(),
                    seed: job.spec.seed,
                    sorted: job.sorted,
                },
            },
            Self::All(job) => Document {
                command: "all",
                sort: Sorted::Many {
                    sorts: job.sorts,
                    sorted: job.sorts - job.unsorted.len(),
                },
            },
        }
    }
}

/// The JSON beside the audit.
#[derive(Serialize)]
struct Document {
    command: &'static str,
    sort: Sorted,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Sorted {
    One {
        engine: &'static str,
        keys: u64,
        r#type: &'static str,
        order: &'static str,
        pattern: &'static str,
        seed: u64,
        sorted: bool,
    },
    Many {
        sorts: usize,
        sorted: usize,
    },
}

impl Args {
    fn config(&self) -> Config {
        Config::default()
            .warp(self.warp)
            .banks(self.banks)
            .max_iterations(self.max_iterations)
            .max_lane_instructions(self.max_lane_instructions.unwrap_or(u64::MAX))
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    if let Some(name) = &args.print {
        return print_data(&library::text(name)?);
    }
    let (job, audit) = if args.all {
        library::run(args)?
    } else {
        sort::run(args)?
    };
    let audit = audit
        .max_degree(args.max_degree)
        .wrong_result(job.wrong_result());
    if let Some(path) = &args.heatmap {
        write(path, &audit.heatmap())?;
    }
    let failures = audit.failures();
    let printed = if args.json || args.markdown {
        // Stdout is for another program; failures are shown on stderr.
        for failure in &failures {
            notice::say_lines(failure);
        }
        if args.json {
            let json = audit.json(env!("CARGO_PKG_VERSION"), &job.document());
            print_data(&json.map_err(|error| Fault::Usage(error.to_string()))?)
        } else {
            print_data(&audit.markdown())
        }
    } else {
        print(&text(&audit, &job, args.lines))
    };
    // A closed pipe does not change the result of the audit.
    match printed {
        Ok(()) | Err(Fault::ClosedPipe) if !failures.is_empty() => Err(Fault::Unclean),
        printed => printed,
    }
}

/// The report for people. If notes are left out, it names the option that shows them.
fn text(audit: &Audit, job: &Job, lines: bool) -> String {
    let mut text = audit.text(&job.header(), lines);
    let mut notes = audit.notes().iter().flatten();
    if !lines && notes.any(|note| note.severity == Severity::Note) {
        text.truncate(text.trim_end().len());
        text += " (--lines shows them)\n";
    }
    text
}

fn write(path: &Path, text: &str) -> Result<(), Fault> {
    let mut output = Output::create(path)?;
    output
        .write_all(text.as_bytes())
        .map_err(|error| Fault::io(&output.name, "cannot write", &error))?;
    output.commit()
}

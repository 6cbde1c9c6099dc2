//! `audit`: runs kernels on the CPU, in lock-step, and counts bank conflicts, races and the like.

mod buffers;
mod figures;
mod heatmap;
mod json;
mod library;
mod notes;
mod shader;
mod sort;
mod table;
mod text;

use bcfsort_term::args::pattern;
use bcfsort_term::args::{Choice, Direction, Tuning, count, key_type, positive};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice;
use bcfsort_term::output::print;
use bcfsort_testkit::data::Pattern;
use buffers::Contents;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use figures::Figures;
use notes::{Note, Severity};
use shader::Workgroups;
use std::path::PathBuf;
use std::time::Duration;
use wgpu_bcfsort::internals::recording::Phase;
use wgpu_bcfsort::{Engine, KeyType};
use wgsl_lockstep::{Config, Report};

const AFTER_HELP: &str = "\
The executor interprets the WGSL that a GPU would get. It needs no GPU and finds, for the input it \
is given:
  race      two lanes touch the same bytes, one of them writes, and no barrier stands between
  bounds    an index past the end of an array, or an address past the end of a buffer
  barrier   a barrier that not all lanes of a workgroup reach
  loop      a loop that goes round more often than --max-iterations
  conflict  lanes of a warp that touch different words of one bank of workgroup memory: so many
            words, so many cycles; their number is the degree, and 1 is free of conflict
            (fails only above --max-degree)
It also counts the 32-byte sectors of storage that each access touches, against the fewest that \
hold as many bytes, and warns of workgroup memory that is read before it is written.

With FILE it audits anyone's compute shader. Buffers are named by their binding (0), or group and \
binding (1.2), and filled by --buffer:
  0=random:4096    as many words of random bits (--seed)
  0=zero:4096      zeros
  0=iota:2^12      0, 1, 2 and so on
  0=words:1,-2,0x10,1.5
                   these words: u32, i32 if negative, f32 if there is a point in it
  0=file:PATH      a file's bytes, a multiple of 4
Without it, uniforms are zero; storage buffers are random: as large as their type, and 4096 words \
where it ends in an array without a length. Buffers that hold indices or sizes need contents that \
make sense, or all that follows is out of bounds. Textures and samplers cannot be run.

Without FILE it audits this program's own kernels, in a sort of generated keys, and compares the \
result with the CPU's. --all runs sorts that together use every kernel, with each key type and \
order, on random, ascending, zero-one, constant and adversary keys, and prefix sums with colors of five \
kinds. Some kernels are there to be compared with, and have the bank conflicts of their originals: odd-even \
transposition, warpsort's, and the naive prefix sums. Those of the sample sort that search in workgroup \
memory go where the data leads them. --max-degree fails none of these. \
Lines are those of the text that a device gets, put together from several files; --lines shows them.

'oblivious' says whether no value of the data (of keys or of a storage buffer) decides where \
workgroup memory is accessed: then its counts hold for all data, and otherwise for this input \
alone. Of an access of 8 bytes a lane each half of the warp counts for itself, and of 16 bytes each \
quarter, as hardware does it. 'by word' is the degree if each word were fetched for the whole \
warp; it is shown where it differs.

--json prints one object:
  version, command ('shader', 'sort' or 'all'), clean (no failure), failures (lines of text)
  config           warp, banks, max_iterations, max_lane_instructions (null: no limit)
  seconds, lane_instructions, lane_instructions_per_second
  sort             of 'sort': engine, keys, type, order, pattern, seed, sorted; of 'all': sorts,
                   sorted; null of 'shader'
  buffers          of 'shader': group, binding, name, space, words, contents
  kernels          an array of objects:
    file, kernel, phase (or null)
    dispatches, workgroups, lane_instructions
    workgroup      accesses, conflict_free, max_degree, max_degree_by_word, oblivious, cycles,
                   min_cycles
    storage        accesses, sectors, min_sectors
    faults         race, bounds, barrier, loop, uninitialised: how often, lane by lane
    sites          places that access workgroup memory or storage: line, column, length, space,
                   variable, kind, bytes (a lane), oblivious, accesses, lanes (of all together);
                   of workgroup memory: banks and banks_by_word (conflict_free, max_degree,
                   cycles, min_cycles), bank_degrees (for each bank the most words at once);
                   of storage: sectors, min_sectors; worst (lane and byte address of the worst
                   access)
    findings       fault, line, column, length, space, variable, other (line, column, length of
                   the other access of a race), count, example

Exit codes: 0 clean, 1 something failed, 2 bad usage or a shader that cannot be run, \
130 interrupted

Examples:
  wgpu-bcfsort audit shader.wgsl
  wgpu-bcfsort audit reduce.wgsl --entry main --workgroups 4 --buffer 0=random:2^16 --max-degree 1
  wgpu-bcfsort audit scan.wgsl --buffer 0=iota:1000 --buffer 1=words:1000 --override BLOCK=256
  wgpu-bcfsort audit transpose.wgsl --heatmap banks.svg
  wgpu-bcfsort audit -n 2^17 --pattern zero-one --lines | less
  wgpu-bcfsort audit --all --max-degree 1
  wgpu-bcfsort audit --all --markdown";

/// Count bank conflicts and find races, in a compute shader or in the sort's own kernels
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
#[allow(clippy::struct_excessive_bools)] // Each is a flag of the command line.
pub(crate) struct Args {
    /// Compute shader in WGSL, - for stdin (default: the kernels of a sort)
    #[arg(value_name = "FILE", conflicts_with_all = ["all", "engine", "count", "pattern", "key", "Direction", "Tuning"])]
    file: Option<PathBuf>,
    /// Entry point; may be left out where there is only one
    #[arg(long, value_name = "NAME", requires = "file", help_heading = "Shader")]
    entry: Option<String>,
    /// Workgroups in x, y and z
    #[arg(
        long,
        value_name = "X[,Y[,Z]]",
        default_value = "1",
        requires = "file",
        help_heading = "Shader"
    )]
    workgroups: Workgroups,
    /// Contents of a buffer (see below); may be given for each binding
    #[arg(
        long = "buffer",
        value_name = "BINDING=CONTENTS",
        requires = "file",
        help_heading = "Shader"
    )]
    buffers: Vec<Contents>,
    /// Value of an 'override' declaration; may be given for each
    #[arg(long = "override", value_name = "NAME=VALUE", requires = "file", value_parser = override_value, help_heading = "Shader")]
    overrides: Vec<(String, f64)>,
    /// Audit every kernel there is
    #[arg(long, conflicts_with_all = ["engine", "count", "pattern", "key", "Direction", "Tuning"], help_heading = "Sort")]
    all: bool,
    /// Algorithm of the sort
    #[arg(long, default_value = Engine::BcfMergesortPb.name(), value_parser = Choice::engines(), help_heading = "Sort")]
    engine: Engine,
    /// How many keys
    #[arg(short = 'n', long, default_value = "2^15", value_parser = count, help_heading = "Sort")]
    count: u64,
    /// Data set, as 'gen --help' lists them
    #[arg(long, default_value = "random", hide_possible_values = true, value_parser = pattern(), help_heading = "Sort")]
    pattern: Pattern,
    /// Type of the keys
    #[arg(short = 't', long = "type", value_name = "TYPE", default_value = "u32", value_parser = key_type(), help_heading = "Sort")]
    key: KeyType,
    #[command(flatten)]
    direction: Direction,
    #[command(flatten)]
    tuning: Tuning,
    /// Seed of the keys and of random buffers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Lanes of a warp, and of a subgroup
    #[arg(long, value_name = "LANES", default_value = "32", value_parser = warp(), help_heading = "Hardware")]
    warp: u32,
    /// Banks of workgroup memory, of 4 bytes each
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "Hardware")]
    banks: u32,
    /// Rounds after which a loop counts as running away
    #[arg(long, value_name = "COUNT", default_value = "2^20", value_parser = positive, help_heading = "Limits")]
    max_iterations: u64,
    /// Stop a dispatch after so many operations on lanes (default: never)
    #[arg(long, value_name = "COUNT", value_parser = positive, help_heading = "Limits")]
    max_lane_instructions: Option<u64>,
    /// Greatest degree of conflict that does not fail (default: any)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")]
    max_degree: Option<u32>,
    /// Show each line that accesses memory, for each kernel of a sort (of FILE it is always shown)
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    lines: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the table of kernels alone, as Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Draw the degree of each access in each bank, as SVG
    #[arg(long, value_name = "FILE.svg")]
    heatmap: Option<PathBuf>,
    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
}

fn warp() -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(["4", "8", "16", "32", "64"]).try_map(|text| text.parse::<u32>())
}

fn override_value(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or("write it as NAME=VALUE")?;
    let value = match value {
        "true" => 1.0,
        "false" => 0.0,
        value => match count(value) {
            Ok(count) => count as f64,
            Err(_) => value
                .parse()
                .map_err(|_| format!("'{value}' is no number, true or false"))?,
        },
    };
    Ok((name.to_owned(), value))
}

/// A kernel, or a shader, and what it did.
pub(crate) struct Subject {
    pub(crate) phase: Option<Phase>,
    pub(crate) kernel: String,
    /// The name of its source in messages.
    pub(crate) file: String,
    pub(crate) source: String,
    /// Whether conflicts are what it is there for, or of searches.
    pub(crate) has_conflicts: bool,
    pub(crate) report: Report,
}

/// What was run.
pub(crate) enum Job {
    Shader(shader::Job),
    Sort(sort::Job),
    All(library::Job),
}

/// A finished run.
pub(crate) struct Audit {
    pub(crate) job: Job,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) time: Duration,
}

impl Audit {
    pub(crate) fn lane_instructions(&self) -> u64 {
        let of = self.subjects.iter().map(|s| s.report.lane_instructions);
        of.sum()
    }

    /// What went wrong with the result, in one line.
    fn wrong_result(&self) -> Option<String> {
        match &self.job {
            Job::Shader(_) => None,
            Job::Sort(job) => job.wrong_result(),
            Job::All(job) => job.wrong_result(),
        }
    }
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
    let audit = if let Some(file) = &args.file {
        shader::run(args, file)?
    } else if args.all {
        library::run(args)?
    } else {
        sort::run(args)?
    };
    let notes: Vec<Vec<Note>> = audit
        .subjects
        .iter()
        .map(|subject| {
            let most = args.max_degree.filter(|_| !subject.has_conflicts);
            notes::of(subject, most)
        })
        .collect();
    let mut failures: Vec<String> = audit.wrong_result().into_iter().collect();
    let failed = notes.iter().flatten();
    failures.extend(
        failed
            .filter(|note| note.severity == Severity::Failure)
            .map(|note| note.headline.clone()),
    );

    if let Some(path) = &args.heatmap {
        heatmap::write(path, &audit, args)?;
    }
    let printed = if args.json || args.markdown {
        // Stdout is for another program; people see on stderr what failed.
        for failure in &failures {
            notice::say_lines(failure);
        }
        if args.json {
            print(&json::document(&audit, args, &failures)?)
        } else {
            print(&figures::markdown(&audit))
        }
    } else {
        print(&text::report(&audit, args, &notes))
    };
    // Whether anyone reads it makes no difference to what was found.
    match printed {
        Ok(()) | Err(Fault::ClosedPipe) if !failures.is_empty() => Err(Fault::Unclean),
        printed => printed,
    }
}

/// The figures of a row: of one kernel, or of all that have its name.
pub(crate) fn rows(audit: &Audit) -> Vec<(Option<Phase>, String, Figures)> {
    let mut rows: Vec<(Option<Phase>, String, Figures)> = Vec::new();
    for subject in &audit.subjects {
        let figures = Figures::of(&subject.report);
        let same = |row: &&mut (Option<Phase>, String, Figures)| {
            row.0 == subject.phase && row.1 == subject.kernel
        };
        match rows.iter_mut().find(same) {
            Some(row) => row.2.add(&figures),
            None => rows.push((subject.phase, subject.kernel.clone(), figures)),
        }
    }
    rows
}

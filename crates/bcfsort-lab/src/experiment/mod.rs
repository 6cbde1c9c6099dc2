//! `experiment`: measures and draws the paper's figures on this machine.

#![allow(
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "pixel coordinates and formatted counts are small, and not negative where the sign \
              is cast away"
)]

mod csv;
mod figures;
mod peers;
mod pictures;
mod plot;
mod report;
mod series;
mod state;
mod stats;

use crate::measure::Pace;
use bcfsort_auto::device::is_software;
use bcfsort_term::args::{DeviceArg, count, count_in, listed, positive};
use bcfsort_term::engine::{adapter_named, describe};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::{self, Progress};
use bcfsort_term::output::{Output, print};
use clap::builder::{PossibleValue, PossibleValuesParser};
use csv::Table;
use figures::FIGURES;
use peers::Peers;
use pictures::tables;
use plot::Chart;
use report::Report;
use state::{Results, Settings, State};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wgpu_bcfsort::internals::mergesort::{MOST_BUCKETS_ON_CPU, default_buckets};
use wgpu_bcfsort::{Options, Sorter};

const EXAMPLES: &str = "\
Results go to --out: charts (.svg), data (.csv), report.html, and every measurement in \
results.jsonl. A run that was interrupted goes on where it stopped when it is started again with \
the same --out.

Examples:
  wgpu-bcfsort experiment all --quick --out figures      every figure, small, anywhere
  wgpu-bcfsort experiment all --out figures              on a GPU, up to 2^28 keys
  wgpu-bcfsort experiment random duplicates --out figures --max-n 2^24";

const DETAILS: &str = "\
On each data set every result is first compared with the CPU's. Then the GPU is warmed up, and the \
sorters run interleaved on keys that stay on the GPU, with work before each timed sort that keeps \
its clock up; the CPU's sorts and the peers follow. Times are of the sort alone, by GPU timestamps \
where there are any. Keys are u32.

Files in --out:
  report.html      all figures, with the paper's results and this machine's
  FIGURE*.svg      the charts; error bars are the minimum and maximum of the repeats
  FIGURE.csv       their data, one row per data set and sorter; columns of times:
                     figure, keys, type, pattern, parameter, contender, device, clock,
                     min_s, q1_s, median_s, q3_s, max_s (quartiles), runs, ns_per_key, verified
                   bucket-sizes has keys per bucket, memory bytes, passes the fit of Lemma 2, and
                   prefix-sums colors, the method, the phases and their conflicts
  results.jsonl    every measurement, from which a later run continues

A larger --max-n or another FIGURE adds to what was measured. Another adapter, version, seed or \
number of repeats is refused, unless --restart deletes the measurements.

Peers are other sorters, measured on the same keys: the executable files in the --peers directory. \
Each is run as
  PEER --input KEYS --expected SORTED --type u32 --repeats N
(files of little-endian words), and prints one line of JSON:
  {\"peer\":\"cub\",\"version\":\"3.0\",\"device\":\"..\",\"clock\":\"GPU timestamps\",\"results\":[
   {\"engine\":\"cub-merge\",\"type\":\"u32\",\"keys\":65536,\"times_s\":[1e-4,..],\"verified\":true,
    \"scratch_bytes\":270336,\"moves\":\"keys\"}, {\"engine\":\"..\",\"error\":\"why it cannot\"}]}
'verified' says that it compared its result with SORTED. Exit codes: 0, 2 for wrong usage, 3 \
without a device. A peer that crashes, hangs or is wrong is named in the report and left out of \
the charts.";

fn after_help() -> String {
    let figures = FIGURES.iter();
    let figures = listed(figures.map(|figure| (figure.name(), figure.about())));
    format!("Figures (or 'all'):{figures}\n\n{EXAMPLES}")
}

/// Reproduce the paper's figures on this machine
#[derive(clap::Args)]
#[command(
    after_help = after_help(),
    after_long_help = format!("{DETAILS}\n\n{}", after_help())
)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "flags of a command line are independent"
)]
pub struct Args {
    /// Figures to measure and draw, from the list below
    #[arg(
        value_name = "FIGURE",
        required = true,
        hide_possible_values = true,
        value_parser = figure_names()
    )]
    figures: Vec<String>,
    /// Directory of the results that 'pictures' and 'tables' are made from
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Directory for the results; created if missing
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Small data sets and few repeats: a test of the figures, not of the speed
    #[arg(long)]
    quick: bool,
    /// Most keys in a data set [default: 2^28; 2^20 on a CPU; 2^16 with --quick]
    #[arg(long, value_name = "COUNT", value_parser = positive)]
    max_n: Option<u64>,
    /// Factor from one number of keys to the next, 2 to 4
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = 4,
        value_parser = count_in(2..=4)
    )]
    step: u32,
    /// Most keys that the CPU sorts; 0: no CPU baseline
    #[arg(long, value_name = "COUNT", default_value = "2^24", value_parser = count)]
    cpu_max_n: u64,
    /// Timed runs per sorter and data set [default: 7; 3 with --quick]
    #[arg(long, value_name = "N", value_parser = count_in(1..=10_000))]
    repeats: Option<u32>,
    /// Seed of the data sets
    #[arg(long, default_value_t = 1, value_parser = count)]
    seed: u64,
    #[command(flatten)]
    device: DeviceArg,
    /// Directory of other sorters to compare with [default: target/peers, if present]
    #[arg(long, value_name = "DIR", conflicts_with = "no_peers")]
    peers: Option<PathBuf>,
    /// Compare with no other sorters
    #[arg(long)]
    no_peers: bool,
    /// Most seconds that a peer may take for one data set
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 300,
        value_parser = positive
    )]
    peer_timeout: u64,
    /// Start no new data set after this time; the next run continues
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<u64>,
    /// Delete the measurements in --out first
    #[arg(long)]
    restart: bool,
    #[arg(from_global)]
    quiet: bool,
}

fn figure_names() -> PossibleValuesParser {
    let figures = FIGURES
        .iter()
        .map(|figure| PossibleValue::new(figure.name()).help(figure.about()));
    let all = PossibleValue::new("all").help("all of these");
    let pictures = PossibleValue::new(pictures::NAME)
        .help("those of the documentation, from the results in --from: measures nothing");
    let tables = PossibleValue::new(tables::NAME)
        .help("those of the documents in --out, from the results in --from: measures nothing");
    PossibleValuesParser::new(figures.chain([all, pictures, tables]))
}

/// The range of data sets to measure.
pub(crate) struct Scope {
    quick: bool,
    max_n: u64,
    step: u32,
    cpu_max_n: u64,
    repeats: u32,
    seed: u64,
    /// True if the adapter is a CPU, where sorters use fewer buckets.
    on_cpu: bool,
}

impl Scope {
    /// The numbers of keys of a curve.
    fn sizes(&self) -> Vec<u64> {
        let first = if self.quick { 1 << 12 } else { 1 << 16 };
        let sizes = std::iter::successors(Some(first), |n| Some(n * u64::from(self.step)));
        let sizes: Vec<u64> = sizes.take_while(|&n| n <= self.max_n).collect();
        if sizes.is_empty() {
            vec![self.max_n]
        } else {
            sizes
        }
    }

    /// The number of keys of a figure with only one: `n`, unless the limits are lower.
    fn size(&self, n: u64) -> u64 {
        let most = if self.quick { 1 << 14 } else { n };
        most.min(self.max_n)
    }

    /// The default of the paper's P on this adapter.
    fn buckets(&self, n: u64) -> u32 {
        let most = if self.on_cpu {
            MOST_BUCKETS_ON_CPU
        } else {
            u32::MAX
        };
        default_buckets(n as u32).min(most)
    }
}

/// The state of a run: the device, the contenders, and the results.
pub(crate) struct Lab<'a> {
    scope: &'a Scope,
    sorter: Sorter,
    adapter: String,
    pace: Pace,
    peers: Peers,
    state: State,
    progress: Progress,
}

impl Lab<'_> {
    fn tell(&mut self, what: impl FnOnce() -> String) {
        self.progress.show(what);
    }
}

/// A unit of measurement.
pub(crate) trait Task {
    /// A short description.
    fn what(&self) -> String;

    /// The ids of the parts that it stores. An id names everything that affects a result.
    fn parts(&self, peers: &[&str]) -> Vec<String>;

    /// Estimated duration, relative to other tasks.
    fn weight(&self) -> f64;

    /// Measures and stores the missing parts.
    fn run(&self, lab: &mut Lab<'_>) -> Result<(), Fault>;
}

/// The tasks of a figure.
type Tasks = Vec<Box<dyn Task>>;

/// A figure: its measurements, and how they are drawn. `figures::FIGURES` lists all figures.
pub(crate) trait Figure: Sync {
    /// Its name on the command line and in file names.
    fn name(&self) -> &'static str;

    /// A one-line description.
    fn about(&self) -> &'static str;

    /// The measurements that it needs.
    fn tasks(&self, scope: &Scope) -> Vec<Box<dyn Task>>;

    /// Draws the results so far. Returns `None` if there are none.
    fn draw(&self, scope: &Scope, results: &Results) -> Option<Drawing>;
}

/// A figure, drawn.
pub(crate) struct Drawing {
    title: String,
    /// A caption for the charts.
    shows: String,
    /// The paper's finding.
    paper: String,
    /// The findings on this machine, one per paragraph.
    found: Vec<String>,
    /// The charts, each with the suffix of its file name.
    charts: Vec<(String, Chart)>,
    /// The data, each table with the suffix of its file name.
    tables: Vec<(String, Table)>,
    /// The contenders left out, with reasons.
    notes: Vec<String>,
}

/// The missing tasks of the chosen figures. A task that two figures share is listed for the first.
fn lacking(
    chosen: &[&'static dyn Figure],
    scope: &Scope,
    state: &State,
    peers: &[&str],
) -> Vec<(&'static dyn Figure, Tasks)> {
    let mut planned = BTreeSet::new();
    chosen
        .iter()
        .map(|&figure| {
            let mut tasks = figure.tasks(scope);
            tasks.retain(|task| {
                let parts = task.parts(peers);
                let lacks = parts.iter().any(|part| state.lacks(part));
                lacks && planned.insert(parts)
            });
            (figure, tasks)
        })
        .collect()
}

/// What is made of stored tables, and not measured.
const DRAWN: [&str; 2] = [pictures::NAME, tables::NAME];

pub fn run(args: &Args) -> Result<(), Fault> {
    let started = Instant::now();
    match (&args.from, args.figures.as_slice()) {
        (Some(from), [name]) if name == pictures::NAME => {
            return pictures::run(from, &args.out, args.quiet);
        }
        (Some(from), [name]) if name == tables::NAME => {
            return tables::run(from, &args.out, args.quiet);
        }
        (None, names) if !names.iter().any(|name| DRAWN.contains(&name.as_str())) => {}
        _ => {
            return Err(Fault::Usage(
                "'pictures' and 'tables' are made alone, and --from is for them only".to_owned(),
            ));
        }
    }
    let adapter = adapter_named(&args.device.wanted())?;
    let info = adapter.get_info();
    let on_cpu = is_software(&info);
    let scope = Scope {
        quick: args.quick,
        max_n: args.max_n.unwrap_or(match (args.quick, on_cpu) {
            (true, _) => 1 << 16,
            (false, true) => 1 << 20,
            (false, false) => 1 << 28,
        }),
        step: args.step,
        cpu_max_n: args.cpu_max_n,
        repeats: args.repeats.unwrap_or(if args.quick { 3 } else { 7 }),
        seed: args.seed,
        on_cpu,
    };
    let all = args.figures.iter().any(|name| name == "all");
    let chosen: Vec<&'static dyn Figure> = FIGURES
        .into_iter()
        .filter(|figure| all || args.figures.iter().any(|name| name == figure.name()))
        .collect();
    let out = &args.out;
    fs::create_dir_all(out)
        .map_err(|error| Fault::io(&out.display().to_string(), "cannot make it", &error))?;
    let settings = Settings {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        adapter: describe(&info),
        repeats: scope.repeats,
        seed: scope.seed,
        host: report::host(),
    };
    let state = State::open(out, &settings, args.restart)?;
    let timeout = Duration::from_secs(args.peer_timeout);
    let peers = match &args.peers {
        _ if args.no_peers => Peers::none(out),
        Some(directory) => Peers::find(directory, out, timeout)?,
        None if Path::new(peers::DEFAULT).is_dir() => {
            Peers::find(Path::new(peers::DEFAULT), out, timeout)?
        }
        None => Peers::none(out),
    };
    let mut lab = Lab {
        scope: &scope,
        sorter: Sorter::open(Options::default().adapter(&adapter))?,
        adapter: settings.adapter,
        pace: Pace::of(&info),
        peers,
        state,
        progress: Progress::new(args.quiet),
    };
    let limit = args.time_limit.map(Duration::from_secs);
    let measured = measure(&mut lab, &chosen, args.quiet, started, limit)?;
    lab.progress.show(|| "drawing".to_owned());
    let written = draw(out, &lab)?;
    drop(lab);
    if args.quiet {
        return Ok(());
    }
    print(&format!(
        "{}: {} with {} in {} (measured {} now)\n",
        out.join("report.html").display(),
        plural(written.figures, "figure"),
        plural(written.charts, "chart"),
        stats::duration(started.elapsed().as_secs_f64()),
        plural(measured.done, "series")
    ))?;
    if measured.left > 0 {
        print(&format!(
            "stopped after {} s with {} to go: the same command goes on from here\n",
            started.elapsed().as_secs(),
            plural(measured.left, "series")
        ))?;
    }
    Ok(())
}

/// Number of tasks done and left.
struct Measured {
    done: usize,
    left: usize,
}

fn measure(
    lab: &mut Lab<'_>,
    chosen: &[&'static dyn Figure],
    quiet: bool,
    started: Instant,
    limit: Option<Duration>,
) -> Result<Measured, Fault> {
    let peers = lab.peers.names();
    let plan = lacking(chosen, lab.scope, &lab.state, &peers);
    let weight_of = |tasks: &Tasks| tasks.iter().map(|task| task.weight()).sum::<f64>();
    let whole: f64 = plan.iter().map(|(_, tasks)| weight_of(tasks)).sum();
    let begun = Instant::now();
    let mut measured = Measured {
        done: 0,
        left: plan.iter().map(|(_, tasks)| tasks.len()).sum(),
    };
    let mut weight_done = 0.0;
    for figure in chosen {
        lab.state.want(figure.name())?;
    }
    for (figure, tasks) in plan {
        let mut announced = false;
        for task in tasks {
            if limit.is_some_and(|limit| started.elapsed() >= limit) {
                return Ok(measured);
            }
            // Weights are estimates: without measured work there is no rate.
            let left = (weight_done > 0.0)
                .then(|| begun.elapsed().as_secs_f64() * (whole - weight_done) / weight_done);
            if !announced && !quiet && !lab.progress.is_shown() {
                let left = left.map_or(String::new(), |left| {
                    format!(", about {} left", stats::duration(left))
                });
                notice::say(&format!(
                    "{}: {} to go{left}",
                    figure.name(),
                    plural(measured.left, "series")
                ));
            }
            announced = true;
            let [done, all] = [weight_done, whole].map(Duration::from_secs_f64);
            lab.progress
                .share(done, all, left.map(Duration::from_secs_f64));
            lab.tell(|| format!("{}: {}", figure.name(), task.what()));
            task.run(lab)?;
            weight_done += task.weight();
            measured.done += 1;
            measured.left -= 1;
        }
    }
    Ok(measured)
}

/// Number of figures and charts written.
struct Written {
    figures: usize,
    charts: usize,
}

/// Draws all figures ever requested in this directory, and checks the files.
fn draw(out: &Path, lab: &Lab<'_>) -> Result<Written, Fault> {
    let mut report = Report::new(lab);
    let mut written = Written {
        figures: 0,
        charts: 0,
    };
    let results = &lab.state.results;
    for figure in FIGURES
        .into_iter()
        .filter(|figure| results.wants(figure.name()))
    {
        let name = figure.name();
        let Some(drawing) = figure.draw(lab.scope, results) else {
            report.lacks(name);
            continue;
        };
        let mut svgs = Vec::new();
        for (suffix, chart) in &drawing.charts {
            let svg = chart.svg()?;
            report::check_svg(&svg, chart)
                .map_err(|fault| flawed(&format!("{name}{suffix}.svg"), &fault))?;
            write(out, &format!("{name}{suffix}.svg"), &svg)?;
            svgs.push(svg);
        }
        for (suffix, table) in &drawing.tables {
            let text = table.text()?;
            report::check_csv(&text, table)
                .map_err(|fault| flawed(&format!("{name}{suffix}.csv"), &fault))?;
            write(out, &format!("{name}{suffix}.csv"), &text)?;
        }
        written.figures += 1;
        written.charts += svgs.len();
        report.add(name, &drawing, svgs);
    }
    let html = report.html()?;
    report
        .check(&html)
        .map_err(|fault| flawed("report.html", &fault))?;
    write(out, "report.html", &html)?;
    Ok(written)
}

fn flawed(file: &str, why: &str) -> Fault {
    Fault::Device(format!(
        "{file} is not as it should be: {why}: please report this"
    ))
}

fn write(directory: &Path, name: &str, text: &str) -> Result<(), Fault> {
    let mut output = Output::create(&directory.join(name))?;
    output
        .write_all(text.as_bytes())
        .map_err(|error| Fault::io(&output.name, "cannot write", &error))?;
    output.commit()
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 || what.ends_with('s') {
        format!("{count} {what}")
    } else {
        format!("{count} {what}s")
    }
}

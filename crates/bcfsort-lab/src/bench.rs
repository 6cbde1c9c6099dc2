//! `bench`: times sorts, interleaved.

use crate::measure::{Pace, Resident, median, too_large};
use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_term::args::pattern;
use bcfsort_term::args::{Choice, Gpu, count, count_in, key_type, shown};
use bcfsort_term::engine::{Contender, adapter_named, adapter_or_cpu};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use bcfsort_term::output::{print, print_data};
use bcfsort_term::timings::{Timings, keys_per_second, rate, time};
use bcfsort_term::with_key_type;
use serde::Serialize;
use std::time::{Duration, Instant};
use wgpu_bcfsort::{Detail, Engine, KeyType, Options, Order, Profile, SortKey, Sorter};

const AFTER_HELP: &str = "\
Every result is first compared with the CPU's. Times are of interleaved runs on keys that stay on \
the GPU, after 0.4 s of warm-up, by GPU timestamps where there are any; 'wall' is the whole call, \
with transfers. The adversary pattern uses the largest count up to each size that it exists for.

Examples:
  wgpu-bcfsort bench
  wgpu-bcfsort bench --sizes 2^20,2^22 --types u32,u64 --patterns random,zero-one
  wgpu-bcfsort bench --engines bcf,bcf-pb --json > results.json";

const DETAILS: &str = "\
--json prints one object at the end:
  version     of wgpu-bcfsort
  repeats     timed runs per engine and data set
  seed        of the data
  results     an array of objects:
    keys, type, pattern
    engine, adapter        'none' is the adapter of the engine cpu
    clock                  'GPU timestamps' or 'wall clock'
    min_s, median_s, max_s seconds of the sort alone
    keys_per_second        by the median
    wall_median_s          seconds of the whole call, with transfers
    ratio_to_cpu           median of the parallel sort on the CPU, for this data set, / median_s
    wall_ratio_to_cpu      the same / wall_median_s
    verified               true: a wrong result ends the run with exit code 3";

/// Measure the speed of the engines
#[derive(clap::Args)]
#[command(
    after_help = AFTER_HELP,
    after_long_help = format!("{DETAILS}\n\n{AFTER_HELP}"),
    mut_args(shown)
)]
pub struct Args {
    /// Numbers of keys
    #[arg(
        long,
        value_name = "COUNTS",
        value_delimiter = ',',
        default_value = "2^20,2^24",
        default_value_if("auto", "true", "2^10,2^12,2^14,2^16,2^18,2^20,2^22,2^24,2^26,2^28"),
        value_parser = count
    )]
    sizes: Vec<u64>,
    /// Key types
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "u32",
        default_value_if("auto", "true", "u32,f64"),
        value_parser = key_type()
    )]
    types: Vec<KeyType>,
    /// Data sets: patterns from 'gen --help'
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "random",
        hide_possible_values = true,
        value_parser = pattern()
    )]
    patterns: Vec<Pattern>,
    /// Engines to compare [default: all]
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = Choice::parser(Choice::all().filter(|&choice| choice != Choice::Auto))
    )]
    engines: Vec<Choice>,
    #[command(flatten)]
    gpu: Gpu,
    /// Timed runs per engine and data set
    #[arg(
        long,
        value_name = "N",
        default_value_t = 7,
        value_parser = count_in(1..=10_000)
    )]
    repeats: u32,
    /// Seed of the data sets
    #[arg(long, default_value_t = 1, value_parser = count)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Measure what 'auto' chooses between, beside its estimates: whole calls on both devices
    ///
    /// A table of comma-separated values, times in milliseconds, for random keys: without --sizes and
    /// --types 2^10 to 2^28 of u32 and f64. 'cost' is the time of the device that 'auto' takes if the
    /// GPU is open, by the time of the faster one.
    #[arg(
        long,
        hide_short_help = true,
        conflicts_with_all = ["patterns", "engines", "json"]
    )]
    auto: bool,
    #[arg(from_global)]
    quiet: bool,
}

/// The times of one contender in one series. The fields are the keys of the JSON.
#[derive(Serialize)]
struct Row {
    keys: u64,
    r#type: &'static str,
    pattern: &'static str,
    engine: &'static str,
    adapter: String,
    clock: &'static str,
    min_s: f64,
    median_s: f64,
    max_s: f64,
    keys_per_second: f64,
    wall_median_s: f64,
    ratio_to_cpu: f64,
    wall_ratio_to_cpu: f64,
    verified: bool,
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    repeats: u32,
    seed: u64,
    results: Vec<Row>,
}

pub fn run(args: &Args) -> Result<(), Fault> {
    for &pattern in &args.patterns {
        for &size in &args.sizes {
            if size > 0 && Spec::new(pattern, size).fitting_count() == 0 {
                return Err(Fault::Usage(format!(
                    "{pattern} has no data set of {size} keys or less: take a greater size"
                )));
            }
        }
    }
    args.gpu.options(Engine::default()).validate()?;
    if args.auto {
        return estimates(args);
    }
    let contenders = contenders(args)?;
    let mut progress = Progress::new(args.quiet);
    if !args.json {
        for contender in contenders
            .iter()
            .filter(|contender| contender.sorter().is_some())
        {
            print(&format!("{}: {}\n", contender.engine, contender.adapter))?;
        }
        print(&format!(
            "{:>11} {:4} {:15} {:8} {:>10} {:>10} {:>10} {:>15} {:>7} {:>10} {:>7}\n",
            "keys",
            "type",
            "pattern",
            "engine",
            "min",
            "median",
            "max",
            "rate",
            "vs cpu",
            "wall",
            "vs cpu"
        ))?;
    }
    let mut results = Vec::new();
    for &key in &args.types {
        for &pattern in &args.patterns {
            for &size in &args.sizes {
                let mut spec = Spec::new(pattern, size).seed(args.seed);
                spec.count = spec.fitting_count();
                let mut series = Series {
                    contenders: &contenders,
                    repeats: args.repeats,
                    progress: &mut progress,
                };
                let rows = with_key_type!(key, T => series.run::<T>(&spec))?;
                if !args.json {
                    print(&rows.iter().map(line).collect::<String>())?;
                }
                results.extend(rows);
            }
        }
    }
    if args.json {
        let report = Report {
            version: env!("CARGO_PKG_VERSION"),
            repeats: args.repeats,
            seed: args.seed,
            results,
        };
        let json = serde_json::to_string_pretty(&report)
            .map_err(|error| Fault::Usage(error.to_string()))?;
        print_data(&(json + "\n"))?;
    }
    Ok(())
}

/// The estimates of `auto`, and the clock.
fn estimates(args: &Args) -> Result<(), Fault> {
    let adapter = adapter_or_cpu(&args.gpu.device.wanted(), args.quiet, "measuring")?;
    let open = |adapter| Sorter::open(args.gpu.options(Engine::default()).adapter(adapter));
    let sorter = adapter.as_ref().map(open).transpose()?;
    let series = crate::estimates::Series {
        sizes: &args.sizes,
        types: &args.types,
        repeats: args.repeats,
        seed: args.seed,
        quiet: args.quiet,
    };
    crate::estimates::run(&series, sorter)
}

fn contenders(args: &Args) -> Result<Vec<Contender>, Fault> {
    let choices: Vec<Choice> = if args.engines.is_empty() {
        Choice::all()
            .filter(|&choice| choice != Choice::Auto)
            .collect()
    } else {
        args.engines.clone()
    };
    let engines: Vec<Engine> = choices
        .iter()
        .filter_map(|choice| match choice {
            Choice::Gpu(engine) => Some(*engine),
            Choice::Cpu | Choice::Auto => None,
        })
        .collect();
    let mut contenders = Vec::new();
    if engines.is_empty() {
        args.gpu.refuse_for_cpu()?;
    } else {
        args.gpu.refuse_for_others(&engines)?;
        let adapter = if args.engines.is_empty() {
            adapter_or_cpu(&args.gpu.device.wanted(), args.quiet, "sorting")?
        } else {
            Some(adapter_named(&args.gpu.device.wanted())?)
        };
        if let Some(adapter) = adapter {
            args.gpu
                .warn_of_another_adapter(&adapter.get_info(), args.quiet);
            let device = Sorter::open(Options::default().adapter(&adapter))?;
            for engine in engines {
                contenders.push(Contender::beside(&device, engine, &args.gpu)?);
            }
        }
    }
    if choices.contains(&Choice::Cpu) {
        contenders.push(Contender::cpu());
    }
    Ok(contenders)
}

/// The contenders on one data set.
struct Series<'a> {
    contenders: &'a [Contender],
    repeats: u32,
    progress: &'a mut Progress,
}

impl Series<'_> {
    fn run<T: SortKey>(&mut self, spec: &Spec) -> Result<Vec<Row>, Fault> {
        let what = format!("{} {} {}", spec.count, T::KEY_TYPE, spec.pattern);
        self.progress.show(|| format!("{what}: making keys"));
        let input: Vec<T> = generate(spec).map_err(|error| Fault::Usage(error.to_string()))?;
        let cpu = Contender::cpu();
        let mut sorted = input.clone();
        cpu.sort(&mut sorted, Order::Ascending)?;
        let mut keys = input.clone();

        let (gpu, host): (Vec<_>, Vec<_>) = self
            .contenders
            .iter()
            .partition(|contender| contender.sorter().is_some());
        self.progress.show(|| format!("{what}: checking"));
        for contender in &gpu {
            keys.copy_from_slice(&input);
            contender.sort(&mut keys, Order::Ascending)?;
            let bytes = |keys| bytemuck::cast_slice::<T, u8>(keys);
            if bytes(&keys) != bytes(&sorted) {
                return Err(Fault::Device(format!(
                    "{} on {} sorts {what} keys wrong: please report this",
                    contender.engine, contender.adapter
                )));
            }
        }

        let mut timings: Vec<Vec<Timings>> = vec![Vec::new(); gpu.len()];
        if let Some(sorter) = gpu.first().and_then(|contender| contender.sorter()) {
            // If the keys do not fit in one buffer, only whole calls are timed.
            let resident = if spec.count <= sorter.max_len(T::KEY_TYPE) {
                let uploaded = Resident::upload(sorter, &input);
                Some(uploaded.map_err(|error| too_large(error, "--sizes"))?)
            } else {
                None
            };
            let mut profiles: Vec<Vec<Profile>> = vec![Vec::new(); gpu.len()];
            if let Some(resident) = &resident {
                self.progress.show(|| format!("{what}: warming up"));
                let sorters: Vec<&Sorter> = gpu.iter().filter_map(|c| c.sorter()).collect();
                profiles = resident.interleaved(
                    &sorters,
                    Detail::Whole,
                    self.repeats,
                    Pace::GPU,
                    |round| {
                        self.progress
                            .show(|| format!("{what}: run {round} of {}", self.repeats));
                    },
                )?;
            }
            for round in 0..self.repeats {
                for ((contender, profiles), timings) in
                    gpu.iter().zip(&mut profiles).zip(&mut timings)
                {
                    self.progress
                        .show(|| format!("{what}: {} whole call {}", contender.engine, round + 1));
                    keys.copy_from_slice(&input);
                    if resident.is_none() {
                        timings.push(timed(contender, &mut keys)?);
                        continue;
                    }
                    let started = Instant::now();
                    contender.sort(&mut keys, Order::Ascending)?;
                    let wall = started.elapsed();
                    timings.extend(profiles.pop().map(|p| Timings::of_gpu(p, wall)));
                }
            }
        }
        let mut cpu_timings = Vec::new();
        for round in 0..self.repeats {
            self.progress
                .show(|| format!("{what}: cpu run {}", round + 1));
            keys.copy_from_slice(&input);
            cpu_timings.push(timed(&cpu, &mut keys)?);
        }
        let cpu_median = median(cpu_timings.iter().map(|timings| timings.sort));
        timings.extend(host.iter().map(|_| cpu_timings.clone()));
        Ok(gpu
            .into_iter()
            .chain(host)
            .zip(&timings)
            .map(|(contender, timings)| row::<T>(spec, contender, timings, cpu_median))
            .collect())
    }
}

/// The times of a sort and its phases, with one copy of the result as by [`Contender::sort`].
fn timed<T: SortKey>(contender: &Contender, keys: &mut [T]) -> Result<Timings, Fault> {
    let mut sorted = Vec::with_capacity(keys.len());
    contender.sort_to(keys, Order::Ascending, true, &mut |block| {
        sorted.extend_from_slice(block);
        Ok(())
    })
}

fn row<T: SortKey>(
    spec: &Spec,
    contender: &Contender,
    timings: &[Timings],
    cpu_median: Duration,
) -> Row {
    let times = || timings.iter().map(|timings| timings.sort);
    let sort = median(times());
    let wall = median(timings.iter().map(|timings| timings.wall));
    let ratio = |time: Duration| match time.as_secs_f64() {
        0.0 => 0.0,
        seconds => cpu_median.as_secs_f64() / seconds,
    };
    Row {
        keys: spec.count,
        r#type: T::KEY_TYPE.name(),
        pattern: spec.pattern.name(),
        engine: contender.engine,
        adapter: contender.adapter.clone(),
        clock: timings.first().map_or("wall clock", Timings::clock),
        min_s: times().min().unwrap_or_default().as_secs_f64(),
        median_s: sort.as_secs_f64(),
        max_s: times().max().unwrap_or_default().as_secs_f64(),
        keys_per_second: keys_per_second(spec.count, sort),
        wall_median_s: wall.as_secs_f64(),
        ratio_to_cpu: ratio(sort),
        wall_ratio_to_cpu: ratio(wall),
        verified: true,
    }
}

fn line(row: &Row) -> String {
    let seconds = |seconds: f64| time(Duration::from_secs_f64(seconds));
    format!(
        "{:>11} {:4} {:15} {:8} {:>10} {:>10} {:>10} {:>15} {:>6.3}x {:>10} {:>6.3}x\n",
        row.keys,
        row.r#type,
        row.pattern,
        row.engine,
        seconds(row.min_s),
        seconds(row.median_s),
        seconds(row.max_s),
        rate(row.keys, Duration::from_secs_f64(row.median_s)),
        row.ratio_to_cpu,
        seconds(row.wall_median_s),
        row.wall_ratio_to_cpu,
    )
}

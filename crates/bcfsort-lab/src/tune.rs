//! `tune`: finds the fastest sample-sort parameters for an adapter.

use crate::measure::{Pace, Resident, Timed, interleave, median, too_large};
use bcfsort_auto::device::is_software;
use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_term::args::{DeviceArg, positive};
use bcfsort_term::engine::{adapter_named, describe};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::{Progress, say_lines};
use bcfsort_term::output::Output;
use bcfsort_term::timings::time;
use bcfsort_term::tuning_file::{Measured, TuningFile};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use wgpu_bcfsort::internals::Recorded as _;
use wgpu_bcfsort::internals::host::sort_on_cpu;
use wgpu_bcfsort::internals::mergesort::scratch_promise;
use wgpu_bcfsort::internals::recording::PayloadKind;
use wgpu_bcfsort::internals::samplesort::Tuning;
use wgpu_bcfsort::{
    Detail, Engine, Error, KeyType, Options, Order, PreparedSort, Profile, SortKey, Sorter,
};

const AFTER_HELP: &str = "\
Measures parameters of the engine sample-sort on this GPU, and writes the fastest to a file for \
--tuning of 'sort' and 'bench'. They change the time, not the result. Nothing else should use the \
GPU meanwhile.

Examples:
  wgpu-bcfsort tune -o tuning.json
  wgpu-bcfsort sort keys.bin -o sorted.bin --engine fast --tuning tuning.json
  wgpu-bcfsort bench --engines fast --tuning tuning.json
  wgpu-bcfsort tune --count 2^26 -o large.json     for large inputs only";

const DETAILS: &str = "\
The parameters are tile (32-bit words of a tile that is sorted in workgroup memory), samples (at \
most, per segment that is split), merged (largest number of records for which sorted tiles are \
merged, not partitioned) and gpu (kernels for GPUs, or smaller ones for CPUs). The defaults were \
measured on one GPU.

One parameter is varied after the other. Each value is timed against the current one, in \
interleaved runs on u32 keys, u64 keys, and u32 keys with values, all of which stay on the GPU; by \
GPU timestamps where there are any. A value is kept if it is faster by more than 2 % over all of \
these (geometric mean of the ratios of medians), in two measurements. Every result is compared \
with the CPU's: a wrong one ends the run with exit code 3. Two kinds of values are skipped: those \
that exceed the library's bound on scratch memory, and those that do not change these sorts.

The file holds one JSON object: adapter, backend, driver, version (of wgpu-bcfsort), tuning (the \
parameters), and measured, an array of objects with the fields keys, type, payload ('keys' or \
'values'), default_ms and tuned_ms. Only 'tuning' is required, and in it only parameters that \
differ from a GPU's defaults, so a file may be written by hand. The library reads the file, too: \
see wgpu_bcfsort::Tuning.

On a software adapter most of the time goes into compiling kernels, and --quick measures u32 keys \
only.";

/// Autotune sample-sort parameters on this GPU
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, after_long_help = format!("{DETAILS}\n\n{AFTER_HELP}"))]
pub struct Args {
    /// File to write; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    device: DeviceArg,
    /// Numbers of keys to sort [default: 2^19,2^20,2^21,2^24; 2^20 with --quick or on a CPU]
    #[arg(short = 'n', long, value_name = "COUNTS", value_delimiter = ',', value_parser = positive)]
    count: Vec<u64>,
    /// Try fewer values and time each less often
    #[arg(long)]
    quick: bool,
    #[arg(from_global)]
    quiet: bool,
}

/// Minimum gain of a change. A smaller gain may be noise.
const MIN_GAIN: f64 = 1.02;

/// A tuning parameter.
struct Parameter {
    name: &'static str,
    get: fn(&Tuning) -> u32,
    set: fn(&mut Tuning, u32),
    values: &'static [u32],
    /// The values tried with `--quick`.
    few: &'static [u32],
}

macro_rules! parameter {
    ($field:ident, $values:expr, $few:expr) => {
        Parameter {
            name: stringify!($field),
            get: |tuning| tuning.$field,
            set: |tuning, value| tuning.$field = value,
            values: &$values,
            few: &$few,
        }
    };
}

/// The tuning parameters, the most important first.
const PARAMETERS: [Parameter; 4] = [
    parameter!(tile, [1024, 2048, 4096, 8192], [2048, 8192]),
    Parameter {
        name: "gpu",
        get: |tuning| tuning.gpu.into(),
        set: |tuning, value| tuning.gpu = value != 0,
        values: &[0, 1],
        few: &[],
    },
    parameter!(samples, [1024, 2048, 4096], [2048]),
    parameter!(merged, [0, 1 << 13, 1 << 15, 1 << 16, 1 << 17, 1 << 18], []),
];

impl Parameter {
    fn text(&self, tuning: &Tuning) -> String {
        let value = (self.get)(tuning);
        match (self.name, value) {
            ("gpu", 0) => "no".to_owned(),
            ("gpu", _) => "yes".to_owned(),
            _ => value.to_string(),
        }
    }

    fn with(&self, tuning: &Tuning, value: u32) -> Tuning {
        let mut changed = *tuning;
        (self.set)(&mut changed, value);
        changed
    }
}

pub fn run(args: &Args) -> Result<(), Fault> {
    let mut output = Output::create(&args.output)?;
    let adapter = adapter_named(&args.device.wanted())?;
    let info = adapter.get_info();
    let is_cpu = is_software(&info);
    let options = Options::default().engine(Engine::SampleSort);
    let sorter = Sorter::open(options.adapter(&adapter))?;
    let counts = match (&args.count[..], args.quick || is_cpu) {
        ([], true) => vec![1 << 20],
        ([], false) => vec![1 << 19, 1 << 20, 1 << 21, 1 << 24],
        (counts, _) => counts.to_vec(),
    };
    let mut progress = Progress::new(args.quiet);
    let mut jobs = Vec::new();
    for count in counts {
        progress.show(|| format!("making {count} keys"));
        jobs.push(Job::new::<u32>(&sorter, count, false)?);
        // A CPU compiles kernels slowly, most of all those for larger elements.
        if is_cpu && args.quick {
            continue;
        }
        jobs.push(Job::new::<u64>(&sorter, count, false)?);
        jobs.push(Job::new::<u32>(&sorter, count, true)?);
    }
    let passes = if args.quick { 1 } else { 2 };
    let default = sorter.tuning();
    let mut search = Search {
        sorter: &sorter,
        jobs: &jobs,
        quick: args.quick,
        repeats: if args.quick { 5 } else { 11 },
        pace: Pace::of(&info),
        progress,
        done: 0,
    };
    search.say("the default");
    if !search.is_fit(&default)? {
        return Err(Fault::Device(
            "the device has too little memory to time these sorts: take a smaller --count"
                .to_owned(),
        ));
    }
    let (mut tuned, gains) = search.descend(default, passes)?;
    search.say("what was found against the default");
    let mut duels = search.duel(&default, &tuned, true)?;
    // Each gain was measured for one parameter alone: combined, they may yield nothing.
    if tuned == default || score(&duels) < 1.0 {
        tuned = default;
        for duel in duels.iter_mut().flatten() {
            duel[1] = duel[0];
        }
    }
    drop(search);
    let measured: Vec<Measured> = jobs
        .iter()
        .zip(&duels)
        .filter_map(|(job, duel)| Some(job.measured((*duel)?)))
        .collect();
    if !args.quiet {
        let table = table(&describe(&info), [&default, &tuned], &gains, &measured);
        say_lines(&table);
    }
    let file = TuningFile::new(&info, tuned, measured);
    let json =
        serde_json::to_string_pretty(&file).map_err(|error| Fault::Usage(error.to_string()))?;
    writeln!(output, "{json}").map_err(|error| Fault::io(&output.name, "cannot write", &error))?;
    output.commit()
}

/// The results as a table for people.
fn table(
    adapter: &str,
    [default, tuned]: [&Tuning; 2],
    gains: &[f64; PARAMETERS.len()],
    measured: &[Measured],
) -> String {
    let percent = |gain: f64| 100.0 * (gain - 1.0);
    let mut table = format!(
        "adapter  {adapter}\n\n{:<12} {:>10} {:>10} {:>9}\n",
        "parameter", "default", "chosen", "gain"
    );
    for (parameter, &gain) in PARAMETERS.iter().zip(gains) {
        let (was, is) = (parameter.text(default), parameter.text(tuned));
        let gain = if was == is {
            "-".to_owned()
        } else {
            format!("{:.1} %", percent(gain))
        };
        let _ = writeln!(table, "{:<12} {was:>10} {is:>10} {gain:>9}", parameter.name);
    }
    let _ = writeln!(
        table,
        "\n{:>12} {:<5} {:<7} {:>11} {:>11} {:>9}",
        "keys", "type", "payload", "default", "tuned", "gain"
    );
    let ms = |ms: f64| time(Duration::from_secs_f64(ms / 1e3));
    for row in measured {
        let _ = writeln!(
            table,
            "{:>12} {:<5} {:<7} {:>11} {:>11} {:>7.1} %",
            row.keys,
            row.r#type,
            row.payload,
            ms(row.default_ms),
            ms(row.tuned_ms),
            percent(row.default_ms / row.tuned_ms.max(1e-9))
        );
    }
    if default == tuned {
        table.push_str(
            "\nNo value was faster beyond measurement noise: the file holds the defaults.\n",
        );
    }
    table
}

/// Keys on the device, for repeated sorts.
struct Job<'a> {
    resident: Resident<'a>,
    key: KeyType,
    count: u64,
    /// Bytes of the input and of the sorted keys, as in memory.
    expected: [Vec<u8>; 2],
}

impl<'a> Job<'a> {
    fn new<T: SortKey>(sorter: &'a Sorter, count: u64, pairs: bool) -> Result<Self, Fault> {
        let most = sorter.max_len(T::KEY_TYPE);
        if count > most {
            return Err(Fault::Usage(format!(
                "--count {count}: this device sorts at most {most} {} keys at once",
                T::KEY_TYPE
            )));
        }
        let keys: Vec<T> = generate(&Spec::new(Pattern::Random, count).seed(1))
            .map_err(|error| Fault::Usage(error.to_string()))?;
        let mut sorted = keys.clone();
        sort_on_cpu(&mut sorted, Order::Ascending);
        let resident = if pairs {
            Resident::upload_with_payload(sorter, &keys, PayloadKind::Values)
        } else {
            Resident::upload(sorter, &keys)
        };
        let bytes = |keys: &[T]| bytemuck::cast_slice(keys).to_vec();
        Ok(Self {
            resident: resident.map_err(|error| too_large(error, "--count"))?,
            key: T::KEY_TYPE,
            count,
            expected: [bytes(&keys), bytes(&sorted)],
        })
    }

    fn measured(&self, [default, tuned]: [Duration; 2]) -> Measured {
        Measured {
            keys: self.count,
            r#type: self.key.name().to_owned(),
            payload: self.resident.payload().name().to_owned(),
            default_ms: default.as_secs_f64() * 1e3,
            tuned_ms: tuned.as_secs_f64() * 1e3,
        }
    }

    /// The scratch bound that the library guarantees.
    fn scratch_bound(&self) -> u64 {
        let has_value = self.resident.payload() != PayloadKind::None;
        let values = u64::from(has_value) * self.count * 4;
        // Below 2^32, like any count that a device accepts.
        scratch_promise(self.count as u32, self.key) + values * 11 / 10
    }

    /// Sorts once and compares the result with the CPU's.
    fn check(&self, sorter: &Sorter, prepared: &PreparedSort) -> Result<(), Fault> {
        self.resident.run(prepared, Detail::Whole)?;
        let [input, sorted] = &self.expected;
        if self.resident.holds_result(input, sorted)? {
            return Ok(());
        }
        Err(Fault::Device(format!(
            "{} {} {} with {:?}: the result is wrong. Please report this with the device's name",
            self.count,
            self.key,
            self.resident.payload().name(),
            sorter.tuning()
        )))
    }
}

/// The median times of two tunings, or `None` if their sorts are identical.
type Duel = Option<[Duration; 2]>;

/// Speedup of the second over the first: the geometric mean over all duels.
fn score(duels: &[Duel]) -> f64 {
    let logarithms = duels.iter().map(|duel| match duel {
        Some([first, second]) if *first > Duration::ZERO && *second > Duration::ZERO => {
            (first.as_secs_f64() / second.as_secs_f64()).ln()
        }
        _ => 0.0,
    });
    (logarithms.sum::<f64>() / duels.len().max(1) as f64).exp()
}

struct Search<'a> {
    sorter: &'a Sorter,
    jobs: &'a [Job<'a>],
    quick: bool,
    repeats: u32,
    pace: Pace,
    progress: Progress,
    /// Number of values tried.
    done: usize,
}

impl Search<'_> {
    fn say(&mut self, what: &str) {
        self.progress.show(|| what.to_owned());
    }

    const fn values(&self, parameter: &Parameter) -> &'static [u32] {
        if self.quick {
            parameter.few
        } else {
            parameter.values
        }
    }

    /// Coordinate descent: sets one parameter after the other to its best value, and repeats the
    /// pass if something changed. Returns the tuning and the gain of each parameter.
    fn descend(
        &mut self,
        default: Tuning,
        passes: usize,
    ) -> Result<(Tuning, [f64; PARAMETERS.len()]), Fault> {
        let mut tuning = default;
        let mut gains = [1.0; PARAMETERS.len()];
        for _ in 0..passes {
            let before = tuning;
            for (parameter, gain) in PARAMETERS.iter().zip(&mut gains) {
                if let Some((better, gained)) = self.improve(&tuning, parameter, passes)? {
                    tuning = better;
                    *gain *= gained;
                }
            }
            if tuning == before {
                break;
            }
        }
        Ok((tuning, gains))
    }

    /// The best value of one parameter and its speedup, if it is faster than the current value.
    fn improve(
        &mut self,
        tuning: &Tuning,
        parameter: &Parameter,
        passes: usize,
    ) -> Result<Option<(Tuning, f64)>, Fault> {
        let all: usize = PARAMETERS.iter().map(|p| self.values(p).len()).sum();
        let steps = |steps: usize| Duration::from_millis(steps as u64);
        let mut best: Option<(Tuning, f64)> = None;
        for &value in self.values(parameter) {
            self.progress
                .share(steps(self.done), steps(passes * all), None);
            self.done += 1;
            let candidate = parameter.with(tuning, value);
            if candidate == *tuning {
                continue;
            }
            self.say(&format!(
                "{} {}",
                parameter.name,
                parameter.text(&candidate)
            ));
            let gain = self.gain(tuning, &candidate)?;
            if gain > best.map_or(MIN_GAIN, |(_, best)| best) {
                best = Some((candidate, gain));
            }
        }
        let Some((winner, gain)) = best else {
            return Ok(None);
        };
        // The best of several measurements is biased upwards, so it is confirmed by a second one.
        let gain = gain.min(self.gain(tuning, &winner)?);
        Ok((gain > MIN_GAIN).then_some((winner, gain)))
    }

    /// Speedup of the candidate.
    fn gain(&self, tuning: &Tuning, candidate: &Tuning) -> Result<f64, Fault> {
        if self.is_fit(candidate)? {
            Ok(score(&self.duel(tuning, candidate, false)?))
        } else {
            Ok(0.0)
        }
    }

    fn with(&self, tuning: &Tuning) -> Result<Sorter, Error> {
        let options = Options::default().engine(Engine::SampleSort);
        self.sorter.with_options(options.tuning(*tuning))
    }

    /// True if the sorts fit in memory with this tuning. A wrong result is an error.
    fn is_fit(&self, tuning: &Tuning) -> Result<bool, Fault> {
        let sorter = self.with(tuning)?;
        for job in self.jobs {
            let prepared = match job.resident.prepare(&sorter) {
                Err(Error::WorkgroupMemory { .. } | Error::OutOfMemory { .. }) => return Ok(false),
                prepared => prepared?,
            };
            if prepared.recording().scratch_bytes() > job.scratch_bound() {
                return Ok(false);
            }
            job.check(&sorter, &prepared)?;
        }
        Ok(true)
    }

    /// Times two tunings against each other, for `all` jobs or only for those whose sorts differ.
    fn duel(&self, first: &Tuning, second: &Tuning, all: bool) -> Result<Vec<Duel>, Fault> {
        let (first, second) = (self.with(first)?, self.with(second)?);
        let mut duels = Vec::new();
        for job in self.jobs {
            let prepare = |sorter| {
                job.resident
                    .prepare(sorter)
                    .map_err(|error| too_large(error, "--count"))
            };
            let (one, other) = (prepare(&first)?, prepare(&second)?);
            if !all && one.recording() == other.recording() {
                duels.push(None);
                continue;
            }
            let sort = |sort| job.resident.run(sort, Detail::Whole);
            let sorts: [Timed<'_>; 2] = [&|| sort(&one), &|| sort(&other)];
            let busy = |times| job.resident.keep_busy(&one, times);
            let profiles = interleave(self.pace, self.repeats, &busy, &sorts, |_| {})?;
            let of = |profiles: &[Profile]| median(profiles.iter().map(|profile| profile.total));
            duels.push(match &profiles[..] {
                [first, second] => Some([of(first), of(second)]),
                _ => None,
            });
        }
        Ok(duels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_averaged_as_ratios() {
        let ms = Duration::from_millis;
        assert!((score(&[]) - 1.0).abs() < 1e-9);
        // Twice as fast, half as fast, and equal.
        let duels = [Some([ms(4), ms(2)]), Some([ms(1), ms(2)]), None];
        assert!((score(&duels) - 1.0).abs() < 1e-9);
        assert!((score(&[Some([ms(4), ms(1)]), None]) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn every_number_is_tuned_and_every_value_allowed() {
        let default = serde_json::to_value(Tuning::default()).unwrap();
        let names: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
        let fields = default.as_object().unwrap();
        assert_eq!(fields.len(), names.len());
        assert!(fields.keys().all(|field| names.contains(&field.as_str())));
        for parameter in &PARAMETERS {
            for &value in parameter.values.iter().chain(parameter.few) {
                let tuning = parameter.with(&Tuning::default(), value);
                assert_eq!((parameter.get)(&tuning), value);
                tuning.validate().unwrap();
            }
            for tuning in [Tuning::default(), Tuning::cpu()] {
                assert!(parameter.values.contains(&(parameter.get)(&tuning)));
            }
        }
    }
}

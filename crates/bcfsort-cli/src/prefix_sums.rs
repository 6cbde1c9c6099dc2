//! `prefix-sums`: computes prefix sums of a file of values, for each color in a second file.

use crate::input::Input;
use bcfsort_data::{Format, KeyReader, KeyWriter};
use bcfsort_term::args::{Checks, DeviceArg, Encoding, count_in, one_of};
use bcfsort_term::engine::{adapter_or_cpu, describe};
use bcfsort_term::fault::Fault;
use bcfsort_term::kernel_cache::{Cache, KernelCache};
use bcfsort_term::notice::{self, Progress};
use bcfsort_term::output::Output;
use bcfsort_term::timings::{self, Timings};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use wgpu_bcfsort::paper::{
    MOST_COLORS, PrefixSums, PrefixSumsMethod, PrefixSumsOptions, Scan, Summand, prefix_sums_on_cpu,
};
use wgpu_bcfsort::{KeyType, Options, SortKey, Sorter};

const AFTER_HELP: &str = "\
Each value has the color at its index in COLORS, a number from 0 to 15. The output has, at the \
index of each value, the sum of the values of its color up to there: d colors give d independent \
prefix sums, and COLORS of zeros the usual one. Without a GPU, the CPU computes them.

Examples:
  wgpu-bcfsort prefix-sums values.bin colors.bin -o sums.bin
  wgpu-bcfsort prefix-sums --type f32 -f text amounts.txt accounts.txt --exclusive
  seq 5 | wgpu-bcfsort prefix-sums -f text - <(printf '0\\n1\\n0\\n1\\n0\\n')   prints 1 2 4 6 9";

const DETAILS: &str = "\
Both files and the output have the same format. The files are read into memory and must fit the \
GPU.

Integers wrap around. Sums of f32 are rounded in an order that depends only on the number of \
values, and is not left to right; --verify adds in the same order on the CPU and compares every \
bit. It may fail for subnormal numbers, infinities and NaNs, which WGSL lets a GPU flush to zero \
or ignore.

'naive' is a baseline: the lanes that add up the colors' sums meet in one bank of workgroup \
memory. 'conflict-free' transposes the matrix of sums first, so that none do. --timings shows the \
effect on the phase 'prefix sums'.

Exit codes: 0 success, 2 bad usage, input or output, 3 GPU failure or failed --verify, \
130 interrupted";

/// Compute prefix sums of values, one per color
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, after_long_help = format!("{DETAILS}\n\n{AFTER_HELP}"))]
pub(crate) struct Args {
    /// File of values; - is stdin
    values: PathBuf,
    /// File of colors, one u32 per value; - is stdin
    colors: PathBuf,
    /// File to write; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Number of colors, 1 to 16 [default: largest color + 1]
    #[arg(
        short = 'd',
        long = "colors",
        value_name = "N",
        id = "count",
        value_parser = count_in(1..=MOST_COLORS)
    )]
    count: Option<u32>,
    /// Exclude each value from its own sum
    #[arg(long)]
    exclusive: bool,
    /// Type of the values; colors are u32
    #[arg(
        long = "type",
        value_name = "TYPE",
        default_value = "u32",
        value_parser = one_of::<KeyType>(
            [KeyType::U32, KeyType::I32, KeyType::F32].map(KeyType::name)
        )
    )]
    key: KeyType,
    #[command(flatten)]
    encoding: Encoding,
    #[command(flatten)]
    device: DeviceArg,
    #[command(flatten)]
    cache: Cache,
    /// Layout of workgroup memory; the result is the same
    #[arg(
        long,
        default_value = PrefixSumsMethod::default().name(),
        hide_short_help = true,
        value_parser = one_of::<PrefixSumsMethod>(PrefixSumsMethod::ALL.map(PrefixSumsMethod::name))
    )]
    method: PrefixSumsMethod,
    #[command(flatten)]
    checks: Checks,
    #[arg(from_global)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    match args.key {
        KeyType::U32 => add_up::<u32>(args),
        KeyType::I32 => add_up::<i32>(args),
        KeyType::F32 => add_up::<f32>(args),
        other => Err(Fault::Usage(format!(
            "no prefix sums of {other}: --type is u32, i32 or f32"
        ))),
    }
}

fn add_up<T: Summand>(args: &Args) -> Result<(), Fault> {
    let started = Instant::now();
    let stdin = Path::new("-");
    if args.values == stdin && args.colors == stdin {
        return Err(Fault::Usage(
            "values and colors cannot both come from stdin: give one of them as a file".to_owned(),
        ));
    }
    // Cheap checks first: a typing error is reported before a device is opened.
    let (values, colors) = (Input::open(&args.values)?, Input::open(&args.colors)?);
    let output = Output::create(&args.output)?;
    let mut progress = Progress::new(args.quiet);
    progress.show(|| "reading".to_owned());
    let names = [values.name.clone(), colors.name.clone()];
    let mut values: Vec<T> = read(values, args.encoding.format)?;
    let colors: Vec<u32> = read(colors, args.encoding.format)?;
    let options = options(args, values.len(), &colors, &names)?;

    let device = match adapter_or_cpu(&args.device.wanted(), args.quiet, "prefix sums")? {
        Some(adapter) => Some(Sorter::open(Options::default().adapter(&adapter))?),
        None => None,
    };
    let kernels = device
        .as_ref()
        .and_then(|sorter| KernelCache::open(sorter.device(), args.cache.directory()));
    let device = match &kernels {
        Some(kernels) => device.map(|sorter| sorter.with_pipeline_cache(kernels.cache())),
        None => device,
    };
    let sums = device.as_ref().map(PrefixSums::new);
    let expected = if args.checks.verify {
        let mut expected = values.clone();
        prefix_sums_on_cpu(&mut expected, &colors, &options)?;
        Some(expected)
    } else {
        None
    };
    progress.show(|| format!("prefix sums of {} values", values.len()));
    let begun = Instant::now();
    let timings = match &sums {
        Some(sums) if args.checks.timings => {
            let profile = sums.profile(&mut values, &colors, &options)?;
            Timings::of_gpu(profile, begun.elapsed())
        }
        Some(sums) => {
            sums.run(&mut values, &colors, &options)?;
            Timings::default()
        }
        None => {
            prefix_sums_on_cpu(&mut values, &colors, &options)?;
            Timings::of_cpu(begun.elapsed())
        }
    };
    if let Some(expected) = expected {
        verify(&values, &expected)?;
    }

    progress.show(|| "writing".to_owned());
    let name = output.name.clone();
    let failed = |error| Fault::data(&name, &error);
    let mut writer = KeyWriter::<T, _>::new(output, args.encoding.format);
    writer.write(&values).map_err(failed)?;
    writer.finish().map_err(failed)?.commit_last()?;
    drop(progress);
    if args.checks.verify && !args.quiet {
        let count = values.len();
        notice::say(&format!(
            "verified: {count} prefix sums, equal to the CPU's"
        ));
    }
    if args.checks.timings {
        let count = values.len() as u64;
        let adapter = device.map_or_else(
            || "none".to_owned(),
            |sorter| describe(&sorter.device().adapter_info()),
        );
        let mut report = String::new();
        let _ = write!(
            report,
            "method   {}\nadapter  {adapter}\nvalues   {count} {}, {} colors, {}\n{}",
            options.method,
            T::KEY_TYPE,
            options.colors,
            options.scan,
            timings.table_of("prefix sums", count),
        );
        report += &timings::total(count, started.elapsed());
        notice::say_lines(&report);
    }
    Ok(())
}

fn read<T: SortKey>(input: Input, format: Format) -> Result<Vec<T>, Fault> {
    KeyReader::<T, _>::new(input.stream, format)
        .read_chunk(usize::MAX)
        .map_err(|error| Fault::data(&input.name, &error))
}

/// Checks values and colors, and returns the options of the prefix sums.
fn options(
    args: &Args,
    values: usize,
    colors: &[u32],
    [values_name, colors_name]: &[String; 2],
) -> Result<PrefixSumsOptions, Fault> {
    if values != colors.len() {
        return Err(Fault::Usage(format!(
            "{values_name} has {values} values and {colors_name} {} colors: each value needs a \
             color",
            colors.len()
        )));
    }
    let count = args.count.unwrap_or(MOST_COLORS);
    if let Some(index) = colors.iter().position(|&color| color >= count) {
        let location = match args.encoding.format {
            Format::Text => format!("line {}", index + 1),
            _ => format!("index {index}"),
        };
        let why = match args.count {
            Some(count) => format!("with -d {count} the largest is {}", count - 1),
            None => format!(
                "there are at most {MOST_COLORS} colors, 0 to {}",
                MOST_COLORS - 1
            ),
        };
        return Err(Fault::Usage(format!(
            "{colors_name}: {location}: color {}: {why}",
            colors[index]
        )));
    }
    let largest = colors.iter().max().copied().unwrap_or(0);
    let scan = if args.exclusive {
        Scan::Exclusive
    } else {
        Scan::Inclusive
    };
    Ok(PrefixSumsOptions::default()
        .colors(args.count.unwrap_or(largest + 1))
        .method(args.method)
        .scan(scan))
}

/// Compares sums bit for bit. All `NaN`s are equal: their bits depend on the device.
fn verify<T: Summand>(sums: &[T], expected: &[T]) -> Result<(), Fault> {
    let is_nan = |sum: T| {
        let bits = sum.to_bits64();
        T::KEY_TYPE == KeyType::F32 && f32::from_bits64(bits).is_nan()
    };
    let differ = |(&sum, &expected): (&T, &T)| {
        sum.to_bits64() != expected.to_bits64() && !(is_nan(sum) && is_nan(expected))
    };
    match sums.iter().zip(expected).position(differ) {
        Some(index) => Err(Fault::Device(format!(
            "--verify: the result is wrong at index {index}: {:?}, not {:?}. Please report this \
             with the device's name",
            sums[index], expected[index]
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_wrong_bits_are_found_but_those_of_nans() {
        assert!(verify(&[1_u32, 2], &[1, 2]).is_ok());
        assert!(verify(&[1_i32, 2], &[1, -2]).is_err());
        assert!(verify(&[0.0_f32], &[-0.0]).is_err());
        let other = f32::from_bits(0xffc0_0001);
        assert!(verify(&[f32::NAN, f32::INFINITY], &[other, f32::INFINITY]).is_ok());
        assert!(verify(&[f32::NAN], &[1.0]).is_err());
        // These are NaNs only as f32.
        assert!(verify(&[0x7fc0_0000_u32], &[0x7fc0_0001]).is_err());
    }
}

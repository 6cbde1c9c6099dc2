//! Command-line options that several commands share.

use crate::fault::Fault;
use crate::notice;
use crate::tuning_file::TuningFile;
use bcfsort_auto::Device;
use bcfsort_data::{Format, Pattern, parse_count};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgMatches, Command, FromArgMatches};
use std::ops::RangeInclusive;
use std::str::FromStr;
use wgpu_bcfsort::paper::BaseCase;
use wgpu_bcfsort::{Engine, KeyType, Options, Order, wgpu};

/// Heading of the engines' parameters.
const TUNING: &str = "Tuning";

/// Parses one of the `names`. The error for any other name lists them.
pub fn one_of<T>(names: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse::<T>())
}

pub fn key_type() -> impl TypedValueParser<Value = KeyType> {
    one_of(KeyType::WHOLE_WORDS.map(KeyType::name))
}

/// Parses the name of a pattern. The help lists all names with their descriptions.
pub fn pattern() -> impl TypedValueParser<Value = Pattern> {
    let names =
        Pattern::ALL.map(|pattern| PossibleValue::new(pattern.name()).help(pattern.describe()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Pattern>())
}

/// Runs `$body` with `$type` as an alias for the Rust type of the keys.
#[macro_export]
macro_rules! with_key_type {
    ($key:expr, $type:ident => $body:expr) => {{
        use wgpu_bcfsort::KeyType;
        macro_rules! with {
            ($rust:ty) => {{
                type $type = $rust;
                $body
            }};
        }
        match $key {
            KeyType::U32 => with!(u32),
            KeyType::I32 => with!(i32),
            KeyType::F32 => with!(f32),
            KeyType::U64 => with!(u64),
            KeyType::I64 => with!(i64),
            KeyType::F64 => with!(f64),
            other => Err($crate::fault::Fault::Usage(format!(
                "this command does not support {other} keys"
            ))),
        }
    }};
}

/// Lists names and descriptions for the help of a command. Clap does so only in its long form, with
/// a paragraph for each option.
pub fn listed<'a>(items: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut list = String::new();
    for (name, description) in items {
        let mut column = 80;
        let mut start = format!("\n  {name:<16}");
        for word in description.split(' ') {
            column += word.len() + 1;
            if column > 80 {
                list += &start;
                start = format!("\n{:18}", "");
                column = 18 + word.len() + 1;
            }
            list += " ";
            list += word;
        }
    }
    list
}

/// Number format of files.
pub struct Encoding {
    /// [`Format::AssumedRaw`] if the option is not given.
    pub format: Format,
}

/// The option of [`Encoding`].
#[derive(clap::Args)]
struct EncodingOption {
    /// raw: little-endian binary; text: one number per line [default: raw]
    ///
    /// Without -f, an input that looks like text is refused. Raw keys are written to a terminal
    /// only with -o -.
    #[arg(
        short,
        long,
        hide_possible_values = true,
        value_parser = one_of::<Format>(Format::ALL.map(Format::name))
    )]
    format: Option<Format>,
}

impl FromArgMatches for Encoding {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let option = EncodingOption::from_arg_matches(matches)?;
        let format = option.format.unwrap_or(Format::AssumedRaw);
        Ok(Self { format })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Encoding {
    fn augment_args(command: Command) -> Command {
        EncodingOption::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        EncodingOption::augment_args_for_update(command)
    }
}

/// Type and format of the keys.
#[derive(clap::Args)]
pub struct Keys {
    /// Number type
    #[arg(
        long = "type",
        value_name = "TYPE",
        default_value = "u32",
        value_parser = key_type()
    )]
    pub key: KeyType,
    #[command(flatten)]
    pub encoding: Encoding,
}

/// Sort order.
#[derive(clap::Args)]
pub struct Direction {
    /// Descending order: largest first
    #[arg(short, long)]
    reverse: bool,
}

impl Direction {
    pub const fn is_reverse(&self) -> bool {
        self.reverse
    }

    pub const fn order(&self) -> Order {
        if self.reverse {
            Order::Descending
        } else {
            Order::Ascending
        }
    }
}

/// Options that check and time a result.
#[derive(clap::Args)]
pub struct Checks {
    /// Check the result; if it is wrong, write no file and exit with 3
    #[arg(long)]
    pub verify: bool,
    /// Print the adapter and the time of each phase to stderr
    #[arg(long)]
    pub timings: bool,
}

/// The engine, or the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The fastest for the input: a GPU engine or the CPU.
    Auto,
    /// A radix sort on all cores.
    Cpu,
    /// This engine on a GPU; fails without one.
    Gpu(Engine),
}

impl Choice {
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Gpu(engine) => engine.name(),
        }
    }

    /// All choices, the default first.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Auto, Self::Cpu].into_iter().chain(Self::gpu())
    }

    /// The engines that run on a GPU.
    fn gpu() -> impl Iterator<Item = Self> {
        let engines = Engine::ALL.into_iter();
        let named = engines.filter(|&engine| engine != Engine::Auto);
        named.map(Self::Gpu)
    }

    /// Its description in the help.
    const fn about(self) -> &'static str {
        match self {
            Self::Auto => {
                "the fastest engine for the adapter and the input; cpu where that is faster"
            }
            Self::Cpu => "radix sort on all cores of the CPU",
            Self::Gpu(Engine::SampleSort) => "sample sort, the fastest on GPUs; also called 'fast'",
            Self::Gpu(Engine::BcfMergesort) => "BCFMergesort: mergesort without bank conflicts",
            Self::Gpu(Engine::BcfMergesortPb) => {
                "BCFMergesort with pivot buckets, faster on repeated keys"
            }
            Self::Gpu(Engine::Warpsort) => "Warpsort (Ye et al., 2010), a baseline",
            Self::Gpu(_) => "",
        }
    }

    /// Parses a GPU engine by name; rejects `auto` and `cpu`.
    pub fn engines() -> impl TypedValueParser<Value = Engine> {
        Self::parser(Self::gpu()).map(|choice| match choice {
            Self::Gpu(engine) => engine,
            // Unreachable: the parser accepts only engines.
            Self::Auto | Self::Cpu => Engine::Auto,
        })
    }

    pub fn parser(choices: impl Iterator<Item = Self>) -> impl TypedValueParser<Value = Self> {
        let values = choices.map(|choice| {
            let value = PossibleValue::new(choice.name()).help(choice.about());
            match choice {
                Self::Gpu(Engine::SampleSort) => value.alias("fast"),
                _ => value,
            }
        });
        PossibleValuesParser::new(values).map(|name| {
            // The parser accepts only these names.
            match name.parse() {
                Ok(Engine::Auto) => Self::Auto,
                Ok(engine) => Self::Gpu(engine),
                Err(_) if name == Self::Cpu.name() => Self::Cpu,
                Err(_) => Self::Auto,
            }
        })
    }
}

/// The device.
#[derive(clap::Args)]
pub struct DeviceArg {
    /// auto (default), cpu, gpu, all, or a GPU's index or part of its name
    ///
    /// all: all GPUs of the machine together. Without this option, the environment names the device:
    /// see 'wgpu-bcfsort --help'.
    #[arg(long, value_name = "DEVICE", alias = "adapter")]
    device: Option<Device>,
}

impl DeviceArg {
    /// The device that the option names.
    pub const fn given(&self) -> Option<&Device> {
        self.device.as_ref()
    }

    /// The device that the option or the environment names.
    pub fn wanted(&self) -> Device {
        self.device.clone().unwrap_or_default().or_environment()
    }
}

/// The paper's parameters, which few users need.
///
/// Commands that measure list them in the short help, other commands only in --help-all.
#[derive(clap::Args)]
pub struct Tuning {
    /// Kernel that sorts one tile of keys in workgroup memory; not for sample-sort
    ///
    /// Of 1024 keys: 'bitonic' (default of bcf and bcf-pb) merges in registers; 'transpose' and
    /// 'diagonal' are the paper's, with transpositions of the bank matrix or along its diagonals;
    /// 'no-registers' is 'transpose' with every comparator in workgroup memory;
    /// 'odd-even-transposition' is a baseline with bank conflicts. Of h x 1024 keys by h warps:
    /// 'long-h' and 'long-diagonal-h'. Of 128 keys: 'warp-bitonic' (default of warpsort).
    #[arg(
        long,
        value_name = "KIND",
        help_heading = TUNING,
        hide_short_help = true,
        value_parser = one_of::<BaseCase>(BaseCase::ALL.map(BaseCase::name))
    )]
    base_case: Option<BaseCase>,
    /// Warps of 32 lanes per workgroup of the base case (the paper's W); not for sample-sort
    ///
    /// 1, 2, 4 or 8.
    /// At least the number that sorts a tile together, which is the default.
    #[arg(
        long,
        value_name = "W",
        help_heading = TUNING,
        hide_short_help = true,
        value_parser = count_of::<u32>
    )]
    warps: Option<u32>,
    /// Buckets of the distribution phase (the paper's P); not for sample-sort
    ///
    /// By default chosen by the number of keys.
    #[arg(
        long,
        value_name = "P",
        help_heading = TUNING,
        hide_short_help = true,
        value_parser = count_of::<u32>
    )]
    buckets: Option<u32>,
    /// Samples per sorted run to choose splitters from (the paper's t); not for sample-sort
    ///
    /// For warpsort, samples per bucket. More samples make the buckets more even.
    #[arg(
        long,
        value_name = "T",
        help_heading = TUNING,
        hide_short_help = true,
        value_parser = count_of::<u32>
    )]
    samples: Option<u32>,
}

/// Shows a hidden option in the short help as well, for commands that measure.
pub fn shown(arg: Arg) -> Arg {
    arg.hide_short_help(false)
}

impl Tuning {
    pub fn options(&self, engine: Engine) -> Options {
        let mut options = Options::default().engine(engine);
        options.mergesort.base_case = self.base_case;
        options.mergesort.warps = self.warps;
        options.mergesort.buckets = self.buckets;
        options.mergesort.samples = self.samples;
        options
    }

    /// The options, and true for those that are given.
    const fn given(&self) -> [(&'static str, bool); 4] {
        [
            ("--base-case", self.base_case.is_some()),
            ("--warps", self.warps.is_some()),
            ("--buckets", self.buckets.is_some()),
            ("--samples", self.samples.is_some()),
        ]
    }

    /// Fails if one of these options is given but `engines`, the engines in use, ignore it: sample
    /// sort has no such parameters. With them, `auto` selects a mergesort.
    pub fn refuse_for_others(&self, engines: &[Engine]) -> Result<(), Fault> {
        if engines.iter().any(|&engine| engine != Engine::SampleSort) {
            return Ok(());
        }
        refuse_given(self.given(), Engine::SampleSort.name())
    }
}

/// Fails if one of the options is given, as none applies to the engine.
fn refuse_given(
    options: impl IntoIterator<Item = (&'static str, bool)>,
    engine: &str,
) -> Result<(), Fault> {
    match options.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Fault::Usage(format!(
            "{option} has no meaning with --engine {engine}: leave out one of them"
        ))),
        None => Ok(()),
    }
}

/// The device and the parameters of the engines.
#[derive(clap::Args)]
pub struct Gpu {
    #[command(flatten)]
    pub device: DeviceArg,
    /// Parameters found by 'wgpu-bcfsort tune', for --engine sample-sort
    #[arg(
        long = "tuning",
        value_name = "FILE",
        hide_short_help = true,
        value_parser = TuningFile::parser()
    )]
    file: Option<TuningFile>,
    #[command(flatten)]
    tuning: Tuning,
}

impl Gpu {
    pub fn options(&self, engine: Engine) -> Options {
        let options = self.tuning.options(engine);
        match &self.file {
            Some(file) => options.tuning(file.tuning),
            None => options,
        }
    }

    /// Fails if an option is given that `engines`, the engines in use, ignore.
    pub fn refuse_for_others(&self, engines: &[Engine]) -> Result<(), Fault> {
        self.tuning.refuse_for_others(engines)?;
        if self.file.is_none() || engines.contains(&Engine::SampleSort) {
            return Ok(());
        }
        let names: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
        Err(Fault::Usage(format!(
            "--tuning has no meaning with {}: it is for --engine {}",
            names.join(", "),
            Engine::SampleSort
        )))
    }

    /// Warns if the tuning file was made for another adapter.
    pub fn warn_of_another_adapter(&self, adapter: &wgpu::AdapterInfo, quiet: bool) {
        let warning = self.file.as_ref().and_then(|file| file.mismatch(adapter));
        if let Some(warning) = warning.filter(|_| !quiet) {
            notice::say(&warning);
        }
    }

    /// Fails if one of these options is given, as none applies to the CPU.
    pub fn refuse_for_cpu(&self) -> Result<(), Fault> {
        let file = ("--tuning", self.file.is_some());
        let unused = self.tuning.given().into_iter().chain([file]);
        refuse_given(unused, Choice::Cpu.name())
    }
}

/// Seed of warpsort's random splitters.
#[derive(clap::Args)]
pub struct Seed {
    /// Seed of warpsort's random samples [default: 0]
    ///
    /// For --engine warpsort only. It changes the time, not the result.
    #[arg(
        long,
        value_name = "N",
        value_parser = count,
        help_heading = TUNING,
        hide_short_help = true
    )]
    seed: Option<u64>,
}

impl Seed {
    pub fn apply(&self, mut options: Options) -> Options {
        options.mergesort.seed = self.seed.unwrap_or(options.mergesort.seed);
        options
    }

    /// Fails if a seed is given but the engine uses none.
    pub fn refuse_for_others(&self, choice: Choice) -> Result<(), Fault> {
        let used = matches!(choice, Choice::Gpu(engine) if engine.has_random_splitters());
        if self.seed.is_none() || used {
            return Ok(());
        }
        Err(Fault::Usage(format!(
            "--seed is for --engine {} only",
            Engine::Warpsort
        )))
    }
}

/// A count such as 1000, 2^20, 1e6 or 1.5M.
pub fn count(text: &str) -> Result<u64, String> {
    parse_count(text).map_err(|error| error.to_string())
}

/// A count of at least 1.
pub fn positive(text: &str) -> Result<u64, String> {
    match count(text)? {
        0 => Err("at least 1 is needed".to_owned()),
        count => Ok(count),
    }
}

/// A count that an unsigned type can have.
pub fn count_of<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let bits = 8 * size_of::<T>();
    T::try_from(count(text)?).map_err(|_| format!("'{text}' is above 2^{bits} - 1"))
}

/// A count within a range.
pub fn count_in(range: RangeInclusive<u32>) -> impl TypedValueParser<Value = u32> {
    move |text: &str| match u32::try_from(count(text)?) {
        Ok(count) if range.contains(&count) => Ok(count),
        _ => Err(format!(
            "{text} is not in {}..={}",
            range.start(),
            range.end()
        )),
    }
}

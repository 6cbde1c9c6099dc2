//! Options that several commands share.

use crate::fault::Fault;
use crate::notice;
use crate::tuning_file::TuningFile;
use bcfsort_testkit::data::{Format, Pattern, parse_count};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::str::FromStr;
use wgpu_bcfsort::{BaseCase, Engine, KeyType, Options, Order, wgpu};

/// Parses one of the `names`, and lists them where another is given.
pub fn one_of<T>(names: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse::<T>())
}

pub fn key_type() -> impl TypedValueParser<Value = KeyType> {
    one_of(KeyType::ALL.map(KeyType::name))
}

/// Parses a pattern's name; the help lists them with their descriptions.
pub fn pattern() -> impl TypedValueParser<Value = Pattern> {
    let names =
        Pattern::ALL.map(|pattern| PossibleValue::new(pattern.name()).help(pattern.describe()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Pattern>())
}

/// Runs `$body` with `$type` standing for the Rust type of the keys.
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
                "this command does not know {other} keys yet"
            ))),
        }
    }};
}
/// What the keys are and how they stand in the file.
#[derive(clap::Args)]
pub struct Keys {
    /// Type of the keys; floats sort from -NaN over -0 and +0 to +NaN
    #[arg(
        short = 't',
        long = "type",
        value_name = "TYPE",
        default_value = "u32",
        value_parser = key_type()
    )]
    pub key: KeyType,
    /// Little-endian words (raw), or one number a line (text)
    #[arg(
        short,
        long,
        default_value = "raw",
        value_parser = one_of::<Format>(Format::ALL.map(Format::name))
    )]
    pub format: Format,
}

/// The direction.
#[derive(clap::Args)]
pub struct Direction {
    /// Largest key first
    #[arg(short, long)]
    reverse: bool,
}

impl Direction {
    pub const fn order(&self) -> Order {
        if self.reverse {
            Order::Descending
        } else {
            Order::Ascending
        }
    }
}

/// Who sorts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The fastest GPU engine where there is an adapter, else the CPU.
    Auto,
    /// `sort_unstable`.
    Cpu,
    /// This engine on a GPU, or failure.
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

    pub fn all() -> impl Iterator<Item = Self> {
        Engine::ALL
            .into_iter()
            .filter(|&engine| engine != Engine::Auto)
            .map(Self::Gpu)
            .chain([Self::Cpu, Self::Auto])
    }

    /// The engines that are not chosen by the device.
    pub fn engines() -> impl TypedValueParser<Value = Engine> {
        let named = Engine::ALL.map(Engine::name).into_iter();
        one_of::<Engine>(named.filter(|&name| name != Engine::Auto.name()))
    }

    pub fn parser(choices: impl Iterator<Item = Self>) -> impl TypedValueParser<Value = Self> {
        let values = choices.map(|choice| {
            let value = PossibleValue::new(choice.name());
            match choice {
                Self::Gpu(Engine::SampleSort) => value.alias("fast"),
                _ => value,
            }
        });
        PossibleValuesParser::new(values).map(|name| {
            // The parser lets only these names through.
            match name.parse() {
                Ok(Engine::Auto) => Self::Auto,
                Ok(engine) => Self::Gpu(engine),
                Err(_) if name == Self::Cpu.name() => Self::Cpu,
                Err(_) => Self::Auto,
            }
        })
    }
}

/// The paper's parameters.
#[derive(clap::Args)]
pub struct Tuning {
    /// How a tile of keys is sorted in workgroup memory (as the options below, of no use to
    /// sample-sort). 1024 keys: 'bitonic' (the default of bcf and bcf-pb) merges in passes over
    /// registers; 'transpose' and 'diagonal' are the paper's, with transpositions of the bank
    /// matrix or along its diagonals; 'no-registers' is the former with every comparator in
    /// workgroup memory, and 'odd-even-transposition' a sort with bank conflicts, to compare with.
    /// h times 1024 keys, by h warps: 'long-h' and 'long-diagonal-h'. 128 keys: 'warp-bitonic', the
    /// default of warpsort
    #[arg(
        long,
        value_name = "KIND",
        help_heading = "Tuning",
        value_parser = one_of::<BaseCase>(BaseCase::ALL.map(BaseCase::name))
    )]
    base_case: Option<BaseCase>,
    /// Warps of 32 lanes a workgroup of the base case (the paper's W): 1, 2, 4 or 8, and at least
    /// those that sort a tile together, which is the default
    #[arg(long, value_name = "W", help_heading = "Tuning", value_parser = count_u32)]
    warps: Option<u32>,
    /// Buckets that sorted runs are distributed to (the paper's P); chosen by the count of keys
    /// if not given
    #[arg(long, value_name = "P", help_heading = "Tuning", value_parser = count_u32)]
    buckets: Option<u32>,
    /// Samples taken of each sorted run to choose the buckets' borders (the paper's t), or for each
    /// bucket by warpsort: more make buckets more even
    #[arg(long, value_name = "T", help_heading = "Tuning", value_parser = count_u32)]
    samples: Option<u32>,
}

impl Tuning {
    pub fn options(&self, engine: Engine) -> Options {
        let mut options = Options::default().engine(engine);
        if let Some(base_case) = self.base_case {
            options = options.base_case(base_case);
        }
        if let Some(warps) = self.warps {
            options = options.warps(warps);
        }
        if let Some(buckets) = self.buckets {
            options = options.buckets(buckets);
        }
        if let Some(samples) = self.samples {
            options = options.samples(samples);
        }
        options
    }
}

/// The paper's parameters, and the adapter.
#[derive(clap::Args)]
pub struct Gpu {
    /// Adapter to sort on: its index or a part of its name, as 'devices' lists them
    #[arg(long, value_name = "INDEX|NAME")]
    pub adapter: Option<String>,
    #[command(flatten)]
    tuning: Tuning,
    /// File of 'wgpu-bcfsort tune', for sample-sort only. It changes the time, not the result
    #[arg(
        long = "tuning",
        value_name = "FILE",
        help_heading = "Tuning",
        value_parser = TuningFile::parser()
    )]
    file: Option<TuningFile>,
}

impl Gpu {
    pub fn options(&self, engine: Engine) -> Options {
        let options = self.tuning.options(engine);
        match &self.file {
            Some(file) => options.tuning(file.tuning),
            None => options,
        }
    }

    /// No other engine has a use for a tuning file. `engines` are those that sort.
    pub fn refuse_for_others(&self, engines: &[Engine]) -> Result<(), Fault> {
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

    /// What suits one adapter may not suit another.
    pub fn warn_of_another_adapter(&self, adapter: &wgpu::AdapterInfo, quiet: bool) {
        if let Some(warning) = self.file.as_ref().and_then(|file| file.mismatch(adapter))
            && !quiet
        {
            notice::say(&warning);
        }
    }

    /// The CPU has no use for any of these.
    pub fn refuse_for_cpu(&self) -> Result<(), Fault> {
        let unused = [
            ("--adapter", self.adapter.is_some()),
            ("--base-case", self.tuning.base_case.is_some()),
            ("--warps", self.tuning.warps.is_some()),
            ("--buckets", self.tuning.buckets.is_some()),
            ("--samples", self.tuning.samples.is_some()),
            ("--tuning", self.file.is_some()),
        ];
        match unused.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Fault::Usage(format!(
                "{option} has no meaning with --engine cpu: leave out one of them"
            ))),
            None => Ok(()),
        }
    }
}

/// Where warpsort looks for its splitters.
#[derive(clap::Args)]
pub struct Seed {
    /// Seed of the random samples that warpsort takes; for this engine only. It changes the time,
    /// not the result (default: 0)
    #[arg(long, value_name = "N", help_heading = "Tuning")]
    seed: Option<u64>,
}

impl Seed {
    pub fn apply(&self, options: Options) -> Options {
        match self.seed {
            Some(seed) => options.seed(seed),
            None => options,
        }
    }

    /// No other engine has a use for it.
    pub fn refuse_for_others(&self, choice: Choice) -> Result<(), Fault> {
        let used = matches!(choice, Choice::Gpu(engine) if engine.has_random_splitters());
        if self.seed.is_none() || used {
            return Ok(());
        }
        Err(Fault::Usage(format!(
            "--seed has no meaning with --engine {}: leave out one of them",
            choice.name()
        )))
    }
}

/// A count such as 1000, 2^20 or 10M.
pub fn count(text: &str) -> Result<u64, String> {
    parse_count(text).map_err(|error| error.to_string())
}

/// A count that is not 0.
pub fn positive(text: &str) -> Result<u64, String> {
    match count(text)? {
        0 => Err("at least 1 is needed".to_owned()),
        count => Ok(count),
    }
}

fn count_u32(text: &str) -> Result<u32, String> {
    u32::try_from(count(text)?).map_err(|_| format!("'{text}' is above {}", u32::MAX))
}

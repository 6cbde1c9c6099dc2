//! Code common to the peer programs, for any version of wgpu: arguments, files, untimed and timed
//! sorts, and the JSON. `../README.md` describes the protocol.

use serde::Serialize;
use std::any::Any;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Duration of the warm-up. An idle GPU lowers its clock within milliseconds; this raises it again.
const WARM_UP: Duration = Duration::from_millis(400);

/// Duration of the work right before each timed sort, which keeps the clock up.
const BUSY: Duration = Duration::from_millis(5);

const MOST_UNTIMED: f64 = 256.0;

/// The records of a sort of keys alone.
pub(crate) const KEYS: &str = "keys";

/// The records of a key-value sort.
pub(crate) const PAIRS: &str = "pairs of 8 bytes";

/// Describes a peer.
pub(crate) struct Peer {
    /// Name of the program.
    pub(crate) name: &'static str,
    /// Versions of the library and of wgpu.
    pub(crate) version: String,
    /// The engine without `--pairs`. It may sort pairs, if the library sorts nothing else.
    pub(crate) keys: Engine,
    /// The engine with `--pairs`.
    pub(crate) pairs: Engine,
}

/// One of the peer's sorts.
pub(crate) struct Engine {
    pub(crate) name: &'static str,
    /// The kind of record that it sorts.
    pub(crate) moves: &'static str,
}

/// An open device.
pub(crate) trait Gpu: Sized {
    type Sort: Sort;

    fn open() -> Result<Self, String>;
    fn name(&self) -> String;
    /// True if the GPU's timestamps measure sorts.
    fn has_timestamps(&self) -> bool;
    /// Uploads keys in raw bytes, for pairs with their [`indices`] as values.
    fn upload(&self, keys: &[u8], pairs: bool) -> Result<Self::Sort, String>;
}

/// Records on a device, for repeated sorts.
pub(crate) trait Sort {
    /// Sorts the original input `untimed` times, then once more. Returns the seconds of the last
    /// sort.
    fn sort_timed(&mut self, untimed: u32) -> Result<f64, String>;
    /// Passes the latest output to `accept` piece by piece, with the expected keys of the piece,
    /// until it returns false.
    fn all_pieces(
        &self,
        part: Part,
        expected: &[u8],
        accept: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<bool, String>;
    /// Device memory beyond the keys; `None` if it is unknown.
    fn scratch_bytes(&self) -> Option<u64>;
}

/// A part of the output.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Keys,
    /// Of pairs only.
    Values,
}

#[derive(Serialize)]
struct Report<'a> {
    peer: &'a str,
    version: &'a str,
    device: String,
    clock: &'static str,
    results: [Outcome<'a>; 1],
}

#[derive(Serialize)]
struct Outcome<'a> {
    engine: &'a str,
    r#type: &'a str,
    keys: usize,
    #[serde(flatten)]
    end: End,
}

#[derive(Serialize)]
#[serde(untagged)]
enum End {
    Sorted {
        times_s: Vec<f64>,
        verified: bool,
        scratch_bytes: Option<u64>,
        moves: &'static str,
    },
    Failed {
        error: String,
    },
}

struct Arguments<'a> {
    input: PathBuf,
    expected: PathBuf,
    key_type: KeyType,
    repeats: u32,
    engine: &'a Engine,
}

#[derive(Clone, Copy)]
enum KeyType {
    U32,
    U64,
}

impl KeyType {
    const fn name(self) -> &'static str {
        match self {
            Self::U32 => "u32",
            Self::U64 => "u64",
        }
    }

    const fn bytes(self) -> usize {
        match self {
            Self::U32 => 4,
            Self::U64 => 8,
        }
    }
}

/// The main function of a peer.
pub(crate) fn main<G: Gpu>(peer: &Peer) -> ExitCode {
    let fail = |message: &str, code: u8| {
        eprintln!("{}: {message}", peer.name);
        ExitCode::from(code)
    };
    let arguments = match Arguments::parse(peer, lexopt::Parser::from_env()) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            print!("{}", help(peer));
            return ExitCode::SUCCESS;
        }
        Err(error) => return fail(&format!("{error} (--help explains)"), 2),
    };
    let (input, expected) = match arguments.read() {
        Ok(files) => files,
        Err(error) => return fail(&error, 2),
    };
    let gpu = match caught(G::open) {
        Ok(gpu) => gpu,
        Err(error) => return fail(&format!("no device: {error}"), 3),
    };
    let engine = arguments.engine;
    let sorted = match arguments.key_type {
        KeyType::U32 => caught(|| measure(engine, &gpu, &input, &expected, arguments.repeats)),
        KeyType::U64 => Err(format!("{} sorts u32 keys alone", engine.name)),
    };
    let report = Report {
        peer: peer.name,
        version: &peer.version,
        device: gpu.name(),
        clock: if gpu.has_timestamps() {
            "GPU timestamps"
        } else {
            "wall clock"
        },
        results: [Outcome {
            engine: engine.name,
            r#type: arguments.key_type.name(),
            keys: input.len() / arguments.key_type.bytes(),
            end: sorted.unwrap_or_else(|error| End::Failed {
                // wgpu's errors have several lines.
                error: error.split_whitespace().collect::<Vec<_>>().join(" "),
            }),
        }],
    };
    match serde_json::to_string(&report) {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error.to_string(), 2),
    }
}

fn help(peer: &Peer) -> String {
    let name = peer.name;
    let told = |engine: &Engine| format!("{} (moves: {})", engine.name, engine.moves);
    let (keys, pairs) = (told(&peer.keys), told(&peer.pairs));
    format!(
        "\
Times {name} on a file of keys, and checks what it returns.

Usage: {name} --input KEYS --expected SORTED --type u32|u64 --repeats N [--pairs] [--engines ENGINE]

  --input KEYS       the keys: raw, little-endian
  --expected SORTED  the same keys, sorted
  --type TYPE        u32; u64 is understood, and answered with an error in the JSON
  --repeats N        timed sorts, 1 to 1000000
  --pairs            sort pairs of a key and a 32-bit value
  --engines ENGINE   {keys}, which is all there is here;
                     of pairs, {pairs}
  -h, --help         print this

Prints one JSON object on one line. Exit status: 0, also where these keys cannot be sorted or are
sorted wrong, which the JSON says; 2, bad usage or files; 3, no device.
"
    )
}

impl<'a> Arguments<'a> {
    /// Returns `None` if help is requested.
    fn parse(peer: &'a Peer, mut words: lexopt::Parser) -> Result<Option<Self>, lexopt::Error> {
        use lexopt::prelude::{Long, Short, ValueExt};

        let (mut input, mut expected, mut key_type, mut repeats) = (None, None, None, None);
        let (mut engine, mut engines) = (&peer.keys, None);
        while let Some(word) = words.next()? {
            match word {
                Long("input") => input = Some(words.value()?.into()),
                Long("expected") => expected = Some(words.value()?.into()),
                Long("type") => key_type = Some(words.value()?.parse_with(key_type_of)?),
                Long("repeats") => repeats = Some(words.value()?.parse_with(repeats_of)?),
                Long("pairs") => engine = &peer.pairs,
                Long("engines") => engines = Some(words.value()?),
                Short('h') | Long("help") => return Ok(None),
                other => return Err(other.unexpected()),
            }
        }
        // The available engines depend on --pairs, which may come later.
        if let Some(list) = engines {
            check_engines(engine, &list)?;
        }
        let needed = |option: &str| format!("{option} is needed");
        Ok(Some(Self {
            input: input.ok_or_else(|| needed("--input"))?,
            expected: expected.ok_or_else(|| needed("--expected"))?,
            key_type: key_type.ok_or_else(|| needed("--type"))?,
            repeats: repeats.ok_or_else(|| needed("--repeats"))?,
            engine,
        }))
    }

    fn read(&self) -> Result<(Vec<u8>, Vec<u8>), String> {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let (input, expected) = (read(&self.input)?, read(&self.expected)?);
        if input.len() != expected.len() {
            return Err("--input and --expected differ in length".to_owned());
        }
        if !input.len().is_multiple_of(self.key_type.bytes()) {
            return Err(format!("{}: no whole number of keys", self.input.display()));
        }
        Ok((input, expected))
    }
}

fn key_type_of(value: &str) -> Result<KeyType, &'static str> {
    [KeyType::U32, KeyType::U64]
        .into_iter()
        .find(|key_type| key_type.name() == value)
        .ok_or("--type takes u32 or u64")
}

fn repeats_of(value: &str) -> Result<u32, &'static str> {
    value
        .parse()
        .ok()
        .filter(|repeats| (1..=1_000_000).contains(repeats))
        .ok_or("--repeats takes a number from 1 to 1000000")
}

fn check_engines(engine: &Engine, list: &OsString) -> Result<(), String> {
    if list == engine.name {
        Ok(())
    } else {
        Err(format!(
            "no engines '{}': there is {} alone",
            list.display(),
            engine.name
        ))
    }
}

/// Turns a panic into an error. Libraries panic on unsupported input.
fn caught<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(message_of(&*panic)))
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panic: {}", message.unwrap_or("without a message"))
}

fn measure<G: Gpu>(
    engine: &Engine,
    gpu: &G,
    input: &[u8],
    expected: &[u8],
    repeats: u32,
) -> Result<End, String> {
    let pairs = engine.moves != KEYS;
    let mut sort = gpu.upload(input, pairs)?;
    let started = Instant::now();
    let mut latest = sort.sort_timed(0)?;
    while started.elapsed() < WARM_UP {
        latest = sort.sort_timed(untimed(latest))?;
    }
    let mut times_s = Vec::new();
    for _ in 0..repeats {
        latest = sort.sort_timed(untimed(latest))?;
        times_s.push(latest);
    }
    Ok(End::Sorted {
        times_s,
        verified: verify(&sort, input, expected, pairs)?,
        scratch_bytes: sort.scratch_bytes(),
        moves: engine.moves,
    })
}

/// Checks that the keys are as expected, and for pairs that each value occurs once, with its key.
fn verify(sort: &impl Sort, input: &[u8], expected: &[u8], pairs: bool) -> Result<bool, String> {
    let words = |bytes: &[u8]| -> Vec<u32> {
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_le_bytes);
        bytes.chunks_exact(4).map(word).collect()
    };
    let equal = |sorted: &[u8], expected: &[u8]| sorted == expected;
    if !sort.all_pieces(Part::Keys, expected, equal)? {
        return Ok(false);
    }
    if !pairs {
        return Ok(true);
    }
    let input = words(input);
    let mut seen = vec![false; input.len()];
    sort.all_pieces(Part::Values, expected, |values, expected| {
        words(values)
            .into_iter()
            .zip(words(expected))
            .all(|(value, key)| {
                let index = value as usize;
                input.get(index) == Some(&key) && !std::mem::replace(&mut seen[index], true)
            })
    })
}

/// The values for `count` keys in raw bytes: the index of each key.
pub(crate) fn indices(count: u32) -> Vec<u8> {
    (0..count).flat_map(u32::to_le_bytes).collect()
}

/// The number of sorts that keep the GPU busy for [`BUSY`], if one takes `latest` seconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn untimed(latest: f64) -> u32 {
    (BUSY.as_secs_f64() / latest)
        .ceil()
        .clamp(1.0, MOST_UNTIMED) as u32
}

/// The seconds between two 8-byte timestamps with a period in nanoseconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "a sort takes less than 2^53 nanoseconds"
)]
pub(crate) fn seconds_between(timestamps: &[u8], period: f64) -> f64 {
    let stamps: Vec<u64> = timestamps
        .chunks_exact(8)
        .filter_map(|bytes| bytes.try_into().ok())
        .map(u64::from_le_bytes)
        .collect();
    match stamps[..] {
        [begin, end] => end.wrapping_sub(begin) as f64 * period / 1e9,
        _ => f64::NAN,
    }
}

/// The version of a package in a Cargo.lock.
pub(crate) fn locked_version(lock: &str, package: &str) -> String {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name).skip(1);
    let version = lines.next().and_then(|line| line.split('"').nth(1));
    format!("{package} {}", version.unwrap_or("of an unknown version"))
}

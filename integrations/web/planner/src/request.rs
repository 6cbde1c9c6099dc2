//! What the executor asks for.

use crate::answer::{self, Names};
use crate::failure;
use serde::Deserialize;
use std::ops::Range;
use wgpu_bcfsort::internals::device::{Allowed, DeviceKind};
use wgpu_bcfsort::internals::job::{self, AsSpan, Destination, Span};
use wgpu_bcfsort::internals::layout::Heads;
use wgpu_bcfsort::internals::planner::Planner;
use wgpu_bcfsort::{Comparator, Error, Field, KeyType, Options, Order, Predicate, Tuning};
use wgsl_lockstep::nesting::{self, TooDeep};

/// Reads JSON. A failure says what is wrong.
pub(crate) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|e| answer::failure("InvalidArgument", &e.to_string()))
}

pub(crate) fn key_type(name: &str) -> Result<KeyType, String> {
    let unknown =
        |e: <KeyType as std::str::FromStr>::Err| answer::failure("InvalidArgument", &e.to_string());
    name.parse().map_err(unknown)
}

fn order(is_descending: bool) -> Order {
    if is_descending {
        Order::Descending
    } else {
        Order::Ascending
    }
}

/// A function of rows. A text that would overflow the stack is refused: that ends the module.
fn custom<T>(code: &str, wgsl: &str, new: fn(&str) -> Result<T, Error>) -> Result<T, String> {
    nesting::check(wgsl).map_err(|too_deep| {
        let TooDeep {
            line,
            column,
            message,
        } = too_deep;
        let what = code.to_lowercase();
        let message = format!("{what}: line {line}, column {column}: {message}");
        answer::failure(code, &message)
    })?;
    new(wgsl).map_err(failure)
}

/// A device.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Device {
    /// Whether it is a software adapter.
    is_fallback: bool,
    /// Where samples are taken: random, so that no input is bad on every page.
    seed: u32,
    limits: Limits,
    tile: Option<u32>,
    keys_per_dispatch: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "WebGPU's names")]
struct Limits {
    max_buffer_size: u64,
    max_storage_buffer_binding_size: u64,
    max_compute_workgroups_per_dimension: u32,
    max_compute_workgroup_storage_size: u32,
    max_compute_invocations_per_workgroup: u32,
    max_compute_workgroup_size_x: u32,
    max_storage_buffers_per_shader_stage: u32,
}

impl Device {
    pub(crate) fn planner(&self) -> Result<Planner, Error> {
        let limits = &self.limits;
        let kind = DeviceKind {
            is_cpu: self.is_fallback,
            // A page cannot know: submissions are as short as an integrated GPU needs.
            is_discrete: false,
            has_fxc: false,
        };
        let allowed = Allowed {
            buffer_size: limits.max_buffer_size,
            binding_size: limits.max_storage_buffer_binding_size,
            workgroups: limits.max_compute_workgroups_per_dimension,
            workgroup_bytes: limits.max_compute_workgroup_storage_size,
            workgroup_lanes: limits.max_compute_invocations_per_workgroup,
            workgroup_size_x: limits.max_compute_workgroup_size_x,
            storage_buffers: limits.max_storage_buffers_per_shader_stage,
        };
        let mut options = Options::default();
        if let Some(tile) = self.tile {
            options = options.tuning(Tuning {
                tile,
                ..Tuning::default()
            });
        }
        if let Some(keys) = self.keys_per_dispatch {
            options = options.keys_per_dispatch(keys);
        }
        Planner::new(options, kind, allowed, self.seed)
    }
}

/// A range of a buffer, which a number stands for.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BufferRange {
    buffer: u32,
    offset: u64,
    size: u64,
    buffer_size: u64,
}

impl BufferRange {
    /// All of a buffer.
    pub(crate) fn whole(buffer: u32, size: u64) -> Self {
        Self {
            buffer,
            offset: 0,
            size,
            buffer_size: size,
        }
    }
}

impl AsSpan for BufferRange {
    fn span(&self) -> Span {
        Span::new(self.offset, self.size, self.buffer_size)
    }

    fn is_same_buffer(a: &Self, b: &Self) -> bool {
        a.buffer == b.buffer
    }
}

/// A sort, and what is found among its keys.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Job {
    #[serde(default)]
    pub(crate) names: Names,
    keys: BufferRange,
    #[serde(rename = "type")]
    key: Option<String>,
    length: u64,
    #[serde(default)]
    descending: bool,
    field: Option<FieldAt>,
    bits: Option<[u32; 2]>,
    /// WGSL of a comparator, in place of the key.
    comparator: Option<String>,
    /// WGSL of a predicate, in place of flags.
    predicate: Option<String>,
    output: Option<BufferRange>,
    #[serde(default)]
    keep_keys: bool,
    indices: Option<BufferRange>,
    #[serde(default)]
    payload: Vec<Payload>,
    range: Option<[u64; 2]>,
    count: Option<BufferRange>,
    segments: Option<Segments>,
    /// Whether the keys are in order already.
    #[serde(default)]
    sorted: bool,
    runs: Option<Runs>,
    starts_of: Option<StartsOf>,
    search: Option<Search>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldAt {
    stride: u32,
    offset: u32,
}

impl From<FieldAt> for Field {
    fn from(FieldAt { stride, offset }: FieldAt) -> Self {
        Self { stride, offset }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    rows: BufferRange,
    bytes: u32,
    output: Option<BufferRange>,
    #[serde(default)]
    unstable: bool,
    firsts: Option<BufferRange>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Segments {
    pub(crate) offsets: BufferRange,
    pub(crate) count: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Runs {
    /// Whether keys that are not 0 begin runs: a compaction of flags.
    #[serde(default)]
    of_flags: bool,
    count: BufferRange,
    starts: Option<BufferRange>,
    lengths: Option<BufferRange>,
    keys: Option<BufferRange>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartsOf {
    table: BufferRange,
    cells: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    needles: BufferRange,
    count: u64,
    places: BufferRange,
    upper: bool,
}

/// A scan.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Scan {
    #[serde(default)]
    pub(crate) names: Names,
    values: BufferRange,
    #[serde(rename = "type")]
    of: String,
    length: u64,
    #[serde(default)]
    pub(crate) exclusive: bool,
    output: Option<BufferRange>,
    count: Option<BufferRange>,
}

impl Scan {
    /// The values as keys that are in order already: a job that records nothing, and checks the
    /// length and the ranges.
    pub(crate) fn job(self) -> Result<job::BufferSort<BufferRange>, String> {
        let of = key_type(&self.of)?;
        Ok(job::BufferSort {
            is_sorted: true,
            output: self
                .output
                .map_or(Destination::InPlace, Destination::Buffer),
            count: self.count,
            ..job::BufferSort::new(self.values, of, None, self.length)
        })
    }
}

/// The first k of each row, or of each segment.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TopK {
    #[serde(default)]
    pub(crate) names: Names,
    pub(crate) keys: BufferRange,
    #[serde(rename = "type")]
    key: String,
    /// The keys of all rows or segments.
    pub(crate) length: u64,
    #[serde(default)]
    descending: bool,
    field: Option<FieldAt>,
    bits: Option<[u32; 2]>,
    pub(crate) k: u64,
    pub(crate) rows: Option<u32>,
    pub(crate) segments: Option<Segments>,
    pub(crate) output: Option<BufferRange>,
    pub(crate) indices: Option<BufferRange>,
}

impl TopK {
    pub(crate) fn key(&self) -> Result<KeyType, String> {
        key_type(&self.key)
    }

    pub(crate) fn order(&self) -> Order {
        order(self.descending)
    }

    pub(crate) fn field(&self) -> Option<Field> {
        self.field.map(Field::from)
    }

    pub(crate) fn bits(&self) -> Option<Range<u32>> {
        self.bits.map(|[start, end]| start..end)
    }
}

/// A merge.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Merge {
    #[serde(default)]
    pub(crate) names: Names,
    #[serde(rename = "type")]
    key: String,
    #[serde(default)]
    descending: bool,
    pub(crate) first: Sorted,
    pub(crate) second: Sorted,
    pub(crate) output: Merged,
}

/// One input of a merge.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sorted {
    pub(crate) keys: BufferRange,
    pub(crate) length: u64,
    pub(crate) values: Option<BufferRange>,
    pub(crate) count: Option<BufferRange>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Merged {
    pub(crate) keys: BufferRange,
    pub(crate) values: Option<BufferRange>,
}

impl Merge {
    pub(crate) fn key(&self) -> Result<KeyType, String> {
        key_type(&self.key)
    }

    pub(crate) fn order(&self) -> Order {
        order(self.descending)
    }
}

impl Job {
    /// Whether it is a compaction.
    fn keeps_some(&self) -> bool {
        self.runs.as_ref().is_some_and(|runs| runs.of_flags)
    }

    /// Fails if parts are there that do nothing.
    fn check(&self) -> Result<(), String> {
        let finds = self.runs.is_some() || self.starts_of.is_some() || self.search.is_some();
        let moves = |of: &Payload| of.output.is_some() || of.firsts.is_none();
        let message = if self.keep_keys && self.indices.is_none() && self.payload.is_empty() {
            "keepKeys leaves nothing to write: name indices, values or payload"
        } else if self.sorted && !finds {
            "sorted leaves nothing to write: name runs, unique, startsOf, lowerBound or upperBound"
        } else if self.sorted && (self.keep_keys || self.output.is_some() || self.indices.is_some())
        {
            "sorted combines with none of keepKeys, output and indices: nothing is sorted"
        } else if self.sorted && self.payload.iter().any(moves) {
            "sorted moves neither values nor payload: a payload has firsts, and no output"
        } else if self.predicate.is_some() && (!self.keeps_some() || self.comparator.is_some()) {
            "a predicate is that of a compaction"
        } else if self.keeps_some() && self.segments.is_some() {
            "a compaction has no segments"
        } else if self.runs.is_none() && self.payload.iter().any(|of| of.firsts.is_some()) {
            "payload[].firsts are those of runs: name runs or unique"
        } else {
            return Ok(());
        };
        Err(answer::failure("InvalidArgument", message))
    }

    /// The job of the planner.
    pub(crate) fn job(self) -> Result<job::BufferSort<BufferRange>, String> {
        self.check()?;
        let invalid = |message| Err(answer::failure("InvalidArgument", message));
        let comparator = self.comparator.as_deref();
        let comparator = comparator.map(|wgsl| custom("Comparator", wgsl, Comparator::new));
        let comparator = comparator.transpose()?;
        let predicate = self.predicate.as_deref();
        let predicate = predicate.map(|wgsl| custom("Predicate", wgsl, Predicate::new));
        let predicate = predicate.transpose()?;
        let compared = comparator.as_ref().map(Comparator::row_words);
        let row_words = compared.or(predicate.as_ref().map(Predicate::row_words));
        let (key, field) = match (row_words, &self.key, self.field) {
            (Some(words), None, None) => {
                let stride = words * 4;
                (KeyType::U32, Some(Field { stride, offset: 0 }))
            }
            (Some(_), ..) if comparator.is_some() => {
                return invalid("a job with a comparator has neither type nor field");
            }
            (Some(_), ..) => return invalid("a job with a predicate has neither type nor field"),
            (None, None, _) if self.keeps_some() => {
                return invalid("type is missing: a job has a type or a predicate");
            }
            (None, None, _) => return invalid("type is missing: a job has a type or a comparator"),
            (None, Some(key), field) => (key_type(key)?, field.map(Field::from)),
        };
        if comparator.is_some() && self.bits.is_some() {
            return invalid("a job with a comparator has no bits");
        }
        let output = match (self.output, self.keep_keys) {
            (Some(_), true) => return invalid("a job has either keepKeys or output"),
            (Some(output), false) => Destination::Buffer(output),
            (None, true) => Destination::None,
            (None, false) => Destination::InPlace,
        };
        let payload = self.payload.into_iter().map(|payload| job::Payload {
            rows: payload.rows,
            bytes: payload.bytes,
            output: payload.output,
            unstable: payload.unstable,
            firsts: payload.firsts,
        });
        let runs = self.runs.map(|runs| job::Runs {
            heads: match (runs.of_flags, &predicate) {
                (true, Some(_)) => Heads::OfPredicate,
                (true, None) => Heads::OfFlags,
                (false, _) => Heads::OfKeys,
            },
            count: runs.count,
            starts: runs.starts,
            lengths: runs.lengths,
            keys: runs.keys,
        });
        let search = self.search.map(|search| job::Search {
            needles: search.needles,
            len: search.count,
            places: search.places,
            is_upper: search.upper,
        });
        Ok(job::BufferSort {
            order: order(self.descending),
            comparator,
            predicate,
            output,
            indices: self.indices,
            payload: payload.collect(),
            range: self.range.map(|[start, end]| Range { start, end }),
            count: self.count,
            segments: self.segments.map(|of| (of.offsets, of.count)),
            bits: self.bits.map(|[start, end]| Range { start, end }),
            is_sorted: self.sorted,
            runs,
            cells: self.starts_of.map(|of| (of.table, of.cells)),
            search,
            ..job::BufferSort::new(self.keys, key, field, self.length)
        })
    }
}

//! Jobs whose buffers have different numbers of records: the top k of segments, and merges.

use crate::answer::{self, Names};
use crate::failed;
use crate::request::{BufferRange, Merge, TopK};
use wgpu_bcfsort::internals::job::{AsSpan, Bound, BufferSort};
use wgpu_bcfsort::internals::merging::{MergeLayout, MergedValues, kernels::merges, record_merge};
use wgpu_bcfsort::internals::planner::Planner;
use wgpu_bcfsort::internals::recording::{Buffer, Recording};
use wgpu_bcfsort::internals::top_k::kernels::{CELLS, LONGEST, Rounds};
use wgpu_bcfsort::internals::top_k::{Segments, TopKLayout, record_top_k};
use wgpu_bcfsort::{BufferRole, Error, KeyType};

/// What is bound of the buffers of a job.
type Bindings = Vec<(BufferRole, Bound)>;

/// One buffer of a job.
struct Part {
    role: BufferRole,
    /// Its records, as keys that are in order already: a job that records nothing, and checks their
    /// number and the range.
    records: BufferSort<BufferRange>,
    is_written: bool,
}

impl Part {
    fn read(role: BufferRole, range: BufferRange, of: KeyType, len: u64) -> Self {
        Self {
            role,
            records: BufferSort {
                is_sorted: true,
                ..BufferSort::new(range, of, None, len)
            },
            is_written: false,
        }
    }

    fn written(role: BufferRole, range: BufferRange, of: KeyType, len: u64) -> Self {
        Self {
            is_written: true,
            ..Self::read(role, range, of, len)
        }
    }

    /// What is bound, and the index of the first record in it.
    fn located(&self, planner: &Planner) -> Result<(Bound, u32), Error> {
        planner.record(&self.records)?;
        let bindings = self.records.bindings()?;
        let &(_, range, bound) = &bindings[0];
        // (It has been checked that the offset is a multiple.)
        let first = (range.span().offset - bound.offset) / self.records.key.bytes();
        Ok((bound, first as u32))
    }

    /// What the job calls it.
    fn name<'a>(&self, names: &'a Names) -> &'a str {
        let name = names.get(&Buffer::from(self.role).to_string());
        name.map_or("", String::as_str)
    }
}

/// Where the parts of a job are, by their roles.
struct Located(Vec<(BufferRole, Bound, u32)>);

impl Located {
    /// Fails if a part does not fit, or if one that is written shares its buffer.
    fn new(planner: &Planner, parts: &[Part], names: &Names) -> Result<Self, String> {
        let mut located = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let clashes = |first: &&Part| {
                let [a, b] = [*first, part].map(|part| &part.records.keys);
                (first.is_written || part.is_written) && BufferRange::is_same_buffer(a, b)
            };
            if let Some(first) = parts[..number].iter().find(clashes) {
                let message = answer::same_buffer(first.name(names), part.name(names));
                return Err(answer::failure("SameBuffer", &message));
            }
            let (bound, first) = part.located(planner).map_err(|error| {
                let keys = (Buffer::Keys.to_string(), part.name(names).to_owned());
                failed(&error, &Names::from([keys]))
            })?;
            located.push((part.role, bound, first));
        }
        Ok(Self(located))
    }

    fn first(&self, role: BufferRole) -> Option<u32> {
        let mut parts = self.0.iter();
        parts.find(|part| part.0 == role).map(|part| part.2)
    }

    /// What is bound. An input without records may be an empty buffer, of which nothing is.
    fn bindings(&self) -> Bindings {
        let bound = self.0.iter().filter(|(_, bound, _)| bound.size > 0);
        bound.map(|&(role, bound, _)| (role, bound)).collect()
    }
}

pub(crate) fn top_k(planner: &Planner, job: TopK) -> Result<(Recording, Bindings), String> {
    let invalid = |message: &str| Err(answer::failure("InvalidArgument", message));
    let option = |name, value: u64, allowed| {
        let message = answer::invalid_option(name, value, allowed);
        Err(answer::failure("InvalidOption", &message))
    };
    let key = job.key()?;
    if job.output.is_none() && job.indices.is_none() {
        return invalid("a top k leaves nothing to write: name output or indices");
    }
    if !(1..=u64::from(CELLS)).contains(&job.k) {
        return option("k", job.k, "1 to 1024");
    }
    let k = job.k as u32;
    let (order, field, bits) = (job.order(), job.field(), job.bits());
    let mut keys = Part::read(BufferRole::Keys, job.keys, key, job.length);
    keys.records.field = field;
    keys.records.bits.clone_from(&bits);
    let mut parts = vec![keys];
    let count = match (job.rows, job.segments) {
        (Some(rows), None) => rows,
        (None, Some(segments)) => {
            // A binding is never empty, even without segments.
            let words = u64::from(segments.count).max(1);
            let role = BufferRole::Offsets;
            parts.push(Part::read(role, segments.offsets, KeyType::U32, words));
            segments.count
        }
        _ => return invalid("a top k is either of rows or of segments"),
    };
    let counted = if let Some(rows) = job.rows.map(u64::from) {
        let len = job.length.checked_div(rows).unwrap_or_default();
        if len * rows != job.length {
            let message = format!("length is {}, but must be a multiple of rows", job.length);
            return invalid(&message);
        }
        if len > u64::from(LONGEST) {
            return option("length / rows", len, "at most 2^20");
        }
        Some(len as u32)
    } else {
        None
    };
    // All bits of a key, or those of it that count. Keys of 64 bits have none to spare, either.
    let bits = bits.unwrap_or(0..(key.bytes() as u32 * 8).min(32));
    let used = bits.end.saturating_sub(bits.start);
    if job.output.is_some() && used < 32 {
        let allowed = "32 or 64 where keys are written: write their indices";
        return option("bits of the keys", used.into(), allowed);
    }
    let written = u64::from(count) * u64::from(k);
    if let Some(range) = job.output {
        parts.push(Part::written(BufferRole::Output, range, key, written));
    }
    if let Some(range) = job.indices {
        let role = BufferRole::Indices;
        parts.push(Part::written(role, range, KeyType::U32, written));
    }
    let located = Located::new(planner, &parts, &job.names)?;
    let first = |role| located.first(role);
    let (offset, stride) = field.map_or((0, 1), |field| {
        let bytes = key.bytes() as u32;
        (field.offset / bytes, field.stride / bytes)
    });
    let layout = TopKLayout {
        k,
        count,
        segments: match counted {
            Some(len) => Segments::Rows(len),
            None => Segments::Offsets(first(BufferRole::Offsets).unwrap_or_default()),
        },
        first: first(BufferRole::Keys).unwrap_or_default() + offset,
        stride,
        bits: (key.bytes() < 4).then_some(key.bytes() as u32 * 8),
        low: bits.start,
        unused: 32 - used,
        rounds: Rounds::of(planner.kind),
        output: first(BufferRole::Output),
        indices: first(BufferRole::Indices),
    };
    // Keys as they are compared: those of 8 and 16 bits are widened.
    let compared = planner.record(&parts[0].records);
    let compared = compared.map_err(|error| failed(&error, &job.names))?;
    let of = (compared.key, order);
    let recording = record_top_k(compared.len, of, &layout, &planner.limits);
    Ok((recording, located.bindings()))
}

pub(crate) fn merge(planner: &Planner, job: Merge) -> Result<(Recording, Bindings), String> {
    let invalid = |message| Err(answer::failure("InvalidArgument", message));
    let of = job.key()?;
    if !merges(of) {
        return Err(failed(&Error::NoMerge(of), &job.names));
    }
    let (order, [a, b]) = (job.order(), [job.first, job.second]);
    let lens = [a.length, b.length];
    let all = a.length.saturating_add(b.length);
    let mut parts = vec![
        Part::read(BufferRole::Keys, a.keys, of, a.length),
        Part::read(BufferRole::SecondKeys, b.keys, of, b.length),
        Part::written(BufferRole::Output, job.output.keys, of, all),
    ];
    match (a.values, b.values, job.output.values) {
        (Some(of_a), Some(of_b), Some(output)) => parts.extend([
            Part::read(BufferRole::Payload(0), of_a, KeyType::U32, a.length),
            Part::read(BufferRole::Payload(1), of_b, KeyType::U32, b.length),
            Part::written(BufferRole::PayloadOutput(0), output, KeyType::U32, all),
        ]),
        (None, None, None) => {}
        _ => return invalid("values are those of first, second and output: name all or none"),
    }
    match (a.count, b.count) {
        (Some(of_a), Some(of_b)) => parts.extend([
            Part::read(BufferRole::Count, of_a, KeyType::U32, 1),
            Part::read(BufferRole::SecondCount, of_b, KeyType::U32, 1),
        ]),
        (None, None) => {}
        _ => return invalid("count is that of first and of second: name both or none"),
    }
    let located = Located::new(planner, &parts, &job.names)?;
    let first = |role| located.first(role);
    let required = |role| first(role).unwrap_or_default();
    let layout = MergeLayout {
        first_a: required(BufferRole::Keys),
        first_b: required(BufferRole::SecondKeys),
        output: required(BufferRole::Output),
        values: first(BufferRole::PayloadOutput(0)).map(|output| MergedValues {
            a: required(BufferRole::Payload(0)),
            b: required(BufferRole::Payload(1)),
            output,
        }),
        counts: first(BufferRole::Count).map(|a| [a, required(BufferRole::SecondCount)]),
    };
    // (The parts have checked that their sum is below 2^32.)
    let lens = lens.map(|len| len as u32);
    let recording = record_merge(lens, of, order, &layout, &planner.limits);
    Ok((recording, located.bindings()))
}

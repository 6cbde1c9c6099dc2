//! Sorts timed so that the times hold: on keys that stay on the device, on a device that is kept
//! busy, by contenders that take turns.

use bcfsort_term::fault::Fault;
use std::time::{Duration, Instant};
use wgpu_bcfsort::internals::recording::PayloadKind;
use wgpu_bcfsort::{Error, KeyType, Keys, PreparedSort, Profile, SortJob, SortKey, Sorter, wgpu};

/// How a device is kept from idling while it is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Work done before a series of timed sorts.
    warm_up: Duration,
    /// Work done right before each timed sort.
    busy: Duration,
}

impl Pace {
    /// An idle GPU lowers its clock within milliseconds; 0.4 s of work bring it up again, and since
    /// small sorts alone leave gaps in which it falls, each has 5 ms of work before it.
    pub(crate) const GPU: Self = Self {
        warm_up: Duration::from_millis(400),
        busy: Duration::from_millis(5),
    };

    /// No more than one sort: where the device is a CPU, the host that waits for it keeps it awake.
    pub(crate) const CPU: Self = Self {
        warm_up: Duration::ZERO,
        busy: Duration::ZERO,
    };

    /// What suits an adapter.
    pub(crate) fn of(adapter: &wgpu::AdapterInfo) -> Self {
        match adapter.device_type {
            wgpu::DeviceType::Cpu => Self::CPU,
            _ => Self::GPU,
        }
    }
}

/// A data set in a buffer, to be sorted again and again with nothing for the host to do in between:
/// an idle GPU lowers its clock.
pub(crate) struct Resident<'a> {
    sorter: &'a Sorter,
    input: wgpu::Buffer,
    keys: wgpu::Buffer,
    /// What goes with the keys: as it was, and as it is sorted.
    values: Option<[wgpu::Buffer; 2]>,
    payload: PayloadKind,
    count: u64,
    key: KeyType,
}

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timing {
    /// The sort as it runs untimed, in one compute pass.
    Whole,
    /// Each phase, in a pass of its own.
    Phases,
}

/// Bytes moved between host and device at a time.
const PIECE: usize = 32 << 20;

impl<'a> Resident<'a> {
    /// Uploads the keys to the sorter's device. [`Error::TooLarge`] if one buffer cannot hold them,
    /// [`Error::OutOfMemory`] if the device cannot hold them twice.
    pub(crate) fn upload<T: SortKey>(sorter: &'a Sorter, keys: &[T]) -> Result<Self, Error> {
        use wgpu::BufferUsages as Usage;
        scratch_size(sorter, keys.len() as u64, T::KEY_TYPE)?;
        let input = filled(sorter, "input", keys, Usage::COPY_SRC)?;
        let keys_buffer = buffer(
            sorter,
            "keys",
            input.size(),
            Usage::STORAGE | Usage::COPY_DST | Usage::COPY_SRC,
        )?;
        Ok(Self {
            sorter,
            input,
            keys: keys_buffer,
            values: None,
            payload: PayloadKind::None,
            count: keys.len() as u64,
            key: T::KEY_TYPE,
        })
    }

    /// The same, with what goes with each key: its index for a value, or as one that the sort
    /// writes.
    pub(crate) fn upload_carrying<T: SortKey>(
        sorter: &'a Sorter,
        keys: &[T],
        payload: PayloadKind,
    ) -> Result<Self, Error> {
        use wgpu::BufferUsages as Usage;
        if payload == PayloadKind::None {
            return Self::upload(sorter, keys);
        }
        let resident = Self::upload(sorter, keys)?;
        // Below 2^32, as any count that a device takes.
        let indices: Vec<u32> = (0..keys.len() as u32).collect();
        let input = filled(sorter, "input values", &indices, Usage::COPY_SRC)?;
        let usage = Usage::STORAGE | Usage::COPY_DST | Usage::COPY_SRC;
        let values = buffer(sorter, "values", input.size(), usage)?;
        Ok(Self {
            values: Some([input, values]),
            payload,
            ..resident
        })
    }

    /// What goes with the keys.
    pub(crate) const fn payload(&self) -> PayloadKind {
        self.payload
    }

    /// Prepares a sort of them with one of the device's sorters.
    pub(crate) fn prepare(&self, sorter: &Sorter) -> Result<PreparedSort, Error> {
        let job = SortJob::new(Keys::new(&self.keys, self.key), self.count);
        sorter.prepare(&match &self.values {
            None => job,
            Some([_, indices]) if self.payload == PayloadKind::Indices => job.indices(indices),
            Some([_, values]) => job.values(values),
        })
    }

    /// Sorts once with one of the device's sorters.
    pub(crate) fn sort(&self, sorter: &Sorter) -> Result<Profile, Error> {
        self.run(&self.prepare(sorter)?, Timing::Whole)
    }

    pub(crate) fn run(&self, sort: &PreparedSort, timing: Timing) -> Result<Profile, Error> {
        self.submit(|encoder| self.restore(encoder));
        match timing {
            Timing::Whole => sort.run_timed(),
            Timing::Phases => sort.run_profiled(),
        }
    }

    /// Whether the keys on the device are these, byte by byte.
    pub(crate) fn holds<T: SortKey>(&self, expected: &[T]) -> Result<bool, Error> {
        holds(self.sorter, &self.keys, expected)
    }

    /// Whether the device holds these keys, sorted, and, where they have values, each once and with
    /// its key. (Equal keys may come in any order.) Both are given as they lie in memory.
    pub(crate) fn holds_result(&self, input: &[u8], sorted: &[u8]) -> Result<bool, Error> {
        if !holds(self.sorter, &self.keys, sorted)? {
            return Ok(false);
        }
        let Some([_, values]) = &self.values else {
            return Ok(true);
        };
        let width = self.key.bytes() as usize;
        let mut seen = vec![false; self.count as usize];
        let mut goes_with = |(value, key): (&[u8], &[u8])| {
            let index = value
                .try_into()
                .map_or(usize::MAX, |value| u32::from_le_bytes(value) as usize);
            let first = seen
                .get_mut(index)
                .is_some_and(|seen| !std::mem::replace(seen, true));
            first && input[index * width..][..width] == *key
        };
        let bytes = self.count as usize * 4;
        for offset in (0..bytes).step_by(PIECE) {
            let end = bytes.min(offset + PIECE);
            let values = read(self.sorter, values, offset as u64, (end - offset) as u64)?;
            let keys = &sorted[offset / 4 * width..end / 4 * width];
            let mut pairs = values.chunks_exact(4).zip(keys.chunks_exact(width));
            if !pairs.all(&mut goes_with) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sorts once with what the sort leaves in its scratch memory.
    pub(crate) fn sort_prepared(&self, sorter: &Sorter) -> Result<PreparedSort, Error> {
        let prepared = self.prepare(sorter)?;
        restore(self.sorter, &self.input, &self.keys);
        for chunk in 0..prepared.chunks() {
            self.submit(|encoder| prepared.record_chunk(encoder, chunk));
        }
        Ok(prepared)
    }

    /// Times the sorters, `repeats` sorts each, interleaved. `told` is called after each round.
    pub(crate) fn interleaved(
        &self,
        sorters: &[&Sorter],
        timing: Timing,
        repeats: u32,
        pace: Pace,
        told: impl FnMut(u32),
    ) -> Result<Vec<Vec<Profile>>, Error> {
        let prepared: Vec<PreparedSort> = sorters
            .iter()
            .map(|&sorter| self.prepare(sorter))
            .collect::<Result<_, Error>>()?;
        let Some(work) = prepared.first() else {
            return Ok(Vec::new());
        };
        let sorts: Vec<_> = prepared
            .iter()
            .map(|sort| || self.run(sort, timing))
            .collect();
        let sorts: Vec<Timed<'_>> = sorts.iter().map(|sort| sort as Timed<'_>).collect();
        let busy = |times| self.keep_busy(work, times);
        interleave(pace, repeats, &busy, &sorts, told)
    }

    /// Gives the device sorts to do that are not timed, all in one submission: small ones submitted
    /// one by one would leave it idle most of the time.
    pub(crate) fn keep_busy(&self, work: &PreparedSort, times: u32) {
        if times > 0 {
            self.submit(|encoder| {
                for _ in 0..times {
                    self.restore(encoder);
                    work.record(encoder);
                }
            });
        }
    }

    /// Puts the keys back in their first order.
    fn restore(&self, encoder: &mut wgpu::CommandEncoder) {
        copy(encoder, &self.input, &self.keys);
        if let Some([input, values]) = &self.values {
            copy(encoder, input, values);
        }
    }

    fn submit(&self, encode: impl FnOnce(&mut wgpu::CommandEncoder)) {
        submit(self.sorter, encode);
    }
}

/// Does once what is timed.
pub(crate) type Timed<'a> = &'a dyn Fn() -> Result<Profile, Error>;

/// Times each contender `repeats` times, interleaved. `busy` gives the device a multiple of the
/// work of the first one to do, untimed; `told` is called after each round.
pub(crate) fn interleave(
    pace: Pace,
    repeats: u32,
    busy: &dyn Fn(u32),
    contenders: &[Timed<'_>],
    mut told: impl FnMut(u32),
) -> Result<Vec<Vec<Profile>>, Error> {
    let mut profiles = vec![Vec::new(); contenders.len()];
    let Some(first) = contenders.first() else {
        return Ok(profiles);
    };
    let once = first()?.total;
    let times = |time: Duration| (time.as_nanos() / once.as_nanos().max(1)) as u32;
    let started = Instant::now();
    while started.elapsed() < pace.warm_up {
        busy(times(4 * pace.busy).clamp(1, 256));
        first()?;
    }
    for round in 0..repeats {
        for (contender, profiles) in contenders.iter().zip(&mut profiles) {
            busy(times(pace.busy).min(256));
            profiles.push(contender()?);
        }
        told(round + 1);
    }
    Ok(profiles)
}

/// Copies a whole buffer to another, on the device.
pub(crate) fn restore(sorter: &Sorter, from: &wgpu::Buffer, to: &wgpu::Buffer) {
    submit(sorter, |encoder| copy(encoder, from, to));
}

fn copy(encoder: &mut wgpu::CommandEncoder, from: &wgpu::Buffer, to: &wgpu::Buffer) {
    encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
}

/// Makes a buffer that holds these.
pub(crate) fn filled<T: bytemuck::Pod>(
    sorter: &Sorter,
    role: &str,
    contents: &[T],
    usage: wgpu::BufferUsages,
) -> Result<wgpu::Buffer, Error> {
    let bytes: &[u8] = bytemuck::cast_slice(contents);
    // A buffer must have a size, also one of nothing.
    let size = (bytes.len() as u64).max(8);
    let buffer = buffer(sorter, role, size, usage | wgpu::BufferUsages::COPY_DST)?;
    for (i, piece) in bytes.chunks(PIECE).enumerate() {
        sorter
            .queue()
            .write_buffer(&buffer, (i * PIECE) as u64, piece);
        sorter.queue().submit([]);
    }
    Ok(buffer)
}

/// Whether a buffer begins with these, byte by byte.
pub(crate) fn holds<T: bytemuck::Pod>(
    sorter: &Sorter,
    buffer: &wgpu::Buffer,
    expected: &[T],
) -> Result<bool, Error> {
    let expected: &[u8] = bytemuck::cast_slice(expected);
    for (i, piece) in expected.chunks(PIECE).enumerate() {
        let offset = (i * PIECE) as u64;
        if read(sorter, buffer, offset, piece.len() as u64)? != piece {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(crate) fn submit(sorter: &Sorter, encode: impl FnOnce(&mut wgpu::CommandEncoder)) {
    let device = sorter.device();
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encode(&mut encoder);
    sorter.queue().submit([encoder.finish()]);
}

/// The scratch memory of a sort of `len` keys in bytes, before there is a buffer for them.
pub(crate) fn scratch_size(sorter: &Sorter, len: u64, key: KeyType) -> Result<u64, Error> {
    let any = buffer(sorter, "any", 8, wgpu::BufferUsages::STORAGE)?;
    sorter.scratch_size(&SortJob::new(Keys::new(&any, key), len))
}

/// Makes a buffer on a sorter's device, or says that there is no memory for it.
pub(crate) fn buffer(
    sorter: &Sorter,
    role: &str,
    size: u64,
    usage: wgpu::BufferUsages,
) -> Result<wgpu::Buffer, Error> {
    let device = sorter.device();
    let scope = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(&format!("measure.{role}")),
        size,
        usage,
        mapped_at_creation: false,
    });
    match pollster::block_on(scope.pop()) {
        Some(error) => Err(Error::OutOfMemory {
            bytes: size,
            message: error.to_string(),
        }),
        None => Ok(buffer),
    }
}

/// Reads a part of a buffer.
pub(crate) fn read(
    sorter: &Sorter,
    from: &wgpu::Buffer,
    offset: u64,
    size: u64,
) -> Result<Vec<u8>, Error> {
    sorter.download(from.slice(offset..offset + size))
}

/// A device that has no memory for a data set, told to who chose its size with `option`.
pub(crate) fn too_large(error: Error, option: &str) -> Fault {
    match error {
        Error::OutOfMemory { bytes, .. } => Fault::Device(format!(
            "the device has no memory for twice {bytes} bytes: take smaller {option}"
        )),
        error => error.into(),
    }
}

/// The median; of an even number of times, the mean of the middle two.
pub(crate) fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    match times.len() {
        0 => Duration::ZERO,
        len => (times[(len - 1) / 2] + times[len / 2]) / 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let of =
            |times: &[u64]| median(times.iter().map(|&s| Duration::from_secs(s))).as_secs_f64();
        assert!(of(&[]).abs() < 1e-9);
        assert!((of(&[5, 1, 3]) - 3.0).abs() < 1e-9);
        assert!((of(&[4, 1, 2, 9]) - 3.0).abs() < 1e-9);
    }
}

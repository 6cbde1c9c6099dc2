//! Reliable timing of sorts: the keys stay on the device, the device is kept busy, and contenders
//! are interleaved.

use bcfsort_term::fault::Fault;
use std::time::{Duration, Instant};
use wgpu_bcfsort::internals::recording::PayloadKind;
use wgpu_bcfsort::{
    Detail, Error, KeyType, Keys, PreparedSort, Profile, SortJob, SortKey, Sorter, wgpu,
};

/// Keeps a device from idling while it is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Duration of the work before a series of timed sorts.
    warm_up: Duration,
    /// Duration of the work right before each timed sort.
    busy: Duration,
}

impl Pace {
    /// An idle GPU lowers its clock within milliseconds, and 0.4 s of work raise it again. Small
    /// sorts leave gaps in which the clock falls, so 5 ms of work precede each.
    pub(crate) const GPU: Self = Self {
        warm_up: Duration::from_millis(400),
        busy: Duration::from_millis(5),
    };

    /// Only one sort: on a CPU device, the waiting host keeps the device awake.
    pub(crate) const CPU: Self = Self {
        warm_up: Duration::ZERO,
        busy: Duration::ZERO,
    };

    /// The pace for an adapter.
    pub(crate) fn of(adapter: &wgpu::AdapterInfo) -> Self {
        match adapter.device_type {
            wgpu::DeviceType::Cpu => Self::CPU,
            _ => Self::GPU,
        }
    }
}

/// A data set in GPU buffers, for repeated sorts without host work in between: an idle GPU lowers
/// its clock.
pub(crate) struct Resident<'a> {
    sorter: &'a Sorter,
    input: wgpu::Buffer,
    keys: wgpu::Buffer,
    /// The input and the sorted values.
    values: Option<[wgpu::Buffer; 2]>,
    payload: PayloadKind,
    count: u64,
    key: KeyType,
}

/// Bytes per transfer between host and device.
const PIECE: usize = 32 << 20;

impl<'a> Resident<'a> {
    /// Uploads the keys to the sorter's device. Returns [`Error::TooLarge`] if one buffer cannot
    /// hold them, [`Error::OutOfMemory`] if the device cannot hold them twice.
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

    /// Uploads keys with a payload: the index of each key as its value, or indices that the sort
    /// writes.
    pub(crate) fn upload_with_payload<T: SortKey>(
        sorter: &'a Sorter,
        keys: &[T],
        payload: PayloadKind,
    ) -> Result<Self, Error> {
        use wgpu::BufferUsages as Usage;
        if payload == PayloadKind::None {
            return Self::upload(sorter, keys);
        }
        let resident = Self::upload(sorter, keys)?;
        // Below 2^32, like any count that a device accepts.
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

    /// The kind of payload.
    pub(crate) const fn payload(&self) -> PayloadKind {
        self.payload
    }

    /// Prepares a sort of these keys with one of the device's sorters.
    pub(crate) fn prepare(&self, sorter: &Sorter) -> Result<PreparedSort, Error> {
        let job = SortJob::new(Keys::new(&self.keys, self.key), self.count);
        (match &self.values {
            None => job,
            Some([_, indices]) if self.payload == PayloadKind::Indices => job.indices(indices),
            Some([_, values]) => job.values(values),
        })
        .prepare(sorter)
    }

    /// Sorts once with one of the device's sorters.
    pub(crate) fn sort(&self, sorter: &Sorter) -> Result<Profile, Error> {
        self.run(&self.prepare(sorter)?, Detail::Whole)
    }

    pub(crate) fn run(&self, sort: &PreparedSort, detail: Detail) -> Result<Profile, Error> {
        self.submit(|encoder| self.restore(encoder));
        sort.profile(detail)
    }

    /// True if the keys on the device equal `expected`, byte for byte.
    pub(crate) fn holds<T: SortKey>(&self, expected: &[T]) -> Result<bool, Error> {
        holds(self.sorter, &self.keys, expected)
    }

    /// True if the device holds the sorted keys, and each value occurs once, beside its key. Equal
    /// keys may be in any order. `input` and `sorted` are the bytes of the keys in memory.
    pub(crate) fn holds_result(&self, input: &[u8], sorted: &[u8]) -> Result<bool, Error> {
        if !holds(self.sorter, &self.keys, sorted)? {
            return Ok(false);
        }
        let Some([_, values]) = &self.values else {
            return Ok(true);
        };
        let width = self.key.bytes() as usize;
        let mut seen = vec![false; self.count as usize];
        let mut is_pair = |(value, key): (&[u8], &[u8])| {
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
            if !pairs.all(&mut is_pair) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sorts once, so that the scratch memory of the sort can be read afterwards.
    pub(crate) fn sort_prepared(&self, sorter: &Sorter) -> Result<PreparedSort, Error> {
        let prepared = self.prepare(sorter)?;
        restore(self.sorter, &self.input, &self.keys);
        for chunk in 0..prepared.chunks() {
            self.submit(|encoder| prepared.record_chunk(encoder, chunk));
        }
        Ok(prepared)
    }

    /// Times the sorters, `repeats` sorts each, interleaved. Calls `on_round` after each round.
    pub(crate) fn interleaved(
        &self,
        sorters: &[&Sorter],
        detail: Detail,
        repeats: u32,
        pace: Pace,
        on_round: impl FnMut(u32),
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
            .map(|sort| || self.run(sort, detail))
            .collect();
        let sorts: Vec<Timed<'_>> = sorts.iter().map(|sort| sort as Timed<'_>).collect();
        let busy = |times| self.keep_busy(work, times);
        interleave(pace, repeats, &busy, &sorts, on_round)
    }

    /// Submits untimed sorts to the device, all in one submission: separate submissions of small
    /// sorts would leave it idle most of the time.
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

    /// Records a copy of the input over the keys and values.
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

/// Runs a measured operation once.
pub(crate) type Timed<'a> = &'a dyn Fn() -> Result<Profile, Error>;

/// Times each contender `repeats` times, interleaved. `busy` submits a multiple of the first
/// contender's work, untimed. Calls `on_round` after each round.
pub(crate) fn interleave(
    pace: Pace,
    repeats: u32,
    busy: &dyn Fn(u32),
    contenders: &[Timed<'_>],
    mut on_round: impl FnMut(u32),
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
        on_round(round + 1);
    }
    Ok(profiles)
}

/// Copies a whole buffer to another on the device.
pub(crate) fn restore(sorter: &Sorter, from: &wgpu::Buffer, to: &wgpu::Buffer) {
    submit(sorter, |encoder| copy(encoder, from, to));
}

fn copy(encoder: &mut wgpu::CommandEncoder, from: &wgpu::Buffer, to: &wgpu::Buffer) {
    encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
}

/// Creates a buffer with these contents.
pub(crate) fn filled<T: bytemuck::Pod>(
    sorter: &Sorter,
    role: &str,
    contents: &[T],
    usage: wgpu::BufferUsages,
) -> Result<wgpu::Buffer, Error> {
    let bytes: &[u8] = bytemuck::cast_slice(contents);
    // An empty buffer is not allowed.
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

/// True if a buffer begins with `expected`, byte for byte.
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

/// The scratch memory in bytes for a sort of `len` keys, without a buffer for them.
pub(crate) fn scratch_size(sorter: &Sorter, len: u64, key: KeyType) -> Result<u64, Error> {
    let any = buffer(sorter, "any", 8, wgpu::BufferUsages::STORAGE)?;
    SortJob::new(Keys::new(&any, key), len).scratch_size(sorter)
}

/// Creates a buffer on a sorter's device. Returns [`Error::OutOfMemory`] if memory is short.
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

/// Downloads a part of a buffer.
pub(crate) fn read(
    sorter: &Sorter,
    from: &wgpu::Buffer,
    offset: u64,
    size: u64,
) -> Result<Vec<u8>, Error> {
    sorter.download(from.slice(offset..offset + size))
}

/// The error message for a data set that exceeds the device's memory. `option` sets its size.
pub(crate) fn too_large(error: Error, option: &str) -> Fault {
    match error {
        Error::OutOfMemory { bytes, .. } => Fault::Device(format!(
            "the device has no memory for twice {bytes} bytes: take smaller {option}"
        )),
        error => error.into(),
    }
}

/// The median; for an even number of times, the mean of the middle two.
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

//! The times of a run, by the GPU's timestamps where it has them.

use super::Instant;
use super::calls::submit;
use super::faults::{check_not_lost, scoped};
use super::prepared::Prepared;
use super::transfer::read_into;
use super::waiting::Waiting;
use crate::error::Error;
use std::ops::Range;
use std::time::Duration;

/// What [`PreparedSort::profile`](crate::PreparedSort::profile) and
/// [`PreparedPrefixSums::profile`](crate::paper::PreparedPrefixSums::profile) measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The total time, and no phases. The dispatches are in one compute pass per submission, as in
    /// a run that is not measured.
    Whole,
    /// The time of each phase, too. Each phase has its own compute pass, which makes small sorts
    /// slower.
    Phases,
}

/// The clock behind the times of a [`Profile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clock {
    /// Timestamps written by the GPU.
    Timestamps,
    /// The host's clock, because the device has no usable timestamps, or fewer than the phases
    /// take. The times include submission and waiting.
    WallClock,
}

/// The GPU time of one phase of a sort.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PhaseTime {
    /// The name of the phase.
    pub phase: &'static str,
    /// The number of rounds.
    pub rounds: u32,
    /// The number of dispatches.
    pub dispatches: u32,
    /// The time of all its dispatches.
    pub time: Duration,
}

/// The times of a sort: phases on the GPU, transfers, and merging on the host. A part that did not
/// run has time zero, e.g. the transfers of a sort of GPU buffers.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// use wgpu_bcfsort::{Options, Order, Sorter};
/// let sorter = Sorter::open(Options::default())?;
/// let mut sorted = Vec::new();
/// let profile = sorter.profile(&[3_u32, 1, 2], Order::Ascending, |block| {
///     sorted.extend_from_slice(block);
///     Ok::<_, wgpu_bcfsort::Error>(())
/// })?;
/// assert_eq!(sorted, [1, 2, 3]);
/// for phase in &profile.phases {
///     println!("{}: {:?} in {} dispatches", phase.phase, phase.time, phase.dispatches);
/// }
/// println!("{:?} of {:?}", profile.total, profile.upload + profile.total + profile.download);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// The clock of all GPU times.
    pub clock: Clock,
    /// Time on the GPU, from the beginning of the first dispatch to the end of the last, without
    /// transfers.
    pub total: Duration,
    /// Time to upload the keys to the device.
    pub upload: Duration,
    /// Time to download the keys.
    pub download: Duration,
    /// Time to partition the keys on the host, if they did not fit the device at once.
    pub partition: Duration,
    /// Time of each phase on the GPU, in order. Empty with [`Detail::Whole`], and where a driver's
    /// timestamps are invalid.
    pub phases: Vec<PhaseTime>,
}

impl Profile {
    pub(crate) const fn new(clock: Clock) -> Self {
        Self {
            clock,
            total: Duration::ZERO,
            upload: Duration::ZERO,
            download: Duration::ZERO,
            partition: Duration::ZERO,
            phases: Vec::new(),
        }
    }

    /// Adds the times of another sort. Phases of the same name are added up. The clock becomes
    /// [`Clock::WallClock`] if either profile has it.
    pub fn add(&mut self, other: &Self) {
        if other.clock == Clock::WallClock {
            self.clock = Clock::WallClock;
        }
        self.total += other.total;
        self.upload += other.upload;
        self.download += other.download;
        self.partition += other.partition;
        for phase in &other.phases {
            match self.phases.iter_mut().find(|p| p.phase == phase.phase) {
                Some(found) => {
                    found.rounds += phase.rounds;
                    found.dispatches += phase.dispatches;
                    found.time += phase.time;
                }
                None => self.phases.push(phase.clone()),
            }
        }
    }
}

type Span = (Duration, Duration);

impl Prepared {
    /// Submits all dispatches, waits, and returns the times.
    pub(crate) async fn measure(&self, detail: Detail, waiting: Waiting) -> Result<Profile, Error> {
        let started = Instant::now();
        let passes = match detail {
            Detail::Phases => self.phase_passes(),
            Detail::Whole => self.submissions.iter().cloned().enumerate().collect(),
        };
        let timestamps = self
            .device
            .features()
            .contains(wgpu::Features::TIMESTAMP_QUERY)
            && passes.len() * 2 <= wgpu::QUERY_SET_MAX_QUERIES as usize;
        let measured = if timestamps {
            self.by_timestamps(&passes, waiting).await?
        } else {
            None
        };
        let (clock, spans) = match measured {
            Some(spans) => (Clock::Timestamps, spans),
            None if timestamps => {
                // The sort is done and only the times of the phases are missing. A driver that
                // writes zeros (some Metal versions do, gfx-rs/wgpu#9414) must not fail the sort.
                let mut profile = Profile::new(Clock::WallClock);
                profile.total = started.elapsed();
                return Ok(profile);
            }
            None => (
                Clock::WallClock,
                self.by_wall_clock(&passes, waiting).await?,
            ),
        };
        let mut profile = Profile::new(clock);
        let begin = spans.iter().map(|s| s.0).min().unwrap_or_default();
        profile.total = spans
            .iter()
            .map(|s| s.1)
            .max()
            .unwrap_or_default()
            .saturating_sub(begin);
        if detail == Detail::Whole {
            return Ok(profile);
        }
        for ((_, range), span) in passes.iter().zip(&spans) {
            let dispatches = &self.dispatches[range.clone()];
            let phase = dispatches[0].phase.name();
            let index = profile.phases.iter().position(|p| p.phase == phase);
            let index = index.unwrap_or_else(|| {
                profile.phases.push(PhaseTime {
                    phase,
                    rounds: 0,
                    dispatches: 0,
                    time: Duration::ZERO,
                });
                profile.phases.len() - 1
            });
            // A phase may span several submissions.
            let time = &mut profile.phases[index];
            let rounds = dispatches.iter().map(|d| d.round + 1).max();
            time.rounds = time.rounds.max(rounds.unwrap_or_default());
            time.dispatches += dispatches.len() as u32;
            time.time += span.1.saturating_sub(span.0);
        }
        Ok(profile)
    }

    async fn by_wall_clock(
        &self,
        passes: &[(usize, Range<usize>)],
        waiting: Waiting,
    ) -> Result<Vec<Span>, Error> {
        let begin = Instant::now();
        let mut spans = Vec::new();
        for (_, range) in passes {
            let start = begin.elapsed();
            submit(&self.device, &self.queue, |encoder| {
                self.encode_phase(encoder, range, None);
            })?;
            waiting.done(&self.device, &self.queue).await?;
            spans.push((start, begin.elapsed()));
        }
        // Waits succeed at once on a lost device, and nothing was read that would show the loss.
        check_not_lost(&self.device)?;
        Ok(spans)
    }

    /// Times the passes by timestamp queries. `None` if the driver's timestamps are invalid.
    async fn by_timestamps(
        &self,
        passes: &[(usize, Range<usize>)],
        waiting: Waiting,
    ) -> Result<Option<Vec<Span>>, Error> {
        if passes.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let count = passes.len() as u32 * 2;
        let bytes = u64::from(count) * 8;
        let (queries, resolved, staging) = scoped(&self.device, bytes * 2, || {
            let queries = self.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("bcfsort.timestamps"),
                ty: wgpu::QueryType::Timestamp,
                count,
            });
            let buffer = |label, usage| {
                self.device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some(label),
                    size: bytes,
                    usage,
                    mapped_at_creation: false,
                })
            };
            (
                queries,
                buffer(
                    "bcfsort.timestamps.resolved",
                    wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                ),
                buffer(
                    "bcfsort.timestamps.staging",
                    wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                ),
            )
        })?;
        let mut at = 0;
        for submission in 0..self.submissions() {
            submit(&self.device, &self.queue, |encoder| {
                while let Some((_, range)) = passes.get(at).filter(|(of, _)| *of == submission) {
                    let writes = wgpu::ComputePassTimestampWrites {
                        query_set: &queries,
                        beginning_of_pass_write_index: Some(at as u32 * 2),
                        end_of_pass_write_index: Some(at as u32 * 2 + 1),
                    };
                    self.encode_phase(encoder, range, Some(writes));
                    at += 1;
                }
                if submission + 1 == self.submissions() {
                    encoder.resolve_query_set(&queries, 0..count, &resolved, 0);
                    encoder.copy_buffer_to_buffer(&resolved, 0, &staging, 0, bytes);
                }
            })?;
        }
        let mut words = vec![0u64; count as usize];
        read_into(
            &self.device,
            &staging,
            bytemuck::cast_slice_mut(&mut words),
            waiting,
        )
        .await?;
        let tick = f64::from(self.queue.get_timestamp_period()) * 1e-9;
        let origin = words[0];
        let time = |word: u64| Duration::from_secs_f64(word.saturating_sub(origin) as f64 * tick);
        if words
            .chunks_exact(2)
            .any(|pair| pair[0] == 0 || pair[1] < pair[0])
        {
            log::warn!(
                "the driver's timestamps make no sense: the host's clock is used, without phases"
            );
            return Ok(None);
        }
        Ok(Some(
            words
                .chunks_exact(2)
                .map(|pair| (time(pair[0]), time(pair[1])))
                .collect(),
        ))
    }
}

//! A recording with all its GPU objects and the device that it is for: what callers hold.

use super::executor::{BufferSet, Detail, Prepared, Profile, make_buffers, run_profiled, submit};
use super::faults::check_not_lost;
use super::pipelines::Pipelines;
use super::waiting::Waiting;
use crate::Error;
use crate::recording::{Buffer, Recording};
use std::collections::BTreeMap;

/// See [`PreparedSort`](crate::PreparedSort).
pub(crate) struct Ready {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pub(crate) prepared: Prepared,
    pub(crate) recording: Recording,
    /// Kept alive for the bind groups' sake.
    pub(crate) buffers: BufferSet,
}

impl Ready {
    /// With the buffers of `pool` that are large enough.
    pub(crate) fn new(
        (device, queue): (&wgpu::Device, &wgpu::Queue),
        pipelines: &Pipelines,
        recording: Recording,
        callers: &BTreeMap<Buffer, wgpu::BufferBinding<'_>>,
        pool: BufferSet,
        keys_per_dispatch: u32,
    ) -> Result<Self, Error> {
        let buffers = make_buffers(device, &recording, pool)?;
        let prepared = Prepared::new(
            device,
            pipelines,
            &recording,
            callers,
            &buffers,
            keys_per_dispatch,
        )?;
        Ok(Self {
            device: device.clone(),
            queue: queue.clone(),
            prepared,
            recording,
            buffers,
        })
    }

    /// Records all of it.
    pub(crate) fn record(&self, encoder: &mut wgpu::CommandEncoder) {
        for chunk in 0..self.prepared.submissions() {
            self.prepared.encode(encoder, chunk);
        }
    }

    /// Submits all of it, and does not wait.
    pub(crate) fn run(&self) -> Result<(), Error> {
        self.submit()?;
        check_not_lost(&self.device)
    }

    /// The same, for a caller who reads the result: that tells of a lost device.
    pub(crate) fn submit(&self) -> Result<(), Error> {
        (0..self.prepared.submissions()).try_for_each(|chunk| {
            submit(&self.device, &self.queue, |encoder| {
                self.prepared.encode(encoder, chunk);
            })
        })
    }

    /// Submits all of it and waits.
    pub(crate) async fn measure(&self, detail: Detail, waiting: Waiting) -> Result<Profile, Error> {
        run_profiled(&self.device, &self.queue, &self.prepared, detail, waiting).await
    }

    pub(crate) fn fields(&self, f: &mut std::fmt::Formatter<'_>, name: &str) -> std::fmt::Result {
        f.debug_struct(name)
            .field("len", &self.recording.len)
            .field("key", &self.recording.key)
            .field("order", &self.recording.order)
            .field("dispatches", &self.recording.steps.len())
            .field("chunks", &self.prepared.submissions())
            .finish_non_exhaustive()
    }
}

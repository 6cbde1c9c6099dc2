//! A recording with its GPU objects and its device: the inside of a prepared sort.

use super::executor::{BufferSet, Detail, Prepared, Profile, make_buffers, run_profiled, submit};
use super::faults::check_not_lost;
use super::pipelines::Pipelines;
use super::waiting::Waiting;
use crate::error::Error;
use crate::recording::{Buffer, Recording};
use std::collections::BTreeMap;

/// See [`PreparedSort`](crate::PreparedSort).
pub(crate) struct Ready {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pub(crate) prepared: Prepared,
    pub(crate) recording: Recording,
    /// The owned buffers, which the bind groups use.
    pub(crate) buffers: BufferSet,
}

impl Ready {
    /// Creates all GPU objects. Reuses the buffers of `pool` that are large enough.
    pub(crate) fn new(
        (device, queue): (&wgpu::Device, &wgpu::Queue),
        pipelines: &Pipelines,
        recording: Recording,
        user_buffers: &BTreeMap<Buffer, wgpu::BufferBinding<'_>>,
        pool: BufferSet,
        keys_per_dispatch: u32,
    ) -> Result<Self, Error> {
        let buffers = make_buffers(device, &recording, pool)?;
        let prepared = Prepared::new(
            device,
            pipelines,
            &recording,
            user_buffers,
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

    /// Encodes all submissions into one encoder.
    pub(crate) fn record(&self, encoder: &mut wgpu::CommandEncoder) {
        for chunk in 0..self.prepared.submissions() {
            self.prepared.encode(encoder, chunk);
        }
    }

    /// Submits everything without waiting. Fails if the device is lost.
    pub(crate) fn run(&self) -> Result<(), Error> {
        self.submit()?;
        check_not_lost(&self.device)
    }

    /// Submits everything without waiting. Reading the result is what shows a lost device.
    pub(crate) fn submit(&self) -> Result<(), Error> {
        (0..self.prepared.submissions()).try_for_each(|chunk| {
            submit(&self.device, &self.queue, |encoder| {
                self.prepared.encode(encoder, chunk);
            })
        })
    }

    /// Submits everything, waits, and returns the times.
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

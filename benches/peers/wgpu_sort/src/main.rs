//! Times the crate `wgpu_sort` on a file of keys, with the index of each key as payload.

#[path = "../../common/peer.rs"]
mod peer;

use peer::{Engine, Gpu, PAIRS, Part, Peer, Sort, locked_version};
use std::num::NonZeroU32;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use wgpu_sort::{GPUSorter, HISTO_BLOCK_KVS, SortBuffers};

/// Size in bytes of the host memory for uploads and downloads.
const PIECE: usize = 32 << 20;

/// Its key buffers have 16 bytes per key, four times the size of the keys.
const KEY_BUFFER_BYTES: u64 = 16;

/// It sorts only pairs.
const ENGINE: Engine = Engine {
    name: "wgpu_sort-pairs",
    moves: PAIRS,
};

fn main() -> ExitCode {
    let lock = include_str!("../Cargo.lock");
    peer::main::<Context>(&Peer {
        name: "wgpu_sort",
        version: [
            locked_version(lock, "wgpu_sort"),
            locked_version(lock, "wgpu"),
        ]
        .join(", "),
        keys: ENGINE,
        pairs: ENGINE,
    })
}

#[derive(Clone)]
struct Context {
    name: String,
    device: Arc<wgpu::Device>,
    queue: Arc<wgpu::Queue>,
    /// The first error reported outside of calls.
    trouble: Arc<Mutex<Option<String>>>,
}

impl Context {
    fn check(&self) -> Result<(), String> {
        match self.trouble.lock().map_err(|_| "poisoned")?.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn wait(&self) -> Result<(), String> {
        self.device.poll(wgpu::Maintain::Wait);
        self.check()
    }

    fn buffer(&self, label: &str, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size,
            usage,
            mapped_at_creation: false,
        })
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }

    /// Submits commands. Invalid ones are returned as an error: their submission would panic.
    fn submit(&self, encoder: wgpu::CommandEncoder) -> Result<(), String> {
        let commands = encoder.finish();
        self.check()?;
        self.queue.submit([commands]);
        Ok(())
    }

    fn write(&self, buffer: &wgpu::Buffer, bytes: &[u8]) -> Result<(), String> {
        for (i, piece) in bytes.chunks(PIECE).enumerate() {
            self.queue.write_buffer(buffer, (i * PIECE) as u64, piece);
            self.queue.submit([]);
            self.wait()?;
        }
        Ok(())
    }

    /// Passes a part of a mappable buffer to `take`.
    fn read<T>(
        &self,
        staging: &wgpu::Buffer,
        size: u64,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, String> {
        let slice = staging.slice(..size);
        let (sender, receiver) = std::sync::mpsc::channel();
        slice.map_async(wgpu::MapMode::Read, move |result| {
            // The receiver is gone only if the wait below has failed.
            let _ = sender.send(result);
        });
        self.wait()?;
        let mapped = receiver.recv().map_err(|error| error.to_string())?;
        mapped.map_err(|error| error.to_string())?;
        let taken = take(&slice.get_mapped_range());
        staging.unmap();
        Ok(taken)
    }
}

impl Gpu for Context {
    type Sort = Pairs;

    fn open() -> Result<Self, String> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::util::backend_bits_from_env().unwrap_or(wgpu::Backends::PRIMARY),
            ..Default::default()
        });
        let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        }))
        .ok_or("no adapter")?;
        let (device, queue) = pollster::block_on(adapter.request_device(
            &wgpu::DeviceDescriptor {
                label: None,
                required_features: adapter.features() & wgpu::Features::TIMESTAMP_QUERY,
                required_limits: adapter.limits(),
            },
            None,
        ))
        .map_err(|error| error.to_string())?;
        let trouble = Arc::new(Mutex::new(None));
        let first = Arc::clone(&trouble);
        device.on_uncaptured_error(Box::new(move |error| {
            if let Ok(mut first) = first.lock() {
                first.get_or_insert(error.to_string());
            }
        }));
        Ok(Self {
            name: adapter.get_info().name,
            device: Arc::new(device),
            queue: Arc::new(queue),
            trouble,
        })
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn has_timestamps(&self) -> bool {
        self.device
            .features()
            .contains(wgpu::Features::TIMESTAMP_QUERY)
    }

    fn upload(&self, keys: &[u8], _: bool) -> Result<Pairs, String> {
        use wgpu::BufferUsages as Usages;

        let size = keys.len() as u64;
        let count = u32::try_from(size / 4).map_err(|_| "too many keys")?;
        let count = NonZeroU32::new(count).ok_or("it sorts one pair at least")?;
        let padded = u64::from(count.get()).next_multiple_of(HISTO_BLOCK_KVS.into());
        if padded * KEY_BUFFER_BYTES > u32::MAX.into() {
            return Err("too many keys: it counts the bytes of its buffers in 32 bits".to_owned());
        }
        let subgroup_size = pollster::block_on(wgpu_sort::utils::guess_workgroup_size(
            &self.device,
            &self.queue,
        ));
        self.check()?;
        let subgroup_size =
            subgroup_size.ok_or("it finds no subgroup size that sorts on this device")?;
        let sorter = GPUSorter::new(&self.device, subgroup_size);
        let buffers = sorter.create_sort_buffers(&self.device, count);
        let source = Usages::COPY_SRC | Usages::COPY_DST;
        let (input, indices) = (
            self.buffer("input", size, source),
            self.buffer("indices", size, source),
        );
        let timestamps = self.has_timestamps().then(|| Timestamps {
            set: self.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("begin and end"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            }),
            resolved: self.buffer("timestamps", 16, Usages::QUERY_RESOLVE | Usages::COPY_SRC),
            staging: self.buffer("timestamps read", 16, Usages::MAP_READ | Usages::COPY_DST),
            period: self.queue.get_timestamp_period().into(),
        });
        self.check()?;
        self.write(&input, keys)?;
        self.write(&indices, &peer::indices(count.get()))?;
        Ok(Pairs {
            gpu: self.clone(),
            sorter,
            buffers,
            timestamps,
            input,
            indices,
        })
    }
}

struct Timestamps {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    staging: wgpu::Buffer,
    /// In nanoseconds.
    period: f64,
}

struct Pairs {
    gpu: Context,
    sorter: GPUSorter,
    buffers: SortBuffers,
    timestamps: Option<Timestamps>,
    /// The unsorted keys.
    input: wgpu::Buffer,
    /// The unsorted payload.
    indices: wgpu::Buffer,
}

impl Pairs {
    fn restore(&self, encoder: &mut wgpu::CommandEncoder) {
        let size = self.input.size();
        encoder.copy_buffer_to_buffer(&self.input, 0, self.buffers.keys(), 0, size);
        encoder.copy_buffer_to_buffer(&self.indices, 0, self.buffers.values(), 0, size);
    }

    fn record(&self, encoder: &mut wgpu::CommandEncoder) {
        self.sorter
            .sort(encoder, &self.gpu.queue, &self.buffers, None);
    }

    /// Measures GPU timestamps, with all work in one submission.
    fn sort_by_gpu_clock(
        &self,
        timestamps: &Timestamps,
        mut encoder: wgpu::CommandEncoder,
    ) -> Result<f64, String> {
        encoder.write_timestamp(&timestamps.set, 0);
        self.record(&mut encoder);
        encoder.write_timestamp(&timestamps.set, 1);
        encoder.resolve_query_set(&timestamps.set, 0..2, &timestamps.resolved, 0);
        encoder.copy_buffer_to_buffer(&timestamps.resolved, 0, &timestamps.staging, 0, 16);
        self.gpu.submit(encoder)?;
        self.gpu.read(&timestamps.staging, 16, |bytes| {
            peer::seconds_between(bytes, timestamps.period)
        })
    }

    /// Measures host time, from the submission of the sort alone to its completion.
    fn sort_by_wall_clock(&self, before: wgpu::CommandEncoder) -> Result<f64, String> {
        self.gpu.submit(before)?;
        let mut encoder = self.gpu.encoder();
        self.record(&mut encoder);
        self.gpu.wait()?;
        let started = Instant::now();
        self.gpu.submit(encoder)?;
        self.gpu.wait()?;
        Ok(started.elapsed().as_secs_f64())
    }
}

impl Sort for Pairs {
    fn sort_timed(&mut self, untimed: u32) -> Result<f64, String> {
        let mut encoder = self.gpu.encoder();
        for _ in 0..untimed {
            self.restore(&mut encoder);
            self.record(&mut encoder);
        }
        self.restore(&mut encoder);
        match &self.timestamps {
            Some(timestamps) => self.sort_by_gpu_clock(timestamps, encoder),
            None => self.sort_by_wall_clock(encoder),
        }
    }

    fn all_pieces(
        &self,
        part: Part,
        expected: &[u8],
        mut accept: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<bool, String> {
        let buffer = match part {
            Part::Keys => self.buffers.keys(),
            Part::Values => self.buffers.values(),
        };
        let staging = self.gpu.buffer(
            "read",
            PIECE as u64,
            wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        );
        self.gpu.check()?;
        for (i, piece) in expected.chunks(PIECE).enumerate() {
            let size = piece.len() as u64;
            let mut encoder = self.gpu.encoder();
            encoder.copy_buffer_to_buffer(buffer, (i * PIECE) as u64, &staging, 0, size);
            self.gpu.submit(encoder)?;
            if !self
                .gpu
                .read(&staging, size, |sorted| accept(sorted, piece))?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Its second buffers, both payload buffers, its histograms, and the excess size of its key
    /// buffers.
    fn scratch_bytes(&self) -> Option<u64> {
        let blocks = u64::from(self.buffers.len().div_ceil(HISTO_BLOCK_KVS));
        let histograms = (4 + blocks) * 256 * 4;
        let state = self.buffers.state_buffer().size();
        let buffers = self.buffers.keys().size() + self.buffers.values().size();
        Some(2 * buffers + histograms + state - self.input.size())
    }
}

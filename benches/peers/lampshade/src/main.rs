//! Times the crate lampshade on a file of keys, as keys alone or with their indices as payload.

#[path = "../../common/peer.rs"]
mod peer;

use lampshade::KeyValueSoaSorter;
use peer::{Engine, Gpu, KEYS, PAIRS, Part, Peer, Sort, locked_version};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Size in bytes of the host memory for uploads and downloads.
const PIECE: usize = 32 << 20;

/// Minimum size of a buffer: 0 is not allowed.
const LEAST_BYTES: u64 = 4;

fn main() -> ExitCode {
    let lock = include_str!("../Cargo.lock");
    peer::main::<Context>(&Peer {
        name: "lampshade",
        version: [
            locked_version(lock, "lampshade"),
            locked_version(lock, "wgpu"),
        ]
        .join(", "),
        keys: Engine {
            name: "lampshade",
            moves: KEYS,
        },
        pairs: Engine {
            name: "lampshade-pairs",
            moves: PAIRS,
        },
    })
}

#[derive(Clone)]
struct Context {
    info: wgpu::AdapterInfo,
    device: wgpu::Device,
    queue: wgpu::Queue,
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
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .map_err(|error| error.to_string())?;
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
        let taken = take(
            &slice
                .get_mapped_range()
                .map_err(|error| error.to_string())?,
        );
        staging.unmap();
        Ok(taken)
    }

    fn allocated_bytes(&self) -> Option<u64> {
        let report = self.device.generate_allocator_report()?;
        Some(report.total_allocated_bytes)
    }
}

impl Gpu for Context {
    type Sort = Resident;

    fn open() -> Result<Self, String> {
        let descriptor = wgpu::InstanceDescriptor {
            backends: wgpu::Backends::PRIMARY,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        };
        let instance = wgpu::Instance::new(descriptor.with_env());
        let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        }))
        .map_err(|error| error.to_string())?;
        // Its fastest variant needs subgroups, and the device's owner must request them.
        let wanted = wgpu::Features::SUBGROUP
            | wgpu::Features::TIMESTAMP_QUERY
            | wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS;
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            required_features: adapter.features() & wanted,
            required_limits: adapter.limits(),
            memory_hints: wgpu::MemoryHints::Performance,
            ..Default::default()
        }))
        .map_err(|error| error.to_string())?;
        let trouble = Arc::new(Mutex::new(None));
        let first = Arc::clone(&trouble);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            if let Ok(mut first) = first.lock() {
                first.get_or_insert(error.to_string());
            }
        }));
        Ok(Self {
            info: adapter.get_info(),
            device,
            queue,
            trouble,
        })
    }

    fn name(&self) -> String {
        self.info.name.clone()
    }

    fn has_timestamps(&self) -> bool {
        self.device.features().contains(
            wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS,
        )
    }

    fn upload(&self, keys: &[u8], pairs: bool) -> Result<Resident, String> {
        use wgpu::BufferUsages as Usages;

        let count = u32::try_from(keys.len() / 4).map_err(|_| "too many keys")?;
        let size = (keys.len() as u64).max(LEAST_BYTES);
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
        let source = Usages::COPY_SRC | Usages::COPY_DST;
        let input = self.buffer("input", size, source);
        let sorter = if pairs {
            Sorter::Pairs {
                sorter: Box::new(KeyValueSoaSorter::new(&self.device, &self.queue)),
                indices: self.buffer("indices", size, source),
            }
        } else {
            let sorter = lampshade::Sorter::new_for_adapter(&self.device, &self.queue, &self.info);
            Sorter::Keys(Box::new(sorter))
        };
        let resident = Resident {
            gpu: self.clone(),
            sorter,
            timestamps,
            count,
            input,
            keys: self.buffer("keys", size, source | Usages::STORAGE),
            second: self.buffer("second", size, source | Usages::STORAGE),
            workspace_bytes: None,
        };
        self.check()?;
        self.write(&resident.input, keys)?;
        if let Sorter::Pairs { indices, .. } = &resident.sorter {
            self.write(indices, &peer::indices(count))?;
        }
        Ok(resident)
    }
}

#[derive(Clone)]
struct Timestamps {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    staging: wgpu::Buffer,
    /// In nanoseconds.
    period: f64,
}

enum Sorter {
    /// Sorts from the keys to the second buffer.
    Keys(Box<lampshade::Sorter>),
    /// Sorts in place: the second buffer has the payload.
    Pairs {
        sorter: Box<KeyValueSoaSorter>,
        /// The unsorted payload.
        indices: wgpu::Buffer,
    },
}

struct Resident {
    gpu: Context,
    sorter: Sorter,
    timestamps: Option<Timestamps>,
    count: u32,
    /// The unsorted keys.
    input: wgpu::Buffer,
    /// The keys to sort.
    keys: wgpu::Buffer,
    second: wgpu::Buffer,
    /// Bytes that the sorter allocated in its first sort.
    workspace_bytes: Option<u64>,
}

impl Resident {
    /// lampshade does not change the input of a sort of keys. The keys are copied all the same, so
    /// that all peers find theirs in the caches alike.
    fn restore(&self, encoder: &mut wgpu::CommandEncoder) {
        let size = self.input.size();
        encoder.copy_buffer_to_buffer(&self.input, 0, &self.keys, 0, size);
        if let Sorter::Pairs { indices, .. } = &self.sorter {
            encoder.copy_buffer_to_buffer(indices, 0, &self.second, 0, size);
        }
    }

    fn record(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), String> {
        let (keys, second, count) = (&self.keys, &self.second, self.count);
        match &mut self.sorter {
            Sorter::Keys(sorter) => sorter.record_sort(encoder, keys, second, count),
            Sorter::Pairs { sorter, .. } => sorter.record_sort(encoder, keys, second, count),
        }
        .map_err(|error| error.to_string())
    }

    /// Measures GPU timestamps, with all work in one submission.
    fn sort_by_gpu_clock(
        &mut self,
        timestamps: &Timestamps,
        mut encoder: wgpu::CommandEncoder,
    ) -> Result<f64, String> {
        encoder.write_timestamp(&timestamps.set, 0);
        self.record(&mut encoder)?;
        encoder.write_timestamp(&timestamps.set, 1);
        encoder.resolve_query_set(&timestamps.set, 0..2, &timestamps.resolved, 0);
        encoder.copy_buffer_to_buffer(&timestamps.resolved, 0, &timestamps.staging, 0, 16);
        self.gpu.submit(encoder)?;
        self.gpu.read(&timestamps.staging, 16, |bytes| {
            peer::seconds_between(bytes, timestamps.period)
        })
    }

    /// Measures host time, from the submission of the sort alone to its completion.
    fn sort_by_wall_clock(&mut self, before: wgpu::CommandEncoder) -> Result<f64, String> {
        self.gpu.submit(before)?;
        let mut encoder = self.gpu.encoder();
        self.record(&mut encoder)?;
        self.gpu.wait()?;
        let started = Instant::now();
        self.gpu.submit(encoder)?;
        self.gpu.wait()?;
        Ok(started.elapsed().as_secs_f64())
    }
}

impl Sort for Resident {
    fn sort_timed(&mut self, untimed: u32) -> Result<f64, String> {
        let before = self.gpu.allocated_bytes();
        let mut encoder = self.gpu.encoder();
        for _ in 0..untimed {
            self.restore(&mut encoder);
            self.record(&mut encoder)?;
        }
        self.restore(&mut encoder);
        let seconds = match self.timestamps.clone() {
            Some(timestamps) => self.sort_by_gpu_clock(&timestamps, encoder)?,
            None => self.sort_by_wall_clock(encoder)?,
        };
        if self.workspace_bytes.is_none() {
            self.gpu.wait()?;
            let after = self.gpu.allocated_bytes();
            self.workspace_bytes = after
                .zip(before)
                .map(|(after, before)| after.saturating_sub(before));
        }
        Ok(seconds)
    }

    fn all_pieces(
        &self,
        part: Part,
        expected: &[u8],
        mut accept: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<bool, String> {
        let buffer = match (part, &self.sorter) {
            (Part::Keys, Sorter::Pairs { .. }) => &self.keys,
            (Part::Keys, Sorter::Keys(_)) | (Part::Values, _) => &self.second,
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

    /// Its second buffer, and its workspace.
    fn scratch_bytes(&self) -> Option<u64> {
        Some(u64::from(self.count) * 4 + self.workspace_bytes?)
    }
}

//! Groups payments by account and sums each group, as GROUP BY with COUNT and SUM does. One sort
//! brings the amounts of each account together and finds where its run begins and how long it is; a
//! scan sums all amounts; a shader subtracts. It is one submission, and the host does not know how
//! many groups there are. The groups are compared with the CPU's.
//!
//! ```text
//! cargo run --release --example group_sums
//! ```

use std::collections::BTreeMap;
use wgpu_bcfsort::wgpu::{self, BufferUsages};
use wgpu_bcfsort::{KeyType, Keys, Options, Payload, Runs, ScanJob, SortJob, Sorter};

const PAYMENTS: u32 = 200_000;
const ACCOUNTS: u32 = 5_000;

/// The sum of a group is the sum up to its last record without the sum up to the record before its
/// first one. All sums wrap around at 2^32, so that the difference is right if the group's own sum
/// is less, however large the sum of all groups is.
const SUM_GROUPS: &str = "
@group(0) @binding(0) var<storage, read> count: u32;
@group(0) @binding(1) var<storage, read> starts: array<u32>;
@group(0) @binding(2) var<storage, read> lengths: array<u32>;
// Sum i is that of the sorted amounts 0 to i.
@group(0) @binding(3) var<storage, read> sums: array<u32>;
@group(0) @binding(4) var<storage, read_write> group_sums: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= count {
        return;
    }
    let start = starts[id.x];
    var before = 0u;
    if start > 0u {
        before = sums[start - 1u];
    }
    group_sums[id.x] = sums[start + lengths[id.x] - 1u] - before;
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sorter = Sorter::open(Options::default())?;
    let (device, queue) = (sorter.device(), sorter.queue());
    let (accounts, cents) = payments();

    let buffer = |label, bytes: u64| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes,
            usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        })
    };
    // Any number of records may be groups of their own.
    let words = |label| buffer(label, u64::from(PAYMENTS) * 4);
    let keys = sorter.upload(&accounts)?;
    let amounts = sorter.upload(&cents)?;
    let sorted = words("amounts in the order of the accounts");
    let groups = buffer("account of each group", u64::from(PAYMENTS) * 8);
    let [starts, lengths] = ["first record of each group", "records of each group"].map(words);
    let count = buffer("number of groups", 4);
    let [sums, group_sums] = ["sums of all amounts up to each", "sum of each group"].map(words);

    let len = u64::from(PAYMENTS);
    // The payments stay as they are, so that the same objects group them again after a change.
    let job = SortJob::new(Keys::new(&keys, KeyType::U64), len)
        .keep_keys()
        .payload(Payload::new(&amounts, 4).output(&sorted))
        .runs(
            Runs::new(&count)
                .keys(&groups)
                .starts(&starts)
                .lengths(&lengths),
        );
    let sort = job.prepare(&sorter)?;
    let scan = ScanJob::inclusive(&sorted, KeyType::U32, len).output(&sums);
    let scan = scan.prepare(&sorter)?;
    let bound = [&count, &starts, &lengths, &sums, &group_sums];
    let sum_groups = Pass::new(device, &bound);

    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    sort.record_in_pass(&mut pass);
    scan.record_in_pass(&mut pass);
    sum_groups.record(&mut pass);
    drop(pass);
    queue.submit([encoder.finish()]);

    let found = sorter.download::<u32>(&count)?[0] as usize;
    let groups: Vec<u64> = sorter.download(groups.slice(..found as u64 * 8))?;
    let of_each = |words: &wgpu::Buffer| sorter.download::<u32>(words.slice(..found as u64 * 4));
    let (counts, sums) = (of_each(&lengths)?, of_each(&group_sums)?);
    let on_gpu = groups.into_iter().zip(counts.into_iter().zip(sums));
    let on_gpu: Vec<(u64, (u32, u32))> = on_gpu.collect();
    assert!(on_gpu.iter().copied().eq(on_cpu(&accounts, &cents)));

    let all: u64 = cents.iter().map(|&cents| u64::from(cents)).sum();
    assert!(all > u32::MAX.into(), "the sum of all groups wraps around");
    let (_, (most, of_them)) = on_gpu.iter().max_by_key(|group| group.1.1).unwrap();
    let name = device.adapter_info().name;
    println!("{name}: {PAYMENTS} payments of {found} accounts, summed as the CPU does");
    println!("the largest sum is {of_them} cents, of {most} payments");
    Ok(())
}

/// Accounts, whose numbers are large and of which some have far more payments; and cents.
fn payments() -> (Vec<u64>, Vec<u32>) {
    let number = |i: u32| {
        let mixed = (i ^ 0x5eed).wrapping_mul(0x9e37_79b9);
        (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b) >> 12
    };
    let account = |i: u32| {
        let skewed = (number(2 * i) % ACCOUNTS) * (number(3 * i) % ACCOUNTS) / ACCOUNTS;
        u64::from(skewed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    let cents = |i: u32| number(2 * i + 1) % 100_000;
    (0..PAYMENTS).map(|i| (account(i), cents(i))).unzip()
}

/// The shader that subtracts, with its bindings: a lane for each group that there may be.
struct Pass {
    pipeline: wgpu::ComputePipeline,
    bindings: wgpu::BindGroup,
}

impl Pass {
    fn new(device: &wgpu::Device, buffers: &[&wgpu::Buffer]) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(SUM_GROUPS.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let entries = (0..).zip(buffers).map(|(binding, buffer)| {
            let resource = buffer.as_entire_binding();
            wgpu::BindGroupEntry { binding, resource }
        });
        let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries.collect::<Vec<_>>(),
        });
        Self { pipeline, bindings }
    }

    fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bindings, &[]);
        pass.dispatch_workgroups(PAYMENTS.div_ceil(64), 1, 1);
    }
}

/// The account, the number and the sum of the payments of each group, in the order of accounts.
fn on_cpu(accounts: &[u64], cents: &[u32]) -> BTreeMap<u64, (u32, u32)> {
    let mut groups = BTreeMap::new();
    for (&account, cents) in accounts.iter().zip(cents) {
        let (count, sum) = groups.entry(account).or_insert((0, 0));
        *count += 1;
        *sum += cents;
    }
    groups
}

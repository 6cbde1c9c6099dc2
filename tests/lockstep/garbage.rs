//! No kernel trusts what a buffer holds. Whatever other work left in the tables of a sort, no
//! access is out of bounds, no barrier diverges and every loop ends. That is why the library may
//! compile its kernels without wgpu's checks; see `docs/safety.md`.

use bcfsort_testkit::all_cases;
use bcfsort_testkit::recordings::{Execution, REPRESENTATIVES, library, prefix_sums_library};
use std::collections::{BTreeMap, BTreeSet};
use wgpu_bcfsort::KeyType;
use wgpu_bcfsort::internals::kernels as all_kernels;
use wgpu_bcfsort::internals::recording::{Buffer, Recording, Step};
use wgpu_bcfsort::internals::shader::Kernel;
use wgsl_lockstep::{Config, Fault, Report};

/// A generator of reproducible contents.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 = (self.0.wrapping_mul(0x5851_f42d_4c95_7f2d)).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 32) as u32
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.word() as usize % end.max(1)
    }
}

/// The contents that a buffer gets before a dispatch.
#[derive(Clone, Copy, Debug)]
enum Garbage {
    /// Any words.
    Words,
    /// Numbers up to twice the number of records: many are plausible positions and counts.
    Positions,
    /// The right contents, with some words replaced by others of the buffer or by extremes.
    Mutated,
    /// What another sort left in the memory of this role.
    OfAnotherSort,
}

const GARBAGE: [Garbage; 4] = [
    Garbage::Words,
    Garbage::Positions,
    Garbage::Mutated,
    Garbage::OfAnotherSort,
];

/// The last contents of each role, from the sorts before.
type Left = BTreeMap<Buffer, Vec<u32>>;

fn garbage(
    kind: Garbage,
    (role, words): (Buffer, &[u32]),
    recording: &Recording,
    left: &Left,
    random: &mut Random,
) -> Vec<u32> {
    let len = recording.len;
    let mut made = words.to_vec();
    match kind {
        Garbage::Words => made.fill_with(|| random.word()),
        Garbage::Positions => {
            made.fill_with(|| random.word() % (2 * len + 2));
        }
        Garbage::Mutated => {
            for _ in 0..=made.len() / 8 {
                let at = random.below(made.len());
                let other = made[random.below(made.len())];
                made[at] = [0, 1, u32::MAX, other][random.below(4)];
            }
        }
        Garbage::OfAnotherSort => {
            let other = left.get(&role).filter(|other| !other.is_empty());
            if let Some(other) = other {
                made = other.iter().copied().cycle().take(words.len()).collect();
            }
        }
    }
    if role == Buffer::Parameters {
        // Only the library writes them: numbers of records, up to the capacity.
        made.fill(random.word() % (len + 1));
    } else if recording.custom.is_some() && role.holds_keys() {
        // Kernels that call a custom function keep wgpu's checks of bounds. So here a record is
        // always a row.
        for word in &mut made {
            *word %= len;
        }
    }
    if role == Buffer::Items {
        // A large item takes long: few of them are as good as many.
        let counts = made.iter_mut().skip(2).step_by(3);
        counts.skip(3).for_each(|count| *count %= 100);
    }
    made
}

/// The faults that are unsound without wgpu's checks.
fn unsound(report: &Report) -> Vec<String> {
    let faults = [
        Fault::OutOfBounds,
        Fault::DivergentBarrier,
        Fault::Uninitialised,
        Fault::Runaway,
    ];
    let findings = report.findings.iter();
    findings
        .filter(|finding| faults.contains(&finding.fault))
        .map(|finding| finding.example.clone())
        .collect()
}

fn config() -> Config {
    // No loop of these small sorts needs more.
    Config::default().max_iterations(1 << 16)
}

fn new(recording: &Recording) -> Execution<'_> {
    let words = recording.len * recording.key.words();
    let keys: Vec<u32> = (0..words).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let mut execution = Execution::new(recording, &keys, config());
    let colors = (0..recording.len).map(|i| i % 3).collect();
    execution.set_buffer(Buffer::Colors, colors);
    execution
}

fn roles(step: &Step) -> BTreeSet<Buffer> {
    step.bindings.iter().map(|binding| binding.1).collect()
}

/// Recordings that together run each kernel `times` times or more, if there are as many.
fn recordings(times: u32) -> Vec<Recording> {
    let mut all = prefix_sums_library(KeyType::U32);
    all.extend(prefix_sums_library(KeyType::F32));
    all.extend(prefix_sums_library(KeyType::U64));
    for (key, order) in REPRESENTATIVES {
        all.extend(library(key, order));
    }
    let mut runs: BTreeMap<Kernel, u32> = BTreeMap::new();
    all.retain(|recording| {
        let kernels: BTreeSet<Kernel> = recording
            .steps
            .iter()
            .map(|step| step.kernel.clone())
            .collect();
        let is_needed =
            (kernels.iter()).any(|kernel| runs.get(kernel).is_none_or(|&count| count < times));
        for kernel in kernels.into_iter().filter(|_| is_needed) {
            *runs.entry(kernel).or_default() += 1;
        }
        is_needed
    });
    all
}

fn check(execution: &mut Execution<'_>, step: &Step, what: &str) {
    let label = step.kernel.label();
    let report = execution.step(step).unwrap();
    let found = unsound(&report);
    assert!(found.is_empty(), "{label}, {what}: {found:#?}");
}

#[test]
fn no_kernel_trusts_what_its_buffers_hold() {
    let (times, most) = if all_cases() { (20, 20) } else { (1, 3) };
    let mut random = Random(1);
    let mut left = Left::new();
    let mut tried: BTreeMap<Kernel, u32> = BTreeMap::new();
    for recording in recordings(times) {
        let mut execution = new(&recording);
        for step in &recording.steps {
            let times = tried.entry(step.kernel.clone()).or_default();
            *times += 1;
            if *times <= most {
                let right: Vec<(Buffer, Vec<u32>)> = roles(step)
                    .into_iter()
                    .map(|role| (role, execution.buffer(role).to_vec()))
                    .collect();
                for kind in GARBAGE {
                    for (role, words) in &right {
                        let made = garbage(kind, (*role, words), &recording, &left, &mut random);
                        execution.set_buffer(*role, made);
                    }
                    check(&mut execution, step, &format!("{kind:?}"));
                }
                for (role, words) in right {
                    execution.set_buffer(role, words);
                }
            }
            check(&mut execution, step, "in order");
        }
        for &role in recording.buffers.keys() {
            left.insert(role, execution.buffer(role).to_vec());
        }
    }
    let mut untried = all_kernels();
    // The library leaves out kernels that need too much workgroup memory.
    untried.retain(|kernel| kernel.workgroup_bytes() <= 32 << 10 && !tried.contains_key(kernel));
    assert!(untried.is_empty(), "{untried:?}");
}

/// Chunks of a sort that are submitted in any order, twice, or not at all.
#[test]
fn dispatches_in_any_order_are_in_bounds() {
    let (times, most) = if all_cases() { (20, 1000) } else { (1, 20) };
    let mut random = Random(2);
    for recording in recordings(times) {
        let mut execution = new(&recording);
        for _ in 0..recording.steps.len().min(most) {
            let step = &recording.steps[random.below(recording.steps.len())];
            check(&mut execution, step, "out of order");
        }
    }
}

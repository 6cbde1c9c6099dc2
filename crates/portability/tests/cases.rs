//! What the gates that run a kernel run it on: dispatches of real sorts, and what each must leave
//! according to the lock-step executor.

use crate::gate::Subject;
use bcfsort_testkit::recordings::{
    Coloring, Execution, library, prefix_sums_library, prefix_sums_of, was_sorted,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use wgpu_bcfsort::internals::kernel::{Access, Kernel, Specialised};
use wgpu_bcfsort::internals::recording::{Buffer, Phase, Recording, Step};
use wgpu_bcfsort::{KeyType, Order};
use wgsl_lockstep::Config;

/// The contents of a kernel's buffers by their binding, the parameters among them.
pub(crate) type Contents = BTreeMap<u32, Vec<u32>>;

/// One dispatch of a kernel.
pub(crate) struct Case {
    /// Where it comes from, for messages.
    pub(crate) what: String,
    pub(crate) workgroups: [u32; 2],
    pub(crate) before: Contents,
    expected: Contents,
    /// What the bindings are bound to.
    roles: BTreeMap<u32, Buffer>,
}

impl Case {
    /// All of them; made when they are first asked for, which takes a minute.
    pub(crate) fn all() -> Result<&'static HashMap<Specialised, Vec<Self>>, String> {
        static ALL: LazyLock<Recorded> = LazyLock::new(record_all);
        ALL.as_ref().map_err(Clone::clone)
    }

    /// The dispatches of a kernel, of which every kernel must have some.
    pub(crate) fn of(kernel: Specialised) -> Result<&'static [Self], String> {
        let all = Self::all()?;
        let cases = all.get(&kernel).ok_or("no sort dispatches this kernel")?;
        Ok(cases)
    }

    /// Compares every word of every buffer.
    pub(crate) fn check(&self, after: &Contents) -> Result<(), String> {
        for (binding, expected) in &self.expected {
            let after = after.get(binding).map_or(&[][..], Vec::as_slice);
            if after.len() != expected.len() {
                return Err(format!(
                    "{}: the result in binding {binding} is of {} words, not {}",
                    self.what,
                    after.len(),
                    expected.len()
                ));
            }
            if (self.roles.get(binding)).is_some_and(|role| role.is_same(after, expected)) {
                continue;
            }
            let mut wrong = (0..after.len()).filter(|&i| after[i] != expected[i]);
            if let Some(i) = wrong.next() {
                return Err(format!(
                    "{}: the result is wrong: in binding {binding} word {i} is {:#x}, not {:#x}, \
                     and {} more of {} are wrong",
                    self.what,
                    after[i],
                    expected[i],
                    wrong.count(),
                    after.len()
                ));
            }
        }
        Ok(())
    }
}

/// A page merge that takes the greatest key for the smallest.
pub(crate) fn backwards() -> Result<Subject, String> {
    let kernel = Kernel::PageMerge.specialise(KeyType::U32, Order::Ascending);
    Subject::tampered(kernel, |text| {
        text.replace("KEY_FLIP: u32 = 0x0u", "KEY_FLIP: u32 = 0xffffffffu")
    })
}

/// How keys are made.
#[derive(Clone, Copy)]
enum Keys {
    /// Of all values.
    Full,
    /// Of a few values only, at and around the ends of each type's range.
    Few,
    /// Half of them so, half otherwise.
    Mixed,
}

/// Deterministic keys, the same on every machine.
fn make_keys(kind: Keys, len: u32, key: KeyType) -> Vec<u32> {
    // Zeros, ones, infinities and NaNs of both signs, subnormals, and the ends of the integers.
    const ENDS: [u32; 12] = [
        0,
        1,
        0x8000_0000,
        0x8000_0001,
        0x7fff_ffff,
        0xffff_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7ff0_0000,
        0xfff0_0000,
        0x7fc0_0000,
        0xffc0_0001,
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(len);
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as u32
    };
    let mut words = Vec::new();
    for i in 0..len {
        let few = match kind {
            Keys::Full => false,
            Keys::Few => true,
            Keys::Mixed => i % 2 == 0,
        };
        for _ in 0..key.words() {
            let (a, b) = (random(), random());
            words.push(if few {
                ENDS[a as usize % ENDS.len()]
            } else {
                // The generator gives 31 bits.
                a ^ (b << 1)
            });
        }
    }
    words
}

/// The dispatches of some recordings, by kernel.
type Recorded = Result<HashMap<Specialised, Vec<Case>>, String>;

/// Sorts of all types and orders, and prefix sums, as many at a time as there are processors.
fn record_all() -> Recorded {
    let mut jobs: Vec<(KeyType, Option<Order>)> = Vec::new();
    for key in KeyType::ALL {
        jobs.extend([Some(Order::Ascending), Some(Order::Descending), None].map(|o| (key, o)));
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(key, order)) = jobs.get(number) else {
                return done;
            };
            let recorded = match order {
                Some(order) => record_sorts(key, order),
                None => record_sums(key),
            };
            done.push((number, recorded));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().flat_map(|worker| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect::<Vec<_>>()
    });
    // The same on every machine.
    done.sort_by_key(|&(number, _)| number);
    let mut all: HashMap<_, Vec<_>> = HashMap::new();
    for (_, recorded) in done {
        for (kernel, cases) in recorded? {
            let known = all.entry(kernel).or_default();
            let room = MOST_CASES.saturating_sub(known.len());
            known.extend(cases.into_iter().take(room));
        }
    }
    Ok(all)
}

fn record_sorts(key: KeyType, order: Order) -> Recorded {
    let (mut all, mut seen) = (HashMap::new(), HashSet::new());
    let kinds = [Keys::Full, Keys::Few, Keys::Mixed].into_iter().cycle();
    for (number, (recording, kind)) in library(key, order).iter().zip(kinds).enumerate() {
        let keys = make_keys(kind, recording.len, key);
        let execution = Execution::new(recording, &keys, Config::default());
        let [left, values] = record(recording, number, execution, &mut seen, &mut all)?;
        if !was_sorted(recording, &keys, &left, &values) {
            return Err(format!("{} {key} keys are not sorted", recording.len));
        }
    }
    Ok(all)
}

fn record_sums(key: KeyType) -> Recorded {
    let (mut all, mut seen) = (HashMap::new(), HashSet::new());
    let sums = prefix_sums_library(key);
    let colorings = COLORINGS.into_iter().cycle();
    for (number, (recording, coloring)) in sums.iter().zip(colorings).enumerate() {
        // Floats that are rounded, of both signs, and no NaNs, whose bits are each device's own.
        let values: Vec<u32> = (make_keys(Keys::Full, recording.len, key).iter())
            .map(|&word| match key {
                KeyType::F32 => (word.cast_signed() as f32 / 3e4).to_bits(),
                _ => word,
            })
            .collect();
        let d = recording.steps[0].parameter("colors").unwrap_or(1);
        let colors = coloring.make(recording.len, d);
        let mut execution = Execution::new(recording, &values, Config::default());
        execution.set_buffer(Buffer::Colors, colors.clone());
        let [left, _] = record(recording, number, execution, &mut seen, &mut all)?;
        if left != prefix_sums_of(recording, &values, &colors) {
            return Err(format!("{} {key} values: wrong sums", recording.len));
        }
    }
    Ok(all)
}

/// Colors for prefix sums, of which the second kind leaves some values without.
const COLORINGS: [Coloring; 2] = [Coloring::Random, Coloring::Beyond];

/// Of a kernel. (Those that compare no keys are in every sort of every type.)
const MOST_CASES: usize = 16;

/// Runs a recording, and keeps a dispatch of each kind. What it leaves where the keys were, and the values.
fn record(
    recording: &Recording,
    number: usize,
    mut execution: Execution,
    seen: &mut HashSet<(Specialised, usize, Phase, u32, bool)>,
    all: &mut HashMap<Specialised, Vec<Case>>,
) -> Result<[Vec<u32>; 2], String> {
    for step in &recording.steps {
        // One of each kind: a first and a later instalment are two.
        let later = ["done", "first"].map(|name| step.parameter(name).is_some_and(|n| n > 0));
        // The rounds of a merge are all alike; the sample sort has other buffers in each.
        let round = match step.kernel {
            Kernel::SampleSort(_) => step.round,
            _ => 0,
        };
        let kernel = recording.specialised(step);
        let is_new = seen.insert((kernel, number, step.phase, round, later != [false; 2]));
        let before = (is_new
            && all
                .get(&kernel)
                .is_none_or(|cases| cases.len() < MOST_CASES))
        .then(|| contents(kernel, step, &execution))
        .transpose()?;
        execution.step(step).map_err(|e| e.to_string())?;
        if let Some(before) = before {
            all.entry(kernel).or_default().push(Case {
                what: format!("{} round {} of {}", step.phase, step.round, recording.len),
                workgroups: step.workgroups,
                before,
                expected: contents(kernel, step, &execution)?,
                roles: roles(kernel, step)?,
            });
        }
    }
    Ok([Buffer::Keys, Buffer::Values].map(|buffer| execution.buffer(buffer).to_vec()))
}

/// What a kernel's bindings are bound to.
fn roles(kernel: Specialised, step: &Step) -> Result<BTreeMap<u32, Buffer>, String> {
    let assembled = kernel.assemble().map_err(|e| e.to_string())?;
    let roles = (assembled.bindings.iter())
        .filter_map(|binding| Some((binding.binding, step.buffer(&binding.name)?)));
    Ok(roles.collect())
}

/// What a kernel's buffers hold, between two steps.
fn contents(kernel: Specialised, step: &Step, execution: &Execution) -> Result<Contents, String> {
    let assembled = kernel.assemble().map_err(|e| e.to_string())?;
    (assembled.bindings.iter())
        .map(|binding| {
            let words = match (binding.access, step.buffer(&binding.name)) {
                (Access::Uniform, _) => execution.parameters(step).ok(),
                (_, Some(buffer)) => Some(execution.buffer(buffer).to_vec()),
                (_, None) => None,
            };
            let missing = || format!("a step of {} leaves out {}", kernel.label(), binding.name);
            Ok((binding.binding, words.ok_or_else(missing)?))
        })
        .collect()
}

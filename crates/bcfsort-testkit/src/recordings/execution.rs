//! Runs recordings in the lock-step executor: a whole sort, or prefix sums, with a report for every
//! dispatch.

use super::top_k;
use crate::kernels_of_tests::note;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use wgpu_bcfsort::Error;
use wgpu_bcfsort::internals::kernel_error;
use wgpu_bcfsort::internals::recording::PayloadKind;
use wgpu_bcfsort::internals::recording::{Buffer, Phase, Recording, Step};
use wgpu_bcfsort::internals::shader::{Access, Assembled, Binding, Kernel, PARAMETER_BLOCK};
use wgsl_lockstep::{Buffers, Config, Report, Shader, ShaderError};

/// The report of all dispatches of one kernel in one phase.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KernelReport {
    /// The kernel.
    pub kernel: Kernel,
    /// The phase.
    pub phase: Phase,
    /// The merged report of these dispatches.
    pub report: Report,
}

struct Prepared {
    assembled: Assembled,
    shader: Shader,
}

/// A recording being executed on the CPU, dispatch by dispatch.
///
/// # Examples
///
/// ```
/// use bcfsort_testkit::recordings::{Execution};
/// use wgsl_lockstep::{Config};
/// use wgpu_bcfsort::internals::planner::record_sort;
/// use wgpu_bcfsort::internals::device::DeviceLimits;
/// use wgpu_bcfsort::{KeyType, Options, Order};
///
/// let limits = DeviceLimits {
///     buffer_bytes: 1 << 27,
///     workgroups: 65_535,
///     keys_per_dispatch: u32::MAX,
///     workgroup_bytes: 48 << 10,
///     workgroup_lanes: 1024,
///     sampling_seed: 0x5eed,
/// };
/// let keys: Vec<u32> = (0..3000).map(|i| i * 7919 % 3000).collect();
/// let options = Options::default();
/// let recording = record_sort(3000, KeyType::U32, Order::Ascending, &options, &limits);
///
/// let mut execution = Execution::new(&recording, &keys, Config::default());
/// let reports = execution.run()?;
/// assert!(execution.buffer(wgpu_bcfsort::internals::recording::Buffer::Keys).is_sorted());
/// for kernel in reports {
///     assert!(kernel.report.findings.is_empty());
///     assert!(kernel.report.banks().max_degree <= 1);
/// }
/// # Ok::<(), wgpu_bcfsort::Error>(())
/// ```
pub struct Execution<'a> {
    recording: &'a Recording,
    config: Config,
    buffers: BTreeMap<Buffer, Vec<u32>>,
    prepared: HashMap<Kernel, Prepared>,
}

impl<'a> Execution<'a> {
    /// Makes the recording's buffers. `keys` are the words of the keys; the payload is 0, 1, 2 and
    /// so on. An indirect count is the recording's length. A segmented sort has one segment, and a
    /// top k two.
    #[must_use]
    pub fn new(recording: &'a Recording, keys: &[u32], config: Config) -> Self {
        let mut execution = Self {
            recording,
            config,
            buffers: BTreeMap::new(),
            prepared: HashMap::new(),
        };
        execution.restart(keys);
        execution
    }

    /// Starts again with other keys: the recording's own buffers are zeros, and the payload is
    /// numbered from 0. The kernels are kept, and so are the other user buffers that
    /// [`set_buffer`](Self::set_buffer) filled.
    pub fn restart(&mut self, keys: &[u32]) {
        for (&role, &bytes) in &self.recording.buffers {
            self.buffers
                .insert(role, vec![0; bytes.div_ceil(4) as usize]);
        }
        let indirect = self.recording.steps.iter().filter(|step| step.is_counted());
        let words = indirect.count() * (PARAMETER_BLOCK / 4) as usize;
        self.buffers.insert(Buffer::Parameters, vec![0; words]);
        self.buffers.insert(Buffer::Keys, keys.to_vec());
        if self.recording.payload != PayloadKind::None {
            let numbers: Vec<u32> = (0..self.recording.len).collect();
            self.buffers.insert(Buffer::Values, numbers.clone());
            self.buffers.insert(Buffer::Payload(0), numbers);
        }
        // Recordings read the count at offset 0 or 1.
        let count = vec![self.recording.len; 2];
        self.buffers.insert(Buffer::Count, count);
        let offsets = top_k::offsets(self.recording.len).to_vec();
        self.buffers.insert(Buffer::Offsets, offsets);
    }

    /// Sets the contents of a buffer, such as the colors of prefix sums, which no recording makes.
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_testkit::recordings::{Execution, prefix_sums_library};
    /// use wgsl_lockstep::{Config};
    /// use wgpu_bcfsort::KeyType;
    /// use wgpu_bcfsort::internals::recording::Buffer;
    ///
    /// for recording in prefix_sums_library(KeyType::U32) {
    ///     let ones = vec![1; recording.len as usize];
    ///     let mut execution = Execution::new(&recording, &ones, Config::default());
    ///     execution.set_buffer(Buffer::Colors, vec![0; recording.len as usize]);
    ///     execution.run()?;
    ///     let sums = execution.buffer(Buffer::Keys);
    ///     assert!(sums.windows(2).all(|pair| pair[1] == pair[0] + 1));
    /// }
    /// # Ok::<(), wgpu_bcfsort::Error>(())
    /// ```
    pub fn set_buffer(&mut self, buffer: Buffer, words: Vec<u32>) {
        self.buffers.insert(buffer, words);
    }

    /// The contents of a buffer; empty if the recording has no such buffer.
    #[must_use]
    pub fn buffer(&self, buffer: Buffer) -> &[u32] {
        self.buffers.get(&buffer).map_or(&[], Vec::as_slice)
    }

    /// The kernel of a step, assembled once for all steps that run it.
    ///
    /// # Errors
    ///
    /// [`Error::Kernel`] if the kernel does not assemble.
    pub fn assembled(&mut self, step: &Step) -> Result<&Assembled, Error> {
        self.prepared(step).map(|prepared| &prepared.assembled)
    }

    /// The words that a step's kernel would read in each binding if it ran now, by binding number,
    /// parameters included. A binding without a buffer is left out.
    ///
    /// # Errors
    ///
    /// [`Error::Kernel`] if the kernel does not assemble.
    pub fn contents(&mut self, step: &Step) -> Result<BTreeMap<u32, Vec<u32>>, Error> {
        self.prepared(step)?;
        let assembled = &self.prepared[&step.kernel].assembled;
        let words = |binding: &Binding| match step.buffer(&binding.name) {
            _ if binding.access == Access::Uniform => Some(self.parameters(step)),
            Some(role) => self.buffers.get(&role).cloned(),
            None => None,
        };
        let contents = assembled.bindings.iter();
        Ok(contents
            .filter_map(|binding| Some((binding.binding, words(binding)?)))
            .collect())
    }

    fn parameters(&self, step: &Step) -> Vec<u32> {
        assert!(
            step.parameters.is_like(&step.kernel.parameters()),
            "{} does not take {:?}",
            step.kernel.name(),
            step.parameters
        );
        let mut words = step.parameters.words().to_vec();
        if let Some(block) = self.recording.block(step) {
            let at = block * (PARAMETER_BLOCK / 4) as usize;
            words[0] = self.buffers[&Buffer::Parameters][at];
        }
        words
    }

    fn prepared(&mut self, step: &Step) -> Result<&Prepared, Error> {
        let kernel = &step.kernel;
        note(kernel.label());
        let fail = |e: ShaderError| kernel_error(kernel.label().to_owned(), e.to_string());
        Ok(match self.prepared.entry(kernel.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let assembled = kernel.assemble_with(self.recording.custom.as_ref())?;
                let shader = Shader::new(&assembled.wgsl, None, &[]).map_err(fail)?;
                new.insert(Prepared { assembled, shader })
            }
        })
    }

    /// Runs one dispatch of the recording.
    ///
    /// # Errors
    ///
    /// [`Error::Kernel`] if the kernel cannot be run: it does not assemble, or its bindings differ
    /// from the step's.
    pub fn step(&mut self, step: &Step) -> Result<Report, Error> {
        let kernel = &step.kernel;
        let fail = |e: ShaderError| kernel_error(kernel.label().to_owned(), e.to_string());
        // A missing buffer is reported by the run.
        let contents = self.contents(step)?.into_iter();
        let mut buffers: Buffers = contents
            .map(|(binding, words)| ((0, binding), words))
            .collect();
        let Prepared { assembled, shader } = &self.prepared[kernel];
        let [x, y] = step.workgroups;
        // Tables are not data: they give the starts of runs and buckets, and the positions of pages
        // within these do not depend on the keys.
        let holds_keys = |(_, number)| {
            let binding = assembled.bindings.iter().find(|b| b.binding == number);
            binding
                .and_then(|b| step.buffer(&b.name))
                .is_some_and(Buffer::holds_keys)
        };
        let report = shader.run_with_data(&mut buffers, [x, y, 1], &self.config, holds_keys);
        let stored = assembled.bindings.iter();
        for binding in stored.filter(|binding| binding.access == Access::ReadWrite) {
            if let (Some(role), Some(words)) = (
                step.buffer(&binding.name),
                buffers.remove(&(0, binding.binding)),
            ) {
                self.buffers.insert(role, words);
            }
        }
        report.map_err(fail)
    }

    /// Runs the whole recording. Returns a report for each kernel in each phase, in the order of
    /// the first dispatches.
    ///
    /// # Errors
    ///
    /// Those of [`Execution::step`].
    pub fn run(&mut self) -> Result<Vec<KernelReport>, Error> {
        self.run_observed(|_| ())
    }

    /// Like [`Execution::run`], and calls `begin` before each dispatch with its number, from 0.
    ///
    /// # Errors
    ///
    /// Those of [`Execution::step`].
    pub fn run_observed(
        &mut self,
        mut begin: impl FnMut(usize),
    ) -> Result<Vec<KernelReport>, Error> {
        let mut reports: Vec<KernelReport> = Vec::new();
        for (number, step) in self.recording.steps.iter().enumerate() {
            begin(number);
            let report = self.step(step)?;
            let kernel = &step.kernel;
            let same = |r: &&mut KernelReport| (&r.kernel, r.phase) == (kernel, step.phase);
            match reports.iter_mut().find(same) {
                Some(known) => known.report.merge(&report),
                None => reports.push(KernelReport {
                    kernel: kernel.clone(),
                    phase: step.phase,
                    report,
                }),
            }
        }
        Ok(reports)
    }
}

/// True if two runs of a step may leave these words in a buffer: they are equal but for the order
/// in which workgroups or lanes arrived. A list has the same entries, a partition has the same
/// records in any order within a child, and segments get their tiles in any order.
#[must_use]
pub fn is_same(step: &Step, buffer: Buffer, a: &[u32], b: &[u32]) -> bool {
    let is = |name| step.buffer(name) == Some(buffer);
    let parameter = |name| step.parameter(name).unwrap_or(0);
    // Which records find too little room depends on who is first.
    let has_rooms = step.kernel.is("samplesort.partition") && parameter("target_room") > 0;
    if has_rooms && parameter("deviations") == 0 && (is("target_keys") || is("target_values")) {
        return true;
    }
    if step.kernel.is("samplesort.partition") && is("target_keys") {
        let has_value = step.buffer("target_values").is_some();
        let words = step.kernel.constant("WORDS").unwrap_or(1) - u32::from(has_value);
        return same_entries(a, b, words);
    }
    if step.kernel.is("samplesort.partition") && is("target_values") {
        return same_entries(a, b, 1);
    }
    let makes_segments = step.kernel.is("samplesort.table") && parameter("stage") != 1;
    if makes_segments && is("children") && buffer != Buffer::Items {
        return same_segments(a, b, parameter("tile").max(1));
    }
    buffer.is_same(a, b)
}

fn same_entries(a: &[u32], b: &[u32], words: u32) -> bool {
    let [a, b] = [a, b].map(|all| {
        let mut entries: Vec<&[u32]> = all.chunks(words as usize).collect();
        entries.sort_unstable();
        entries
    });
    a == b
}

/// Compares tables of segments: the number of tiles, then for each segment its first record, its
/// number of records, its first tile, and its first record's place in the target.
fn same_segments(a: &[u32], b: &[u32], tile: u32) -> bool {
    let is_sound = |table: &[u32]| {
        let segments = table[1..].chunks_exact(4).filter(|segment| segment[1] > 0);
        let mut tiles: Vec<(u32, u32)> = segments
            .map(|of| (of[2], (of[1] + of[0] % 32).div_ceil(tile)))
            .collect();
        tiles.sort_unstable();
        let end =
            (tiles.iter()).try_fold(0, |end, &(first, own)| (first == end).then_some(end + own));
        end == Some(table[0])
    };
    let records = |table: &[u32]| -> Vec<[u32; 3]> {
        let segments = table[1..].chunks_exact(4);
        (segments.map(|segment| [segment[0], segment[1], segment[3]])).collect()
    };
    a.len() == b.len() && a[0] == b[0] && records(a) == records(b) && is_sound(a) && is_sound(b)
}

//! Cases for the gates that run kernels: dispatches of real sorts, with their results according to
//! the lock-step executor.

use crate::cache::{Cache, digest};
use crate::gate::Subject;
use crate::tools;
use bcfsort_testkit::recordings::{
    Coloring, Execution, is_same, library, payload_buffer, prefix_sums_library, prefix_sums_of,
    set_parameters, was_sorted,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use wgpu_bcfsort::internals::mergesort::kernels::page_merge;
use wgpu_bcfsort::internals::recording::{Buffer, Recording, Step};
use wgpu_bcfsort::internals::shader::Kernel;
use wgpu_bcfsort::{KeyType, Order};
use wgsl_lockstep::Config;

/// The contents of a kernel's buffers, parameters included, by binding.
pub(crate) type Contents = BTreeMap<u32, Vec<u32>>;

/// One dispatch of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Case {
    /// Its origin, for messages.
    pub(crate) what: String,
    pub(crate) workgroups: [u32; 2],
    pub(crate) before: Contents,
    /// The buffers that the dispatch must change, with their contents afterwards.
    changed: Contents,
    /// The dispatch in its recording, and the buffer of each binding. Some buffers may end up [in
    /// any order](is_same).
    step: Step,
    roles: BTreeMap<u32, Buffer>,
}

/// The state of an item that is in order: `DONE` of `samplesort/params.wgsl`.
const DONE: u32 = 1;

impl Case {
    /// The cases of a kernel, recorded now if necessary. Some of them must do the kernel's work:
    /// otherwise a kernel that does nothing would pass.
    pub(crate) fn of(kernel: &Kernel) -> Result<Vec<&'static Self>, String> {
        let corpus = Corpus::get();
        let of = corpus.of.get(kernel);
        let cases = of
            .ok_or("no sort dispatches this kernel")?
            .iter()
            .map(|&(source, number)| Ok(&corpus.sources[source].cases(&corpus.cache)?[number]))
            .collect::<Result<Vec<_>, String>>()?;
        match Self::lacking(kernel, &cases) {
            Some(what) => Err(format!("no dispatch of this kernel {what}")),
            None => Ok(cases),
        }
    }

    /// Work that no case of a kernel does, but one should. Single dispatches may have none: the
    /// grid covers the maximum of work, and some records are in order already.
    fn lacking(kernel: &Kernel, cases: &[&Self]) -> Option<&'static str> {
        if cases.iter().all(|case| case.changed.is_empty()) {
            return Some("changes a word");
        }
        if let Some(tile) = sorts_items(kernel) {
            let sorted = || cases.iter().flat_map(|case| case.sorted_items(tile));
            if !sorted().any(|records| (2..=tile).contains(&records)) {
                return Some("sorts an item that fits a tile");
            }
            if !sorted().any(|records| records > tile) {
                return Some("sorts an item that is larger than a tile");
            }
        }
        None
    }

    /// The number of records in each tile or item that a dispatch sorts. Items already in order are
    /// only moved, and left out here.
    fn sorted_items(&self, tile: u32) -> Vec<u32> {
        let parameter = |name| self.step.parameter(name).unwrap_or(0);
        if parameter("is_listed") == 0 {
            let len = parameter("len");
            let tiles = (0..len).step_by(tile as usize);
            return tiles.map(|start| tile.min(len - start)).collect();
        }
        let binding = self.roles.iter().find(|role| *role.1 == Buffer::Items);
        let items = binding.map_or(&[][..], |(binding, _)| &self.before[binding]);
        let (all, items) = items.split_first().unwrap_or((&0, &[]));
        let [first, end] = ["first", "end"].map(parameter);
        let own = first as usize..end.min(*all) as usize;
        let items = items.chunks_exact(3).take(own.end).skip(own.start);
        items
            .filter_map(|item| (item[2] != DONE).then_some(item[1]))
            .collect()
    }

    /// Compares all words of all buffers.
    pub(crate) fn check(&self, after: &Contents) -> Result<(), String> {
        for (binding, before) in &self.before {
            let expected = self.changed.get(binding).unwrap_or(before);
            let after = after.get(binding).map_or(&[][..], Vec::as_slice);
            if after.len() != expected.len() {
                return Err(format!(
                    "{}: the result in binding {binding} is of {} words, not {}",
                    self.what,
                    after.len(),
                    expected.len()
                ));
            }
            let role = self.roles.get(binding);
            if role.is_some_and(|&role| is_same(&self.step, role, after, expected)) {
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

/// A page merge that takes the larger of two keys for the smaller.
pub(crate) fn backwards() -> Result<Subject, String> {
    let (ascending, descending) = (
        "Ordered(min(a, b), max(a, b))",
        "Ordered(max(a, b), min(a, b))",
    );
    Subject::altered(&page_merge(KeyType::U32), ascending, descending)
}

/// A distribution of keys.
#[derive(Clone, Copy)]
enum Keys {
    /// All values.
    Full,
    /// A few values, at and around the ends of each type's range.
    Few,
    /// Half `Few`, half `Full`.
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
                // The generator has 31 bits.
                a ^ (b << 1)
            });
        }
    }
    words
}

/// Colors for prefix sums. The second coloring leaves some values without a color.
const COLORINGS: [Coloring; 2] = [Coloring::Random, Coloring::Beyond];

/// Maximum number of cases of a kernel. Kernels that compare no keys are part of every sort.
const MOST_CASES: usize = 16;

/// All recordings with cases, and the cases of each kernel.
pub(crate) struct Corpus {
    sources: Vec<Source>,
    /// The cases of each kernel: the index of the source, and the index in its cases.
    of: HashMap<Kernel, Vec<(usize, usize)>>,
    cache: Cache,
}

static CORPUS: OnceLock<Corpus> = OnceLock::new();

impl Corpus {
    /// Chooses the cases of these kernels, without executing anything. Must be called once, before
    /// [`Case::of`].
    pub(crate) fn choose(kernels: &HashSet<Kernel>) -> &'static Self {
        CORPUS.get_or_init(|| {
            let mut sources = Vec::new();
            for key in KeyType::WHOLE_WORDS {
                for order in [Order::Ascending, Order::Descending] {
                    let kinds = [Keys::Full, Keys::Mixed, Keys::Few].into_iter().cycle();
                    let mut sorts = library(key, order);
                    let large: Vec<_> = sorts.iter().filter_map(with_large_item).collect();
                    sorts.extend(large);
                    let sorts = sorts.into_iter().zip(kinds);
                    sources.extend(sorts.map(|(sort, kind)| Source::new(sort, Input::Keys(kind))));
                }
                let colorings = COLORINGS.into_iter().cycle();
                let sums = prefix_sums_library(key).into_iter().zip(colorings);
                sources.extend(sums.map(|(sums, colors)| Source::new(sums, Input::Values(colors))));
            }
            let mut of: HashMap<Kernel, Vec<_>> = HashMap::new();
            for (number, source) in sources.iter_mut().enumerate() {
                let recording = &source.recording;
                for (kernel, step) in kinds_of_steps(recording) {
                    let is_wanted = kernels.contains(&kernel);
                    let known = of.entry(kernel).or_default();
                    if is_wanted && known.len() < MOST_CASES {
                        known.push((number, source.wanted.len()));
                        source.wanted.push(step);
                    }
                }
            }
            Self {
                sources,
                of,
                cache: Cache {
                    folder: tools::folder().join("cases"),
                },
            }
        })
    }

    pub(crate) fn get() -> &'static Self {
        CORPUS.get().expect("chosen before any gate runs a kernel")
    }

    /// The recordings with cases of these kernels, the longest first.
    pub(crate) fn sources<'a>(&self, kernels: impl Iterator<Item = &'a Kernel>) -> Vec<usize> {
        let all: BTreeSet<usize> = kernels
            .filter_map(|kernel| self.of.get(kernel))
            .flatten()
            .map(|&(source, _)| source)
            .collect();
        let mut all: Vec<usize> = all.into_iter().collect();
        all.sort_by_key(|&source| std::cmp::Reverse(self.sources[source].work()));
        all
    }

    /// True if all cases of a kernel are available.
    pub(crate) fn has(&self, kernel: &Kernel) -> bool {
        let of = self.of.get(kernel).into_iter().flatten();
        of.map(|&(source, _)| &self.sources[source])
            .all(|source| source.cases.get().is_some())
    }

    /// Describes a recording.
    pub(crate) fn name(&self, source: usize) -> String {
        let Recording {
            len, key, order, ..
        } = &self.sources[source].recording;
        format!("recording {source}, of {len} {key} {}", order.name())
    }

    /// Describes the number of recordings, and their origin.
    pub(crate) fn summary(&self) -> String {
        let done = || (self.sources.iter()).filter(|source| source.cases.get().is_some());
        let executed = done().filter(|source| source.executed.load(Ordering::Relaxed));
        let executed = executed.count();
        format!(
            "cases: {executed} recordings executed, {} read from {}",
            done().count() - executed,
            self.cache.folder.display()
        )
    }

    /// The digests of all cases of a kernel.
    pub(crate) fn digests(&self, kernel: &Kernel) -> Vec<&str> {
        let of = self.of.get(kernel).into_iter().flatten();
        of.map(|&(source, _)| self.sources[source].digest())
            .collect()
    }

    /// Removes the files of other recordings.
    pub(crate) fn remove_others(&self) {
        let sources = self
            .sources
            .iter()
            .filter(|source| !source.wanted.is_empty());
        self.cache.keep(&sources.map(Source::digest).collect());
    }

    /// Reads or records the cases of a recording.
    pub(crate) fn prepare(&self, source: usize) -> Result<(), String> {
        self.sources[source].cases(&self.cache).map(drop)
    }
}

/// The input of a recording.
#[derive(Clone, Copy)]
enum Input {
    Keys(Keys),
    /// Values of prefix sums, with these colors.
    Values(Coloring),
}

/// A recording, and the dispatches in it that are cases.
struct Source {
    recording: Recording,
    input: Input,
    /// The indices of their steps, ascending.
    wanted: Vec<usize>,
    digest: OnceLock<String>,
    /// True if it was executed, rather than read from disk.
    executed: AtomicBool,
    cases: OnceLock<Result<Vec<Case>, String>>,
}

impl Source {
    fn new(recording: Recording, input: Input) -> Self {
        Self {
            recording,
            input,
            wanted: Vec::new(),
            digest: OnceLock::new(),
            executed: AtomicBool::new(false),
            cases: OnceLock::new(),
        }
    }

    /// An estimate of its execution time, up to a factor.
    fn work(&self) -> u64 {
        let keys: u64 = self.recording.steps.iter().map(|step| step.keys).sum();
        keys * u64::from(self.recording.key.words())
    }

    fn cases(&self, cache: &Cache) -> Result<&[Case], String> {
        let cases = self.cases.get_or_init(|| {
            let name = self.digest();
            if let Some(cases) = cache.read(name).and_then(|words| self.decode(&words)) {
                return Ok(cases);
            }
            let cases = self.record()?;
            self.executed.store(true, Ordering::Relaxed);
            cache.write(name, &Self::encode(&cases))?;
            Ok(cases)
        });
        cases.as_deref().map_err(Clone::clone)
    }

    /// The words of the keys or values, and the colors of values.
    fn input(&self) -> (Vec<u32>, Option<Vec<u32>>) {
        let Recording { len, key, .. } = self.recording;
        match self.input {
            Input::Keys(kind) => (make_keys(kind, len, key), None),
            Input::Values(coloring) => {
                // Rounded floats of both signs, without NaNs, whose bits depend on the device.
                let values = make_keys(Keys::Full, len, key).into_iter();
                let values = values.map(|word| match key {
                    KeyType::F32 => (word.cast_signed() as f32 / 3e4).to_bits(),
                    _ => word,
                });
                let colors = self.recording.steps[0].parameter("colors").unwrap_or(1);
                (values.collect(), Some(coloring.make(len, colors)))
            }
        }
    }

    /// Executes the recording, and stores the dispatches in `wanted`.
    fn record(&self) -> Result<Vec<Case>, String> {
        let recording = &self.recording;
        let (words, colors) = self.input();
        let mut execution = Execution::new(recording, &words, Config::default());
        if let Some(colors) = &colors {
            execution.set_buffer(Buffer::Colors, colors.clone());
        }
        // Words to be cleared must not be zero from the start.
        let clears = |step: &&Step| step.kernel.is("layout.clear");
        for step in recording.steps.iter().filter(clears) {
            if let Some(cleared) = step.buffer("destination") {
                let parameter = |name| step.parameter(name).unwrap_or(0) as usize;
                let [first, count] = ["destination_first", "words"].map(parameter);
                let mut words = execution.buffer(cleared).to_vec();
                for word in words.iter_mut().skip(first).take(count) {
                    *word = u32::MAX;
                }
                execution.set_buffer(cleared, words);
            }
        }
        // Some keys are looked for: of other needles, no key might be before any.
        let needles = execution.buffer(Buffer::Needles).len();
        if needles > 0 {
            let needles = words.iter().copied().cycle().take(needles).collect();
            execution.set_buffer(Buffer::Needles, needles);
        }
        let mut cases = Vec::new();
        for (number, step) in recording.steps.iter().enumerate() {
            let fail = |e: wgpu_bcfsort::Error| e.to_string();
            if !self.wanted.contains(&number) {
                execution.step(step).map_err(fail)?;
                continue;
            }
            let before = execution.contents(step).map_err(fail)?;
            execution.step(step).map_err(fail)?;
            let mut changed = execution.contents(step).map_err(fail)?;
            changed.retain(|binding, after| before.get(binding) != Some(after));
            let mut roles = BTreeMap::new();
            for binding in &execution.assembled(step).map_err(fail)?.bindings {
                if !before.contains_key(&binding.binding) {
                    let kernel = step.kernel.label();
                    return Err(format!("a step of {kernel} leaves out {}", binding.name));
                }
                let role = step.buffer(&binding.name);
                roles.extend(role.map(|role| (binding.binding, role)));
            }
            cases.push(self.case(step, before, changed, roles));
        }
        let after = execution.buffer(Buffer::Keys);
        let is_right = match &colors {
            None => was_sorted(
                recording,
                &words,
                after,
                execution.buffer(payload_buffer(recording)),
            ),
            Some(colors) => after == prefix_sums_of(recording, &words, colors),
        };
        if is_right {
            Ok(cases)
        } else {
            Err(format!(
                "{} {} keys: a wrong result",
                recording.len, recording.key
            ))
        }
    }

    fn case(
        &self,
        step: &Step,
        before: Contents,
        changed: Contents,
        roles: BTreeMap<u32, Buffer>,
    ) -> Case {
        Case {
            what: format!(
                "{} round {} of {}",
                step.phase, step.round, self.recording.len
            ),
            workgroups: step.workgroups,
            before,
            changed,
            step: step.clone(),
            roles,
        }
    }

    /// A digest of everything that the cases depend on: the recording, its input, the kernels'
    /// texts, the wanted dispatches, and the sources of the executor.
    fn digest(&self) -> &str {
        self.digest.get_or_init(|| {
            let (words, colors) = self.input();
            let what = format!("{:?} {:?}", self.recording, self.wanted);
            let steps = self.recording.steps.iter();
            let kernels: HashSet<_> = steps.map(|step| &step.kernel).collect();
            let mut texts: Vec<_> = kernels.into_iter().map(Kernel::wgsl).collect();
            texts.sort_unstable();
            let parts = [
                env!("PORTABILITY_CASES").as_bytes(),
                what.as_bytes(),
                bytemuck::cast_slice(&words),
                bytemuck::cast_slice(colors.as_deref().unwrap_or_default()),
            ];
            digest(parts.into_iter().chain(texts.iter().map(String::as_bytes)))
        })
    }

    /// Encodes cases as words, without the parts that the recording provides.
    fn encode(cases: &[Case]) -> Vec<u32> {
        fn push(words: &mut Vec<u32>, contents: &Contents) {
            words.push(contents.len() as u32);
            for (&binding, buffer) in contents {
                words.extend([binding, buffer.len() as u32]);
                words.extend(buffer);
            }
        }
        let mut words = Vec::new();
        for case in cases {
            push(&mut words, &case.before);
            push(&mut words, &case.changed);
            words.push(case.roles.len() as u32);
            for (&binding, &role) in &case.roles {
                let number = (case.step.bindings.iter()).position(|bound| bound.1 == role);
                words.extend([binding, number.map_or(u32::MAX, |number| number as u32)]);
            }
        }
        words
    }

    /// Decodes words of [`Self::encode`]. Returns `None` for any other words.
    fn decode(&self, mut words: &[u32]) -> Option<Vec<Case>> {
        fn take<'a>(words: &mut &'a [u32], count: u32) -> Option<&'a [u32]> {
            let (taken, rest) = words.split_at_checked(count as usize)?;
            *words = rest;
            Some(taken)
        }
        fn number(words: &mut &[u32]) -> Option<u32> {
            take(words, 1).map(|word| word[0])
        }
        fn contents(words: &mut &[u32]) -> Option<Contents> {
            (0..number(words)?)
                .map(|_| {
                    let (binding, len) = (number(words)?, number(words)?);
                    Some((binding, take(words, len)?.to_vec()))
                })
                .collect()
        }
        let mut cases = Vec::new();
        for &step in &self.wanted {
            let (before, changed) = (contents(&mut words)?, contents(&mut words)?);
            let step = &self.recording.steps[step];
            let roles = (0..number(&mut words)?)
                .map(|_| {
                    let binding = number(&mut words)?;
                    Some((binding, step.bindings.get(number(&mut words)? as usize)?.1))
                })
                .collect::<Option<_>>()?;
            cases.push(self.case(step, before, changed, roles));
        }
        words.is_empty().then_some(cases)
    }
}

/// A sort of rows with one item that no tile has room for: one child of each segment, like the
/// [library]'s sorts of keys. `None` for other sorts.
///
/// It has few rows, to be fast, in dispatches for the original number.
fn with_large_item(recording: &Recording) -> Option<Recording> {
    let steps = &mut recording.steps.iter();
    let listed = steps.find(|step| step.parameter("is_listed") == Some(1))?;
    let tile = sorts_items(&listed.kernel)?;
    let len = 2 * tile + 77;
    if recording.custom.is_none() || recording.len < len {
        return None;
    }
    let mut recording = recording.clone();
    set_parameters(&mut recording, &["len", "rank_end"], len);
    set_parameters(&mut recording, &["samples"], 1);
    recording.len = len;
    Some(recording)
}

/// A recording's steps with their kernels, one step of each kind. The first instalment and later
/// ones are two kinds.
fn kinds_of_steps(recording: &Recording) -> Vec<(Kernel, usize)> {
    let mut seen = HashSet::new();
    let mut kinds = Vec::new();
    for (number, step) in recording.steps.iter().enumerate() {
        let later = ["done", "first"].map(|name| step.parameter(name).is_some_and(|n| n > 0));
        // The rounds of a merge are alike. Sample sort has other buffers in each round.
        let round = if step.kernel.is("samplesort") {
            step.round
        } else {
            0
        };
        let kernel = &step.kernel;
        if seen.insert((kernel, step.phase, round, later != [false; 2])) {
            kinds.push((kernel.clone(), number));
        }
    }
    kinds
}

/// The records per tile of a kernel that sorts tiles or listed items; `None` for other kernels.
fn sorts_items(kernel: &Kernel) -> Option<u32> {
    let tile = kernel.constant("SORT_TILE");
    tile.filter(|_| kernel.is("samplesort.sort"))
}

#[cfg(test)]
mod tests {
    use super::{Cache, Input, Keys, Source, kinds_of_steps};
    use bcfsort_testkit::recordings::library;
    use std::path::Path;
    use std::sync::atomic::Ordering;
    use wgpu_bcfsort::{KeyType, Order};

    fn source(keys: Keys) -> Source {
        let recording = library(KeyType::I32, Order::Descending).remove(0);
        let steps = kinds_of_steps(&recording);
        Source {
            wanted: steps.into_iter().map(|(_, step)| step).collect(),
            ..Source::new(recording, Input::Keys(keys))
        }
    }

    /// The path of the only file.
    fn file(folder: &Path) -> std::path::PathBuf {
        let mut files = folder.read_dir().expect("made by the cache");
        let file = files.next().expect("one was written").expect("readable");
        assert!(files.next().is_none());
        file.path()
    }

    #[test]
    fn cases_are_read_back_and_damaged_ones_recorded_anew() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let take = || {
            let cache = Cache {
                folder: folder.path().join("cases"),
            };
            let source = source(Keys::Mixed);
            let cases = source.cases(&cache).expect("a sort").to_vec();
            (cases, source.executed.load(Ordering::Relaxed))
        };
        let (recorded, executed) = take();
        assert!(executed);
        assert_eq!(recorded.len(), source(Keys::Mixed).wanted.len());
        assert_eq!(take(), (recorded.clone(), false));

        let file = file(&folder.path().join("cases"));
        let whole = std::fs::read(&file).expect("readable");
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        let damaged = [&flipped[..], &whole[..whole.len() - 4], &whole[..7], &[]];
        for bytes in damaged {
            std::fs::write(&file, bytes).expect("writable");
            assert_eq!(take(), (recorded.clone(), true));
            assert_eq!(std::fs::read(&file).expect("readable"), whole);
        }
    }

    #[test]
    fn the_digest_tells_all_apart_that_cases_are_made_of() {
        let one = source(Keys::Mixed);
        let digest = one.digest().to_owned();
        assert_eq!(digest, source(Keys::Mixed).digest());
        assert_ne!(digest, source(Keys::Few).digest());
        let mut other = source(Keys::Mixed);
        other.wanted.pop();
        assert_ne!(digest, other.digest());
        let mut other = source(Keys::Mixed);
        other.recording.steps[0].parameters.words_mut()[0] += 1;
        assert_ne!(digest, other.digest());
        let mut other = source(Keys::Mixed);
        other.recording.order = Order::Ascending;
        assert_ne!(digest, other.digest());
    }
}

//! The sorter that chooses.

use crate::device::{Device, NO_ADAPTER, NoDevice, adapters, is_software};
use crate::model::{Call, Estimate, Gpu, Work};
use crate::opened::{self, Opened, named};
use crate::{Error, cpu};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wgpu_bcfsort::wgpu::Adapter;
use wgpu_bcfsort::{KeyType, MultiSorter, Order, SortKey, Sorter, permute};

/// What is done if a GPU fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The CPU sorts instead, and a warning says so, once.
    #[default]
    Cpu,
    /// The sort fails.
    Fail,
}

/// Where a call sorts, and why.
///
/// # Examples
///
/// ```
/// use bcfsort_auto::{AutoSorter, Device, Work};
/// use wgpu_bcfsort::KeyType;
/// # fn main() -> Result<(), bcfsort_auto::Error> {
/// let sorter = AutoSorter::new(Device::Cpu)?;
/// let choice = sorter.choose(1000, KeyType::U32, Work::Sort)?;
/// assert_eq!((choice.on_gpu, choice.reason.as_str()), (false, "the device is cpu"));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// On a GPU, or on the CPU.
    pub on_gpu: bool,
    /// Why, in a few words.
    pub reason: String,
    /// The times that were compared; none if there was nothing to choose.
    pub estimate: Option<Estimate>,
}

/// Where a call was sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the GPU of this name.
    Gpu(String),
    /// On the CPU, as chosen.
    Cpu,
    /// On the CPU, since the GPU failed.
    CpuAfterFailure,
}

/// What a caller may want to know of a sort that succeeds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// `auto` would have used a GPU, and the machine has none: the CPU sorts.
    NoAdapter,
    /// A GPU failed, as it says: the CPU sorts.
    Failed(String),
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoAdapter => write!(f, "sorting on the CPU: {}", NoDevice::None),
            Self::Failed(why) => write!(f, "sorting on the CPU: {why}"),
        }
    }
}

/// Sorts each call on the device that takes the least time for it.
///
/// Made for a device: [`Device::Auto`] chooses between the best GPU and the CPU by a [model of
/// both](crate::model), others sort where they say. No GPU is listed or opened before a call needs
/// it. All results have the same bits on all devices. All sorters of the same adapters in a process
/// share what is open, until the last of them is dropped.
///
/// A GPU that `auto` has not opened yet is opened by the call that it saves more time for than its
/// start takes, or as soon as many calls together would have saved that.
///
/// # Examples
///
/// ```
/// use bcfsort_auto::{AutoSorter, Device};
/// use wgpu_bcfsort::Order;
/// # fn main() -> Result<(), bcfsort_auto::Error> {
/// let sorter = AutoSorter::new(Device::Auto)?;
/// let mut keys = [3.5_f32, -1.0, 2.0];
/// sorter.sort(&mut keys, Order::Ascending)?;
/// assert_eq!(keys, [-1.0, 2.0, 3.5]);
/// assert_eq!(sorter.argsort(&[30_u64, 10, 20], Order::Ascending)?, [1, 2, 0]);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct AutoSorter {
    shared: Arc<Shared>,
    device: Device,
    on_error: OnError,
}

struct Shared {
    state: Mutex<State>,
    warn: Box<dyn Fn(&Warning) + Send + Sync>,
    /// Whether it was told that there is no adapter, and that one failed.
    warned: [AtomicBool; 2],
}

enum State {
    /// `chosen`: `None` if the adapters are not listed yet. `missed`: seconds that an open GPU
    /// would have saved so far.
    Closed {
        chosen: Option<Vec<Adapter>>,
        missed: f64,
    },
    Open(Arc<Opened>),
    /// There is no adapter.
    None,
    /// The GPU cannot be used any more, and why.
    Failed(String),
}

impl Shared {
    fn new(state: State, warn: impl Fn(&Warning) + Send + Sync + 'static) -> Self {
        Self {
            state: Mutex::new(state),
            warn: Box::new(warn),
            warned: [false, false].map(AtomicBool::new),
        }
    }

    /// Tells a kind of warning once.
    fn warn(&self, warning: &Warning) {
        let kind = usize::from(matches!(warning, Warning::Failed(_)));
        if !self.warned[kind].swap(true, Relaxed) {
            (self.warn)(warning);
        }
    }
}

impl State {
    /// GPUs that are not open, or that are not listed yet.
    const fn closed(chosen: Option<Vec<Adapter>>) -> Self {
        Self::Closed {
            chosen,
            missed: 0.0,
        }
    }

    /// Takes the best adapter if another sorter has opened it.
    fn see_what_is_open(&mut self) {
        let Self::Closed { chosen, .. } = self else {
            return;
        };
        // (Adapters that are open are listed already.)
        let opened = match chosen {
            Some(chosen) => Opened::already(chosen),
            None if opened::any() => adapters().get(..1).and_then(Opened::already),
            None => None,
        };
        if let Some(opened) = opened {
            *self = Self::Open(opened);
        }
    }

    /// The name of the adapter if it is software.
    fn software(&self) -> Option<String> {
        let info = match self {
            Self::Closed { chosen, .. } => chosen.as_ref()?.first()?.get_info(),
            Self::Open(opened) => opened.first().device().adapter_info(),
            _ => return None,
        };
        is_software(&info).then_some(info.name)
    }
}

impl std::fmt::Debug for AutoSorter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AutoSorter")
            .field("device", &self.device)
            .field("on_error", &self.on_error)
            .finish_non_exhaustive()
    }
}

impl AutoSorter {
    /// A sorter on this device, or on that of the environment:
    /// [`Device::or_environment`].
    ///
    /// # Errors
    ///
    /// [`Error::NoDevice`], if the device names an adapter that does not exist. Whether it can be
    /// opened is seen by the first call.
    pub fn new(device: Device) -> Result<Self, Error> {
        let device = device.or_environment();
        let chosen = match &device {
            // (What need not be known takes no time to find out.)
            Device::Auto | Device::Cpu => None,
            named => Some(named.among(adapters())?),
        };
        Ok(Self::of(device, State::closed(chosen)))
    }

    /// A sorter on these adapters, for every call: on all of them together, or on the CPU without
    /// any. [`with_device`](Self::with_device) has it choose.
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_auto::{AutoSorter, Device, device};
    /// let best = device::adapters().iter().take(1).cloned().collect();
    /// let sorter = AutoSorter::of_adapters(best);
    /// assert_eq!(*sorter.device(), Device::Gpu);
    /// ```
    #[must_use]
    pub fn of_adapters(chosen: Vec<Adapter>) -> Self {
        let state = if chosen.is_empty() {
            State::None
        } else {
            State::closed(Some(chosen))
        };
        Self::of(Device::Gpu, state)
    }

    /// A sorter on a device that is open, for every call.
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_auto::AutoSorter;
    /// use wgpu_bcfsort::{Options, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = AutoSorter::of_sorter(Sorter::open(Options::default())?);
    /// # let _ = sorter;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn of_sorter(sorter: Sorter) -> Self {
        let state = State::Open(Opened::of_sorter(sorter));
        Self::of(Device::Gpu, state)
    }

    fn of(device: Device, state: State) -> Self {
        let warn = |warning: &Warning| match warning {
            Warning::NoAdapter => log::info!("{warning}"),
            Warning::Failed(_) => log::warn!("{warning}"),
        };
        Self {
            shared: Arc::new(Shared::new(state, warn)),
            device,
            on_error: OnError::default(),
        }
    }

    /// As this sorter, and on its GPU, but chosen by another device: [`Device::Auto`] compares it
    /// with the CPU for each call, [`Device::Cpu`] leaves it alone, and any other device takes it
    /// for each call. What is open is shared.
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_auto::{AutoSorter, Device, Work};
    /// use wgpu_bcfsort::{KeyType, Options, Sorter};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let sorter = AutoSorter::of_sorter(Sorter::open(Options::default())?);
    /// assert!(sorter.choose(1000, KeyType::U32, Work::Sort)?.on_gpu);
    /// let sorter = sorter.with_device(Device::Auto);
    /// assert!(!sorter.choose(1000, KeyType::U32, Work::Sort)?.on_gpu);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_device(self, device: Device) -> Self {
        Self { device, ..self }
    }

    /// What to do if a GPU fails. Without it, the CPU sorts.
    #[must_use]
    pub fn on_error(self, on_error: OnError) -> Self {
        Self { on_error, ..self }
    }

    /// Where warnings go, each once, in place of the log. Clones that were made before are not
    /// concerned.
    #[must_use]
    pub fn warn_by(self, warn: impl Fn(&Warning) + Send + Sync + 'static) -> Self {
        let state = std::mem::replace(&mut *self.state(), State::closed(None));
        Self {
            shared: Arc::new(Shared::new(state, warn)),
            ..self
        }
    }

    /// The device that it was made for.
    #[must_use]
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Where a call of this many keys would sort now, and why. Opens nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`], if the GPU would be chosen, but has failed, and the CPU may not replace
    /// it ([`OnError::Fail`]).
    pub fn choose(&self, len: u64, key: KeyType, work: Work) -> Result<Choice, Error> {
        self.choose_call(&Call::new(len, key, work))
    }

    /// As [`choose`](Self::choose), of a call that is described as a whole.
    ///
    /// # Errors
    ///
    /// Those of [`choose`](Self::choose).
    pub fn choose_call(&self, call: &Call) -> Result<Choice, Error> {
        let mut state = self.state();
        self.choose_in(&mut state, call)
    }

    fn choose_in(&self, state: &mut State, call: &Call) -> Result<Choice, Error> {
        let cpu = |reason: &str, estimate| Choice {
            on_gpu: false,
            reason: reason.to_owned(),
            estimate,
        };
        let estimate = match &self.device {
            Device::Cpu => return Ok(cpu("the device is cpu", None)),
            Device::Auto => {
                state.see_what_is_open();
                let open = call.estimate(Gpu::Open);
                let (estimate, missed) = match state {
                    State::Closed { missed, .. } => (call.estimate(Gpu::Closed), *missed),
                    _ => (open, 0.0),
                };
                // (A call that is faster on the CPU does not open a GPU for others.)
                if open.cpu <= open.gpu || estimate.cpu + missed <= estimate.gpu {
                    return Ok(cpu("too few keys for a GPU", Some(estimate)));
                }
                Some(estimate)
            }
            _ => None,
        };
        if let State::Closed {
            chosen: chosen @ None,
            ..
        } = state
        {
            match adapters().first() {
                Some(best) => *chosen = Some(vec![best.clone()]),
                None => *state = State::None,
            }
        }
        match state {
            State::None => return Ok(cpu(NO_ADAPTER, None)),
            State::Failed(reason) if self.on_error == OnError::Fail => {
                return Err(Error::Failed(reason.clone()));
            }
            State::Failed(reason) => return Ok(cpu(reason, None)),
            State::Closed { .. } | State::Open(_) => {}
        }
        if estimate.is_none() {
            return Ok(Choice {
                on_gpu: true,
                reason: format!("the device is {}", self.device),
                estimate,
            });
        }
        if let Some(name) = state.software() {
            let reason = format!("the best adapter, {name}, is software");
            return Ok(cpu(&reason, None));
        }
        Ok(Choice {
            on_gpu: true,
            reason: "the GPU takes less time".to_owned(),
            estimate,
        })
    }

    /// Sorts a slice in place.
    ///
    /// O(n log n) time on a GPU, O(n) on the CPU; memory as of
    /// [`Sorter::sort`](wgpu_bcfsort::Sorter::sort) and [`cpu::sort`].
    ///
    /// # Errors
    ///
    /// [`Error::Sort`], if a GPU fails and may not be replaced ([`OnError::Fail`]). The slice is
    /// unchanged then.
    pub fn sort<T: SortKey>(&self, keys: &mut [T], order: Order) -> Result<(), Error> {
        self.sort_placed(keys, order).map(drop)
    }

    /// As [`sort`](Self::sort), and returns where it was done.
    ///
    /// # Errors
    ///
    /// Those of [`sort`](Self::sort).
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_auto::{AutoSorter, Device, Place};
    /// use wgpu_bcfsort::Order;
    /// # fn main() -> Result<(), bcfsort_auto::Error> {
    /// let sorter = AutoSorter::new(Device::Cpu)?;
    /// assert_eq!(sorter.sort_placed(&mut [3_u32, 1, 2], Order::Ascending)?, Place::Cpu);
    /// # Ok(()) }
    /// ```
    pub fn sort_placed<T: SortKey>(&self, keys: &mut [T], order: Order) -> Result<Place, Error> {
        let call = Call::new(keys.len() as u64, T::KEY_TYPE, Work::Sort);
        let ((), place) = self.run(
            &call,
            keys,
            |gpu, keys| gpu.sort(keys, order),
            |keys| cpu::sort(keys, order),
        )?;
        Ok(place)
    }

    /// Sorts keys, and passes them to `take`, in order, in blocks. Afterwards the slice has the
    /// same keys in any order.
    ///
    /// # Errors
    ///
    /// Those of [`sort`](Self::sort), and the first of `take`, which ends the sort.
    pub fn sort_to<T: SortKey, E: From<Error>>(
        &self,
        keys: &mut [T],
        order: Order,
        mut take: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        /// Why a sort to a closure ended.
        enum End<E> {
            Sort(wgpu_bcfsort::Error),
            Take(E),
        }
        impl<E> From<wgpu_bcfsort::Error> for End<E> {
            fn from(error: wgpu_bcfsort::Error) -> Self {
                Self::Sort(error)
            }
        }

        let call = Call::new(keys.len() as u64, T::KEY_TYPE, Work::Sort);
        let mut taken = 0;
        let mut ended = Ok(());
        self.run(
            &call,
            (&mut *keys, &mut taken),
            |gpu, (keys, taken)| {
                let sorted = gpu.sort_to(keys, order, |block| {
                    take(block).map_err(End::Take)?;
                    **taken += block.len();
                    Ok(())
                });
                match sorted {
                    Ok(()) => Ok(()),
                    Err(End::Sort(error)) => Err(error),
                    Err(End::Take(error)) => {
                        **taken = keys.len();
                        ended = Err(error);
                        Ok(())
                    }
                }
            },
            |(keys, _)| cpu::sort(keys, order),
        )?;
        ended?;
        // What a GPU passed on before it failed, if it did, need not be repeated: all devices give
        // the same bits.
        if taken < keys.len() {
            take(&keys[taken..])?;
        }
        Ok(())
    }

    /// The indices that sort keys, stably: `keys[indices[i] as usize]` has rank i.
    ///
    /// # Errors
    ///
    /// Those of [`sort`](Self::sort), and [`Error::TooManyToNumber`] for 2^32 keys
    /// and more.
    pub fn argsort<T: SortKey>(&self, keys: &[T], order: Order) -> Result<Vec<u32>, Error> {
        let (indices, _) = self.argsort_placed(keys, order)?;
        Ok(indices)
    }

    /// As [`argsort`](Self::argsort), and where it was done.
    ///
    /// # Errors
    ///
    /// Those of [`argsort`](Self::argsort).
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_auto::{AutoSorter, Device, Place};
    /// use wgpu_bcfsort::Order;
    /// # fn main() -> Result<(), bcfsort_auto::Error> {
    /// let sorter = AutoSorter::new(Device::Cpu)?;
    /// let sorted = sorter.argsort_placed(&[3_u32, 1, 2], Order::Ascending)?;
    /// assert_eq!(sorted, (vec![1, 2, 0], Place::Cpu));
    /// # Ok(()) }
    /// ```
    pub fn argsort_placed<T: SortKey>(
        &self,
        keys: &[T],
        order: Order,
    ) -> Result<(Vec<u32>, Place), Error> {
        if u32::try_from(keys.len()).is_err() {
            return Err(Error::TooManyToNumber(keys.len()));
        }
        let call = Call::new(keys.len() as u64, T::KEY_TYPE, Work::Argsort);
        self.run(
            &call,
            keys,
            |gpu, keys| gpu.argsort(keys, order),
            |keys| cpu::argsort(keys, order),
        )
    }

    /// Sorts keys, and moves the values along with them. Stable.
    ///
    /// # Errors
    ///
    /// [`Error::LengthsDiffer`], and those of [`argsort`](Self::argsort). Both slices
    /// are unchanged after an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_auto::{AutoSorter, Device};
    /// use wgpu_bcfsort::Order;
    /// # fn main() -> Result<(), bcfsort_auto::Error> {
    /// let (mut keys, mut values) = ([3, 1, 2, 1], ["three", "one", "two", "uno"]);
    /// AutoSorter::new(Device::Auto)?.sort_pairs(&mut keys, &mut values, Order::Ascending)?;
    /// assert_eq!((keys, values), ([1, 1, 2, 3], ["one", "uno", "two", "three"]));
    /// # Ok(()) }
    /// ```
    pub fn sort_pairs<T: SortKey, V>(
        &self,
        keys: &mut [T],
        values: &mut [V],
        order: Order,
    ) -> Result<(), Error> {
        if keys.len() != values.len() {
            return Err(Error::LengthsDiffer {
                keys: keys.len(),
                values: values.len(),
            });
        }
        let indices = self.argsort(keys, order)?;
        permute(indices, |i, j| {
            keys.swap(i, j);
            values.swap(i, j);
        });
        Ok(())
    }

    /// Sorts values by a key that is computed once for each. Stable.
    ///
    /// # Errors
    ///
    /// Those of [`argsort`](Self::argsort). The slice is unchanged after an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_auto::{AutoSorter, Device};
    /// use wgpu_bcfsort::Order;
    /// # fn main() -> Result<(), bcfsort_auto::Error> {
    /// let mut words = ["three", "one", "seven"];
    /// let len = |word: &&str| word.len() as u32;
    /// AutoSorter::new(Device::Cpu)?.sort_by_key(&mut words, Order::Ascending, len)?;
    /// assert_eq!(words, ["one", "three", "seven"]);
    /// # Ok(()) }
    /// ```
    pub fn sort_by_key<V, T: SortKey>(
        &self,
        values: &mut [V],
        order: Order,
        key: impl FnMut(&V) -> T,
    ) -> Result<(), Error> {
        let keys: Vec<T> = values.iter().map(key).collect();
        let indices = self.argsort(&keys, order)?;
        permute(indices, |i, j| values.swap(i, j));
        Ok(())
    }

    /// The different keys, in order, each once.
    ///
    /// # Errors
    ///
    /// Those of [`sort`](Self::sort).
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_auto::{AutoSorter, Device};
    /// use wgpu_bcfsort::Order;
    /// # fn main() -> Result<(), bcfsort_auto::Error> {
    /// let sorter = AutoSorter::new(Device::Auto)?;
    /// assert_eq!(sorter.unique(vec![3_u32, 1, 3], Order::Ascending)?, [1, 3]);
    /// # Ok(()) }
    /// ```
    pub fn unique<T: SortKey>(&self, mut keys: Vec<T>, order: Order) -> Result<Vec<T>, Error> {
        self.sort(&mut keys, order)?;
        // (Keys are equal if their bits are: -0 and 0 are two, as in the order.)
        keys.dedup_by(|a, b| a.to_bits64() == b.to_bits64());
        Ok(keys)
    }

    /// The different keys, in order, and how often each occurs.
    ///
    /// # Errors
    ///
    /// Those of [`sort`](Self::sort).
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_auto::{AutoSorter, Device};
    /// use wgpu_bcfsort::Order;
    /// # fn main() -> Result<(), bcfsort_auto::Error> {
    /// let sorter = AutoSorter::new(Device::Auto)?;
    /// assert_eq!(sorter.runs(vec![3_u32, 1, 3], Order::Descending)?, (vec![3, 1], vec![2, 1]));
    /// # Ok(()) }
    /// ```
    pub fn runs<T: SortKey>(
        &self,
        mut keys: Vec<T>,
        order: Order,
    ) -> Result<(Vec<T>, Vec<u64>), Error> {
        self.sort(&mut keys, order)?;
        let runs = || keys.chunk_by(|a, b| a.to_bits64() == b.to_bits64());
        let counts = runs().map(|run| run.len() as u64).collect();
        let unique = runs().map(|run| run[0]).collect();
        Ok((unique, counts))
    }

    /// Works on the GPUs, if they are chosen for a call. Returns `None` if the CPU is to do it,
    /// also after a failure of the GPUs.
    ///
    /// # Errors
    ///
    /// Those of [`sort`](Self::sort), with the errors of `work` as those of a GPU.
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_auto::model::Call;
    /// use bcfsort_auto::{AutoSorter, Device, Work};
    /// use wgpu_bcfsort::{KeyType, Order};
    /// # fn main() -> Result<(), bcfsort_auto::Error> {
    /// let sorter = AutoSorter::new(Device::Auto)?;
    /// let mut keys = vec![3_u32, 1, 2];
    /// // (What this caller has for the CPU takes a second.)
    /// let call = Call { cpu: Some(1.0), ..Call::new(3, KeyType::U32, Work::Sort) };
    /// if sorter.on_gpus(&call, |gpus| gpus.sort(&mut keys, Order::Ascending))?.is_none() {
    ///     keys.sort();
    /// }
    /// assert_eq!(keys, [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    pub fn on_gpus<R>(
        &self,
        call: &Call,
        work: impl FnOnce(&MultiSorter) -> Result<R, wgpu_bcfsort::Error>,
    ) -> Result<Option<R>, Error> {
        let worked = self.placed(call, work)?;
        Ok(worked.ok().map(|(result, _)| result))
    }

    /// Works on the GPU if it is chosen, and else, or if it fails and may, on the CPU.
    fn run<C, R>(
        &self,
        call: &Call,
        mut on: C,
        gpu: impl FnOnce(&MultiSorter, &mut C) -> Result<R, wgpu_bcfsort::Error>,
        cpu: impl FnOnce(&mut C) -> R,
    ) -> Result<(R, Place), Error> {
        let worked = self.placed(call, |gpus| gpu(gpus, &mut on))?;
        Ok(worked.unwrap_or_else(|place| (cpu(&mut on), place)))
    }

    /// Works on the GPUs, if they are chosen for a call, and says where. Or says why the CPU is to
    /// do it.
    fn placed<R>(
        &self,
        call: &Call,
        work: impl FnOnce(&MultiSorter) -> Result<R, wgpu_bcfsort::Error>,
    ) -> Result<Result<(R, Place), Place>, Error> {
        let opened = match self.opened(call)? {
            Ok(opened) => opened,
            Err(place) => return Ok(Err(place)),
        };
        match opened.sorter().and_then(|gpus| Ok(work(gpus)?)) {
            Ok(result) => Ok(Ok((result, Place::Gpu(opened.name().to_owned())))),
            Err(error) => {
                self.failed(opened.name(), error)?;
                Ok(Err(Place::CpuAfterFailure))
            }
        }
    }

    /// The GPU for a call, opened if need be, or why the CPU is to sort.
    fn opened(&self, call: &Call) -> Result<Result<Arc<Opened>, Place>, Error> {
        let mut state = self.state();
        let choice = self.choose_in(&mut state, call)?;
        let chosen = match &mut *state {
            State::Open(opened) if choice.on_gpu => return Ok(Ok(opened.clone())),
            State::Closed {
                chosen: Some(chosen),
                ..
            } if choice.on_gpu => chosen.clone(),
            State::Closed { missed, .. } => {
                if let Some(estimate) = choice.estimate {
                    let open = call.estimate(Gpu::Open);
                    *missed += (estimate.cpu - open.gpu).max(0.0);
                }
                return Ok(Err(Place::Cpu));
            }
            // (Without an estimate it was the missing adapter that decided.)
            State::None if self.device == Device::Auto && choice.estimate.is_none() => {
                drop(state);
                self.shared.warn(&Warning::NoAdapter);
                return Ok(Err(Place::Cpu));
            }
            _ => return Ok(Err(Place::Cpu)),
        };
        // While it opens, other threads can sort on the CPU.
        drop(state);
        match Opened::open(&chosen) {
            Ok(opened) => {
                *self.state() = State::Open(opened.clone());
                Ok(Ok(opened))
            }
            Err(error) => {
                let name = named(&chosen);
                if self.on_error == OnError::Cpu {
                    *self.state() = State::Failed(format!("{name} could not be opened: {error}"));
                }
                self.failed(&name, error.into())?;
                Ok(Err(Place::CpuAfterFailure))
            }
        }
    }

    /// After a failure of the GPU: whether the CPU may sort, with a warning.
    fn failed(&self, name: &str, error: Error) -> Result<(), Error> {
        if self.on_error == OnError::Fail {
            return Err(error);
        }
        // After any other error the device can be used again.
        if matches!(
            error,
            Error::Forked | Error::Sort(wgpu_bcfsort::Error::DeviceLost(_))
        ) {
            *self.state() = State::Failed(format!("{name} failed: {error}"));
        }
        self.shared
            .warn(&Warning::Failed(format!("{name}: {error}")));
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // It is replaced as a whole: a panic leaves nothing half done.
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

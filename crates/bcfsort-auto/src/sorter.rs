//! The sorter that chooses.

use crate::device::{Device, NoDevice, adapters, describe, is_software};
use crate::model::{Call, Estimate, Gpu, Work};
use crate::multi::MultiSorter;
use crate::permute::permute;
use crate::{Error, cpu};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;
use wgpu_bcfsort::wgpu::Adapter;
use wgpu_bcfsort::{KeyType, Options, Order, SortKey, Sorter};

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

/// Sorts each call on the device that takes the least time for it.
///
/// Made for a device: [`Device::Auto`] chooses between the best GPU and the CPU by a [model of
/// both](crate::model), others sort where they say. No GPU is listed or opened before a call needs
/// it. All results have the same bits on all devices. Clones share what is open.
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
    warn: Box<dyn Fn(&str) + Send + Sync>,
    /// Whether a failure was told.
    warned: AtomicBool,
}

enum State {
    /// `chosen`: `None` if the adapters are not listed yet. `missed`: seconds that an open GPU
    /// would have saved so far.
    Closed {
        chosen: Option<Vec<Adapter>>,
        missed: f64,
    },
    Open(Opened),
    /// There is no adapter.
    None,
    /// The GPU cannot be used any more, and why.
    Failed(String),
}

impl State {
    /// GPUs that are not open, or that are not listed yet.
    const fn closed(chosen: Option<Vec<Adapter>>) -> Self {
        Self::Closed {
            chosen,
            missed: 0.0,
        }
    }

    /// The name of the adapter if it is software.
    fn software(&self) -> Option<String> {
        let info = match self {
            Self::Closed { chosen, .. } => chosen.as_ref()?.first()?.get_info(),
            Self::Open(Opened::One(one)) => one.sorter.device().adapter_info(),
            _ => return None,
        };
        is_software(&info).then_some(info.name)
    }
}

/// What is open.
#[derive(Clone)]
enum Opened {
    One(Arc<One>),
    Several(Arc<MultiSorter>),
}

/// One GPU.
struct One {
    sorter: Sorter,
    /// For what is too long for one sort on it.
    long: OnceLock<MultiSorter>,
}

impl One {
    fn new(sorter: Sorter) -> Self {
        let long = OnceLock::new();
        Self { sorter, long }
    }

    /// What sorts more keys than one sort on the device can have.
    fn long<T: SortKey>(&self, keys: &[T]) -> Result<Option<&MultiSorter>, wgpu_bcfsort::Error> {
        if keys.len() as u64 <= self.sorter.max_len(T::KEY_TYPE) {
            return Ok(None);
        }
        if self.long.get().is_none() {
            let long = MultiSorter::on_device_of(&self.sorter, &Options::default())?;
            // (Another thread may have been faster.)
            let _ = self.long.set(long);
        }
        Ok(self.long.get())
    }
}

impl Opened {
    fn sort<T: SortKey>(&self, keys: &mut [T], order: Order) -> Result<(), wgpu_bcfsort::Error> {
        match self {
            Self::One(one) => match one.long(keys)? {
                Some(long) => long.sort(keys, order),
                None => one.sorter.sort(keys, order),
            },
            Self::Several(sorter) => sorter.sort(keys, order),
        }
    }

    fn argsort<T: SortKey>(
        &self,
        keys: &[T],
        order: Order,
    ) -> Result<Vec<u32>, wgpu_bcfsort::Error> {
        match self {
            Self::One(one) => match one.long(keys)? {
                Some(long) => long.argsort(keys, order),
                None => one.sorter.argsort(keys, order),
            },
            Self::Several(sorter) => sorter.argsort(keys, order),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::One(one) => describe(&one.sorter.device().adapter_info()),
            Self::Several(_) => "all GPUs".to_owned(),
        }
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
        let state = State::Open(Opened::One(Arc::new(One::new(sorter))));
        Self::of(Device::Gpu, state)
    }

    fn of(device: Device, state: State) -> Self {
        let warn = |message: &str| log::warn!("{message}");
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                warn: Box::new(warn),
                warned: AtomicBool::new(false),
            }),
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

    /// Where warnings go, in place of the log. Clones that were made before are not concerned, and
    /// share nothing with this one.
    #[must_use]
    pub fn warn_by(self, warn: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let state = std::mem::replace(&mut *self.state(), State::closed(None));
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                warn: Box::new(warn),
                warned: AtomicBool::new(false),
            }),
            device: self.device,
            on_error: self.on_error,
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
        let mut state = self.state();
        self.choose_in(&mut state, &Call::new(len, key, work))
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
            State::None => return Ok(cpu(&NoDevice::None.to_string(), None)),
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
    /// unchanged then; if several GPUs sorted it, or it was too long for one sort on one, it has
    /// the same keys in any order.
    pub fn sort<T: SortKey>(&self, keys: &mut [T], order: Order) -> Result<(), Error> {
        let call = Call::new(keys.len() as u64, T::KEY_TYPE, Work::Sort);
        self.run(
            &call,
            keys,
            |gpu, keys| gpu.sort(keys, order),
            |keys| cpu::sort(keys, order),
        )?;
        Ok(())
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
                let one = match gpu {
                    Opened::One(one) if one.long(keys)?.is_none() => one,
                    long => return long.sort(keys, order),
                };
                let sorted = one.sorter.sort_to(keys, order, |block| {
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
        permute(indices.clone(), keys);
        permute(indices, values);
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
        permute(self.argsort(&keys, order)?, values);
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

    /// Works on the GPU if it is chosen, and else, or if it fails and may, on the CPU.
    fn run<C, R>(
        &self,
        call: &Call,
        mut on: C,
        gpu: impl FnOnce(&Opened, &mut C) -> Result<R, wgpu_bcfsort::Error>,
        cpu: impl FnOnce(&mut C) -> R,
    ) -> Result<(R, Place), Error> {
        let opened = match self.opened(call)? {
            Ok(opened) => opened,
            Err(place) => return Ok((cpu(&mut on), place)),
        };
        match gpu(&opened, &mut on) {
            Ok(result) => Ok((result, Place::Gpu(opened.name()))),
            Err(error) => {
                self.failed(&opened.name(), error)?;
                Ok((cpu(&mut on), Place::CpuAfterFailure))
            }
        }
    }

    /// The GPU for a call, opened if need be, or why the CPU is to sort.
    fn opened(&self, call: &Call) -> Result<Result<Opened, Place>, Error> {
        let mut state = self.state();
        let choice = self.choose_in(&mut state, call)?;
        let (opening, name) = match &mut *state {
            State::Open(opened) if choice.on_gpu => return Ok(Ok(opened.clone())),
            State::Closed {
                chosen: Some(chosen),
                ..
            } if choice.on_gpu => (open(chosen), named(chosen)),
            State::Closed { missed, .. } => {
                if let Some(estimate) = choice.estimate {
                    let open = call.estimate(Gpu::Open);
                    *missed += (estimate.cpu - open.gpu).max(0.0);
                }
                return Ok(Err(Place::Cpu));
            }
            _ => return Ok(Err(Place::Cpu)),
        };
        match opening {
            Ok(opened) => {
                *state = State::Open(opened.clone());
                Ok(Ok(opened))
            }
            Err(error) => {
                if self.on_error == OnError::Cpu {
                    *state = State::Failed(format!("{name} could not be opened: {error}"));
                }
                drop(state);
                self.failed(&name, error)?;
                Ok(Err(Place::CpuAfterFailure))
            }
        }
    }

    /// After a failure of the GPU: whether the CPU may sort, with a warning.
    fn failed(&self, name: &str, error: wgpu_bcfsort::Error) -> Result<(), Error> {
        if self.on_error == OnError::Fail {
            return Err(error.into());
        }
        let message = format!("sorting on the CPU: {name}: {error}");
        // After any other error the device can be used again.
        if matches!(error, wgpu_bcfsort::Error::DeviceLost(_)) {
            *self.state() = State::Failed(format!("{name} failed: {error}"));
        }
        if !self.shared.warned.swap(true, Relaxed) {
            (self.shared.warn)(&message);
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // It is replaced as a whole: a panic leaves nothing half done.
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(chosen: &[Adapter]) -> Result<Opened, wgpu_bcfsort::Error> {
    let begin = Instant::now();
    let opened = match chosen {
        [one] => {
            let sorter = Sorter::open(Options::default().adapter(one))?;
            Opened::One(Arc::new(One::new(sorter)))
        }
        several => Opened::Several(Arc::new(MultiSorter::open(several)?)),
    };
    log::info!("opened {} in {:?}", named(chosen), begin.elapsed());
    Ok(opened)
}

fn named(chosen: &[Adapter]) -> String {
    let names: Vec<String> = chosen.iter().map(|a| describe(&a.get_info())).collect();
    names.join(", ")
}

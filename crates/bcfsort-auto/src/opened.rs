//! What is open in this process: sorters of the same adapters share it.

use crate::Error;
use crate::device::describe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;
use wgpu_bcfsort::wgpu::Adapter;
use wgpu_bcfsort::{MultiSorter, Sorter};

/// Adapters that are open together.
pub(crate) struct Opened {
    /// None, if the caller has opened them.
    adapters: Vec<Adapter>,
    name: String,
    process: u32,
    sorter: MultiSorter,
}

static OPENED: Mutex<Vec<Weak<Opened>>> = Mutex::new(Vec::new());

impl Opened {
    /// Opens adapters, unless they are open.
    pub(crate) fn open(adapters: &[Adapter]) -> Result<Arc<Self>, wgpu_bcfsort::Error> {
        // (Locked meanwhile: a call that needs the same ones waits for them.)
        let mut all = locked();
        if let Some(opened) = of(&all, adapters) {
            return Ok(opened);
        }
        let begin = Instant::now();
        let opened = Arc::new(Self {
            adapters: adapters.to_vec(),
            name: named(adapters),
            process: std::process::id(),
            sorter: MultiSorter::open(adapters)?,
        });
        log::info!("opened {} in {:?}", opened.name, begin.elapsed());
        all.retain(|each| each.strong_count() > 0);
        all.push(Arc::downgrade(&opened));
        Ok(opened)
    }

    /// A device that the caller has opened.
    pub(crate) fn of_sorter(sorter: Sorter) -> Arc<Self> {
        Arc::new(Self {
            adapters: Vec::new(),
            name: describe(&sorter.device().adapter_info()),
            process: std::process::id(),
            sorter: MultiSorter::of_sorter(sorter),
        })
    }

    /// These adapters, if they are open. Does not wait while any are being opened.
    pub(crate) fn already(adapters: &[Adapter]) -> Option<Arc<Self>> {
        of(&OPENED.try_lock().ok()?, adapters)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The sorter, in the process that has opened it.
    pub(crate) fn sorter(&self) -> Result<&MultiSorter, Error> {
        if self.process == std::process::id() {
            Ok(&self.sorter)
        } else {
            Err(Error::Forked)
        }
    }

    /// The best adapter.
    pub(crate) fn first(&self) -> &Sorter {
        &self.sorter.sorters()[0]
    }
}

/// Whether any adapters are open, as far as is known without waiting.
pub(crate) fn any() -> bool {
    OPENED.try_lock().is_ok_and(|all| !all.is_empty())
}

/// The number of devices that are open in this process.
pub(crate) fn count() -> usize {
    let is_here = |opened: &Arc<Opened>| opened.process == std::process::id();
    let all = locked();
    let opened = all.iter().filter_map(Weak::upgrade).filter(is_here);
    opened.map(|opened| opened.sorter.len()).sum()
}

pub(crate) fn named(adapters: &[Adapter]) -> String {
    let names: Vec<String> = adapters.iter().map(|a| describe(&a.get_info())).collect();
    names.join(", ")
}

fn of(all: &[Weak<Opened>], adapters: &[Adapter]) -> Option<Arc<Opened>> {
    let mut opened = all.iter().filter_map(Weak::upgrade);
    opened.find(|each| each.adapters == adapters && each.process == std::process::id())
}

fn locked() -> MutexGuard<'static, Vec<Weak<Opened>>> {
    // A panic leaves nothing half done.
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

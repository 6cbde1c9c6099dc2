//! The times of the sorts that most programs call, for a report about a device.

use crate::measure::{Pace, Resident, median, too_large};
use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_term::fault::Fault;
use bcfsort_term::with_key_type;
use std::time::Duration;
use wgpu_bcfsort::internals::recording::PayloadKind;
use wgpu_bcfsort::{Clock, Detail, KeyType, Profile, SortKey, Sorter};

/// One of the main sorts: the type of the keys, and the payload.
#[derive(Clone, Copy, Debug)]
pub struct MainSort {
    key: KeyType,
    payload: PayloadKind,
}

/// The main sorts: keys of three types, keys with values, and keys with their indices.
pub const SORTS: [MainSort; 5] = [
    MainSort::new(KeyType::U32, PayloadKind::None),
    MainSort::new(KeyType::F32, PayloadKind::None),
    MainSort::new(KeyType::U64, PayloadKind::None),
    MainSort::new(KeyType::U32, PayloadKind::Values),
    MainSort::new(KeyType::U32, PayloadKind::Indices),
];

/// The time of one sort of random keys in GPU buffers, without transfers.
#[derive(Clone, Debug)]
pub struct Time {
    /// The engine.
    pub engine: &'static str,
    /// The median of all runs.
    pub median: Duration,
    /// The fastest run.
    pub min: Duration,
    /// True for the GPU's own timestamps, false for the host's clock.
    by_gpu: bool,
}

impl Time {
    /// The clock that measured it.
    pub const fn clock(&self) -> &'static str {
        if self.by_gpu {
            "GPU timestamps"
        } else {
            "wall clock"
        }
    }
}

impl MainSort {
    const fn new(key: KeyType, payload: PayloadKind) -> Self {
        Self { key, payload }
    }

    /// Its name in tables: the type of the keys, and the payload.
    pub fn name(self) -> String {
        match self.payload {
            PayloadKind::None => self.key.name().to_owned(),
            payload => format!("{} with {}", self.key, payload.name()),
        }
    }

    /// Times `repeats` sorts of these many keys.
    pub fn time(self, sorter: &Sorter, keys: u64, repeats: u32) -> Result<Time, Fault> {
        with_key_type!(self.key, T => time::<T>(sorter, keys, self.payload, repeats))
    }
}

fn time<T: SortKey>(
    sorter: &Sorter,
    keys: u64,
    payload: PayloadKind,
    repeats: u32,
) -> Result<Time, Fault> {
    let spec = Spec::new(Pattern::Random, keys);
    let input: Vec<T> = generate(&spec).map_err(|error| Fault::Usage(error.to_string()))?;
    let resident = Resident::upload_with_payload(sorter, &input, payload);
    let resident = resident.map_err(|error| too_large(error, "sizes"))?;
    let pace = Pace::of(&sorter.device().adapter_info());
    let profiles = resident.interleaved(&[sorter], Detail::Whole, repeats, pace, |_| ())?;
    let profiles: Vec<Profile> = profiles.into_iter().flatten().collect();
    let times = || profiles.iter().map(|profile| profile.total);
    Ok(Time {
        engine: sorter.engine(keys, T::KEY_TYPE).name(),
        median: median(times()),
        min: times().min().unwrap_or_default(),
        by_gpu: profiles.iter().all(|p| p.clock == Clock::Timestamps),
    })
}

//! Who sorts what: what [`Engine::Auto`] picks, and where any engine gives way to the sample sort.

use crate::algorithm::{Engine, MATRIX};
use crate::gpu::adapter::DeviceKind;
use crate::options::Options;
use crate::plan::{DeviceLimits, SampleSort, Tuning};
use crate::{KeyType, Payload};

/// What the choice depends on of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Records {
    pub(super) len: u32,
    pub(super) key: KeyType,
    /// What the sort itself takes along.
    pub(super) payload: Payload,
    /// Whether keys are in segments.
    pub(super) segmented: bool,
    /// Whether the number of records is read from a GPU buffer.
    pub(super) counted: bool,
}

impl Records {
    /// Keys alone, in one array.
    pub(super) const fn keys(len: u32, key: KeyType) -> Self {
        Self {
            len,
            key,
            payload: Payload::None,
            segmented: false,
            counted: false,
        }
    }

    /// Whether none but the sample sort can sort them.
    fn need_sample_sort(self) -> bool {
        self.payload != Payload::None || self.segmented || self.counted
    }
}

/// Who sorts these records on such a device: never [`Engine::Auto`].
pub(super) fn choose(
    device: DeviceKind,
    limits: &DeviceLimits,
    options: &Options,
    tuning: &Tuning,
    records: Records,
) -> Engine {
    let may_sample_sort = match options.engine {
        Engine::Auto => !device.compiles_slowly() && !options.are_of_mergesorts(),
        engine => engine == Engine::SampleSort,
    };
    match options.engine {
        _ if records.need_sample_sort() => Engine::SampleSort,
        Engine::Auto => {
            let Records { len, key, .. } = records;
            let plan = SampleSort::new(len, key, Payload::None, tuning, limits);
            // (A bank matrix is the mergesorts' base case, which one warp sorts sooner.)
            if len <= MATRIX || !may_sample_sort || !plan.has_room() {
                Engine::BcfMergesortPb
            } else {
                Engine::SampleSort
            }
        }
        engine => engine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: DeviceKind = DeviceKind {
        is_cpu: false,
        is_dx12: false,
    };
    const CPU: DeviceKind = DeviceKind {
        is_cpu: true,
        is_dx12: false,
    };
    const DX12: DeviceKind = DeviceKind {
        is_cpu: false,
        is_dx12: true,
    };
    /// Windows' software adapter.
    const WARP: DeviceKind = DeviceKind {
        is_cpu: true,
        is_dx12: true,
    };

    fn limits(workgroup_bytes: u32) -> DeviceLimits {
        DeviceLimits {
            buffer_bytes: u64::MAX,
            workgroups: 65_535,
            keys_per_dispatch: 1 << 25,
            workgroup_bytes,
            workgroup_lanes: 1024,
        }
    }

    fn chosen(device: DeviceKind, options: &Options, records: Records) -> Engine {
        let tuning = device.default_tuning();
        choose(device, &limits(32 << 10), options, &tuning, records)
    }

    /// Keys alone, with no options: by the device, the length, the type and the workgroup memory.
    #[test]
    fn auto_picks_by_the_device_and_the_keys() {
        use Engine::{BcfMergesortPb as Mergesort, SampleSort};
        use KeyType::{F32, F64, I64, U32, U64};
        const LARGEST: u32 = u32::MAX - 16_383;
        for (device, kib, len, key, expected) in [
            (GPU, 32, 0, U32, Mergesort),
            (GPU, 32, 1, U32, Mergesort),
            (GPU, 32, 1024, U32, Mergesort),
            (GPU, 32, 1024, F64, Mergesort),
            (GPU, 32, 1025, U32, SampleSort),
            (GPU, 32, 1025, I64, SampleSort),
            (GPU, 16, 1025, U64, SampleSort),
            (GPU, 32, 1 << 16, F32, SampleSort),
            (GPU, 32, 1 << 26, U32, SampleSort),
            // Beyond that workgroup memory has too little room for samples.
            (GPU, 16, 1 << 24, U32, SampleSort),
            (GPU, 16, 1 << 25, U32, Mergesort),
            (GPU, 16, 1 << 24, U64, SampleSort),
            (GPU, 16, 1 << 25, U64, Mergesort),
            (GPU, 32, 1 << 27, U32, SampleSort),
            (GPU, 32, 1 << 28, U32, Mergesort),
            (GPU, 32, 1 << 26, U64, SampleSort),
            (GPU, 32, 1 << 27, U64, Mergesort),
            (GPU, 48, 1 << 28, U32, SampleSort),
            (GPU, 48, LARGEST, U32, Mergesort),
            (CPU, 32, 1025, U32, Mergesort),
            (CPU, 32, 1 << 26, F64, Mergesort),
            (DX12, 32, 1025, U32, Mergesort),
            (DX12, 32, 1 << 26, F64, Mergesort),
            (WARP, 32, 1 << 20, U32, Mergesort),
        ] {
            let options = Options::default();
            let tuning = device.default_tuning();
            let records = Records::keys(len, key);
            let engine = choose(device, &limits(kib << 10), &options, &tuning, records);
            assert_eq!(engine, expected, "{device:?} {kib} KiB {len} {key}");
        }
    }

    /// What is asked for, of a million keys alone.
    #[test]
    fn an_engine_that_is_named_sorts_and_options_of_mergesorts_name_one() {
        use Engine::{BcfMergesort, BcfMergesortPb, SampleSort, Warpsort};
        let auto = Options::default();
        let named = |engine| Options::default().engine(engine);
        for (options, on_gpus, on_others) in [
            (auto.clone(), SampleSort, BcfMergesortPb),
            (auto.clone().buckets(64), BcfMergesortPb, BcfMergesortPb),
            (auto.clone().samples(64), BcfMergesortPb, BcfMergesortPb),
            (auto.clone().warps(4), BcfMergesortPb, BcfMergesortPb),
            (
                auto.clone().base_case(crate::BaseCase::Diagonal),
                BcfMergesortPb,
                BcfMergesortPb,
            ),
            (auto.clone().seed(1), SampleSort, BcfMergesortPb),
            (auto.keys_per_dispatch(1 << 20), SampleSort, BcfMergesortPb),
            (named(BcfMergesort), BcfMergesort, BcfMergesort),
            (named(BcfMergesortPb), BcfMergesortPb, BcfMergesortPb),
            (named(Warpsort), Warpsort, Warpsort),
            (named(SampleSort), SampleSort, SampleSort),
            (named(SampleSort).buckets(64), SampleSort, SampleSort),
        ] {
            for device in [GPU, CPU, DX12, WARP] {
                let expected = if device == GPU { on_gpus } else { on_others };
                let engine = chosen(device, &options, Records::keys(1 << 20, KeyType::U32));
                assert_eq!(engine, expected, "{device:?} {options:?}");
            }
        }
    }

    /// Whatever the device, the length and the engine are.
    #[test]
    fn what_no_mergesort_can_do_is_the_sample_sorts() {
        let keys = |len| Records::keys(len, KeyType::U32);
        for len in [0, 5, 1024, 1 << 20, u32::MAX - 16_383] {
            for records in [
                Records {
                    payload: Payload::Values,
                    ..keys(len)
                },
                Records {
                    payload: Payload::Indices,
                    ..keys(len)
                },
                Records {
                    segmented: true,
                    ..keys(len)
                },
                Records {
                    counted: true,
                    ..keys(len)
                },
            ] {
                for device in [GPU, CPU, DX12, WARP] {
                    for engine in Engine::ALL {
                        let options = Options::default().engine(engine).buckets(4);
                        let chosen = chosen(device, &options, records);
                        let what = format!("{device:?} {engine} {records:?}");
                        assert_eq!(chosen, Engine::SampleSort, "{what}");
                    }
                }
            }
        }
    }
}

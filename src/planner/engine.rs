//! Chooses the engine: resolves [`Engine::Auto`], and uses the sample sort for all records that the
//! mergesorts do not support.

use crate::device::DeviceKind;
use crate::engine::Engine;
use crate::options::Options;
use crate::recording::PayloadKind;
use crate::shader::MATRIX;

/// The properties of records that the choice depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Records {
    pub(super) len: u32,
    /// The payload that the sort itself moves.
    pub(super) payload: PayloadKind,
    /// True if keys must be mapped to unsigned words.
    pub(super) mapped: bool,
    /// True for a segmented sort.
    pub(super) segmented: bool,
    /// True if a GPU buffer holds the number of records.
    pub(super) indirect: bool,
}

impl Records {
    /// Unmapped keys alone, in one array.
    pub(super) const fn keys(len: u32) -> Self {
        Self {
            len,
            payload: PayloadKind::None,
            mapped: false,
            segmented: false,
            indirect: false,
        }
    }

    /// True if only the sample sort supports these records.
    fn need_sample_sort(self) -> bool {
        self.payload != PayloadKind::None || self.segmented || self.indirect
    }
}

/// The engine that sorts these records on this device. Never [`Engine::Auto`].
pub(super) fn choose(device: DeviceKind, options: &Options, records: Records) -> Engine {
    let may_sample_sort = match options.engine {
        Engine::Auto => !device.is_cpu && !options.mergesort.are_set(),
        engine => engine == Engine::SampleSort,
    };
    match options.engine {
        _ if records.need_sample_sort() => Engine::SampleSort,
        Engine::Auto => {
            // The mergesorts' base case sorts one bank matrix faster: one warp, and one dispatch if
            // keys need no mapping before and after.
            if records.len <= MATRIX && !records.mapped || !may_sample_sort {
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
    use crate::mergesort::MergesortOptions;

    const GPU: DeviceKind = DeviceKind {
        is_cpu: false,
        is_discrete: true,
        has_fxc: false,
    };
    const CPU: DeviceKind = DeviceKind {
        is_cpu: true,
        is_discrete: false,
        has_fxc: false,
    };
    const DX12: DeviceKind = DeviceKind {
        is_cpu: false,
        is_discrete: true,
        has_fxc: true,
    };
    /// Windows' software adapter.
    const WARP: DeviceKind = DeviceKind {
        is_cpu: true,
        is_discrete: false,
        has_fxc: true,
    };

    /// Keys alone, with default options.
    #[test]
    fn auto_depends_on_the_device_the_length_and_the_key_map() {
        use Engine::{BcfMergesortPb as Mergesort, SampleSort};
        for (device, len, expected) in [
            (GPU, 0, Mergesort),
            (GPU, 1, Mergesort),
            (GPU, 1024, Mergesort),
            (GPU, 1025, SampleSort),
            (GPU, 1 << 26, SampleSort),
            (GPU, u32::MAX - 16_383, SampleSort),
            (CPU, 1025, Mergesort),
            (CPU, 1 << 26, Mergesort),
            (DX12, 1024, Mergesort),
            (DX12, 1 << 26, SampleSort),
            (WARP, 1 << 20, Mergesort),
        ] {
            let options = Options::default();
            let keys = Records::keys(len);
            assert_eq!(choose(device, &options, keys), expected, "{device:?} {len}");
            let mapped = Records {
                mapped: true,
                ..keys
            };
            let expected = if device.is_cpu { expected } else { SampleSort };
            assert_eq!(
                choose(device, &options, mapped),
                expected,
                "{device:?} {len}"
            );
        }
    }

    /// A million keys alone.
    #[test]
    fn an_explicit_engine_is_used_and_mergesort_options_imply_one() {
        use Engine::{BcfMergesort, BcfMergesortPb, SampleSort, Warpsort};
        let auto = Options::default();
        let plain = MergesortOptions::default;
        let with = |mergesort| Options::default().mergesort(mergesort);
        let named = |engine| Options::default().engine(engine);
        for (options, on_gpus, on_cpus) in [
            (auto.clone(), SampleSort, BcfMergesortPb),
            (with(plain().buckets(64)), BcfMergesortPb, BcfMergesortPb),
            (with(plain().samples(64)), BcfMergesortPb, BcfMergesortPb),
            (with(plain().warps(4)), BcfMergesortPb, BcfMergesortPb),
            (
                with(plain().base_case(crate::mergesort::BaseCase::Diagonal)),
                BcfMergesortPb,
                BcfMergesortPb,
            ),
            (with(plain().seed(1)), SampleSort, BcfMergesortPb),
            (auto.keys_per_dispatch(1 << 20), SampleSort, BcfMergesortPb),
            (named(BcfMergesort), BcfMergesort, BcfMergesort),
            (named(BcfMergesortPb), BcfMergesortPb, BcfMergesortPb),
            (named(Warpsort), Warpsort, Warpsort),
            (named(SampleSort), SampleSort, SampleSort),
            (
                named(SampleSort).mergesort(plain().buckets(64)),
                SampleSort,
                SampleSort,
            ),
        ] {
            for device in [GPU, CPU, DX12, WARP] {
                let expected = if device.is_cpu { on_cpus } else { on_gpus };
                let engine = choose(device, &options, Records::keys(1 << 20));
                assert_eq!(engine, expected, "{device:?} {options:?}");
            }
        }
    }

    /// On all devices, for all lengths and engines.
    #[test]
    fn records_that_no_mergesort_supports_get_the_sample_sort() {
        for len in [0, 5, 1024, 1 << 20, u32::MAX - 16_383] {
            for records in [
                Records {
                    payload: PayloadKind::Values,
                    ..Records::keys(len)
                },
                Records {
                    payload: PayloadKind::Indices,
                    ..Records::keys(len)
                },
                Records {
                    segmented: true,
                    ..Records::keys(len)
                },
                Records {
                    indirect: true,
                    ..Records::keys(len)
                },
            ] {
                for device in [GPU, CPU, DX12, WARP] {
                    for engine in Engine::ALL {
                        let options = Options::default()
                            .engine(engine)
                            .mergesort(MergesortOptions::default().buckets(4));
                        let chosen = choose(device, &options, records);
                        let what = format!("{device:?} {engine} {records:?}");
                        assert_eq!(chosen, Engine::SampleSort, "{what}");
                    }
                }
            }
        }
    }
}

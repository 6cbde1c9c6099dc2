//! The parameters of a dispatch: a struct for each `struct Params` of the shaders, word for word.

use super::PARAMETER_BLOCK;
use bytemuck::{Pod, Zeroable};

/// Declares the structs, and an enum of them all. A struct's fields are the members of its WGSL
/// twin, in order and with the same names. The WGSL file documents them.
macro_rules! parameters {
    ($($(#[$doc:meta])* $variant:ident($name:ident) { $($field:ident),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
            #[allow(missing_docs)]
            pub struct $name {
                $(pub $field: u32,)*
            }

            const _: () = assert!(size_of::<$name>() <= PARAMETER_BLOCK as usize);

            impl $name {
                /// The fields' names, in order.
                pub const NAMES: &[&str] = &[$(stringify!($field)),*];
            }

            impl From<$name> for Parameters {
                fn from(parameters: $name) -> Self {
                    Self::$variant(parameters)
                }
            }
        )*

        /// The parameters of one dispatch.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Parameters {
            $($(#[$doc])* $variant($name),)*
        }

        impl Parameters {
            /// The fields' names, in order.
            #[must_use]
            pub const fn names(&self) -> &'static [&'static str] {
                match self {
                    $(Self::$variant(_) => $name::NAMES,)*
                }
            }

            /// The fields, in order.
            #[must_use]
            pub fn words(&self) -> &[u32] {
                match self {
                    $(Self::$variant(of) => bytemuck::cast_slice(std::slice::from_ref(of)),)*
                }
            }

            /// The fields, in order and mutable.
            pub fn words_mut(&mut self) -> &mut [u32] {
                match self {
                    $(Self::$variant(of) => {
                        bytemuck::cast_slice_mut(std::slice::from_mut(of))
                    })*
                }
            }
        }
    };
}

parameters! {
    /// `base_case/fill_matrix.wgsl` and `baseline/warp_bitonic.wgsl`.
    BaseCase(BaseCaseParams) { len, first, end }

    /// `merge/pairs.wgsl`.
    Pairs(PairsParams) {
        first, end, done, steps, len, run, substreams, span, pairs, bucket_step,
    }

    /// `buckets/sample_runs.wgsl`.
    SampleRuns(SampleRunsParams) { len, run, samples, total }

    /// `baseline/random_samples.wgsl`.
    RandomSamples(RandomSamplesParams) { len, total, seed_low, seed_high, level }

    /// `buckets/rank_splitters.wgsl`.
    RankSplitters(RankSplittersParams) { len, run, runs, buckets, samples, pivots }

    /// `buckets/bucket_offsets.wgsl`.
    BucketOffsets(BucketOffsetsParams) { runs, run, buckets }

    /// `buckets/distribute.wgsl`.
    Distribute(DistributeParams) { len, runs, first, pieces }

    /// `prefix_sums/params.wgsl`.
    PrefixSums(PrefixSumsParams) { len, tile, tiles, first, end, colors, rounds, exclusive }

    /// `layout/params.wgsl`.
    Layout(LayoutParams) {
        len, first, end,
        key_first, key_stride, key_shift,
        sign_low, sign_high, flip_low, flip_high,
        segments, segments_power, offsets_first,
        source_stride,
        words, source_first, destination_first,
        bins, unused, tables,
    }

    /// `layout/set_count.wgsl`.
    SetCount(SetCountParams) { blocks, count_at, room }

    /// `samplesort/params.wgsl`.
    Sort(SortParams) {
        len, first, end,
        segments, whole, child, slots, nodes, samples, seed,
        rank_begin, rank_end, skips_done,
        tile, group_tiles, capacity, tiles, items, splitter_words, is_listed,
        source_sign_low, source_sign_high, source_flip_low, source_flip_high,
        target_sign_low, target_sign_high, target_flip_low, target_flip_high,
    }
}

impl Parameters {
    /// A field's value, or `None` if no field has this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u32> {
        Some(self.words()[self.position(name)?])
    }

    /// A field to be changed, or `None` if no field has this name.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut u32> {
        let position = self.position(name)?;
        self.words_mut().get_mut(position)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.names().iter().position(|&field| field == name)
    }

    /// Returns true if both are parameters of the same struct, with any values.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::{Comparator, KeyType};
    use naga::{AddressSpace, Scalar, TypeInner};

    /// The difference between the uniform struct of a module and a list of words with these names.
    fn difference(module: &naga::Module, names: &[&str]) -> Option<String> {
        let uniforms: Vec<_> = (module.global_variables.iter())
            .filter(|(_, variable)| variable.space == AddressSpace::Uniform)
            .collect();
        let [(_, params)] = uniforms[..] else {
            return Some(format!("{} uniform buffers", uniforms.len()));
        };
        let TypeInner::Struct { members, span } = &module.types[params.ty].inner else {
            return Some("not a struct".to_owned());
        };
        let words = |names: &[&str]| -> Vec<_> {
            let words = names.iter().zip((0..).step_by(4));
            words
                .map(|(name, offset)| (name.to_string(), offset, TypeInner::Scalar(Scalar::U32)))
                .collect()
        };
        let found: Vec<_> = (members.iter())
            .map(|member| {
                let ty = module.types[member.ty].inner.clone();
                (member.name.clone().unwrap_or_default(), member.offset, ty)
            })
            .collect();
        let is_same = found == words(names) && *span as usize == 4 * names.len();
        (!is_same).then(|| format!("{found:?} of {span} bytes, not {names:?}"))
    }

    #[test]
    fn every_kernel_has_the_parameters_of_its_struct() {
        let comparator = Comparator::stand_in();
        for kernel in Kernel::all() {
            let parameters = kernel.parameters();
            assert_eq!(parameters.words().len(), parameters.names().len());
            for key in KeyType::WHOLE_WORDS
                .into_iter()
                .filter(|&key| kernel.takes(key))
            {
                let specialised = kernel.specialise(key);
                for comparator in [None, Some(&comparator)] {
                    let (_, module) = specialised.parse(comparator).unwrap();
                    let difference = difference(&module, parameters.names());
                    assert_eq!(difference, None, "{}", specialised.label());
                }
            }
        }
    }

    #[test]
    fn a_struct_that_differs_from_its_twin_is_detected() {
        let differs = |members: &str| {
            let wgsl = format!(
                "struct Params {{ {members} }}
                @group(0) @binding(0) var<uniform> params: Params;"
            );
            let module = naga::front::wgsl::parse_str(&wgsl).unwrap();
            difference(&module, BaseCaseParams::NAMES).is_some()
        };
        assert!(!differs("len: u32, first: u32, end: u32"));
        for other in [
            "len: u32, end: u32, first: u32",
            "len: u32, first: u32",
            "len: u32, first: u32, end: u32, more: u32",
            "len: u32, first: i32, end: u32",
            "len: u32, first: u32, @align(16) end: u32",
            "len: u32, first: u32, @size(8) end: u32",
        ] {
            assert!(differs(other), "{other}");
        }
    }

    #[test]
    fn fields_are_found_by_name() {
        let mut parameters = Parameters::from(BaseCaseParams {
            len: 3,
            first: 4,
            end: 5,
        });
        assert_eq!(parameters.words(), [3, 4, 5]);
        assert_eq!(parameters.get("first"), Some(4));
        assert_eq!(parameters.get("run"), None);
        *parameters.get_mut("end").unwrap() = 9;
        assert_eq!(parameters.words(), [3, 4, 9]);
        assert_eq!(parameters.get_mut("run"), None);
        assert!(!parameters.is_like(&Kernel::RankSplitters.parameters()));
        assert!(parameters.is_like(&BaseCaseParams::default().into()));
    }
}

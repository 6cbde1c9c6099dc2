//! The kernels of the mergesorts: `shaders/base_case`, `merge`, `buckets` and `baseline`.

use super::paper::{BaseCase, WARP_PAGE, WARP_TILE};
use crate::engine::Engine;
use crate::key::KeyType;
use crate::shader::{
    Conflicts, Definition, Kernel, MATRIX, Network, Parameters, Piece, Source, W, parameters, wgsl,
};
use std::borrow::Cow;

/// Lanes of a workgroup in the kernels with one lane per item.
pub const ITEM_LANES: u32 = 64;

parameters! {
    /// `base_case/matrix.wgsl` and `baseline/warp_bitonic.wgsl`.
    BaseCaseParams { len, first, end }

    /// `merge/pairs.wgsl`.
    PairsParams { first, end, done, steps, len, run, substreams, span, pairs, bucket_step }

    /// `buckets/sample_runs.wgsl`.
    SampleRunsParams { len, run, samples, total }

    /// `baseline/random_samples.wgsl`.
    RandomSamplesParams { len, total, seed_low, seed_high, level }

    /// `buckets/rank_splitters.wgsl`.
    RankSplittersParams { len, run, runs, buckets, samples, pivots }

    /// `buckets/bucket_offsets.wgsl`.
    BucketOffsetsParams { runs, run, buckets }

    /// `buckets/distribute.wgsl`.
    DistributeParams { len, runs, first, pieces }
}

/// Each base case with its smallest number of warps per workgroup, and the default one also with 2
/// and 4. Another [`MergesortOptions::warps`](super::MergesortOptions::warps) changes only a
/// constant.
pub fn base_cases() -> impl Iterator<Item = (BaseCase, u32)> {
    let of = |form: BaseCase| {
        let warps = if form == BaseCase::default() {
            vec![1, 2, 4]
        } else {
            vec![form.warps()]
        };
        warps.into_iter().map(move |warps| (form, warps))
    };
    BaseCase::ALL.into_iter().flat_map(of)
}

/// Every kernel, with the [base cases](base_cases).
#[must_use]
pub fn all() -> Vec<Kernel> {
    let mut all = Vec::new();
    let keys = [KeyType::U32, KeyType::U64];
    for (form, warps) in base_cases() {
        all.extend(keys.map(|key| base_case(form, warps, key)));
    }
    all.extend(keys.map(page_merge));
    all.extend(keys.map(sample_runs));
    all.extend(keys.map(rank_splitters));
    all.push(bucket_offsets());
    all.extend(keys.map(distribute));
    all.extend(keys.map(warp_merge));
    all.extend(keys.map(random_samples));
    all
}

/// The parts of a kernel for keys of one width.
struct Parts {
    name: Cow<'static, str>,
    key: KeyType,
    constants: Vec<(&'static str, u32)>,
    /// True if keys pass through workgroup memory. The constant `TILE_CELLS` is their number of
    /// cells.
    has_tile: bool,
    pieces: Vec<Piece>,
    parameters: Parameters,
    conflicts: Conflicts,
}

impl Parts {
    /// A kernel without workgroup memory, whose text is one file.
    fn plain(
        name: &'static str,
        key: KeyType,
        parameters: impl Into<Parameters>,
        texts: &[Source],
    ) -> Self {
        Self {
            name: name.into(),
            key,
            constants: Vec::new(),
            has_tile: false,
            pieces: texts.iter().copied().map(Piece::File).collect(),
            parameters: parameters.into(),
            conflicts: Conflicts::None,
        }
    }

    fn kernel(self) -> Kernel {
        let is_wide = self.key.words() == 2;
        let mut constants = vec![("W", W)];
        constants.extend(self.constants);
        let mut pieces: Vec<Piece> = vec![
            if is_wide {
                wgsl!("lib/key.wgsl", "two_words").into()
            } else {
                wgsl!("lib/key.wgsl", "one_word").into()
            },
            wgsl!("lib/bank_matrix.wgsl", "matrix").into(),
            wgsl!("lib/workgroup.wgsl").into(),
        ];
        if self.has_tile {
            pieces.push(if is_wide {
                wgsl!("lib/bank_matrix.wgsl", "two_words").into()
            } else {
                wgsl!("lib/bank_matrix.wgsl", "one_word").into()
            });
        }
        pieces.extend(self.pieces);
        let cells = constants.iter().find(|constant| constant.0 == "TILE_CELLS");
        let cells = cells.map_or(0, |cells| cells.1);
        Definition {
            name: self.name,
            variant: if is_wide { ".2w" } else { ".1w" },
            key: if is_wide { KeyType::U64 } else { KeyType::U32 },
            constants,
            pieces,
            parameters: self.parameters,
            workgroup_bytes: cells * self.key.bytes() as u32,
            conflicts: self.conflicts,
        }
        .into()
    }
}

/// A base case: sorts tiles of [`BaseCase::keys`] keys, with this many warps of 32 lanes per
/// workgroup. Every [`BaseCase::warps`] of them sort one tile.
#[must_use]
pub fn base_case(form: BaseCase, warps: u32, key: KeyType) -> Kernel {
    let h = form.warps();
    let tiles = warps / h;
    let Form {
        name,
        cells,
        networks,
        texts,
    } = Form::of(form);
    let networks = networks
        .into_iter()
        .map(|(name, network)| Piece::Network(name, network));
    let is_warpsort = form == BaseCase::WarpBitonic;
    let mut pieces = vec![wgsl!("lib/io.wgsl", "in_place").into()];
    pieces.extend(networks);
    pieces.push(if is_warpsort {
        wgsl!("baseline/bitonic_merge.wgsl").into()
    } else {
        wgsl!("base_case/matrix.wgsl", "fill_matrix").into()
    });
    pieces.extend(texts.into_iter().map(Piece::File));
    Parts {
        name: if warps == h {
            name.into()
        } else {
            format!("{name}.{warps}_warps").into()
        },
        key,
        constants: vec![
            ("LOG2_W", W.ilog2()),
            ("H", h),
            ("LOG2_H", h.ilog2()),
            ("TILES", tiles),
            ("LANES", W * warps),
            ("TILE_CELLS", cells * tiles),
        ],
        has_tile: true,
        pieces,
        parameters: BaseCaseParams::default().into(),
        conflicts: if is_warpsort || form == BaseCase::OddEvenTransposition {
            Conflicts::OfBaseline
        } else {
            Conflicts::None
        },
    }
    .kernel()
}

/// The merge of an engine. Its pages have [`Engine::page`] keys.
#[must_use]
pub fn merge(engine: Engine, key: KeyType) -> Kernel {
    match engine {
        Engine::Warpsort => warp_merge(key),
        _ => page_merge(key),
    }
}

/// Page-wise binary merge of pairs of runs.
#[must_use]
pub fn page_merge(key: KeyType) -> Kernel {
    let network = Network::bitonic_merger(W);
    Parts {
        // The two pages' last keys follow the padded matrix.
        constants: vec![("TILE_CELLS", W * (W + 1) + 2), ("LASTS", W * (W + 1))],
        has_tile: true,
        pieces: vec![
            wgsl!("lib/io.wgsl", "source").into(),
            wgsl!("lib/io.wgsl", "destination").into(),
            Piece::Network("merge_registers", network),
            wgsl!("merge/pairs.wgsl").into(),
            wgsl!("merge/page_merge.wgsl").into(),
        ],
        ..Parts::plain("merge.page_merge", key, PairsParams::default(), &[])
    }
    .kernel()
}

/// Warpsort's page-wise merge of pairs of runs.
#[must_use]
pub fn warp_merge(key: KeyType) -> Kernel {
    Parts {
        // The last key of the page loaded last follows the two pages.
        constants: vec![
            ("TILE_CELLS", 2 * WARP_PAGE + 1),
            ("LAST_KEY", 2 * WARP_PAGE),
        ],
        has_tile: true,
        pieces: vec![
            wgsl!("lib/io.wgsl", "source").into(),
            wgsl!("lib/io.wgsl", "destination").into(),
            wgsl!("merge/pairs.wgsl").into(),
            wgsl!("baseline/bitonic_merge.wgsl").into(),
            wgsl!("baseline/warp_merge.wgsl").into(),
        ],
        conflicts: Conflicts::OfBaseline,
        ..Parts::plain("baseline.warp_merge", key, PairsParams::default(), &[])
    }
    .kernel()
}

/// Regular samples of each run.
#[must_use]
pub fn sample_runs(key: KeyType) -> Kernel {
    let text = wgsl!("buckets/sample_runs.wgsl");
    Parts::plain(
        "buckets.sample_runs",
        key,
        SampleRunsParams::default(),
        &[text],
    )
    .kernel()
}

/// Samples of the input at random positions, for warpsort.
#[must_use]
pub fn random_samples(key: KeyType) -> Kernel {
    let text = wgsl!("baseline/random_samples.wgsl");
    let parameters = RandomSamplesParams::default();
    Parts::plain("baseline.random_samples", key, parameters, &[text]).kernel()
}

/// Ranks of the splitters in each run.
#[must_use]
pub fn rank_splitters(key: KeyType) -> Kernel {
    let text = wgsl!("buckets/rank_splitters.wgsl");
    let parameters = RankSplittersParams::default();
    Parts::plain("buckets.rank_splitters", key, parameters, &[text]).kernel()
}

/// Destination offsets of each run's part of each bucket.
#[must_use]
pub fn bucket_offsets() -> Kernel {
    Definition {
        name: "buckets.bucket_offsets".into(),
        variant: "",
        key: KeyType::U32,
        constants: vec![("W", W)],
        pieces: vec![
            wgsl!("lib/bank_matrix.wgsl", "matrix").into(),
            wgsl!("lib/workgroup.wgsl").into(),
            wgsl!("buckets/bucket_offsets.wgsl").into(),
        ],
        parameters: BucketOffsetsParams::default().into(),
        workgroup_bytes: 0,
        conflicts: Conflicts::None,
    }
    .into()
}

/// Moves each run's part of each bucket to its offset.
#[must_use]
pub fn distribute(key: KeyType) -> Kernel {
    let text = wgsl!("buckets/distribute.wgsl");
    Parts {
        constants: vec![("TILE_CELLS", MATRIX)],
        has_tile: true,
        ..Parts::plain(
            "buckets.distribute",
            key,
            DistributeParams::default(),
            &[text],
        )
    }
    .kernel()
}

/// What the base cases differ in.
struct Form {
    name: &'static str,
    /// Cells of workgroup memory per tile.
    cells: u32,
    /// The networks that a lane applies to the keys in its registers: `ShearSort` has Batcher's
    /// sort of a row or of its segments; the bitonic base case has Batcher's sort, the parts of
    /// bitonic merges, and the bitonic merger.
    networks: Vec<(&'static str, Network)>,
    texts: Vec<Source>,
}

impl Form {
    fn of(form: BaseCase) -> Self {
        let of = |name, cells, networks, texts| Self {
            name,
            cells,
            networks,
            texts,
        };
        let with_transpose = |text| vec![wgsl!("base_case/matrix.wgsl", "transpose"), text];
        let sort = || ("sort_registers", Network::odd_even_merge_sort(W));
        let long = |name, texts| {
            // The keys of a lane are from W / h rows, h keys from each.
            let h = form.warps();
            let segments = Network::odd_even_merge_sort(h).side_by_side(W / h);
            of(
                name,
                form.keys(),
                vec![sort(), ("sort_segments", segments)],
                texts,
            )
        };
        let long_transpose =
            |name| long(name, with_transpose(wgsl!("base_case/shearsort_long.wgsl")));
        let long_diagonal =
            |name| long(name, vec![wgsl!("base_case/shearsort_long_diagonal.wgsl")]);
        match form {
            BaseCase::Transpose => of(
                "base_case.shearsort_transpose",
                MATRIX,
                vec![sort()],
                with_transpose(wgsl!("base_case/shearsort_transpose.wgsl")),
            ),
            BaseCase::Diagonal => of(
                "base_case.shearsort_diagonal",
                MATRIX,
                vec![sort()],
                vec![wgsl!("base_case/shearsort_diagonal.wgsl")],
            ),
            BaseCase::Bitonic => of(
                "base_case.bitonic_matrix",
                W * (W + 1),
                vec![
                    sort(),
                    ("cross_1", Network::bitonic_cross(W, 1)),
                    ("cross_2", Network::bitonic_cross(W, 2)),
                    ("cross_3", Network::bitonic_cross(W, 3)),
                    ("cross_4", Network::bitonic_cross(W, 4)),
                    ("cross_5", Network::bitonic_cross(W, 5)),
                    ("merge_registers", Network::bitonic_merger(W)),
                ],
                vec![wgsl!("base_case/bitonic_matrix.wgsl")],
            ),
            BaseCase::Long2 => long_transpose("base_case.shearsort_long.h2"),
            BaseCase::Long4 => long_transpose("base_case.shearsort_long.h4"),
            BaseCase::Long8 => long_transpose("base_case.shearsort_long.h8"),
            BaseCase::LongDiagonal2 => long_diagonal("base_case.shearsort_long_diagonal.h2"),
            BaseCase::LongDiagonal4 => long_diagonal("base_case.shearsort_long_diagonal.h4"),
            BaseCase::LongDiagonal8 => long_diagonal("base_case.shearsort_long_diagonal.h8"),
            // Their networks are loops over workgroup memory, in their own text.
            BaseCase::NoRegisters => of(
                "baseline.shearsort_no_registers",
                MATRIX,
                Vec::new(),
                with_transpose(wgsl!("baseline/shearsort_no_registers.wgsl")),
            ),
            BaseCase::OddEvenTransposition => of(
                "baseline.odd_even_transposition",
                MATRIX,
                Vec::new(),
                vec![wgsl!("baseline/odd_even_transposition.wgsl")],
            ),
            BaseCase::WarpBitonic => of(
                "baseline.warp_bitonic",
                WARP_TILE,
                Vec::new(),
                vec![wgsl!("baseline/warp_bitonic.wgsl")],
            ),
        }
    }
}

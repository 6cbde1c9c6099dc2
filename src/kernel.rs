//! Kernels: assembled from the files in `shaders/`, validated by naga, their bindings reflected.
//!
//! A kernel is one WGSL module: constants, the key type, pieces shared with other kernels, a
//! sorting network if it needs one, and its own file. Assembly only concatenates. Each piece is
//! plain WGSL, and every number comes from this module.

macro_rules! shader {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $path))
    };
}

mod layout;
mod parameters;
mod reflection;
mod samplesort;
mod tile_sort;

pub use layout::LayoutKernel;
pub(crate) use layout::{BINS, COUNTED, MOVED};
pub use parameters::{
    BaseCaseParams, BucketOffsetsParams, DistributeParams, LayoutParams, PairsParams, Parameters,
    PrefixSumsParams, RandomSamplesParams, RankSplittersParams, SampleRunsParams, SetCountParams,
    SortParams,
};
pub(crate) use samplesort::{EACH_OF_ITEMS, MERGE_LANES, MERGED_TILES};
pub use samplesort::{Partition, Shape, SortKernel, Stage};

use crate::algorithm::{BaseCase, PrefixSumsMethod};
use crate::algorithm::{MATRIX, MOST_COLORS, W, WARP_PAGE, WARP_TILE};
use crate::network::Network;
use crate::{Comparator, Error, KeyType};

/// Lanes of a workgroup in the kernels with one lane per item.
pub const ITEM_LANES: u32 = 64;

/// Bytes of the block that holds a kernel's parameters: large enough for every kernel, and a
/// multiple of WebGPU's alignment of uniform blocks in one buffer.
pub const PARAMETER_BLOCK: u32 = 256;

/// One compute kernel of the library, before it is specialised to a key type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kernel {
    /// A base case: sorts tiles of [`BaseCase::keys`] keys.
    BaseCase {
        /// The sorting method.
        form: BaseCase,
        /// Warps of 32 lanes per workgroup. Every [`BaseCase::warps`] of them sort one tile.
        warps: u32,
    },
    /// Page-wise binary merge of pairs of runs.
    PageMerge,
    /// Regular samples of each run.
    SampleRuns,
    /// Ranks of the splitters in each run.
    RankSplitters,
    /// Destination offsets of each run's part of each bucket.
    BucketOffsets,
    /// Moves each run's part of each bucket to its offset.
    Distribute,
    /// Warpsort's page-wise merge of pairs of runs.
    WarpMerge,
    /// Samples of the input at random positions, for warpsort.
    RandomSamples,
    /// A kernel before or after a sort of words.
    Layout(LayoutKernel),
    /// A kernel of the sample sort.
    Sort(SortKernel),
    /// Colored prefix sums, phase 1: the sums of each tile.
    TileSums {
        /// Layout of the lanes' sums in workgroup memory.
        method: PrefixSumsMethod,
    },
    /// Colored prefix sums, phase 2: the tiles' offsets.
    TileOffsets,
    /// Colored prefix sums, phase 3: the prefix sums of each tile.
    PrefixSums {
        /// Layout of the lanes' sums in workgroup memory.
        method: PrefixSumsMethod,
    },
}

/// A kernel and its key type, or its value type in prefix sums: the unit that is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Specialised {
    kernel: Kernel,
    key: KeyType,
}

/// How a kernel uses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `var<uniform>`: the parameters.
    Uniform,
    /// `var<storage, read>`.
    Read,
    /// `var<storage, read_write>`.
    ReadWrite,
}

/// A binding of a kernel in group 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// `@binding`.
    pub binding: u32,
    /// The variable's name. Recordings refer to the binding by it.
    pub name: String,
    /// How the kernel uses it.
    pub access: Access,
}

/// An assembled kernel: its WGSL, and the interface that naga found in it.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The whole module's text, as it is passed to the device.
    pub wgsl: String,
    /// Every binding of group 0, by number.
    pub bindings: Vec<Binding>,
    /// Lanes of a workgroup.
    pub workgroup_size: u32,
    /// Bytes of workgroup memory that the entry point uses, as WebGPU computes them for
    /// `max_compute_workgroup_storage_size`: the size of each variable is rounded up to a multiple
    /// of 16.
    pub workgroup_bytes: u32,
}

struct Pieces {
    constants: Vec<(&'static str, u32)>,
    /// Functions that load and store keys.
    io: Vec<&'static str>,
    /// Networks by function name.
    networks: Vec<(&'static str, Network)>,
    /// True if the kernel adds values and does not sort or move keys.
    adds: bool,
    /// True if keys pass through workgroup memory. The constant `TILE_CELLS` is their number of
    /// cells.
    tile: bool,
    /// Text shared by the kernels of one phase.
    shared: Vec<&'static str>,
    text: &'static str,
}

/// Source and destination of the merges.
const OUT_OF_PLACE: [&str; 2] = [shader!("io/source.wgsl"), shader!("io/destination.wgsl")];

/// The text of a base case that transposes its matrix.
macro_rules! with_transpose {
    ($path:literal) => {
        concat!(shader!("base_case/transpose.wgsl"), "\n", shader!($path))
    };
}

impl Pieces {
    /// A kernel with no text but its own.
    const fn plain(text: &'static str) -> Self {
        Self {
            constants: Vec::new(),
            io: Vec::new(),
            networks: Vec::new(),
            adds: false,
            tile: false,
            shared: Vec::new(),
            text,
        }
    }
}

impl Kernel {
    /// Every kernel that the sorts or prefix sums can dispatch.
    ///
    /// Each base case has its smallest number of warps per workgroup. The default one also has 2
    /// and 4 warps; another [`MergesortOptions::warps`](crate::paper::MergesortOptions::warps)
    /// changes only a constant. The sample sort's kernels have the tile sizes of the default
    /// [`Tuning`](crate::plan::Tuning); those of other tile sizes are not listed.
    pub fn all() -> impl Iterator<Item = Self> {
        let base_cases = |form: BaseCase| {
            let warps = if form == BaseCase::default() {
                vec![1, 2, 4]
            } else {
                vec![form.warps()]
            };
            let kernel = move |warps| Self::BaseCase { form, warps };
            warps.into_iter().map(kernel)
        };
        BaseCase::ALL
            .into_iter()
            .flat_map(base_cases)
            .chain([
                Self::PageMerge,
                Self::SampleRuns,
                Self::RankSplitters,
                Self::BucketOffsets,
                Self::Distribute,
                Self::WarpMerge,
                Self::RandomSamples,
            ])
            .chain(LayoutKernel::ALL.map(Self::Layout))
            .chain(SortKernel::all().into_iter().map(Self::Sort))
            .chain(PrefixSumsMethod::ALL.map(|method| Self::TileSums { method }))
            .chain([Self::TileOffsets])
            .chain(PrefixSumsMethod::ALL.map(|method| Self::PrefixSums { method }))
    }

    /// Returns true if the kernel exists for a key type. Sorts support every type; prefix sums
    /// support `u32`, `i32` and `f32`.
    #[must_use]
    pub const fn takes(self, key: KeyType) -> bool {
        !self.adds() || key.words() == 1
    }

    /// Returns true if its accesses may have bank conflicts: in a baseline, or where lanes
    /// [search](Self::searches).
    #[must_use]
    pub const fn has_bank_conflicts(self) -> bool {
        self.searches() || self.is_baseline()
    }

    /// Returns true if its lanes search workgroup memory, for a splitter or for the source of a
    /// record. The addresses depend on the data, and so does the degree of the bank conflicts. In
    /// the sample sort, all kernels search that do more than sort or add. Their sorting networks
    /// are free of conflicts, as in all other kernels.
    #[must_use]
    pub const fn searches(self) -> bool {
        match self {
            Self::Sort(kernel) => kernel.searches(),
            Self::Layout(kernel) => kernel.searches(),
            _ => false,
        }
    }

    /// Returns true if it is a baseline, with the bank conflicts of the original algorithm.
    const fn is_baseline(self) -> bool {
        matches!(
            self,
            Self::BaseCase {
                form: BaseCase::WarpBitonic | BaseCase::OddEvenTransposition,
                ..
            } | Self::WarpMerge
                | Self::TileSums {
                    method: PrefixSumsMethod::Naive
                }
                | Self::PrefixSums {
                    method: PrefixSumsMethod::Naive
                }
        )
    }

    /// Returns true if it adds values, and has no order.
    const fn adds(self) -> bool {
        matches!(
            self,
            Self::TileSums { .. } | Self::TileOffsets | Self::PrefixSums { .. }
        )
    }

    /// The kernel's `struct Params`, with 0 in every field.
    #[must_use]
    pub fn parameters(self) -> Parameters {
        match self {
            Self::BaseCase { .. } => BaseCaseParams::default().into(),
            Self::PageMerge | Self::WarpMerge => PairsParams::default().into(),
            Self::SampleRuns => SampleRunsParams::default().into(),
            Self::RandomSamples => RandomSamplesParams::default().into(),
            Self::RankSplitters => RankSplittersParams::default().into(),
            Self::BucketOffsets => BucketOffsetsParams::default().into(),
            Self::Distribute => DistributeParams::default().into(),
            Self::Layout(LayoutKernel::SetCount) => SetCountParams::default().into(),
            Self::Layout(_) => LayoutParams::default().into(),
            Self::Sort(_) => SortParams::default().into(),
            Self::TileSums { .. } | Self::TileOffsets | Self::PrefixSums { .. } => {
                PrefixSumsParams::default().into()
            }
        }
    }

    /// The kernel's name in labels and reports: the path of its file with dots, and its variant.
    #[must_use]
    pub fn name(self) -> String {
        let name = match self {
            Self::BaseCase { form, warps } => {
                let mut name = base_case(form).0.to_owned();
                if warps != form.warps() {
                    name += &format!(".{warps}_warps");
                }
                return name;
            }
            Self::PageMerge => "merge.page_merge",
            Self::SampleRuns => "buckets.sample_runs",
            Self::RankSplitters => "buckets.rank_splitters",
            Self::BucketOffsets => "buckets.bucket_offsets",
            Self::Distribute => "buckets.distribute",
            Self::WarpMerge => "baseline.warp_merge",
            Self::RandomSamples => "baseline.random_samples",
            Self::TileSums { method } => match method {
                PrefixSumsMethod::Naive => "prefix_sums.tile_sums.naive",
                PrefixSumsMethod::ConflictFree => "prefix_sums.tile_sums",
            },
            Self::TileOffsets => "prefix_sums.tile_offsets",
            Self::PrefixSums { method } => match method {
                PrefixSumsMethod::Naive => "prefix_sums.prefix_sums.naive",
                PrefixSumsMethod::ConflictFree => "prefix_sums.prefix_sums",
            },
            Self::Layout(kernel) => return kernel.name(),
            Self::Sort(kernel) => return kernel.name(),
        };
        name.to_owned()
    }

    /// The comparator networks that each lane applies to the keys in its registers, by function
    /// name.
    ///
    /// `ShearSort` has Batcher's sort of a row or of its segments. The bitonic base case has
    /// Batcher's sort, the parts of bitonic merges, and the bitonic merger. The page merge has the
    /// merger. Kernels that do not sort in registers have no network.
    #[must_use]
    pub fn networks(self) -> Vec<(&'static str, Network)> {
        self.pieces().networks
    }

    /// Bytes of workgroup memory for keys, or for the values and sums of prefix sums. No kernel
    /// uses more, except for the 2 KiB of counters that [`BucketOffsets`](Self::BucketOffsets) adds
    /// up.
    #[must_use]
    pub fn workgroup_bytes(self, key: KeyType) -> u32 {
        match self {
            Self::Layout(kernel) => return kernel.workgroup_bytes(),
            Self::Sort(kernel) => return kernel.workgroup_bytes(),
            _ => {}
        }
        let pieces = self.pieces();
        let sizes = ["TILE_CELLS", "SUM_CELLS"];
        let cells = pieces.constants.iter().filter(|c| sizes.contains(&c.0));
        cells.map(|cells| cells.1 * key.bytes() as u32).sum()
    }

    /// Returns true if its text depends on the number of words of a key, one or two.
    const fn has_widths(self) -> bool {
        !matches!(self, Self::Sort(_) | Self::Layout(_) | Self::BucketOffsets) && !self.adds()
    }

    fn pieces(self) -> Pieces {
        let plain = |text| Pieces {
            adds: self.adds(),
            ..Pieces::plain(text)
        };
        match self {
            Self::Layout(kernel) => kernel.pieces(),
            // `sort_text` assembles its text.
            Self::Sort(_) => plain(""),
            Self::BaseCase { form, warps } => {
                let (_, cells, networks, text) = base_case(form);
                let h = form.warps();
                let tiles = warps / h;
                Pieces {
                    constants: vec![
                        ("LOG2_W", W.ilog2()),
                        ("H", h),
                        ("LOG2_H", h.ilog2()),
                        ("TILES", tiles),
                        ("LANES", W * warps),
                        ("TILE_CELLS", cells * tiles),
                    ],
                    io: vec![shader!("io/in_place.wgsl")],
                    networks,
                    adds: false,
                    tile: true,
                    shared: vec![if form == BaseCase::WarpBitonic {
                        shader!("baseline/bitonic_merge.wgsl")
                    } else {
                        shader!("base_case/fill_matrix.wgsl")
                    }],
                    text,
                }
            }
            Self::PageMerge => Pieces {
                // The two pages' last keys follow the padded matrix.
                constants: vec![("TILE_CELLS", W * (W + 1) + 2), ("LASTS", W * (W + 1))],
                io: OUT_OF_PLACE.to_vec(),
                networks: vec![("merge_registers", Network::bitonic_merger(W))],
                adds: false,
                tile: true,
                shared: vec![shader!("merge/pairs.wgsl")],
                text: shader!("merge/page_merge.wgsl"),
            },
            Self::SampleRuns => plain(shader!("buckets/sample_runs.wgsl")),
            Self::RankSplitters => plain(shader!("buckets/rank_splitters.wgsl")),
            Self::BucketOffsets => plain(shader!("buckets/bucket_offsets.wgsl")),
            Self::Distribute => Pieces {
                constants: vec![("TILE_CELLS", MATRIX)],
                tile: true,
                ..plain(shader!("buckets/distribute.wgsl"))
            },
            Self::WarpMerge => Pieces {
                // The last key of the page loaded last follows the two pages.
                constants: vec![
                    ("TILE_CELLS", 2 * WARP_PAGE + 1),
                    ("LAST_KEY", 2 * WARP_PAGE),
                ],
                io: OUT_OF_PLACE.to_vec(),
                tile: true,
                shared: vec![
                    shader!("merge/pairs.wgsl"),
                    shader!("baseline/bitonic_merge.wgsl"),
                ],
                ..plain(shader!("baseline/warp_merge.wgsl"))
            },
            Self::RandomSamples => plain(shader!("baseline/random_samples.wgsl")),
            Self::TileSums { method } => {
                let (cells, lane_sums) = lane_sums(method);
                Pieces {
                    constants: vec![("MOST_COLORS", MOST_COLORS), ("SUM_CELLS", cells)],
                    shared: vec![lane_sums],
                    ..plain(shader!("prefix_sums/tile_sums.wgsl"))
                }
            }
            Self::TileOffsets => Pieces {
                constants: vec![("SUM_CELLS", MOST_COLORS * (W + 1))],
                ..plain(shader!("prefix_sums/tile_offsets.wgsl"))
            },
            Self::PrefixSums { method } => {
                let (cells, lane_sums) = lane_sums(method);
                Pieces {
                    constants: vec![
                        ("MOST_COLORS", MOST_COLORS),
                        ("SUM_CELLS", cells),
                        ("TILE_CELLS", W * (W + 1)),
                    ],
                    shared: vec![lane_sums],
                    ..plain(shader!("prefix_sums/prefix_sums.wgsl"))
                }
            }
        }
    }

    /// The kernel for a key type. Kernels that sort are shared by all types of one width, kernels
    /// that add by `u32` and `i32`. For a type that [is not supported](Self::takes), the result
    /// does not [assemble](Specialised::assemble).
    #[must_use]
    pub const fn specialise(self, key: KeyType) -> Specialised {
        let key = match key {
            KeyType::F32 if self.adds() => KeyType::F32,
            key if key.words() == 2 && (self.has_widths() || self.adds()) => KeyType::U64,
            _ => KeyType::U32,
        };
        Specialised { kernel: self, key }
    }
}

/// Cells of workgroup memory for the lanes' sums, and the text that defines their layout.
const fn lane_sums(method: PrefixSumsMethod) -> (u32, &'static str) {
    match method {
        PrefixSumsMethod::Naive => (W * MOST_COLORS, shader!("prefix_sums/naive.wgsl")),
        // The original matrix and the padded transposed one.
        PrefixSumsMethod::ConflictFree => (
            (W + W + 1) * MOST_COLORS,
            shader!("prefix_sums/conflict_free.wgsl"),
        ),
    }
}

/// A base case's name, cells of workgroup memory per tile, networks, and text.
fn base_case(
    form: BaseCase,
) -> (
    &'static str,
    u32,
    Vec<(&'static str, Network)>,
    &'static str,
) {
    let sort = || ("sort_registers", Network::odd_even_merge_sort(W));
    let long = |name, text| {
        // The keys of a lane are from W / h rows, h keys from each.
        let h = form.warps();
        let segments = Network::odd_even_merge_sort(h).side_by_side(W / h);
        let networks = vec![sort(), ("sort_segments", segments)];
        (name, form.keys(), networks, text)
    };
    let long_transpose = |name| long(name, with_transpose!("base_case/shearsort_long.wgsl"));
    let long_diagonal = |name| long(name, shader!("base_case/shearsort_long_diagonal.wgsl"));
    match form {
        BaseCase::Transpose => (
            "base_case.shearsort_transpose",
            MATRIX,
            vec![sort()],
            with_transpose!("base_case/shearsort_transpose.wgsl"),
        ),
        BaseCase::Diagonal => (
            "base_case.shearsort_diagonal",
            MATRIX,
            vec![sort()],
            shader!("base_case/shearsort_diagonal.wgsl"),
        ),
        BaseCase::Bitonic => (
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
            shader!("base_case/bitonic_matrix.wgsl"),
        ),
        BaseCase::Long1 => long_transpose("base_case.shearsort_long.h1"),
        BaseCase::Long2 => long_transpose("base_case.shearsort_long.h2"),
        BaseCase::Long4 => long_transpose("base_case.shearsort_long.h4"),
        BaseCase::Long8 => long_transpose("base_case.shearsort_long.h8"),
        BaseCase::LongDiagonal1 => long_diagonal("base_case.shearsort_long_diagonal.h1"),
        BaseCase::LongDiagonal2 => long_diagonal("base_case.shearsort_long_diagonal.h2"),
        BaseCase::LongDiagonal4 => long_diagonal("base_case.shearsort_long_diagonal.h4"),
        BaseCase::LongDiagonal8 => long_diagonal("base_case.shearsort_long_diagonal.h8"),
        // Their networks are loops over workgroup memory, in their own text.
        BaseCase::NoRegisters => (
            "baseline.shearsort_no_registers",
            MATRIX,
            Vec::new(),
            with_transpose!("baseline/shearsort_no_registers.wgsl"),
        ),
        BaseCase::OddEvenTransposition => (
            "baseline.odd_even_transposition",
            MATRIX,
            Vec::new(),
            shader!("baseline/odd_even_transposition.wgsl"),
        ),
        BaseCase::WarpBitonic => (
            "baseline.warp_bitonic",
            WARP_TILE,
            Vec::new(),
            shader!("baseline/warp_bitonic.wgsl"),
        ),
    }
}

impl Specialised {
    /// The kernel.
    #[must_use]
    pub const fn kernel(self) -> Kernel {
        self.kernel
    }

    /// Returns true if a custom comparator compares rows.
    #[must_use]
    pub const fn compares_rows(self) -> bool {
        matches!(self.kernel, Kernel::Sort(kernel) if kernel.compares_rows())
    }

    /// The key type of its width: `u32` or `u64`. In prefix sums, the type of the values: `u32` or
    /// `f32`.
    #[must_use]
    pub const fn key(self) -> KeyType {
        self.key
    }

    /// The label of its GPU objects, e.g. `bcfsort.merge.page_merge.1w`.
    #[must_use]
    pub fn label(self) -> String {
        let name = self.kernel.name();
        if self.kernel.has_widths() {
            format!("bcfsort.{name}.{}w", self.key.words())
        } else if self.kernel.adds() {
            format!("bcfsort.{name}.{}", self.key)
        } else {
            format!("bcfsort.{name}")
        }
    }

    /// [`Kernel::workgroup_bytes`] for its keys.
    #[must_use]
    pub fn workgroup_bytes(self) -> u32 {
        self.kernel.workgroup_bytes(self.key)
    }

    /// The module's text. A kernel that compares rows gets a stand-in for the custom comparator.
    /// The stand-in compares 32-bit words in ascending order.
    #[must_use]
    pub fn wgsl(self) -> String {
        self.text(None)
    }

    fn text(self, comparator: Option<&Comparator>) -> String {
        if let Kernel::Sort(kernel) = self.kernel {
            return sort_text(&self.label(), kernel, comparator);
        }
        let pieces = self.kernel.pieces();
        let mut text = format!("// {}\n\nconst W: u32 = {W}u;\n", self.label());
        for (name, value) in &pieces.constants {
            text += &format!("const {name}: u32 = {value}u;\n");
        }
        let mut add = |piece: &str| {
            text.push('\n');
            text.push_str(piece);
        };
        match self.key {
            KeyType::F32 => add(shader!("prefix_sums/floats.wgsl")),
            _ if pieces.adds => add(shader!("prefix_sums/integers.wgsl")),
            _ if !self.kernel.has_widths() => {}
            KeyType::U32 => add(shader!("key/one_word.wgsl")),
            _ => add(shader!("key/two_words.wgsl")),
        }
        add(shader!("bank_matrix.wgsl"));
        if pieces.adds {
            add(shader!("prefix_sums/params.wgsl"));
            add(shader!("prefix_sums/tile_matrix.wgsl"));
        }
        if pieces.tile {
            add(match self.key.words() {
                1 => shader!("tile/one_word.wgsl"),
                _ => shader!("tile/two_words.wgsl"),
            });
        }
        pieces.io.iter().for_each(|piece| add(piece));
        for (function, network) in &pieces.networks {
            add(&network.to_wgsl(function));
        }
        pieces.shared.iter().for_each(|piece| add(piece));
        add(pieces.text);
        text
    }

    /// Assembles the kernel, validates it with naga and reflects its interface.
    ///
    /// # Errors
    ///
    /// [`Error::Kernel`] if [there is no such kernel](Kernel::takes) for the type, or if the text
    /// is not valid WGSL. The latter is a bug; a test rules it out for every kernel and type.
    pub fn assemble(self) -> Result<Assembled, Error> {
        self.assemble_comparing(None)
    }

    /// Like [`assemble`](Self::assemble), with a custom comparator for kernels that compare rows.
    ///
    /// # Errors
    ///
    /// [`Error::Kernel`].
    pub fn assemble_comparing(self, comparator: Option<&Comparator>) -> Result<Assembled, Error> {
        let (assembled, module) = self.parse(comparator)?;
        naga::valid::Validator::new(
            naga::valid::ValidationFlags::all(),
            naga::valid::Capabilities::empty(),
        )
        .validate(&module)
        .map_err(|e| self.failure(e.emit_to_string(&assembled.wgsl)))?;
        Ok(assembled)
    }

    /// Assembles the kernel and reflects its interface. The module is not validated: wgpu validates
    /// it when it creates the shader module.
    pub(crate) fn parse(
        self,
        comparator: Option<&Comparator>,
    ) -> Result<(Assembled, naga::Module), Error> {
        if !self.kernel.takes(self.key) {
            return Err(self.failure(format!("there is none for {}", self.key)));
        }
        let wgsl = self.text(comparator);
        let module = naga::front::wgsl::parse_str(&wgsl)
            .map_err(|e| self.failure(e.emit_to_string(&wgsl)))?;
        let assembled = reflection::reflect(wgsl, &module).map_err(|e| self.failure(e))?;
        Ok((assembled, module))
    }

    fn failure(self, message: String) -> Error {
        Error::Kernel {
            kernel: self.label(),
            message,
        }
    }
}

/// The text of a sample sort kernel.
fn sort_text(label: &str, kernel: SortKernel, comparator: Option<&Comparator>) -> String {
    let of = kernel.text();
    let mut text = format!("// {label}\n\n");
    for (name, value) in &of.constants {
        text += &format!("const {name}: u32 = {value}u;\n");
    }
    if let (Shape::Row { words, backwards }, true) = (kernel.shape, kernel.compares_rows()) {
        text += &format!("const BACKWARDS: bool = {backwards};\n\n");
        text += comparator.map_or(Comparator::STAND_IN, Comparator::text);
        if words > 0 {
            text.push('\n');
            text += comparator.map_or(Comparator::STAND_IN_OF_WORDS, Comparator::of_words);
        }
    }
    let pieces = of.pieces.iter().copied();
    for piece in pieces.chain([of.generated.as_str(), of.main]) {
        text.push('\n');
        text.push_str(piece);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_kernel_is_valid_for_every_key_type() {
        let mut seen = HashSet::new();
        for kernel in Kernel::all() {
            for key in KeyType::WHOLE_WORDS
                .into_iter()
                .filter(|&key| kernel.takes(key))
            {
                let specialised = kernel.specialise(key);
                if !seen.insert(specialised) {
                    continue;
                }
                let assembled = specialised.assemble().unwrap_or_else(|e| panic!("{e}"));
                // One uniform buffer for the parameters, and the default limit of 8 storage
                // buffers.
                assert!(assembled.bindings.len() <= 9, "{}", kernel.name());
                // A sorter checks this bound before it compiles, so the bound must hold. WebGPU
                // rounds up the size of each of six variables, and bucket offsets have 2 KiB of
                // counters.
                let declared = specialised.workgroup_bytes();
                let others = match kernel {
                    Kernel::BucketOffsets => 2048,
                    _ => 6 * 12,
                };
                let used = assembled.workgroup_bytes;
                assert!(used <= declared + others, "{}: {used}", kernel.name());
            }
        }
        // Two key widths, or one text for both.
        let kernels = Kernel::all();
        let texts = kernels.map(|k| if k.has_widths() || k.adds() { 2 } else { 1 });
        assert_eq!(seen.len(), texts.sum::<usize>());
    }

    /// Each text is compiled by every user's driver, and examined by every portability gate.
    #[test]
    fn the_number_of_texts_is_bounded() {
        const MOST_TEXTS: usize = 160;
        let mut texts = HashSet::new();
        for kernel in Kernel::all() {
            let keys = KeyType::WHOLE_WORDS
                .into_iter()
                .filter(|&key| kernel.takes(key));
            texts.extend(keys.map(|key| kernel.specialise(key).wgsl()));
        }
        assert!(texts.len() <= MOST_TEXTS, "{} texts", texts.len());
    }

    #[test]
    fn prefix_sums_kernels_have_one_word_and_are_shared_between_integers() {
        for method in PrefixSumsMethod::ALL {
            let of = |key| Kernel::PrefixSums { method }.specialise(key);
            let u32s = of(KeyType::U32);
            assert_eq!(of(KeyType::I32), u32s);
            assert_ne!(of(KeyType::F32), u32s);
            for key in [KeyType::U64, KeyType::I64, KeyType::F64] {
                assert!(!u32s.kernel().takes(key));
                let error = of(key).assemble().unwrap_err();
                assert!(error.to_string().contains("none for u64"), "{error}");
            }
            // Every adapter that can sort has this much workgroup memory.
            assert!(u32s.kernel().workgroup_bytes(KeyType::U32) <= 8480);
        }
    }

    #[test]
    fn sorting_kernels_are_shared_between_types_of_one_width() {
        for kernel in [Kernel::PageMerge, Kernel::Distribute] {
            let of = |key| kernel.specialise(key);
            assert_eq!(of(KeyType::F32), of(KeyType::U32));
            assert_eq!(of(KeyType::F64), of(KeyType::I64));
            assert_ne!(of(KeyType::F64), of(KeyType::F32));
        }
        let of = |key| Kernel::BucketOffsets.specialise(key);
        assert_eq!(of(KeyType::F64), of(KeyType::F32));
    }
}

//! A kernel: one WGSL module, assembled from constants and texts, validated by naga, its bindings
//! reflected.
//!
//! Assembly only concatenates. Each text is plain WGSL, and every number is a constant in front.

use super::{Network, Parameters, Source, reflection};
use crate::error::Error;
use crate::key::KeyType;
use crate::row_function::{Role, RowFunction};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A compute kernel. Kernels with the same [label](Self::label) are equal; a clone is cheap.
#[derive(Clone)]
pub struct Kernel(Arc<Named>);

struct Named {
    label: String,
    of: Definition,
}

/// What a kernel is made of, and what a recording must know of it.
pub struct Definition {
    /// Its folder of `shaders/`, what it does, and its variant, with dots: the name in reports.
    pub name: Cow<'static, str>,
    /// What distinguishes the kernels of one name, with a dot in front: the words of a key, or the
    /// type of a value. Empty if there is one.
    pub variant: &'static str,
    /// A key type of its width: `u32` or `u64`. In prefix sums, the type of the values: `u32` or
    /// `f32`.
    pub key: KeyType,
    /// The constants in front of the text, by name.
    pub constants: Vec<(&'static str, u32)>,
    /// The texts, in order.
    pub pieces: Vec<Piece>,
    /// Its `struct Params`, with 0 in every field.
    pub parameters: Parameters,
    /// Bytes of workgroup memory for keys, or for the values and sums of prefix sums. A kernel may
    /// use some more for counters.
    pub workgroup_bytes: u32,
    /// The bank conflicts that its accesses may have.
    pub conflicts: Conflicts,
}

/// A part of a kernel's text.
pub enum Piece {
    /// A file of `shaders/`, or a section of it.
    File(Source),
    /// A comparator network as a function of this name: a lane applies it to the keys in its
    /// registers.
    Network(&'static str, Network),
    /// Networks that an algorithm writes as functions of its own, when the kernel is compiled.
    Written(Box<dyn Fn() -> String + Send + Sync>),
    /// A custom comparator for rows of this many words, or 0 if rows are read from their buffer;
    /// and true if its order is reversed.
    Comparator(u32, bool),
    /// A custom predicate of rows.
    Predicate,
}

/// The bank conflicts that a kernel's accesses may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflicts {
    /// None.
    None,
    /// Where lanes search workgroup memory, for a splitter or for the source of a record. The
    /// addresses depend on the data, and so does the degree of the conflicts. In the sample sort,
    /// all kernels search that do more than sort or add. Their sorting networks are free of
    /// conflicts, as in all other kernels.
    WhereItSearches,
    /// Those of an original algorithm, of which the kernel is a baseline.
    OfBaseline,
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

impl From<Source> for Piece {
    fn from(file: Source) -> Self {
        Self::File(file)
    }
}

impl From<Definition> for Kernel {
    fn from(of: Definition) -> Self {
        let label = format!("bcfsort.{}{}", of.name, of.variant);
        Self(Arc::new(Named { label, of }))
    }
}

impl Kernel {
    /// The label of its GPU objects, e.g. `bcfsort.merge.page_merge.1w`.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.0.label
    }

    /// The name in reports: its folder of `shaders/`, what it does, and its variant, with dots.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.of.name
    }

    /// Returns true if it has this name, in any variant, or is of this folder.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        let rest = self.name().strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// A key type of its width: `u32` or `u64`. In prefix sums, the type of the values: `u32` or
    /// `f32`.
    #[must_use]
    pub fn key(&self) -> KeyType {
        self.0.of.key
    }

    /// The value of a constant, or `None` if the kernel has none of this name.
    #[must_use]
    pub fn constant(&self, name: &str) -> Option<u32> {
        let mut constants = self.0.of.constants.iter();
        Some(constants.find(|constant| constant.0 == name)?.1)
    }

    /// Its `struct Params`, with 0 in every field.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        self.0.of.parameters
    }

    /// Bytes of workgroup memory for keys, or for the values and sums of prefix sums. A kernel may
    /// use some more for counters.
    #[must_use]
    pub fn workgroup_bytes(&self) -> u32 {
        self.0.of.workgroup_bytes
    }

    /// Returns true if its accesses may have bank conflicts: in a baseline, or where lanes
    /// [search](Self::searches).
    #[must_use]
    pub fn has_bank_conflicts(&self) -> bool {
        self.0.of.conflicts != Conflicts::None
    }

    /// Returns true if its lanes [search](Conflicts::WhereItSearches) workgroup memory.
    #[must_use]
    pub fn searches(&self) -> bool {
        self.0.of.conflicts == Conflicts::WhereItSearches
    }

    /// Returns true if a custom comparator compares rows.
    #[must_use]
    pub fn compares_rows(&self) -> bool {
        self.role() == Some(Role::Comparator)
    }

    /// What a custom function says of rows, if the kernel has one.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        self.0.of.pieces.iter().find_map(|piece| match piece {
            Piece::Comparator(..) => Some(Role::Comparator),
            Piece::Predicate => Some(Role::Predicate),
            _ => None,
        })
    }

    /// The files of `shaders/` that it is made of, each once, in order. The last one is its own.
    #[must_use]
    pub fn files(&self) -> Vec<&'static str> {
        let mut files = Vec::new();
        for piece in &self.0.of.pieces {
            if let Piece::File(file) = piece {
                files.retain(|&path| path != file.path);
                files.push(file.path);
            }
        }
        files
    }

    /// The comparator networks that each lane applies to the keys in its registers, by function
    /// name. Kernels that do not sort in registers have none; neither have those whose
    /// algorithm writes its own.
    #[must_use]
    pub fn networks(&self) -> Vec<(&'static str, &Network)> {
        let pieces = self.0.of.pieces.iter();
        let networks = pieces.filter_map(|piece| match piece {
            Piece::Network(name, network) => Some((*name, network)),
            _ => None,
        });
        networks.collect()
    }

    /// The module's text. A kernel with a custom function gets a stand-in for it: a comparator of
    /// 32-bit words in ascending order, or a predicate that keeps those that are not 0.
    #[must_use]
    pub fn wgsl(&self) -> String {
        self.text(None)
    }

    fn text(&self, custom: Option<&RowFunction>) -> String {
        let mut text = format!("// {}\n\n", self.label());
        for (name, value) in &self.0.of.constants {
            let _ = writeln!(text, "const {name}: u32 = {value}u;");
        }
        for piece in &self.0.of.pieces {
            match piece {
                Piece::File(file) => text.extend(["\n", file.text().trim_end(), "\n"]),
                Piece::Network(name, network) => text.extend(["\n", &network.to_wgsl(name)]),
                Piece::Written(write) => text.push_str(&write()),
                Piece::Comparator(words, backwards) => {
                    let _ = writeln!(text, "const BACKWARDS: bool = {backwards};\n");
                    text += custom.map_or(Role::Comparator.stand_in(), RowFunction::text);
                    if *words > 0 {
                        let of_words = custom.map(RowFunction::of_words);
                        text.extend(["\n", of_words.unwrap_or(RowFunction::STAND_IN_OF_WORDS)]);
                    }
                }
                Piece::Predicate => {
                    let stand_in = Role::Predicate.stand_in();
                    text.extend(["\n", custom.map_or(stand_in, RowFunction::text)]);
                }
            }
        }
        text
    }

    /// Assembles the kernel, validates it with naga and reflects its interface.
    ///
    /// # Errors
    ///
    /// [`Error::Kernel`] if the text is not valid WGSL: a bug, which a test rules out for every
    /// kernel.
    pub fn assemble(&self) -> Result<Assembled, Error> {
        self.assemble_with(None)
    }

    /// Like [`assemble`](Self::assemble), with a custom function for kernels that have one.
    ///
    /// # Errors
    ///
    /// [`Error::Kernel`].
    pub fn assemble_with(&self, custom: Option<&RowFunction>) -> Result<Assembled, Error> {
        let (assembled, module) = self.parse(custom)?;
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
        &self,
        custom: Option<&RowFunction>,
    ) -> Result<(Assembled, naga::Module), Error> {
        let wgsl = self.text(custom);
        let module = naga::front::wgsl::parse_str(&wgsl)
            .map_err(|e| self.failure(e.emit_to_string(&wgsl)))?;
        let assembled = reflection::reflect(wgsl, &module).map_err(|e| self.failure(e))?;
        Ok((assembled, module))
    }

    fn failure(&self, message: String) -> Error {
        Error::Kernel {
            kernel: self.label().to_owned(),
            message,
        }
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.label() == other.label()
    }
}

impl Eq for Kernel {}

impl Hash for Kernel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.label().hash(state);
    }
}

impl PartialOrd for Kernel {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kernel {
    fn cmp(&self, other: &Self) -> Ordering {
        self.label().cmp(other.label())
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::Kernel;
    use crate::internals::kernels;
    use std::collections::{BTreeMap, HashSet};

    #[test]
    fn every_kernel_is_valid() {
        let mut labels = HashSet::new();
        for kernel in kernels() {
            assert!(labels.insert(kernel.label().to_owned()), "{kernel:?} twice");
            let assembled = kernel.assemble().unwrap_or_else(|e| panic!("{e}"));
            // One uniform buffer for the parameters, and the default limit of 8 storage buffers.
            assert!(assembled.bindings.len() <= 9, "{kernel:?}");
            // A sorter checks this bound before it compiles, so the bound must hold. WebGPU rounds
            // up the size of each of six variables, and bucket offsets have 2 KiB of counters.
            let others = if kernel.is("buckets.bucket_offsets") {
                2048
            } else {
                6 * 12
            };
            let used = assembled.workgroup_bytes;
            assert!(
                used <= kernel.workgroup_bytes() + others,
                "{kernel:?}: {used}"
            );
        }
    }

    /// The first lines of a kernel's own file name the others that it is made of: those of all its
    /// variants, and `samplesort/shape` for the file of a shape.
    #[test]
    fn the_first_lines_of_a_kernel_name_its_files() {
        let mut used: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for kernel in kernels() {
            let files = kernel.files();
            let (own, others) = files.split_last().unwrap();
            let known = used.entry(own).or_default();
            for file in others {
                let is_shape = file.starts_with("samplesort/shape/");
                let name = if is_shape { "samplesort/shape" } else { file };
                let name = name.trim_end_matches(".wgsl");
                if !known.contains(&name) {
                    known.push(name);
                }
            }
        }
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
        let mut wrong = Vec::new();
        for (own, mut others) in used {
            others.sort_unstable();
            let text = std::fs::read_to_string(root.join(own)).unwrap();
            let lines = text.lines().take_while(|line| *line != "//");
            let words: Vec<&str> = lines.flat_map(|line| line.split(' ')).collect();
            let named = words.join(" ").replace(" // ", " ");
            let expected = format!("// Uses {}.", others.join(", "));
            if named != expected {
                wrong.push(format!("{own}: {expected}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Each text is compiled by every user's driver, and examined by every portability gate.
    #[test]
    fn the_number_of_texts_is_bounded() {
        const MOST_TEXTS: usize = 256;
        let texts: HashSet<_> = kernels().iter().map(Kernel::wgsl).collect();
        assert!(texts.len() <= MOST_TEXTS, "{} texts", texts.len());
    }
}

//! Rows as they lie in memory: in Rust, in WGSL, and as words.

use crate::Error;
use naga::{Handle, Module};
use std::marker::PhantomData;

/// Where fields of a Rust struct lie, by the names that they have in WGSL: what
/// [`members!`](crate::members) makes, for [`Comparator::of`](crate::Comparator::of).
pub struct Members<T> {
    fields: Vec<Field>,
    of: PhantomData<fn() -> T>,
}

/// A field of a Rust struct, or of one in it.
#[derive(Debug)]
struct Field {
    name: String,
    offset: usize,
    bytes: usize,
}

/// The parts of a field's name in WGSL, its offset in bytes, and how many it has.
#[doc(hidden)]
pub type FieldOf = (&'static [&'static str], usize, usize);

#[doc(hidden)]
impl<T> Members<T> {
    #[must_use]
    pub fn new(fields: &[FieldOf]) -> Self {
        let field = |&(name, offset, bytes): &FieldOf| Field {
            name: name.join("."),
            offset,
            bytes,
        };
        Self {
            fields: fields.iter().map(field).collect(),
            of: PhantomData,
        }
    }

    /// Bytes of the field that this leads to.
    #[must_use]
    pub const fn bytes_of<F>(_: fn(&T) -> *const F) -> usize {
        size_of::<F>()
    }
}

impl<T> std::fmt::Debug for Members<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Members")
            .field("of", &std::any::type_name::<T>())
            .field("fields", &self.fields)
            .finish()
    }
}

/// Names of a Rust struct's fields, and where they lie: [`Members`] for
/// [`Comparator::of`](crate::Comparator::of).
///
/// It is written as the struct is, without types. Where a field has another name in WGSL, that
/// comes first: `depth: z`, or `depth: 0` of a struct without names. Of a struct in a struct each
/// field is named by itself, `place.cell`. Fields that are not in the WGSL struct, as they fill a
/// gap, may be left out.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{Comparator, members};
///
/// #[repr(C)]
/// struct Place {
///     cell: u32,
///     layer: u32,
/// }
///
/// #[repr(C)]
/// struct Particle {
///     place: Place,
///     z: f32,
/// }
///
/// let by_depth = Comparator::of(
///     "struct Place { cell: u32, layer: u32 }
///     struct Particle { place: Place, depth: f32 }
///     fn precedes(a: Particle, b: Particle) -> bool {
///         return a.depth < b.depth;
///     }",
///     members!(Particle { place.cell, place.layer, depth: z }),
/// )?;
/// assert_eq!(by_depth.row_words(), 3);
/// # Ok::<(), wgpu_bcfsort::Error>(())
/// ```
#[macro_export]
macro_rules! members {
    (@field $row:ty, [$($name:ident).+] []) => {
        $crate::members!(@field $row, [$($name).+] [$($name).+])
    };
    (@field $row:ty, [$($name:ident).+] [$($field:tt).+]) => {
        (
            &[$(::core::stringify!($name)),+] as &'static [&'static str],
            ::core::mem::offset_of!($row, $($field).+),
            $crate::Members::<$row>::bytes_of(|row| &raw const row.$($field).+),
        )
    };
    ($row:ty { $($($name:ident).+ $(: $($field:tt).+)?),* $(,)? }) => {
        $crate::Members::<$row>::new(&[
            $($crate::members!(@field $row, [$($name).+] [$($($field).+)?])),*
        ])
    };
}

/// A member of a row that is no struct, or of one in it.
pub(super) struct Member {
    name: String,
    offset: u32,
    bytes: u32,
    /// Whether it is one thing, or several of the same: no array of structs.
    is_uniform: bool,
}

/// What a row has that is no struct, in order.
pub(super) fn members(module: &Module, row: Handle<naga::Type>) -> Vec<Member> {
    let mut found = Vec::new();
    collect_members(module, row, "", 0, &mut found);
    found
}

fn collect_members(
    module: &Module,
    ty: Handle<naga::Type>,
    name: &str,
    offset: u32,
    found: &mut Vec<Member>,
) {
    let inner = &module.types[ty].inner;
    if let naga::TypeInner::Struct { members, .. } = inner {
        for member in members {
            let own = member.name.as_deref().unwrap_or_default();
            let dot = if name.is_empty() { "" } else { "." };
            let name = format!("{name}{dot}{own}");
            collect_members(module, member.ty, &name, offset + member.offset, found);
        }
        return;
    }
    let mut of = inner;
    while let naga::TypeInner::Array { base, .. } = of {
        of = &module.types[*base].inner;
    }
    found.push(Member {
        name: name.into(),
        offset,
        bytes: inner.try_size(module.to_ctx()).unwrap_or(0),
        is_uniform: !matches!(of, naga::TypeInner::Struct { .. }),
    });
}

/// That a row of `stride` bytes and a Rust type are of one size.
pub(super) fn check_size<T>(stride: usize) -> Result<(), Error> {
    if size_of::<T>() == stride {
        return Ok(());
    }
    Err(Error::Comparator(format!(
        "{} is of {} bytes, and a row of {stride}",
        std::any::type_name::<T>(),
        size_of::<T>()
    )))
}

/// That each member of a row lies where the field of its name does, and is as large.
pub(super) fn check_members<T>(row: &[Member], rust: Members<T>) -> Result<(), Error> {
    let of = std::any::type_name::<T>();
    let mut fields = rust.fields;
    for member in row {
        let Member {
            name,
            offset,
            bytes,
            ..
        } = member;
        let found = fields.iter().position(|field| field.name == *name);
        let why = match found.map(|at| fields.swap_remove(at)) {
            None => {
                format!("where {of} has member {name} of a row is not said: name it in members!")
            }
            Some(field) if field.offset != *offset as usize => format!(
                "member {name} is at byte {} of {of}, and at byte {offset} of a row",
                field.offset
            ),
            Some(field) if field.bytes != *bytes as usize => format!(
                "member {name} is of {} bytes in {of}, and of {bytes} in a row",
                field.bytes
            ),
            Some(_) => continue,
        };
        return Err(Error::Comparator(why));
    }
    let Some(Field { name, .. }) = fields.first() else {
        return Ok(());
    };
    let within = format!("{name}.");
    let inner = row.iter().find(|member| member.name.starts_with(&within));
    Err(Error::Comparator(match inner {
        Some(inner) => format!("{name} is a struct: name its members, as {}", inner.name),
        None => format!("a row has no member {name}"),
    }))
}

/// Whether the size alone says how a row lies in memory.
pub(super) fn is_plain(row: &[Member]) -> bool {
    matches!(row, [member] if member.is_uniform)
}

/// A function that makes a row of its words, for rows of four at the most. What fills gaps is left
/// out.
pub(super) fn of_words(module: &Module) -> String {
    let is_row = |ty: &naga::Type| ty.name.as_deref() == Some("user_row");
    let row = module.types.iter().find(|ty| is_row(ty.1));
    let mut numbers = Vec::new();
    if let Some((row, _)) = row {
        collect_numbers(module, row, "row".into(), 0, &mut numbers);
    }
    let mut of =
        "fn user_row_of(words: vec4<u32>) -> user_row {\n    var row: user_row;\n".to_owned();
    for Numbers {
        path,
        word,
        scalar,
        size,
    } in &numbers
    {
        let ty = match scalar {
            naga::ScalarKind::Sint => "i32",
            naga::ScalarKind::Float => "f32",
            _ => "u32",
        };
        let count = size.map_or(1, |size| size as u32);
        let names = ["x", "y", "z", "w"].iter().skip(*word as usize);
        let words: Vec<String> = names
            .take(count as usize)
            .map(|name| format!("bitcast<{ty}>(words.{name})"))
            .collect();
        // (Whole vectors: of single components of a matrix FXC makes nonsense.)
        of += &match size {
            None => format!("    {path} = {};\n", words.join(", ")),
            Some(_) => format!("    {path} = vec{count}<{ty}>({});\n", words.join(", ")),
        };
    }
    format!("{of}    return row;\n}}\n")
}

/// A number of a row, or a vector of them.
struct Numbers {
    /// How it is reached.
    path: String,
    /// Which word of the row is the first.
    word: u32,
    /// Of what kind: of a word each, since naga was told of no capability for others.
    scalar: naga::ScalarKind,
    /// How many, if they are a vector.
    size: Option<naga::VectorSize>,
}

fn collect_numbers(
    module: &Module,
    ty: Handle<naga::Type>,
    path: String,
    bytes: u32,
    numbers: &mut Vec<Numbers>,
) {
    let mut add = |path, bytes: u32, scalar: naga::Scalar, size| {
        numbers.push(Numbers {
            path,
            word: bytes / 4,
            scalar: scalar.kind,
            size,
        });
    };
    match &module.types[ty].inner {
        naga::TypeInner::Scalar(scalar) => add(path, bytes, *scalar, None),
        naga::TypeInner::Vector { size, scalar } => add(path, bytes, *scalar, Some(*size)),
        naga::TypeInner::Matrix {
            columns,
            rows,
            scalar,
        } => {
            // (A column of three is as far from the next as one of four.)
            let stride = if *rows == naga::VectorSize::Bi { 8 } else { 16 };
            for i in 0..*columns as u32 {
                add(
                    format!("{path}[{i}]"),
                    bytes + i * stride,
                    *scalar,
                    Some(*rows),
                );
            }
        }
        naga::TypeInner::Array {
            base,
            size: naga::ArraySize::Constant(size),
            stride,
        } => {
            for i in 0..size.get() {
                let path = format!("{path}[{i}]");
                collect_numbers(module, *base, path, bytes + i * stride, numbers);
            }
        }
        naga::TypeInner::Struct { members, .. } => {
            for member in members {
                let name = member.name.as_deref().unwrap_or_default();
                let path = format!("{path}.{name}");
                collect_numbers(module, member.ty, path, bytes + member.offset, numbers);
            }
        }
        // No row has anything else.
        _ => {}
    }
}

/// The first struct whose members do not lie where they would without attributes, which are not
/// written again.
pub(super) fn laid_out_by_attributes(module: &Module) -> Option<Handle<naga::Type>> {
    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).ok()?;
    let is_other = |members: &[naga::StructMember], span: u32| {
        let (mut end, mut alignment) = (0, naga::proc::Alignment::ONE);
        for member in members {
            let layout = layouter[member.ty];
            if layout.alignment.round_up(end) != member.offset {
                return true;
            }
            end = member.offset + layout.size;
            alignment = alignment.max(layout.alignment);
        }
        alignment.round_up(end) != span
    };
    let mut structs = module.types.iter().filter(|(_, ty)| match &ty.inner {
        naga::TypeInner::Struct { members, span } => is_other(members, *span),
        _ => false,
    });
    structs.next().map(|found| found.0)
}

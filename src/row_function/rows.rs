//! The memory layout of rows: in Rust, in WGSL, and as words.

use naga::{Handle, Module};
use std::marker::PhantomData;

/// The names, byte offsets and sizes of the fields of a Rust struct, for
/// [`Comparator::of`](crate::Comparator::of) and [`Predicate::of`](crate::Predicate::of). Made by
/// [`members!`](crate::members).
pub struct Members<T> {
    fields: Vec<Field>,
    of: PhantomData<fn() -> T>,
}

/// A field of a Rust struct, or of a nested struct.
#[derive(Debug)]
struct Field {
    name: String,
    offset: usize,
    bytes: usize,
}

/// The parts of a field's name in WGSL, its offset in bytes, and its size in bytes.
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

    /// The size in bytes of the field that the closure accesses.
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

/// Lists the fields of a Rust struct with their offsets, as [`Members`] for
/// [`Comparator::of`](crate::Comparator::of) and [`Predicate::of`](crate::Predicate::of).
///
/// The syntax is that of the struct, without types. If a field has another name in WGSL, write that
/// name first: `depth: z`, or `depth: 0` for a tuple struct. List each field of a nested struct:
/// `place.cell`. Omit fields that the WGSL struct does not have, such as padding.
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

/// A member of a row, or of a nested struct, that is not itself a struct.
pub(super) struct Member {
    name: String,
    offset: u32,
    bytes: u32,
    /// True unless it is an array of structs.
    is_uniform: bool,
}

/// All members of a row that are not structs, in order, including those of nested structs.
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

/// Fails unless a Rust type has the size `stride`, in bytes.
pub(super) fn check_size<T>(stride: usize) -> Result<(), String> {
    if size_of::<T>() == stride {
        return Ok(());
    }
    Err(format!(
        "{} has {} bytes, but the WGSL struct {stride}",
        std::any::type_name::<T>(),
        size_of::<T>()
    ))
}

/// Fails unless each member of a row has the offset and the size of the field of that name.
pub(super) fn check_members<T>(row: &[Member], rust: Members<T>) -> Result<(), String> {
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
                format!(
                    "members! does not name {name}, a member of the WGSL struct: add it, or \
                     `{name}: field` if {of} has another name for it"
                )
            }
            Some(field) if field.offset != *offset as usize => format!(
                "member {name} is at byte {} of {of}, but at byte {offset} of the WGSL struct, \
                 which must declare all bytes before it",
                field.offset
            ),
            Some(field) if field.bytes != *bytes as usize => format!(
                "member {name} has {} bytes in {of}, but {bytes} in the WGSL struct",
                field.bytes
            ),
            Some(_) => continue,
        };
        return Err(why);
    }
    let Some(Field { name, .. }) = fields.first() else {
        return Ok(());
    };
    let within = format!("{name}.");
    let inner = row.iter().find(|member| member.name.starts_with(&within));
    Err(match inner {
        Some(inner) => format!("{name} is a struct: name its members, e.g. {}", inner.name),
        None => format!("the WGSL struct has no member {name}"),
    })
}

/// True if the size alone determines the layout: a row has one member, not an array of structs.
pub(super) fn is_plain(row: &[Member]) -> bool {
    matches!(row, [member] if member.is_uniform)
}

/// The text of `user_row_of`, which builds a row of at most four words. It skips padding.
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
        // Assign whole vectors: FXC miscompiles assignments to single components of a matrix.
        of += &match size {
            None => format!("    {path} = {};\n", words.join(", ")),
            Some(_) => format!("    {path} = vec{count}<{ty}>({});\n", words.join(", ")),
        };
    }
    format!("{of}    return row;\n}}\n")
}

/// A scalar or a vector of a row.
struct Numbers {
    /// The WGSL expression that accesses it.
    path: String,
    /// The index of its first word in the row.
    word: u32,
    /// The type of its scalars. Each is one word, since validation allows no other widths.
    scalar: naga::ScalarKind,
    /// The number of components of a vector, `None` for a scalar.
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
            // Columns of three and of four have the same stride.
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
        // Rows have no other types.
        _ => {}
    }
}

/// The first struct whose layout depends on attributes, which the renamed text would lose.
pub(super) fn laid_out_by_attributes(module: &Module) -> Option<Handle<naga::Type>> {
    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).ok()?;
    let differs = |members: &[naga::StructMember], span: u32| {
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
        naga::TypeInner::Struct { members, span } => differs(members, *span),
        _ => false,
    });
    structs.next().map(|found| found.0)
}

//! Checks of a user's text beyond naga's, and the stack on which it is parsed.
//!
//! naga's front end is recursive in operators, declarations and blocks, mostly without a limit, and
//! a stack overflow ends the process. So the length of a text is limited, and it is parsed on a
//! thread with enough stack for any text of that length.
//!
//! The renamed text becomes part of kernels, which naga and a driver compile on the user's threads.
//! So it must be shallow: each computed number has its own name ([`Checked::computed`]), and deeply
//! nested blocks and types are refused.

use super::Source;
use crate::error::Error;
use naga::valid::{ModuleInfo, ShaderStages};
use naga::{Block, Expression, Handle, Module, Statement, TypeInner};

/// The maximum length of a text in bytes.
pub(super) const MOST_TEXT: usize = 1 << 14;
/// The maximum nesting of blocks, and of types. An unoptimised naga needs 38 KiB of stack a block,
/// and the smallest main thread, that of Windows, has 1 MiB.
const MOST_NESTED: u32 = 16;
/// The stack for parsing in bytes, plus [`STACK_A_BYTE`] for each byte of text. An unoptimised naga
/// needs 10 MiB for the 127 nested blocks that it allows, and 6 KiB for an operator of one byte.
const STACK: usize = 16 << 20;
const STACK_A_BYTE: usize = 8 << 10;

/// Runs `read` on a thread with enough stack for the text. Refuses texts that are too long.
pub(super) fn on_a_deep_stack<T: Send>(
    source: Source,
    read: impl Fn(Source) -> Result<T, Error> + Sync,
) -> Result<T, Error> {
    let len = source.wgsl.len();
    if len > MOST_TEXT {
        let why = format!("a text of {len} bytes, where {MOST_TEXT} are allowed");
        return Err(source.role.error(why));
    }
    // In browsers no call may wait for a thread, and a stack overflow is an exception.
    if cfg!(target_family = "wasm") {
        return read(source);
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK + len * STACK_A_BYTE);
        match thread.spawn_scoped(scope, || read(source)) {
            Ok(reader) => reader
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(e) => Err(source
                .role
                .error(format!("no thread to read it on could be started: {e}"))),
        }
    })
}

/// Fails if a module declares anything but constants, types and functions.
pub(super) fn check_declarations(module: &Module, source: Source) -> Result<(), Error> {
    let it = source.role.name();
    if let Some((handle, _)) = module.global_variables.iter().next() {
        let why = format!("a {it} has no variables outside of its functions");
        return Err(source.refuse(module.global_variables.get_span(handle), &why));
    }
    if let Some((handle, _)) = module.overrides.iter().next() {
        let why = format!("a {it} has no overrides: use `const`");
        return Err(source.refuse(module.overrides.get_span(handle), &why));
    }
    if let Some(point) = module.entry_points.first() {
        let why = format!("a {it} has no entry points, as `{}` is", point.name);
        return Err(source.role.error(why));
    }
    Ok(())
}

/// Properties of an accepted module.
#[derive(Default)]
pub(super) struct Checked {
    /// True if the module has a loop.
    pub(super) loops: bool,
    /// The expressions of each function that compute a number, a vector or a matrix. All others
    /// access a part of a value, and are nested no deeper than its type.
    pub(super) computed: Vec<Vec<Handle<Expression>>>,
}

/// Checks the types and functions of a valid module.
pub(super) fn check(module: &Module, info: &ModuleInfo, source: Source) -> Result<Checked, Error> {
    // A type comes after its component types.
    let mut depths: Vec<u32> = Vec::new();
    for (handle, ty) in module.types.iter() {
        let depth = match &ty.inner {
            TypeInner::Array { base, .. } | TypeInner::Pointer { base, .. } => depths[base.index()],
            TypeInner::Struct { members, .. } => {
                let depths = members.iter().map(|member| depths[member.ty.index()]);
                depths.max().unwrap_or(0)
            }
            _ => 0,
        };
        if depth == MOST_NESTED {
            let why = format!("more than {MOST_NESTED} nested types");
            return Err(source.refuse(module.types.get_span(handle), &why));
        }
        depths.push(depth + 1);
    }
    let mut checked = Checked::default();
    for (handle, function) in module.functions.iter() {
        let info = &info[handle];
        if !info.available_stages.contains(ShaderStages::COMPUTE) {
            let it = source.role.name();
            let why =
                format!("a {it} has no derivatives and no `discard`, as fragment shaders have");
            return Err(source.refuse(module.functions.get_span(handle), &why));
        }
        let mut computed = Vec::new();
        checked.loops |= check_block(&function.body, 1, source, &mut computed)?;
        computed.retain(|&at| {
            let ty = info[at].ty.inner_with(&module.types);
            matches!(
                ty,
                TypeInner::Scalar(_) | TypeInner::Vector { .. } | TypeInner::Matrix { .. }
            )
        });
        checked.computed.push(computed);
    }
    Ok(checked)
}

/// Adds the expressions of a block to `computed`. Returns true if the block has a loop.
fn check_block(
    block: &Block,
    depth: u32,
    source: Source,
    computed: &mut Vec<Handle<Expression>>,
) -> Result<bool, Error> {
    let mut loops = false;
    for (statement, &span) in block.span_iter() {
        if depth > MOST_NESTED {
            let why = format!(
                "more than {MOST_NESTED} nested blocks, where a loop is two and `else if` is \
                 nested in what is before it: use `switch`, or call a function"
            );
            return Err(source.refuse(span, &why));
        }
        let within: Vec<&Block> = match statement {
            Statement::Emit(range) => {
                computed.extend(range.clone());
                vec![]
            }
            Statement::Block(block) => vec![block],
            Statement::If { accept, reject, .. } => vec![accept, reject],
            Statement::Switch { cases, .. } => cases.iter().map(|case| &case.body).collect(),
            Statement::Loop {
                body, continuing, ..
            } => {
                loops = true;
                vec![body, continuing]
            }
            Statement::Call { .. }
            | Statement::Store { .. }
            | Statement::Break
            | Statement::Continue
            | Statement::Return { .. } => vec![],
            Statement::ControlBarrier(_) | Statement::MemoryBarrier(_) => {
                let why = format!("a {} has no barriers", source.role.name());
                return Err(source.refuse(span, &why));
            }
            _ => {
                let why = format!(
                    "a {} computes a bool, and does nothing else",
                    source.role.name()
                );
                return Err(source.refuse(span, &why));
            }
        };
        for block in within {
            loops |= check_block(block, depth + 1, source, computed)?;
        }
    }
    Ok(loops)
}

//! What is refused of a caller's text, and the stack on which it is read.
//!
//! naga's front end is recursive in operators, declarations and blocks, mostly without a limit of
//! its own, and a stack overflow ends the process. So the length of a text is limited, and it is
//! read on a thread with enough stack for any text of its length.
//!
//! What is written of it becomes part of kernels, which naga and a driver compile on threads of the
//! caller's. So that is shallow: each number that is computed has a name of its own
//! ([`Checked::computed`]), and blocks and types that are nested too deep are refused.

use super::Source;
use crate::Error;
use naga::valid::{ModuleInfo, ShaderStages};
use naga::{Block, Expression, Handle, Module, Statement, TypeInner};

/// Bytes of text.
pub(super) const MOST_TEXT: usize = 1 << 14;
/// Nested blocks, and nested types. (naga, not optimised, takes 38 KiB of stack a block, and the
/// smallest main thread, that of Windows, has 1 MiB.)
const MOST_NESTED: u32 = 16;
/// The stack on which a text is read, and more for each byte of it. naga, not optimised, takes
/// 10 MiB for the 127 nested blocks that it allows, and 6 KiB for an operator of one byte.
const STACK: usize = 16 << 20;
const STACK_A_BYTE: usize = 8 << 10;

/// Reads a text, if it is not too long, on a stack on which it can be read.
pub(super) fn on_a_deep_stack<T: Send>(
    wgsl: &str,
    read: impl Fn(&str) -> Result<T, Error> + Sync,
) -> Result<T, Error> {
    let len = wgsl.len();
    if len > MOST_TEXT {
        let why = format!("a text of {len} bytes, where {MOST_TEXT} are allowed");
        return Err(Error::Comparator(why));
    }
    // (In browsers no call may wait for a thread, and a stack overflow is an exception.)
    if cfg!(target_family = "wasm") {
        return read(wgsl);
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK + len * STACK_A_BYTE);
        match thread.spawn_scoped(scope, || read(wgsl)) {
            Ok(reader) => reader
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(e) => Err(Error::Comparator(format!(
                "no thread to read it on could be started: {e}"
            ))),
        }
    })
}

/// That a module declares nothing but constants, types and functions.
pub(super) fn check_declarations(module: &Module, source: Source) -> Result<(), Error> {
    if let Some((handle, _)) = module.global_variables.iter().next() {
        let why = "a comparator has no variables outside of its functions";
        return Err(source.refuse(module.global_variables.get_span(handle), why));
    }
    if let Some((handle, _)) = module.overrides.iter().next() {
        let why = "a comparator has no overrides: use `const`";
        return Err(source.refuse(module.overrides.get_span(handle), why));
    }
    if let Some(point) = module.entry_points.first() {
        let why = format!("a comparator has no entry points, as `{}` is", point.name);
        return Err(Error::Comparator(why));
    }
    Ok(())
}

/// What is to be known of a module in which nothing is refused.
#[derive(Default)]
pub(super) struct Checked {
    /// Whether there is a loop.
    pub(super) loops: bool,
    /// Of each function what it computes, where that is a number, a vector or a matrix. (All else
    /// is a part of something, and no deeper than its type.)
    pub(super) computed: Vec<Vec<Handle<Expression>>>,
}

/// Looks through the types and functions of a module that is valid.
pub(super) fn check(module: &Module, info: &ModuleInfo, source: Source) -> Result<Checked, Error> {
    // (A type stands behind those that it is made of.)
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
            let why = "a comparator has no derivatives and no `discard`, as fragment shaders have";
            return Err(source.refuse(module.functions.get_span(handle), why));
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

/// Adds what a block computes, and says whether there is a loop in it.
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
                return Err(source.refuse(span, "a comparator has no barriers"));
            }
            _ => return Err(source.refuse(span, "a comparator compares, and does nothing else")),
        };
        for block in within {
            loops |= check_block(block, depth + 1, source, computed)?;
        }
    }
    Ok(loops)
}

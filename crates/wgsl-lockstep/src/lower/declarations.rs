//! Globals, inputs and constants.

use super::{Lowering, Result, Root};
use crate::program::{Builtin, MemoryInfo, Slot, WorkgroupVariable};
use crate::report::Space;
use naga::valid::FunctionInfo;
use naga::{
    AddressSpace, ArraySize, Binding, BuiltIn, Constant, Expression, GlobalVariable, Handle,
    Literal, Span, StorageAccess, Type, TypeInner,
};

/// Above the limit of any GPU. Race detection may need forty times as much memory.
const MOST_WORKGROUP_BYTES: u32 = 1 << 22;

impl Lowering<'_> {
    pub(super) fn declare_globals(&mut self, used: &FunctionInfo) -> Result<()> {
        self.program.memories.push(MemoryInfo {
            space: Space::Workgroup,
            variable: String::new(),
            binding: None,
            writable: true,
            bytes: 0,
            stride: None,
            granule_shift: 2,
        });
        for (handle, variable) in self.module.global_variables.iter() {
            if used[handle].is_empty() {
                continue;
            }
            let span = self.module.global_variables.get_span(handle);
            let inner = self.inner(variable.ty);
            let name = variable.name.clone().unwrap_or_default();
            let root = match variable.space {
                AddressSpace::Private => {
                    let count = self.slots_of(inner, span)?;
                    let start = self.allocate(count, span)?;
                    let initial = match variable.init {
                        Some(init) => self.global_constant(init)?,
                        None => vec![self.constant(0, span)?; count],
                    };
                    let slots = (start..).zip(initial);
                    self.program.privates.extend(slots);
                    Root::Private(start)
                }
                AddressSpace::WorkGroup => {
                    let shift = self.granule_shift(variable.ty);
                    let memory = &mut self.program.memories[0];
                    memory.granule_shift = memory.granule_shift.min(shift);
                    let bytes = inner.size(self.module.to_ctx());
                    let start = self.program.memories[0].bytes;
                    // 16 bytes satisfy any alignment.
                    self.program.memories[0].bytes = bytes
                        .checked_next_multiple_of(16)
                        .and_then(|b| b.checked_add(start))
                        .filter(|&b| b <= MOST_WORKGROUP_BYTES)
                        .ok_or_else(|| self.unsupported("as much workgroup memory", span))?;
                    let location = self.locate(span);
                    self.program.workgroup_variables.push(WorkgroupVariable {
                        name,
                        bytes,
                        location,
                    });
                    Root::Shared { memory: 0, start }
                }
                AddressSpace::Uniform | AddressSpace::Storage { .. } => {
                    self.declare_buffer(variable, inner, name, span)?
                }
                AddressSpace::Handle => {
                    return Err(self.unsupported("a texture or a sampler", span));
                }
                other => {
                    return Err(
                        self.unsupported(format!("a variable of the space {other:?}"), span)
                    );
                }
            };
            self.globals.insert(handle, root);
        }
        Ok(())
    }

    fn granule_shift(&self, ty: Handle<Type>) -> u32 {
        self.shapes[ty.index()].smallest.min(4).trailing_zeros()
    }

    pub(super) fn declare_buffer(
        &mut self,
        variable: &GlobalVariable,
        inner: &TypeInner,
        name: String,
        span: Span,
    ) -> Result<Root> {
        let Some(binding) = &variable.binding else {
            return Err(self.unsupported("a buffer without a binding", span));
        };
        let (stride, bytes) = match inner {
            TypeInner::Array {
                size: ArraySize::Dynamic,
                stride,
                ..
            } => (Some(*stride), *stride),
            TypeInner::Struct { members, span } => {
                // The span includes one element of a runtime-sized array, and WGSL's padding.
                match members.last().map(|m| self.inner(m.ty)) {
                    Some(TypeInner::Array {
                        size: ArraySize::Dynamic,
                        stride,
                        ..
                    }) => (Some(*stride), *span),
                    _ => (None, *span),
                }
            }
            TypeInner::BindingArray { .. } => {
                return Err(self.unsupported("an array of bindings", span));
            }
            other => (None, other.size(self.module.to_ctx())),
        };
        let writes = StorageAccess::STORE | StorageAccess::ATOMIC;
        let writable = matches!(
            variable.space,
            AddressSpace::Storage { access } if access.intersects(writes)
        );
        self.program.memories.push(MemoryInfo {
            space: match variable.space {
                AddressSpace::Uniform => Space::Uniform,
                _ => Space::Storage,
            },
            variable: name,
            binding: Some((binding.group, binding.binding)),
            writable,
            bytes,
            stride,
            granule_shift: self.granule_shift(variable.ty),
        });
        Ok(Root::Shared {
            memory: self.program.memories.len() as u32 - 1,
            start: 0,
        })
    }

    pub(super) fn declare_input(&mut self, argument: &naga::FunctionArgument) -> Result<Vec<Slot>> {
        let span = Span::UNDEFINED;
        let inputs: Vec<(Option<&Binding>, Handle<Type>)> =
            match (&argument.binding, self.inner(argument.ty)) {
                (None, TypeInner::Struct { members, .. }) => {
                    members.iter().map(|m| (m.binding.as_ref(), m.ty)).collect()
                }
                (binding, _) => vec![(binding.as_ref(), argument.ty)],
            };
        let mut slots = Vec::new();
        for (binding, ty) in inputs {
            let Some(Binding::BuiltIn(builtin)) = binding else {
                return Err(self.unsupported("an input that is no built-in value", span));
            };
            let count = self.slots_of(self.inner(ty), span)?;
            let start = self.allocate(count, span)?;
            for i in 0..count as u32 {
                let input = match builtin {
                    BuiltIn::GlobalInvocationId => Builtin::GlobalInvocationId(i),
                    BuiltIn::LocalInvocationId => Builtin::LocalInvocationId(i),
                    BuiltIn::LocalInvocationIndex => Builtin::LocalInvocationIndex,
                    BuiltIn::WorkGroupId => Builtin::WorkgroupId(i),
                    BuiltIn::NumWorkGroups => Builtin::NumWorkgroups(i),
                    BuiltIn::WorkGroupSize => Builtin::WorkgroupSize(i),
                    BuiltIn::SubgroupSize => Builtin::SubgroupSize,
                    BuiltIn::SubgroupInvocationId => Builtin::SubgroupInvocationId,
                    BuiltIn::SubgroupId => Builtin::SubgroupId,
                    BuiltIn::NumSubgroups => Builtin::NumSubgroups,
                    other => return Err(self.unsupported(format!("the built-in {other:?}"), span)),
                };
                self.program.builtins.push((start + i, input));
            }
            slots.extend(start..start + count as u32);
        }
        Ok(slots)
    }

    // Constants.

    pub(super) fn literal(&mut self, literal: Literal, span: Span) -> Result<Vec<Slot>> {
        let two = |bits: u64| vec![bits as u32, (bits >> 32) as u32];
        let words = match literal {
            Literal::U32(value) => vec![value],
            Literal::I32(value) => vec![value.cast_unsigned()],
            Literal::F32(value) => vec![value.to_bits()],
            Literal::Bool(value) => vec![u32::from(value)],
            Literal::F16(value) => vec![u32::from(value.to_bits())],
            Literal::U16(value) => vec![u32::from(value)],
            Literal::I16(value) => vec![u32::from(value.cast_unsigned())],
            Literal::U64(value) => two(value),
            Literal::I64(value) => two(value.cast_unsigned()),
            Literal::F64(value) => two(value.to_bits()),
            _ => return Err(self.unsupported("a literal of this type", span)),
        };
        words.into_iter().map(|w| self.constant(w, span)).collect()
    }

    /// The slots of a module-scope constant expression.
    pub(super) fn global_constant(&mut self, expression: Handle<Expression>) -> Result<Vec<Slot>> {
        let span = self.module.global_expressions.get_span(expression);
        match self.module.global_expressions[expression] {
            Expression::Literal(literal) => self.literal(literal, span),
            Expression::Constant(constant) => self.named_constant(constant),
            Expression::ZeroValue(ty) => {
                let count = self.slots_of(self.inner(ty), span)?;
                Ok(vec![self.constant(0, span)?; count])
            }
            Expression::Compose { ty, ref components } => {
                // Refuses types that are too large or too deep, before they are expanded.
                self.slots_of(self.inner(ty), span)?;
                let mut slots = Vec::new();
                for &component in components {
                    slots.extend(self.global_constant(component)?);
                }
                Ok(slots)
            }
            Expression::Splat { size, value } => {
                let one = self.global_constant(value)?;
                Ok(one.repeat(size as usize))
            }
            _ => Err(self.unsupported("a constant of this form", span)),
        }
    }

    pub(super) fn named_constant(&mut self, constant: Handle<Constant>) -> Result<Vec<Slot>> {
        self.global_constant(self.module.constants[constant].init)
    }
}

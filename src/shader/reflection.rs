//! Reads a kernel's interface and its use of workgroup memory from its naga module.

use super::{Access, Assembled, Binding};
use naga::{AddressSpace, Block, Expression, Function, GlobalVariable, Handle, Module, Statement};
use std::collections::HashSet;

/// The interface of a module with one entry point.
pub(super) fn reflect(wgsl: String, module: &Module) -> Result<Assembled, String> {
    let mut bindings = Vec::new();
    for (_, variable) in module.global_variables.iter() {
        let Some(resource) = variable.binding else {
            continue;
        };
        let name = variable.name.clone().unwrap_or_default();
        let access = match variable.space {
            AddressSpace::Uniform => Access::Uniform,
            AddressSpace::Storage { access } if access.contains(naga::StorageAccess::STORE) => {
                Access::ReadWrite
            }
            AddressSpace::Storage { .. } => Access::Read,
            _ => return Err(format!("binding {name} is no buffer")),
        };
        bindings.push(Binding {
            binding: resource.binding,
            name,
            access,
        });
    }
    bindings.sort_by_key(|b| b.binding);
    let [entry_point] = module.entry_points.as_slice() else {
        return Err(format!("{} entry points", module.entry_points.len()));
    };
    Ok(Assembled {
        wgsl,
        bindings,
        workgroup_size: entry_point.workgroup_size.iter().product(),
        workgroup_bytes: workgroup_bytes(module, &entry_point.function)?,
    })
}

/// Bytes of workgroup memory that an entry point and the functions that it calls use. As in
/// WebGPU's validation of a programmable stage, the size of each variable is rounded up to a
/// multiple of 16.
fn workgroup_bytes(module: &Module, entry_point: &Function) -> Result<u32, String> {
    let mut layouter = naga::proc::Layouter::default();
    layouter
        .update(module.to_ctx())
        .map_err(|error| error.to_string())?;
    let variables = used_variables(module, entry_point).into_iter();
    let in_workgroup = variables
        .map(|variable| &module.global_variables[variable])
        .filter(|variable| variable.space == AddressSpace::WorkGroup);
    let bytes = in_workgroup.map(|variable| u64::from(layouter[variable.ty].size));
    let sum: u64 = bytes.map(|bytes| bytes.next_multiple_of(16)).sum();
    Ok(u32::try_from(sum).unwrap_or(u32::MAX))
}

/// The global variables that a function or its callees use.
fn used_variables(module: &Module, function: &Function) -> HashSet<Handle<GlobalVariable>> {
    let mut used = HashSet::new();
    let mut called = HashSet::new();
    let mut waiting = vec![function];
    while let Some(function) = waiting.pop() {
        for (_, expression) in function.expressions.iter() {
            if let Expression::GlobalVariable(variable) = expression {
                used.insert(*variable);
            }
        }
        for_each_call(&function.body, &mut |callee| {
            if called.insert(callee) {
                waiting.push(&module.functions[callee]);
            }
        });
    }
    used
}

fn for_each_call(block: &Block, act: &mut impl FnMut(Handle<Function>)) {
    for statement in block {
        match statement {
            Statement::Call { function, .. } => act(*function),
            Statement::Block(block) => for_each_call(block, act),
            Statement::If { accept, reject, .. } => {
                for_each_call(accept, act);
                for_each_call(reject, act);
            }
            Statement::Switch { cases, .. } => {
                for case in cases {
                    for_each_call(&case.body, act);
                }
            }
            Statement::Loop {
                body, continuing, ..
            } => {
                for_each_call(body, act);
                for_each_call(continuing, act);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reflected(wgsl: &str) -> Assembled {
        let module = naga::front::wgsl::parse_str(wgsl).unwrap();
        reflect(wgsl.to_owned(), &module).unwrap()
    }

    #[test]
    fn workgroup_memory_includes_only_reachable_variables() {
        let kernel = reflected(
            "var<workgroup> keys: array<u32, 100>;
            var<workgroup> flag: u32;
            var<workgroup> pairs: array<vec3<f32>, 3>;
            var<workgroup> unused: array<u32, 4096>;
            fn never() -> u32 { return unused[0]; }
            fn inner() { pairs[0].x = 1.0; }
            fn outer(i: u32) {
                switch i {
                    case 0u: { loop { if i == 1u { inner(); } continuing { break if i > 2u; } } }
                    default: { flag = 1u; }
                }
            }
            @compute @workgroup_size(8, 4, 2)
            fn main() { keys[0] = 1u; outer(0u); outer(1u); }",
        );
        // 400 bytes; 4 bytes rounded up to 16; 3 vectors of 16.
        assert_eq!(kernel.workgroup_bytes, 400 + 16 + 48);
        assert_eq!(kernel.workgroup_size, 64);
    }
}

//! Values for a shader's `override` declarations.

use crate::error::ShaderError;
use naga::back::PipelineConstants;
use naga::back::pipeline_constants::PipelineConstantError;
use naga::{Module, Override, ScalarKind, TypeInner};

/// An `override` declaration of a shader.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OverrideDeclaration {
    /// Its name.
    pub name: String,
    /// The number of `@id`.
    pub id: Option<u16>,
    /// Its type: `bool`, `i32`, `u32`, `f16` or `f32`.
    pub kind: &'static str,
    /// False if a value must be given.
    pub has_default: bool,
}

/// The declarations of a module, in order.
pub(crate) fn declared(module: &Module) -> Vec<OverrideDeclaration> {
    let kind = |declared: &Override| match module.types[declared.ty].inner {
        TypeInner::Scalar(scalar) => match (scalar.kind, scalar.width) {
            (ScalarKind::Bool, _) => "bool",
            (ScalarKind::Sint, _) => "i32",
            (ScalarKind::Uint, _) => "u32",
            (_, 2) => "f16",
            _ => "f32",
        },
        // Validation admits scalars only.
        _ => "u32",
    };
    let overrides = module.overrides.iter();
    overrides
        .map(|(_, declared)| OverrideDeclaration {
            name: declared.name.clone().unwrap_or_default(),
            id: declared.id,
            kind: kind(declared),
            has_default: declared.init.is_some(),
        })
        .collect()
}

/// The values, by the key that naga uses: `@id`, or the name without one.
pub(crate) fn constants(
    module: &Module,
    values: &[(String, f64)],
) -> Result<PipelineConstants, ShaderError> {
    let mut constants = PipelineConstants::default();
    for (name, value) in values {
        let declarations = || module.overrides.iter().map(|(_, declared)| declared);
        let declared = declarations()
            .find(|declared| {
                declared.name.as_ref() == Some(name) || id(declared).as_ref() == Some(name)
            })
            .ok_or_else(|| ShaderError::UnknownOverride {
                name: name.clone(),
                available: declarations().map(shown).collect(),
            })?;
        constants.insert(key(declared), *value);
    }
    Ok(constants)
}

/// Converts naga's error about the values of overrides.
pub(crate) fn error(module: &Module, source: &str, error: &PipelineConstantError) -> ShaderError {
    match error {
        PipelineConstantError::MissingValue(missing) => {
            let mut declarations = module.overrides.iter().map(|(_, declared)| declared);
            let name = declarations
                .find(|declared| key(declared) == *missing)
                .and_then(|declared| declared.name.clone());
            ShaderError::MissingOverride {
                name: name.unwrap_or_else(|| missing.clone()),
            }
        }
        // By itself, such an error names only the function.
        PipelineConstantError::ValidationError(error) => {
            ShaderError::Override(error.emit_to_string(source))
        }
        other => ShaderError::Override(other.to_string()),
    }
}

fn id(declared: &Override) -> Option<String> {
    declared.id.map(|id| id.to_string())
}

fn key(declared: &Override) -> String {
    id(declared)
        .or_else(|| declared.name.clone())
        .unwrap_or_default()
}

/// The name of an override in messages.
fn shown(declared: &Override) -> String {
    let name = declared.name.clone().unwrap_or_default();
    match declared.id {
        Some(id) => format!("{name} (@id {id})"),
        None => name,
    }
}

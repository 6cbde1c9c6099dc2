//! Values for a shader's `override` declarations.

use crate::error::ShaderError;
use naga::back::PipelineConstants;
use naga::back::pipeline_constants::PipelineConstantError;
use naga::{Module, Override};

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

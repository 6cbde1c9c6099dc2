//! The fields that a shader needs.

use crate::answer::Problem;
use crate::request::Request;
use serde::Serialize;
use wgsl_lockstep::audit::default_contents;
use wgsl_lockstep::{OverrideDeclaration, Resource, Shader};

/// The entry points of a shader with their buffers, and its overrides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Listing {
    /// The compute entry points, in order.
    pub entries: Vec<Entry>,
    /// The `override` declarations, in order.
    pub overrides: Vec<OverrideField>,
}

/// A compute entry point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The reason why it cannot be run, such as an override without a value.
    pub error: Option<Problem>,
    /// Lanes of a workgroup in x, y and z.
    pub workgroup_size: [u32; 3],
    /// Bytes of workgroup memory.
    pub workgroup_bytes: u32,
    /// Its variables in workgroup memory.
    pub variables: Vec<Variable>,
    /// The buffers that it uses.
    pub buffers: Vec<BufferField>,
}

/// A variable in workgroup memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u32,
    /// The line of its declaration.
    pub line: u32,
}

/// A buffer that an entry point uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BufferField {
    /// `@group`.
    pub group: u32,
    /// `@binding`.
    pub binding: u32,
    /// The variable's name.
    pub name: String,
    /// `storage` or `uniform`.
    pub space: &'static str,
    /// True if the shader may write it.
    pub writable: bool,
    /// Its minimum size in words.
    pub min_words: u32,
    /// Words per element of the runtime-sized array at its end, if it has one.
    pub stride: Option<u32>,
    /// The contents that it has by default, such as `random:4096`.
    pub contents: String,
}

/// An `override` declaration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OverrideField {
    /// Its name.
    pub name: String,
    /// The number of `@id`.
    pub id: Option<u16>,
    /// Its type.
    pub kind: &'static str,
    /// False if a value must be given.
    pub has_default: bool,
}

impl From<&Resource> for BufferField {
    fn from(resource: &Resource) -> Self {
        Self {
            group: resource.group,
            binding: resource.binding,
            name: resource.name.clone(),
            space: resource.space.name(),
            writable: resource.writable,
            min_words: resource.min_bytes.div_ceil(4),
            stride: resource.stride.map(|bytes| bytes.div_ceil(4)),
            contents: default_contents(resource),
        }
    }
}

impl From<&OverrideDeclaration> for OverrideField {
    fn from(declared: &OverrideDeclaration) -> Self {
        Self {
            name: declared.name.clone(),
            id: declared.id,
            kind: declared.kind,
            has_default: declared.has_default,
        }
    }
}

impl Listing {
    /// Lists what the request's text declares.
    ///
    /// # Errors
    ///
    /// A [`Problem`] if the text is not valid.
    pub fn of(request: &Request) -> Result<Self, Problem> {
        let Request { wgsl, file, .. } = request;
        let problem = |error| Problem::of_shader(file, &error);
        let declared = Shader::overrides(wgsl).map_err(problem)?;
        let known = |name: &String| {
            let is = |o: &OverrideDeclaration| {
                o.name == *name || o.id.map(|id| id.to_string()).as_ref() == Some(name)
            };
            declared.iter().any(is)
        };
        // A value for a declaration that was just renamed is no reason to refuse the others.
        let mut values = request.override_values()?;
        values.retain(|(name, _)| known(name));
        let entries = Shader::entry_points(wgsl).map_err(problem)?;
        Ok(Self {
            entries: entries
                .into_iter()
                .map(|name| match Shader::new(wgsl, Some(&name), &values) {
                    Ok(shader) => Entry::of(name, &shader),
                    Err(error) => Entry {
                        name,
                        error: Some(problem(error)),
                        ..Entry::default()
                    },
                })
                .collect(),
            overrides: declared.iter().map(OverrideField::from).collect(),
        })
    }
}

impl Entry {
    fn of(name: String, shader: &Shader) -> Self {
        let variables = shader.workgroup_variables().iter();
        Self {
            name,
            error: None,
            workgroup_size: shader.workgroup_size(),
            workgroup_bytes: shader.workgroup_bytes(),
            variables: variables
                .map(|variable| Variable {
                    name: variable.name.clone(),
                    bytes: variable.bytes,
                    line: variable.location.line,
                })
                .collect(),
            buffers: shader.resources().iter().map(BufferField::from).collect(),
        }
    }
}

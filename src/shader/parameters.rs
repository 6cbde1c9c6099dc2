//! The parameters of a dispatch: the words of a kernel's `struct Params`, by name.

/// Bytes of the block that holds a kernel's parameters: large enough for every kernel, and a
/// multiple of WebGPU's alignment of uniform blocks in one buffer.
pub const PARAMETER_BLOCK: u32 = 256;

/// Words of a block.
const WORDS: usize = PARAMETER_BLOCK as usize / 4;

/// Declares structs of parameters. The fields of a struct are the members of its WGSL twin, in
/// order and with the same names. The WGSL file documents them.
macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident { $($field:ident),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(
                Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable
            )]
            #[allow(missing_docs)]
            pub struct $name {
                $(pub $field: u32,)*
            }

            impl $name {
                /// The fields' names, in order.
                pub const NAMES: &[&str] = &[$(stringify!($field)),*];
            }

            impl From<$name> for $crate::shader::Parameters {
                fn from(parameters: $name) -> Self {
                    const {
                        let most = $crate::shader::PARAMETER_BLOCK as usize;
                        assert!(size_of::<$name>() <= most);
                    };
                    Self::new($name::NAMES, bytemuck::cast_slice(&[parameters]))
                }
            }
        )*
    };
}
pub(crate) use parameters;

/// The parameters of one dispatch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    names: &'static [&'static str],
    /// A value for each name; the other words are 0.
    words: [u32; WORDS],
}

impl Parameters {
    /// Parameters with these names and values.
    pub(crate) fn new(names: &'static [&'static str], values: &[u32]) -> Self {
        let mut words = [0; WORDS];
        words[..names.len()].copy_from_slice(values);
        Self { names, words }
    }

    /// The fields' names, in order.
    #[must_use]
    pub const fn names(&self) -> &'static [&'static str] {
        self.names
    }

    /// The fields, in order.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        &self.words[..self.names.len()]
    }

    /// The fields, in order and mutable.
    pub fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words[..self.names.len()]
    }

    /// A field's value, or `None` if no field has this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u32> {
        Some(self.words()[self.position(name)?])
    }

    /// A field to be changed, or `None` if no field has this name.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut u32> {
        let position = self.position(name)?;
        self.words_mut().get_mut(position)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|&field| field == name)
    }

    /// Returns true if both are parameters of the same struct, with any values.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.names == other.names
    }
}

impl std::fmt::Debug for Parameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map()
            .entries(self.names.iter().zip(self.words()))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::internals::kernels;
    use naga::{AddressSpace, Scalar, TypeInner};

    parameters! {
        Some3 { len, first, end }
        Others { len, first, last }
    }

    /// The difference between the uniform struct of a module and a list of words with these names.
    fn difference(module: &naga::Module, names: &[&str]) -> Option<String> {
        let uniforms: Vec<_> = (module.global_variables.iter())
            .filter(|(_, variable)| variable.space == AddressSpace::Uniform)
            .collect();
        let [(_, params)] = uniforms[..] else {
            return Some(format!("{} uniform buffers", uniforms.len()));
        };
        let TypeInner::Struct { members, span } = &module.types[params.ty].inner else {
            return Some("not a struct".to_owned());
        };
        let words = |names: &[&str]| -> Vec<_> {
            let words = names.iter().zip((0..).step_by(4));
            words
                .map(|(name, offset)| (name.to_string(), offset, TypeInner::Scalar(Scalar::U32)))
                .collect()
        };
        let found: Vec<_> = (members.iter())
            .map(|member| {
                let ty = module.types[member.ty].inner.clone();
                (member.name.clone().unwrap_or_default(), member.offset, ty)
            })
            .collect();
        let is_same = found == words(names) && *span as usize == 4 * names.len();
        (!is_same).then(|| format!("{found:?} of {span} bytes, not {names:?}"))
    }

    #[test]
    fn every_kernel_has_the_parameters_of_its_struct() {
        for kernel in kernels() {
            let (_, module) = kernel.parse(None).unwrap();
            let difference = difference(&module, kernel.parameters().names());
            assert_eq!(difference, None, "{}", kernel.label());
        }
    }

    #[test]
    fn a_struct_that_differs_from_its_twin_is_detected() {
        let differs = |members: &str| {
            let wgsl = format!(
                "struct Params {{ {members} }}
                @group(0) @binding(0) var<uniform> params: Params;"
            );
            let module = naga::front::wgsl::parse_str(&wgsl).unwrap();
            difference(&module, Some3::NAMES).is_some()
        };
        assert!(!differs("len: u32, first: u32, end: u32"));
        for other in [
            "len: u32, end: u32, first: u32",
            "len: u32, first: u32",
            "len: u32, first: u32, end: u32, more: u32",
            "len: u32, first: i32, end: u32",
            "len: u32, first: u32, @align(16) end: u32",
            "len: u32, first: u32, @size(8) end: u32",
        ] {
            assert!(differs(other), "{other}");
        }
    }

    #[test]
    fn fields_are_found_by_name() {
        let mut parameters = Parameters::from(Some3 {
            len: 3,
            first: 4,
            end: 5,
        });
        assert_eq!(parameters.words(), [3, 4, 5]);
        assert_eq!(parameters.get("first"), Some(4));
        assert_eq!(parameters.get("run"), None);
        *parameters.get_mut("end").unwrap() = 9;
        assert_eq!(parameters.words(), [3, 4, 9]);
        assert_eq!(parameters.get_mut("run"), None);
        assert!(!parameters.is_like(&Others::default().into()));
        assert!(parameters.is_like(&Some3::default().into()));
    }
}

//! Enums whose variants have names: on the command line, in labels and in JSON.

/// Implements an enum's list of variants, its names, and the conversions from and to a name.
macro_rules! named {
    ($type:ident, $what:literal, $($variant:ident => $name:literal $(or $alias:literal)*),+) => {
        impl $type {
            /// Every variant.
            pub const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];

            /// The name used on the command line, in labels and in JSON.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::names::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                match name {
                    $($name $(| $alias)* => Ok(Self::$variant),)+
                    _ => {
                        let known = Self::ALL.map(Self::name);
                        Err($crate::names::UnknownName::new($what, name, &known))
                    }
                }
            }
        }
    };
}

/// The error for a name that is not in the list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} '{name}': one of {known}")]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: String,
}

impl UnknownName {
    pub(crate) fn new(what: &'static str, name: &str, known: &[&str]) -> Self {
        Self {
            what,
            name: name.to_owned(),
            known: known.join(", "),
        }
    }
}

pub(crate) use named;

//! Options of sorts.

use crate::engine::Engine;
use crate::error::Error;
use crate::mergesort::MergesortOptions;
use crate::samplesort::Tuning;

/// Options of a [`Sorter`](crate::Sorter) for all of its sorts. The defaults suit every device.
///
/// No option changes the result of a sort. The only exception is the order of records outside a
/// requested [range](crate::SortJob::range).
///
/// The [adapter](Self::adapter) is not an option of sorts: [`Sorter::open`](crate::Sorter::open)
/// alone reads it.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{Engine, Options};
/// let options = Options::default().engine(Engine::SampleSort);
/// assert_eq!(options.engine, Engine::SampleSort);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Options {
    /// The algorithm. Default: [`Engine::Auto`].
    pub engine: Engine,
    /// The maximum number of keys that one dispatch moves, at least 1024. Default: 2^29 on discrete
    /// GPUs, 2^25 on other GPUs, and 2^22 on CPUs. A dispatch has at least one workgroup, even if
    /// that moves more keys.
    ///
    /// Longer rounds are cut into several dispatches, and long sorts into several submissions, so
    /// that no driver's watchdog stops them.
    pub keys_per_dispatch: Option<u32>,
    /// Tile sizes of the sample sort. Default: [`Tuning::default`] on GPUs, and [`Tuning::cpu`] on
    /// CPUs. Other values may need more scratch memory than the documented bound:
    /// [`SortJob::scratch_size`](crate::SortJob::scratch_size) computes it.
    pub tuning: Option<Tuning>,
    /// The paper's parameters of the mergesorts.
    pub mergesort: MergesortOptions,
    /// The adapter on which [`Sorter::open`](crate::Sorter::open) opens a device: one of
    /// [`adapters`](crate::adapters), or one of your own instance. Default: the best of
    /// [`adapters`](crate::adapters). A sorter on a device that is open already ignores it.
    #[cfg(feature = "gpu")]
    pub adapter: Option<wgpu::Adapter>,
}

impl Options {
    /// Sets [`engine`](Self::engine).
    #[must_use]
    pub const fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Sets [`keys_per_dispatch`](Self::keys_per_dispatch).
    #[must_use]
    pub const fn keys_per_dispatch(mut self, keys: u32) -> Self {
        self.keys_per_dispatch = Some(keys);
        self
    }

    /// Sets [`tuning`](Self::tuning).
    #[must_use]
    pub const fn tuning(mut self, tuning: Tuning) -> Self {
        self.tuning = Some(tuning);
        self
    }

    /// Sets [`mergesort`](Self::mergesort).
    #[must_use]
    pub const fn mergesort(mut self, mergesort: MergesortOptions) -> Self {
        self.mergesort = mergesort;
        self
    }

    /// Sets [`adapter`](Self::adapter).
    ///
    /// # Examples
    ///
    /// See [`adapters`](crate::adapters).
    #[cfg(feature = "gpu")]
    #[must_use]
    pub fn adapter(mut self, adapter: &wgpu::Adapter) -> Self {
        self.adapter = Some(adapter.clone());
        self
    }

    /// Checks that every option is in its range.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] with the option's name, value and range.
    pub fn validate(&self) -> Result<(), Error> {
        self.mergesort.validate(self.engine)?;
        if let Some(tuning) = &self.tuning {
            tuning.validate()?;
        }
        match self.keys_per_dispatch {
            Some(keys) if keys < 1024 => Err(Error::InvalidOption {
                name: "keys_per_dispatch",
                value: keys.into(),
                allowed: "at least 1024",
            }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Invalidate = fn(&mut Tuning);

    #[test]
    fn invalid_tunings_are_refused_by_name() {
        for tuning in [Tuning::default(), Tuning::cpu()] {
            assert!(tuning.validate().is_ok());
        }
        let invalid: [(&str, Invalidate); 5] = [
            ("tile", |tuning| tuning.tile = 0),
            ("tile", |tuning| tuning.tile = 3000),
            ("tile", |tuning| tuning.tile = 512),
            ("samples", |tuning| tuning.samples = 8192),
            ("samples", |tuning| tuning.samples = u32::MAX),
        ];
        for (field, invalidate) in invalid {
            let mut tuning = Tuning::default();
            invalidate(&mut tuning);
            let error = tuning.validate().unwrap_err().to_string();
            assert!(error.contains(&format!("tuning.{field} is ")), "{error}");
            let options = Options::default().tuning(tuning);
            assert_eq!(options.validate().unwrap_err().to_string(), error);
        }
    }
}

//! The options that `SET bcfsort.… = …` sets.

use bcfsort_auto::Device;
use datafusion_common::config::{
    ConfigEntry, ConfigExtension, ConfigField, ConfigOptions, ExtensionOptions, Visit,
};
use datafusion_common::{DataFusionError, config_field, config_namespace};
use std::any::Any;
use std::fmt::{self, Display};
use std::str::FromStr;

/// When an optional step is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Switch {
    /// Where it is expected to be faster.
    #[default]
    Auto,
    /// Wherever it is possible.
    Always,
    /// Nowhere.
    Never,
}

impl FromStr for Switch {
    type Err = DataFusionError;

    fn from_str(word: &str) -> Result<Self, DataFusionError> {
        match word.to_ascii_lowercase().as_str() {
            "auto" => Ok(Self::Auto),
            "always" | "true" => Ok(Self::Always),
            "never" | "false" => Ok(Self::Never),
            _ => Err(DataFusionError::Configuration(format!(
                "unknown value {word:?}: use auto, always or never"
            ))),
        }
    }
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        })
    }
}

config_field!(Switch, value => value.parse()?);

/// What a sort does when the GPU fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// It sorts on the CPU, and a warning is logged, once.
    #[default]
    Cpu,
    /// The query fails.
    Fail,
}

impl FromStr for OnError {
    type Err = DataFusionError;

    fn from_str(word: &str) -> Result<Self, DataFusionError> {
        match word.to_ascii_lowercase().as_str() {
            "cpu" => Ok(Self::Cpu),
            "fail" => Ok(Self::Fail),
            _ => Err(DataFusionError::Configuration(format!(
                "unknown value {word:?}: use cpu or fail"
            ))),
        }
    }
}

impl fmt::Display for OnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Fail => "fail",
        })
    }
}

config_field!(OnError, value => value.parse()?);

impl From<OnError> for bcfsort_auto::OnError {
    fn from(on_error: OnError) -> Self {
        match on_error {
            OnError::Cpu => Self::Cpu,
            OnError::Fail => Self::Fail,
        }
    }
}

config_namespace! {
    /// The options of sorts on the GPU. In SQL each is set by `SET bcfsort.name = value`.
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_datafusion::{BcfsortOptions, Switch};
    /// use datafusion::prelude::SessionConfig;
    ///
    /// let mut options = BcfsortOptions::default();
    /// options.single_run = Switch::Never;
    /// let config = SessionConfig::new().with_option_extension(options);
    /// # let _ = config;
    /// ```
    pub struct BcfsortOptions {
        /// The device to sort on: auto (the CPU or the best GPU, whichever takes less time), cpu,
        /// gpu, all, the number of an adapter, from 0 on, or a part of its name. Where it is auto,
        /// the environment variable WGPU_BCFSORT_DEVICE names the device.
        pub device: String, default = Device::Auto.to_string()

        /// The most rows that are sorted at once. More are sorted in runs, which are spilled and
        /// merged.
        pub max_run_rows: usize, default = u32::MAX as usize

        /// Sort all partitions at once, instead of each by itself with a merge: always, never, or
        /// auto (unless more than max_run_rows rows are expected).
        pub single_run: Switch, default = Switch::Auto

        /// ORDER BY with a LIMIT of fewer rows is left to DataFusion, which keeps the first rows
        /// only. With a larger limit, candidates are selected by a bound, and only these are
        /// sorted.
        pub topk_min_fetch: usize, default = 65_536

        /// What a sort does when the GPU fails: cpu sorts on the CPU and logs one warning, fail
        /// ends the query.
        pub on_error: OnError, default = OnError::Cpu
    }
}

impl ConfigExtension for BcfsortOptions {
    const PREFIX: &'static str = "bcfsort";
}

// The macro for extensions leaves out the prefix of entries, so that SHOW would not find them.
impl ExtensionOptions for BcfsortOptions {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), DataFusionError> {
        ConfigField::set(self, key, value)
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        struct Entries(Vec<ConfigEntry>);

        impl Entries {
            fn push(&mut self, key: &str, value: Option<String>, description: &'static str) {
                let key = key.to_owned();
                self.0.push(ConfigEntry {
                    key,
                    value,
                    description,
                });
            }
        }

        impl Visit for Entries {
            fn some<V: Display>(&mut self, key: &str, value: V, description: &'static str) {
                self.push(key, Some(value.to_string()), description);
            }

            fn none(&mut self, key: &str, description: &'static str) {
                self.push(key, None, description);
            }
        }

        let mut entries = Entries(Vec::new());
        self.visit(&mut entries, Self::PREFIX, "");
        entries.0
    }
}

impl BcfsortOptions {
    /// Those of a session, or the defaults if the session has none.
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_datafusion::{BcfsortOptions, Switch};
    /// use datafusion::config::ConfigOptions;
    ///
    /// assert_eq!(BcfsortOptions::of(&ConfigOptions::new()).single_run, Switch::Auto);
    /// ```
    #[must_use]
    pub fn of(config: &ConfigOptions) -> Self {
        config.extensions.get::<Self>().cloned().unwrap_or_default()
    }

    /// The device of the option, or of the environment: [`Device::or_environment`].
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_datafusion::{BcfsortOptions, Device};
    ///
    /// let mut options = BcfsortOptions::default();
    /// options.device = "CPU".to_owned();
    /// assert_eq!(options.device(), Device::Cpu);
    /// ```
    #[must_use]
    pub fn device(&self) -> Device {
        let Ok(device) = self.device.parse::<Device>();
        device.or_environment()
    }
}

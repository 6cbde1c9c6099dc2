//! The time of a run.

use std::time::Duration;

/// A started clock.
pub(crate) struct Clock {
    #[cfg(target_arch = "wasm32")]
    milliseconds: f64,
    #[cfg(not(target_arch = "wasm32"))]
    instant: std::time::Instant,
}

#[cfg(target_arch = "wasm32")]
mod performance {
    use wasm_bindgen::prelude::wasm_bindgen;

    #[wasm_bindgen]
    extern "C" {
        /// The browser's clock in milliseconds. `Instant` panics on this target.
        #[wasm_bindgen(js_namespace = performance)]
        pub(super) fn now() -> f64;
    }
}

impl Clock {
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn start() -> Self {
        Self {
            milliseconds: performance::now(),
        }
    }

    #[cfg(target_arch = "wasm32")]
    pub(crate) fn elapsed(&self) -> Duration {
        let milliseconds = performance::now() - self.milliseconds;
        Duration::try_from_secs_f64(milliseconds / 1e3).unwrap_or_default()
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn start() -> Self {
        Self {
            instant: std::time::Instant::now(),
        }
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn elapsed(&self) -> Duration {
        self.instant.elapsed()
    }
}

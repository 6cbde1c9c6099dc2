//! What is told on stderr: messages and progress.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Writes a message, on one line. A closed stderr is no reason to fail.
pub(crate) fn say(message: &str) {
    let message = message.replace('\n', " ");
    let _ = writeln!(io::stderr(), "wgpu-bcfsort: {message}");
}

/// Work shorter than this shows no progress.
const LONG: Duration = Duration::from_millis(1500);

/// A spinner for long work, on a terminal only.
pub(crate) struct Progress {
    started: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            started: Instant::now(),
            wanted: !quiet && io::stderr().is_terminal(),
            bar: None,
        }
    }

    /// Says what is being done.
    pub(crate) fn show(&mut self, state: impl FnOnce() -> String) {
        if !self.wanted || self.bar.is_none() && self.started.elapsed() < LONG {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
                .with_elapsed(self.started.elapsed());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        bar.set_message(state());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

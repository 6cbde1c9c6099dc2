//! Messages and progress on stderr.
//!
//! Messages may quote names and contents of files. A terminal shows them, and obeys none.

use crate::threads;
use bcfsort_data::escaped;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc;
use std::time::Duration;

/// Writes a message as one line. A closed stderr is not an error.
pub fn say(message: &str) {
    let message = message.replace('\n', " ");
    let _ = writeln!(io::stderr(), "wgpu-bcfsort: {}", escaped(&message));
}

/// Writes lines: excerpts of a source, or tables.
pub fn say_lines(lines: &str) {
    let _ = writeln!(io::stderr(), "{}", escaped(lines.trim_end()));
}

/// Minimum duration of work that shows its progress.
const LONG: Duration = Duration::from_millis(1500);

/// A progress spinner for long work, shown on terminals only.
pub struct Progress {
    bar: Option<ProgressBar>,
    /// The step whose bytes are shown.
    step: &'static str,
    /// Dropping it tells the waiting thread that the bar is no longer needed.
    _done: Option<mpsc::Sender<()>>,
}

impl Progress {
    pub fn new(quiet: bool) -> Self {
        if quiet || !io::stderr().is_terminal() {
            return Self {
                bar: None,
                step: "",
                _done: None,
            };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        // The work may block in one long call, so a thread shows the bar after a delay.
        let (done, wait) = mpsc::channel::<()>();
        let shown = bar.clone();
        let _ = threads::spawn_if_possible("progress", move || {
            if wait.recv_timeout(LONG) == Err(mpsc::RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(200));
            }
        });
        Self {
            bar: Some(bar),
            step: "",
            _done: Some(done),
        }
    }

    /// True if progress is shown.
    pub const fn is_shown(&self) -> bool {
        self.bar.is_some()
    }

    /// Shows the share of the work done and the estimated time left.
    pub fn share(&mut self, done: Duration, all: Duration, left: Option<Duration>) {
        let Some(bar) = &self.bar else { return };
        if bar.length().is_none() {
            let template = "{spinner} {elapsed} [{bar:20}] {percent} %{prefix} {wide_msg}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
        }
        bar.set_length(all.as_millis() as u64);
        bar.set_position(done.as_millis() as u64);
        if let Some(left) = left.map(|left| left.as_secs()) {
            bar.set_prefix(format!(", {}:{:02} left", left / 60, left % 60));
        }
    }

    /// Shows how many bytes of a step are done, how many a second, and the time left if `all` is
    /// known.
    pub fn bytes(&mut self, step: &'static str, done: u64, all: Option<u64>) {
        let Some(bar) = &self.bar else { return };
        if self.step != step {
            self.step = step;
            let template = match all {
                Some(_) => {
                    "{spinner} {elapsed} {msg} [{bar:20}] {decimal_bytes} of \
                     {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left"
                }
                None => "{spinner} {elapsed} {msg} {decimal_bytes}, {decimal_bytes_per_sec}",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_message(step);
            bar.reset_eta();
        }
        if let Some(all) = all {
            bar.set_length(all);
        }
        bar.set_position(done);
    }

    /// Shows the current step.
    pub fn show(&mut self, state: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(escaped(&state()));
        }
    }
}

impl Progress {
    /// Removes it from the terminal.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

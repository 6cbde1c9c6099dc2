//! What is told on stderr: messages and progress.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc;
use std::time::Duration;

/// Writes a message, on one line. A closed stderr is no reason to fail.
pub fn say(message: &str) {
    let message = message.replace('\n', " ");
    let _ = writeln!(io::stderr(), "wgpu-bcfsort: {message}");
}

/// Writes lines as they are: what is pasted from a source, or what other programs read.
pub fn say_lines(lines: &str) {
    let _ = writeln!(io::stderr(), "{}", lines.trim_end());
}

/// Work shorter than this shows no progress.
const LONG: Duration = Duration::from_millis(1500);

/// A spinner for long work, on a terminal only.
pub struct Progress {
    bar: Option<ProgressBar>,
    /// Dropped, it tells the thread that would show the bar that there is no need any more.
    _done: Option<mpsc::Sender<()>>,
}

impl Progress {
    pub fn new(quiet: bool) -> Self {
        if quiet || !io::stderr().is_terminal() {
            return Self {
                bar: None,
                _done: None,
            };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        // The work may go into one long call at any time: a thread shows the bar when it is time.
        let (done, wait) = mpsc::channel::<()>();
        let shown = bar.clone();
        std::thread::spawn(move || {
            if wait.recv_timeout(LONG) == Err(mpsc::RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(200));
            }
        });
        Self {
            bar: Some(bar),
            _done: Some(done),
        }
    }

    /// Whether anybody sees it.
    pub const fn is_shown(&self) -> bool {
        self.bar.is_some()
    }

    /// Says how much of all the work is done, and how long the rest will take.
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

    /// Says what is being done.
    pub fn show(&mut self, state: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(state());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

//! How long a sort took, and the table that says so.

use std::fmt::Write;
use std::time::Duration;
use wgpu_bcfsort::{Clock, Profile};

/// The times of one sort, or the sums over the sorts of several chunks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timings {
    /// How the time was measured.
    pub(crate) clock: &'static str,
    /// The sort itself, without transfers.
    pub(crate) sort: Duration,
    /// From the call to its return.
    pub(crate) wall: Duration,
    pub(crate) upload: Duration,
    pub(crate) download: Duration,
    pub(crate) merge: Duration,
    phases: Vec<Phase>,
}

#[derive(Clone, Debug)]
struct Phase {
    name: &'static str,
    rounds: u32,
    dispatches: u32,
    time: Duration,
}

impl Timings {
    pub(crate) fn of_cpu(time: Duration) -> Self {
        Self {
            clock: "wall clock",
            sort: time,
            wall: time,
            ..Self::default()
        }
    }

    pub(crate) fn of_gpu(profile: &Profile, wall: Duration) -> Self {
        Self {
            clock: if matches!(profile.clock, Clock::Timestamps) {
                "GPU timestamps"
            } else {
                "wall clock"
            },
            sort: profile.total,
            wall,
            upload: profile.upload,
            download: profile.download,
            merge: profile.merge,
            phases: profile
                .phases
                .iter()
                .map(|phase| Phase {
                    name: phase.phase,
                    rounds: phase.rounds,
                    dispatches: phase.dispatches,
                    time: phase.time,
                })
                .collect(),
        }
    }

    /// Adds another sort's times.
    pub(crate) fn add(&mut self, other: &Self) {
        self.clock = other.clock;
        self.sort += other.sort;
        self.wall += other.wall;
        self.upload += other.upload;
        self.download += other.download;
        self.merge += other.merge;
        for phase in &other.phases {
            match self.phases.iter_mut().find(|sum| sum.name == phase.name) {
                Some(sum) => {
                    sum.rounds += phase.rounds;
                    sum.dispatches += phase.dispatches;
                    sum.time += phase.time;
                }
                None => self.phases.push(phase.clone()),
            }
        }
    }

    /// The phases and their sum.
    pub(crate) fn table(&self, keys: u64) -> String {
        let mut table = String::new();
        if !self.phases.is_empty() {
            let _ = writeln!(
                table,
                "{:<24} {:>7} {:>10} {:>12} {:>8}",
                "phase", "rounds", "dispatches", "time", "share"
            );
            for phase in &self.phases {
                let share = match self.sort.as_secs_f64() {
                    0.0 => 0.0,
                    total => 100.0 * phase.time.as_secs_f64() / total,
                };
                let _ = writeln!(
                    table,
                    "{:<24} {:>7} {:>10} {:>12} {share:>6.1} %",
                    phase.name,
                    phase.rounds,
                    phase.dispatches,
                    time(phase.time)
                );
            }
        }
        let _ = writeln!(
            table,
            "{:<43} {:>12}  {} ({})",
            "sort",
            time(self.sort),
            rate(keys, self.sort),
            self.clock
        );
        for (what, taken) in [
            ("upload", self.upload),
            ("download", self.download),
            ("merge of chunks (host)", self.merge),
        ] {
            if taken > Duration::ZERO {
                let _ = writeln!(table, "{what:<43} {:>12}", time(taken));
            }
        }
        table
    }
}

/// A time, in the unit that suits it.
pub(crate) fn time(time: Duration) -> String {
    match time.as_secs_f64() {
        s if s >= 1.0 => format!("{s:.3} s"),
        s if s >= 0.01 => format!("{:.2} ms", s * 1e3),
        s if s >= 1e-4 => format!("{:.3} ms", s * 1e3),
        s => format!("{:.1} us", s * 1e6),
    }
}

/// Keys a second.
pub(crate) fn keys_per_second(keys: u64, time: Duration) -> f64 {
    match time.as_secs_f64() {
        0.0 => 0.0,
        seconds => keys as f64 / seconds,
    }
}

/// Keys a second, in the unit that suits them.
pub(crate) fn rate(keys: u64, time: Duration) -> String {
    match keys_per_second(keys, time) {
        r if r >= 1e9 => format!("{:.2} Gkeys/s", r / 1e9),
        r if r >= 1e6 => format!("{:.2} Mkeys/s", r / 1e6),
        r => format!("{:.2} kkeys/s", r / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        assert_eq!(time(Duration::from_secs(75)), "75.000 s");
        assert_eq!(time(Duration::from_micros(12_340)), "12.34 ms");
        assert_eq!(time(Duration::from_micros(1234)), "1.234 ms");
        assert_eq!(time(Duration::from_nanos(1500)), "1.5 us");
        assert_eq!(
            rate(10_000_000_000, Duration::from_secs(1)),
            "10.00 Gkeys/s"
        );
        assert_eq!(rate(5, Duration::ZERO), "0.00 kkeys/s");
    }
}

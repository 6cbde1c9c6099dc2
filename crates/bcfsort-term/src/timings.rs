//! The times of a sort, and their table.

use std::fmt::Write;
use std::time::Duration;
use wgpu_bcfsort::{Clock, Profile};

/// The times of one sort, or the sums over the sorts of several chunks.
#[derive(Clone, Debug, Default)]
pub struct Timings {
    /// The sort itself, without transfers.
    pub sort: Duration,
    /// Wall-clock time from call to return.
    pub wall: Duration,
    /// The GPU's times, by phase.
    profile: Option<Profile>,
}

impl Timings {
    pub fn of_cpu(time: Duration) -> Self {
        Self {
            sort: time,
            wall: time,
            ..Self::default()
        }
    }

    pub fn of_gpu(profile: Profile, wall: Duration) -> Self {
        Self {
            sort: profile.total,
            wall,
            profile: Some(profile),
        }
    }

    /// Adds another sort's times.
    pub fn add(&mut self, other: &Self) {
        self.sort += other.sort;
        self.wall += other.wall;
        match (&mut self.profile, &other.profile) {
            (Some(sum), Some(profile)) => sum.add(profile),
            (None, profile) => self.profile.clone_from(profile),
            (Some(_), None) => {}
        }
    }

    /// The clock that measured the time.
    pub fn clock(&self) -> &'static str {
        match &self.profile {
            Some(profile) if profile.clock == Clock::Timestamps => "GPU timestamps",
            _ => "wall clock",
        }
    }

    /// A table of the phases of a sort and their sum.
    pub fn table(&self, keys: u64) -> String {
        self.table_of("sort", keys)
    }

    /// A table of the phases of `what` and their sum.
    pub fn table_of(&self, what: &str, keys: u64) -> String {
        let mut table = String::new();
        let phases = self.profile.iter().flat_map(|profile| &profile.phases);
        if phases.clone().next().is_some() {
            let _ = writeln!(
                table,
                "{:<24} {:>7} {:>10} {:>12} {:>8}",
                "phase", "rounds", "dispatches", "time", "share"
            );
            for phase in phases {
                let share = match self.sort.as_secs_f64() {
                    0.0 => 0.0,
                    total => 100.0 * phase.time.as_secs_f64() / total,
                };
                let _ = writeln!(
                    table,
                    "{:<24} {:>7} {:>10} {:>12} {share:>6.1} %",
                    phase.phase,
                    phase.rounds,
                    phase.dispatches,
                    time(phase.time)
                );
            }
        }
        let _ = writeln!(
            table,
            "{what:<43} {:>12}  {} ({})",
            time(self.sort),
            rate(keys, self.sort),
            self.clock()
        );
        let transfer =
            |of: fn(&Profile) -> Duration| self.profile.as_ref().map_or(Duration::ZERO, of);
        for (what, taken) in [
            ("partition (CPU)", transfer(|profile| profile.partition)),
            ("upload", transfer(|profile| profile.upload)),
            ("download", transfer(|profile| profile.download)),
        ] {
            if taken > Duration::ZERO {
                let _ = writeln!(table, "{what:<43} {:>12}", time(taken));
            }
        }
        table
    }
}

/// The last line of a report: the time from the start of a command to its end.
pub fn total(keys: u64, taken: Duration) -> String {
    let what = "total, file I/O included";
    format!("{what:<43} {:>12}  {}\n", time(taken), rate(keys, taken))
}

/// Formats a time, in a suitable unit.
pub fn time(time: Duration) -> String {
    match time.as_secs_f64() {
        s if s >= 1.0 => format!("{s:.3} s"),
        s if s >= 0.01 => format!("{:.2} ms", s * 1e3),
        s if s >= 1e-4 => format!("{:.3} ms", s * 1e3),
        s => format!("{:.1} us", s * 1e6),
    }
}

/// Throughput in keys per second.
pub fn keys_per_second(keys: u64, time: Duration) -> f64 {
    match time.as_secs_f64() {
        0.0 => 0.0,
        seconds => keys as f64 / seconds,
    }
}

/// Formats a throughput in keys per second, in a suitable unit.
pub fn rate(keys: u64, time: Duration) -> String {
    match keys_per_second(keys, time) {
        r if r >= 1e9 => format!("{:.2} Gkeys/s", r / 1e9),
        r if r >= 1e6 => format!("{:.2} Mkeys/s", r / 1e6),
        r if r >= 1e3 => format!("{:.2} kkeys/s", r / 1e3),
        r => format!("{r:.0} keys/s"),
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
        assert_eq!(rate(1500, Duration::from_secs(1)), "1.50 kkeys/s");
        assert_eq!(rate(7, Duration::from_millis(100)), "70 keys/s");
        assert_eq!(rate(5, Duration::ZERO), "0 keys/s");
    }
}

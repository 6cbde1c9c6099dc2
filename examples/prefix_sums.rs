//! Shows the cost of bank conflicts on this machine: the time of the third phase of colored prefix
//! sums by the number of colors, with the naive and with the conflict-free method. It is the figure
//! in the introduction of Sitchinava and Weichert, "Bank Conflict Free Comparison-based Sorting On
//! GPUs".
//!
//! ```text
//! cargo run --release --example prefix_sums
//! cargo run --release --example prefix_sums -- 1000000
//! ```

use std::time::Duration;
use wgpu_bcfsort::paper::{PrefixSums, PrefixSumsMethod, PrefixSumsOptions};
use wgpu_bcfsort::{Error, Options, Sorter};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let len: u32 = match std::env::args().nth(1) {
        Some(len) => len.parse()?,
        None => 1 << 22,
    };
    let sorter = Sorter::open(Options::default())?;
    let sums = PrefixSums::new(&sorter);
    println!(
        "{len} values on {}: ms of the phase 'prefix sums', the best of 5",
        sorter.device().adapter_info().name
    );
    println!("{:>6} {:>10} {:>13}", "colors", "naive", "conflict-free");
    for d in [1, 2, 4, 8, 12, 16] {
        let colors: Vec<u32> = (0..len)
            .map(|i| (i.wrapping_mul(0x9e37_79b9) >> 16) % d)
            .collect();
        let time = |method| {
            let options = PrefixSumsOptions::default().colors(d).method(method);
            let mut best = Duration::MAX;
            for _ in 0..5 {
                let mut values = vec![1_u32; len as usize];
                let profile = sums.profile(&mut values, &colors, &options)?;
                let phase = profile.phases.iter().find(|p| p.phase == "prefix sums");
                best = best.min(phase.map_or(profile.total, |phase| phase.time));
                // Sums of ones count the values of a color.
                let mut counts = [0; 16];
                for (&sum, &color) in values.iter().zip(&colors) {
                    counts[color as usize] += 1;
                    assert_eq!(sum, counts[color as usize]);
                }
            }
            Ok::<f64, Error>(best.as_secs_f64() * 1e3)
        };
        let (naive, free) = (
            time(PrefixSumsMethod::Naive)?,
            time(PrefixSumsMethod::ConflictFree)?,
        );
        println!("{d:>6} {naive:>10.3} {free:>13.3}");
    }
    Ok(())
}

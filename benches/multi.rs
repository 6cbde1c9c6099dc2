//! Whole calls on slices in host memory: one GPU, all GPUs of the machine, and the CPU.
//!
//!     cargo bench --bench multi -- [argsort] [once] [u32|f64] [LOG2 ...]
//!
//! Prints the median seconds of three calls each, after one that is not counted, interleaved; with
//! `once`, those of one call. Results are compared with one another. A GPU that is the only one is
//! opened twice.

use bcfsort_auto::{Device, MultiSorter, cpu};
use rayon::prelude::*;
use std::time::Instant;
use wgpu_bcfsort::{Options, Order, SortKey, Sorter, adapters};

/// What is measured.
#[derive(Clone, Copy)]
struct Work {
    argsort: bool,
    /// Calls, of which the first is not counted, unless it is the only one.
    calls: usize,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let given = |word: &str| args.iter().any(|arg| arg == word);
    let mut sizes: Vec<u32> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![24, 26, 28];
    }
    let mut all = Device::All.among(&adapters())?;
    if all.len() == 1 {
        all.push(all[0].clone());
    }
    println!(
        "{} GPUs, {} threads",
        all.len(),
        rayon::current_num_threads()
    );
    let one = Sorter::open(Options::default().adapter(&all[0]))?;
    let several = MultiSorter::open(&all)?;
    let work = Work {
        argsort: given("argsort"),
        calls: if given("once") { 1 } else { 4 },
    };
    for log2 in sizes {
        if given("f64") {
            measure::<f64>(&one, &several, log2, work)?;
        } else {
            measure::<u32>(&one, &several, log2, work)?;
        }
    }
    Ok(())
}

fn measure<T: SortKey>(
    one: &Sorter,
    several: &MultiSorter,
    log2: u32,
    Work { argsort, calls }: Work,
) -> Result<(), Box<dyn std::error::Error>> {
    // (SplitMix64, by the index of the key.)
    let key = |i: u64| {
        let mut bits = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        T::from_bits64(bits ^ (bits >> 31))
    };
    let input: Vec<T> = (0..1_u64 << log2).into_par_iter().map(key).collect();
    let mut keys = input.clone();
    let (mut sorted, mut order) = (Vec::new(), Vec::new());
    let mut seconds = [[0.0; 4]; 3];
    for repeat in 0..calls {
        for (who, seconds) in seconds.iter_mut().enumerate() {
            let copies = keys.par_chunks_mut(1 << 20).zip(input.par_chunks(1 << 20));
            copies.for_each(|(to, from)| to.copy_from_slice(from));
            let started = Instant::now();
            if argsort {
                let indices = match who {
                    0 => one.argsort(&keys, Order::Ascending)?,
                    1 => several.argsort(&keys, Order::Ascending)?,
                    _ => cpu::argsort(&keys, Order::Ascending),
                };
                seconds[repeat] = started.elapsed().as_secs_f64();
                if repeat == 0 && who == 0 {
                    order = indices;
                } else if order != indices {
                    return Err("the orders differ".into());
                }
                continue;
            }
            match who {
                0 => one.sort(&mut keys, Order::Ascending)?,
                1 => several.sort(&mut keys, Order::Ascending)?,
                _ => cpu::sort(&mut keys, Order::Ascending),
            }
            seconds[repeat] = started.elapsed().as_secs_f64();
            if repeat == 0 && who == 0 {
                sorted.clone_from(&keys);
            } else if bytemuck::cast_slice::<T, u8>(&keys) != bytemuck::cast_slice::<T, u8>(&sorted)
            {
                return Err("the results differ".into());
            }
        }
    }
    let work = if argsort { "argsort" } else { "sort" };
    for (who, mut seconds) in ["one GPU", "all GPUs", "CPU"].into_iter().zip(seconds) {
        let counted = &mut seconds[usize::from(calls > 1)..calls];
        counted.sort_by(f64::total_cmp);
        println!(
            "{work} 2^{log2} {}: {who} {:.4}",
            T::KEY_TYPE,
            counted[counted.len() / 2]
        );
    }
    Ok(())
}

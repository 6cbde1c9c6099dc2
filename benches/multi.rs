//! Whole calls on slices in host memory: one GPU, all GPUs of the machine, and the CPU.
//!
//!     cargo bench --bench multi -- [argsort] [u32|f64] [LOG2 ...]
//!
//! Prints the seconds of three calls each, after one that is not counted, interleaved; results are
//! compared with one another. A GPU that is the only one is opened twice.

use bcfsort_auto::{Device, MultiSorter, cpu};
use std::time::Instant;
use wgpu_bcfsort::{Options, Order, SortKey, Sorter, adapters};

const REPEATS: usize = 3;

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
    for log2 in sizes {
        if given("f64") {
            measure::<f64>(&one, &several, log2, given("argsort"))?;
        } else {
            measure::<u32>(&one, &several, log2, given("argsort"))?;
        }
    }
    Ok(())
}

fn measure<T: SortKey>(
    one: &Sorter,
    several: &MultiSorter,
    log2: u32,
    argsort: bool,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut state = u64::from(log2);
    let mut key = || {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e);
        T::from_bits64(state.rotate_left(29))
    };
    let input: Vec<T> = (0..1_u64 << log2).map(|_| key()).collect();
    let mut keys = input.clone();
    let (mut sorted, mut order) = (Vec::new(), Vec::new());
    let mut seconds = [[0.0; REPEATS + 1]; 3];
    for repeat in 0..=REPEATS {
        for (who, seconds) in seconds.iter_mut().enumerate() {
            keys.copy_from_slice(&input);
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
        seconds[1..].sort_by(f64::total_cmp);
        println!(
            "{work} 2^{log2} {}: {who} {:.4}",
            T::KEY_TYPE,
            seconds[1 + REPEATS / 2]
        );
    }
    Ok(())
}

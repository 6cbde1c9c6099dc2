//! Sorts slices of host memory.
//!
//! ```text
//! cargo run --release --example sort_slice
//! ```

use wgpu_bcfsort::{Error, Options, Order, Sorter};

fn main() -> Result<(), Error> {
    // One sorter for many sorts: it keeps its device, its compiled kernels and its scratch memory.
    let sorter = Sorter::open(Options::default())?;
    println!("sorting on {}", sorter.device().adapter_info().name);

    let mut words: Vec<u32> = (0..1_000_000_u32)
        .map(|i| i.wrapping_mul(2_654_435_761))
        .collect();
    let mut expected = words.clone();
    expected.sort_unstable();
    sorter.sort(&mut words, Order::Ascending)?;
    assert!(words == expected);
    println!(
        "{} u32 keys, from {} to {}",
        words.len(),
        words[0],
        words[words.len() - 1]
    );

    // Floats are ordered as by `total_cmp`: -0 before +0, NaN after infinity.
    let mut floats = [0.5, f64::NAN, -0.0, f64::INFINITY, 0.0, -3.25];
    sorter.sort(&mut floats, Order::Ascending)?;
    println!("ascending:  {floats:?}");
    let expected = [-3.25, -0.0, 0.0, 0.5, f64::INFINITY, f64::NAN];
    assert_eq!(floats.map(f64::to_bits), expected.map(f64::to_bits));
    sorter.sort(&mut floats, Order::Descending)?;
    println!("descending: {floats:?}");
    floats.reverse();
    assert_eq!(floats.map(f64::to_bits), expected.map(f64::to_bits));
    Ok(())
}

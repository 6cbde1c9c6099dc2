//! Sorts of all kinds and several lengths, compared with the standard library's.

use super::checks::Opened;
use super::report::Sort;
use crate::records::sort_lines;
use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_term::engine::Contender;
use std::cmp::Ordering;
use wgpu_bcfsort::{Options, Order, SortKey, Sorter, wgpu};

/// None, one, an odd number, one more than a power of two, and many.
const LENGTHS: [u64; 5] = [0, 1, 1001, (1 << 16) + 1, 1 << 20];

/// Those of `--quick`.
const FEW: [u64; 4] = [0, 1, 1001, (1 << 16) + 1];

/// A sort of so many records, and its name.
struct Case {
    name: &'static str,
    run: fn(&Sorter, u64) -> Result<(), String>,
}

const CASES: [Case; 7] = [
    Case {
        name: "u32",
        run: |sorter, len| keys(sorter, &random::<u32>(len)?, Order::Ascending, u32::cmp),
    },
    Case {
        name: "u64, descending",
        run: |sorter, len| keys(sorter, &random::<u64>(len)?, Order::Descending, u64::cmp),
    },
    Case {
        name: "f32",
        run: |sorter, len| {
            // With zeros of both signs, infinities and NaN.
            let input = input::<f32>(Pattern::Special, len)?;
            keys(sorter, &input, Order::Ascending, f32::total_cmp)
        },
    },
    Case {
        name: "u32 with values",
        run: pairs,
    },
    Case {
        name: "argsort of u32",
        run: |sorter, len| argsort(sorter, &few_distinct(len)?, u32::cmp),
    },
    Case {
        name: "argsort of f32",
        run: |sorter, len| {
            argsort(
                sorter,
                &input::<f32>(Pattern::Special, len)?,
                f32::total_cmp,
            )
        },
    },
    Case {
        name: "strings",
        run: strings,
    },
];

/// Runs all sorts. Calls `begin` with the name of each before it runs.
pub(super) fn check(
    adapter: &wgpu::Adapter,
    quick: bool,
    mut begin: impl FnMut(&str, u64),
) -> Vec<Sort> {
    let mut device = Opened::new(adapter);
    let lengths = if quick { &FEW[..] } else { &LENGTHS };
    let mut sorts = Vec::new();
    for case in CASES {
        for &len in lengths {
            begin(case.name, len);
            sorts.push(Sort {
                sort: case.name.to_owned(),
                len,
                wrong: device.guarded(|sorter| (case.run)(sorter, len)).err(),
            });
        }
    }
    sorts
}

fn input<T: SortKey>(pattern: Pattern, len: u64) -> Result<Vec<T>, String> {
    generate(&Spec::new(pattern, len)).map_err(|error| error.to_string())
}

fn random<T: SortKey>(len: u64) -> Result<Vec<T>, String> {
    input(Pattern::Random, len)
}

/// Keys of which many are equal: a stable sort keeps their order.
fn few_distinct(len: u64) -> Result<Vec<u32>, String> {
    let spec = Spec::new(Pattern::FewDistinct, len).distinct(100);
    generate(&spec).map_err(|error| error.to_string())
}

fn keys<T: SortKey>(
    sorter: &Sorter,
    keys: &[T],
    order: Order,
    compare: fn(&T, &T) -> Ordering,
) -> Result<(), String> {
    let mut expected = keys.to_vec();
    expected.sort_unstable_by(compare);
    if order == Order::Descending {
        expected.reverse();
    }
    let mut sorted = keys.to_vec();
    sorter
        .sort(&mut sorted, order)
        .map_err(|error| error.to_string())?;
    let bits = |keys: &[T]| -> Vec<u64> { keys.iter().map(|key| key.to_bits64()).collect() };
    same(&bits(&sorted), &bits(&expected), "key")
}

fn pairs(sorter: &Sorter, len: u64) -> Result<(), String> {
    let mut keys = few_distinct(len)?;
    let mut values: Vec<u64> = (0..len).collect();
    let mut expected: Vec<(u32, u64)> = keys.iter().copied().zip(0..).collect();
    expected.sort_by_key(|pair| pair.0);
    let sorted = sorter.sort_pairs(&mut keys, &mut values, Order::Ascending);
    sorted.map_err(|error| error.to_string())?;
    let sorted: Vec<(u32, u64)> = keys.into_iter().zip(values).collect();
    same(&sorted, &expected, "pair")
}

fn argsort<T: SortKey>(
    sorter: &Sorter,
    keys: &[T],
    compare: fn(&T, &T) -> Ordering,
) -> Result<(), String> {
    let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
    expected.sort_by(|&a, &b| compare(&keys[a as usize], &keys[b as usize]));
    let indices = sorter.argsort(keys, Order::Ascending);
    same(
        &indices.map_err(|error| error.to_string())?,
        &expected,
        "index",
    )
}

/// Lines, as the command sorts them: the first bytes of each on the device, where these are equal
/// the rest on the CPU.
fn strings(sorter: &Sorter, len: u64) -> Result<(), String> {
    let numbers = random::<u32>(len)?;
    // Of 1 to 10 letters, and some of 20 that begin alike.
    let line = |&number: &u32| match number % 4 {
        0 => format!("the same start {:05x}\n", number >> 12),
        _ => format!("{:x}\n", number >> (number % 29)),
    };
    let lines: Vec<String> = numbers.iter().map(line).collect();
    let text = lines.concat().into_bytes();
    let mut expected = lines;
    expected.sort_by(|a, b| a.trim_end().cmp(b.trim_end()));
    let sorter = sorter.with_options(Options::default());
    let contender = Contender::of(sorter.map_err(|error| error.to_string())?);
    let sorted = sort_lines(contender, text).map_err(|fault| fault.to_string())?;
    let sorted: Vec<&[u8]> = sorted.split_inclusive(|&byte| byte == b'\n').collect();
    let expected: Vec<&[u8]> = expected.iter().map(String::as_bytes).collect();
    same(&sorted, &expected, "line")
}

/// Fails with the first difference.
fn same<T: PartialEq + std::fmt::Debug>(
    sorted: &[T],
    expected: &[T],
    what: &str,
) -> Result<(), String> {
    if sorted.len() != expected.len() {
        let (found, all) = (sorted.len(), expected.len());
        return Err(format!("{found} of {all} are in the result"));
    }
    let mut pairs = sorted.iter().zip(expected);
    match pairs.position(|(found, right)| found != right) {
        None => Ok(()),
        Some(at) => {
            let (found, right) = (&sorted[at], &expected[at]);
            Err(format!("{what} {at} is {found:?}, not {right:?}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_told() {
        assert_eq!(same(&[1, 2], &[1, 2], "key"), Ok(()));
        let wrong = same(&[1, 3, 2], &[1, 2, 3], "key").unwrap_err();
        assert_eq!(wrong, "key 1 is 3, not 2");
        let short = same(&[1], &[1, 2], "key").unwrap_err();
        assert_eq!(short, "1 of 2 are in the result");
    }
}

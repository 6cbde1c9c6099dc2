//! Scans in lock-step, compared with the CPU: of all types, in place and out of place, from any
//! value on, with a count in a buffer.

use bcfsort_testkit::all_cases;
use bcfsort_testkit::recordings::{Execution, unexpected};
use wgpu_bcfsort::KeyType;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::recording::Buffer;
use wgpu_bcfsort::internals::scan::{ScanLayout, record_scan};
use wgsl_lockstep::Config;

/// Two tiles per dispatch.
const LIMITS: DeviceLimits = DeviceLimits {
    keys_per_dispatch: 1 << 14,
    ..bcfsort_testkit::LIMITS
};

/// What no kernel may change.
const UNTOUCHED: u32 = 0x0dd_ba11;

/// Small values, whose sums are exact as floats.
fn value(i: u32) -> u32 {
    i.wrapping_mul(0x9e37_79b9) >> 26
}

fn words(of: KeyType, number: u64) -> Vec<u32> {
    match of {
        KeyType::F32 => vec![(number as f32).to_bits()],
        _ if of.words() == 2 => vec![number as u32, (number >> 32) as u32],
        _ => vec![number as u32],
    }
}

fn check(of: KeyType, (room, len): (u32, u32), layout: ScanLayout) {
    let what = format!("{of} {len} of {room}, {layout:?}");
    let recording = record_scan(room, of, &layout, &LIMITS);
    // Some values are large: sums of 64 bits carry, and those of 32 bits wrap.
    let number = |i| match of {
        KeyType::F32 => value(i).into(),
        _ => u64::from(value(i)) << 27 | 0x7fff_ffff,
    };
    let in_front = |first: u32| vec![UNTOUCHED; (first * of.words()) as usize];
    let mut values = in_front(layout.first);
    values.extend((0..room).flat_map(|i| words(of, number(i))));
    values.extend([UNTOUCHED; 2]);
    let mut sum = 0_u64;
    let sums = (0..len).flat_map(|i| {
        let before = sum;
        sum = sum.wrapping_add(number(i));
        words(of, if layout.is_exclusive { before } else { sum })
    });
    let sums: Vec<u32> = sums.collect();
    let mut execution = Execution::new(&recording, &values, Config::default());
    let untouched = vec![UNTOUCHED; values.len() + 20];
    execution.set_buffer(Buffer::Output, untouched.clone());
    execution.set_buffer(Buffer::Count, vec![UNTOUCHED, len]);
    for kernel in execution.run().unwrap() {
        let findings = unexpected(&kernel.report);
        assert!(findings.is_empty(), "{what}: {findings:?}");
    }
    let (buffer, first, before) = match layout.output {
        None => (Buffer::Keys, layout.first, values),
        Some(first) => {
            assert!(execution.buffer(Buffer::Keys) == values, "{what}");
            (Buffer::Output, first, untouched)
        }
    };
    let mut expected = before;
    let at = (first * of.words()) as usize;
    expected[at..at + sums.len()].copy_from_slice(&sums);
    assert!(execution.buffer(buffer) == expected, "{what}");
}

#[test]
fn sums_equal_the_cpu() {
    let mut number = 0;
    for of in [
        KeyType::U32,
        KeyType::F32,
        KeyType::I64,
        KeyType::I32,
        KeyType::U64,
    ] {
        for len in [1, 2, 1023, 8192, 8193, 20_001] {
            for way in 0..4 {
                number += 1;
                if len > 8192 && !all_cases() && number % 3 > 0 {
                    continue;
                }
                let is_counted = number % 5 < 2;
                let layout = ScanLayout {
                    first: way % 3,
                    output: (way % 2 == 1).then_some(way),
                    is_exclusive: way / 2 == 1,
                    count_at: is_counted.then_some(1),
                };
                let room = if is_counted { len + 9000 } else { len };
                check(of, (room, len), layout);
            }
        }
        let none = ScanLayout {
            count_at: Some(1),
            ..ScanLayout::default()
        };
        check(of, (9000, 0), none);
    }
}

//! The positions of warpsort's random samples: `shaders/baseline/random_samples.wgsl` in Rust.

/// The position of sample `number` among `len` keys, for a seed and a level of the sort: level 0 is
/// the keys, level 1 their samples if these are distributed, too, and so on.
///
/// Positions are uniform to within 2^-32, and independent of each other.
#[must_use]
pub fn sample_position(seed: u64, level: u32, number: u32, len: u32) -> u32 {
    let key = [seed as u32, (seed >> 32) as u32];
    let [word, _] = threefry_2x32(key, [number, level]);
    ((u64::from(word) * u64::from(len)) >> 32) as u32
}

/// Threefry-2x32 of 20 rounds (Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as
/// 1, 2, 3", SC 2011): two random words, a function of a key and a counter.
fn threefry_2x32(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let keys = [key[0], key[1], 0x1bd1_1bda ^ key[0] ^ key[1]];
    let mut a = counter[0].wrapping_add(keys[0]);
    let mut b = counter[1].wrapping_add(keys[1]);
    for block in 0..5 {
        for by in ROTATIONS[block % 2] {
            a = a.wrapping_add(b);
            b = b.rotate_left(by) ^ a;
        }
        a = a.wrapping_add(keys[(block + 1) % 3]);
        b = b
            .wrapping_add(keys[(block + 2) % 3])
            .wrapping_add(block as u32 + 1);
    }
    [a, b]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors published with Random123.
    #[test]
    fn threefry_gives_the_published_words() {
        for (counter, key, words) in [
            ([0, 0], [0, 0], [0x6b20_0159, 0x99ba_4efe]),
            ([!0, !0], [!0, !0], [0x1cb9_96fc, 0xbb00_2be7]),
            (
                [0x243f_6a88, 0x85a3_08d3],
                [0x1319_8a2e, 0x0370_7344],
                [0xc492_3a9c, 0x483d_f7a0],
            ),
        ] {
            assert_eq!(threefry_2x32(key, counter), words);
        }
    }

    #[test]
    fn positions_are_everywhere_and_differ_by_seed_and_level() {
        let of = |seed, level, len| -> Vec<u32> {
            (0..4096)
                .map(|i| sample_position(seed, level, i, len))
                .collect()
        };
        for len in [1, 7, 1000, u32::MAX] {
            let positions = of(3, 0, len);
            assert!(positions.iter().all(|&position| position < len));
            let mean = positions.iter().map(|&p| f64::from(p)).sum::<f64>() / 4096.0;
            // The standard deviation of the mean is 0.29 len / 64.
            assert!(
                (mean / f64::from(len) - 0.5).abs() < 0.02 || len < 100,
                "{len}: {mean}"
            );
        }
        let seen: std::collections::BTreeSet<u32> = of(3, 0, 7).into_iter().collect();
        assert_eq!(seen.len(), 7);
        assert_ne!(of(3, 0, 1000), of(4, 0, 1000));
        assert_ne!(of(3, 0, 1000), of(3 | 1 << 40, 0, 1000));
        assert_ne!(of(3, 0, 1000), of(3, 1, 1000));
    }
}

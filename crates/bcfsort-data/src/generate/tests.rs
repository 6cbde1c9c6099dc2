use super::*;

fn every(spec: &Spec, key: KeyType) -> Result<Vec<u64>, DataError> {
    fn bits<T: SortKey>(spec: &Spec) -> Result<Vec<u64>, DataError> {
        Ok(generate::<T>(spec)?.into_iter().map(T::to_bits64).collect())
    }
    match key {
        KeyType::U32 => bits::<u32>(spec),
        KeyType::I32 => bits::<i32>(spec),
        KeyType::F32 => bits::<f32>(spec),
        KeyType::U64 => bits::<u64>(spec),
        KeyType::I64 => bits::<i64>(spec),
        KeyType::F64 => bits::<f64>(spec),
        other => panic!("no data set has {other} keys"),
    }
}

/// FNV-1a over the little-endian bytes of the keys.
fn hash(keys: &[u64]) -> u64 {
    keys.iter()
        .flat_map(|key| key.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

#[test]
fn the_bytes_of_every_pattern_are_pinned() {
    let mut found = String::new();
    for pattern in Pattern::ALL {
        let count = if pattern == Pattern::Adversary {
            32 * 17 * 4
        } else {
            2500
        };
        let spec = Spec::new(pattern, count).seed(5);
        let hashes: Vec<String> = KeyType::WHOLE_WORDS
            .into_iter()
            .map(|key| format!("{:016x}", hash(&every(&spec, key).unwrap())))
            .collect();
        found.extend([pattern.name(), " ", &hashes.join(" "), "\n"]);
    }
    assert_eq!(found, include_str!("pinned.txt"), "found:\n{found}");
}

#[test]
fn every_pattern_accepts_small_counts() {
    for pattern in Pattern::ALL {
        for key in KeyType::WHOLE_WORDS {
            for count in [0, 1, 2, 3, 999, 1001] {
                let spec = Spec::new(pattern, count);
                let fitting = spec.fitting_count();
                assert_eq!(
                    fitting == count,
                    pattern != Pattern::Adversary || count == 0
                );
                match every(&spec, key) {
                    Ok(keys) => assert_eq!(keys.len() as u64, count),
                    Err(error) => assert!(matches!(error, DataError::AdversaryCount { .. })),
                }
            }
        }
    }
}

#[test]
fn different_seeds_give_different_keys() {
    let keys = |seed| generate::<u32>(&Spec::new(Pattern::Random, 100).seed(seed)).unwrap();
    assert_eq!(keys(1), keys(1));
    assert_ne!(keys(1), keys(2));
    assert_ne!(keys(1), keys(1 + (1 << 40)));
}

#[test]
fn distinct_is_a_permutation() {
    for key in KeyType::WHOLE_WORDS {
        let mut shuffled = every(&Spec::new(Pattern::Distinct, 5000), key).unwrap();
        let ascending = every(&Spec::new(Pattern::Ascending, 5000), key).unwrap();
        assert_ne!(shuffled, ascending);
        shuffled.sort_unstable();
        assert_eq!(shuffled, ascending);
    }
    let spec = Spec::new(Pattern::Distinct, 1 << 33);
    for key in [KeyType::U32, KeyType::I32, KeyType::F32] {
        let error = every(&spec, key).unwrap_err();
        assert!(matches!(error, DataError::TooFewValues { .. }), "{error}");
    }
}

#[test]
fn duplicates_have_exact_counts() {
    for (count, distinct) in [(1000, 7), (64, 64), (5, 1), (4500, 2250)] {
        let spec = Spec::new(Pattern::Duplicates, count).distinct(distinct);
        let mut copies = vec![0; distinct as usize];
        for key in generate::<u32>(&spec).unwrap() {
            copies[key as usize] += 1;
        }
        let each = count / distinct;
        let more = copies.iter().filter(|&&c| c == each + 1).count() as u64;
        let exact = copies.iter().filter(|&&c| c == each).count() as u64;
        assert_eq!(
            (more, exact),
            (count % distinct, distinct - count % distinct)
        );
    }
}

#[test]
fn few_distinct_uses_all_of_its_keys() {
    for distinct in [1, 2, 4, 8, 20, 311, 1024] {
        for key in KeyType::WHOLE_WORDS {
            let spec = Spec::new(Pattern::FewDistinct, 20_000).distinct(distinct);
            let mut keys = every(&spec, key).unwrap();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len() as u64, distinct);
        }
    }
}

#[test]
fn ranges_hold_and_both_ends_occur() {
    let range = Range::Values { low: -3, high: 4 };
    for pattern in [
        Pattern::Random,
        Pattern::Narrow,
        Pattern::HalfSorted,
        Pattern::Runs,
    ] {
        let keys = generate::<i64>(&Spec::new(pattern, 1000).range(range)).unwrap();
        assert_eq!(
            (keys.iter().min(), keys.iter().max()),
            (Some(&-3), Some(&4))
        );
        let keys = generate::<f32>(&Spec::new(pattern, 1000).range(range)).unwrap();
        assert!(
            keys.iter()
                .all(|k| (-3.0..=4.0).contains(k) && k.fract() == 0.0)
        );
    }
    let wide = Range::Values {
        low: i128::from(i64::MIN),
        high: i128::from(i64::MAX),
    };
    assert!(generate::<i64>(&Spec::new(Pattern::Random, 10).range(wide)).is_ok());
    assert!(generate::<u64>(&Spec::new(Pattern::Random, 10).range(wide)).is_err());
    let huge = Range::Values {
        low: i128::MIN,
        high: i128::MAX,
    };
    assert!(generate::<f64>(&Spec::new(Pattern::Random, 10).range(huge)).is_err());
    let backwards = Range::Values { low: 5, high: 4 };
    assert!(generate::<u32>(&Spec::new(Pattern::Random, 10).range(backwards)).is_err());
}

#[test]
fn shapes() {
    let keys = |pattern, count| generate::<u32>(&Spec::new(pattern, count)).unwrap();
    assert_eq!(keys(Pattern::Descending, 3), [3, 2, 1]);
    assert_eq!(keys(Pattern::OrganPipe, 5), [1, 2, 3, 2, 1]);
    assert_eq!(keys(Pattern::Constant, 2), [7, 7]);
    assert_eq!(keys(Pattern::Maximal, 2), [u32::MAX; 2]);
    assert_eq!(keys(Pattern::Saws, 1002)[998..], [999, 1000, 1, 2]);
    assert_eq!(
        keys(Pattern::SawsDescending, 1002)[998..],
        [2, 1, 1000, 999]
    );
    assert_eq!(
        keys(Pattern::SawsMixed, 2002)[998..1002],
        [999, 1000, 1000, 999]
    );
    assert!(keys(Pattern::MostlySorted, 1000)[..950].is_sorted());
    assert!(!keys(Pattern::MostlySorted, 1000).is_sorted());
    assert!(keys(Pattern::HalfSorted, 1000)[..500].is_sorted());
    let runs = generate::<u32>(&Spec::new(Pattern::Runs, 1000).runs(7)).unwrap();
    assert_eq!(runs.chunk_by(|a, b| a <= b).count(), 7);
}

#[test]
fn zipf_follows_its_law() {
    let keys = generate::<u32>(&Spec::new(Pattern::Zipf, 100_000).distinct(1000)).unwrap();
    let copies = |key| keys.iter().filter(|&&k| k == key).count() as f64;
    // The 1000th harmonic number is 7.485.
    for key in [1, 2, 10] {
        let expected = 100_000.0 / 7.485 / f64::from(key);
        assert!(
            (copies(key) - expected).abs() < 0.1 * expected,
            "{key} {}",
            copies(key)
        );
    }
    assert!(keys.iter().all(|k| (1..=1000).contains(k)));
}

#[test]
fn all_special_floats_occur() {
    let keys = generate::<f32>(&Spec::new(Pattern::Special, 10_000)).unwrap();
    let has = |kind: fn(&f32) -> bool| keys.iter().any(kind);
    assert!(has(|k| k.is_nan() && k.is_sign_negative()));
    assert!(has(|k| k.is_nan() && k.is_sign_positive()));
    assert!(has(|k| k.to_bits() == 0x7f80_0001) && has(|k| k.to_bits() == 0xffff_ffff));
    assert!(has(|k| k.is_infinite()) && has(|k| k.is_subnormal()));
    assert!(has(|k| k.to_bits() == 0) && has(|k| k.to_bits() == 1 << 31));
    assert!(has(|k| (1000.0..1e6).contains(k)));
    let keys = generate::<i64>(&Spec::new(Pattern::Special, 10_000)).unwrap();
    assert!(keys.contains(&i64::MIN) && keys.contains(&i64::MAX) && keys.contains(&(1 << 31)));
}

#[test]
fn incompatible_parameters_are_refused() {
    let error = |spec: Spec| generate::<u32>(&spec).unwrap_err().to_string();
    assert_eq!(
        error(Spec::new(Pattern::Distinct, 10).distinct(3)),
        "pattern distinct takes no --distinct, which is for duplicates, few-distinct, zipf"
    );
    assert_eq!(
        error(Spec::new(Pattern::Adversary, 2000)),
        "the adversary with 17 items a lane exists for 544 x 2^k keys only, not for 2000: the \
         nearest are 1088 and 2176"
    );
    assert!(error(Spec::new(Pattern::Adversary, 0)).ends_with("the nearest are 544"));
    assert!(error(Spec::new(Pattern::Adversary, 32).items(1)).contains("2 to 64"));
    assert!(error(Spec::new(Pattern::Runs, 10).runs(0)).contains("at least one"));
    assert!(error(Spec::new(Pattern::Duplicates, 10).distinct(11)).contains("1 to 10"));
    assert!(error(Spec::new(Pattern::Zipf, 10).distinct(0)).contains("--distinct is 0"));
    let range =
        |low, high| error(Spec::new(Pattern::Random, 10).range(Range::Values { low, high }));
    assert_eq!(
        range(-1, 5),
        "--range is -1..5: some of it is outside u32: use --type i32"
    );
    assert!(range(0, 1 << 40).ends_with("outside u32: use --type u64"));
    assert!(range(-1, 1 << 40).ends_with("outside u32: use --type i64"));
    assert!(range(-1, 1 << 63).ends_with("outside u32"));
    assert!(error(Spec::new(Pattern::Random, u64::MAX)).contains("do not fit in memory"));
}

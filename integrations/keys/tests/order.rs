//! Sorts of random columns, compared with Arrow's row format.

use arrow_array::builder::{
    BinaryViewBuilder, FixedSizeBinaryBuilder, StringDictionaryBuilder, StringViewBuilder,
};
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal32Array,
    Decimal128Array, DictionaryArray, DurationSecondArray, Float16Array, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, IntervalYearMonthArray,
    LargeBinaryArray, LargeStringArray, NullArray, StringArray, Time32SecondArray,
    Time64NanosecondArray, TimestampNanosecondArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow_row::{RowConverter, SortField};
use arrow_schema::SortOptions;
use bcfsort_keys::{Cpu, Floats, Keys, SortColumn, encode, is_supported, sort_indices};
use half::f16;
use proptest::prelude::*;
use std::sync::Arc;

/// A column of a kind, of random words. Each word is a value, or null.
fn column(kind: usize, words: &[Option<u64>]) -> ArrayRef {
    macro_rules! native {
        ($array:ty, $value:expr) => {
            Arc::new(<$array>::from_iter(
                words.iter().map(|word| word.map($value)),
            ))
        };
    }
    let text = |word: u64| {
        // Common beginnings, long ends, and zeros.
        let ends = [
            "",
            "\0",
            "\0\0",
            "a",
            "ab",
            "é",
            "z and a long end that differs",
            "~",
        ];
        let begin = "common"[..(word >> 8) as usize % 7].to_owned();
        format!(
            "{begin}{}{}",
            ends[word as usize % 8],
            ends[(word >> 4) as usize % 8]
        )
    };
    let shared = |word: u64| format!("https://example.org/{}", text(word));
    match kind {
        0 => native!(Int8Array, |word| word as i8),
        1 => native!(Int16Array, |word| word as i16),
        2 => native!(Int32Array, |word| word as i32),
        3 => native!(Int64Array, |word| word as i64),
        4 => native!(UInt8Array, |word| word as u8),
        5 => native!(UInt16Array, |word| word as u16),
        6 => native!(UInt32Array, |word| word as u32),
        7 => native!(UInt64Array, |word| word),
        8 => native!(Float16Array, |word| f16::from_bits(word as u16)),
        9 => native!(Float32Array, |word| f32::from_bits(word as u32)),
        10 => native!(Float64Array, f64::from_bits),
        11 => native!(Date32Array, |word| word as i32 % 1000),
        12 => native!(Date64Array, |word| word as i64),
        13 => native!(Time32SecondArray, |word| word as i32),
        14 => native!(Time64NanosecondArray, |word| word as i64),
        15 => native!(TimestampNanosecondArray, |word| word as i64 >> 20),
        16 => native!(DurationSecondArray, |word| word as i64),
        17 => native!(IntervalYearMonthArray, |word| word as i32),
        18 => native!(Decimal32Array, |word| word as i32),
        19 => native!(Decimal128Array, |word| i128::from(word as i64)
            << (word % 60)),
        20 => native!(StringArray, text),
        21 => native!(LargeStringArray, shared),
        22 => native!(BinaryArray, |word| text(word).into_bytes()),
        23 => native!(LargeBinaryArray, |word| shared(word).into_bytes()),
        24 => {
            let mut builder = StringViewBuilder::new();
            words
                .iter()
                .for_each(|word| builder.append_option(word.map(shared)));
            Arc::new(builder.finish())
        }
        25 => {
            let mut builder = BinaryViewBuilder::new();
            words
                .iter()
                .for_each(|word| builder.append_option(word.map(text)));
            Arc::new(builder.finish())
        }
        26 => {
            let mut builder = FixedSizeBinaryBuilder::new(12);
            for word in words {
                match word {
                    Some(word) => {
                        let bytes = [&[0, 0, 7, 0][..], &word.to_le_bytes()].concat();
                        builder.append_value(bytes).unwrap();
                    }
                    None => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        27 => {
            let mut builder = StringDictionaryBuilder::<Int8Type>::new();
            words
                .iter()
                .for_each(|word| builder.append_option(word.map(|w| text(w % 8))));
            Arc::new(builder.finish())
        }
        28 => {
            // Values that are null or there twice, and keys that are null.
            let values = Int32Array::from(vec![Some(5), None, Some(-1), Some(5), Some(0)]);
            let keys = Int8Array::from_iter(words.iter().map(|word| word.map(|w| (w % 5) as i8)));
            Arc::new(DictionaryArray::new(keys, Arc::new(values)))
        }
        29 => native!(BooleanArray, |word| word % 2 == 1),
        30 => Arc::new(NullArray::new(words.len())),
        _ => Arc::new(Int64Array::from_iter(
            words.iter().map(|word| word.map(|_| i64::MIN)),
        )),
    }
}

const KINDS: usize = 32;

/// Words of few values, of extreme ones, and random ones.
fn word() -> impl Strategy<Value = Option<u64>> {
    let special = prop::sample::select(vec![
        0,
        1,
        u64::MAX,
        1 << 63,
        0x7ff8_0000_7fc0_7e00,
        0xfff8_0000_ffc0_fe01,
        0x7ff0_0000_7f80_7c00,
        0xfff0_0000_ff80_fc00,
        0x8000_0000_8000_8000,
        i64::MAX as u64,
    ]);
    prop_oneof![
        1 => Just(None),
        3 => (0_u64..4).prop_map(Some),
        2 => special.prop_map(Some),
        3 => any::<u64>().prop_map(Some),
    ]
}

fn columns() -> impl Strategy<Value = Vec<SortColumn>> {
    (0_usize..200, 1_usize..5, any::<bool>()).prop_flat_map(|(rows, count, nulls)| {
        let column = (
            0..KINDS,
            prop::collection::vec(word(), rows + 3),
            any::<(bool, bool)>(),
        );
        let column = column.prop_map(move |(kind, mut words, (descending, nulls_first))| {
            if !nulls {
                words
                    .iter_mut()
                    .for_each(|word| *word = Some(word.unwrap_or(9)));
            }
            SortColumn {
                // Arrays that begin within a buffer.
                values: self::column(kind, &words).slice(2, rows),
                descending,
                nulls_first,
            }
        });
        prop::collection::vec(column, count)
    })
}

/// The stable order by Arrow's row format.
fn expected(columns: &[SortColumn]) -> Vec<u32> {
    let field = |column: &SortColumn| {
        let options = SortOptions {
            descending: column.descending,
            nulls_first: column.nulls_first,
        };
        SortField::new_with_options(column.values.data_type().clone(), options)
    };
    let converter = RowConverter::new(columns.iter().map(field).collect()).unwrap();
    let values: Vec<ArrayRef> = columns.iter().map(|column| column.values.clone()).collect();
    let rows = converter.convert_columns(&values).unwrap();
    let mut indices: Vec<u32> = (0..rows.num_rows() as u32).collect();
    indices.sort_by(|&a, &b| rows.row(a as usize).cmp(&rows.row(b as usize)));
    indices
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_order_is_that_of_arrow(columns in columns()) {
        let sorted = sort_indices(&columns, Floats::Total, &Cpu).unwrap();
        prop_assert_eq!(sorted, expected(&columns));
    }

    #[test]
    fn with_nan_greatest_floats_are_ordered_as_canonical_ones(columns in columns()) {
        let sorted = sort_indices(&columns, Floats::NanGreatest, &Cpu).unwrap();
        let canonical: Vec<SortColumn> = columns.iter().cloned().map(canonical).collect();
        prop_assert_eq!(sorted, expected(&canonical));
    }
}

fn canonical(mut column: SortColumn) -> SortColumn {
    let any = column.values.as_any();
    if let Some(floats) = any.downcast_ref::<Float64Array>() {
        let map = |value: f64| {
            if value.is_nan() {
                f64::NAN
            } else {
                value + 0.0
            }
        };
        column.values = Arc::new(
            floats
                .iter()
                .map(|value| value.map(map))
                .collect::<Float64Array>(),
        );
    } else if let Some(floats) = any.downcast_ref::<Float32Array>() {
        let map = |value: f32| {
            if value.is_nan() {
                f32::NAN
            } else {
                value + 0.0
            }
        };
        column.values = Arc::new(
            floats
                .iter()
                .map(|value| value.map(map))
                .collect::<Float32Array>(),
        );
    } else if let Some(floats) = any.downcast_ref::<Float16Array>() {
        let map = |value: f16| {
            if value.is_nan() {
                f16::NAN
            } else {
                value + f16::ZERO
            }
        };
        column.values = Arc::new(
            floats
                .iter()
                .map(|value| value.map(map))
                .collect::<Float16Array>(),
        );
    }
    column
}

fn ascending(values: impl Array + 'static) -> SortColumn {
    SortColumn {
        values: Arc::new(values),
        descending: false,
        nulls_first: false,
    }
}

/// Keys of 128 bits have no bit left that tells nulls from strings.
#[test]
fn nulls_are_apart_from_strings_after_columns_that_fill_the_keys() {
    let numbers = Int64Array::from(vec![5, i64::MIN, 5, i64::MAX, 5, 5]);
    let texts = StringArray::from(vec![None, None, Some(""), Some("b"), None, Some("a")]);
    for (descending, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
        let columns = [
            ascending(numbers.clone()),
            ascending(numbers.clone()),
            SortColumn {
                values: Arc::new(texts.clone()),
                descending,
                nulls_first,
            },
            ascending(Int64Array::from(vec![2, 1, 1, 1, 1, 1])),
        ];
        let sorted = sort_indices(&columns, Floats::Total, &Cpu).unwrap();
        assert_eq!(sorted, expected(&columns));
    }
}

#[test]
fn keys_take_the_bits_that_the_ranges_need() {
    let dates = Date32Array::from_iter_values((0..1000).map(|i| 20_000 + i % 31));
    let ids = Int64Array::from_iter_values((0..1000).map(|i| 7_000_000_000 + i * 1000));
    let constant = Int64Array::from_iter_values((0..1000).map(|_| i64::MIN));
    let columns = [ascending(dates), ascending(constant), ascending(ids)];
    let encoded = encode::<()>(&columns, Floats::Total).unwrap();
    // 31 days take 5 bits, ids up to 999,000 take 20.
    assert_eq!((encoded.bits, encoded.covered), (25, 3));
    assert!(matches!(encoded.keys, Keys::U32(_)));
    let full = || ascending(Int64Array::from(vec![i64::MIN, i64::MAX]));
    let flags = ascending(BooleanArray::from(vec![Some(true), None]));
    let extreme = || {
        let values = [Some(i128::MIN), Some(0), None, Some(i128::MAX)];
        ascending(Decimal128Array::from_iter(values).slice(0, 4))
    };
    let sorted = sort_indices(&[extreme()], Floats::Total, &Cpu).unwrap();
    assert_eq!(sorted, [0, 1, 3, 2]);
    let almost_full = || ascending(Decimal128Array::from(vec![0, 1, 2, i128::MAX]));
    let sorted = sort_indices(&[almost_full(), extreme()], Floats::Total, &Cpu).unwrap();
    assert_eq!(sorted, [0, 1, 2, 3]);
    let codes = ascending(StringArray::from(vec!["DE", "NO", "SE", "FR"]));
    assert_eq!(encode::<()>(&[codes], Floats::Total).unwrap().bits, 12);
    for (columns, bits, covered) in [
        (vec![extreme()], 128, 0),
        (vec![almost_full(), extreme()], 128, 1),
        (vec![full()], 64, 1),
        (vec![flags.clone(), full()], 65, 2),
        (vec![full(), full()], 128, 2),
        (vec![full(), full(), full()], 128, 2),
        (vec![flags, full(), full()], 128, 2),
    ] {
        let encoded = encode::<()>(&columns, Floats::Total).unwrap();
        assert_eq!((encoded.bits, encoded.covered), (bits, covered));
    }
}

#[test]
fn many_equal_keys_are_resolved_in_order() {
    // Two long runs of equal prefixes, which many cores sort, and rows without ties.
    let text = |i: usize| match i % 3 {
        0 => format!("a long beginning, {:05}", (i * 7919) % 100),
        1 => format!("a short one, but {:05}", (i * 104_729) % 977),
        _ => format!("{i}"),
    };
    let columns = [ascending(StringArray::from_iter_values(
        (0..100_000).map(text),
    ))];
    assert_eq!(encode::<()>(&columns, Floats::Total).unwrap().covered, 0);
    let sorted = sort_indices(&columns, Floats::Total, &Cpu).unwrap();
    assert_eq!(sorted, expected(&columns));
}

/// Strings that differ late, end early, or go on with zeros, also after columns that leave them
/// only a part of the key.
#[test]
fn long_strings_are_compared_to_their_ends() {
    let long = "the same beginning ".repeat(40);
    let text = |i: usize| match i % 7 {
        0 => format!("{long}{:03}", (i * 31) % 50),
        1 => long[..(i * 13) % long.len()].to_owned(),
        2 => format!("abcdefgh{}", "\0".repeat((i * 7) % 30)),
        3 => format!("abcdefgh{}x", "\0".repeat((i * 7) % 30)),
        4 => "\0".repeat(i % 20),
        5 => format!("abc{}", (i * 17) % 40),
        _ => String::new(),
    };
    let texts: Vec<String> = (0..40_000).map(text).collect();
    let beside = Int64Array::from_iter_values((0..40_000).map(|i| (i * 7919) % 5));
    for descending in [false, true] {
        for bits in [0_u32, 20, 62] {
            let before = (0..40_000_i64).map(|i| i % 2 * ((1 << bits) - 1));
            let wide = (0..40_000_i64).map(|i| i % 3 * (((1 << bits) - 1) / 2));
            let texts = SortColumn {
                values: Arc::new(StringArray::from_iter_values(&texts)),
                descending,
                nulls_first: true,
            };
            let columns = [
                ascending(Int64Array::from_iter_values(before)),
                ascending(Int64Array::from_iter_values(wide)),
                texts,
                ascending(beside.clone()),
            ];
            let sorted = sort_indices(&columns, Floats::Total, &Cpu).unwrap();
            assert_eq!(sorted, expected(&columns));
        }
    }
}

#[test]
fn wide_keys_are_sorted_with_few_ties_and_with_many() {
    for values in [5_u64, 100_000] {
        // Two columns of 45 bits: the first words differ in the upper bits of the second column.
        let column = |seed: u64| {
            let value = |i: u64| (i.wrapping_mul(seed) >> 20) % values * ((1 << 45) / values);
            ascending(UInt64Array::from_iter_values((0..50_000).map(value)))
        };
        let columns = [column(0x9e37_79b9_7f4a_7c15), column(0xc2b2_ae3d_27d4_eb4f)];
        let encoded = encode::<()>(&columns, Floats::Total).unwrap();
        assert!(matches!(encoded.keys, Keys::Wide(..)));
        let sorted = sort_indices(&columns, Floats::Total, &Cpu).unwrap();
        assert_eq!(sorted, expected(&columns));
    }
}

#[test]
fn what_cannot_be_sorted_is_an_error() {
    use arrow_schema::DataType;
    let error = |columns: &[SortColumn]| {
        let error = sort_indices(columns, Floats::Total, &Cpu).unwrap_err();
        error.to_string()
    };
    assert!(error(&[]).contains("no column"));
    let one = ascending(Int8Array::from(vec![1]));
    let two = ascending(Int8Array::from(vec![1, 2]));
    assert_eq!(
        error(&[one, two]),
        "columns of 1 and 2 rows cannot be sorted together"
    );
    let list = DataType::new_list(DataType::Int8, true);
    assert!(!is_supported(&list));
    let list = SortColumn {
        values: arrow_array::new_empty_array(&list),
        descending: false,
        nulls_first: false,
    };
    assert!(error(&[list]).contains("cannot be sorted by"));
    let floats = DataType::Dictionary(DataType::Int8.into(), DataType::Float32.into());
    assert!(!is_supported(&floats));
}

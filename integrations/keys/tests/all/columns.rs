//! Columns of all types, for tests.

use arrow_array::builder::{
    BinaryViewBuilder, FixedSizeBinaryBuilder, StringDictionaryBuilder, StringViewBuilder,
};
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal32Array,
    Decimal128Array, Decimal256Array, DictionaryArray, DurationSecondArray, Float16Array,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    IntervalDayTimeArray, IntervalMonthDayNanoArray, IntervalYearMonthArray, LargeBinaryArray,
    LargeStringArray, NullArray, StringArray, StructArray, Time32SecondArray,
    Time64NanosecondArray, TimestampNanosecondArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, NullBuffer, i256};
use arrow_schema::Field;
use half::f16;
use proptest::prelude::*;
use std::sync::Arc;

/// Makes a column of the `kind`-th type. Each word becomes a value, or a null.
pub(crate) fn column(kind: usize, words: &[Option<u64>]) -> ArrayRef {
    macro_rules! native {
        ($array:ty, $value:expr) => {
            Arc::new(<$array>::from_iter(
                words.iter().map(|word| word.map($value)),
            ))
        };
    }
    let text = |word: u64| {
        // Common prefixes, long suffixes, and zeros.
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
        29 => native!(StringArray, text),
        34 => native!(LargeStringArray, shared),
        35 => native!(BinaryArray, |word| text(word).into_bytes()),
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
            // The dictionary has null and duplicate values, and the keys are null in some rows.
            let values = Int32Array::from(vec![Some(5), None, Some(-1), Some(5), Some(0)]);
            let keys = Int8Array::from_iter(words.iter().map(|word| word.map(|w| (w % 5) as i8)));
            Arc::new(DictionaryArray::new(keys, Arc::new(values)))
        }
        // Decimals that need more than 128 bits, and fewer, on both sides of 0.
        32 => native!(Decimal256Array, |word| i256::from_i128(word as i64 as i128)
            << (word % 180) as u8),
        33 => native!(Decimal256Array, |word| i256::from_i128(word as i64 as i128)
            << (word % 60) as u8),
        20 => native!(BooleanArray, |word| word % 2 == 1),
        21 => native!(IntervalDayTimeArray, |word| IntervalDayTime::new(
            word as i32 % 3,
            (word >> 32) as i32
        )),
        22 => native!(IntervalMonthDayNanoArray, |word| {
            IntervalMonthDayNano::new(word as i32 % 2, (word >> 32) as i32 % 2, word as i64)
        }),
        36 => dictionary(words, column(8, &FLOATS)),
        37 => dictionary(words, column(9, &FLOATS)),
        38 => dictionary(words, column(10, &FLOATS)),
        39 => dictionary(words, column(32, &FLOATS)),
        40 => dictionary(words, column(22, &FLOATS)),
        41 => structs(words, &[column(20, words), column(10, words)]),
        // A nested struct, and fields that may have values where the struct is null.
        42 => {
            let others: Vec<Option<u64>> = words.iter().rev().copied().collect();
            let inner = structs(&others, &[column(29, words), column(38, &others)]);
            structs(words, &[column(30, words), inner, column(31, &others)])
        }
        43 => structs(words, &[]),
        30 => Arc::new(NullArray::new(words.len())),
        _ => Arc::new(Int64Array::from_iter(
            words.iter().map(|word| word.map(|_| i64::MIN)),
        )),
    }
}

/// The number of types.
pub(crate) const KINDS: usize = 44;

/// NaNs of both signs, zeros of both, infinity, and null, in all sizes of floats.
const FLOATS: [Option<u64>; 6] = [
    Some(0x7ff8_0000_7fc0_7e00),
    Some(0xfff8_0000_ffc0_fe01),
    Some(0x8000_0000_8000_8000),
    None,
    Some(0),
    Some(0xfff0_0000_ff80_fc00),
];

fn dictionary(words: &[Option<u64>], values: ArrayRef) -> ArrayRef {
    let key = |word: u64| (word % values.len() as u64) as i8;
    let keys = Int8Array::from_iter(words.iter().map(|word| word.map(key)));
    Arc::new(DictionaryArray::new(keys, values))
}

/// Makes structs of these fields. If some words are null, so are some structs, in other rows.
pub(crate) fn structs(words: &[Option<u64>], fields: &[ArrayRef]) -> ArrayRef {
    let is_valid = |word: &Option<u64>| word.is_none_or(|word| word % 5 != 1);
    let nulls = words.iter().any(Option::is_none).then(|| {
        let valid: Vec<bool> = words.iter().map(is_valid).collect();
        NullBuffer::from(valid)
    });
    let field = |(i, array): (usize, &ArrayRef)| {
        Field::new(format!("f{i}"), array.data_type().clone(), true)
    };
    let types: Vec<Field> = fields.iter().enumerate().map(field).collect();
    if fields.is_empty() {
        return Arc::new(StructArray::new_empty_fields(words.len(), nulls));
    }
    Arc::new(StructArray::new(types.into(), fields.to_vec(), nulls))
}

/// Random words: of few distinct values, of extreme values, or of any value.
pub(crate) fn word() -> impl Strategy<Value = Option<u64>> {
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

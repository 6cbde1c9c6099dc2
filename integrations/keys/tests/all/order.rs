//! Sorts of random columns, compared with Arrow's row format.

use crate::columns::{KINDS, column, structs, word};
use arrow_array::builder::BinaryViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, Int8Array,
    Int16Array, Int32Array, Int64Array, RunArray, StringArray, StructArray, UInt64Array,
    make_array,
};
use arrow_buffer::{NullBuffer, i256};
use arrow_data::transform::MutableArrayData;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Field, SortOptions};
use bcfsort_keys::{
    Argsort, Cpu, Error, Floats, Keys, NarrowRows, SortColumn, SortKeys, encode, is_decodable,
    is_supported, sort_indices,
};
use half::f16;
use proptest::prelude::*;
use std::cell::Cell;
use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::sync::Arc;

const DECODABLE: RangeInclusive<usize> = 0..=22;

fn columns(kinds: RangeInclusive<usize>) -> impl Strategy<Value = Vec<SortColumn>> {
    (0_usize..200, 1_usize..5, any::<bool>()).prop_flat_map(move |(rows, count, nulls)| {
        let column = (
            kinds.clone(),
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
                // Slices, which do not begin at the start of their buffer.
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

    /// Decoding sorted keys gives the same rows as a gather by indices, bit for bit.
    #[test]
    fn decoded_rows_are_those_of_the_indices(
        columns in columns(DECODABLE),
        cuts in prop::collection::vec(0_usize..200, 0..4),
        limit in prop::option::of(0_usize..250),
    ) {
        let rows = columns[0].values.len();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(rows)).collect();
        cuts.extend([0, rows]);
        cuts.sort_unstable();
        let batch = |cut: &[usize]| -> Vec<SortColumn> {
            let part = |column: &SortColumn| SortColumn {
                values: column.values.slice(cut[0], cut[1] - cut[0]),
                ..column.clone()
            };
            columns.iter().map(part).collect()
        };
        let batches: Vec<Vec<SortColumn>> = cuts.windows(2).map(batch).collect();
        let encoded = NarrowRows::encode::<Infallible>(&batches).unwrap();
        let whole = encode::<Infallible>(&columns, Floats::Total).unwrap();
        prop_assert_eq!(encoded.is_some(), whole.covered == columns.len());
        if let Some(mut sorted) = encoded {
            prop_assert_eq!(sorted.bits(), whole.bits);
            sorted.sort(&Cpu, limit).unwrap();
            let mut order = expected(&columns);
            order.truncate(limit.unwrap_or(usize::MAX));
            prop_assert_eq!(sorted.len(), order.len());
            let middle = order.len() / 2;
            for range in [0..order.len(), 0..middle, middle..order.len()] {
                let decoded = sorted.decode(range.clone()).unwrap();
                for (got, wanted) in decoded.iter().zip(taken(&columns, &order[range])) {
                    prop_assert!(same_bits(got, &wanted), "{:?} {:?}", got, wanted);
                }
            }
        }
    }

    #[test]
    fn the_order_is_that_of_arrow(columns in columns(0..=KINDS - 1)) {
        let sorted = sort_indices(&columns, Floats::Total, &Cpu).unwrap();
        prop_assert_eq!(sorted, expected(&columns));
    }

    #[test]
    fn with_nan_greatest_floats_are_ordered_as_canonical_ones(columns in columns(0..=KINDS - 1)) {
        let sorted = sort_indices(&columns, Floats::NanGreatest, &Cpu).unwrap();
        let canonical: Vec<SortColumn> = columns.iter().cloned().map(canonical).collect();
        prop_assert_eq!(sorted, expected(&canonical));
    }
}

/// Whether arrays are equal, floats bit for bit.
fn same_bits(a: &ArrayRef, b: &ArrayRef) -> bool {
    let rows = |array: &ArrayRef| {
        let field = SortField::new(array.data_type().clone());
        let converter = RowConverter::new(vec![field]).unwrap();
        converter
            .convert_columns(std::slice::from_ref(array))
            .unwrap()
    };
    a.data_type() == b.data_type() && rows(a).iter().eq(rows(b).iter())
}

/// The columns of sorted rows.
fn taken(columns: &[SortColumn], rows: &[u32]) -> Vec<ArrayRef> {
    let take = |column: &SortColumn| {
        let data = column.values.to_data();
        let mut values = MutableArrayData::new(vec![&data], true, rows.len());
        for &row in rows {
            values
                .try_extend(0, row as usize, row as usize + 1)
                .unwrap();
        }
        make_array(values.freeze())
    };
    columns.iter().map(take).collect()
}

fn canonical(column: SortColumn) -> SortColumn {
    SortColumn {
        values: canonical_array(&column.values),
        ..column
    }
}

/// Replaces all NaNs by one and -0 by 0, also in dictionaries and structs.
fn canonical_array(array: &ArrayRef) -> ArrayRef {
    macro_rules! floats {
        ($type:ty, $native:ty, $zero:expr) => {
            Arc::new(array.as_primitive::<$type>().unary::<_, $type>(|value| {
                if value.is_nan() {
                    <$native>::NAN
                } else {
                    value + $zero
                }
            }))
        };
    }
    match array.data_type() {
        DataType::Float16 => floats!(Float16Type, f16, f16::ZERO),
        DataType::Float32 => floats!(Float32Type, f32, 0.0),
        DataType::Float64 => floats!(Float64Type, f64, 0.0),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            dictionary.with_values(canonical_array(dictionary.values()))
        }
        DataType::Struct(fields) if !fields.is_empty() => {
            let array = array.as_struct();
            let values = array.columns().iter().map(canonical_array).collect();
            Arc::new(StructArray::new(
                fields.clone(),
                values,
                array.nulls().cloned(),
            ))
        }
        _ => array.clone(),
    }
}

fn ascending(values: impl Array + 'static) -> SortColumn {
    SortColumn {
        values: Arc::new(values),
        descending: false,
        nulls_first: false,
    }
}

/// A sort with a limit returns the first rows of the whole sort, in the same order.
#[test]
fn the_first_rows_are_those_of_a_sort_of_all() {
    let rows = 300_000_u64;
    let random = |seed: u64, values: u64| {
        let value = move |i: u64| (i.wrapping_mul(seed) >> 17) % values;
        UInt64Array::from_iter_values((0..rows).map(value))
    };
    let (a, b) = (0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f);
    let texts = || {
        StringArray::from_iter_values(
            (0..rows).map(|i| format!("{:07}, and more", i * 7919 % 1009)),
        )
    };
    let mut mixed = ascending(random(a, 1 << 30));
    mixed.descending = true;
    for columns in [
        vec![ascending(random(a, 1 << 30))],
        vec![mixed, ascending(random(b, 1 << 20))],
        vec![ascending(random(a, 1 << 40)), ascending(random(b, 1 << 45))],
        vec![
            ascending(random(a, 3)),
            ascending(random(b, 1 << 63)),
            ascending(random(a, 1 << 63)),
        ],
        // More rows tie than the limit, or all keys are equal.
        vec![ascending(random(a, 2))],
        vec![ascending(texts()), ascending(random(a, 1 << 20))],
        vec![ascending(UInt64Array::from_iter_values(0..rows))],
        vec![ascending(UInt64Array::from_iter_values((0..rows).rev()))],
    ] {
        let encoded = encode::<Infallible>(&columns, Floats::Total).unwrap();
        let all = encoded.sort_indices(&columns, Floats::Total, &Cpu).unwrap();
        for limit in [0, 1, 100, 30_000, 74_999, 75_001, 299_999, 400_000] {
            let first = encoded
                .first_indices(limit, &columns, Floats::Total, &Cpu)
                .unwrap();
            assert!(first == all[..limit.min(all.len())], "the first {limit}");
            let narrow = std::slice::from_ref(&columns);
            if is_decodable(columns[0].values.data_type())
                && let Some(mut narrow) = NarrowRows::encode::<Infallible>(narrow).unwrap()
            {
                narrow.sort(&Cpu, Some(limit)).unwrap();
                let decoded = narrow.decode(0..narrow.len()).unwrap();
                let wanted = taken(&columns, &first);
                assert!(decoded == wanted, "the first {limit}");
            }
        }
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
    let decimals = |least: i256, most: i256| {
        ascending(Decimal256Array::from(vec![Some(most), None, Some(least)]))
    };
    let sorted = sort_indices(&[decimals(i256::MIN, i256::MAX)], Floats::Total, &Cpu).unwrap();
    assert_eq!(sorted, [2, 0, 1]);
    let sorted = sort_indices(&[decimals(i256::MINUS_ONE, i256::ONE)], Floats::Total, &Cpu);
    assert_eq!(sorted.unwrap(), [2, 0, 1]);
    let codes = ascending(StringArray::from(vec!["DE", "NO", "SE", "FR"]));
    assert_eq!(encode::<()>(&[codes], Floats::Total).unwrap().bits, 12);
    for (columns, bits, covered) in [
        (vec![extreme()], 128, 0),
        (vec![almost_full(), extreme()], 128, 1),
        (vec![full()], 64, 1),
        (vec![decimals(i256::MINUS_ONE, i256::ONE)], 3, 1),
        (vec![decimals(i256::MIN, i256::MAX)], 128, 0),
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

/// Counts the keys that it sorts, and says whether it does so on a GPU.
struct Counting {
    is_on_gpu: bool,
    keys: Cell<usize>,
}

impl Argsort for Counting {
    type Error = Infallible;

    fn argsort_u32(&self, keys: &[u32]) -> Result<Vec<u32>, Infallible> {
        self.keys.set(self.keys.get() + keys.len());
        Cpu.argsort_u32(keys)
    }

    fn argsort_u64(&self, keys: &[u64]) -> Result<Vec<u32>, Infallible> {
        self.keys.set(self.keys.get() + keys.len());
        Cpu.argsort_u64(keys)
    }

    fn is_on_gpu(&self, _: usize) -> bool {
        self.is_on_gpu
    }
}

/// Strings in which most rows tie, with nulls, and invalid UTF-8 in binary values.
#[test]
fn strings_that_tie_are_sorted_on_a_gpu() {
    let rows = 60_000;
    let text = |i: usize| match i % 9 {
        0 | 1 => format!("GET /index.html?user={:05}", (i * 7919) % 5000),
        2 => format!("GET /images/{}.png", (i * 104_729) % 977),
        3 => format!("abcdefgh{}", "\0".repeat((i * 7) % 30)),
        4 => "the same".to_owned(),
        5 => "\0".repeat(i % 20),
        6 => String::new(),
        _ => format!("GET /index.html{}", "/deeper".repeat((i * 31) % 40)),
    };
    let value = |i: usize| (!i.is_multiple_of(11)).then(|| text(i));
    let bytes = |i: usize| {
        let mut bytes = value(i)?.into_bytes();
        bytes.extend([0xff_u8, 0xfe, 0xc0].iter().take((i * 17) % 4));
        Some(bytes)
    };
    let texts: ArrayRef = Arc::new(StringArray::from_iter((0..rows).map(value)));
    let mut views = BinaryViewBuilder::new();
    (0..rows).for_each(|i| views.append_option(bytes(i)));
    let views: ArrayRef = Arc::new(views.finish());
    let beside = Int64Array::from_iter_values((0..rows as i64).map(|i| (i * 7919) % 5));
    // Of no bits, and of 63 and 64: two of these leave strings two bits of the key, or none.
    let (none, most, all) = ((0, 0), (0, i64::MAX), (i64::MIN, i64::MAX));
    for strings in [texts, views] {
        for (descending, nulls_first) in [(false, true), (true, true), (true, false)] {
            for before in [[none, none], [none, most], [most, most], [all, all]] {
                let before = before.map(|(even, odd)| {
                    let value = |i| if i % 2 == 0 { even } else { odd };
                    ascending(Int64Array::from_iter_values((0..rows).map(value)))
                });
                let strings = SortColumn {
                    values: strings.clone(),
                    descending,
                    nulls_first,
                };
                let columns = [&before[..], &[strings, ascending(beside.clone())]].concat();
                let expected = expected(&columns);
                let [on_cpu, on_gpu] = [false, true].map(|is_on_gpu| {
                    let keys = Cell::new(0);
                    let argsort = Counting { is_on_gpu, keys };
                    let sorted = sort_indices(&columns, Floats::Total, &argsort).unwrap();
                    assert!(sorted == expected);
                    argsort.keys.get()
                });
                assert!(on_gpu > on_cpu + rows / 2, "{on_gpu} keys, and {on_cpu}");
            }
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
    let fields = vec![Field::new("list", list.clone(), true)];
    let in_struct = DataType::Struct(fields.into());
    let in_dictionary = DataType::Dictionary(DataType::Int8.into(), list.clone().into());
    let nulls = DataType::Dictionary(DataType::Int8.into(), DataType::Null.into());
    for unsupported in [list, in_struct, in_dictionary, nulls] {
        assert!(!is_supported(&unsupported));
        let column = SortColumn {
            values: arrow_array::new_empty_array(&unsupported),
            descending: false,
            nulls_first: false,
        };
        assert!(error(&[column]).contains("cannot sort by columns of type"));
    }
}

/// A struct with nulls masks its fields, which Arrow does for supported types only.
#[test]
fn unsupported_fields_of_structs_with_nulls_are_named() {
    let array = Int8Array::from(vec![1, 2]);
    let runs = RunArray::try_new(&Int32Array::from(vec![1, 2]), &array).unwrap();
    let field = Field::new("runs", runs.data_type().clone(), true);
    let nulls = NullBuffer::from(vec![true, false]);
    let column = StructArray::new(vec![field].into(), vec![Arc::new(runs)], Some(nulls));
    let error = sort_indices(&[ascending(column)], Floats::Total, &Cpu).unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
}

#[test]
fn keys_of_structs_are_whole_if_they_hold_all_fields() {
    let words: Vec<Option<u64>> = (0..100).map(|i| (i % 7 > 0).then_some(i)).collect();
    let short = structs(&words, &[column(20, &words), column(2, &words)]);
    let long = structs(&words, &[column(2, &words), column(34, &words)]);
    for (values, is_whole) in [(short, true), (long, false)] {
        let columns = [SortColumn {
            values,
            descending: false,
            nulls_first: true,
        }];
        let encoded = encode::<Infallible>(&columns, Floats::Total).unwrap();
        assert_eq!(encoded.is_whole(), is_whole);
        let sorted = encoded.sort_indices(&columns, Floats::Total, &Cpu).unwrap();
        assert_eq!(sorted, expected(&columns));
    }
}

#[test]
fn narrow_batches_that_differ_are_an_error() {
    let column = || ascending(Int8Array::from(vec![1, 2]));
    let other = || ascending(Int16Array::from(vec![1, 2]));
    let (mut descending, mut nulls_first) = (column(), column());
    descending.descending = true;
    nulls_first.nulls_first = true;
    for differing in [
        vec![],
        vec![column(), column(), column()],
        vec![column(), other()],
        vec![column(), descending],
        vec![column(), nulls_first],
    ] {
        for batches in [
            [vec![column(), column()], differing.clone()],
            [differing.clone(), vec![column(), column()]],
        ] {
            let error = NarrowRows::encode::<Infallible>(&batches).unwrap_err();
            match batches[0].len() {
                0 => assert!(matches!(error, Error::NoColumns)),
                _ => assert!(matches!(error, Error::BatchesDiffer)),
            }
        }
    }
}

/// Fails until it is told not to.
struct Failing(Cell<bool>);

impl Argsort for Failing {
    type Error = ();

    fn argsort_u32(&self, _: &[u32]) -> Result<Vec<u32>, ()> {
        Err(())
    }

    fn argsort_u64(&self, _: &[u64]) -> Result<Vec<u32>, ()> {
        Err(())
    }
}

impl SortKeys for Failing {
    fn sort_u32(&self, keys: &mut [u32]) -> Result<(), ()> {
        if self.0.get() {
            return Err(());
        }
        keys.sort_unstable();
        Ok(())
    }

    fn sort_u64(&self, _: &mut [u64]) -> Result<(), ()> {
        Err(())
    }
}

#[test]
fn narrow_rows_are_all_there_after_a_sort_that_fails() {
    let rows = 100_000;
    let values = Int32Array::from_iter_values((0..rows).map(|i| i * 7919 % rows));
    let mut narrow = NarrowRows::encode::<()>(&[vec![ascending(values)]])
        .unwrap()
        .unwrap();
    let sorter = Failing(Cell::new(true));
    // With a limit, rows are selected before the sort.
    let failed = narrow.sort(&sorter, Some(10));
    assert!(matches!(failed, Err(Error::Argsort(()))));
    assert_eq!(narrow.len(), rows as usize);
    sorter.0.set(false);
    narrow.sort(&sorter, None).unwrap();
    let decoded = narrow.decode(0..narrow.len()).unwrap();
    let wanted = Int32Array::from_iter_values(0..rows);
    assert_eq!(decoded[0].as_ref(), &wanted as &dyn Array);
}

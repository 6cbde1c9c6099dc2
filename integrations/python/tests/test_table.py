"""Sorts of tables, compared with polars and pyarrow."""

import datetime
import decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bcfsort

VALUES = {
    pl.Int64: st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3),
    pl.UInt8: st.integers(0, 255),
    pl.Float64: st.floats() | st.sampled_from([0.0, -0.0, float("nan")]),
    pl.Float32: st.floats(width=32),
    pl.Boolean: st.booleans(),
    pl.String: st.text(max_size=12) | st.sampled_from(["", "a", "a" * 9, "a" * 9 + "b", "a\0"]),
    pl.Binary: st.binary(max_size=10),
    pl.Date: st.dates(),
    pl.Datetime("us", "UTC"): st.datetimes(timezones=st.just(datetime.timezone.utc)),
    pl.Duration("ms"): st.timedeltas(datetime.timedelta(days=-9), datetime.timedelta(days=9)).map(
        lambda d: datetime.timedelta(milliseconds=d // datetime.timedelta(milliseconds=1))
    ),
    pl.Time: st.times(),
    pl.Decimal(20, 3): st.decimals(-(10**9), 10**9, places=3),
    pl.Categorical: st.sampled_from(["b", "a", "c"]),
    pl.Enum(["c", "a", "d", "b"]): st.sampled_from(["b", "a", "c"]),
    pl.Null: st.none(),
}


@st.composite
def frames(draw):
    types = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    rows = draw(st.integers(0, 30))
    columns = {}
    for number, type_ in enumerate(types):
        values = st.none() | VALUES[type_]
        values = draw(st.lists(values, min_size=rows, max_size=rows))
        columns[f"c{number}"] = pl.Series(values, dtype=type_)
    columns["row"] = np.arange(rows)
    frame = pl.DataFrame(columns)
    # Several chunks.
    cut = draw(st.integers(0, rows))
    return pl.concat([frame[:cut], frame[cut:]], rechunk=False)


def check(frame, descending, nulls_last, device):
    by = frame.columns[:-1]
    descending, nulls_last = descending[: len(by)], nulls_last[: len(by)]
    # Categories are sorted by their text, as Arrow's dictionaries are.
    texts = frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
    wanted = texts.sort(by, descending=descending, nulls_last=nulls_last, maintain_order=True)
    order = {"descending": descending, "nulls_last": nulls_last, "device": device}
    got = bcfsort.sort_table(frame, by, **order)
    assert got["row"].to_list() == wanted["row"].to_list()
    assert got.schema == frame.schema
    assert got.with_columns(pl.col(pl.Categorical).cast(pl.String)).equals(wanted)
    indices = bcfsort.sort_indices(frame, by, **order)
    assert indices.tolist() == wanted["row"].to_list()


FLAGS = st.lists(st.booleans(), min_size=3, max_size=3)


@given(frames(), FLAGS, FLAGS)
def test_tables_are_sorted_as_by_polars(frame, descending, nulls_last):
    check(frame, descending, nulls_last, "cpu")


@pytest.mark.parametrize("bits", [20, 50, 90, 120])
def test_the_gpu_sorts_keys_of_all_widths(gpu, bits):
    rng = np.random.default_rng(bits)
    rows = 20_000
    frame = pl.DataFrame(
        {
            "a": rng.integers(0, 1 << bits // 3, rows),
            "b": rng.integers(0, 1 << bits // 3, rows),
            "c": rng.integers(0, 1 << bits // 3, rows),
            "text": rng.choice(["", "x", "a common beginning a", "a common beginning b"], rows),
            "row": np.arange(rows),
        }
    )
    check(frame.drop("text"), [True, False, True], [False] * 3, gpu)
    check(frame.drop("a"), [False, True, False], [False] * 3, gpu)


def test_types_of_tables(gpu):
    table = pa.table({"k": [2, None, 1], "v": ["b", None, "a"]})
    assert bcfsort.sort_table(table, "k", nulls_last=True).to_pydict() == {
        "k": [1, 2, None],
        "v": ["a", "b", None],
    }
    assert isinstance(bcfsort.sort_table(table, "k"), pa.Table)
    batch = table.to_batches()[0]
    got = bcfsort.sort_table(batch, ["k"], device=gpu)
    assert isinstance(got, pa.RecordBatch)
    assert got["k"].to_pylist() == [None, 1, 2]
    assert bcfsort.sort_table(batch, "k", limit=0).num_rows == 0
    assert bcfsort.sort_table(table, "k", limit=2)["k"].to_pylist() == [None, 1]
    relation = duckdb.from_arrow(table).order("v")
    assert bcfsort.sort_table(relation, "k", descending=True)["k"].to_pylist() == [None, 2, 1]
    nested = pa.table({"k": [2, 1], "l": [[1, 2], None], "s": [{"a": 1}, {"a": 2}]})
    assert bcfsort.sort_table(nested, "k").to_pylist() == nested.to_pylist()[::-1]


def test_decimals_and_dictionaries():
    table = pa.table(
        {
            "d": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-7")]),
            "c": pa.array(["b", "a", "b"]).dictionary_encode(),
        }
    )
    assert bcfsort.sort_indices(table, "d").tolist() == [1, 2, 0]
    assert bcfsort.sort_indices(table, ["c", "d"]).tolist() == [1, 2, 0]


def test_structs_and_wide_decimals():
    rows = [{"a": 2, "b": "x"}, {"a": 1, "b": None}, None, {"a": 1, "b": "y"}]
    wide = [decimal.Decimal(10) ** 50, decimal.Decimal(-(10**60)), None, decimal.Decimal(0)]
    table = pa.table({"s": rows, "d": pa.array(wide, pa.decimal256(70, 0))})
    assert bcfsort.sort_indices(table, "s").tolist() == [2, 1, 3, 0]
    assert bcfsort.sort_indices(table, "s", nulls_last=True).tolist() == [3, 1, 0, 2]
    assert bcfsort.sort_indices(table, "s", descending=True).tolist() == [2, 0, 1, 3]
    assert bcfsort.sort_indices(table, "d").tolist() == [2, 1, 3, 0]


def test_declared_orders():
    sizes = ["lo", "mid", "hi"]
    table = pa.table(
        {
            "ordered": pa.DictionaryArray.from_arrays([2, None, 0, 1], sizes, ordered=True),
            "unordered": pa.DictionaryArray.from_arrays([2, None, 0, 1], sizes),
        }
    )
    assert bcfsort.sort_indices(table, "ordered").tolist() == [1, 2, 3, 0]
    assert bcfsort.sort_indices(table, "unordered").tolist() == [1, 0, 2, 3]
    frame = pd.DataFrame({"k": pd.Categorical(["hi", "lo", "mid"], sizes, ordered=True)})
    assert bcfsort.sort_indices(frame, "k", descending=True).tolist() == [0, 2, 1]
    assert bcfsort.sort_indices(frame.astype("category"), "k").tolist() == [1, 2, 0]
    with duckdb.connect() as connection:
        connection.sql("CREATE TYPE size AS ENUM ('lo', 'mid', 'hi')")
        connection.sql("CREATE TABLE t (k size)")
        connection.sql("INSERT INTO t VALUES ('lo'), ('hi'), (NULL), ('mid')")
        got = bcfsort.sort_table(connection.sql("FROM t"), "k", nulls_last=True)
    assert got["k"].to_pylist() == [*sizes, None]


def test_the_declared_order_of_several_chunks_is_kept():
    def chunk(keys, values, ordered=True):
        array = pa.DictionaryArray.from_arrays(pa.array(keys, pa.int8()), values, ordered=ordered)
        return pa.table({"k": array})

    # A dictionary may grow from chunk to chunk.
    grown = pa.concat_tables([chunk([1, 0], ["z", "y"]), chunk([2, None, 0], ["z", "y", "x"])])
    got = bcfsort.sort_table(grown, "k", nulls_last=True)
    assert got["k"].to_pylist() == ["z", "z", "y", "x", None]
    assert got.schema == grown.schema
    again = bcfsort.sort_table(got, "k", descending=True)
    assert again["k"].to_pylist() == [None, "x", "y", "z", "z"]
    with pytest.raises(ValueError, match='column "k": its chunks have ordered dictionaries'):
        bcfsort.sort_table(pa.concat_tables([chunk([0], ["z"]), chunk([0], ["y"])]), "k")
    other = pa.concat_tables([chunk([0], ["z"], False), chunk([0], ["y"], False)])
    assert bcfsort.sort_table(other, "k")["k"].to_pylist() == ["y", "z"]
    assert bcfsort.sort_table(grown[:0], "k").num_rows == 0


def test_rows_of_many_small_chunks_are_those_that_arrow_takes():
    rng = np.random.default_rng(1)
    texts = [None if i % 7 == 0 else "é" * (i % 23) for i in range(3000)]
    table = pa.table(
        {
            "k": rng.integers(0, 100, 3000),
            "view": pa.array(texts, pa.string_view()),
            "large": pa.array(texts, pa.large_string()),
            "list": pa.array([[text] * (i % 3) for i, text in enumerate(texts)]),
            "uuid": pa.array([bytes([i % 256]) * 16 for i in range(3000)], pa.binary(16)),
            "flag": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in range(3000)]),
            "money": pa.array(range(3000), pa.decimal256(50, 2)),
            "struct": pa.array([None if i % 9 == 0 else {"x": i} for i in range(3000)]),
        }
    )
    chunks = pa.Table.from_batches(table.to_batches(max_chunksize=7))
    rows = table.to_pylist()
    order = np.argsort(table["k"].to_numpy(), kind="stable")
    for limit in [None, 10]:
        got = bcfsort.sort_table(chunks, "k", limit=limit)
        got.validate(full=True)
        assert got.schema == table.schema
        assert got.to_pylist() == [rows[row] for row in order[:limit]]


def test_types_that_only_polars_has_are_moved():
    frame = pl.DataFrame(
        {
            "k": [2, 1, 3],
            "null": [None] * 3,
            "i128": pl.Series([2**100, -1, None], dtype=pl.Int128),
            "u128": pl.Series([2**127, 1, None], dtype=pl.UInt128),
            "object": pl.Series([{1}, {2}, {3}], dtype=pl.Object),
            "nested": [{"a": [None]}, {"a": []}, None],
        }
    )
    got = bcfsort.sort_table(frame, "k", limit=2)
    assert got.rows() == frame[[1, 0]].rows()
    assert got.schema == frame.schema
    assert bcfsort.sort_indices(frame, ["null", "k"], descending=True).tolist() == [2, 0, 1]
    for name in ("i128", "u128", "object", "nested"):
        with pytest.raises(TypeError, match=f"column .{name}.: .* has no order here"):
            bcfsort.sort_table(frame, ["k", name])
    with pytest.raises(KeyError, match="no column 'x': there are k, null, i128"):
        bcfsort.sort_table(frame, "x")


def test_columns_of_one_name():
    twice = pa.table([pa.array([1, 2]), pa.array([2, 1]), pa.array([2, 1])], names=["a", "a", "b"])
    for sort in (bcfsort.sort_indices, bcfsort.sort_table):
        with pytest.raises(ValueError, match='2 columns have the name "a"'):
            sort(twice, "a")
    assert bcfsort.sort_table(twice, "b").columns == [column[::-1] for column in twice.columns]


def test_wrong_tables_and_columns_are_named():
    table = pa.table({"k": [1], "l": [[1]]})
    with pytest.raises(KeyError, match="there are k, l"):
        bcfsort.sort_table(table, "x")
    with pytest.raises(TypeError, match="has no order here"):
        bcfsort.sort_indices(table, ["k", "l"])
    with pytest.raises(ValueError, match="at least one column"):
        bcfsort.sort_table(table, [])
    with pytest.raises(ValueError, match="descending has 2 values for 1 columns"):
        bcfsort.sort_table(table, "k", descending=[True, False])
    for wrong in ("no", None, [None], 0.5):
        with pytest.raises(ValueError, match="nulls_last is True or False, or a list of these"):
            bcfsort.sort_table(table, "k", nulls_last=wrong)
    with pytest.raises(ValueError, match="limit is a number of rows, not -1"):
        bcfsort.sort_table(table, "k", limit=-1)
    with pytest.raises(TypeError, match="list is no Arrow table"):
        bcfsort.sort_table([1], "k")
    with pytest.raises(TypeError, match="collect"):
        bcfsort.sort_table(pl.LazyFrame({"k": [1]}), "k")

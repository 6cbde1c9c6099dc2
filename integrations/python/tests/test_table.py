"""Sorts of tables, compared with polars and pyarrow."""

import datetime
import decimal

import duckdb
import numpy as np
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
    with pytest.raises(ValueError, match="limit is a number of rows, not -1"):
        bcfsort.sort_table(table, "k", limit=-1)
    with pytest.raises(TypeError, match="list is no Arrow table"):
        bcfsort.sort_table([1], "k")
    with pytest.raises(TypeError, match="collect"):
        bcfsort.sort_table(pl.LazyFrame({"k": [1]}), "k")

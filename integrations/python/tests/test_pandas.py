"""Sorts of pandas' DataFrames, compared with pandas' own."""

import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bcfsort.pandas

COLUMNS = {
    "int64": st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3),
    "uint8": st.integers(0, 255),
    "float64": st.floats() | st.sampled_from([0.0, -0.0, 1.0]),
    "float32": st.floats(width=32),
    "bool": st.booleans(),
    "Int64": st.none() | st.integers(-3, 3),
    "boolean": st.none() | st.booleans(),
    "Float64": st.none() | st.floats(),
    "str": st.none() | st.text(max_size=9),
    "object": st.none() | st.text("ab", max_size=9),
    "datetime64[ns]": st.none() | st.integers(-(2**62), 2**62),
    "datetime64[us, Europe/Oslo]": st.none() | st.integers(0, 2**40),
    "timedelta64[s]": st.none() | st.integers(-(2**30), 2**30),
    "double[pyarrow]": st.none() | st.floats(),
    "string[pyarrow]": st.none() | st.text(max_size=3),
    "category": st.none() | st.sampled_from(["b", "c", "a"]),
    "Sparse[float64]": st.floats(),
    "interval": st.none() | st.tuples(st.integers(0, 3), st.integers(3, 6)),
    "ints": st.none() | st.integers(-(2**70), 2**70) | st.integers(0, 3),
    "surrogates": st.none() | st.text(st.characters(), max_size=3),
    "tuples": st.tuples(st.integers(0, 2), st.integers(0, 2)),
}


@st.composite
def frames(draw, rows=30):
    count = draw(st.integers(0, rows))
    columns = {}
    for number, name in enumerate(
        draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=3))
    ):
        values = draw(st.lists(COLUMNS[name], min_size=count, max_size=count))
        dtype = name
        if name == "category":
            dtype = pd.CategoricalDtype(["c", "a", "b"], ordered=True)
        elif name.startswith("datetime64[us"):
            utc = pd.Series(values, dtype="Int64").astype("datetime64[us]").dt.tz_localize("UTC")
            columns[f"c{number}"] = utc.dt.tz_convert("Europe/Oslo")
            continue
        elif name.startswith(("datetime64", "timedelta64")):
            columns[f"c{number}"] = pd.Series(values, dtype="Int64").astype(dtype)
            continue
        elif name == "interval":
            values = [None if value is None else pd.Interval(*value) for value in values]
            dtype = "interval[int64]" if None not in values else "interval[float64]"
        elif name in ("ints", "surrogates", "tuples"):
            dtype = object
        columns[f"c{number}"] = pd.Series(values, dtype=dtype)
    return pd.DataFrame(columns)


def pandas_sorts(frame, by, ascending, na_position, ignore_index=False):
    """Sorts by one column after the other, the primary one last.

    The sort of pandas 3.1 by several columns at once mixes +inf and NaN in descending order with
    missing values first, and refuses 0 and -0 in one column of Arrow.
    """
    for name, flag in reversed(list(zip(by, ascending, strict=True))):
        frame = frame.sort_values(name, kind="stable", ascending=flag, na_position=na_position)
    return frame.reset_index(drop=True) if ignore_index else frame


def check(frame, ascending, order, device):
    by = list(frame.columns)
    order = {"ascending": ascending[: len(by)], **order}
    frame = frame.assign(row=np.arange(len(frame)), text="x")
    wanted = pandas_sorts(frame, by, **order)
    got = bcfsort.pandas.sort_values(frame, by, device=device, **order)
    pd.testing.assert_frame_equal(got, wanted)


ORDERS = st.fixed_dictionaries(
    {"na_position": st.sampled_from(["first", "last"]), "ignore_index": st.booleans()}
)


@given(frames(), st.lists(st.booleans(), min_size=3, max_size=3), ORDERS)
def test_frames_are_sorted_as_by_pandas(frame, ascending, order):
    check(frame, ascending, order, "cpu")


def test_the_gpu_sorts_frames(gpu):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"a": rng.integers(0, 9, 5000), "b": rng.standard_normal(5000).round(1), "c": "text"}
    )
    frame.loc[::7, "b"] = np.nan
    for position in ("first", "last"):
        check(frame, [True, False, True], {"na_position": position}, gpu)
    got = bcfsort.pandas.sort_values(frame["b"], device=gpu)
    pd.testing.assert_series_equal(got, frame["b"].sort_values(kind="stable"))


def test_the_index_and_decimals_are_kept():
    frame = pd.DataFrame({"d": [decimal.Decimal("2.5"), decimal.Decimal(-1)]}, index=["x", "y"])
    got = bcfsort.pandas.sort_values(frame, "d")
    assert list(got.index) == ["y", "x"]
    assert list(got["d"]) == [decimal.Decimal(-1), decimal.Decimal("2.5")]


def test_levels_of_the_index():
    index = pd.MultiIndex.from_tuples([(5, "x"), (3, "y"), (5, "w"), (None, "x")], names=["i", "j"])
    frame = pd.DataFrame({"a": [2, 1, 1, 1]}, index=index)
    for by in ("i", ["j", "i"], ["a", "i"], ["i", "a"]):
        for position in ("first", "last"):
            order = {"ascending": False, "na_position": position}
            got = bcfsort.pandas.sort_values(frame, by, **order)
            pd.testing.assert_frame_equal(got, frame.sort_values(by, kind="stable", **order))
    with pytest.raises(ValueError, match="'i' is both a column and a level"):
        bcfsort.pandas.sort_values(frame.assign(i=1), "i")
    with pytest.raises(ValueError, match="more than one level 'i'"):
        bcfsort.pandas.sort_values(frame.rename_axis(["i", "i"]), "i")


def test_flags_are_as_in_pandas():
    frame = pd.DataFrame({"a": [1, 2, 1], "b": [1, 2, 3]})
    for ascending in (0, 1, np.False_, np.int8(1), [0, 1], (False, True), np.array([False, True])):
        got = bcfsort.pandas.sort_values(frame, ["a", "b"], ascending=ascending)
        # pandas takes no single number for several columns.
        flags = [bool(each) for each in np.broadcast_to(ascending, 2)]
        wanted = frame.sort_values(["a", "b"], ascending=flags, kind="stable")
        pd.testing.assert_frame_equal(got, wanted)
    for ascending in (None, "no", 0.5, ["no", "no"], [None, None], [True], []):
        with pytest.raises(ValueError, match="ascending"):
            bcfsort.pandas.sort_values(frame, ["a", "b"], ascending=ascending)
    pd.testing.assert_frame_equal(bcfsort.pandas.sort_values(frame, []), frame)


def test_wrong_columns_are_named():
    frame = pd.DataFrame({"a": [1, 2], "o": [object(), {}], "l": [[1], [2]], 7: [{}, 1]})
    with pytest.raises(KeyError, match="'x': there are 'a', 'o'"):
        bcfsort.pandas.sort_values(frame, "x")
    frame["arrow"] = pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    frame["decimals"] = pd.Series([decimal.Decimal("1e40"), decimal.Decimal(1)], dtype=object)
    assert bcfsort.pandas.sort_values(frame, "decimals").index.tolist() == [1, 0]
    for name in ("o", "l", "arrow"):
        with pytest.raises(TypeError, match=f"column '{name}'"):
            bcfsort.pandas.sort_values(frame, name)
    with pytest.raises(TypeError, match="column 7: object"):
        bcfsort.pandas.sort_values(frame, 7)
    with pytest.raises(TypeError, match="by names"):
        bcfsort.pandas.sort_values(frame)
    with pytest.raises(TypeError, match="a Series has no columns"):
        bcfsort.pandas.sort_values(frame["a"], "a")
    with pytest.raises(ValueError, match="'first' or 'last', not 'middle'"):
        bcfsort.pandas.sort_values(frame, "a", na_position="middle")
    with pytest.raises(ValueError, match="2 values for 1 columns"):
        bcfsort.pandas.sort_values(frame, "a", ascending=[True, False])
    with pytest.raises(ValueError, match="more than one column 'a'"):
        bcfsort.pandas.sort_values(pd.concat([frame, frame], axis=1), "a")
    with pytest.raises(TypeError, match=r"bcfsort\.pandas"):
        bcfsort.sort_table(frame, "a")


def test_labels_of_any_type():
    frame = pd.DataFrame({0: [2, 1, 2], ("a", 1): [1, 2, 0]})
    for by in (0, ("a", 1), [0, ("a", 1)]):
        got = bcfsort.pandas.sort_values(frame, by, ascending=np.True_)
        pd.testing.assert_frame_equal(got, frame.sort_values(by, kind="stable"))

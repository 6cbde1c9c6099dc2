"""Searches in sorted arrays, and merges."""

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_against_numpy import DTYPES, ORDERS, arrays, order_of

import bcfsort


@st.composite
def pairs(draw):
    """Two one-dimensional arrays of the same type."""
    dtype = draw(st.sampled_from(DTYPES))
    one_type = arrays(dimensions=1, dtypes=[dtype])
    return draw(one_type), draw(one_type)


@given(pairs(), st.sampled_from(["left", "right"]), st.booleans())
def test_searches_are_numpys(pair, side, has_sorter):
    array, needles = pair
    codes = oracle.code(np.concatenate(pair))
    codes, codes_of_needles = codes[: array.size], codes[array.size :]
    wanted = np.searchsorted(np.sort(codes), codes_of_needles, side)
    if has_sorter:
        sorter = bcfsort.argsort(array, device="cpu")
        got = bcfsort.searchsorted(array, needles, side, sorter=sorter)
    else:
        got = bcfsort.searchsorted(bcfsort.sort(array, device="cpu"), needles, side)
    assert got.dtype == wanted.dtype
    assert np.array_equal(got, wanted)


def test_searches_of_several_threads():
    rng = np.random.default_rng(1)
    array, needles = np.sort(rng.integers(0, 10**5, 200_000)), rng.integers(-5, 10**5 + 5, 100_000)
    for side in ("left", "right"):
        got = bcfsort.searchsorted(array, needles.reshape(100, -1), side)
        assert np.array_equal(got, np.searchsorted(array, needles.reshape(100, -1), side))


@pytest.mark.parametrize(
    "array, value",
    [
        ([1, 2, 3], 2.5),
        (np.array([1, 2, 3], np.uint64), np.int64(-1)),
        (np.array([0.1, 0.2], np.float32), 0.1),
        ([False, True], 1),
        (np.array([1, 5], "m8[s]"), np.timedelta64(2000, "ms")),
        (np.array(["2020", "2021"], "M8[Y]"), np.datetime64("2020-06-01")),
        ([], 3),
        ([1.0, np.nan], np.nan),
    ],
    ids=str,
)
def test_types_are_promoted_as_by_numpy(array, value):
    for side in ("left", "right"):
        got = bcfsort.searchsorted(array, value, side)
        wanted = np.searchsorted(array, value, side)
        assert type(got) is type(wanted)
        assert got == wanted


def test_wrong_arguments_of_a_search_are_named():
    for sorter, error, why in [
        ([0.5, 1.0], TypeError, "a sorter has integers, not float64"),
        ([0], ValueError, r"a sorter of shape \(1,\) for 2 elements"),
        ([0, 2], ValueError, "an index of the sorter is out of range"),
        ([0, -1], ValueError, "an index of the sorter is out of range"),
    ]:
        with pytest.raises(error, match=why):
            bcfsort.searchsorted([1, 2], 3, sorter=sorter)
    with pytest.raises(ValueError, match="side is 'left' or 'right', not 'middle'"):
        bcfsort.searchsorted([1, 2], 3, "middle")
    with pytest.raises(ValueError, match="one dimension, not 2"):
        bcfsort.searchsorted([[1, 2]], 3)
    with pytest.raises(TypeError, match="strings"):
        bcfsort.searchsorted(["a", "b"], "a")
    with pytest.raises(TypeError):
        bcfsort.searchsorted(np.array(["2020"], "M8[Y]"), 1.5)


def merged(first, second, order):
    """The sorted indices of both arrays, one after the other."""
    return oracle.argsort(np.concatenate([first, second]), **order)


@given(pairs(), ORDERS)
def test_merges_are_stable_sorts(pair, order):
    order = order_of(pair[0], order)
    first, second = (each[oracle.argsort(each, **order)] for each in pair)
    indices = merged(first, second, order)
    wanted = np.concatenate([first, second])[indices]
    got = bcfsort.merge_sorted(first, second, **order)
    assert got.dtype == wanted.dtype
    assert got.tobytes() == wanted.tobytes()
    numbers = np.arange(indices.size)
    values = (numbers[: first.size], numbers[first.size :])
    got = bcfsort.merge_sorted(first, second, values=values, **order)
    assert got[0].tobytes() == wanted.tobytes()
    assert np.array_equal(got[1], indices)


@pytest.mark.parametrize("sizes", [(300_000, 100_000), (65_536, 65_536), (1, 200_000), (0, 70_000)])
@pytest.mark.parametrize("count", [3, 10**6])
def test_merges_of_several_threads(sizes, count):
    rng = np.random.default_rng(2)
    for size, other in (sizes, sizes[::-1]):
        first, second = (np.sort(rng.integers(0, count, each)) for each in (size, other))
        indices = merged(first, second, {})
        rows = np.arange(2 * (size + other)).reshape(-1, 2)
        got = bcfsort.merge_sorted(first, second, values=(rows[:size], rows[size:]))
        assert np.array_equal(got[0], np.concatenate([first, second])[indices])
        assert np.array_equal(got[1], rows[indices])


def test_a_merge_of_unsorted_arrays_has_all_elements():
    rng = np.random.default_rng(3)
    for _ in range(5):
        first, second = rng.integers(0, 1000, 200_000), rng.integers(0, 1000, 90_000)
        got = bcfsort.merge_sorted(first, second)
        assert np.array_equal(np.sort(got), np.sort(np.concatenate([first, second])))


def test_merges_of_two_types():
    for first, second in [
        (np.array([1, 3], np.int32), np.array([2.5])),
        (np.array([1, 3], ">i4"), np.array([2], ">i4")),
        (np.array([1, 3], np.uint8), np.array([-2], np.int8)),
    ]:
        got = bcfsort.merge_sorted(first, second)
        wanted = np.sort(np.concatenate([first, second]))
        assert got.dtype == wanted.dtype
        assert np.array_equal(got, wanted)


def test_wrong_arguments_of_a_merge_are_named():
    with pytest.raises(ValueError, match="one dimension, not 2"):
        bcfsort.merge_sorted([[1]], [2])
    with pytest.raises(ValueError, match=r"values of shape \(1,\) for 2 elements"):
        bcfsort.merge_sorted([1, 2], [3], values=([1], [2]))
    with pytest.raises(TypeError, match="strings"):
        bcfsort.merge_sorted(["a"], ["b"])
    with pytest.raises(TypeError, match="masked arrays"):
        bcfsort.merge_sorted(np.ma.array([1], mask=[True]), [2])

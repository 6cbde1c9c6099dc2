"""Unique values, their counts, and ranks."""

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from test_against_numpy import DTYPES, arrays

import bcfsort

FLAGS = st.fixed_dictionaries(
    {f"return_{what}": st.booleans() for what in ("index", "inverse", "counts")}
)
METHODS = ["average", "min", "max", "dense", "ordinal"]


def codes_of(array, equal_nan=True):
    """Integers that are equal where the elements are one value."""
    codes = oracle.code(array)
    missing = codes == np.iinfo(np.int64).max
    if not equal_nan:
        codes[missing] = array.size + np.arange(missing.sum())
    return codes


def check_unique(array, device, flags, equal_nan):
    # The value is the first of equal elements, so the result has bits of the input.
    codes = codes_of(array, equal_nan)
    _, index, *rest = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    values = array.reshape(-1)[index]
    expected = dict(zip(("index", "inverse", "counts"), [index, *rest], strict=True))

    got = bcfsort.unique(array, equal_nan=equal_nan, device=device, **flags)
    got = list(got) if any(flags.values()) else [got]
    assert got[0].dtype == array.dtype
    assert got[0].tobytes() == values.tobytes()
    wanted = [array for what, array in expected.items() if flags[f"return_{what}"]]
    for one, other in zip(got[1:], wanted, strict=True):
        assert one.dtype == other.dtype == np.int64
        assert one.shape == other.shape
        assert np.array_equal(one, other)


def is_numpys(dtype):
    return dtype.name != "bfloat16"


@given(arrays(), FLAGS, st.booleans())
def test_unique_on_the_cpu(array, flags, equal_nan):
    check_unique(array, "cpu", flags, equal_nan)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_unique_on_the_gpu(gpu, dtype):
    @settings(max_examples=4)
    @given(arrays(dimensions=2, dtypes=[dtype]), FLAGS, st.booleans())
    def is_unique(array, flags, equal_nan):
        check_unique(array, gpu, flags, equal_nan)

    is_unique()


@given(arrays(dtypes=[dtype for dtype in DTYPES if is_numpys(dtype)]), FLAGS, st.booleans())
def test_unique_is_numpys(array, flags, equal_nan):
    got = bcfsort.unique(array, equal_nan=equal_nan, device="cpu", **flags)
    with np.errstate(invalid="ignore"):
        wanted = np.unique(array, equal_nan=equal_nan, **flags)
    if not any(flags.values()):
        got, wanted = (got,), (wanted,)
    # numpy's sort leaves NaNs in another order, so their inverse differs.
    if flags["return_inverse"] and not equal_nan:
        got, wanted = got[:1], wanted[:1]
    for one, other in zip(got, wanted, strict=True):
        assert one.dtype == other.dtype.newbyteorder(one.dtype.byteorder)
        assert one.shape == other.shape
        assert np.array_equal(one, other, equal_nan=one.dtype.kind in "fmM")


@given(arrays(), st.booleans(), st.data())
def test_unique_along_an_axis(array, equal_nan, data):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    values, index, inverse, counts = bcfsort.unique(
        array, True, True, True, axis, equal_nan=equal_nan, device="cpu"
    )
    rows = np.moveaxis(codes_of(array), axis, 0)
    rows = rows.reshape(rows.shape[0], int(np.prod(rows.shape[1:])))
    if not equal_nan:
        # A last column that differs in rows with missing values.
        is_missing = np.any(rows == np.iinfo(np.int64).max, axis=1)
        rows = np.column_stack([rows, is_missing * np.arange(1, len(rows) + 1)])
    _, *wanted = np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)
    for one, other in zip((index, inverse, counts), wanted, strict=True):
        assert np.array_equal(one, other)
    assert values.dtype == array.dtype
    assert values.tobytes() == np.take(array, index, axis).tobytes()


def test_unique_along_an_axis_of_the_gpu(gpu):
    rows = np.random.default_rng(8).integers(0, 3, (3000, 4))
    got = bcfsort.unique(rows, True, True, True, axis=0, device=gpu)
    wanted = np.unique(rows, True, True, True, axis=0)
    for one, other in zip(got, wanted, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("size", [65536, 65537, 300_000])
@pytest.mark.parametrize("count", [1, 5, 40_000, 2**62])
def test_runs_that_several_threads_find(device, size, count):
    array = np.random.default_rng(9).integers(0, count, size)
    got = bcfsort.unique(array, True, True, True, device=device)
    for one, other in zip(got, np.unique(array, True, True, True), strict=True):
        assert np.array_equal(one, other)
    values, counts = bcfsort.unique(array, return_counts=True, device=device)
    assert np.array_equal(values, got[0])
    assert np.array_equal(counts, got[3])


def test_the_first_of_equal_elements_is_the_value(device):
    nans = np.array([0x7FC00002, 0xFFC00001, 0x7F800001], np.uint32).view(np.float32)
    for zeros in ([0.0, -0.0], [-0.0, 0.0]):
        array = np.concatenate([nans[:1], zeros, nans[1:], zeros]).astype(np.float32)
        for flags in ({}, {"return_counts": True}, {"return_index": True}):
            got = bcfsort.unique(array, device=device, **flags)
            values = got[0] if flags else got
            assert values.tobytes() == array[[1, 0]].tobytes()
            got = bcfsort.unique(array, equal_nan=False, device=device, **flags)
            values = got[0] if flags else got
            assert values.tobytes() == array[[1, 0, 3, 4]].tobytes()


def test_the_array_apis_functions(device):
    array = np.array([[np.nan, 2.0, -0.0], [0.0, np.nan, 2.0]])
    values = np.array([-0.0, 2.0, np.nan, np.nan])
    inverse = np.array([[2, 1, 0], [0, 3, 1]])
    every = bcfsort.unique_all(array, device=device)
    assert every._fields == ("values", "indices", "inverse_indices", "counts")
    assert every.values.tobytes() == values.tobytes()
    assert every.indices.tolist() == [2, 1, 0, 4]
    assert np.array_equal(every.inverse_indices, inverse)
    assert every.counts.tolist() == [2, 2, 1, 1]
    counts = bcfsort.unique_counts(array, device=device)
    assert counts._fields == ("values", "counts")
    assert counts.values.tobytes() == values.tobytes()
    assert counts.counts.tolist() == [2, 2, 1, 1]
    both = bcfsort.unique_inverse(array, device=device)
    assert both._fields == ("values", "inverse_indices")
    assert both.values.tobytes() == values.tobytes()
    assert np.array_equal(both.inverse_indices, inverse)
    assert bcfsort.unique_values(array, device=device).tobytes() == values.tobytes()


@given(arrays(), st.booleans(), st.booleans())
def test_value_counts(array, sort, equal_nan):
    values, counts = bcfsort.unique(array, return_counts=True, equal_nan=equal_nan, device="cpu")
    order = np.argsort(-counts, kind="stable") if sort else slice(None)
    got = bcfsort.value_counts(array, sort=sort, equal_nan=equal_nan, device="cpu")
    assert got.values.tobytes() == values[order].tobytes()
    assert got.values.dtype == array.dtype
    assert np.array_equal(got.counts, counts[order])


def test_value_counts_of_the_gpu(gpu):
    array = np.random.default_rng(10).integers(-50, 50, 5000).astype(np.int16)
    for one, other in zip(
        bcfsort.value_counts(array, device=gpu),
        bcfsort.value_counts(array, device="cpu"),
        strict=True,
    ):
        assert np.array_equal(one, other)


def check_rank(array, method, axis, descending, nan_policy, device):
    codes = oracle.code(array, descending=descending)
    missing = codes == np.iinfo(np.int64).max
    wanted = stats.rankdata(
        np.where(missing, np.nan, codes) if missing.any() else codes,
        method,
        axis=axis,
        nan_policy=nan_policy,
    )
    got = bcfsort.rank(
        array, method, axis=axis, descending=descending, nan_policy=nan_policy, device=device
    )
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    assert np.array_equal(got, wanted, equal_nan=True)


@given(
    arrays(),
    st.sampled_from(METHODS),
    st.booleans(),
    st.sampled_from(["propagate", "omit"]),
    st.data(),
)
def test_ranks_are_scipys(array, method, descending, nan_policy, data):
    axis = data.draw(st.one_of(st.none(), st.integers(-array.ndim, array.ndim - 1)))
    check_rank(array, method, axis, descending, nan_policy, "cpu")


@pytest.mark.parametrize("method", METHODS)
def test_ranks_of_the_gpu(gpu, method):
    rng = np.random.default_rng(11)
    array = rng.integers(0, 40, (30, 100)).astype(np.float32)
    array[rng.random((30, 100)) < 0.01] = np.nan
    for axis in (None, 0, 1):
        for nan_policy in ("propagate", "omit"):
            check_rank(array, method, axis, False, nan_policy, gpu)
    check_rank(rng.integers(0, 10**6, 300_000), method, None, True, "propagate", gpu)


def test_ranks_refuse_missing_values_if_they_have_to():
    for values in ([1.0, np.nan], np.array(["NaT", 1], "m8[s]")):
        with pytest.raises(ValueError, match="has NaN or NaT"):
            bcfsort.rank(values, nan_policy="raise")
    assert bcfsort.rank([2.0, 1.0], nan_policy="raise").tolist() == [2.0, 1.0]


CALLS = [
    bcfsort.unique,
    bcfsort.unique_all,
    bcfsort.unique_counts,
    bcfsort.unique_inverse,
    bcfsort.unique_values,
    bcfsort.value_counts,
    bcfsort.rank,
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_what_has_no_order_is_a_type_error(call):
    for values, why in [
        (np.array([1j, 2]), "complex128: bool, integers"),
        (np.array(["b", "a"]), "strings"),
        (np.array([None, 1], object), "object"),
        (np.zeros(3, [("a", int), ("b", float)]), "fields with lexsort"),
        (np.ma.array([1, 2], mask=[True, False]), "masked arrays"),
    ]:
        with pytest.raises(TypeError, match=why):
            call(values)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_the_input_is_unchanged(call, device):
    array = np.random.default_rng(12).integers(0, 100, 1000)
    before = array.copy()
    call(array, device=device)
    assert np.array_equal(array, before)


def test_scalars_empty_arrays_and_matrices(device):
    values, inverse = bcfsort.unique(5, return_inverse=True, device=device)
    assert (values.tolist(), inverse.tolist(), inverse.shape) == ([5], 0, ())
    values, *others = bcfsort.unique([], True, True, True, device=device)
    assert (values.dtype, values.size) == (np.float64, 0)
    assert all(each.dtype == np.int64 and each.size == 0 for each in others)
    assert bcfsort.value_counts([], device=device).counts.size == 0
    matrix = np.array([[3, 1], [1, 3]]).view(np.matrix)
    assert type(bcfsort.unique(matrix, device=device)) is np.ndarray
    assert bcfsort.unique(matrix, device=device).tolist() == [1, 3]
    assert bcfsort.rank(7, device=device).tolist() == [1.0]
    for shape in [(0,), (3, 0), (0, 3)]:
        for axis in (None, 0, -1):
            ranks = bcfsort.rank(np.zeros(shape), axis=axis, device=device)
            assert ranks.shape == ((0,) if axis is None else shape)


def test_wrong_arguments_are_named():
    for axis in (1, -2):
        with pytest.raises(np.exceptions.AxisError):
            bcfsort.unique([1, 2], axis=axis)
        with pytest.raises(np.exceptions.AxisError):
            bcfsort.rank([1, 2], axis=axis)
    with pytest.raises(np.exceptions.AxisError):
        bcfsort.unique(1, axis=0)
    with pytest.raises(TypeError):
        bcfsort.unique([1, 2], axis=0.0)
    with pytest.raises(ValueError, match="method is one of average, min, max, dense, ordinal"):
        bcfsort.rank([1, 2], "first")
    with pytest.raises(ValueError, match="nan_policy is 'propagate', 'omit' or 'raise'"):
        bcfsort.rank([1, 2], nan_policy="keep")

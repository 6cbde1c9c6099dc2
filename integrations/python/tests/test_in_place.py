"""Sorts by values instead of codes: the exact bits, missing values at the end, and ``out``."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bcfsort

DTYPES = [
    *(np.dtype(kind) for kind in "?bhiqBHIQefd"),
    *(np.dtype(kind) for kind in ("M8[D]", "m8[ns]", ">i4", ">f8", ">M8[us]")),
    np.dtype(ml_dtypes.bfloat16),
]
MANTISSAS = {"float16": 10, "float32": 23, "float64": 52, "bfloat16": 7}


def bits_of(array):
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    return array.view(f"u{array.itemsize}")


def exact(array, descending, nan):
    """The bits of the sorted array: missing values at the end, each end of their order kept."""
    bits = bits_of(array)
    unsigned = bits.dtype.type
    top = unsigned(1 << (8 * array.itemsize - 1))
    low = 0
    mantissa = MANTISSAS.get(array.dtype.newbyteorder("=").name)
    if mantissa:
        ordered = np.where(bits & top, ~bits, bits | top)
        low = (1 << mantissa) - 1
    elif array.dtype.kind in "iMm":
        ordered = bits ^ top
        low = int(array.dtype.kind in "Mm" and not descending)
    else:
        ordered = bits
    if descending:
        ordered = ~ordered
    if nan == "last":
        ordered = ordered - unsigned(low)
    return bits[np.argsort(ordered, kind="stable")]


def values(dtype, n, seed, of="all"):
    """Random bits, with many missing values, zeros and extremes; or only missing values."""
    rng = np.random.default_rng(seed)
    size = dtype.itemsize
    words = rng.integers(0, 2**64, n, np.uint64).astype(f"u{size}")
    if dtype == np.bool_:
        return (words & 1).view(dtype)
    mantissa = MANTISSAS.get(dtype.newbyteorder("=").name)
    top = 1 << (8 * size - 1)
    special = [0, top, top - 1, 2 * top - 1]
    if mantissa:
        infinity = top - (1 << mantissa)
        nans = [infinity + 1, infinity + (1 << mantissa) // 2, top + infinity + 5, top - 2]
        special = nans if of == "missing" else [*special, infinity, top + infinity, *nans]
    elif dtype.kind in "mM" and of == "missing":
        special = [top]
    special = rng.choice(np.array(special, words.dtype), n)
    words = special if of == "missing" else np.where(rng.random(n) < 0.4, special, words)
    return words.view(dtype.newbyteorder("=")).astype(dtype)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_each_bit_is_where_it_belongs(device, dtype, descending):
    nans = ["last"] if dtype.kind in "mM" else ["last", "total"]
    for n, of in [(0, "all"), (1, "all"), (7, "missing"), (1000, "all"), (70_000, "all")]:
        for nan in nans:
            array = values(dtype, n, n, of)
            before = array.copy()
            wanted = exact(array, descending, nan)
            got = bcfsort.sort(array, descending=descending, nan=nan, device=device)
            assert got.dtype == dtype
            assert np.array_equal(bits_of(got), wanted)
            assert np.array_equal(bits_of(array), bits_of(before))
            got = bcfsort.sort(array, descending=descending, nan=nan, out=array, device=device)
            assert got is array
            assert np.array_equal(bits_of(array), wanted)


@pytest.mark.parametrize("descending", [False, True])
def test_missing_values_of_many_blocks_are_moved(device, descending):
    # A GPU passes the result on in blocks of 16 MiB.
    array = np.full(6_000_000, -np.nan if not descending else np.nan, np.float32)
    array[::3] = np.arange(2_000_000)
    for times in (1, 3):
        some = array[::times]
        got = bcfsort.sort(some, descending=descending, device=device)
        assert np.array_equal(bits_of(got), exact(some, descending, "last"))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_out_may_overlap_the_array(device, dtype):
    memory = values(dtype, 2001, 1)
    for views in (
        lambda base: (base[:2000], base[1:]),
        lambda base: (base[1:], base[:2000]),
        lambda base: (base[:1000], base[1000:2000]),
        lambda base: (base[:2000][::-1], base[:2000]),
        lambda base: (base[:1000], base[:2000:2]),
    ):
        array, out = views(memory.copy())
        wanted = exact(array, False, "last")
        assert bcfsort.sort(array, out=out, device=device) is out
        assert np.array_equal(bits_of(out), wanted)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_equal_values_keep_their_order(device, dtype, descending):
    for n, of in [(3, "missing"), (2000, "all"), (70_000, "all"), (70_000, "missing")]:
        array = values(dtype, n, n, of)
        native = array.astype(dtype.newbyteorder("="))
        if dtype.kind in "mM":
            codes, missing = native.view(np.int64), np.isnat(native)
        elif dtype.itemsize < 8 or dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                codes = native.astype(np.float64)
            missing = np.isnan(codes)
        else:
            codes, missing = native, np.zeros(n, bool)
        ranks = np.unique(codes[~missing], return_inverse=True)[1]
        codes = np.full(n, n)
        codes[~missing] = -ranks if descending else ranks
        wanted = np.argsort(codes, kind="stable")
        got = bcfsort.argsort(array, descending=descending, device=device)
        assert np.array_equal(got, wanted)


@given(st.integers(0, 3000), st.integers(0, 1 << 30), st.booleans(), st.sampled_from(DTYPES))
def test_distinct_values_are_those_of_the_indices(n, seed, equal_nan, dtype):
    array = values(dtype, n, seed)
    array = np.concatenate([array, array[: n // 2]])
    alone = bcfsort.unique(array, equal_nan=equal_nan, device="cpu")
    counted = bcfsort.unique(array, return_counts=True, equal_nan=equal_nan, device="cpu")
    indexed = bcfsort.unique(
        array, return_index=True, return_counts=True, equal_nan=equal_nan, device="cpu"
    )
    assert np.array_equal(bits_of(alone), bits_of(indexed[0]))
    assert np.array_equal(bits_of(counted[0]), bits_of(indexed[0]))
    assert np.array_equal(counted[1], indexed[2])


@pytest.mark.parametrize("equal_nan", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_distinct_values_of_several_parts(device, dtype, equal_nan):
    for array in (values(dtype, 200_000, 1), values(dtype, 70_000, 1, "missing")):
        alone = bcfsort.unique(array, equal_nan=equal_nan, device=device)
        flags = {"return_counts": True, "equal_nan": equal_nan, "device": device}
        counted = bcfsort.unique(array, **flags)
        indexed = bcfsort.unique(array, return_index=True, **flags)
        assert np.array_equal(bits_of(alone), bits_of(indexed[0]))
        assert np.array_equal(bits_of(counted[0]), bits_of(indexed[0]))
        assert np.array_equal(counted[1], indexed[2])

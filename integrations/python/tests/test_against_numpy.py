"""Sorts of random arrays of all dtypes, compared with numpy's."""

import ml_dtypes
import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bcfsort

DTYPES = [
    *(np.dtype(kind) for kind in "?bhilqBHILQefd"),
    *(np.dtype(kind) for kind in ("M8[D]", "M8[ns]", "m8[s]", ">i4", ">f8", ">M8[us]")),
    np.dtype(ml_dtypes.bfloat16),
]


@st.composite
def arrays(draw, dimensions=3, dtypes=None):
    """Arrays of any layout, with few values and extreme ones."""
    dtype = draw(st.sampled_from(dtypes or DTYPES))
    shape = draw(st.lists(st.integers(0, 9), min_size=1, max_size=dimensions))
    if draw(st.booleans()):
        shape[-1] = draw(st.integers(20, 300))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = int(np.prod(shape))
    words = rng.integers(0, 2**64, size, np.uint64)
    few = rng.integers(0, 5, size, np.uint64)
    special = rng.choice(np.array(SPECIAL, np.uint64), size)
    words = np.choose(rng.integers(0, 3, size), [words, few, special])
    if dtype == np.bool_:
        words &= np.uint64(1)
    array = words.astype(f"u{dtype.itemsize}").view(dtype.newbyteorder("=")).reshape(shape)
    array = array.astype(dtype, copy=False)
    layout = draw(st.sampled_from(["c", "fortran", "reversed", "strided", "read-only"]))
    if layout == "fortran":
        array = np.asfortranarray(array)
    elif layout == "reversed":
        array = array[..., ::-1]
    elif layout == "strided":
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    elif layout == "read-only":
        array.flags.writeable = False
    return array


SPECIAL = [
    0,
    1 << 63 | 1 << 31 | 1 << 15,
    2**64 - 1,
    0x7FF0_0000_7F80_7C00,
    0xFFF0_0000_FF80_FC00,
    0x7FF8_0000_7FC0_7F80,
    0xFFF8_0000_FFC0_FF80,
    0x7FFF_FFFF_7FFF_7FFF,
]
ORDERS = st.fixed_dictionaries(
    {"descending": st.booleans(), "nan": st.sampled_from(["last", "total"])}
)


def order_of(array, order):
    """Times have no total order: NaT is last, or the smallest."""
    if array.dtype.kind in "mM":
        return {**order, "nan": "last"}
    return order


def check_all(array, order, device, axis=-1, random=0):
    order = order_of(array, order)
    wanted = oracle.sort(array, axis, **order)
    got = bcfsort.sort(array, axis=axis, device=device, **order)
    assert got.dtype == array.dtype
    assert np.array_equal(oracle.bits(got), oracle.bits(wanted))

    indices = oracle.argsort(array, axis, **order)
    got = bcfsort.argsort(array, axis=axis, device=device, **order)
    assert got.dtype == np.int64
    assert np.array_equal(got, indices)

    length = array.shape[axis]
    k = random % (length + 1)
    largest = order["descending"]
    top = bcfsort.topk(array, k, axis=axis, largest=largest, nan=order["nan"], device=device)
    first = np.take(indices, range(k), axis)
    assert np.array_equal(top.indices, first)
    chosen = np.take_along_axis(array, first, axis)
    assert np.array_equal(oracle.bits(top.values), oracle.bits(chosen))

    assert bcfsort.is_sorted(wanted, axis=axis, **order)
    codes = np.moveaxis(oracle.code(array, **order), axis, -1)
    assert bcfsort.is_sorted(array, axis=axis, **order) == np.all(codes[..., :-1] <= codes[..., 1:])

    if length:
        check_partition(array, order, device, axis, [random % length, -1 - random // 7 % length])


def check_partition(array, order, device, axis, ranks):
    indices = bcfsort.argpartition(array, ranks, axis=axis, device=device, **order)
    assert np.array_equal(np.sort(indices, axis), np.sort(oracle.argsort(array, axis), axis))
    parts = [
        (
            np.take_along_axis(oracle.code(array, **order), indices, axis),
            oracle.code(array, **order),
        ),
        (
            oracle.code(
                bcfsort.partition(array, ranks, axis=axis, device=device, **order),
                merge=False,
                **order,
            ),
            oracle.code(array, merge=False, **order),
        ),
    ]
    for number, (codes, unsorted) in enumerate(parts):
        codes, wanted = np.moveaxis(codes, axis, -1), np.moveaxis(unsorted, axis, -1)
        # The result is a permutation of the input, so its sorted codes are the same.
        wanted = np.sort(wanted, -1)
        assert np.array_equal(np.sort(codes, -1), wanted), number
        for rank in ranks:
            rank %= codes.shape[-1]
            assert np.array_equal(codes[..., rank], wanted[..., rank])
            assert np.all(codes[..., :rank] <= codes[..., rank : rank + 1])
            assert np.all(codes[..., rank:] >= codes[..., rank : rank + 1])


@given(arrays(), ORDERS, st.integers(0, 1000), st.data())
def test_the_cpu_sorts_as_numpy(array, order, random, data):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    check_all(array, order, "cpu", axis, random)


@pytest.mark.parametrize("shape", [1 << 14, 300_000, (2, 150_000), (150_000, 2), (500, 500)])
@pytest.mark.parametrize("dtype", ["f4", "i8", "u2"])
def test_the_cpu_sorts_large_arrays_as_numpy(shape, dtype):
    # All cores sort arrays of at least 150 000 elements, and numpy sorts smaller ones.
    words = np.random.default_rng(1).integers(0, 2**64, shape, np.uint64)
    array = words.astype(f"u{np.dtype(dtype).itemsize}").view(dtype)
    for descending in (False, True):
        check_all(array, {"descending": descending, "nan": "last"}, "cpu", random=12_345)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nan", ["last", "total"])
def test_the_gpu_sorts_as_numpy(gpu, dtype, descending, nan):
    order = {"descending": descending, "nan": nan}

    # Each call takes milliseconds on a software adapter.
    @settings(max_examples=4)
    @given(arrays(dimensions=2, dtypes=[dtype]), st.integers(0, 1000))
    def sorts(array, random):
        check_all(array, order, gpu, random % array.ndim, random)

    sorts()


@given(st.lists(arrays(dimensions=1), min_size=1, max_size=4), st.data())
def test_lexsort_is_numpys(keys, data):
    size = min(key.size for key in keys)
    keys = [key[:size] for key in keys]
    flags = data.draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys)))
    codes = [oracle.code(key, descending=flag) for key, flag in zip(keys, flags, strict=True)]
    got = bcfsort.lexsort(keys, descending=flags, device="cpu")
    assert np.array_equal(got, np.lexsort(codes))


def test_lexsort_on_the_gpu(gpu):
    rng = np.random.default_rng(1)
    keys = [rng.integers(0, 4, 5000), rng.standard_normal(5000).round(1), rng.random(5000) < 0.5]
    assert np.array_equal(bcfsort.lexsort(keys, device=gpu), np.lexsort(keys))
    assert np.array_equal(bcfsort.lexsort(np.array(keys[:2]), device=gpu), np.lexsort(keys[:2]))


@given(arrays(dimensions=1), st.booleans())
def test_values_follow_their_keys(keys, descending):
    rows = np.arange(3 * keys.size).reshape(-1, 3)
    texts = np.array([f"{i}" for i in range(keys.size)], dtype=object)
    got = bcfsort.sort_by_key(keys, rows, texts, descending=descending, device="cpu")
    indices = oracle.argsort(keys, descending=descending)
    assert np.array_equal(oracle.bits(got[0]), oracle.bits(keys[indices]))
    assert np.array_equal(got[1], rows[indices])
    assert np.array_equal(got[2], texts[indices])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_both_devices_have_the_same_result(gpu, dtype):
    rng = np.random.default_rng(2)
    words = rng.integers(0, 2**64, 3000, np.uint64)
    if dtype == np.bool_:
        words &= np.uint64(1)
    array = words.astype(f"u{dtype.itemsize}").view(dtype.newbyteorder("=")).astype(dtype)
    for shape in [(3000,), (30, 100)]:
        for descending in [False, True]:
            of_cpu, of_gpu = (
                [
                    bcfsort.sort(array.reshape(shape), descending=descending, device=device),
                    bcfsort.argsort(array.reshape(shape), descending=descending, device=device),
                    *bcfsort.topk(array.reshape(shape), 7, largest=descending, device=device),
                ]
                for device in ("cpu", gpu)
            )
            for a, b in zip(of_cpu, of_gpu, strict=True):
                assert a.tobytes() == b.tobytes()

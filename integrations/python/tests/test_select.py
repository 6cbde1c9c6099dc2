"""Selections: the elements of some ranks, without a sort of the others."""

import numpy as np
import pytest

import bcfsort

N = 10**6
NAT = np.datetime64("NaT")


def arrays():
    rng = np.random.default_rng(1)
    floats = rng.standard_normal(N).astype(np.float32)
    holes = floats.copy()
    holes[rng.integers(0, N, N // 2)] = np.nan
    holes[rng.integers(0, N, N // 9)] = -np.nan
    zeros = np.where(rng.random(N) < 0.5, np.float64(0.0), np.float64(-0.0))
    return {
        "random": rng.integers(-(2**62), 2**62, N),
        "all equal": np.full(N, 7, np.int32),
        "two values": rng.integers(0, 2, N, np.uint64),
        "one smaller": np.r_[np.ones(N - 1, np.uint16), np.uint16(0)],
        "few values": rng.integers(0, 9, N).astype(np.uint8),
        "bools": rng.random(N) < 1e-4,
        "floats": floats,
        "halves": floats.astype(np.float16),
        "with NaNs": holes,
        "all NaN": np.full(N, np.nan),
        "zeros of both signs": zeros,
        "ascending": np.arange(N),
        "descending": np.arange(N)[::-1].astype(np.uint32),
        "times": rng.integers(-(2**62), 2**62, N).astype("M8[ns]"),
        "most are NaT": np.where(
            rng.random(N) < 0.999, np.datetime64("NaT"), floats.astype("M8[s]")
        ),
        # A sample of regular steps would only see the small ones.
        "periodic": np.where(np.arange(N) % 64 == 0, 0, rng.integers(1, N, N)),
    }


ARRAYS = arrays()
RANKS = [0, 1, 5, 100, 1000, N // 100, N // 9, N // 2, N - 1, N]


def key_of(array, descending):
    """Numbers in the expected order, missing values last."""
    if array.dtype.kind == "f":
        # Adding 0 turns -0 into 0.
        keys, missing = array.astype(np.float64) + 0.0, np.isnan(array)
    else:
        keys = array.view(np.int64) if array.dtype.kind == "M" else array.astype(np.int64)
        missing = np.isnat(array) if array.dtype.kind == "M" else np.zeros(array.size, bool)
    last = np.inf if keys.dtype.kind == "f" else np.iinfo(np.int64).max
    return np.where(missing, last, -keys if descending else keys)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", ARRAYS)
def test_selections_are_parts_of_the_sorted_array(name, descending):
    array = ARRAYS[name]
    keys = key_of(array, descending)
    order = np.argsort(keys, kind="stable")
    for k in RANKS:
        values, indices = bcfsort.topk(array, k, largest=descending, device="cpu")
        assert np.array_equal(indices, order[:k])
        assert values.tobytes() == array[order[:k]].tobytes()
    for kth in (0, 100, N // 9, N // 2, N - 1):
        indices = bcfsort.argpartition(array, kth, descending=descending, device="cpu")
        check_parted(keys[indices], keys, kth)
        assert indices[kth] == order[kth]
        assert np.bincount(indices, minlength=N).max() == 1
        parted = bcfsort.partition(array, kth, descending=descending, device="cpu")
        assert parted.dtype == array.dtype
        check_parted(key_of(parted, descending), keys, kth)
    check_same(parted, array)


def check_parted(keys, of_all, kth):
    assert keys[kth] == np.partition(of_all, kth)[kth]
    assert keys[:kth].max(initial=keys[kth]) <= keys[kth] <= keys[kth:].min()


def check_same(parted, array):
    """The same elements, bit for bit."""
    size = f"u{array.itemsize}"
    assert np.array_equal(np.sort(parted.view(size)), np.sort(array.view(size)))


@pytest.mark.parametrize("n", [1, 2, 31, 2048, 2049, 5000, 131_072, 131_073, 200_000])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_selections_of_all_lengths(n, dtype):
    array = np.random.default_rng(n).integers(0, 1 << 20, n).astype(dtype)
    keys = key_of(array, False)
    order = np.argsort(keys, kind="stable")
    for k in {0, 1, n // 100, n // 9, n // 8, n // 8 + 1, n // 2, n - 1, n}:
        assert np.array_equal(
            bcfsort.topk(array, k, largest=False, device="cpu").indices, order[:k]
        )
        if k < n:
            indices = bcfsort.argpartition(array, k, device="cpu")
            check_parted(keys[indices], keys, k)
            parted = bcfsort.partition(array, [k, -1 - k], device="cpu")
            check_same(parted, array)
            for kth in (k, n - 1 - k):
                check_parted(key_of(parted, False), keys, kth)


def test_selections_of_several_ranks():
    array = ARRAYS["floats"]
    order = np.argsort(array, kind="stable")
    for kth in ([10, 500], [N // 2, N // 2 + 1000], [0, N - 1], [N - 5, N - 1]):
        between = np.s_[kth[0] : kth[1] + 1]
        assert np.array_equal(bcfsort.argpartition(array, kth)[between], order[between])
        assert np.array_equal(bcfsort.partition(array, kth)[kth], array[order[kth]])
    few = array[:5000]
    kth = [3, 9, 2500, 4999]
    assert np.array_equal(bcfsort.partition(few, kth)[kth], np.sort(few)[kth])


def test_a_gpu_selects_the_same(gpu):
    for name in ("random", "two values", "with NaNs", "halves", "times", "bools"):
        array = ARRAYS[name][:50_000]
        for k in (1, 100, 25_000, 50_000):
            top = bcfsort.topk(array, k, device=gpu)
            assert np.array_equal(top.indices, bcfsort.topk(array, k, device="cpu").indices)
            assert top.values.tobytes() == array[top.indices].tobytes()


def test_rows_are_selected_from():
    rows = np.random.default_rng(1).standard_normal((50, 5000))
    top = bcfsort.topk(rows, 10, device="cpu")
    wanted = np.argsort(-rows, axis=1, kind="stable")[:, :10]
    assert np.array_equal(top.indices, wanted)

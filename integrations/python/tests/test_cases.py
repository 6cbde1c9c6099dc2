"""The subjects of numpy's own tests of sorts, and unusual or wrong inputs."""

import array as python_array

import numpy as np
import oracle
import pytest

import bcfsort
from bcfsort import _native


def test_nan_comes_last_in_both_directions(device):
    a = np.array([np.nan, 1, 0, -np.inf, -np.nan, np.inf])
    assert np.array_equal(
        bcfsort.sort(a, device=device), [-np.inf, 0, 1, np.inf, np.nan, np.nan], equal_nan=True
    )
    assert np.array_equal(
        bcfsort.sort(a, descending=True, device=device),
        [np.inf, 1, 0, -np.inf, np.nan, np.nan],
        equal_nan=True,
    )
    assert bcfsort.argsort(a, device=device).tolist() == [3, 2, 1, 5, 0, 4]
    assert bcfsort.argsort(a, descending=True, device=device).tolist() == [5, 1, 2, 3, 0, 4]


def test_nat_comes_last_in_both_directions(device):
    a = np.array(["NaT", "2026-01-02", "1950-01-01"], "M8[D]")
    for descending, wanted in [(False, [2, 1, 0]), (True, [1, 2, 0])]:
        got = bcfsort.argsort(a, descending=descending, device=device)
        assert got.tolist() == wanted
        assert np.array_equal(
            bcfsort.sort(a, descending=descending, device=device).view("i8"), a[wanted].view("i8")
        )


def test_the_total_order_tells_all_bits_apart(device):
    bits = np.array([0xFFC00001, 0xFFC00000, 0x80000000, 0, 0x7FC00000, 0x7FC00001], np.uint32)
    a = bits.view(np.float32)
    mixed = a[[3, 5, 0, 2, 4, 1]]
    got = bcfsort.sort(mixed, nan="total", device=device).view(np.uint32)
    assert np.array_equal(got, bits)
    got = bcfsort.sort(mixed, nan="total", descending=True, device=device).view(np.uint32)
    assert np.array_equal(got, bits[::-1])


def test_argsort_is_stable_descending_too(device):
    a = np.array([1, 0, 1, 0, 1] * 1000)
    got = bcfsort.argsort(a, descending=True, device=device)
    assert np.array_equal(got, np.concatenate([np.flatnonzero(a == 1), np.flatnonzero(a == 0)]))
    zeros = np.array([0.0, -0.0, 0.0, -0.0])
    assert bcfsort.argsort(zeros, device=device).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (1,), (1, 1), (2, 1, 0)])
def test_empty_arrays_and_single_elements(device, shape):
    a = np.zeros(shape, np.float32)
    for axis in [None, *range(a.ndim)]:
        for got, wanted in [
            (bcfsort.sort(a, axis=axis, device=device), np.sort(a, axis=axis)),
            (bcfsort.argsort(a, axis=axis, device=device), np.argsort(a, axis=axis)),
        ]:
            assert got.shape == wanted.shape
            assert got.dtype == wanted.dtype
        assert bcfsort.is_sorted(a, axis=axis)
    top = bcfsort.topk(a, 0, device=device)
    assert top.values.shape == top.indices.shape == (*shape[:-1], 0)


def test_axes_and_long_rows(device):
    a = np.random.default_rng(3).integers(-(2**31), 2**31, (40, 50, 3))
    for axis in [None, -1, 0, 1, 2, -3]:
        assert np.array_equal(bcfsort.sort(a, axis=axis, device=device), np.sort(a, axis=axis))
    long = np.random.default_rng(3).integers(0, 2**62, (2, 1 << 20))
    assert np.array_equal(bcfsort.sort(long, device=device), np.sort(long))
    wanted = np.argsort(long, kind="stable")
    assert np.array_equal(bcfsort.argsort(long, device=device), wanted)


@pytest.mark.parametrize(
    ("shape", "axis", "k"),
    [
        # Each row takes a workgroup of the GPU: k is at most 1024, in rows of 32 to 2^20 elements.
        ((30, 700), 1, 700),
        ((1500, 30), 0, 1024),
        ((1500, 30), 0, 1025),
        ((7, 2, 3000), -1, 65),
        ((50, 31), 1, 9),
        ((50, 32), 1, 9),
        ((1, 5000), 1, 40),
    ],
)
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_topk_of_rows_has_the_first_of_equal_elements(device, shape, axis, k, largest, dtype):
    rng = np.random.default_rng(9)
    # Few values, so that the elements of rank k and k + 1 are mostly equal.
    a = rng.integers(-40, 40, shape).astype(dtype)
    if a.dtype.kind == "f":
        a[a == 10] = np.nan
        a[a == -10] = -0.0
    wanted = np.take(oracle.argsort(a, axis, descending=largest), range(k), axis)
    top = bcfsort.topk(a, k, axis=axis, largest=largest, device=device)
    assert top.indices.dtype == np.int64
    assert np.array_equal(top.indices, wanted)
    assert top.values.dtype == a.dtype
    assert top.values.tobytes() == np.take_along_axis(a, wanted, axis).tobytes()


@pytest.mark.parametrize("columns", [1 << 20, (1 << 20) + 1])
def test_topk_of_the_longest_rows_of_a_workgroup_and_of_longer_ones(device, columns):
    a = np.random.default_rng(10).integers(-(2**31), 2**31, (2, columns), np.int32)
    top = bcfsort.topk(a, 3, device=device)
    wanted = np.argsort(-a.astype(np.int64), axis=1, kind="stable")[:, :3]
    assert np.array_equal(top.indices, wanted)


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_argsort_rows_refuses_indices_of_other_rows(name):
    native = _native.Engine(name)
    codes = np.arange(12, dtype=np.uint32)
    indices = np.empty(8, np.int64)
    for columns, k, message in [(0, 2, "different"), (5, 2, "different"), (3, 4, "fewer")]:
        with pytest.raises(ValueError, match=message):
            native.argsort_rows(codes, columns, k, indices)
    with pytest.raises(ValueError, match="arrays of 4 and 8"):
        native.argsort_rows(codes, 3, 1, indices)
    native.argsort_rows(codes, 3, 2, indices)
    assert indices.tolist() == [0, 1] * 4


def test_out_gets_the_result_and_may_overlap_the_input(device):
    a = np.random.default_rng(4).integers(0, 100, 1000)
    wanted = np.sort(a)
    out = np.empty_like(a)
    assert bcfsort.sort(a, out=out, device=device) is out
    assert np.array_equal(out, wanted)
    both = np.concatenate([a, a])
    assert np.array_equal(
        bcfsort.sort(both[500:1500], out=both[:1000], device=device),
        np.sort(np.concatenate([a, a])[500:1500]),
    )
    assert bcfsort.sort(a, out=a, device=device) is a
    assert np.array_equal(a, wanted)
    strided = np.empty(2000, a.dtype)[::2]
    assert np.array_equal(bcfsort.sort(a, out=strided, device=device), wanted)
    with pytest.raises(ValueError, match="out is int32"):
        bcfsort.sort(a, out=np.empty(1000, np.int32))
    with pytest.raises(ValueError, match=r"out is int64\(999,\)"):
        bcfsort.sort(a, out=np.empty(999, np.int64))


def test_the_input_is_unchanged(device):
    a = np.random.default_rng(5).integers(0, 100, 1000)
    before = a.copy()
    for call in (bcfsort.sort, bcfsort.argsort):
        call(a, device=device)
    bcfsort.partition(a, 5, device=device)
    bcfsort.topk(a, 5, device=device)
    assert np.array_equal(a, before)


class Interface:
    def __array__(self, dtype=None, copy=None):
        return np.array([3, 1, 2])


class Tensor:
    """A tensor that DLPack describes, on a device."""

    def __init__(self, values, device):
        self.values, self.device = values, device

    def __dlpack__(self, **arguments):
        return self.values.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return (self.device, 0)


@pytest.mark.parametrize(
    "values",
    [
        [3, 1, 2],
        (3, 1, 2),
        range(3, 0, -1),
        python_array.array("i", [3, 1, 2]),
        memoryview(python_array.array("q", [3, 1, 2])),
        Interface(),
        Tensor(np.array([3, 1, 2]), 1),
    ],
    ids=lambda values: type(values).__name__,
)
def test_array_likes_are_sorted(values):
    assert bcfsort.sort(values).tolist() == [1, 2, 3]


def test_tensors_of_a_gpu_are_refused():
    with pytest.raises(TypeError, match="move it to the CPU first"):
        bcfsort.sort(Tensor(np.array([3, 1, 2]), 2))


@pytest.mark.parametrize(
    "values, why",
    [
        (np.array([1j, 2]), "complex128: bool, integers"),
        (np.array(["b", "a"]), "strings"),
        (np.array([b"b", b"a"]), "strings"),
        (np.array([None, 1], object), "object"),
        (np.zeros(3, [("a", int), ("b", float)]), "fields with lexsort"),
        (np.zeros(3, np.longdouble), "bool, integers"),
        (np.ma.array([1, 2], mask=[True, False]), "masked arrays"),
        (np.zeros(3, "V4"), "bool, integers"),
    ],
    ids=str,
)
def test_what_has_no_order_is_a_type_error(values, why):
    for call in (bcfsort.sort, bcfsort.argsort, bcfsort.is_sorted):
        with pytest.raises(TypeError, match=why):
            call(values)


def test_wrong_arguments_are_named():
    a = np.arange(6).reshape(2, 3)
    for axis in (2, -3):
        with pytest.raises(np.exceptions.AxisError):
            bcfsort.sort(a, axis=axis)
    with pytest.raises(np.exceptions.AxisError):
        bcfsort.sort(5)
    assert bcfsort.sort(5, axis=None).tolist() == [5]
    with pytest.raises(ValueError, match="'last' or 'total', not 'first'"):
        bcfsort.sort(a, nan="first")
    with pytest.raises(TypeError, match="kind"):
        bcfsort.sort(a, kind="stable")
    with pytest.raises(ValueError, match="descending is True or False"):
        bcfsort.sort(a, descending="no")
    for k in (-1, 4):
        with pytest.raises(ValueError, match=f"k is 0 to 3, the length of the axis, not {k}"):
            bcfsort.topk(a, k)
    for kth in (3, -4, [0, 5]):
        with pytest.raises(ValueError, match="the axis has 3 elements"):
            bcfsort.partition(a, kth)
    with pytest.raises(ValueError, match="at least one key"):
        bcfsort.lexsort([])
    with pytest.raises(ValueError, match="equal lengths"):
        bcfsort.lexsort([[1, 2], [1]])
    with pytest.raises(ValueError, match="descending has 2 values for 1 keys"):
        bcfsort.lexsort([[1, 2]], descending=[True, False])
    with pytest.raises(ValueError, match=r"shape \(1,\) for 2 keys"):
        bcfsort.sort_by_key([1, 2], [1])


def test_partitions_without_ranks_and_with_many(device):
    a = np.random.default_rng(6).permutation(5000)
    assert sorted(bcfsort.partition(a, [], device=device)) == list(range(5000))
    assert sorted(bcfsort.argpartition(a, [], device=device)) == list(range(5000))
    ranks = [0, 10, 2500, -1]
    got = bcfsort.partition(a, ranks, device=device)
    assert [got[rank] for rank in ranks] == [0, 10, 2500, 4999]
    indices = bcfsort.argpartition(a, 17, device=device)
    assert a[indices[17]] == 17
    assert set(a[indices[:17]]) == set(range(17))


def test_large_arrays_without_a_device():
    # `auto` never chooses a software adapter: numpy sorts.
    a = np.random.default_rng(7).standard_normal(1 << 19, np.float32)
    assert np.array_equal(bcfsort.sort(a), np.sort(a))
    assert np.array_equal(bcfsort.argsort(a), np.argsort(a, kind="stable"))


def test_subclasses_and_types_of_indices():
    matrix = np.array([[3, 1], [2, 4]]).view(np.matrix)
    assert bcfsort.sort(np.asarray(matrix)).tolist() == [[1, 3], [2, 4]]
    assert bcfsort.argsort([3, 1], dtype=np.uint32).dtype == np.uint32


def test_matrices_are_arrays():
    matrix = np.array([[3, 1], [2, 4]]).view(np.matrix)
    assert bcfsort.sort(matrix, axis=None).tolist() == [1, 2, 3, 4]
    assert type(bcfsort.sort(matrix)) is np.ndarray


def test_masked_keys_and_values_are_refused():
    masked = np.ma.array([2, 1], mask=[True, False])
    for call in (
        lambda: bcfsort.lexsort([masked]),
        lambda: bcfsort.sort_by_key(masked, [1, 2]),
        lambda: bcfsort.sort_by_key([1, 2], masked),
    ):
        with pytest.raises(TypeError, match="masked arrays"):
            call()


def test_indices_fit_in_their_type(device):
    assert bcfsort.argsort(np.zeros(256), dtype=np.uint8, device=device).max() == 255
    with pytest.raises(ValueError, match="uint8 cannot number 257 elements"):
        bcfsort.argsort(np.zeros(257), dtype=np.uint8, device=device)
    with pytest.raises(TypeError, match="indices are integers"):
        bcfsort.argsort([3, 1], dtype=float)


def test_unaligned_arrays_are_sorted(device):
    data = b"\0" + np.array([3, 1, 2], np.int64).tobytes()
    a = np.frombuffer(data, np.int64, offset=1)
    assert not a.flags.aligned
    assert bcfsort.sort(a, device=device).tolist() == [1, 2, 3]
    keys, values = bcfsort.sort_by_key([2, 3, 1], a, device=device)
    assert (keys.tolist(), values.tolist()) == ([1, 2, 3], [2, 3, 1])


def test_numbers_that_are_none():
    with pytest.raises(TypeError):
        bcfsort.partition([3, 1, 2], 1.5)
    with pytest.raises(TypeError):
        bcfsort.partition([3, 1, 2], [1.0])
    with pytest.raises(TypeError):
        bcfsort.topk([3, 1, 2], 1.5)
    with pytest.raises(TypeError):
        bcfsort.sort([3, 1, 2], axis=0.0)
    for device in (True, 1.5, [0]):
        with pytest.raises(TypeError, match="device is None, a number"):
            bcfsort.sort([3, 1, 2], device=device)
    assert bcfsort.partition([3, 1, 2], np.array([0, 1])).tolist() == [1, 2, 3]
    assert bcfsort.partition([3, 1, 2], np.int8(0))[0] == 1


def test_numpy_bools_are_directions():
    assert bcfsort.lexsort([[1, 2]], descending=np.True_).tolist() == [1, 0]
    assert bcfsort.lexsort([[1, 2]], descending=np.array([True])).tolist() == [1, 0]


def test_an_output_that_cannot_be_written_is_an_error():
    out = np.zeros(2, np.int64)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        bcfsort.sort([2, 1], out=out)
    with pytest.raises(TypeError, match="out is a numpy array"):
        bcfsort.sort([2, 1], out=[0, 0])


def test_floats_of_8_bits_have_no_order():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype in (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn):
        with pytest.raises(TypeError, match="bool, integers"):
            bcfsort.sort(np.zeros(3, dtype))

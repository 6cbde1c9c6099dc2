"""Sorts of numpy arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._arrays import (
    as_array,
    decode,
    encode,
    flags,
    merging_words,
    order_of,
    take,
    words,
)
from ._engines import DeviceLike, engine_of
from ._native import Engine, Order


class _Rows(NamedTuple):
    """An array whose sorted axis is the last one, so that its rows are sorted."""

    array: np.ndarray
    axis: int
    dtype: np.dtype
    #: That of the input.
    shape: tuple[int, ...]

    @property
    def columns(self) -> int:
        return int(self.array.shape[-1])

    @property
    def is_one(self) -> bool:
        """Whether all elements are one row."""
        return self.columns == self.array.size

    def back(self, result: np.ndarray) -> np.ndarray:
        """A result of all rows, one after another or each a row, with the axes of the input."""
        if self.array.ndim == 1:
            return result
        if result.ndim == 1:
            result = result.reshape(self.array.shape)
        if self.axis < self.array.ndim - 1:
            result = np.moveaxis(result, -1, self.axis)
        return np.ascontiguousarray(result)


def _rows(a: Any, axis: int | None) -> _Rows:
    array = as_array(a)
    if axis is None:
        array, axis = array.reshape(-1), -1
    elif array.ndim == 1 and axis == -1:
        return _Rows(array, 0, array.dtype, array.shape)
    axis = operator.index(axis)
    if not -array.ndim <= axis < array.ndim:
        raise np.exceptions.AxisError(axis, array.ndim)
    axis %= array.ndim
    rows = np.moveaxis(array, axis, -1) if axis < array.ndim - 1 else array
    return _Rows(rows, axis, array.dtype, array.shape)


def _sort_codes(engine: Engine, codes: np.ndarray, columns: int) -> None:
    if columns > 1:
        engine.sort_rows(codes, columns)


def _argsort_codes(engine: Engine, codes: np.ndarray, columns: int) -> np.ndarray:
    if columns < 2:
        return np.zeros(codes.size, np.int64)
    indices = np.empty(codes.size, np.int64)
    engine.argsort_rows(codes, columns, columns, indices)
    return indices


def _argsort_words(engine: Engine, bits: np.ndarray, order: Order) -> np.ndarray:
    indices = np.empty(bits.size, np.int64)
    engine.argsort(bits, order, indices)
    return indices


def _lexsort_codes(engine: Engine, keys: Iterable[np.ndarray], size: int) -> np.ndarray:
    """The indices that sort by several arrays of codes, the last array first."""
    indices: np.ndarray | None = None
    for codes in keys:
        if indices is not None:
            codes = take(codes, indices)
        order = _argsort_codes(engine, codes, size)
        indices = order if indices is None else take(indices, order)
    return np.arange(size) if indices is None else indices


def sort(
    a: npt.ArrayLike,
    /,
    *,
    axis: int | None = -1,
    descending: bool = False,
    stable: bool = True,
    nan: str = "last",
    out: np.ndarray | None = None,
    device: DeviceLike = None,
) -> np.ndarray:
    """Returns a sorted copy of an array.

    Parameters
    ----------
    a
        An array, or what numpy makes one of: of bools, integers, floats of 16 to 64 bits, bfloat16,
        datetime64 or timedelta64. Tensors of torch on the CPU are read in place.
    axis
        The axis along which to sort; None sorts all elements as one array.
    descending
        The greatest elements first.
    stable
        Has no effect: equal elements cannot be told apart.
    nan
        ``"last"``: every NaN and NaT comes last in both directions, as in numpy. ``"total"``:
        floats have IEEE's total order, -NaN < -inf < ... < -0 < 0 < ... < inf < NaN.
    out
        The array that gets the result: of the shape and dtype of the result. It may be ``a``.
    device
        None or ``"auto"``: a GPU or the CPU, whichever is estimated to take less time. ``"cpu"``:
        the CPU. ``"gpu"``: the best adapter. ``"all"``: all GPUs together. A number: that of
        `devices`. Any other text: a part of the adapter's name. Or a `Sorter`.

    The result has the same bits as the input, NaNs and zeros included; -0 precedes 0. O(n log n)
    time. Takes memory for the result, and for up to one more copy of the array on the CPU; on a GPU
    for two or three. After an error ``out`` is unspecified.

    Raises
    ------
    TypeError
        The dtype has no order here.
    NoAdapterError
        There is no such device.
    OutOfMemoryError
        The GPU or the host is out of memory.
    Error
        A GPU that is named by ``device`` failed. If none is named, the CPU sorts instead, with a
        `DeviceFailedWarning`.

    Examples
    --------
    >>> bcfsort.sort([3, 1, 2])
    array([1, 2, 3])
    >>> bcfsort.sort([2.5, np.nan, 7.0], descending=True)
    array([7. , 2.5, nan])
    """
    if type(a) is np.ndarray and a.ndim == 1 and axis == -1 and out is None:
        # (What most calls are, without what others need: that would take as long as a small sort.)
        order = order_of(a.dtype, descending=descending, nan=nan)
        return _sorted(engine_of(device), a, order)
    rows = _rows(a, axis)
    array, dtype = rows.array, rows.dtype
    order = order_of(dtype, descending=descending, nan=nan)
    engine = engine_of(device)
    if out is not None:
        _check_out(out, rows)
    if not rows.is_one:
        codes = encode(array, order, merge=False)
        _sort_codes(engine, codes, rows.columns)
        values = decode(codes, order, dtype)
    elif out is not None and out.flags.carray and out.dtype.isnative:
        _sort_to(engine, array, words(out), order)
        return out
    else:
        values = _sorted(engine, array, order)
    result = rows.back(values).astype(dtype, copy=False)
    if out is None:
        return result
    out[...] = result
    return out


def _sorted(engine: Engine, array: np.ndarray, order: Order) -> np.ndarray:
    """All elements of an array, sorted."""
    bits, dtype = words(array), array.dtype
    result = np.empty(bits.size, bits.dtype)
    engine.sort(bits, result, order)
    if dtype.isnative:
        return result.view(dtype)
    return result.view(dtype.newbyteorder("=")).astype(dtype)


def _check_out(out: Any, rows: _Rows) -> None:
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is a numpy array, not {type(out).__name__}")
    if out.shape != rows.shape or out.dtype != rows.dtype:
        wanted = f"{rows.dtype}{rows.shape}"
        raise ValueError(f"out is {out.dtype}{out.shape}, and the result {wanted}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")


def _sort_to(engine: Engine, array: np.ndarray, out: np.ndarray, order: Order) -> None:
    """Sorts the one row of an array to words, which may be its own."""
    bits = words(array)
    if not out.size:
        return
    if not np.may_share_memory(bits, out):
        engine.sort(bits, out, order)
    elif bits.ctypes.data == out.ctypes.data:
        # The result is as long, so it is the array itself.
        engine.sort(None, out, order)
    else:
        engine.sort(bits.copy(), out, order)


def argsort(
    a: npt.ArrayLike,
    /,
    *,
    axis: int | None = -1,
    descending: bool = False,
    stable: bool = True,
    nan: str = "last",
    dtype: npt.DTypeLike = np.int64,
    device: DeviceLike = None,
) -> np.ndarray:
    """Returns the indices that sort an array.

    Parameters are those of `sort`. The sort is always stable: equal elements have ascending
    indices, descending too. All NaNs are equal, and so are -0 and 0, unless ``nan="total"``.
    ``dtype`` is the type of the indices, an integer that can number the axis; with numpy's default,
    int64, the result indexes arrays without a conversion.

    Examples
    --------
    >>> bcfsort.argsort([30, 10, 20])
    array([1, 2, 0])
    """
    rows = _rows(a, axis)
    order = order_of(rows.dtype, descending=descending, nan=nan)
    dtype = np.dtype(dtype)
    if dtype.kind not in "iu":
        raise TypeError(f"indices are integers, not {dtype}")
    if rows.columns - 1 > np.iinfo(dtype).max:
        raise ValueError(f"{dtype} cannot number {rows.columns} elements")
    engine = engine_of(device)
    if rows.is_one:
        indices = _argsort_words(engine, merging_words(rows.array, order), order)
    else:
        codes = encode(rows.array, order, merge=True)
        indices = _argsort_codes(engine, codes, rows.columns)
    return rows.back(indices).astype(dtype, copy=False)


def lexsort(
    keys: Sequence[npt.ArrayLike] | np.ndarray,
    *,
    descending: bool | Sequence[bool] = False,
    nan: str = "last",
    device: DeviceLike = None,
) -> np.ndarray:
    """Returns the indices that sort by several keys. The last key is the primary one, as in numpy.

    Parameters
    ----------
    keys
        One-dimensional arrays of equal lengths, of any dtypes that `sort` takes.
    descending
        For all keys, or one for each.

    Stable. Takes the time of an `argsort` for each key, and of gathering the keys.

    Examples
    --------
    >>> price, city = [3, 1, 2], [1, 2, 1]
    >>> bcfsort.lexsort([price, city])  # by city, then by price
    array([2, 0, 1])
    """
    arrays = [as_array(key) for key in keys]
    if not arrays:
        raise ValueError("lexsort needs at least one key")
    if any(array.ndim != 1 or array.size != arrays[0].size for array in arrays):
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(f"keys are arrays of one dimension and of equal lengths, not {shapes}")
    directions = flags("descending", descending, len(arrays), "keys")
    engine = engine_of(device)
    codes = (
        encode(array, order_of(array.dtype, descending=flag, nan=nan), merge=True)
        for array, flag in zip(arrays, directions, strict=True)
    )
    return _lexsort_codes(engine, codes, arrays[0].size)


def sort_by_key(
    keys: npt.ArrayLike,
    *values: npt.ArrayLike,
    descending: bool = False,
    nan: str = "last",
    device: DeviceLike = None,
) -> tuple[np.ndarray, ...]:
    """Returns the sorted keys, and each array of values in the same order.

    Keys are one-dimensional, and values have as many rows. Stable: values of equal keys keep their
    order. Other parameters are those of `sort`.

    Examples
    --------
    >>> bcfsort.sort_by_key([3, 1, 2], ["c", "a", "b"])
    (array([1, 2, 3]), array(['a', 'b', 'c'], dtype='<U1'))
    """
    array = as_array(keys)
    if array.ndim != 1:
        raise ValueError(f"keys have one dimension, not {array.ndim}")
    rows = [as_array(each) for each in values]
    for each in rows:
        if each.ndim == 0 or each.shape[0] != array.size:
            raise ValueError(f"values of shape {each.shape} for {array.size} keys")
    indices = argsort(array, descending=descending, nan=nan, device=device)
    return tuple(take(each, indices) for each in [array, *rows])


class TopK(NamedTuple):
    """The greatest or smallest elements of an array, and their indices."""

    values: np.ndarray
    indices: np.ndarray


def topk(
    a: npt.ArrayLike,
    k: int,
    /,
    *,
    axis: int = -1,
    largest: bool = True,
    nan: str = "last",
    device: DeviceLike = None,
) -> TopK:
    """Returns the ``k`` greatest elements, or the smallest ones, sorted, with their indices.

    Of equal elements, those with the smallest indices. A NaN is neither great nor small: it is
    chosen last, unless ``nan="total"``. Other parameters are those of `sort`.

    If ``k`` is at most an eighth of the elements, the CPU selects them in one pass over the array
    on all cores, which takes less time than to copy it to a GPU, and memory for a few times ``k``
    elements. Otherwise an `argsort` does it. A GPU that ``device`` names sorts only the part that
    matters; of all rows along the axis at once, if ``k`` is at most 1024, and the rows have 32 to
    2^20 elements.

    Examples
    --------
    >>> bcfsort.topk([5, 9, 2, 7], 2)
    TopK(values=array([9, 7]), indices=array([1, 3]))
    """
    rows = _rows(a, axis)
    k = operator.index(k)
    if not 0 <= k <= rows.columns:
        raise ValueError(f"k is 0 to {rows.columns}, the length of the axis, not {k}")
    order = order_of(rows.dtype, descending=largest, nan=nan)
    engine = engine_of(device)
    shape = (*rows.array.shape[:-1], k)
    indices = np.empty(math.prod(shape), np.int64)
    if rows.array.ndim == 1:
        bits = merging_words(rows.array, order)
        values = np.empty(k, bits.dtype)
        engine.top(bits, order, values, indices)
        native = rows.dtype.newbyteorder("=")
        return TopK(values.view(native).astype(rows.dtype, copy=False), indices)
    if indices.size:
        codes = encode(rows.array, order, merge=True)
        engine.argsort_rows(codes, rows.columns, k, indices)
    indices = indices.reshape(shape)
    values = np.take_along_axis(rows.array, indices, axis=-1)
    return TopK(rows.back(values), rows.back(indices))


def partition(
    a: npt.ArrayLike,
    kth: int | Sequence[int],
    /,
    *,
    axis: int | None = -1,
    descending: bool = False,
    nan: str = "last",
    device: DeviceLike = None,
) -> np.ndarray:
    """Returns a copy whose ``kth`` element is where it would be in a sorted one.

    All elements before it are smaller or equal, and all after it are greater or equal; their order
    is unspecified. ``kth`` may be a sequence. Other parameters are those of `sort`. O(n) time on
    the CPU, on all cores, unless the ranks in ``kth`` span more than an eighth of the elements.

    Examples
    --------
    >>> bcfsort.partition([5, 9, 2, 7], 1)[1]
    np.int64(5)
    """
    rows = _rows(a, axis)
    order = order_of(rows.dtype, descending=descending, nan=nan)
    ranks = _ranks(kth, rows.columns)
    engine = engine_of(device)
    if rows.is_one:
        bits = words(rows.array)
        parted = np.empty(bits.size, bits.dtype)
        engine.partition(bits, order, *ranks, parted)
        values = parted.view(rows.dtype.newbyteorder("="))
    else:
        codes = encode(rows.array, order, merge=False)
        _sort_codes(engine, codes, rows.columns)
        values = decode(codes, order, rows.dtype)
    return rows.back(values).astype(rows.dtype, copy=False)


def argpartition(
    a: npt.ArrayLike,
    kth: int | Sequence[int],
    /,
    *,
    axis: int | None = -1,
    descending: bool = False,
    nan: str = "last",
    device: DeviceLike = None,
) -> np.ndarray:
    """Returns the indices of a `partition`. Parameters are those of `partition`.

    Examples
    --------
    >>> bcfsort.argpartition([5, 9, 2, 7], 1)[1]
    np.int64(0)
    """
    rows = _rows(a, axis)
    order = order_of(rows.dtype, descending=descending, nan=nan)
    ranks = _ranks(kth, rows.columns)
    engine = engine_of(device)
    if rows.is_one:
        bits = merging_words(rows.array, order)
        indices = np.empty(bits.size, np.int64)
        engine.argpartition(bits, order, *ranks, indices)
    else:
        codes = encode(rows.array, order, merge=True)
        indices = _argsort_codes(engine, codes, rows.columns)
    return rows.back(indices)


def _ranks(kth: int | Sequence[int], length: int) -> tuple[int, int]:
    """The smallest range of ranks that has all of these."""
    ranks = [operator.index(rank) for rank in np.atleast_1d(np.asarray(kth, object))]
    for rank in ranks:
        if not -length <= rank < length:
            raise ValueError(f"kth is {rank}, and the axis has {length} elements")
    positive = [rank % length for rank in ranks]
    return (min(positive), max(positive) + 1) if positive else (0, 0)


def is_sorted(
    a: npt.ArrayLike,
    /,
    *,
    axis: int | None = -1,
    descending: bool = False,
    nan: str = "last",
) -> bool:
    """Whether an array is sorted: all of its rows along an axis.

    Parameters are those of `sort`. Computed on the CPU, since the transfer would take longer.

    Examples
    --------
    >>> bcfsort.is_sorted([1, 2, 2])
    True
    """
    rows = _rows(a, axis)
    order: Order = order_of(rows.dtype, descending=descending, nan=nan)
    codes = encode(rows.array, order, merge=True).reshape(rows.array.shape)
    return bool(np.all(codes[..., :-1] <= codes[..., 1:]))

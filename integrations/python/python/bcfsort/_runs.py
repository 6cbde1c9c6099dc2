"""What the runs of a sorted array tell: unique values, their counts, and ranks."""

from __future__ import annotations

import operator
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import (
    as_array,
    encode,
    merging_words,
    missing_code,
    order_of,
    take,
    words,
)
from ._engines import DeviceLike, engine_of
from ._sort import _argsort_codes, _lexsort_codes, _rows, argsort


class UniqueAll(NamedTuple):
    """The distinct values of an array: their first indices, the inverse, and their counts."""

    values: np.ndarray
    indices: np.ndarray
    inverse_indices: np.ndarray
    counts: np.ndarray


class UniqueCounts(NamedTuple):
    """The distinct values of an array, and their counts."""

    values: np.ndarray
    counts: np.ndarray


class UniqueInverse(NamedTuple):
    """The distinct values of an array, and for each of its elements the index of its value."""

    values: np.ndarray
    inverse_indices: np.ndarray


class ValueCounts(NamedTuple):
    """The distinct values of an array, and their counts, the most frequent value first."""

    values: np.ndarray
    counts: np.ndarray


class _Groups(NamedTuple):
    """Equal elements, one group after another: where they start, and their indices."""

    values: np.ndarray
    starts: np.ndarray
    order: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        counts = np.empty(self.starts.size - 1, np.int64)
        _native.lengths(self.starts, counts)
        return counts

    @property
    def indices(self) -> np.ndarray:
        # (The order is stable: the first of a group has the smallest index.)
        return take(self.order, self.starts[:-1])

    @property
    def inverse(self) -> np.ndarray:
        inverse = np.empty(self.order.size, np.int64)
        _native.number(self.starts, self.order, inverse.size, "run", words(inverse))
        return inverse


def _groups(array: np.ndarray, equal_nan: bool, device: DeviceLike) -> _Groups:
    """The groups of all elements."""
    native = array.dtype.newbyteorder("=")
    order = order_of(native)
    flat = words(array).view(native)
    codes = encode(flat, order, merge=True)
    distinct = None if equal_nan else missing_code(native)
    indices = _argsort_codes(engine_of(device), codes, codes.size)
    _, starts = _native.runs(take(codes, indices), codes.size, distinct)
    values = take(flat, take(indices, starts[:-1]))
    return _Groups(values.astype(array.dtype, copy=False), starts, indices)


def _values(array: np.ndarray, equal_nan: bool, counted: bool, device: DeviceLike) -> _Groups:
    """The same without their order, and without the starts of groups unless ``counted``."""
    order = order_of(array.dtype)
    bits = merging_words(array, order)
    in_order = np.empty(bits.size, bits.dtype)
    engine_of(device).sort(bits, in_order, order)
    distinct, starts = _native.distinct(in_order, bits, order, equal_nan, counted)
    distinct = in_order if distinct is None else distinct
    values = distinct.view(array.dtype.newbyteorder("=")).astype(array.dtype, copy=False)
    none = np.empty(0, np.int64)
    return _Groups(values, none if starts is None else starts, none)


def _groups_along(array: np.ndarray, axis: int, equal_nan: bool, device: DeviceLike) -> _Groups:
    """The groups of equal subarrays along an axis, in lexicographic order."""
    order = order_of(array.dtype)
    rows = np.moveaxis(array, axis, 0)
    count = rows.shape[0]
    columns = rows.reshape(count, rows.size // count if count else 0).T
    engine = engine_of(device)
    codes = [encode(column, order, merge=True) for column in columns]
    indices = _lexsort_codes(engine, reversed(codes), count)
    # Rows that are equal get the same number, so that numbers have the runs of the rows.
    starts = np.zeros(count, np.bool_)
    distinct = None if equal_nan else missing_code(array.dtype)
    for column in codes:
        column = take(column, indices)
        starts[1:] |= column[1:] != column[:-1]
        if distinct is not None:
            starts |= column >= distinct
    numbers = np.cumsum(starts, dtype=np.uint32)
    _, begins = _native.runs(numbers, count, None)
    values = np.take(rows, take(indices, begins[:-1]), axis=0)
    return _Groups(np.moveaxis(values, 0, axis), begins, indices)


@overload
def unique(
    a: npt.ArrayLike,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    device: DeviceLike = None,
) -> np.ndarray: ...


@overload
def unique(
    a: npt.ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    device: DeviceLike = None,
) -> Any: ...


def unique(
    a: npt.ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    device: DeviceLike = None,
) -> Any:
    """Returns the distinct values of an array, sorted.

    Parameters
    ----------
    a
        An array, or what numpy makes one of, of the types that `sort` takes.
    return_index
        Also return the index of the first element with each value.
    return_inverse
        Also return the index of its value for each element: ``values[inverse]`` is the array. It
        has the shape of the array, or with an ``axis`` that length.
    return_counts
        Also return how often each value occurs.
    axis
        None: the values of the flattened array. Otherwise the distinct subarrays along the axis,
        in lexicographic order.
    equal_nan
        All NaNs, or NaTs, are one value. Otherwise each of them is a value of its own.
    device
        As in `sort`.

    Returns the values alone, or a tuple of all that is asked for, in the order of the parameters,
    as `numpy.unique` does. Indices and counts are of int64.

    NaN and NaT come last. Where equal elements have different bits, as -0 and 0 or two NaNs, the
    first in the array stands for all, whatever else is asked for. (numpy returns the one that its
    sort or its hash table has put first.) With an ``axis``, numpy ignores ``equal_nan`` in arrays
    of two and more dimensions, and takes each NaN for a value of its own; here it has an effect.

    O(n log n) time, or with an ``axis`` this time for each element of a subarray. Without index,
    inverse and axis only values are sorted, which takes memory for a copy of the array and for the
    result; otherwise it takes memory for two to four copies.

    Examples
    --------
    >>> bcfsort.unique([3, 1, 3, 2, 3])
    array([1, 2, 3])
    >>> bcfsort.unique([3, 1, 3, 2, 3], return_index=True, return_counts=True)
    (array([1, 2, 3]), array([1, 3, 0]), array([1, 1, 3]))
    >>> bcfsort.unique([[0, 1], [0, 0], [0, 1]], axis=0)
    array([[0, 0],
           [0, 1]])
    """
    array = as_array(a)
    if axis is None or array.ndim == 1:
        if axis is not None:
            _checked(axis, array.ndim)
        if return_index or return_inverse:
            groups = _groups(array, equal_nan, device)
        else:
            groups = _values(array, equal_nan, bool(return_counts), device)
        shape = array.shape
    else:
        axis = _checked(axis, array.ndim)
        groups = _groups_along(array, axis, equal_nan, device)
        shape = array.shape[axis : axis + 1]
    results = [groups.values]
    if return_index:
        results.append(groups.indices)
    if return_inverse:
        results.append(groups.inverse.reshape(shape))
    if return_counts:
        results.append(groups.counts)
    return tuple(results) if len(results) > 1 else results[0]


def _checked(axis: int, ndim: int) -> int:
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def unique_all(x: npt.ArrayLike, /, *, device: DeviceLike = None) -> UniqueAll:
    """Returns the distinct values, their first indices, the inverse, and the counts.

    As the array API defines it: each NaN is a value of its own. Otherwise as `unique`.

    Examples
    --------
    >>> bcfsort.unique_all([3, 1, 3]).inverse_indices
    array([1, 0, 1])
    """
    return UniqueAll(*unique(x, True, True, True, equal_nan=False, device=device))


def unique_counts(x: npt.ArrayLike, /, *, device: DeviceLike = None) -> UniqueCounts:
    """Returns the distinct values and their counts.

    As the array API defines it: each NaN is a value of its own. Otherwise as `unique`.

    Examples
    --------
    >>> bcfsort.unique_counts([3, 1, 3])
    UniqueCounts(values=array([1, 3]), counts=array([1, 2]))
    """
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False, device=device))


def unique_inverse(x: npt.ArrayLike, /, *, device: DeviceLike = None) -> UniqueInverse:
    """Returns the distinct values, and for each element the index of its value.

    As the array API defines it: each NaN is a value of its own. Otherwise as `unique`.

    Examples
    --------
    >>> bcfsort.unique_inverse([3, 1, 3])
    UniqueInverse(values=array([1, 3]), inverse_indices=array([1, 0, 1]))
    """
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False, device=device))


def unique_values(x: npt.ArrayLike, /, *, device: DeviceLike = None) -> np.ndarray:
    """Returns the distinct values, sorted.

    As the array API defines it: each NaN is a value of its own. Otherwise as `unique`.

    Examples
    --------
    >>> bcfsort.unique_values([3, 1, 3])
    array([1, 3])
    """
    return unique(x, equal_nan=False, device=device)


def value_counts(
    a: npt.ArrayLike,
    /,
    *,
    sort: bool = True,
    equal_nan: bool = True,
    device: DeviceLike = None,
) -> ValueCounts:
    """Returns the distinct values of an array and their counts, the most frequent value first.

    Parameters
    ----------
    sort
        False: the values are in ascending order instead.

    Values that are equally frequent are in ascending order. NaN and NaT are counted. Other
    parameters, time and memory are those of `unique`, and of an `argsort` of the counts.

    Examples
    --------
    >>> bcfsort.value_counts([3, 1, 2, 3, 2])
    ValueCounts(values=array([2, 3, 1]), counts=array([2, 2, 1]))
    """
    values, counts = unique(a, return_counts=True, equal_nan=equal_nan, device=device)
    if sort:
        order = argsort(counts, descending=True, device=device)
        values, counts = take(values, order), take(counts, order)
    return ValueCounts(values, counts)


_METHODS = ("average", "min", "max", "dense", "ordinal")


def rank(
    a: npt.ArrayLike,
    method: str = "average",
    *,
    axis: int | None = None,
    descending: bool = False,
    nan_policy: str = "propagate",
    device: DeviceLike = None,
) -> np.ndarray:
    """Returns the rank of each element, from 1, as ``scipy.stats.rankdata`` does.

    Parameters
    ----------
    method
        The rank of equal elements: ``"average"``, ``"min"`` or ``"max"`` of their positions in the
        sorted array; ``"dense"``: the number of distinct values up to theirs; ``"ordinal"``: their
        own positions, in the order of the array.
    axis
        The axis along which to rank; None ranks all elements of the flattened array.
    descending
        The greatest element has rank 1.
    nan_policy
        ``"propagate"``: all ranks along an axis with a NaN or NaT are NaN. ``"omit"``: those of NaN
        and NaT are. ``"raise"``: they are a ValueError.
    device
        As in `sort`.

    The result is float64 for ``"average"`` and where there is a NaN, and else int64; it is
    one-dimensional if ``axis`` is None. -0 equals 0. O(n log n) time, for an `argsort` and two
    passes. Takes memory for some five arrays of int64.

    Examples
    --------
    >>> bcfsort.rank([30, 10, 30, 20])
    array([3.5, 1. , 3.5, 2. ])
    >>> bcfsort.rank([30, 10, 30, 20], "dense", descending=True)
    array([1, 3, 1, 2])
    """
    if method not in _METHODS:
        raise ValueError(f"method is one of {', '.join(_METHODS)}, not {method!r}")
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(f"nan_policy is 'propagate', 'omit' or 'raise', not {nan_policy!r}")
    rows = _rows(a, axis)
    order = order_of(rows.dtype, descending=descending)
    engine = engine_of(device)
    codes = encode(rows.array, order, merge=True)
    least_missing = missing_code(rows.dtype, descending=descending)
    missing = None if least_missing is None else codes >= least_missing
    if missing is not None and not missing.any():
        missing = None
    if missing is not None and nan_policy == "raise":
        raise ValueError("the array has NaN or NaT, and nan_policy is 'raise'")
    columns = max(rows.columns, 1)
    indices = _argsort_codes(engine, codes, columns)
    if columns < codes.size:
        indices += np.repeat(np.arange(0, codes.size, columns), columns)
    _, starts = _native.runs(take(codes, indices), columns, None)
    ranks = np.empty(codes.size, np.float64 if method == "average" else np.int64)
    _native.number(starts, indices, columns, method, words(ranks))
    if missing is not None:
        ranks = ranks.astype(np.float64, copy=False)
        if nan_policy == "propagate":
            missing = np.repeat(missing.reshape(-1, columns).any(axis=1), columns)
        ranks[missing] = np.nan
    return rows.back(ranks)

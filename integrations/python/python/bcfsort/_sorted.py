"""Searches in sorted arrays, and their merge."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import as_array, order_of, take, words


def searchsorted(
    a: npt.ArrayLike,
    v: npt.ArrayLike,
    side: str = "left",
    sorter: npt.ArrayLike | None = None,
) -> Any:
    """Returns the indices at which values belong in a sorted array, as `numpy.searchsorted` does.

    Parameters
    ----------
    a
        A one-dimensional array in ascending order, NaN or NaT last: as `sort` returns it.
    v
        The values, of any shape.
    side
        ``"left"``: before all elements that are equal to the value. ``"right"``: after them.
    sorter
        The indices that sort ``a``, as `argsort` returns them, if it is not sorted.

    Both arrays are converted to a common type first, if they have different ones. Returns an array
    of int64 of the shape of ``v``, and a number for a number. -0 equals 0, and all NaNs are equal.
    O(m log n) time on all cores, never on a GPU, since the transfer would take longer. Takes no
    memory but for the result, unless an array has to be converted or is not contiguous. If ``a`` is
    not sorted, the result is unspecified.

    Examples
    --------
    >>> bcfsort.searchsorted([10, 20, 20, 30], [20, 25])
    array([1, 3])
    >>> bcfsort.searchsorted([10, 20, 20, 30], 20, side="right")
    np.int64(3)
    """
    if side not in ("left", "right"):
        raise ValueError(f"side is 'left' or 'right', not {side!r}")
    array, needles = as_array(a), as_array(v)
    if array.ndim != 1:
        raise ValueError(f"the sorted array has one dimension, not {array.ndim}")
    dtype = np.promote_types(array.dtype, needles.dtype)
    order = order_of(dtype)
    indices = None
    if sorter is not None:
        indices = as_array(sorter)
        if indices.dtype.kind not in "iu":
            raise TypeError(f"a sorter has integers, not {indices.dtype}")
        if indices.shape != array.shape:
            raise ValueError(f"a sorter of shape {indices.shape} for {array.size} elements")
        indices = np.ascontiguousarray(indices, np.int64)
    out = np.empty(needles.size, np.int64)
    _native.search(
        words(array.astype(dtype, copy=False)),
        words(needles.astype(dtype, copy=False)),
        order,
        side == "right",
        indices,
        out,
    )
    return out.reshape(needles.shape)[()]


@overload
def merge_sorted(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    /,
    *,
    values: None = None,
    descending: bool = False,
    nan: str = "last",
) -> np.ndarray: ...


@overload
def merge_sorted(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    /,
    *,
    values: tuple[npt.ArrayLike, npt.ArrayLike],
    descending: bool = False,
    nan: str = "last",
) -> tuple[np.ndarray, np.ndarray]: ...


def merge_sorted(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    /,
    *,
    values: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    descending: bool = False,
    nan: str = "last",
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """Merges two sorted arrays.

    Parameters
    ----------
    a, b
        One-dimensional arrays, sorted as `sort` does with the same ``descending`` and ``nan``.
    values
        A pair of arrays with a row for each element of ``a`` and of ``b``. Then the result is a
        pair, too: the merged array, and the values in the same order.

    Stable: of equal elements, those of ``a`` come first. Where -0 equals 0 and all NaNs are equal,
    as in `argsort`, they keep their order. The type of the result is that of
    ``numpy.concatenate``. O(n + m) time on all cores, never on a GPU, since the transfer would take
    longer. Takes memory for the result, and with values for the indices. If an array is not
    sorted, the result has all elements in an unspecified order.

    Examples
    --------
    >>> bcfsort.merge_sorted([1, 3, 5], [2, 3])
    array([1, 2, 3, 3, 5])
    >>> bcfsort.merge_sorted([1, 3], [2, 3], values=(["a", "b"], ["c", "d"]))
    (array([1, 2, 3, 3]), array(['a', 'c', 'b', 'd'], dtype='<U1'))
    """
    first, second = as_array(a), as_array(b)
    for array in (first, second):
        if array.ndim != 1:
            raise ValueError(f"sorted arrays have one dimension, not {array.ndim}")
    dtype = np.result_type(first.dtype, second.dtype)
    order = order_of(dtype, descending=descending, nan=nan)
    merged = np.empty(first.size + second.size, dtype.newbyteorder("="))
    indices = None if values is None else np.empty(merged.size, np.int64)
    _native.merge(
        words(first.astype(dtype, copy=False)),
        words(second.astype(dtype, copy=False)),
        order,
        words(merged),
        indices,
    )
    merged = merged.astype(dtype, copy=False)
    if values is None or indices is None:
        return merged
    of_first, of_second = (as_array(each) for each in values)
    for rows, array in ((of_first, first), (of_second, second)):
        if rows.ndim == 0 or rows.shape[0] != array.size:
            raise ValueError(f"values of shape {rows.shape} for {array.size} elements")
    return merged, take(np.concatenate([of_first, of_second]), indices)

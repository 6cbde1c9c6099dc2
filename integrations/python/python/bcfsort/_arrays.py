"""Arrays as one-dimensional arrays of unsigned codes, whose ascending order is the wanted one."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _native
from ._native import Order

# numpy's kinds of dtypes that have an order of their own: bool, integers, floats, times.
_KINDS = "buifmM"

# The unsigned integers of each size in bytes.
_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def as_array(a: Any) -> np.ndarray:
    """The numpy array of an array-like object, of DLPack's CPU tensors too."""
    if type(a) is np.ndarray:
        return a
    if isinstance(a, np.ma.MaskedArray):
        raise TypeError("masked arrays have no order here: sort a.compressed(), or use numpy.ma")
    if isinstance(a, np.ndarray):
        return np.asarray(a)
    device = getattr(a, "__dlpack_device__", None)
    if device is None or hasattr(a, "__array_interface__"):
        return np.asarray(a)
    # Of DLPack's types of devices, 1 is the CPU, and 3 is memory of the CPU that a GPU can read.
    if device()[0] not in (1, 3):
        raise TypeError(
            "the tensor is in the memory of a GPU, which cannot be shared with this sorter: "
            "move it to the CPU first, e.g. by tensor.cpu()"
        )
    return np.from_dlpack(a)


def flags(what: str, value: Any, count: int, of: str = "columns") -> list[bool]:
    """An argument that is a bool for all columns, or a list of one for each."""
    if isinstance(value, (bool, int, np.bool_, np.integer)):
        return [bool(value)] * count
    each = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    for one in each:
        if not isinstance(one, (bool, int, np.bool_, np.integer)):
            raise ValueError(f"{what} is True or False, or a list of these, not {value!r}")
    if len(each) != count:
        raise ValueError(f"{what} has {len(each)} values for {count} {of}")
    return [bool(one) for one in each]


def order_of(dtype: np.dtype, *, descending: bool = False, nan: str = "last") -> Order:
    """The order of the values of a dtype."""
    if not isinstance(descending, bool):
        descending = flags("descending", descending, 1)[0]
    return _order_of(dtype, descending, nan)


@functools.lru_cache(maxsize=256)
def _order_of(dtype: np.dtype, descending: bool, nan: str) -> Order:
    if nan not in ("last", "total"):
        raise ValueError(f"nan is 'last' or 'total', not {nan!r}")
    # ml_dtypes registers its types with numpy as kind 'V', and has no common base class.
    kind = "E" if dtype.name == "bfloat16" else dtype.kind
    # (Of its floats of 8 bits, some are of kind 'f'.)
    smallest = 2 if kind == "f" else 1
    if kind not in _KINDS + "E" or not smallest <= dtype.itemsize <= 8:
        raise TypeError(f"cannot sort arrays of {dtype}: {_advice(dtype)}")
    return Order(kind, dtype.itemsize * 8, descending, nan == "last")


def _advice(dtype: np.dtype) -> str:
    if dtype.names:
        return "sort by its fields with lexsort, or give a table to sort_table"
    if dtype.kind in "OSUT":
        return "give a column of strings to sort_table, or use numpy"
    return "bool, integers, floats of up to 64 bits, datetime64 and timedelta64 have an order here"


def words(array: np.ndarray) -> np.ndarray:
    """The bits of an array in C order and native byte order, as a one-dimensional array."""
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned and array.dtype.isnative):
        dtype = array.dtype.newbyteorder("=")
        array = np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])
    if array.ndim != 1:
        array = array.reshape(-1)
    return array.view(_UNSIGNED[array.itemsize])


def merging_words(array: np.ndarray, order: Order) -> np.ndarray:
    """The same, for what treats values that compare equal alike."""
    bits = words(array)
    # (In numpy every byte but 0 is True.)
    return (bits != 0).view(np.uint8) if order.kind == "b" else bits


def encode(array: np.ndarray, order: Order, *, merge: bool) -> np.ndarray:
    """The codes of all elements in C order, as a new array of uint32 or uint64.

    With ``merge``, values that compare equal have one code. Otherwise `decode` is the way back.
    """
    bits = merging_words(array, order) if merge else words(array)
    codes = np.empty(bits.size, _UNSIGNED[max(bits.itemsize, 4)])
    _native.encode(bits, codes, order, merge)
    return codes


def missing_code(dtype: np.dtype, *, descending: bool = False) -> int | None:
    """The code of NaN or NaT if equal values have one code. No other code is as great."""
    order = order_of(dtype, descending=descending)
    if order.kind not in "fEmM":
        return None
    missing = np.array(["NaT"] if order.kind in "mM" else [np.nan], dtype)
    return int(encode(missing, order, merge=True)[0])


def decode(codes: np.ndarray, order: Order, dtype: np.dtype) -> np.ndarray:
    """The values of codes, in the memory of the codes if it has the right size."""
    dtype = dtype.newbyteorder("=")
    if dtype.itemsize == codes.itemsize:
        _native.decode(codes, None, order)
        return codes.view(dtype)
    bits = np.empty(codes.size, _UNSIGNED[dtype.itemsize])
    _native.decode(codes, bits, order)
    return bits.view(dtype)


def take(values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The rows of an array at these indices, on all cores where that is possible."""
    if values.ndim != 1 or values.dtype.hasobject or values.itemsize not in (1, 2, 4, 8):
        return np.take(values, indices, axis=0)
    values = np.require(values, None, ["C_CONTIGUOUS", "ALIGNED"])
    out = np.empty(indices.size, values.dtype)
    unsigned = _UNSIGNED[values.itemsize]
    _native.take(values.view(unsigned), np.ascontiguousarray(indices, np.int64), out.view(unsigned))
    return out

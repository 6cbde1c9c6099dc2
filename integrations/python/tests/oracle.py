"""The expected order of arrays, by numpy alone."""

import numpy as np


def code(array, *, descending=False, nan="last", merge=True):
    """Integers in the expected order, of the same shape. Slow and plain."""
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    if array.dtype.kind in "mM":
        values = array.view(np.int64)
        ranks = _ranks(values)
        missing = np.isnat(array)
    elif array.dtype.kind in "fV":
        if nan == "total":
            bits = array.view(f"u{array.itemsize}")
            sign = np.array(1 << (array.itemsize * 8 - 1), bits.dtype)
            ranks = _ranks(np.where(bits & sign, ~bits, bits | sign))
            missing = np.zeros(array.shape, bool)
        else:
            values = _wide(array)
            missing = np.isnan(values)
            ranks = _ranks(np.where(missing, 0, values))
            if not merge:
                ranks = 2 * ranks + ~np.signbit(values)
    else:
        ranks, missing = _ranks(array), np.zeros(array.shape, bool)
    if descending:
        ranks = -ranks
    return np.where(missing, np.iinfo(np.int64).max, ranks)


def _wide(floats):
    # Signalling NaNs raise a flag of the processor.
    with np.errstate(invalid="ignore"):
        return floats.astype(np.float64)


def _ranks(values):
    return np.unique(values, return_inverse=True)[1].reshape(values.shape).astype(np.int64)


def argsort(array, axis=-1, **order):
    """The stable order along an axis."""
    return np.argsort(code(array, **order), axis=axis, kind="stable")


def bits(array):
    """The bits of an array, where NaNs of all payloads are one."""
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    words = array.reshape(-1).view(f"u{array.itemsize}").reshape(array.shape)
    if array.dtype.kind in "fV":
        words = np.where(np.isnan(_wide(array)), 0, words)
    return words


def sort(array, axis=-1, **order):
    """The sorted array: zeros in the order of their signs."""
    indices = argsort(array, axis, merge=False, **order)
    return np.take_along_axis(array, indices, axis)

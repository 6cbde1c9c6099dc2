"""Sorts numpy arrays and Arrow tables on any vendor's GPU.

>>> import bcfsort
>>> import numpy as np
>>> bcfsort.sort(np.array([2.5, -1.0, np.nan, 0.0], np.float32))
array([-1. ,  0. ,  2.5,  nan], dtype=float32)

Large arrays are sorted on the GPU, by way of Vulkan, Metal or DX12, and small ones by numpy. The
result is the same. ``device="cpu"`` is always numpy. With ``BCFSORT_REQUIRE_ADAPTER=1`` in the
environment every sort without a ``device`` takes the best adapter. ``BCFSORT_DEVICE`` names another
adapter than the best, by its number or a part of its name.
"""

from ._engines import Device, Sorter, devices
from ._errors import Error, NoAdapterError, NoAdapterWarning, OutOfMemoryError
from ._runs import (
    UniqueAll,
    UniqueCounts,
    UniqueInverse,
    ValueCounts,
    rank,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    value_counts,
)
from ._sort import (
    TopK,
    argpartition,
    argsort,
    is_sorted,
    lexsort,
    partition,
    sort,
    sort_by_key,
    topk,
)
from ._sorted import merge_sorted, searchsorted
from ._table import sort_indices, sort_table

__all__ = [
    "Device",
    "Error",
    "NoAdapterError",
    "NoAdapterWarning",
    "OutOfMemoryError",
    "Sorter",
    "TopK",
    "UniqueAll",
    "UniqueCounts",
    "UniqueInverse",
    "ValueCounts",
    "argpartition",
    "argsort",
    "devices",
    "is_sorted",
    "lexsort",
    "merge_sorted",
    "partition",
    "rank",
    "searchsorted",
    "sort",
    "sort_by_key",
    "sort_indices",
    "sort_table",
    "topk",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "value_counts",
]

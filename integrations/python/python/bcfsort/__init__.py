"""Sorts numpy arrays and Arrow tables on any vendor's GPU.

>>> import bcfsort
>>> import numpy as np
>>> bcfsort.sort(np.array([2.5, -1.0, np.nan, 0.0], np.float32))
array([-1. ,  0. ,  2.5,  nan], dtype=float32)

Each array is sorted on a GPU, by way of Vulkan, Metal or DX12, or on the CPU, whichever is
estimated to take less time. The result is the same. The argument ``device`` names another device,
as does ``WGPU_BCFSORT_DEVICE`` in the environment. With ``WGPU_BCFSORT_REQUIRE_ADAPTER=1`` in the
environment every sort without a ``device`` takes the best adapter.
"""

from ._engines import Device, Sorter, devices
from ._errors import (
    DeviceFailedWarning,
    Error,
    NoAdapterError,
    NoAdapterWarning,
    OutOfMemoryError,
)
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
    "DeviceFailedWarning",
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

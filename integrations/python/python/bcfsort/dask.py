"""Sorts of Dask's DataFrames, over several machines. Needs Dask, pandas and pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dask.dataframe as dd
import numpy as np
import pandas as pd

from . import pandas
from ._arrays import flags

# The columns that are added to the rows while they are moved.
_PARTITION = "__bcfsort_partition__"
_ROW = "__bcfsort_row__"
_INDEX = "__bcfsort_index__"
_WEIGHT = "__bcfsort_weight__"

# A row's number has that of its partition above these bits.
_ROW_BITS = 40

# The rows of each partition from which the splitters are chosen. Sizes of partitions then deviate
# from their mean by about 1 / sqrt(256) = 6 %.
_SAMPLE = 256


class _Order(NamedTuple):
    """The order of the rows. The number of the row is the last key, which makes it stable."""

    by: list[str]
    ascending: list[bool]
    na_position: str
    device: int | str | None

    def indices(self, frame: pd.DataFrame, device: int | str | None) -> np.ndarray:
        columns = [frame[name] for name in [*self.by, _ROW]]
        ascending = [*self.ascending, True]
        return pandas.sort_indices(columns, ascending, self.na_position, device)


def sort_values(
    frame: Any,
    by: str | Sequence[str],
    *,
    ascending: bool | Sequence[bool] = True,
    na_position: str = "last",
    ignore_index: bool = False,
    npartitions: int | None = None,
    shuffle_method: str | None = None,
    device: int | str | None = None,
) -> Any:
    """Returns a Dask DataFrame sorted by columns: its partitions in order, and the rows in each.

    The result is that of pandas' ``sort_values(kind="stable")``. A sample of the rows is sorted to
    choose splitters between the partitions. Workers find the partition of each row, Dask moves the
    rows there, and the workers sort their partitions with `bcfsort.pandas.sort_values`.

    Parameters
    ----------
    frame
        A DataFrame of Dask, of pandas' partitions.
    by, ascending, na_position
        As in `bcfsort.pandas.sort_values`.
    ignore_index
        The index is not moved with the rows, and numbers the rows of each partition from 0.
    npartitions
        The number of partitions of the result; None: that of ``frame``.
    shuffle_method
        How Dask moves rows: ``"p2p"``, ``"tasks"`` or ``"disk"``. None: its choice.
    device
        As in `bcfsort.sort`, on each worker. None: a GPU or the CPU, whichever is faster for the
        partition.

    The keys of ``frame`` are computed twice: for the sample, in the call, and for the sort. To
    compute ``frame`` once, ``persist()`` it. Partitions have about the same size whatever the keys
    are, since rows with equal keys may come to neighbouring partitions.

    Raises
    ------
    KeyError
        There is no such column.
    TypeError
        A column has no order here, its categories are not known, or a name is no string.

    Examples
    --------
    >>> import dask.dataframe as dd, pandas as pd
    >>> frame = dd.from_pandas(pd.DataFrame({"k": [3, 1, 2, 5]}), npartitions=2)
    >>> bcfsort.dask.sort_values(frame, "k").compute()
       k
    1  1
    2  2
    0  3
    3  5
    """
    order = _order(frame, by, ascending, na_position, device)
    npartitions = npartitions or frame.npartitions
    meta, added = frame._meta, {_ROW: np.int64(), _PARTITION: np.int64()}
    sample = frame[order.by].map_partitions(
        _sample, meta=meta[order.by].assign(**{_ROW: np.int64(), _WEIGHT: np.float64()})
    )
    splitters = _splitters(sample.compute(), order, npartitions)
    if not ignore_index:
        added[_INDEX] = meta.index
    rows = frame.map_partitions(
        _number, splitters, order, ignore_index, meta=meta.assign(**added), align_dataframes=False
    )
    # (With these divisions, the index is the number of the partition.)
    moved = rows.set_index(
        _PARTITION, divisions=list(range(npartitions + 1)), shuffle_method=shuffle_method
    )
    result = meta.reset_index(drop=True) if ignore_index else meta
    return moved.map_partitions(
        _sort, order, result, meta=result, align_dataframes=False, clear_divisions=True
    )


def _order(
    frame: Any,
    by: str | Sequence[str],
    ascending: bool | Sequence[bool],
    na_position: str,
    device: int | str | None,
) -> _Order:
    if not isinstance(frame, dd.DataFrame):
        raise TypeError(f"{type(frame).__name__} is no DataFrame of Dask: see bcfsort.pandas")
    if na_position not in ("first", "last"):
        raise ValueError(f"na_position is 'first' or 'last', not {na_position!r}")
    if not all(isinstance(name, str) for name in frame.columns):
        raise TypeError("Dask moves columns whose names are strings: use frame.rename(columns=str)")
    names = [by] if isinstance(by, str) else list(by)
    if not names:
        raise ValueError("by names at least one column")
    directions = flags("ascending", ascending, len(names))
    columns = list(frame.columns)
    for name in names:
        if name not in columns:
            labels = ", ".join(map(repr, columns))
            raise KeyError(f"no column {name!r}: there are {labels}; reset_index() makes one of it")
        if columns.count(name) > 1:
            raise ValueError(f"there is more than one column {name!r}")
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype) and not column.cat.known:
            raise TypeError(
                f"column {name!r}: its categories may differ between partitions: call "
                f"frame.categorize([{name!r}]) first"
            )
    return _Order(names, directions, na_position, device)


def _rows(frame: pd.DataFrame, partition_info: dict[str, Any]) -> np.ndarray:
    """The numbers of rows, which ascend from partition to partition."""
    first: int = partition_info["number"] << _ROW_BITS
    return np.arange(first, first + len(frame), dtype=np.int64)


def _sample(keys: pd.DataFrame, *, partition_info: dict[str, Any]) -> pd.DataFrame:
    """Random rows of a partition, each with the number of rows for which it stands."""
    # The same in every run: a task that is computed again has the same result.
    random = np.random.default_rng(partition_info["number"])
    chosen = np.unique(random.integers(0, max(len(keys), 1), _SAMPLE))[: len(keys)]
    rows = _rows(keys, partition_info)[chosen]
    return keys.iloc[chosen].assign(**{_ROW: rows, _WEIGHT: len(keys) / max(len(chosen), 1)})


def _splitters(sample: pd.DataFrame, order: _Order, npartitions: int) -> pd.DataFrame:
    """The first rows of all partitions but the first."""
    # (The caller may have no GPU.)
    sample = sample.iloc[order.indices(sample, "cpu")]
    weights = sample[_WEIGHT].to_numpy().cumsum()
    sample = sample.drop(columns=_WEIGHT)
    if sample.empty:
        return sample
    ranks = np.searchsorted(weights, weights[-1] * np.arange(1, npartitions) / npartitions)
    return sample.iloc[np.unique(ranks)]


def _number(
    frame: pd.DataFrame,
    splitters: pd.DataFrame,
    order: _Order,
    ignore_index: bool,
    *,
    partition_info: dict[str, Any],
) -> pd.DataFrame:
    """The rows of a partition, with the number of the partition to which they go."""
    keys = frame[order.by].assign(**{_ROW: _rows(frame, partition_info)})
    # A row's partition is the number of splitters before it. The sort itself finds it, so the
    # order between partitions is that within them, for all types and missing values.
    indices = order.indices(pd.concat([splitters, keys]), order.device)
    partitions = np.empty(len(indices), np.int64)
    partitions[indices] = np.cumsum(indices < len(splitters))
    added = {_ROW: keys[_ROW], _PARTITION: partitions[len(splitters) :]}
    if not ignore_index:
        added[_INDEX] = frame.index
    return frame.assign(**added)


def _sort(frame: pd.DataFrame, order: _Order, meta: pd.DataFrame) -> pd.DataFrame:
    """The sorted rows of a partition, without the columns that have been added."""
    frame = frame.take(order.indices(frame, order.device))
    index: pd.Index = pd.RangeIndex(len(frame))
    if _INDEX in frame:
        index = pd.Index(frame[_INDEX]).rename(meta.index.name)
    result = frame[list(meta.columns)].set_axis(index)
    result.columns = meta.columns
    return result

"""Sorts of Dask's DataFrames, over several machines. Needs Dask, pandas and pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import pandas


def sort_values(
    frame: Any,
    by: str | Sequence[str],
    *,
    ascending: bool | Sequence[bool] = True,
    na_position: str = "last",
    ignore_index: bool = False,
    device: int | str | None = None,
    **options: Any,
) -> Any:
    """Returns a Dask DataFrame sorted by columns: its partitions in order, and the rows in each.

    Dask partitions the rows by ranges of the first column, which moves them between the workers,
    and each worker sorts its partitions with `bcfsort.pandas.sort_values`.

    Parameters
    ----------
    frame
        A DataFrame of Dask, of pandas' partitions.
    by, ascending, na_position, ignore_index
        As in `bcfsort.pandas.sort_values`.
    device
        As in `bcfsort.sort`, on each worker. None: a GPU for large partitions, and else the CPU.
    options
        Those of Dask's ``DataFrame.sort_values``, such as ``npartitions`` and ``shuffle_method``.

    Rows with equal keys are in no particular order: Dask's shuffle does not keep it. All rows of
    one value of the first column are in one partition. It samples the first column when it is
    called, and sorts when the result is computed.

    Examples
    --------
    >>> import dask.dataframe as dd, pandas as pd
    >>> frame = dd.from_pandas(pd.DataFrame({"k": [3, 1, 2, 5]}), npartitions=2)
    >>> bcfsort.dask.sort_values(frame, "k")["k"].compute().tolist()
    [1, 2, 3, 5]
    """
    arguments: Mapping[str, Any] = {"device": device}
    return frame.sort_values(
        [by] if isinstance(by, str) else list(by),
        ascending=ascending if isinstance(ascending, bool) else list(ascending),
        na_position=na_position,
        ignore_index=ignore_index,
        sort_function=pandas.sort_values,
        sort_function_kwargs=arguments,
        **options,
    )

"""Sorts of pandas' DataFrames and Series. Needs pandas and pyarrow."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from . import _native, _table
from ._arrays import flags
from ._engines import DeviceLike

Frame = TypeVar("Frame", pd.DataFrame, pd.Series)


def sort_values(
    frame: Frame,
    by: Hashable | list[Hashable] = None,
    *,
    ascending: bool | Sequence[bool] = True,
    na_position: str = "last",
    ignore_index: bool = False,
    device: DeviceLike = None,
) -> Frame:
    """Returns a sorted DataFrame or Series: pandas' own ``sort_values(kind="stable")``.

    Parameters
    ----------
    frame
        A DataFrame, or a Series.
    by
        A label of a column or the name of a level of the index, or a list of several, the primary
        one first. A Series has none.
    ascending
        For all columns, or one for each.
    na_position
        ``"last"`` or ``"first"``: where missing values come, NaN among them, in both directions.
    ignore_index
        Numbers the rows of the result from 0.
    device
        As in `bcfsort.sort`.

    Columns are of numbers, bools, strings, bytes, dates, times, decimals, and of categories, which
    have the order of the categories. Of other values, such as intervals and Python objects, pandas
    computes the ranks. pandas gathers the rows.

    Raises
    ------
    KeyError
        There is no such column.
    ValueError
        There are several, or ``ascending`` does not fit.
    TypeError
        The values of a column have no order.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"city": ["Oslo", "Bonn", "Oslo"], "price": [3, 1, 2]})
    >>> bcfsort.pandas.sort_values(frame, ["city", "price"])
       city  price
    1  Bonn      1
    2  Oslo      2
    0  Oslo      3
    """
    if na_position not in ("first", "last"):
        raise ValueError(f"na_position is 'first' or 'last', not {na_position!r}")
    if isinstance(frame, pd.Series):
        if by is not None:
            raise TypeError("a Series has no columns to sort by")
        columns = [frame]
    else:
        if by is None:
            raise TypeError("by names the columns to sort by")
        columns = [_column(frame, name) for name in (by if isinstance(by, list) else [by])]
        if not columns:
            return frame.copy(deep=False)
    result = frame.take(sort_indices(columns, ascending, na_position, device))
    return result.reset_index(drop=True) if ignore_index else result


def sort_indices(
    columns: Sequence[pd.Series],
    ascending: bool | Sequence[bool],
    na_position: str,
    device: DeviceLike,
) -> np.ndarray:
    """The positions of rows in the order of columns, the primary one first."""
    directions = flags("ascending", ascending, len(columns))
    names = [str(number) for number in range(len(columns))]
    arrays = [_arrow(column) for column in columns]
    return _table.sort_indices(
        pa.table(dict(zip(names, arrays, strict=True))),
        names,
        descending=[not direction for direction in directions],
        nulls_last=na_position == "last",
        device=device,
    )


def _column(frame: pd.DataFrame, name: Hashable) -> pd.Series:
    """A column, or a level of the index."""
    is_column = name in frame.columns
    if name is not None and name in frame.index.names:
        if is_column:
            raise ValueError(f"{name!r} is both a column and a level of the index")
        if frame.index.names.count(name) > 1:
            raise ValueError(f"there is more than one level {name!r} of the index")
        return pd.Series(frame.index.get_level_values(name), name=name)
    if not is_column:
        labels = ", ".join(map(repr, frame.columns[:20]))
        raise KeyError(f"no column or level of the index {name!r}: there are {labels}")
    column = frame[name]
    if isinstance(column, pd.DataFrame):
        raise ValueError(f"there is more than one column {name!r}")
    return column


def _arrow(column: pd.Series) -> Any:
    """A column as an Arrow array in which NaN is null."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _codes(column.cat)
    try:
        array = pa.Array.from_pandas(column)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        array = None
    # Of what Arrow does not read or order, pandas finds the ranks.
    if array is None or not _native.has_order(array.type):
        try:
            return _codes(pd.Categorical(column, ordered=True))
        except (TypeError, ValueError, NotImplementedError) as error:
            message = f"column {column.name!r}: {column.dtype} has no order ({error})"
            raise TypeError(message) from None
    # Arrow's own types keep NaN beside null; pandas sorts both as missing.
    if pa.types.is_floating(array.type):
        import pyarrow.compute as pc

        array = pc.if_else(pc.is_nan(array), None, array)
    return array


def _codes(categories: Any) -> Any:
    """The numbers of categories, in their order, null if missing."""
    codes = np.asarray(categories.codes)
    return pa.array(codes, mask=codes < 0)

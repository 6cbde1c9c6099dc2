"""Sorts of pandas' DataFrames and Series. Needs pandas and pyarrow."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from . import _table
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
        A label of a column, or a list of several, the primary one first. A Series has none.
    ascending
        For all columns, or one for each.
    na_position
        ``"last"`` or ``"first"``: where missing values come, NaN among them, in both directions.
    ignore_index
        Numbers the rows of the result from 0.
    device
        As in `bcfsort.sort`.

    Columns are of numbers, bools, strings, bytes, dates, times, decimals, and of categories, which
    have the order of the categories. pandas gathers the rows.

    Raises
    ------
    KeyError
        There is no such column.
    TypeError
        The values of a column have no order here.

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
        columns = [frame[name] for name in (by if isinstance(by, list) else [by])]
    result = frame.take(sort_indices(columns, ascending, na_position, device))
    return result.reset_index(drop=True) if ignore_index else result


def sort_indices(
    columns: Sequence[pd.Series],
    ascending: bool | Sequence[bool],
    na_position: str,
    device: DeviceLike,
) -> np.ndarray:
    """The positions of rows in the order of columns, the primary one first."""
    names = [str(number) for number in range(len(columns))]
    arrays = [_arrow(column) for column in columns]
    flags: bool | list[bool]
    if isinstance(ascending, (bool, np.bool_)):
        flags = bool(ascending)
    else:
        flags = [bool(each) for each in ascending]
    return _table.sort_indices(
        pa.table(dict(zip(names, arrays, strict=True))),
        names,
        descending=not flags if isinstance(flags, bool) else [not flag for flag in flags],
        nulls_last=na_position == "last",
        device=device,
    )


def _arrow(column: pd.Series) -> Any:
    """A column as an Arrow array in which NaN is null."""
    if isinstance(column, pd.DataFrame):
        raise ValueError(f"there is more than one column {column.columns[0]!r}")
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy()
        return pa.array(codes, mask=codes < 0)
    try:
        array = pa.Array.from_pandas(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        message = f"column {column.name!r}: {column.dtype} has no order here ({error})"
        raise TypeError(message) from None
    # Arrow's own types keep NaN beside null; pandas sorts both as missing.
    if pa.types.is_floating(array.type):
        import pyarrow.compute as pc

        array = pc.if_else(pc.is_nan(array), None, array)
    return array

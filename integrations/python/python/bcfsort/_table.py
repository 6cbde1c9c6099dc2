"""Sorts of tables: of anything that exports an Arrow stream."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _native
from ._arrays import flags
from ._engines import DeviceLike, engine_of

# Types of polars' columns that Arrow does not have.
_ONLY_POLARS = ("Int128", "UInt128", "Object")


def sort_indices(
    table: Any,
    by: str | Sequence[str],
    *,
    descending: bool | Sequence[bool] = False,
    nulls_last: bool | Sequence[bool] = False,
    device: DeviceLike = None,
) -> np.ndarray:
    """Returns the indices that sort a table by columns. Stable.

    Parameters
    ----------
    table
        Any object with ``__arrow_c_stream__`` or ``__arrow_c_array__``: a table of pyarrow, a
        DataFrame of polars or pandas, a relation of DuckDB.
    by
        A column, or several, the primary one first: of any types but lists and maps. Structs are
        ordered by their fields.
    descending, nulls_last
        For all columns, or one for each. Nulls come first in both directions, unless
        ``nulls_last``. As in polars, NaN is greater than all numbers, and -0 equals 0.
    device
        As in `sort`. On the CPU, all cores sort.

    Enums of polars, ENUMs of a relation of DuckDB, and ordered dictionaries of Arrow, such as an
    ordered Categorical of pandas, have their declared order; other dictionaries that of their
    values.

    The columns are packed into keys of up to 128 bits, which the GPU sorts. Many strings that are
    equal in these are sorted by their next bytes on the GPU, too; the CPU compares all other rows
    with equal keys.

    Raises
    ------
    KeyError
        There is no such column.
    ValueError
        There are several columns of this name.
    TypeError
        The object is no Arrow table, or a column has a type without an order.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"city": ["Oslo", "Bonn", "Oslo"], "price": [3, 1, 2]})
    >>> bcfsort.sort_indices(table, ["city", "price"])
    array([1, 2, 0])
    """
    _check(table)
    columns = _by(table, by, descending, nulls_last)
    if _is_of(table, "polars", "DataFrame"):
        table = _polars_keys(table, [name for name, *_ in columns])
    return _native.sort_indices(table, columns, engine_of(device))


def sort_table(
    table: Any,
    by: str | Sequence[str],
    *,
    descending: bool | Sequence[bool] = False,
    nulls_last: bool | Sequence[bool] = False,
    limit: int | None = None,
    device: DeviceLike = None,
) -> Any:
    """Returns a table sorted by columns. Stable.

    Parameters are those of `sort_indices`, and ``limit``, the number of rows to return. The result
    is of the type of the input for pyarrow and polars. Else it is a table of pyarrow if that is
    installed, or any object with ``__arrow_c_stream__``. For pandas see `bcfsort.pandas`, which
    keeps the index.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"city": ["Oslo", "Bonn", "Oslo"], "price": [3, 1, 2]})
    >>> bcfsort.sort_table(table, ["city", "price"], descending=[True, False]).to_pydict()
    {'city': ['Oslo', 'Oslo', 'Bonn'], 'price': [2, 3, 1]}
    """
    _check(table)
    if _is_of(table, "pandas", "DataFrame"):
        raise TypeError("use bcfsort.pandas.sort_values, which keeps the index")
    if limit is not None and limit < 0:
        raise ValueError(f"limit is a number of rows, not {limit}")
    if _is_of(table, "polars", "DataFrame"):
        # polars has types of its own, which Arrow cannot name: it gathers its rows itself.
        indices = sort_indices(
            table, by, descending=descending, nulls_last=nulls_last, device=device
        )
        return table[indices[:limit]]
    columns = _by(table, by, descending, nulls_last)
    result = _native.sort_table(table, columns, limit, engine_of(device))
    try:
        import pyarrow as pa
    except ImportError:
        return result
    if isinstance(table, pa.RecordBatch):
        return pa.table(result).combine_chunks().to_batches()[0] if len(result) else table[:0]
    return pa.table(result)


def _check(table: Any) -> None:
    if _is_of(table, "polars", "LazyFrame"):
        raise TypeError("a LazyFrame has no rows yet: collect() it first")
    if not (hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__")):
        raise TypeError(
            f"{type(table).__name__} is no Arrow table: it has no __arrow_c_stream__. For arrays "
            "see lexsort"
        )


def _is_of(table: Any, module: str, name: str) -> bool:
    """Whether it is an object of a class of a module, without importing the module."""
    cls = getattr(sys.modules.get(module), name, None)
    return cls is not None and isinstance(table, cls)


def _by(
    table: Any,
    by: str | Sequence[str],
    descending: bool | Sequence[bool],
    nulls_last: bool | Sequence[bool],
) -> list[tuple[str, bool, bool, bool]]:
    """The name of each column, the two flags, and whether it is an ENUM of DuckDB."""
    names = [by] if isinstance(by, str) else list(by)
    if not names:
        raise ValueError("by names at least one column")
    # (DuckDB exports an ENUM as a dictionary in the order of its declaration, but does not say so.)
    enums = set()
    if _is_of(table, "duckdb", "DuckDBPyRelation"):
        types = zip(table.columns, table.types, strict=True)
        enums = {name for name, type_ in types if type_.id == "enum"}
    return list(
        zip(
            names,
            flags("descending", descending, len(names)),
            flags("nulls_last", nulls_last, len(names)),
            [name in enums for name in names],
            strict=True,
        )
    )


def _polars_keys(frame: Any, names: list[str]) -> Any:
    """The columns to sort by, of types that Arrow has."""
    pl = sys.modules["polars"]
    for name in names:
        if name not in frame.schema:
            raise KeyError(f"no column {name!r}: there are {', '.join(frame.columns)}")
        type_ = frame.schema[name]
        if type_.is_nested() or str(type_) in _ONLY_POLARS:
            raise TypeError(f"column {name!r}: {type_} has no order here")
    keys = frame.select(pl.col(list(dict.fromkeys(names))))
    return keys.with_columns(pl.col(pl.Null).cast(pl.Boolean))

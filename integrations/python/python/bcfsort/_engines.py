"""Chooses a GPU or numpy."""

from __future__ import annotations

import functools
import operator
import os
import sys
import threading
import warnings
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from . import _native
from ._arrays import Order
from ._errors import NoAdapterError, NoAdapterWarning

#: Arrays of fewer elements are sorted by numpy if no device is named. (Measured: see the table of
#: the README.) Indices and rows are sorted by numpy without vector instructions.
FEW_KEYS = 1 << 18
FEW_INDICES = 1 << 15

_REQUIRE_ADAPTER = "BCFSORT_REQUIRE_ADAPTER"

# The device that is meant by "gpu", and that is taken where none is named: a number or a part of a
# name. So each of several processes can have its own GPU.
_DEVICE = "BCFSORT_DEVICE"


@dataclass(frozen=True)
class Device:
    """An adapter that can sort."""

    index: int
    name: str
    backend: str
    driver: str
    is_software: bool


class Engine(Protocol):
    """Sorts one-dimensional arrays of codes: of uint32 or uint64, contiguous."""

    def sort(self, codes: np.ndarray, out: np.ndarray, order: Order) -> None: ...

    def argsort(self, codes: np.ndarray, out: np.ndarray) -> None: ...

    def sort_rows(self, codes: np.ndarray, columns: int, indices: np.ndarray | None) -> None: ...

    def top_rows(self, codes: np.ndarray, columns: int, k: int, indices: np.ndarray) -> None: ...

    def select(
        self, codes: np.ndarray, begin: int, end: int, indices: np.ndarray | None
    ) -> None: ...


class Numpy:
    """The CPU. The result of every call is the same as that of a GPU, but for `select`: there it
    is as well defined, and differs within the parts that are not sorted."""

    def sort(self, codes: np.ndarray, out: np.ndarray, order: Order) -> None:
        codes.sort()
        if out.itemsize == codes.itemsize:
            _native.decode(codes, None, order)
            out[...] = codes
        else:
            _native.decode(codes, out, order)

    def argsort(self, codes: np.ndarray, out: np.ndarray) -> None:
        out[:] = np.argsort(codes, kind="stable")

    def sort_rows(self, codes: np.ndarray, columns: int, indices: np.ndarray | None) -> None:
        rows = codes.reshape(-1, columns)
        if indices is None:
            rows.sort(axis=1)
        else:
            indices.reshape(-1, columns)[:] = np.argsort(rows, axis=1, kind="stable")

    def top_rows(self, codes: np.ndarray, columns: int, k: int, indices: np.ndarray) -> None:
        order = np.argsort(codes.reshape(-1, columns), axis=1, kind="stable")
        indices.reshape(-1, k)[:] = order[:, :k]

    def select(self, codes: np.ndarray, begin: int, end: int, indices: np.ndarray | None) -> None:
        if indices is None:
            codes.sort()
            return
        # (Of equal codes, the first ones: as on a GPU.)
        order = np.argsort(codes, kind="stable")
        indices[:] = order if indices.size == codes.size else order[begin:end]


def devices() -> list[Device]:
    """Lists the adapters that can sort, best first.

    A GPU appears once for each backend that supports it; software adapters come last. The first
    call asks every driver, and takes longest.

    >>> for device in bcfsort.devices():
    ...     print(device.name, device.backend)  # doctest: +SKIP
    NVIDIA H200 vulkan
    """
    return [Device(index, *about) for index, about in enumerate(_native.devices())]


_lock = threading.Lock()
_opened: dict[int, _native.Sorter] = {}


def _open(index: int) -> _native.Sorter:
    with _lock:
        if index not in _opened:
            _opened[index] = _native.Sorter(index)
        return _opened[index]


@functools.cache
def _found() -> list[Device]:
    """The adapters that the first call has found: asking all drivers takes a millisecond."""
    return devices()


class Sorter:
    """A device that is kept open, to be given as ``device``.

    Every call that names the same device shares what is open. So a `Sorter` is only needed to open
    it ahead of time, and to learn its name.

    Parameters
    ----------
    device
        A number of `devices`, a part of a name, or None for the best adapter.

    Raises
    ------
    NoAdapterError
        There is no such device.
    Error
        The device could not be opened.

    Examples
    --------
    >>> sorter = bcfsort.Sorter()
    >>> bcfsort.sort([3, 1, 2], device=sorter)
    array([1, 2, 3])
    """

    def __init__(self, device: int | str | None = None) -> None:
        index = _index("gpu" if device is None else device)
        self._native = _open(index)
        #: The adapter.
        self.device = _found()[index]

    def __repr__(self) -> str:
        return f"<bcfsort.Sorter on {self.device.name} ({self.device.backend})>"


#: What names a device.
DeviceLike = int | str | Sorter | None


def engine(device: DeviceLike, size: int, *, few: int) -> Engine:
    """The engine that a device names, or the faster one for this number of elements."""
    if isinstance(device, Sorter):
        return device._native
    if device == "cpu":
        return Numpy()
    if device is not None:
        return _open(_index(device))
    required = os.environ.get(_REQUIRE_ADAPTER) == "1"
    if size < few and not required:
        return Numpy()
    if not _found():
        if required:
            raise NoAdapterError(f"no GPU adapter found, and {_REQUIRE_ADAPTER} is 1")
        warnings.warn(
            "no GPU adapter found: numpy sorts; device='cpu' says that this is intended",
            NoAdapterWarning,
            stacklevel=_callers_level(),
        )
        return Numpy()
    best = _found()[_index("gpu")]
    if best.is_software and not required:
        return Numpy()
    return _open(best.index)


def _callers_level() -> int:
    """The level of the stack, for a warning, of the code that called the package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    return level


def _index(device: int | str) -> int:
    found = _found()
    if not isinstance(device, str):
        if isinstance(device, bool) or not hasattr(device, "__index__"):
            kind = type(device).__name__
            raise TypeError(f"device is None, a number, a name or a Sorter, not {kind}")
        device = operator.index(device)
        if 0 <= device < len(found):
            return device
        raise NoAdapterError(f"there is no device {device}: bcfsort.devices() lists {len(found)}")
    if device == "gpu":
        if not found:
            raise NoAdapterError("no GPU adapter found")
        named = os.environ.get(_DEVICE, "gpu")
        if named in ("", "gpu"):
            return 0
        return _index(int(named) if named.isdecimal() else named)
    for each in found:
        if device.lower() in each.name.lower():
            return each.index
    names = ", ".join(each.name for each in found) or "none"
    raise NoAdapterError(f"no device has {device!r} in its name: there are {names}")

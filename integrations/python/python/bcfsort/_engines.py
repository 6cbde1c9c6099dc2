"""The devices that sort."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass

from . import _errors, _native


@dataclass(frozen=True)
class Device:
    """An adapter that can sort."""

    index: int
    name: str
    backend: str
    driver: str
    is_software: bool


def devices() -> list[Device]:
    """Lists the adapters that can sort, best first.

    A GPU appears once for each backend that supports it; software adapters come last. The first
    call asks every driver, and takes longest.

    >>> for device in bcfsort.devices():
    ...     print(device.name, device.backend)  # doctest: +SKIP
    NVIDIA H200 vulkan
    """
    return [Device(index, *about) for index, about in enumerate(_native.devices())]


class Sorter:
    """Opens a GPU ahead of time, to be given as ``device``.

    Every call that names the same device shares what is open. So a `Sorter` is only needed to open
    it before the first call, and to learn its name.

    Parameters
    ----------
    device
        As in `sort`. None: ``"gpu"``.

    Raises
    ------
    NoAdapterError
        There is no such device.
    ValueError
        The device is the CPU, which need not be opened.
    Error
        The device could not be opened.

    Examples
    --------
    >>> sorter = bcfsort.Sorter()
    >>> bcfsort.sort([3, 1, 2], device=sorter)
    array([1, 2, 3])
    """

    def __init__(self, device: int | str | None = None) -> None:
        self._native = _native.Engine("gpu" if device is None else device)
        if not self._native.adapters:
            raise ValueError(f"a Sorter keeps a GPU open: {device!r} names none")
        #: The adapter; with ``"all"`` the best one of them.
        self.device = devices()[self._native.adapters[0]]

    def __repr__(self) -> str:
        others = len(self._native.adapters) - 1
        more = f" and {others} more" if others else ""
        return f"<bcfsort.Sorter on {self.device.name} ({self.device.backend}){more}>"


#: What names a device.
DeviceLike = int | str | Sorter | None


def engine_of(device: DeviceLike) -> _native.Engine:
    """The engine that a device names."""
    return device._native if isinstance(device, Sorter) else _native.Engine(device)


def warn(category: str, message: str) -> None:
    """Warns of the call of the package. (The native part calls it.)"""
    warnings.warn(message, getattr(_errors, category), stacklevel=_callers_level())


def _callers_level() -> int:
    """The level of the stack, for a warning, of the code that called the package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    return level

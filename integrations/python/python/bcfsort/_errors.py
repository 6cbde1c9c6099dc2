"""The exceptions of the package."""


class Error(RuntimeError):
    """A sort failed. The text says why, and what to do."""


class NoAdapterError(Error):
    """No GPU, nor a software adapter, can sort."""


class OutOfMemoryError(Error, MemoryError):
    """The GPU or the host is out of memory."""


class NoAdapterWarning(UserWarning):
    """No GPU was found, so the CPU sorts."""


class DeviceFailedWarning(UserWarning):
    """A GPU failed, so the CPU sorts. The text says why; it is given once in a process."""

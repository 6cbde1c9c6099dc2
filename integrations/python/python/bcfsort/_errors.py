"""The exceptions of the package."""


class Error(RuntimeError):
    """A sort failed. The text says why, and what to do."""


class NoAdapterError(Error):
    """No GPU, nor a software adapter, can sort."""


class OutOfMemoryError(Error, MemoryError):
    """The GPU or the host is out of memory."""


class NoAdapterWarning(UserWarning):
    """No GPU was found, so the CPU sorts."""

"""A program that makes every call, on several GPUs, or on one that is lost.

It prints a JSON object. The tests of it are in test_every_call.py.
"""

import json
import sys
import warnings

import numpy as np
import pyarrow as pa

import bcfsort
from bcfsort import _native

RANDOM = np.random.default_rng(1)

# Large enough for a GPU to be faster, with any number of cores.
KEYS = RANDOM.integers(0, 1 << 40, 1 << 20)
FEWER = KEYS[: 1 << 18] % 1000
ROWS = FEWER.reshape(2, -1)
TABLE = pa.table({"k": FEWER, "v": np.arange(FEWER.size)})


def on_itself(device):
    array = KEYS.copy()
    return bcfsort.sort(array, out=array, device=device)


CALLS = {
    "sort": lambda device: bcfsort.sort(KEYS, descending=True, device=device),
    "sort in place": on_itself,
    "sort rows": lambda device: bcfsort.sort(KEYS.reshape(-1, 1024), device=device),
    "argsort": lambda device: bcfsort.argsort(FEWER, device=device),
    "argsort many": lambda device: bcfsort.argsort(KEYS, device=device),
    "argsort rows": lambda device: bcfsort.argsort(ROWS, descending=True, device=device),
    "lexsort": lambda device: bcfsort.lexsort([ROWS[1], ROWS[0]], device=device),
    "topk": lambda device: bcfsort.topk(FEWER, 10, device=device).indices,
    "topk rows": lambda device: bcfsort.topk(ROWS, 10, device=device).indices,
    "partition": lambda device: np.sort(bcfsort.partition(KEYS, 10, device=device)),
    "argpartition": lambda device: np.sort(bcfsort.argpartition(FEWER, 10, device=device)),
    "unique": lambda device: bcfsort.unique(KEYS, device=device),
    "rank": lambda device: bcfsort.rank(FEWER, device=device),
    "sort_indices": lambda device: bcfsort.sort_indices(TABLE, "k", device=device),
    "sort_table": lambda device: bcfsort.sort_table(TABLE, "k", device=device)["v"].to_numpy(),
}


def is_right(call, device):
    return bool(np.array_equal(call(device), call("cpu")))


def on_all():
    """Whether each call is right on all GPUs together."""
    device = bcfsort.Sorter("all")
    right = {name: is_right(call, device) for name, call in CALLS.items()}
    return {"device": repr(device), "adapters": device._native.adapters, "right": right}


def auto():
    """A device that chooses between the CPU and the best adapter, which is open."""
    sorter = bcfsort.Sorter()
    sorter._native = _native.Engine.auto_on(0)
    return sorter


def choice(device):
    return device._native.choose("argsort", 1 << 28, 1 << 28, 8)


def error_of(call, device):
    try:
        call(device)
    except bcfsort.Error as error:
        return str(error)
    return "none"


def on_a_lost_gpu():
    """What each call does, the warnings, and the errors if the GPU is named."""
    named = bcfsort.Sorter("gpu")
    named._native.destroy()
    calls = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name, call in CALLS.items():
            device = auto()
            calls[name] = [choice(device), is_right(call, device), choice(device)]
    errors = {name: error_of(call, named) for name, call in CALLS.items()}
    about = [(each.category.__name__, str(each.message), each.filename) for each in caught]
    return {"calls": calls, "warnings": about, "errors": errors}


def with_warnings_as_errors():
    """What a call on a lost GPU raises where warnings are errors, and what the next one returns."""
    bcfsort.Sorter("gpu")._native.destroy()
    device = auto()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            bcfsort.sort(KEYS, device=device)
            raised = "none"
        except bcfsort.DeviceFailedWarning as error:
            raised = str(error)
        return {"raised": raised, "right": is_right(CALLS["sort"], device)}


if __name__ == "__main__":
    modes = {"all": on_all, "lost": on_a_lost_gpu, "errors": with_warnings_as_errors}
    json.dump(modes[sys.argv[1]](), sys.stdout)

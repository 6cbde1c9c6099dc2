"""Devices, and what happens without one."""

import os
import subprocess
import sys

import numpy as np
import pytest

import bcfsort


def test_devices_are_named_by_number_and_name(gpu):
    first = bcfsort.devices()[0]
    assert first.index == 0
    for device in (0, first.name, first.name[:4].upper(), "gpu", gpu, bcfsort.Sorter(first.name)):
        assert bcfsort.sort([3, 1, 2], device=device).tolist() == [1, 2, 3]
    assert first.name in repr(gpu)
    assert gpu.device == first


@pytest.mark.parametrize(
    "device, why",
    [(99, "there is no device 99"), (-1, "there is no device -1"), ("no such", "in its name")],
)
def test_unknown_devices_are_an_error(device, why):
    with pytest.raises(bcfsort.NoAdapterError, match=why):
        bcfsort.sort([1], device=device)
    with pytest.raises(bcfsort.NoAdapterError, match=why):
        bcfsort.Sorter(device)


def test_exceptions_are_those_of_python_too():
    assert issubclass(bcfsort.OutOfMemoryError, MemoryError)
    assert issubclass(bcfsort.NoAdapterError, bcfsort.Error)
    assert issubclass(bcfsort.Error, RuntimeError)


PROGRAM = """
import warnings
import numpy as np
import bcfsort
a = np.arange(1 << 19)[::-1]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("default")
    for _ in range(2):
        try:
            print(bcfsort.sort(a{arguments})[:3].tolist())
        except bcfsort.NoAdapterError as error:
            print(error)
print([(each.category.__name__, each.filename) for each in caught])
"""


def without_adapters(arguments="", **variables):
    environment = {
        **os.environ,
        "VK_DRIVER_FILES": "/nonexistent",
        "VK_ICD_FILENAMES": "/nonexistent",
        **variables,
    }
    program = PROGRAM.replace("{arguments}", arguments)
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere adapters cannot be hidden")
def test_without_an_adapter_numpy_sorts_with_one_warning():
    sorted_, again, warnings = without_adapters().splitlines()
    assert sorted_ == again == "[0, 1, 2]"
    assert warnings == "[('NoAdapterWarning', '<string>')]"
    assert without_adapters(", device='cpu'").splitlines()[2] == "[]"
    required = without_adapters(BCFSORT_REQUIRE_ADAPTER="1").splitlines()
    assert required[0] == "no GPU adapter found, and BCFSORT_REQUIRE_ADAPTER is 1"
    assert without_adapters(", device='gpu'").splitlines()[0] == "no GPU adapter found"


def test_a_required_adapter_sorts_small_arrays_too(gpu, monkeypatch):
    monkeypatch.setenv("BCFSORT_REQUIRE_ADAPTER", "1")
    from bcfsort import _engines, _native

    assert isinstance(_engines.engine(None, 3, few=10), _native.Sorter)
    assert isinstance(_engines.engine("cpu", 3, few=10), _engines.Numpy)
    assert bcfsort.sort([3, 1, 2]).tolist() == [1, 2, 3]
    assert bcfsort.sort(np.array([[3, 1], [2, 0]])).tolist() == [[1, 3], [0, 2]]

"""Devices, and what happens without one."""

import os
import subprocess
import sys

import numpy as np
import pytest

import bcfsort
from bcfsort import _native


def test_devices_are_named_by_number_and_name(gpu):
    first = bcfsort.devices()[0]
    assert first.index == 0
    part = first.name[:4].upper()
    for device in (0, np.int64(0), "0", first.name, part, "gpu", " GPU ", bcfsort.Sorter(part)):
        assert bcfsort.sort([3, 1, 2], device=device).tolist() == [1, 2, 3]
    assert first.name in repr(gpu)
    assert gpu.device == first


def test_what_is_named_again_is_not_opened_again(gpu):
    before = _native.opened()
    for device in (0, "0", "gpu", gpu.device.name, gpu):
        assert bcfsort.sort([3, 1, 2], device=device).tolist() == [1, 2, 3]
    assert _native.opened() == before


@pytest.mark.parametrize("device", [99, -1, 1 << 70, "99", "-1", "no such"])
def test_unknown_devices_are_an_error(gpu, device):
    for call in (lambda: bcfsort.sort([1], device=device), lambda: bcfsort.Sorter(device)):
        with pytest.raises(bcfsort.NoAdapterError) as error:
            call()
        assert f"no adapter matches '{device}'" in str(error.value)
        assert f"0: {gpu.device.name}" in str(error.value)


def test_a_number_that_no_adapter_has_is_a_part_of_a_name_only_as_text(gpu):
    named = [str(n) for n in range(len(bcfsort.devices()), 1000) if str(n) in gpu.device.name]
    if not named:
        pytest.skip("there is no number in the name")
    assert bcfsort.Sorter(named[0]).device.name == gpu.device.name
    with pytest.raises(bcfsort.NoAdapterError, match="no adapter matches"):
        bcfsort.Sorter(int(named[0]))


@pytest.mark.parametrize("device", [True, np.True_, 1.0, b"cpu", ["gpu"]])
def test_other_types_name_no_device(device):
    with pytest.raises(TypeError, match=f"a Sorter, not {type(device).__name__}"):
        bcfsort.sort([1], device=device)


@pytest.mark.parametrize("device", ["cpu", "auto", ""])
def test_a_sorter_is_not_the_cpu(device):
    with pytest.raises(ValueError, match="names none"):
        bcfsort.Sorter(device)


@pytest.mark.parametrize(
    ("work", "codes", "columns", "engine"),
    [
        ("sort", 0, 0, "numpy"),
        ("sort", 1000, 1000, "numpy"),
        ("sort", 1 << 14, 1 << 14, "numpy"),
        ("sort", 1 << 18, 1 << 18, "cpu"),
        ("sort", 1 << 20, 1 << 10, "numpy"),
        ("sort", 1 << 20, 1 << 19, "cpu"),
        ("argsort", 10, 10, "cpu"),
        ("argsort", 1 << 20, 1 << 10, "cpu"),
        ("argsort", 1 << 28, 1 << 28, "cpu"),
    ],
)
def test_the_cpu_sorts_few_keys_by_numpy(work, codes, columns, engine):
    for itemsize in (4, 8):
        choice = _native.Engine("cpu").choose(work, codes, columns, itemsize)
        assert choice == (engine, "the device is cpu")


@pytest.mark.parametrize(
    ("work", "codes", "columns", "is_gpus"),
    [
        ("sort", 0, 0, False),
        ("sort", 1000, 1000, False),
        ("sort", 1 << 20, 1 << 20, True),
        ("sort", 1 << 10, 1 << 5, False),
        ("sort", 1 << 24, 1 << 10, True),
        ("argsort", 1000, 1000, False),
        ("argsort", 1 << 18, 1 << 18, True),
        ("argsort", 1 << 10, 1 << 5, False),
    ],
)
def test_auto_chooses_an_open_gpu_for_much_work(gpu, work, codes, columns, is_gpus):
    engine, why = _native.Engine.auto_on(0).choose(work, codes, columns, 8)
    assert (engine == "gpu") == is_gpus
    assert why == ("the GPU takes less time" if is_gpus else "too few keys for a GPU")
    assert gpu._native.choose(work, codes, columns, 8) == ("gpu", "the device is gpu")


def test_auto_takes_no_software_adapter(gpu):
    engine, why = _native.Engine().choose("argsort", 1 << 30, 1 << 30, 8)
    if gpu.device.is_software:
        assert (engine, why) == ("cpu", f"the best adapter, {gpu.device.name}, is software")
    else:
        assert (engine, why) == ("gpu", "the GPU takes less time")


def test_exceptions_are_those_of_python_too():
    assert issubclass(bcfsort.OutOfMemoryError, MemoryError)
    assert issubclass(bcfsort.NoAdapterError, bcfsort.Error)
    assert issubclass(bcfsort.Error, RuntimeError)


PROGRAM = """
import warnings
import numpy as np
import bcfsort
a = np.arange(1 << 18)[::-1]
without = after = 0
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    # Many such calls, but not one, are worth the start of a GPU.
    while without < {calls} and after < 5:
        try:
            assert bcfsort.argsort(a{arguments})[0] == a.size - 1
        except bcfsort.NoAdapterError as error:
            print(error)
            break
        without, after = without + (not caught), after + bool(caught)
print(without > 1, [(each.category.__name__, each.filename) for each in caught])
"""


def without_adapters(arguments="", calls=5000, **variables):
    environment = {
        **os.environ,
        "VK_DRIVER_FILES": "/nonexistent",
        "VK_ICD_FILENAMES": "/nonexistent",
        # With few threads, few calls are worth the start of a GPU.
        "RAYON_NUM_THREADS": "4",
        **variables,
    }
    program = PROGRAM.replace("{arguments}", arguments).replace("{calls}", str(calls))
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere adapters cannot be hidden")
def test_without_an_adapter_the_cpu_sorts_with_one_warning():
    assert without_adapters() == ["True [('NoAdapterWarning', '<string>')]"]
    assert without_adapters(", device='cpu'", calls=10) == ["True []"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere adapters cannot be hidden")
def test_a_device_without_an_adapter_is_an_error():
    none = "no GPU adapter found: no Vulkan driver that "
    assert without_adapters(WGPU_BCFSORT_REQUIRE_ADAPTER="1")[0].startswith(
        f"WGPU_BCFSORT_REQUIRE_ADAPTER is 1: {none}"
    )
    for device in ("'gpu'", "'all'", "0", "'0'"):
        assert without_adapters(f", device={device}")[0].startswith(none)


def test_a_required_adapter_sorts_small_arrays_too(gpu, monkeypatch):
    monkeypatch.setenv("WGPU_BCFSORT_REQUIRE_ADAPTER", "1")
    assert _native.Engine().choose("sort", 3, 3, 4) == ("gpu", "the device is gpu")
    assert _native.Engine("cpu").choose("sort", 3, 3, 4)[0] == "numpy"
    assert bcfsort.sort([3, 1, 2]).tolist() == [1, 2, 3]
    assert bcfsort.sort(np.array([[3, 1], [2, 0]])).tolist() == [[1, 3], [0, 2]]

"""The variables of the environment."""

import pytest

import bcfsort
from bcfsort import _native

DEVICE, REQUIRE_ADAPTER = "WGPU_BCFSORT_DEVICE", "WGPU_BCFSORT_REQUIRE_ADAPTER"


@pytest.mark.parametrize("required", ["", "1"])
def test_a_variable_names_the_gpu(gpu, monkeypatch, required):
    monkeypatch.setenv(REQUIRE_ADAPTER, required)
    for named in ("gpu", "0", " GPU ", gpu.device.name):
        monkeypatch.setenv(DEVICE, named)
        assert bcfsort.Sorter().device == gpu.device
        assert _native.Engine().adapters == [0]
        assert bcfsort.sort([3, 1, 2]).tolist() == [1, 2, 3]


@pytest.mark.parametrize("named", ["99", "no such"])
def test_a_variable_that_names_no_adapter_is_an_error(gpu, monkeypatch, named):
    monkeypatch.setenv(DEVICE, named)
    for device in (None, "auto", "gpu"):
        with pytest.raises(bcfsort.NoAdapterError, match=f"no adapter matches '{named}'"):
            bcfsort.sort([3, 1, 2], device=device)
    # A device that is named in the call is taken.
    assert bcfsort.sort([3, 1, 2], device=0).tolist() == [1, 2, 3]
    assert bcfsort.sort([3, 1, 2], device="cpu").tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("named", "required", "engine"),
    [
        ("", "", "numpy"),
        ("auto", "0", "numpy"),
        ("", "1", "gpu"),
        ("cpu", "", "numpy"),
        ("cpu", "1", "numpy"),
        ("gpu", "", "gpu"),
        ("all", "", "gpu"),
        ("0", "", "gpu"),
    ],
)
def test_variables_choose_where_no_device_is_named(gpu, monkeypatch, named, required, engine):
    monkeypatch.setenv(DEVICE, named)
    monkeypatch.setenv(REQUIRE_ADAPTER, required)
    for device in (None, "auto", ""):
        assert _native.Engine(device).choose("sort", 3, 3, 8)[0] == engine
    assert bcfsort.sort([3, 1, 2]).tolist() == [1, 2, 3]

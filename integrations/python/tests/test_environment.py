"""The variables of the environment."""

import pytest

import bcfsort


def test_a_variable_names_the_gpu(gpu, monkeypatch):
    monkeypatch.setenv("BCFSORT_REQUIRE_ADAPTER", "1")
    for named in ("", "gpu", "0", gpu.device.name):
        monkeypatch.setenv("BCFSORT_DEVICE", named)
        assert bcfsort.Sorter().device == gpu.device
        assert bcfsort.sort([3, 1, 2]).tolist() == [1, 2, 3]
    for named, why in (("99", "there is no device 99"), ("no such", "no device has 'no such'")):
        monkeypatch.setenv("BCFSORT_DEVICE", named)
        for device in (None, "gpu"):
            with pytest.raises(bcfsort.NoAdapterError, match=why):
                bcfsort.sort([3, 1, 2], device=device)
        # A device that is named in the call is taken.
        assert bcfsort.sort([3, 1, 2], device=0).tolist() == [1, 2, 3]
        assert bcfsort.sort([3, 1, 2], device="cpu").tolist() == [1, 2, 3]

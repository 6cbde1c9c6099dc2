"""Settings and fixtures of all tests."""

import os

import pytest
from hypothesis import settings

# With a few threads, numpy would sort large arrays, too.
os.environ["RAYON_NUM_THREADS"] = "16"

import bcfsort

settings.register_profile("default", deadline=None, max_examples=150)
settings.load_profile("default")

# Each test says which device it wants.
os.environ.pop("WGPU_BCFSORT_DEVICE", None)
os.environ.pop("WGPU_BCFSORT_REQUIRE_ADAPTER", None)


@pytest.fixture(scope="session")
def gpu():
    """A sorter on the best adapter. A machine without one fails."""
    return bcfsort.Sorter()


@pytest.fixture(params=["cpu", "gpu"])
def device(request, gpu):
    """Both devices."""
    return gpu if request.param == "gpu" else "cpu"

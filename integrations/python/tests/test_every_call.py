"""Every call on several GPUs, and on one that is lost."""

import json
import os
import pathlib
import subprocess
import sys

import every_call
import pytest

PROGRAM = pathlib.Path(every_call.__file__)

# Calls that take the CPU less time than a copy of the array to a GPU.
SELECTIONS = {"topk", "partition", "argpartition"}

# Drivers of software adapters. The loader lists a driver as often as it is named.
SOFTWARE = sorted(pathlib.Path("/usr/share/vulkan/icd.d").glob("lvp*.json"))


def outcome_of(mode, **variables):
    # In a process of its own, since the other tests use the GPU.
    command = [sys.executable, str(PROGRAM), mode]
    environment = {**os.environ, **variables}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def lost():
    return outcome_of("lost")


@pytest.mark.parametrize("call", every_call.CALLS)
def test_the_cpu_does_what_a_lost_gpu_cannot(lost, call):
    before, is_right, after = lost["calls"][call]
    assert before == ["gpu", "the GPU takes less time"]
    assert is_right
    if call in SELECTIONS:
        assert after == before
        return
    # The GPU was tried, and is not tried again.
    assert after[0] == "cpu"
    assert "failed: the device was lost" in after[1]


@pytest.mark.parametrize("call", every_call.CALLS)
def test_a_named_device_that_is_lost_is_an_error(lost, call):
    assert "the device was lost" in lost["errors"][call]


def test_a_process_warns_once_of_its_caller(lost):
    ((category, message, filename),) = lost["warnings"]
    assert category == "DeviceFailedWarning"
    assert "the device was lost" in message
    assert filename == str(PROGRAM)


def test_a_warning_that_is_an_error_is_raised():
    outcome = outcome_of("errors")
    assert "the device was lost" in outcome["raised"]
    assert outcome["right"]


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    if not SOFTWARE:
        pytest.skip("there is no driver to list twice")
    folder = tmp_path_factory.mktemp("drivers")
    copies = [folder / f"{i}.json" for i in range(2)]
    for copy in copies:
        copy.write_text(SOFTWARE[0].read_text())
    drivers = os.pathsep.join(map(str, copies))
    return outcome_of("all", VK_DRIVER_FILES=drivers, VK_ICD_FILENAMES=drivers)


@pytest.mark.parametrize("call", every_call.CALLS)
def test_several_gpus_sort_as_the_cpu(several, call):
    assert several["right"][call]


def test_all_are_several_adapters(several):
    assert several["adapters"] == [0, 1]
    assert several["device"].endswith("(vulkan) and 1 more>")

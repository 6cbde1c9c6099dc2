"""Sorts over two worker processes, of which one is killed."""

import gc
import os
import pathlib
import signal
import subprocess
import sys
import time

import dask
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest

import bcfsort.dask
import bcfsort.pandas

# Every partition is sorted by the worker's best adapter, also if that is a software one.
WORKER = {"WGPU_BCFSORT_REQUIRE_ADAPTER": "1"}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            env=WORKER,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def expressions():
    """Dask gives equal expressions one object (`SingletonExpr`, dask/_expr.py). It raises KeyError
    if that of an earlier test is collected as garbage between its two lookups."""
    gc.collect()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    rows = 20_000
    return pd.DataFrame(
        {
            "k": rng.integers(0, 5000, rows),
            "f": np.where(rng.random(rows) < 0.1, np.nan, rng.standard_normal(rows)),
            "s": rng.choice(["a", "bb", "a long text"], rows),
            "same": 7,
            "row": np.arange(rows),
        }
    )


def sorted_parts(*arguments, **options):
    """The partitions of a sorted frame. (`compute` would concatenate them on a worker.)"""
    result = bcfsort.dask.sort_values(*arguments, **options)
    assert not result.known_divisions
    return dask.compute(*result.to_delayed())


def check(parts, wanted):
    pd.testing.assert_frame_equal(pd.concat(parts), wanted)


@pytest.mark.parametrize(
    ("by", "order"),
    [
        ("k", {}),
        ("f", {"ascending": False}),
        ("f", {"na_position": "first"}),
        (["s", "f"], {"ascending": [False, True], "na_position": "first"}),
        ("same", {}),
    ],
)
def test_workers_sort_their_ranges(client, frame, by, order):
    parts = sorted_parts(dd.from_pandas(frame, npartitions=8), by, **order)
    frame = frame.astype({"s": parts[0]["s"].dtype})
    check(parts, frame.sort_values(by, kind="stable", **order))
    # Also where all keys are equal.
    assert len(parts) == 8
    assert max(len(part) for part in parts) < 1.5 * len(frame) / 8


def opened():
    """The number of devices that this process has open."""
    from bcfsort import _native

    return _native.opened()


def test_each_worker_sorts_on_its_device(client, frame):
    result = bcfsort.dask.sort_values(dd.from_pandas(frame, npartitions=8), "k").persist()
    distributed.wait(result)
    assert list(client.run(opened).values()) == [1, 1]
    owners = client.who_has(distributed.futures_of(result)).values()
    assert len({worker for workers in owners for worker in workers}) == 2


ROWS = 300
RANDOM = np.random.default_rng(2)
LETTERS = list("abcdefghij")
CATEGORIES = pd.CategoricalDtype(LETTERS[::-1])


def some_missing(values, dtype=None):
    values = pd.Series(values, dtype=dtype)
    return values.mask(RANDOM.random(ROWS) < 0.1)


INTEGERS = RANDOM.integers(-50, 50, ROWS)
NANOSECONDS = pd.Series(RANDOM.integers(0, 10**18, ROWS))
TYPES = {
    "i8": INTEGERS.astype(np.int8),
    "large": 2**62 + RANDOM.integers(0, 3, ROWS),
    "infinities": RANDOM.choice([-np.inf, np.inf, 1.0, 2.5, np.nan, -0.0, 0.0], ROWS),
    "no values": np.full(ROWS, np.nan),
    "Int64": some_missing(INTEGERS, "Int64"),
    "boolean": some_missing(INTEGERS > 0, "boolean"),
    "str": some_missing(RANDOM.choice(LETTERS, ROWS)),
    "time": some_missing(NANOSECONDS.astype("datetime64[ns]")),
    "zone": NANOSECONDS.astype("datetime64[ns]").dt.tz_localize("UTC"),
    "duration": some_missing(NANOSECONDS.astype("timedelta64[ns]")),
    "category": some_missing(RANDOM.choice(LETTERS, ROWS)).astype(CATEGORIES),
    "arrow": some_missing(INTEGERS / 7, "double[pyarrow]"),
}


@pytest.mark.parametrize("name", TYPES)
def test_all_types_are_sorted_as_by_pandas(client, name):
    frame = pd.DataFrame({"k": TYPES[name], "row": np.arange(ROWS)})
    for ascending in (True, False):
        for na_position in ("first", "last"):
            order = {"ascending": ascending, "na_position": na_position}
            parts = dd.from_pandas(frame, npartitions=2)
            parts = sorted_parts(parts, "k", npartitions=3, device="cpu", **order)
            frame = frame.astype({"k": parts[0]["k"].dtype})
            check(parts, frame.sort_values("k", kind="stable", **order))


def test_the_index_is_moved_with_the_rows(client):
    frame = pd.DataFrame({"k": [3, 1, 2, 0]}, index=pd.Index(list("abcd"), name="letter"))
    parts = dd.from_pandas(frame, npartitions=2)
    got = bcfsort.dask.sort_values(parts, "k").compute()
    falling = bcfsort.dask.sort_values(parts, "k", ascending=0).compute()
    numbered = bcfsort.dask.sort_values(parts, "k", ignore_index=True, npartitions=1).compute()
    assert got.index.name == "letter"
    assert list(got.index) == ["d", "b", "c", "a"]
    assert list(falling.index) == ["a", "c", "b", "d"]
    assert list(numbered.index) == [0, 1, 2, 3]
    assert list(numbered["k"]) == [0, 1, 2, 3]


def test_empty_frames(client):
    frame = pd.DataFrame({"k": [3, 1, 2, 0]})
    parts = dd.from_pandas(frame, npartitions=2)
    got = bcfsort.dask.sort_values(parts[parts["k"] > 9], "k")
    assert len(got.compute()) == 0
    assert got.npartitions == 2


def test_wrong_arguments_are_named():
    frame = pd.DataFrame({"k": [3, 1], "c": ["a", "b"]})
    parts = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(KeyError, match="no column 'x': there are 'k', 'c'"):
        bcfsort.dask.sort_values(parts, "x")
    twice = dd.from_pandas(frame.set_axis(["k", "k"], axis=1), npartitions=1)
    with pytest.raises(ValueError, match="more than one column 'k'"):
        bcfsort.dask.sort_values(twice, "k")
    with pytest.raises(ValueError, match="ascending is True or False"):
        bcfsort.dask.sort_values(parts, "k", ascending="no")
    with pytest.raises(ValueError, match="at least one column"):
        bcfsort.dask.sort_values(parts, [])
    with pytest.raises(ValueError, match="2 values for 1 columns"):
        bcfsort.dask.sort_values(parts, "k", ascending=[True, False])
    with pytest.raises(ValueError, match="'first' or 'last', not 'middle'"):
        bcfsort.dask.sort_values(parts, "k", na_position="middle")
    with pytest.raises(TypeError, match="DataFrame is no DataFrame of Dask"):
        bcfsort.dask.sort_values(frame, "k")
    numbered = parts.rename(columns={"k": 0})
    with pytest.raises(TypeError, match=r"rename\(columns=str\)"):
        bcfsort.dask.sort_values(numbered, "c")
    with pytest.raises(TypeError, match=r"categorize\(\['c'\]\)"):
        bcfsort.dask.sort_values(parts.astype({"c": "category"}), "c")


def wait_for_go(part, folder):
    """Says that the task has started, and waits until it may go on."""
    folder = pathlib.Path(folder)
    (folder / f"started-{os.getpid()}").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
    return part


def kill_first(folder):
    """Kills the first process that waits, and lets the others go on."""
    deadline = time.monotonic() + 60
    while not (started := list(folder.glob("started-*"))):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    victim = int(started[0].name.split("-")[1])
    os.kill(victim, signal.SIGKILL)
    (folder / "go").touch()
    return victim


def sort_and_kill(frame, folder, when):
    """Sorts while a worker is killed: before it has moved its rows, or when it has sorted some."""
    parts = dd.from_pandas(frame, npartitions=8)
    go = folder / "go"
    # The sample is computed in the call.
    go.touch()
    if when == "before rows are moved":
        parts = parts.map_partitions(wait_for_go, str(folder), meta=parts)
    result = bcfsort.dask.sort_values(parts, "k")
    if when == "while partitions are sorted":
        result = result.map_partitions(wait_for_go, str(folder), meta=result)
    go.unlink()
    for old in folder.glob("started-*"):
        old.unlink()
    result = result.persist()
    victim = kill_first(folder)
    check(dask.compute(*result.to_delayed()), frame.sort_values("k", kind="stable"))
    return victim


WHEN = ["before rows are moved", "while partitions are sorted"]


@pytest.mark.parametrize("when", WHEN)
def test_a_killed_worker_is_started_again(client, frame, tmp_path, when):
    frame = frame[["k", "row"]]
    victim = sort_and_kill(frame, tmp_path, when)
    client.wait_for_workers(2, timeout=180)
    processes = client.run(os.getpid).values()
    assert len(processes) == 2
    assert victim not in processes


def die(part):
    os.kill(os.getpid(), signal.SIGKILL)


def allow_failures(count, dask_scheduler):
    before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, count
    return before


def test_a_partition_that_kills_its_workers_is_an_error(client, frame):
    parts = dd.from_pandas(frame, npartitions=4)
    result = bcfsort.dask.sort_values(parts, "k").map_partitions(die, meta=parts)
    # By default it is tried on four workers.
    before = client.run_on_scheduler(allow_failures, 0)
    try:
        with pytest.raises(distributed.KilledWorker, match="1 different workers"):
            result.compute()
    finally:
        client.run_on_scheduler(allow_failures, before)
    client.wait_for_workers(2, timeout=180)


def test_an_error_of_a_worker_is_raised(client, frame):
    parts = dd.from_pandas(frame, npartitions=4)
    with pytest.raises(bcfsort.NoAdapterError, match="no adapter matches 'no such'"):
        bcfsort.dask.sort_values(parts, "k", device="no such").compute()


@pytest.fixture
def cluster_of_commands(tmp_path):
    """A scheduler and two workers without nannies, from the command line as on several machines."""
    dask_command = [sys.executable, "-m", "dask"]
    file = str(tmp_path / "scheduler.json")
    shared = ["--scheduler-file", file]
    network = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
    # Workers must be able to import the functions of this file.
    paths = [str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, **WORKER, "PYTHONPATH": os.pathsep.join(paths)}
    worker = ["worker", *network, *shared, "--nthreads", "1", "--no-nanny"]
    commands = [["scheduler", *network, *shared, "--port", "0"], worker, worker]
    processes = [
        subprocess.Popen(dask_command + command, env=environment, cwd=tmp_path)
        for command in commands
    ]
    try:
        yield file, [process.pid for process in processes[1:]]
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(timeout=30)


def test_the_other_worker_takes_the_work_of_one_that_is_gone(cluster_of_commands, frame, tmp_path):
    file, workers = cluster_of_commands
    with distributed.Client(scheduler_file=file) as client:
        client.wait_for_workers(2, timeout=180)
        workers.remove(sort_and_kill(frame[["k", "row"]], tmp_path, WHEN[1]))
        assert list(client.run(os.getpid).values()) == workers

"""Sorts over two worker processes, of which one is killed."""

import os
import pathlib
import signal
import time

import numpy as np
import pandas as pd
import pytest

import bcfsort.dask
import bcfsort.pandas

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    variables = {
        # Each worker has a GPU: here, the software adapter.
        "BCFSORT_REQUIRE_ADAPTER": "1",
    }
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            env=variables,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    rows = 20_000
    return pd.DataFrame(
        {
            "k": rng.integers(0, 5000, rows),
            "f": rng.standard_normal(rows),
            "s": rng.choice(["a", "bb", "a long text"], rows),
            "row": np.arange(rows),
        }
    )


def same_rows(got, wanted, by):
    # Rows with equal keys are in no particular order.
    assert np.array_equal(got[by].to_numpy(), wanted[by].to_numpy())
    assert sorted(got["row"]) == sorted(wanted["row"])
    pd.testing.assert_frame_equal(got.sort_index(), wanted.sort_index(), check_dtype=False)


@pytest.mark.parametrize(
    ("by", "ascending"),
    [("k", True), ("f", False), (["k", "f"], [True, False]), (["k", "s"], True)],
)
def test_workers_sort_their_ranges(client, frame, by, ascending):
    parts = dd.from_pandas(frame, npartitions=8)
    got = bcfsort.dask.sort_values(parts, by, ascending=ascending).compute()
    same_rows(got, frame.sort_values(by, ascending=ascending), by)


def opened():
    """The number of devices that this process has open."""
    from bcfsort import _engines

    return len(_engines._opened)


def rest_and_sort(frame, **arguments):
    # Otherwise one worker may be done before the other one has begun.
    time.sleep(0.2)
    return bcfsort.pandas.sort_values(frame, **arguments)


def test_each_worker_sorts_on_its_device(client, frame):
    parts = dd.from_pandas(frame, npartitions=8)
    parts.sort_values("k", sort_function=rest_and_sort).compute()
    assert list(client.run(opened).values()) == [1, 1]


def test_missing_values_come_where_they_are_wanted(client, frame):
    missing = frame.assign(f=frame["f"].where(frame["row"] % 5 > 0))
    for position in ("first", "last"):
        parts = dd.from_pandas(missing, npartitions=4)
        got = bcfsort.dask.sort_values(parts, "f", na_position=position).compute()
        nulls = got["f"].isna().to_numpy()
        edge = nulls[: nulls.sum()] if position == "first" else nulls[-nulls.sum() :]
        assert edge.all()


def wait_and_sort(frame, folder, **arguments):
    """Sorts, after it has said so, and waited for a go."""
    (pathlib.Path(folder) / f"started-{os.getpid()}").touch()
    while not (pathlib.Path(folder) / "go").exists():
        time.sleep(0.01)
    return bcfsort.pandas.sort_values(frame, **arguments)


def test_a_worker_that_is_killed_in_the_middle_is_made_up_for(client, frame, tmp_path):
    parts = dd.from_pandas(frame, npartitions=8)
    future = client.compute(
        parts.sort_values(
            "k",
            sort_function=wait_and_sort,
            sort_function_kwargs={"folder": str(tmp_path)},
        )
    )
    for _ in range(6000):
        started = list(tmp_path.glob("started-*"))
        if started:
            break
        time.sleep(0.01)
    os.kill(int(started[0].name.split("-")[1]), signal.SIGKILL)
    (tmp_path / "go").touch()
    # Dask starts the worker again, and computes again what was lost with it.
    same_rows(future.result(timeout=120), frame.sort_values("k"), "k")

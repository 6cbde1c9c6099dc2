"""Threads, processes, interrupts and memory."""

import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pyarrow as pa
import pytest

import bcfsort
from bcfsort import _native


def test_threads_share_a_device(gpu):
    failed = []

    def sorts(seed):
        rng = np.random.default_rng(seed)
        for n in (1000, 20_000, 3000):
            a = rng.integers(0, 2**62, n)
            if not np.array_equal(bcfsort.sort(a, device=gpu), np.sort(a)):
                failed.append((seed, n))
            wanted = np.argsort(a, kind="stable")
            if not np.array_equal(bcfsort.argsort(a, device=gpu), wanted):
                failed.append((seed, n))

    threads = [threading.Thread(target=sorts, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_other_threads_run_during_a_sort(gpu):
    a = np.random.default_rng(1).integers(0, 2**62, 1 << 20)
    bcfsort.sort(a, device=gpu)
    indices = np.empty(a.size, np.int64)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    begin = time.perf_counter()
    gpu._native.argsort_rows(a.view(np.uint64), a.size, a.size, indices)
    end = time.perf_counter()
    done.set()
    ticker.join()
    during = [each for each in ticks if begin < each < end]
    # A thread that waits for the GIL would not tick. Other programs may delay some ticks.
    assert len(during) > (end - begin) / 0.001 / 20


@pytest.fixture
def interrupts():
    # A process that a shell started in the background ignores SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_a_sort_of_many_rows(gpu, interrupts):
    # A sort on a GPU is not interrupted: Ctrl-C is checked between two of them.
    rows = np.random.default_rng(1).integers(0, 2**62, (1, 1 << 20))
    bcfsort.sort(rows, device=gpu)
    timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            bcfsort.sort(rows, device=gpu)
    timer.join()


def spawned(connection):
    connection.send(bcfsort.sort([3, 1, 2], device="gpu").tolist())


def test_spawned_processes_open_the_device_themselves(gpu):
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=spawned, args=(theirs,))
    process.start()
    assert ours.poll(60)
    assert ours.recv() == [1, 2, 3]
    process.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_is_told_what_to_do(gpu):
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            bcfsort.sort(np.arange(10), device=gpu)
            os.write(writer, b"sorted")
        except bcfsort.Error as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(process, 0)
    assert b"'spawn'" in os.read(reader, 1000)
    os.close(reader)
    os.close(writer)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("device", [None, "cpu"])
def test_a_forked_process_sorts_on_all_of_its_cores(device):
    a = np.random.default_rng(1).integers(0, 1000, 300_000)
    wanted = bcfsort.argsort(a, device=device)
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(60)
        is_sorted = np.array_equal(bcfsort.argsort(a, device=device), wanted)
        is_sorted &= bcfsort.is_sorted(bcfsort.sort(a, device=device))
        is_sorted &= np.array_equal(bcfsort.topk(a, 9, largest=False, device=device)[1], wanted[:9])
        is_sorted &= bcfsort.partition(a, 1000, device=device)[1000] == a[wanted[1000]]
        is_sorted &= np.array_equal(bcfsort.unique(a, device=device), np.arange(1000))
        os.write(writer, b"sorted" if is_sorted else b"not sorted")
        os._exit(0)
    # The alarm ends a process that waits for threads that it does not have.
    assert os.waitpid(process, 0)[1] == 0
    assert os.read(reader, 100) == b"sorted"
    os.close(reader)
    os.close(writer)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_in_a_forked_process_the_cpu_replaces_a_gpu_that_was_chosen():
    auto = bcfsort.Sorter()
    auto._native = _native.Engine.auto_on(0)
    a = np.random.default_rng(1).integers(0, 2**62, 1 << 20)
    wanted = np.sort(a)
    assert auto._native.choose("sort", a.size, a.size, 8)[0] == "gpu"
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(60)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            right = [np.array_equal(bcfsort.sort(a, device=auto), wanted) for _ in range(2)]
        told = [(each.category.__name__, str(each.message)) for each in caught]
        os.write(writer, repr((right, told)).encode())
        os._exit(0)
    assert os.waitpid(process, 0)[1] == 0
    right, told = eval(os.read(reader, 4000))
    assert right == [True, True]
    assert [category for category, _ in told] == ["DeviceFailedWarning"]
    assert "'spawn'" in told[0][1]
    os.close(reader)
    os.close(writer)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.parametrize("device, calls", [("cpu", 10_000), ("gpu", 1000)])
def test_calls_leak_no_memory(gpu, device, calls):
    rng = np.random.default_rng(1)
    a = rng.standard_normal(1000)
    table = pa.table({"k": a, "v": a})

    def call():
        bcfsort.sort(a, device=device)
        bcfsort.argsort(a, descending=True, device=device)
        if device == "cpu":
            bcfsort.sort_table(table, "k", device=device)

    for _ in range(calls // 10):
        call()
    references, before = sys.getrefcount(a), resident()
    for _ in range(calls):
        call()
    assert sys.getrefcount(a) == references
    assert resident() - before < 8 << 20

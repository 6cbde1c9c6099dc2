#!/usr/bin/env python3
"""Times sorts of numpy arrays and of tables, and prints the medians as CSV.

    python benches/sorts.py [CSV]            arrays: bcfsort, numpy, torch on CUDA, and polars
    python benches/sorts.py --table [CSV]    a table by (date, id, string): bcfsort, polars, DuckDB
    python benches/sorts.py --unique [CSV]   distinct values of 10^8 int64: bcfsort, numpy

Arrays have 2^10 to 2^28 elements of float32 and int64, which takes some minutes on 16 cores. What
takes more than a second is called once, and not for larger arrays; numpy's sort is.

Contenders that are not installed are left out, and named. torch on CUDA is timed with both
transfers, from a numpy array to a numpy array. Every result is compared with another's.
"""

import pathlib
import statistics
import sys
import time

import numpy as np

import bcfsort

SIZES = [10, 12, 14, 16, 18, 20, 22, 24, 26, 28]

#: The number of elements of a top-k.
K = 100


def by_numpy():
    def sort_by_key(keys, values):
        order = np.argsort(keys, kind="stable")
        return keys[order], values[order]

    def topk(keys, _):
        greatest = keys[np.argpartition(keys, keys.size - K)[keys.size - K :]]
        return greatest[np.argsort(greatest)[::-1]]

    return {
        "sort": lambda keys, _: np.sort(keys),
        "argsort": lambda keys, _: np.argsort(keys, kind="stable"),
        "sort_by_key": sort_by_key,
        "topk": topk,
        "unique": lambda keys, _: np.unique(keys),
    }


def by_bcfsort(device):
    return {
        "sort": lambda keys, _: bcfsort.sort(keys, device=device),
        "argsort": lambda keys, _: bcfsort.argsort(keys, device=device),
        "sort_by_key": lambda keys, values: bcfsort.sort_by_key(keys, values, device=device),
        "topk": lambda keys, _: bcfsort.topk(keys, K, device=device).values,
        "unique": lambda keys, _: bcfsort.unique(keys, device=device),
    }


def by_torch(torch):
    def sort_by_key(keys, values):
        on_gpu = torch.from_numpy(keys).cuda().sort(stable=True)
        moved = torch.from_numpy(values).cuda()[on_gpu.indices]
        return on_gpu.values.cpu().numpy(), moved.cpu().numpy()

    def run(function):
        return lambda keys, _: function(torch.from_numpy(keys).cuda()).cpu().numpy()

    return {
        "sort": run(lambda keys: keys.sort().values),
        "argsort": run(lambda keys: keys.argsort(stable=True)),
        "sort_by_key": sort_by_key,
        "topk": run(lambda keys: keys.topk(K).values),
        "unique": run(lambda keys: keys.unique()),
    }


def contenders():
    """(name, {work: function of keys and values}) of those that are installed."""
    found = [
        ("numpy", by_numpy()),
        ("bcfsort", by_bcfsort(None)),
        ("bcfsort (gpu)", by_bcfsort("gpu")),
    ]
    try:
        import polars as pl

        found.append(("polars", {"sort": lambda keys, _: pl.Series(keys).sort().to_numpy()}))
    except ImportError:
        print("no polars", file=sys.stderr)
    try:
        import torch

        if torch.cuda.is_available():
            found.append(("torch (CUDA)", by_torch(torch)))
        else:
            print("no CUDA in torch", file=sys.stderr)
    except ImportError:
        print("no torch", file=sys.stderr)
    return found


#: A contender that takes more seconds is called once, and skipped for larger arrays.
LONG = 1.0

#: Seconds of calls for each median, which is of 2 to 25 calls.
MEASURED = 0.15


def timed(function, *arguments):
    """The result, and the median time of the calls after the first one."""
    begin = time.perf_counter()
    result = function(*arguments)
    first = time.perf_counter() - begin
    if first > LONG:
        return result, first
    times = []
    while len(times) < 2 or (sum(times) < MEASURED and len(times) < 25):
        begin = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - begin)
    return result, statistics.median(times)


def is_same(result, wanted):
    if isinstance(wanted, tuple):
        return all(map(np.array_equal, result, wanted))
    return np.array_equal(result, wanted)


def warm_up(found):
    """Opens the devices and compiles the kernels, by a first call of each width."""
    for keys in (np.arange(1 << 16, dtype=np.float32), np.arange(1 << 16)):
        for name, functions in found:
            if name in ("bcfsort (gpu)", "torch (CUDA)"):
                for function in functions.values():
                    function(keys, np.arange(keys.size))


def arrays(rows):
    """Times sorts of arrays."""
    rng = np.random.default_rng(1)
    found = contenders()
    warm_up(found)
    too_slow = set()
    for log in SIZES:
        n = 1 << log
        values = np.arange(n)
        for dtype in (np.float32, np.int64):
            if dtype == np.float32:
                keys = rng.standard_normal(n, dtype=np.float32)
            else:
                keys = rng.integers(-(2**63), 2**63 - 1, n)
            for work in by_numpy():
                wanted = None
                for name, functions in found:
                    this = (work, keys.dtype, name)
                    if work not in functions or this in too_slow:
                        continue
                    result, seconds = timed(functions[work], keys, values)
                    # The first one that can checks the others.
                    wanted = result if wanted is None else wanted
                    assert is_same(result, wanted), this
                    rows(f"{work},{keys.dtype},{n},{name},{seconds:.7f}")
                    if seconds > LONG and (work, name) != ("sort", "numpy"):
                        too_slow.add(this)


def table(rows, n=10**8):
    """Times sorts of a table."""
    import pyarrow as pa

    rng = np.random.default_rng(1)
    words = np.array(
        ["".join(map(chr, rng.integers(97, 123, rng.integers(4, 20)))) for _ in range(100_000)]
    )
    data = pa.table(
        {
            "date": pa.array(rng.integers(18_000, 20_500, n, dtype=np.int32), pa.date32()),
            "id": rng.integers(0, 2**40, n),
            "name": pa.DictionaryArray.from_arrays(
                pa.array(rng.integers(0, words.size, n, dtype=np.int32)), pa.array(words)
            ).cast(pa.string()),
            "value": rng.standard_normal(n),
        }
    )
    by = ["date", "id", "name"]
    results = {}

    def measure(name, call):
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            results[name] = call()
            times.append(time.perf_counter() - begin)
        rows(f"sort_table,date+id+string,{n},{name},{statistics.median(times):.4f}")

    measure("bcfsort", lambda: bcfsort.sort_table(data, by, device="gpu"))
    measure("bcfsort (cpu)", lambda: bcfsort.sort_table(data, by, device="cpu"))
    try:
        import polars as pl

        frame = pl.from_arrow(data)
        measure("polars", lambda: frame.sort(by, maintain_order=True))
        assert pl.from_arrow(results["bcfsort"]).equals(results["polars"])
        measure("bcfsort of polars", lambda: bcfsort.sort_table(frame, by, device="gpu"))
    except ImportError:
        print("no polars", file=sys.stderr)
    try:
        import duckdb

        relation = duckdb.from_arrow(data).order(", ".join(by))
        measure("duckdb", lambda: relation.to_arrow_table())
        assert results["duckdb"]["id"].equals(results["bcfsort"]["id"])
    except ImportError:
        print("no duckdb", file=sys.stderr)


def distinct(rows, n=10**8):
    """Times unique values of many and of few, with counts and with the inverse."""
    rng = np.random.default_rng(1)
    bcfsort.unique(rng.integers(0, 2**62, 1 << 20), return_inverse=True, device="gpu")
    works = {
        "unique": {},
        "unique+counts": {"return_counts": True},
        "unique+inverse": {"return_inverse": True},
    }
    for what, most in (("all distinct", 2**63 - 1), ("1000 distinct", 1000)):
        keys = rng.integers(0, most, n)
        for work, flags in works.items():
            found = {
                "bcfsort": lambda keys, flags: bcfsort.unique(keys, **flags),
                "bcfsort (cpu)": lambda keys, flags: bcfsort.unique(keys, device="cpu", **flags),
                "numpy": lambda keys, flags: np.unique(keys, **flags),
            }
            wanted = None
            for name, function in found.items():
                result, seconds = timed(function, keys, flags)
                result = result if flags else (result,)
                wanted = result if wanted is None else wanted
                assert all(map(np.array_equal, result, wanted)), (work, what, name)
                rows(f"{work},int64 ({what}),{n},{name},{seconds:.4f}")


def main():
    arguments = sys.argv[1:]
    modes = {"--table": table, "--unique": distinct}
    chosen = [modes[each] for each in arguments if each in modes]
    files = [each for each in arguments if not each.startswith("--")]
    lines = []

    def rows(line):
        lines.append(line)
        print(line, flush=True)

    rows("work,dtype,n,contender,seconds")
    (chosen[0] if chosen else arrays)(rows)
    for file in files:
        pathlib.Path(file).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

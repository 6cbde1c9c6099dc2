#!/usr/bin/env python3
"""Times sorts of numpy arrays and of tables, and prints the medians as CSV.

    benches/sorts.py [CSV]            arrays: bcfsort, numpy, polars, torch on the CPU and on CUDA
    benches/sorts.py --table [CSV]    a table by (date, id, string): bcfsort, polars, DuckDB
    benches/sorts.py --unique [CSV]   distinct values of 10^8 int64: bcfsort, numpy

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


def contenders():
    """(name, {work: function of keys and values}) of those that are installed."""

    def by_numpy(keys, values):
        order = np.argsort(keys, kind="stable")
        return keys[order], values[order]

    def ours(device):
        return {
            "sort": lambda keys, _: bcfsort.sort(keys, device=device),
            "argsort": lambda keys, _: bcfsort.argsort(keys, device=device),
            "sort_by_key": lambda keys, values: bcfsort.sort_by_key(keys, values, device=device),
        }

    found = [
        (
            "numpy",
            {
                "sort": lambda keys, _: np.sort(keys),
                "argsort": lambda keys, _: np.argsort(keys, kind="stable"),
                "sort_by_key": by_numpy,
            },
        ),
        ("bcfsort", ours(None)),
        ("bcfsort (gpu)", ours("gpu")),
    ]
    try:
        import polars as pl

        sorts = {"sort": lambda keys, _: pl.Series(keys).sort().to_numpy()}
        found.append(("polars", sorts))
    except ImportError:
        print("no polars", file=sys.stderr)
    try:
        import torch
    except ImportError:
        print("no torch", file=sys.stderr)
        return found

    def torch_on(device):
        def run(function):
            def call(keys, _):
                return function(torch.from_numpy(keys).to(device)).cpu().numpy()

            return call

        return {
            "sort": run(lambda keys: keys.sort().values),
            "argsort": run(lambda keys: keys.argsort(stable=True)),
        }

    found.append(("torch (CPU)", torch_on("cpu")))
    if torch.cuda.is_available():
        found.append(("torch (CUDA)", torch_on("cuda")))
    else:
        print("no CUDA in torch", file=sys.stderr)
    return found


#: A contender that took longer, in seconds, is called once, and not for larger arrays.
LONG = 1.0


def timed(function, *arguments):
    """The result and the time: the median of 3 to 25 calls after a first one."""
    begin = time.perf_counter()
    result = function(*arguments)
    first = time.perf_counter() - begin
    if first > LONG:
        return result, first
    times = []
    while len(times) < 3 or (sum(times) < 0.3 and len(times) < 25):
        begin = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - begin)
    return result, statistics.median(times)


def arrays(rows):
    """Times sorts of arrays."""
    rng = np.random.default_rng(1)
    found = contenders()
    # The first sort of each width compiles kernels.
    for dtype in (np.uint32, np.uint64):
        bcfsort.argsort(np.arange(1 << 16, dtype=dtype), device="gpu")
        bcfsort.sort(np.arange(1 << 16, dtype=dtype), device="gpu")
    too_slow = set()
    for log in SIZES:
        n = 1 << log
        values = np.arange(n)
        for keys in (
            rng.standard_normal(n, dtype=np.float32),
            rng.integers(-(2**63), 2**63 - 1, n),
        ):
            for work in ("sort", "argsort", "sort_by_key"):
                wanted = None
                for name, functions in found:
                    this = (work, keys.dtype, name)
                    if work not in functions or this in too_slow:
                        continue
                    result, seconds = timed(functions[work], keys, values)
                    # The first one that can checks the others.
                    wanted = result if wanted is None else wanted
                    assert np.array_equal(result, wanted), this
                    rows(f"{work},{keys.dtype},{n},{name},{seconds:.7f}")
                    if seconds > LONG:
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

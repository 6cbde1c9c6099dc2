#!/usr/bin/env python3
"""Times sorts of numpy arrays and of tables, and prints the medians as CSV.

    benches/sorts.py [CSV]       arrays: bcfsort, numpy, polars, torch on the CPU, torch on CUDA
    benches/sorts.py --table     a table by (date, id, string): bcfsort, polars, DuckDB

Contenders that are not installed are left out, and named. torch on CUDA is timed with both
transfers, from a numpy array to a numpy array. Every result is compared with numpy's.
"""

import statistics
import sys
import time

import numpy as np

import bcfsort

SIZES = [10, 12, 14, 16, 18, 20, 22, 24, 26, 28]


def contenders():
    """(name, sort, argsort) of those that are installed."""
    found = [
        (
            "bcfsort",
            lambda a: bcfsort.sort(a, device="gpu"),
            lambda a: bcfsort.argsort(a, device="gpu"),
        ),
        ("bcfsort (auto)", bcfsort.sort, bcfsort.argsort),
        ("numpy", np.sort, lambda a: np.argsort(a, kind="stable")),
    ]
    try:
        import polars as pl

        found.append(
            (
                "polars",
                lambda a: pl.Series(a).sort().to_numpy(),
                lambda a: pl.Series(a).arg_sort().to_numpy(),
            )
        )
    except ImportError:
        print("no polars", file=sys.stderr)
    try:
        import torch

        def on_cpu(function):
            return lambda a: function(torch.from_numpy(a)).numpy()

        def on_cuda(function):
            return lambda a: function(torch.from_numpy(a).cuda()).cpu().numpy()

        def sort(t):
            return t.sort().values

        def argsort(t):
            return t.argsort(stable=True)

        found.append(("torch (CPU)", on_cpu(sort), on_cpu(argsort)))
        if torch.cuda.is_available():
            found.append(("torch (CUDA)", on_cuda(sort), on_cuda(argsort)))
        else:
            print("no CUDA in torch", file=sys.stderr)
    except ImportError:
        print("no torch", file=sys.stderr)
    return found


def median(function):
    """The median of the times of at least 3 and at most 25 calls: of about half a second."""
    function()
    times = []
    while len(times) < 3 or (sum(times) < 0.5 and len(times) < 25):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
        if sum(times) > 10:
            break
    return statistics.median(times)


def arrays(rows):
    """Times sorts of arrays."""
    rng = np.random.default_rng(1)
    found = contenders()
    for log in SIZES:
        n = 1 << log
        for dtype in (np.float32, np.int64):
            if dtype is np.float32:
                a = rng.standard_normal(n, dtype=np.float32)
            else:
                a = rng.integers(-(2**63), 2**63 - 1, n)
            for work in (1, 2):
                wanted = found[2][work](a)
                for contender in found:
                    call = contender[work]
                    slow = contender[0] not in ("bcfsort", "torch (CUDA)") and log == 28
                    if slow and work == 2 and dtype is np.int64:
                        continue
                    result = call(a)
                    if contender[0] == "polars" and work == 2:
                        result = a[result] == a[wanted]
                        assert result.all(), contender
                    else:
                        assert np.array_equal(result, wanted), (contender, n, dtype)
                    name = ("sort", "argsort")[work - 1]
                    rows(f"{name},{np.dtype(dtype)},{n},{contender[0]},{median(lambda: call(a)):.7f}")
            if log <= 26:
                values = np.arange(n)
                call = lambda: bcfsort.sort_by_key(a, values, device="gpu")  # noqa: E731
                rows(f"sort_by_key,{np.dtype(dtype)},{n},bcfsort,{median(call):.7f}")

                def by_numpy():
                    order = np.argsort(a, kind="stable")
                    return a[order], values[order]

                rows(f"sort_by_key,{np.dtype(dtype)},{n},numpy,{median(by_numpy):.7f}")


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

    def timed(name, call):
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            results[name] = call()
            times.append(time.perf_counter() - begin)
        rows(f"sort_table,date+id+string,{n},{name},{statistics.median(times):.4f}")

    timed("bcfsort", lambda: bcfsort.sort_table(data, by, device="gpu"))
    timed("bcfsort (cpu)", lambda: bcfsort.sort_table(data, by, device="cpu"))
    try:
        import polars as pl

        frame = pl.from_arrow(data)
        timed("polars", lambda: frame.sort(by, maintain_order=True))
        assert pl.from_arrow(results["bcfsort"]).equals(results["polars"])
        timed("bcfsort of polars", lambda: bcfsort.sort_table(frame, by, device="gpu"))
    except ImportError:
        print("no polars", file=sys.stderr)
    try:
        import duckdb

        def by_duckdb():
            relation = duckdb.sql("select * from data order by date, id, name")
            return relation.to_arrow_table()

        timed("duckdb", by_duckdb)
        assert results["duckdb"]["id"].equals(results["bcfsort"]["id"])
    except ImportError:
        print("no duckdb", file=sys.stderr)


def main():
    arguments = sys.argv[1:]
    as_table = "--table" in arguments
    files = [each for each in arguments if not each.startswith("--")]
    out = open(files[0], "w") if files else sys.stdout

    def rows(line):
        print(line, file=out, flush=True)
        if files:
            print(line, flush=True)

    rows("work,dtype,n,contender,seconds")
    (table if as_table else arrays)(rows)


if __name__ == "__main__":
    main()

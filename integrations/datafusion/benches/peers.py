"""Times ORDER BY over the files of `order_by`, with DuckDB and polars.

    python peers.py /tmp/lineitem [runs]

Results are materialised in each library's own form, and dropped. A time is the median.
"""

import statistics
import sys
import time

ORDERS = {
    "l_shipdate": ["l_shipdate"],
    "l_shipdate, l_orderkey": ["l_shipdate", "l_orderkey"],
    "l_comment": ["l_comment"],
}


def queries():
    for name, order in ORDERS.items():
        yield name, order, order
    for name, order in ORDERS.items():
        yield f"{name}, all columns", ["*"], order


def with_duckdb(directory):
    import duckdb

    connection = duckdb.connect()

    def run(columns, order):
        select = f"SELECT {', '.join(columns)} FROM '{directory}/*.parquet'"
        select += f" ORDER BY {', '.join(order)}"
        connection.sql(f"CREATE OR REPLACE TEMP TABLE sorted AS {select}")

    return f"DuckDB {duckdb.__version__}", run


def with_polars(directory):
    import polars

    def run(columns, order):
        rows = polars.scan_parquet(f"{directory}/*.parquet")
        rows = rows if columns == ["*"] else rows.select(columns)
        rows.sort(order).collect()

    return f"polars {polars.__version__}", run


def main():
    directory = sys.argv[1]
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    for make in (with_duckdb, with_polars):
        engine, run = make(directory)
        run(["l_linenumber"], ["l_linenumber"])
        for name, columns, order in queries():
            times = []
            for _ in range(runs):
                begin = time.perf_counter()
                run(columns, order)
                times.append(time.perf_counter() - begin)
            print(f'"{name}",{engine},{statistics.median(times):.3f},{min(times):.3f},', flush=True)


main()

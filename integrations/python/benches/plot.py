#!/usr/bin/env python3
"""Draws the times that sorts.py measured. Needs matplotlib.

benches/plot.py results/python-sorts.csv results/python-sorts.svg
"""

import csv
import sys
from collections import defaultdict

import matplotlib as mpl
from matplotlib import pyplot as plt

STYLES = {
    "bcfsort": ("#0072b2", "o", 3),
    "numpy": ("#009e73", "^", 1.5),
    "polars": ("#e69f00", "s", 1.5),
    "torch (CPU)": ("#999999", "v", 1.5),
    "torch (CUDA)": ("#cc79a7", "D", 1.5),
}


def main():
    table, picture = sys.argv[1:]
    times = defaultdict(list)
    with open(table, newline="") as file:
        for row in csv.DictReader(file):
            key = (row["work"], row["dtype"], row["contender"])
            times[key].append((int(row["n"]), float(row["seconds"])))
    # Text is not drawn as paths, and the file is reproducible.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "bcfsort", "font.size": 11})
    figure, panels = plt.subplots(1, 3, figsize=(13, 4.6), sharey=True, layout="constrained")
    works = [("sort", "float32"), ("sort", "int64"), ("argsort", "float32")]
    for panel, (work, dtype) in zip(panels, works, strict=True):
        for name, (color, marker, width) in STYLES.items():
            points = times.get((work, dtype, name))
            if points:
                panel.plot(
                    *zip(*points, strict=True), marker, ls="-", color=color, lw=width, label=name
                )
        panel.set(xscale="log", yscale="log", title=f"{work} of {dtype}", xlabel="elements")
        panel.set_xscale("log", base=2)
        panel.grid(color="#dddddd")
    panels[0].set_ylabel("seconds (lower is better)")
    panels[0].legend()
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main()

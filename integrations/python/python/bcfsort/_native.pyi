from typing import final

import numpy as np

__all__ = [
    "Engine",
    "Order",
    "Table",
    "decode",
    "devices",
    "distinct",
    "encode",
    "has_order",
    "lengths",
    "merge",
    "number",
    "opened",
    "runs",
    "search",
    "sort_indices",
    "sort_table",
    "take",
]

def devices() -> list[tuple[str, str, str, bool]]: ...
def opened() -> int: ...
def encode(values: np.ndarray, out: np.ndarray, order: Order, merges: bool) -> None: ...
def decode(codes: np.ndarray, out: np.ndarray | None, order: Order) -> None: ...
def take(source: np.ndarray, indices: np.ndarray, out: np.ndarray) -> None: ...
def runs(
    codes: np.ndarray, columns: int, distinct: int | None
) -> tuple[np.ndarray, np.ndarray]: ...
def lengths(starts: np.ndarray, out: np.ndarray) -> None: ...
def number(
    starts: np.ndarray, indices: np.ndarray, columns: int, by: str, out: np.ndarray
) -> None: ...
def distinct(
    sorted: np.ndarray,
    source: np.ndarray,
    order: Order,
    equal_missing: bool,
    with_starts: bool,
) -> tuple[np.ndarray | None, np.ndarray | None]: ...
def search(
    words: np.ndarray,
    needles: np.ndarray,
    order: Order,
    right: bool,
    sorter: np.ndarray | None,
    out: np.ndarray,
) -> None: ...
def merge(
    first: np.ndarray,
    second: np.ndarray,
    order: Order,
    out: np.ndarray,
    indices: np.ndarray | None,
) -> None: ...
def has_order(data_type: object) -> bool: ...
def sort_indices(
    table: object, by: list[tuple[str, bool, bool, bool]], engine: Engine
) -> np.ndarray: ...
def sort_table(
    table: object, by: list[tuple[str, bool, bool, bool]], limit: int | None, engine: Engine
) -> Table: ...

@final
class Table:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...

@final
class Order:
    def __new__(cls, kind: str, bits: int, descending: bool, missing_last: bool) -> Order: ...
    @property
    def kind(self) -> str: ...

@final
class Engine:
    def __new__(cls, device: int | str | None = None) -> Engine: ...
    @staticmethod
    def auto_on(index: int) -> Engine: ...
    @property
    def adapters(self) -> list[int]: ...
    def destroy(self) -> None: ...
    def choose(self, work: str, elements: int, columns: int, itemsize: int) -> tuple[str, str]: ...
    def sort(self, words: np.ndarray | None, out: np.ndarray, order: Order) -> None: ...
    def argsort(self, words: np.ndarray, order: Order, out: np.ndarray) -> None: ...
    def top(
        self, words: np.ndarray, order: Order, values: np.ndarray, indices: np.ndarray
    ) -> None: ...
    def partition(
        self, words: np.ndarray, order: Order, begin: int, end: int, out: np.ndarray
    ) -> None: ...
    def argpartition(
        self, words: np.ndarray, order: Order, begin: int, end: int, out: np.ndarray
    ) -> None: ...
    def sort_rows(self, codes: np.ndarray, columns: int) -> None: ...
    def argsort_rows(
        self, codes: np.ndarray, columns: int, k: int, indices: np.ndarray
    ) -> None: ...

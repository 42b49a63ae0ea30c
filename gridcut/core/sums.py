"""Sums of arrays: integers exactly, as Python integers of any size; floats as float64, inf on overflow.

One or two extra passes find the largest entry.  Only if the sum might exceed 64 bits is it split into halves, or are
products computed with Python integers.
"""

import numpy as np

INT64_BITS = 63
CHUNK_PRODUCTS = 1 << 16  # products of Python integers at a time


def total(array: np.ndarray) -> int | float:
    """Sum of all entries."""
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return array.sum(dtype=np.float64).item()
    if array.size * largest(array) < 2**INT64_BITS:
        return array.sum(dtype=np.int64).item()
    wide = array.astype(np.int64)
    return ((wide >> 32).sum(dtype=np.int64).item() << 32) + (wide & (2**32 - 1)).sum(dtype=np.int64).item()


def total_of_products(first: np.ndarray, second: np.ndarray) -> int | float:
    """Sum of first * second, two arrays of the same shape."""
    if "f" in (first.dtype.kind, second.dtype.kind):
        with np.errstate(over="ignore"):
            return (first.astype(np.float64) * second).sum(dtype=np.float64).item()
    if first.size * largest(first) * largest(second) < 2**INT64_BITS:
        return (first.astype(np.int64) * second).sum(dtype=np.int64).item()
    used = (first != 0) & (second != 0)
    first, second = first[used], second[used]
    found = 0
    for i in range(0, first.size, CHUNK_PRODUCTS):
        pairs = zip(first[i : i + CHUNK_PRODUCTS].tolist(), second[i : i + CHUNK_PRODUCTS].tolist(), strict=True)
        found += sum(a * b for a, b in pairs)
    return found


def largest(array: np.ndarray) -> int:
    """The largest absolute value of integers."""
    if array.size == 0:
        return 0
    return max(array.max().item(), -array.min().item()) if array.dtype.kind != "b" else 1

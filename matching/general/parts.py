"""Divide vertices among threads, and concatenate the remaining ones."""

import numpy as np

from gridcut.device import run_threads


def parts_of(count: int, threads: int) -> list[tuple[int, int]]:
    """Consecutive ranges of 0 to count - 1, one per thread, of nearly equal length."""
    bounds = [count * i // threads for i in range(threads + 1)]
    return list(zip(bounds[:-1], bounds[1:], strict=True))


def run_on_parts(run, arguments, parts) -> list:
    """Run a kernel on all parts concurrently; returns a list of its results."""
    return run_threads(lambda i: run(*arguments, *parts[i]), len(parts))


def packed(active, parts, counts) -> np.ndarray:
    """The first `counts` entries of each part, in order."""
    return np.concatenate([active[first : first + count] for (first, _), count in zip(parts, counts, strict=True)])

"""How vertices are divided among threads, and what is left of them brought together again."""

import numpy as np

from gridcut.device import run_threads


def parts_of(count: int, threads: int) -> list[tuple[int, int]]:
    """Consecutive ranges of 0 ... count - 1, one for each thread, of nearly equal length."""
    bounds = [count * i // threads for i in range(threads + 1)]
    return list(zip(bounds[:-1], bounds[1:], strict=True))


def run_on_parts(run, arguments, parts) -> list:
    """A kernel on all parts at the same time; what it returns for each."""
    return run_threads(lambda i: run(*arguments, *parts[i]), len(parts))


def packed(active, parts, counts) -> np.ndarray:
    """The first `left` entries of each part, in order."""
    return np.concatenate([active[first : first + count] for (first, _), count in zip(parts, counts, strict=True)])

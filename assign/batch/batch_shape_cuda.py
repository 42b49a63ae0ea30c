"""Compile-time and launch parameters of assign/batch/batch_team_cuda.py, from the size of the problems."""

from typing import NamedTuple

import numpy as np

from gridcut.device.cuda import WARP

MAX_COLUMNS, MAX_LIMITED_COLUMNS = 2048, 1536  # columns that fit into shared memory
MAX_THREADS = 256
MAX_STAGED_BYTES = 20 * 1024  # larger cost matrices are not copied to shared memory


class Kind(NamedTuple):
    """Compile-time parameters of a kernel."""

    cost: str  # dtype of the costs
    number: str  # dtype of keys: int32, int64
    per: int  # columns per thread
    warps: int  # maximum number of warps
    bits: int  # bits of a key for the column and whether it is matched
    staged: bool  # costs are copied to shared memory
    limited: bool


def kind_for(cost: str, number: str, n: int, m: int, limited: bool) -> Kind:
    """The kernel for problems of this size."""
    long_side = max(n, m)
    per = power_above(-(-long_side // MAX_THREADS))
    warps = power_above(-(-long_side // (per * WARP)))
    bits = max(long_side - 1, 1).bit_length() + 1
    staged = n * m * np.dtype(cost).itemsize <= MAX_STAGED_BYTES
    return Kind(cost, number, per, warps, bits, staged, limited)


def power_above(number: int) -> int:
    """The smallest power of two that is at least `number`."""
    return 1 << max(number - 1, 0).bit_length()


def threads_of(kind: Kind, long_side: int) -> int:
    """Threads per block: a multiple of the warp size."""
    return WARP * -(-long_side // (WARP * kind.per))


def words_of(kind: Kind, n: int, m: int) -> tuple[int, int]:
    """Words of shared memory excluding the boards: for costs, and in total; both even."""
    costs = n * m * (np.dtype(kind.cost).itemsize // 4) if kind.staged else 0
    costs += costs % 2
    # Large enough for the transposed problem if n > m.
    rows = n * (np.dtype(kind.number).itemsize // 4)
    words = costs + rows + 2 * m + n + (2 * m + n) % 2 + (rows if kind.limited else 0)
    return costs, words + words % 2

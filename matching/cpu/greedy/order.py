"""Random numbers that depend on a seed alone: the same on every machine and in every version of NumPy.

splitmix64: Steele, Lea, Flood. "Fast splittable pseudorandom number generators." OOPSLA 2014.
"""

import numpy as np

from gridcut.device import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
LOW_32 = np.uint64(0xFFFFFFFF)
S27, S30, S31, S32 = (np.uint64(shift) for shift in (27, 30, 31, 32))


@kernel
def mixed(state):
    """64 random bits from a state that goes up by GOLDEN each time."""
    z = (state ^ (state >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@kernel
def shuffle(order, seed):
    """Fill `order` with a random permutation (Fisher and Yates)."""
    state = mixed(np.uint64(seed) + GOLDEN)
    for i in range(order.size):
        state += GOLDEN
        j = np.int64(((mixed(state) >> S32) * np.uint64(i + 1)) >> S32)
        order[i] = order[j]
        order[j] = i


def vertex_order(n: int, seed: int, shuffled: bool) -> np.ndarray:
    """The vertices in random order, or as they are numbered."""
    if not shuffled:
        return np.arange(n, dtype=np.int32)
    order = np.empty(n, np.int32)
    shuffle(order, np.uint64(seed))
    return order

"""Random numbers that depend on a seed alone: the same on every machine and in every version of NumPy.

splitmix64: Steele, Lea, Flood. "Fast splittable pseudorandom number generators." OOPSLA 2014.
"""

import numpy as np

from gridcut.device import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
LOW_32 = np.uint64(0xFFFFFFFF)
ONE = np.uint64(1)
# Vertices that come one after another, in random order among themselves: their part of a graph fits into a cache.
BLOCK = 1 << 14
S27, S30, S31, S32 = (np.uint64(shift) for shift in (27, 30, 31, 32))


@kernel
def mixed(state):
    """64 random bits from a state that goes up by GOLDEN each time."""
    z = (state ^ (state >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@kernel
def shuffle_kernel(order, blocks, size, seed):
    """Fill `order` with a permutation: blocks of `size` vertices in random order, those of each in random order.

    Both by Fisher and Yates, inside out; `blocks` has room for their numbers.
    """
    state = mixed(seed + GOLDEN)
    for i in range(np.uint64(blocks.size)):
        state += GOLDEN
        j = ((mixed(state) >> S32) * (i + ONE)) >> S32
        blocks[i] = blocks[j]
        blocks[j] = i
    begin = np.uint64(0)
    for block in blocks:
        first = np.uint64(block) * size
        count = min(size, np.uint64(order.size) - first)
        for i in range(count):
            state += GOLDEN
            j = ((mixed(state) >> S32) * (i + ONE)) >> S32
            order[begin + i] = order[begin + j]
            order[begin + j] = first + i
        begin += count


def vertex_order(n: int, seed: int, shuffled: bool) -> np.ndarray:
    """The vertices in random order, or as they are numbered."""
    if not shuffled:
        return np.arange(n, dtype=np.int32)
    order = np.empty(n, np.int32)
    shuffle_kernel(order, np.empty(-(-n // BLOCK), np.int32), np.uint64(BLOCK), np.uint64(seed))
    return order

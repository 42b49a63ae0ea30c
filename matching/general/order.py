"""Pseudo-random orders of vertices that depend on a seed only: the same on every machine and with every NumPy version.

An order visits blocks of consecutive vertices, whose part of a graph fits into a cache: the blocks in random order, and
the vertices of a block in random order. All blocks share one permutation of the positions in a block; each applies
exclusive or with a random number of its own to its entries. An order is thus generated while it is used, and needs no
memory.

Arrays (n vertices, blocks of `positions.size`, a power of two)
  positions[i]   a permutation of 0 to positions.size - 1
  blocks[j]      the j-th block;  flips[j]   exclusive-or mask of its positions
  chunk[:]       some of the next vertices

The i-th vertex of the j-th block is blocks[j] * positions.size + (positions[i] ^ flips[j]), if that is below n.

`parts_of`, `run_on_parts` and `packed` divide vertices among threads, and concatenate the remaining ones.

splitmix64: Steele, Lea, Flood. "Fast splittable pseudorandom number generators." OOPSLA 2014.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import plain_kernel, run_threads

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
ONE = np.uint64(1)
NO_VERTEX = np.int32(-1)  # as a partner, a candidate or a choice
BLOCK = 1 << 14  # vertices per block
CHUNK = 1 << 10  # positions tested before vertices are matched: few, so that most vertices found unmatched still are
S27, S30, S31, S32 = (np.uint64(shift) for shift in (27, 30, 31, 32))


class Order(NamedTuple):
    """An order of vertices; arrays as above."""

    positions: np.ndarray
    blocks: np.ndarray
    flips: np.ndarray
    chunk: np.ndarray


@plain_kernel
def mixed(state):
    """64 random bits from a state that increases by GOLDEN each time."""
    z = (state ^ (state >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@plain_kernel
def random_factor(seed, i):
    """The r of round i for a seed, both uint64: random and odd."""
    return np.uint32(mixed(seed + (i + ONE) * GOLDEN) >> S32 | ONE)


@plain_kernel
def random_entry(v, r, degree):
    """Entry of its list, 0 to degree - 1, from which v searches with the factor r, 32 bits."""
    return (mixed((np.uint64(v) << S32 | np.uint64(r)) * GOLDEN) >> S32) * np.uint64(degree) >> S32


@plain_kernel
def permute(order, state):
    """Fill `order` with a random permutation (inside-out Fisher-Yates shuffle); returns the state after it."""
    for i in range(np.uint64(order.size)):
        state += GOLDEN
        j = ((mixed(state) >> S32) * (i + ONE)) >> S32
        order[i] = order[j]
        order[j] = i
    return state


@plain_kernel
def shuffle_kernel(positions, blocks, flips, seed):
    """Randomise an order."""
    state = permute(positions, permute(blocks, mixed(seed + GOLDEN)))
    for j in range(flips.size):
        state += GOLDEN
        flips[j] = mixed(state) & np.uint64(positions.size - 1)


@plain_kernel
def unmatched_kernel(positions, block, flip, begin, chunk, taken):
    """Fill `chunk` with the unmatched vertices among the next chunk.size of a block; returns their number.

    Branch-free, since whether a vertex is unmatched cannot be predicted.
    """
    n = np.uint64(taken.size)
    first = np.uint64(block) * np.uint64(positions.size)
    count = np.uint64(0)
    for i in range(np.uint64(begin), np.uint64(begin + chunk.size)):
        v = first + np.uint64(positions[i] ^ flip)
        if v < n:
            chunk[count] = v
            count += np.uint64(taken[v] == 0)
    return count


def vertex_order(n: int, seed: int, shuffled: bool) -> Order:
    """The vertices in random order, or in index order."""
    size = 1 << max(min(n, BLOCK) - 1, 0).bit_length()
    count = -(-n // size)
    order = Order(
        np.arange(size, dtype=np.int32),
        np.arange(count, dtype=np.int32),
        np.zeros(count, np.int32),
        np.empty(min(size, CHUNK), np.int32),
    )
    if shuffled:
        shuffle_kernel(order.positions, order.blocks, order.flips, np.uint64(seed))
    return order


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

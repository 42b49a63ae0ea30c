"""Random orders of vertices that depend on a seed alone: the same on every machine and in every version of NumPy.

An order goes through blocks of consecutive vertices, whose part of a graph fits into a cache: blocks in random order,
the vertices of a block in random order.  All blocks share one permutation of their places, whose entries each of them
takes exclusive or with a random number of its own; so an order is made as it is used, and takes no memory.

Arrays (n vertices, blocks of `places.size`, which is a power of two)
  places[i]   a permutation of 0 ... places.size - 1
  blocks[j]   the block that comes j-th; flips[j]   what its places are flipped by
  chunk[:]    some of the vertices that come next

The i-th vertex of the j-th block is blocks[j] * places.size + (places[i] ^ flips[j]), if that is below n.

splitmix64: Steele, Lea, Flood. "Fast splittable pseudorandom number generators." OOPSLA 2014.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
ONE = np.uint64(1)
BLOCK = 1 << 14  # vertices of a block
CHUNK = 1 << 10  # places looked at before vertices are matched: few, so that those found free mostly still are
S27, S30, S31, S32 = (np.uint64(shift) for shift in (27, 30, 31, 32))


class Order(NamedTuple):
    """An order of vertices; arrays as above."""

    positions: np.ndarray
    blocks: np.ndarray
    flips: np.ndarray
    chunk: np.ndarray


@kernel
def mixed(state):
    """64 random bits from a state that goes up by GOLDEN each time."""
    z = (state ^ (state >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@kernel
def permute(order, state):
    """Fill `order` with a random permutation, by Fisher and Yates, inside out; the state after it."""
    for i in range(np.uint64(order.size)):
        state += GOLDEN
        j = ((mixed(state) >> S32) * (i + ONE)) >> S32
        order[i] = order[j]
        order[j] = i
    return state


@kernel
def shuffle_kernel(positions, blocks, flips, seed):
    """Make an order random."""
    state = permute(positions, permute(blocks, mixed(seed + GOLDEN)))
    for j in range(flips.size):
        state += GOLDEN
        flips[j] = mixed(state) & np.uint64(positions.size - 1)


@kernel
def unmatched_kernel(positions, block, flip, begin, chunk, taken):
    """Fill `chunk` with the free vertices among the next chunk.size of a block; their number.

    Without a branch, since whether a vertex is free cannot be predicted.
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
    """The vertices in random order, or as they are numbered."""
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

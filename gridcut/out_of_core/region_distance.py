"""The region distance [1]: the number of block boundaries that a pixel's flow must cross to reach the sink.

Computed from bits, one integer per cell, which are a small part of a state and often all that has to be read:

  bit k < A     residual of arc k > 0
  bit A         the cell has a deficit: residual capacity to the sink
  bit A + 1     the cell holds excess

Distances within a block follow from the distances that its neighbours claim for the cells along their boundaries: 0 if
a deficit of the block itself can be reached, else one more than the smallest claim that can be reached.

[1] Shekhovtsov, Hlaváč. "A distributed mincut/maxflow algorithm combining path augmentation and push-relabel." IJCV
2013, section 5."""

import numpy as np

from gridcut.core.grid import Grid, Layout, index_type
from gridcut.device import kernel

INFINITY = np.iinfo(np.int32).max  # the sink cannot be reached


def bits_type(arcs: int):
    """The narrowest integer type for the bits of a cell; ValueError if there are too many arcs."""
    for kind in (np.uint8, np.uint16, np.uint32, np.uint64):
        if arcs + 2 <= 8 * np.dtype(kind).itemsize:
            return np.dtype(kind)
    raise ValueError(f"edges has {arcs // 2} pairs of opposite offsets; method 'out_of_core' takes at most 31")


@kernel
def bits_kernel(excess, residual, arcs, bits):
    """Write the bits of all cells."""
    one = np.uint64(1)
    for p in range(excess.size):
        found = np.uint64(0)
        for k in range(arcs):
            if residual[p * arcs + k] > 0:
                found |= one << np.uint64(k)
        if excess[p] < 0:
            found |= one << np.uint64(arcs)
        elif excess[p] > 0:
            found |= one << np.uint64(arcs + 1)
        bits[p] = found


@kernel
def search_kernel(bits, step, first, last, claimed, distance, queue):
    """Breadth-first search of the cells first..last; returns the number of cells with excess that can reach the sink.

    claimed    cells outside first..last with a claim (their entry in `distance`), by ascending claim
    distance   INFINITY in first..last at the start
    """
    arcs = len(step)
    one = np.uint64(1)
    holds, needs = np.uint64(arcs + 1), np.uint64(arcs)
    tail = 0
    active = 0
    for p in range(first, last):
        if (np.uint64(bits[p]) >> needs) & one:
            distance[p] = 0
            queue[tail] = p
            tail += 1
    front = 0
    i = 0
    while True:
        while front < tail:
            p = np.int64(queue[front])
            front += 1
            here = distance[p]
            active += np.int64((np.uint64(bits[p]) >> holds) & one)
            for k in range(arcs):
                q = p + step[k]
                if first <= q < last and distance[q] == INFINITY and (np.uint64(bits[q]) >> np.uint64(k ^ 1)) & one:
                    distance[q] = here
                    queue[tail] = q
                    tail += 1
        if i == claimed.size:
            break
        claim = distance[claimed[i]]
        while i < claimed.size and distance[claimed[i]] == claim:
            p = np.int64(claimed[i])
            i += 1
            for k in range(arcs):
                q = p + step[k]
                if first <= q < last and distance[q] == INFINITY and (np.uint64(bits[q]) >> np.uint64(k ^ 1)) & one:
                    distance[q] = claim + 1
                    queue[tail] = q
                    tail += 1
    return active


def search(bits, layout: Layout, first: int, last: int, distance) -> int:
    """`search_kernel` from the claims in `distance` outside first..last; INFINITY: none."""
    distance[first:last] = INFINITY
    outside = np.concatenate(
        [np.flatnonzero(distance[:first] < INFINITY), last + np.flatnonzero(distance[last:] < INFINITY)]
    )
    claimed = outside[np.argsort(distance[outside], kind="stable")]
    queue = np.empty(last - first, index_type(layout.size))
    return search_kernel(bits, layout.step, first, last, claimed, distance, queue)


def bits_of(grid: Grid) -> np.ndarray:
    """The bits of all cells of a state."""
    bits = np.empty(grid.layout.size, bits_type(grid.layout.arcs))
    bits_kernel(grid.excess, grid.residual, grid.layout.arcs, bits)
    return bits

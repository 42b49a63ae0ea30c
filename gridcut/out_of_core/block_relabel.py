"""Global relabeling over blocks: exact region distances from the bits on disk, one block at a time.

Only the distances along the boundaries of the blocks are stored: the claims of a block, which its neighbours read.
Blocks are searched alternately down and up the grid, each from the claims of its neighbours, until no claim changes.  A
block whose neighbours' claims have not changed is not read again.  Claims start at INFINITY and decrease to the true
distances, as in the Bellman-Ford algorithm."""

from typing import NamedTuple

import numpy as np

from gridcut.core.grid import Layout
from gridcut.out_of_core.region_distance import INFINITY, search
from gridcut.out_of_core.store import Store


class Block(NamedTuple):
    """Lines first..last, and low..high with the halo."""

    first: int
    last: int
    low: int
    high: int


class SearchResult(NamedTuple):
    """Result of a search: the distances of all cells of lines low..high; those of the halo are claims."""

    layout: Layout
    bits: np.ndarray
    distance: np.ndarray
    active: int  # number of the block's cells with excess that can reach the sink


class Relabeling:
    """Distances along the boundaries of the blocks, and the active cells of each.

    active[i]   number of cells of block i with excess that can reach the sink
    """

    def __init__(self, store: Store, strips: list[tuple[int, int]]):
        self.store = store
        lines = [(store.bounds[begin], store.bounds[end]) for begin, end in strips]
        self.blocks = [Block(first, last, *store.with_halo(first, last)) for first, last in lines]
        self._boundary_cells = store.halo_width * store.layout.stride[0]
        # Keyed by the line at which two blocks meet: the claims of the lines before and after it.
        unreached = np.full(self._boundary_cells, INFINITY, np.int32)
        self._before = {block.last: unreached.copy() for block in self.blocks[:-1]}
        self._after = {block.last: unreached.copy() for block in self.blocks[:-1]}
        self.active = [0] * len(self.blocks)
        self.searches = 0

    def run(self) -> None:
        """Search blocks until all distances are exact."""
        dirty = set(range(len(self.blocks)))
        down = True
        while dirty:
            for i in sorted(dirty, reverse=not down):
                if i in dirty:
                    dirty.discard(i)
                    found = self.search(i)
                    self.active[i] = found.active
                    above, below = self.claim(i, found)
                    dirty |= {i - 1} if above else set()
                    dirty |= {i + 1} if below else set()
            down = not down

    def cells(self, i: int, layout: Layout) -> tuple[int, int]:
        """First cell of a block, and the end of its cells, in the layout of lines low..high."""
        first, last, low, _ = self.blocks[i]
        stride = layout.stride[0]
        return layout.head + (first - low) * stride, layout.head + (last - low) * stride

    def claims_around(self, i: int, layout: Layout) -> np.ndarray:
        """Distances that are INFINITY everywhere except in the halo, which has the claims of the neighbours."""
        block = self.blocks[i]
        distance = np.full(layout.size, INFINITY, np.int32)
        begin, end = self.cells(i, layout)
        if block.low < block.first:
            distance[begin - self._boundary_cells : begin] = self._before[block.first]
        if block.high > block.last:
            distance[end : end + self._boundary_cells] = self._after[block.last]
        return distance

    def search(self, i: int, bits=None) -> SearchResult:
        """Compute the distances in a block from its neighbours' claims; bits: None reads them from disk."""
        block = self.blocks[i]
        layout = self.store.layout_of(block.low, block.high)
        bits = self.store.read_bits(block.low, block.high) if bits is None else bits
        distance = self.claims_around(i, layout)
        self.searches += 1
        return SearchResult(layout, bits, distance, search(bits, layout, *self.cells(i, layout), distance))

    def boundary_distances(self, i: int, found: SearchResult) -> tuple[np.ndarray, np.ndarray]:
        """The computed distances of the first and the last lines of a block."""
        begin, end = self.cells(i, found.layout)
        return found.distance[begin : begin + self._boundary_cells], found.distance[end - self._boundary_cells : end]

    def claimed(self, i: int) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The claims of the first and the last lines of a block; None at the ends of the grid."""
        return self._after.get(self.blocks[i].first), self._before.get(self.blocks[i].last)

    def claim(self, i: int, found: SearchResult) -> tuple[bool, bool]:
        """Make the distances of a block its claims; returns whether those before and after it have changed."""
        changed = []
        for new, old in zip(self.boundary_distances(i, found), self.claimed(i), strict=True):
            changed.append(old is not None and not np.array_equal(new, old))
            if changed[-1]:
                old[...] = new
        return tuple(changed)

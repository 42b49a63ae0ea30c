"""Global relabeling over blocks: exact region distances from the bits on disk, a block at a time.

Only the distances along the borders between blocks are kept.  Blocks are searched by turns, down the grid and up again,
each from what its neighbours claim, until no claim changes; a block whose surroundings have not changed is not read
again.  Claims start as FAR and come down to the true distances, as in the Bellman-Ford algorithm.
"""

from typing import NamedTuple

import numpy as np

from gridcut.core.grid import Layout
from gridcut.out_of_core.region_distance import INFINITY, search
from gridcut.out_of_core.store import Store


class Block(NamedTuple):
    """Lines first..last, and low..high with those around them that arcs lead to."""

    first: int
    last: int
    low: int
    high: int


class SearchResult(NamedTuple):
    """A search of one block: the distances of all cells of lines low..high, those around the block as claimed."""

    layout: Layout
    bits: np.ndarray
    distance: np.ndarray
    active: int  # cells of the block with excess that can reach the sink


class Relabeling:
    """Distances along the borders of some blocks, and which blocks have work.

    active[i]   cells of block i with excess that can reach the sink
    """

    def __init__(self, store: Store, strips: list[tuple[int, int]]):
        self.store = store
        lines = [(store.bounds[begin], store.bounds[end]) for begin, end in strips]
        self.blocks = [Block(first, last, *store.with_halo(first, last)) for first, last in lines]
        self._boundary_cells = store.halo_width * store.layout.stride[0]
        # By the line at which two blocks meet: what the lines before and after it claim.
        unreached = np.full(self._boundary_cells, INFINITY, np.int32)
        self._before = {block.last: unreached.copy() for block in self.blocks[:-1]}
        self._after = {block.last: unreached.copy() for block in self.blocks[:-1]}
        self.active = [0] * len(self.blocks)
        self.searches = 0

    def run(self) -> None:
        """Find all distances."""
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
        """Where the cells of a block begin and end in the layout of its surroundings."""
        first, last, low, _ = self.blocks[i]
        stride = layout.stride[0]
        return layout.head + (first - low) * stride, layout.head + (last - low) * stride

    def claims_around(self, i: int, layout: Layout) -> np.ndarray:
        """FAR everywhere but around the block, where its neighbours' claims stand."""
        block = self.blocks[i]
        distance = np.full(layout.size, INFINITY, np.int32)
        begin, end = self.cells(i, layout)
        if block.low < block.first:
            distance[begin - self._boundary_cells : begin] = self._before[block.first]
        if block.high > block.last:
            distance[end : end + self._boundary_cells] = self._after[block.last]
        return distance

    def search(self, i: int, bits=None) -> SearchResult:
        """The distances in a block from what its neighbours claim; bits: None: those on disk."""
        block = self.blocks[i]
        layout = self.store.layout_of(block.low, block.high)
        bits = self.store.read_bits(block.low, block.high) if bits is None else bits
        distance = self.claims_around(i, layout)
        self.searches += 1
        return SearchResult(layout, bits, distance, search(bits, layout, *self.cells(i, layout), distance))

    def boundary_distances(self, i: int, found: SearchResult) -> tuple[np.ndarray, np.ndarray]:
        """What the first and the last lines of a block have to claim."""
        begin, end = self.cells(i, found.layout)
        return found.distance[begin : begin + self._boundary_cells], found.distance[end - self._boundary_cells : end]

    def claimed(self, i: int) -> tuple[np.ndarray | None, np.ndarray | None]:
        """What they do claim; None at the ends of the grid, where nobody looks."""
        return self._after.get(self.blocks[i].first), self._before.get(self.blocks[i].last)

    def claim(self, i: int, found: SearchResult) -> tuple[bool, bool]:
        """Take a block's distances as its claims; whether those to the block before and after it have changed."""
        changed = []
        for new, old in zip(self.boundary_distances(i, found), self.claimed(i), strict=True):
            changed.append(old is not None and not np.array_equal(new, old))
            if changed[-1]:
                old[...] = new
        return tuple(changed)

"""One slab on its GPU: the launches of a round, and the boundaries to adjacent slabs."""

from typing import NamedTuple

import numpy as np

from gridcut.device.arrays import allocate, clear, download, overwrite, refusing, upload
from gridcut.device.cuda import WARP, multiprocessors
from gridcut.device.launch import launch, most_blocks, prepare
from gridcut.device.peers import Gpu, copy_between
from gridcut.tiles.slabs.halo_exchange import (
    blocks_for,
    pack_flow_kernel,
    pack_heights_kernel,
    unpack_flow_kernel,
    unpack_heights_kernel,
)
from gridcut.tiles.slabs.slab_load import Slab
from gridcut.tiles.slabs.split import Face
from gridcut.tiles.tile_discharge import STEPS_PER_BARRIER
from gridcut.tiles.tile_kernels import (
    COUNTS,
    GHOSTS_AFTER,
    GHOSTS_BEFORE,
    PIXELS,
    THREADS,
    bits_kernel,
    kernels_for,
    list_count,
    shared_bytes,
)
from gridcut.tiles.tile_search import search_words
from gridcut.tiles.tiles import MAX_WORKERS, SMALL_GRID_TILES, make_state, search_threads, shape_of


class SlabSolver:
    """A slab and the launches on its GPU; only `counts` and `set_count` wait for the GPU."""

    def __init__(self, slab: Slab, steps_per_pixel: int):
        self.slab = slab
        self.gpu = slab.gpu
        with self.gpu.active(), refusing():
            self._prepare(steps_per_pixel)

    def _prepare(self, steps_per_pixel: int) -> None:
        part, state = self.slab.part, self.slab.state
        tiles = part.tiles
        n = tiles.count
        shape = shape_of(tiles, state.excess.dtype)._replace(ghosts=True)
        self.memory = make_state(n, tiles.arcs, list_count(shape))
        clear(self.memory.tally)
        for slot, ghosts in ((GHOSTS_BEFORE, part.ghosts_before), (GHOSTS_AFTER, part.ghosts_after)):
            self._set(slot, ghosts)
        threads = search_threads(n)
        warps = threads // WARP
        launch(bits_kernel, -(-n // warps), threads, state.excess, state.residual, tiles.arcs, n, self.memory.bits)
        relabel, self._discharge = kernels_for(shape, PIXELS // THREADS)
        common = (*self.memory[:-1], tuple(np.int32(i) for i in tiles.tiles))
        shared = 4 * warps * search_words(tiles.arcs)
        blocks = min(most_blocks(relabel, (*common, np.int32(0)), threads, shared), -(-n // warps))
        self._search = prepare(
            relabel, blocks, threads, *common, np.int32(min(blocks * warps, MAX_WORKERS)), shared=shared
        )
        self._arguments = (state.excess, state.residual, *common, np.int32(-(-steps_per_pixel // STEPS_PER_BARRIER)))
        self._shared = shared_bytes(shape)
        all_arguments = (*self._arguments, np.float64(1), np.int32(1))
        blocks = min(n, most_blocks(self._discharge, all_arguments, THREADS, self._shared))
        self._blocks = min(blocks, multiprocessors()) if n <= SMALL_GRID_TILES else blocks
        self.boundaries = [Boundary(self, face) for face in part.faces()]

    def relabel(self) -> None:
        with self.gpu.active():
            self._search()

    def discharge(self, discharge_ratio: float, push_only: bool) -> None:
        """push_only: pixels are not relabeled."""
        with self.gpu.active():
            arguments = (*self._arguments, np.float64(discharge_ratio), np.int32(0 if push_only else 1))
            prepare(self._discharge, self._blocks, THREADS, *arguments, shared=self._shared)()

    def counts(self):
        """Counts and times (see tile_kernels.py), after all launches so far have finished."""
        with self.gpu.active():
            tally = download(self.memory.tally)
        return tally[: COUNTS // 2].view(np.int32), tally[COUNTS // 2 :]

    def set_count(self, slot: int, value: int) -> None:
        with self.gpu.active():
            self._set(slot, value)

    def _set(self, slot: int, value: int) -> None:
        overwrite(self.memory.counts[slot : slot + 1], np.array([value], np.int32))

    def pack_heights(self) -> None:
        self._launch(boundary.pack_heights for boundary in self.boundaries)

    def unpack_heights(self, requeue: bool) -> None:
        self._launch(boundary.requeue if requeue else boundary.unpack_heights for boundary in self.boundaries)

    def pack_flow(self) -> None:
        self._launch(boundary.pack_flow for boundary in self.boundaries)

    def unpack_flow(self) -> None:
        self._launch(boundary.unpack_flow for boundary in self.boundaries)

    def _launch(self, launches) -> None:
        with self.gpu.active():
            for one in launches:
                one()

    def send_heights(self) -> None:
        for boundary in self.boundaries:
            copy_between(boundary.heights, self.gpu, boundary.send_to.heights, boundary.send_to.gpu)

    def send_flow(self) -> None:
        for boundary in self.boundaries:
            copy_between(boundary.flow, self.gpu, boundary.send_to.flow, boundary.send_to.gpu)


class ReceiveBuffers(NamedTuple):
    """Buffers of a slab that its neighbour copies into."""

    gpu: Gpu
    heights: object
    flow: object


class Boundary:
    """A face of a slab: buffers to and from the adjacent slab, and the launches that pack and unpack them.

    receive, send_to    its own ReceiveBuffers, and the neighbour's; not the neighbour itself, whose memory a cycle of
                        references would keep alive
    """

    def __init__(self, solver: SlabSolver, face: Face):
        self.send_to = None
        slab, memory = solver.slab, solver.memory
        excess, residual = slab.state.excess, slab.state.residual
        arcs, cells, pixels = slab.part.tiles.arcs, face.cells, face.pixels
        kind = residual.dtype
        count = cells * len(face.across)
        self.heights, self.flow, *receive = allocate((cells, np.int32), (count, kind), (cells, np.int32), (count, kind))
        self.receive = ReceiveBuffers(solver.gpu, *receive)
        across = upload(np.array(face.across, np.int32).reshape(-1))
        shape = blocks_for(cells)
        own, ghosts = (face.own, face.own_offset), (face.ghosts, face.ghost_offset)
        self.pack_heights = prepare(
            pack_heights_kernel, *shape, memory.height, memory.counts, *own, pixels, self.heights
        )
        unpack = (
            unpack_heights_kernel, *shape, self.receive.heights, memory.height, memory.bits, memory.flags, memory.lists,
            memory.counts, across, arcs, *own, *ghosts, pixels, *face.tiles,
        )  # fmt: skip
        self.unpack_heights = prepare(*unpack, 0)
        self.requeue = prepare(*unpack, 1)
        self.pack_flow = prepare(
            pack_flow_kernel, *shape, excess, residual, across, arcs, *ghosts, pixels, cells, self.flow
        )
        self.unpack_flow = prepare(
            unpack_flow_kernel,
            *shape,
            self.receive.flow,
            excess,
            residual,
            memory.bits,
            across,
            arcs,
            *own,
            pixels,
            cells,
        )


def connect(solvers: list[SlabSolver]) -> None:
    """Connect the last boundary of each slab with the first one of the next slab."""
    for one, other in zip(solvers, solvers[1:], strict=False):
        last, first = one.boundaries[-1], other.boundaries[0]
        last.send_to, first.send_to = first.receive, last.receive

"""One slab on its GPU: the launches of a round, and the boundaries to adjacent slabs."""

from typing import NamedTuple

import numpy as np

from gridcut.device.arrays import allocate, clear, download, overwrite, upload
from gridcut.device.launch import prepare
from gridcut.device.peers import Gpu, copy_between
from gridcut.tiles.slabs.halo_exchange import (
    SLAB_RULES,
    blocks_for,
    pack_flow_kernel,
    pack_heights_kernel,
    unpack_flow_kernel,
    unpack_heights_kernel,
)
from gridcut.tiles.slabs.slab_load import Face, Slab
from gridcut.tiles.tile_state import GHOSTS_BEFORE, ROUNDS, counts_and_times, make_state
from gridcut.tiles.tiles import Rounds, prepare_bits, shape_of


class SlabSolver:
    """A slab and the launches on its GPU; only `counts` and `start_round` wait for the GPU."""

    def __init__(self, slab: Slab, steps_per_pixel: int):
        self.slab = slab
        self.gpu = slab.gpu
        with self.gpu.active():
            self._prepare(steps_per_pixel)

    def _prepare(self, steps_per_pixel: int) -> None:
        part, state = self.slab.part, self.slab.state
        tiles = part.tiles
        self.memory = make_state(tiles.count, tiles.arcs, shape_of(tiles, state.excess.dtype).lists)
        clear(self.memory.tally)
        self._set(GHOSTS_BEFORE, part.ghosts_before, part.ghosts_after)
        prepare_bits(state.excess, state.residual, tiles, self.memory)()
        self._rounds = Rounds(state.excess, state.residual, tiles, self.memory, steps_per_pixel, SLAB_RULES)
        self.boundaries = [Boundary(self, face) for face in part.faces()]

    def start_round(self, rounds: int, mode: int) -> None:
        """Set the number of completed rounds, and the mode of the relabeling."""
        with self.gpu.active():
            self._set(ROUNDS, rounds, mode)

    def relabel(self) -> None:
        with self.gpu.active():
            self._rounds.relabel()

    def discharge(self, discharge_ratio: float, push_only: bool) -> None:
        """push_only: pixels are not relabeled."""
        with self.gpu.active():
            self._rounds.prepare_discharge(discharge_ratio, not push_only)()

    def counts(self):
        """Counts and times (see tile_state.py), after all launches so far have finished."""
        with self.gpu.active():
            return counts_and_times(download(self.memory.tally))

    def _set(self, slot: int, *values: int) -> None:
        overwrite(self.memory.counts[slot : slot + len(values)], np.array(values, np.int32))

    def pack_heights(self, requeue: bool) -> None:
        self._launch(boundary.pack_again if requeue else boundary.pack_heights for boundary in self.boundaries)

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
        pack = (pack_heights_kernel, *shape, memory.height, memory.counts, *own, pixels)
        self.pack_heights, self.pack_again = (prepare(*pack, requeue, self.heights) for requeue in (0, 1))
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
            memory.counts,
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

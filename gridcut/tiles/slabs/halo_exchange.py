"""Halo exchange between slabs: heights along a boundary, and flow that was pushed across it.

    pack      a slab writes the values for its neighbour into a buffer: pixel j of the face at j, arc after arc
    copy      the buffer is copied from GPU to GPU (gridcut/device/peers.py)
    unpack    the neighbour adds the buffer to its own arrays

Heights go from the owner of a face to its ghost tiles.  Flow goes the other way: a slab that pushes across the boundary
adds to the excess and the residuals of its ghost tiles, which were 0.  They hold the flow that the neighbour has not
received yet.  Both slabs may push across one edge at the same time.  Each takes from an arc that it owns, and the flow
across an edge is at most the residual of the other direction, so no sum exceeds its dtype.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device.arrays import allocate, clear, download, overwrite, upload
from gridcut.device.cuda import SIMULATED, ballot, cuda, cuda_kernel, device_function, popcount, relaxed_load
from gridcut.device.launch import prepare
from gridcut.device.peers import Gpu, copy_between
from gridcut.tiles.slabs.slab_load import Slab
from gridcut.tiles.slabs.split import Face
from gridcut.tiles.tile_state import (
    CONTINUED,
    DISCHARGED_TILES,
    DONE,
    GHOSTS_AFTER,
    GHOSTS_BEFORE,
    HEAD,
    IDLE,
    LAST_DISCHARGED_TILES,
    LIST_LENGTHS,
    PENDING,
    QUEUED,
    RECEIVED,
    RELABEL_MODE,
    REQUEUED_TILES,
    ROUNDS,
    STOP,
    TAIL,
    Rules,
    counts_and_times,
    make_state,
    push,
)
from gridcut.tiles.tiles import Rounds, prepare_bits, shape_of

THREADS = 32 if SIMULATED else 256
MAX_BLOCKS = 1 if SIMULATED else 1056
ACROSS_ENTRIES = 3  # entries per arc across the boundary: its index k, and its offsets y, x along the face


@device_function
def cell_of(j, first, offset, pixels):
    """Index of pixel j of a face: in the plane of tiles that starts with `first`, from `offset` on in each tile."""
    return (first + j // pixels) * 1024 + offset + j % pixels


@cuda_kernel
def pack_heights_kernel(height, counts, first, offset, pixels, requeue, out):
    """Pack the heights of a face; if `requeue`, reset the queue, to which `unpack_heights_kernel` will push tiles."""
    j = np.int64(cuda.grid(1))
    if j == 0 and requeue != 0:
        counts[HEAD] = 0
        counts[TAIL] = 0
        counts[REQUEUED_TILES] = 0
        counts[RELABEL_MODE] = CONTINUED
    while j < out.size:
        out[j] = height[cell_of(j, first, offset, pixels)]
        j += cuda.gridsize(1)


# args: an entry call, which takes twice as long to pack with several tuples
@cuda_kernel
def unpack_heights_kernel(
    incoming, height, bits, flags, lists, counts, across, arcs, own, own_offset, ghosts, ghost_offset, pixels,
    rows, columns, requeue,
):  # fmt: skip
    """Set the heights of ghost tiles; if `requeue`, push each own tile in which they decrease a distance."""
    n = flags.size
    lines = pixels // 32  # rows of the face in a tile
    for j in range(np.int64(cuda.grid(1)), incoming.size, cuda.gridsize(1)):
        there = cell_of(j, ghosts, ghost_offset, pixels)
        before, now = height[there], incoming[j]
        if now != before:
            height[there] = now
        if requeue != 0 and now < before:
            tile, inside = j // pixels, j % pixels
            ghost_y = tile // columns * lines + inside // 32
            ghost_x = tile % columns * 32 + inside % 32
            for a in range(across.size // ACROSS_ENTRIES):
                k, y, x = (
                    across[ACROSS_ENTRIES * a],
                    ghost_y - across[ACROSS_ENTRIES * a + 1],
                    ghost_x - across[ACROSS_ENTRIES * a + 2],
                )
                if y < 0 or y >= rows * lines or x < 0 or x >= columns * 32:
                    continue
                t = own + y // lines * columns + x // 32
                here = own_offset + y % lines * 32 + x % 32
                word = bits[(t * (arcs + 2) + k) * 32 + here // 32]
                if (word >> np.uint32(here % 32)) & np.uint32(1) == 0 or height[t * 1024 + here] <= now + 1:
                    continue
                if cuda.atomic.or_(flags, t, np.int32(QUEUED)) == IDLE:
                    cuda.atomic.add(counts, PENDING, np.int32(1))
                    cuda.atomic.add(counts, REQUEUED_TILES, np.int32(1))
                    push(t, lists, counts, n)


@cuda_kernel
def pack_flow_kernel(excess, residual, across, arcs, ghosts, offset, pixels, cells, out):
    """Pack the flow pushed across the boundary, i.e. the residuals of ghost tiles; reset these and their excess to 0.

    The neighbour's arcs are the opposites of `across`; the excess it receives is the sum over them.
    """
    for j in range(np.int64(cuda.grid(1)), cells, cuda.gridsize(1)):
        tile, inside = ghosts + j // pixels, offset + j % pixels
        excess[tile * 1024 + inside] = 0
        for a in range(across.size // ACROSS_ENTRIES):
            r = (tile * arcs + (across[ACROSS_ENTRIES * a] ^ 1)) * 1024 + inside
            out[a * cells + j] = residual[r]
            residual[r] = 0


@cuda_kernel
def unpack_flow_kernel(incoming, excess, residual, bits, counts, across, arcs, own, offset, pixels, cells):
    """Add the received flow to excess and residuals, update their bits, and count pixels; one warp per 32 pixels."""
    lane = np.int32(cuda.threadIdx.x & 31)
    for j in range(np.int64(cuda.grid(1)), cells, cuda.gridsize(1)):
        tile, inside = own + j // pixels, offset + j % pixels
        words = tile * (arcs + 2) * 32 + inside // 32
        total = np.int64(0)
        for a in range(across.size // ACROSS_ENTRIES):
            k = across[ACROSS_ENTRIES * a]
            amount = np.int64(incoming[a * cells + j])
            r = (tile * arcs + k) * 1024 + inside
            left = np.int64(residual[r]) + amount
            if amount != 0:
                residual[r] = left
            total += amount
            some = ballot(left > 0)
            if lane == 0:
                bits[words + k * 32] = some
        held = np.int64(excess[tile * 1024 + inside]) + total
        if total != 0:
            excess[tile * 1024 + inside] = held
        negative, positive, changed = ballot(held < 0), ballot(held > 0), ballot(total != 0)
        if lane == 0:
            if changed != 0:
                cuda.atomic.add(counts, RECEIVED, popcount(changed))
            bits[words + arcs * 32] = negative
            bits[words + (arcs + 1) * 32] = positive


def blocks_for(cells: int) -> tuple[int, int]:
    """Number of blocks, and threads per block, for the pixels of a face."""
    return min(-(-cells // THREADS), MAX_BLOCKS), THREADS


# The kernels of gridcut/tiles/tile_kernels.py in one slab of a grid: what differs from a whole grid.
#
# The first and the last tiles of a slab may be *ghost tiles*, copies of tiles that belong to the adjacent slabs.
# They are neither searched nor discharged.  In a relabeling they start as unreachable, until the owner's heights
# arrive, so that no slab searches from heights that the other is about to raise.  The host decides when the solve
# ends and what the next relabeling is.  In mode CONTINUED a relabeling resumes after heights of ghost tiles have
# changed: the tiles next to them are queued already.


@device_function
def never_returns(counts):
    """Every launch runs."""
    return False


@device_function
def is_continued(counts):
    """Whether the relabeling resumes the last one."""
    return counts[RELABEL_MODE] == CONTINUED


@device_function
def is_ghost(t, n, counts):
    """Whether tile t of n is a ghost tile."""
    return t < counts[GHOSTS_BEFORE] or t >= n - counts[GHOSTS_AFTER]


@device_function
def report_round(counts, times, n, no_work, may_relabel, now):
    """Report a piece of a round to the host, which counts rounds, and empty the lists for the next piece.

    The leader calls this after the last barrier.  Another block may still read lengths of lists without tiles only.
    """
    for slot in range(LIST_LENGTHS, STOP):
        counts[slot] = 0
    counts[DONE] = 1 if no_work else 0
    counts[ROUNDS] = np.int32(counts[ROUNDS] - 1)
    counts[LAST_DISCHARGED_TILES] = relaxed_load(counts, DISCHARGED_TILES)


SLAB_RULES = Rules(never_returns, is_continued, is_ghost, report_round)


# One slab on its GPU: the launches of a round, and the boundaries to adjacent slabs.


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

"""Between two cuts: the kernel that completes a move, selects the next one and builds it, without the host.

plain_moves.py has the same steps in plain Python; read it first.

    flood      find the pixels that change, over all tiles until no tile adds any   (flood_cuda.py)
    change     assign their labels, if the energy falls; the remaining excess shows by how much
    choose     select the next move that could lower the energy
    build      write its capacities; if no pixel gains by the new label alone, the move is done: choose again

A cooperative launch.  The kernel returns immediately if the current cut is unsolved or the descent has converged.  Cuts
and this kernel can therefore be enqueued alternately, any number in advance.  A move is a pair (first, second) as in
gridcut/multilabel/moves.py.

    moves[2 i], moves[2 i + 1]    move i of a cycle
    seen[i]                       number of changes when move i was made last, or -1
    touched[label]                the last change at or next to a pixel of the label (swaps)
    records[5 i ...]              a finished move: index, cycle, change of the energy, changed pixels, slot in `sets`
    sets[s * n * 32 + t * 32 + row]    the pixels that a move changed, one bit each; one slot s per launch
    control                       see the names below"""

from functools import cache

import numpy as np

from gridcut.cuda.pixel_kernels import warp_sum
from gridcut.device.cuda import (
    SIMULATED,
    ballot,
    cuda,
    cuda_kernel,
    device_function,
    grid_sync,
    nanoseconds,
    popcount,
    relaxed_load,
)
from gridcut.multilabel.flood_cuda import flood
from gridcut.multilabel.moves_cuda import KEEP_FLOW, VIEW_SIZE, build_row, change_row, store_flow_row
from gridcut.tiles.tile_search import NONE
from gridcut.tiles.tile_shape import Shape
from gridcut.tiles.tile_state import COUNTS, DISCHARGE_TOTAL, DONE, RELABEL_TOTAL, ROUNDS, TIMES

THREADS = 32 if SIMULATED else 256
# Positions in `control`.  Of the descent: number of moves in a cycle; index of the next move; cycles started; last
# cycle (-1: no limit); the move that is being solved (-1: none); changes so far; consecutive moves without a change;
# whether the descent has converged; number of records and their limit; rounds of all cuts.  Of the current move: its
# remaining excess; in a swap, the energy of the present labels minus that of `first` everywhere; number of changed
# pixels; whether any pixel gains; rounds of its cut; three flags of the flood, used in rotation.
MOVES, NEXT, CYCLE, CYCLE_LIMIT, ACTIVE, CHANGES, UNCHANGED, FINISHED, RECORDS, RECORD_CAPACITY, CUT_ROUNDS = range(11)
UNROUTED, CURRENT_COST, CHANGED, HAS_GAINS, CURRENT_ROUND, FLAGS = 11, 12, 13, 14, 15, 16
NANOSECONDS = 19  # three entries: relabeling, discharging, this kernel
CONTROL_SIZE = 32
RECORD_SIZE = 5


@device_function
def is_up_to_date(i, moves, seen, touched, control):
    """Whether nothing that affects a move has changed since it was made last."""
    known = seen[i]
    if known < 0:
        return False
    if moves[2 * i] < 0:
        return known == control[CHANGES]
    return max(touched[moves[2 * i]], touched[moves[2 * i + 1]]) <= known


@device_function
def choose_next(moves, seen, touched, control):
    """Activate the next move that is not up to date; set FINISHED if there is none, or at the cycle limit."""
    count = control[MOVES]
    i = control[NEXT]
    while True:
        if i == count:
            if control[UNCHANGED] >= count or control[CYCLE] == control[CYCLE_LIMIT]:
                control[FINISHED] = 1
                control[ACTIVE] = -1
                control[NEXT] = count
                return
            control[CYCLE] += 1
            i = np.int64(0)
        if not is_up_to_date(i, moves, seen, touched, control):
            control[ACTIVE] = i
            control[NEXT] = i + 1
            return
        seen[i] = control[CHANGES]
        control[UNCHANGED] += 1
        i += 1


@device_function
def record_move(slot, seen, control, records):
    """Append a record of the active move."""
    changed = control[CHANGED]
    if changed > 0:
        control[CHANGES] += 1
        control[UNCHANGED] = 0
    control[UNCHANGED] += 1
    seen[control[ACTIVE]] = control[CHANGES]
    at = control[RECORDS] * RECORD_SIZE
    records[at] = control[ACTIVE]
    records[at + 1] = control[CYCLE]
    records[at + 2] = -control[UNROUTED] - control[CURRENT_COST] if changed > 0 else np.int64(0)
    records[at + 3] = changed
    records[at + 4] = slot
    control[RECORDS] += 1
    control[UNROUTED] = 0
    control[CURRENT_COST] = 0
    control[CHANGED] = 0


@cache
def make_next_move_kernel(shape: Shape):
    """The kernel for one neighbourhood."""
    offsets, tile, arcs = shape.offset_array, shape.tile, shape.arcs

    # args: not bundled yet
    # lines: not split yet
    @cuda_kernel
    def next_move_kernel(
        unary, view, scale, cost, weight, label, paid, flow, excess, residual, bits, counts, times,
        moves, seen, touched, control, records, sets, slot, tiles,
    ):  # fmt: skip
        """Complete a move whose cut is solved, and build the next one."""
        offset = cuda.const.array_like(offsets)
        if cuda.grid(1) == 0:
            control[CURRENT_ROUND] = counts[ROUNDS]
            if slot == 0:
                control[RECORDS] = 0  # the host has read them: slot 0 starts a new series of launches
        if counts[DONE] == 0 or control[FINISHED] != 0:
            return
        started = nanoseconds()
        n = tiles[0] * tiles[1] * tiles[2]
        base = slot * n * 32
        thread, threads = np.int32(cuda.grid(1)), np.int32(cuda.gridsize(1))
        lane, warp, warps = np.int32(thread & 31), np.int32(thread >> 5), np.int32(threads >> 5)
        active = control[ACTIVE]
        if active < 0:
            grid_sync()  # every thread has read control[ACTIVE] before thread 0 changes it
        else:
            first, second = moves[2 * active], moves[2 * active + 1]
            unrouted = np.int64(0)
            i = warp
            while i < n * 32:
                t, row = np.int32(i >> 5), np.int32(i & 31)
                left = bits[np.uint64((t * (arcs + 2) + arcs + 1) * 32 + row)]
                if lane == 0:
                    sets[np.int64(base) + i] = left
                if left != NONE:
                    unrouted += max(np.int64(excess[np.int64(i) * 32 + lane]), np.int64(0))
                if view[KEEP_FLOW] != 0:
                    store_flow_row(
                        t, row, lane, second, tiles, tile, arcs, offset, view, cost, weight, label, flow, residual
                    )
                i = np.int32(i + warps)
            unrouted = warp_sum(unrouted)
            if lane == 0 and unrouted != 0:
                cuda.atomic.add(control, UNROUTED, unrouted)
            grid_sync()
            if -relaxed_load(control, UNROUTED) < control[CURRENT_COST]:
                flood_round = 0
                is_growing = True
                while is_growing:
                    t = warp
                    while t < n:
                        if flood(t, lane, flood_round == 0, tiles, tile, arcs, offset, bits, sets, base) and lane == 0:
                            control[FLAGS + flood_round % 3] = 1
                        t = np.int32(t + warps)
                    if thread == 0:
                        control[FLAGS + (flood_round + 1) % 3] = 0
                    grid_sync()
                    is_growing = relaxed_load(control, FLAGS + flood_round % 3) != 0 or flood_round == 0
                    flood_round += 1
                stamp = np.int32(control[CHANGES] + 1)
                count = np.int64(0)
                i = warp
                while i < n * 32:
                    reached = sets[np.int64(base) + i]
                    if first >= 0 or reached != NONE:
                        changed = change_row(
                            np.int32(i >> 5), np.int32(i & 31), lane, reached, first, second, stamp, tiles, tile, arcs,
                            offset, unary, view, scale, weight, label, paid, touched,
                        )  # fmt: skip
                        if lane == 0:
                            sets[np.int64(base) + i] = changed
                            count += popcount(changed)
                    i = np.int32(i + warps)
                count = warp_sum(count)
                if lane == 0 and count > 0:
                    cuda.atomic.add(control, CHANGED, count)
                if thread == 0:
                    # The next flood starts with flag 0.
                    for j in range(3):
                        control[FLAGS + j] = 0
            grid_sync()
        building = True
        while building:
            if thread == 0:
                if active >= 0:
                    if first >= 0 and control[CHANGED] > 0:
                        touched[first] = np.int32(control[CHANGES] + 1)
                        touched[second] = np.int32(control[CHANGES] + 1)
                    record_move(slot, seen, control, records)
                    control[CUT_ROUNDS] += counts[ROUNDS]
                    counts[ROUNDS] = 0
                    control[NANOSECONDS] += times[RELABEL_TOTAL]
                    control[NANOSECONDS + 1] += times[DISCHARGE_TOTAL]
                    times[RELABEL_TOTAL] = 0
                    times[DISCHARGE_TOTAL] = 0
                control[HAS_GAINS] = 0
                if control[RECORDS] < control[RECORD_CAPACITY]:
                    choose_next(moves, seen, touched, control)
                else:
                    control[ACTIVE] = -1
            grid_sync()
            active = relaxed_load(control, ACTIVE)
            if active < 0:
                break
            first, second = moves[2 * active], moves[2 * active + 1]
            has_gain = False
            current_cost = np.int64(0)
            i = warp
            while i < n * 32:
                t, row = np.int32(i >> 5), np.int32(i & 31)
                gains, more = build_row(
                    t, row, lane, first, second, tiles, tile, arcs, offset,
                    unary, view, scale, cost, weight, label, paid, flow, excess, residual, bits,
                )  # fmt: skip
                has_gain = has_gain or gains
                current_cost += more
                i = np.int32(i + warps)
            current_cost = warp_sum(current_cost)
            if lane == 0 and current_cost != 0:
                cuda.atomic.add(control, CURRENT_COST, current_cost)
            if ballot(has_gain or current_cost != 0) != NONE and lane == 0:
                control[HAS_GAINS] = 1
            grid_sync()
            building = relaxed_load(control, HAS_GAINS) == 0
        if thread == 0:
            control[NANOSECONDS + 2] += nanoseconds() - started
        if warp == 0 and active >= 0:
            j = lane
            while j < COUNTS:
                counts[j] = 0
                j = np.int32(j + 32)
            if lane < TIMES:
                times[lane] = 0

    return next_move_kernel


assert FLAGS + 3 <= NANOSECONDS < NANOSECONDS + 3 <= CONTROL_SIZE
assert VIEW_SIZE > KEEP_FLOW

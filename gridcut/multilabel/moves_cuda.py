"""One move on a GPU: the kernel that builds its cut, and the one that changes the labels after the cut.

    build_kernel     write the capacities of the cut
    ...              rounds of gridcut/tiles
    finish_kernel    if the energy falls, find the pixels that change, over all tiles until no tile adds any
                     (below), and assign their labels; the remaining excess shows by how much it falls

The host chooses the moves (descent_cuda.py).  A launch of finish_kernel returns immediately if the cut is unsolved.

The rules are those of gridcut/multilabel/moves.py.  The state is that of gridcut/tiles with the roles of source
and sink exchanged: **deficits are excess**.  A pixel that gains by the new label has a deficit in
gridcut/multilabel/moves.py and excess here, and residual[k] of p is the residual capacity of arc q -> p.  Pixels that
gain push to those that do not, which are nearly all pixels: distances are short, and few tiles are active.

Arrays, one entry per cell of gridcut/cuda/tile_layout.py
  label, paid                 the label of a pixel and its unary cost
  weight[(t * A + k) * 1024 + cell]   weight of the edge along arc k; 0 if it leaves the grid
  flow[((b * n + t) * A / 2 + j) * 1024 + cell]   flow along arc 2 j in the last expansion of label b
  cost[a * L + b]             of two labels on an edge of weight 1
  touched[label]              the last change at or next to a pixel of the label (swaps)
  sets[t * 32 + row]          the pixels that a move changes, one bit each
  control                     see the names below

`view`, int64: where the unary costs are stored, and whether flows are kept; see the names below."""

from functools import cache

import numpy as np

from gridcut.cuda.pixel_kernels import units, warp_sum
from gridcut.device.cuda import (
    SIMULATED,
    ballot,
    cuda,
    cuda_kernel,
    device_function,
    grid_sync,
    popcount,
    relaxed_load,
    shuffle_bits,
)
from gridcut.multilabel import moves as rules
from gridcut.tiles.tile_discharge import Shape, tile_at, tile_coordinates
from gridcut.tiles.tile_search import FIRST, NONE, side
from gridcut.tiles.tile_state import DISCHARGE_TOTAL, DONE, RELABEL_TOTAL, ROUNDS

# The pixels that a move changes: those that the remaining excess could still reach.
#
# In the terms of gridcut/multilabel/moves.py, these pixels reach a deficit that cannot be satisfied.  They are the
# smallest set among all minimum cuts, so that ties keep a pixel's label.  One warp floods one tile, one row of 32
# pixels per lane, as 32 bits.
#
#     sets[t * 32 + row]    the pixels reached so far


@device_function
def shifted(word, dx):
    """A row of pixels, shifted one step along an arc."""
    if dx > 0:
        return np.uint32(word << FIRST)
    if dx < 0:
        return np.uint32(word >> FIRST)
    return word


@device_function
def reached_from_outside(t, lane, tiles, tile, arcs, offset, bits, sets):
    """The pixels of this lane's row that open arcs connect to reached pixels of other tiles."""
    iz, iy, ix = tile_coordinates(t, tiles)
    first = t - (iz * tiles[1] + iy) * tiles[2] - ix
    reached = NONE
    for k in range(arcs):
        dz, dy, dx = offset[k, 0], offset[k, 1], offset[k, 2]
        z, y = lane // tile[1] - dz, lane % tile[1] - dy
        sz, sy = side(z, tile[0]), side(y, tile[1])
        row = (z - sz * tile[0]) * tile[1] + y - sy * tile[1]
        if sz != 0 or sy != 0:
            q = tile_at(iz, iy, ix, sz, sy, 0, tiles, first)
            if q >= 0:
                neighbours = np.uint32(relaxed_load(sets, q * 32 + row))
                neighbours = np.uint32(neighbours & bits[np.uint64((q * (arcs + 2) + k) * 32 + row)])
                reached = np.uint32(reached | shifted(neighbours, dx))
        if dx != 0:
            q = tile_at(iz, iy, ix, sz, sy, -dx, tiles, first)
            if q >= 0:
                neighbours = np.uint32(relaxed_load(sets, q * 32 + row))
                neighbours = np.uint32(neighbours & bits[np.uint64((q * (arcs + 2) + k) * 32 + row)])
                over = np.uint32(neighbours >> np.uint32(31)) if dx > 0 else np.uint32(neighbours << np.uint32(31))
                reached = np.uint32(reached | over)
    return reached


@device_function
def flood(t, lane, start, tiles, tile, arcs, offset, bits, sets):
    """Flood tile t from all its reached pixels (start), or only from those reached from other tiles.

    Returns whether the tile has new pixels.
    """
    at = t * 32 + lane
    before = np.uint32(relaxed_load(sets, at))
    new = reached_from_outside(t, lane, tiles, tile, arcs, offset, bits, sets)
    new = np.uint32(new | before) if start else np.uint32(new & ~before)
    inside = np.uint32(before | new)
    while ballot(new != NONE) != NONE:
        reached = NONE
        for k in range(arcs):
            dz, dy, dx = offset[k, 0], offset[k, 1], offset[k, 2]
            leaving = np.uint32(new & bits[np.uint64((t * (arcs + 2) + k) * 32 + lane)])
            z, y = lane // tile[1] - dz, lane % tile[1] - dy
            is_inside = side(z, tile[0]) == 0 and side(y, tile[1]) == 0
            leaving = shuffle_bits(leaving, (lane - dz * tile[1] - dy) & 31)
            if is_inside:
                reached = np.uint32(reached | shifted(leaving, dx))
        new = np.uint32(reached & ~inside)
        inside = np.uint32(inside | new)
    if inside != before:
        sets[at] = inside
    return ballot(inside != before) != NONE


# Positions in `view`: unary[label, z, y, x] is data[START + label * ITEM + z * STEP_Z + y * STEP_Y + x * STEP_X].
START, ITEM, STEP_Z, STEP_Y, STEP_X, DEPTH, HEIGHT, WIDTH, LABELS, KEEP_FLOW = range(10)
VIEW_SIZE = 16
# Positions in `control`, of one move: its remaining excess; in a swap, the energy of the present labels minus that of
# `first` everywhere; number of changed pixels; of its cut whether it is solved, rounds, and nanoseconds of relabeling
# and of discharging; three flags of the flood, used in rotation.
UNROUTED, CURRENT_COST, CHANGED, SOLVED, CUT_ROUNDS, RELABELING, DISCHARGING, FLAGS = range(8)
CONTROL_SIZE = 16
THREADS = 32 if SIMULATED else 256


def _for_kernels(rule):
    """The same Python function, compiled for the GPU (with NUMBA_DISABLE_JIT=1 it is not compiled yet)."""
    return device_function(getattr(rule, "py_func", rule))


has_choice = _for_kernels(rules.has_choice)
split_capacity = _for_kernels(rules.split_capacity)


@device_function
def unary_index(view, label, z, y, x):
    """Index of the unary cost of a label at a pixel."""
    return view[START] + label * view[ITEM] + z * view[STEP_Z] + y * view[STEP_Y] + x * view[STEP_X]


@device_function
def unary_cost(unary, view, scale, label, z, y, x):
    """The unary cost of a label at a pixel."""
    return units(unary[unary_index(view, label, z, y, x)], scale)


@device_function
def pixel_of_row(t, row, lane, tiles, tile):
    """(z, y, x) of a lane in a row of tile t."""
    line = t // tiles[2]
    z = line // tiles[1] * tile[0] + row // tile[1]
    return np.int32(z), np.int32(line % tiles[1] * tile[1] + row % tile[1]), np.int32(t % tiles[2] * 32 + lane)


@device_function
def cell_of(z, y, x, tiles, tile):
    """Tile of a pixel, and its cell in the tile."""
    t = ((z // tile[0]) * tiles[1] + y // tile[1]) * tiles[2] + x // 32
    return np.int32(t), np.int32((z % tile[0] * tile[1] + y % tile[1]) * 32 + x % 32)


@device_function
def neighbour(offset, k, z, y, x, tiles, tile):
    """Tile and cell of the pixel that arc k leads to."""
    return cell_of(z + offset[k, 0], y + offset[k, 1], x + offset[k, 2], tiles, tile)


# args: a step of `build_kernel`, split off for reading: it takes what that has in its variables
@device_function
def build_row(
    t, row, lane, first, second, tiles, tile, arcs, offset,
    unary, view, scale, cost, weight, label, paid, flow, excess, residual, bits,
):  # fmt: skip
    """Write a row of the cut's capacities, and their bits.

    Returns this lane's share of the current cost of a swap: the energy of the present labels minus that of `first`
    everywhere, nonzero only in lanes with label `second`.
    """
    z, y, x = pixel_of_row(t, row, lane, tiles, tile)
    cell = row * 32 + lane
    own_cell = np.int64(t) * 1024 + cell
    plane = np.int64(t) * arcs * 1024 + cell
    edges = np.int64(second) * label.size * (arcs // 2)
    held = np.int64(0)
    old = np.int64(0)
    inside = z < view[DEPTH] and y < view[HEIGHT] and x < view[WIDTH]
    mine = label[own_cell]
    is_active = inside and has_choice(mine, first, second)
    a = mine if first < 0 else first
    words = t * (arcs + 2) * 32 + row
    if is_active:
        held = unary_cost(unary, view, scale, second, z, y, x)
        held -= paid[own_cell] if first < 0 or mine == first else unary_cost(unary, view, scale, first, z, y, x)
    for k in range(arcs):
        left = np.int64(0)
        if is_active:
            w = np.int64(weight[plane + k * 1024])
            if w > 0:
                q, far_cell = neighbour(offset, k, z, y, x, tiles, tile)
                far = np.int64(q) * 1024 + far_cell
                theirs = label[far]
                if has_choice(theirs, first, second):
                    is_cut = theirs == first
                    if first >= 0:
                        theirs = first
                    out, back = (
                        np.int64(cost[a * view[LABELS] + second]),
                        np.int64(cost[second * view[LABELS] + theirs]),
                    )
                    current = np.int64(cost[a * view[LABELS] + theirs])
                    room, both = split_capacity(k, current, out, back)
                    room *= w
                    left = both * w - room
                    held += w * (back - current) - left
                    if view[KEEP_FLOW] != 0:
                        if k % 2 == 0:
                            sent = np.int64(flow[edges + (t * (arcs // 2) + k // 2) * np.int64(1024) + cell])
                        else:
                            sent = -np.int64(flow[edges + (q * (arcs // 2) + k // 2) * np.int64(1024) + far_cell])
                        sent = min(max(sent, -left), room)
                        left += sent
                        held -= sent
                    if is_cut:
                        old += left
                else:
                    to = np.int64(cost[second * view[LABELS] + theirs])
                    held += w * (to - np.int64(cost[a * view[LABELS] + theirs]))
        residual[plane + k * 1024] = left
        open_lanes = ballot(left > 0)
        if lane == 0:
            bits[np.uint64(words + k * 32)] = open_lanes
    excess[own_cell] = -held
    negative, positive = ballot(held > 0), ballot(held < 0)
    if lane == 0:
        bits[np.uint64(words + arcs * 32)] = negative
        bits[np.uint64(words + (arcs + 1) * 32)] = positive
    return old + held if first >= 0 and is_active and mine == second else np.int64(0)


# args: a step of `finish_kernel`, split off for reading: it takes what that has in its variables
@device_function
def store_flow_row(
    t, row, lane, second, tiles, tile, arcs, offset, view, cost, weight, label, flow, residual
):  # fmt: skip
    """Store the flow of an expansion; the labels are still those for which it was solved."""
    z, y, x = pixel_of_row(t, row, lane, tiles, tile)
    cell = row * 32 + lane
    plane = np.int64(t) * arcs * 1024 + cell
    edges = np.int64(second) * label.size * (arcs // 2) + np.int64(t) * (arcs // 2) * 1024 + cell
    a = label[np.int64(t) * 1024 + cell]
    for j in range(arcs // 2):
        w = np.int64(weight[plane + 2 * j * 1024])
        if w > 0 and a != second:
            q, far_cell = neighbour(offset, 2 * j, z, y, x, tiles, tile)
            theirs = label[np.int64(q) * 1024 + far_cell]
            if theirs != second:
                out, back = np.int64(cost[a * view[LABELS] + second]), np.int64(cost[second * view[LABELS] + theirs])
                room, both = split_capacity(2 * j, np.int64(cost[a * view[LABELS] + theirs]), out, back)
                flow[edges + j * 1024] = residual[plane + 2 * j * 1024] - (both - room) * w


# args: a step of `finish_kernel`, split off for reading: it takes what that has in its variables
@device_function
def change_row(
    t, row, lane, reached, first, second, stamp, tiles, tile, arcs, offset,
    unary, view, scale, weight, label, paid, touched,
):  # fmt: skip
    """Assign the new labels of a row: `second` at the pixels that the flood reached, in a swap `first` elsewhere.

    In swaps, sets `touched` to `stamp` for all labels at or next to changed pixels.  Returns the changes as bits.
    """
    z, y, x = pixel_of_row(t, row, lane, tiles, tile)
    own_cell = np.int64(t) * 1024 + row * 32 + lane
    old = label[own_cell]
    inside = z < view[DEPTH] and y < view[HEIGHT] and x < view[WIDTH]
    changes = (reached >> np.uint32(lane)) & np.uint32(1) != np.uint32(0)
    if first >= 0 and inside and old == second:
        changes = not changes
    if changes:
        new = second if first < 0 else first + second - old
        label[own_cell] = new
        paid[own_cell] = unary_cost(unary, view, scale, new, z, y, x)
        if first >= 0:
            plane = np.int64(t) * arcs * 1024 + row * 32 + lane
            for k in range(arcs):
                if weight[plane + k * 1024] > 0:
                    q, far_cell = neighbour(offset, k, z, y, x, tiles, tile)
                    touched[label[np.int64(q) * 1024 + far_cell]] = stamp
    return ballot(changes)


@cache
def move_kernels(shape: Shape):
    """build_kernel and finish_kernel for one neighbourhood."""
    offsets, tile, arcs = shape.offset_array, shape.tile, shape.arcs

    # args: an entry call, which takes twice as long to pack with several tuples
    @cuda_kernel
    def build_kernel(
        unary, view, scale, cost, weight, label, paid, flow, excess, residual, bits, control, first, second, tiles
    ):
        """Write the capacities of the cut of a move, and add to control[CURRENT_COST]."""
        offset = cuda.const.array_like(offsets)
        n = tiles[0] * tiles[1] * tiles[2]
        thread = np.int32(cuda.grid(1))
        lane, warp, warps = np.int32(thread & 31), np.int32(thread >> 5), np.int32(cuda.gridsize(1) >> 5)
        current_cost = np.int64(0)
        i = warp
        while i < n * 32:
            current_cost += build_row(
                np.int32(i >> 5), np.int32(i & 31), lane, first, second, tiles, tile, arcs, offset,
                unary, view, scale, cost, weight, label, paid, flow, excess, residual, bits,
            )  # fmt: skip
            i = np.int32(i + warps)
        current_cost = warp_sum(current_cost)
        if lane == 0 and current_cost != 0:
            cuda.atomic.add(control, CURRENT_COST, current_cost)

    # args: an entry call, which takes twice as long to pack with several tuples
    @cuda_kernel
    def finish_kernel(
        unary, view, scale, cost, weight, label, paid, flow, excess, residual, bits, counts, times,
        touched, control, sets, first, second, stamp, tiles,
    ):  # fmt: skip
        """Complete a move whose cut is solved; stamp: the number of this change in `touched`."""
        offset = cuda.const.array_like(offsets)
        n = tiles[0] * tiles[1] * tiles[2]
        thread = np.int32(cuda.grid(1))
        lane, warp, warps = np.int32(thread & 31), np.int32(thread >> 5), np.int32(cuda.gridsize(1) >> 5)
        if thread == 0:
            control[SOLVED] = counts[DONE]
            control[CUT_ROUNDS] = counts[ROUNDS]
            control[RELABELING] = times[RELABEL_TOTAL]
            control[DISCHARGING] = times[DISCHARGE_TOTAL]
        if counts[DONE] == 0:
            return
        unrouted = np.int64(0)
        i = warp
        while i < n * 32:
            t, row = np.int32(i >> 5), np.int32(i & 31)
            left = bits[np.uint64((t * (arcs + 2) + arcs + 1) * 32 + row)]
            if lane == 0:
                sets[i] = left
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
        if -relaxed_load(control, UNROUTED) >= control[CURRENT_COST]:
            return
        flood_round = 0
        is_growing = True
        while is_growing:
            t = warp
            while t < n:
                if flood(t, lane, flood_round == 0, tiles, tile, arcs, offset, bits, sets) and lane == 0:
                    control[FLAGS + flood_round % 3] = 1
                t = np.int32(t + warps)
            if thread == 0:
                control[FLAGS + (flood_round + 1) % 3] = 0
            grid_sync()
            is_growing = relaxed_load(control, FLAGS + flood_round % 3) != 0 or flood_round == 0
            flood_round += 1
        count = np.int64(0)
        i = warp
        while i < n * 32:
            reached = sets[i]
            if first >= 0 or reached != NONE:
                changed = change_row(
                    np.int32(i >> 5), np.int32(i & 31), lane, reached, first, second, stamp, tiles, tile, arcs, offset,
                    unary, view, scale, weight, label, paid, touched,
                )  # fmt: skip
                if lane == 0:
                    sets[i] = changed
                    count += popcount(changed)
            i = np.int32(i + warps)
        count = warp_sum(count)
        if lane == 0 and count > 0:
            cuda.atomic.add(control, CHANGED, count)

    return build_kernel, finish_kernel


assert FLAGS + 3 <= CONTROL_SIZE
assert VIEW_SIZE > KEEP_FLOW

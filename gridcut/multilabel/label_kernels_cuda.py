"""Kernels that visit all pixels once: value ranges, weights into tiles, labels in and out, energies.

A `view` describes the layout of a caller's array, and a `box` also a part of it: data[start + item * s0 + z * s1 + ...]
for all items and a box of pixels.  A warp walks along runs of 32 pixels of a line."""

import numpy as np

from gridcut.cuda.pixel_kernels import units, warp_max, warp_sum
from gridcut.device.cuda import cuda, cuda_kernel, device_function
from gridcut.multilabel.moves_cuda import DEPTH, HEIGHT, LABELS, WIDTH, cell_of, unary_cost, unary_index

# Positions in a box: start; strides of items, z, y, x; number of items; first pixel (z, y, x); lengths (z, y, x).
BOX_ORIGIN, BOX_ITEM_STEP, BOX_STEP_Z, BOX_STEP_Y, BOX_STEP_X, BOX_ITEMS, BOX_LOW, BOX_LENGTH = 0, 1, 2, 3, 4, 5, 6, 9
BOX_SIZE = 12
VOTE_COPIES = 64  # copies of the vote counters, to spread the atomic additions


@device_function
def run_at(run, width):
    """The line of a run of 32 pixels, and the x of this lane; lines are `width` long."""
    runs = (width + 31) // 32
    return run // runs, run % runs * 32 + np.int64(cuda.threadIdx.x & 31)


@device_function
def box_index(box, z, y, x):
    """Index in the caller's array of pixel (z, y, x) of item 0."""
    return box[BOX_ORIGIN] + z * box[BOX_STEP_Z] + y * box[BOX_STEP_Y] + x * box[BOX_STEP_X]


@device_function
def first_run():
    return np.int64((cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) >> 5)


@device_function
def run_step():
    return np.int64((cuda.gridDim.x * cuda.blockDim.x) >> 5)


@device_function
def pixel_of_run(view, run):
    """(z, y, x) of this lane in a run of the grid; x may be past the end of the line."""
    line, x = run_at(run, view[WIDTH])
    return line // view[HEIGHT], line % view[HEIGHT], x


@device_function
def runs_of(view):
    return view[DEPTH] * view[HEIGHT] * ((view[WIDTH] + 31) // 32)


@cuda_kernel
def range_kernel(data, box, found, bad):
    """found[0]: the largest -value, found[1]: the largest value; bad[0]: 1 if a value is not finite.

    found[2] must be 0, and found[3] the lowest value whose negative can be represented.
    """
    low, high, zero, lowest = found[0], found[1], found[2], found[3]
    is_bad = False
    depth, height, width = box[BOX_LENGTH], box[BOX_LENGTH + 1], box[BOX_LENGTH + 2]
    runs = box[BOX_ITEMS] * depth * height * ((width + 31) // 32)
    run = first_run()
    while run < runs:
        line, x = run_at(run, width)
        item, rest = line // (depth * height), line % (depth * height)
        if x < width:
            z, y = rest // height + box[BOX_LOW], rest % height + box[BOX_LOW + 1]
            at = box_index(box, z, y, x + box[BOX_LOW + 2]) + item * box[BOX_ITEM_STEP]
            value = zero + data[at]
            if value - value != 0:
                is_bad = True
            else:
                low, high = max(low, -max(value, lowest)), max(high, value)
        run += run_step()
    if is_bad:
        bad[0] = 1
    low, high = warp_max(low), warp_max(high)
    if cuda.threadIdx.x & 31 == 0:
        cuda.atomic.max(found, 0, low)
        cuda.atomic.max(found, 1, high)


@cuda_kernel
def weight_kernel(data, box, scale, k, offset, tiles, tile, arcs, weight):
    """Add an array of weights to those of arc k and, at the far end, of the opposite arc.  `weight` starts as zeros."""
    height, width = box[BOX_LENGTH + 1], box[BOX_LENGTH + 2]
    runs = box[BOX_LENGTH] * height * ((width + 31) // 32)
    run = first_run()
    while run < runs:
        line, x = run_at(run, width)
        if x < width:
            z, y, x = line // height + box[BOX_LOW], line % height + box[BOX_LOW + 1], x + box[BOX_LOW + 2]
            value = units(data[box_index(box, z, y, x)], scale)
            t, cell = cell_of(z, y, x, tiles, tile)
            weight[(np.int64(t) * arcs + k) * 1024 + cell] += value
            t, cell = cell_of(z + offset[0], y + offset[1], x + offset[2], tiles, tile)
            weight[(np.int64(t) * arcs + (k ^ 1)) * 1024 + cell] += value
        run += run_step()


@cuda_kernel
def cheapest_kernel(unary, view, scale, tiles, tile, label):
    """The cheapest label of each pixel, the first one on ties."""
    runs = runs_of(view)
    run = first_run()
    while run < runs:
        z, y, x = pixel_of_run(view, run)
        if x < view[WIDTH]:
            best = np.int32(0)
            lowest = unary_cost(unary, view, scale, 0, z, y, x)
            for i in range(1, view[LABELS]):
                other = unary_cost(unary, view, scale, i, z, y, x)
                if other < lowest:
                    best, lowest = np.int32(i), other
            t, cell = cell_of(z, y, x, tiles, tile)
            label[np.int64(t) * 1024 + cell] = best
        run += run_step()


@cuda_kernel
def votes_kernel(view, tiles, tile, label, votes):
    """votes[i * VOTE_COPIES + ...]: partial counts of the pixels with label i."""
    runs = runs_of(view)
    run = first_run()
    while run < runs:
        z, y, x = pixel_of_run(view, run)
        if x < view[WIDTH]:
            t, cell = cell_of(z, y, x, tiles, tile)
            cuda.atomic.add(
                votes, label[np.int64(t) * 1024 + cell] * VOTE_COPIES + (run + x) % VOTE_COPIES, np.int32(1)
            )
        run += run_step()


@cuda_kernel
def start_kernel(data, box, view, tiles, tile, label):
    """Labels from a caller's array."""
    runs = runs_of(view)
    run = first_run()
    while run < runs:
        z, y, x = pixel_of_run(view, run)
        if x < view[WIDTH]:
            t, cell = cell_of(z, y, x, tiles, tile)
            label[np.int64(t) * 1024 + cell] = data[box_index(box, z, y, x)]
        run += run_step()


@cuda_kernel
def paid_kernel(unary, view, scale, tiles, tile, label, paid):
    """The unary cost of every pixel's label."""
    runs = runs_of(view)
    run = first_run()
    while run < runs:
        z, y, x = pixel_of_run(view, run)
        if x < view[WIDTH]:
            t, cell = cell_of(z, y, x, tiles, tile)
            own_cell = np.int64(t) * 1024 + cell
            paid[own_cell] = unary_cost(unary, view, scale, label[own_cell], z, y, x)
        run += run_step()


@cuda_kernel
def energy_kernel(view, cost, weight, label, paid, offsets, tiles, tile, total):
    """Add the energy of the labelling to total[0]."""
    runs = runs_of(view)
    arcs = offsets.size // 3
    own = np.int64(0)
    run = first_run()
    while run < runs:
        z, y, x = pixel_of_run(view, run)
        if x < view[WIDTH]:
            t, cell = cell_of(z, y, x, tiles, tile)
            own_cell = np.int64(t) * 1024 + cell
            own += paid[own_cell]
            for k in range(0, arcs, 2):
                w = np.int64(weight[(np.int64(t) * arcs + k) * 1024 + cell])
                if w > 0:
                    q, far_cell = cell_of(
                        z + offsets[3 * k], y + offsets[3 * k + 1], x + offsets[3 * k + 2], tiles, tile
                    )
                    own += w * cost[label[own_cell] * view[LABELS] + label[np.int64(q) * 1024 + far_cell]]
        run += run_step()
    own = warp_sum(own)
    if cuda.threadIdx.x & 31 == 0 and own != 0:
        cuda.atomic.add(total, 0, own)


@cuda_kernel
def unary_sum_kernel(unary, view, tiles, tile, label, partial):
    """Sum of the labels' unary costs as floats, one partial sum per warp, so that the order is always the same."""
    runs = runs_of(view)
    total = 0.0
    run = first_run()
    while run < runs:
        z, y, x = pixel_of_run(view, run)
        if x < view[WIDTH]:
            t, cell = cell_of(z, y, x, tiles, tile)
            at = unary_index(view, label[np.int64(t) * 1024 + cell], z, y, x)
            total += np.float64(unary[at])
        run += run_step()
    total = warp_sum(total)
    if cuda.threadIdx.x & 31 == 0:
        partial[first_run()] = total


@cuda_kernel
def edge_sum_kernel(data, box, offset, cost, labels, tiles, tile, label, partial):
    """The same for the costs of the edges along one offset."""
    height, width = box[BOX_LENGTH + 1], box[BOX_LENGTH + 2]
    runs = box[BOX_LENGTH] * height * ((width + 31) // 32)
    total = 0.0
    run = first_run()
    while run < runs:
        line, x = run_at(run, width)
        if x < width:
            z, y, x = line // height + box[BOX_LOW], line % height + box[BOX_LOW + 1], x + box[BOX_LOW + 2]
            weight = np.float64(data[box_index(box, z, y, x)])
            t, cell = cell_of(z, y, x, tiles, tile)
            q, far_cell = cell_of(z + offset[0], y + offset[1], x + offset[2], tiles, tile)
            mine, theirs = label[np.int64(t) * 1024 + cell], label[np.int64(q) * 1024 + far_cell]
            total += weight * cost[mine * labels + theirs]
        run += run_step()
    total = warp_sum(total)
    if cuda.threadIdx.x & 31 == 0:
        partial[first_run()] = total


@cuda_kernel
def labels_kernel(view, tiles, tile, label, out):
    """The labels in raster order."""
    runs = runs_of(view)
    run = first_run()
    while run < runs:
        z, y, x = pixel_of_run(view, run)
        if x < view[WIDTH]:
            t, cell = cell_of(z, y, x, tiles, tile)
            out[(z * view[HEIGHT] + y) * view[WIDTH] + x] = label[np.int64(t) * 1024 + cell]
        run += run_step()


@cuda_kernel
def copy_kernel(source, target):
    """Copy an array."""
    i = np.int64(cuda.grid(1))
    while i < target.size:
        target[i] = source[i]
        i += cuda.gridsize(1)

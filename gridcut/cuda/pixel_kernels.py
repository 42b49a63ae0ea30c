"""Kernels over the pixels of a grid: load capacities into the state, and compute labels and sums from it.

The same kernels serve both layouts and arrays of any strides.  One small array on the GPU, the *form*, holds what they
need: the entries named below, then ROW_ENTRIES entries for each array that is read (from ROWS_START + 8 * row on):

  start, and the strides of image, z, y, x     pixel (b, z, y, x) is data[start + b * s0 + z * s1 + y * s2 + x * s3]
  offset z, y, x                               of the arc; a capacity is used if its far end is in the grid and the mask

A warp processes *runs* of 32 pixels of a line, one pixel per lane, so that reads and writes are coalesced; the kernels
for every solve process stretches of several runs, since addresses take most of their time.  blockIdx.x covers the runs
of an image, blockIdx.y up to four arrays of one dtype, blockIdx.z the images.
"""

import math

import numpy as np

from gridcut.core.units import CAPACITY_LIMIT
from gridcut.device.cuda import SIMULATED, WARP, cuda, cuda_kernel, device_function, shuffle

FLAT, TILED = 0, 1
KIND, ARCS, ITEMS, DEPTH, HEIGHT, WIDTH, RUNS, MASKED = range(8)  # RUNS: runs per line
HEAD, STRIDE_Z, STRIDE_Y = 8, 9, 10  # of the flat layout
TILES_Z, TILES_Y, TILES_X, LOG_Z, LOG_Y = 8, 9, 10, 11, 12  # tiles per axis, and log2 of their depth and height
# For float capacities (gridcut/core/units.py): the maximum in units, the factor that `scale` leaves over, and whether
# they are clamped.
MAX_UNITS, FINER, CLAMPED = 13, 14, 15
ROWS_START = 16
ROW_ENTRIES = 8  # entries per row
MASK, SOURCE, SINK, ARC = 0, 1, 2, 3  # rows; arc k has row ARC + k

SLOTS = 4  # arrays read per launch
THREADS = 256
STRETCH = 8  # runs of a line whose pixels a lane reads with one computation of addresses
TOGETHER = 4  # loads of a lane without a branch between them
MANY_RUNS = 1 << 15  # per image
MAX_BLOCKS = 1056  # enough to fill the largest GPUs; kernels loop over the rest


def grid_for(runs: int, items: int, slots: int, most: int = MAX_BLOCKS):
    """Blocks, and threads per block, of a launch over all runs of all images."""
    if SIMULATED:
        return (1, slots, items), WARP
    images = min(items, 65535)
    blocks = max(1, min(-(-runs * WARP // THREADS), most // images))
    return (blocks, slots, images), THREADS


@device_function
def pixel_of(form, run):
    """(z, y, x) of this lane in a run; x may be beyond the end of the line."""
    run = np.uint32(run)
    runs = np.uint32(form[RUNS])
    height = np.uint32(form[HEIGHT])
    line = np.uint32(run // runs)
    z = np.uint32(line // height)
    x = np.int64(run - line * runs) * 32 + np.int64(cuda.threadIdx.x & 31)
    return np.int64(z), np.int64(line - z * height), x


@device_function
def runs_of(form):
    """Number of runs per image."""
    return np.int32(form[DEPTH] * form[HEIGHT] * form[RUNS])


@device_function
def first_run():
    return np.int32((cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) >> 5)


@device_function
def run_step():
    return np.int32((cuda.gridDim.x * cuda.blockDim.x) >> 5)


@device_function
def stretch_runs(form):
    """Runs in a stretch of a line: one in small images, for which all warps are needed."""
    return STRETCH if form[DEPTH] * form[HEIGHT] * form[RUNS] >= MANY_RUNS else 1


@device_function
def stretch_of(form, stretch):
    """(z, y, x) of this lane's first pixel in a stretch of a line, and the stretch's end."""
    length = stretch_runs(form)
    stretch = np.uint32(stretch)
    stretches = np.uint32((form[RUNS] + (length - 1)) // length)
    height = np.uint32(form[HEIGHT])
    line = np.uint32(stretch // stretches)
    z = np.uint32(line // height)
    first = np.int64(stretch - line * stretches) * (32 * length)
    lane = np.int64(cuda.threadIdx.x & 31)
    return np.int64(z), np.int64(line - z * height), first + lane, min(form[WIDTH], first + 32 * length)


@device_function
def stretches_of(form):
    """Number of stretches per image."""
    length = stretch_runs(form)
    return np.int32(form[DEPTH] * form[HEIGHT] * ((form[RUNS] + (length - 1)) // length))


@device_function
def line_is_used(form, row, z, y):
    """Whether the far ends of a line's capacities are on a line of the grid."""
    r = ROWS_START + ROW_ENTRIES * row
    far_z = z + form[r + 5]
    far_y = y + form[r + 6]
    return far_z >= 0 and far_z < form[DEPTH] and far_y >= 0 and far_y < form[HEIGHT]


@device_function
def masks_of(form, row, b, z, y, x):
    """Index in the mask of a pixel and of the far end of its capacity, and their step from run to run."""
    r = ROWS_START + ROW_ENTRIES * row
    here = data_index(form, MASK, b, z, y, x)
    there = data_index(form, MASK, b, z + form[r + 5], y + form[r + 6], x + form[r + 7])
    return here, there, 32 * form[ROWS_START + ROW_ENTRIES * MASK + 4]


@device_function
def data_index(form, row, b, z, y, x):
    """Index of a pixel in the array of a row."""
    r = ROWS_START + ROW_ENTRIES * row
    return form[r] + b * form[r + 1] + z * form[r + 2] + y * form[r + 3] + x * form[r + 4]


@device_function
def is_used(form, mask, row, b, z, y, x):
    """Whether a capacity is used: both ends are in the grid and in the mask."""
    if x >= form[WIDTH]:
        return False
    r = ROWS_START + ROW_ENTRIES * row
    far_z = z + form[r + 5]
    far_y = y + form[r + 6]
    far_x = x + form[r + 7]
    if far_z < 0 or far_z >= form[DEPTH] or far_y < 0 or far_y >= form[HEIGHT] or far_x < 0 or far_x >= form[WIDTH]:
        return False
    if form[MASKED] == 0:
        return True
    return mask[data_index(form, MASK, b, z, y, x)] != 0 and mask[data_index(form, MASK, b, far_z, far_y, far_x)] != 0


@device_function
def state_index(form, b, z, y, x):
    """Indices of a pixel's excess and of its residual of arc 0, and the stride between its arcs."""
    if form[KIND] == TILED:
        log_z = form[LOG_Z]
        log_y = form[LOG_Y]
        tile = (b * form[TILES_Z] + (z >> log_z)) * form[TILES_Y] + (y >> log_y)
        tile = tile * form[TILES_X] + (x >> 5)
        row = ((z & ((1 << log_z) - 1)) << log_y) + (y & ((1 << log_y) - 1))
        inside = row * 32 + (x & 31)
        return tile * 1024 + inside, tile * form[ARCS] * 1024 + inside, np.int64(1024)
    p = form[HEAD] + z * form[STRIDE_Z] + y * form[STRIDE_Y] + x
    return p, p * form[ARCS], np.int64(1)


@device_function
def state_step(form, arcs):
    """What `state_index` adds from run to run: arcs of a cell for residuals, 1 for the excess."""
    return arcs * 1024 if form[KIND] == TILED else arcs * 32


@device_function
def units(value, scale):
    """A cost in units: unchanged if scale is 0, else rounded to nearest, ties to even."""
    if scale == 0:
        return np.int64(value)
    exact = np.float64(value) * scale
    below = np.float64(math.floor(exact))
    nearest = np.int64(below)
    rest = exact - below
    if rest > 0.5 or (rest == 0.5 and (nearest & 1) == 1):
        nearest += 1
    return nearest


@device_function
def capacity_units(value, scale, form):
    """A capacity in units: unchanged if scale is 0, else rounded down and clamped, as in gridcut.core.units."""
    if scale == 0:
        return np.int64(value)
    exact = np.float64(value) * scale * np.float64(form[FINER])
    max_units = np.float64(form[MAX_UNITS])
    if exact < max_units:
        return np.int64(exact)
    return form[MAX_UNITS]


@device_function
def terminal_difference(source, sink, scale, form):
    """source - sink in units, rounded towards 0, as in gridcut.core.units.difference."""
    here = np.float64(source)
    there = np.float64(sink)
    finer = np.float64(form[FINER])
    if here > there:
        return np.int64(min(np.float64(CAPACITY_LIMIT), (here - there) * scale * finer))
    if here < there:
        return -np.int64(min(np.float64(CAPACITY_LIMIT), (there - here) * scale * finer))
    return np.int64(0)


@device_function
def warp_sum(value):
    """The sum over the warp, in every lane."""
    lane = np.int32(cuda.threadIdx.x & 31)
    width = np.int32(16)
    while width > 0:
        value += shuffle(value, lane ^ width)
        width >>= 1
    return value


@device_function
def warp_max(value):
    """The maximum over the warp, in every lane."""
    lane = np.int32(cuda.threadIdx.x & 31)
    width = np.int32(16)
    while width > 0:
        value = max(value, shuffle(value, lane ^ width))
        width >>= 1
    return value


@device_function
def add_halves(low, high, sums, b):
    """sums[2 b] += low, sums[2 b + 1] += high over the warp."""
    low = warp_sum(low)
    high = warp_sum(high)
    if cuda.threadIdx.x & 31 == 0 and (low != 0 or high != 0):
        cuda.atomic.add(sums, 2 * b, low)
        cuda.atomic.add(sums, 2 * b + 1, high)


@device_function
def array_of_slot(data0, data1, data2, data3, row0, row1, row2, row3):
    """The array of this block's slot, and its row."""
    slot = cuda.blockIdx.y
    if slot == 0:
        return data0, row0
    if slot == 1:
        return data1, row1
    if slot == 2:
        return data2, row2
    return data3, row3


@device_function
def reads(form, mask, x, end, step, here, there):
    """Whether a capacity at x, before the end of a stretch, is used; here, there: see `masks_of`."""
    if x >= end or x + step < 0 or x + step >= form[WIDTH]:
        return False
    return form[MASKED] == 0 or (mask[here] != 0 and mask[there] != 0)


@cuda_kernel
def bounds_kernel(data0, data1, data2, data3, row0, row1, row2, row3, mask, form, largest, bad):
    """largest[row]: the largest used capacity; bad[row]: 1 if one is negative or NaN.  The caller zeroes both."""
    data, row = array_of_slot(data0, data1, data2, data3, row0, row1, row2, row3)
    highest = largest[row]
    wrong = False
    stretches = stretches_of(form)
    r = ROWS_START + ROW_ENTRIES * row
    step = form[r + 7]
    data_step = 32 * form[r + 4]
    for b in range(np.int64(cuda.blockIdx.z), form[ITEMS], cuda.gridDim.z):
        for stretch in range(first_run(), stretches, run_step()):
            z, y, x, end = stretch_of(form, stretch)
            if line_is_used(form, row, z, y):
                i = data_index(form, row, b, z, y, x)
                here, there, mask_step = masks_of(form, row, b, z, y, x)
                while x < end:
                    for _ in range(TOGETHER):
                        used = reads(form, mask, x, end, step, here, there)
                        value = data[i if used else 0]  # in any case, so that loads wait for memory together
                        wrong |= used and not value >= 0
                        highest = value if used and value > highest else highest
                        x += 32
                        i += data_step
                        here += mask_step
                        there += mask_step
    if wrong:
        bad[row] = 1
    highest = warp_max(highest)
    if cuda.threadIdx.x & 31 == 0 and highest > largest[row]:
        cuda.atomic.max(largest, row, highest)


@cuda_kernel
def terminals_kernel(source, sink, mask, form, scale, excess, to_sink):
    """excess = source - sink; to_sink: per image, the sum of the sink's capacities, in 32-bit halves."""
    stretches = stretches_of(form)
    masked = form[MASKED] != 0
    clamped = form[CLAMPED] != 0
    source_step = 32 * form[ROWS_START + ROW_ENTRIES * SOURCE + 4]
    sink_step = 32 * form[ROWS_START + ROW_ENTRIES * SINK + 4]
    for b in range(np.int64(cuda.blockIdx.z), form[ITEMS], cuda.gridDim.z):
        low = np.int64(0)
        high = np.int64(0)
        for stretch in range(first_run(), stretches, run_step()):
            z, y, x, end = stretch_of(form, stretch)
            i = data_index(form, SOURCE, b, z, y, x)
            j = data_index(form, SINK, b, z, y, x)
            here, _, mask_step = masks_of(form, SOURCE, b, z, y, x)
            e, _, _ = state_index(form, b, z, y, x)
            excess_step = state_step(form, np.int64(1))
            while x < end:
                if not masked or mask[here] != 0:
                    to = capacity_units(sink[j], scale, form)
                    if clamped:
                        excess[e] = terminal_difference(source[i], sink[j], scale, form)
                    else:
                        excess[e] = capacity_units(source[i], scale, form) - to
                    low += to & 0xFFFFFFFF
                    high += to >> 32
                x += 32
                i += source_step
                j += sink_step
                here += mask_step
                e += excess_step
        add_halves(low, high, to_sink, b)


@cuda_kernel
def arcs_kernel(data0, data1, data2, data3, row0, row1, row2, row3, mask, form, scale, residual):
    """Set the residuals of up to four arcs to their capacities; unused ones stay zero."""
    data, row = array_of_slot(data0, data1, data2, data3, row0, row1, row2, row3)
    stretches = stretches_of(form)
    r = ROWS_START + ROW_ENTRIES * row
    step = form[r + 7]
    data_step = 32 * form[r + 4]
    residual_step = state_step(form, form[ARCS])
    for b in range(np.int64(cuda.blockIdx.z), form[ITEMS], cuda.gridDim.z):
        for stretch in range(first_run(), stretches, run_step()):
            z, y, x, end = stretch_of(form, stretch)
            if line_is_used(form, row, z, y):
                i = data_index(form, row, b, z, y, x)
                here, there, mask_step = masks_of(form, row, b, z, y, x)
                _, to, arc = state_index(form, b, z, y, x)
                to += (row - ARC) * arc
                while x < end:
                    used = reads(form, mask, x, end, step, here, there)
                    also = reads(form, mask, x + 32, end, step, here + mask_step, there + mask_step)
                    value = data[i if used else 0]
                    other = data[i + data_step if also else 0]
                    if used:
                        residual[to] = capacity_units(value, scale, form)
                    if also:
                        residual[to + residual_step] = capacity_units(other, scale, form)
                    x += 64
                    i += 2 * data_step
                    here += 2 * mask_step
                    there += 2 * mask_step
                    to += 2 * residual_step


@cuda_kernel
def clamp_kernel(mask, form, excess, residual):
    """Clamp the terminals of all pixels to the sums of their arcs, as gridcut.core.units.clamp_kernel."""
    runs = runs_of(form)
    for b in range(np.int64(cuda.blockIdx.z), form[ITEMS], cuda.gridDim.z):
        for run in range(first_run(), runs, run_step()):
            z, y, x = pixel_of(form, run)
            if is_used(form, mask, SOURCE, b, z, y, x):
                out = np.int64(1)
                into = np.int64(1)
                e, r, arc = state_index(form, b, z, y, x)
                for k in range(form[ARCS]):
                    row = ARC + k
                    if is_used(form, mask, row, b, z, y, x):
                        o = ROWS_START + ROW_ENTRIES * row
                        _, far, _ = state_index(form, b, z + form[o + 5], y + form[o + 6], x + form[o + 7])
                        out += residual[r + k * arc]
                        into += residual[far + (k ^ 1) * arc]
                excess[e] = max(-into, min(out, excess[e]))


@cuda_kernel
def labels_kernel(side, mask, form, excess, labels, left):
    """Set labels in raster order; left: per image, the sum of the excess on the sink side, in 32-bit halves.

    side: the sink side as solvers return it: one bit per pixel in tiles, else one byte per cell.
    """
    stretches = stretches_of(form)
    masked = form[MASKED] != 0
    tiled = form[KIND] == TILED
    for b in range(np.int64(cuda.blockIdx.z), form[ITEMS], cuda.gridDim.z):
        low = np.int64(0)
        high = np.int64(0)
        for stretch in range(first_run(), stretches, run_step()):
            z, y, x, end = stretch_of(form, stretch)
            here, _, mask_step = masks_of(form, SOURCE, b, z, y, x)
            e, _, _ = state_index(form, b, z, y, x)
            excess_step = state_step(form, np.int64(1))
            i = ((b * form[DEPTH] + z) * form[HEIGHT] + y) * form[WIDTH] + x
            while x < end:
                label = np.uint8(0)
                if not masked or mask[here] != 0:
                    if tiled:
                        sink_side = (side[e >> 5] >> (e & 31)) & 1
                    else:
                        sink_side = side[e]
                    if sink_side != 0:
                        value = np.int64(excess[e])
                        low += value & 0xFFFFFFFF
                        high += value >> 32
                    else:
                        label = np.uint8(1)
                labels[i] = label
                x += 32
                i += 32
                here += mask_step
                e += excess_step
        add_halves(low, high, left, b)


# Kernels that measure a cut of float capacities: its value, and how much of it is lost to rounding.
#
# Each warp writes its partial sums into elements of its own, so that the host adds them in the same order at every
# call. The *form* and the launch are those of gridcut/cuda/pixel_kernels.py.


@device_function
def rounding_loss(value, scale, unit, form):
    """The part of a capacity that is lost by rounding."""
    exact = value * scale * np.float64(form[FINER])
    max_units = np.float64(form[MAX_UNITS])
    return value - np.float64(math.floor(exact if exact < max_units else max_units)) * unit


# args: arrays of up to four types, which a kernel can index only as separate arguments
@cuda_kernel
def cut_kernel(
    data0, data1, data2, data3, row0, row1, row2, row3, mask, form, labels, scale, unit, partial, losses, first, jobs
):
    """Sum the capacities across the cut, and the parts lost by rounding, of up to four arrays.

    partial, losses: one element per image, array and warp.
    """
    data, row = array_of_slot(data0, data1, data2, data3, row0, row1, row2, row3)
    job = first + cuda.blockIdx.y
    runs = runs_of(form)
    warps = run_step()
    for b in range(np.int64(cuda.blockIdx.z), form[ITEMS], cuda.gridDim.z):
        total = 0.0
        loss = 0.0
        for run in range(first_run(), runs, run_step()):
            z, y, x = pixel_of(form, run)
            if is_used(form, mask, row, b, z, y, x):
                p = ((b * form[DEPTH] + z) * form[HEIGHT] + y) * form[WIDTH] + x
                r = ROWS_START + ROW_ENTRIES * row
                q = p + (form[r + 5] * form[HEIGHT] + form[r + 6]) * form[WIDTH] + form[r + 7]
                crosses = labels[p] > labels[q]
                if row == SOURCE:
                    crosses = labels[p] == 0
                elif row == SINK:
                    crosses = labels[p] != 0
                if crosses:
                    value = np.float64(data[data_index(form, row, b, z, y, x)])
                    total += value
                    loss += rounding_loss(value, scale, unit, form)
        total = warp_sum(total)
        loss = warp_sum(loss)
        if cuda.threadIdx.x & 31 == 0:
            partial[(b * jobs + job) * warps + first_run()] = total
            losses[(b * jobs + job) * warps + first_run()] = loss


@cuda_kernel
def differences_kernel(source, sink, mask, form, labels, scale, unit, partial, losses, shared, job, jobs):
    """The same for the difference of both terminals, and for their minimum, as in gridcut/core/cut_capacity.py."""
    runs = runs_of(form)
    warps = run_step()
    for b in range(np.int64(cuda.blockIdx.z), form[ITEMS], cuda.gridDim.z):
        total = 0.0
        loss = 0.0
        common = 0.0
        for run in range(first_run(), runs, run_step()):
            z, y, x = pixel_of(form, run)
            if is_used(form, mask, SOURCE, b, z, y, x):
                kept = np.float64(source[data_index(form, SOURCE, b, z, y, x)])
                paid = np.float64(sink[data_index(form, SINK, b, z, y, x)])
                if labels[((b * form[DEPTH] + z) * form[HEIGHT] + y) * form[WIDTH] + x] == 0:
                    other = kept
                    kept = paid
                    paid = other
                common += min(kept, paid)
                if paid > kept:
                    total += paid - kept
                    loss += (paid - kept) - np.float64(terminal_difference(paid, kept, scale, form)) * unit
        total = warp_sum(total)
        loss = warp_sum(loss)
        common = warp_sum(common)
        if cuda.threadIdx.x & 31 == 0:
            partial[(b * jobs + job) * warps + first_run()] = total
            losses[(b * jobs + job) * warps + first_run()] = loss
            shared[b * warps + first_run()] = common

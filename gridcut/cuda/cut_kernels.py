"""Kernels that measure a cut of float capacities: its value, and how much of it is lost to rounding.

Each warp writes its partial sums into elements of its own, so that the host adds them in the same order at every call.
The *form* and the launch are those of gridcut/cuda/pixel_kernels.py.
"""

import math

import numpy as np

from gridcut.cuda.pixel_kernels import (
    DEPTH,
    FINER,
    HEIGHT,
    ITEMS,
    MAX_UNITS,
    ROW_ENTRIES,
    ROWS_START,
    SINK,
    SOURCE,
    WIDTH,
    array_of_slot,
    data_index,
    first_run,
    is_used,
    pixel_of,
    run_step,
    runs_of,
    terminal_difference,
    warp_sum,
)
from gridcut.device.cuda import cuda, cuda_kernel, device_function


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
    b = np.int64(cuda.blockIdx.z)
    while b < form[ITEMS]:
        total = 0.0
        loss = 0.0
        run = first_run()
        while run < runs:
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
            run += run_step()
        total = warp_sum(total)
        loss = warp_sum(loss)
        if cuda.threadIdx.x & 31 == 0:
            partial[(b * jobs + job) * warps + first_run()] = total
            losses[(b * jobs + job) * warps + first_run()] = loss
        b += cuda.gridDim.z


@cuda_kernel
def differences_kernel(source, sink, mask, form, labels, scale, unit, partial, losses, shared, job, jobs):
    """The same for the difference of both terminals, and for their minimum, as in gridcut/core/cut_capacity.py."""
    runs = runs_of(form)
    warps = run_step()
    b = np.int64(cuda.blockIdx.z)
    while b < form[ITEMS]:
        total = 0.0
        loss = 0.0
        common = 0.0
        run = first_run()
        while run < runs:
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
            run += run_step()
        total = warp_sum(total)
        loss = warp_sum(loss)
        common = warp_sum(common)
        if cuda.threadIdx.x & 31 == 0:
            partial[(b * jobs + job) * warps + first_run()] = total
            losses[(b * jobs + job) * warps + first_run()] = loss
            shared[b * warps + first_run()] = common
        b += cuda.gridDim.z

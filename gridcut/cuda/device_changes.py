"""Changing capacities under a flow on a GPU: gridcut/core/changes.py, in parallel over all pixels.

The kernels compare new arrays with old ones.  If a residual would become negative, the missing amount is pushed back
over its arc.  One thread changes both directions of an edge, so no residual is too large in the meantime.
"""

import numpy as np

from gridcut.cuda.pixel_kernels import (
    ARC,
    HEIGHT,
    ROW_ENTRIES,
    ROWS_START,
    SINK,
    WIDTH,
    add_halves,
    capacity_units,
    data_index,
    first_run,
    is_used,
    pixel_of,
    run_step,
    runs_of,
    state_index,
)
from gridcut.device.cuda import cuda, cuda_kernel


@cuda_kernel
def copy_kernel(data, row, form, out):
    """Copy an array to a contiguous one, in raster order."""
    runs = runs_of(form)
    run = first_run()
    while run < runs:
        z, y, x = pixel_of(form, run)
        if x < form[WIDTH]:
            out[(z * form[HEIGHT] + y) * form[WIDTH] + x] = data[data_index(form, row, 0, z, y, x)]
        run += run_step()


@cuda_kernel
def scatter_kernel(places, values, out):
    """out[places] = values; `places` has no duplicates."""
    i = np.int64(cuda.grid(1))
    while i < places.size:
        out[places[i]] = values[i]
        i += cuda.gridsize(1)


@cuda_kernel
def change_terminal_kernel(new, old, row, mask, new_form, old_form, scale, excess, to_sink):
    """Change the excess by as much as a terminal capacity; to_sink: sum of the sink's capacities, in 32-bit halves."""
    low = np.int64(0)
    high = np.int64(0)
    runs = runs_of(old_form)
    run = first_run()
    while run < runs:
        z, y, x = pixel_of(old_form, run)
        if is_used(old_form, mask, row, 0, z, y, x):
            before = capacity_units(old[data_index(old_form, row, 0, z, y, x)], scale, old_form)
            change = capacity_units(new[data_index(new_form, row, 0, z, y, x)], scale, old_form) - before
            if change != 0:
                e, _, _ = state_index(old_form, 0, z, y, x)
                if row == SINK:
                    excess[e] -= change
                    low += change & 0xFFFFFFFF
                    high += change >> 32
                else:
                    excess[e] += change
        run += run_step()
    add_halves(low, high, to_sink, 0)


@cuda_kernel
def change_arcs_kernel(new, new_back, old, old_back, row, mask, new_form, old_form, scale, excess, residual):
    """Change the residuals of arc p -> q of `row` and of its opposite by as much as their capacities."""
    runs = runs_of(old_form)
    k = np.int64(row - ARC)
    back = (k ^ 1) + ARC
    r = ROWS_START + ROW_ENTRIES * row
    run = first_run()
    while run < runs:
        z, y, x = pixel_of(old_form, run)
        if is_used(old_form, mask, row, 0, z, y, x):
            far_z, far_y, far_x = z + old_form[r + 5], y + old_form[r + 6], x + old_form[r + 7]
            change = capacity_units(new[data_index(new_form, row, 0, z, y, x)], scale, old_form)
            change -= capacity_units(old[data_index(old_form, row, 0, z, y, x)], scale, old_form)
            change_back = capacity_units(new_back[data_index(new_form, back, 0, far_z, far_y, far_x)], scale, old_form)
            change_back -= capacity_units(old_back[data_index(old_form, back, 0, far_z, far_y, far_x)], scale, old_form)
            if change != 0 or change_back != 0:
                e, there, arc = state_index(old_form, 0, z, y, x)
                far_e, here, _ = state_index(old_form, 0, far_z, far_y, far_x)
                there += k * arc
                here += (k ^ 1) * arc
                left = np.int64(residual[there]) + change
                left_back = np.int64(residual[here]) + change_back
                over = np.int64(0)  # flow pushed back from q to p
                if left < 0:
                    over = -left
                elif left_back < 0:
                    over = left_back
                residual[there] = left + over
                residual[here] = left_back - over
                if over != 0:
                    cuda.atomic.add(excess, e, over)
                    cuda.atomic.add(excess, far_e, -over)
        run += run_step()

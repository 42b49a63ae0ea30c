"""Few changes of terminals of a small grid: one compiled call per update, and one per warm solve with method "ibfs".

Each call passes flat arrays one by one, since numba needs three times as long for the same arrays in named tuples.  The
fast path of a `Solver` (gridcut/solver_states/small_state.py) calls them with valid arguments.

geometry   [d0, d1, d2, s0, s1, s2, head] of the layout in gridcut/core/grid.py
Others as in gridcut/core/grid.py and forest.py.
"""

import numpy as np

from gridcut.device import kernel
from gridcut.ibfs.forest import Forest, Work
from gridcut.ibfs.warm import resume

LISTS = Work._fields.index("source_orphans")  # the first list of `Work` that a warm solve uses


@kernel
def change_terminals(pixels, source, sink, old_source, old_sink, most_source, most_sink, geometry, excess, cells):
    """Set new terminal capacities of some pixels, and adjust the excesses.

    source, sink   one value per pixel, or none at all

    Returns the number of changed cells, which are written to `cells`, and the change of the total capacity to the sink;
    (-1, 0) if a value is negative or above its maximum, and nothing has changed.
    """
    for value in source:
        if not 0 <= np.int64(value) <= most_source:
            return -1, 0
    for value in sink:
        if not 0 <= np.int64(value) <= most_sink:
            return -1, 0
    d1, d2 = geometry[1], geometry[2]
    s0, s1, head = geometry[3], geometry[4], geometry[6]
    touched = 0
    to_sink = 0
    for i in range(pixels.size):
        pixel = np.uint64(pixels[i])
        line = pixel // np.uint64(d2)
        x = np.int64(pixel - line * np.uint64(d2))
        z = line // np.uint64(d1)
        y = np.int64(line - z * np.uint64(d1))
        p = head + np.int64(z) * s0 + y * s1 + x
        change = 0
        if source.size > 0:
            change += np.int64(source[i]) - np.int64(old_source[pixel])
            old_source[pixel] = source[i]
        if sink.size > 0:
            more = np.int64(sink[i]) - np.int64(old_sink[pixel])
            old_sink[pixel] = sink[i]
            to_sink += more
            change -= more
        if change != 0:
            excess[p] += change
            cells[touched] = p
            touched += 1
    return touched, to_sink


# args: an entry call, to which Python passes arrays one by one in half the time that a bundle takes
@kernel
def resume_and_read(
    cells, arcs_changed, budget, deepest, geometry, step, excess, residual, label, parent, link, queued,
    source_orphans, sink_orphans, detached, queue, ring, ends, head, labels,
):  # fmt: skip
    """`resume`, then write the labels in raster order.

    Returns the bound of all depths, the numbers of augmentations and of repaired cells, and the sum of the excesses on
    the sink side.  If the second number exceeds `budget`, the flow is valid but not complete, and no label is written.
    """
    forest = Forest(label, parent, link, queued)
    work = Work(
        queue, queue, queue, queue, source_orphans, sink_orphans, detached, queue, ring, ends, head
    )  # the first four lists are those of a search from scratch
    deepest, augmentations, repaired, more = resume(
        cells, arcs_changed, budget, excess, residual, step, deepest, forest, work
    )
    left = 0
    if more <= budget:
        d0, d1, d2 = geometry[0], geometry[1], geometry[2]
        s0, s1 = geometry[3], geometry[4]
        for z in range(d0):
            for y in range(d1):
                i = np.uint64((z * d1 + y) * d2)
                p = np.uint64(geometry[6] + z * s0 + y * s1)
                for x in range(np.uint64(d2)):
                    is_source = label[p + x] >= 0
                    labels[i + x] = is_source
                    left += 0 if is_source else np.int64(excess[p + x])
    return deepest, augmentations, repaired, more, left

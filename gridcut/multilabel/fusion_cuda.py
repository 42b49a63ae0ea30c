"""Fusion of two labellings on a GPU; see gridcut/multilabel/fusion.py.

The connected components of the pixels that differ are found by union-find over all edges in parallel [1]; parent[p] is
a cell of the same component, at most p, or -1 where the labellings agree.

[1] Jaiganesh, Burtscher. "A high-performance connected components implementation for GPUs." HPDC 2018."""

import numpy as np

from gridcut.cuda.pixel_kernels import warp_sum
from gridcut.device.arrays import allocate, download, upload
from gridcut.device.cuda import cuda, cuda_kernel, device_function, relaxed_load
from gridcut.multilabel.label_kernels_cuda import first_run, pixel_of_run, run_step, runs_of
from gridcut.multilabel.moves_cuda import LABELS, WIDTH, cell_of, unary_cost


@device_function
def root_of(parent, p):
    """The representative of the component of p."""
    while True:
        above = relaxed_load(parent, p)
        if above == p:
            return p
        p = above


@device_function
def unite(parent, p, q):
    """Merge the components of two cells."""
    while True:
        p, q = root_of(parent, p), root_of(parent, q)
        if p == q:
            return
        low, high = min(p, q), max(p, q)
        if cuda.atomic.cas(parent, high, high, low) == high:
            return


@device_function
def neighbour_cell(offsets, k, z, y, x, tiles, tile):
    """Index of the cell that arc k leads to."""
    t, cell = cell_of(z + offsets[3 * k], y + offsets[3 * k + 1], x + offsets[3 * k + 2], tiles, tile)
    return np.int32(t * 1024 + cell)


@cuda_kernel
def differ_kernel(current, proposal, parent, change):
    """Make every cell where the labellings differ a component."""
    p = np.int32(cuda.grid(1))
    while p < parent.size:
        parent[p] = p if current[p] != proposal[p] else -1
        change[p] = 0
        p = np.int32(p + cuda.gridsize(1))


@cuda_kernel
def unite_kernel(view, weight, offsets, tiles, tile, parent):
    """Merge the components along every edge between cells that differ."""
    runs = runs_of(view)
    arcs = offsets.size // 3
    run = first_run()
    while run < runs:
        z, y, x = pixel_of_run(view, run)
        if x < view[WIDTH]:
            t, cell = cell_of(z, y, x, tiles, tile)
            p = np.int32(t * 1024 + cell)
            if relaxed_load(parent, p) >= 0:
                for k in range(0, arcs, 2):
                    if weight[(np.int64(t) * arcs + k) * 1024 + cell] > 0:
                        q, far = cell_of(
                            z + offsets[3 * k], y + offsets[3 * k + 1], x + offsets[3 * k + 2], tiles, tile
                        )
                        q = np.int32(q * 1024 + far)
                        if relaxed_load(parent, q) >= 0:
                            unite(parent, p, q)
        run += run_step()


@cuda_kernel
def change_kernel(unary, view, scale, cost, weight, current, proposal, offsets, tiles, tile, parent, change):
    """change[root]: change of the energy if the component takes the labels of `proposal`."""
    runs = runs_of(view)
    arcs = offsets.size // 3
    labels = view[LABELS]
    run = first_run()
    while run < runs:
        z, y, x = pixel_of_run(view, run)
        if x < view[WIDTH]:
            t, cell = cell_of(z, y, x, tiles, tile)
            p = np.int32(t * 1024 + cell)
            differs = parent[p] >= 0
            own = np.int64(0)
            if differs:
                own = unary_cost(unary, view, scale, proposal[p], z, y, x)
                own -= unary_cost(unary, view, scale, current[p], z, y, x)
            for k in range(0, arcs, 2):
                w = np.int64(weight[(np.int64(t) * arcs + k) * 1024 + cell])
                if w > 0:
                    q = neighbour_cell(offsets, k, z, y, x, tiles, tile)
                    if differs or parent[q] >= 0:
                        delta = np.int64(cost[proposal[p] * labels + proposal[q]])
                        delta -= np.int64(cost[current[p] * labels + current[q]])
                        if differs:
                            own += w * delta
                        else:
                            cuda.atomic.add(change, root_of(parent, q), w * delta)
            if own != 0:
                cuda.atomic.add(change, root_of(parent, p), own)
        run += run_step()


@cuda_kernel
def choose_kernel(current, proposal, parent, change, counts):
    """Turn `proposal` into the fusion; counts: the number of labels from `current` and from `proposal`."""
    kept = np.int64(0)
    taken = np.int64(0)
    i = np.int64(cuda.grid(1))
    while i < (parent.size + 31) // 32 * 32:
        if i < parent.size and parent[i] >= 0:
            if change[root_of(parent, np.int32(i))] < 0:
                taken += 1
            else:
                proposal[i] = current[i]
                kept += 1
        i += cuda.gridsize(1)
    kept, taken = warp_sum(kept), warp_sum(taken)
    if cuda.threadIdx.x & 31 == 0:
        cuda.atomic.add(counts, 0, kept)
        cuda.atomic.add(counts, 1, taken)


@cuda_kernel
def table_kernel(view, tiles, tile, label, table, counts):
    """Map labels through a table, and add the number of changed pixels to counts[0]."""
    runs = runs_of(view)
    changed = np.int64(0)
    run = first_run()
    while run < runs:
        z, y, x = pixel_of_run(view, run)
        if x < view[WIDTH]:
            t, cell = cell_of(z, y, x, tiles, tile)
            p = t * 1024 + cell
            new = table[label[p]]
            if new != label[p]:
                label[p] = new
                changed += 1
        run += run_step()
    changed = warp_sum(changed)
    if cuda.threadIdx.x & 31 == 0:
        cuda.atomic.add(counts, 0, changed)


def map_labels(problem, label, table: np.ndarray) -> int:
    """Map every pixel's label through a table; returns the number of changes.  Cells outside the grid keep theirs."""
    (counts,) = allocate((1, np.int64), zero=True)
    problem.launch(table_kernel, problem.view, *problem.tiling, label, upload(table.astype(np.int32)), counts)
    return int(download(counts)[0])


def fuse(problem, current, proposal) -> tuple[int, int]:
    """Turn `proposal` into the fusion; returns the number of labels from `current` and `proposal` where they differ."""
    (parent,) = allocate((current.size, np.int32))
    change, counts = allocate((current.size, np.int64), (2, np.int64), zero=True)
    energy = (problem.cost, problem.weight)
    problem.launch_flat(differ_kernel, current, proposal, parent, change)
    problem.launch(unite_kernel, problem.view, problem.weight, problem.offsets, *problem.tiling, parent)
    arrays = (problem.unary, problem.view, problem.scale, *energy, current, proposal, problem.offsets)
    problem.launch(change_kernel, *arrays, *problem.tiling, parent, change)
    problem.launch_flat(choose_kernel, current, proposal, parent, change, counts)
    kept, taken = download(counts)
    return int(kept), int(taken)

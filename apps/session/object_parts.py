"""Connected parts of objects that touch none of their marks, in images and volumes, found from runs of equal labels.

A run is a longest stretch of equal labels above 0 in a row.  Runs of neighbouring rows, in a volume also of
neighbouring slices, that overlap and have the same label belong to the same part, so a part is a set of runs, joined
by a disjoint-set forest.  An object has far fewer runs than pixels: on 12 megapixels this takes a tenth of the time
of numbering the pixels of all parts.

    first[r]                   the first run of row r; rows of all slices, in raster order
    left[i], right[i]          the columns of run i, half open
    parent[i] <= i             a run of the same part; equal to i at the root
    marked[i]                  whether a mark of the run's label is in it; at a root finally: in its part
"""

import numpy as np

from gridcut.device import inner_kernel, kernel

BLOCK = 32  # pixels that are compared together


def touching(labels: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Give the parts of an object that touch none of its marks to the background; returns `labels`.

    labels   int16 (H, W) or (D, H, W), C-contiguous, 0 for the background; changed in place
    marks    int16, the same shape: a label, or -1 where there is none
    """
    width = labels.shape[-1]
    rows, flat_marks = labels.reshape(-1, width), marks.reshape(-1, width)
    first = np.zeros(len(rows) + 1, np.int64)
    count_kernel(rows, first)
    left, right, parent = (np.empty(first[-1], np.int32) for _ in range(3))
    marked = np.zeros(first[-1], np.bool_)
    runs_kernel(rows, flat_marks, first, left, right, parent, marked)
    join_kernel(rows, labels.shape[-2], first, left, right, parent, marked)
    if not marked.all():
        drop_kernel(first, left, right, marked, rows)
    return labels


@kernel
def count_kernel(rows, first):
    """Write the number of runs above each row."""
    count = 0
    for r in range(rows.shape[0]):
        row = rows[r]
        count += row[0] > 0
        for x in range(1, row.size):
            count += row[x] > 0 and row[x] != row[x - 1]
        first[r + 1] = count


@kernel
def runs_kernel(rows, marks, first, left, right, parent, marked):
    """Write the columns of all runs, and whether they contain a mark of their label."""
    width = rows.shape[1]
    for r in range(rows.shape[0]):
        row, line = rows[r], marks[r]
        i = first[r] - 1
        label = np.int16(0)  # of the pixel before
        for start in range(0, width, BLOCK):
            block = row[start : start + BLOCK]
            changes = np.int16(0)
            for x in range(block.size):  # a loop for vector registers: most blocks have one label
                changes |= block[x] ^ label
            if changes == 0:
                continue
            for x in range(block.size):
                if block[x] != label:
                    if label > 0:
                        right[i] = start + x
                    label = block[x]
                    if label > 0:
                        i += 1
                        left[i], parent[i] = start + x, i
        if label > 0:
            right[i] = width
        largest = np.int16(-1)
        for x in range(line.size):  # as above: most rows have no mark
            largest = max(largest, line[x])
        if largest >= 0:
            for i in range(first[r], first[r + 1]):
                label = row[left[i]]
                for x in range(left[i], right[i]):
                    marked[i] |= line[x] == label


@kernel
def join_kernel(rows, height, first, left, right, parent, marked):
    """Join the runs of neighbouring rows, `height` of which are a slice, and pass the marks to all runs of a part."""
    for r in range(rows.shape[0]):
        if r % height:
            join_rows(rows, r - 1, r, first, left, right, parent)
        if r >= height:
            join_rows(rows, r - height, r, first, left, right, parent)
    for i in range(len(parent)):
        root = parent[i] = parent[parent[i]]  # parents come first, and have been set to roots
        marked[root] |= marked[i]
    for i in range(len(parent)):
        marked[i] = marked[parent[i]]


@inner_kernel
def join_rows(rows, above, below, first, left, right, parent):
    """Join the runs of two rows that overlap and have the same label."""
    i, j = first[above], first[below]
    while i < first[above + 1] and j < first[below + 1]:
        if max(left[i], left[j]) < min(right[i], right[j]) and rows[above, left[i]] == rows[below, left[j]]:
            one, other = root_of(parent, i), root_of(parent, j)
            parent[max(one, other)] = min(one, other)
        if right[i] < right[j]:
            i += 1
        else:
            j += 1


@inner_kernel
def root_of(parent, i):
    """The root of a run, with the path to it halved."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def drop_kernel(first, left, right, marked, rows):
    """Give the runs that are not marked to the background."""
    for r in range(rows.shape[0]):
        for i in range(first[r], first[r + 1]):
            if not marked[i]:
                for x in range(left[i], right[i]):
                    rows[r, x] = 0

"""The growth of alternating searches per level, measured in a few thousand steps; it distinguishes meshes.

In a mesh the number of vertices within d steps grows like a power of d, in random and in skewed graphs exponentially.
If growth is exponential, searches from many free vertices traverse the whole graph many times, and an initial matching
that leaves few free vertices is worth its time.  In meshes the paths are short and the cheap matching suffices.

O(SAMPLES * MAX_ROWS) steps, each of which scans the neighbours of a row.
"""

import numpy as np

from gridcut.device import kernel

SAMPLES = 3  # start rows
MIN_ROWS, MAX_ROWS = 128, 4096  # numbers of visited rows between which the growth is measured


@kernel
def frontier_growth(row_ptr, row_adj, col_match):
    """Mean factor by which a level multiplies the number of visited rows; 1 if no search visits MIN_ROWS rows."""
    n = row_ptr.size - 1
    limit = min(MAX_ROWS, n // 4)
    seen = np.zeros(n, np.bool_)
    queue = np.empty(n, np.int32)
    total, measured = 0.0, 0
    for sample in range(SAMPLES):
        queue[0] = (2 * sample + 1) * n // (2 * SAMPLES)
        seen[queue[0]] = True
        head, tail, levels, first = 0, 1, 0, 0
        while head < tail and tail < limit:
            end = tail
            while head < end:
                r = queue[head]
                head += 1
                for k in range(row_ptr[r], row_ptr[r + 1]):
                    mate = col_match[row_adj[k]]
                    if mate >= 0 and not seen[mate]:
                        seen[mate] = True
                        queue[tail] = mate
                        tail += 1
            if first > 0:
                levels += 1
            elif tail >= MIN_ROWS:
                first = tail
        if levels > 0:
            total += np.log(tail / first) / levels
            measured += 1
        elif first > 0:
            total += np.log(tail / 2)
            measured += 1
        for i in range(tail):
            seen[queue[i]] = False
    return np.exp(total / measured) if measured else 1.0

"""How fast alternating searches widen: what tells random and skewed graphs from meshes, in some thousand steps.

In a mesh the vertices within d steps grow with a power of d, in random and in skewed graphs exponentially.  Where they
do, searches from many free vertices go over the whole graph again and again, and an initial matching that leaves few
free vertices pays for itself; in meshes the paths are near and the plain one does.

O(SAMPLES * MAX_ROWS) steps, each the neighbours of a row.
"""

import numpy as np

from gridcut.device import kernel

SAMPLES = 3  # rows that are searched from
MIN_ROWS, MAX_ROWS = 128, 4096  # rows between which the growth is measured


@kernel
def frontier_growth(row_ptr, row_adj, col_match):
    """Mean factor by which a level multiplies the rows reached; 1 where no search reaches MIN_ROWS rows."""
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

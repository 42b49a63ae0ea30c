"""The two sides of a bipartite graph of adjacency lists, by breadth-first searches."""

import numpy as np

from gridcut.device.compile import kernel

ROW, COLUMN, NOT_REACHED = 0, 1, -1


@kernel
def two_colours(indptr, indices, side):
    """Write ROW or COLUMN for each node, different at both ends of each edge, by searches from the first nodes.

    Returns the number of components, and an entry whose ends are on one side, -1 if there is none.
    """
    side[:] = NOT_REACHED
    queue = np.empty(side.size, np.int64)
    components = 0
    for root in range(side.size):
        if side[root] != NOT_REACHED:
            continue
        components += 1
        queue[0], side[root] = root, ROW
        size, at = 1, 0
        while at < size:
            u = queue[at]
            at += 1
            for k in range(indptr[u], indptr[u + 1]):
                v = indices[k]
                if side[v] == NOT_REACHED:
                    side[v] = ROW + COLUMN - side[u]
                    queue[size] = v
                    size += 1
                elif side[v] == side[u]:
                    return components, k
    return components, -1

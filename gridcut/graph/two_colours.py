"""The two sides of a connected bipartite graph, by a breadth-first search from node 0."""

import numpy as np

from gridcut.device import kernel


@kernel
def two_colours(indptr, indices, is_row):
    """Colour the nodes 1 and 0 by a search from node 0; 1 if the graph is bipartite and connected, else 0."""
    n = indptr.size - 1
    seen = np.zeros(n, np.bool_)
    queue = np.empty(n, np.int64)
    queue[0], is_row[0], seen[0] = 0, 1, True
    size, at = 1, 0
    while at < size:
        u = queue[at]
        at += 1
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if not seen[v]:
                seen[v] = True
                is_row[v] = 1 - is_row[u]
                queue[size] = v
                size += 1
            elif is_row[v] == is_row[u]:
                is_row[:] = 0
                return 0
    if size < n:
        is_row[:] = 0
        return 0
    return 1

"""MS-BFS with grafting and direction optimisation line by line, which records the size of every frontier.

Azad, Buluç, Pothen (IPDPS 2015), algorithms 3 to 7, on one thread, without the bitmaps and queues of
matching/forest/bitmap_search.py.  Fig. 8 of the paper is made of `frontiers`.

Arrays as in the paper: visited and parent of Y, root of X and Y, leaf of X, mates of both.
"""

import numpy as np

from gridcut.device import kernel

MAX_LEVELS = 1 << 20


@kernel
def attach(x, y, visited, parent, root_x, root_y, leaf, mate_y):
    """Algorithm 5; returns the mate of y, the next vertex of the frontier, or -1 if y ends an augmenting path."""
    parent[y] = x
    visited[y] = 1
    root_y[y] = root_x[x]
    if mate_y[y] >= 0:
        root_x[mate_y[y]] = root_x[x]
        return mate_y[y]
    leaf[root_x[x]] = y
    return -1


@kernel
def top_down(ptr, adj, frontier, count, following, visited, parent, root_x, root_y, leaf, mate_y):
    """Algorithm 4; the size of the next frontier, and the edges traversed."""
    size, edges = 0, 0
    for i in range(count):
        x = frontier[i]
        for a in range(ptr[x], ptr[x + 1]):
            if leaf[root_x[x]] >= 0:
                break
            edges += 1
            y = adj[a]
            if visited[y] == 0:
                mate = attach(x, y, visited, parent, root_x, root_y, leaf, mate_y)
                if mate >= 0:
                    following[size] = mate
                    size += 1
    return size, edges


@kernel
def bottom_up(ptr, adj, among, count, following, visited, parent, root_x, root_y, leaf, mate_y):
    """Algorithm 6 for the unvisited among some columns; the size of the next frontier, and the edges traversed."""
    size, edges = 0, 0
    for i in range(count):
        y = among[i]
        if visited[y]:
            continue
        for a in range(ptr[y], ptr[y + 1]):
            edges += 1
            x = adj[a]
            if root_x[x] >= 0 and leaf[root_x[x]] < 0:
                mate = attach(x, y, visited, parent, root_x, root_y, leaf, mate_y)
                if mate >= 0:
                    following[size] = mate
                    size += 1
                break
    return size, edges


@kernel
def frontiers(row_ptr, row_adj, col_ptr, col_adj, mate_x, mate_y, alpha, grafting, direction):
    """Algorithm 3 and 7 in place; (phase, frontier) of every level, and the edges traversed."""
    n, m = mate_x.size, mate_y.size
    visited = np.zeros(m, np.uint8)
    parent = np.full(m, -1, np.int32)
    root_x, root_y, leaf = np.full(n, -1, np.int32), np.full(m, -1, np.int32), np.full(n, -1, np.int32)
    frontier, following, columns = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(m, np.int32)
    levels = np.empty((MAX_LEVELS, 2), np.int32)
    level, phase, edges, count = 0, 0, 0, 0
    for x in range(n):
        if mate_x[x] < 0:
            root_x[x] = x
            frontier[count] = x
            count += 1
    while True:
        while count > 0:
            if level < MAX_LEVELS:
                levels[level, 0], levels[level, 1] = phase, count
                level += 1
            unvisited = 0
            for y in range(m):
                if visited[y] == 0:
                    columns[unvisited] = y
                    unvisited += 1
            if direction and count * alpha >= unvisited:
                count, more = bottom_up(
                    col_ptr, col_adj, columns, unvisited, following, visited, parent, root_x, root_y, leaf, mate_y
                )
            else:
                count, more = top_down(
                    row_ptr, row_adj, frontier, count, following, visited, parent, root_x, root_y, leaf, mate_y
                )
            edges += more
            frontier, following = following, frontier
        found = 0
        for x0 in range(n):
            if mate_x[x0] < 0 and root_x[x0] == x0 and leaf[x0] >= 0:
                found += 1
                y = leaf[x0]
                while y >= 0:
                    x = parent[y]
                    before = mate_x[x]
                    mate_x[x] = y
                    mate_y[y] = x
                    y = before
        phase += 1
        if found == 0:
            return levels[:level], edges, phase
        active, renewable = 0, 0
        for x in range(n):
            if root_x[x] >= 0 and leaf[root_x[x]] < 0:
                active += 1
        for y in range(m):
            if root_y[y] >= 0 and leaf[root_y[y]] >= 0:
                columns[renewable] = y
                renewable += 1
        for i in range(renewable):
            visited[columns[i]] = 0
            root_y[columns[i]] = -1
        if grafting and active * alpha > renewable:
            for x in range(n):
                if root_x[x] >= 0 and leaf[root_x[x]] >= 0:
                    root_x[x] = -1
            count, more = bottom_up(
                col_ptr, col_adj, columns, renewable, frontier, visited, parent, root_x, root_y, leaf, mate_y
            )
            edges += more
        else:
            visited[:] = 0
            root_y[:] = -1
            root_x[:] = -1
            count = 0
            for x in range(n):
                leaf[x] = -1
                if mate_x[x] < 0:
                    root_x[x] = x
                    frontier[count] = x
                    count += 1

"""MS-BFS with grafting and direction optimisation line by line, which records the size of every frontier.

Azad, Buluç, Pothen (IPDPS 2015), algorithms 3 to 7, on one thread, without the bitmaps and queues of
matching/forest/bitmap_search.py.  Fig. 8 of the paper is made of the levels that `grow_and_augment` returns.

Algorithms 6 and 7 leave two rules open, which `Rules` selects:

from_end               the order of the neighbours of y: the authors' program reads them from the end of the list, and
                       those of x from the start
same_step_search,      whether y may become a child of an x that the same bottom-up step attached; the authors' program
same_step_grafting     allows it in both

As in that program, the roots are the unmatched x that have neighbours.

Arrays as in the paper: visited and parent of Y, root of X and Y, leaf of X, mates of both.  step[x] is the number of
the step that attached x.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import kernel

MAX_LEVELS = 1 << 20
MAX_PHASES = 1 << 12


class Rules(NamedTuple):
    """The rules of the file header, alpha as in the paper, and switches.

    grafting     keep trees; False: start every phase from the roots
    direction    allow bottom-up steps
    first_graft  number of the first phase, counted from 1, after which trees may be kept
    always       keep trees whatever their size
    """

    grafting: bool = True
    direction: bool = True
    from_end: bool = True
    same_step_search: bool = True
    same_step_grafting: bool = True
    alpha: float = 5.0
    first_graft: int = 1
    always: bool = False


class Forest(NamedTuple):
    """The arrays of the file header."""

    visited: np.ndarray
    parent: np.ndarray
    root_x: np.ndarray
    root_y: np.ndarray
    leaf: np.ndarray
    step: np.ndarray
    mate_x: np.ndarray
    mate_y: np.ndarray


@kernel
def attach(x, y, forest, step):
    """Algorithm 5; returns the mate of y, the next vertex of the frontier, or -1 if y ends an augmenting path."""
    forest.parent[y] = x
    forest.visited[y] = 1
    forest.root_y[y] = forest.root_x[x]
    mate = forest.mate_y[y]
    if mate >= 0:
        forest.root_x[mate] = forest.root_x[x]
        forest.step[mate] = step
    else:
        forest.leaf[forest.root_x[x]] = y
    return mate


@kernel
def top_down(ptr, adj, frontier, count, following, forest, step):
    """Algorithm 4; the size of the next frontier, and the edges traversed."""
    size, edges = 0, 0
    for i in range(count):
        x = frontier[i]
        for a in range(ptr[x], ptr[x + 1]):
            if forest.leaf[forest.root_x[x]] >= 0:
                break
            edges += 1
            y = adj[a]
            if forest.visited[y] == 0:
                mate = attach(x, y, forest, step)
                if mate >= 0:
                    following[size] = mate
                    size += 1
    return size, edges


@kernel
def bottom_up(ptr, adj, among, count, following, forest, step, from_end, same_step):
    """Algorithm 6 for the unvisited among some columns; the size of the next frontier, and the edges traversed."""
    size, edges = 0, 0
    for i in range(count):
        y = among[i]
        if forest.visited[y]:
            continue
        for k in range(ptr[y + 1] - ptr[y]):
            x = adj[ptr[y + 1] - 1 - k if from_end else ptr[y] + k]
            edges += 1
            if forest.root_x[x] < 0 or forest.leaf[forest.root_x[x]] >= 0:
                continue
            if same_step or forest.step[x] < step:
                mate = attach(x, y, forest, step)
                if mate >= 0:
                    following[size] = mate
                    size += 1
                break
    return size, edges


@kernel
def columns_by_tree(root_y, size):
    """The columns of the largest tree, and of all trees; `size` is scratch space with an entry per row."""
    size[:] = 0
    largest, total = 0, 0
    for y in range(root_y.size):
        if root_y[y] >= 0:
            size[root_y[y]] += 1
            largest = max(largest, size[root_y[y]])
            total += 1
    return largest, total


@kernel
def grow_and_augment(row_ptr, row_adj, col_ptr, col_adj, mate_x, mate_y, rules):
    """Algorithm 3 and 7 in place; returns the levels, the phases, and the edges traversed.

    levels  (phase, frontier) of every level
    phases  (paths found, columns of the largest tree, columns of all trees) of every phase
    """
    n, m = mate_x.size, mate_y.size
    forest = Forest(
        np.zeros(m, np.uint8),
        np.full(m, -1, np.int32),
        np.full(n, -1, np.int32),
        np.full(m, -1, np.int32),
        np.full(n, -1, np.int32),
        np.zeros(n, np.int32),
        mate_x,
        mate_y,
    )
    frontier, following, columns = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(m, np.int32)
    levels = np.empty((MAX_LEVELS, 2), np.int32)
    phases = np.zeros((MAX_PHASES, 3), np.int32)
    level, phase, edges, count, step = 0, 0, 0, 0, 0
    for x in range(n):
        if mate_x[x] < 0 and row_ptr[x] < row_ptr[x + 1]:
            forest.root_x[x] = x
            frontier[count] = x
            count += 1
    while True:
        while count > 0:
            if level < MAX_LEVELS:
                levels[level, 0], levels[level, 1] = phase, count
                level += 1
            step += 1
            unvisited = 0
            for y in range(m):
                if forest.visited[y] == 0:
                    columns[unvisited] = y
                    unvisited += 1
            if rules.direction and count * rules.alpha >= unvisited:
                count, more = bottom_up(
                    col_ptr,
                    col_adj,
                    columns,
                    unvisited,
                    following,
                    forest,
                    step,
                    rules.from_end,
                    rules.same_step_search,
                )
            else:
                count, more = top_down(row_ptr, row_adj, frontier, count, following, forest, step)
            edges += more
            frontier, following = following, frontier
        found = 0
        for x0 in range(n):
            if mate_x[x0] < 0 and forest.root_x[x0] == x0 and forest.leaf[x0] >= 0:
                found += 1
                y = forest.leaf[x0]
                while y >= 0:
                    x = forest.parent[y]
                    before = mate_x[x]
                    mate_x[x] = y
                    mate_y[y] = x
                    y = before
        if phase < MAX_PHASES:
            phases[phase, 0] = found
            phases[phase, 1], phases[phase, 2] = columns_by_tree(forest.root_y, following)
        phase += 1
        if found == 0:
            return levels[:level], phases[:phase], edges
        active, renewable = 0, 0
        for x in range(n):
            if forest.root_x[x] >= 0 and forest.leaf[forest.root_x[x]] < 0:
                active += 1
        for y in range(m):
            if forest.root_y[y] >= 0 and forest.leaf[forest.root_y[y]] >= 0:
                columns[renewable] = y
                renewable += 1
        for i in range(renewable):
            forest.visited[columns[i]] = 0
            forest.root_y[columns[i]] = -1
        profitable = rules.always or active * rules.alpha > renewable
        if rules.grafting and profitable and phase >= rules.first_graft:
            for x in range(n):
                if forest.root_x[x] >= 0 and forest.leaf[forest.root_x[x]] >= 0:
                    forest.root_x[x] = -1
            step += 1
            count, more = bottom_up(
                col_ptr, col_adj, columns, renewable, frontier, forest, step, rules.from_end, rules.same_step_grafting
            )
            edges += more
        else:
            forest.visited[:] = 0
            forest.root_y[:] = -1
            forest.root_x[:] = -1
            count = 0
            for x in range(n):
                forest.leaf[x] = -1
                if mate_x[x] < 0 and row_ptr[x] < row_ptr[x + 1]:
                    forest.root_x[x] = x
                    frontier[count] = x
                    count += 1

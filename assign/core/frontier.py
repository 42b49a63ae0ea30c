"""The frontier of a search for shortest paths: the nodes that are reached but not scanned, nearest first.

Node j >= 0 is column j, node -1 - i is row i.  A column that comes nearer is inserted again, and its older entries stay
in the heap, outdated: an entry of a column is valid if its key equals dist[j].  A row has at most one entry, which is
valid.  So at most `columns` + `rows` entries are valid, and a heap of twice that size never has to grow.  When it is
full, the outdated entries are removed, at a constant cost per insertion.

Arrays
  key[e], node[e]   the heap, by ascending key towards its root
  ready             columns at the distance of the node scanned last; they need no heap
  size              number of entries of both: size[HEAP], size[READY]
  dist[j]           array of the caller: length of the shortest known path to column j

O(log size) per insertion and removal.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from gridcut.device import inner_kernel

HEAP, READY = 0, 1  # positions in `size`


class Frontier(NamedTuple):
    """Heap and ready columns; see above."""

    key: np.ndarray
    node: np.ndarray
    ready: np.ndarray
    size: np.ndarray


@register_jitable
def make_frontier(columns, rows, dtype):
    """An empty frontier for the columns, and for rows if they are inserted too."""
    capacity = 2 * (columns + rows) + 64
    return Frontier(
        np.empty(capacity, dtype), np.empty(capacity, np.int32), np.empty(columns, np.int32), np.zeros(2, np.int64)
    )


@inner_kernel
def clear(frontier):
    """Remove all nodes."""
    frontier.size[HEAP] = frontier.size[READY] = 0


@inner_kernel
def push(frontier, dist, key, node):
    """Insert a node into the heap."""
    if frontier.size[HEAP] == frontier.key.size:
        remove_outdated(frontier, dist)
    sift_up(frontier, frontier.size[HEAP], key, np.int32(node))
    frontier.size[HEAP] += 1


@inner_kernel
def push_ready(frontier, column):
    """Insert a column at the distance of the node scanned last."""
    frontier.ready[frontier.size[READY]] = column
    frontier.size[READY] += 1


@inner_kernel
def pop(frontier):
    """Remove the root of the heap."""
    keys, nodes, _, sizes = frontier
    sizes[HEAP] -= 1
    size = sizes[HEAP]
    moved, moved_node = keys[size], nodes[size]
    at = 0
    down = 1
    while down < size:
        if down + 1 < size and keys[down + 1] < keys[down]:
            down += 1
        if keys[down] >= moved:
            break
        keys[at] = keys[down]
        nodes[at] = nodes[down]
        at = down
        down = 2 * at + 1
    keys[at] = moved
    nodes[at] = moved_node


@inner_kernel
def take_nearest(frontier, dist, current, best):
    """Remove the nearest node; returns it and its distance, or (0, best) if none is nearer than `best`.

    The distance of ready columns is `current`.
    """
    keys, nodes, ready, size = frontier
    if size[READY] > 0:
        size[READY] -= 1
        return np.int64(ready[size[READY]]), current
    while size[HEAP] > 0 and keys[0] < best:
        key, node = keys[0], np.int64(nodes[0])
        pop(frontier)
        if node < 0 or key == dist[node]:
            return node, key
    return np.int64(0), best


@inner_kernel
def sift_up(frontier, at, key, node):
    """Insert an entry at the end `at` of the heap."""
    keys, nodes, _, _ = frontier
    while at > 0:
        up = (at - 1) >> 1
        if keys[up] <= key:
            break
        keys[at] = keys[up]
        nodes[at] = nodes[up]
        at = up
    keys[at] = key
    nodes[at] = node


@inner_kernel
def remove_outdated(frontier, dist):
    """Rebuild the heap from its valid entries."""
    size = 0
    for e in range(frontier.size[HEAP]):
        key, node = frontier.key[e], frontier.node[e]
        if node < 0 or key == dist[node]:
            sift_up(frontier, np.int64(size), key, node)
            size += 1
    frontier.size[HEAP] = size

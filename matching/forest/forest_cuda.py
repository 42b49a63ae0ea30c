"""A forest of alternating trees on a GPU, for ms_bfs_graft_cuda.py: its arrays, and the growth of a level.

X is the side of the roots, here the rows; Y is the other side.

Graph and matching: `MatchedGraph` (matching/core/problem_cuda.py)

Forest                                                                              paper [1]
  root_y[y]      root of the tree of y;  UNSEEN: in no tree;                        root[y], visited[y]
                 RENEWED: in no tree since this phase, and may be grafted
  parent[y]      the x from which y was reached, if root_y[y] >= 0                  parent[y]
  root_x[x]      root of the tree of x, which may have been destroyed since;        root[x]
                 -1: in no tree
  leaf[r]        unmatched y where an augmenting path from r ends;  -1: none yet    leaf[r]
  seen[y >> 5]   bit y & 31: whether root_y[y] >= 0, or about to be
  queue          X reached in this phase, level by level; the last level is the     F and Q
                 frontier queue[head:tail]

A tree is active while leaf[root] is -1. A root with a leaf is matched at the end of the phase and never becomes a root
again. So leaf[root] >= 0 keeps indicating that its tree no longer exists, and root_x of its members is not cleared.

Races
  Top-down: the thread whose atomic_or sets y's bit in seen owns y, and it alone writes root_y[y], parent[y] and
    root_x of y's mate. A stale load of seen only leads to an atomic_or on a bit that is already set.
  Bottom-up: one thread, or one warp, processes y, and y's mate belongs to y.
  leaf[r]: the thread whose compare-and-swap replaces -1 by an unmatched y gives r its path. If other threads find the
    tree still active shortly afterwards, it grows without effect: its members are renewed in the next phase, as in
    every tree with a leaf. An unmatched y whose compare-and-swap failed has that root too, and is renewed.
  No thread follows parent[] before the barrier at the end of a level.

Most edges lead to a y that was seen before, anywhere in memory. For these only a bit is loaded: 2^24 bits fit in a
GPU's cache, but as many roots do not.

Each vertex gets as many lanes of a warp as there are idle threads; a vertex with many more neighbours than lanes is
scanned by its whole warp.

[1] Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
    IPDPS 2015.
"""

from typing import NamedTuple

from gridcut.device.cuda import SIMULATED, ballot, count_trailing_zeros, cuda, device_function, relaxed_load, shuffle
from gridcut.device.cuda_types import int32, int64, uint32
from matching.core.frontier_cuda import (
    ALL_BLOCKS,
    STATE_SIZE,
    frontier_vertex,
    make_block_levels,
    make_narrow_levels,
    push,
)
from matching.core.grid_cuda import pseudo_random_neighbour

UNSEEN, RENEWED = -1, -2
# slots of state
FOUND, ACTIVE, RENEWED_COUNT, CHILDLESS_ROOTS, ABANDONED, FOREST_STATES = range(STATE_SIZE, STATE_SIZE + 6)

MAX_LANES = 8  # per vertex
WARP_DEGREE = 2 if SIMULATED else 16  # neighbours per lane; above this degree the whole warp helps


class Forest(NamedTuple):
    """The arrays of the forest, except the queue; see above."""

    root_y: object
    parent: object
    root_x: object
    leaf: object
    seen: object


@device_function
def claim_neighbours(graph, forest, out, x, r, k, end, step):
    """Algorithm 4 for every step-th of x's edges from k on: each y that is in no tree joins the tree of r."""
    x_adj, mate_y = graph.x_adj, graph.mate_y
    root_y, parent, root_x, leaf, seen = forest
    all_blocks = out.mode == ALL_BLOCKS
    while k < end:
        y = x_adj[k]
        is_abandoned = leaf[r] >= 0
        bit = uint32(uint32(1) << uint32(y & 31))
        new = seen[y >> 5] & bit == 0
        # A single block waits for memory, so it loads mate_y[y] in advance; a wide level loads it only if needed.
        mate = int32(-1) if all_blocks else mate_y[y]
        if is_abandoned:
            return
        if new and cuda.atomic.or_(seen, y >> 5, bit) & bit == 0:
            root_y[y] = r
            parent[y] = x
            if all_blocks:
                mate = mate_y[y]
            if mate >= 0:
                root_x[mate] = r
                push(out, mate)
            elif cuda.atomic.cas(leaf, r, int32(-1), y) < 0:
                out.frontier.state[FOUND] = 1
        k += step


@device_function
def top_down(graph, forest, out, head, thread, threads):
    """Algorithm 4: a level from queue[head:tail] or the shared frontier, by `threads` threads; returns its edges."""
    x_ptr, root_x = graph.x_ptr, forest.root_x
    lane = int32(thread & 31)
    number = int32(out.tail - head)
    shift = int32(0)
    while (1 << shift) < MAX_LANES and int64(number) << (shift + 1) <= threads:
        shift = int32(shift + 1)
    lanes = int32(1 << shift)
    first = int32((thread - lane) >> shift)
    edges = int64(0)
    while first < number:
        i = int32(first + (lane >> shift))
        x = int32(0)
        r = int32(0)
        k = int64(0)
        end = int64(0)
        if i < number:
            x = frontier_vertex(out, head, i)
            k = x_ptr[x]
            end = x_ptr[x + 1]
            r = root_x[x]
        is_hub = end - k > WARP_DEGREE * lanes
        if lane & (lanes - 1) == 0:
            edges += end - k
        if not is_hub:
            claim_neighbours(graph, forest, out, x, r, k + (lane & (lanes - 1)), end, lanes)
        hubs = ballot(is_hub and lane & (lanes - 1) == 0)
        while hubs != 0:
            source = count_trailing_zeros(hubs)
            hubs = hubs & (hubs - 1)
            start = shuffle(k, source)
            stop = shuffle(end, source)
            claim_neighbours(graph, forest, out, shuffle(x, source), shuffle(r, source), start + lane, stop, int32(32))
        first = int32(first + (threads >> shift))
    return edges


@device_function
def attach(graph, forest, out, y, x, r):
    """Attach y to the tree of r below x; False if y is unmatched and the tree already has a leaf."""
    root_y, parent, root_x, leaf, seen = forest
    mate = graph.mate_y[y]
    if mate < 0:
        if cuda.atomic.cas(leaf, r, int32(-1), y) >= 0:
            return False
        out.frontier.state[FOUND] = 1
    cuda.atomic.or_(seen, y >> 5, uint32(uint32(1) << uint32(y & 31)))
    root_y[y] = r
    parent[y] = x
    if mate >= 0:
        root_x[mate] = r
        push(out, mate)
    return True


@device_function
def bottom_up(graph, forest, out, mark, thread, threads):
    """Algorithm 6: each y with this mark in root_y searches an active tree, else becomes UNSEEN; returns the edges."""
    y_ptr, y_adj = graph.y_ptr, graph.y_adj
    root_y, root_x, leaf = forest.root_y, forest.root_x, forest.leaf
    cols = int32(root_y.size)
    lane = int32(thread & 31)
    first = int32(thread - lane)
    edges = int64(0)
    while first < cols:
        y = int32(first + lane)
        start = int64(0)
        degree = int64(0)
        j = int64(0)
        if y < cols and root_y[y] == mark:
            root_y[y] = int32(UNSEEN)
            start = y_ptr[y]
            degree = y_ptr[y + 1] - start
            stop = min(degree, int64(WARP_DEGREE))
            while j < stop:
                x = y_adj[start + pseudo_random_neighbour(y, j, degree)]
                r = root_x[x]
                j += 1
                edges += 1
                if r >= 0 and leaf[r] < 0 and attach(graph, forest, out, y, x, r):
                    degree = j
                    stop = j
        hubs = ballot(j < degree)
        while hubs != 0:
            source = count_trailing_zeros(hubs)
            hubs = hubs & (hubs - 1)
            position = int64(WARP_DEGREE)
            hub_start = shuffle(start, source)
            last = shuffle(degree, source)
            searching = True
            while searching and position < last:
                x = int32(0)
                r = int32(-1)
                if position + lane < last:
                    x = y_adj[hub_start + pseudo_random_neighbour(int32(first + source), position + lane, last)]
                    r = root_x[x]
                candidates = ballot(r >= 0 and relaxed_load(leaf, max(r, int32(0))) < 0)
                if candidates == 0:
                    position += 32
                else:
                    attached = lane == count_trailing_zeros(candidates) and attach(
                        graph, forest, out, int32(first + source), x, r
                    )
                    searching = ballot(attached) == 0
                edges += 1
        first = int32(first + threads)
    return edges


narrow_levels = make_narrow_levels(top_down)
block_levels = make_block_levels(top_down)


@device_function
def augment(graph, parent, y):
    """Augment along the path from unmatched y up to its root; returns its number of edges."""
    length = int64(-1)
    while y >= 0:
        x = parent[y]
        above = graph.mate_x[x]
        graph.mate_y[y] = x
        graph.mate_x[x] = y
        y = above
        length += 2
    return length

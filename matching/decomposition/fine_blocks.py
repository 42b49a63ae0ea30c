"""The searches of the Dulmage-Mendelsohn decomposition for a given maximum matching: coarse, then fine.

Arrays (n rows, m columns)
  row_part[r], col_part[c]     HORIZONTAL, SQUARE or VERTICAL
  row_block[r], col_block[c]   block index, in the order of the block triangular form
  stack, ancestors             Tarjan's stack of rows, and the path of rows whose search is unfinished
  order_seen[r]                when row r was first seen, from 1; 0: not yet
  low[r]                       the earliest row on the stack that r reaches
  at[r]                        next entry of row r to scan

[1] Dulmage, Mendelsohn. "Coverings of bipartite graphs." Canadian Journal of Mathematics 10, 1958.
[2] Pothen, Fan. "Computing the block triangular form of a sparse matrix." ACM Transactions on Mathematical Software 16,
    1990.
[3] Tarjan. "Depth-first search and linear graph algorithms." SIAM Journal on Computing 1, 1972.

O(n + m + edges).
"""

import numpy as np

from gridcut.device import kernel
from gridcut.device.arguments import INT32_MAX

HORIZONTAL, SQUARE, VERTICAL = range(3)


def index_type(vertices: int):
    """The dtype of indices of the vertices on both sides, as for blocks and for vertices in queues."""
    return np.int32 if vertices <= INT32_MAX else np.int64


@kernel
def label_reachable(ptr, adj, match, other_match, part, other_part, label):
    """Label the vertices on alternating paths from unmatched vertices of one side; False: a path is augmenting."""
    queue = np.empty(match.size, np.int32)
    tail = 0
    for u in range(match.size):
        if match[u] < 0:
            part[u] = label
            queue[tail] = u
            tail += 1
    head = 0
    while head < tail:
        u = queue[head]
        head += 1
        for a in range(ptr[u], ptr[u + 1]):
            v = adj[a]
            if other_part[v] == label:
                continue
            w = other_match[v]
            if w < 0:
                return False
            other_part[v] = label
            part[w] = label
            queue[tail] = w
            tail += 1
    return True


def connected_blocks(graph, row_part, col_part, label, blocks, row_block, col_block):
    """Number the connected components of one part, from `blocks` on; returns the total number of blocks."""
    return _connected_blocks(graph.lists, row_part, col_part, label, blocks, row_block, col_block)


@kernel
def _connected_blocks(graph, row_part, col_part, label, blocks, row_block, col_block):
    queue = np.empty(row_part.size + col_part.size, row_block.dtype)
    n = row_part.size
    for first in range(n + col_part.size):
        if first < n:
            if row_part[first] != label or row_block[first] >= 0:
                continue
            row_block[first] = blocks
        else:
            if col_part[first - n] != label or col_block[first - n] >= 0:
                continue
            col_block[first - n] = blocks
        queue[0] = first
        head, tail = 0, 1
        while head < tail:
            u = queue[head]
            head += 1
            if u < n:
                for a in range(graph.row_ptr[u], graph.row_ptr[u + 1]):
                    c = graph.row_adj[a]
                    if col_part[c] == label and col_block[c] < 0:
                        col_block[c] = blocks
                        queue[tail] = n + c
                        tail += 1
            else:
                for a in range(graph.col_ptr[u - n], graph.col_ptr[u - n + 1]):
                    r = graph.col_adj[a]
                    if row_part[r] == label and row_block[r] < 0:
                        row_block[r] = blocks
                        queue[tail] = r
                        tail += 1
        blocks += 1
    return blocks


def strong_blocks(graph, row_part, col_part, row_match, col_match, row_block):
    """Number the strongly connected components of the square part from 0; returns their number.

    An entry (r, c) is an edge from row r to the row matched to c. Tarjan's search completes a component after all that
    it reaches, so the last component comes first in an upper triangular form.
    """
    return _strong_blocks(graph.lists, row_part, col_part, row_match, col_match, row_block)


@kernel
def _strong_blocks(graph, row_part, col_part, row_match, col_match, row_block):
    n = row_part.size
    order_seen = np.zeros(n, np.int32)
    low = np.zeros(n, np.int32)
    at = np.empty(n, np.int64)
    stack = np.empty(n, np.int32)
    ancestors = np.empty(n, np.int32)
    seen, top, blocks = 0, 0, 0
    for root in range(n):
        if row_part[root] != SQUARE or order_seen[root] > 0:
            continue
        depth = 0
        r = root
        while True:
            if order_seen[r] == 0:
                seen += 1
                order_seen[r] = seen
                low[r] = seen
                at[r] = graph.row_ptr[r]
                stack[top] = r
                top += 1
            deeper = -1
            while at[r] < graph.row_ptr[r + 1]:
                c = graph.row_adj[at[r]]
                at[r] += 1
                if col_part[c] != SQUARE:
                    continue
                s = col_match[c]
                if order_seen[s] == 0:
                    deeper = s
                    break
                if row_block[s] < 0:
                    low[r] = min(low[r], order_seen[s])
            if deeper >= 0:
                ancestors[depth] = r
                depth += 1
                r = deeper
                continue
            if low[r] == order_seen[r]:
                s = -1
                while s != r:
                    top -= 1
                    s = stack[top]
                    row_block[s] = blocks
                blocks += 1
            if depth == 0:
                break
            depth -= 1
            below = r
            r = ancestors[depth]
            low[r] = min(low[r], low[below])
    return blocks


@kernel
def fill_permutations(row_match, col_match, row_block, col_block, row_start, col_start, row_perm, col_perm):
    """Fill the permutations: in each block the matched pairs in row order, then the unmatched vertices."""
    row_next = row_start.copy()
    col_next = col_start.copy()
    for r in range(row_match.size):
        c = row_match[r]
        if c >= 0:
            b = row_block[r]
            row_perm[row_next[b]] = r
            row_next[b] += 1
            col_perm[col_next[b]] = c
            col_next[b] += 1
    for r in range(row_match.size):
        if row_match[r] < 0:
            b = row_block[r]
            row_perm[row_next[b]] = r
            row_next[b] += 1
    for c in range(col_match.size):
        if col_match[c] < 0:
            b = col_block[c]
            col_perm[col_next[b]] = c
            col_next[b] += 1

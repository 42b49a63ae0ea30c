"""Certificate of a Dulmage-Mendelsohn decomposition, from the fields of the result alone.

  matching       is maximum (matching/core/certificate.py), and on the main diagonals of the blocks
  coarse parts   are the vertices reachable by alternating paths: horizontal from the unmatched columns, vertical from
                 the unmatched rows. The searches are those of König's vertex cover, from either side
  order          no entry is below the blocks, nor in the rows and columns of two horizontal or two vertical blocks
  fine blocks    horizontal and vertical blocks are connected; in a square block, a search from its first row reaches
                 all rows, and so does a search along reversed edges, so it is strongly connected

With the order, each block is a whole component. The searches share no code with those that found the blocks
(matching/decomposition/fine_blocks.py).

[1] Dulmage, Mendelsohn. "Coverings of bipartite graphs." Canadian Journal of Mathematics 10, 1958.

O(n + m + edges).
"""

from numbers import Integral

import numpy as np

from gridcut.device import CertificateError, kernel, plain_kernel
from matching.core.certificate import certify, koenig_cover
from matching.core.matching import Matching
from matching.decomposition.fine_blocks import HORIZONTAL, SQUARE, VERTICAL, index_type


@plain_kernel
def misplaced(row_ptr, row_adj, row_block, col_block, row_part, col_part):
    """A row with an entry below the blocks, or between two blocks of its part if that is not square; -1: none."""
    for r in range(row_block.size):
        for a in range(row_ptr[r], row_ptr[r + 1]):
            c = row_adj[a]
            if col_block[c] < row_block[r]:
                return r
            if col_part[c] == row_part[r] != SQUARE and col_block[c] != row_block[r]:
                return r
    return -1


@kernel
def disconnected(lists, row_perm, col_perm, row_start, col_start, row_block, col_block, first, last):
    """One of the blocks first to last - 1 that is not connected; -1: none."""
    row_ptr, row_adj, col_ptr, col_adj = lists
    row_seen, col_seen = np.zeros(row_perm.size, np.bool_), np.zeros(col_perm.size, np.bool_)
    row_queue, col_queue = np.empty(row_perm.size, np.int32), np.empty(col_perm.size, np.int32)
    for b in range(first, last):
        rows, cols = row_start[b + 1] - row_start[b], col_start[b + 1] - col_start[b]
        row_head, row_tail, col_head, col_tail = 0, 0, 0, 0
        if rows > 0:
            row_queue[0] = row_perm[row_start[b]]
            row_seen[row_queue[0]] = True
            row_tail = 1
        else:
            col_queue[0] = col_perm[col_start[b]]
            col_seen[col_queue[0]] = True
            col_tail = 1
        while row_head < row_tail or col_head < col_tail:
            if row_head < row_tail:
                r = row_queue[row_head]
                row_head += 1
                for a in range(row_ptr[r], row_ptr[r + 1]):
                    c = row_adj[a]
                    if col_block[c] == b and not col_seen[c]:
                        col_seen[c] = True
                        col_queue[col_tail] = c
                        col_tail += 1
            else:
                c = col_queue[col_head]
                col_head += 1
                for a in range(col_ptr[c], col_ptr[c + 1]):
                    r = col_adj[a]
                    if row_block[r] == b and not row_seen[r]:
                        row_seen[r] = True
                        row_queue[row_tail] = r
                        row_tail += 1
        if row_tail < rows or col_tail < cols:
            return b
    return -1


@kernel
def not_strongly_connected(ptr, adj, other_match, other_block, perm, start, first, last):
    """One of the square blocks first to last - 1 in which a search from the first vertex misses a vertex; -1: none.

    An entry is an edge from its row to the row matched to its column; with rows and columns exchanged, reversed.
    """
    seen = np.zeros(perm.size, np.bool_)
    queue = np.empty(perm.size, np.int32)
    for b in range(first, last):
        queue[0] = perm[start[b]]
        seen[queue[0]] = True
        head, tail = 0, 1
        while head < tail:
            u = queue[head]
            head += 1
            for a in range(ptr[u], ptr[u + 1]):
                v = adj[a]
                if other_block[v] == b:
                    w = other_match[v]
                    if not seen[w]:
                        seen[w] = True
                        queue[tail] = w
                        tail += 1
        if tail < start[b + 1] - start[b]:
            return b
    return -1


def certify_blocks(graph, form) -> None:
    """Certify all fields of a BlockTriangular; raises CertificateError."""
    n, m = graph.shape
    parts = _checked_counts(form.parts)
    blocks = sum(parts)
    row_perm, row_start = _checked_partition("row", form.row_perm, form.row_start, n, blocks)
    col_perm, col_start = _checked_partition("col", form.col_perm, form.col_start, m, blocks)
    row_part, col_part = (
        _checked_integers("row_part", form.row_part, n),
        _checked_integers("col_part", form.col_part, m),
    )
    row_match, col_match = _certified_matching(graph, form.matching)

    n_rows, n_cols = np.diff(row_start), np.diff(col_start)
    part = np.repeat(np.arange(3, dtype=np.int8), parts)
    if not np.array_equal(np.sign(n_rows - n_cols), part - 1):
        raise CertificateError("a block has a shape that its part does not allow")
    dtype = index_type(n + m)
    row_block, col_block = np.empty(n, dtype), np.empty(m, dtype)
    row_block[row_perm] = np.repeat(np.arange(blocks, dtype=dtype), n_rows)
    col_block[col_perm] = np.repeat(np.arange(blocks, dtype=dtype), n_cols)
    if not np.array_equal(row_part, part[row_block]) or not np.array_equal(col_part, part[col_block]):
        raise CertificateError("a vertex is in a block of another part than its own")
    _certify_coarse(graph, row_match, col_match, row_part, col_part)

    row_part, col_part = part[row_block], part[col_block]
    wrong = misplaced(graph.row_ptr, graph.row_adj, row_block, col_block, row_part, col_part)
    if wrong >= 0:
        raise CertificateError(f"row {wrong} has an entry outside the block triangle")
    length = np.minimum(n_rows, n_cols)
    first, second = (
        _diagonal_vertices(row_perm, row_start[:-1], length),
        _diagonal_vertices(col_perm, col_start[:-1], length),
    )
    if len(first) != form.matching.cardinality or not np.array_equal(row_match[first], second):
        raise CertificateError("the main diagonals of the blocks are not the matching")
    square = parts[0], parts[0] + parts[1]
    for begin, end in ((0, square[0]), (square[1], blocks)):
        ends = row_perm, col_perm, row_start, col_start, row_block, col_block, begin, end
        if (wrong := disconnected(graph.lists, *ends)) >= 0:
            raise CertificateError(f"block {wrong} is not connected")
    for wrong in (
        not_strongly_connected(graph.row_ptr, graph.row_adj, col_match, col_block, row_perm, row_start, *square),
        not_strongly_connected(graph.col_ptr, graph.col_adj, row_match, row_block, col_perm, col_start, *square),
    ):
        if wrong >= 0:
            raise CertificateError(f"the square block {wrong} can be split further")


def _checked_counts(parts) -> tuple[int, int, int]:
    """`parts`, if it contains three counts."""
    good = isinstance(parts, tuple) and len(parts) == 3
    if not good or not all(isinstance(count, Integral) and count >= 0 for count in parts):
        raise CertificateError(f"parts must be a tuple of three counts, got {parts!r}")
    return parts


def _checked_integers(name: str, array, size: int) -> np.ndarray:
    """The array, if it contains integers and has this length."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu" or array.shape != (size,):
        raise CertificateError(f"{name} is not an array of {size} integers")
    return array


def _checked_partition(side: str, perm, start, size: int, blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """The permutation of the vertices of one side, and the starts of the blocks in it."""
    perm = _checked_integers(f"{side}_perm", perm, size)
    start = _checked_integers(f"{side}_start", start, blocks + 1)
    if size and (perm.min() < 0 or perm.max() >= size or np.any(np.bincount(perm, minlength=size) != 1)):
        raise CertificateError(f"{side}_perm is not a permutation of 0 to {size - 1}")
    if start[0] != 0 or start[-1] != size or np.any(start[1:] < start[:-1]):
        raise CertificateError(f"{side}_start does not partition {size} vertices")
    return perm.astype(np.int32, copy=False), start.astype(np.int64, copy=False)


def _certified_matching(graph, found) -> tuple[np.ndarray, np.ndarray]:
    """Both sides of a matching that is maximum in this graph, whatever graph the matching refers to."""
    if not isinstance(found, Matching):
        raise CertificateError(f"matching is a {type(found).__name__}, not a Matching")
    n, m = graph.shape
    row_match, col_match = (
        _checked_integers("row_match", found.row_match, n),
        _checked_integers("col_match", found.col_match, m),
    )
    certify(graph, row_match, col_match)
    found.check()
    return row_match, col_match


def _certify_coarse(graph, row_match, col_match, row_part, col_part) -> None:
    """The parts are the vertices reachable from the unmatched columns, and from the unmatched rows."""
    col_left, row_right = koenig_cover(graph.col_ptr, graph.col_adj, col_match, row_match)
    row_left, col_right = koenig_cover(graph.row_ptr, graph.row_adj, row_match, col_match)
    for name, part, found in (
        ("row_part", row_part, _parts_of(horizontal=row_right, vertical=~row_left)),
        ("col_part", col_part, _parts_of(horizontal=~col_left, vertical=col_right)),
    ):
        wrong = np.flatnonzero(part != found)
        if len(wrong):
            v = wrong[0]
            raise CertificateError(f"{name}[{v}] is {part[v]}, but alternating paths give {found[v]}")


def _parts_of(horizontal, vertical) -> np.ndarray:
    part = np.full(len(horizontal), SQUARE, np.int8)
    part[horizontal] = HORIZONTAL
    part[vertical] = VERTICAL
    return part


def _diagonal_vertices(perm, start, length):
    """perm[start[k] : start[k] + length[k]] for all k, concatenated."""
    before = np.cumsum(length) - length
    return perm[np.repeat(start - before, length) + np.arange(length.sum())]

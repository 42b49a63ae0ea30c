"""Certificate of a Dulmage-Mendelsohn decomposition, from the fields of the result alone.

  matching       is maximum (matching/core/certificate.py), and on the main diagonals of the blocks
  coarse parts   are the vertices reachable by alternating paths: horizontal from the unmatched columns, vertical from
                 the unmatched rows. The searches are those of König's vertex cover, from either side
  order          no entry is below the blocks, nor in the rows and columns of two horizontal or two vertical blocks
  fine blocks    a block is one strongly connected component, found by SciPy, of a directed graph: each entry of a block
                 leads from its row to its column, and back if it is a pair, or if the block is horizontal or vertical

With the order, each block is a whole component. The searches share no code with those that found the blocks
(matching/decomposition/fine_blocks.py).

[1] Dulmage, Mendelsohn. "Coverings of bipartite graphs." Canadian Journal of Mathematics 10, 1958.

O(n + m + edges).
"""

from numbers import Integral

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from gridcut.device import CertificateError
from matching.core.certificate import certify, koenig_cover
from matching.core.matching import Matching
from matching.decomposition.fine_blocks import HORIZONTAL, SQUARE, VERTICAL


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
    row_block, col_block = np.empty(n, np.int64), np.empty(m, np.int64)
    row_block[row_perm] = np.repeat(np.arange(blocks), n_rows)
    col_block[col_perm] = np.repeat(np.arange(blocks), n_cols)
    if not np.array_equal(row_part, part[row_block]) or not np.array_equal(col_part, part[col_block]):
        raise CertificateError("a vertex is in a block of another part than its own")
    _certify_coarse(graph, row_match, col_match, row_part, col_part)

    rows, cols = graph.entries()
    of_row, of_col = row_block[rows], col_block[cols]
    wrong = (of_col < of_row) | ((part[of_col] == part[of_row]) & (part[of_row] != SQUARE) & (of_col != of_row))
    if wrong.any():
        raise CertificateError(f"row {rows[np.argmax(wrong)]} has an entry outside the block triangle")
    length = np.minimum(n_rows, n_cols)
    first, second = (
        _diagonal_vertices(row_perm, row_start[:-1], length),
        _diagonal_vertices(col_perm, col_start[:-1], length),
    )
    if len(first) != form.matching.cardinality or not np.array_equal(row_match[first], second):
        raise CertificateError("the main diagonals of the blocks are not the matching")
    rows, cols = rows[of_row == of_col], cols[of_row == of_col]
    back = (part[row_block[rows]] != SQUARE) | (row_match[rows] == cols)
    ends = np.concatenate([rows, n + cols[back]]), np.concatenate([n + cols, rows[back]])
    directed = scipy.sparse.csr_array((np.ones(len(ends[0]), np.int8), ends), shape=(n + m, n + m))
    number, component = connected_components(directed, connection="strong")
    of_component = np.empty(number, np.int64)
    of_component[component] = np.concatenate([row_block, col_block])
    for b in np.flatnonzero(np.bincount(of_component, minlength=blocks) > 1):
        square = part[b] == SQUARE
        raise CertificateError(
            f"the square block {b} can be split further" if square else f"block {b} is not connected"
        )


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

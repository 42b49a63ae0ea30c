"""The Dulmage-Mendelsohn decomposition and the block triangular form of a sparse matrix that follows from it."""

from dataclasses import dataclass, field

import numpy as np

from gridcut.device import CertificateError
from matching.core.graph import BipartiteGraph
from matching.core.graph_input import bipartite_graph
from matching.core.matching import Matching
from matching.decomposition.block_certificate import certify_blocks
from matching.decomposition.fine_blocks import (
    HORIZONTAL,
    SQUARE,
    VERTICAL,
    connected_blocks,
    index_type,
    place,
    reach,
    strong_blocks,
)
from matching.solving import maximum

__all__ = ["BlockTriangular", "dulmage_mendelsohn"]


@dataclass(frozen=True, slots=True, eq=False)
class BlockTriangular:
    """An order of rows and columns that makes a matrix block upper triangular, and its blocks.

    Attributes
    ----------
    row_perm, col_perm : ndarray of int32, shapes (n,) and (m,)
        ``matrix[row_perm][:, col_perm]`` is block upper triangular.
    row_start, col_start : ndarray of int64, shape (blocks + 1,)
        Block k holds the rows ``row_perm[row_start[k] : row_start[k + 1]]`` and columns likewise.
    parts : tuple of three int
        Blocks that are horizontal (more columns than rows), square, and vertical, in this order.
    row_part, col_part : ndarray of int8, shapes (n,) and (m,)
        The coarse decomposition: 0 horizontal, 1 square, 2 vertical.  It is the same for every maximum matching.
    matching : Matching
        The maximum matching it was made with; its pairs lie on the main diagonal of each block.
    """

    row_perm: np.ndarray
    col_perm: np.ndarray
    row_start: np.ndarray
    col_start: np.ndarray
    parts: tuple[int, int, int]
    row_part: np.ndarray
    col_part: np.ndarray
    matching: Matching
    _graph: BipartiteGraph = field(repr=False)

    @property
    def blocks(self) -> int:
        """How many there are."""
        return len(self.row_start) - 1

    @property
    def structural_rank(self) -> int:
        """Size of a maximum matching."""
        return self.matching.cardinality

    def check(self) -> None:
        """Prove all fields: form, coarse parts, that no block can be split, and the matching; raises CertificateError.

        O(n + m + edges).
        """
        certify_blocks(self._graph, self)


def dulmage_mendelsohn(graph, *, start=None, **how) -> BlockTriangular:
    """Order a matrix into block upper triangular form with the smallest possible square blocks.

    ::

            columns           columns
            in H  S  V        horizontal part: reached by alternating paths from unmatched columns
        H [ x x | x | x ]     vertical part: reached from unmatched rows
        S [ . . | x | x ]     square part: the rest; its blocks are strongly connected
        V [ . . | . | x ]
          [ . . | . | x ]

    A linear system of this form is solved block by block, from the last one up; with one square block only, the matrix
    is irreducible, and with a horizontal or vertical part structurally rank deficient or not square.

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, m), a tuple (indptr, indices, shape), or a BipartiteGraph
        Stored entries are edges whatever their value.
    start : Matching or array_like of int (n,), optional
        A matching to begin with.
    **how
        Further keywords of `maximum`, which finds the matching.

    Returns
    -------
    BlockTriangular
        ``row_perm``, ``col_perm``, ``row_start``, ``col_start``, ``parts``, ``check()``.

    Raises
    ------
    TypeError, ValueError
        As for `maximum`.

    Notes
    -----
    The blocks are those of Dulmage and Mendelsohn (1958), in the order of Pothen and Fan (1990); horizontal and
    vertical parts are split into connected components.  Which vertices a block holds does not depend on the matching
    found; the order of blocks may.

    Examples
    --------
    >>> import scipy.sparse
    >>> form = dulmage_mendelsohn(scipy.sparse.csr_array([[0, 1, 0], [1, 1, 0], [0, 1, 1]]))
    >>> form.parts, form.structural_rank
    ((0, 3, 0), 3)
    """
    checked = bipartite_graph(graph)
    if type(checked) is not BipartiteGraph:
        raise TypeError("graph lies on the GPU, but is decomposed on the CPU; copy its arrays to the host first")
    return decompose(checked, maximum(checked, start=start, **how))


def decompose(graph: BipartiteGraph, found: Matching) -> BlockTriangular:
    """The decomposition that a maximum matching gives."""
    n, m = graph.shape
    row_match, col_match = found.row_match, found.col_match
    row_part, col_part = np.full(n, SQUARE, np.int8), np.full(m, SQUARE, np.int8)
    rows, cols = (graph.row_ptr, graph.row_adj), (graph.col_ptr, graph.col_adj)
    if not (
        reach(*rows, row_match, col_match, row_part, col_part, np.int8(VERTICAL))
        and reach(*cols, col_match, row_match, col_part, row_part, np.int8(HORIZONTAL))
    ):
        raise CertificateError("the matching is not maximum")

    number = index_type(n + m)
    row_block, col_block = np.full(n, -1, number), np.full(m, -1, number)
    wide = connected_blocks(graph, row_part, col_part, HORIZONTAL, 0, row_block, col_block)
    square_block = np.full(n, -1, np.int32)
    square = strong_blocks(graph, row_part, col_part, row_match, col_match, square_block)
    inside = row_part == SQUARE
    row_block[inside] = wide + square - 1 - square_block[inside]
    col_block[row_match[inside]] = row_block[inside]
    blocks = connected_blocks(graph, row_part, col_part, VERTICAL, wide + square, row_block, col_block)

    row_start, col_start = np.zeros(blocks + 1, np.int64), np.zeros(blocks + 1, np.int64)
    np.cumsum(np.bincount(row_block, minlength=blocks), out=row_start[1:])
    np.cumsum(np.bincount(col_block, minlength=blocks), out=col_start[1:])
    row_perm, col_perm = np.empty(n, np.int32), np.empty(m, np.int32)
    place(row_match, col_match, row_block, col_block, row_start, col_start, row_perm, col_perm)
    parts = (wide, square, blocks - wide - square)
    return BlockTriangular(row_perm, col_perm, row_start, col_start, parts, row_part, col_part, found, graph)

"""The Dulmage-Mendelsohn decomposition of a sparse matrix, and its block triangular form."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from gridcut.device import CertificateError
from gridcut.device.arrays import to_host
from gridcut.device.figures import plot_matrix
from gridcut.device.result import Result
from matching.core.graph import BipartiteGraph
from matching.core.graph_input import bipartite_graph
from matching.core.matching import Matching
from matching.decomposition.block_certificate import certify_blocks
from matching.decomposition.fine_blocks import (
    HORIZONTAL,
    SQUARE,
    VERTICAL,
    connected_blocks,
    fill_permutations,
    index_type,
    label_reachable,
    strong_blocks,
)
from matching.solving import maximum

__all__ = ["BlockTriangular", "dulmage_mendelsohn"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BlockTriangular(Result):
    """A permutation of rows and columns to block upper triangular form, and its blocks.

    Attributes
    ----------
    row_perm, col_perm : ndarray of int32, shapes (n,) and (m,)
        ``matrix[row_perm][:, col_perm]`` is block upper triangular.
    row_start, col_start : ndarray of int64, shape (blocks + 1,)
        Block k has the rows ``row_perm[row_start[k] : row_start[k + 1]]``, and columns likewise.
    parts : tuple of three int
        Numbers of horizontal (more columns than rows), square and vertical blocks, which are in this order.
    row_part, col_part : ndarray of int8, shapes (n,) and (m,)
        The coarse decomposition: 0 horizontal, 1 square, 2 vertical. It does not depend on the maximum matching.
    matching : Matching
        The maximum matching used; its pairs are on the main diagonal of each block.
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
        """Number of blocks."""
        return len(self.row_start) - 1

    @property
    def structural_rank(self) -> int:
        """Cardinality of a maximum matching."""
        return self.matching.cardinality

    def check(self) -> None:
        """Certify all fields: the form, the parts, that no block can be split, and the matching. O(n + m + edges).

        Raises
        ------
        CertificateError
            If a field is inconsistent with the graph, or the graph has been modified since.
        """
        certify_blocks(self._graph, self)

    def plot(self, ax: Any = None) -> Any:
        """Draw the permuted matrix with matplotlib: its entries, the matching in red, and the blocks outlined.

        Uses `ax`, or else the current axes, and returns them.  Raises ImportError if `ax` is None and matplotlib is not
        installed.
        """
        row, col = (np.argsort(perm) for perm in (self.row_perm, self.col_perm))  # the place of each row and column
        rows, cols = self._graph.entries()
        pairs = tuple(map(to_host, self.matching.pairs))
        starts = self.row_start, self.col_start
        return plot_matrix(ax, self._graph.shape, (row[pairs[0]], col[pairs[1]]), (row[rows], col[cols]), starts)


def dulmage_mendelsohn(
    graph: scipy.sparse.sparray | scipy.sparse.spmatrix | tuple | BipartiteGraph,
    *,
    start: Matching | ArrayLike | None = None,
    **how,
) -> BlockTriangular:
    """Permute a matrix to block upper triangular form with the smallest possible square blocks.

    ::

            columns           columns
            in H  S  V        horizontal part: reachable by alternating paths from unmatched columns
        H [ x x | x | x ]     vertical part: reachable from unmatched rows
        S [ . . | x | x ]     square part: the rest; its blocks are strongly connected
        V [ . . | . | x ]
          [ . . | . | x ]

    A linear system of this form is solved block by block, from the last one up. A matrix with a single square block is
    irreducible; one with a horizontal or vertical part is structurally rank deficient or not square.

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, m), a tuple (indptr, indices, shape), or a BipartiteGraph
        Stored entries are edges, whatever their value.
    start : Matching or array_like of int (n,), optional
        A matching to start from.
    **how
        Further keywords of `maximum`, which computes the matching.

    Returns
    -------
    BlockTriangular
        ``row_perm``, ``col_perm``, ``row_start``, ``col_start``, ``parts``, ``check()``.

    Raises
    ------
    TypeError, ValueError
        As for `maximum`; TypeError also for a graph on a GPU.

    See Also
    --------
    maximum : Maximum-cardinality matching.
    structural_rank : Its cardinality.

    Notes
    -----
    The blocks are those of Dulmage and Mendelsohn [1]_, in the order of Pothen and Fan [2]_; horizontal and
    vertical parts are split into connected components. The vertices of each block do not depend on the matching; the
    order of blocks may. O(n + m + edges) in addition to the matching.

    References
    ----------
    .. [1] Dulmage, Mendelsohn. "Coverings of bipartite graphs." Canadian Journal of Mathematics 10, 1958.
    .. [2] Pothen, Fan. "Computing the block triangular form of a sparse matrix." ACM Transactions on Mathematical
       Software 16, 1990.

    Examples
    --------
    >>> import scipy.sparse
    >>> form = dulmage_mendelsohn(scipy.sparse.csr_array([[0, 1, 0], [1, 1, 0], [0, 1, 1]]))
    >>> form.parts, form.structural_rank
    ((0, 3, 0), 3)
    """
    checked = bipartite_graph(graph)
    if type(checked) is not BipartiteGraph:
        raise TypeError(
            "graph is on the GPU, but dulmage_mendelsohn runs on the CPU; copy its arrays to the host first"
        )
    return decompose(checked, maximum(checked, start=start, **how))


def decompose(graph: BipartiteGraph, found: Matching) -> BlockTriangular:
    """The decomposition for a given maximum matching."""
    n, m = graph.shape
    row_match, col_match = found.row_match, found.col_match
    row_part, col_part = np.full(n, SQUARE, np.int8), np.full(m, SQUARE, np.int8)
    rows, cols = (graph.row_ptr, graph.row_adj), (graph.col_ptr, graph.col_adj)
    if not (
        label_reachable(*rows, row_match, col_match, row_part, col_part, np.int8(VERTICAL))
        and label_reachable(*cols, col_match, row_match, col_part, row_part, np.int8(HORIZONTAL))
    ):
        raise CertificateError("the matching is not maximum")

    dtype = index_type(n + m)
    row_block, col_block = np.full(n, -1, dtype), np.full(m, -1, dtype)
    n_horizontal = connected_blocks(graph, row_part, col_part, HORIZONTAL, 0, row_block, col_block)
    square_block = np.full(n, -1, np.int32)
    n_square = strong_blocks(graph, row_part, col_part, row_match, col_match, square_block)
    is_square = row_part == SQUARE
    row_block[is_square] = n_horizontal + n_square - 1 - square_block[is_square]
    col_block[row_match[is_square]] = row_block[is_square]
    n_blocks = connected_blocks(graph, row_part, col_part, VERTICAL, n_horizontal + n_square, row_block, col_block)

    row_start, col_start = np.zeros(n_blocks + 1, np.int64), np.zeros(n_blocks + 1, np.int64)
    np.cumsum(np.bincount(row_block, minlength=n_blocks), out=row_start[1:])
    np.cumsum(np.bincount(col_block, minlength=n_blocks), out=col_start[1:])
    row_perm, col_perm = np.empty(n, np.int32), np.empty(m, np.int32)
    fill_permutations(row_match, col_match, row_block, col_block, row_start, col_start, row_perm, col_perm)
    parts = (n_horizontal, n_square, n_blocks - n_horizontal - n_square)
    return BlockTriangular(row_perm, col_perm, row_start, col_start, parts, row_part, col_part, found, graph)

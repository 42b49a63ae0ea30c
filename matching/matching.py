"""The result of a maximum matching: partners, counts, and the proof."""

from dataclasses import dataclass, field

import numpy as np

from matching.certificate import CertificateError, certify, koenig_cover
from matching.graph import BipartiteGraph

__all__ = ["CertificateError", "Matching"]


@dataclass(frozen=True, slots=True, eq=False)
class Matching:
    """A matching of largest cardinality in a bipartite graph.

    Attributes
    ----------
    row_match : ndarray of int32, shape (n,)
        The column of each row, -1: unmatched.
    col_match : ndarray of int32, shape (m,)
        The row of each column, -1: unmatched.
    cardinality : int
        Number of pairs.
    method, init, device : str
        What ran.
    stats : dict
        "edges" traversed, "phases", "augmentations", "path_length" (edges of all augmenting paths), "initial" (pairs
        before the first search), and "seconds" by step.
    """

    row_match: np.ndarray
    col_match: np.ndarray
    cardinality: int
    method: str
    init: str
    device: str
    stats: dict
    _graph: BipartiteGraph = field(repr=False)

    def check(self) -> None:
        """Prove the matching maximum, by a vertex cover of as many vertices; raises CertificateError.

        The graph is kept by reference: it answers for the graph solved only as long as that is left unchanged.
        O(n + m + edges).
        """
        certify(self._graph, self.row_match, self.col_match)

    def vertex_cover(self) -> tuple[np.ndarray, np.ndarray]:
        """A least vertex cover: the rows and the columns in it, ascending; as many as there are pairs."""
        cover = koenig_cover(self._graph.row_ptr, self._graph.row_adj, self.row_match, self.col_match)
        return np.flatnonzero(cover[0]), np.flatnonzero(cover[1])

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows matched, ascending, and their columns."""
        rows = np.flatnonzero(self.row_match >= 0)
        return rows, self.row_match[rows].astype(np.int64)

"""The result of a maximum matching: partners, counts and the certificate."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gridcut.device import CertificateError
from gridcut.device.arguments import plain_array
from gridcut.device.arrays import to_host, to_library
from gridcut.device.result import Result
from matching.core.graph import BipartiteGraph, DeviceBipartiteGraph

__all__ = ["CertificateError", "Matching"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Matching(Result):
    """A maximum matching of a bipartite graph.

    If the graph is on a GPU, so are the arrays, as arrays of the caller's library.

    Attributes
    ----------
    row_match : ndarray of int32, shape (n,)
        The column matched to each row; -1: unmatched.
    col_match : ndarray of int32, shape (m,)
        The row matched to each column; -1: unmatched.
    cardinality : int
        Number of pairs.
    method, init, device : str
        The method, the initial matching and the device that were used.
    stats : dict
        "edges" traversed, "phases", "augmentations", "path_length" (edges of all augmenting paths), "initial" (pairs
        before the first search), "init" (of the initial matching), "seconds" by step, and counts of the method.
    """

    row_match: np.ndarray
    col_match: np.ndarray
    cardinality: int
    method: str
    init: str
    device: str
    stats: dict
    _graph: BipartiteGraph | DeviceBipartiteGraph = field(repr=False)

    def check(self) -> None:
        """Certify that the matching is maximum, by a vertex cover of equal size.

        Checks `row_match`, `col_match`, `cardinality` and the counts of pairs in `stats`.

        Raises
        ------
        CertificateError
            If the pairs are not a maximum matching of the graph, or a count is wrong.

        Notes
        -----
        The graph is stored by reference, so the certificate refers to its present content.
        The check runs on the host, also for a graph on a GPU.  O(n + m + edges).
        """
        from matching.core.certificate import certify

        pairs = certify(*self._on_host())
        if type(self.cardinality) is not int or self.cardinality != pairs:
            raise CertificateError(f"cardinality is {self.cardinality!r}, but there are {pairs} pairs")
        counted = [self.stats.get(name) for name in ("initial", "augmentations")] if type(self.stats) is dict else []
        whole = [count for count in counted if isinstance(count, int)]
        if len(whole) < len(counted) or sum(whole) != self.cardinality:
            raise CertificateError(
                f"stats must count {self.cardinality} pairs as 'initial' and 'augmentations', got {counted}"
            )

    def vertex_cover(self) -> tuple[np.ndarray, np.ndarray]:
        """A minimum vertex cover, which has as many vertices as the matching has pairs.

        Returns
        -------
        rows, cols : ndarray of int64
            Indices of the rows and of the columns in the cover, ascending.
        """
        from matching.core.certificate import koenig_cover

        graph, row_match, col_match = self._on_host()
        cover = koenig_cover(graph.row_ptr, graph.row_adj, row_match, col_match)
        return self._as_library_arrays(*map(np.flatnonzero, cover))

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the matched rows, ascending, and of their columns: two arrays of shape (cardinality,)."""
        row_match = to_host(self.row_match)
        rows = np.flatnonzero(row_match >= 0)
        return self._as_library_arrays(rows, row_match[rows].astype(np.int64))

    def edges(self) -> list[tuple]:
        """The matched edges, by ascending row: pairs (row, column) of integers, or of the nodes of a networkx graph.

        ``dict(found.edges())`` is the partner of each row, and ``networkx.Graph(found.edges())`` a graph.
        """
        row_match = to_host(self.row_match)
        rows = np.flatnonzero(row_match >= 0)
        pairs = zip(rows.tolist(), row_match[rows].tolist(), strict=True)
        names = getattr(self._graph, "names", None)
        return list(pairs) if names is None else [(names[0][row], names[1][col]) for row, col in pairs]

    def to_pandas(self) -> Any:
        """The matched edges as a pandas.DataFrame with the columns row and col; ImportError without pandas."""
        from gridcut.device.tables import data_frame

        row, col = zip(*self.edges(), strict=True) if self.cardinality else ((), ())
        return data_frame({"row": row, "col": col})

    def plot(self, ax: Any = None) -> Any:
        """Draw the matrix of the graph with matplotlib: its edges in grey, the matched ones in red.

        Uses `ax`, or else the current axes, and returns them.  Raises ImportError if `ax` is None and matplotlib is not
        installed.
        """
        from gridcut.device.figures import plot_matrix

        graph, row_match, _ = self._on_host()
        rows = np.flatnonzero(row_match >= 0)
        return plot_matrix(ax, graph.shape, (rows, row_match[rows]), graph.entries())

    def __repr__(self) -> str:
        names = f"method={self.method!r}, init={self.init!r}, device={self.device!r}"
        return f"Matching(cardinality={self.cardinality!r}, shape={self._graph.shape}, {names})"

    def _portable(self):
        graph, row_match, col_match = self._on_host()
        return type(self), [
            *(row_match, col_match, self.cardinality, self.method, self.init, self.device, self.stats, graph)
        ]

    def _on_host(self):
        """The graph and both sides of the matching."""
        graph = self._graph
        if isinstance(graph, BipartiteGraph):
            return graph, self.row_match, self.col_match
        return graph.host(), to_host(self.row_match), to_host(self.col_match)

    def _as_library_arrays(self, *arrays):
        """Arrays of the host as arrays of the caller's library."""
        return tuple(to_library(a, getattr(self._graph, "library", None)) for a in arrays)


# The matching that `start=` gives to a search.  O(n + m + edges of the rows that are matched in it)


def start_on_host(start, graph: BipartiteGraph) -> tuple[np.ndarray, np.ndarray]:
    """(row_match, col_match) as new arrays, all -1 if start is None; raises ValueError if it is not a matching."""
    row_match, col_match = np.empty(graph.rows, np.int32), np.empty(graph.cols, np.int32)
    row_match.fill(-1)
    col_match.fill(-1)
    if start is None:
        return row_match, col_match
    from matching.core.certificate import certify_pairs

    given = plain_array("start", to_host(getattr(start, "row_match", start)))
    if given.shape != (graph.rows,):
        raise ValueError(f"start must hold the column of each of the {graph.rows} rows, got shape {given.shape}")
    if given.dtype.kind not in "iu" and given.size:
        raise TypeError(f"start must hold integers, the column of each row or -1, got dtype {given.dtype}")
    if given.size and not (given.min() >= -1 and given.max() < graph.cols):
        raise ValueError(f"start must hold columns in 0 ... {graph.cols - 1}, or -1 for unmatched rows")
    row_match[:] = given
    rows = np.flatnonzero(row_match >= 0)
    col_match[row_match[rows]] = rows
    try:
        certify_pairs(graph, row_match, col_match)
    except CertificateError as error:
        raise ValueError(f"start must be a matching in the graph: {error}; set such rows to -1") from None
    return row_match, col_match

"""CoarseGraph and Hierarchy: the results of coarsening.py, with their certificates and labels."""

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from gridcut.device import CertificateError
from gridcut.device.arguments import INT64_MAX, check_count, plain_array
from gridcut.device.result import Result
from matching.general.coarse_certificate import Level, certify
from matching.general.contraction import cluster, heaviest_merges
from matching.general.general_graph import MAX_FLOAT, GraphLike, check_graph

LOOKUP_BLOCK = 1 << 16  # indices


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CoarseGraph(Result):
    """A graph whose vertices are clusters of the vertices of a finer graph.

    Attributes
    ----------
    graph : scipy.sparse.csr_array, shape (k, k)
        Symmetric; the values are sums of the weights of the finer edges (their number, if these have no weights). None
        for a level of ``hierarchy(..., graphs=False)`` that was not kept.
    labels : ndarray of int32, shape (n,)
        The coarse vertex of each vertex of the finer graph.
    vertex_weight : ndarray, shape (k,)
        Sum of the weights of the finer vertices (their number, if these have no weights).
    """

    graph: scipy.sparse.csr_array | None
    labels: np.ndarray
    vertex_weight: np.ndarray
    _fine: Level | None = field(default=None, repr=False)
    _merges: tuple[np.ndarray, np.ndarray] | None = field(default=None, repr=False)

    def check(self) -> None:
        """Certify that this is the finer graph with its pairs merged; raises CertificateError.

        Not available for levels of ``hierarchy(..., graphs=False)``, which do not keep the finer graph. O(n + m log m).
        """
        if self._fine is None:
            raise ValueError("the finer graph was not kept; call check(graph) of the hierarchy instead")
        if self.graph is None:
            raise CertificateError("graph is None, but the finer graph was kept")
        certify(self._fine, self._merges, self.graph, self.labels, self.vertex_weight)

    def __repr__(self) -> str:
        return f"CoarseGraph(vertices={len(self.vertex_weight)}, of={len(self.labels)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hierarchy(Result):
    """A sequence of ever coarser graphs; ``levels[0]`` coarsens the caller's graph, each other level the previous one.

    Attributes
    ----------
    levels : tuple of CoarseGraph
        Empty if there was nothing to merge.
    vertex_counts : tuple of int
        Number of vertices of the caller's graph and of each level.
    stats : dict
        "seconds" by phase.
    """

    levels: tuple[CoarseGraph, ...]
    vertex_counts: tuple[int, ...]
    stats: dict
    _merges: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...] = field(repr=False)
    _fine: Level | None = field(default=None, repr=False)

    def check(
        self, graph: GraphLike | None = None, *, weight: ArrayLike | None = None, vertex_weight: ArrayLike | None = None
    ) -> None:
        """Certify every level against the previous one.

        Parameters
        ----------
        graph, weight, vertex_weight : optional
            The arguments of `hierarchy`. Required only after ``hierarchy(..., graphs=False)``, which keeps no graph.

        Raises
        ------
        CertificateError
            If a level is inconsistent with the previous one, or the graph has been modified since.
        ValueError
            If no graph was kept and `graph` is None.

        Notes
        -----
        O(n + m log m) time per level.
        """
        if graph is not None:
            fine = check_graph(graph, weight)
            level = Level(fine, check_vertex_weight(vertex_weight, fine.n))
        elif self._fine is not None:
            level = self._fine
        else:
            raise ValueError("no graph was kept because of graphs=False; call check(graph, weight=weight)")
        if type(self.levels) is not tuple or len(self.levels) != len(self._merges):
            raise CertificateError(f"levels must be a tuple of {len(self._merges)} graphs")
        counts = [level.graph.n]
        for coarse, merges in zip(self.levels, self._merges, strict=True):
            if not isinstance(coarse, CoarseGraph):
                raise CertificateError(f"levels must contain CoarseGraphs, got {type(coarse).__name__}")
            if coarse.graph is None and (self._fine is not None or coarse is self.levels[-1]):
                raise CertificateError("the graph of a level is None, but should have been kept")
            level = certify(level, merges[:2], coarse.graph, coarse.labels, coarse.vertex_weight)
            counts.append(level.graph.n)
        known = type(self.vertex_counts) is tuple and all(type(count) is int for count in self.vertex_counts)
        if not known or self.vertex_counts != tuple(counts):
            raise CertificateError(f"vertex_counts is {self.vertex_counts!r}, but the levels have {tuple(counts)}")

    def __repr__(self) -> str:
        return f"Hierarchy(vertex_counts={self.vertex_counts!r})"

    def labels(self, level: int = -1) -> np.ndarray:
        """Return the vertex of a level to which each vertex of the caller's graph belongs.

        Parameters
        ----------
        level : int
            Index in ``levels``; negative values count from the end.

        Returns
        -------
        ndarray of int32, shape (n,)
        """
        count = len(self.levels)
        level = check_count("level", level, -max(count, 1), count - 1)
        return self._labels_of(level % count + 1 if count else 0)

    def labels_at(self, vertices: int) -> np.ndarray:
        """Return labels for exactly `vertices` clusters: a whole level, plus only the heaviest merges of the next one.

        Labels with fewer clusters never split the clusters of labels with more.

        Parameters
        ----------
        vertices : int
            Number of clusters, between the last and the first of ``vertex_counts``.

        Returns
        -------
        ndarray of int32, shape (n,)

        Notes
        -----
        O(n) time.
        """
        vertices = check_count("vertices", vertices, self.vertex_counts[-1], self.vertex_counts[0])
        level = sum(count >= vertices for count in self.vertex_counts) - 1
        extra = self.vertex_counts[level] - vertices
        if not extra:
            return self._labels_of(level)
        child, into, _ = heaviest_merges(self._merges[level], extra)
        return self._labels_of(level, cluster(self.vertex_counts[level], child, into)[0])

    def _labels_of(self, levels: int, label: np.ndarray | None = None) -> np.ndarray:
        """The label of each of the caller's vertices, given those of the vertices after `levels` levels.

        From the coarse levels to the fine ones, so that only the last step visits all vertices.
        """
        if label is None:
            label = np.arange(self.vertex_counts[levels], dtype=np.int32)
        for coarse in self.levels[:levels][::-1]:
            label = _looked_up(label, coarse.labels)
        return label


def _looked_up(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """values[index], in blocks: NumPy converts 32-bit indices to 64 bits before it uses them."""
    found = np.empty(len(index), values.dtype)
    for first in range(0, len(index), LOOKUP_BLOCK):
        block = slice(first, first + LOOKUP_BLOCK)
        found[block] = values[index[block]]
    return found


def check_vertex_weight(vertex_weight, n: int) -> np.ndarray:
    """Vertex weights as int64 or float64, with a sum in range: no coarse vertex is heavier."""
    if vertex_weight is None:
        return np.ones(n, np.int64)
    value = plain_array("vertex_weight", vertex_weight)
    if value.dtype.kind not in "biuf":
        raise TypeError(f"vertex_weight must hold real numbers, got {value.dtype}")
    if value.shape != (n,):
        raise ValueError(f"vertex_weight must have shape {(n,)}, one value per vertex; got {value.shape}")
    if value.dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            value = value.astype(np.float64)
            if not value.sum() < MAX_FLOAT / 2:  # half, since another summation order may round up
                raise ValueError("vertex_weight holds values that are not finite, or whose sum is not")
    elif n and int(value.max()) * n > INT64_MAX and (total := sum(map(int, value))) > INT64_MAX:
        raise ValueError(f"vertex_weight must add up to {INT64_MAX} or less, got {total}")
    if n and value.min() < 0:
        raise ValueError(f"vertex_weight must not be negative, got {value.min()}")
    return value.astype(np.int64) if value.dtype.kind != "f" else value

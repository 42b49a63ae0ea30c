"""gco-wrapper's class GCO: a graph with costs, whose labels are changed by moves.

Costs of pairs are a matrix, or a function of two nodes and their labels.  `expansion` and `swap` with a matrix are
those of `gridcut.compat.gco.cut_general_graph`.  A single move, and a function, need one cut over all nodes: each takes
the better of two labels, its own one and the new one, or the two that are swapped.
"""

from itertools import combinations

import numpy as np

from gridcut.compat.gco.gco_functions import cut_general_graph

__all__ = ["GCO", "DataTypeNotSupportedError", "IndexOutOfBoundError", "PyGcoError", "ShapeMismatchError"]


class PyGcoError(ValueError):
    """An argument that does not fit the graph."""


class ShapeMismatchError(PyGcoError):
    """An array of another shape."""


class DataTypeNotSupportedError(PyGcoError):
    """Costs of pairs of labels that are not symmetric."""


class IndexOutOfBoundError(PyGcoError):
    """A node or a label that is not in the graph."""


def _need(number, count, name) -> None:
    if np.size(number) and not 0 <= np.min(number) <= np.max(number) < count:
        raise IndexOutOfBoundError(f"{name} must be from 0 to {count - 1}, got {number!r:.60}")


class GCO:
    """A graph with costs of labels, with the interface of `gco.GCO`.

    Examples
    --------
    >>> import numpy as np
    >>> from gridcut.compat.gco import GCO
    >>> graph = GCO()
    >>> graph.create_general_graph(3, 2)
    >>> graph.set_data_cost(np.array([[0, 9], [5, 4], [9, 0]]))
    >>> graph.set_all_neighbors(np.array([0, 1]), np.array([1, 2]), np.array([3, 1]))
    >>> graph.set_smooth_cost(1 - np.eye(2))
    >>> graph.expansion(), graph.get_labels()
    (6, array([0, 0, 1], dtype=int32))
    """

    def create_general_graph(self, num_sites: int, num_labels: int, energy_is_float: bool = False) -> None:
        """Begin a graph without costs, in which all nodes have label 0; costs are cut to integers or are floats."""
        self.handle = 0
        self.nb_sites, self.nb_labels, self.energy_is_float = int(num_sites), int(num_labels), energy_is_float
        self._type = np.float64 if energy_is_float else np.int64
        self._unary = np.zeros((self.nb_sites, self.nb_labels), self._type)
        self._smooth = np.zeros((self.nb_labels, self.nb_labels), self._type)
        self._function = None
        self._edges, self._weights = np.zeros((0, 2), np.int64), np.zeros(0, self._type)
        self._labels, self._is_started = np.zeros(self.nb_sites, np.int32), False

    def destroy_graph(self) -> None:
        """Without effect."""

    def set_data_cost(self, unary) -> None:
        """Set the cost of each label at each node, (nodes, labels)."""
        if np.shape(unary) != self._unary.shape:
            raise ShapeMismatchError(f"unary must have the shape {self._unary.shape}, got {np.shape(unary)}")
        self._unary = np.array(unary).astype(self._type)

    def set_site_data_cost(self, site: int, label: int, e: float) -> None:
        """Set the cost of one label at one node."""
        _need(site, self.nb_sites, "site")
        _need(label, self.nb_labels, "label")
        self._unary[site, label] = e

    def set_neighbor_pair(self, s1: int, s2: int, w: float) -> None:
        """Add an edge of weight w."""
        self._add([s1], [s2], [w])

    def set_all_neighbors(self, s1, s2, w) -> None:
        """Set all edges and their weights."""
        self._edges, self._weights = self._edges[:0], self._weights[:0]
        self._add(s1, s2, w)

    def _add(self, s1, s2, w) -> None:
        edges = np.stack((s1, s2), axis=1)
        _need(edges, self.nb_sites, "nodes of edges")
        self._edges = np.concatenate((self._edges, edges.astype(np.int64)))
        self._weights = np.concatenate((self._weights, np.asarray(w).astype(self._type)))

    def set_smooth_cost(self, cost) -> None:
        """Set the costs of all pairs of labels, symmetric."""
        cost = np.asarray(cost)
        if cost.shape != self._smooth.shape:
            raise ShapeMismatchError(f"cost must have the shape {self._smooth.shape}, got {cost.shape}")
        if (cost != cost.T).any():
            raise DataTypeNotSupportedError("cost must be symmetric")
        self._smooth, self._function = cost.astype(self._type), None

    def set_pair_smooth_cost(self, l1: int, l2: int, cost: float) -> None:
        """Set the cost of one pair of labels, in this order."""
        _need([l1, l2], self.nb_labels, "l1 and l2")
        self._smooth[l1, l2] = cost

    def set_smooth_cost_function(self, fun) -> None:
        """Set the costs by a function of two nodes and their labels, ``fun(s1, s2, l1, l2)``; weights multiply it."""
        self._function = fun

    def expansion(self, niters: int = -1):
        """Expansions over all labels, `niters` times or until convergence; returns the energy."""
        return self._cycles("expansion", niters, self.expansion_on_alpha, [(label,) for label in range(self.nb_labels)])

    def swap(self, niters: int = -1):
        """Swaps of all pairs of labels, `niters` times or until convergence; returns the energy."""
        return self._cycles("swap", niters, self.alpha_beta_swap, list(combinations(range(self.nb_labels), 2)))

    def _cycles(self, algorithm, niters, move, moves):
        if self._function is None and niters:
            start = self._labels if self._is_started else None
            self._labels = cut_general_graph(
                self._edges, self._weights, self._unary, self._smooth, niters, algorithm, start
            )
            self._is_started = True
            return self.compute_energy()
        before = None
        while niters and before != self.compute_energy():
            before = self.compute_energy()
            niters -= 1
            for labels in moves:
                move(*labels)
        return self.compute_energy()

    def expansion_on_alpha(self, label: int) -> bool:
        """One expansion; returns whether the energy became lower."""
        _need(label, self.nb_labels, "label")
        before = self.compute_energy()
        self._choose(self._labels, np.full_like(self._labels, label))
        return bool(self.compute_energy() < before)

    def alpha_beta_swap(self, l1: int, l2: int) -> None:
        """One swap."""
        _need([l1, l2], self.nb_labels, "l1 and l2")
        other = np.where(self._labels == l1, l2, np.where(self._labels == l2, l1, self._labels))
        self._choose(np.minimum(self._labels, other), np.maximum(self._labels, other))

    def _choose(self, first, second) -> None:
        """Set each label to the first or the second one, such that the energy is minimal."""
        from scipy.sparse import coo_array  # graphs that make no single move need neither

        from gridcut.graph.graph_flow import graph_max_flow

        every, (p, q) = np.arange(self.nb_sites), self._edges.T
        a, b, c, d = (self._pairs(one[p], two[q]) for one in (first, second) for two in (first, second))
        if (a + d > b + c).any():
            raise ValueError("a move needs costs of pairs with c(a, a) + c(b, b) <= c(a, b) + c(b, a)")
        more = self._unary[every, second] - self._unary[every, first]
        np.add.at(more, p, c - a)
        np.add.at(more, q, d - c)
        # A cut pays for an edge whose first node takes `first` and whose second node takes `second`.
        graph = coo_array((b + c - a - d, (p, q)), shape=(self.nb_sites, self.nb_sites))
        cut = graph_max_flow(graph, more.clip(0), (-more).clip(0), device="cpu")
        self._labels, self._is_started = np.where(cut.labels, first, second).astype(np.int32), True

    def _pairs(self, one, two):
        """The costs of all edges, whose nodes have these labels."""
        if self._function is None:
            return self._weights * self._smooth[one, two]
        edges = zip(*self._edges.T.tolist(), one.tolist(), two.tolist(), strict=True)
        return self._weights * np.array([self._function(*edge) for edge in edges]).astype(self._type)

    def compute_energy(self):
        """The energy of the labels."""
        return self.compute_data_energy() + self.compute_smooth_energy()

    def compute_data_energy(self):
        """The cost of the labels at their nodes."""
        return self._unary[np.arange(self.nb_sites), self._labels].sum().item()

    def compute_smooth_energy(self):
        """The cost of the labels along the edges."""
        return self._pairs(*self._labels[self._edges.T]).sum().item()

    def get_label_at_site(self, site: int) -> int:
        """The label of a node."""
        _need(site, self.nb_sites, "site")
        return int(self._labels[site])

    def get_labels(self) -> np.ndarray:
        """The labels of all nodes, int32."""
        return self._labels.copy()

    def init_label_at_site(self, site: int, label: int) -> None:
        """Set the label of a node, from which moves begin."""
        _need(site, self.nb_sites, "site")
        _need(label, self.nb_labels, "label")
        self._labels[site], self._is_started = label, True

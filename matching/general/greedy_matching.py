"""greedy: maximal matchings of general graphs, fast instead of maximum."""

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from gridcut.device import CertificateError, DeviceName, thread_count
from gridcut.device.arrays import to_host, to_library
from gridcut.device.networkx_graph import is_networkx
from gridcut.device.result import Result
from matching.core.parameters import check_gpu_graph_device, check_seed, check_threads
from matching.core.sparse import is_on_gpu
from matching.general.general_graph import DeviceGeneralGraph, GeneralGraph, GraphLike, check_graph
from matching.general.greedy_certificate import certify, weight_of
from matching.general.greedy_methods import GREEDY_METHODS, choose

# These methods take the heaviest edges first; check() certifies that.
HEAVIEST_FIRST = ("sorted", "locally_dominant")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GreedyMatching(Result):
    """A maximal matching of a general graph: pairs of neighbours, such that no edge joins two unmatched vertices.

    Attributes
    ----------
    partner : ndarray of int32, shape (n,)
        The partner of each vertex, or -1 if it is unmatched.
    cardinality : int
        Number of pairs.
    weight : int or float
        Sum of the weights of the matched edges; `cardinality` if the graph has no weights.
    device, method : str
        The device and the method that ran.
    stats : dict
        Counts of the method, and "seconds" by phase.
    """

    partner: np.ndarray
    cardinality: int
    weight: int | float
    device: str
    method: str
    stats: dict
    _graph: GeneralGraph | DeviceGeneralGraph = field(repr=False)
    _nodes: list | None = field(default=None, repr=False)  # the vertices of a networkx graph

    @property
    def pairs(self) -> np.ndarray:
        """The pairs (lower vertex, upper vertex), in ascending order of lower; shape (cardinality, 2)."""
        partner = to_host(self.partner)
        lower = np.flatnonzero(partner > np.arange(len(partner)))
        return to_library(np.column_stack([lower, partner[lower]]), getattr(self._graph, "library", None))

    def edges(self) -> list[tuple]:
        """The matched edges: pairs (lower, upper) of vertices, or of the nodes of a networkx graph."""
        pairs = to_host(self.pairs).tolist()
        nodes = range(len(self.partner)) if self._nodes is None else self._nodes
        return [(nodes[lower], nodes[upper]) for lower, upper in pairs]

    def check(self) -> None:
        """Certify that this is a maximal matching with this weight.

        For "sorted" and "locally_dominant", also certify that it is the matching that takes the heaviest edges first,
        which has at least half of the maximum weight of any matching. O(n + m).

        Raises
        ------
        CertificateError
            If a field is inconsistent with the graph, or the graph has been modified since.
        """
        graph, partner = self._on_host()
        if self.method not in GREEDY_METHODS:
            raise CertificateError(f"method must be the name of a greedy method; got {self.method!r}")
        certify(graph, partner, self.cardinality, self.weight, self.method in HEAVIEST_FIRST)

    def __repr__(self) -> str:
        counts = f"cardinality={self.cardinality!r}, weight={self.weight!r}, vertices={self._graph.n}"
        return f"GreedyMatching({counts}, method={self.method!r}, device={self.device!r})"

    def _portable(self):
        graph, partner = self._on_host()
        values = partner, self.cardinality, self.weight, self.device, self.method, self.stats, graph, self._nodes
        return type(self), list(values)

    def _on_host(self):
        """The graph and the partner array on the host."""
        if isinstance(self._graph, DeviceGeneralGraph):
            return self._graph.host(), to_host(self.partner)
        return self._graph, self.partner


def greedy(
    graph: GraphLike,
    weight: ArrayLike | str | None = None,
    *,
    method: str = "auto",
    seed: int = 0,
    threads: int | None = None,
    device: DeviceName = "auto",
    **parameters,
) -> GreedyMatching:
    """Compute a maximal matching of a general graph, in time comparable to reading the graph once.

    ::

        0 --5-- 1 --6-- 2 --5-- 3      heaviest first takes (1, 2), weight 6: no edge joins two unmatched vertices;
                                       the maximum is (0, 1) and (2, 3), weight 10

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, n), tuple (indptr, indices, shape), or networkx.Graph
        Symmetric. Every stored entry off the diagonal is an edge, including explicit zeros. Its values are the weights,
        except for a boolean matrix. Duplicate entries are added. Arrays on a GPU (CuPy, PyTorch, numba), including
        those of a CSR matrix, are matched on that GPU, and `partner` is an array of the same library.  The vertices of
        a networkx graph are its nodes in the graph's order; `GreedyMatching.edges` returns nodes.
    weight : array_like or str, optional
        Nonnegative weights of the entries in the order in which `graph`, a CSR matrix or a tuple, stores them.  For a
        networkx graph the name of an edge attribute, "weight" by default if an edge has it; edges without it weigh 1.
    method : {"auto", "random", "weighted", "sorted", "parallel", "locally_dominant"}
        "random": each vertex, in random order, takes its first unmatched neighbour. "weighted": the same along its
        heaviest edge. "sorted": edges by decreasing weight, which reaches at least half of the maximum weight.
        "locally_dominant": the same matching, faster. "parallel": rounds of proposals, for many threads. "auto":
        "parallel" on a GPU; on the CPU "locally_dominant" with weights, and "random" without.
    seed : int
        Seed of the pseudo-random choices, 0 to 2^64 - 1. The result depends only on the seed, not on the machine or the
        number of threads.
    threads : int, optional
        Maximum number of threads; by default numba's number of threads.
    device : {"auto", "cpu", "cuda"}
        "auto" uses the CPU, or the GPU for graphs stored on it; "cuda" requires "parallel".
    **parameters
        Of the method: ``shuffled=False`` for "random" and "weighted" (visit vertices in index order), ``p``, ``select``
        and ``rounds`` for "parallel".  ``select`` is the rule by which a vertex proposes: to its "first" unmatched
        neighbour of the other colour, by index; to the first from a "random" entry of its list on; or along its
        "heaviest" edge, the default for graphs with weights.  "first" is the default for the others.  "random" accepts
        ``select="random"`` too.

    Returns
    -------
    GreedyMatching
        ``partner``, ``cardinality``, ``weight``, ``pairs``, ``edges()``, ``check()``.

    Raises
    ------
    TypeError
        If an argument has the wrong type, or the method does not accept a parameter.
    ValueError
        If the graph is not symmetric, shapes do not match, or a weight is negative or not finite.
    RuntimeError
        If the requested device is not available, or the method does not run on it.

    See Also
    --------
    coarsen : Merge the pairs of a matching.
    hierarchy : Coarsen a graph repeatedly.

    Notes
    -----
    Any maximal matching has at least half of the pairs of a maximum one. Integer weights are exact; floats are added
    as float64. Equal edges are ordered by (lower vertex, upper vertex). O(n + m) time, "sorted" O(n + m log m),
    "locally_dominant" O(n + m log(maximum degree)).

    References
    ----------
    .. [1] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II,
       2012.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 5, 0, 0], [5, 0, 6, 0], [0, 6, 0, 5], [0, 0, 5, 0]])
    >>> found = greedy(path)
    >>> found.weight, found.partner.tolist()
    (6, [-1, 2, 1, -1])
    """
    begin = time.perf_counter()
    threads, seed = check_threads(threads), check_seed(seed)
    read: GeneralGraph | DeviceGeneralGraph
    if is_on_gpu(graph):
        check_gpu_graph_device(device)
        from matching.general.general_graph_cuda import all_unmatched, general_graph, outcome

        device, read = "cuda", general_graph(graph, weight)
        weighted, partner = read.weighted, all_unmatched(read)
    else:
        read = check_graph(graph, weight, thread_count() if threads is None else threads)
        weighted, partner = read.weight is not None, np.full(read.n, -1, np.int32)
    device, method, solve, keywords = choose(method, device, weighted, seed, threads, parameters)
    start = time.perf_counter()
    stats = solve(read, partner, **keywords)
    end = time.perf_counter()
    stats["seconds"] = {**stats.get("seconds", {}), "check": start - begin, "solve": end - start}
    if isinstance(read, DeviceGeneralGraph):
        partner, cardinality, value = outcome(read, partner)
    else:
        cardinality, value = int(np.count_nonzero(partner >= 0)) // 2, weight_of(read, partner)
    nodes = list(graph.nodes) if is_networkx(graph) else None
    return GreedyMatching(partner, cardinality, value, device, method, stats, read, nodes)

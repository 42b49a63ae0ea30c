"""greedy: maximal matchings of general graphs, fast instead of maximum."""

import time
from dataclasses import dataclass, field, replace

import numpy as np

from gridcut.device import CertificateError, DeviceName, thread_count
from gridcut.device.arrays import to_host, to_library
from matching.core.dispatch import check_gpu_graph_device
from matching.core.parameters import check_seed, check_threads
from matching.core.sparse import is_on_gpu
from matching.general.device_general_graph import DeviceGeneralGraph
from matching.general.general_graph import GeneralGraph, check_graph
from matching.general.greedy_certificate import certify, weight_of
from matching.general.greedy_methods import GREEDY_METHODS, choose

# Their matching is the one of the edges taken heaviest first, and check() proves that.
HEAVIEST_FIRST = ("sorted", "locally_dominant")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GreedyMatching:
    """A maximal matching of a general graph: pairs of neighbours, and no edge left between two free vertices.

    Attributes
    ----------
    partner : ndarray of int32, shape (n,)
        The partner of each vertex, -1: free.
    size : int
        Number of pairs.
    weight : int or float
        Sum of the weights of their edges; `size` if the graph has none.
    device, method : str
        What ran.
    stats : dict
        Counts of the method, and "seconds" by phase.
    """

    partner: np.ndarray
    size: int
    weight: int | float
    device: str
    method: str
    stats: dict
    _graph: GeneralGraph | DeviceGeneralGraph = field(repr=False)

    @property
    def pairs(self) -> np.ndarray:
        """The pairs (lower vertex, upper vertex), lower ones ascending; shape (size, 2)."""
        partner = to_host(self.partner)
        lower = np.flatnonzero(partner > np.arange(len(partner)))
        return to_library(np.column_stack([lower, partner[lower]]), getattr(self._graph, "library", None))

    def check(self) -> None:
        """Prove that this is a maximal matching of this weight; raises CertificateError.

        For "sorted" and "locally_dominant" also that it is the one of the edges taken heaviest first, which has at
        least half of the weight of any matching.  O(n + m).
        """
        graph, partner = self._on_host()
        if self.method not in GREEDY_METHODS:
            raise CertificateError(f"method must be a name, which says what is to be proved; got {self.method!r}")
        certify(graph, partner, self.size, self.weight, self.method in HEAVIEST_FIRST)

    def __repr__(self) -> str:
        counts = f"size={self.size!r}, weight={self.weight!r}, vertices={self._graph.n}"
        return f"GreedyMatching({counts}, method={self.method!r}, device={self.device!r})"

    def __copy__(self) -> "GreedyMatching":
        return replace(self)

    def __reduce__(self):
        """Pickles and deep copies are on the host: the memory of a GPU belongs to one process."""
        graph, partner = self._on_host()
        return type(self), (partner, self.size, self.weight, self.device, self.method, self.stats, graph)

    def _on_host(self):
        """The graph and the partners."""
        if isinstance(self._graph, DeviceGeneralGraph):
            return self._graph.host(), to_host(self.partner)
        return self._graph, self.partner


def greedy(
    graph,
    weight=None,
    *,
    method: str = "auto",
    seed: int = 0,
    threads: int | None = None,
    device: DeviceName = "auto",
    **parameters,
) -> GreedyMatching:
    """A maximal matching of a general graph, in about the time it takes to read it.

    ::

        0 --5-- 1 --6-- 2 --5-- 3      heaviest first takes (1, 2), weight 6: no edge joins two free vertices;
                                       the best are (0, 1) and (2, 3), weight 10

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, n), or a tuple (indptr, indices, shape)
        Symmetric; every entry that is stored is an edge, also a zero, those on the diagonal aside.  Its values are
        the weights, except those of a boolean matrix.  Entries stored twice are added.  Arrays on a GPU (CuPy,
        PyTorch, numba), also those of a CSR matrix there, are matched there; `partner` is one of their library's.
    weight : array_like, optional
        Weights of the entries as they are stored in `graph`, which is in CSR or a tuple then.  Not negative.
    method : {"auto", "random", "weighted", "sorted", "parallel", "locally_dominant"}
        "random": each vertex, in random order, takes its first free neighbour.  "weighted": its heaviest edge.
        "sorted": the edges in order of weight, at least half of the best weight.  "locally_dominant": the same
        matching, faster.  "parallel": rounds of proposals, made for many threads.  "auto": "locally_dominant" if there
        are weights, "random" if not.
    seed : int
        Of what is random, 0 to 2^64 - 1.  A seed has one result, on any machine and with any number of threads.
    threads : int, optional
        Most threads to use; numba's number by default.
    device : {"auto", "cpu", "cuda"}
        "cuda", for "parallel" and "locally_dominant", is obeyed or refused; "auto" is the CPU, but for graphs that lie
        on a GPU.
    **parameters
        Of the method: ``shuffled=False`` for "random" and "weighted" (vertices come as numbered), ``p``, ``select``
        ("first" or "heaviest") and ``rounds`` for "parallel".

    Returns
    -------
    GreedyMatching
        ``partner``, ``size``, ``weight``, ``pairs``, ``check()``.

    Raises
    ------
    TypeError
        An argument of the wrong kind, or a parameter the method does not take.
    ValueError
        A graph that is not symmetric, wrong shapes, weights that are negative or not finite.
    RuntimeError
        A device that cannot be had.

    Notes
    -----
    Any maximal matching has at least half of the pairs of a maximum one.  Integer weights are exact, floats are added
    as float64.  Equal edges are taken in the order of (lower vertex, upper vertex).  O(n + m) time, "sorted"
    O(n + m log m), "locally_dominant" O(n + m log(largest degree)).

    References
    ----------
    Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.

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
    on_gpu = is_on_gpu(graph)
    if on_gpu:
        check_gpu_graph_device(device)
        from matching.general.general_graph_cuda import general_graph, nobody_matched, outcome

        device, read = "cuda", general_graph(graph, weight)
        weighted, partner = read.weighted, nobody_matched(read)
    else:
        read = check_graph(graph, weight, thread_count() if threads is None else threads)
        weighted, partner = read.weight is not None, np.full(read.n, -1, np.int32)
    device, method, solve, keywords = choose(method, device, weighted, seed, threads, parameters)
    start = time.perf_counter()
    stats = solve(read, partner, **keywords)
    end = time.perf_counter()
    stats["seconds"] = {**stats.get("seconds", {}), "check": start - begin, "solve": end - start}
    if on_gpu:
        partner, size, weight = outcome(read, partner)
    else:
        size, weight = int(np.count_nonzero(partner >= 0)) // 2, weight_of(read, partner)
    return GreedyMatching(partner, size, weight, device, method, stats, read)

"""maximum: a maximum matching of a bipartite graph, on the CPU or on a GPU, with its certificate."""

import time

import numpy as np
from numpy.typing import ArrayLike

from gridcut.device import DeviceName, resolve
from matching import methods
from matching.core.graph import DeviceBipartiteGraph
from matching.core.graph_input import GraphLike, bipartite_graph
from matching.core.matching import Matching, start_on_host
from matching.core.parameters import check_gpu_graph_device


def maximum(
    graph: GraphLike,
    *,
    method: str = "auto",
    init: str = "auto",
    device: DeviceName = "auto",
    start: Matching | ArrayLike | None = None,
    threads: int | None = None,
    **parameters,
) -> Matching:
    """Find a maximum matching: a largest set of edges of a bipartite graph in which no two share a vertex.

    ::

               columns
              0  1  2
        rows 0 1 (1) .       an entry is an edge; at most one may be chosen in each row and each column:
             1 (1) 1 .       3 pairs, and row 3 stays unmatched
             2 . (.) (1)
             3 1  .  .

    Parameters
    ----------
    graph : sparse matrix or array of shape (n, m), tuple (indptr, indices, shape), BipartiteGraph, or networkx.Graph
        Stored entries are edges whatever their value, including zeros; entries stored twice are one edge.  If the
        arrays of a tuple, or of a CSR or CSC matrix, are on a GPU (CuPy, PyTorch, numba), the graph is matched on the
        GPU and the matching is returned as arrays of their library.  `bipartite_graph` says which nodes of a networkx
        graph are rows; `Matching.edges` returns the matched nodes.
    method : str, default "auto"
        "auto" or a key of `matching.methods.METHODS`.
    init : str, default "auto"
        The initial matching from which the search starts: a key of `matching.methods.INITS`, or "auto", which depends
        on the method.
    device : {"auto", "cpu", "cuda"}
        "cpu" and "cuda" are used, or an error is raised.  "auto" uses a GPU, if one is available, for graphs on the
        GPU, for methods that run only on CUDA, and for graphs with at least 2^18 edges if neither `method` nor
        `threads` is given.
    start : Matching or array_like of int, shape (n,), optional
        A matching to start from: the column of each row, or -1.  Every row matched in it stays matched, possibly with
        another column; the same holds for columns.  The CUDA methods "apfb", "apsb" and ``g_pr_*`` may replace some
        vertices by others.
    threads : int, optional
        Number of threads for parallel methods; numba's default if None.
    **parameters
        Parameters of the selected method, e.g. ``fairness=False`` for "pothen_fan".

    Returns
    -------
    Matching
        ``row_match``, ``col_match``, ``cardinality``, ``edges()``, ``stats``, ``check()``, ``vertex_cover()``.

    Raises
    ------
    TypeError
        If an argument has the wrong type, or the method does not accept a parameter.
    ValueError
        If the graph is malformed, a name is unknown, or `start` is not a matching in the graph.
    RuntimeError
        If the device is not available, or the method does not run on it.

    See Also
    --------
    maximum_bipartite_matching : The same with the interface of SciPy.
    structural_rank : Only the cardinality.
    dulmage_mendelsohn : The block triangular form that follows from a maximum matching.

    Notes
    -----
    The file of each method cites the source of its algorithm and states its complexity.  Memory in addition to the
    graph is O(n + m).

    Examples
    --------
    >>> import scipy.sparse
    >>> from matching import maximum
    >>> graph = scipy.sparse.csr_array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
    >>> found = maximum(graph)
    >>> found.cardinality
    3
    >>> found.check()
    """
    begin = time.perf_counter()
    checked = bipartite_graph(graph)
    if isinstance(checked, DeviceBipartiteGraph):
        check_gpu_graph_device(device)
        chosen = methods.choose(method, init, "cuda", threads, parameters)
        from matching.solving_cuda import match

        return match(checked, chosen, start, begin)
    if device == "auto" and method == "auto" and threads is None and checked.edges >= methods.GPU_MIN_EDGES:
        device = resolve("auto")
    device, method, init, keywords = methods.choose(method, init, device, threads, parameters)
    row_match, col_match = start_on_host(start, checked)
    ready = time.perf_counter()
    seconds = {"check": ready - begin}
    initialise = methods.initialiser(init, device, keywords.get("threads", 1))
    init_stats = initialise(checked, row_match, col_match) if initialise else {}
    initialised = time.perf_counter()
    seconds["init"] = initialised - ready
    initial = 0 if start is None and initialise is None else int(np.count_nonzero(row_match >= 0))
    stats = methods.solver(method, device)(checked, row_match, col_match, **keywords)
    seconds.update(stats["seconds"])
    seconds["solve"] = time.perf_counter() - initialised
    stats["initial"], stats["init"], stats["seconds"] = initial, init_stats, seconds
    cardinality = initial + stats["augmentations"]
    return Matching(row_match, col_match, cardinality, method, init, device, stats, checked)


def structural_rank(graph: GraphLike) -> int:
    """The structural rank of a sparse matrix: the cardinality of a maximum matching of its rows and columns.

    No matrix with the same stored entries has a larger rank, whatever their values.

    Parameters
    ----------
    graph : sparse matrix or array of shape (n, m), tuple (indptr, indices, shape), or BipartiteGraph
        Stored entries count whatever their value.

    Returns
    -------
    int
        At most min(n, m).  If it is less, the matrix does not have full rank for any values.

    Raises
    ------
    TypeError, ValueError
        As for `maximum`.

    See Also
    --------
    maximum : The matching itself.

    Examples
    --------
    >>> import scipy.sparse
    >>> from matching import structural_rank
    >>> structural_rank(scipy.sparse.csr_array([[1, 1, 0], [0, 0, 1], [0, 0, 1]]))
    2
    """
    return maximum(graph).cardinality

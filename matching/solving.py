"""maximum: a matching of largest cardinality, from a graph to pairs with their proof."""

import time

import numpy as np
import scipy.sparse

from gridcut.device import DeviceName, resolve
from matching import methods
from matching.core.dispatch import check_gpu_graph_device
from matching.core.graph import BipartiteGraph
from matching.core.graph_input import bipartite_graph
from matching.core.matching import Matching
from matching.core.sparse import not_a_graph
from matching.core.start import start_on_host


def maximum(
    graph,
    *,
    method: str = "auto",
    init: str = "auto",
    device: DeviceName = "auto",
    start=None,
    threads: int | None = None,
    **parameters,
) -> Matching:
    """The largest set of edges of a bipartite graph in which no two share a vertex.

    ::

               columns
              0  1  2
        rows 0 1 (1) .       an entry is an edge; at most one may be chosen in each row and each column:
             1 (1) 1 .       3 pairs, and row 3 stays unmatched
             2 . (.) (1)
             3 1  .  .

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, m), a tuple (indptr, indices, shape), or a BipartiteGraph
        Stored entries are edges whatever their value, zeros included; entries stored twice are one edge.  Arrays on a
        GPU (CuPy, PyTorch, numba), also those of a CSR or CSC matrix there, are matched there, and the matching comes
        back as arrays of their library.
    method : str
        "auto", or one of `matching.methods.METHODS`.
    init : str
        The matching to start the search from: one of `matching.methods.INITS`, or "auto", what suits the method.
    device : {"auto", "cpu", "cuda"}
        An explicit device is obeyed or refused.  "auto" takes a GPU where there is one for graphs that lie on it, for
        methods of CUDA alone, and from 2^18 edges on if neither a method nor threads are asked for.
    start : Matching or array_like of int (n,), optional
        A matching to begin with: the column of each row, -1 for none.  Every row matched in it stays matched,
        perhaps to another column; the same holds for columns.  CUDA's "apfb", "apsb" and "g_pr_..." may exchange
        some for others.
    threads : int, optional
        For methods that use them; numba's number by default.
    **parameters
        Of the named method, e.g. ``fairness=False`` for "pothen_fan".

    Returns
    -------
    Matching
        ``row_match``, ``col_match``, ``cardinality``, ``stats``, ``check()``, ``vertex_cover()``.

    Raises
    ------
    TypeError
        An argument of the wrong kind, or a parameter the method does not take.
    ValueError
        A malformed graph, an unknown name, or a `start` that is no matching in the graph.
    RuntimeError
        A device that cannot be had.

    Notes
    -----
    Each method's file names the source of its algorithm and its complexity.  Memory beyond the graph is O(n + m).

    Examples
    --------
    >>> graph = scipy.sparse.csr_array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
    >>> found = maximum(graph)
    >>> found.cardinality
    3
    >>> found.check()
    """
    begin = time.perf_counter()
    checked = bipartite_graph(graph)
    if type(checked) is not BipartiteGraph:
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
    initialise = methods.initialiser(init, device)
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


def maximum_bipartite_matching(graph, perm_type="row"):
    """SciPy's function of this name: the same arguments and results.

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, m)
        Stored entries are edges, explicit zeros too.
    perm_type : {"row", "column"}
        Which partition the result is in terms of.

    Returns
    -------
    perm : ndarray of int32
        For "row", the row matched to each column, shape (m,); for "column", the column matched to each row, shape
        (n,).  -1: unmatched.  Where several matchings are largest, SciPy may return another one.

    Raises
    ------
    TypeError
        The graph is not a sparse matrix.
    ValueError
        `perm_type` is neither "row" nor "column".
    """
    if not scipy.sparse.issparse(graph):
        raise not_a_graph(graph, "a SciPy sparse matrix or array")
    if perm_type not in ("row", "column"):
        raise ValueError(f"perm_type must be 'row' or 'column', got {perm_type!r}")
    # Not by maximum, whose stats would cost as much as to match a small graph.
    checked = bipartite_graph(graph)
    row_match, col_match = start_on_host(None, checked)
    methods.solver(methods.DEFAULT_METHOD, "cpu")(checked, row_match, col_match)
    return col_match if perm_type == "row" else row_match


def structural_rank(graph) -> int:
    """The largest rank a matrix with these stored entries can have: the cardinality of a maximum matching.

    Parameters
    ----------
    graph : SciPy sparse matrix or array (n, m), a tuple (indptr, indices, shape), or a BipartiteGraph
        Stored entries count whatever their value.

    Returns
    -------
    int
        At most min(n, m); less means that the matrix is singular whatever the values.

    Raises
    ------
    TypeError, ValueError
        As for `maximum`.
    """
    return maximum(graph).cardinality

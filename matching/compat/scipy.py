"""SciPy's functions for matchings: the same arguments, results and exceptions."""

from typing import Literal

import numpy as np
import scipy.sparse

from gridcut.device.sparse import as_scipy
from matching import methods
from matching.core.graph_input import bipartite_graph
from matching.core.matching import start_on_host
from matching.core.sparse import not_a_graph
from matching.solving import structural_rank

__all__ = ["maximum_bipartite_matching", "structural_rank"]


def maximum_bipartite_matching(
    graph: scipy.sparse.sparray | scipy.sparse.spmatrix, perm_type: Literal["row", "column"] = "row"
) -> np.ndarray:
    """Find a maximum matching; arguments and results as `scipy.sparse.csgraph.maximum_bipartite_matching`.

    Parameters
    ----------
    graph : SciPy sparse matrix or array of shape (n, m)
        Stored entries are edges, including explicit zeros.
    perm_type : {"row", "column"}
        The side whose partners are returned.

    Returns
    -------
    perm : ndarray of int32
        For "row", the row matched to each column, shape (m,); for "column", the column matched to each row, shape
        (n,).  -1: unmatched.  If there are several maximum matchings, SciPy may return another one.

    Raises
    ------
    TypeError
        If the graph is not a sparse matrix.
    ValueError
        If `perm_type` is neither "row" nor "column".

    See Also
    --------
    maximum : With a choice of methods and devices, statistics and a certificate.

    Examples
    --------
    >>> import scipy.sparse
    >>> from matching import maximum_bipartite_matching
    >>> maximum_bipartite_matching(scipy.sparse.csr_array([[1, 1], [1, 0]]), perm_type="column").tolist()
    [1, 0]
    """
    graph = as_scipy(graph)
    if not scipy.sparse.issparse(graph):
        raise not_a_graph(graph, "a SciPy sparse matrix or array")
    if perm_type not in ("row", "column"):
        raise ValueError(f"perm_type must be 'row' or 'column', got {perm_type!r}")
    # Not by `maximum`, whose statistics take as long as matching a small graph.
    checked = bipartite_graph(graph)
    row_match, col_match = start_on_host(None, checked)
    methods.solver(methods.DEFAULT_METHOD, "cpu")(checked, row_match, col_match)
    return col_match if perm_type == "row" else row_match

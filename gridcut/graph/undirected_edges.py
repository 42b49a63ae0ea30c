"""The edges of an energy on a sparse graph: pairs of nodes with weights, from a matrix with an entry for each edge."""

import numpy as np
import scipy.sparse

from gridcut.device.sparse import check_matrix


def undirected_edges(weights, nodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ends and the weight of each entry of a sparse matrix (nodes, nodes), without those on the diagonal.

    Edges may repeat.  TypeError or ValueError for another shape, and for weights that are not finite numbers >= 0.
    """
    if weights.ndim != 2 or weights.shape != (nodes, nodes):
        raise ValueError(
            f"weights as a sparse matrix must have shape {(nodes, nodes)}, as unary has {nodes} nodes; "
            f"got {weights.shape}"
        )
    check_matrix("weights", weights)
    if weights.dtype.kind not in "biuf" or weights.dtype == np.uint64:
        raise TypeError(f"weights must hold integers up to 64 bits (signed) or floats, got {weights.dtype}")
    entries = weights.tocoo()
    bad = ~((entries.data >= 0) & (entries.data < np.inf))
    if bad.any():
        at = int(np.argmax(bad))
        edge = int(entries.row[at]), int(entries.col[at])
        raise ValueError(f"weights holds {entries.data[at]} at {edge}; weights must be finite and 0 or more")
    is_edge = entries.row != entries.col
    weight = entries.data[is_edge]
    return (
        entries.row[is_edge],
        entries.col[is_edge],
        weight.astype(np.float64 if weight.dtype.kind == "f" else np.int64),
    )


def merged(nodes: int, tail, head, weight) -> scipy.sparse.csr_array:
    """The edges as entries above the diagonal, parallel ones added, without those of weight 0."""
    matrix = scipy.sparse.csr_array((weight, (np.minimum(tail, head), np.maximum(tail, head))), shape=(nodes, nodes))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix

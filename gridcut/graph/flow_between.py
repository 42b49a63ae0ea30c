"""The flow between one source and one sink along the entries of a graph, certified before it is returned.

The certificate reads the capacities and the flow alone, by NumPy and SciPy: it shares nothing with a solver.
"""

import numpy as np
import scipy

from gridcut.core.certificate import RELATIVE
from gridcut.device import CertificateError
from gridcut.graph.graph_cut import GraphCut


def flow_along_entries(graph: tuple, cut: GraphCut, source: int, sink: int) -> np.ndarray:
    """A maximum flow along each entry, 0 or more; of two opposite entries, one has 0.

    graph   (indptr, indices, capacity, (n, n)), the graph of the cut, without repeated entries; entries may be inf
    """
    indptr, indices, capacity, (n, _) = graph
    flow = cut.flow()
    tail = np.repeat(np.arange(n), np.diff(indptr))
    head = indices.astype(np.int64)
    keys = np.repeat(np.arange(n), np.diff(flow.indptr)) * n + flow.indices
    amounts = np.zeros(len(head), flow.dtype)
    kept = tail != head
    amounts[kept] = np.maximum(flow.data[np.searchsorted(keys, tail[kept] * n + head[kept])], 0)
    through = np.zeros(n, flow.dtype), np.zeros(n, flow.dtype)
    np.add.at(through[0], tail, amounts)
    np.add.at(through[1], head, amounts)
    if (amounts > capacity).any():
        raise CertificateError(f"the flow along entry {np.argmax(amounts > capacity)} exceeds its capacity")
    _certify_balance(*through, source, sink, cut.value)
    return amounts


def certify_flow_matrix(
    capacity: "scipy.sparse.csr_array", flow: "scipy.sparse.csr_array", source, sink, value
) -> None:
    """Certify a flow of integers, negative in the opposite direction; raises CertificateError."""
    if (flow + flow.T).count_nonzero():
        raise CertificateError("the flows of the two directions of an edge are not opposite")
    if ((capacity - flow).data < 0).any():
        raise CertificateError("the flow along an edge exceeds its capacity")
    _certify_balance(flow.sum(axis=1, dtype=np.int64), 0, source, sink, value)


def _certify_balance(out, into, source: int, sink: int, value) -> None:
    """Raise CertificateError unless `value` leaves the source, and every other node passes on what it gets."""
    net = np.asarray(out - into).ravel()
    net[source] -= value
    net[sink] += value
    allowed = RELATIVE * (out + into) if net.dtype.kind == "f" else 0
    if (abs(net) > allowed).any():
        raise CertificateError(f"node {np.argmax(abs(net) > allowed)} does not pass on the flow that it gets")

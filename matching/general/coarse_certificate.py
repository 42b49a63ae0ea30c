"""Certificate of a coarse graph, from the finer one and the edges along which its vertices were merged.

The merges are edges of the finer graph; `labels` numbers their connected components by lowest vertex; weights of
vertices, and of edges between two components, are added. No code is shared with the contraction. Floats are compared
exactly, since both add in the same order: entries (v, w) of the finer graph with labels[v] < labels[w], in storage
order.

O(n + m log m).
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from gridcut.device import CertificateError
from matching.core.certificate import indices_field
from matching.general.general_graph import GeneralGraph, is_sound


class Level(NamedTuple):
    """A graph and the weights of its vertices."""

    graph: GeneralGraph
    vertex_weight: np.ndarray


def certify(fine: Level, merges, graph, labels, vertex_weight) -> Level:
    """Certify a coarse graph, whose `graph` may be None; returns the expected level, or raises CertificateError."""
    if not is_sound(fine.graph):
        raise CertificateError("the graph has changed since it was coarsened")
    labels = indices_field("labels", labels, fine.graph.n)
    wrong = np.flatnonzero(labels != _labels(fine.graph, *merges))
    if len(wrong):
        raise CertificateError(f"label {labels[wrong[0]]} of vertex {wrong[0]} is not the label of its cluster")
    coarse = contracted(fine, labels)
    _compare("vertex_weight", vertex_weight, coarse.vertex_weight)
    if graph is not None:
        if not isinstance(graph, scipy.sparse.csr_array) or graph.shape != (coarse.graph.n,) * 2:
            raise CertificateError(f"graph must be a csr_array of {coarse.graph.n} vertices, got {graph!r:.60}")
        for name, expected in (("indptr", coarse.graph.ptr), ("indices", coarse.graph.adj)):
            _compare(f"graph.{name}", getattr(graph, name), expected, any_integer=True)
        _compare("graph.data", graph.data, coarse.graph.weights())
    return coarse


def _labels(graph: GeneralGraph, child, into) -> np.ndarray:
    """The cluster of each vertex; raises CertificateError for merges that are not edges."""
    row = np.repeat(np.arange(graph.n), np.diff(graph.ptr))
    entry = row * graph.n + graph.adj
    merged = child.astype(np.int64) * graph.n + into
    if not np.isin(merged, entry, assume_unique=False).all():
        raise CertificateError("two vertices were merged that are not joined by an edge")
    forest = scipy.sparse.csr_array((np.ones(len(child), np.int8), (child, into)), shape=(graph.n, graph.n))
    component = connected_components(forest, directed=False)[1]
    _, lowest = np.unique(component, return_index=True)
    number = np.empty(len(lowest), np.int32)
    number[np.argsort(lowest)] = np.arange(len(lowest))
    return number[component]


def contracted(fine: Level, labels) -> Level:
    """The coarse graph given by the labels."""
    count = int(labels.max(initial=-1)) + 1
    graph, row = fine.graph, np.repeat(np.arange(fine.graph.n), np.diff(fine.graph.ptr))
    low, high, weight = labels[row].astype(np.int64), labels[graph.adj], graph.weights()
    kept = low < high
    edge, group = np.unique((low * count + high)[kept], return_inverse=True)
    total = _sums(group, weight[kept], len(edge))
    low, high = np.divmod(edge, max(count, 1))
    both = np.r_[edge, high * count + low]
    order = np.argsort(both)
    ptr = np.searchsorted(both[order], np.arange(count + 1) * count)
    adj = (both[order] % max(count, 1)).astype(np.int32)
    return Level(GeneralGraph(ptr, adj, np.r_[total, total][order]), _sums(labels, fine.vertex_weight, count))


def _sums(group, values, count: int) -> np.ndarray:
    """The sums of the values in each group, in storage order; exact for integers."""
    if values.dtype.kind == "f":
        return np.bincount(group, values, minlength=count).astype(
            np.float64
        )  # bincount returns integers for empty input
    total = np.zeros(count, np.int64)
    np.add.at(total, group, values)
    return total


def _compare(name: str, given, expected, any_integer: bool = False) -> None:
    """Raise CertificateError unless the arrays are equal; the dtype of indices is SciPy's choice."""
    if not isinstance(given, np.ndarray) or isinstance(given, np.ma.MaskedArray) or given.shape != expected.shape:
        what = given.shape if isinstance(given, np.ndarray) else type(given).__name__
        raise CertificateError(f"{name} must be an array of shape {expected.shape}, got {what}")
    if given.dtype.kind not in "iu" if any_integer else given.dtype != expected.dtype:
        raise CertificateError(f"{name} must have dtype {expected.dtype}, got {given.dtype}")
    wrong = np.flatnonzero(given != expected)
    if len(wrong):
        k = wrong[0]
        raise CertificateError(f"{name}[{k}] is {given[k]}, but the finer graph gives {expected[k]}")

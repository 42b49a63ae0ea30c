"""The capacity of a cut of a graph, summed from the caller's arrays.

Integers are summed exactly, in two halves of 32 bits.  Floats are summed as float64, together with the loss by rounding
to units: see gridcut/core/units.py.
"""

import numpy as np

from gridcut.core.cut_capacity import Measured, add_up, finite, lost
from gridcut.core.units import difference, scale_of
from gridcut.device import plain_kernel
from gridcut.device.arguments import INT64_MAX
from gridcut.graph.graph_problem import GraphProblem, Lists, lists_of


@plain_kernel
def integer_cut_kernel(indptr, indices, capacity, source, sink, labels):
    """Sum of the capacities across the cut, in halves of 32 bits."""
    low = np.int64(0)
    high = np.int64(0)
    for u in range(labels.size):
        if not labels[u]:
            value = np.int64(source[u])
        else:
            # The capacities incident to a node sum to less than 2^63.  Without a branch: no order predicts the labels.
            value = np.int64(sink[u])
            for entry in range(indptr[u], indptr[u + 1]):
                i = np.uint64(entry)
                value += np.int64(capacity[i]) * np.int64(not labels[np.uint64(indices[i])])
        low += value & 0xFFFFFFFF
        high += value >> 32
    return low, high


@plain_kernel
def float_cut_kernel(indptr, indices, capacity, source, sink, labels, scale, is_clamped):
    """Sums across the cut: arcs, terminals (or their differences), the loss of both, and the terminals' common part."""
    arcs = 0.0
    terminals = 0.0
    loss = 0.0
    shared = 0.0
    for u in range(labels.size):
        kept, paid = np.float64(sink[u]), np.float64(source[u])
        if labels[u]:
            kept, paid = paid, kept
            for i in range(indptr[u], indptr[u + 1]):
                if not labels[indices[i]]:
                    value = np.float64(capacity[i])
                    arcs += value
                    loss += lost(value, scale)
        if not is_clamped:
            terminals += paid
            loss += lost(paid, scale)
        else:
            shared += min(kept, paid)
            if paid > kept:
                terminals += paid - kept
                loss += (paid - kept) - np.float64(difference(paid, kept, scale)) * scale[3]
    return arcs, terminals, loss, shared


def integer_cut(lists: Lists, labels: np.ndarray) -> int:
    """The capacity of a cut of integers."""
    low, high = integer_cut_kernel(*lists, labels)
    return int(low) + (int(high) << 32)


def float_cut(problem: GraphProblem, lists: Lists, labels: np.ndarray, unit: float) -> Measured:
    """The capacity of a cut of floats, and the loss by rounding."""
    is_clamped = problem.bound is not None
    arcs, terminals, loss, shared = float_cut_kernel(*lists, labels, scale_of(unit, problem.bound), is_clamped)
    return Measured(add_up([arcs, terminals, shared]), add_up([arcs, terminals]), loss)


def value_of_graph(
    problem: GraphProblem, lists: Lists, labels: np.ndarray, unit
) -> tuple[int | float, Measured | None]:
    """The capacity of the cut, and the loss by rounding of floats.

    Raises ValueError if every cut is infinite, or more than the largest of clamped integers.
    """
    if problem.most is not None:
        lists = lists_of(problem)
        if integer_cut(lists, labels) >= problem.most:
            raise ValueError(
                f"source, sink and graph are too large: the capacities incident to a node must sum to less than "
                f"{INT64_MAX}, except for those above {problem.most}, if a cut without them costs less; scale them down"
            )
    if not problem.is_float:
        return integer_cut(lists, labels), None
    return finite(float_cut(problem, lists, labels, unit), "graph")

"""Input validation of `assign.min_cost_flow`: its arguments, checked once and brought to one form."""

from typing import NamedTuple

import numpy as np

from assign.core.problem import as_array
from gridcut.device.arguments import INT32_MAX, INT64_MAX

UNLIMITED = 2**62  # the capacity of an arc without limit
MAX_TOTAL = 2**61  # of all finite capacities, bounds and supplies, so that sums of flows fit int64


class Network(NamedTuple):
    """A network without lower bounds: arcs from tail[a] to head[a], and the supply of each node, negative for demand.

    tail, head      int32
    capacity        int64, UNLIMITED for arcs without limit
    cost, supply    int64
    """

    tail: np.ndarray
    head: np.ndarray
    capacity: np.ndarray
    cost: np.ndarray
    supply: np.ndarray

    @property
    def nodes(self) -> int:
        return len(self.supply)


class GivenNetwork(NamedTuple):
    """The validated arguments: `network` without lower bounds, which are `lower`."""

    network: Network
    lower: np.ndarray


def check_network(tail, head, capacity, cost, supply, lower) -> GivenNetwork:
    """Check the arguments of `assign.min_cost_flow`; raises TypeError or ValueError."""
    supply = integers("supply", supply)
    if supply.ndim != 1:
        raise ValueError(f"supply must have the shape (nodes,), got {supply.shape}")
    tail, head = _ends("tail", tail, len(supply)), _ends("head", head, len(supply))
    if tail.shape != head.shape:
        raise ValueError(f"tail and head must have the same length, got {len(tail)} and {len(head)}")
    m = len(tail)
    if m + len(supply) > INT32_MAX - 1:
        raise ValueError(f"a network must have at most {INT32_MAX - 1} nodes and arcs together")
    limit = _capacities(capacity, m)
    cost = _of_arcs("cost", integers("cost", cost), m)
    low = np.zeros(m, np.int64) if lower is None else _of_arcs("lower", integers("lower", lower), m)
    finite = limit < UNLIMITED
    for name, values in (("capacity", limit[finite]), ("lower", low), ("supply", supply)):
        if float(np.abs(values.astype(np.float64)).sum()) > MAX_TOTAL:
            raise ValueError(
                f"the sum of {name} exceeds 2**61, so that flows might not fit int64; divide capacities, bounds and "
                "supplies by a common factor, or pass inf as the capacity of arcs without a limit"
            )
    if supply.sum():
        raise ValueError(
            f"supply must sum to 0, got {supply.sum()}; add a node with the opposite supply, and arcs of cost 0 "
            "between it and the nodes that may keep some of theirs"
        )
    wrong = np.flatnonzero(low > limit)
    if len(wrong):
        a = int(wrong[0])
        raise ValueError(f"lower must not exceed capacity, got lower[{a}] = {low[a]} and capacity[{a}] = {limit[a]}")
    largest = (
        int(np.abs(cost.astype(object)).max()) if m and cost.min() == -(2**63) else int(np.abs(cost).max(initial=0))
    )
    bound = INT64_MAX // (4 * (len(supply) + 2))
    if largest > bound:
        raise ValueError(
            f"|cost| must be at most {bound} for {len(supply)} nodes, so that prices fit int64; got {largest}"
        )
    capacity = np.where(finite, limit - np.where(finite, low, 0), UNLIMITED)
    moved = np.zeros(len(supply), np.int64)
    if low.any():
        np.add.at(moved, head, low)
        np.subtract.at(moved, tail, low)
    return GivenNetwork(Network(tail, head, capacity, cost, supply + moved), low)


def integers(name: str, value) -> np.ndarray:
    """Convert an argument to an array of int64; raises TypeError for other numbers, floats above all."""
    array = as_array(name, value)
    if array.size == 0 and array.dtype.kind == "f":
        return array.astype(np.int64)  # an empty list
    if array.dtype.kind not in "biu":
        raise TypeError(
            f"{name} must hold integers, got dtype {array.dtype}; scale and round other numbers, such as "
            f"np.rint(1000 * {name}).astype(np.int64)"
        )
    if array.dtype == np.uint64 and array.size and array.max() > INT64_MAX:
        raise ValueError(f"{name} must fit int64, got {array.max()}")
    return array.astype(np.int64)


def _ends(name: str, value, nodes: int) -> np.ndarray:
    array = integers(name, value)
    if array.ndim != 1:
        raise ValueError(f"{name} must have the shape (arcs,), got {array.shape}")
    if len(array) and not (array.min() >= 0 and array.max() < nodes):
        wrong = array[(array < 0) | (array >= nodes)][0]
        raise ValueError(f"{name} must hold nodes from 0 to {nodes - 1}, since supply has {nodes}; got {wrong}")
    return array.astype(np.int32)


def _of_arcs(name: str, array: np.ndarray, arcs: int) -> np.ndarray:
    if array.shape not in ((), (arcs,)):
        raise ValueError(f"{name} must be a number or have the shape ({arcs},), got {array.shape}")
    return np.ascontiguousarray(np.broadcast_to(array, arcs))


def _capacities(value, arcs: int) -> np.ndarray:
    """Capacities as int64, with UNLIMITED for +inf."""
    array = as_array("capacity", value)
    if array.dtype.kind == "f" and array.size:
        whole = np.isfinite(array) & (array == np.rint(array)) & (np.abs(array) < 2.0**53)
        if not (whole | (array == np.inf)).all():
            wrong = array[~(whole | (array == np.inf))].flat[0]
            raise TypeError(f"capacity must hold integers, or inf for no limit, got {wrong}; scale and round others")
        array = np.where(whole, array, 0).astype(np.int64) + np.where(whole, 0, UNLIMITED)
    array = _of_arcs("capacity", integers("capacity", array), arcs)
    return np.minimum(array, UNLIMITED)

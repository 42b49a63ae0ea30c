"""Validation of the arguments of the label functions, and their conversion to integers.

    E(l) = sum unary[l_p][p] + sum weights[o][p] * label_cost[l_p, l_p+o]

Floats are rounded to multiples of one unit, a power of two.  Costs of labels get COST_BITS bits; weights and unary
costs get as many as their products allow, so that all totals fit into 64 bits."""

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from gridcut.core.problem import Offset, check_offset, ends, pixel_at
from gridcut.device.arguments import check_count, numbers_of, plain_array

# Labels forbidden at a pixel by infinite costs, or by costs so high that all others would lose their precision.
#
# Suppose a label costs more than the cheapest label of its pixel plus all edges of that pixel.  No labelling that
# moves cannot improve contains it, because that pixel alone could switch to the cheapest label.  Costs above this
# bound plus HEADROOM are therefore clamped, and take no bits from the others.  Minima, and labellings that no move
# improves, stay the same.

CLAMP_RATIO = 2.0**30  # costs up to this many times all edges of a pixel are never clamped
HEADROOM = 2.0**10  # distance of the clamped costs from the bound, relative to the other costs


def clamped_costs(unary: np.ndarray, weights: list[tuple[Offset, np.ndarray]], cost: np.ndarray) -> np.ndarray:
    """The costs, or a copy in which costs that no pixel pays are clamped.

    unary     (L, *grid), without NaN or -inf
    weights   (offset, array of the grid's shape) pairs, 0 where an edge leaves the grid
    cost      (L, L), of two labels

    ValueError if all labels of a pixel have infinite cost.
    """
    if unary.dtype.kind != "f" or unary.size == 0:
        return unary
    largest_cost = float(cost.max())
    highest, lowest = float(unary.max()), float(unary.min())
    edges = 2.0 * largest_cost * sum(float(weight.max(initial=0)) for _, weight in weights)
    if max(highest, -lowest) <= CLAMP_RATIO * edges:
        return unary
    cheapest = unary.min(axis=0).astype(np.float64)
    if np.isinf(cheapest).any():
        where = tuple(int(i) for i in np.argwhere(np.isinf(cheapest))[0])
        raise ValueError(f"unary forbids every label at pixel {where}: at least one cost per pixel must be finite")
    edge_sum = np.zeros(cheapest.shape)
    for offset, weight in weights:
        p, q = ends(cheapest.shape, (offset,))
        edge_sum[p] += largest_cost * weight[p].astype(np.float64)
        edge_sum[q] += largest_cost * weight[p].astype(np.float64)
    scale = max(float(np.abs(cheapest).max()), float(edge_sum.max()))
    if scale == 0:
        scale = float(np.min(unary, where=unary > 0, initial=np.inf))
    upper = cheapest + edge_sum + HEADROOM * (scale if scale < np.inf else 1.0)
    return np.minimum(unary, upper) if highest > float(upper.min()) else unary


MAX_TOTAL = 2**62  # of all costs together
COST_BITS = 30  # of the costs of labels, for floats
# A unary of (H, W, labels) is reported if the last axis is at most MAX_LAST_LABELS and the others exceed MIN_SIDE.
MAX_LAST_LABELS, MIN_SIDE = 16, 64
LAST_AXIS_HINT = "; if the labels are on the last axis of unary, pass numpy.moveaxis(unary, -1, 0)"
MAX_EXPONENT = 1000  # keeps the unit 2^-exponent a normal float


class LabelProblem(NamedTuple):
    """A checked energy in integers.

    unary     (L, *grid), int32 if all sums at a pixel fit, else int64
    weights   {offset: array of the grid's shape}, one offset of each opposite pair; 0 where p + offset leaves the grid;
              of a graph, a sparse matrix with one entry for each edge, above the diagonal
    cost      (L, L); this and the weights have the dtype of `unary`
    unit      value of the integer 1: 1, or a power of two for floats
    allowed   bool (L, *grid), False where moves may not assign a label; None: they may assign all
    """

    unary: np.ndarray
    weights: Any
    cost: np.ndarray
    unit: int | float
    allowed: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.unary.shape[1:]

    @property
    def count(self) -> int:
        return self.unary.shape[0]

    @property
    def is_graph(self) -> bool:
        return not isinstance(self.weights, dict)

    def edges(self) -> Iterator[tuple[Any, Any, np.ndarray]]:
        """Triples of indices of one end of some edges, indices of the other end, and their weights; all edges once."""
        if self.is_graph:
            edges = self.weights.tocoo()
            yield edges.row, edges.col, edges.data
            return
        for offset, weight in self.weights.items():
            p, q = ends(self.shape, (offset,))
            yield p, q, weight[p]

    def votes(self) -> np.ndarray:
        """Number of pixels at which each label is the cheapest."""
        return np.bincount(cheapest(self.unary).ravel(), minlength=self.count)


class Units(NamedTuple):
    """How an energy is converted to integers.

    number         int32 if all sums at a pixel fit, else int64
    unit           value of the integer 1: 1, or a power of two for floats
    unary_power    unary costs are multiplied by 2 to this power; None: they are integers
    weight_power   the same for weights; also None if all costs of labels are 0, for then weights do not matter
    cost           costs of labels, of type `number`
    """

    number: type
    unit: int | float
    unary_power: int | None
    weight_power: int | None
    cost: np.ndarray


def check_labels(unary, weights, label_cost, *, metric: bool) -> LabelProblem:
    """Check a multi-label energy; raises TypeError or ValueError.

    The costs of labels must be a semimetric, and with `metric` satisfy the triangle inequality.
    """
    unary = as_numeric("unary", unary)
    count, shape = check_shape(unary.shape)
    check_finite("unary", unary, np.inf)
    check_mapping(weights)
    given = [(check_offset(o, len(shape), "weights"), as_numeric(f"weights[{o}]", w)) for o, w in weights.items()]
    given = [(o, _inside_grid(o, w, shape, count)) for o, w in given]
    if label_cost is None and not any(np.ndim(w) for w in weights.values()):
        warn_of_last_axis(unary.shape)
    cost = check_cost(label_cost, count, shape)
    largest_weights = [w.max(initial=0).item() for _, w in given]
    unary = clamped_costs(unary, given, cost)
    units, unary, arrays = _in_units(unary, [w for _, w in given], cost, largest_weights, metric)
    merged = {}
    for (offset, _), weight in zip(given, arrays, strict=True):
        key = max(offset, tuple(-i for i in offset))
        array = merged.setdefault(key, np.zeros(shape, units.number))
        p, q = ends(shape, (offset,))
        array[p if key == offset else q] += weight[p].astype(units.number)
    return LabelProblem(unary, merged, units.cost, units.unit)


def check_graph_labels(unary, weights, label_cost, *, metric: bool) -> LabelProblem:
    """`check_labels` for weights that are a sparse matrix."""
    from gridcut.graph.graph_problem import merged, undirected_edges  # scipy.sparse, on first use

    unary = as_numeric("unary", unary)
    if unary.ndim != 2 or len(unary) == 0:
        raise ValueError(f"unary must have shape (labels, nodes) with weights of a graph, got {unary.shape}")
    check_finite("unary", unary, np.inf)
    count, nodes = unary.shape
    tail, head, weight = undirected_edges(weights, nodes)
    cost = check_cost(label_cost, count)
    incident = np.bincount(tail, weight, nodes) + np.bincount(head, weight, nodes)
    unary = clamped_costs(unary, [((0,), incident / 2)], cost)  # as an edge from each node to itself
    units, unary, (weight,) = _in_units(unary, [weight], cost, [incident.max(initial=0).item() / 2], metric)
    return LabelProblem(unary, merged(nodes, tail, head, weight.astype(units.number)), units.cost, units.unit)


def _in_units(unary, weights: list, cost, largest_weights: list, metric: bool) -> tuple[Units, np.ndarray, list]:
    """The units of an energy, its unary costs in them, and its weights, not yet of type `number`."""
    is_float = any(a.dtype.kind == "f" for a in (unary, cost, *weights))
    largest_unary = max(unary.max(initial=0).item(), -unary.min(initial=0).item())
    units = choose_units(unary.shape, largest_unary, largest_weights, cost, is_float, metric)
    if is_float:
        unary = scaled(unary, units.unary_power)
        empty = units.weight_power is None
        weights = [np.zeros(w.shape, np.int64) if empty else scaled(w, units.weight_power) for w in weights]
    # Rows first, so that no kernel is compiled once more for a table in another order.
    units = units._replace(cost=np.ascontiguousarray(units.cost))
    return units, np.ascontiguousarray(unary, units.number), weights


def clamped_on_host(unary, weights, cost: np.ndarray) -> np.ndarray:
    """`clamped_costs` for arguments of `check_labels` on the host."""
    unary = as_numeric("unary", unary)
    shape = unary.shape[1:]
    given = [(check_offset(o, len(shape), "weights"), as_numeric(f"weights[{o}]", w)) for o, w in weights.items()]
    return clamped_costs(unary, [(o, _inside_grid(o, w, shape)) for o, w in given], cost)


def check_shape(shape: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """The number of labels and the grid's shape."""
    if len(shape) not in (2, 3, 4) or shape[0] == 0:
        raise ValueError(f"unary must have shape (labels, *grid) with 1 to 3 grid axes, got {shape}")
    return shape[0], shape[1:]


def check_mapping(weights) -> None:
    if not isinstance(weights, Mapping):
        raise TypeError(
            "weights must be a mapping from offsets to weights, such as dict.fromkeys(gridcut.neighbourhood(4), 10); "
            f"got {type(weights).__name__}"
        )


def check_cost(label_cost, count: int, shape: tuple[int, ...] = ()) -> np.ndarray:
    """The costs of labels, which must be a semimetric; Potts costs if None.  `shape` is the grid's, for the message."""
    cost = 1 - np.eye(count, dtype=np.int64) if label_cost is None else as_numeric("label_cost", label_cost)
    if cost.shape != (count, count):
        hint = LAST_AXIS_HINT if shape and cost.shape == (shape[-1], shape[-1]) else ""
        raise ValueError(f"label_cost must have shape {(count, count)}, one row per label, got {cost.shape}{hint}")
    _check_semimetric(cost)
    return cost


def warn_of_last_axis(shape: tuple[int, ...]) -> None:
    """Warn of unary costs that look like (H, W, labels), where no other argument tells the number of labels."""
    *leading, last = shape
    if len(shape) > 2 and last <= MAX_LAST_LABELS and min(leading) > MIN_SIDE:
        warnings.warn(
            f"unary has the shape {shape}, {shape[0]} labels on a grid of the shape {shape[1:]}{LAST_AXIS_HINT}",
            stacklevel=3,
        )


def choose_units(shape, largest_unary, largest_weights: list, cost: np.ndarray, is_float: bool, metric: bool) -> Units:
    """Choose integers that hold all sums.

    shape             of the unary costs
    largest_unary     largest absolute unary cost
    largest_weights   largest weight of each offset
    """
    incident = 2.0 * sum(largest_weights)
    largest = float(cost.max())
    bound = 2.0 * largest_unary + 3 * largest * incident
    if not math.isfinite(bound):
        raise ValueError(
            "unary and weights are too large: the costs at a pixel sum to more than float64 holds; scale them down"
        )
    total = bound * max(1, math.prod(shape[1:])) * shape[0]
    unit, unary_power, weight_power, given = 1, None, None, cost
    if is_float:
        unary_power = min(61 - math.frexp(total)[1], MAX_EXPONENT) if total else 0
        cost_power = COST_BITS - math.frexp(largest)[1] if largest else 0
        unit = 2.0**-unary_power
        cost = scaled(cost, cost_power)
        weight_power = unary_power - cost_power if largest else None
        bound = MAX_TOTAL
    elif total >= MAX_TOTAL:
        raise ValueError(
            f"unary and weights are too large: totals may reach {total:.3g}, the limit is {MAX_TOTAL}; scale them down"
        )
    if metric:
        cost = _check_metric(cost, shape[0] if is_float else 0, given)
    number = np.int32 if bound < 2**31 else np.int64
    return Units(number, unit, unary_power, weight_power, cost.astype(number))


def cheapest(unary: np.ndarray) -> np.ndarray:
    """The cheapest label of each pixel, the first one on ties: a faster argmin along the first axis."""
    labels = np.zeros(unary.shape[1:], np.int32)
    lowest = unary[0].copy()
    for label in range(1, len(unary)):
        np.putmask(labels, unary[label] < lowest, label)
        np.minimum(lowest, unary[label], out=lowest)
    return labels


def check_start(start, problem):
    """The initial labelling; the cheapest label of each pixel if `start` is None."""
    if not isinstance(problem, LabelProblem):
        return problem.check_start(start)
    if start is None:
        return cheapest(problem.unary)
    labels = check_start_kind(plain_array("start", start), problem.shape)
    check_start_range(labels, problem.count)
    return labels


def check_start_kind(labels, shape):
    if labels.dtype.kind not in "biu":
        raise TypeError(f"start must hold integer labels, got {labels.dtype}")
    if labels.shape != shape:
        raise ValueError(f"start must have the grid's shape {shape}, got {labels.shape}")
    return labels


def check_start_range(labels: np.ndarray, count: int) -> None:
    if labels.size and not 0 <= labels.min() <= labels.max() < count:
        raise ValueError(f"start must hold labels between 0 and {count - 1}, got {labels.min()} to {labels.max()}")


def check_cycles(max_cycles) -> int | None:
    return None if max_cycles is None else check_count("max_cycles", max_cycles)


def as_numeric(name: str, value) -> np.ndarray:
    array = numbers_of(name, value)
    return array.view(np.uint8) if array.dtype.kind == "b" else array


def check_finite(name: str, array: np.ndarray, allowed: float = np.nan) -> None:
    """Raise ValueError for NaN and infinite costs, except for the value `allowed`."""
    if array.dtype.kind == "f":
        bad = ~np.isfinite(array)
        if not np.isnan(allowed):
            bad &= array != allowed
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ValueError(
                f"{name} holds {array[where]} at {where}; costs must be finite; unary may be inf to forbid a label"
            )


def scaled(array: np.ndarray, power: int) -> np.ndarray:
    """array * 2^power, rounded to the nearest integers."""
    return np.rint(np.ldexp(array.astype(np.float64), power)).astype(np.int64)


def check_weight_shape(name: str, weight, shape: tuple[int, ...], count: int) -> None:
    """Raise ValueError unless a weight is a scalar or has the grid's shape; `count` is the number of labels."""
    if weight.ndim and weight.shape != shape:
        hint = LAST_AXIS_HINT if weight.shape == (count, *shape[:-1]) else ""
        raise ValueError(f"{name} must be a scalar or have the grid's shape {shape}, got {weight.shape}{hint}")


def _inside_grid(offset, weight, shape, count: int = 0) -> np.ndarray:
    """The weight at every pixel, 0 for edges that leave the grid; ValueError for negative, NaN or infinite weights."""
    name = f"weights[{offset}]"
    check_weight_shape(name, weight, shape, count)
    full = np.zeros(shape, weight.dtype)
    p, _ = ends(shape, (offset,))
    full[p] = np.broadcast_to(weight, shape)[p]
    bad = ~(full[p] >= 0) | (full[p] == np.inf)
    if bad.any():
        where = pixel_at(bad, p)
        raise ValueError(f"{name} holds {full[where]} at {where}; weights must be finite and 0 or more")
    return full


def _check_semimetric(cost) -> None:
    check_finite("label_cost", cost)
    for bad, what in (
        (cost < 0, "is negative"),
        (cost != cost.T, "differs from label_cost of the swapped pair"),
        (np.diag(np.diag(cost)) != 0, "is not 0 for equal labels"),
    ):
        if bad.any():
            a, b = np.argwhere(bad)[0]
            raise ValueError(f"label_cost[{a}, {b}] = {cost[a, b]} {what}; label_cost must be a semimetric")


def _check_metric(cost, slack, given) -> np.ndarray:
    """The metric closure of the costs, which repairs rounding errors; ValueError if they are not a metric."""
    closure = cost.astype(np.int64)
    for c in range(len(cost)):
        np.minimum(closure, closure[:, c, None] + closure[c], out=closure)
    broken = cost - closure > slack
    if broken.any():
        a, b = np.argwhere(broken)[0]
        c = int(np.argmin(cost[a].astype(np.int64) + cost[:, b]))
        raise ValueError(
            f"label_cost is not a metric: label_cost[{a}, {b}] = {given[a, b]} is more than label_cost[{a}, {c}] + "
            f"label_cost[{c}, {b}] = {given[a, c] + given[c, b]}; use alpha_beta_swap, or truncate the costs"
        )
    return closure


# Labels that moves may assign: a narrow band of labels per pixel, for example, instead of all.
#
# A pixel that may not take the label of an expansion keeps its own, so it is not part of the cut: the time of an
# expansion depends on the number of pixels that may take its label.  A descent converges when no allowed expansion of
# any label lowers the energy.


def check_allowed(allowed, device: str, problem_shape: tuple[int, ...]) -> np.ndarray:
    """The checked argument `allowed` of `alpha_expansion`; raises TypeError or ValueError."""
    if device == "cuda":
        raise ValueError("allowed is supported on the CPU only, but device='cuda' was requested; use device='cpu'")
    mask = plain_array("allowed", allowed)
    if mask.dtype != np.bool_:
        raise TypeError(f"allowed must hold booleans, got {mask.dtype}")
    if mask.shape != problem_shape:
        raise ValueError(f"allowed must have the shape of unary {problem_shape}, got {mask.shape}")
    forbids_all = ~mask.any(axis=0)
    if forbids_all.any():
        where = tuple(int(i) for i in np.argwhere(forbids_all)[0])
        raise ValueError(f"allowed forbids every label at pixel {where}: at least one per pixel must be allowed")
    return np.ascontiguousarray(mask)


def check_allowed_start(start, problem: LabelProblem) -> np.ndarray:
    """The initial labelling; the cheapest allowed label of each pixel if `start` is None."""
    allowed = problem.allowed
    if allowed is None:
        return check_start(start, problem)
    if start is None:
        never = np.iinfo(problem.unary.dtype).max
        return np.where(allowed, problem.unary, never).argmin(axis=0).astype(np.int32)
    labels = check_start(start, problem)
    outside = ~taken(allowed, labels)
    if outside.any():
        where = tuple(int(i) for i in np.argwhere(outside)[0])
        raise ValueError(f"start has label {labels[where]} at pixel {where}, which allowed forbids there")
    return labels


def kept_if_allowed(labels: np.ndarray, otherwise: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
    """`labels` where they are allowed, and `otherwise` elsewhere."""
    return labels if allowed is None else np.where(taken(allowed, labels), labels, otherwise)


def taken(allowed: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether the label of each pixel is allowed there."""
    return np.take_along_axis(allowed, labels[None].astype(np.intp), 0)[0]

"""What a caller of the label functions may pass, checked once and brought to integers.

    E(l) = sum unary[l_p][p] + sum weights[o][p] * label_cost[l_p, l_p+o]

Floats become multiples of one unit, a power of two: costs of labels get COST_BITS bits, weights and unary costs what
their product leaves, so that all totals fit into 64 bits.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from gridcut.device import resolve
from gridcut.problem import Offset, check_offset
from gridcut.terms import ends, pixel_at

LIMIT = 2**62  # of every total
COST_BITS = 30
MOST_BITS = 1000  # so that the unit is a number


class LabelProblem(NamedTuple):
    """A checked energy in integers.

    unary     (L, *grid), int32 where all sums round a pixel fit, else int64;  cost (L, L) and weights as it
    weights   {offset: array of the grid's shape}, one offset of each opposite pair; 0 where p + offset leaves the grid
    unit      what 1 is worth: 1, or a power of two for floats
    """

    unary: np.ndarray
    weights: dict[Offset, np.ndarray]
    cost: np.ndarray
    unit: int | float

    @property
    def shape(self) -> tuple[int, ...]:
        return self.unary.shape[1:]

    @property
    def count(self) -> int:
        return self.unary.shape[0]


def check_labels(unary, weights, label_cost, *, metric: bool) -> LabelProblem:
    """Check an energy of several labels; raises TypeError or ValueError.

    The costs of labels must be a semimetric, and with `metric` keep the triangle inequality.
    """
    unary = numbers("unary", unary)
    if unary.ndim not in (2, 3, 4) or unary.shape[0] == 0:
        raise ValueError(f"unary must have shape (labels, *grid) with 1 to 3 grid axes, got {unary.shape}")
    finite("unary", unary)
    count, shape = unary.shape[0], unary.shape[1:]
    if not isinstance(weights, Mapping):
        raise TypeError(
            "weights must be a mapping from offsets to weights, such as dict.fromkeys(gridcut.neighbourhood(4), 10); "
            f"got {type(weights).__name__}"
        )
    given = [(check_offset(o, len(shape), "weights"), numbers(f"weights[{o}]", w)) for o, w in weights.items()]
    given = [(o, _inside(o, w, shape)) for o, w in given]
    cost = 1 - np.eye(count, dtype=np.int64) if label_cost is None else numbers("label_cost", label_cost)
    _check_semimetric(cost, count)

    is_float = any(a.dtype.kind == "f" for a in (unary, cost, *(w for _, w in given)))
    spread = max(unary.max(initial=0).item(), -unary.min(initial=0).item())
    around = 2.0 * sum(w.max(initial=0).item() for _, w in given)
    largest = float(cost.max())
    bound = 2.0 * spread + 3 * largest * around
    if not math.isfinite(bound):
        raise ValueError("unary and weights are too large: costs round a pixel add up to more than a float holds")
    total = bound * max(1, math.prod(shape)) * count
    unit = 1
    if is_float:
        power = min(61 - math.frexp(total)[1], MOST_BITS) if total else 0
        for_cost = COST_BITS - math.frexp(largest)[1] if largest else 0
        unit = 2.0**-power
        unary = scaled(unary, power)
        cost = scaled(cost, for_cost)
        given = [(o, scaled(w, power - for_cost) if largest else np.zeros(shape, np.int64)) for o, w in given]
        bound = LIMIT
    elif total >= LIMIT:
        raise ValueError(f"unary and weights are too large: totals may reach {total:.3g}, the limit is {LIMIT}")
    if metric:
        cost = _check_metric(cost, count if is_float else 0, None if label_cost is None else np.asarray(label_cost))
    number = np.int32 if bound < 2**31 else np.int64
    merged = {}
    for offset, weight in given:
        key = max(offset, tuple(-i for i in offset))
        array = merged.setdefault(key, np.zeros(shape, number))
        p, q = ends(shape, (offset,))
        array[p if key == offset else q] += weight[p].astype(number)
    return LabelProblem(np.ascontiguousarray(unary, number), merged, cost.astype(number), unit)


def cheapest(unary: np.ndarray) -> np.ndarray:
    """The cheapest label of each pixel, the first of several (argmin along the first axis, but faster)."""
    labels = np.zeros(unary.shape[1:], np.int32)
    least = unary[0].copy()
    for label in range(1, len(unary)):
        np.putmask(labels, unary[label] < least, label)
        np.minimum(least, unary[label], out=least)
    return labels


def check_start(start, problem: LabelProblem) -> np.ndarray:
    """The labelling to begin with; the cheapest label of each pixel when none is given."""
    if start is None:
        return cheapest(problem.unary)
    labels = np.asarray(start)
    if labels.dtype.kind not in "biu":
        raise TypeError(f"start must hold integer labels, got {labels.dtype}")
    if labels.shape != problem.shape:
        raise ValueError(f"start must have the grid's shape {problem.shape}, got {labels.shape}")
    if labels.size and not 0 <= labels.min() <= labels.max() < problem.count:
        raise ValueError(f"start must lie between 0 and {problem.count - 1}, got {labels.min()} to {labels.max()}")
    return labels


def check_cycles(max_cycles) -> int | None:
    if max_cycles is None:
        return None
    if not isinstance(max_cycles, int | np.integer) or isinstance(max_cycles, bool):
        raise TypeError(f"max_cycles must be an integer or None, got {type(max_cycles).__name__}")
    if max_cycles < 1:
        raise ValueError(f"max_cycles must be 1 or more (None: to the end), got {max_cycles}")
    return int(max_cycles)


def on_cpu(device: str) -> str:
    """These functions run on the CPU; another device is refused."""
    if resolve(device) == "cuda" and device != "auto":
        raise RuntimeError(
            "device='cuda': energies of several labels are solved on the CPU; use device='cpu' or 'auto'"
        )
    return "cpu"


def numbers(name: str, value) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.dtype == np.uint64:
        raise TypeError(f"{name} must hold integers up to 64 bits (signed) or floats, got {array.dtype}")
    return array.view(np.uint8) if array.dtype.kind == "b" else array


def finite(name: str, array: np.ndarray) -> None:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} holds {array[where]} at {where}; costs must be finite, forbid a label by a high one")


def scaled(array: np.ndarray, power: int) -> np.ndarray:
    """Integers next to array * 2^power."""
    return np.rint(np.ldexp(array.astype(np.float64), power)).astype(np.int64)


def _inside(offset, weight, shape) -> np.ndarray:
    """A weight at every pixel, 0 for edges that leave the grid; ValueError for what no weight may be."""
    name = f"weights[{offset}]"
    if weight.ndim and weight.shape != shape:
        raise ValueError(f"{name} must be a scalar or have the grid's shape {shape}, got {weight.shape}")
    full = np.zeros(shape, weight.dtype)
    p, _ = ends(shape, (offset,))
    full[p] = np.broadcast_to(weight, shape)[p]
    bad = ~(full[p] >= 0) | (full[p] == np.inf)
    if bad.any():
        where = pixel_at(bad, p)
        raise ValueError(f"{name} holds {full[where]} at {where}; weights must be finite and 0 or more")
    return full


def _check_semimetric(cost, count) -> None:
    if cost.shape != (count, count):
        raise ValueError(f"label_cost must have shape {(count, count)}, one row a label, got {cost.shape}")
    finite("label_cost", cost)
    for bad, what in (
        (cost < 0, "is negative"),
        (cost != cost.T, "differs from the same pair the other way round"),
        (np.diag(np.diag(cost)) != 0, "is not 0 for equal labels"),
    ):
        if bad.any():
            a, b = np.argwhere(bad)[0]
            raise ValueError(f"label_cost[{a}, {b}] = {cost[a, b]} {what}; label_cost must be a semimetric")


def _check_metric(cost, slack, given) -> np.ndarray:
    """The costs, after rounding mended to keep the triangle inequality; ValueError for costs that break it."""
    mended = cost.astype(np.int64)
    for c in range(len(cost)):
        np.minimum(mended, mended[:, c, None] + mended[c], out=mended)
    broken = cost - mended > slack
    if broken.any():
        a, b = np.argwhere(broken)[0]
        c = int(np.argmin(cost[a].astype(np.int64) + cost[:, b]))
        raise ValueError(
            f"label_cost is no metric: label_cost[{a}, {b}] = {given[a, b]} is more than label_cost[{a}, {c}] + "
            f"label_cost[{c}, {b}] = {given[a, c] + given[c, b]}; use alpha_beta_swap, or cut the costs off"
        )
    return mended

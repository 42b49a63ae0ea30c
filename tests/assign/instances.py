"""The table of instances that every public function and method of assign is run over: costs of all kinds, sizes and
dtypes, orders of memory, forbidden pairs, limits; and random ones.  Each holds its meaning (tests/assign/oracles.py).
"""

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse
from scipy.spatial.distance import cdist

from tests.assign.oracles import EXHAUSTIVE, truth_of


@dataclass
class Instance:
    """One call: function is "solve" (of a dense or sparse matrix), "points" or "batch"."""

    name: str
    function: str
    arguments: tuple
    options: dict = field(default_factory=dict)
    truth: object = None  # Truth, or a list of them for a batch
    sign: int = 1

    def __str__(self):
        return self.name


WHOLE = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"]
FLOATS = ["float16", "float32", "float64"]
BATCH_DTYPES = ["uint8", "int16", "int32", "int64", "float32", "float64"]
FAMILIES = ["few", "uniform", "equal", "product", "distance", "geometric", "sums", "negative", "bound"]
FLOAT_FAMILIES = ["uniform", "normal", "huge", "tiny", "wide", "two scales", "big M", "equal", "few"]
LAYOUTS = ["C", "F", "strided", "reversed", "read-only", "swapped", "list"]


def integer_costs(rng, shape, family: str, dtype: str) -> np.ndarray:
    """A matrix of a family; clipped to what the dtype and the package hold."""
    n, m = shape
    if dtype == "bool":
        return rng.random(shape) < 0.5
    info = np.iinfo(dtype)
    if family == "few":
        cost = rng.integers(0, 4, shape)
    elif family == "equal":
        cost = np.full(shape, int(rng.integers(-3, 4)))
    elif family == "product":  # Machol and Wien
        cost = np.multiply.outer(np.arange(1, n + 1), np.arange(1, m + 1))
    elif family == "distance":
        cost = np.rint(1000 * np.linalg.norm(rng.random((n, 1, 2)) - rng.random((1, m, 2)), axis=2))
    elif family == "geometric":
        cost = np.rint(2.0 ** (40 * rng.random(shape)))
    elif family == "sums":
        cost = rng.integers(0, 1000, (n, 1)) + rng.integers(0, 1000, (1, m)) + rng.integers(0, 3, shape)
    elif family == "negative":
        cost = rng.integers(-(10**6), 10**6, shape)
    elif family == "bound":  # what prices of int64 allow, nearly
        most = min(largest_allowed(shape), info.max)
        near = [most - int(k) for k in rng.integers(0, 3, n * m)]
        signs = rng.choice([-1, 1] if info.min < 0 else [1], n * m)
        cost = np.array([int(s) * c for s, c in zip(signs, near, strict=True)], object).reshape(shape)
    else:
        cost = rng.integers(0, 10**9, shape)
    return np.clip(cost, info.min, info.max).astype(dtype) if family != "bound" else cost.astype(dtype)


def largest_allowed(shape) -> int:
    """Of integer costs; cost scaling methods, which multiply them, take less."""
    return (2**63 - 1) // (4 * (sum(shape) + 1))


def float_costs(rng, shape, family: str, dtype: str) -> np.ndarray:
    if family == "few":
        cost = rng.integers(0, 3, shape) / 4
    elif family == "equal":
        cost = np.full(shape, 0.1)
    elif family == "normal":
        cost = rng.normal(size=shape)
    elif family == "huge":
        cost = rng.random(shape) * {"float16": 6e4, "float32": 1e38}.get(dtype, 1e300)
    elif family == "tiny":
        cost = rng.random(shape) * {"float16": 1e-6, "float32": 1e-40}.get(dtype, 1e-300)
    elif family == "wide":
        cost = 10.0 ** (rng.random(shape) * 8 - 4)
    elif family == "two scales":
        cost = rng.random(shape) * np.where(rng.random((shape[0], 1)) < 0.5, 1, 1000)
    elif family == "big M":
        cost = np.where(rng.random(shape) < 0.5, {"float16": 6e4, "float32": 1e15}.get(dtype, 1e15), rng.random(shape))
        np.einsum("ii->i", cost[: min(shape), : min(shape)])[:] = rng.random(min(shape))
    else:
        cost = rng.random(shape)
    return cost.astype(dtype)


def laid_out(cost: np.ndarray, layout: str):
    """The same matrix in another order of memory, byte order or type."""
    if layout == "F":
        return np.asfortranarray(cost)
    if layout == "strided":
        return np.repeat(np.repeat(cost, 2, 0), 3, 1)[::2, ::3]
    if layout == "reversed":
        return cost[::-1, ::-1].copy()[::-1, ::-1]
    if layout == "read-only":
        cost = cost.copy()
        cost.flags.writeable = False
        return cost
    if layout == "swapped":
        return cost.astype(cost.dtype.newbyteorder("S"))
    return cost.tolist() if layout == "list" and cost.size and cost.dtype in ("int64", "float64") else cost


SPARSE = ["csr", "csc", "coo", "parts", "unsorted csr", "unsorted parts", "read-only csr", "duplicates", "matrix"]


def sparse_of(rng, cost, allowed, form: str):
    """The allowed pairs, zeros among them, in a form that `solve` accepts; nothing that a caller would not do."""
    row, col = np.nonzero(allowed)
    csr = scipy.sparse.csr_array((cost[row, col], (row, col)), shape=cost.shape)
    if form in ("csc", "coo"):
        return csr.asformat(form)
    if form == "matrix":
        return scipy.sparse.csr_matrix(csr)
    if form == "duplicates":  # one half of each cost, twice; only where that is exact
        half = (cost // 2 if cost.dtype.kind in "iu" else cost / 2).astype(cost.dtype)
        rest = (cost - half).astype(cost.dtype)
        values = np.concatenate([half[row, col], rest[row, col]])
        return scipy.sparse.coo_array((values, (np.tile(row, 2), np.tile(col, 2))), shape=cost.shape)
    step = -1 if form.startswith("unsorted") else 1
    order = [np.arange(a, b)[::step] for a, b in zip(csr.indptr[:-1], csr.indptr[1:], strict=True)]
    order = np.concatenate([*order, np.zeros(0, int)]).astype(int)
    parts = csr.indptr, csr.indices[order], csr.data[order]
    if form == "read-only csr":
        for array in parts:
            array.flags.writeable = False
    if form.endswith("parts"):
        return (*parts, cost.shape)
    return scipy.sparse.csr_array((parts[2], parts[1], parts[0]), shape=cost.shape)


SHAPES = [(1, 1), (1, 4), (4, 1), (2, 2), (3, 3), (5, 5), (4, 7), (7, 4), (6, 6), (0, 0), (0, 3), (3, 0)]
LARGER = [(12, 12), (30, 30), (20, 33), (33, 20)]
LIMITS = ["none", "whole", "fraction", "negative", "per row", "per row, fractions"]


def limits(rng, cost, kind: str):
    """max_cost of a kind, in the range of the costs."""
    finite = np.asarray(cost, np.float64)
    finite = finite[np.isfinite(finite)]
    middle = float(np.median(finite)) if finite.size else 1.0
    n = len(cost)
    if kind == "whole":
        return round(middle) + int(rng.integers(-1, 3))
    if kind == "fraction":
        return middle + 0.25
    if kind == "negative":
        return -abs(round(middle)) - 1
    if kind == "per row":
        return rng.integers(-3, 6, n) + round(middle)
    if kind == "per row, fractions":
        return rng.random(n) * 2 * middle + 0.125
    return None


def draw(rng, function=None) -> Instance:
    """A random instance."""
    function = function or str(
        rng.choice(["dense", "mask", "sparse", "points", "batch"], p=[0.4, 0.15, 0.2, 0.1, 0.15])
    )
    if function == "points":
        return points(rng)
    shape = SHAPES[rng.integers(len(SHAPES))] if rng.random() < 0.9 else LARGER[rng.integers(len(LARGER))]
    if function == "batch":
        return batch(rng, shape)
    if rng.random() < 0.5:
        dtype, family = str(rng.choice(WHOLE)), str(rng.choice(FAMILIES))
    else:
        dtype, family = str(rng.choice(FLOATS)), str(rng.choice(FLOAT_FAMILIES))
    bounded = family in ("bound", "huge", "tiny")
    limit = "none" if bounded else str(rng.choice(LIMITS, p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1]))
    share = float(rng.choice([0.3, 0.6, 0.9]))
    return matrix(rng, function, shape, dtype, family, limit, bool(rng.random() < 0.4), share)


def matrix(rng, function, shape, dtype, family, limit="none", maximize=False, share=0.6, form=None) -> Instance:
    """A dense, masked or sparse instance."""
    dtype = "float32" if function == "sparse" and dtype == "float16" else dtype  # SciPy's matrices have no float16
    family = "uniform" if family == "bound" and max(shape) > EXHAUSTIVE else family  # no oracle holds these sums
    whole = dtype in WHOLE
    cost = integer_costs(rng, shape, family, dtype) if whole else float_costs(rng, shape, family, dtype)
    options, allowed, sign = {}, np.ones(shape, bool), 1
    if maximize:
        options["maximize"], sign = True, -1
        cost = cost if cost.dtype.kind in "bu" or family == "bound" else (-cost).astype(dtype)
    max_cost = limits(rng, cost, limit)
    if max_cost is not None:
        options["max_cost"] = max_cost
    name = f"{function} {shape} {dtype} {family} max_cost={limit} maximize={maximize}"
    if function != "dense":
        allowed = rng.random(shape) < share
    elif not whole and family not in ("big M",) and rng.random() < 0.4:
        cost[rng.random(shape) > share] = -np.inf if maximize else np.inf
        name += " inf"
    truth = truth_of(cost, allowed, max_cost, sign)
    if function == "sparse":
        form = form or str(rng.choice(SPARSE))
        given = sparse_of(rng, cost, allowed, form if cost.dtype != bool or form != "duplicates" else "csr")
    else:
        form = form or str(rng.choice(LAYOUTS))
        given = laid_out(cost, form)
        if function == "mask":
            options["mask"] = allowed
    return Instance(f"{name} {form}", "solve", (given,), options, truth, sign)


METRICS = ["euclidean", "sqeuclidean", "cityblock"]


def points(rng, shape=None, metric=None, limit=None) -> Instance:
    """Points in general position, in clusters or on a lattice."""
    n, m = shape or (int(k) for k in rng.integers(0, 9, 2))
    metric = metric or str(rng.choice(METRICS))
    d = int(rng.integers(1, 4))
    kind = rng.choice(["uniform", "clusters", "lattice", "far", "one place"])
    x, y = rng.random((n, d)), rng.random((m, d))
    if kind == "clusters":
        x, y = x * 0.01 + rng.integers(0, 3, (n, 1)), y * 0.01 + rng.integers(0, 3, (m, 1))
    elif kind == "lattice":
        x, y = np.rint(3 * x).astype(np.float32), np.rint(3 * y).astype(np.int16)
    elif kind == "far":
        x, y = x * 1e6, y * 1e6 - 1e6
    elif kind == "one place":
        x[:], y[:] = 0.5, 0.5
    apart = cdist(np.asarray(x, np.float64), np.asarray(y, np.float64), metric)
    options = {"metric": metric}
    draws = rng.random() if limit is None else limit
    if draws < 0.3:
        options["max_cost"] = float(np.median(apart)) if apart.size else 0.5
    elif draws < 0.5 and n <= m:
        options["max_cost"] = rng.random(n) * (apart.max() if apart.size else 1)
    name = f"points {(n, m, d)} {kind} {metric} {'max_cost' if 'max_cost' in options else ''}"
    return Instance(name, "points", (x, y), options, truth_of(apart, None, options.get("max_cost")))


def batch(rng, shape=(5, 6), items=None, dtypes=BATCH_DTYPES) -> Instance:
    """Some matrices of one size, of different ones, or of true sizes in larger arrays, infeasible ones among them."""
    items = int(rng.integers(1, 5)) if items is None else items
    dtype = str(rng.choice(dtypes))
    whole = dtype in WHOLE
    family = str(
        rng.choice(["few", "negative", "distance", "uniform"] if whole else ["few", "uniform", "wide", "big M"])
    )
    kind = str(rng.choice(["one size", "sizes", "list"]))
    n, m = min(shape[0], 8), min(shape[1], 8)
    make = integer_costs if whole else float_costs
    sizes = [(n, m)] * items
    if kind != "one size":
        sizes = [(int(rng.integers(0, n + 1)), int(rng.integers(0, m + 1))) for _ in range(items)]
    costs = [make(rng, size, family, dtype) for size in sizes]
    maximize = bool(rng.random() < 0.3)
    sign = -1 if maximize else 1
    if not whole and rng.random() < 0.5:
        for cost in costs:
            cost[rng.random(cost.shape) < 0.6] = sign * np.inf
    options = {"maximize": True} if maximize else {}
    limit = str(rng.choice(["none", "number", "per item", "per row"], p=[0.5, 0.2, 0.15, 0.15]))
    ragged = len({cost.shape for cost in costs}) > 1
    rows = max([s[0] for s in sizes], default=n) if kind == "list" and ragged else n
    if kind == "list" and not ragged:
        rows = sizes[0][0] if sizes else 0
    per_row = None
    if limit != "none":
        shape_of = {"number": (), "per item": (items,), "per row": (items, rows)}[limit]
        value = rng.integers(-2, 6, shape_of) if rng.random() < 0.5 else rng.random(shape_of) * 3 + 0.125
        options["max_cost"] = value if value.shape else value.item()
        per_row = np.broadcast_to(value[:, None] if value.ndim == 1 else value, (items, rows))
    if kind == "list":
        given = costs
    else:
        given = np.full((items, n, m), 100 if whole else np.nan).astype(dtype)
        for room, cost in zip(given, costs, strict=True):
            room[: cost.shape[0], : cost.shape[1]] = cost
        if kind == "sizes":
            options["rows"], options["cols"] = (np.array([s[axis] for s in sizes], int) for axis in (0, 1))
    fractions = per_row is not None and not (per_row == np.rint(per_row)).all()
    truths = []
    for b, cost in enumerate(costs):
        limits_here = None if per_row is None else per_row[b, : len(cost)]
        truth = truth_of(cost.astype(np.float64) if fractions else cost, None, limits_here, sign)
        truths.append(truth)
    return Instance(
        f"batch {kind} {sizes} {dtype} {family} {limit} {maximize}", "batch", (given,), options, truths, sign
    )

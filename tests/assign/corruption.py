"""Results of every kind, as tests/corruption.py falsifies them."""

import numpy as np
import scipy.sparse

import assign

PROVED = {
    "Assignment": ("row", "col", "cost", "row_price", "col_price"),
    "BatchAssignment": ("col_of_row", "row_price", "col_price", "feasible", "cost"),
}


class Given:
    """The costs of a problem, by a seed."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.cost = rng.integers(-(10**6), 10**6, (6, 9))
        self.floats = rng.normal(size=(6, 9))
        self.mask = rng.random((6, 9)) < 0.7
        self.mask[np.arange(6), np.arange(6)] = True
        self.x, self.y = rng.random((7, 2)), rng.random((9, 2))
        self.limit = rng.integers(-500_000, 500_000, 6)
        self.limits = rng.integers(10**5, 4 * 10**5, (5, 4))
        self.batch = rng.integers(0, 10**6, (5, 4, 6))
        self.holes = np.where(rng.random((6, 4, 4)) < 0.4, rng.random((6, 4, 4)), np.inf)


def result(function, arguments, **options):
    """make(seed, device) of a call; `arguments` of the Given, `options` as they are, or functions of it."""

    def make(seed, device="cpu"):
        given = Given(seed)
        values = [np.array(value) if isinstance(value, np.ndarray) else value for value in arguments(given)]
        named = {name: value(given) if callable(value) else value for name, value in options.items()}
        arrays = [value for value in values if isinstance(value, np.ndarray)]
        arrays += [value for value in named.values() if isinstance(value, np.ndarray) and value.dtype != bool]
        return function(*values, device=device, **named), arrays

    return make


def solved(form, **options):
    return result(assign.solve, lambda given: [form(given)], **options)


def batch(form, **options):
    return result(assign.solve_batch, lambda given: [form(given)], **options)


def masked(g, other=0):
    return np.where(g.mask, g.cost, other)


RESULTS = {
    "integers": solved(lambda g: g.cost),
    "square": solved(lambda g: g.cost[:, :6]),
    "more rows": solved(lambda g: g.cost.T),
    "int16": solved(lambda g: (g.cost // 100).astype(np.int16)),
    "floats": solved(lambda g: g.floats),
    "Fortran": solved(lambda g: np.asfortranarray(g.floats)),
    "float32, more rows": solved(lambda g: g.floats.T.astype(np.float32)),
    "maximize": solved(lambda g: g.cost, maximize=True),
    "mask": solved(lambda g: g.cost, mask=lambda g: g.mask),
    "inf, maximize": solved(lambda g: np.where(g.mask, g.floats, -np.inf), maximize=True),
    "sparse": solved(lambda g: scipy.sparse.csr_array(masked(g))),
    "sparse floats": solved(lambda g: scipy.sparse.coo_array(np.where(g.mask, g.floats, 0))),
    "limit": solved(lambda g: g.cost, max_cost=-400_000),
    "limit, more rows": solved(lambda g: g.cost.T, max_cost=-400_000),
    "limits": solved(lambda g: g.cost, max_cost=lambda g: g.limit),
    "limits, more rows": solved(lambda g: g.cost[:, :4], max_cost=lambda g: g.limit),
    "fraction, mask": solved(lambda g: g.cost, mask=lambda g: g.mask, max_cost=-300_000.5),
    "limit, maximize": solved(lambda g: g.cost, max_cost=400_000, maximize=True),
    "cost scaling": solved(lambda g: g.cost, method="cost_scaling"),
    "points": result(assign.solve_points, lambda g: [g.x, g.y]),
    "points, more rows": result(assign.solve_points, lambda g: [g.y, g.x], metric="cityblock"),
    "points, limit": result(assign.solve_points, lambda g: [g.x, g.y], max_cost=0.3),
    "batch": batch(lambda g: g.batch),
    "batch, floats, more rows": batch(lambda g: np.swapaxes(g.batch, 1, 2) / 7),
    "batch, maximize": batch(lambda g: g.batch, maximize=True),
    "batch, limits": batch(lambda g: g.batch, max_cost=lambda g: g.limits),
    "batch, fraction": batch(lambda g: g.batch, max_cost=250_000.5),
    "batch of sizes": batch(lambda g: [g.cost, g.cost.T, g.cost[:3, :3], g.floats]),
    "batch with holes": batch(lambda g: g.holes),
}


def changed(array):
    """A named change of an argument, of all its entries, as a few need not matter."""
    yield "reversed", array[::-1] * 2 + 1

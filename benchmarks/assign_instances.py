"""Instances of assignment problems: NAME -> function(n, rng) -> costs.

Families are the usual ones of the literature (Burkard, Dell'Amico, Martello, "Assignment Problems", section 4.10;
the DIMACS challenge), and the frame pairs this library is made for.  Costs are int32: every value is checked exactly.
"""

import numpy as np
import scipy.sparse
from scipy.spatial import cKDTree


def uniform(highest):
    """Whole numbers 0 ... highest(n)."""
    return lambda n, rng: rng.integers(0, highest(n) + 1, (n, n), dtype=np.int32)


def geometric(scale):
    """Distances between random points of the unit square, times `scale`."""

    def build(n, rng):
        a, b = rng.random((n, 2)), rng.random((n, 2))
        out = np.empty((n, n), np.int32)
        for i in range(n):
            out[i] = np.rint(scale * np.hypot(a[i, 0] - b[:, 0], a[i, 1] - b[:, 1]))
        return out

    return build


def tracking(n, rng, gate=100):
    """Points of two frames that moved by a few pixels: squared distances, cut off at gate squared."""
    side = 32.0 * np.sqrt(n)
    a = rng.random((n, 2)) * side
    b = (a + rng.normal(0, 3, (n, 2)))[rng.permutation(n)]
    out = np.empty((n, n), np.int32)
    for i in range(n):
        out[i] = np.rint(np.minimum(((a[i] - b) ** 2).sum(axis=1), gate * gate))
    return out


def fixed_charge(n, rng):
    """A number for each row and each column, and noise up to 100."""
    rows, cols = rng.integers(0, 10**6, (n, 1)), rng.integers(0, 10**6, (1, n))
    return (rows + cols + rng.integers(0, 101, (n, n))).astype(np.int32)


def two_cost(n, rng):
    """On average four cheap pairs per row, 0 ... 100; all others cost a million more."""
    cost = rng.integers(0, 101, (n, n), dtype=np.int32)
    cost[rng.random((n, n)) >= 4.0 / n] += 10**6
    return cost


def machol_wien(n, rng):
    """i * j: every shortest path is long (Machol and Wien 1976)."""
    i = np.arange(1, n + 1, dtype=np.int32)
    return np.multiply.outer(i, i)


def low_rank(rank):
    """Products of two random factors."""
    return lambda n, rng: (rng.integers(0, 1000, (n, rank)) @ rng.integers(0, 1000, (rank, n))).astype(np.int32)


DENSE = {
    "u100": uniform(lambda n: 100),
    "u[0,n]": uniform(lambda n: n),
    "u[0,10n]": uniform(lambda n: 10 * n),
    "u1e6": uniform(lambda n: 10**6),
    "geometric 1e3": geometric(1e3),
    "geometric 1e6": geometric(1e6),
    "fixed-charge": fixed_charge,
    "two-cost": two_cost,
    "Machol-Wien": machol_wien,
    "low rank 2": low_rank(2),
    "low rank 8": low_rank(8),
    "tracking": tracking,
}
RECTANGULAR = {
    f"{name}, n x 2n": lambda n, rng, build=DENSE[name]: np.ascontiguousarray(build(2 * n, rng)[:n])
    for name in ("u1e6", "geometric 1e3", "tracking")
}


def sparse_of(rows, cols, cost, n) -> scipy.sparse.csr_array:
    """Of pairs named twice the first is kept; costs of 0 stay."""
    key, first = np.unique(rows.astype(np.int64) * n + cols, return_index=True)
    indptr = np.zeros(n + 1, np.int32)
    np.cumsum(np.bincount(key // n, minlength=n), out=indptr[1:])
    return scipy.sparse.csr_array((cost[first].astype(np.int32), (key % n).astype(np.int32), indptr), shape=(n, n))


def nearest(scale):
    """The 12 nearest of each point in the other set, both ways, and a random assignment so that there is one."""

    def build(n, rng, k=12):
        x, y = rng.random((n, 2)), rng.random((n, 2))
        every = np.arange(n)
        rows = np.concatenate([np.repeat(every, k), cKDTree(x).query(y, k)[1].ravel(), every])
        cols = np.concatenate([cKDTree(y).query(x, k)[1].ravel(), np.repeat(every, k), rng.permutation(n)])
        return sparse_of(rows, cols, np.rint(scale * np.linalg.norm(x[rows] - y[cols], axis=1)), n)

    return build


def random_arcs(highest):
    """16 random columns a row, and a random assignment."""

    def build(n, rng, degree=16):
        rows = np.concatenate([np.repeat(np.arange(n), degree), np.arange(n)])
        cols = np.concatenate([rng.integers(0, n, n * degree), rng.permutation(n)])
        return sparse_of(rows, cols, rng.integers(1, highest + 1, len(rows)), n)

    return build


SPARSE = {
    "nearest 1e3": nearest(1e3),
    "nearest 1e6": nearest(1e6),
    "random 1e5": random_arcs(10**5),
    "random 100": random_arcs(100),
}
BATCHED = ("u100", "u1e6", "geometric 1e3", "tracking")


def stack(name, count, n, rng) -> np.ndarray:
    """Unlike problems of one family, (count, n, n)."""
    return np.stack([DENSE[name](n, rng) for _ in range(count)])

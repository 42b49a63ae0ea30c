"""`python -m benchmarks assign_everyday`: the matrices that people match with, against SciPy and lapx.

Processor milliseconds of one thread, least of interleaved calls.  "lapx" is the fastest of its functions: lapjv,
lapjvs (in single precision for float32) and lapjvr (of rectangles) get the matrix as it is; lapmod reads the pairs
below the highest cost from it, if most have that and a matching of the others is optimal.  A row appears only if the
certificate of `assign.solve` holds and all costs agree.
"""

import time
from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

import assign
from benchmarks import command
from benchmarks.table import geometric_mean, markdown
from benchmarks.timing import least

SIZES = (50, 100, 200, 400, 600, 601, 1000, 2000, 3000)
QUICK_SIZES = (100, 200, 400, 601, 1000)
SHAPES = {"n x n": (1, 1), "n x 2n": (1, 2), "n x n/3": (3, 1)}
DTYPES = ("float64", "float32", "int32")
TOLERANCE = {"float64": 1e-6, "int32": 1e-6, "float32": 1e-4}  # of total costs, relative
INTEGER_STEPS = 1000  # integers: the range of a family's float costs is divided into this many times n steps
LAPMOD_MAX = 1e6  # it refuses higher costs
MORE = 5  # times as many rounds of matrices that take less than a second
MAX_RUN = 1.0  # seconds: a program that is foreseen to take longer runs only if the others are not faster


def boxes(k, rng, side=1000.0):
    """(k, 4): corners of boxes of 20 to 120 pixels."""
    low = rng.random((k, 2)) * side
    return np.hstack([low, low + rng.uniform(20, 120, (k, 2))])


def overlaps(a, b):
    """Intersection over union of boxes, and the generalised form, each (n, m)."""
    sides = [np.minimum(a[:, None, d + 2], b[:, d + 2]) - np.maximum(a[:, None, d], b[:, d]) for d in (0, 1)]
    hulls = [np.maximum(a[:, None, d + 2], b[:, d + 2]) - np.minimum(a[:, None, d], b[:, d]) for d in (0, 1)]
    inside = np.maximum(sides[0], 0) * np.maximum(sides[1], 0)
    area = [(c[:, 2] - c[:, 0]) * (c[:, 3] - c[:, 1]) for c in (a, b)]
    union = area[0][:, None] + area[1] - inside
    hull = hulls[0] * hulls[1]
    return inside / union, inside / union - (hull - union) / hull


def moved(points, m, rng, noise):
    """The points of the next frame, (m, d): moved, shuffled, and others if m is larger."""
    low, high = points.min(axis=0), points.max(axis=0)
    others = rng.uniform(low, high, (max(m - len(points), 0), points.shape[1]))
    following = np.vstack([points + noise * rng.standard_normal(points.shape), others])
    return following[rng.permutation(len(following))[:m]]


def two_frames(n, m, rng, noise=3.0):
    """Distances of points that moved by a few pixels."""
    points = rng.random((n, 2)) * 30 * np.sqrt(n)
    return cdist(points, moved(points, m, rng, noise))


def points(d, metric="euclidean"):
    return lambda n, m, rng: cdist(rng.random((n, d)), rng.random((m, d)), metric)


def features(n, m, rng, noise):
    """Cosine distances of unit vectors, of the same things seen twice if there is noise."""
    a = rng.standard_normal((n, 64))
    b = moved(a, m, rng, noise) if noise else rng.standard_normal((m, 64))
    return 1 - (a / np.linalg.norm(a, axis=1)[:, None]) @ (b / np.linalg.norm(b, axis=1)[:, None]).T


def detections(n, m, rng):
    """Costs of a set-prediction loss: class probability, box distance, generalised overlap."""
    a, b = boxes(n, rng) / 1000, boxes(m, rng) / 1000
    return 5 * cdist(a, b, "cityblock") - 2 * overlaps(a, b)[1] - rng.random((n, 20))[:, rng.integers(0, 20, m)]


def difference(n, m, rng):
    return rng.random(m) - rng.random((n, 1))


def lateness(n, m, rng):
    d = difference(n, m, rng)
    return np.where(d < 0, -5 * d, d)


def outer(n, m, rng, rank, noise=0.0):
    return rng.random((n, rank)) @ rng.random((rank, m)) + noise * rng.random((n, m))


def mostly(constant, share):
    """Uniform costs, of which most are a constant; a permutation is cheap."""

    def build(n, m, rng):
        cost = np.where(rng.random((n, m)) < share, constant, rng.random((n, m)))
        k = min(n, m)
        cost[np.arange(k), rng.permutation(m)[:k]] = rng.random(k)
        return cost

    return build


def hidden_permutation(n, m, rng):
    cost = rng.random((n, m)) + 0.5
    k = min(n, m)
    cost[np.arange(k), rng.permutation(m)[:k]] = 0.6 * rng.random(k)
    return cost


FAMILIES = {
    "1 - IoU of unrelated boxes": lambda n, m, rng: 1 - overlaps(boxes(n, rng), boxes(m, rng))[0],
    "1 - IoU of boxes that moved": lambda n, m, rng: (lambda a: 1 - overlaps(a, moved(a, m, rng, 5.0))[0])(
        boxes(n, rng, 50 * np.sqrt(n))
    ),
    "1 - generalised IoU": lambda n, m, rng: 1 - overlaps(boxes(n, rng), boxes(m, rng))[1],
    "two frames, distances": two_frames,
    "two frames, squares": lambda n, m, rng: two_frames(n, m, rng) ** 2,
    "two frames, far pairs clipped": lambda n, m, rng: np.minimum(two_frames(n, m, rng, 20.0), 60),
    "two frames, far pairs blocked with 1e6": lambda n, m, rng: (lambda d: np.where(d < 60, d, 1e6))(
        two_frames(n, m, rng, 20.0)
    ),
    "appearance and motion": lambda n, m, rng: features(n, m, rng, 0.5) + 0.02 * np.minimum(two_frames(n, m, rng), 100),
    "cosines of unrelated features": lambda n, m, rng: features(n, m, rng, 0),
    "cosines of features seen twice": lambda n, m, rng: features(n, m, rng, 1.0),
    "set-prediction loss": detections,
    "|x - y| on a line": points(1),
    "(x - y)^2 on a line": points(1, "sqeuclidean"),
    "|x - y| clipped": lambda n, m, rng: np.minimum(np.abs(difference(n, m, rng)), 0.05),
    "lateness": lateness,
    "differences of ranks": lambda n, m, rng: np.abs(rng.permutation(n)[:, None] - rng.permutation(m)).astype(float),
    "max(x, y)": lambda n, m, rng: np.maximum(rng.random((n, 1)), rng.random(m)),
    "distances in the plane": points(2),
    "squares in the plane": points(2, "sqeuclidean"),
    "city-block in the plane": points(2, "cityblock"),
    "distances in space": points(3),
    "distances in 128 dimensions": points(128),
    "bits that differ": lambda n, m, rng: cdist(rng.random((n, 64)) < 0.5, rng.random((m, 64)) < 0.5, "cityblock"),
    "whole numbers below 10": lambda n, m, rng: rng.integers(0, 10, (n, m)).astype(float),
    "0 or 1": lambda n, m, rng: rng.integers(0, 2, (n, m)).astype(float),
    "uniform": lambda n, m, rng: rng.random((n, m)),
    "normal": lambda n, m, rng: rng.standard_normal((n, m)),
    "-log of probabilities": lambda n, m, rng: -np.log(rng.dirichlet(np.full(m, 0.3), n) + 1e-12),
    "97 % blocked with 1e6": mostly(1e6, 0.97),
    "half blocked with 1e6": mostly(1e6, 0.5),
    "rows repeated ten times": lambda n, m, rng: rng.random((-(-n // 10), m))[rng.integers(0, -(-n // 10), n)],
    "products of two numbers": lambda n, m, rng: outer(n, m, rng, 1),
    "low rank and noise": lambda n, m, rng: outer(n, m, rng, 4, 0.01),
    "sums and noise": lambda n, m, rng: rng.random((n, 1)) + rng.random(m) + 1e-4 * rng.random((n, m)),
    "a permutation in noise": hidden_permutation,
}


def build(name, shape, n, dtype="float64", seed=None):
    """The costs of a family: reproducible, contiguous."""
    rows, cols = (max(1, side * n // max(SHAPES[shape])) if shape == "n x n/3" else side * n for side in SHAPES[shape])
    cost = FAMILIES[name](rows, cols, np.random.default_rng([n if seed is None else seed, len(name)]))
    if dtype == "int32":
        unit = (np.ptp(cost[cost < 1e6]) or 1.0) / (INTEGER_STEPS * n)
        cost = cost if (cost == np.rint(cost)).all() else np.minimum(np.rint(cost / unit), 10**9)
    return np.ascontiguousarray(cost, dtype)


def peers(cost) -> dict:
    """Name -> callable that returns the total cost, or a tuple that begins with it."""
    import lap

    def scipy():
        return cost[linear_sum_assignment(cost)].sum(dtype=np.float64)

    def lapmod():
        rows, columns = np.nonzero(cost < high)
        return lap.lapmod(n, cost[rows, columns].astype(float), np.searchsorted(rows, np.arange(n + 1)), columns)

    n, high = len(cost), cost.max()
    if n != cost.shape[1]:
        return {"SciPy": scipy} | {f: partial(getattr(lap, f), cost, extend_cost=True) for f in ("lapjv", "lapjvr")}
    found = {"SciPy": scipy, "lapjv": partial(lap.lapjv, cost), "lapjvs": partial(lap.lapjvs, cost)}
    allowed = cost[cost < high]
    if 0 < allowed.size < cost.size / 2 and allowed.max() < LAPMOD_MAX and np.isclose(lapmod()[0], scipy()):
        found["lapmod"] = lapmod
    return found


def measure(name, shape, n, dtype, repeats, before):
    """One row of the table; the ratio is the best peer's time over ours.

    before   (name, shape, dtype, program) -> rows and seconds of its last run
    """
    cost = build(name, shape, n, dtype)
    found = assign.solve(cost, device="cpu")
    found.check()
    runs = peers(cost)
    expected = {}
    for who in runs:
        rows, seconds = before.get((name, shape, dtype, who), (n, 0.0))
        expected[who] = seconds * (n / rows) ** 3
    soonest = min(expected.values())
    runs = {who: run for who, run in runs.items() if expected[who] <= max(MAX_RUN, soonest)}
    for who, run in runs.items():
        begin = time.process_time()
        total = run()
        before[name, shape, dtype, who] = n, time.process_time() - begin
        total = float(total[0] if isinstance(total, tuple) else total)
        if abs(total - found.cost) > TOLERANCE[dtype] * max(1.0, abs(found.cost)):
            raise AssertionError(f"{name}, {n}, {dtype}: {who} found {total}, not {found.cost}")
    seconds, _ = least({"ours": lambda: assign.solve(cost, device="cpu"), **runs}, MORE * repeats, time.process_time)
    best = min(runs, key=seconds.get)
    lapx = min((who for who in runs if who.startswith("lap")), key=seconds.get, default=None)
    shown = ["-" if who not in seconds else f"{1e3 * seconds[who]:.3f}" for who in ("ours", "SciPy", lapx)]
    row = [name.replace("|", "\\|"), shape, str(n), dtype, found.method, *shown]
    return [*row, lapx or "-", f"{seconds[best] / seconds['ours']:.2f}"]


COLUMNS = ["costs", "shape", "n", "dtype", "method", "ours ms", "SciPy ms", "lapx ms", "", "best / ours"]


def main(argv):
    options = parser().parse_args(argv)
    names = options.families or (tuple(FAMILIES)[::3] if options.quick else tuple(FAMILIES))
    command.known_instances(names, FAMILIES)
    report = command.begin("assign on everyday matrices", ["numba", "numpy", "scipy", "lapx"])
    sizes = options.sizes or (QUICK_SIZES if options.quick else SIZES)
    before: dict = {}
    rows = command.shown(  # families inside, so that each runs with ascending n
        measure(name, shape, n, dtype, options.repeats, before)
        for shape in options.shapes or SHAPES
        for dtype in options.dtypes or DTYPES
        for n in sizes
        for name in names
    )
    ratios = [float(row[-1]) for row in rows]
    means = f"Best peer over ours: geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}"
    return command.finish(report, f"{markdown(COLUMNS, rows)}\n\n{means}; {len(rows)} rows.", options.save)


def parser():
    options = command.parser("assign_everyday", __doc__, "assign-everyday", repeats=5)
    options.add_argument("families", nargs="*", help="families (default: all)")
    options.add_argument("--quick", action="store_true", help="every third family, five sizes")
    options.add_argument("--sizes", type=lambda s: [int(n) for n in s.split(",")], help="numbers of rows")
    options.add_argument("--shapes", nargs="+", choices=SHAPES, help="default: all")
    options.add_argument("--dtypes", nargs="+", choices=DTYPES, help="default: all")
    return options

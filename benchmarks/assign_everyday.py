"""`python -m benchmarks assign_everyday`: the matrices that people match with, against SciPy and lapx.

Processor milliseconds of one thread, least of interleaved calls.  "lapx" is the fastest of its functions: lapjv,
lapjvs (in single precision for float32) and lapjvr (of rectangles) get the matrix as it is; lapmod reads the pairs
below the highest cost from it, if most have that and a matching of the others is optimal.  A row appears only if the
certificate of `assign.solve` holds and all costs agree.

`--steps` compares n and n + 1 rows, and shows those of which one takes more than 1.5 times as long.  `--points`
compares `assign.solve_points` with `assign.solve` of the matrix that SciPy's cdist computes, its time included.

A long run in parts: `--shard K N FILE` takes every Nth family and appends its rows to FILE; a second call continues
after the last of them.  `--merge FILE ...` makes the table of the rows in such files.
"""

import json
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

import assign
from benchmarks import command
from benchmarks.table import geometric_mean, markdown

SIZES = (50, 100, 200, 400, 600, 601, 1000, 2000, 3000)
QUICK_SIZES = (100, 200, 400, 601, 1000)
STEP_SIZES = (*range(90, 1200, 10), 179, 299, 319, 479, 724)  # where a rule of the solver changes, too
POINT_SIZES = (500, 1000, 2000, 2100, 3000, 5000)
SHAPES = {"n x n": (1, 1), "n x 2n": (1, 2), "n x n/3": (3, 1)}
DTYPES = ("float64", "float32", "int32")
TOLERANCE = {"float64": 1e-6, "int32": 1e-6, "float32": 1e-4}  # of total costs, relative
MAX_STEP, STEP_SAMPLES, SURE_SAMPLES = 1.5, 3, 9  # ratio of times; matrices per size, and if the ratio is exceeded
INTEGER_STEPS = 1000  # integers: the range of a family's float costs is divided into this many times n steps
LAPMOD_MAX = 1e6  # it refuses higher costs
MAX_SECONDS = 1.0  # of all calls of a program on one matrix, after the first three
MORE, ENOUGH_SECONDS = 5, 0.01
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


def unrelated(draw, n_ratio=1.0, m_ratio=1.0):
    """Two sets of independent points."""
    return lambda n, d, rng: (draw(int(n * n_ratio), d, rng), draw(int(n * m_ratio), d, rng))


def displaced(noise, draw=lambda n, d, rng: rng.random((n, d))):
    """Points that moved by a multiple of their mean distance."""

    def build(n, d, rng):
        x = draw(n, d, rng)
        return x, (x + noise * n ** (-1 / d) * rng.standard_normal(x.shape))[rng.permutation(n)]

    return build


def uniform(n, d, rng):
    return rng.random((n, d))


def clusters(n, d, rng):
    return rng.random((8, d))[rng.integers(0, 8, n)] + 0.01 * rng.standard_normal((n, d))


def sphere(n, d, rng):
    points = rng.standard_normal((n, d))
    return points / np.linalg.norm(points, axis=1)[:, None]


def pixels(side):
    return lambda n, d, rng: rng.integers(0, side, (n, d)).astype(float)


POINT_FAMILIES = {
    "uniform": unrelated(uniform),
    "normal": unrelated(lambda n, d, rng: rng.standard_normal((n, d))),
    "long tails": unrelated(lambda n, d, rng: rng.standard_cauchy((n, d))),
    "clusters, moved": displaced(0.1, clusters),
    "clusters": unrelated(clusters),
    "moved by 0.1": displaced(0.1),
    "moved by 0.3": displaced(0.3),
    "moved by 1": displaced(1.0),
    "moved by 3": displaced(3.0),
    "not moved": displaced(0.0),
    "n and 2n": unrelated(uniform, 1, 2),
    "n and n/3": unrelated(uniform, 1, 1 / 3),
    "n and n/3 clusters": unrelated(clusters, 1, 1 / 3),
    "sets that do not overlap": lambda n, d, rng: (uniform(n, d, rng), uniform(n, d, rng) + 3),
    "sets that overlap by half": lambda n, d, rng: (uniform(n, d, rng), uniform(n, d, rng) + 0.5),
    "one set twice as wide": lambda n, d, rng: (uniform(n, d, rng), 2 * uniform(n, d, rng) - 0.5),
    "few places": unrelated(pixels(6)),
    "pixels": unrelated(pixels(100)),
    "pixels, moved": displaced(0.0, pixels(100)),
    "on a sphere": unrelated(sphere),
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


def processor_seconds(runs, repeats) -> dict:
    """Least processor seconds of several callables, which take turns; each round begins with another one.

    Short ones run up to MORE times as often, until each has taken ENOUGH_SECONDS.

    The first one after a copy of the matrix by another program finds less of it in the caches.
    """
    taken = {name: [] for name in runs}
    for turn in range(MORE * repeats):
        if turn >= repeats and min(map(sum, taken.values())) > ENOUGH_SECONDS:
            break
        for name in sorted(runs, key=lambda name: (list(runs).index(name) - turn) % len(runs)):
            run = runs[name]
            if len(taken[name]) >= 3 and sum(taken[name]) > MAX_SECONDS or taken[name][:1] > [MAX_SECONDS]:
                continue
            begin = time.process_time()
            run()
            taken[name].append(time.process_time() - begin)
    return {name: min(times) for name, times in taken.items()}


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
    least = min(expected.values())
    runs = {who: run for who, run in runs.items() if expected[who] <= max(MAX_RUN, least)}
    for who, run in runs.items():
        begin = time.process_time()
        total = run()
        before[name, shape, dtype, who] = n, time.process_time() - begin
        total = float(total[0] if isinstance(total, tuple) else total)
        if abs(total - found.cost) > TOLERANCE[dtype] * max(1.0, abs(found.cost)):
            raise AssertionError(f"{name}, {n}, {dtype}: {who} found {total}, not {found.cost}")
    seconds = processor_seconds({"ours": lambda: assign.solve(cost, device="cpu"), **runs}, repeats)
    best = min(runs, key=seconds.get)
    lapx = min((who for who in runs if who.startswith("lap")), key=seconds.get, default=None)
    shown = ["-" if who not in seconds else f"{1e3 * seconds[who]:.3f}" for who in ("ours", "SciPy", lapx)]
    row = [name.replace("|", "\\|"), shape, str(n), dtype, found.method, *shown]
    return [*row, lapx or "-", f"{seconds[best] / seconds['ours']:.2f}"]


def points_row(name, d, metric, n, repeats):
    """One row of the table of points; the ratio is the matrix's time over ours."""
    x, y = POINT_FAMILIES[name](n, d, np.random.default_rng([n, d, len(name)]))
    found = assign.solve_points(x, y, metric, device="cpu")
    found.check()
    runs = {
        "points": lambda: assign.solve_points(x, y, metric, device="cpu"),
        "matrix": lambda: assign.solve(cdist(x, y, metric), device="cpu"),
    }
    seconds = processor_seconds(runs, repeats)
    shown = [f"{1e3 * seconds[who]:.2f}" for who in runs]
    return [name, str(d), metric, str(n), found.method, *shown, f"{seconds['matrix'] / seconds['points']:.2f}"]


def steps(name, shape, n, dtype):
    """One row of the table of steps; the ratio is that of the times of n and n + 1 rows, the larger one above."""
    for samples in (STEP_SAMPLES, SURE_SAMPLES):
        taken = {n: [], n + 1: []}
        for seed in range(samples):
            for rows, times in taken.items():
                run = partial(assign.solve, build(name, shape, rows, dtype, seed), device="cpu")
                times.append(processor_seconds({"ours": run}, 3)["ours"])
        means = [geometric_mean(times) for times in taken.values()]
        if max(means) <= MAX_STEP * min(means):
            break
    shown = [name.replace("|", "\\|"), shape, str(n), dtype, *(f"{1e3 * mean:.3f}" for mean in means)]
    return [*shown, f"{max(means) / min(means):.2f}"]


COLUMNS = {
    "peers": ["costs", "shape", "n", "dtype", "method", "ours ms", "SciPy ms", "lapx ms", "", "best / ours"],
    "steps": ["costs", "shape", "n", "dtype", "n ms", "n + 1 ms", "ratio"],
    "points": ["points", "d", "metric", "n", "method", "points ms", "matrix ms", "matrix / points"],
}


def cases_of(options):
    """A function and the arguments of each row; families inside, so that each runs with ascending n."""
    known = POINT_FAMILIES if options.points else FAMILIES
    names = options.families or (tuple(known)[::3] if options.quick else tuple(known))
    if command.unknown_instance(names, known):
        return None
    if options.shard:
        names = names[int(options.shard[0]) :: int(options.shard[1])]
    shapes, dtypes = options.shapes or SHAPES, options.dtypes or DTYPES
    if options.points:
        sizes = options.sizes or POINT_SIZES
        metrics = ("euclidean", "sqeuclidean", "cityblock")
        return [
            (points_row, name, d, metric, n, options.repeats)
            for n in sizes
            for d in (1, 2, 3)
            for metric in metrics
            for name in names
        ]
    sizes = options.sizes or (STEP_SIZES if options.steps else QUICK_SIZES if options.quick else SIZES)
    cells = [(name, shape, n, dtype) for shape in shapes for dtype in dtypes for n in sizes for name in names]
    if options.steps:
        return [(steps, *cell) for cell in cells]
    before: dict = {}
    return [(measure, *cell, options.repeats, before) for cell in cells]


def summary(kind, rows) -> str:
    """The table of some rows, those of all kinds, and what all of them say together."""
    ratios = [float(row[-1]) for row in rows]
    if kind == "steps":
        rows = [row for row, ratio in zip(rows, ratios, strict=True) if ratio > MAX_STEP]
        means = f"{len(ratios)} pairs of sizes, {len(rows)} above {MAX_STEP}; the greatest {max(ratios):.2f}."
    else:
        than = "Best peer over ours" if kind == "peers" else "Matrix over points"
        means = f"{than}: geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}; {len(ratios)} rows."
    return f"{markdown(COLUMNS[kind], rows)}\n\n{means}"


def main(argv):
    options = parser().parse_args(argv)
    kind = "steps" if options.steps else "points" if options.points else "peers"
    if options.merge:
        parts = [Path(name).read_text(encoding="utf-8").splitlines() for name in options.merge]
        report = json.loads(parts[0][0])
        rows = [json.loads(line) for part in parts for line in part if line.startswith("[")]
        return command.finish(report, summary(kind, rows), options.save)
    cases = cases_of(options)
    if cases is None:
        return 2
    report = command.begin("assign on everyday matrices", ["numba", "numpy", "scipy", "lapx"])
    if not options.shard:
        rows = command.shown(function(*arguments) for function, *arguments in cases)
        return command.finish(report, summary(kind, rows), options.save)
    path = Path(options.shard[2])
    done = path.read_text(encoding="utf-8").count("\n") - 1 if path.exists() else -1
    with path.open("a", encoding="utf-8") as part:
        if done < 0:
            part.write(json.dumps(report) + "\n")
        for function, *arguments in cases[max(done, 0) :]:
            part.write(json.dumps(function(*arguments)) + "\n")
            part.flush()
    return 0


def parser():
    options = command.parser("assign_everyday", __doc__, "assign-everyday")
    options.add_argument("families", nargs="*", help="families (default: all)")
    options.add_argument("--quick", action="store_true", help="every third family, five sizes")
    options.add_argument("--sizes", type=lambda s: [int(n) for n in s.split(",")], help="numbers of rows")
    options.add_argument("--shapes", nargs="+", choices=SHAPES, help="default: all")
    options.add_argument("--dtypes", nargs="+", choices=DTYPES, help="default: all")
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--steps", action="store_true", help="times of n and n + 1 rows instead of those of peers")
    options.add_argument("--points", action="store_true", help="points and the matrix of their distances")
    options.add_argument("--shard", nargs=3, metavar=("K", "N", "FILE"), help="every Nth family, from K on, into FILE")
    options.add_argument("--merge", nargs="+", metavar="FILE", help="make the table of the rows in these files")
    return options

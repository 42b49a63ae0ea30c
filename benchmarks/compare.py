"""This checkout against another commit, alternately in one run: has anything become slower?

    python -m benchmarks compare COMMIT [--only gridcut,assign] [--case TEXT] [--rounds 9] [--save NAME]

The other commit is checked out into a temporary folder (or is one already: a path).  Two processes stay alive, one for
each checkout, and run every case alternately: public calls on the same arrays, kernels compiled and results certified
before the clock starts.  A ratio above 1 means that this checkout is slower.
"""

import contextlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import scipy.sparse

from benchmarks import command
from benchmarks.table import ROOT, geometric_mean, markdown

WORKER = Path(__file__).with_name("compare_worker.py")


class Case(NamedTuple):
    """A call: module and function of the product (or a name in compare_worker.py), and its arguments."""

    group: str
    name: str
    call: str
    arguments: tuple
    options: dict


def main(argv):
    options = _parser().parse_args(argv)
    report = command.begin("This checkout against another, in turns", ["numba", "numpy", "scipy"])
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        other = stack.enter_context(_checkout(options.commit, Path(folder)))
        cases = [case for case in all_cases(options.quick) if case.group in options.only and options.case in case.name]
        file = Path(folder) / "cases.pickle"
        file.write_bytes(pickle.dumps([tuple(case) for case in cases]))
        before, after = (stack.enter_context(Worker(tree, file, options.threads)) for tree in (other, ROOT))
        rows, ratios = [], {}
        for number, case in enumerate(cases):
            taken = {before: [], after: []}
            for worker in (before, after):
                worker.run(number, certify=True)
            for turn in range(options.rounds):
                for worker in (before, after) if turn % 2 else (after, before):
                    taken[worker].append(worker.run(number))
            old, new = (median(taken[worker]) for worker in (before, after))
            ratios.setdefault(case.group, []).append(new / old)
            rows.append([case.group, case.name, "✓", f"{1e3 * old:.3f}", f"{1e3 * new:.3f}", f"{new / old:.3f}"])
            print(" ".join(rows[-1]), flush=True)
    for group, found in ratios.items():
        rows.append([group, "geometric mean", "", "", "", f"{geometric_mean(found):.3f}"])
    columns = ["group", "case", "certified", "before ms", "now ms", "now / before"]
    threads = f"{options.threads} thread{'s' if options.threads > 1 else ''}"
    text = f"Before: {options.commit}. {options.rounds} rounds, medians, {threads}.\n\n"
    text += markdown(columns, rows)
    return command.finish(report, text, options.save)


@contextlib.contextmanager
def _checkout(commit: str, folder: Path):
    """A folder with the sources of another commit."""
    if Path(commit).is_dir():
        yield Path(commit).resolve()
        return
    tree = folder / "tree"
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), commit], cwd=ROOT, check=True)
    try:
        yield tree
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=False)


class Worker:
    """A process that imports the product from one checkout."""

    def __init__(self, tree: Path, cases: Path, threads: int):
        path = os.pathsep.join(filter(None, (str(tree), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path, "NUMBA_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(WORKER), str(tree), str(cases)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=tree,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()  # which ends it
        self.process.wait()
        self.process.stdout.close()

    def run(self, number: int, certify: bool = False) -> float:
        """Seconds of a call of one case."""
        self.process.stdin.write(json.dumps([number, certify]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("a worker ended without a result; the error is above")
        return json.loads(answer)


def all_cases(quick: bool):
    """The hot paths of the product; with `quick`, the same calls on tiny instances."""
    yield from gridcut_cases(quick)
    yield from assign_cases(quick)
    yield from matching_cases(quick)
    yield from app_cases(quick)


def gridcut_cases(quick: bool):
    from benchmarks.instances import EIGHT, SUITE, vessels

    names = ["astronaut", "ising camera", "grey hubble x2"]
    problems = {} if quick else {name: SUITE[name]() for name in names} | {"astronaut, 8": EIGHT["astronaut, 8"]()}
    if not quick:
        problems["vessels 64, 6"] = vessels(64, 6)
    for side in (8, 64):
        rng = np.random.default_rng(side)
        problem = (rng.integers(0, 99, (side, side)), rng.integers(0, 99, (side, side)), {(0, 1): 30, (1, 0): 30})
        yield Case("gridcut", f"random {side} x {side}", "gridcut.max_flow", problem, {})
        yield Case("gridcut", f"random {side} x {side}, warm", "warm", problem, {})
    for name, problem in problems.items():
        arguments = (problem.source, problem.sink, problem.edges)
        yield Case("gridcut", name, "gridcut.max_flow", arguments, {})
        if name == "astronaut":
            floats = (problem.source / 7, problem.sink / 7, {o: w / 7 for o, w in problem.edges.items()})
            yield Case("gridcut", f"{name}, float64", "gridcut.max_flow", floats, {})
            yield Case("gridcut", f"{name}, warm", "warm", arguments, {})
    for n in (20, 2000) if quick else (20, 2000, 100_000):
        rng = np.random.default_rng(n)
        graph = scipy.sparse.random_array((n, n), density=4 / n, format="csr", rng=rng)
        graph.data = np.ceil(50 * graph.data).astype(np.int64)
        problem = (graph, *rng.integers(0, 99, (2, n)))
        yield Case("graphs", f"random, {n} nodes", "gridcut.graph_max_flow", problem, {})
        yield Case("graphs", f"random, {n} nodes, warm", "warm_graph", problem, {})
    rng = np.random.default_rng(1)
    small = rng.integers(0, 99, (2, 20, 24, 24))
    yield Case("gridcut", "batch 20 x 24 x 24", "gridcut.max_flow_batch", (*small, {(0, 1): 30, (1, 0): 30}), {})
    side = 24 if quick else 200
    costs = rng.integers(0, 100, (6, side, side))
    difference = np.subtract.outer(range(6), range(6))
    cost = np.minimum(abs(difference), 2)
    weights = {(0, 1): 20, (1, 0): 20}
    yield Case("labels", f"expansion 6 x {side}^2", "gridcut.alpha_expansion", (costs, weights, cost), {})
    yield Case("labels", f"convex 6 x {side}^2", "gridcut.convex_labels", (costs, weights, abs(difference)), {})


def assign_cases(quick: bool):
    from benchmarks.assign_instances import DENSE, SPARSE

    for n in (10, 30, 100) if quick else (10, 30, 100, 1000, 2000):
        for family in ("u1e6", "geometric 1e3", "tracking"):
            cost = DENSE[family](n, np.random.default_rng(n))
            yield Case("assign", f"{family}, {n}", "assign.solve", (cost,), {})
    cost = DENSE["u1e6"](300, np.random.default_rng(0))
    yield Case("assign", "u1e6, 300, float64", "assign.solve", (cost / 3,), {})
    yield Case("assign", "u1e6, 300 x 200", "assign.solve", (cost[:, :200],), {"max_cost": 5000})
    for n in (10, 300):
        yield Case("assign", f"SciPy's function, {n}", "assign.linear_sum_assignment", (cost[:n, :n],), {})
    for family in ("nearest 1e3", "random 1e5"):
        sparse = SPARSE[family](200 if quick else 10_000, np.random.default_rng(2))
        yield Case("assign", f"sparse {family}", "assign.solve", (sparse,), {})
        yield Case("assign", f"sparse {family}, float64", "assign.solve", (sparse / 7,), {})
    cost = DENSE["u1e6"](10, np.random.default_rng(10))
    yield Case("assign", "sparse 10", "assign.solve", (scipy.sparse.csr_array(cost),), {})
    yield Case("assign", "sparse 10, float64", "assign.solve", (scipy.sparse.csr_array(cost / 7),), {})
    batch = np.random.default_rng(3).integers(0, 1000, (500, 30, 30))
    yield Case("assign", "batch 500 x 30", "assign.solve_batch", (batch,), {})
    for n in (20,) if quick else (20, 3000):
        points = np.random.default_rng(4).random((2, n, 2))
        yield Case("assign", f"points {n}", "assign.solve_points", tuple(points), {})


def matching_cases(quick: bool):
    from benchmarks import matching_graphs as generators

    graphs = {"grid 30^2": generators.road(30, 0.1)}
    if not quick:
        graphs |= {
            "delaunay 2^16": generators.delaunay(16),
            "uniform 2^17 3": generators.uniform(2**17, 3),
            "R-MAT 2^14": generators.rmat(14, 16, (0.45, 0.15, 0.15, 0.25)),
            "road 400^2": generators.road(400, 0.3),
        }
    for name, graph in graphs.items():
        yield Case("matching", name, "matching.maximum", (graph,), {})
        yield Case("matching", f"{name}, SciPy's function", "matching.maximum_bipartite_matching", (graph,), {})
    size = 8 if quick else 16
    plane = generators.delaunay(size)
    plane = scipy.sparse.csr_array(((plane + plane.T) > 0).astype(np.int64))
    weight = scipy.sparse.triu(plane, 1).tocsr()
    weight.data = np.random.default_rng(5).random(weight.nnz)
    weight = scipy.sparse.csr_array(weight + weight.T)
    for method in ("random", "sorted", "locally_dominant", "parallel"):
        yield Case("matching", f"greedy {method}", "matching.greedy", (weight,), {"method": method})
    yield Case("matching", f"block triangular 2^{size}", "matching.dulmage_mendelsohn", (plane,), {})


def app_cases(quick: bool):
    import skimage.data

    photo = skimage.data.astronaut()
    if quick:
        photo = np.ascontiguousarray(photo[::8, ::8])
    strokes = np.zeros(photo.shape[:2], np.uint8)
    h, w = strokes.shape
    strokes[h // 4 : h // 2, w // 3 : w // 2] = 1
    strokes[: h // 20 + 1] = 2
    yield Case("apps", "segment, strokes", "segment", (photo, strokes), {})
    small = np.ascontiguousarray(photo[::2, ::2])
    yield Case("apps", "flow, shifted", "flow", (small, np.roll(small, (2, 3), (0, 1))), {})


def _parser():
    options = command.parser("compare", __doc__, "compare")
    options.add_argument("commit", help="a commit, or a folder with another checkout")
    groups = ("gridcut", "graphs", "labels", "assign", "matching", "apps")
    options.add_argument("--only", type=lambda text: text.split(","), default=groups, metavar=",".join(groups))
    options.add_argument("--case", default="", metavar="TEXT", help="only the cases with this in their name")
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--quick", action="store_true", help="tiny instances")
    return options

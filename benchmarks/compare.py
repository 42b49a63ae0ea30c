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
import skimage.data

from benchmarks import command, graph_instances, matching_graphs, small
from benchmarks.assign_instances import DENSE, SPARSE, stack
from benchmarks.greedy import weighed
from benchmarks.instances import ALL
from benchmarks.matching_instances import PLAIN, QUICK
from benchmarks.table import ROOT, geometric_mean, markdown

WORKER = Path(__file__).with_name("compare_worker.py")


class Case(NamedTuple):
    """A call: module and function of the product (or a name in compare_worker.py), and its arguments."""

    group: str
    name: str
    call: str
    arguments: tuple
    options: dict = {}


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
    """The hot paths of the product on instances of the other benchmarks; with `quick`, the same calls on tiny ones."""
    yield from grid_cases(quick)
    for n in (20, 2000) if quick else (20, 2000, 100_000):
        graph = graph_instances.random(n, 4 * n)
        yield Case("graphs", f"random, {n} nodes", "gridcut.graph_max_flow", graph)
        yield Case("graphs", f"random, {n} nodes, warm", "warm_graph", graph)
    yield from assign_cases(quick)
    yield from matching_cases(quick)
    photo = np.ascontiguousarray(skimage.data.astronaut()[:: 8 if quick else 1, :: 8 if quick else 1])
    strokes = np.zeros(photo.shape[:2], np.uint8)
    h, w = strokes.shape
    strokes[h // 4 : h // 2, w // 3 : w // 2] = 1
    strokes[: h // 20 + 1] = 2
    yield Case("apps", "segment, strokes", "segment", (photo, strokes))
    small = np.ascontiguousarray(photo[::2, ::2])
    yield Case("apps", "flow, shifted", "flow", (small, np.roll(small, (2, 3), (0, 1))))


def grid_cases(quick: bool):
    problems = {f"random {n} x {n}": small.noise(n, np.random.default_rng(n)) for n in (8, 64)}
    if not quick:
        problems |= {name: ALL[name]() for name in ("astronaut", "ising camera", "astronaut, 8", "vessels 128, 6")}
    for name, problem in problems.items():
        arguments = (problem.source, problem.sink, problem.edges)
        yield Case("gridcut", name, "gridcut.max_flow", arguments)
        yield Case("gridcut", f"{name}, warm", "warm", arguments)
        floats = (problem.source / 7, problem.sink / 7, {o: w / 7 for o, w in problem.edges.items()})
        yield Case("gridcut", f"{name}, float64", "gridcut.max_flow", floats)
    weights = {(0, 1): 20, (1, 0): 20}
    stack = np.random.default_rng(1).integers(0, 99, (2, 20, 24, 24))
    yield Case("gridcut", "batch 20 x 24 x 24", "gridcut.max_flow_batch", (*stack, weights))
    side = 24 if quick else 200
    costs = np.random.default_rng(1).integers(0, 100, (6, side, side))
    difference = abs(np.subtract.outer(range(6), range(6)))
    yield Case("labels", f"expansion 6 x {side}^2", "gridcut.alpha_expansion", (costs, weights, difference.clip(max=2)))
    yield Case("labels", f"convex 6 x {side}^2", "gridcut.convex_labels", (costs, weights, difference))


def assign_cases(quick: bool):
    for n in (10, 30, 100) if quick else (10, 30, 100, 1000, 2000):
        for family in ("u1e6", "geometric 1e3", "tracking"):
            yield Case("assign", f"{family}, {n}", "assign.solve", (DENSE[family](n, np.random.default_rng(n)),))
    cost = DENSE["u1e6"](300, np.random.default_rng(0))
    yield Case("assign", "u1e6, 300, float64", "assign.solve", (cost / 3,))
    yield Case("assign", "u1e6, 300 x 200", "assign.solve", (cost[:, :200],), {"max_cost": 5000})
    for n in (10, 300):
        yield Case("assign", f"SciPy's function, {n}", "assign.linear_sum_assignment", (cost[:n, :n],))
    sparse = {name: SPARSE[name](200 if quick else 10_000, np.random.default_rng(2)) for name in SPARSE}
    for name, costs in (sparse | {"10": scipy.sparse.csr_array(cost[:10, :10])}).items():
        yield Case("assign", f"sparse {name}", "assign.solve", (costs,))
        yield Case("assign", f"sparse {name}, float64", "assign.solve", (costs / 7,))
    yield Case("assign", "batch 500 x 30", "assign.solve_batch", (stack("u100", 500, 30, np.random.default_rng(3)),))
    for n in (20,) if quick else (20, 3000):
        yield Case("assign", f"points {n}", "assign.solve_points", tuple(np.random.default_rng(4).random((2, n, 2))))


def matching_cases(quick: bool):
    for name in QUICK if quick else ("rmat 2^18", "road 1000^2", "uniform 3"):
        graph = (QUICK | PLAIN)[name]()
        yield Case("matching", name, "matching.maximum", (graph,))
        yield Case("matching", f"{name}, SciPy's function", "matching.maximum_bipartite_matching", (graph,))
    plane = matching_graphs.delaunay(8 if quick else 16)
    for method in ("random", "sorted", "locally_dominant", "parallel"):
        yield Case("matching", f"greedy {method}", "matching.greedy", (weighed(plane),), {"method": method})
    yield Case("matching", "block triangular", "matching.dulmage_mendelsohn", (plane,))


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

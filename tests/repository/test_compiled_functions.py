"""How many functions a first use compiles: each one makes the first answer of a new installation come later.

One process runs all jobs in this order without stored kernels, so a job counts what those before it have not compiled.
FUNCTIONS holds the functions of this project, and those of numba itself (np.empty, min, ...) that kernels call, for
each combination of types.  The numbers only ever go down, except in a commit that says what a kernel buys.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = ("gridcut", "assign", "matching", "apps")
FUNCTIONS = {
    "max_flow": (29, 0),
    "pymaxflow": (11, 1),
    "expansion": (15, 0),
    "solve": (9, 4),
    "batch": (17, 4),
    "maximum": (19, 8),
    "strokes": (28, 2),
    "box": (1, 1),
    "superpixels": (22, 13),
    "denoise": (8, 1),
    "flow": (38, 11),
}
NUMBA = "0.68"  # whose own functions are counted

JOBS = """
import json, sys
import numpy as np, scipy.sparse
from numba.core import event
import assign, gridcut, matching
from apps.cli import main
from gridcut.compat import maxflow

random = np.random.default_rng(0)
compiled = {}


class Listener(event.Listener):
    def on_start(self, started):
        pass

    def on_end(self, ended):
        function = ended.data["dispatcher"].py_func
        compiled.setdefault(job, []).append(function.__module__ + "." + function.__qualname__)


def max_flow():
    gridcut.max_flow(*random.integers(0, 100, (2, 200, 300)), {(0, 1): 30, (1, 0): 30}, device="cpu")


def pymaxflow():
    graph = maxflow.GraphInt()
    nodes = graph.add_grid_nodes((100, 100))
    graph.add_grid_edges(nodes, 50)
    graph.add_grid_tedges(nodes, *random.integers(0, 100, (2, 100, 100)))
    graph.maxflow()
    graph.get_grid_segments(nodes)


def expansion():
    weights = dict.fromkeys(gridcut.neighbourhood(4), 20)
    gridcut.alpha_expansion(random.integers(0, 100, (60, 60, 4)), weights, device="cpu")


def solve():
    assign.solve(random.random((500, 480)), max_cost=0.05, device="cpu")


def batch():
    assign.solve_batch(random.random((20, 30, 30)), device="cpu")


def maximum():
    matching.maximum(scipy.sparse.random_array((2000, 2000), density=0.001, format="csr", rng=0), device="cpu")


def command(*arguments):
    assert main([*arguments, "--out", f"{sys.argv[2]}/{job}"]) == 0


def strokes():
    command("segment", "data/astronaut.jpg", "--strokes", "data/astronaut-strokes.png")


def box():
    command("segment", "data/astronaut.jpg", "--box", "60,20,400,500")


def superpixels():
    command("superpixels", "data/astronaut.jpg")


def denoise():
    command("denoise", "data/astronaut.jpg")


def flow():
    command("flow", "data/frame1.png", "data/frame2.png")


event.register("numba:compile", Listener())
for job in sys.argv[1].split():
    globals()[job]()
print("counted", json.dumps(compiled))
"""


@pytest.mark.slow
def test_a_first_use_compiles_few_functions(tmp_path):
    environment = os.environ | {"CUTMATCH_CACHE": "0", "PYTHONPATH": str(ROOT), "CUTMATCH_COMPILERS": "0"}
    command = [sys.executable, "-W", "ignore", "-c", JOBS, " ".join(FUNCTIONS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=900)
    assert done.returncode == 0, done.stderr
    compiled = json.loads(done.stdout.rpartition("counted")[2])
    more = {}
    for job, (most, most_of_numba) in FUNCTIONS.items():
        names = sorted(compiled.get(job, []))
        ours = [name for name in names if name.startswith(OURS)]
        if len(ours) > most or (len(names) - len(ours) > most_of_numba and numba.__version__.startswith(NUMBA)):
            more[job] = len(ours), len(names) - len(ours), names
    assert not more, "more functions than before; use other kernels, or fewer types of arguments"

"""The most serious defects that examinations have found, put back one at a time: the suite still finds each.

Each row is run in a copy of the project, by the tests that must fail.  On demand only, minutes for each row:
pytest -m thorough tests/test_defects.py
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 1800  # for compilation mostly
COPIED = ("gridcut", "assign", "matching", "cutmatch", "apps", "tests")


class Defect(NamedTuple):
    """What was wrong, by its name; the text of a file now, and as it was or would be with the defect; who notices."""

    name: str
    file: str
    right: str
    wrong: str
    test: str


DEFECTS = [
    Defect(
        "flows of graphs with leaves are not conserved",
        "gridcut/graph/graph_cut.py",
        "self._graph = complete_graph(problem, self._graph)",
        "assert complete_graph",
        "compat/test_flow_battery.py",
    ),
    Defect(
        "capacities of repeated entries wrap in 32 bits",
        "gridcut/graph/residual_graph.py",
        "        if total <= INT32_MAX:\n",
        "        if total:\n",
        "gridcut/graph/test_graph_flow.py",
    ),
    Defect(
        "sums of PyMaxflow's terminals wrap in 64 bits",
        "gridcut/compat/maxflow/flow_network.py",
        "is_large = self._dtype is np.int64 and",
        "is_large = self._dtype is None and",
        "compat/test_unlimited_integers.py",
    ),
    Defect(
        "products of PyMaxflow's weights and structures wrap in 64 bits",
        "gridcut/compat/maxflow/flow_network.py",
        "            if self._dtype is np.int64:\n                int64(",
        "            if self._dtype is None:\n                int64(",
        "compat/test_unlimited_integers.py",
    ),
    Defect(
        "a GraphSolver keeps flow beyond capacities that became smaller",
        "gridcut/graph/graph_warm.py",
        "                excess[v] += out\n",
        "",
        "gridcut/graph/test_graph_solver.py",
    ),
    Defect(
        "an error in a solve leaves half a state to the next one",
        "gridcut/graph/graph_solver.py",
        "held, self._held = self._held, None",
        "held = self._held",
        "gridcut/test_states.py::test_errors_at_lines",
    ),
    Defect(
        "an interrupted change of capacities stays half made",
        "gridcut/solver_states/host_state.py",
        "            for change in changes:\n                self._apply(change)\n            raise\n",
        "            raise\n",
        "gridcut/test_states.py::test_errors_at_lines",
    ),
    Defect(
        "a cut gives residuals of a Solver that has changed",
        "gridcut/solver_states/host_state.py",
        "            return\n        self.epoch += 1\n",
        "            return\n",
        "gridcut/test_solver.py",
    ),
    Defect(
        "capacities of a pixel that fit 32 bits one by one are summed in them",
        "gridcut/core/load.py",
        "return np.int32 if total <= INT32_MAX else np.int64",
        "return np.int32 if max(largest) <= INT32_MAX else np.int64",
        "gridcut/test_battery.py::test_max_flow[push_relabel fifo-False]",
    ),
    Defect(
        "unsigned costs beyond int64 become negative",
        "assign/core/problem.py",
        "(not array.size or array.max() <= INT64_MAX)",
        "array.ndim",
        "assign/test_arguments.py",
    ),
    Defect(
        "matrices without an assignment compile the solver",
        "assign/compat/small_pairs.py",
        "if scans <= MAX_SCANS and",
        "if 0 < scans <= MAX_SCANS and",
        "compat/test_scipy_assignments.py",
    ),
    Defect(
        "Karp and Sipser's threads leave the rows that the first one was to pick",
        "matching/initial/karp_sipser.py",
        "shared[0] = row\n",
        "shared[0] = end\n",
        "matching/test_inits.py",
    ),
    Defect(
        "a rough guess of grabCut is kept",
        "apps/compat/cv2.py",
        "(marks == OPEN).all() and _shows_outline(img, is_object):",
        "(marks == OPEN).all():",
        "compat/test_opencv.py",
    ),
]


def test_every_defect_can_be_put_back():
    for defect in DEFECTS:
        text = (ROOT / defect.file).read_text("utf-8")
        assert text.count(defect.right) == 1, f"{defect.file} has changed; the row of this defect must change with it"


@pytest.mark.thorough
@pytest.mark.parametrize("defect", [pytest.param(one, id=one.name) for one in DEFECTS])
def test_the_suite_finds(defect, tmp_path):
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "_kernels"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    file = tmp_path / defect.file
    file.write_text(file.read_text("utf-8").replace(defect.right, defect.wrong), "utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CUTMATCH_")}
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/{defect.test}"],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert found.returncode == 1, found.stdout[-4000:] + found.stderr[-4000:]
    assert "\nFAILED " in found.stdout, found.stdout[-4000:]

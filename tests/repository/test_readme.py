"""The README and the table of methods are complete, and the examples have the results they promise."""

import re
import subprocess
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
TABLE = (ROOT / "docs/algorithms/index.md").read_text("utf-8")


@pytest.mark.parametrize(("table", "problem"), [("methods", "max-flow"), ("graph.graph_flow", "cuts of sparse")])
def test_every_method_has_its_row_in_the_algorithm_table(table, problem):
    """A new method needs a row: paper, file, devices, when it wins; the row links the files of its solvers."""
    METHODS = import_module(f"gridcut.{table}").METHODS
    rows = {row.split("|")[2].strip().strip("`"): row for row in TABLE.splitlines() if row.startswith(f"| {problem}")}
    assert set(METHODS) <= set(rows), "methods without a row in docs/algorithms/index.md"
    for method, entry in METHODS.items():
        linked = re.findall(r"\]\(\.\./\.\./(gridcut/[\w/]+\.py)\)", rows[method])
        assert linked, f"the row of {method} links no file"
        assert [file for file in linked if not (ROOT / file).is_file()] == []
        for implementation in filter(None, entry):
            assert implementation.solver.partition(":")[0].replace(".", "/") + ".py" in linked


def test_every_parameter_of_a_max_flow_method_is_documented():
    from gridcut.methods import METHODS

    text = (ROOT / "docs/algorithms/max-flow.md").read_text("utf-8")
    rows = [row for row in text.splitlines() if row.startswith("| `")]
    for method, entry in METHODS.items():
        for device, solver in (("CPU", entry.cpu), ("GPU", entry.cuda)):
            if solver is not None and solver.parameters:
                (row,) = (row for row in rows if f"`{method}`" in row.split("|")[1] and device in row.split("|")[2])
                assert set(re.findall(r"`(\w+)` \(", row)) == set(solver.parameters), row


def test_every_assignment_method_has_its_row():
    from assign.methods import METHODS

    rows = [row for row in TABLE.splitlines() if row.startswith("| assignment")]
    missing = [name for name in METHODS if not any(f"`{name}`" in row for row in rows)]
    assert missing == [], "methods without a row in docs/algorithms/index.md"


def test_every_matching_method_has_its_row():
    from matching.general.greedy_methods import GREEDY_METHODS
    from matching.methods import INITS, METHODS

    rows = [row for row in TABLE.splitlines() if "matching" in row.split("|")[1:2].__str__()]
    missing = [name for name in (*METHODS, *INITS, *GREEDY_METHODS) if not any(f"`{name}`" in row for row in rows)]
    assert missing == [], "methods without a row in docs/algorithms/index.md"


def results_of(module: str) -> dict:
    """Names that the example with this module defines; every example calls `check`."""
    (example,) = [e for e in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if f"import {module}\n" in e]
    assert ".check()" in example
    assert len(example.splitlines()) <= 10
    names = {}
    exec(example, names)
    return names


def test_example_of_a_cut(capsys):
    names = results_of("gridcut")
    wrong = np.mean(names["cut"].labels != names["truth"])
    assert wrong < 0.05 < np.mean(names["noisy"] != names["truth"])
    assert capsys.readouterr().out == f"{names['cut'].value} {wrong}\n"


def test_example_of_an_assignment(capsys):
    names = results_of("assign")
    a, cost = names["a"], names["cost"]
    assert 300 < len(a.row) < 480
    assert cost[a.row, a.col].max() <= 0.05
    assert cost[a.row, a.col].sum() == pytest.approx(a.cost)


def test_example_of_a_matching(capsys):
    names = results_of("matching")
    assert capsys.readouterr().out == f"{names['m'].cardinality} {names['m'].cardinality}\n"


def test_run_without_a_job_explains_itself():
    done = subprocess.run(["sh", ROOT / "run"], capture_output=True, encoding="utf-8")
    assert done.returncode == 2
    assert "./run demo" in done.stderr
    assert "./run tests" in done.stderr

"""The table of methods: parameters as the solvers have them, the rule for "auto", errors, and cheap choices."""

import importlib
import inspect
import sys
import time

import numpy as np
import pytest

from gridcut import methods
from gridcut.core.problem import check_problem
from gridcut.device.choose import numba_cuda_is_installed

# method, device, module of its solver
SOLVERS = [
    ("tiles", "cuda", "gridcut.tiles.tiles"),
    ("ibfs", "cpu", "gridcut.ibfs.ibfs"),
    ("push_relabel", "cpu", "gridcut.papers.push_relabel"),
    ("lock_free", "cpu", "gridcut.papers.lock_free"),
    ("lock_free", "cuda", "gridcut.papers.lock_free_cuda"),
    ("async_global", "cpu", "gridcut.papers.async_global"),
    ("hybrid", "cuda", "gridcut.papers.hybrid"),
    ("cudacuts", "cuda", "gridcut.papers.cudacuts"),
    ("cudacuts_pull", "cuda", "gridcut.papers.cudacuts_pull"),
]
CONTEXT = {"layout", "callback", "warm"}  # keywords of solvers that are not parameters of their methods


def keywords_of(function):
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]


def a_problem(offset=(0, 1)):
    return check_problem(np.ones((3, 4)), 1, {offset: 1}, None)


def test_every_solver_of_the_table_is_listed_here():
    listed = {(method, device) for method, device, _ in SOLVERS}
    table = {(name, d) for name, entry in methods.METHODS.items() for d in ("cpu", "cuda") if getattr(entry, d)}
    assert table == listed


def test_the_battery_runs_every_method(tools):
    """Except "tiles" and "ibfs", which "auto" selects."""
    on_cpu, on_cuda = ({solver for solver, _ in names.values()} for names in (tools.ON_CPU, tools.ON_CUDA))
    by_auto = {"auto", "tiles", "ibfs"}
    assert {name for name, entry in methods.METHODS.items() if entry.cpu} - by_auto == on_cpu - by_auto
    assert {name for name, entry in methods.METHODS.items() if entry.cuda} - by_auto == on_cuda - by_auto


@pytest.mark.parametrize(("name", "ran_on", "module"), SOLVERS)
def test_parameters_are_the_keywords_of_the_solver(name, ran_on, module):
    if ran_on == "cuda" and not numba_cuda_is_installed():
        pytest.skip("needs numba-cuda to import the solver")
    found = keywords_of(importlib.import_module(module).solve)
    entry = methods.METHODS[name].on(ran_on)
    assert entry.solver == f"{module}:solve"
    assert list(entry.parameters) == [keyword for keyword in found if keyword not in CONTEXT]
    assert "callback" in found


def test_the_default_on_the_cpu():
    assert methods.choose("cpu", "auto", a_problem(), {}) == ("cpu", "ibfs")
    assert methods.choose("cpu", "auto", a_problem((2, 3)), {}) == ("cpu", "ibfs")
    many = check_problem(np.ones((2, 40)), 1, {(0, i): 1 for i in range(1, 34)}, None)
    assert methods.choose("cpu", "auto", many, {}) == ("cpu", "push_relabel")


def test_unexpected_parameters_name_those_that_are_accepted():
    with pytest.raises(TypeError, match="'ibfs' got an unexpected parameter 'p'; it accepts no parameters"):
        methods.choose("cpu", "auto", a_problem(), {"p": 1})
    with pytest.raises(TypeError, match="'lock_free' got an unexpected parameter 'block'; it accepts threads, global"):
        methods.choose("cpu", "lock_free", a_problem(), {"threads": 2, "block": 1})


def test_choosing_imports_no_solver_and_takes_microseconds(monkeypatch):
    monkeypatch.delitem(sys.modules, "gridcut.papers.push_relabel", raising=False)
    problem = a_problem()
    seconds = []
    for _ in range(50):
        start = time.perf_counter()
        methods.choose("cpu", "push_relabel", problem, {"order": "fifo"})
        seconds.append(time.perf_counter() - start)
    assert "gridcut.papers.push_relabel" not in sys.modules
    assert min(seconds) < 50e-6


@pytest.mark.parametrize("name", ["hybrid", "cudacuts", "tiles"])
def test_methods_of_a_gpu_name_their_device(name):
    """device="auto" would fail as well on a machine without a GPU."""
    with pytest.raises(RuntimeError, match=f"method '{name}' does not run on device='cpu'; use device='cuda'"):
        methods.choose("cpu", name, a_problem(), {})

"""The table of methods: every entry calls its solver, and accepts exactly the keywords of that solver."""

import importlib
import inspect

import numpy as np
import pytest
import scipy.sparse

import assign
from assign.core.problem import Dense, check_problem
from assign.methods import METHODS, choose
from gridcut.device.choose import Implementation

FOLDERS = {
    "shortest_paths": {"dense": "dense.dense", "sparse": "sparse.sparse"},
    "jonker_volgenant": {"dense": "dense.jonker_volgenant"},
    "auction": {"dense": "dense.dense"},
}
CONTEXT = ("limit", "start", "callback")
INTERNAL = ("matched",)  # of the sparse solver, for solve_points
ENTRIES = [
    pytest.param(name, *field.split("_"), marks=[pytest.mark.sim] if field.endswith("cuda") else [])
    for name, method in METHODS.items()
    for field, entry in method._asdict().items()
    if isinstance(entry, Implementation)
]


def solver_of(name, form, device):
    """The module that a method's file is."""
    module = "assign." + FOLDERS.get(name, {}).get(form, f"papers.{name}")
    return importlib.import_module(module + ("_cuda" if device == "cuda" else ""))


@pytest.mark.parametrize(("name", "form", "device"), ENTRIES)
def test_parameters_are_the_keywords_of_the_solver(name, form, device):
    keywords = [
        p.name
        for p in inspect.signature(solver_of(name, form, device).solve).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.name not in (*CONTEXT, *INTERNAL)
    ]
    assert METHODS[name].find(form, device).parameters == tuple(keywords)


def test_small_problems_do_not_start_a_driver(monkeypatch):
    def resolve(device):
        raise AssertionError

    monkeypatch.setattr("assign.methods.resolve", resolve)
    problem = check_problem(np.eye(3), mask=None, maximize=False, max_cost=None)
    assert choose("auto", "auto", problem, {})[:2] == ("cpu", "shortest_paths")
    assert isinstance(problem.costs, Dense)


def test_the_cpu_starts_on_square_matrices_of_the_host(monkeypatch):
    monkeypatch.setattr("assign.methods.resolve", lambda device: "cuda")
    monkeypatch.setattr("assign.methods.GPU_MIN_ROWS", 3)

    def cpu_first(cost, device="auto", method="auto", parameters=(), max_cost=None):
        problem = check_problem(cost, mask=None, maximize=False, max_cost=max_cost)
        chosen = choose(device, method, problem, dict.fromkeys(parameters))
        assert chosen[:2] == ("cuda", "auction")
        return chosen.cpu_first

    square = np.eye(3)
    assert cpu_first(square)
    assert not cpu_first(square, device="cuda")
    assert not cpu_first(square, method="auction")
    assert not cpu_first(square, parameters=["alpha"])
    assert not cpu_first(square, max_cost=1.0)
    assert not cpu_first(np.ones((3, 4)))


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("auction", "method 'auction' does not support sparse costs; these do: 'shortest_paths', 'cost_scaling', "),
        ("hungarian", "method must be one of 'auto', 'shortest_paths', .*; got 'hungarian'"),
    ],
)
def test_unavailable_methods_are_rejected(method, message):
    with pytest.raises(ValueError, match=message):
        assign.solve(scipy.sparse.eye_array(2), method=method)


@pytest.mark.parametrize("options", [{"matched": [0, 1]}, {"limit": 3}, {"list_length": 4}])
def test_internal_keywords_are_rejected(options):
    with pytest.raises(TypeError, match="got an unexpected parameter .*; it accepts alpha, fine"):
        assign.solve(scipy.sparse.eye_array(2), **options)

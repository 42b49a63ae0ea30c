"""The choice of a method: where it runs, and what is rejected."""

import numpy as np
import pytest
import scipy.sparse

import assign
from assign.core.problem import Dense, check_problem
from assign.methods import choose


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

"""The table of methods: parameters as the solvers have them, the rule for "auto", errors, and cheap choices."""

import importlib
import inspect

import numpy as np
import pytest

from gridcut import methods
from gridcut.core.problem import check_problem
from gridcut.device.choose import numba_cuda_is_installed

CONTEXT = {"layout", "callback", "warm"}  # keywords of solvers that are not parameters of their methods


def keywords_of(function):
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]


def a_problem(offset=(0, 1)):
    return check_problem(np.ones((3, 4)), 1, {offset: 1}, None)


@pytest.mark.parametrize(
    ("name", "ran_on"),
    [(name, on) for name, entry in methods.METHODS.items() for on in ("cpu", "cuda") if getattr(entry, on)],
)
def test_parameters_are_the_keywords_of_the_solver(name, ran_on):
    if ran_on == "cuda" and not numba_cuda_is_installed():
        pytest.skip("needs numba-cuda to import the solver")
    entry = methods.METHODS[name].on(ran_on)
    module, function = entry.solver.split(":")
    found = keywords_of(getattr(importlib.import_module(module), function))
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


@pytest.mark.parametrize("name", ["hybrid", "cudacuts", "tiles"])
def test_methods_of_a_gpu_name_their_device(name):
    """device="auto" would fail as well on a machine without a GPU."""
    with pytest.raises(RuntimeError, match=f"method '{name}' does not run on device='cpu'; use device='cuda'"):
        methods.choose("cpu", name, a_problem(), {})

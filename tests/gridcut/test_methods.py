"""The choice of a method: the rule for "auto", and errors."""

import numpy as np
import pytest

from gridcut import methods
from gridcut.core.problem import check_problem


def a_problem(offset=(0, 1)):
    return check_problem(np.ones((3, 4)), 1, {offset: 1}, None)


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

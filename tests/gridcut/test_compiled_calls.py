"""Kernels that are called by their address, from serial and parallel kernels and without a compiler."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from gridcut.device import kernel, parallel_kernel
from gridcut.device.intrinsics import address_of, call_address


@kernel
def add_multiples(numbers, factor, found):
    """found += factor * numbers; raises IndexError if found is shorter."""
    if found.size < numbers.size:
        raise IndexError("found is too short")
    for i in range(numbers.size):
        found[i] += factor * numbers[i]


@kernel
def call_it(address, numbers, factor, found):
    call_address(address, (numbers, factor, found))


@parallel_kernel
def call_it_per_row(address, numbers, factor, found):
    for t in numba.prange(found.shape[0]):
        call_address(address, (numbers, factor, found[t]))


@pytest.mark.parametrize(("dtype", "factor"), [("int32", 3), ("float64", 0.5)])
def test_a_kernel_is_called_by_its_address(dtype, factor):
    numbers, found = np.arange(5, dtype=dtype), np.zeros(5)
    address = address_of(add_multiples, numbers, factor, found)
    call_it(address, numbers, factor, found)
    call_it(address, numbers, factor, found)
    assert found.tolist() == (2 * factor * numbers).tolist()
    assert address_of(add_multiples, numbers, factor, found) == address


def test_rows_in_parallel():
    numbers, found = np.arange(5.0), np.zeros((7, 5))
    call_it_per_row(address_of(add_multiples, numbers, 2.0, found[0]), numbers, 2.0, found)
    assert (found == 2 * numbers).all()


def test_an_error_of_the_callee_is_raised():
    numbers, found = np.arange(5.0), np.zeros(4)
    address = address_of(add_multiples, numbers, 2.0, found)
    with pytest.raises(IndexError, match="found is too short"):
        call_it(address, numbers, 2.0, found)


def test_batches_without_a_compiler():
    """NUMBA_DISABLE_JIT=1, where the address is the function."""
    code = """
import numpy as np
from assign.batch import batch
costs = np.random.default_rng(1).integers(0, 99, (2, 3, 3))
batch.MIN_COSTS_PER_THREAD = 1
col, u, v, status, stats = batch.solve(costs, threads=2)
print(stats["threads"], (col == batch.solve(costs, threads=1)[0]).all(), status.any())
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["2", "True", "False"]

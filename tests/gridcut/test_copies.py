"""Copies of results: they own what their certificates need, in other processes too."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import gridcut
from tests.gridcut.corruption import NEAR, capacities

COPIES = {"pickle": lambda result: pickle.loads(pickle.dumps(result)), "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_copies_of_cuts_of_a_solver_that_has_gone_on(how, device):
    source, sink, edges = capacities(3)
    solver = gridcut.Solver(source, sink, edges, device=device)
    first = solver.solve()
    early = COPIES[how](first)
    solver.update(source=sink)
    late = COPIES[how](first)
    early.check()
    assert late.value == first.value
    assert np.array_equal(late.labels, first.labels)
    for cut in (first, late, COPIES[how](late)):
        for ask in (cut.check, lambda cut=cut: cut.flow((0, 1)), lambda cut=cut: cut.residual((0, 1))):
            with pytest.raises(RuntimeError, match=r"call residual\(\), flow\(\) and check\(\) before that"):
                ask()


def test_cuts_come_back_from_other_processes():
    source, sink, edges = capacities(5)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        cut = pool.submit(gridcut.max_flow, source, sink, edges, device="cpu").result()
        batch = pool.submit(gridcut.max_flow_batch, source[None], sink, NEAR, device="cpu").result()
    cut.check()
    batch.check()
    assert cut.value == gridcut.max_flow(source, sink, edges, device="cpu").value

"""The device on which a multi-label energy is minimised, the checked energy on that device, and its descent."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from gridcut.device import DeviceName, resolve
from gridcut.device.arrays import on_device, to_host
from gridcut.device.sparse import is_sparse
from gridcut.multilabel.descent import Descent, run_all
from gridcut.multilabel.labelling import Labelling
from gridcut.multilabel.validation import LabelProblem, check_graph_labels, check_labels, check_shape


def check_energy(unary, weights, label_cost, device: DeviceName, *, metric: bool):
    """The checked energy on the device of its moves: a LabelProblem on the CPU, a DeviceProblem on a GPU."""
    ran_on = choose_device(device, unary, weights, expansions=metric)
    if is_sparse(weights):
        if ran_on == "cuda":
            raise ValueError(
                "weights of a graph are supported on the CPU only; copy unary to the host, use device='cpu'"
            )
        return check_graph_labels(unary, weights, label_cost, metric=metric)
    if ran_on == "cuda" and 0 in check_shape(np.shape(unary) if not on_device(unary) else unary.shape)[1]:
        unary, weights = to_host(unary), {o: to_host(w) for o, w in weights.items()}
        ran_on = "cpu"  # the grid has no pixels
    if ran_on == "cpu":
        return check_labels(unary, weights, label_cost, metric=metric)
    from gridcut.multilabel.problem_cuda import DeviceProblem  # numba.cuda, on first use

    return DeviceProblem(unary, weights, label_cost, metric=metric)


def choose_device(device: DeviceName, unary, weights, expansions: bool) -> str:
    """The device of the moves.  "auto" uses a GPU for arrays on it, and for expansions if the edges allow it.

    Swaps are thousands of moves of few pixels each; for them a CPU is as fast as a GPU or faster.
    """
    is_on_gpu = on_device(unary) or (isinstance(weights, Mapping) and any(map(on_device, weights.values())))
    if device == "cpu" and is_on_gpu:
        raise TypeError("unary or weights are on the GPU, but device='cpu' was requested; copy them to the host first")
    ran_on = resolve("cuda" if device == "auto" and is_on_gpu else device)
    if device == "auto" and not is_on_gpu and not (expansions and _has_direct_neighbours_only(weights)):
        return "cpu"
    return ran_on


def _has_direct_neighbours_only(weights) -> bool:
    """Whether all offsets are at most one pixel along each axis."""
    return isinstance(weights, Mapping) and all(
        abs(i) <= 1 for o in weights if isinstance(o, tuple) for i in o if isinstance(i, int)
    )


def descend(problem, arguments, start, moves, restarts, max_cycles, callback, started: float) -> Labelling:
    """Run a descent by `moves` and its restarts on the problem's device; returns the result.

    restarts   pairs of a function that perturbs labels, and the moves to make from there
    started    time.perf_counter() at the start of the public call
    """
    loading = time.perf_counter()
    make: Any = Descent
    if not isinstance(problem, LabelProblem):
        from gridcut.multilabel.descent_cuda import DeviceDescent as make  # numba.cuda, on first use
    descent = make(problem, start)
    solving = time.perf_counter()
    run_all(descent, moves, restarts, max_cycles, callback)
    seconds = {"check": loading - started, "load": solving - loading, "solve": time.perf_counter() - solving}
    return descent.result(arguments, moves, seconds)

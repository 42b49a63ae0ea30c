"""Invalid input: one case per message, which names the argument, the value received and what is accepted."""

# ruff: noqa: E501  (tables of cases, one per line)

import numpy as np
import pytest

import gridcut
from gridcut.device import cuda_is_available

GOOD = {"source": np.ones((3, 4), np.int64), "sink": np.ones((3, 4), np.int64), "edges": {(0, 1): 1, (1, 0): 1}}


def at(where, value, dtype=float):
    array = np.ones((3, 4), dtype)
    array[where] = value
    return array


class OnGpu:
    __cuda_array_interface__ = {}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"source": "a"}, TypeError, r"source must be an array of uint8, uint16, .*float64; got str"),
        ({"source": None}, TypeError, r"source must be an array of .*; got NoneType"),
        ({"source": np.ones((3, 4), complex)}, TypeError, r"source must be .*; got dtype complex128"),
        ({"sink": np.ones((3, 4), np.uint64)}, TypeError, r"sink must be .*; got dtype uint64"),
        ({"sink": np.ones((3, 4), object)}, TypeError, r"sink must be .*; got dtype object"),
        ({"source": [[1, 2], [3]]}, TypeError, r"source must be an array of numbers, got list"),
        ({"source": OnGpu()}, TypeError, r"source is an array on a GPU; copy it to the host first"),
        ({"source": 1, "sink": 1}, ValueError, r"source must have 1, 2 or 3 axes, got shape \(\)"),
        ({"source": np.ones((1, 2, 3, 4), int)}, ValueError, r"source must have 1, 2 or 3 axes, got shape \(1, 2, 3, 4\)"),
        ({"sink": np.ones((4, 3), int)}, ValueError, r"sink must have the shape of source, \(3, 4\), got \(4, 3\)"),
        ({"edges": [(0, 1)]}, TypeError, r"edges must be a mapping from offsets to capacities, .*; got list"),
        ({"edges": {"right": 1}}, TypeError, r"edges: an offset must be a tuple of 2 integers, got 'right'"),
        ({"edges": {(0.5, 1): 1}}, TypeError, r"edges: an offset must be a tuple of 2 integers, got \(0.5, 1\)"),
        ({"edges": {(0, 0, 1): 1}}, ValueError, r"edges: an offset must have 2 entries, .*, got \(0, 0, 1\)"),
        ({"edges": {(0, 0): 1}}, ValueError, r"edges: the offset \(0, 0\) connects a pixel to itself"),
        ({"edges": {(0, 1): np.ones((3, 3), int)}}, ValueError, r"edges\[\(0, 1\)\] must .*shape \(3, 4\), got shape \(3, 3\)"),
        ({"edges": {(0, 1): "x"}}, TypeError, r"edges\[\(0, 1\)\] must be an array"),
        ({"edges": {(0, 1): -1}}, ValueError, r"edges\[\(0, 1\)\] holds -1 at \(0, 0\); capacities must be 0 or more"),
        ({"source": at((1, 2), -3, int)}, ValueError, r"source holds -3 at \(1, 2\); capacities must be 0 or more"),
        ({"sink": at((2, 3), -0.5)}, ValueError, r"sink holds -0.5 at \(2, 3\); capacities must be 0 or more"),
        ({"sink": at((0, 1), np.nan)}, ValueError, r"sink holds nan at \(0, 1\); capacities must be numbers; use inf for arcs"),
        ({"sink": at((0, 1), -np.inf)}, ValueError, r"sink holds -inf at \(0, 1\); capacities must be 0 or more"),
        ({"edges": {(0, 1): at((2, 2), np.nan)}}, ValueError, r"edges\[\(0, 1\)\] holds nan at \(2, 2\)"),
        ({"source": np.full((3, 4), 2**62), "sink": np.full((3, 4), 2**62)}, ValueError, r"sum to .* the limit is 9223372036854775807"),
        ({"source": at((0, 0), np.inf), "sink": at((0, 0), np.inf)}, ValueError, r"every cut has infinite .* source, edges or sink finite"),
        ({"source": np.ma.MaskedArray(at((0, 0), 2), ~at((0, 0), 0, bool))}, TypeError, r"source is a masked array with 1 .*mask=~a.mask"),
        ({"sink": np.ma.MaskedArray(at((0, 0), 2), at((0, 0), 0, bool))}, TypeError, r"sink is a masked array with 11 "),
        ({"edges": {(0, 1): np.ma.MaskedArray(1, True)}}, TypeError, r"edges\[\(0, 1\)\] is a masked array"),
        ({"mask": np.ma.MaskedArray(at((0, 0), 1, bool), at((0, 0), 0, bool))}, TypeError, r"mask is a masked array"),
        ({"mask": np.ones((3, 4), int)}, TypeError, r"mask must be a bool array \(True: .*\), got dtype int64"),
        ({"mask": np.ones((4, 3), bool)}, ValueError, r"mask must have the grid's shape \(3, 4\), got shape \(4, 3\)"),
        ({"device": "tpu"}, ValueError, r"device must be 'auto', 'cpu' or 'cuda', got 'tpu'"),
        ({"device": 0}, TypeError, r"device must be 'auto', 'cpu' or 'cuda', got int"),
        ({"method": "dinic"}, ValueError, r"method must be one of 'auto', .*'push_relabel'.*; got 'dinic'"),
        ({"method": 3}, TypeError, r"method must be a name, got int"),
        ({"method": "push_relabel", "cycle": 3}, TypeError, r"method 'push_relabel' got an unexpected parameter 'cycle'; it accepts order, global_every, gap, exact_start"),
        ({"method": "push_relabel", "order": "lifo"}, ValueError, r"order must be 'fifo' or 'highest', got 'lifo'"),
        ({"method": "push_relabel", "gap": "no"}, TypeError, r"gap must be True or False, got 'no'"),
        ({"method": "push_relabel", "global_every": 0}, ValueError, r"global_every must be positive, got 0"),
        ({"method": "lock_free", "device": "cpu", "threads": 0}, ValueError, r"threads must be 1 or more, got 0"),
        ({"callback": 3}, TypeError, r"callback must be callable or None, got int"),
        ({"method": "async_global", "threads": 1}, ValueError, r"threads must be 2 or more, .*; got 1"),
    ],
)  # fmt: skip
def test_max_flow_rejects(change, error, message):
    if isinstance(change.get("source"), OnGpu) and cuda_is_available():
        pytest.skip("arrays on a GPU are accepted on this machine")
    with pytest.raises(error, match=message):
        gridcut.max_flow(**{**GOOD, **change})
    if set(change) <= {"source", "sink", "edges", "mask"} and "every cut" not in message:
        with pytest.raises(error, match=message):
            gridcut.Solver(**{**GOOD, "device": "cpu", **change})


def test_invalid_callbacks_are_rejected_before_solving():
    unary = np.zeros((2, 3), int)
    solver = gridcut.LabelSolver(unary, {(1,): 1})
    for call in (
        lambda: gridcut.max_flow_batch(unary, 1, {(1,): 1}, callback=3),
        lambda: gridcut.Solver(np.ones(3), 1, {(1,): 1}).solve(callback=3),
        lambda: gridcut.alpha_expansion(unary, {(1,): 1}, callback=3),
        lambda: gridcut.alpha_beta_swap(unary, {(1,): 1}, callback=3),
        lambda: solver.solve(callback=3),
    ):
        with pytest.raises(TypeError, match="callback must be callable or None, got int"):
            call()


MASKED = np.ma.MaskedArray(np.ones((2, 3)), np.eye(2, 3, dtype=bool))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: gridcut.max_flow_batch(MASKED, 1, {(1,): 1}), "source"),
        (lambda: gridcut.Solver(1, MASKED, {(0, 1): 1}), "sink"),
        (lambda: gridcut.Solver(np.ones((2, 3)), 1, {}).update(source=MASKED), "source"),
        (lambda: gridcut.alpha_expansion(MASKED, {(1,): 1}), "unary"),
        (lambda: gridcut.alpha_expansion(np.ones((2, 2, 3)), {(0, 1): MASKED}), r"weights\[\(0, 1\)\]"),
        (lambda: gridcut.alpha_beta_swap(MASKED, {(1,): 1}), "unary"),
        (lambda: gridcut.convex_labels(MASKED, {(1,): 1}, [[0, 1], [1, 0]]), "unary"),
        (lambda: gridcut.LabelSolver(MASKED, {(1,): 1}), "unary"),
        (lambda: gridcut.contrast_edges(MASKED), "image"),
        (lambda: gridcut.BinaryEnergy(MASKED), "unary"),
        (lambda: gridcut.energy_of(np.zeros(3, int), MASKED), "unary"),
        (lambda: gridcut.energy_of(np.ma.MaskedArray([0, 1, 0], [0, 0, 1]), np.ones((2, 3))), "labels"),
    ],
)
def test_masks_of_arrays_are_refused_everywhere(call, name):
    with pytest.raises(TypeError, match=rf"{name} is a masked array with"):
        call()


def test_results_refuse_what_they_do_not_have():
    cut = gridcut.max_flow(**GOOD)
    with pytest.raises(ValueError, match=r"offset \(1, 1\) has no edges; .* are \(0, 1\), \(1, 0\)"):
        cut.residual((1, 1))
    with pytest.raises(ValueError, match=r"an offset must have 2 entries"):
        cut.flow((1,))


@pytest.mark.skipif(cuda_is_available(), reason="a GPU is here")
def test_no_gpu_is_said_so():
    with pytest.raises(RuntimeError, match="(finds no CUDA GPU|is not installed.*); use device='cpu' or 'auto'"):
        gridcut.max_flow(**GOOD, device="cuda")


@pytest.mark.parametrize("neighbours", [0, 5, -4, True])
def test_neighbourhood_rejects(neighbours):
    with pytest.raises(ValueError, match=r"neighbours must be one of 2, 4, 8, 6, 18, 26, got"):
        gridcut.neighbourhood(neighbours)


@pytest.mark.parametrize("neighbours", [2, 4, 8, 6, 18, 26])
def test_neighbourhood(neighbours):
    forward, both = gridcut.neighbourhood(neighbours), gridcut.neighbourhood(neighbours, both=True)
    assert len(set(both)) == neighbours == 2 * len(forward)
    assert both[::2] == forward
    assert all(tuple(-i for i in a) == b for a, b in zip(both[::2], both[1::2], strict=True))


def test_results_are_frozen():
    cut = gridcut.max_flow(**GOOD)
    with pytest.raises(AttributeError):
        cut.value = 3

"""Validation of the arguments of the out-of-core method: each mistake has its error, and the memory limit is kept."""

import numpy as np
import pytest

import gridcut
from gridcut.device.arrays import to_host
from gridcut.out_of_core import plan

BAD = [
    ({"memory": "4 XB"}, ValueError, "string such as '4 GB'"),
    ({"memory": -1}, ValueError, "positive"),
    ({"memory": float("nan")}, ValueError, "positive"),
    ({"memory": [4]}, TypeError, "string such as '4 GB'"),
    ({"memory": 2000}, ValueError, "too little"),
    ({"method": "out_of_core", "order": "fifo"}, TypeError, "parameter 'order'; it accepts memory, folder, labels"),
    ({"method": "out_of_core", "device": "cuda"}, RuntimeError, "does not run on device='cuda'"),
    ({"labels": 3}, TypeError, "a writable array"),
    ({"labels": np.zeros(3, bool)}, ValueError, "bool of the grid's shape"),
    ({"method": "out_of_core", "mask": np.ones((60, 25))}, TypeError, "mask must be a bool array"),
    ({"method": "out_of_core", "mask": np.ones((6, 25), bool)}, ValueError, "mask must have the grid's shape"),
]


@pytest.mark.parametrize(("keywords", "error", "message"), BAD)
def test_bad_arguments_are_reported(keywords, error, message, problem):
    source, sink, edges = problem
    with pytest.raises(error, match=message):
        gridcut.max_flow(source, sink, edges, **keywords)


def test_bad_capacities_are_reported_with_their_index(cut_in):
    sink = np.zeros((50, 4))
    sink[41, 2] = np.nan
    with pytest.raises(ValueError, match=r"sink holds nan at \(41, 2\)"):
        cut_in(8)(np.zeros((50, 4)), sink, {(1, 0): 1})
    with pytest.raises(ValueError, match=r"sink holds -3 at \(70,\)"):
        cut_in(8)(0, np.where(np.arange(90) == 70, -3, 1), {(1,): 1})
    for bad in ({(1, 0): np.ones((3, 4))}, {(1, 0, 0): 1}, {(0, 0): 1}):
        with pytest.raises(ValueError, match="edges|offset"):
            cut_in(8)(np.zeros((50, 4)), 1, bad)
    with pytest.raises(TypeError, match="source must be an array of"):
        cut_in(8)(np.zeros((50, 4), complex), 1, {(1, 0): 1})


def test_solver_rejects_out_of_core():
    with pytest.raises(ValueError, match="available in max_flow only"):
        gridcut.Solver(np.ones(4), np.ones(4), {(1,): 1}, method="out_of_core")


@pytest.mark.parametrize("words", ["2 GB", "2gb", "2000 MB", "2000000000", 2e9])
def test_memory_as_string_and_number(words):
    if words == "2000000000":
        with pytest.raises(ValueError, match="string such as"):
            plan.memory_bytes(words)
    else:
        assert plan.memory_bytes(words) == 2 * 10**9


def test_strips_fit_into_the_memory():
    for lines, halo_width, line_bytes in [(1000, 1, 10**6), (20000, 2, 2 * 10**6), (50, 0, 10**7), (7, 1, 10**8)]:
        for memory in (
            plan.BASE_BYTES + 12 * line_bytes,
            plan.BASE_BYTES + 100 * line_bytes,
            plan.BASE_BYTES + 10**5 * line_bytes,
        ):
            bounds = plan.strips(lines, halo_width, line_bytes, memory)
            heights = np.diff(bounds)
            assert (bounds[0], bounds[-1]) == (0, lines)
            assert len(heights) == 1 or heights.min() >= max(1, 2 * halo_width)
            for shifted in (False, True):
                blocks = plan.partition(bounds, shifted)
                assert [end for _, end in blocks[:-1]] == [begin for begin, _ in blocks[1:]]
                assert (blocks[0][0], blocks[-1][1]) == (0, len(heights))
                tallest = max(bounds[end] - bounds[begin] for begin, end in blocks)
                ghosts = 2 * halo_width if len(blocks) > 1 else 0
                assert plan.BASE_BYTES + (tallest + ghosts) * line_bytes <= memory


@pytest.mark.gpu
def test_arrays_on_a_gpu_are_rejected(problem):
    cupy = pytest.importorskip("cupy")
    source, sink, edges = problem
    with pytest.raises(TypeError, match="is on the GPU"):
        gridcut.max_flow(cupy.asarray(source), sink, edges, method="out_of_core")
    assert to_host(cupy.asarray(source)).shape == source.shape

"""The functions between `matching.maximum` and its first kernel are those of the table in docs/architecture.md."""

import re
import traceback
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import matching
from matching.portfolio import portfolio

ROOT = Path(__file__).resolve().parents[2]
MATRIX = scipy.sparse.csr_array(np.eye(4))


class Reached(Exception):
    """Raised in place of the first kernel."""


def stop(*arguments):
    raise Reached


def walk(call) -> tuple[str, list[str]]:
    """("frames / files", names of the functions) from a call to the kernel that raises Reached."""
    with pytest.raises(Reached) as caught:
        call()
    frames = [frame for frame in traceback.extract_tb(caught.value.__traceback__) if frame.name not in ("walk", "stop")]
    places = [(Path(frame.filename), frame.name) for frame in frames]
    own = [(path, name) for path, name in places if ROOT in path.parents and "tests" not in path.parts]
    return f"{len(own)} / {len({path for path, _ in own})}", [name for _, name in own]


def documented(call: str) -> tuple[str, list[str]]:
    """The row of a call in the table."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    count, functions = re.search(rf"^\| {re.escape(call)} \| (.*?) \| (.*?) \|$", text, re.MULTILINE).groups()
    return count, re.findall(r"`(.*?)`", functions)


def test_cpu(monkeypatch):
    monkeypatch.setattr(portfolio, "solve_small", stop)
    assert walk(lambda: matching.maximum(MATRIX)) == documented("`matching.maximum`, CPU")


@pytest.mark.sim
@pytest.mark.parametrize("where", ["CUDA", "arrays on a GPU"])
def test_cuda(monkeypatch, where):
    from numba import cuda
    from numba.cuda.simulator.kernel import FakeCUDAKernel

    graph = MATRIX
    if where != "CUDA":
        graph = cuda.to_device(MATRIX.indptr), cuda.to_device(MATRIX.indices), MATRIX.shape
    monkeypatch.setattr(FakeCUDAKernel, "__call__", stop)
    found = walk(lambda: matching.maximum(graph, device="cuda"))
    assert found == documented(f"`matching.maximum`, {where}")
    frames, files = map(int, found[0].split(" / "))
    assert frames <= 8
    assert files <= 5

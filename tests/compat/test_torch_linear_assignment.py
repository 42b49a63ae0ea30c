"""The face of torch_linear_assignment: arrays, tensors where torch is installed, and a stand-in for tensors."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from assign.compat.torch_linear_assignment import assignment_to_indices, batch_linear_assignment

SHAPES = [(3, 4, 4), (2, 3, 7), (2, 7, 3), (1, 40, 40), (0, 2, 3), (2, 0, 3), (2, 3, 0)]


class Tensor:
    """As much of torch.Tensor as the face uses, on an array."""

    def __init__(self, array, dtype=None):
        self.array, self.device, self.dtype = array, SimpleNamespace(type="cpu"), dtype or array.dtype.name

    ndim = property(lambda self: self.array.ndim)

    def is_complex(self):
        return self.array.dtype.kind == "c"

    def to(self, dtype):
        return Tensor(self.array.astype(dtype))

    def detach(self):
        return self.array  # of which NumPy makes an array, as of a tensor


FAKE = SimpleNamespace(
    Tensor=Tensor, float32="float32", float64="float64", int32="int32", int64="int64", from_numpy=Tensor
)


def check(cost, partners):
    assert partners.dtype == np.int64
    assert partners.shape == cost.shape[:2]
    for matrix, found in zip(cost, partners, strict=True):
        rows = np.flatnonzero(found >= 0)
        assert len(set(found[rows].tolist())) == len(rows) == min(matrix.shape)
        assert matrix[rows, found[rows]].sum() == pytest.approx(matrix[linear_sum_assignment(matrix)].sum())


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("shape", SHAPES)
def test_arrays(shape, dtype):
    cost = (1000 * np.random.default_rng(0).random(shape)).astype(dtype)
    partners = batch_linear_assignment(cost)
    check(cost, partners)
    workers, tasks = assignment_to_indices(partners)
    assert workers.shape == tasks.shape == (shape[0], min(shape[1:]) if shape[0] else 0)
    for item, pair in enumerate(zip(workers, tasks, strict=True)):
        assert cost[item][pair].sum() == pytest.approx(cost[item][linear_sum_assignment(cost[item])].sum())


@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_stand_in_for_tensors(monkeypatch, dtype):
    monkeypatch.setitem(sys.modules, "torch", FAKE)
    cost = (1000 * np.random.default_rng(1).random((3, 5, 6))).astype(dtype)
    partners = batch_linear_assignment(Tensor(cost))
    assert isinstance(partners, Tensor)
    check(cost, partners.array)
    with pytest.raises(TypeError, match="complex"):
        batch_linear_assignment(Tensor(cost.astype(np.complex64)))


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16", "int64", "uint8"])
@pytest.mark.parametrize("shape", SHAPES)
def test_tensors(shape, kind, device):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    cost = (100 * torch.rand(shape, generator=torch.Generator().manual_seed(0))).to(device, getattr(torch, kind))
    partners = batch_linear_assignment(cost)
    assert (partners.dtype, partners.device) == (torch.int64, cost.device)
    check(cost.cpu().double().numpy(), partners.cpu().numpy())
    workers, tasks = assignment_to_indices(partners)
    assert (workers.device, tasks.device) == (cost.device, cost.device)
    assert workers.shape == tasks.shape == (shape[0], min(shape[1:]) if shape[0] else 0)


def test_errors():
    with pytest.raises(ValueError, match="Need 3-dimensional tensor"):
        batch_linear_assignment(np.ones((2, 3)))
    with pytest.raises(ValueError, match="infeasible"):
        batch_linear_assignment([[[np.inf, 1], [np.inf, 2]]])
    with pytest.raises(ValueError, match="NaN"):
        batch_linear_assignment([[[np.nan]]])
    with pytest.raises(ValueError, match="Inconsistent matching sizes"):
        assignment_to_indices([[0, 1], [0, -1]])

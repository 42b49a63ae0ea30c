"""Which kinds of arrays are read into memory and which by slices."""

import numpy as np
import pytest

import gridcut
from gridcut.core.problem import is_stored

SHAPE = (6, 7)


class InMemory:
    """An array-like that numpy can convert as a whole, such as those of xarray, dask and JAX."""

    def __init__(self, array):
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, key):
        raise AssertionError("read by slices")

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)


class OnDisk:
    """An array that can only be read by slices."""

    def __init__(self, array):
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, key):
        return self.array[key]


class Dataset(InMemory):
    """Like an array of h5py, which numpy could convert as a whole."""

    __module__ = "h5py._hl.dataset"

    def __getitem__(self, key):
        return self.array[key]


def problem(rng):
    source, sink, right = rng.integers(0, 9, (3, *SHAPE))
    return source, sink, {(0, 1): right, (1, 0): 3}


def test_arrays_in_memory_are_not_stored_arrays():
    source, sink, edges = problem(np.random.default_rng(61))
    expected = gridcut.max_flow(source, sink, edges, device="cpu")
    cut = gridcut.max_flow(InMemory(source), InMemory(sink), {(0, 1): InMemory(edges[0, 1]), (1, 0): 3}, device="cpu")
    assert cut.method == expected.method == "ibfs"
    assert cut.value == expected.value
    assert (cut.flow((0, 1)) <= edges[0, 1]).all()
    assert not is_stored(InMemory(source))


def test_pandas():
    pandas = pytest.importorskip("pandas")
    cut = gridcut.max_flow(pandas.Series([9, 4, 0]), pandas.Series([0, 3, 9]), {(1,): pandas.Series([2, 2, 2])})
    assert cut.method != "out_of_core"
    assert cut.value == 5
    assert cut.labels.tolist() == [True, True, False]
    assert cut.flow((1,))[1] == 2
    table = pandas.DataFrame(np.arange(12).reshape(3, 4), index=["a", "b", "c"])
    assert (
        gridcut.max_flow(table, 3, {(0, 1): table}).value
        == gridcut.max_flow(table.to_numpy(), 3, {(0, 1): table}).value
    )


def test_arrays_on_disk_are_read_by_slices():
    source, sink, edges = problem(np.random.default_rng(62))
    expected = gridcut.max_flow(source, sink, edges, device="cpu")
    for kind in (OnDisk, Dataset):
        assert is_stored(kind(source))
        cut = gridcut.max_flow(kind(source), kind(sink), edges)
        assert cut.method == "out_of_core"
        assert cut.value == expected.value
    zarr = pytest.importorskip("zarr")
    assert is_stored(zarr.array(source))

"""Arrays of other libraries and of files are read as NumPy's."""

import numpy as np

import gridcut
from tests.gridcut import oracles

SHAPE = (6, 7)


class ArrayLike:
    """What numpy can convert as a whole, such as arrays of xarray, dask, h5py, zarr and JAX."""

    def __init__(self, array):
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, key):
        raise AssertionError("read by slices")

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)


def problem(rng):
    source, sink, right = rng.integers(0, 9, (3, *SHAPE))
    return source, sink, {(0, 1): right, (1, 0): 3}


def test_array_likes():
    source, sink, edges = problem(np.random.default_rng(61))
    expected = gridcut.max_flow(source, sink, edges, device="cpu")
    cut = gridcut.max_flow(
        ArrayLike(source), ArrayLike(sink), {(0, 1): ArrayLike(edges[0, 1]), (1, 0): 3}, device="cpu"
    )
    cut.check()
    assert cut.method == expected.method == "ibfs"
    assert cut.value == expected.value
    assert (cut.flow((0, 1)) <= edges[0, 1]).all()


def test_memory_mapped_files(tmp_path):
    given = np.random.default_rng(62).integers(0, 9, (3, *SHAPE), dtype=np.int32)
    np.save(tmp_path / "arrays.npy", given)
    source, sink, right = np.load(tmp_path / "arrays.npy", mmap_mode="r")
    assert isinstance(source, np.memmap)
    cut = gridcut.max_flow(source, sink, {(0, 1): right, (1, 0): 3}, device="cpu")
    cut.check()
    expected = gridcut.max_flow(given[0], given[1], {(0, 1): given[2], (1, 0): 3}, device="cpu")
    oracles.assert_equal_cuts(cut, expected)
    assert np.array_equal(np.load(tmp_path / "arrays.npy"), given)

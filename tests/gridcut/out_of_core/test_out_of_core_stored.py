"""Arrays on disk, read by slices; labels written by slices; when max_flow selects out_of_core."""

import numpy as np
import pytest

import gridcut
from gridcut.methods import is_out_of_core


class Slices:
    """An array that can only be read by slices of lines, as in zarr and h5py; records the longest slice."""

    def __init__(self, array):
        self._array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim
        self.longest = 0

    def __getitem__(self, index):
        assert isinstance(index, slice)
        found = self._array[index].copy()
        self.longest = max(self.longest, len(found))
        return found

    def __array__(self, *args, **keywords):
        raise AssertionError("read as a whole")


Slices.__module__ = "h5py.stand_in"


def test_stored_arrays_select_out_of_core(problem, cut_in, tools, monkeypatch, assert_same):
    source, sink, edges = problem
    monkeypatch.setattr("gridcut.out_of_core.sources.READ_BYTES", 1000)
    cut_in(10)(source, sink, edges)  # for its strips
    stored = [Slices(a) for a in (source, sink, *edges.values())]
    labels = np.zeros(source.shape, bool)
    mask = Slices(np.ones(source.shape, bool))
    given = dict(zip(edges, stored[2:], strict=True))
    cut = gridcut.max_flow(stored[0], stored[1], given, mask=mask, labels=labels)
    assert cut.method == "out_of_core"
    cut.check()
    assert cut.labels is labels
    assert_same(cut, tools.solve(source, sink, edges))
    assert all(array.longest <= 20 for array in (*stored, mask)), "a block and its surroundings"


def test_zarr_arrays(problem, tools):
    zarr = pytest.importorskip("zarr")
    source, sink, edges = problem
    labels = zarr.zeros(source.shape, dtype=bool, chunks=(16, 16))
    given = {offset: zarr.array(array, chunks=(16, 16)) for offset, array in edges.items()}
    cut = gridcut.max_flow(zarr.array(source, chunks=(20, 25)), sink, given, labels=labels)
    cut.check()
    want = tools.solve(source, sink, edges)
    assert cut.value == want.value
    assert np.array_equal(labels[:], want.labels)


def test_mapped_arrays_larger_than_memory_select_out_of_core(problem, tools, tmp_path, monkeypatch, assert_same):
    source, sink, edges = problem
    np.save(tmp_path / "source.npy", source)
    mapped = np.load(tmp_path / "source.npy", mmap_mode="r")
    assert gridcut.max_flow(mapped, sink, edges, device="cpu").method == "ibfs"
    monkeypatch.setattr("gridcut.methods.available_memory", lambda: 1000)
    cut = gridcut.max_flow(mapped, sink, edges, device="cpu")
    assert cut.method == "out_of_core"
    assert isinstance(cut.labels, np.memmap)
    assert_same(cut, tools.solve(source, sink, edges))
    monkeypatch.setattr("gridcut.methods.resolve", lambda device: "cuda")
    assert not is_out_of_core("auto", "auto", (mapped, sink), {}), "a GPU has memory of its own"

"""max_flow_batch: every item equals the certified result of max_flow; shared arrays, and invalid input."""

import threading

import numpy as np
import pytest

import gridcut
from tests.faults import alive

OFFSETS = [(0, 1), (1, -1)]


def batch_of(rng, items, shape, offsets, dtype=np.int64):
    def capacity(*lead):
        return rng.integers(0, 20, (*lead, *shape)).astype(dtype)

    edges = {offset: capacity(items) for offset in offsets}
    edges[offsets[0]] = capacity()  # shared by all items
    if len(offsets) > 1:
        edges[offsets[1]] = dtype(3)
    return capacity(items), capacity(items), edges


def item_of(array, i, axes):
    return array[i] if np.ndim(array) > axes else array


def check_batch(batch, source, sink, edges, mask=None, axes=2):
    batch.check()
    for i in range(len(batch)):
        single = gridcut.max_flow(
            item_of(source, i, axes),
            item_of(sink, i, axes),
            {offset: item_of(capacity, i, axes) for offset, capacity in edges.items()},
            mask=None if mask is None else item_of(mask, i, axes),
            device="cpu",
        )
        assert batch.values[i] == batch[i].value == single.value
        assert (batch.labels[i] == single.labels).all()
        assert (batch[i].labels == single.labels).all()
        for offset in edges:
            assert (batch[i].flow(offset).shape) == single.labels.shape


@pytest.mark.parametrize("masked", ["shared", "each"])
def test_masks(device, masked):
    rng = np.random.default_rng(71)
    source, sink, edges = batch_of(rng, 5, (7, 9), OFFSETS)
    mask = rng.random((7, 9) if masked == "shared" else (5, 7, 9)) < 0.7
    batch = gridcut.max_flow_batch(source, sink, edges, mask=mask, device=device)
    assert (batch.device, batch.stats["items"], len(batch)) == (device, 5, 5)
    check_batch(batch, source, sink, edges, mask)


def test_only_one_array_has_the_batch_axis(device):
    source, sink = np.arange(12).reshape(3, 4), np.full((2, 3, 4), [[[1]], [[9]]])
    batch = gridcut.max_flow_batch(source, sink, {(0, 1): 2, (1, 0): 1}, device=device)
    check_batch(batch, source, sink, {(0, 1): 2, (1, 0): 1})
    batch = gridcut.max_flow_batch(7, 2, {(0, 1): np.ones((2, 3, 4), int), (1, 0): 1}, device=device)
    assert batch.values.tolist() == [24, 24]


def test_batch_is_a_sequence_of_cuts():
    batch = gridcut.max_flow_batch(np.ones((3, 4, 5), int), 0, {(0, 1): 1, (1, 0): 1}, device="cpu")
    assert [cut.value for cut in batch] == [0, 0, 0]
    assert batch[-1].labels.all()
    with pytest.raises(IndexError):
        batch[3]
    with pytest.raises(AttributeError):
        batch.values = 0


def test_items_are_solved_on_several_threads(monkeypatch):
    """With three threads, on any machine: three items concurrently, each with one of numba's threads."""
    from gridcut import batch as module

    together = threading.Barrier(3, timeout=60)
    names = set()

    def spied(*arguments):
        names.add(threading.current_thread().name)
        together.wait()  # passes only if three items are solved concurrently
        return cut_of(*arguments)

    cut_of = module.cut_of
    monkeypatch.setattr(module, "thread_count", lambda: 3)
    monkeypatch.setattr(module, "cut_of", spied)
    source, sink, edges = batch_of(np.random.default_rng(74), 6, (5, 6), OFFSETS)
    found = gridcut.max_flow_batch(source, sink, edges, device="cpu")
    assert len(names) == 3
    monkeypatch.undo()
    check_batch(found, source, sink, edges)


def test_callback_counts_items_and_may_stop():
    counts = []
    source = np.ones((6, 3, 4), int)
    gridcut.max_flow_batch(
        source, 0, {(0, 1): 1, (1, 0): 1}, device="cpu", callback=lambda c: counts.append(c["items"])
    )
    assert counts == [1, 2, 3, 4, 5, 6]

    def stop(_):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        gridcut.max_flow_batch(source, 0, {(0, 1): 1, (1, 0): 1}, device="cpu", callback=stop)
    assert not alive()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"edges": [1]}, TypeError, r"edges must be a mapping"),
        ({"source": np.ones((4, 5), int)}, ValueError, r"one of source, sink, edges and mask must have 3 axes"),
        ({"source": np.ones((3, 4, 6), int)}, ValueError, r"edges\[\(1, 0\)\] must be a scalar or have the grid's"),
        ({"sink": np.ones((2, 4, 5), int)}, ValueError, r"sink .* or \(3, 4, 5\) for a batch, got shape \(2, 4, 5\)"),
        ({"mask": np.ones((2, 4, 5), bool)}, ValueError, r"mask must have the grid's shape \(4, 5\), or \(3, 4, 5\)"),
        ({"mask": np.ones((4, 5), int)}, TypeError, r"mask must be a bool array"),
        ({"edges": {(0, 0, 0, 1): 1}}, ValueError, r"a grid must have 1, 2 or 3 axes"),
        ({"method": "best"}, ValueError, r"method must be one of"),
    ],
)
def test_rejects(change, error, message):
    good = {"source": np.ones((3, 4, 5), int), "sink": 1, "edges": {(0, 1): 1, (1, 0): np.ones((4, 5), int)}}
    with pytest.raises(error, match=message):
        gridcut.max_flow_batch(**{**good, **change})


@pytest.mark.parametrize("value", [-1.0, np.nan, -np.inf])
def test_bad_capacities_are_named_with_their_item(device, value):
    source = np.ones((3, 4, 5))
    source[1, 2, 3] = value
    with pytest.raises(ValueError, match=r"item 1: source holds .* at \(2, 3\)"):
        gridcut.max_flow_batch(source, 1, {(0, 1): 1, (1, 0): 1}, device=device)

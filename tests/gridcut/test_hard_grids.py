"""Grids on which searches give up, so that push-relabel and a search take turns: long and narrow ones."""

import numpy as np
import pytest

import gridcut
from benchmarks import hard_grids
from gridcut.ibfs import ibfs
from gridcut.ibfs.small_grid import MAX_PIXELS
from tests.tiers import in_quick_tier

MOST = 36  # repaired cells per cell; without turns, a tenth of the cells on a line, 56 on random levels
SIZES = [4096, 2 * MAX_PIXELS, 6 * MAX_PIXELS]  # the fast path; one strip; several strips


FAMILIES = list(hard_grids.FAMILIES.values())


@pytest.mark.parametrize("cells", in_quick_tier(SIZES, lambda cells: cells < 50_000))
@pytest.mark.parametrize("family", FAMILIES)
def test_values(family, cells):
    source, sink, edges = family(cells)
    cut = gridcut.max_flow(source, sink, edges, device="cpu")
    cut.check()
    assert cut.value == gridcut.max_flow(source, sink, edges, method="push_relabel").value
    assert cut.stats["repaired"] <= MOST * source.size, "the search did not give up"


@pytest.mark.parametrize("narrowest", in_quick_tier([1, 2], (2).__eq__))
@pytest.mark.parametrize("seed", range(2))
def test_random_corridors(seed, narrowest):
    """Some cells are missing, and a few of the others are sources and sinks of different sizes."""
    rng = np.random.default_rng(seed)
    for _ in range(25):
        width = max(narrowest, int(2 ** rng.uniform(0, 5)))
        shape = (int(2 ** rng.uniform(9, 16)) // width, width)[:: rng.choice([1, -1])]
        inside = rng.random(shape) < rng.choice([1, 0.8])
        place = np.indices(shape)[np.argmax(shape)] / max(shape)
        ends = inside & (rng.random(shape) < rng.choice([1, 0.05]))
        amount = rng.integers(1, rng.choice([2, 1000]), shape)
        edges = {offset: inside * rng.integers(1, rng.choice([4, 10**6]), shape) for offset in [(0, 1), (1, 0)]}
        cut = gridcut.max_flow(amount * (ends & (place < 0.5)), amount * (ends & (place >= 0.5)), edges, device="cpu")
        cut.check()


@pytest.mark.parametrize("shape", in_quick_tier([(40,), (9, 11), (4, 5, 6)], (9, 11).__eq__))
def test_turns_solve_any_grid(shape, monkeypatch):
    """Also without a search before them."""
    monkeypatch.setattr(ibfs.Run, "solve", ibfs.Run.take_turns)
    rng = np.random.default_rng(1)
    offsets = [tuple(offset) for offset in np.eye(len(shape), dtype=int).tolist()]
    for _ in range(20):
        source, sink = rng.integers(0, 20, (2, *shape))
        edges = {offset: rng.integers(0, 9, shape) for offset in offsets}
        cut = gridcut.max_flow(source, sink, edges, device="cpu", callback=lambda counts: None)
        cut.check()
        assert cut.stats["strips"] == 0  # not the fast path
        assert cut.value == gridcut.max_flow(source, sink, edges, method="push_relabel").value

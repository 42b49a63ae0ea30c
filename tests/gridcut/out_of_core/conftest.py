"""Fixtures: small grids solved in several blocks, and a grid that needs several sweeps."""

import numpy as np
import pytest

import gridcut
from gridcut.out_of_core import plan


@pytest.fixture
def cut_in(monkeypatch):
    """cut_in(n)(...): a certified out-of-core max_flow with n strips, or the maximum number possible."""

    def solver(count):
        def strips(lines, halo_width, line_bytes, memory):
            min_height = max(1, 2 * halo_width)
            n = max(1, min(count, lines // min_height))
            return [i * lines // n for i in range(n + 1)]

        def in_blocks(source, sink, edges, **keywords):
            monkeypatch.setattr(plan, "strips", strips)
            cut = gridcut.max_flow(source, sink, edges, method="out_of_core", **keywords)
            cut.check()
            return cut

        return in_blocks

    return solver


@pytest.fixture
def assert_same():
    """Compare value and labels of two cuts."""

    def same(cut, want):
        assert cut.value == want.value
        assert type(cut.value) is type(want.value)
        assert np.array_equal(cut.labels, want.labels)

    return same


@pytest.fixture
def problem(tools):
    """A grid that needs several sweeps in several blocks."""
    rng = np.random.default_rng(6)
    source, sink, edges, _ = tools.random_problem(rng, (60, 25), gridcut.neighbourhood(4), np.int64, 90, 0.5)
    edges = {offset: rng.integers(0, 40, (60, 25), dtype=np.int64) for offset in edges}
    return source, sink, edges

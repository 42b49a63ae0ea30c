"""The families of `python -m benchmarks assign_everyday`, small: certified, and as cheap as SciPy says."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import assign
from benchmarks.assign_everyday import DTYPES, FAMILIES, SHAPES, build


@pytest.mark.parametrize("family", FAMILIES)
def test_certified_and_as_cheap_as_scipys(family):
    for n in (7, 130):
        for shape in SHAPES:
            for dtype in DTYPES:
                cost = build(family, shape, n, dtype)
                for given, maximize in ((cost, False), (-cost, True)):
                    found = assign.solve(given, maximize=maximize)
                    found.check()
                    best = given[linear_sum_assignment(given, maximize)].sum(dtype=np.float64)
                    assert found.cost == pytest.approx(best, rel=1e-9, abs=1e-9)
                    row, col = assign.linear_sum_assignment(given, maximize)
                    assert given[row, col].sum(dtype=np.float64) == pytest.approx(best, rel=1e-9, abs=1e-9)

"""The face of munkres: plain tests, and the same costs as munkres where it is installed."""

import copy
import sys
from decimal import Decimal

import numpy as np
import pytest

from assign.compat import munkres as ours
from assign.compat.munkres import DISALLOWED as D
from assign.compat.munkres import Munkres


def cost_of(matrix, pairs):
    return sum(matrix[row][column] for row, column in pairs)


@pytest.mark.parametrize(
    ("matrix", "cost"),
    [
        ([[5, 9, 1], [10, 3, 2], [8, 7, 4]], 12),
        ([[400, 150, 400, 1], [400, 450, 600, 2], [300, 225, 300, 3]], 452),
        ([[9.5, 1.25], [3, 4], [0.5, 7]], 1.75),
        ([[5, 9, D], [10, D, 2], [8, 7, 4]], 14),
        ([[4, D, 6], [D, D, 9]], 13),
        (((1, 2), (float("inf"), 3)), 4),
        (np.array([[2, 1], [1, 5]]), 2),
        ([[Decimal("0.1"), Decimal("0.2")], [Decimal("0.4"), Decimal("0.7")]], Decimal("0.6")),
        (copy.deepcopy([[1, D], [D, 1]]), 2),
    ],
)
def test_costs(matrix, cost):
    pairs = Munkres().compute(matrix)
    assert cost_of(matrix, pairs) == cost
    assert len(pairs) == min(len(matrix), len(matrix[0]))
    assert pairs == sorted(pairs)
    assert all(type(index) is int for pair in pairs for index in pair)


def test_profits_as_large_integers():
    profit = [[5, 9, D], [10, 3, 2], [8, 7, 4]]
    for function in (None, lambda value: sys.maxsize - value, lambda value: 10**30 - value):
        cost = ours.make_cost_matrix(profit, function)
        assert cost[0][2] is D
        assert cost_of(profit, Munkres().compute(cost)) == 23


def test_what_has_no_assignment():
    with pytest.raises(ours.UnsolvableMatrix):
        Munkres().compute([[5, D], [6, D]])
    with pytest.raises(ours.UnsolvableMatrix):
        Munkres().compute([[D]])
    for matrix in ([[1, 2], [3]], [[float("nan"), 1], [1, 1]], [[-float("inf"), 1], [1, 1]]):
        with pytest.raises(ValueError, match=r"."):
            Munkres().compute(matrix)
    with pytest.raises(TypeError):
        Munkres().compute([["a", "b"]])
    assert Munkres().compute([]) == Munkres().compute([[]]) == []


def test_padding_and_printing(capsys):
    assert Munkres().pad_matrix([[1, 2, 3], [4]], 7) == [[1, 2, 3], [4, 7, 7], [7, 7, 7]]
    ours.print_matrix([[1, D], [10, 2.5]], "costs")
    assert capsys.readouterr().out == "costs\n[  1,   D]\n[ 10, 2.5]\n"


@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (4, 9), (9, 4), (40, 40)])
def test_costs_of_munkres(shape, capsys):
    theirs = pytest.importorskip("munkres", reason="munkres is not installed")
    rng = np.random.default_rng(0)
    for share in (0, 0.2):
        matrix = rng.integers(0, 99, shape).tolist()
        hidden = rng.random(shape) < share
        mine, other = (
            [[d if h else v for v, h in zip(*row, strict=True)] for row in zip(matrix, hidden, strict=True)]
            for d in (D, theirs.DISALLOWED)
        )
        try:
            expected = cost_of(matrix, theirs.Munkres().compute(other))
        except theirs.UnsolvableMatrix:
            with pytest.raises(ours.UnsolvableMatrix):
                Munkres().compute(mine)
            continue
        assert cost_of(matrix, Munkres().compute(mine)) == expected
        ours.print_matrix(mine, "title")
        printed = capsys.readouterr().out
        theirs.print_matrix(other, "title")
        assert capsys.readouterr().out == printed
        assert Munkres().pad_matrix(matrix) == theirs.Munkres().pad_matrix(matrix)

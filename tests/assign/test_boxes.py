"""Boxes assigned to boxes: equal to the matrix of costs, with and without a cost of leaving a box unmatched."""

import numpy as np
import pytest

import assign


def some_boxes(rng, size, scale):
    corner = rng.integers(0, 20, (size, 2)) * scale
    return np.concatenate((corner, corner + rng.integers(0, 6, (size, 2)) * scale), axis=1)


def matrix_of(x, y, metric):
    """The costs, pair by pair."""
    cost = np.ones((len(x), len(y)))
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            if metric == "centre":
                cost[i, j] = np.hypot(*((a[:2] + a[2:] - b[:2] - b[2:]) / 2))
                continue
            common = max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)
            union = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common
            hull = np.prod(np.maximum(a[2:], b[2:]) - np.minimum(a[:2], b[:2]))
            cost[i, j] = 1 - (common / union if common else 0)
            cost[i, j] += (hull - union) / hull if metric == "giou" and hull else 0
    return cost


@pytest.mark.parametrize("metric", ["iou", "giou", "centre"])
@pytest.mark.parametrize("max_cost", [None, 0.4, 1, 1.5, "rows"])
def test_equal_to_the_matrix(metric, max_cost):
    rng = np.random.default_rng(3)
    for n, m in ((0, 3), (3, 0), (1, 1), (5, 30), (30, 5), (25, 25)):
        x, y = some_boxes(rng, n, 1), some_boxes(rng, m, 1)
        limit = max_cost
        if max_cost == "rows":
            if n > m and metric == "centre":
                continue
            limit = rng.random(n) * 2
        found = assign.solve_boxes(x, y, metric, max_cost=limit)
        found.check()
        other = assign.solve(matrix_of(x, y, metric), max_cost=limit)
        alone = 0.0 if limit is None else np.broadcast_to(limit, n)
        costs = [a.cost + np.sum((alone * (a.col_of_row < 0)) if limit is not None else 0) for a in (found, other)]
        assert costs[0] == pytest.approx(costs[1], rel=1e-12, abs=1e-12)


def test_few_pairs_of_many_boxes_are_computed():
    rng = np.random.default_rng(4)
    x = some_boxes(rng, 20_000, 1.0) + np.tile(100.0 * rng.integers(0, 300, (20_000, 2)), 2)
    found = assign.solve_boxes(x, x[::-1] + 0.1)
    assert len(found.row) == len(x)
    assert found.cost < len(x)


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        ([[0, 0, 1]], {}, r"x must have the shape \(boxes, 4\), got \(1, 3\)"),
        ([[0, 0, 1, np.nan]], {}, "x must hold finite coordinates"),
        ([[0, 0, 1e200, 1]], {}, "x must hold finite coordinates of at most 1e"),
        ([[0, 5, 1, 4]], {}, r"right >= left and bottom >= top; box 0 is \[0.0, 5.0, 1.0, 4.0\]"),
        ([[0, 0, 1, 1]], {"metric": "overlap"}, "metric must be one of 'iou', 'giou', 'centre'; got 'overlap'"),
        ([[0, 0, 1, 1]], {"max_cost": [1, 2]}, "max_cost must be a number or one per row"),
    ],
)
def test_arguments_are_checked(x, options, message):
    with pytest.raises(ValueError, match=message):
        assign.solve_boxes(x, [[0, 0, 1, 1]], **options)


def test_text_is_no_boxes():
    with pytest.raises(TypeError, match="x must hold numbers"):
        assign.solve_boxes([["0", "0", "1", "1"]], [[0, 0, 1, 1]])

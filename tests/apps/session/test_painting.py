"""Painting of strokes: the pixels are those of the definition, and a long thick stroke takes no time to speak of."""

import numpy as np
import pytest

from apps.session import canvas


def plainly(plane, top, left, x, y, radius, aspect, value):
    """The definition: the distance of each pixel's centre to each segment, in the same order of operations."""
    rows, columns = np.indices(plane.shape)
    with np.errstate(under="ignore"):
        for k in range(max(1, len(x) - 1)):
            last = min(k + 1, len(x) - 1)
            run, fall = x[last] - x[k], (y[last] - y[k]) * aspect
            square = run * run + fall * fall
            dx = columns + left + 0.5 - x[k]
            dy = (rows + top + 0.5 - y[k]) * aspect
            along = np.minimum(1.0, np.maximum(0.0, (dx * run + dy * fall) / square)) if square > 0 else 0.0
            dx, dy = dx - along * run, dy - along * fall
            plane[dx * dx + dy * dy <= radius * radius] = value
    for k in range(len(x)):
        row, column = int(np.floor(y[k])) - top, int(np.floor(x[k])) - left
        if 0 <= row < len(plane) and 0 <= column < plane.shape[1]:
            plane[row, column] = value


def polyline(rng, size):
    """Points as people and programs draw them: walks, jumps, repeated points, on a raster, straight, far away."""
    count = int(rng.choice([1, 2, 3, 5, 20]))
    kind = rng.choice(["walk", "jumps", "raster", "repeated", "row", "column", "far", "tiny", "slanted"])
    xy = rng.uniform(-0.3, 1.3, (count, 2)) * size
    if kind == "walk":
        xy = xy[0] + np.cumsum(rng.normal(0, 1, (count, 2)), axis=0)
    elif kind == "raster":
        xy = np.round(xy * 2) / 2
    elif kind == "repeated":
        xy = np.repeat(xy, 2, axis=0)
    elif kind in ("row", "column"):
        xy[:, int(kind == "row")] = np.round(xy[0, 0] * 2) / 2
    elif kind == "far":
        xy *= 10.0 ** rng.integers(1, 6)
    elif kind == "tiny":
        xy = xy[0] + rng.normal(0, 1, (count, 2)) * 10.0 ** -rng.integers(3, 200)
    elif kind == "slanted":
        xy[:, 1] = np.round(xy[0, 1]) + rng.normal(0, 1, count) * 10.0 ** -rng.integers(2, 17)
    return xy


def compare(seed, rounds):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        shape = tuple(rng.integers(1, 40, 2))
        x, y = polyline(rng, max(shape)).T.copy()
        radius = float(rng.choice([0.5, 1.0, 1.5, 2.0, 3.25, rng.uniform(0.5, 9), rng.uniform(9, 60), 1e4, 1e6]))
        aspect = float(rng.choice([1.0, 1.0, 2.0, 0.4, rng.uniform(0.05, 20), 1e-4, 1e4]))
        top, left = rng.integers(0, 9, 2).tolist()
        case = shape, top, left, x.tolist(), y.tolist(), radius, aspect
        got, want = np.full(shape, -1, np.int16), np.full(shape, -1, np.int16)
        canvas.paint(got, top, left, x, y, radius, aspect, np.int16(3))
        plainly(want, top, left, x, y, radius, aspect, np.int16(3))
        np.testing.assert_array_equal(got, want, err_msg=repr(case))


@pytest.mark.parametrize("block", [2, 4096])
def test_painted_pixels_are_those_of_the_definition(monkeypatch, block):
    monkeypatch.setattr(canvas, "BLOCK", block)
    compare(block, 400)

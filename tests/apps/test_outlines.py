"""Exact outlines of masks, against shapely and scikit-image."""

import numpy as np
import shapely
from skimage.measure import label as components

from apps.common.outlines import polygons_of


def signed_area(ring: np.ndarray) -> int:
    """Area of a ring of corners (n, 2) in pixels: positive for outer rings, negative for holes."""
    x, y = ring.T.astype(np.int64)
    return int((x * np.roll(y, -1) - np.roll(x, -1) * y).sum()) // 2


def drawn(text):
    """The mask drawn with # for the object."""
    return np.array([[sign == "#" for sign in line] for line in text.split()])


NAMED = {
    "nothing": np.zeros((3, 4), bool),
    "everything": np.ones((3, 4), bool),
    "one pixel": drawn("... .#. ..."),
    "a line": drawn("##### ....."),
    "a corner between parts": drawn("##.. ##.. ..## ..##"),
    "a ring closed by a corner": drawn("#### #..# #.#. ####"),
    "holes that touch": drawn("##### #.### ##.## #####"),
    "an island in a hole": drawn("##### #...# #.#.# #...# #####"),
    "an island that touches the ring": drawn("##### #..## #.#.# ##..# #####"),
    "a hole below a hole": drawn("##### #.#.# ##### #.#.# #####"),
    "a chessboard": np.indices((7, 8)).sum(axis=0) % 2 == 0,
}


def random_masks(count=150):
    rng = np.random.default_rng(3)
    for _ in range(count):
        yield rng.random(rng.integers(1, 24, 2)) < rng.choice([0.2, 0.5, 0.65, 0.85])


MASKS = [*NAMED.values(), *random_masks()]


def centres(mask):
    y, x = np.indices(mask.shape) + 0.5
    return x, y


def test_polygons_are_valid_and_contain_exactly_the_mask():
    for mask in MASKS:
        polygons = polygons_of(mask)
        shapes = [shapely.Polygon(polygon.outer, polygon.holes) for polygon in polygons]
        assert all(shape.is_valid for shape in shapes)
        together = shapely.MultiPolygon(shapes)
        assert together.is_valid
        assert together.area == mask.sum()
        np.testing.assert_array_equal(shapely.contains_xy(together, *centres(mask)), mask)
        assert len(polygons) == components(mask, connectivity=1).max()


def test_rings_turn_at_every_corner_and_run_in_the_stated_sense():
    for mask in MASKS:
        for polygon in polygons_of(mask):
            assert signed_area(polygon.outer) > 0
            assert all(signed_area(hole) < 0 for hole in polygon.holes)
            for ring in (polygon.outer, *polygon.holes):
                steps = np.roll(ring, -1, axis=0) - ring
                assert ((steps != 0).sum(axis=1) == 1).all(), "every side is horizontal or vertical"
                assert ((steps != 0) != (np.roll(steps, 1, axis=0) != 0)).all(), "no corner between two sides in line"
                assert len(np.unique(ring, axis=0)) == len(ring), "no corner twice"

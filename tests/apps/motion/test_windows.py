"""Windows of complete bipartite graphs: certified, one-to-one, small, and correct where the motion is known."""

import itertools

import numpy as np
import pytest

from apps.motion import windows
from apps.motion.linking import link
from apps.motion.windows import MAX_POINTS, match_windows


def right(matches, pair):
    x, y = np.rint(matches.first).astype(int).T
    known = pair.known[y, x]
    return (np.linalg.norm(matches.motion - pair.flow[y, x], axis=1) < 3)[known]


@pytest.fixture(scope="module")
def found(smooth_pair):
    return match_windows(smooth_pair.first, smooth_pair.second)


def test_every_window_is_certified_and_small(found):
    assert len(found.batches) == 2
    for batch, sizes in zip(found.batches, found.sizes, strict=True):
        batch.check()
        assert len(batch) == len(sizes)
        assert sizes.min() >= 1
        assert sizes.max() <= MAX_POINTS
    assert len(np.unique(found.sizes[0], axis=0)) > 1


def test_matches_are_right_and_one_to_one(found, smooth_pair):
    good = right(found.matches, smooth_pair)
    assert good.sum() > 80
    assert good.mean() > 0.85
    for points in (found.matches.first, found.matches.second):
        assert len(np.unique(np.rint(points), axis=0)) == len(found.matches)


def test_window_equals_a_sparse_assignment(smooth_pair, monkeypatch):
    """A single window has the same total as one sparse assignment."""
    from apps.motion.points import Points

    rng = np.random.default_rng(0)

    def some(count):
        descriptors = rng.random((count, 128)).astype(np.float32)
        descriptors /= np.linalg.norm(descriptors, axis=1, keepdims=True)
        xy = np.array(list(itertools.product(range(2, 40, 7), repeat=2))[:count], float)
        return Points(xy, descriptors, np.ones(count, np.float32), np.ones(count, np.float32))

    one, two = some(12), some(9)
    points = iter((one, two))
    monkeypatch.setattr(windows, "keypoints", lambda *_: next(points))
    monkeypatch.setattr(windows, "WINDOW_SIDE", 600)
    monkeypatch.setattr(windows, "UNMATCHED_COST", 720)
    found = match_windows(smooth_pair.first, smooth_pair.second)
    dissimilarity = np.sqrt(np.maximum(2 - 2 * (one.descriptors @ two.descriptors.T).astype(float), 0))
    distance = np.linalg.norm(one.xy[:, None] - two.xy, axis=2)
    cost = np.rint(1000 * dissimilarity + 6 * distance)
    row, col = np.indices(cost.shape).reshape(2, -1)
    alone = link(row, col, cost.ravel(), cost.shape, 720.0)
    assert 0 < len(alone.pair) < 9
    assert found.matches.cost.sum() - 720 * len(found.matches) == pytest.approx(alone.total - 720 * 12, abs=2)
    assert np.sort(found.matches.margin) == pytest.approx(np.sort(alone.margin), abs=4)

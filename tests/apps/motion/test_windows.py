"""Windows of complete bipartite graphs: certified, one-to-one, small, and correct where the motion is known."""

import numpy as np
import pytest

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

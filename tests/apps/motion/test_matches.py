"""Matches: selection, and tables written and read again."""

import numpy as np
import pytest

from apps.motion.matches import Matches


@pytest.fixture
def three():
    rng = np.random.default_rng(0)
    return Matches(rng.random((3, 2)) * 100, rng.random((3, 2)) * 100, -rng.random(3), rng.random(3), rng.random(3))


def same(a, b):
    return all(np.allclose(getattr(a, name), getattr(b, name), rtol=1e-5) for name in Matches.__slots__)


def test_select_and_motion(three):
    assert len(three) == 3
    assert np.allclose(three.first + three.motion, three.second)
    chosen = three.select(three.cost < np.sort(three.cost)[2])
    assert len(chosen) == 2
    assert set(chosen.confidence) < set(three.confidence)


def test_the_csv_has_a_header_and_one_line_a_match(three, tmp_path):
    lines = three.write(tmp_path / "m.csv").read_text("utf-8").splitlines()
    assert lines[0] == "x0,y0,x1,y1,cost,margin,confidence"
    assert len(lines) == 4
    assert float(lines[2].split(",")[3]) == pytest.approx(three.second[1, 1], rel=1e-5)

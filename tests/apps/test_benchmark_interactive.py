"""The robot user of the benchmark, without data."""

import numpy as np
import pytest

from benchmarks import interactive


@pytest.fixture
def truth():
    """A wide rectangle as ground truth."""
    out = np.zeros((60, 100), np.uint8)
    out[20:40, 10:90] = 255
    return out


def test_the_largest_error_and_its_middle(truth):
    mask = truth == 255
    mask[20:40, 10:40] = False
    mask[50:58, 90:98] = True
    wrong = interactive.largest_error(mask, truth)
    assert (wrong == ((truth == 255) & ~mask)).all()
    x, y = interactive.middle(wrong)
    assert 18 <= x <= 31
    assert 28 <= y <= 31


def test_a_stroke_runs_along_the_region(truth):
    (x0, y0), (x1, y1) = interactive.segment_through_middle(truth == 255)
    assert abs(x1 - x0) >= 60
    assert abs(y1 - y0) <= 5
    assert truth[y0, x0] == truth[y1, x1] == 255


@pytest.mark.parametrize("strokes", [False, True])
@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("name", ["session", "segment"])
def test_marks_needed(truth, name, pair, strokes):
    image = np.full((60, 100, 3), 0.3, np.float32)
    image[truth == 255] = (0.8, 0.5, 0.2)
    history = interactive.clicks(interactive.METHODS[name], image, truth, pair, strokes)
    assert len(history) <= 2
    assert history[-1][0] > 0.9


def test_skips_without_data(capsys, monkeypatch):
    monkeypatch.delenv("CUTMATCH_DATA", raising=False)
    assert interactive.main(["--pair", "--strokes"]) == 0
    assert "skipped, no folder given" in capsys.readouterr().out

"""The robot user of the benchmark, without data."""

import numpy as np
import pytest

from benchmarks import interactive, interactive_latency


@pytest.fixture
def truth():
    """A wide rectangle as ground truth."""
    out = np.zeros((60, 100), np.uint8)
    out[20:40, 10:90] = 255
    return out


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


@pytest.mark.parametrize("shape", [(60, 80), (12, 12, 12)], ids=["image", "volume"])
def test_latencies_of_strokes(shape):
    found = interactive_latency.measure(shape, 4)
    assert 0 < found["answer"] <= found["complete"]
    assert found["memory"] > 0
    cells = interactive_latency.row("tiny", found)
    assert len(cells) == len(interactive_latency.COLUMNS)
    assert cells[:2] == ["tiny", "✓"]

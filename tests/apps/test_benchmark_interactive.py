"""The robot user of the benchmark, without data."""

import numpy as np
import pytest

from benchmarks import command, interactive, interactive_latency


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


@pytest.mark.parametrize("shape", [(60, 80), (12, 12, 12)], ids=["image", "volume"])
def test_latencies_of_strokes(shape):
    found = interactive_latency.measure(shape, 4)
    assert 0 < found["answer"] <= found["complete"]
    assert found["memory"] > 0
    cells = interactive_latency.row("tiny", found)
    assert len(cells) == len(interactive_latency.COLUMNS)
    assert cells[:2] == ["tiny", "✓"]


def test_latencies_without_a_certificate_are_not_reported():
    """Marks of one kind have no cut."""
    strokes = [{"points": [(5, 5)], "radius": 2, "label": 0}] * 3
    with pytest.raises(RuntimeError, match="nothing is certified"):
        interactive_latency.run(np.zeros((20, 30), np.uint8), None, strokes)


def test_the_table_of_latencies_is_saved(monkeypatch):
    monkeypatch.setattr(interactive_latency, "report", lambda marks, device: (device, f"{marks} marks"))
    saved = []
    monkeypatch.setattr(command, "save", lambda name, text: saved.append((name, text)))
    assert interactive.main(["--latency", "--marks", "5", "--save"]) == 0
    assert interactive.main(["--latency", "--marks", "5", "--device", "cuda", "--save"]) == 0
    assert saved == [("interactive-latency", "cpu\n5 marks"), ("interactive-latency-cuda", "cuda\n5 marks")]
    monkeypatch.setattr(interactive_latency, "report", lambda marks, device: None)
    assert interactive.main(["--latency", "--device", "cuda"]) == 2, "without a GPU"
    with pytest.raises(SystemExit):
        interactive.main(["--latency", "--marks", "2"])

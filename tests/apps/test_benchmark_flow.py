"""The benchmark on a folder of one small pair, and without any."""

import cv2
import numpy as np
import pytest
from PIL import Image

from benchmarks import flow as benchmark
from benchmarks import flow_clip
from tests.apps.flow_samples import write_flow


@pytest.fixture
def data(tmp_path):
    """A pair of textures that move by (4, -2), laid out as Middlebury's."""
    rng = np.random.default_rng(0)
    wide = cv2.GaussianBlur(rng.uniform(0, 255, (110, 130, 3)), (0, 0), 1.5)
    wide = np.uint8(255 * (wide - wide.min()) / np.ptp(wide))
    folder = tmp_path / "middlebury" / "Texture"
    folder.mkdir(parents=True)
    Image.fromarray(wide[10:90, 10:110]).save(folder / "frame10.png")
    Image.fromarray(wide[12:92, 6:106]).save(folder / "frame11.png")
    write_flow(folder / "flow10.flo", np.full((80, 100, 2), (4, -2), np.float32))
    return tmp_path


def test_skips_without_data(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("CUTMATCH_FLOW_DATA", raising=False)
    assert benchmark.main([]) == 0
    assert "skipped, no folder given" in capsys.readouterr().out
    assert benchmark.main(["--data", "gone"]) == 0
    assert "skipped, no folder 'gone'" in capsys.readouterr().out
    assert benchmark.main(["--data", str(tmp_path)]) == 0
    assert "no pairs in" in capsys.readouterr().out


def test_tables(data, capsys):
    assert benchmark.main(["--data", str(data), "--repeats", "1", "--clip", "0"]) == 0
    printed = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if line[:1] == "|"]
    dense = {row[1]: row for row in rows if row[0] == "Middlebury" and row[1] in benchmark.DENSE}
    assert list(dense) == list(benchmark.DENSE)
    assert float(dense["cutmatch"][3]) < 0.3
    sparse = {row[1]: row for row in rows if row[0] == "Middlebury" and row[1] in benchmark.SPARSE}
    assert list(sparse) == list(benchmark.SPARSE)
    assert float(sparse["cutmatch, assignment"][4]) > 95
    assert "4 fusion cuts, each checked ✓" in printed
    assert int(printed.split(" assignments, each checked")[0].split()[-1]) >= 2


def test_a_wrong_cut_is_never_printed(data, capsys, monkeypatch):
    plain = benchmark.fusion.fusion_minimum

    class Wrong:
        def __init__(self, cut):
            self.labels, self.value = cut.labels, cut.value

        def check(self):
            raise AssertionError("flow and cut differ")

    monkeypatch.setattr(benchmark.fusion, "fusion_minimum", lambda *a, **k: Wrong(plain(*a, **k)))
    with pytest.raises(AssertionError, match="flow and cut differ"):
        benchmark.main(["--data", str(data), "--repeats", "1", "--clip", "0"])
    assert "| cutmatch" not in capsys.readouterr().out


def test_the_clip_shows_its_flow():
    frames, flows = flow_clip.clip(3)
    assert len(frames) == 3
    assert len(flows) == 2
    for first, second, flow in zip(frames, frames[1:], flows, strict=False):
        y, x = np.mgrid[: flow.shape[0], : flow.shape[1]].astype(np.float32)
        warped = cv2.remap(second, x + flow[..., 0], y + flow[..., 1], cv2.INTER_LINEAR)
        off = np.abs(warped.astype(int) - first).mean(axis=2)[10:-10, 10:-10]
        assert np.median(off) < 3
        assert (off > 20).mean() < 0.03
        assert 4 < np.abs(flow).max() < 9


@pytest.mark.slow
def test_clip_table(monkeypatch):
    monkeypatch.setattr(flow_clip, "HEIGHT", 120)
    monkeypatch.setattr(flow_clip, "WIDTH", 160)
    rows = [line.strip("|").split("|") for line in flow_clip.clip_table(3).splitlines() if "|" in line]
    alone, sequence, *fast = [float(row[1]) for row in rows[2:]]
    assert alone == sequence < 2
    assert fast[0] == fast[1] < 2


def test_points_right_counts_cells():
    known = np.ones((32, 32), bool)
    known[:, 16:] = False
    case = benchmark.Case("a", "b", None, None, np.zeros((32, 32, 2)), known)
    first = np.array([[3.0, 3.0], [5.0, 5.0], [4.0, 20.0], [20.0, 4.0]])
    second = first + [[1.0, 0.0], [9.0, 0.0], [0.0, 2.0], [0.0, 0.0]]
    count, error, within, right, cells = benchmark.points_right(first, second, case)
    assert (count, right) == (3, 2)
    assert error == pytest.approx(4)
    assert within == pytest.approx(200 / 3)
    assert cells == pytest.approx(100)

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


@pytest.mark.slow
def test_clip_table(monkeypatch):
    monkeypatch.setattr(flow_clip, "HEIGHT", 120)
    monkeypatch.setattr(flow_clip, "WIDTH", 160)
    rows = [line.strip("|").split("|") for line in flow_clip.clip_table(3).splitlines() if "|" in line]
    alone, sequence, *fast = [float(row[1]) for row in rows[2:]]
    assert alone == sequence < 2
    assert fast[0] == fast[1] < 2

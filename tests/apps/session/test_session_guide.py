"""The examples of docs/guide/session.md run as they are."""

import re
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image

GUIDE = Path(__file__).parents[3] / "docs/guide/session.md"


def test_the_examples_of_the_guide(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), flags=re.DOTALL):
        exec(code, names)
    first, second = capsys.readouterr().out.splitlines()
    assert first.split()[0] == str(140 * 100)
    assert second == "True [0 1 2]"
    labels = np.array(Image.open("objects.png"))
    assert (labels == 1).sum() == 140 * 100
    assert (labels == 2).sum() == 60 * 80
    cube = np.zeros((30, 60, 60), bool)
    cube[8:22, 15:45, 15:45] = True
    assert np.count_nonzero((tifffile.imread("object.tif") == 1) != cube) < 20  # corners are rounded
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "object.tif",
        "objects.json",
        "objects.png",
        "photo.session.json",
    ]

"""The functions between a command and its first kernel, as docs/architecture.md lists them."""

import re
import sys
from pathlib import Path

from apps import cli
from apps.common.errors import InputError
from apps.segment import colour_models

ROOT = Path(__file__).parents[2]
MAX_FRAMES, MAX_FILES = 14, 10


def test_segment_reaches_its_first_kernel_in_few_frames(files, monkeypatch):
    frames = []

    def first_kernel(*_):
        frame = sys._getframe(1)
        while frame is not None:
            if Path(frame.f_code.co_filename).is_relative_to(ROOT / "apps"):
                frames.insert(0, frame.f_code)
            frame = frame.f_back
        raise InputError("stopped at the first kernel")

    monkeypatch.setattr(colour_models, "palette_kernel", first_kernel)
    monkeypatch.chdir(files)
    assert cli.main(["segment", "photo.png", "--scribbles", "strokes.png", "--device", "cpu", "--quiet"]) == 2
    number, paths = len(frames), {code.co_filename for code in frames}
    assert number <= MAX_FRAMES
    assert len(paths) <= MAX_FILES
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    (row,) = re.findall(r"^\| `cutmatch segment.*?` *\| (.*?) \| (.*?) \|$", text, re.MULTILINE)
    assert row[0] == f"{number} / {len(paths)}"
    assert re.findall(r"`(.*?)`", row[1]) == [code.co_qualname for code in frames]

"""A further kind of hint is one row of the table: command, clip, session, requests and page take it from there.

The rest runs in a process of its own, which adds the row before anything else is imported.
"""

import base64
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from apps.segment.hint_kinds import HINTS, Hint, MaskKind, MaskPrior

NAME = "saliency"
ROW = Hint(
    ("image", "clip", "page"),
    "saliency map",
    file="map",
    module=__name__,
    button=("From a map\u2026", "Find the salient object"),
)


def of_array(values, name):
    return np.asarray(values).astype(np.uint8)


def prior(values, marks, view):
    """The costs are linear in the levels, of which the high and the low ones are sure."""
    share = values / np.float32(255)
    parts = share > 0.7, share < 0.3
    return MaskPrior(share > 0.5, 1 - 2 * share, parts, parts)


KIND = MaskKind(of_array, lambda values, shape, name: values, prior)


def check_all(folder: Path) -> None:
    from PIL import Image

    from apps import Session, cli
    from apps.app.image_sources import Image as AppImage
    from apps.app.prompts import PromptSessions, parse_marks
    from apps.app.server import static_files
    from apps.common.errors import InputError
    from apps.segment.hints import combine, given_mask
    from apps.segment.segmentation import segment_marked
    from apps.volumes.voxel_geometry import Volume

    y, x = np.mgrid[:60, :80]
    distance = np.hypot(y - 30, x - 40)
    rng = np.random.default_rng(0)
    photo = np.where((distance < 18)[..., None], (180, 120, 60), (70, 90, 130)) + rng.normal(0, 25, (60, 80, 3))
    photo = np.clip(photo, 0, 255).astype(np.uint8)
    values = np.clip(255 - 6.5 * distance, 0, 255).astype(np.uint8)
    mask = segment_marked(photo, combine((60, 80), mask=given_mask(saliency=values)), device="cpu").mask
    assert abs(int(mask.sum()) - int((distance < 18).sum())) < 40

    Image.fromarray(photo).save(folder / "photo.png")
    Image.fromarray(values).save(folder / "map.png")
    (folder / "clip").mkdir()
    for number in range(2):
        Image.fromarray(photo).save(folder / "clip" / f"{number}.png")
    out = ["--out", str(folder), "--device", "cpu", "--quiet", "--saliency", str(folder / "map.png")]
    session_file = folder / "session.json"
    assert cli.main(["segment", str(folder / "photo.png"), "--save-session", str(session_file), *out]) == 0
    np.testing.assert_array_equal(np.array(Image.open(folder / "photo-mask.png")) > 0, mask)
    assert cli.main(["segment", str(folder / "clip"), "--clip", *out]) == 0
    np.testing.assert_array_equal(np.array(Image.open(folder / "clip-mask0000.png")) > 0, mask)
    assert cli.main(["segment", str(folder / "photo.png"), "--start", str(folder / "map.png"), *out]) == 2
    assert cli.main(["segment", str(folder / "photo.png"), *out, "--out", str(folder / "map.png")]) == 2

    stored = folder / "stored.json"
    with Session(photo, device="cpu") as session:
        session.hint(NAME, values)
        assert session.wait()
        np.testing.assert_array_equal(session.mask, mask)
        session.save(stored)
    with Session.load(stored, photo, device="cpu") as session:
        assert session.wait()
        np.testing.assert_array_equal(session.mask, mask)
        assert [record["kind"] for record in session.strokes] == [NAME]
    with Session.load(session_file, photo) as session:
        assert [record["kind"] for record in session.strokes] == ["start"]  # the object found
    with Session(Volume(np.arange(60, dtype=np.uint8).reshape(3, 4, 5), None)) as session:
        with pytest.raises(InputError, match="'saliency' applies to images"):
            session.hint(NAME, np.ones((3, 4, 5)))

    prompts, file = PromptSessions("cpu"), io.BytesIO()
    Image.fromarray(values).save(file, "PNG")
    marks = parse_marks({"marks": [{NAME: base64.b64encode(file.getvalue()).decode()}]})
    _, labels = prompts.find_labels("photo", lambda: AppImage(photo), marks)
    prompts.close()
    np.testing.assert_array_equal(labels > 0, mask)
    page = static_files()["index.html"][0].decode()
    assert [f'data-hint="{kind}"' in page for kind in ("start", NAME, "scribbles")] == [True, True, False]


def run(folder: str) -> None:
    HINTS[NAME] = ROW
    check_all(Path(folder))


def test_a_further_kind_is_one_row(tmp_path):
    program = f"from {__name__} import run; run({str(tmp_path)!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pass --start or --saliency, got both" in done.stderr
    assert "map.png" in done.stderr

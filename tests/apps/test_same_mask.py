"""The same image and marks give the same labels by every way: library, command, session at rest, server, grabCut."""

import base64
import io
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from apps import Session, cli, segment, segment_labels
from apps.app.image_sources import Image as AppImage
from apps.app.prompts import PromptSessions, parse_prompts
from apps.common.images import read_image
from apps.compat.cv2 import grabCut
from apps.segmentation import fit
from apps.session.canvas import Canvas
from apps.session.record_checks import make_stroke
from tests.tiers import in_quick_tier

DATA = Path(__file__).resolve().parents[2] / "data"
KINDS = ("box", "start")
HINTS = ("strokes", "strokes on the object", *KINDS, *(f"{kind} and strokes" for kind in KINDS))
WIDTH = 160  # pixels to which a photograph is reduced

pytestmark = [
    pytest.mark.filterwarnings("ignore:most pixels around the stroke"),  # random strokes contradict the colours
    pytest.mark.filterwarnings("ignore:strokes marks no background"),
]


@pytest.fixture(params=in_quick_tier(["astronaut", "chelsea", "coffee"], lambda name: name == "astronaut"))
def photo(request):
    """A small photograph, uint8."""
    image = Image.open(DATA / f"{request.param}.jpg")
    return np.array(image.resize((WIDTH, WIDTH * image.height // image.width)))


def hints_of(kind, shape, rng):
    """Arguments of `segment`, a function that gives a session the same, and the marks of a request with the same."""
    height, width = shape
    labels = (1, 1) if kind == "strokes on the object" else (0, 1, 0, 1)
    strokes = [(rng.uniform((0, 0), (width, height), (3, 2)), float(rng.uniform(1, 4)), label) for label in labels]
    box = (width // 5, height // 5, 4 * width // 5, 4 * height // 5)
    y, x = np.mgrid[:height, :width]
    start = np.hypot(y - height / 2, x - width / 2) < height / 3

    def apply(session):
        if "box" in kind:
            session.box(box)
        if "start" in kind:
            session.start_from(start)
        if "strokes" in kind:
            for points, radius, label in strokes:
                session.stroke(points, radius, label)
        session.wait()

    marks = Canvas(shape, shape)
    marks.change_to([make_stroke(*stroke, shape, None, None, False) for stroke in strokes])
    given = {"box": box} if "box" in kind else {"start": start} if "start" in kind else {}
    asked: list[dict] = [{name: list(value) if name == "box" else in_base64(value)} for name, value in given.items()]
    if "strokes" in kind:
        given["strokes"] = marks.all_marks()
        asked += [{"stroke": points.tolist(), "radius": radius, "label": label} for points, radius, label in strokes]
    return given, apply, asked


def in_base64(mask):
    """A mask as the content of an image file."""
    file = io.BytesIO()
    Image.fromarray(mask).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


@pytest.mark.parametrize("kind", HINTS)
@pytest.mark.parametrize("size", ["small", "large"])
def test_one_object(photo, kind, size, tmp_path, monkeypatch):
    if size != "small":
        monkeypatch.setattr(fit, "WORKING_PIXELS", 8000)
        monkeypatch.setattr(fit, "BOX_PIXELS", 8000)
        monkeypatch.setattr(fit, "LARGE_PIXELS", 8000)
        monkeypatch.setattr(fit, "REDUCED_PIXELS", 5000)
    given, apply, asked = hints_of(kind, photo.shape[:2], np.random.default_rng(1))
    mask = segment(photo, **given, device="cpu").mask
    with Session(photo, device="cpu") as session:
        apply(session)
        np.testing.assert_array_equal(session.mask, mask)
        assert session.result().certified
    prompts = PromptSessions("cpu")
    _, labels = prompts.find_labels("photo", lambda: AppImage(photo), parse_prompts({"prompts": asked}))
    prompts.close()
    np.testing.assert_array_equal(labels > 0, mask)
    if kind == "strokes on the object":
        return  # the command wants both colours, as a file may have lost one
    Image.fromarray(photo).save(tmp_path / "photo.png")
    words = ["segment", str(tmp_path / "photo.png"), "--out", str(tmp_path), "--device", "cpu", "--quiet"]
    if "box" in given:
        words += ["--box", ",".join(map(str, given["box"]))]
    if "start" in given:
        Image.fromarray(given["start"]).save(tmp_path / "start.png")
        words += ["--start", str(tmp_path / "start.png")]
    if "strokes" in given:
        Image.fromarray(np.array([2, 1, 0], np.uint8)[given["strokes"]]).save(tmp_path / "strokes.png")
        words += ["--strokes", str(tmp_path / "strokes.png")]
    assert cli.main(words) == 0
    np.testing.assert_array_equal(read_image(tmp_path / "photo-mask.png")[..., 0] > 0, mask)


@pytest.mark.parametrize("kind", ["box", "start"])
def test_grab_cut(photo, kind):
    """OpenCV's rectangle is a box, and a guess without sure pixels a start mask; it keeps all parts."""
    given, _, _ = hints_of(kind, photo.shape[:2], np.random.default_rng(1))
    x0, y0, x1, y1 = given.get("box", (0, 0, 0, 0))
    codes = np.where(given.get("start", False), np.uint8(cv2.GC_PR_FGD), np.uint8(cv2.GC_PR_BGD))
    mode = cv2.GC_INIT_WITH_RECT if kind == "box" else cv2.GC_INIT_WITH_MASK
    codes, *_ = grabCut(photo[..., ::-1].copy(), codes, (x0, y0, x1 - x0, y1 - y0), None, None, 10, mode)
    mask = segment(photo, **given, keep="all", device="cpu").mask
    np.testing.assert_array_equal(codes & 1, mask)


@pytest.mark.parametrize("size", ["small", "reduced"])
@pytest.mark.parametrize("count", [2, 3])
def test_several_objects(photo, count, size, monkeypatch):
    if size == "reduced":
        monkeypatch.setattr(fit, "LARGE_PIXELS", 8000)
        monkeypatch.setattr(fit, "REDUCED_PIXELS", 5000)
    rng = np.random.default_rng(2)
    height, width = photo.shape[:2]
    with Session(photo, device="cpu") as session:
        for label in range(1, count + 1):
            session.stroke(rng.uniform((0, 0), (width, height), (3, 2)), 3.0, label)
        session.wait()
        marks = Canvas(session.shape, session.shape)
        marks.change_to(session.records)
        seeds = np.uint8(np.maximum(marks.all_marks(), 0))
        np.testing.assert_array_equal(session.labels, segment_labels(photo, seeds, device="cpu").labels)

"""Sessions of corrections: what is stored, what further strokes change, and files that are refused."""

import numpy as np
import pytest
from PIL import Image

from apps import cli
from apps.common.images import read_image
from apps.segmentation.hints import Hints, ObjectOptions
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN
from apps.segmentation.strokes import marks_of
from apps.session import Session
from apps.session.store import Store, hints_in, stored_of


@pytest.fixture
def given(scene):
    options = ObjectOptions("largest", True, 3)
    return Hints(marks_of(scene.strokes), scene.box, scene.truth, options=options)


def save(path, rgb, name, given, mask):
    with Store(path, replaces=True) as store:
        store.begin(name, rgb, rgb.shape[:2], stored_of(given, mask), "started")


def load(path, rgb):
    with Store(path) as store:
        return hints_in(store.read(rgb, rgb.shape[:2]), rgb.shape[:2])


def run(files, *arguments, image="photo.png"):
    paths = [files / word if str(word).endswith((".png", ".sqlite")) else word for word in (image, *arguments)]
    return cli.main(["segment", *map(str, paths), "--out", str(files / "out")])


def read_mask(files):
    return np.array(Image.open(files / "out/photo-mask.png")) > 0


@pytest.mark.parametrize("full", [True, False])
def test_a_session_is_read_as_it_was_written(files, scene, given, full):
    rgb = read_image(files / "photo.png")
    if not full:
        given = Hints(given.strokes, options=given.options._replace(keep=None))
    save(files / "a.sqlite", rgb, "photo.png", given, ~scene.truth)
    Image.fromarray(scene.image).save(files / "renamed.bmp")
    found = load(files / "a.sqlite", read_image(files / "renamed.bmp"))
    np.testing.assert_array_equal(found.strokes, given.strokes)
    assert (found.mask is None) == (given.mask is None)
    if found.mask is not None:
        np.testing.assert_array_equal(found.mask, given.mask)
    np.testing.assert_array_equal(found.labelling, ~scene.truth)
    assert found.box == given.box
    assert found.options == given.options


def test_strokes_are_added_to_a_session(files, scene):
    assert run(files, "--box", "4,5,27,28", "--min-area", "2", "--save-session", "s.sqlite") == 0
    first = read_mask(files)
    strokes = np.zeros((32, 32), np.uint8)
    strokes[8:10, 10:20] = 2  # within the object
    Image.fromarray(strokes).save(files / "more.png")
    again = "--overwrite", "--resume-session", "s.sqlite", "--save-session", "s.sqlite"
    assert run(files, *again, "--strokes", "more.png") == 0
    second = read_mask(files)
    assert first[strokes == 2].any()
    assert not second[strokes == 2].any()
    outside = np.ones_like(second)
    outside[5:28, 4:27] = False
    assert not second[outside].any(), "the box is still in force"
    hints = load(files / "s.sqlite", read_image(files / "photo.png"))
    np.testing.assert_array_equal(hints.strokes, np.where(strokes == 2, BACKGROUND, OPEN))
    assert hints.box == scene.box
    assert hints.options.min_area == 2
    np.testing.assert_array_equal(hints.labelling, second)

    again = np.zeros((32, 32), np.uint8)
    again[8, 10:20] = 1  # prevails over the earlier stroke
    again[20:22, 12:16] = 1
    Image.fromarray(again).save(files / "again.png")
    assert run(files, "--overwrite", "--resume-session", "s.sqlite", "--strokes", "again.png") == 0
    third = read_mask(files)
    assert third[again == 1].all()
    assert not third[9, 10:20].any()


def test_a_session_alone_gives_its_object_again(files):
    assert run(files, "--strokes", "strokes.png", "--save-session", "s.sqlite") == 0
    first = read_mask(files)
    assert run(files, "--overwrite", "--resume-session", "s.sqlite") == 0
    assert (read_mask(files) == first).mean() > 0.99


def test_options_of_the_command_replace_those_of_the_session(files):
    assert run(files, "--strokes", "strokes.png", "--keep", "largest", "--save-session", "s.sqlite") == 0
    assert run(files, "--overwrite", "--resume-session", "s.sqlite", "--keep", "all", "--save-session", "t.sqlite") == 0
    rgb = read_image(files / "photo.png")
    assert [load(files / name, rgb).options.keep for name in ("s.sqlite", "t.sqlite")] == ["largest", "all"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume-session", "gone.sqlite"], "--resume-session: no file"),
        (["--resume-session", "truth.png"], "--resume-session: .*truth.png' is damaged"),
        (["--resume-session", "other.sqlite"], "is the session of another image, 'other.png'"),
        (
            ["--resume-session", "small.sqlite"],
            "is the session of another image, 'small.png' of size 9x8; pass that image",
        ),
        (["--box", "1,1,9,9", "--save-session", "s.txt"], r"--save-session: .* must end in .sqlite"),
        (
            ["--box", "1,1,9,9", "--save-session", "mine.sqlite"],
            "--save-session: .* already exists; choose another name",
        ),
        (
            ["--label-strokes", "strokes.png", "--save-session", "s.sqlite"],
            "--save-session does not apply to --label-strokes",
        ),
        (
            ["--label-strokes", "strokes.png", "--resume-session", "other.sqlite"],
            "--resume-session does not apply to --label-strokes",
        ),
        (["--box", "1,1,9,9", "--save-session", "s.sqlite", "--workers", "1"], "--save-session applies to one image"),
        (["--resume-session", "other.sqlite", "--workers", "1"], "--resume-session applies to one image"),
    ],
)
def test_bad_lines(files, scene, given, arguments, message, rejects):
    save(files / "other.sqlite", np.zeros((32, 32, 3), np.float32), "other.png", given, ~scene.truth)
    small = Hints(np.full((8, 9), OPEN, np.int8), options=given.options)
    save(files / "small.sqlite", np.zeros((8, 9, 3), np.float32), "small.png", small, np.zeros((8, 9), bool))
    (files / "mine.sqlite").write_text("{}")
    words = [files / word if word.endswith((".sqlite", ".png", ".txt")) else word for word in arguments]
    rejects(["segment", files / "photo.png", *words, "--out", files / "out"], message, files)


def test_pixels_set_by_hand_stay_when_the_command_continues(files):
    """As object and as background."""
    rgb = read_image(files / "photo.png")
    with Session(rgb, device="cpu") as session:
        session.stroke([(15, 16)], 3)
        session.stroke([(2, 2), (30, 2)], 1, 0)
        session.wait()
        session.solid([(29, 29)], 2)
        session.solid([(15, 16)], 2, taken=True)
        session.save(files / "s.sqlite", "photo.png")
    hints = load(files / "s.sqlite", rgb)
    assert (hints.strokes[28:30, 28:30] == OBJECT).all()
    assert (hints.strokes[15:17, 14:16] == BACKGROUND).all()
    assert run(files, "--resume-session", "s.sqlite") == 0
    found = read_mask(files)
    assert found[28:30, 28:30].all()
    assert not found[15:17, 14:16].any()

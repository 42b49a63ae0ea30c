"""Sessions of corrections: what is stored, what further strokes change, and files that are refused."""

import base64
import json

import numpy as np
import pytest
from PIL import Image

from apps import cli
from apps.common.images import InputError, read_image
from apps.segmentation.hints import Hints, Mask, ObjectOptions
from apps.segmentation.marks import BACKGROUND, OPEN
from apps.segmentation.session_files import Instructions, load_session, save_session
from apps.segmentation.strokes import marks_of


@pytest.fixture
def given(scene):
    hints = Hints(marks_of(scene.strokes), scene.box, Mask(scene.truth))
    return Instructions(hints, ObjectOptions("largest", True, 3))


@pytest.fixture
def stored(scene, files, given):
    """A session as a file, its image, and its JSON."""
    rgb = read_image(files / "photo.png")
    save_session(files / "a.json", rgb, "photo.png", given, ~scene.truth)
    return files / "a.json", rgb, json.loads((files / "a.json").read_text("utf-8"))


def run(files, *arguments, image="photo.png"):
    paths = [files / word if str(word).endswith((".png", ".json")) else word for word in (image, *arguments)]
    return cli.main(["segment", *map(str, paths), "--out", str(files / "out")])


def read_mask(files):
    return np.array(Image.open(files / "out/photo-mask.png")) > 0


@pytest.mark.parametrize("full", [True, False])
def test_a_session_is_read_as_it_was_written(files, scene, given, full):
    rgb = read_image(files / "photo.png")
    if not full:
        given = Instructions(Hints(given.hints.strokes), given.options._replace(keep=None))
    save_session(files / "a.json", rgb, "photo.png", given, ~scene.truth)
    found, options = load_session(files / "a.json", rgb)
    np.testing.assert_array_equal(found.strokes, given.hints.strokes)
    assert (found.mask is None) == (given.hints.mask is None)
    if found.mask is not None:
        np.testing.assert_array_equal(found.mask.values, given.hints.mask.values)
    np.testing.assert_array_equal(found.labelling, ~scene.truth)
    assert found.strokes.dtype == np.int8
    assert found.box == given.hints.box
    assert options == given.options


def test_the_same_pixels_in_another_file(stored, files, scene):
    path, _, _ = stored
    Image.fromarray(scene.image).save(files / "renamed.bmp")
    assert load_session(path, read_image(files / "renamed.bmp")).hints.box == scene.box


def test_unknown_keys_are_ignored(stored):
    path, rgb, content = stored
    path.write_text(json.dumps(content | {"history": [1, 2]}))
    assert load_session(path, rgb).options.min_area == 3


def changed(**values):
    return lambda content: content | values


def image_with(**values):
    return lambda content: content | {"image": content["image"] | values}


def options_with(**values):
    return lambda content: content | {"options": content["options"] | values}


def png(array):
    import io

    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, format="PNG")
    return base64.b64encode(buffer.getvalue()).decode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: [], "is not a session of cutmatch segment"),
        (changed(format="other"), "is not a session of cutmatch segment"),
        (changed(version=2), "has version 2 of sessions; this program reads version 1"),
        (changed(image=3), "is damaged: 'image'"),
        (image_with(width=40), "of an image of 40x32 pixels, but the image is 32x32; pass the image 'photo.png'"),
        (image_with(digest="sha256:00"), "is the session of another image, 'photo.png'"),
        (changed(strokes="&"), "is damaged: 'strokes'"),
        (changed(strokes=base64.b64encode(b"words").decode()), "is damaged: 'strokes'"),
        (changed(strokes=png(np.zeros((3, 3), np.uint8))), "is damaged: 'strokes'"),
        (changed(strokes=png(np.full((32, 32), 7, np.uint8))), "is damaged: 'strokes'"),
        (changed(mask=None), "is damaged: 'mask'"),
        (changed(start=5), "is damaged: 'start'"),
        (changed(box=[1, 2, 3]), "is damaged: 'box'"),
        (changed(options=[]), "is damaged: 'options'"),
        (options_with(keep="some"), "is damaged: 'options'"),
        (options_with(keep=[1]), "is damaged: 'options'"),
        (options_with(min_area=-1), "is damaged: 'options'"),
        (options_with(fill_holes=1), "is damaged: 'options'"),
    ],
)
def test_bad_sessions_are_rejected(stored, change, message):
    path, rgb, content = stored
    path.write_text(json.dumps(change(content)))
    with pytest.raises(InputError, match=message):
        load_session(path, rgb)


# The command


def test_strokes_are_added_to_a_session(files, scene):
    assert run(files, "--box", "4,5,27,28", "--min-area", "2", "--save-session", "s.json") == 0
    first = read_mask(files)
    strokes = np.zeros((32, 32), np.uint8)
    strokes[8:10, 10:20] = 2  # within the object
    Image.fromarray(strokes).save(files / "more.png")
    assert (
        run(files, "--overwrite", "--resume-session", "s.json", "--strokes", "more.png", "--save-session", "s.json")
        == 0
    )
    second = read_mask(files)
    assert first[strokes == 2].any()
    assert not second[strokes == 2].any()
    outside = np.ones_like(second)
    outside[5:28, 4:27] = False
    assert not second[outside].any(), "the box is still in force"
    hints, options = load_session(files / "s.json", read_image(files / "photo.png"))
    np.testing.assert_array_equal(hints.strokes, np.where(strokes == 2, BACKGROUND, OPEN))
    assert hints.box == scene.box
    assert options.min_area == 2
    np.testing.assert_array_equal(hints.labelling, second)

    again = np.zeros((32, 32), np.uint8)
    again[8, 10:20] = 1  # prevails over the earlier stroke
    again[20:22, 12:16] = 1
    Image.fromarray(again).save(files / "again.png")
    assert run(files, "--overwrite", "--resume-session", "s.json", "--strokes", "again.png") == 0
    third = read_mask(files)
    assert third[again == 1].all()
    assert not third[9, 10:20].any()


def test_a_session_alone_gives_its_object_again(files):
    assert run(files, "--strokes", "strokes.png", "--save-session", "s.json") == 0
    first = read_mask(files)
    assert run(files, "--overwrite", "--resume-session", "s.json") == 0
    assert (read_mask(files) == first).mean() > 0.99


def test_options_of_the_command_replace_those_of_the_session(files):
    assert run(files, "--strokes", "strokes.png", "--keep", "largest", "--save-session", "s.json") == 0
    assert run(files, "--overwrite", "--resume-session", "s.json", "--keep", "all", "--save-session", "t.json") == 0
    rgb = read_image(files / "photo.png")
    assert [load_session(files / name, rgb).options.keep for name in ("s.json", "t.json")] == ["largest", "all"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume-session", "gone.json"], "--resume-session: no file"),
        (["--resume-session", "truth.png"], "--resume-session: .*truth.png' is not a session"),
        (["--resume-session", "other.json"], "is the session of another image, 'other.png'"),
        (["--resume-session", "small.json"], "is the session of an image of 9x8 pixels, but the image is 32x32"),
        (["--box", "1,1,9,9", "--save-session", "s.txt"], r"--save-session: .* must end in .json"),
        (
            ["--box", "1,1,9,9", "--save-session", "mine.json"],
            "--save-session: .* already exists; choose another name",
        ),
        (["--label-strokes", "strokes.png", "--save-session", "s.json"], "--save-session applies to a single one"),
        (
            ["--label-strokes", "strokes.png", "--resume-session", "other.json"],
            "--resume-session applies to a single one",
        ),
        (["--box", "1,1,9,9", "--save-session", "s.json", "--workers", "1"], "--save-session applies to one image"),
        (["--resume-session", "other.json", "--workers", "1"], "--resume-session applies to one image"),
    ],
)
def test_bad_lines(files, scene, given, arguments, message, rejects):
    save_session(files / "other.json", np.zeros((32, 32, 3), np.float32), "other.png", given, ~scene.truth)
    small = Instructions(Hints(np.full((8, 9), OPEN, np.int8)), given.options)
    save_session(files / "small.json", np.zeros((8, 9, 3), np.float32), "small.png", small, np.zeros((8, 9), bool))
    (files / "mine.json").write_text("{}")
    words = [files / word if word.endswith((".json", ".png", ".txt")) else word for word in arguments]
    rejects(["segment", files / "photo.png", *words, "--out", files / "out"], message, files)

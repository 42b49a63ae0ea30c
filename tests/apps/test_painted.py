"""Strokes in palettes, and messages about files that hold none; tests/apps/painted_cases.py has those of programs."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from apps.common.images import InputError
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN
from apps.segmentation.strokes import PALETTES as PALETTE_TABLE
from apps.segmentation.strokes import check_marks, marks_of, read_labels, read_strokes

WIDTH = 7  # pixels of a stroke


def test_photograph_without_strokes(tmp_path):
    from skimage.data import astronaut

    photo = np.asarray(Image.fromarray(astronaut()).resize((128, 128), Image.Resampling.BOX))
    Image.fromarray(photo).save(tmp_path / "a.png")
    with pytest.raises(InputError, match="has no coloured stroke: it equals the image"):
        read_strokes(tmp_path / "a.png", image=photo)
    with pytest.raises(InputError, match="has [0-9]+ painted pixels, such as .* beside strokes in red"):
        read_strokes(tmp_path / "a.png", image=np.ascontiguousarray(photo[::-1]))


INDEX_MARKS = np.array([OPEN, OBJECT, BACKGROUND])


def palette_image(path, codes, colours):
    image = Image.fromarray(codes, "P")
    image.putpalette([value for colour in colours for value in colour])
    image.save(path)


@pytest.mark.parametrize("colours", [*PALETTE_TABLE, ((0, 0, 0), (99, 99, 99), (255, 255, 255))])
def test_indices_of_known_and_grey_palettes_are_values(tmp_path, colours):
    codes = np.zeros((12, 16), np.uint8)
    codes[2:5, 2:9], codes[8:11, 4:12] = 1, 2
    palette_image(tmp_path / "a.png", codes, colours)
    np.testing.assert_array_equal(read_strokes(tmp_path / "a.png"), INDEX_MARKS[codes])
    np.testing.assert_array_equal(read_labels(tmp_path / "a.png"), codes)


def drawn(ground, alpha=255, colours=((255, 0, 0), (0, 0, 255))):
    """Strokes on a copy of an image."""
    layer = Image.new("RGBA", ground.size, (0, 0, 0, 0))
    pen = ImageDraw.Draw(layer)
    pen.line([(10, 12), (40, 20), (60, 50)], (*colours[0], alpha), WIDTH)
    pen.line([(70, 60), (115, 70), (105, 88)], (*colours[1], alpha), WIDTH)
    if ground.mode == "RGBA":
        return layer
    return Image.alpha_composite(ground.convert("RGBA"), layer).convert("RGB")


WHITE, CLEAR = Image.new("RGB", (128, 96), "white"), Image.new("RGBA", (128, 96), (255, 255, 255, 0))
BLACK_AND_WHITE = Image.new("P", (1, 1))
BLACK_AND_WHITE.putpalette([0, 0, 0, 255, 255, 255, *[0] * 762])


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (WHITE, "is blank: every pixel is #ffffff; paint the object red"),
        (WHITE.convert("L"), "is blank: every pixel is 255; paint the object red"),
        (WHITE.convert("1"), "is blank: every pixel is 255; paint the object red"),
        (WHITE.convert("P"), "is blank: every pixel is #ffffff; paint"),
        (CLEAR, r"is blank: every pixel is transparent \(alpha 0\); paint"),
        (CLEAR.convert("LA"), r"is blank: every pixel is transparent \(alpha 0\); paint"),
        (
            drawn(WHITE, colours=((0, 170, 0), (0, 0, 255))),
            r"strokes in green #00aa00 and blue #0000ff \([0-9]+ pixels\); only red and blue have a meaning",
        ),
        (drawn(WHITE, colours=((255, 255, 0), (0, 255, 0))), "yellow #ffff00.*only red and blue have"),
        (drawn(CLEAR, 100), "its paint is translucent, with an alpha of at most 100, and strokes need 128 of 255"),
        (
            drawn(WHITE).convert("1"),
            "marks every pixel.*: [0-9]+ pixels are object, .* in colour, because 1 bit per pixel",
        ),
        (
            drawn(WHITE).quantize(palette=BLACK_AND_WHITE),
            "no background: only strokes of one kind were found, on 9[0-9] % of the image",
        ),
    ],
)
def test_messages_name_what_was_seen_and_the_remedy(tmp_path, image, message):
    image.save(tmp_path / "strokes.png")
    with pytest.raises(InputError, match=message):
        read_and_check(tmp_path / "strokes.png")


def read_and_check(path):
    marks = read_strokes(path)
    check_marks(marks, marks.shape, "--strokes")


def test_a_thin_object_beside_much_background_is_a_stroke():
    """1.5 % of the paint, in strokes four pixels wide."""
    pixels = np.full((300, 400, 3), 255, np.uint8)
    pixels[:200] = (0, 0, 255)
    pixels[240:244, 20:320] = (255, 0, 0)
    marks = marks_of(pixels)
    assert np.count_nonzero(marks == OBJECT) == 1200
    assert np.count_nonzero(marks == BACKGROUND) == 80_000


def test_a_small_dot_in_the_colour_of_a_stroke_counts():
    pixels = np.full((200, 200, 3), 255, np.uint8)
    pixels[20:30, 20:180] = (0, 0, 255)
    pixels[100:110, 20:180] = (255, 0, 0)
    pixels[150:153, 60:63] = (255, 0, 0)
    pixels[150:153, 90:93] = (255, 120, 120)  # the same hue, as noise has it
    marks = marks_of(pixels)
    assert (marks[150:153, 60:63] == OBJECT).all()
    assert (marks[150:153, 90:93] == OPEN).all()

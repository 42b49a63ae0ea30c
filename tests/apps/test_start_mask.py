"""Start masks: every form in which masks are stored, bad ones, and masks that come out better than they went in."""

import cv2
import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from apps import refine, segment
from apps.segmentation.hints import read_mask
from apps.segmentation.masks import mask_of
from tests.apps.conftest import iou, run_in

run = run_in("segment")


@pytest.fixture(scope="module")
def photo():
    """A textured disc with a leg on a textured ground, 96 x 120, and its mask."""
    rng = np.random.default_rng(3)
    y, x = np.mgrid[:96, :120]
    truth = ((y - 46) ** 2 + (x - 58) ** 2 < 30**2) | ((abs(x - 58) < 7) & (y > 46) & (y < 90))
    texture = ndimage.gaussian_filter(rng.normal(0, 60, (96, 120, 3)), (2, 2, 0))
    colours = (
        np.where(truth[..., None], (190, 130, 70), (70, 95, 120)) + 2.5 * texture + rng.normal(0, 12, (96, 120, 3))
    )
    return np.clip(colours, 0, 255).astype(np.uint8), truth


CHANGES = {
    "eroded": lambda mask: ndimage.binary_erosion(mask, iterations=6),
    "dilated": lambda mask: ndimage.binary_dilation(mask, iterations=8),
    "shifted": lambda mask: np.roll(mask, (4, 5), (0, 1)),
    "coarse": lambda mask: np.kron(mask[4::8, 4::8], np.ones((8, 8), bool)),
    "noisy": lambda mask: mask ^ (np.random.default_rng(0).random(mask.shape) < 0.1),
    "a rectangle": lambda mask: np.pad(np.ones((82, 76), bool), ((12, 2), (20, 24))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_rough_mask_is_improved(photo, change, device):
    image, truth = photo
    rough = CHANGES[change](truth)
    result = segment(image, start=rough, device=device)
    assert iou(rough, truth) < 0.93
    assert iou(result.mask, truth) > 0.95
    assert (result.mask == segment(image, start=rough, device="cpu").mask).all()
    assert all(a >= b for a, b in zip(result.energies, result.energies[1:], strict=False))


@pytest.mark.filterwarnings("ignore:most pixels around the stroke")
def test_strokes_are_constraints_and_the_mask_is_a_hint(photo):
    image, truth = photo
    wrong = truth.copy()
    wrong[5:35, 95:118] = True  # a blob on the ground
    strokes = np.zeros(truth.shape, np.uint8)
    strokes[15:25, 104:108] = 2
    strokes[84:88, 57:60] = 1
    result = segment(image, start=wrong, strokes=strokes)
    assert not result.mask[strokes == 2].any()
    assert result.mask[strokes == 1].all()
    assert iou(result.mask, truth) > 0.97
    against = segment(image, start=truth, strokes=np.where(strokes == 2, 1, 0).astype(np.uint8))
    assert against.mask[strokes == 2].all(), "an object stroke outside of the mask is a constraint too"


# Reading


def palette_image(mask, colours, values=(0, 1)):
    image = Image.fromarray(np.where(mask, values[1], values[0]).astype(np.uint8), mode="P")
    image.putpalette([level for colour in colours for level in colour])
    return image


FORMS = {
    "0 and 255": lambda mask: Image.fromarray(mask.astype(np.uint8) * 255),
    "0 and 1": lambda mask: Image.fromarray(mask.astype(np.uint8)),
    "0 and 38": lambda mask: Image.fromarray(mask.astype(np.uint8) * 38),
    "boolean": lambda mask: Image.fromarray(mask),
    "16 bits": lambda mask: Image.fromarray(mask.astype(np.uint16) * 65535),
    "palette": lambda mask: palette_image(mask, [(0, 0, 0), (128, 0, 0)]),
    "palette, object first": lambda mask: palette_image(mask, [(255, 0, 0), (0, 0, 0)], (1, 0)),
    "palette of greys": lambda mask: palette_image(mask, [(255, 255, 255), (0, 0, 0)], (1, 0)),
    "RGB": lambda mask: Image.fromarray(np.repeat(mask[..., None] * np.uint8(255), 3, axis=2)),
    "red on black": lambda mask: Image.fromarray(mask[..., None] * np.uint8((230, 20, 10))),
    "alpha matte": lambda mask: Image.fromarray(
        np.dstack([np.full((*mask.shape, 3), 90, np.uint8), mask.astype(np.uint8) * 255])
    ),
    "opaque RGBA": lambda mask: Image.fromarray(
        np.dstack([np.repeat(mask[..., None] * np.uint8(255), 3, axis=2), np.full(mask.shape, 255, np.uint8)])
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_masks_are_read_in_every_form(photo, form, tmp_path):
    _, truth = photo
    FORMS[form](truth).save(tmp_path / "mask.png")
    np.testing.assert_array_equal(read_mask(tmp_path / "mask.png"), truth)


# Soft masks


@pytest.mark.parametrize("enlarged", [cv2.INTER_NEAREST, cv2.INTER_NEAREST_EXACT])
def test_a_mask_in_blocks_is_one_of_low_resolution(photo, enlarged):
    image, truth = photo
    low = truth[2::5, 2::5][:19, :24]
    rough = cv2.resize(low.view(np.uint8), truth.shape[::-1], interpolation=enlarged) > 0
    np.testing.assert_array_equal(mask_of(rough), low)
    assert iou(segment(image, start=rough, device="cpu").mask, truth) > iou(rough, truth) + 0.02


def softened(truth, side):
    """Probabilities as a network might write them, of an object at a lower resolution; float32."""
    rng = np.random.default_rng(1)
    low = truth.reshape(truth.shape[0] // side, side, truth.shape[1] // side, side).mean((1, 3))
    logits = 6 * (ndimage.gaussian_filter(low, 1) - 0.5) + rng.normal(0, 0.3, low.shape)
    return (1 / (1 + np.exp(-logits))).astype(np.float32)


def test_a_soft_mask_is_refined(photo):
    image, truth = photo
    low = softened(truth, 4)
    enlarged = cv2.resize(low, truth.shape[::-1])
    refined = refine(image, low, device="cpu").mask
    assert iou(refined, truth) > iou(enlarged > 0.5, truth) + 0.02
    levels = np.rint(255 * enlarged).astype(np.uint8)
    for start in (low, low[None, None], 8 * (low - 0.5), enlarged, levels):
        assert iou(segment(image, start=start, device="cpu").mask, refined) > 0.99


# The command


@pytest.fixture
def folder(photo, tmp_path):
    image, truth = photo
    Image.fromarray(image).save(tmp_path / "photo.png")
    Image.fromarray(np.uint8(255) * truth).save(tmp_path / "truth.png")
    Image.fromarray(np.uint8(255) * ndimage.binary_dilation(truth, iterations=8)).save(tmp_path / "rough.png")
    strokes = np.zeros(truth.shape, np.uint8)
    strokes[15:25, 104:108] = 2
    strokes[84:88, 57:60] = 1
    Image.fromarray(strokes).save(tmp_path / "strokes.png")
    return tmp_path


def read(path):
    return np.array(Image.open(path)) > 0


def test_start_and_the_mask_of_the_first_run(folder, photo):
    image, truth = photo
    assert run(folder, "photo.png", "--start", "rough.png") == 0
    first = read(folder / "out/photo-mask.png")
    np.testing.assert_array_equal(first, segment(image, start=read(folder / "rough.png")).mask)
    assert not (folder / "out/photo-strokes.png").exists()
    (folder / "out/photo-mask.png").rename(folder / "again.png")
    assert run(folder, "photo.png", "--start", "again.png", "--strokes", "strokes.png", "--box", "10,5,110,94") == 0
    assert iou(read(folder / "out/photo-mask.png"), truth) > 0.97
    assert (folder / "out/photo-strokes.png").exists()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda photo: Image.fromarray(np.full((5, 6), 255, np.uint8)), "covers the whole image"),
        (lambda photo: Image.fromarray(np.eye(6, 5, dtype=np.uint8)), "start is 5x6 pixels, but the image is 120x96"),
        (lambda photo: Image.fromarray(photo[0]), "--start: .*start.png' (has several colours|is not a mask)"),
    ],
)
def test_bad_masks(folder, photo, make, message, rejects):
    make(photo).save(folder / "start.png")
    line = ["segment", folder / "photo.png", "--start", folder / "start.png", "--out", folder / "out"]
    rejects(line, message, folder)

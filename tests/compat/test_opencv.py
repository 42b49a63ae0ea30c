"""OpenCV's grabCut: codes, modes, arrays changed in place, exceptions, and the object against the one drawn."""

import cv2
import numpy as np
import pytest

from apps.compat import cv2 as ours

SHAPE = (60, 80)
RECT = (20, 10, 42, 40)


def scene():
    """A disc with the colours of a part of the background, and the disc."""
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    disc = np.hypot(y - 30, x - 40) < 15
    rng = np.random.default_rng(3)
    img = np.where(disc[..., None], (60, 90, 200), (160, 150, 80)) + rng.integers(-25, 25, (*SHAPE, 3))
    return img.astype(np.uint8), disc


IMG, DISC = scene()


def models():
    return np.zeros((1, 65)), np.zeros((1, 65))


def iou(mask, truth):
    found = (mask & 1).astype(bool)
    return (found & truth).sum() / (found | truth).sum()


def test_codes_are_those_of_opencv():
    names = [name for name in ours.__all__ if name.startswith("GC_")]
    assert {name: getattr(ours, name) for name in names} == {name: getattr(cv2, name) for name in names}


@pytest.mark.parametrize("grab", [ours.grabCut, cv2.grabCut], ids=["ours", "OpenCV"])
def test_rectangle_then_strokes(grab):
    """The two steps of OpenCV's tutorial, on the same arrays."""
    mask = np.zeros(SHAPE, np.uint8)
    arrays = (mask, *models())
    found = grab(IMG, mask, RECT, *arrays[1:], 5, cv2.GC_INIT_WITH_RECT)
    assert all(one is other for one, other in zip(found, arrays, strict=True))
    outside = np.ones(SHAPE, bool)
    outside[10:50, 20:62] = False
    assert (mask[outside] == cv2.GC_BGD).all()
    assert set(np.unique(mask[~outside])) == {cv2.GC_PR_BGD, cv2.GC_PR_FGD}
    assert iou(mask, DISC) > 0.97
    mask[28:32, 38:42] = cv2.GC_FGD
    mask[:5] = cv2.GC_BGD
    for mode in (cv2.GC_INIT_WITH_MASK, cv2.GC_EVAL, cv2.GC_EVAL_FREEZE_MODEL):
        before = mask.copy()
        grab(IMG, mask, None, *arrays[1:], 3, mode)
        assert iou(mask, DISC) > 0.97
        for code in (cv2.GC_BGD, cv2.GC_FGD):
            assert ((mask == code) == (before == code)).all()


@pytest.mark.parametrize("view", [lambda a: a, lambda a: a[..., None], lambda a: np.asfortranarray(a)])
def test_forms_of_the_mask(view):
    mask = view(np.where(DISC, np.uint8(ours.GC_PR_FGD), np.uint8(ours.GC_PR_BGD)))
    found, background, foreground = ours.grabCut(IMG, mask, None, None, None, 2, ours.GC_INIT_WITH_MASK)
    assert found is mask
    assert background.shape == foreground.shape == (1, 65)
    assert iou(mask.reshape(SHAPE), DISC) > 0.97
    mask[...] = ours.GC_FGD
    assert ours.grabCut(IMG, mask, RECT, None, None, 2, ours.GC_INIT_WITH_RECT)[0] is mask
    assert iou(mask.reshape(SHAPE), DISC) > 0.97


@pytest.mark.parametrize(
    ("pad", "certain"), [(0, None), (5, cv2.GC_FGD), (10, None), (15, cv2.GC_BGD), (20, None), (20, cv2.GC_FGD)]
)
def test_a_guess_that_is_too_large(pad, certain):
    """A bright square in noise, and a guess around it that contains as much background as the image has."""
    img = np.random.default_rng(0).normal(60, 12, (*SHAPE, 3))
    square = np.zeros(SHAPE, bool)
    square[20:40, 30:50] = True
    img = np.clip(img + 120 * square[..., None], 0, 255).astype(np.uint8)
    guess = np.zeros(SHAPE, np.uint8)
    cv2.ellipse(guess, (40, 30), (15 + pad, 14 + pad), 0, 0, 360, 1, -1)
    mask = np.where(guess > 0, np.uint8(cv2.GC_PR_FGD), np.uint8(cv2.GC_PR_BGD))
    if certain is not None:
        mask[(0, 0) if certain == cv2.GC_BGD else (30, 40)] = certain
    ours.grabCut(img, mask, None, None, None, 5, cv2.GC_INIT_WITH_MASK)
    assert iou(mask, square) > 0.95


@pytest.mark.parametrize("by", [-3, 3])
def test_the_outline_of_a_guess_counts(by):
    """Of two equal discs, a guess that shows one is not extended to the other."""
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    left, right = (np.hypot(y - 30, x - centre) < 10 for centre in (20, 60))
    img = np.where((left | right)[..., None], (60, 90, 200), (160, 150, 80))
    img = (img + np.random.default_rng(3).integers(-25, 25, img.shape)).astype(np.uint8)
    guess = np.hypot(y - 30, x - 60) < 10 + by
    mask = np.where(guess, np.uint8(cv2.GC_PR_FGD), np.uint8(cv2.GC_PR_BGD))
    ours.grabCut(img, mask, None, None, None, 5, cv2.GC_INIT_WITH_MASK)
    assert iou(mask, right) > 0.95


ONES = np.ones(SHAPE, np.uint8)


@pytest.mark.parametrize(
    "arguments",
    [
        (IMG[..., 0], ONES, RECT, None, None, 1, 0),
        (np.dstack((IMG, ONES)), ONES, RECT, None, None, 1, 0),
        (IMG.tolist(), ONES, RECT, None, None, 1, 0),
        (IMG, ONES, (0, 0, 80, 60), None, None, 1, 0),
        (IMG, ONES, (20, 10, 0, 0), None, None, 1, 0),
        (IMG, ONES, None, None, None, 1, 0),
        (IMG, None, None, None, None, 1, 1),
        (IMG, ONES, None, None, None, 1, 1),
        (IMG, 0 * ONES, None, None, None, 1, 1),
        (IMG, ONES[:4], None, None, None, 1, 1),
        (IMG, ONES.astype(bool), None, None, None, 1, 1),
    ],
)
def test_exceptions_are_those_of_opencv(arguments):
    with pytest.raises(cv2.error):
        cv2.grabCut(*arguments)
    with pytest.raises(cv2.error, match="cutmatch: .* in function 'grabCut'"):
        ours.grabCut(*arguments)


def test_a_mask_that_cannot_be_written():
    """OpenCV 4 writes into it all the same; later versions raise."""
    mask = DISC + np.uint8(2)
    mask.flags.writeable = False
    with pytest.raises(cv2.error, match="cutmatch: mask is read-only"):
        ours.grabCut(IMG, mask, RECT, *models(), 1, cv2.GC_INIT_WITH_MASK)


@pytest.mark.parametrize("grab", [ours.grabCut, cv2.grabCut], ids=["ours", "OpenCV"])
def test_rounds_that_are_no_integers(grab):
    with pytest.raises(cv2.error):
        grab(IMG, DISC + np.uint8(2), None, *models(), 1.5, cv2.GC_INIT_WITH_MASK)

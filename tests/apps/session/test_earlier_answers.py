"""A few marks correct the object before them, instead of replacing it."""

from types import SimpleNamespace

import numpy as np
import pytest

from apps.segment import fit
from apps.segment.earlier_answer import is_questioned, trust_in
from apps.segment.full_size import find_labels
from apps.segment.model import ImageView, Request
from apps.session import Session
from tests.apps.session.scenes import disc_scene


def disc(shape, centre, radius):
    y, x = np.ogrid[: shape[0], : shape[1]]
    return (y - centre[0]) ** 2 + (x - centre[1]) ** 2 <= radius**2


found_by_holding = fit.holding


@pytest.fixture
def flat():
    """Noise alone, an object that no colour supports, and dots on it and beside its left end; see `found_in`."""
    noise = np.random.default_rng(3).normal(0.5, 0.05, (80, 100, 3)).astype(np.float32)
    earlier = disc(noise.shape[:2], (40, 50), 25)
    marks = np.full(earlier.shape, -1, np.int16)
    marks[disc(marks.shape, (40, 50), 1)] = 1
    marks[disc(marks.shape, (40, 29), 1)] = 0
    return SimpleNamespace(image=noise, earlier=earlier, marks=marks)


def found_in(scene, earlier):
    view = ImageView(lambda: scene.image, scene.earlier.shape)
    return find_labels(view, Request(scene.marks, earlier=earlier), "cpu")


def test_an_object_is_held_far_from_the_mark_that_contradicts_it(flat):
    alone, held = found_in(flat, None), found_in(flat, flat.earlier)
    assert np.count_nonzero(flat.earlier & alone.mask) < 0.5 * np.count_nonzero(flat.earlier | alone.mask)
    assert held.is_held
    assert not alone.is_held
    far = ~disc(flat.marks.shape, (40, 29), 30)
    assert np.count_nonzero((held.mask != flat.earlier) & far) < 0.05 * np.count_nonzero(far)
    assert not held.mask[flat.marks == 0].any()


def test_a_smaller_change_is_not_questioned(flat):
    alone = found_in(flat, None)
    again = found_in(flat, alone.mask)
    assert not again.is_held
    np.testing.assert_array_equal(again.labels, alone.labels)


def test_a_deep_click_asks_for_a_large_change():
    earlier, found = disc((80, 100), (40, 20), 10), disc((80, 100), (40, 70), 25)
    marks = np.full(earlier.shape, -1, np.int16)
    marks[40, 70] = 1  # 40 pixels from the earlier object
    assert not is_questioned(found, earlier, marks)
    marks[40, 70], marks[40, 34] = -1, 1  # 4 pixels
    assert is_questioned(found, earlier, marks)
    marks[earlier] = 1  # an object that is nothing but its marks is no answer to hold
    assert not is_questioned(found, earlier, marks)


def test_trust_grows_from_the_depth_of_a_contradiction(flat):
    trust, depth = trust_in(flat.earlier, flat.marks), 5
    assert (trust[disc(trust.shape, (40, 29), depth - 1)] == 0).all()
    assert (trust[~disc(trust.shape, (40, 29), 3 * depth + 3)] == 1).all()
    assert (trust_in(flat.earlier, np.full_like(flat.marks, -1)) == 1).all()


@pytest.mark.parametrize("tiny", [False, True])
def test_labels_depend_on_the_records_alone(tiny, request, monkeypatch):
    """Clicks one by one, in haste, undone and all at once, where some of them are corrections."""
    if tiny:
        request.getfixturevalue("tiny_grids")
    seed = 7 if tiny else 6
    image, _ = disc_scene(48, 60, seed, noise=15)
    corrected = []
    monkeypatch.setattr(fit, "holding", lambda *given: corrected.append(1) or found_by_holding(*given))
    rng = np.random.default_rng(seed)
    clicks = [(rng.uniform((0, 0), (60, 48)), k % 2) for k in range(1, 8)]
    with Session(image, device="cpu") as patient, Session(image, device="cpu") as hasty:
        shown = []
        for point, label in clicks:
            patient.stroke(point, 1, label)
            patient.wait()
            assert patient.result().certified
            shown.append(patient.labels)
            hasty.stroke(point, 1, label)
        assert corrected
        patient.describe(1, "disc")  # a name changes no label
        patient.wait()
        np.testing.assert_array_equal(patient.labels, shown[-1])
        assert patient.undo()
        hasty.wait()
        np.testing.assert_array_equal(hasty.labels, shown[-1])
        for labels in reversed(shown[:-1]):
            patient.undo()
            hasty.undo()
            patient.wait()
            np.testing.assert_array_equal(patient.labels, labels)
        hasty.wait()
        np.testing.assert_array_equal(hasty.labels, shown[0])

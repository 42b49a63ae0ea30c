"""Locked objects of a session: nothing changes them, and the others are cut exactly without their pixels."""

import numpy as np
import pytest

import gridcut
from apps.common.images import InputError
from apps.session import Session
from tests.apps.session.scenes import costs_with, disc_scene
from tests.apps.session.test_exact_answers import random_step

PLACES = ((20, 14), (20, 40), (48, 14), (48, 40))  # y, x


def cells_scene():
    """An image of four equal discs that nearly touch, uint8 (H, W, 3), and their labels."""
    y, x = np.mgrid[:64, :56]
    labels = np.zeros(y.shape, np.int16)
    for label, (row, column) in enumerate(PLACES, 1):
        labels[(y - row) ** 2 + (x - column) ** 2 < 11.5**2] = label
    values = np.random.default_rng(0).normal(100, 8, (*y.shape, 3)) + 60 * (labels > 0)[..., None]
    return np.uint8(values), labels


@pytest.fixture
def cells():
    """A session in which the background and the first object are marked."""
    image, _ = cells_scene()
    with Session(image, device="cpu") as session:
        session.stroke([(2, 2), (2, 61), (54, 61), (54, 2), (2, 2)], 1, 0)
        session.stroke([(14, 20)], 3)
        yield session


def check_cut(session):
    """The cut is that of the pixels that are not locked, with no edge to the others, and the labels are unique."""
    with session._answered.lock:
        answers = session._answered.answers
        models = answers._models
        if models is None or len(models.values) != 2:
            return False
        answers._cut.solved.check()
        closed = answers._canvas.closed
        unary = costs_with(answers._open_view.costs(models), answers._canvas.all_marks())
        cut = gridcut.max_flow(unary[0], unary[1], answers._open_view.edges(), mask=~closed, device="cpu")
        cut.check()
        found = answers._cut.solved.labels
        np.testing.assert_array_equal(found[~closed], cut.labels[~closed])
        assert not found[closed].any()
        assert answers._cut.solved.value == cut.value
    return True


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("is_reduced", [False, True])
def test_no_stroke_changes_a_locked_object(seed, is_reduced, request):
    """Whatever is drawn, undone, cleared and replaced; every answer is the cut of the other pixels."""
    if is_reduced:
        request.getfixturevalue("tiny_grids")
    rng = np.random.default_rng(seed)
    image, truth = disc_scene(40, 56, seed)
    with Session(image, device="cpu") as session:
        session.stroke([(28, 20)], 2, 3)
        session.stroke([(3, 3), (50, 3)], 2, 0)
        session.lock(3)
        locked = session.labels == 3
        assert (locked & truth).sum() > 0.8 * truth.sum()
        count, exact = len(session._answered.history.records), 0
        for _ in range(25):
            random_step(session, rng, 2)
            while len(session._answered.history.records) < count:
                session.redo()
            assert (session.labels == 3)[locked].all()
            assert not (session.labels == 3)[~locked].any()
            exact += check_cut(session)
            if rng.random() < 0.3:
                assert session.result().labels is not None
                np.testing.assert_array_equal(session.labels == 3, locked)
                exact += check_cut(session)
        assert exact > 5
        with Session(image, device="cpu") as other:
            other.restore(session.records)
            other.wait()
            session.wait()
            np.testing.assert_array_equal(other.labels, session.labels)


def test_cells_one_by_one(cells):
    """Equal cells: each is found with the others locked, although they have its colours."""
    _, truth = cells_scene()
    for label, (y, x) in enumerate(PLACES, 1):
        cells.stroke([(x, y)], 3, label)
        cells.wait()
        cells.lock(label)
        assert cells.objects[label]["locked"]
    assert (cells.labels == truth).mean() > 0.97
    assert cells.result().certified is False  # nothing is left to cut
    assert cells.result().values == (0, 1, 2, 3, 4)


def test_strokes_of_a_locked_object_are_rejected(cells):
    cells.lock(1)
    before = cells.records
    with pytest.raises(InputError, match="object 1 is locked; unlock it first"):
        cells.stroke([(40, 40)], 2, 1)
    with pytest.raises(InputError, match="object 1 is locked"):
        cells.delete(1)
    with pytest.raises(InputError, match="object 1 is locked"):
        cells.lock(1)
    with pytest.raises(InputError, match="object 2 is not locked"):
        cells.unlock(2)
    with pytest.raises(InputError, match="object 2 has no pixels yet"):
        cells.lock(2)
    assert cells.records == before
    cells.stroke([(14, 20)], 2, 2)  # on the locked object: no effect
    cells.wait()
    assert not (cells.labels == 2).any()


def test_an_object_is_cleaned_up():
    """Small parts and holes go, unless they are marked or of another object."""
    image = np.full((60, 80), 60, np.uint8)
    image[10:50, 10:60] = 200
    image[36:44, 26:34] = 130  # another object
    for y, x in ((2, 70), (20, 20), (30, 40), (55, 70)):  # two specks and two holes
        image[y : y + 3, x : x + 3] = 260 - int(image[y, x])
    with Session(image, keep="all", device="cpu") as session:
        session.stroke([(15, 15), (55, 15)], 1)
        session.stroke([(2, 5), (2, 55), (70, 50)], 1, 0)
        session.stroke([(71.5, 56.5)], 0.5)  # in a speck
        session.stroke([(41.5, 31.5)], 0.5, 0)  # in a hole
        session.stroke([(30, 40)], 2, 2)
        session.wait()
        before = session.labels
        assert [before[y, x] for y, x in ((3, 71), (21, 21), (31, 41), (56, 71))] == [1, 0, 0, 1]
        session.clean_up(1)
        assert [session.labels[y, x] for y, x in ((3, 71), (21, 21), (31, 41), (56, 71))] == [0, 1, 0, 1]
        np.testing.assert_array_equal(session.labels == 2, before == 2)
        assert not session.objects[1]["locked"]
        session.undo()
        session.wait()
        np.testing.assert_array_equal(session.labels, before)
        with pytest.raises(InputError, match="object 3 has no pixels yet"):
            session.clean_up(3)
        session.lock(1)
        with pytest.raises(InputError, match="object 1 is locked"):
            session.clean_up(1)

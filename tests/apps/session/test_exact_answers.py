"""After any sequence of a user's actions, the answer equals a cold solve with the same marks and models.

Default: some dozens of sequences; ``pytest -m thorough tests/apps/session`` runs 1000 more, 250 of them in volumes
(test_exact_volumes.py); CUTMATCH_SEED moves them.
"""

import os

import numpy as np
import pytest

from apps.segmentation.fit import find_labels
from apps.segmentation.hints import Hints, ObjectOptions, shares_of, values_of
from apps.segmentation.instances import with_boxes_found
from apps.segmentation.marks import is_inside, labels_in
from apps.segmentation.model import ImageView
from apps.session import Session
from apps.session.session_records import Box, MaskHint, objects_of, paste
from tests.apps.session.scenes import cold_labels, costs_with, disc_scene, painted
from tests.tiers import in_quick_tier

BASE = int(os.environ.get("CUTMATCH_SEED", "0"))
STEPS = 12
ACTIONS = {"stroke": 0.38, "part": 0.1, "erase": 0.1, "undo": 0.15, "redo": 0.1, "box": 0.05, "clear": 0.03}
ACTIONS |= {"set_strokes": 0.05, "start_from": 0.04}


def random_step(session, rng, objects):
    """One action of a user: mostly strokes."""
    height, width = session.shape
    points = rng.uniform((-3, -3), (width + 3, height + 3), (rng.integers(1, 4), 2))
    radius = float(rng.choice([0.3, 1.0, 2.0, 4.5]))
    action = rng.choice(list(ACTIONS), p=list(ACTIONS.values()))
    if action in ("stroke", "part"):
        session.stroke(points, radius, int(rng.integers(0, objects + 1)), final=action == "stroke")
    elif action == "erase":
        session.erase(points, radius)
    elif action == "box":
        x0, y0 = rng.integers(0, width // 2), rng.integers(0, height // 2)
        session.box((int(x0), int(y0), int(x0 + width // 2), int(y0 + height // 2)))
    elif action == "set_strokes":
        session.set_strokes(random_marks(session.shape, rng, objects))
    elif action == "start_from":
        y, x = np.ogrid[:height, :width]
        session.start_from((y - height / 2) ** 2 + (x - width / 2) ** 2 < rng.uniform(3, height / 2) ** 2)
    else:
        getattr(session, action)()


def random_marks(shape, rng, objects):
    """Rectangles of labels, some of them thin, on an open grid."""
    marks = np.full(shape, -1)
    for _ in range(rng.integers(0, 5)):
        (y, x), (height, width) = rng.integers(0, shape), rng.choice([1, 2, 6], 2)
        marks[y : y + height, x : x + width] = rng.integers(0, objects + 1)
    return marks


def check_answer(session, image):
    """The labels on the answer grid, and their certificate; the worker must not change them meanwhile."""
    with session._answered.lock:
        answers, records = session._answered.answers, session._answered.history.records
        marks = painted(records, answers.grid.shape, session.shape)
        np.testing.assert_array_equal(answers._canvas.all_marks(), marks)
        models = answers._models
        if models is None:
            if answers._start.boxes:  # the worker finds what they contain
                return
            given = np.unique(marks[marks >= 0])
            assert len(given) < 2
            assert (answers._labels == (given[0] if given.size else 0)).all()
            return
        view = answers.grid
        keep = "all" if answers._start.boxes or answers._start.hint else "touching"
        answers._cut.solved.check()
        if len(models.values) == 2:
            np.testing.assert_array_equal(answers._labels, cold_labels(view, models, marks, keep))
            assert answers._cut.energy == pytest.approx(energy_of(view, models, marks, answers._cut), rel=1e-12)


def energy_of(view, models, marks, cut):
    """Energy of the labels of a cut, summed from its terms."""
    costs = view.costs(models)
    unary = costs_with(costs, marks)
    object_side = cut.solved.labels
    total = int(np.where(object_side, unary[1], unary[0]).sum())
    height, width = object_side.shape
    for (down, right), weight in view.edges().items():
        here = np.zeros((height, width), bool)
        rows, columns = slice(0, height - down), slice(max(0, -right), width - max(0, right))
        there = object_side[down:, slice(max(0, right), width + min(0, right))]
        here[rows, columns] = object_side[rows, columns] != there
        total += int(weight[here].sum())
    return total / 256 + costs.common


def run_sequence(seed, steps=STEPS, tiny=False):
    """`tiny`: of an image that the fixture `tiny_grids` lets be reduced."""
    rng = np.random.default_rng([BASE, seed])
    image, _ = disc_scene(40, int(rng.integers(40, 60)), seed) if tiny else disc_scene(*rng.integers(20, 40, 2), seed)
    objects = 1 if rng.random() < 0.8 else 2
    with Session(image, device="cpu") as session:
        for _ in range(steps):
            random_step(session, rng, objects)
            check_answer(session, image)
            if rng.random() < 0.2:
                session.wait()
                check_answer(session, image)
        session.stroke([(-9, -9)], 1)  # outside the image: only the models are fitted again
        session.wait()
        check_answer(session, image)
        if tiny:
            assert session._answered.answers.is_reduced
        check_settled(session, image)
        result = session.result()
        np.testing.assert_array_equal(result.labels, session.labels)
        np.testing.assert_array_equal(fresh_labels(session, image), session.labels)


def check_settled(session, image):
    """The labels that the worker leaves are those of the engine of `segment`, which starts from nothing."""
    records = session._answered.history.records
    assert session.state["exact"]
    marks = painted(records, session.shape, session.shape)
    objects = objects_of(records)
    sources = objects.locators
    boxes = {label: shares_of(one.box, session.shape) for label, one in sources.items() if isinstance(one, Box)}
    mask = next((one.pixels.values() for one in sources.values() if isinstance(one, MaskHint)), None)
    opened = [lock for lock in objects.opened.values() if lock.label not in sources]
    is_hinted = mask is not None
    if opened:
        mask = paste(np.zeros(session.shape, np.int16) if mask is None else is_inside(mask).astype(np.int16), opened)
    expected = np.zeros(session.shape, np.int16)
    closed = paste(expected.copy(), objects.locked.values()) > 0
    if values_of(labels_in(marks), {*sources, *(lock.label for lock in opened)}):
        is_all = is_hinted or (boxes and Hints(marks, mask=mask, boxes=boxes).is_single)
        hints = Hints(marks, mask=mask, options=ObjectOptions(None if is_all else "touching"), boxes=boxes)
        view = ImageView(lambda: np.float32(image) / np.float32(255), session.shape)
        view = view.without(closed if closed.any() else None)
        expected = find_labels(view, with_boxes_found(view, hints, "cpu"), "cpu").labels
    elif 0 < len(labels_in(marks)):
        expected[:] = labels_in(marks)[0]
    np.testing.assert_array_equal(session.labels, paste(expected.copy(), objects.locked.values()))


def fresh_labels(session, image, **options):
    """Labels of a session that gets all records at once."""
    with Session(image, device="cpu", **options) as other:
        other.restore(session._answered.history.records)
        other.wait()
        return other.labels


@pytest.mark.parametrize("seed", in_quick_tier(range(24), lambda seed: seed < 6))
def test_random_sequences(seed):
    run_sequence(seed)


@pytest.mark.parametrize("seed", in_quick_tier(range(1000, 1006), lambda seed: seed < 1002))
def test_random_sequences_on_a_reduced_grid(tiny_grids, seed):
    run_sequence(seed, tiny=True)


@pytest.mark.thorough
@pytest.mark.parametrize("block", range(12))
def test_many_random_sequences(block):
    for seed in range(2000 + 50 * block, 2050 + 50 * block):
        run_sequence(seed)


@pytest.mark.thorough
@pytest.mark.parametrize("block", range(3))
def test_many_random_sequences_on_a_reduced_grid(tiny_grids, block):
    for seed in range(3000 + 50 * block, 3050 + 50 * block):
        run_sequence(seed, tiny=True)


def test_the_labels_of_a_large_image_are_those_of_segment(tiny_grids, disc):
    image, _ = disc
    with Session(image, device="cpu") as session:
        session.stroke([(24, 20), (32, 20)], 2)
        session.stroke([(3, 3), (52, 3)], 2, 0)
        session.stroke([(3, 37), (52, 37)], 1, 0)
        session.wait()
        assert session._answered.answers.grid.shape != session.shape == image.shape[:2]
        check_settled(session, image)
        assert session.result().certified

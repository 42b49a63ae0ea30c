"""After any sequence of a user's actions in a small volume, the cut equals a cold solve with the same marks and models.

Default: a few sequences; ``pytest -m thorough tests/apps/session`` runs 250 more; CUTMATCH_SEED moves them.
"""

import os

import numpy as np
import pytest

import gridcut
from apps.session import Session
from tests.apps.session.scenes import costs_with, touching
from tests.apps.session.test_exact_answers import fresh_labels

BASE = int(os.environ.get("CUTMATCH_SEED", "0"))
STEPS = 10
ACTIONS = {"stroke": 0.4, "erase": 0.1, "undo": 0.16, "redo": 0.1, "box": 0.06, "clear": 0.04}
ACTIONS |= {"set_strokes": 0.07, "start_from": 0.07}


def ball(shape, seed):
    rng = np.random.default_rng(seed)
    middle = np.array(shape) / 2
    away = sum(((axis - m) / m) ** 2 for axis, m in zip(np.ogrid[tuple(map(slice, shape))], middle, strict=True))
    truth = away < 0.5
    return rng.normal(100, 12, shape) + 30 * truth, truth


def random_step(session, rng, objects, truth):
    shape = session.shape
    action = rng.choice(list(ACTIONS), p=list(ACTIONS.values()))
    if action in ("stroke", "erase"):
        axis = int(rng.integers(3))
        height, width = np.delete(shape, axis)
        points = rng.uniform((-2, -2), (width + 2, height + 2), (rng.integers(1, 4), 2))
        place = float(rng.choice([0.3, 1.0, 2.0])), int(rng.integers(shape[axis]))
        if action == "erase":
            session.erase(points, place[0], axis, place[1])
        else:
            session.stroke(points, place[0], int(rng.integers(0, objects + 1)), axis, place[1])
    elif action == "box":
        low = [int(rng.integers(0, n // 2)) for n in shape[::-1]]
        session.box([*low, *(start + n // 2 for start, n in zip(low, shape[::-1], strict=True))])
    elif action == "start_from":
        session.start_from(np.roll(truth, rng.integers(-2, 3), axis=int(rng.integers(3))))
    elif action == "set_strokes":
        marks = np.full(shape, -1)
        for _ in range(rng.integers(0, 4)):
            (z, y, x), (d, h, w) = rng.integers(0, shape), rng.choice([1, 2, 4], 3)
            marks[z : z + d, y : y + h, x : x + w] = rng.integers(0, objects + 1)
        session.set_strokes(marks)
    else:
        getattr(session, action)()


def check_labels(session):
    """The labels at rest, against a first solve."""
    answers = session._answered.answers
    marks, values = answers._canvas.all_marks(), answers.present()
    assert session.state["exact"]
    if len(values) < 2:
        assert (session.labels == (values[0] if values else 0)).all()
        return
    assert session.result().certified
    if len(values) == 2:
        costs = answers._view.costs(answers._models)
        unary = costs_with(costs, answers.held)
        cut = gridcut.max_flow(unary[0], unary[1], answers._view.edges(), device="cpu")
        cut.check()
        cold = np.array(costs.values, np.int16)[cut.labels.view(np.uint8)]
        cold = touching(touching(cold, answers.held), marks) if answers._locator is None else cold
        np.testing.assert_array_equal(session.labels, cold)


def run_sequence(seed, steps=STEPS):
    rng = np.random.default_rng([BASE, seed])
    shape = tuple(int(n) for n in rng.integers(5, 12, 3))
    volume, truth = ball(shape, seed)
    spacing = (1.0, 1.0, 1.0) if rng.random() < 0.5 else (2.0, 0.5, 1.0)
    objects = 1 if rng.random() < 0.7 else 2
    with Session(volume, spacing, device="cpu") as session:
        for _ in range(steps):
            random_step(session, rng, objects, truth)
            if rng.random() < 0.3:
                session.wait()
                check_labels(session)
        session.wait()
        check_labels(session)
        np.testing.assert_array_equal(fresh_labels(session, volume, spacing=spacing), session.labels)


@pytest.mark.parametrize("seed", range(10))
def test_random_sequences(seed):
    run_sequence(seed)


@pytest.mark.thorough
@pytest.mark.parametrize("block", range(5))
def test_many_random_sequences(block):
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        run_sequence(seed)

"""Exceptions at every line of an edit, and interrupts at any moment: a session is never left between two states.

After the exception, the edit has happened or not, and what the session shows is what another session with the same
records shows.
"""

import copy
import os
from functools import cache

import numpy as np
import pytest

from apps.session import Session
from tests.apps.session.scenes import disc_scene
from tests.faults import HAS_TIMER, fails_at, first_and_last, interrupted, lines_of

IMAGE, _ = disc_scene(20, 28, noise=4)
PERIOD = 40
VOLUME = np.stack([disc_scene(14, 18, seed=k, noise=4)[0][..., 0] for k in range(5)])


def image_session():
    session = Session(IMAGE, device="cpu")
    session.stroke([(12, 10), (16, 10)], 1.5)
    session.stroke([(2, 2), (25, 2)], 1.5, 0)
    session.wait()
    return session


def volume_session():
    session = Session(VOLUME, (1, 1, 1), device="cpu")
    session.stroke([(8, 7), (10, 7)], 1.5, 1, 0, 2)
    session.stroke([(1, 1), (16, 1)], 1, 0, 0, 2)
    session.wait()
    return session


def place(session):
    return {"slice": 2} if len(session.shape) == 3 else {}


EDITS = {
    "stroke": lambda s: s.stroke([(4, 12), (9, 13)], 1, 0, **place(s)),
    "part": lambda s: s.stroke([(4, 12), (9, 13)], 1, 0, final=False, **place(s)),
    "erase": lambda s: s.erase([(13, 10)], 1, **place(s)),
    "undo": lambda s: s.undo(),
    "redo": lambda s: s.redo(),
    "box": lambda s: s.box((4, 3, 22, 18) if len(s.shape) == 2 else (3, 2, 1, 15, 13, 4)),
    "wait": lambda s: s.wait(),
    "result": lambda s: s.result(),
}
SESSIONS = {"image": image_session, "volume": volume_session}


def prepared(kind, edit):
    session = SESSIONS[kind]()
    if edit == "redo":
        session.undo()
        session.wait()
    elif edit in ("wait", "result"):
        session._worker.request()
    return session


def check(session, legal):
    """The records are legal ones, and the labels are those of another session with them; then a stroke is right."""
    __tracebackhide__ = True
    assert [*session.records] in legal
    with Session(session.pixels if len(session.shape) == 3 else IMAGE, device="cpu") as other:
        for _ in range(2):
            other.restore(session._history.records)
            if not session._history.is_final:  # a part is not refined before the stroke ends
                session.stroke([(9, 13)], 1, 0, **place(session))
                other.restore(session._history.records)
            assert session.wait(30)
            assert other.wait(30)
            np.testing.assert_array_equal(session.labels, other.labels)
            np.testing.assert_array_equal(session._answers._canvas.all_marks(), other._answers._canvas.all_marks())
            assert session.result().energy == other.result().energy
            assert session.state["undo"] == bool(session.records) or session._history.records
            session.stroke([(20, 15) if len(session.shape) == 2 else (14, 11)], 1, 0, **place(session))


@pytest.mark.parametrize("edit", ["stroke", "undo", "box"])
@pytest.mark.parametrize("kind", SESSIONS)
def test_a_fault_at_some_lines(kind, edit):
    """A line in PERIOD of the session's own."""
    session = prepared(kind, edit)
    before = [*session.records]
    lines = lines_of(lambda: EDITS[edit](session))
    after = [*session.records]
    session.close()
    own = [k for k in first_and_last(lines) if f"{os.sep}session{os.sep}" in lines[k][0]]
    for k in own[int(np.random.default_rng(len(lines)).integers(min(PERIOD, len(own)))) :: PERIOD]:
        session = prepared(kind, edit)
        fails_at(lambda session=session: EDITS[edit](session), k)
        try:
            check(session, (before, after))
        except BaseException as error:
            raise AssertionError(f"{kind}, {edit}, after a fault at {lines[k]}, line {k} of {len(lines)}") from error
        session.close()


@cache
def warm_up(kind):
    """Use all kernels once: an interrupt while LLVM loads one is LLVM's."""
    with SESSIONS[kind]() as session:
        for edit in EDITS.values():
            edit(session)
            session.wait()
            session.result()


@pytest.mark.skipif(not HAS_TIMER, reason="there is no timer")
@pytest.mark.parametrize("kind", SESSIONS)
def test_interrupts_by_a_timer(kind):
    """Interrupts of edits in a row, at random moments."""
    warm_up(kind)
    rng, session = np.random.default_rng(0), SESSIONS[kind]()
    for _ in range(20):
        edit = str(rng.choice(["stroke", "undo", "redo", "erase", "wait", "result", "part"]))
        interrupted(lambda edit=edit: EDITS[edit](session), float(rng.uniform(1e-4, 0.03)))
        if len(session.records) > 8:
            session.clear()
            EDITS["stroke"](session)
    check(session, ([*session.records],))
    session.close()


def test_sessions_are_not_copied():
    with image_session() as session, pytest.raises(TypeError, match="Session cannot be copied .* restore"):
        copy.deepcopy(session)

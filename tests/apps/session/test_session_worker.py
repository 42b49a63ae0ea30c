"""What a session does in the background: the reduced grid, errors, callbacks, the latest request, memory."""

import copy
import threading

import numpy as np
import pytest

from apps.session import Session, image_answers
from apps.session.latest_work import LatestWork
from tests.apps.conftest import iou
from tests.faults import HAS_TIMER, interrupted


def test_a_large_image_is_answered_on_a_reduced_grid(tiny_grids, disc):
    image, truth = disc
    seen = []
    with Session(image, device="cpu", callback=lambda: seen.append(session.state["exact"])) as session:
        session.stroke([(24, 20), (32, 20)], 2)
        session.stroke([(3, 3), (52, 3)], 2, 0)
        assert session.labels.shape == truth.shape
        assert session._answered.answers.grid.size < truth.size / 2
        session.wait()
        assert seen[-1] is True
        full = session.labels
        assert iou(session.mask, truth) > 0.95
        session.stroke([(28, 20)], 4, 0, final=False)
        assert not session.state["exact"]
        shown = session.labels
        assert not (shown[18:22, 26:30] > 0).any()
        far = np.ones(truth.shape, bool)
        far[8:32, 16:40] = False
        np.testing.assert_array_equal(shown[far], full[far])  # the full cut is kept where nothing changed
        assert session.result().certified
        assert session.state["exact"]


def test_strokes_in_quick_succession(tiny_grids, disc):
    """The latest stroke wins: at the end everything belongs to it, whatever was under way before."""
    image, _ = disc
    rng = np.random.default_rng(1)
    with Session(image, device="cpu") as session, Session(image, device="cpu") as patient:
        for k in range(30):
            stroke = rng.uniform(0, (56, 40), (2, 2)), 1.5, int(k % 2)
            session.stroke(*stroke)
            patient.stroke(*stroke)
            patient.wait()
        session.wait()
        np.testing.assert_array_equal(session.labels, patient.labels)
        session.result()


def raise_memory_error(*arguments, **keywords):
    raise MemoryError


def test_an_error_while_answering_changes_nothing(session, monkeypatch):
    """The next stroke is answered with all marks, whatever the failed one had already changed."""
    before, records = session.labels, session.records
    with monkeypatch.context() as patch:
        patch.setattr(image_answers.GridCut, "mark", raise_memory_error)
        with pytest.raises(MemoryError):
            session.stroke([(28, 20)], 4, 0)
    assert session.records == records
    session.stroke([(-9, -9)], 1, 0)
    session.wait()
    np.testing.assert_array_equal(session.labels, before)
    assert session.result().certified


def test_the_latest_request_counts():
    started, release, runs = threading.Event(), threading.Event(), []

    def work(check):
        runs.append("begun")
        started.set()
        release.wait(10)
        check()
        runs.append("ended")

    worker = LatestWork(work)
    worker.request()
    assert started.wait(10)
    worker.request()
    worker.request()
    assert worker.is_pending
    assert not worker.wait(0.01)
    release.set()
    assert worker.wait(10)
    assert runs.count("ended") == 1
    assert runs[-1] == "ended"
    assert not worker.is_pending


@pytest.mark.skipif(not HAS_TIMER, reason="there is no timer")
def test_interrupts_leave_no_half_done_edit(session, disc):
    """Ctrl-C at random moments: the labels are those of another session with the same records."""
    rng = np.random.default_rng(0)
    for k in range(20):
        edits = (lambda k=k: session.stroke([(4 + k, 12), (9 + k, 13)], 1, k % 2)), session.undo, session.result
        interrupted(edits[rng.integers(3)], float(rng.uniform(1e-4, 0.03)))
    with Session(disc[0], device="cpu") as other:
        other.restore(session._answered.history.records)
        assert other.wait()
        assert session.wait()
        np.testing.assert_array_equal(session.labels, other.labels)


def test_sessions_are_not_copied(session):
    with pytest.raises(TypeError, match="Session cannot be copied .* restore"):
        copy.deepcopy(session)

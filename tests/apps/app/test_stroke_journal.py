"""The journal of strokes: replayed in another session it gives the same strokes, and nothing else is replayed."""

import numpy as np
import pytest

from apps.app.stroke_journal import Journal
from apps.session import Session


@pytest.fixture
def journal(tmp_path, scene):
    return Journal(tmp_path / "photo.journal", tmp_path / "photo-session.json", scene.image)


def edits(session):
    """Edits of all kinds that a journal can hold, one at a time."""
    yield session.stroke([(10.1, 16.2), (19.3, 16.4)], 1.5, 1)
    yield session.stroke([(2.5, 2.5), (29.5, 2.5)], 1.5, 0)
    yield session.stroke([(2.5, 2.5), (2.5, 29.5)], 1.5, 0, final=False)
    yield session.stroke([(2.5, 29.5), (9.5, 29.5)], 1.5, 0)
    yield session.erase([(10.5, 16.5)], 1.0)
    yield session.undo()
    yield session.undo()
    yield session.box((3, 3, 29, 29))
    yield session.clear()
    yield session.stroke([(15.5, 15.5)], 2.5, 2)
    yield session.undo()
    yield session.redo()


def test_each_edit_is_replayed(journal, tmp_path, scene):
    with Session(scene.image, device="cpu") as session:
        for _ in edits(session):
            assert journal.extend(session.strokes)
            with Session(scene.image, device="cpu") as other:
                assert Journal(tmp_path / "photo.journal", tmp_path / "photo-session.json", scene.image).replay(other)
                assert other.strokes == session.strokes


def test_a_line_cut_short_is_ignored(journal, tmp_path, scene):
    with Session(scene.image, device="cpu") as session, Session(scene.image, device="cpu") as other:
        session.stroke([(15.5, 15.5)], 2.5, 1)
        journal.extend(session.strokes)
        kept = session.strokes
        session.stroke([(5.5, 5.5)], 2.5, 0)
        journal.extend(session.strokes)
        path = tmp_path / "photo.journal"
        path.write_bytes(path.read_bytes()[:-3])
        journal.replay(other)
        assert other.strokes == kept


@pytest.mark.parametrize("change", ["image", "session", "empty", "binary", "missing"])
def test_a_journal_of_something_else_is_ignored(journal, tmp_path, scene, change):
    image, path = scene.image, tmp_path / "photo.journal"
    with Session(image, device="cpu") as session:
        session.stroke([(15.5, 15.5)], 2.5, 1)
        journal.extend(session.strokes)
    if change == "image":
        image = 255 - image
    elif change == "session":
        (tmp_path / "photo-session.json").write_text("{}")
    elif change == "missing":
        path.unlink()
    else:
        path.write_bytes(b"" if change == "empty" else np.random.default_rng(0).bytes(200))
    with Session(image, device="cpu") as other:
        assert not Journal(path, tmp_path / "photo-session.json", image).replay(other)
        assert other.strokes == []


def test_a_start_mask_needs_a_session_file(journal, scene):
    with Session(scene.image, device="cpu") as session:
        session.start_from(scene.truth)
        assert not journal.extend(session.strokes)

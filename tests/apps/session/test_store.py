"""A session that is kept in a file: what another process finds there, after every edit, failure and kind of damage."""

import contextlib
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from apps.common.errors import InputError, OutputError
from apps.session import Session
from tests.apps.session.scenes import disc_scene

IMAGE, TRUTH = disc_scene()


def opened(path):
    return Session.open(path, IMAGE, device="cpu", name="disc.png")


def found_in(path, to):
    """The history in a copy of a file that is open, as after a kill."""
    for old in path.parent.glob(f"{path.name}*"):
        shutil.copy(old, to / old.name)
    with opened(to / path.name) as session:
        return session._answered.history


def edits(session):
    """Edits of all kinds."""
    yield session.stroke([(24, 20), (32, 20)], 2)
    yield session.stroke([(3, 3), (52, 3)], 2, 0)
    yield session.erase([(30, 3), (40, 3)], 1)
    yield session.undo()
    yield session.redo()
    yield session.undo()
    yield session.box((6, 1, 50, 39))
    yield session.stroke([(40, 20)], 2, 2)
    yield session.describe(2, "cell", (10, 20, 30))
    yield session.start_from(np.roll(TRUTH, 1, axis=0))
    yield session.start_from(np.uint8(np.roll(TRUTH, 1, axis=0) * 180 + 30))
    yield session.lock(1)
    yield session.unlock(1)
    yield session.delete(2)
    yield session.set_strokes(np.where(TRUTH, 1, -1))
    yield session.undo()
    yield session.clear()
    yield session.start_from(np.uint8(TRUTH) * 3 + np.uint8(np.roll(TRUTH, 25, axis=1) & ~TRUTH))


def test_each_edit_is_in_the_file(tmp_path):
    (tmp_path / "copy").mkdir()
    path = tmp_path / "a.sqlite"
    with opened(path) as session:
        for _ in edits(session):
            found = found_in(path, tmp_path / "copy")
            assert found == session._answered.history
        session.wait()
        labels, history = session.labels, session._answered.history
    with opened(path) as again:
        assert again._answered.history == history
        again.wait()
        np.testing.assert_array_equal(again.labels, labels)
        while again.undo():
            pass
        assert again._answered.history.undone[::-1] == (*history.records, *history.undone[::-1])
    with opened(path) as again:
        while again.redo():
            pass
        assert again._answered.history.records == (*history.records, *history.undone[::-1])


def test_a_stroke_that_is_being_drawn_is_not_in_the_file(tmp_path):
    with opened(tmp_path / "a.sqlite") as session:
        session.stroke([(24, 20), (32, 20)], 2)
        session.stroke([(3, 3), (52, 3)], 2, 0, final=False)
        assert len(session.store._kept.records) == 1
        session.stroke([(52, 3), (52, 30)], 2, 0)
        assert len(session.store._kept.records) == 3
        session.stroke([(3, 3), (52, 3)], 2, 0, final=False)
        session.save(tmp_path / "b.sqlite")
    with opened(tmp_path / "b.sqlite") as again:
        again.stroke([(3, 30)], 2, 0)
        again.undo()
        assert len(again.records) == 4, "its part is a stroke of its own"


def test_a_file_without_edits_is_removed(tmp_path):
    with opened(tmp_path / "new" / "a.sqlite"):
        assert (tmp_path / "new" / "a.sqlite").exists()
    assert not list((tmp_path / "new").iterdir())


OTHER = """
import sys
from tests.apps.session.test_store import opened
try:
    opened(sys.argv[1])
except ValueError as error:
    print(error)
"""


def test_another_process_cannot_use_the_file(tmp_path):
    path = tmp_path / "a.sqlite"
    with opened(path) as session:
        session.stroke([(24, 20), (32, 20)], 2)
        told = subprocess.run([sys.executable, "-c", OTHER, path], capture_output=True, text=True, timeout=120).stdout
        for call in (lambda: opened(path), lambda: Session.load(path, IMAGE), lambda: session.save(path)):
            with pytest.raises(InputError, match="is in use by another process") as error:
                call()
            assert told == f"{error.value}\n"
        session.stroke([(3, 3), (52, 3)], 2, 0)
    with opened(path) as session:
        assert len(session.records) == 2


def test_a_full_disk_refuses_an_edit_and_loses_none(tmp_path):
    (tmp_path / "copy").mkdir()
    path = tmp_path / "a.sqlite"
    points = np.random.default_rng(0).random((999, 2)) * 40
    with opened(path) as session:
        session.stroke([(24, 20), (32, 20)], 2)
        session.stroke([(3, 3), (52, 3)], 2, 0)
        session.undo()
        before = session._answered.history
        pages = session.store._db.execute("PRAGMA page_count").fetchone()[0]
        session.store._db.execute(f"PRAGMA max_page_count = {pages}")
        for _ in range(2):
            with pytest.raises(OutputError, match="full.*; free some space"):
                session.stroke(points, 1.5)
            assert session._answered.history == before
            assert found_in(path, tmp_path / "copy") == before
        session.store._db.execute("PRAGMA max_page_count = 100000")
        session.stroke(points, 1.5)
        assert found_in(path, tmp_path / "copy") == session._answered.history


def test_a_file_that_was_removed_is_written_again(tmp_path):
    path = tmp_path / "a.sqlite"
    with opened(path) as session:
        session.stroke([(24, 20), (32, 20)], 2)
        path.rename(tmp_path / "moved.sqlite")
        session.stroke([(3, 3), (52, 3)], 2, 0)
        path.unlink()
        Session(IMAGE, device="cpu").save(path)
        with pytest.raises(InputError, match="replaced by another program; move that file away"):
            session.undo()
        path.unlink()
        session.undo()
        history = session._answered.history
    with opened(path) as again:
        assert again._answered.history == history


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text('{"format": "cutmatch-session"}'),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "newer": "PRAGMA user_version = 2",
    "table": "DROP TABLE records",
    "image": "DELETE FROM about WHERE key = 'image'",
    "options": "UPDATE about SET value = '{\"kept\": \"all\"}' WHERE key = 'options'",
    "no JSON": "UPDATE records SET content = '{'",
    "no mask": 'INSERT INTO records VALUES (0, 9, \'{"kind": "start"}\', NULL)',
    "kind": 'UPDATE records SET content = \'{"kind": "lasso"}\' WHERE place = 0',
    "stroke": 'UPDATE records SET content = \'{"kind": "stroke", "points": [[1, "a"]], "radius": 1, "label": 1}\'',
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_refused_in_one_line(session, tmp_path, damage):
    path = tmp_path / "a.sqlite"
    session.save(path)
    if callable(DAMAGE[damage]):
        DAMAGE[damage](path)
    else:
        with contextlib.closing(sqlite3.connect(path)) as file:
            file.execute(DAMAGE[damage])
            file.commit()
    before = path.read_bytes()
    calls = [lambda: Session.load(path, IMAGE, device="cpu"), lambda: opened(path)]
    for call in calls[: 1 if damage == "empty" else 2]:  # an empty file is begun
        with pytest.raises(InputError, match="path: .*a.sqlite") as error:
            call()
        assert "\n" not in str(error.value)
    assert path.read_bytes() == before

"""The journal of strokes: replayed it gives the same records, and damage costs only the lines that it is in."""

import json

import numpy as np
import pytest

from apps.app import stroke_files
from apps.app.stroke_files import Journal
from apps.session import Session
from apps.session.stroke_records import Box, MaskHint, Stroke

SHAPE = (32, 32)


@pytest.fixture
def again(tmp_path, scene):
    """function(image) -> a journal object of the same files, as another process has."""
    return lambda image=scene.image: Journal(tmp_path / "photo.journal", tmp_path / "photo-session.json", image)


def strokes(count, seed=0):
    rng = np.random.default_rng(seed)
    return [Stroke(tuple(map(tuple, rng.uniform(0, 32, (3, 2)).tolist())), 1.5, k % 3 or None) for k in range(count)]


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


def test_each_edit_is_replayed(again, scene):
    journal = again()
    with Session(scene.image, device="cpu") as session:
        for _ in edits(session):
            assert journal.extend(session.records)
            other = again()
            records = other.replay([], SHAPE)
            assert records == [*session.records]
            assert not other.missing
            assert other.extend(records)


def test_a_line_cut_short_is_ignored(again, tmp_path):
    path, (one, other) = tmp_path / "photo.journal", strokes(2)
    journal = again()
    journal.extend([one])
    journal.extend([one, other])
    path.write_bytes(path.read_bytes()[:-5])
    journal = again()
    assert journal.replay([], SHAPE) == [one]
    assert journal.extend([one, other])  # after the incomplete line
    assert again().replay([], SHAPE) == [one, other]


@pytest.mark.parametrize("change", ["image", "session", "empty", "binary", "missing"])
def test_a_journal_of_something_else_is_ignored(again, tmp_path, scene, change):
    image, path, records = scene.image, tmp_path / "photo.journal", strokes(1)
    again().extend(records)
    if change == "image":
        image = 255 - image
    elif change == "session":
        (tmp_path / "photo-session.json").write_text("{}")
    elif change == "missing":
        path.unlink()
    else:
        path.write_bytes(b"" if change == "empty" else np.random.default_rng(0).bytes(200))
    journal = again(image)
    assert journal.replay([], SHAPE) == []
    assert journal.extend(records)
    assert again(image).replay([], SHAPE) == records


def test_masks_need_a_session_file(again, scene):
    with Session(scene.image, device="cpu") as session:
        session.start_from(scene.truth)
        assert not again().extend(session.records)


@pytest.mark.parametrize(
    "line",
    [
        '{"kept":1e400,"added":[]}',
        '{"kept":-1e400,"added":[]}',
        '{"kept":NaN,"added":[]}',
        '{"kept":-1,"added":[]}',
        '{"kept":1' + "0" * 400 + ',"added":[]}',
        '{"kept":1' + "0" * 5000 + ',"added":[]}',
        '{"kept":true,"added":[]}',
        '{"kept":"2","added":[]}',
        '{"kept":2,"added":{}}',
        '{"kept":2}',
        '{"kept":' + "[" * 100_000,
        '{"kept":2,"added":[],"check":""}',
        '{"kept":0,"added":[],"check":"0123456789abcdef"}',
        "\0" * 100,
        '{"kept":2,"added":[{"kind":"stroke","points":[[1e400,1]],"radius":1,"label":1}]}',
        '{"kept":2,"added":[{"kind":"stroke","points":[[1' + "0" * 400 + ',1]],"radius":1,"label":1}]}',
        '{"kept":2,"added":[{"kind":"stroke","points":[[1,1]],"radius":1' + "0" * 400 + ',"label":1}]}',
        '{"kept":2,"added":[{"kind":"stroke","points":[[1,1]],"radius":Infinity,"label":1}]}',
        '{"kept":2,"added":[{"kind":"stroke","points":[[1,1]],"radius":1,"label":1' + "0" * 400 + "}]}",
        '{"kept":2,"added":[{"kind":"stroke","points":[[1,1]],"radius":1,"label":1,"axis":1e400,"slice":1e400}]}',
        '{"kept":2,"added":[{"kind":"box","box":[1e400,1,2,3]}]}',
        '{"kept":2,"added":[{"kind":"box","box":[1' + "0" * 400 + ",1,2,3]}]}",
        '{"kept":2,"added":[{"kind":"start"},{"kind":"strokes"},3,null,[]]}',
    ],
)
def test_a_damaged_line_is_left_out(again, tmp_path, line):
    records, path = strokes(3), tmp_path / "photo.journal"
    journal = again()
    journal.extend(records[:1])
    journal.extend(records[:2])
    path.write_text(path.read_text() + line + "\n")
    assert again().replay([], SHAPE) == records[:2]
    journal.extend(records)  # by a process that has not read the line
    journal = again()
    assert [one for one in journal.replay([], SHAPE) if one in records] == records
    assert journal.missing == 0


def test_a_missing_line_does_not_move_the_others(again, tmp_path):
    """Later lines count the records before them, also those that are lost."""
    records, path = strokes(6), tmp_path / "photo.journal"
    journal = again()
    for count in (1, 2, 4, 5, 3, 4):
        journal.extend(records[:count])
    lines = path.read_bytes().splitlines(keepends=True)
    for lost, want in ((2, (0, 2, 3)), (3, (0, 1, 3)), (5, (0, 1, 2, 3)), (6, (0, 1, 2))):
        path.write_bytes(b"".join(lines[:lost] + [lines[lost].replace(b"kept", b"kelp")] + lines[lost + 1 :]))
        journal = again()
        got = journal.replay([], SHAPE)
        assert got == [records[k] for k in want], lost
        assert journal.extend(got) == (not journal.missing)  # otherwise the numbers of the journal cannot be continued


def test_lines_that_count_ever_more_records(again, tmp_path):
    """Each takes place for the records that it claims are missing."""
    path = tmp_path / "photo.journal"
    again().start([])
    more = range(1, 40 * stroke_files.MAX_RECORDS, stroke_files.MAX_RECORDS)
    path.write_text(path.read_text() + "".join(f'{{"kept":{count},"added":[]}}\n' for count in more))
    journal = again()
    assert journal.replay([], SHAPE) == []
    assert journal.missing <= stroke_files.MAX_RECORDS


@pytest.mark.parametrize("period", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_damage_of_bytes_and_prefixes(again, tmp_path, period):
    """What is before the damage is kept, and what is after it, too; one place in `period` is tried."""
    records, path = [*strokes(4), Box((3, 3, 9, 9))], tmp_path / "photo.journal"
    journal = again()
    for count in range(1, 6):
        journal.extend(records[:count])
    data = path.read_bytes()
    ends = [k for k, byte in enumerate(data) if byte == ord("\n")]
    for cut in range(0, len(data), period):
        path.write_bytes(data[:cut])
        sound = sum(end - 2 <= cut for end in ends[1:])  # a complete checksum is enough
        assert again().replay([], SHAPE) == records[:sound], cut
    rng = np.random.default_rng(0)
    for place in range(0, len(data), period):
        for new in {0, 10, 48, 57, data[place] ^ 1, data[place] ^ 128, int(rng.integers(256))} - {data[place]}:
            path.write_bytes(data[:place] + bytes([new]) + data[place + 1 :])
            line = sum(end < place for end in ends) - 1  # the record in the damaged line; -1 for the first line
            got = again().replay([], SHAPE)
            assert got[: max(line, 0)] == records[: max(line, 0)], (place, new)
            assert [one for one in got if one not in records] == [], (place, new)
            assert len(got) >= len(records) - 1, (place, new)


def test_a_stroke_costs_the_same_whatever_their_number(again, tmp_path):
    """A line holds one record, and nothing is compared but identities."""
    journal, records = again(), strokes(3000)
    journal.extend(records[:2999])
    size = (tmp_path / "photo.journal").stat().st_size
    journal.extend(records)
    assert (tmp_path / "photo.journal").stat().st_size - size < 400
    assert again().replay([], SHAPE) == records


def test_a_line_is_written_completely_or_not_at_all(again, tmp_path, monkeypatch):
    records, path = strokes(2), tmp_path / "photo.journal"
    journal = again()
    journal.extend(records[:1])
    data = path.read_bytes()
    real = stroke_files.os.fdopen

    class Full:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, line):
            if len(line) < 50:
                raise OSError(28, "No space left on device")
            return self.file.write(line[:-20])

    with monkeypatch.context() as patch:
        patch.setattr(stroke_files.os, "fdopen", lambda *one, **two: Full(real(*one, **two)))
        with pytest.raises(ValueError, match="No space left"):
            journal.extend(records)
    assert path.read_bytes() == data
    assert journal.extend(records)
    assert again().replay([], SHAPE) == records


def test_a_start_mask_in_a_line_is_left_out(again, tmp_path):
    path = tmp_path / "photo.journal"
    journal = again()
    journal.start([])
    path.write_text(path.read_text() + json.dumps({"kept": 0, "added": [{"kind": "start"}]}) + "\n")
    journal = again()
    assert journal.replay([], SHAPE) == []
    assert not any(isinstance(record, MaskHint) for record in journal.replay([], SHAPE))

"""Strokes on disk: two programs on one folder, and disks that are full for a while.  No stroke is lost silently."""

import asyncio
import json
import re
import tempfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("starlette", reason="needs the extra 'app'")

from apps.app import stroke_files
from apps.app.image_sources import Source
from apps.app.messages import encode_stroke, parse_stroke
from apps.app.open_images import OpenImages
from apps.app.saved_results import save_results
from apps.app.stroke_files import StrokeFiles
from apps.common.errors import InputError, OutputError
from apps.session import Session

LINE = [(10.5, 16.5), (19.5, 16.5)]


@pytest.fixture
def source(files):
    return Source("photo", files / "photo.png")


@pytest.fixture
def file(chosen, source):
    """An open session file, and its session."""
    one = StrokeFiles(chosen, source)
    with one.open(source.load().pixels, device="cpu") as session:
        yield one, session
    one.close()


def draw(file, session, row=16.5, label=1):
    session.stroke([(10.5, row), (19.5, row)], 1.5, label)
    file.append(session)


def records_in(path):
    return json.loads(path.read_bytes())["records"]


def test_an_image_is_open_once(file, chosen, source, scene):
    one, session = file
    draw(one, session)
    other = StrokeFiles(chosen, source)
    with pytest.raises(InputError, match="in use by another cutmatch app"):
        other.open(scene.image, device="cpu")
    one.save(session)
    one.close()
    with other.open(source.load().pixels, device="cpu") as again:
        assert again.strokes == session.strokes
    other.close()


def test_results_of_a_session_that_is_continued_are_replaced(file, chosen, source, monkeypatch):
    """Those beside a new session are not: another program wrote them."""
    one, session = file
    draw(one, session)
    image = source.load()
    path = one.path.with_name("photo-mask.png")
    path.write_bytes(b"mine")
    with pytest.raises(InputError, match="already exists; choose another folder"):
        save_results(chosen, [source], source, image, session, ["mask"])
    assert path.read_bytes() == b"mine"
    one.save(session)
    one.close()
    other = StrokeFiles(chosen, source)
    with other.open(image.pixels, device="cpu") as again:
        save_results(chosen, [source], source, image, again, ["mask"])
    other.close()
    assert path.read_bytes() != b"mine"


def test_an_image_of_the_page_is_never_replaced(file, chosen, source):
    one, session = file
    draw(one, session)
    other = replace(source, name="photo-mask", path=one.path.with_name("photo-mask.png"))
    Image.fromarray(np.zeros((3, 4), np.uint8)).save(other.path)
    before, chosen.overwrite = other.path.read_bytes(), True
    with pytest.raises(InputError, match="is one of the images; choose another folder"):
        save_results(chosen, [source, other], source, source.load(), session, ["mask"])
    assert other.path.read_bytes() == before


def test_a_stroke_is_kept_after_a_journal_that_could_not_be_started(file, chosen, source, monkeypatch):
    """It was repeated, as it was when the last sound line was written."""
    one, session = file
    draw(one, session)
    draw(one, session, 20.5)
    session.undo()
    with monkeypatch.context() as patch:
        patch.setattr("apps.app.stroke_files.write_bytes", lambda path, data: (path / "none").write_bytes(data))
        with pytest.raises(NotADirectoryError):
            one.save(session)
    session.redo()
    one.append(session)
    one.close()
    with StrokeFiles(chosen, source).open(source.load().pixels, device="cpu") as again:
        assert again.strokes == session.strokes


def test_an_image_that_cannot_be_opened_is_not_kept_from_others(chosen, source, scene):
    one, other = StrokeFiles(chosen, source), StrokeFiles(chosen, source)
    with pytest.raises(InputError, match="device"):
        one.open(scene.image, device="nothing")
    other.open(scene.image, device="cpu").close()
    other.close()


@pytest.mark.parametrize("written", ["session", "journal"])
def test_what_others_wrote_is_not_overwritten(file, chosen, source, monkeypatch, written):
    """Where the file system has no locks."""
    one, session = file
    monkeypatch.setattr(stroke_files.FileLock, "acquire", lambda self: True)
    draw(one, session)
    one.save(session)
    other = StrokeFiles(chosen, source)
    with other.open(source.load().pixels, device="cpu") as second:
        draw(other, second, 20.5)
        if written == "session":
            other.save(second)
        session.stroke([(5.5, 5.5)], 1.5, 0)
        with pytest.raises(InputError, match="changed by another program"):
            one.append(session)
        with pytest.raises(InputError, match="changed by another program"):
            one.save(session)
        other.save(second)
        assert records_in(one.path) == second.strokes
    assert records_in(one.rescue(session)) == session.strokes


def test_files_that_were_removed_are_written_again(file, chosen, source):
    one, session = file
    draw(one, session)
    one.save(session)
    one.path.unlink()
    draw(one, session, 20.5)
    one.journal_path.unlink()
    draw(one, session, 24.5)
    one.close()
    with StrokeFiles(chosen, source).open(source.load().pixels, device="cpu") as again:
        assert again.strokes == session.strokes


@pytest.fixture
def full_disk(monkeypatch):
    """function(bool): whether the disk is full."""
    is_full = [False]
    write, extend_really = Session.save, stroke_files.Journal.extend

    def save(self, path, *arguments):
        if is_full[0] and "cutmatch-" not in str(path):
            raise OutputError(f"--out: cannot write {str(path)!r} (No space left on device); free some space", 1)
        return write(self, path, *arguments)

    monkeypatch.setattr(Session, "save", save)

    def extend(self, records):
        if is_full[0]:
            raise OutputError("--out: cannot write the journal (No space left on device); free some space", 1)
        return extend_really(self, records)

    monkeypatch.setattr(stroke_files.Journal, "extend", extend)
    return lambda now: is_full.__setitem__(0, now)


def error_of(page, do, **arguments):
    page.say(do, **arguments)
    return page.until(lambda m: m["type"] == "error")["text"]


def test_an_image_that_cannot_be_saved_stays_open(served, connect, files, full_disk):
    names = "abcdef"
    for name in names:
        (files / f"{name}.png").write_bytes((files / "photo.png").read_bytes())
    page = connect(served(*(Source(name, files / f"{name}.png") for name in names)))
    page.open(0)
    full_disk(True)
    page.stroke(LINE)
    for item in (1, 2, 3, 4):  # those without strokes make room
        page.open(item)
    page.stroke(LINE, item=4)
    page.open(5)
    page.stroke(LINE, item=5)
    assert "No space left" in error_of(page, "open", item=1)
    page.open(5)
    full_disk(False)
    page.open(1)
    for item in (0, 4, 5):
        page.open(item)
        assert len(page.said["state"]["order"]) == 1


@pytest.fixture
def ended(source, chosen, full_disk):
    """function(): open images that were closed after a stroke that could not be written."""

    async def run():
        images = OpenImages([source], chosen)
        image = await images.open(0)
        full_disk(True)
        image.draw(None, parse_stroke(encode_stroke(0, 1, LINE, 1.5, 1, None, None)))
        await images.close()
        return images

    return lambda: asyncio.run(run())


def test_strokes_of_a_full_disk_are_written_elsewhere_at_the_end(ended, capsys, source, monkeypatch):
    monkeypatch.setattr("apps.app.open_images.SAVE_SECONDS", 0.2)
    assert ended().unsaved == 1
    message = capsys.readouterr().err
    assert "No space left" in message
    assert "trying again" in message
    path = re.search(r"written to '(.+?)'", message)[1]
    with Session.load(path, source.load().pixels, device="cpu") as session:
        assert len(session.strokes) == 1


def test_strokes_that_cannot_be_written_anywhere_are_reported(ended, capsys, monkeypatch):
    monkeypatch.setattr("apps.app.open_images.SAVE_SECONDS", 0.1)
    monkeypatch.setattr(tempfile, "mkdtemp", lambda prefix: "/nowhere/at/all")
    assert ended().unsaved == 1
    assert "strokes on 'photo.png' are lost" in capsys.readouterr().err


def test_space_that_is_freed_while_the_server_ends(ended, files, full_disk, monkeypatch):
    monkeypatch.setattr("apps.app.open_images.print_error", lambda line: full_disk(False))
    assert ended().unsaved == 0
    assert len(records_in(files / "out" / "photo-session.json")) == 1

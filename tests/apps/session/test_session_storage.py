"""Sessions in files, and exports."""

import numpy as np
import pytest
import tifffile
from PIL import Image

from apps.common.images import InputError, read_image
from apps.session import Session
from apps.session.session_records import Marks


def assert_same(one, other):
    one.wait()
    other.wait()
    np.testing.assert_array_equal(one.labels, other.labels)
    assert one.records == other.records


@pytest.fixture
def rich(session, disc):
    """A session with every kind of record."""
    _, truth = disc
    session.box((6, 1, 50, 39))
    session.start_from(np.roll(truth, 1, axis=0))
    session.erase([(30, 3), (40, 3)], 1)
    session.stroke([(4, 36), (9, 36)], 1.5, 0, final=False)
    session.stroke([(9, 36), (15, 37)], 1.5, 0)
    session.stroke([(28, 20)], 1, 1)
    session.wait()
    return session


def test_a_stored_session_continues(rich, disc, tmp_path):
    image, _ = disc
    rich.save(tmp_path / "a.sqlite", "photo.png")
    with Session.load(tmp_path / "a.sqlite", image, device="cpu") as loaded:
        assert_same(loaded, rich)
        assert loaded.result().certified
        for one in (loaded, rich):
            one.undo()
            one.undo()
        assert_same(loaded, rich)
        for one in (loaded, rich):
            one.stroke([(50, 30)], 2, 0)
        assert_same(loaded, rich)
        loaded.save(tmp_path / "b.sqlite", "photo.png")
        with Session.load(tmp_path / "b.sqlite", image, device="cpu") as again:
            assert_same(again, loaded)


def test_what_was_cleared_is_restored_by_undo(session, disc, tmp_path):
    """Also what marks of an array replaced, by one `undo`."""
    before = session.records
    session.clear()
    session.set_strokes(np.where(disc[1], 1, -1))
    session.save(tmp_path / "a.sqlite")
    with Session.load(tmp_path / "a.sqlite", disc[0], device="cpu") as loaded:
        assert [*map(type, loaded.records)] == [Marks]
        loaded.undo()
        assert not loaded.records
        loaded.undo()
        assert loaded.records == before
        assert loaded.state["redo"]


def test_sessions_of_other_images(session, disc, tmp_path):
    image, _ = disc
    session.save(tmp_path / "a.sqlite", "disc.png")
    for other, message in ((image[:, :-1], "56x40; pass that image"), (image[::-1], "another image, 'disc.png'")):
        with pytest.raises(InputError, match=message):
            Session.load(tmp_path / "a.sqlite", other, device="cpu")
    with pytest.raises(InputError, match="is the session of another image"):
        Session.load(tmp_path / "a.sqlite", np.zeros((3, 40, 56), np.uint8), device="cpu")
    with pytest.raises(InputError, match="no file"):
        Session.load(tmp_path / "b.sqlite", image, device="cpu")


@pytest.fixture
def two(tmp_path):
    """Two squares as objects 1 and 3, their labels, and a folder."""
    image = np.full((30, 60, 3), 60, np.uint8)
    image[8:22, 8:22], image[8:22, 38:52] = (200, 60, 60), (60, 60, 200)
    labels = np.zeros((30, 60), np.int16)
    labels[8:22, 8:22], labels[8:22, 38:52] = 1, 3
    with Session(image, device="cpu") as session:
        session.stroke([(15, 15)], 3, 1)
        session.stroke([(45, 15)], 3, 3)
        session.stroke([(3, 3), (57, 3)], 2, 0)
        yield session, labels, tmp_path


def test_exported_images(two):
    session, labels, folder = two
    for kind in ("mask", "labels", "cutout"):
        assert session.export(folder / f"{kind}.png", kind) == folder / f"{kind}.png"
    np.testing.assert_array_equal(np.array(Image.open(folder / "mask.png")), np.uint8(255) * (labels > 0))
    np.testing.assert_array_equal(np.array(Image.open(folder / "labels.png")), labels)
    cutout = np.array(Image.open(folder / "cutout.png"))
    assert cutout.shape == (30, 60, 4)
    assert (cutout[10:20, 10:20, 3] == 255).all()
    assert (cutout[:5, :, 3] == 0).all()
    session.export(folder / "labels.tif", "labels")
    np.testing.assert_array_equal(tifffile.imread(folder / "labels.tif"), labels)
    assert read_image(folder / "mask.png").shape == (30, 60, 3)

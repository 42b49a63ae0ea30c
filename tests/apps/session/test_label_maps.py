"""Sessions that start from a label map: locked objects, which are corrected one by one."""

import numpy as np
import pytest
from PIL import Image

from apps.common.images import InputError
from apps.session import Session
from apps.session.label_maps import values_in
from tests.apps.session.test_locks import cells_scene


@pytest.fixture
def mapped():
    """A session that starts from the labels of the cells, the second of which is too large."""
    image, labels = cells_scene()
    labels = labels.copy()
    labels[8:34, 30:54][labels[8:34, 30:54] == 0] = 2
    with Session(image, device="cpu") as session:
        session.start_from(labels)
        yield session, labels


def test_a_label_map_gives_locked_objects(mapped):
    session, labels = mapped
    np.testing.assert_array_equal(session.labels, labels)
    assert {label: one["locked"] for label, one in session.objects.items()} == dict.fromkeys(range(1, 5), True)
    assert session.undo()  # all together
    assert not session.objects
    session.redo()
    np.testing.assert_array_equal(session.result().labels, labels)


def test_strokes_of_an_array_correct_a_label_map(mapped):
    """Its objects are found from their pixels and the strokes; a locked one stays; one undo for all."""
    session, labels = mapped
    image, truth = cells_scene()
    marks = np.where(truth == 0, 0, -1)
    with Session(image, device="cpu") as other:
        other.set_strokes(marks, start=labels)
        assert not any(one["locked"] for one in other.objects.values())
        assert other.result().certified
        assert (other.labels != truth).mean() < 0.03 < (labels != truth).mean()
        other.undo()
        assert not other.objects
        other.set_strokes(marks, start=np.where(truth == 3, 3, 0))  # one object keeps its label
        assert {*np.unique(other.result().labels)} == {0, 3}
        with pytest.raises(InputError, match="start must hold integers"):
            other.set_strokes(marks, start=truth / 4)
    session.unlock(2)
    session.set_strokes(marks, start=truth)
    session.wait()
    for label in (1, 3, 4):
        np.testing.assert_array_equal(session.labels == label, labels == label)
    assert [label for label, one in session.objects.items() if not one["locked"]] == [2]


def test_one_object_is_corrected(mapped, tmp_path):
    """The others stay, pixel for pixel; the corrected one starts from its pixels, without a stroke of its own."""
    session, labels = mapped
    image, truth = cells_scene()
    session.unlock(2)
    session.wait()
    session.stroke([(31, 9), (53, 9), (53, 32), (31, 32), (31, 9)], 1, 0)
    assert session.result().certified
    for label in (1, 3, 4):
        np.testing.assert_array_equal(session.labels == label, labels == label)
    both = (session.labels == 2) & (truth == 2)
    assert both.sum() > 0.85 * ((session.labels == 2) | (truth == 2)).sum()
    assert (truth == 2).sum() < 0.7 * (labels == 2).sum()
    assert not (session.labels == 2)[40:].any()  # no part elsewhere
    session.save(tmp_path / "a.json")
    with Session.load(tmp_path / "a.json", image, device="cpu") as loaded:
        loaded.wait()
        np.testing.assert_array_equal(loaded.labels, session.labels)
    session.lock(2)
    session.unlock(2)
    session.wait()
    assert (session.labels == 2).any()
    session.unlock(3)
    session.wait()
    assert {*np.unique(session.labels)} == {0, 1, 2, 3, 4}
    assert (session.labels != truth).mean() < 0.05


def test_files_of_label_maps(tmp_path):
    """Grey levels as this program writes them, and a palette as of Pascal VOC."""
    _, labels = cells_scene()
    palette = Image.fromarray(np.uint8(labels)).convert("P")
    palette.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0, 128, 128, 0, 0, 0, 128])
    for name, image in {"grey.png": Image.fromarray(np.uint8(labels)), "palette.png": palette}.items():
        image.save(tmp_path / name)
        values = values_in((tmp_path / name).read_bytes(), name, "--start")
        np.testing.assert_array_equal(values, labels)

"""The dock widget on layers of a viewer without a window; QT_QPA_PLATFORM=offscreen is enough."""

import time

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.utils.notifications import notification_manager
from napari_cutmatch.dock_widget import SegmentWidget
from npe2 import PluginManifest
from qtpy.QtWidgets import QApplication

from apps import Session


@pytest.fixture(scope="session")
def application():
    return QApplication.instance() or QApplication([])


@pytest.fixture
def viewer(application):
    notification_manager.records.clear()
    return ViewerModel()


def errors():
    return [record.message for record in notification_manager.records if record.severity.value == "error"]


def finish(widget, seconds=120):
    """Let the event loop run until the thread has ended."""
    end = time.monotonic() + seconds
    QApplication.processEvents()  # strokes are noticed by a timer
    while widget._thread is not None or widget._worker.has_task:
        QApplication.processEvents()
        time.sleep(0.005)
        assert time.monotonic() < end
    QApplication.processEvents()


def disc(shape=(40, 56), channels=3):
    rng = np.random.default_rng(0)
    y, x = np.mgrid[: shape[0], : shape[1]]
    truth = (y - shape[0] / 2) ** 2 + (x - shape[1] / 2) ** 2 < (shape[0] / 3) ** 2
    image = rng.normal(90, 12, (*shape, channels)) + 60 * truth[..., None]
    return np.uint8(np.clip(image, 0, 255)), truth


def strokes_on(shape, background=2):
    strokes = np.zeros(shape, np.uint8)
    strokes[..., 2, 3:-3] = background
    strokes[..., shape[-2] // 2, shape[-1] // 2 - 4 : shape[-1] // 2 + 4] = 1
    return strokes


@pytest.fixture
def widget(viewer):
    image, _ = disc()
    viewer.add_image(image, name="disc", rgb=True)
    viewer.add_labels(strokes_on(image.shape[:2]), name="strokes")
    one = SegmentWidget(viewer)
    one.device.value = "cpu"
    yield one
    finish(one)
    one._worker.close()


def test_the_object_of_an_image(viewer, widget):
    _, truth = disc()
    assert (widget.image.value.name, widget.strokes.value.name) == ("disc", "strokes")
    viewer.layers.selection.active = viewer.layers["strokes"]
    widget.segment_button.changed.emit(True)
    finish(widget)
    result = viewer.layers["disc object"]
    assert widget.result is result
    assert (result.data == truth).mean() > 0.98
    assert [layer.name for layer in viewer.layers] == ["disc", "disc object", "strokes"]
    assert viewer.layers.selection.active.name == "strokes"
    assert "1 object(s)" in widget.status.value
    assert errors() == []


def test_the_answer_is_that_of_a_session(viewer, widget):
    widget.segment()
    finish(widget)
    painted = viewer.layers["strokes"].data
    with Session(viewer.layers["disc"].data, device="cpu") as session:
        session.set_strokes(np.where(painted == 0, -1, np.where(painted == 2, 0, 1)))
        session.wait()
        np.testing.assert_array_equal(widget.result.data, session.labels)


def test_live_after_strokes_undo_and_redo(viewer, widget):
    strokes = viewer.layers["strokes"]
    widget.live.value = True
    finish(widget)
    result, before = widget.result, widget.result.data
    strokes.brush_size = 4
    strokes.paint((20, 40), 2)
    finish(widget)
    assert widget.result is result
    assert result.data[20, 40] == 0
    strokes.undo()
    finish(widget)
    np.testing.assert_array_equal(result.data, before)
    strokes.redo()
    finish(widget)
    assert result.data[20, 40] == 0
    widget.live.value = False
    strokes.paint((20, 20), 2)
    QApplication.processEvents()
    assert widget._thread is None


def test_strokes_in_quick_succession(viewer, widget):
    """The last one counts, however many were skipped."""
    strokes = viewer.layers["strokes"]
    widget.live.value = True
    for k in range(12):
        strokes.paint((20, 18 + k), 1 + k % 2)
    finish(widget)
    np.testing.assert_array_equal(widget.result.data[20, 18:30], strokes.data[20, 18:30] == 1)


def test_several_objects_and_another_background_value(viewer, widget):
    strokes = viewer.layers["strokes"].data
    strokes[strokes == 2] = 9
    strokes[30:33, 45:50] = 4
    widget.background.value = 9
    widget.segment()
    finish(widget)
    assert set(np.unique(widget.result.data)) == {0, 1, 4}


def test_missing_marks_show_nothing(viewer, widget):
    viewer.layers["strokes"].data[2] = 0
    widget.segment()
    finish(widget)
    assert widget.status.value == "mark the background"
    assert not widget.result.data.any()


@pytest.mark.parametrize("scale", [(2.0, 1.0, 1.0), (1.0, 1.0, 1.0)])
def test_a_volume(viewer, scale):
    rng = np.random.default_rng(1)
    volume = rng.normal(100, 12, (10, 20, 24))
    volume[3:7, 6:14, 7:17] += 60
    strokes = np.zeros(volume.shape, int)
    strokes[5] = strokes_on(volume.shape[1:])
    viewer.add_image(volume, name="cube", scale=scale)
    viewer.add_labels(strokes, name="strokes", scale=scale)
    widget = SegmentWidget(viewer)
    widget.segment()
    finish(widget)
    assert (widget.result.data == (volume > 130)).mean() > 0.97
    assert tuple(widget.result.scale) == scale
    assert widget._worker._session.spacing == scale
    widget._worker.close()
    assert errors() == []


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "float32"])
def test_grey_images(viewer, dtype):
    image, truth = disc(channels=1)
    grey = (image[..., 0] * (100.0 if dtype in ("uint16", "int16") else 1.0)).astype(dtype)
    viewer.add_image(grey, name="grey")
    viewer.add_labels(strokes_on(grey.shape), name="strokes")
    widget = SegmentWidget(viewer)
    widget.segment()
    finish(widget)
    assert (widget.result.data == truth).mean() > 0.97
    widget._worker.close()


def test_the_session_is_saved_and_continued(viewer, widget, tmp_path):
    widget.save(tmp_path / "a.sqlite")
    widget.segment()  # a newer task does not drop the file
    finish(widget)
    with Session.load(tmp_path / "a.sqlite", viewer.layers["disc"].data, device="cpu") as session:
        session.wait()
        np.testing.assert_array_equal(session.labels, widget.result.data)
    assert errors() == []
    widget.save(tmp_path / "a.sqlite" / "b.sqlite")
    finish(widget)
    assert "b.sqlite" in errors()[-1]


def two_discs(viewer):
    """A widget on two discs, labels 1 and 3, and the truth."""
    image, truth = disc((40, 112))
    other = np.roll(truth, 30, axis=1)
    truth = np.roll(truth, -30, axis=1)
    image = np.uint8(
        np.clip(np.random.default_rng(3).normal(90, 12, image.shape) + 60 * (truth | other)[..., None], 0, 255)
    )
    viewer.add_image(image, name="discs", rgb=True)
    viewer.add_labels(np.zeros(truth.shape, np.uint8), name="strokes")
    widget = SegmentWidget(viewer)
    widget.device.value = "cpu"
    return widget, truth + 3 * other


def test_a_start_from_a_labels_layer(viewer):
    widget, truth = two_discs(viewer)
    rough = np.roll(truth, 3, axis=0)
    viewer.add_labels(rough, name="rough")
    assert "rough" in [layer.name for layer in widget.start.choices if layer is not None]
    widget.strokes.value, widget.start.value = viewer.layers["strokes"], viewer.layers["rough"]
    widget.segment()
    finish(widget)
    assert (widget.result.data == truth).mean() > 0.98 > (rough == truth).mean()
    viewer.layers["strokes"].data[truth == 3] = 2  # strokes override it
    widget.segment()
    finish(widget)
    assert set(np.unique(widget.result.data)) == {0, 1}
    assert errors() == []
    widget._worker.close()


def test_a_start_in_a_volume(viewer):
    rng = np.random.default_rng(1)
    volume = rng.normal(100, 12, (10, 20, 24))
    volume[3:7, 6:14, 7:17] += 60
    viewer.add_image(volume, name="cube")
    viewer.add_labels(np.roll(volume > 130, 2, axis=1).astype(int), name="rough")
    strokes = np.zeros(volume.shape, int)
    strokes[:, 0] = 2
    viewer.add_labels(strokes, name="strokes")
    widget = SegmentWidget(viewer)
    widget.device.value = "cpu"
    widget.start.value = viewer.layers["rough"]
    widget.segment()
    finish(widget)
    assert (widget.result.data == (volume > 130)).mean() > 0.97
    widget.lock_or_unlock()
    assert "found in an image" in errors()[-1]
    widget._worker.close()


def test_shapes_drawn_around_objects(viewer):
    widget, truth = two_discs(viewer)
    corners = np.array([[2, 4], [2, 50], [38, 50], [38, 4]])
    viewer.add_shapes([corners], shape_type="polygon", name="lasso")
    widget.start.value = viewer.layers["lasso"]
    widget.segment()
    finish(widget)
    assert (widget.result.data == (truth == 1)).mean() > 0.98
    assert errors() == []
    viewer.layers["lasso"].data = []
    widget.segment()
    assert "has no shapes" in errors()[-1]
    widget._worker.close()


def test_a_locked_object_keeps_its_pixels(viewer):
    widget, truth = two_discs(viewer)
    strokes = viewer.layers["strokes"]
    strokes.data[2, 3:-3] = 2
    strokes.data[20, 20:30] = 1
    strokes.data[20, 80:90] = 3
    widget.lock_or_unlock()
    (refused,) = errors()
    assert "select the label of an object" in refused
    widget.segment()
    finish(widget)
    before = widget.result.data == 1
    strokes.selected_label = 1
    widget.lock_or_unlock()
    finish(widget)
    assert widget.status.value.endswith("locked: 1")
    strokes.data[14:26, 10:44] = 3
    widget.keep.value = "all"  # another session
    widget.segment()
    finish(widget)
    strokes.data[truth == 1] = 3
    widget.segment()
    finish(widget)
    assert widget.result.data[15, 11] == 3
    np.testing.assert_array_equal(widget.result.data == 1, before)
    widget.lock_or_unlock()
    finish(widget)
    assert not (widget.result.data == 1).any()
    assert errors() == [refused]
    widget._worker.close()


def test_another_image_gets_its_own_session_and_layer(viewer, widget):
    widget.segment()
    finish(widget)
    image, _ = disc(channels=1)
    viewer.add_image(image[..., 0], name="second")
    widget.image.value = viewer.layers["second"]
    widget.segment()
    finish(widget)
    assert {"disc object", "second object"} <= {layer.name for layer in viewer.layers}
    assert "disc object" not in [layer.name for layer in widget.strokes.choices if layer is not None]


def test_errors_are_notifications(viewer, widget):
    viewer.layers["strokes"].data = np.zeros((5, 6), int)
    widget.segment()
    assert "add a new labels layer" in errors()[-1]
    viewer.layers["strokes"].data = np.full((40, 56), 300)
    widget.segment()
    finish(widget)
    assert "paint objects with 1 to 254" in errors()[-1]
    assert widget.status.value == "failed"
    viewer.layers["strokes"].data = strokes_on((40, 56))
    widget.segment()
    finish(widget)
    assert widget.result.data.any()


def test_layers_that_cannot_be_used(viewer):
    widget = SegmentWidget(viewer)
    widget.segment()
    assert "choose an Image layer" in errors()[-1]
    viewer.add_image(np.zeros((2, 3, 8, 9)), name="four")
    viewer.add_labels(np.zeros((2, 3, 8, 9), int), name="strokes")
    widget.segment()
    assert "has 4 axes" in errors()[-1]
    viewer.layers.clear()
    assert widget.image.value is None


def test_the_manifest():
    manifest = PluginManifest.from_distribution("napari-cutmatch")
    (command,) = manifest.contributions.commands
    assert command.python_name == f"{SegmentWidget.__module__}:{SegmentWidget.__name__}"
    assert manifest.contributions.widgets[0].command == command.id

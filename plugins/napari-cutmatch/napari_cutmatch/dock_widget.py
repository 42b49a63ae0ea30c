"""The dock widget: choose an image and painted strokes, and get the objects as a Labels layer."""

from pathlib import Path

import numpy as np
from magicgui.widgets import CheckBox, ComboBox, Container, Label, PushButton, SpinBox
from napari.layers import Image, Labels, Shapes
from napari.qt.threading import create_worker
from napari.utils.notifications import show_error, show_info
from napari.viewer import Viewer
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QFileDialog

from apps.common.errors import InputError, OutputError
from napari_cutmatch.layer_values import drawn_around, file_name_of, painted_in, pixels_of
from napari_cutmatch.session_worker import Answer, SessionWorker, Source, Task

RESULT_OF = "cutmatch result of"  # key of a result's metadata
PLACEMENT = ("scale", "translate", "rotate", "shear", "units", "axis_labels")
MAX_BACKGROUND = 255


class SegmentWidget(Container):
    """Segment an Image layer from the strokes of a Labels layer.

    Parameters
    ----------
    viewer : napari.Viewer
        The viewer whose layers are offered.
    """

    def __init__(self, viewer: Viewer):
        self._viewer = viewer
        self._worker = SessionWorker()
        self._thread = None  # napari's worker, while it runs
        self._listened: Labels | None = None
        self._last: np.ndarray | None = None  # what was painted for the last task
        self._locked: frozenset[int] = frozenset()  # objects of the image
        self._soon = QTimer()  # napari reports a fill before it changes the data
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self._segment_if_changed)
        self.image = ComboBox(label="image", choices=self._images, nullable=True)
        self.strokes = ComboBox(label="strokes", choices=self._stroke_layers, nullable=True)
        self.start = ComboBox(
            label="start",
            choices=self._start_layers,
            nullable=True,
            tooltip="rough objects in a Labels layer, or shapes drawn around objects, outside of which is background",
        )
        self.background = SpinBox(
            label="background value", value=2, min=1, max=MAX_BACKGROUND, tooltip="this value marks the background"
        )
        self.device = ComboBox(label="device", choices=("auto", "cpu", "cuda"), value="auto")
        self.keep = ComboBox(
            label="keep",
            choices=("touching", "all"),
            tooltip="whether parts of an object that touch none of its strokes become background",
        )
        self.live = CheckBox(text="live: segment after every stroke", value=False)
        self.lock_button = PushButton(text="Lock or unlock the selected label")
        self.segment_button = PushButton(text="Segment")
        self.save_button = PushButton(text="Save session...")
        self.status = Label(value="paint objects with 1, the background with 2")
        super().__init__(
            widgets=[
                *(self.image, self.strokes, self.start, self.background, self.device, self.keep, self.live),
                *(self.lock_button, self.segment_button, self.save_button, self.status),
            ]
        )
        viewer.layers.events.inserted.connect(self._update_choices)
        viewer.layers.events.removed.connect(self._update_choices)
        self.strokes.changed.connect(self._listen)
        self.image.changed.connect(self._unlock_all)
        for choice in (self.live, self.start, self.background, self.device, self.keep):
            choice.changed.connect(self._segment_if_live)
        self.lock_button.changed.connect(lambda _: self.lock_or_unlock())
        self.segment_button.changed.connect(lambda _: self.segment())
        self.save_button.changed.connect(lambda _: self._ask_and_save())
        self.native.destroyed.connect(lambda *_, close=self._worker.close: close())
        self._update_choices()
        self._listen()

    def segment(self) -> None:
        """Segment with the strokes painted so far, in a thread."""
        self._start(None)

    def save(self, path: str | Path) -> None:
        """Segment, and write the session to a file that `apps.Session.load` reads."""
        self._start(Path(path))

    def lock_or_unlock(self) -> None:
        """Let the object of the label selected in the strokes keep its pixels whatever is painted, or no longer."""
        label = None if self.strokes.value is None else int(self.strokes.value.selected_label)
        found = np.zeros((1, 1)) if self.result is None else self.result.data
        if label not in self._locked and (found.ndim != 2 or not label or not np.any(found == label)):
            show_error("select the label of an object that was found in an image, in the layer of the strokes")
            return
        self._locked ^= {label}
        self.segment()

    @property
    def result(self) -> Labels | None:
        """The Labels layer of the chosen image's result; None before the first."""
        image = self.image.value
        found = [layer for layer in self._viewer.layers if image is not None and _source_of(layer) == image.name]
        return found[0] if found else None

    # Choices

    def _images(self, _=None) -> list[Image]:
        return [layer for layer in self._viewer.layers if isinstance(layer, Image)]

    def _stroke_layers(self, _=None) -> list[Labels]:
        return [layer for layer in self._viewer.layers if isinstance(layer, Labels) and not _source_of(layer)]

    def _start_layers(self, _=None) -> list[Labels | Shapes]:
        shapes = [layer for layer in self._viewer.layers if isinstance(layer, Shapes)]
        return [layer for layer in self._stroke_layers() if layer is not self.strokes.value] + shapes

    def _unlock_all(self, _=None) -> None:
        self._locked = frozenset()

    def _update_choices(self, _=None) -> None:
        self.start.reset_choices()
        for box in (self.image, self.strokes):
            box.reset_choices()
            if box.value is None and len(box.choices) > 1:  # the first choice is none
                box.value = box.choices[-1]

    def _listen(self, _=None) -> None:
        """Listen to strokes in the chosen layer, and to undo, which has no event of its own."""
        self.start.reset_choices()
        if self._listened is not None:
            self._listened.events.paint.disconnect(self._check_soon)
            self._listened.events.set_data.disconnect(self._check_soon)
        self._listened, self._last = self.strokes.value, None
        if self._listened is not None:
            self._listened.events.paint.connect(self._check_soon)
            self._listened.events.set_data.connect(self._check_soon)

    def _check_soon(self, _=None) -> None:
        self._soon.start(0)

    def _segment_if_live(self, _=None) -> None:
        if self.live.value and self.image.value is not None and self.strokes.value is not None:
            self.segment()

    def _segment_if_changed(self) -> None:
        strokes = self.strokes.value
        if self.live.value and strokes is not None and not np.array_equal(self._last, np.asarray(strokes.data)):
            self._segment_if_live()

    # Work

    def _start(self, path: Path | None) -> None:
        image, strokes = self.image.value, self.strokes.value
        if image is None or strokes is None:
            show_error("choose an Image layer, and a Labels layer with strokes")
            return
        try:
            pixels, spacing = pixels_of(image)
            painted = painted_in(strokes, image)
            start = self._start_values(image)
        except InputError as error:
            show_error(str(error))
            return
        source = Source(image.data, pixels, spacing, self.keep.value, self.device.value)
        self._last = painted
        background, name = self.background.value, file_name_of(image)
        if isinstance(self.start.value, Shapes):
            painted = np.where((painted == 0) & (start == 0), background, painted)
        locked = np.where(np.isin(self.result.data, list(self._locked)), self.result.data, 0) if self._locked else None
        self._worker.request(Task(source, painted, background, start, locked, (image, strokes), path, name))
        self._run()

    def _start_values(self, image: Image) -> np.ndarray | None:
        layer = self.start.value
        if layer is None:
            return None
        return drawn_around(layer, image) if isinstance(layer, Shapes) else painted_in(layer, image)

    def _run(self) -> None:
        if self._thread is None:
            self.status.value = "working ..."
            self._thread = create_worker(
                self._worker.work,
                _ignore_errors=True,  # they are reported below
                _connect={"yielded": self._show, "errored": self._report, "finished": self._finish},
            )

    def _finish(self) -> None:
        self._thread = None
        if self._worker.has_task:  # it came after the thread had looked for one
            self._run()

    def _report(self, error: BaseException) -> None:
        self.status.value = "failed"
        known = isinstance(error, InputError | OutputError)
        show_error(str(error) if known else f"{type(error).__name__}: {error}")

    def _show(self, answer: Answer) -> None:
        image, strokes = answer.layers
        if image not in self._viewer.layers:
            return
        name = f"{image.name} object"
        found = [layer for layer in self._viewer.layers if _source_of(layer) == image.name]
        if found and found[0].data.shape == answer.labels.shape:
            found[0].data = answer.labels
        else:
            self._add_below(strokes, answer.labels, name, image)
        locked = f"; locked: {', '.join(map(str, sorted(self._locked)))}" if self._locked else ""
        self.status.value = _status(answer.state) + locked
        if answer.saved is not None:
            show_info(f"session saved: {answer.saved}")

    def _add_below(self, strokes: Labels, labels: np.ndarray, name: str, image: Image) -> None:
        """Add a result below the strokes, which stay selected for the next stroke."""
        selected = set(self._viewer.layers.selection)
        placement = {key: getattr(image, key) for key in PLACEMENT if hasattr(image, key)}
        layer = Labels(labels, name=name, opacity=0.5, metadata={RESULT_OF: image.name}, **placement)
        layer.affine = image.affine
        layers = self._viewer.layers
        layers.insert(layers.index(strokes) if strokes in layers else len(layers), layer)
        layers.selection = selected

    def _ask_and_save(self) -> None:
        image = self.image.value
        stem = Path(file_name_of(image)).stem if image is not None else "image"
        path, _ = QFileDialog.getSaveFileName(self.native, "Save session", f"{stem}.sqlite", "Sessions (*.sqlite)")
        if path:
            self.save(path)


def _source_of(layer) -> str | None:
    """Name of the image whose result a layer is, or None."""
    return layer.metadata.get(RESULT_OF) if isinstance(layer, Labels) else None


def _status(state: dict) -> str:
    if state["message"]:
        return state["message"]
    found = f"{len([label for label in state['labels'] if label])} object(s), {state['seconds'] * 1000:.0f} ms"
    return f"{found}, refining ..." if state["pending"] else found

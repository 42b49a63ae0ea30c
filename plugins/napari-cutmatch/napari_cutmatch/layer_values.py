"""What a session needs of napari's layers: pixels, spacing and strokes."""

from pathlib import Path

import numpy as np
from napari.layers import Image, Labels, Shapes

from apps.common.errors import InputError

MAX_LABEL = 254  # of an object, in a session
SESSION_DTYPES = (np.dtype(bool), np.dtype(np.uint8), np.dtype(np.uint16))


def pixels_of(layer: Image) -> tuple[np.ndarray, tuple[float, ...] | None]:
    """The array of an Image layer for a session, and the size of a voxel along z, y, x; None for a 2-D image.

    Grey images of other types than uint8, uint16 or floats in [0, 1] are scaled from their range to [0, 1].  Raises
    InputError for other numbers of axes.
    """
    values = np.asarray(layer.data[0] if layer.multiscale else layer.data)
    if layer.ndim == 3 and not layer.rgb:
        return values, tuple(abs(float(size)) for size in layer.scale)
    if layer.ndim != 2:
        raise InputError(
            f"layer {layer.name!r} has {layer.ndim} axes{' and colours' if layer.rgb else ''}; "
            "choose a 2-D image, an RGB image, or a grey volume of 3 axes"
        )
    return (values if layer.rgb else _grey(values)), None


def marks_of(painted: np.ndarray, background: int) -> np.ndarray:
    """Strokes of a session, int16: painted values, with 0 as none (-1) and `background` as the background (0)."""
    low, high = int(painted.min()), int(painted.max())
    if low < 0 or (high > MAX_LABEL and high != background) or np.any((painted > MAX_LABEL) & (painted != background)):
        raise InputError(f"strokes have values from {low} to {high}; paint objects with 1 to {MAX_LABEL}, 0 is none")
    strokes = painted.astype(np.int16)
    strokes[painted == 0] = -1
    strokes[painted == background] = 0
    return strokes


def drawn_around(layer: Shapes, image: Image) -> np.ndarray:
    """Labels 1, 2, ... inside the shapes of a layer, 0 outside of all; InputError for a volume, and without shapes."""
    shape = _shape_of(image)
    if len(shape) != 2 or not len(layer.data):
        missing = "has no shapes" if len(shape) == 2 else "is for 2-D images"
        raise InputError(f"layer {layer.name!r} {missing}; draw around objects of an image, or paint strokes")
    return layer.to_labels(labels_shape=shape)


def _shape_of(image: Image) -> tuple[int, ...]:
    shape = (image.data[0] if image.multiscale else image.data).shape
    return tuple(shape[:-1] if image.rgb else shape)


def painted_in(layer: Labels, image: Image) -> np.ndarray:
    """A copy of the values of a Labels layer; InputError unless its shape is that of the image."""
    values, shape = np.asarray(layer.data[0] if layer.multiscale else layer.data), _shape_of(image)
    if values.shape != shape:
        raise InputError(
            f"layer {layer.name!r} has shape {values.shape}, but {image.name!r} has {shape}; add a new labels layer"
        )
    return np.array(values)


def file_name_of(layer: Image) -> str:
    """Name of the image's file, or of the layer if it was not read from a file."""
    path = layer.source.path
    return Path(path).name if path else layer.name


def _grey(values: np.ndarray) -> np.ndarray:
    if values.dtype in SESSION_DTYPES or values.dtype.kind not in "iuf":
        return values
    low, high = values.min(), values.max()
    if not np.isfinite([low, high]).all() or (values.dtype.kind == "f" and 0 <= low and high <= 1):
        return values  # the session reports NaN and infinity
    span = float(high) - float(low)
    return ((values - float(low)) / span if span else np.zeros(values.shape)).astype(np.float32)

"""Images and volumes of the page: files of the command line and uploads, read when they are opened."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from apps.common.errors import InputError
from apps.common.images import image_in, read_bytes, stored_rgb, to_bytes, to_rgb
from apps.common.writing import NO_METADATA, Metadata
from apps.volumes.volume_files import is_volume, read_volume
from apps.volumes.voxel_geometry import Volume

LOSSLESS_PIXELS = 2_000_000  # larger images are shown as JPEG, which browsers load sooner
JPEG_QUALITY = 95


@dataclass
class Source:
    """An image or a volume that can be opened.

    Attributes
    ----------
    name : str
        Name of its results.
    path : Path
        The file; for an upload, its name alone.
    data : bytes or None
        Content of an upload.
    start : Path or None
        File of its start mask.
    slices : bool
        Whether a folder of images is a volume.
    state : str or None
        State of its session, as the page was told last.
    confirmed : set of int
        Numbers of the strokes of pages that are in its session.
    """

    name: str
    path: Path
    data: bytes | None = None
    start: Path | None = None
    slices: bool = False
    state: str | None = None
    confirmed: set[int] = field(default_factory=set)

    def load(self) -> "Image":
        """Read the image or volume; InputError if it cannot be used."""
        if self.data is None and is_volume(self.path, self.slices):
            volume = read_volume(self.path, folder=self.slices)
            return Image(volume.values, volume=volume)
        data = read_bytes(self.path) if self.data is None else self.data
        return decoded_image(data, self.path.name)


def decoded_image(data: bytes, name: str) -> "Image":
    """The image in the content of a file of this name; InputError if it cannot be used."""
    pixels, metadata = image_in(data, name)
    rgb = stored_rgb(pixels, repr(name))
    return Image(to_bytes(rgb) if pixels.dtype == np.uint8 else rgb, metadata=metadata)


@dataclass(frozen=True)
class Image:
    """Pixels of an image (H, W, 3), uint8 or float32 in [0, 1], or grey values of a volume (D, H, W)."""

    pixels: np.ndarray
    volume: Volume | None = None
    metadata: Metadata = NO_METADATA

    @property
    def spacing(self) -> tuple[float, float, float] | None:
        """Size of a voxel along z, y and x, 1 without a geometry; None for an image."""
        if self.volume is None:
            return None
        z, y, x = (1.0, 1.0, 1.0) if self.volume.geometry is None else self.volume.geometry.spacing
        return float(z), float(y), float(x)

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of the grid, (H, W) or (D, H, W)."""
        return self.pixels.shape if self.volume is not None else self.pixels.shape[:2]

    @cached_property
    def rgb(self) -> np.ndarray:
        """The image as float32 (H, W, 3) in [0, 1]."""
        return to_rgb(self.pixels)

    @cached_property
    def encoded(self) -> tuple[bytes, str]:
        """The image as the content of a file for the browser, and its media type."""
        import cv2

        pixels = self.pixels if self.pixels.dtype == np.uint8 else to_bytes(self.pixels)
        kind, options = ("png", [cv2.IMWRITE_PNG_COMPRESSION, 1])
        if pixels.size > 3 * LOSSLESS_PIXELS and max(self.shape) < 65_500:  # the format's limit
            kind, options = "jpeg", [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY]
        content = cv2.imencode(f".{kind}", pixels[..., ::-1], options)[1]
        return content.tobytes(), f"image/{kind}"

    @cached_property
    def range(self) -> tuple[float, float]:
        """Least and greatest grey value of the volume."""
        return float(self.pixels.min()), float(self.pixels.max())

    @cached_property
    def window(self) -> tuple[float, float]:
        """Level and width of the window that shows most grey values, as shares of the range."""
        some = self.pixels[:: max(1, len(self.pixels) // 32)]
        least, most = self._shares(np.percentile(some, (0.5, 99.5), method="nearest"))
        return round(0.5 * float(least + most), 3), max(0.001, round(float(most - least), 3))

    def content(self, *place: int) -> tuple[bytes, str]:
        """The image, or the slice of a volume at an axis and an index, for the browser, and its media type."""
        if self.volume is None and not place:
            return self.encoded
        if self.volume is None or len(place) != 2 or not (0 <= place[0] <= 2 and 0 <= place[1] < self.shape[place[0]]):
            raise InputError("a volume requires one of its slices, and an image has none")
        return self._slice_values(*place), "application/octet-stream"

    def _slice_values(self, axis: int, index: int) -> bytes:
        """Grey values of a slice as 16-bit shares of the range, row by row."""
        return np.rint(65535 * self._shares(np.take(self.pixels, index, axis=axis))).astype("<u2").tobytes()

    def _shares(self, values: np.ndarray) -> np.ndarray:
        """Values as shares of the range; 0 in a constant volume."""
        low, high = self.range
        values = values.astype(np.float64)
        if not math.isfinite(high - low):
            low, high, values = 0.25 * low, 0.25 * high, 0.25 * values
        return (values - low) / (high - low if high > low else 1.0)

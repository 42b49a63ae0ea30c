"""Volumes in TIFF files, by tifffile: plain pages, ImageJ's hyperstacks and OME-TIFF, with spacing and unit.

tifffile names the axes: Z, Y, X; C or S for channels, T for time; Q and I for pages without a meaning, which are taken
for slices.
"""

import io
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np

from apps.common.images import Unsuitable, open_tiff
from apps.volumes.voxel_geometry import Geometry, factor, unit_of

SLICES = "ZQI"
WHAT = {"C": "channels", "S": "channels", "T": "points in time"}
IMAGEJ_KEYS = ("spacing", "unit", "yunit", "zunit", "xorigin", "yorigin", "zorigin")
OME_KEYS = tuple(f"PhysicalSize{axis}{part}" for axis in "XYZ" for part in ("", "Unit"))


def is_stack(path: Path) -> bool:
    """Whether a TIFF has an axis besides those of one image."""
    try:
        with open_tiff(path) as file:
            if len(file.series) > 1:
                return len(file.pages) > 1
            axes = dict(zip(file.series[0].axes, file.series[0].shape, strict=True))
            return any(size > 1 for axis, size in axes.items() if axis not in "YXS")
    except Exception:  # of any type, from damaged files
        return False  # reading it as an image will report the error


def read_stack(data: bytes) -> tuple[np.ndarray, Geometry | None, dict]:
    """Values (D, H, W), geometry and header of a TIFF; raises Unsuitable or what tifffile raises."""
    with open_tiff(io.BytesIO(data)) as file:
        if not file.series:
            raise ValueError("no page")
        if len(file.series) > 1:
            shapes = ", ".join("x".join(map(str, one.shape)) for one in file.series[:4])
            raise Unsuitable(f"holds {len(file.series)} images of sizes {shapes}; save one of them as a separate file")
        series = file.series[0]
        order = _slices_first(series.axes, series.shape)
        values = series.asarray()
        header: dict = {}
        geometry = None
        if file.is_imagej:
            header, geometry = _imagej(file)
        elif file.is_ome:
            header, geometry = _ome(file.ome_metadata)
    return values.transpose(*order).reshape([values.shape[axis] for axis in order[-3:]]), geometry, header


def stack_bytes(labels: np.ndarray, header: dict) -> bytes:
    """A deflated TIFF of labels (D, H, W), with the metadata that `read_stack` returned."""
    import tifffile

    buffer = io.BytesIO()
    form = header.get("format")
    options = {"imagej": True, "resolution": header["resolution"]} if form == "imagej" else {"ome": form == "ome"}
    metadata = {"axes": "ZYX", **header.get("metadata", {})}
    tifffile.imwrite(buffer, labels, compression="zlib", photometric="minisblack", metadata=metadata, **options)
    return buffer.getvalue()


def _slices_first(axes, shape) -> list[int]:
    """Order of the axes that puts those of length 1 first and z, y, x last; Unsuitable for other axes."""
    sizes = ", ".join(f"{axis} {size}" for axis, size in zip(axes, shape, strict=True))
    slices = [n for n, axis in enumerate(axes) if axis in SLICES and shape[n] > 1]
    others = [axis for n, axis in enumerate(axes) if axis not in SLICES + "YX" and shape[n] > 1]
    if others:
        what = WHAT.get(others[0], f"steps along the axis {others[0]}")
        hint = "save one of them as a volume" if slices else "if they are slices, save the file with Z slices"
        raise Unsuitable(f"has several {what} (axes {sizes}); {hint} (axes Z, Y, X)")
    if len(slices) > 1:
        raise Unsuitable(f"has {len(slices) + 2} axes ({sizes}); save one volume of axes Z, Y, X as a separate file")
    if "Y" not in axes or "X" not in axes or not any(axis in SLICES for axis in axes):
        raise Unsuitable(f"holds a single image (axes {sizes}); a volume has several pages")
    slices = slices or [next(n for n, axis in enumerate(axes) if axis in SLICES)]
    last = [slices[0], axes.index("Y"), axes.index("X")]
    return [n for n in range(len(axes)) if n not in last] + last


def _imagej(file) -> tuple[dict, Geometry | None]:
    stated = file.imagej_metadata or {}
    resolution = tuple(_resolution(file.pages[0], name) for name in ("XResolution", "YResolution"))
    kept = {key: stated[key] for key in IMAGEJ_KEYS if key in stated}
    header = {"format": "imagej", "metadata": kept, "resolution": resolution}
    unit = unit_of(stated.get("unit"))
    spacing = [abs(float(stated.get("spacing") or 1.0)), 1 / resolution[1], 1 / resolution[0]]
    if unit is None and spacing == [1.0, 1.0, 1.0]:
        return header, None
    for at, key in enumerate(("zunit", "yunit")):
        spacing[at] *= factor(unit_of(stated.get(key)), unit)
    return header, Geometry(tuple(spacing), unit)


def _resolution(page, name) -> float:
    """Pixels per unit; 1 if the tag is missing or 0."""
    tag = page.tags.get(name)
    above, below = tag.value if tag is not None else (1, 1)
    return above / below if above and below else 1.0


def _ome(text) -> tuple[dict, Geometry | None]:
    pixels = ElementTree.fromstring(text).find(".//{*}Pixels")
    stated = {} if pixels is None else {key: pixels.attrib[key] for key in OME_KEYS if key in pixels.attrib}
    header = {"format": "ome", "metadata": stated}
    if not any(f"PhysicalSize{axis}" in stated for axis in "XYZ"):
        return header, None
    units = [unit_of(stated.get(f"PhysicalSize{axis}Unit", "µm")) for axis in "ZYX"]
    sizes = [float(stated.get(f"PhysicalSize{axis}", 1.0)) for axis in "ZYX"]
    return header, Geometry(tuple(s * factor(u, units[2]) for s, u in zip(sizes, units, strict=True)), units[2])

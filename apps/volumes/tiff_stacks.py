"""Volumes in TIFF files, by tifffile: plain pages, ImageJ's hyperstacks and OME-TIFF, with spacing and unit.

tifffile names the axes: Z, Y, X; C or S for channels, T for time; Q and I for pages without a meaning, which are taken
for slices.  Axes of length 1 are left out.
"""

import io
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np

from apps.common.images import Unsuitable, open_tiff
from apps.volumes.voxel_geometry import Geometry, factor, unit_of

IMAGEJ_KEYS = ("spacing", "unit", "yunit", "zunit", "xorigin", "yorigin", "zorigin")
OME_KEYS = tuple(f"PhysicalSize{axis}{part}" for axis in "XYZ" for part in ("", "Unit"))


def is_stack(path: Path) -> bool:
    """Whether a TIFF has an axis besides those of one image."""
    try:
        with open_tiff(path) as file:
            axes = file.series[0].get_axes(squeeze=True).replace("S", "")
            return len(file.pages) > 1 if len(file.series) > 1 else len(axes) > 2
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
        axes, shape = series.get_axes(squeeze=True), series.get_shape(squeeze=True)
        if axes not in ("ZYX", "QYX", "IYX"):
            sizes = ", ".join(f"{axis} {size}" for axis, size in zip(axes, shape, strict=True))
            raise Unsuitable(f"has the axes {sizes}; save a volume with slices, rows and columns: Z, Y, X")
        values = series.asarray().reshape(shape)
        header: dict = {}
        geometry = None
        if file.is_imagej:
            header, geometry = _imagej(file)
        elif file.is_ome:
            header, geometry = _ome(file.ome_metadata)
    return values, geometry, header


def stack_bytes(labels: np.ndarray, header: dict) -> bytes:
    """A deflated TIFF of labels (D, H, W), with the metadata that `read_stack` returned."""
    import tifffile

    buffer = io.BytesIO()
    form = header.get("format")
    options = {"imagej": True, "resolution": header["resolution"]} if form == "imagej" else {"ome": form == "ome"}
    metadata = {"axes": "ZYX", **header.get("metadata", {})}
    tifffile.imwrite(buffer, labels, compression="zlib", photometric="minisblack", metadata=metadata, **options)
    return buffer.getvalue()


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

"""OME-Zarr (NGFF 0.4 and 0.5) by zarr: the first, largest level of an image's pyramid, with scale, units and axes."""

import math
import os
from pathlib import Path

import numpy as np

from apps.common.decoding import MAX_PACKED, Unreadable, Unsuitable, decoding_errors
from apps.common.errors import InputError
from apps.common.writing import written_folder
from apps.volumes.voxel_geometry import Geometry, factor, unit_of

MARKERS = ("zarr.json", ".zgroup", ".zattrs", ".zarray")
SUFFIX = ".zarr"
MAX_CHUNKS = 100_000  # each takes about 0.4 ms and 2 KB, also without a file
MIN_CLAIM = 1 << 30  # bytes of an array that are never refused


def is_zarr(path: Path) -> bool:
    """Whether a folder is a zarr group or array."""
    return os.path.isdir(path) and any(os.path.isfile(path / marker) for marker in MARKERS)


def zarr_module(name: str, path: Path):
    """The module zarr; InputError, naming the extra, if it is not installed."""
    try:
        import zarr
    except ImportError:
        raise InputError(
            f"{name}: {str(path)!r} is an OME-Zarr volume, which requires zarr; pip install 'cutmatch[volumes]'"
        ) from None
    return zarr


def read_zarr(path: Path, zarr) -> tuple[np.ndarray, Geometry, dict]:
    """Values (D, H, W), geometry and header of an image; raises Unreadable or Unsuitable."""
    with decoding_errors():
        group = zarr.open(str(path), mode="r")
        if not isinstance(group, zarr.Group):
            raise Unsuitable("is an array without the metadata of OME-Zarr; pass the folder of the image")
        attributes = dict(group.attrs)
        image = (attributes.get("ome", attributes).get("multiscales") or [None])[0]
        if image is None:
            raise Unsuitable(f"holds no image: no multiscales metadata; pass the folder of an image{_images_in(group)}")
        axes, dataset = image["axes"], image["datasets"][0]
        array = group[dataset["path"]]
        if len(axes) != array.ndim:
            raise Unreadable(f"{len(axes)} axes in its metadata, {array.ndim} in its array")
        names = [axis["name"] for axis in axes]
        sizes = ", ".join(f"{name} {size}" for name, size in zip(names, array.shape, strict=True))
        for name, size in zip(names, array.shape, strict=True):
            if name not in ("z", "y", "x") and size > 1:
                what = {"c": "channels", "t": "points in time"}.get(name, f"steps along the axis {name}")
                raise Unsuitable(f"has several {what} (axes {sizes}); save one of them as a volume")
        if [name for name in names if name in ("z", "y", "x")] != ["z", "y", "x"]:
            raise Unsuitable(f"has the axes {sizes}; a volume has the axes z, y, x in this order")
        transforms = [dataset.get("coordinateTransformations", []), image.get("coordinateTransformations", [])]
        scale, shift = _scale_and_shift([step for steps in transforms for step in steps], len(names))
        folder = path / array.path.strip("/")
        _check_size(folder, array)
        _check_chunks(folder, array)
        values = np.asarray(array[...])
    space = [names.index(name) for name in ("z", "y", "x")]
    units = [unit_of(axes[n].get("unit")) for n in space]
    factors = [factor(unit, units[2]) for unit in units]
    spacing, origin = ([values_of[n] * f for n, f in zip(space, factors, strict=True)] for values_of in (scale, shift))
    header = {
        "format": group.metadata.zarr_format,
        "version": attributes.get("ome", image).get("version", "0.4"),
        "shape": array.shape,
        "chunks": array.chunks,
        "axes": axes,
        "level": dataset.get("coordinateTransformations", []),
        "image": image.get("coordinateTransformations"),
    }
    return (
        values.reshape([array.shape[n] for n in space]),
        Geometry(tuple(spacing), units[2], tuple(origin[::-1])),
        header,
    )


def write_zarr(path: Path, labels: np.ndarray, header: dict, zarr) -> Path:
    """Write labels (D, H, W) as a label image with one level, with the axes and transformations of the volume."""
    image = {
        "name": path.name.removesuffix(".ome.zarr"),
        "axes": header["axes"],
        "datasets": [{"path": "0", "coordinateTransformations": header["level"]}],
    }
    if header["image"] is not None:
        image["coordinateTransformations"] = header["image"]
    # In memory first: after an error zarr's threads go on writing into the folder, which then cannot be removed.
    files: dict = {}
    group = zarr.open_group(zarr.storage.MemoryStore(files), mode="w", zarr_format=header["format"])
    separator = {"chunk_key_encoding": {"name": "v2", "separator": "/"}} if header["format"] == 2 else {}
    shape = header["shape"]
    array = group.create_array("0", shape=shape, chunks=header["chunks"], dtype=labels.dtype, **separator)
    array[...] = labels.reshape(shape)
    version = {"version": header["version"]}
    if header["format"] == 2:
        group.attrs.update({"multiscales": [{**version, **image}], "image-label": version})
    else:
        group.attrs["ome"] = {**version, "multiscales": [image], "image-label": {}}
    with written_folder(path) as folder:
        for name, content in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.to_bytes())
    return path


def _scale_and_shift(steps, axes) -> tuple[list[float], list[float]]:
    """Product of scale and translation transformations, one number per axis."""
    scale, shift = np.ones(axes), np.zeros(axes)
    for step in steps:
        if step["type"] == "scale":
            factors = np.array(step["scale"], float)
            scale, shift = scale * factors, shift * factors
        elif step["type"] == "translation":
            shift = shift + np.array(step["translation"], float)
        elif step["type"] != "identity":
            raise Unsuitable(f"has a transformation of type {step['type']!r}; scale and translation are supported")
    if scale.shape != (axes,) or not (np.isfinite(scale).all() and (scale > 0).all()):
        raise Unreadable(f"a scale of {scale.tolist()}")
    return scale.tolist(), shift.tolist()


def _check_size(folder, array) -> None:
    """Raise Unreadable for an array that would take hours or memory without end; chunks of zeros need no file."""
    if array.nchunks > MAX_CHUNKS:
        raise Unreadable(f"{array.nchunks} chunks; at most {MAX_CHUNKS} are supported")
    stored = sum(file.stat().st_size for file in folder.rglob("*") if os.path.isfile(file))
    claimed = max(array.nbytes, math.prod(array.shards or array.chunks) * array.dtype.itemsize)
    if claimed > max(MIN_CLAIM, MAX_PACKED * stored):
        raise Unreadable(f"its voxels would take {claimed} bytes, more than its {stored} bytes can hold")


def _check_chunks(folder, array) -> None:
    """Raise Unreadable for a truncated chunk compressed by Blosc, which may read past its end instead of failing.

    Its header of 16 bytes ends in the number of compressed bytes.
    """
    if array.shards is not None or not any("blosc" in type(codec).__name__.lower() for codec in array.compressors):
        return
    for file in folder.rglob("*"):
        if os.path.isfile(file) and file.name not in MARKERS:
            with open(file, "rb") as chunk:
                head = chunk.read(16)
            if len(head) < 16 or file.stat().st_size < int.from_bytes(head[12:], "little"):
                raise Unreadable(f"truncated chunk {file.relative_to(folder).as_posix()!r}")


def _images_in(group) -> str:
    names = sorted(name for name, _ in group.groups())[:3]
    return f", such as {', '.join(map(repr, names))} in it" if names else ""

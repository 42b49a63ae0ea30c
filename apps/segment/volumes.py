"""Read and write volumes: a TIFF with many pages, a .npy with three axes, or a folder of slices.

Axes are z, y, x; slices of a folder are ordered by the numbers in their names.  Values are unchanged.
"""

import io
from pathlib import Path

import numpy as np

from apps.common.decoding import Unreadable, check_claim, decoding_errors, load_array, page_warnings
from apps.common.images import READABLE, InputError, by_number, read_bytes, read_pixels, write_bytes
from apps.segment.label_values import label_values

TIFF = (".tif", ".tiff")


def is_volume(path: Path, folder: bool) -> bool:
    """Whether a path is a volume: a .npy, a TIFF with several pages, or, if `folder`, a folder of slices."""
    if path.is_dir():
        return folder
    if path.suffix.lower() == ".npy":
        return True
    if path.suffix.lower() not in TIFF or not path.is_file():
        return False
    import tifffile

    try:
        with decoding_errors(), page_warnings() as warnings, tifffile.TiffFile(path) as file:
            return len(file.pages) > 1 or bool(warnings)
    except Unreadable:
        return False  # reading it as an image will report the error


def read_volume(path, name: str = "image") -> np.ndarray:
    """Read a volume (D, H, W) of finite numbers.

    Raises InputError, naming the argument, if it is missing, broken, or not a volume of grey values.
    """
    path = Path(path)
    if path.is_dir():
        volume = _read_slices(path, name)
    else:
        data = read_bytes(path, name)
        try:
            volume = _decode(data, path.suffix.lower())
        except Unreadable as error:
            raise InputError(f"{name}: cannot read {str(path)!r} ({error}); pass a complete TIFF or .npy") from None
    if volume.ndim != 3 or volume.dtype.kind not in "buif" or 0 in volume.shape:
        raise InputError(
            f"{name}: {str(path)!r} holds {volume.dtype} of shape {volume.shape}; a volume has three axes z, y, x of "
            "grey values"
        )
    if volume.dtype.kind == "f" and not np.isfinite(volume).all():
        raise InputError(f"{name}: {str(path)!r} holds NaN or infinity; every voxel must be finite")
    return volume.view(np.uint8) if volume.dtype == bool else volume


def read_seeds(path, name: str = "--labels") -> np.ndarray:
    """Read a label volume as uint8 or uint16, 0 for none; InputError as for `read_volume` and `label_values`."""
    return label_values(read_volume(path, name), f"{name}: {str(path)!r}")


def write_volume(path: Path, labels: np.ndarray) -> Path:
    """Write labels (D, H, W), uint8 or uint16, as .npy or deflated TIFF; the suffix determines the format."""
    buffer = io.BytesIO()
    if path.suffix == ".npy":
        np.save(buffer, labels)
    else:
        import tifffile

        tifffile.imwrite(buffer, labels, compression="zlib", photometric="minisblack", metadata={"axes": "ZYX"})
    return write_bytes(path, buffer.getvalue())


def _decode(data, suffix):
    if suffix == ".npy":
        return load_array(data)
    import tifffile

    with decoding_errors(), page_warnings() as warnings, tifffile.TiffFile(io.BytesIO(data)) as file:
        if not file.series:
            raise Unreadable("no page")
        check_claim(file.series[0].nbytes, data)
        volume = file.series[0].asarray()
        if warnings:
            raise Unreadable(warnings[0])
    return volume


def _read_slices(folder, name):
    files = [p for p in folder.iterdir() if p.suffix.lower() in READABLE and not p.name.startswith(".")]
    if len(files) < 2:
        held = "one image" if files else "no image"
        raise InputError(f"{name}: folder {str(folder)!r} holds {held}; a volume has two slices or more")
    files.sort(key=by_number)
    slices = [read_pixels(path, name) for path in files]
    for path, codes in zip(files, slices, strict=True):
        if codes.shape != slices[0].shape or codes.dtype != slices[0].dtype:
            raise InputError(
                f"{name}: {str(path)!r} is {codes.dtype} of shape {codes.shape}, but {files[0].name!r} is "
                f"{slices[0].dtype} of shape {slices[0].shape}; all slices must have the same dtype and shape"
            )
    stack = np.stack(slices)
    if stack.ndim == 4:  # grey images stored as colour
        if (stack != stack[..., :1]).any():
            raise InputError(f"{name}: the slices of {str(folder)!r} are coloured; pass grey ones")
        stack = stack[..., 0]
    return stack

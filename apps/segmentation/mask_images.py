"""The values in files of masks: images in the forms in which masks are stored, and arrays of numpy.save.

Accepted are 0 and 255 (also from a JPEG, or 16 bits), 0 and another value, booleans, palettes, one bright colour on
black, and RGBA whose alpha is the mask.
"""

import io

import numpy as np

from apps.common.images import InputError, pixels_in

ARRAYS = (".npy", ".npz")
MAX_ODD_SHARE = 0.1  # of the bright pixels whose colour differs from the mask's; a file with more is not a mask


def values_in(data: bytes, path, name: str) -> np.ndarray:
    """The values in the content of a file; `path` and `name` are for messages.

    Raises InputError for an unreadable file, and an image that is not a mask.
    """
    array = array_in(data, path, name)
    return plane_in(data, path, name) if array is None else array


def array_in(data: bytes, path, name: str) -> np.ndarray | None:
    """The array in a file of numpy.save or numpy.savez; None for other files."""
    if not str(path).lower().endswith(ARRAYS):
        return None
    shown = f"{name}: {str(path)!r}"
    try:
        content = np.load(io.BytesIO(data), allow_pickle=False)
        if isinstance(content, np.ndarray):
            return content
        if len(content.files) != 1:
            names = ", ".join(content.files[:5])
            raise InputError(f"{shown} has {len(content.files)} arrays ({names}); save only the masks in it")
        return content[content.files[0]]
    except InputError:
        raise
    except Exception as error:  # truncated files, pickled objects, damaged archives
        raise InputError(f"{shown} cannot be read ({error}); save an array of numbers with numpy.save") from None


def plane_in(data: bytes, path, name: str) -> np.ndarray:
    """The values (H, W) of a mask image: grey, alpha, palette, or the brightness of one colour on black."""
    shown = f"{name}: {str(path)!r}"
    pixels = pixels_in(data, path, name)
    if pixels.ndim == 3 and pixels.shape[2] in (2, 4):
        alpha = pixels[..., -1]
        pixels = alpha if alpha.min() < alpha.max() else pixels[..., :-1]
    if pixels.ndim == 3 and (pixels != pixels[..., :1]).any():
        indices = pixels_in(data, path, name, indices=True)
        pixels = _from_palette(pixels, indices, shown) if indices.ndim == 2 else _brightest(pixels, shown)
    elif pixels.ndim == 3:
        pixels = pixels[..., 0]
    return pixels


def _from_palette(colours: np.ndarray, indices: np.ndarray, name: str) -> np.ndarray:
    """A palette image of two entries: black is the background, or else entry 0."""
    if (count := len(np.unique(indices))) > 2:
        raise InputError(
            f"{name} holds {count} colours of a palette; a mask has two; save one object's mask, or pass several "
            "objects with --label-strokes"
        )
    black = (colours == 0).all(axis=2)
    return ~black if black.any() else indices != 0


def _brightest(colours: np.ndarray, name: str) -> np.ndarray:
    """The largest channel of each pixel; InputError unless the image is one bright colour on black."""
    high = colours.max(axis=2)
    half = np.iinfo(colours.dtype).max // 2 if colours.dtype.kind == "u" else 0.5
    bright = colours[high > half].astype(np.float64)
    if bright.size and (np.abs(bright - np.median(bright, axis=0)).max(axis=1) > half / 2).mean() > MAX_ODD_SHARE:
        raise InputError(f"{name} has several colours; a mask is white, or one colour, on black")
    return high

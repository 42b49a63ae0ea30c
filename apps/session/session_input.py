"""What a session is opened with: an image or a volume in any form, and options."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from apps.common.arguments import array_of
from apps.common.images import InputError
from apps.segmentation import SPACING
from apps.volumes.voxel_geometry import Volume
from gridcut.device import cuda_is_available

KEEP = ("touching", "all")
DEVICES = ("auto", "cpu", "cuda")


class SessionInput(NamedTuple):
    """The array of a session, not yet checked further than `is_volume` needs.

    values      of an image or a volume, as they were passed
    is_volume   whether they are a volume
    spacing     size of a voxel along z, y and x; 1, 1, 1 for an image
    volume      the `Volume` that was passed, or None
    """

    values: np.ndarray
    is_volume: bool
    spacing: Sequence[float]
    volume: Volume | None


def read_input(image: ArrayLike | Volume, spacing: Sequence[float] | None) -> SessionInput:
    """The input of a session; InputError for what is not an array."""
    volume = image if isinstance(image, Volume) else None
    if isinstance(image, Volume):
        spacing = image.geometry.spacing if spacing is None and image.geometry is not None else spacing
        image = image.values
    values = array_of(image, "image")
    is_volume = volume is not None or spacing is not None or (values.ndim == 3 and values.shape[2] > 4)
    return SessionInput(values, is_volume, SPACING if spacing is None else spacing, volume)


def check_options(keep, device, callback) -> None:
    """Raise InputError, which names the option, for one that a session does not accept."""
    if keep not in KEEP:
        raise InputError(f"keep must be one of {', '.join(KEEP)}, got {keep!r}")
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be callable or None, got {type(callback).__name__}")
    if device not in DEVICES:
        raise InputError(f"device must be one of {', '.join(DEVICES)}, got {device!r}")
    if device == "cuda" and not cuda_is_available():
        raise InputError("device is 'cuda', but no CUDA GPU was found; pass 'cpu' or 'auto'")

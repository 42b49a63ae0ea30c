"""Validation of `devices` (one grid on several GPUs), before any GPU is used."""

import operator

import numpy as np

from gridcut import methods
from gridcut.core.problem import Problem
from gridcut.device.choose import gpu_count


def check_devices(devices, device, method) -> list[int]:
    """The indices of the GPUs, empty for "all"; TypeError or ValueError for anything but that or valid indices."""
    if isinstance(devices, str) and devices == "all":
        numbers = []
    else:
        numbers = _check_numbers(devices)
    if isinstance(device, str) and device not in ("auto", "cuda"):
        raise ValueError(f"devices selects GPUs, but device is {device!r}; use device='cuda', or omit devices")
    if isinstance(method, str) and method not in ("auto", "tiles"):
        raise ValueError(f"devices requires method 'tiles', got method={method!r}; use method='auto', or omit devices")
    return numbers


def _check_numbers(devices) -> list[int]:
    expected = 'devices must be a list of GPU indices, such as [0, 1], or "all"'
    if not isinstance(devices, list | tuple | range | np.ndarray):
        raise TypeError(f"{expected}; got {repr(devices) if isinstance(devices, str) else type(devices).__name__}")
    try:
        numbers = [operator.index(d) for d in devices if not isinstance(d, bool | np.bool_)]
    except TypeError:
        numbers = []
    if len(numbers) < len(devices):
        raise TypeError(f"{expected}; got {devices!r}")
    if not numbers:
        raise ValueError("devices is empty; pass at least one GPU index, or omit devices")
    if min(numbers) < 0:
        raise ValueError(f"devices holds {min(numbers)}; GPU indices are 0, 1, ...")
    return numbers


def choose_devices(numbers: list[int], device, method, problem: Problem, parameters: dict) -> list[int]:
    """The GPUs of checked indices, all if there are none.

    Raises an error for problems that cannot be split into slabs, unexpected parameters, and missing GPUs.
    """
    if problem.library is not None:
        raise TypeError(
            "devices requires capacities on the host, but they are on a GPU; copy them to the host, or omit devices"
        )
    if not methods.fits_tiles(problem):
        raise ValueError(
            "devices requires offsets of at most one pixel along each axis, but edges contains longer ones; "
            "shorten them, or omit devices (one GPU, method 'lock_free')"
        )
    methods.choose("cuda" if device == "auto" else device, "tiles" if method == "auto" else method, problem, parameters)
    count = gpu_count()
    if not numbers:
        return list(range(count))
    if max(numbers) >= count:
        present = "the only GPU is 0" if count == 1 else f"the GPUs are 0 to {count - 1}"
        raise ValueError(f"devices holds {max(numbers)}, but {present}")
    return numbers

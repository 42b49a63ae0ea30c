"""The border of `devices`, one grid on several GPUs: what may be asked for, checked before any GPU is."""

import operator

import numpy as np

from gridcut import methods
from gridcut.core.problem import Problem


def check_devices(devices, device, method) -> list[int]:
    """The numbers of the GPUs; TypeError or ValueError for what cannot be meant."""
    if not isinstance(devices, list | tuple | range | np.ndarray):
        raise TypeError(f"devices must be a list of device numbers, such as [0, 1]; got {type(devices).__name__}")
    try:
        numbers = [operator.index(d) for d in devices if not isinstance(d, bool | np.bool_)]
    except TypeError:
        numbers = []
    if len(numbers) < len(devices):
        raise TypeError(f"devices must be a list of device numbers, such as [0, 1]; got {devices!r}")
    if not numbers:
        raise ValueError("devices is empty; name one GPU at least, or leave it out")
    if min(numbers) < 0:
        raise ValueError(f"devices holds {min(numbers)}; the numbers of GPUs are 0, 1, ...")
    if isinstance(device, str) and device not in ("auto", "cuda"):
        raise ValueError(f"devices names GPUs, but device is {device!r}; use device='cuda', or leave devices out")
    if isinstance(method, str) and method not in ("auto", "tiles"):
        raise ValueError(f"devices: several GPUs run method 'tiles' only; got method={method!r}")
    return numbers


def choose_devices(numbers: list[int], device, method, problem: Problem, parameters: dict) -> None:
    """Refuse problems that cannot be cut into slabs, unknown parameters, and GPUs that do not exist."""
    if problem.library is not None:
        raise TypeError(
            "devices: the capacities lie on a GPU, and several GPUs load their parts from the host; "
            "copy them to the host, or leave devices out"
        )
    if not methods.fits_tiles(problem):
        raise ValueError(
            "devices: a grid is cut where arcs lead to direct neighbours, and edges holds longer offsets; "
            "leave devices out (one GPU, method 'lock_free'), or shorten them"
        )
    methods.choose("cuda" if device == "auto" else device, "tiles" if method == "auto" else method, problem, parameters)
    from gridcut.device.peers import gpu_count

    count = gpu_count()
    if max(numbers) >= count:
        there = "there is one GPU, 0" if count == 1 else f"there are {count} GPUs, 0 to {count - 1}"
        raise ValueError(f"devices names GPU {max(numbers)}, but {there}")

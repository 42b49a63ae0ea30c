"""Choosing a device: 'auto' takes a GPU when there is one, an explicit name is obeyed or refused."""

from functools import cache
from importlib.util import find_spec
from typing import Literal

import numba

DeviceName = Literal["auto", "cpu", "cuda"]


@cache
def cuda_is_available() -> bool:
    """Whether numba can run kernels on a CUDA GPU here; asked on first use, the driver starts slowly."""
    if not numba_cuda_is_installed():
        return False
    from numba import cuda

    return bool(cuda.is_available())


def numba_cuda_is_installed() -> bool:
    """The numba.cuda inside numba itself is an older one; only its simulator serves."""
    return find_spec("numba_cuda") is not None or bool(numba.config.ENABLE_CUDASIM)


def resolve(device: DeviceName) -> Literal["cpu", "cuda"]:
    """Turn 'auto' into a real device; obey or refuse an explicit one."""
    if not isinstance(device, str):
        raise TypeError(f"device must be 'auto', 'cpu' or 'cuda', got {type(device).__name__}")
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda', got {device!r}")
    if device == "auto":
        return "cuda" if cuda_is_available() else "cpu"
    if device == "cuda" and not cuda_is_available():
        why = "numba finds no CUDA GPU"
        if not numba_cuda_is_installed():
            why = "numba-cuda is not installed (cutmatch's extra cuda13 or cuda12 brings it)"
        raise RuntimeError(f"device='cuda': {why}; use device='cpu' or 'auto'")
    return device

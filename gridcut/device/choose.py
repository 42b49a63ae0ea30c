"""Choosing a device: 'auto' takes a GPU when there is one, an explicit name is obeyed or refused."""

from functools import cache
from typing import Literal

DeviceName = Literal["auto", "cpu", "cuda"]


@cache
def cuda_is_available() -> bool:
    """Whether numba can run kernels on a CUDA GPU here; asked on first use, the driver starts slowly."""
    try:
        from numba import cuda
    except ImportError:
        return False
    return bool(cuda.is_available())


def resolve(device: DeviceName) -> Literal["cpu", "cuda"]:
    """Turn 'auto' into a real device; obey or refuse an explicit one."""
    if not isinstance(device, str):
        raise TypeError(f"device must be 'auto', 'cpu' or 'cuda', got {type(device).__name__}")
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda', got {device!r}")
    if device == "auto":
        return "cuda" if cuda_is_available() else "cpu"
    if device == "cuda" and not cuda_is_available():
        raise RuntimeError("device='cuda': numba finds no CUDA GPU; use device='cpu' or 'auto'")
    return device

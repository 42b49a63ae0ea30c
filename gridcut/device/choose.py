"""Device selection: "auto" uses a GPU if one is available; "cpu" and "cuda" are used, or an error is raised."""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Literal, NamedTuple

import numba

DeviceName = Literal["auto", "cpu", "cuda"]
NEWEST_PYTHON = (3, 14)  # the last Python with a package of numba-cuda 0.30, the version of the extras


@cache
def cuda_is_available() -> bool:
    """Whether numba can run kernels on a CUDA GPU; queried on first use, since the driver starts slowly."""
    if not numba_cuda_is_installed():
        return False
    from numba import cuda

    return bool(cuda.is_available())


def gpu_count() -> int:
    """Number of CUDA GPUs; 0 if numba can run kernels on none."""
    if not cuda_is_available():
        return 0
    from numba import cuda

    return len(cuda.gpus)


def numba_cuda_is_installed() -> bool:
    """Whether numba-cuda is installed; of the older numba.cuda inside numba only the simulator is used."""
    return find_spec("numba_cuda") is not None or bool(numba.config.ENABLE_CUDASIM)


def resolve(device: DeviceName) -> Literal["cpu", "cuda"]:
    """Return the device to use.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}
        "auto" uses a GPU if one is available.

    Returns
    -------
    {"cpu", "cuda"}

    Raises
    ------
    TypeError, ValueError
        If `device` is not one of these strings.
    RuntimeError
        If "cuda" is requested but not available.
    """
    if not isinstance(device, str):
        raise TypeError(f"device must be 'auto', 'cpu' or 'cuda', got {type(device).__name__}")
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda', got {device!r}")
    if device == "auto":
        return "cuda" if cuda_is_available() else "cpu"
    if device == "cuda" and not cuda_is_available():
        raise RuntimeError(f"device='cuda': {cuda_obstacle()}; use device='cpu' or 'auto'")
    return device


def cuda_obstacle() -> str:
    """Why no GPU can be used; empty if one can."""
    if cuda_is_available():
        return ""
    if numba_cuda_is_installed():
        return "numba finds no CUDA GPU"
    if sys.version_info[:2] > NEWEST_PYTHON:
        newest = "Python {}.{}".format(*NEWEST_PYTHON)
        return f"numba-cuda, which a GPU needs, has no package for a Python newer than {newest} (use {newest})"
    how = "pip install 'numba-cuda[cu13]<0.31' 'numpy<2.5', or pip install '.[cuda13]' in a clone of cutmatch"
    return f"numba-cuda is not installed ({how})"


# Tables of methods: data, so that importing a table imports no solver, and numba.cuda is imported for CUDA methods only


class Implementation(NamedTuple):
    """A method on one device.

    solver       "module:function"
    parameters   the keywords that callers may pass to it
    """

    solver: str
    parameters: tuple[str, ...] = ()

    @property
    def function(self) -> Callable:
        """The solver, which is imported now."""
        module, name = self.solver.split(":")
        return getattr(import_module(module), name)


class Method(NamedTuple):
    """The implementations of a method, None for a device on which it does not run."""

    cpu: Implementation | None = None
    cuda: Implementation | None = None

    def on(self, device: str) -> Implementation:
        """The implementation for "cpu" or "cuda", which exists."""
        found = self.cpu if device == "cpu" else self.cuda
        assert found is not None
        return found

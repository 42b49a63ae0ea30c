"""The rules by which `maximum` and `greedy` choose a method and a device; each has its own table of methods.

A method is found by name in a dictionary of `Method`.  Its functions import the solver when they are called, so that
importing a table imports no solver, and numba.cuda is imported only for CUDA methods.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import check_accepted
from matching.core.parameters import checked

# Keywords of `maximum` and `greedy` themselves.  They are passed to the methods that accept them.
SHARED = ("seed", "threads")


class Method(NamedTuple):
    """Functions of a method, None for a device on which it does not run, and the keywords they accept.

    cpu               for a graph on the host
    cuda              for a graph on the GPU; those of `greedy` accept graphs on the host, too
    parameters        keywords of `cpu`
    cuda_parameters   keywords of `cuda`
    """

    cpu: Callable[..., dict] | None = None
    cuda: Callable[..., dict] | None = None
    parameters: tuple[str, ...] = ()
    cuda_parameters: tuple[str, ...] = ()


def check_gpu_graph_device(device: DeviceName) -> None:
    """Raise an error for device="cpu" and a graph on the GPU."""
    if device != "auto" and resolve(device) == "cpu":
        raise TypeError("graph is on the GPU, but device='cpu' was requested; copy its arrays to the host first")


def device_for(name: str, method: Method, device: DeviceName) -> Literal["cpu", "cuda"]:
    """The device on which a method runs: for "auto" the CPU, or CUDA if the method has no CPU version."""
    if device == "auto":
        device = "cpu" if method.cpu else "cuda"
    ran_on = resolve(device)
    if (method.cuda if ran_on == "cuda" else method.cpu) is None:
        other = "cpu" if method.cpu else "cuda"
        raise RuntimeError(f"method {name!r} does not run on device={ran_on!r}; use device={other!r}")
    return ran_on


def keywords_for(name: str, method: Method, device: str, given: dict, **shared) -> dict:
    """Checked keywords of a method on a device: the caller's parameters, and those of `shared` that it accepts."""
    accepted = method.cuda_parameters if device == "cuda" else method.parameters
    own = [parameter for parameter in accepted if parameter not in SHARED]
    check_accepted(name, own, given)
    return checked(given) | {key: value for key, value in shared.items() if key in accepted}

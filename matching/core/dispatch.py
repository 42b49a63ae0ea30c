"""The rules by which `maximum` and `greedy` choose a method and a device; each has its own table of methods."""

from typing import Literal

from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import check_accepted
from gridcut.device.method_table import Method
from matching.core.parameters import checked

# Keywords of `maximum` and `greedy` themselves.  They are passed to the methods that accept them.
SHARED = ("seed", "threads")


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
    accepted = method.on(device).parameters
    own = [parameter for parameter in accepted if parameter not in SHARED]
    check_accepted(name, own, given)
    return checked(given) | {key: value for key, value in shared.items() if key in accepted}

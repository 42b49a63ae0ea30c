"""Checks of the methods' parameters: one check per parameter name, for solvers on either device.

A check returns a plain bool, int, float or str, so that kernels are compiled once.
"""

import math
from numbers import Integral
from typing import Literal

from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import INT32_MAX, check_accepted, check_count, check_positive, check_real, check_switch
from gridcut.device.choose import Method

MAX_SEED = 2**64 - 1


def positive(name: str, value) -> int | float:
    """A finite positive number; integers remain integers."""
    if math.isinf(check_positive(name, value)):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return int(value) if isinstance(value, Integral) else float(value)


def fraction(name: str, value) -> float:
    """A number strictly between 0 and 1."""
    value = check_real(name, value)
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1, exclusive; got {value!r}")
    return value


def one_of(name: str, value, known: tuple):
    """One of the strings in `known`, or None if `known` contains it as a default."""
    if not (value is None or isinstance(value, str)):
        raise TypeError(f"{name} must be a string, got {value!r:.60} ({type(value).__name__})")
    if value not in known:
        raise ValueError(f"{name} must be {', '.join(map(repr, known[:-1]))} or {known[-1]!r}, got {value!r}")
    return value


def check_seed(seed) -> int:
    """A seed of 64 bits."""
    return check_count("seed", seed, 0, MAX_SEED)


def check_threads(threads) -> int | None:
    """A number of threads, or None for numba's default."""
    return None if threads is None else check_count("threads", threads)


# By the name of the parameter.  "relabel" is a pair, which its methods check themselves.
CHECKS = {
    "alpha": positive,
    "direction_optimising": check_switch,
    "fairness": check_switch,
    "frequency": positive,
    "gap": check_switch,
    "grafting": check_switch,
    "grid": lambda name, value: one_of(name, value, ("ct", "mt")),
    "lookahead": check_switch,
    "block_levels": lambda name, value: check_count(name, value, 0, INT32_MAX),
    "order": lambda name, value: one_of(name, value, ("fifo", "lifo", "highest", "lowest")),
    "p": fraction,
    "rounds": lambda name, value: check_count(name, value, 0, INT32_MAX),
    "search": lambda name, value: one_of(name, value, ("gpubfs", "gpubfs_wr")),
    "select": lambda name, value: one_of(name, value, ("first", "heaviest", "random", None)),
    "shrink_from": lambda name, value: check_count(name, value, 1, INT32_MAX),
    "shuffled": check_switch,
    "side": lambda name, value: one_of(name, value, ("rows", "columns")),
    "wide": check_count,
}


def checked(parameters: dict) -> dict:
    """The parameters of a method, each as its check returns it."""
    return {name: CHECKS[name](name, value) if name in CHECKS else value for name, value in parameters.items()}


# Method and device

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

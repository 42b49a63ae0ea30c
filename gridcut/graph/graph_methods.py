"""The methods of `graph_max_flow` by name, and the rule behind ``method="auto"``."""

from typing import Literal

from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import check_name
from gridcut.device.choose import Implementation, Method, cuda_is_available
from gridcut.graph.graph_problem import GraphProblem

DEFAULTS = {"cpu": "ibfs", "cuda": "waves"}
GPU_ENTRIES = 10**6  # entries from which on a GPU is as fast as the CPU, or faster, on all families that were measured


# ``solve(graph)`` changes a ResidualGraph on the host in place; it returns the mask of the nodes that can still reach
# the sink, and stats, a new dict of counters.  No method has parameters.
METHODS = {
    "ibfs": Method(Implementation("gridcut.graph.graph_search:solve")),
    "waves": Method(cuda=Implementation("gridcut.graph.graph_waves_cuda:solve")),
}


def choose(device: DeviceName, method: str, problem: GraphProblem) -> tuple[Literal["cpu", "cuda"], str]:
    """The device and the name of the method that will run.

    Raises TypeError, ValueError or RuntimeError if they are unknown or unavailable.
    """
    check_name("method", method, METHODS)
    if device != "auto":
        ran_on = resolve(device)
    elif method != "auto":
        ran_on = "cpu" if METHODS[method].cpu is not None else resolve("cuda")
    else:
        ran_on = "cuda" if is_faster_on_gpu(problem) else "cpu"
    name = DEFAULTS[ran_on] if method == "auto" else method
    entry = METHODS[name]
    if getattr(entry, ran_on) is None:
        other = "cpu" if ran_on == "cuda" else "cuda"
        raise RuntimeError(f"method {name!r} does not run on device={ran_on!r}; use device={other!r}")
    return ran_on, name


def is_faster_on_gpu(problem: GraphProblem) -> bool:
    """Whether there is a GPU, and the problem, of integers, is large enough for it, and not too large."""
    if problem.is_float or problem.entries < GPU_ENTRIES or not cuda_is_available():
        return False
    from gridcut.graph.graph_waves_cuda import MAX_ARCS, MAX_NODES

    return problem.nodes < MAX_NODES and 2 * problem.entries <= MAX_ARCS

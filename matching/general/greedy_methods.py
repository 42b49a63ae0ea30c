"""The greedy matching methods by name, and the choices of "auto".

To add a method, write a file that exports solve(graph, partner, *, ...) -> stats, which matches vertices in place until
no edge joins two free ones.  Then add a function and an entry of GREEDY_METHODS here.

The functions whose names end in _cuda accept graphs on the host and on the GPU.
"""

from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import check_name
from matching.core.dispatch import Method, device_for, keywords_for
from matching.core.parameters import check_seed, check_threads


def random_cpu(graph, partner, **parameters) -> dict:
    from matching.general.random import solve

    return solve(graph, partner, **parameters)


def weighted_cpu(graph, partner, **parameters) -> dict:
    from matching.general.weighted import solve

    return solve(graph, partner, **parameters)


def sorted_cpu(graph, partner) -> dict:
    from matching.general.sorted import solve

    return solve(graph, partner)


def parallel_cpu(graph, partner, **parameters) -> dict:
    from matching.general.parallel import solve

    return solve(graph, partner, **parameters)


def parallel_cuda(graph, partner, **parameters) -> dict:
    from matching.general.parallel_cuda import solve

    return solve(graph, partner, **parameters)


def locally_dominant_cpu(graph, partner, **parameters) -> dict:
    from matching.general.locally_dominant import solve

    return solve(graph, partner, **parameters)


GREEDY_METHODS = {
    "random": Method(cpu=random_cpu, parameters=("seed", "shuffled", "select")),
    "weighted": Method(cpu=weighted_cpu, parameters=("seed", "shuffled")),
    "sorted": Method(cpu=sorted_cpu),
    "parallel": Method(
        cpu=parallel_cpu,
        cuda=parallel_cuda,
        parameters=("seed", "threads", "p", "select", "rounds"),
        cuda_parameters=("seed", "p", "select", "rounds"),
    ),
    "locally_dominant": Method(cpu=locally_dominant_cpu, parameters=("threads",)),
}
# The method of method="auto" for graphs with weights and for those without, by device.
DEFAULT_WEIGHTED = {"cpu": "locally_dominant", "cuda": "parallel"}
DEFAULT_UNWEIGHTED = {"cpu": "random", "cuda": "parallel"}


def choose(method: str, device: DeviceName, weighted: bool, seed, threads, parameters: dict):
    """(device, method, its function, keywords) with "auto" replaced; raises an error if they do not fit."""
    check_name("method", method, GREEDY_METHODS)
    if method == "auto":
        device = "cpu" if device == "auto" else resolve(device)
        method = (DEFAULT_WEIGHTED if weighted else DEFAULT_UNWEIGHTED)[device]
    entry = GREEDY_METHODS[method]
    device = device_for(method, entry, device)
    shared = {"seed": check_seed(seed), "threads": check_threads(threads)}
    keywords = keywords_for(method, entry, device, parameters, **shared)
    return device, method, entry.cuda if device == "cuda" else entry.cpu, keywords

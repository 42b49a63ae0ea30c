"""The greedy matching methods by name, and the choices of "auto".

To add a method, write a file that exports solve(graph, partner, *, ...) -> stats, which matches vertices in place until
no edge joins two free ones.  Then add an entry of GREEDY_METHODS here.  Implementations for CUDA accept graphs on the
host and on the GPU.
"""

from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import check_name
from gridcut.device.choose import Implementation, Method
from matching.core.parameters import check_seed, check_threads, device_for, keywords_for

GREEDY_METHODS = {
    "random": Method(Implementation("matching.general.one_sided:random", ("seed", "shuffled", "select"))),
    "weighted": Method(Implementation("matching.general.one_sided:weighted", ("seed", "shuffled"))),
    "sorted": Method(Implementation("matching.general.sorted:solve")),
    "parallel": Method(
        Implementation("matching.general.parallel:solve", ("seed", "threads", "p", "select", "rounds")),
        Implementation("matching.general.parallel_cuda:solve", ("seed", "p", "select", "rounds")),
    ),
    "locally_dominant": Method(Implementation("matching.general.locally_dominant:solve", ("threads",))),
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
    return device, method, entry.on(device).function, keywords

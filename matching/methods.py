"""The maximum matching methods and the initial matchings by name, and the choices of "auto".

To add a method, write a file that exports solve(graph, row_match, col_match, *, ...) -> stats, or a function for each
variant, which turns a valid matching into a maximum one in place.  Then add an entry of METHODS here, a row in
docs/algorithms/index.md, and a check in parameters.py for each parameter with a new name.  An initial matching exports
initialise(...) instead, which keeps the given pairs and adds to them.

Implementations for the CPU accept a graph and a matching on the host, those for CUDA a `DeviceGraph` and a matching on
the GPU.  `for_host` makes the latter accept a graph on the host.
"""

from collections.abc import Callable
from functools import cache, partial

from gridcut.device import DeviceName
from gridcut.device.arguments import check_name
from gridcut.device.choose import Implementation, Method
from matching.core.parameters import check_threads, device_for, keywords_for

METHODS = {
    "portfolio": Method(
        Implementation("matching.portfolio.portfolio:solve", ("threads",)),
        Implementation("matching.portfolio.portfolio_cuda:solve"),
    ),
    "ss_bfs": Method(Implementation("matching.papers.ss_bfs:solve")),
    "ss_dfs": Method(Implementation("matching.papers.ss_dfs:solve", ("lookahead",))),
    "pothen_fan": Method(Implementation("matching.papers.pothen_fan:solve", ("fairness", "lookahead"))),
    "hopcroft_karp": Method(Implementation("matching.papers.hopcroft_karp:solve")),
    "hkdw": Method(Implementation("matching.papers.hkdw:solve")),
    "push_relabel": Method(Implementation("matching.papers.push_relabel:solve", ("frequency", "gap", "order"))),
    "ms_bfs": Method(
        Implementation(
            "matching.papers.ms_bfs_graft:ms_bfs",
            ("direction_optimising", "alpha", "side", "threads", "wide"),
        )
    ),
    "ms_bfs_graft": Method(
        Implementation(
            "matching.papers.ms_bfs_graft:solve",
            ("grafting", "direction_optimising", "alpha", "side", "threads", "wide"),
        ),
        Implementation(
            "matching.forest.ms_bfs_graft_cuda:solve", ("grafting", "direction_optimising", "alpha", "block_levels")
        ),
    ),
    "p_dbfs": Method(Implementation("matching.papers.p_dbfs:solve", ("threads",))),
    "p_pf": Method(Implementation("matching.papers.p_pf:solve", ("fairness", "threads"))),
    "p_hk": Method(Implementation("matching.papers.p_hk:solve", ("threads", "wide"))),
    "apfb": Method(cuda=Implementation("matching.papers.alternate_cuda:apfb", ("search", "grid"))),
    "apsb": Method(cuda=Implementation("matching.papers.alternate_cuda:apsb", ("search", "grid"))),
    "g_pr_first": Method(cuda=Implementation("matching.papers.g_pr_cuda:g_pr_first", ("relabel",))),
    "g_pr_noshr": Method(cuda=Implementation("matching.papers.g_pr_cuda:g_pr_noshr", ("relabel",))),
    "g_pr_shr": Method(cuda=Implementation("matching.papers.g_pr_cuda:g_pr_shr", ("relabel", "shrink_from"))),
}

INITS = {
    "none": Method(),
    "cheap": Method(
        Implementation("matching.initial.cheap:initialise"), Implementation("matching.initial.cheap_cuda:initialise")
    ),
    "karp_sipser": Method(Implementation("matching.initial.karp_sipser:initialise", ("threads",))),
    "karp_sipser_one_sided": Method(Implementation("matching.initial.karp_sipser_one_sided:initialise")),
}

# The method of method="auto".  It computes its own initial matching.
DEFAULT_METHOD = "portfolio"
# The initial matching of init="auto" before any other method, by device; on CUDA that of the papers.
DEFAULT_INITS = {"cpu": "karp_sipser", "cuda": "cheap"}
# Edges of a graph on the host from which method="auto" uses a GPU if device="auto" finds one, transfers included.
# On 36 graphs of 2^15 to 2^21 edges this rule takes 1.30 times the time of the faster device in geometric mean (one
# H200, 32 cores).  2^17 would take 1.25 times, but 5.8 instead of 4.8 times on the worst graph, points in raster order
# that the CPU matches in a millisecond.  Table: benchmarks/results/matching-cuda-auto.md.
GPU_MIN_EDGES = 1 << 18


def choose(method: str, init: str, device: DeviceName, threads: int | None, parameters: dict):
    """(device, method, init, keywords of the method) with "auto" replaced; raises an error if they do not fit."""
    if parameters or threads is not None or not type(method) is type(init) is type(device) is str:
        return _choose(method, init, device, threads, parameters)
    return _choose_names(method, init, device)


@cache
def _choose_names(method: str, init: str, device: str):
    """The usual call.  For a small graph, choosing without a cache takes as long as matching."""
    return _choose(method, init, device, None, {})


def _choose(method, init, device, threads, parameters):
    check_name("method", method, METHODS)
    check_name("init", init, INITS)
    threads = check_threads(threads)
    if method == "auto":
        if parameters:
            given = next(iter(parameters))
            raise TypeError(f"method 'auto' accepts no parameters, got {given!r}; select a method by name")
        method = DEFAULT_METHOD
    entry = METHODS[method]
    device = device_for(method, entry, device)
    if init == "auto":
        init = default_init(method, device)
    return device, method, init, keywords_for(method, entry, device, parameters, threads=threads)


def default_init(method: str, device: str) -> str:
    """The initial matching of init="auto"."""
    return "none" if method == DEFAULT_METHOD else DEFAULT_INITS[device]


def for_host(function: Callable[..., dict]) -> Callable[..., dict]:
    """A function of a graph and a matching on the GPU, for a graph and a matching on the host."""
    from matching.core.problem_cuda import on_gpu

    return partial(on_gpu, function)


def solver(method: str, device: str) -> Callable[..., dict]:
    """The function of a method for a graph on the host."""
    function = METHODS[method].on(device).function
    return for_host(function) if device == "cuda" else function


def initialiser(init: str, device: str, threads: int | None = 1) -> Callable[..., dict] | None:
    """The function of an initial matching for a graph on the host, by default that of the CPU; None for "none".

    threads   number of threads, if it is parallel; None: numba's
    """
    entry = INITS[init]
    if device == "cuda" and entry.cuda:
        return for_host(entry.cuda.function)
    if entry.cpu is None:
        return None
    is_parallel = "threads" in entry.cpu.parameters and threads != 1
    return partial(entry.cpu.function, threads=threads) if is_parallel else entry.cpu.function
